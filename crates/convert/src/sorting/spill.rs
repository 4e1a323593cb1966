//! Sorted rows in files without a name: runs, each of which has the rows of a class together.
//!
//! A run is blocks of whole rows, each with its length and checksum, and then a table that says where the blocks of each
//! class begin, each with a checksum.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_location::RandomAccess;

use super::buffer::Row;

/// A block ends after the row that brings it to this many bytes.
pub const BLOCK: usize = 64 << 10;

/// The bytes before a block: its length and its checksum.
const HEAD: usize = 2 * size_of::<u32>();

/// The bytes of an entry of the table: where the blocks of a class begin, and a checksum.
const ENTRY: usize = size_of::<u64>() + size_of::<u32>();

/// An entry of the table.
fn entry(at: u64) -> [u8; ENTRY] {
    let mut entry = [0; ENTRY];
    let (start, checksum) = entry.split_at_mut(size_of::<u64>());
    start.copy_from_slice(&at.to_le_bytes());
    checksum.copy_from_slice(&crc32fast::hash(start).to_le_bytes());
    entry
}

/// Reads an entry of the table; `None` if its checksum is wrong.
fn read_entry(bytes: [u8; ENTRY]) -> Option<u64> {
    let at = u64::from_le_bytes(*bytes.first_chunk()?);
    (entry(at) == bytes).then_some(at)
}

/// A file that runs are appended to.
pub(super) struct SpillFile {
    directory: PathBuf,
    file: File,
    at: u64,
    /// Where the table of each run begins.
    tables: Vec<u64>,
}

/// Sorted rows in a file without a name, which is gone with its last run.
#[derive(Debug, Clone)]
pub struct Run {
    file: Arc<RandomAccess>,
    directory: PathBuf,
    table_at: u64,
}

impl SpillFile {
    /// Makes a file in a directory, which is gone once it is closed.
    pub(super) fn new(directory: &Path) -> Result<Self> {
        let file = tempfile::tempfile_in(directory);
        let file = file.map_err(|error| Error::disk("make", error).at(directory))?;
        Ok(Self {
            directory: directory.to_owned(),
            file,
            at: 0,
            tables: Vec::new(),
        })
    }

    /// Begins a run with this many classes.
    pub(super) fn begin(&mut self, classes: u32) -> RunWriter<'_> {
        RunWriter {
            classes,
            table: Vec::new(),
            block: vec![0; HEAD],
            spill: self,
        }
    }

    /// All runs, to be read.
    pub(super) fn finish(self) -> Vec<Run> {
        let file = Arc::new(RandomAccess::from(self.file));
        let runs = self.tables.into_iter().map(|table_at| Run {
            file: Arc::clone(&file),
            directory: self.directory.clone(),
            table_at,
        });
        runs.collect()
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|error| {
            Error::disk("write", error)
                .at(&self.directory)
                .hint("free some space, or name a directory on a larger disk with --spill")
        })?;
        self.at += bytes.len() as u64;
        Ok(())
    }
}

/// A run that is being written.
pub(super) struct RunWriter<'a> {
    spill: &'a mut SpillFile,
    classes: u32,
    /// Where the blocks of each class begin, so far.
    table: Vec<u64>,
    /// The block that fills, after room for its head.
    block: Vec<u8>,
}

impl RunWriter<'_> {
    /// Appends a row; rows come in order.
    pub(super) fn push(&mut self, row: Row<'_>) -> Result<()> {
        self.begin_classes(row.class())?;
        row.write(&mut self.block);
        if self.block.len() >= BLOCK {
            self.end_block()?;
        }
        Ok(())
    }

    /// Notes that the classes up to this one begin here.
    fn begin_classes(&mut self, last: u32) -> Result<()> {
        let begun = usize::try_from(last).map_or(usize::MAX, |last| last.saturating_add(1));
        if self.table.len() < begun {
            self.end_block()?;
            self.table.resize(begun, self.spill.at);
        }
        Ok(())
    }

    fn end_block(&mut self) -> Result<()> {
        if self.block.len() > HEAD {
            let (head, rows) = self.block.split_at_mut(HEAD);
            let length = u32::try_from(rows.len()).unwrap_or(u32::MAX);
            head[..4].copy_from_slice(&length.to_le_bytes());
            head[4..].copy_from_slice(&crc32fast::hash(rows).to_le_bytes());
            self.spill.write(&self.block)?;
            self.block.truncate(HEAD);
        }
        Ok(())
    }

    /// Ends the run.
    pub(super) fn finish(mut self) -> Result<()> {
        self.begin_classes(self.classes)?;
        let table_at = self.spill.at;
        let table: Vec<u8> = self.table.iter().flat_map(|&at| entry(at)).collect();
        self.spill.write(&table)?;
        self.spill.tables.push(table_at);
        Ok(())
    }
}

impl Run {
    /// Opens the rows of a class, at the first one; `None` if there is none.
    pub(super) fn open(&self, class: u32) -> Result<Option<RunReader>> {
        let table = self.read(self.table_at + u64::from(class) * ENTRY as u64, 2 * ENTRY)?;
        let bounds = table.as_chunks::<ENTRY>().0.iter();
        let bounds: Vec<u64> = bounds.filter_map(|entry| read_entry(*entry)).collect();
        let &[start, end] = &bounds[..] else {
            return Err(self.damaged());
        };
        let mut reader = RunReader {
            run: self.clone(),
            at: start,
            end,
            block: Bytes::new(),
            next: 0,
            row: 0,
        };
        Ok(reader.advance()?.then_some(reader))
    }

    fn read(&self, at: u64, length: usize) -> Result<Bytes> {
        let read = self.file.read_at(at, length);
        read.map_err(|error| Error::disk("read", error).at(&self.directory))
    }

    fn damaged(&self) -> Error {
        let reason = "rows that were written to be sorted came back with other bytes";
        Error::new(ErrorKind::Failed, reason)
            .at(&self.directory)
            .hint("check the disk, or name a directory on another one with --spill")
    }
}

/// The rows of a class in a run.
///
/// # Memory
/// A block: 64 KiB and a row.
#[derive(Debug)]
pub(super) struct RunReader {
    run: Run,
    /// Where the next block begins, and where the last one ends.
    at: u64,
    end: u64,
    block: Bytes,
    /// Where the row at hand begins in the block, and where the next one does.
    row: usize,
    next: usize,
}

impl RunReader {
    /// The row at hand.
    #[inline]
    pub(super) fn row(&self) -> Row<'_> {
        let row = self.block.get(self.row..).and_then(Row::read);
        row.unwrap_or(Row {
            place: &[],
            values: &[],
        })
    }

    /// Goes to the next row; false after the last one.
    pub(super) fn advance(&mut self) -> Result<bool> {
        if self.next == self.block.len() {
            if self.at >= self.end {
                return Ok(false);
            }
            self.read_block()?;
        }
        let rest = self.block.get(self.next..).unwrap_or_default();
        let row = Row::read(rest).ok_or_else(|| self.run.damaged())?;
        (self.row, self.next) = (self.next, self.next + row.bytes());
        Ok(true)
    }

    fn read_block(&mut self) -> Result<()> {
        let damaged = || self.run.damaged();
        let head = self.run.read(self.at, HEAD)?;
        let &[a, b, c, d, e, f, g, h] = head.first_chunk::<HEAD>().ok_or_else(damaged)?;
        let length = u32::from_le_bytes([a, b, c, d]);
        let after = self.at + HEAD as u64 + u64::from(length);
        if after > self.end {
            return Err(damaged());
        }
        let length = usize::try_from(length).map_err(|_| damaged())?;
        self.block = self.run.read(self.at + HEAD as u64, length)?;
        if crc32fast::hash(&self.block) != u32::from_le_bytes([e, f, g, h]) {
            return Err(damaged());
        }
        (self.at, self.next) = (after, 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, SeekFrom};

    use tracelake_core::ErrorKind;

    use super::*;

    #[test]
    fn changed_bytes_are_never_believed() {
        let directory = tempfile::tempdir().unwrap();
        let mut spill = SpillFile::new(directory.path()).unwrap();
        let mut writer = spill.begin(3);
        for (class, value) in [(0_u32, 7), (0, 8), (2, 9)] {
            let place = [class.to_be_bytes(), [0, 0, 0, value]].concat();
            let values = [value; 20];
            let row = Row {
                place: &place,
                values: &values,
            };
            writer.push(row).unwrap();
        }
        writer.finish().unwrap();
        let mut file = spill.file.try_clone().unwrap();
        let bytes = spill.at;
        let run = spill.finish().pop().unwrap();
        let rows = || {
            let mut rows = Vec::new();
            for class in 0..3 {
                let mut reader = run.open(class)?;
                while let Some(found) = &mut reader {
                    rows.push((class, found.row().place.to_vec()));
                    if !found.advance()? {
                        break;
                    }
                }
            }
            Ok::<_, Error>(rows)
        };
        let whole = rows().unwrap();
        assert_eq!(whole.len(), 3);
        for at in 0..bytes {
            let mut flip = |by: u8| {
                let byte = run.file.read_at(at, 1).unwrap()[0];
                file.seek(SeekFrom::Start(at)).unwrap();
                file.write_all(&[byte ^ by]).unwrap();
            };
            flip(1);
            assert_eq!(rows().unwrap_err().kind(), ErrorKind::Failed, "{at}");
            flip(1);
        }
        assert_eq!(rows().unwrap(), whole);
    }
}
