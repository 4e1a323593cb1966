//! A data file of a lake, read back by the crate of its format, within a bound of memory whatever it holds.

mod limits;

use std::io::{self, Read};

use arrow_array::{Float64Array, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::reader::{FileDecoder, FileReader, read_footer_length};
use arrow_ipc::{
    Block, MetadataVersion, RecordBatch as BatchHeader, root_as_footer, root_as_message,
};
use arrow_schema::{ArrowError, DataType, FieldRef, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::statistics::Statistics;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::options::Format;
use tracelake_encode::batch::{BATCH_ROWS, time_range};
use tracelake_location::{Location, RandomAccess, from_read};

pub use limits::{CheckedFile, LARGEST_SOURCE_PAGE, UncheckedFile, Writer};

/// Rows of a Parquet file that are read at a time if they have texts or lists: one row may take 1 MiB, as a line of
/// the source, or twice that as a list. Others are read 1,024 at a time, which takes an eighth less time.
pub const WIDE_ROWS: usize = 64;

/// Counts the lines of a file, however long they are; the last one may lack its line end.
///
/// # Errors
/// When the file can't be read.
pub fn count_lines(path: &Location) -> Result<u64> {
    let mut file = path.open()?;
    let mut buffer = vec![0; 1 << 16];
    let (mut lines, mut last) = (0, b'\n');
    loop {
        let read = file
            .read(&mut buffer)
            .map_err(|error| from_read(error).at(path))?;
        let Some(end) = buffer[..read].last() else {
            return Ok(lines + u64::from(last != b'\n'));
        };
        lines += memchr::memchr_iter(b'\n', &buffer[..read]).count() as u64;
        last = *end;
    }
}

/// The record batches of a file.
pub(crate) type BatchIterator =
    Box<dyn Iterator<Item = std::result::Result<RecordBatch, ArrowError>> + Send>;

/// A file whose footer was read.
pub enum LakeFile {
    /// A Parquet file.
    Parquet(ParquetRecordBatchReaderBuilder<CheckedFile>),
    /// An Arrow file.
    Arrow(ArrowLakeFile),
}

/// An Arrow file whose footer was read.
pub struct ArrowLakeFile {
    path: Location,
    file: RandomAccess,
    schema: SchemaRef,
    version: MetadataVersion,
    batches: Vec<Block>,
    rows: u64,
}

/// The largest footer of an Arrow file that is read, in bytes, which says of each batch where it is.
const LARGEST_FOOTER: u64 = 16 << 20;

/// The largest header of a batch that is read, in bytes: it says of each column where its buffers are.
const LARGEST_HEADER: u64 = 1 << 20;

/// The largest batch that is read, in bytes, compressed or not. `convert` ends a batch before it has 32 MiB, or
/// with the chunk of text that exceeds them.
const LARGEST_BATCH: u64 = 64 << 20;

impl LakeFile {
    /// Opens a file and reads its footer; of an Arrow file also the headers of its batches.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] when it isn't a file of the format, [`ErrorKind::Failed`] when the disk
    /// fails.
    pub fn open(path: &Location, format: Format) -> Result<Self> {
        Self::of(RandomAccess::open(path)?, path, format)
    }

    /// Reads the footer of an open file, like [`LakeFile::open`].
    pub(crate) fn of(file: RandomAccess, path: &Location, format: Format) -> Result<Self> {
        match format {
            Format::Parquet => open_parquet(file, Writer::Convert)
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
    pub fn rows(&self, path: &Location) -> Result<u64> {
        match self {
            Self::Parquet(file) => parquet_rows(file.metadata(), path),
            Self::Arrow(file) => Ok(file.rows),
        }
    }

    /// The number of rows of a file that should have `bytes` bytes: in a bucket, a small footer takes one request. The
    /// Arrow schema of a Parquet file isn't read, which would take as long as the rest of a small footer.
    ///
    /// # Errors
    /// See [`LakeFile::open`] and [`LakeFile::rows`].
    pub fn rows_at_end(path: &Location, format: Format, bytes: u64) -> Result<u64> {
        let file = RandomAccess::open_end(path, bytes)?;
        match format {
            Format::Parquet => {
                let read = read_metadata(file, Writer::Convert);
                let (_, footer) = read.map_err(|error| not_parquet(path, error))?;
                parquet_rows(&footer, path)
            }
            Format::Arrow => Self::of(file, path, format)?.rows(path),
        }
    }

    /// The schema.
    pub fn schema(&self) -> &SchemaRef {
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
    pub fn range(&self, column: &str) -> Result<Option<(i64, i64)>> {
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
                        Some(Statistics::Double(range)) => {
                            let values = vec![*range.min_opt()?, *range.max_opt()?];
                            time_range(&Float64Array::from(values))
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
                    let found = values.and_then(|values| time_range(values));
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
    pub fn batches(
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
                parquet_batches(file)
            }
            Self::Arrow(file) => Ok(Box::new(file.batches(columns)?)),
        }
    }

    /// The rows after the first `skipped`, with all columns.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn batches_after(
        self,
        skipped: u64,
    ) -> std::result::Result<BatchIterator, ArrowError> {
        let mut left = usize::try_from(skipped).unwrap_or(usize::MAX);
        match self {
            Self::Parquet(file) => {
                let groups = file.metadata().row_groups().iter().enumerate();
                let rows = groups.map(|(index, group)| (index, usize::try_from(group.num_rows())));
                let rest = rows.skip_while(|(_, rows)| {
                    let rows = rows.as_ref().copied().unwrap_or_default();
                    let is_skipped = rows <= left;
                    left -= if is_skipped { rows } else { 0 };
                    is_skipped
                });
                let rest: Vec<usize> = rest.map(|(index, _)| index).collect();
                parquet_batches(file.with_row_groups(rest).with_offset(left))
            }
            Self::Arrow(file) => {
                let batches = file.batches(None)?.filter_map(move |batch| {
                    let Ok(found) = &batch else {
                        return Some(batch);
                    };
                    let rows = found.num_rows();
                    let skipped = left.min(rows);
                    left -= skipped;
                    (skipped < rows).then(|| Ok(found.slice(skipped, rows - skipped)))
                });
                Ok(Box::new(batches))
            }
        }
    }
}

fn parquet_batches(
    file: ParquetRecordBatchReaderBuilder<CheckedFile>,
) -> std::result::Result<BatchIterator, ArrowError> {
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

/// Opens a Parquet file for reading record batches.
///
/// # Errors
/// See [`read_footer`].
pub fn open_parquet(
    file: RandomAccess,
    writer: Writer,
) -> std::result::Result<ParquetRecordBatchReaderBuilder<CheckedFile>, ParquetError> {
    let (file, footer) = read_footer(file, writer)?;
    Ok(ParquetRecordBatchReaderBuilder::new_with_metadata(
        file, footer,
    ))
}

/// The number of rows in the footer of a Parquet file.
fn parquet_rows(footer: &ParquetMetaData, path: &Location) -> Result<u64> {
    u64::try_from(footer.file_metadata().num_rows())
        .map_err(|_| Error::new(ErrorKind::Corrupt, "the footer has a negative row count").at(path))
}

/// Reads the footer of a Parquet file without its Arrow schema, like [`read_footer`].
fn read_metadata(
    file: RandomAccess,
    writer: Writer,
) -> std::result::Result<(CheckedFile, ParquetMetaData), ParquetError> {
    limits::check_footer(&file)?;
    let footer = ParquetMetaDataReader::new().parse_and_finish(&UncheckedFile(&file))?;
    let file = CheckedFile::new(file, &footer, writer)?;
    Ok((file, footer))
}

/// Reads the footer of a Parquet file.
///
/// # Errors
/// If it isn't Parquet, or beyond the limits for its writer.
pub fn read_footer(
    file: RandomAccess,
    writer: Writer,
) -> std::result::Result<(CheckedFile, ArrowReaderMetadata), ParquetError> {
    let (file, metadata) = read_metadata(file, writer)?;
    // The types of a source are those of Parquet, whatever its writer had in memory.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(writer == Writer::Any);
    Ok((
        file,
        ArrowReaderMetadata::try_new(metadata.into(), options)?,
    ))
}

impl ArrowLakeFile {
    fn open(path: &Location, file: RandomAccess) -> std::result::Result<Self, ArrowError> {
        let (version, batches, rows) = batches_of(&file)?;
        let schema = FileReader::try_new(file.try_clone()?, None)?.schema();
        Ok(Self {
            path: path.clone(),
            file,
            schema,
            version,
            batches,
            rows,
        })
    }

    /// The rows, with all columns or those of some names.
    fn batches(
        &self,
        columns: Option<&[&str]>,
    ) -> std::result::Result<
        impl Iterator<Item = std::result::Result<RecordBatch, ArrowError>> + 'static,
        ArrowError,
    > {
        let mut decoder = FileDecoder::new(SchemaRef::clone(&self.schema), self.version);
        if let Some(columns) = columns {
            let names = columns.iter();
            let indices = names.filter_map(|name| self.schema.index_of(name).ok());
            decoder = decoder.with_projection(indices.collect());
        }
        let file = self.file.try_clone()?;
        let batches = self.batches.clone().into_iter();
        Ok(batches.map(move |block| read_batch(&file, &decoder, &block)))
    }
}

/// Reads a batch, after a look at the lengths of its buffers without compression.
fn read_batch(
    file: &RandomAccess,
    decoder: &FileDecoder,
    block: &Block,
) -> std::result::Result<RecordBatch, ArrowError> {
    let broken = |what: &str| ArrowError::ParseError(what.to_owned());
    let place =
        place(block, file.size()?).ok_or_else(|| broken("a batch is outside of the file"))?;
    let length = usize::try_from(place.header + place.body).map_err(|_| broken("a large batch"))?;
    let bytes = file.read_at(place.start, length)?;
    let header_bytes = usize::try_from(place.header).map_err(|_| broken("a large header"))?;
    let (header, body) = bytes.split_at(header_bytes);
    let mut plain = 0_u64;
    let header = batch_header(header)?;
    if header.compression().is_some() {
        for buffer in header.buffers().into_iter().flatten() {
            let start = usize::try_from(buffer.offset()).unwrap_or(usize::MAX);
            let prefix = body.get(start..).and_then(|buffer| buffer.first_chunk());
            // -1 is a buffer that isn't compressed.
            let length = prefix.map_or(0, |prefix| i64::from_le_bytes(*prefix));
            plain = plain.saturating_add(u64::try_from(length).unwrap_or_default());
        }
    }
    if plain > LARGEST_BATCH {
        let reason = format!("a batch has {plain} bytes; at most {LARGEST_BATCH} are read");
        return Err(ArrowError::ParseError(reason));
    }
    let batch = decoder.read_record_batch(block, &Buffer::from(bytes))?;
    batch.ok_or_else(|| broken("a block is not a batch"))
}

/// The header of a batch, from the bytes before its body.
fn batch_header(bytes: &[u8]) -> std::result::Result<BatchHeader<'_>, ArrowError> {
    // A marker and a length come first.
    let message = root_as_message(bytes.get(8..).unwrap_or_default())
        .map_err(|error| ArrowError::ParseError(error.to_string()))?;
    let batch = message.header_as_record_batch();
    batch.ok_or_else(|| ArrowError::ParseError("a block is not a batch".to_owned()))
}

/// The batches of an Arrow file, and the rows in all of them. The headers of the batches have these, the footer only
/// says where the batches are.
///
/// Every place and every size is checked here, because the crate's reader panics, or allocates what a
/// header says.
fn batches_of(
    file: &RandomAccess,
) -> std::result::Result<(MetadataVersion, Vec<Block>, u64), ArrowError> {
    let broken = |what: &str| ArrowError::ParseError(what.to_owned());
    let bytes = file.size()?;
    let footer_end = bytes
        .checked_sub(10)
        .ok_or_else(|| broken("it is too short"))?;
    let end = file.read_at(footer_end, 10)?;
    let trailer = end.first_chunk().ok_or_else(|| broken("it is too short"))?;
    let footer_bytes = read_footer_length(*trailer)?;
    if footer_bytes as u64 > LARGEST_FOOTER {
        let reason =
            format!("has a footer of {footer_bytes} bytes; at most {LARGEST_FOOTER} are read");
        return Err(ArrowError::ParseError(reason));
    }
    let footer_start = footer_end
        .checked_sub(footer_bytes as u64)
        .ok_or_else(|| broken("the footer is longer than the file"))?;
    let encoded = file.read_at(footer_start, footer_bytes)?;
    let footer = root_as_footer(&encoded).map_err(|error| broken(&error.to_string()))?;
    if footer
        .dictionaries()
        .is_some_and(|blocks| !blocks.is_empty())
    {
        return Err(broken("it has dictionaries"));
    }
    let mut batches = Vec::new();
    let mut rows = 0_u64;
    for block in footer.recordBatches().into_iter().flatten() {
        let place =
            place(block, footer_start).ok_or_else(|| broken("a batch is outside of the file"))?;
        if place.header > LARGEST_HEADER || place.body > LARGEST_BATCH {
            let reason = format!(
                "a batch has {} bytes; at most {LARGEST_BATCH} are read",
                place.header + place.body
            );
            return Err(ArrowError::ParseError(reason));
        }
        let header_bytes = usize::try_from(place.header).map_err(|_| broken("a large header"))?;
        let header = file.read_at(place.start, header_bytes)?;
        let batch = batch_header(&header)?;
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
        let length = usize::try_from(batch.length())
            .map_err(|_| broken("a batch has a negative row count"))?;
        if length > BATCH_ROWS {
            let reason = format!("a batch has {length} rows; at most {BATCH_ROWS} are read");
            return Err(ArrowError::ParseError(reason));
        }
        rows = rows.saturating_add(length as u64);
        batches.push(*block);
    }
    Ok((footer.version(), batches, rows))
}

/// Where a batch starts, and the bytes of its header and of its body.
struct BatchPlace {
    start: u64,
    header: u64,
    body: u64,
}

/// Where a batch is, if all of it is before `end`.
fn place(block: &Block, end: u64) -> Option<BatchPlace> {
    let start = u64::try_from(block.offset()).ok()?;
    let header = u64::try_from(block.metaDataLength()).ok()?;
    let body = u64::try_from(block.bodyLength()).ok()?;
    let last = start.checked_add(header)?.checked_add(body)?;
    (last <= end).then_some(BatchPlace {
        start,
        header,
        body,
    })
}

/// An error of the Parquet crate about a file of a source. One of the disk keeps its code.
pub fn source_damaged(path: &Location, error: ParquetError) -> Error {
    let reason = match &error {
        ParquetError::General(reason) => format!("is damaged: {reason}"),
        error => format!("is damaged: {error}"),
    };
    match not_parquet(path, error) {
        error if error.kind() == ErrorKind::Corrupt => Error::new(ErrorKind::Corrupt, reason)
            .at(path)
            .hint("download it again"),
        error => error,
    }
}

/// An error of the Parquet crate. One of the disk keeps its code.
pub fn not_parquet(path: &Location, error: ParquetError) -> Error {
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
mod tests;
