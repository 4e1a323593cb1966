//! An output file of a lake, opened to be checked.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;

use super::corrupt;
use super::legacy::old_bounds_are_right;
use super::statistics::check_statistics;
use crate::error::{Error, Result};
use crate::source::open_file;

/// The largest footer that is read, in bytes: some ten thousand row groups.
const LARGEST_FOOTER: u64 = 64 << 20;

/// An output file whose footer was read.
pub(super) struct Output {
    pub(super) path: PathBuf,
    reader: ParquetRecordBatchReaderBuilder<File>,
}

impl Output {
    /// Opens a file and reads its footer.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let mut file = open_file(path)?;
        check_footer_size(&mut file)
            .map_err(|error| Error::io("read", path, error).at(path))?
            .map_err(|reason| corrupt(reason).at(path))?;
        let reader = ParquetRecordBatchReaderBuilder::try_new(file);
        Ok(Self {
            path: path.to_owned(),
            reader: reader.map_err(|error| not_parquet(path, error))?,
        })
    }

    /// The rows that the footer names; negative in a forged one.
    pub(super) fn rows(&self) -> i64 {
        self.reader.metadata().file_metadata().num_rows()
    }

    pub(super) fn schema(&self) -> &Schema {
        self.reader.schema()
    }

    /// The smallest and the largest value of an integer column by the statistics of its row groups.
    pub(super) fn range(&self, column: &str) -> Option<(i64, i64)> {
        // A struct before it has several column chunks.
        let is_named = |chunk: &&ColumnChunkMetaData| {
            let path = chunk.column_path().parts();
            path.len() == 1 && path[0] == column
        };
        let groups = self.reader.metadata().row_groups().iter();
        let ranges =
            groups.filter_map(
                |group| match group.columns().iter().find(is_named)?.statistics() {
                    Some(Statistics::Int64(range)) => Some((*range.min_opt()?, *range.max_opt()?)),
                    _ => None,
                },
            );
        ranges.reduce(|(a, b), (c, d)| (a.min(c), b.max(d)))
    }

    /// Compares statistics, page index and bloom filters with the values.
    pub(super) fn check_statistics(&self) -> Result<()> {
        let failed = |error| Error::io("read", &self.path, error);
        let footer = read_footer(&self.path).map_err(failed)?;
        if old_bounds_are_right(&footer) != Some(true) {
            let reason = "the statistics for old readers differ from those for new ones";
            return Err(corrupt(reason).at(&self.path));
        }
        check_statistics(&self.path)
    }

    /// The rows, in batches.
    pub(super) fn batches(self) -> Result<impl Iterator<Item = Result<RecordBatch>>> {
        let path = self.path;
        let batches = self.reader.build();
        let batches = batches.map_err(|error| not_parquet(&path, error))?;
        Ok(batches.map(move |batch| {
            batch.map_err(|error| corrupt(format!("cannot be read: {error}")).at(&path))
        }))
    }
}

/// The footer of a file whose size was checked before.
fn read_footer(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::End(-8))?;
    let mut length = [0; 4];
    file.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    file.seek(SeekFrom::End(-8 - i64::from(length)))?;
    let mut footer = Vec::new();
    file.take(length.into()).read_to_end(&mut footer)?;
    Ok(footer)
}

/// Refuses a footer that a hostile file makes large: it is read whole.
fn check_footer_size(file: &mut File) -> io::Result<std::result::Result<(), String>> {
    let bytes = file.seek(SeekFrom::End(0))?;
    let mut end = [0; 8];
    if bytes >= 8 {
        file.seek(SeekFrom::End(-8))?;
        file.read_exact(&mut end)?;
    }
    file.rewind()?;
    let [a, b, c, d, ..] = end;
    let footer = u64::from(u32::from_le_bytes([a, b, c, d]));
    if footer > LARGEST_FOOTER {
        let reason = format!("has a footer of {footer} bytes; at most {LARGEST_FOOTER} are read");
        return Ok(Err(reason));
    }
    Ok(Ok(()))
}

/// What the Parquet crate said about a file: a failure of the system, or a finding.
pub(super) fn not_parquet(path: &Path, error: ParquetError) -> Error {
    if let ParquetError::External(source) = &error
        && let Some(disk) = source.downcast_ref::<io::Error>()
        && let Some(code) = disk.raw_os_error()
    {
        return Error::io("read", path, io::Error::from_raw_os_error(code));
    }
    corrupt(format!("is not Parquet: {error}"))
        .at(path)
        .because(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_disk_that_fails_is_no_finding() {
        let kind = |error: io::Error| not_parquet(Path::new("x"), error.into()).kind();
        assert_eq!(kind(io::Error::from_raw_os_error(5)), ErrorKind::Failed);
        let short = io::Error::from(io::ErrorKind::UnexpectedEof);
        assert_eq!(kind(short), ErrorKind::Corrupt);
    }

    #[test]
    fn a_huge_footer_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 30).unwrap();
        let mut end = file.as_file();
        end.seek(SeekFrom::End(0)).unwrap();
        io::Write::write_all(&mut end, b"\0\0\0\x3ePAR1").unwrap();
        let error = Output::open(file.path()).err().unwrap();
        assert!(error.to_string().contains("has a footer of"), "{error}");
    }
}
