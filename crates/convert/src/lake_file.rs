//! A data file of a lake, read back by the crate of its format.

use std::io::{self, BufReader, Read, Seek, SeekFrom};

use arrow_array::types::Int64Type;
use arrow_array::{RecordBatch, cast::AsArray};
use arrow_ipc::reader::{FileReader, read_footer_length};
use arrow_ipc::{Block, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, DataType, FieldRef, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::statistics::Statistics;

use crate::batch::range_of;
use crate::error::{Error, ErrorKind, Result};
use crate::location::{Location, RandomAccess, from_read};
use crate::options::Format;

/// Rows of a Parquet file that are read at a time if they have texts or lists: one row may take 1 MiB, as a line of
/// the source, or twice that as a list. Others are read 1,024 at a time, which takes an eighth less time.
const WIDE_ROWS: usize = 64;

/// Counts the lines of a file, however long they are; the last one may lack its line end.
///
/// # Errors
/// When the file can't be read.
pub(crate) fn count_lines(path: &Location) -> Result<u64> {
    let mut file = path.open()?;
    let mut buffer = vec![0; 1 << 16];
    let (mut lines, mut last) = (0, b'\n');
    loop {
        let read = file.read(&mut buffer);
        let read = read.map_err(|error| from_read(error).at(path))?;
        let Some(end) = buffer[..read].last() else {
            return Ok(lines + u64::from(last != b'\n'));
        };
        lines += memchr::memchr_iter(b'\n', &buffer[..read]).count() as u64;
        last = *end;
    }
}

/// The record batches of a file.
pub(crate) type BatchIterator =
    Box<dyn Iterator<Item = std::result::Result<RecordBatch, ArrowError>>>;

/// A file whose footer was read.
pub(crate) enum LakeFile {
    Parquet(ParquetRecordBatchReaderBuilder<RandomAccess>),
    Arrow(ArrowLakeFile),
}

/// An Arrow file whose footer was read.
pub(crate) struct ArrowLakeFile {
    path: Location,
    file: RandomAccess,
    schema: SchemaRef,
    rows: u64,
}

impl LakeFile {
    /// Opens a file and reads its footer; of an Arrow file also the headers of its batches.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] when it isn't a file of the format, [`ErrorKind::Failed`] when the disk
    /// fails.
    pub(crate) fn open(path: &Location, format: Format) -> Result<Self> {
        let file = RandomAccess::open(path)?;
        match format {
            Format::Parquet => ParquetRecordBatchReaderBuilder::try_new(file)
                .map(Self::Parquet)
                .map_err(|error| not_parquet(path, error)),
            Format::Arrow => ArrowLakeFile::open(path, file)
                .map(Self::Arrow)
                .map_err(|error| not_arrow(path, error)),
        }
    }

    /// The number of rows, as footer and headers have it.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] when it is negative.
    pub(crate) fn rows(&self, path: &Location) -> Result<u64> {
        match self {
            Self::Parquet(file) => u64::try_from(file.metadata().file_metadata().num_rows())
                .map_err(|_| {
                    Error::new(ErrorKind::Corrupt, "the footer has a negative row count").at(path)
                }),
            Self::Arrow(file) => Ok(file.rows),
        }
    }

    /// The schema.
    pub(crate) fn schema(&self) -> &SchemaRef {
        match self {
            Self::Parquet(file) => file.schema(),
            Self::Arrow(file) => &file.schema,
        }
    }

    /// The smallest and the largest value of a column of integers: from the statistics of a Parquet
    /// file, from the values of an Arrow file, which has none.
    ///
    /// # Errors
    /// When the values of an Arrow file cannot be read.
    pub(crate) fn range(&self, column: &str) -> Result<Option<(i64, i64)>> {
        let wider = |(a, b): (i64, i64), (c, d): (i64, i64)| (a.min(c), b.max(d));
        match self {
            Self::Parquet(file) => {
                // A struct before the column has several column chunks.
                let is_column = |chunk: &&ColumnChunkMetaData| matches!(chunk.column_path().parts(), [name] if name == column);
                let groups = file.metadata().row_groups().iter();
                let ranges = groups.filter_map(|group| {
                    match group.columns().iter().find(is_column)?.statistics() {
                        Some(Statistics::Int64(range)) => {
                            Some((*range.min_opt()?, *range.max_opt()?))
                        }
                        _ => None,
                    }
                });
                Ok(ranges.reduce(wider))
            }
            Self::Arrow(file) => {
                let failed = |error| not_arrow(&file.path, error);
                let mut range = None;
                for batch in file.batches(Some(&[column])).map_err(failed)? {
                    let batch = batch.map_err(failed)?;
                    let values = batch.column_by_name(column);
                    let values = values.and_then(|values| values.as_primitive_opt::<Int64Type>());
                    let found = values.and_then(range_of);
                    range = range.into_iter().chain(found).reduce(wider);
                }
                Ok(range)
            }
        }
    }

    /// The rows, with all columns or those of some names.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn batches(
        self,
        columns: Option<&[&str]>,
    ) -> std::result::Result<BatchIterator, ArrowError> {
        match self {
            Self::Parquet(file) => {
                let file = match columns {
                    Some(columns) => {
                        let names = columns.iter().copied();
                        let mask = ProjectionMask::columns(file.parquet_schema(), names);
                        file.with_projection(mask)
                    }
                    None => file,
                };
                let is_narrow = |field: &FieldRef| {
                    field.data_type().is_primitive() || *field.data_type() == DataType::Boolean
                };
                let file = if file.schema().fields().iter().all(is_narrow) {
                    file
                } else {
                    file.with_batch_size(WIDE_ROWS)
                };
                let batches = file
                    .build()
                    .map_err(|error: ParquetError| ArrowError::ParquetError(error.to_string()))?;
                Ok(Box::new(batches))
            }
            Self::Arrow(file) => Ok(Box::new(file.batches(columns)?)),
        }
    }
}

impl ArrowLakeFile {
    fn open(path: &Location, mut file: RandomAccess) -> std::result::Result<Self, ArrowError> {
        let rows = rows(&mut file)?;
        let schema = FileReader::try_new(file.try_clone()?, None)?.schema();
        Ok(Self {
            path: path.clone(),
            file,
            schema,
            rows,
        })
    }

    fn batches(
        &self,
        columns: Option<&[&str]>,
    ) -> std::result::Result<FileReader<RandomAccess>, ArrowError> {
        let columns = columns.map(|columns| {
            let names = columns.iter();
            names
                .filter_map(|name| self.schema.index_of(name).ok())
                .collect()
        });
        FileReader::try_new(self.file.try_clone()?, columns)
    }
}

impl Length for RandomAccess {
    fn len(&self) -> u64 {
        self.len().unwrap_or_default()
    }
}

impl ChunkReader for RandomAccess {
    type T = BufReader<Self>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        let mut file = self.try_clone()?;
        file.seek(SeekFrom::Start(start))?;
        Ok(BufReader::new(file))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<bytes::Bytes> {
        Ok(self.read_at(start, length)?)
    }
}

/// The rows in all batches of an Arrow file. The headers of the batches have them, the footer only says
/// where these are.
///
/// Every place is checked here, because the crate's reader panics, or allocates what a header says,
/// where one is outside of the file.
fn rows(file: &mut RandomAccess) -> std::result::Result<u64, ArrowError> {
    let broken = |what: &str| ArrowError::ParseError(what.to_owned());
    let bytes = file.len()?;
    let mut trailer = [0; 10];
    if bytes < trailer.len() as u64 {
        return Err(broken("it is too short"));
    }
    let footer_end = bytes - trailer.len() as u64;
    file.seek(SeekFrom::Start(footer_end))?;
    file.read_exact(&mut trailer)?;
    let footer_bytes = read_footer_length(trailer)?;
    let footer_start = footer_end.checked_sub(footer_bytes as u64);
    let footer_start = footer_start.ok_or_else(|| broken("the footer is longer than the file"))?;
    let mut footer = vec![0; footer_bytes];
    file.seek(SeekFrom::Start(footer_start))?;
    file.read_exact(&mut footer)?;
    let footer = root_as_footer(&footer).map_err(|error| broken(&error.to_string()))?;
    if footer
        .dictionaries()
        .is_some_and(|blocks| !blocks.is_empty())
    {
        return Err(broken("it has dictionaries"));
    }
    let mut rows = 0_u64;
    for block in footer.recordBatches().into_iter().flatten() {
        let (start, header_bytes) =
            place(block, footer_start).ok_or_else(|| broken("a batch is outside of the file"))?;
        let mut header = vec![0; header_bytes];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut header)?;
        // A marker and a length come first.
        let header = header.get(8..).unwrap_or_default();
        let header = root_as_message(header).map_err(|error| broken(&error.to_string()))?;
        let batch = header.header_as_record_batch();
        let batch = batch.ok_or_else(|| broken("a block is not a batch"))?;
        let mut buffers = batch.buffers().into_iter().flatten();
        let is_inside = buffers.all(|buffer| {
            let end = buffer.offset().checked_add(buffer.length());
            buffer.offset() >= 0
                && buffer.length() >= 0
                && end.is_some_and(|end| end <= block.bodyLength())
        });
        if !is_inside {
            return Err(broken("a column is outside of its batch"));
        }
        rows = u64::try_from(batch.length())
            .ok()
            .and_then(|length| rows.checked_add(length))
            .ok_or_else(|| broken("a batch has a negative row count"))?;
    }
    Ok(rows)
}

/// Where a batch starts, and the length of its header, if all of it is before the footer.
fn place(block: &Block, footer_start: u64) -> Option<(u64, usize)> {
    let start = u64::try_from(block.offset()).ok()?;
    let header = u64::try_from(block.metaDataLength()).ok()?;
    let body = u64::try_from(block.bodyLength()).ok()?;
    let end = start.checked_add(header)?.checked_add(body)?;
    (end <= footer_start).then(|| usize::try_from(header).ok().map(|header| (start, header)))?
}

/// An error of the Parquet crate. One of the disk keeps its code.
pub(crate) fn not_parquet(path: &Location, error: ParquetError) -> Error {
    if let ParquetError::External(source) = error {
        return match source.downcast::<io::Error>() {
            Ok(disk) if disk.raw_os_error().is_some() || is_ours(&disk) => {
                from_read(*disk).at(path)
            }
            Ok(other) => not_parquet_at(path, ParquetError::External(other)),
            Err(other) => not_parquet_at(path, ParquetError::External(other)),
        };
    }
    not_parquet_at(path, error)
}

/// Whether a server failed, and not what was read.
fn is_ours(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|error| error.is::<Error>())
}

fn not_parquet_at(path: &Location, error: ParquetError) -> Error {
    Error::new(ErrorKind::Corrupt, format!("is not Parquet: {error}"))
        .at(path)
        .because(error)
}

/// An error of the Arrow crates. One of the disk keeps its code.
fn not_arrow(path: &Location, error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, disk) => from_read(disk).at(path),
        error => Error::new(ErrorKind::Corrupt, format!("is not an Arrow file: {error}"))
            .at(path)
            .because(error),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Array, Int64Array};
    use arrow_schema::{DataType, Field, Schema};

    use super::*;
    use crate::arrow_file::ArrowFile;
    use crate::options::Codec;

    fn arrow_file(codec: Codec) -> Vec<u8> {
        let fields = ["a", "time"].map(|name| Field::new(name, DataType::Int64, true));
        let schema: SchemaRef = Arc::new(Schema::new(fields.to_vec()));
        let mut file = ArrowFile::create(Vec::new(), &schema, codec).unwrap();
        for values in [[Some(3), None], [Some(-1), Some(9)]] {
            let times: Arc<dyn Array> = Arc::new(Int64Array::from(values.to_vec()));
            let zeros: Arc<dyn Array> = Arc::new(Int64Array::from(vec![0; 2]));
            let batch = RecordBatch::try_new(Arc::clone(&schema), vec![zeros, times]).unwrap();
            file.write(&batch).unwrap();
        }
        file.finish().unwrap()
    }

    #[test]
    fn a_disk_that_fails_is_not_a_broken_file() {
        let kind = |error: io::Error| not_parquet(&Location::Disk("x".into()), error.into()).kind();
        assert_eq!(kind(io::Error::from_raw_os_error(5)), ErrorKind::Failed);
        let short = io::Error::from(io::ErrorKind::UnexpectedEof);
        assert_eq!(kind(short), ErrorKind::Corrupt);
    }

    #[test]
    fn an_arrow_file_is_read_back() {
        for codec in [Codec::None, Codec::DEFAULT] {
            let directory = tempfile::tempdir().unwrap();
            let path = Location::from(directory.path().join("a.arrow"));
            std::fs::write(path.as_path().unwrap(), arrow_file(codec)).unwrap();
            let file = LakeFile::open(&path, Format::Arrow).unwrap();
            assert_eq!(file.rows(&path).unwrap(), 4);
            assert_eq!(file.range("time").unwrap(), Some((-1, 9)));
            assert_eq!(file.schema().fields().len(), 2);
            let batches: Vec<_> = file.batches(None).unwrap().map(|b| b.unwrap()).collect();
            assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 4);
            assert!(LakeFile::open(&path, Format::Parquet).is_err());
        }
    }

    /// A file that is cut, or has any one byte flipped, is read or refused, without a panic and
    /// without more memory than it has bytes.
    #[test]
    fn a_broken_arrow_file_is_read_or_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = Location::from(directory.path().join("a.arrow"));
        let whole = arrow_file(Codec::None);
        let mut refused = 0;
        let mut look = |bytes: &[u8]| {
            std::fs::write(path.as_path().unwrap(), bytes).unwrap();
            match LakeFile::open(&path, Format::Arrow) {
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
                    refused += 1;
                }
                Ok(file) => {
                    let _ = file.range("time");
                    if let Ok(batches) = file.batches(None) {
                        for batch in batches {
                            if batch.is_err() {
                                break;
                            }
                        }
                    }
                }
            }
        };
        for length in 0..whole.len() {
            look(&whole[..length]);
        }
        for index in 0..whole.len() {
            for bits in [0xff, 0x01] {
                let mut broken = whole.clone();
                broken[index] ^= bits;
                look(&broken);
            }
        }
        assert!(refused > whole.len());
    }
}
