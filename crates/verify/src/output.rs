//! An output file of a lake, opened to be checked.

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use tracelake_convert::lake_file::LakeFile;
use tracelake_core::Context;
use tracelake_core::error::Result;
use tracelake_core::options::Format;
use tracelake_location::Location;

use super::finding::corrupt;
use super::statistics::{Sorting, check_statistics};

/// An output file whose footer was read.
pub(super) struct Output {
    pub(super) path: Location,
    pub(super) format: Format,
    file: LakeFile,
}

impl Output {
    /// Opens a file and reads its footer.
    pub(super) fn open(path: &Location, format: Format) -> Result<Self> {
        Ok(Self {
            path: path.clone(),
            format,
            file: LakeFile::open(path, format)?,
        })
    }

    /// The number of rows by the footer.
    pub(super) fn rows(&self) -> Result<u64> {
        self.file.rows(&self.path)
    }

    pub(super) fn schema(&self) -> &Schema {
        self.file.schema()
    }

    /// The smallest and the largest value of an integer column: by the statistics of a Parquet file, by
    /// the values of an Arrow file.
    pub(super) fn range(&self, column: &str) -> Result<Option<(i64, i64)>> {
        self.file.range(column)
    }

    /// Compares statistics, page index and bloom filters with the values; an Arrow file has none.
    pub(super) fn check_statistics(&self, context: &Context) -> Result<()> {
        if self.format != Format::Parquet {
            return Ok(());
        }
        check_statistics(context, &self.path, Sorting::ByTime)
    }

    /// The rows, in batches.
    pub(super) fn batches(self) -> Result<impl Iterator<Item = Result<RecordBatch>>> {
        let path = self.path;
        let unreadable = move |error| corrupt(format!("cannot be read: {error}")).at(&path);
        let batches = self.file.batches(None).map_err(&unreadable)?;
        Ok(batches.map(move |batch| batch.map_err(&unreadable)))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Seek, SeekFrom};

    use super::*;

    #[test]
    fn a_huge_footer_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 30).unwrap();
        let mut end = file.as_file();
        end.seek(SeekFrom::End(0)).unwrap();
        io::Write::write_all(&mut end, b"\0\0\0\x3ePAR1").unwrap();
        let error = Output::open(&file.path().into(), Format::Parquet)
            .err()
            .unwrap();
        assert!(error.to_string().contains("has a footer of"), "{error}");
    }
}
