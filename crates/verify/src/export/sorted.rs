//! Lines in the order of a key, more of them than there is memory for.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;

use tracelake_core::error::{Error, Result};

/// The most bytes of lines, and of their places, that are kept in memory.
const MOST_BYTES: usize = 64 << 20;

/// The bytes of a run that are read at a time.
const READ_BYTES: usize = 64 << 10;

/// Lines with keys. Lines of one key stay in the order in which they came.
pub(super) struct SortedLines<'a> {
    /// Where runs are kept.
    directory: &'a Path,
    most: usize,
    text: Vec<u8>,
    /// The key of each line since the last run, and where its text is.
    lines: Vec<(i64, Range<usize>)>,
    /// Sorted lines: for each its key, its length and its text. The file has no name.
    file: Option<File>,
    runs: Vec<Range<u64>>,
}

impl<'a> SortedLines<'a> {
    /// No lines; what memory is too small for goes into a file in this directory.
    pub(super) fn new(directory: &'a Path) -> Self {
        Self::within(directory, MOST_BYTES)
    }

    fn within(directory: &'a Path, most: usize) -> Self {
        Self {
            directory,
            most,
            text: Vec::new(),
            lines: Vec::new(),
            file: None,
            runs: Vec::new(),
        }
    }

    /// Adds a line that `write` writes.
    pub(super) fn push(
        &mut self,
        key: i64,
        write: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let start = self.text.len();
        write(&mut self.text)?;
        self.lines.push((key, start..self.text.len()));
        if self.text.len() + size_of_val(&*self.lines) > self.most {
            let spilled = self.spill();
            spilled.map_err(|error| Error::disk("sort in", error).at(self.directory))?;
        }
        Ok(())
    }

    /// Puts the lines in memory into a run.
    fn spill(&mut self) -> io::Result<()> {
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile_in(self.directory)?),
        };
        let start = self.runs.last().map_or(0, |run| run.end);
        let mut end = start;
        let mut out = BufWriter::new(file);
        self.lines.sort_by_key(|(key, _)| *key);
        for (key, range) in self.lines.drain(..) {
            let line = &self.text[range];
            out.write_all(&key.to_le_bytes())?;
            out.write_all(&(line.len() as u64).to_le_bytes())?;
            out.write_all(line)?;
            end += 16 + line.len() as u64;
        }
        out.flush()?;
        self.text.clear();
        self.runs.push(start..end);
        Ok(())
    }

    /// Gives each line, and its key, to `take`, in their order.
    pub(super) fn for_each(
        &mut self,
        mut take: impl FnMut(i64, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        if self.runs.is_empty() {
            self.lines.sort_by_key(|(key, _)| *key);
            let mut lines = self.lines.drain(..);
            return lines.try_for_each(|(key, range)| take(key, &self.text[range]));
        }
        self.spill()?;
        let Some(file) = &self.file else {
            unreachable!("runs are in a file")
        };
        let mut runs = Vec::new();
        let mut next = BinaryHeap::new();
        for (number, range) in self.runs.iter().enumerate() {
            let run = Run {
                file,
                range: range.clone(),
            };
            let mut run = BufReader::with_capacity(READ_BYTES, run);
            if let Some(key) = key(&mut run)? {
                next.push(Reverse((key, number)));
            }
            runs.push(run);
        }
        let mut line = Vec::new();
        while let Some(mut first) = next.peek_mut() {
            let Reverse((found, number)) = *first;
            let run = &mut runs[number];
            let mut length = [0; 8];
            run.read_exact(&mut length)?;
            line.clear();
            let length = u64::from_le_bytes(length);
            if run.take(length).read_to_end(&mut line)? as u64 != length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            take(found, &line)?;
            match key(run)? {
                Some(key) => *first = Reverse((key, number)),
                None => {
                    PeekMut::pop(first);
                }
            }
        }
        Ok(())
    }
}

/// The key of the next line of a run.
fn key(run: &mut BufReader<Run<'_>>) -> io::Result<Option<i64>> {
    let mut key = [0; 8];
    if run.buffer().is_empty() && run.get_ref().range.is_empty() {
        return Ok(None);
    }
    run.read_exact(&mut key)?;
    Ok(Some(i64::from_le_bytes(key)))
}

/// A range of a file; several may be read in turn.
struct Run<'a> {
    file: &'a File,
    range: Range<u64>,
}

impl Read for Run<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = self.range.end - self.range.start;
        let most = usize::try_from(rest).map_or(buffer.len(), |rest| rest.min(buffer.len()));
        let mut file = self.file;
        file.seek(SeekFrom::Start(self.range.start))?;
        let read = file.read(&mut buffer[..most])?;
        self.range.start += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_sorted_in_memory_and_in_runs_alike() {
        let scratch = tempfile::tempdir().unwrap();
        let lines: Vec<(i64, String)> = (0..1000)
            .map(|line| ((line * 7919) % 101 - 50, format!("line {line}")))
            .collect();
        let mut expected = lines.clone();
        expected.sort_by_key(|(key, _)| *key);
        for most in [1, 500, 4_000, MOST_BYTES] {
            let mut sorted = SortedLines::within(scratch.path(), most);
            for (key, line) in &lines {
                let write = |text: &mut Vec<u8>| {
                    text.extend_from_slice(line.as_bytes());
                    Ok(())
                };
                sorted.push(*key, write).unwrap();
            }
            assert_eq!(sorted.runs.is_empty(), most == MOST_BYTES);
            let mut found = Vec::new();
            let take = |key, line: &[u8]| {
                found.push((key, String::from_utf8(line.to_vec()).unwrap()));
                Ok(())
            };
            sorted.for_each(take).unwrap();
            assert_eq!(found, expected, "{most}");
        }
        // Runs have no name.
        assert_eq!(scratch.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn nothing_is_nothing() {
        let scratch = tempfile::tempdir().unwrap();
        let mut sorted = SortedLines::new(scratch.path());
        sorted.for_each(|_, _| panic!("there is no line")).unwrap();
    }
}
