//! Limits for Parquet files: of a lake, the most that `convert` writes, since a changed file can be given a matching
//! digest; of a source, what fits into memory. No number in a file is used as a size before it was compared with them.

use std::sync::{Mutex, PoisonError};

use bytes::{Buf, Bytes};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::reader::{ChunkReader, Length};
use tracelake_encode::thrift::{DEEPEST, STRUCT, Thrift};
use tracelake_location::RandomAccess;

type Result<T> = parquet::errors::Result<T>;

/// The largest footer that is read, in bytes: some thousands of row groups.
const LARGEST_FOOTER: u64 = 16 << 20;

/// The most entries of a schema: its root, and the columns that a table can have.
const MOST_COLUMNS: usize = 1 + tracelake_schema::description::MOST_COLUMNS;

/// The most column chunks in a footer of [`LARGEST_FOOTER`]: each takes 60 bytes or more.
const MOST_COLUMN_CHUNKS: usize = 1 << 18;

/// The largest page index of a file, in bytes. One of task_usage takes 1,000 bytes per million of values.
const LARGEST_PAGE_INDEX: u64 = 16 << 20;

/// The most bytes that a row group has without compression, and the most that are read at once. `convert` ends a row
/// group before 64 MiB of values; levels and headers come on top.
const LARGEST_ROW_GROUP: u64 = 128 << 20;

/// The most values of lists in a row group: 64 MiB in Arrow arrays, 4 bytes each.
const MOST_LIST_VALUES: u64 = 16 << 20;

/// The largest header of a page that is read, in bytes. `convert` puts no statistics into it; others may.
const LARGEST_PAGE_HEADER: u64 = 8 << 10;

/// The largest page or dictionary of a source, in bytes, compressed or not. Most writers end a page at 1 MiB; DuckDB
/// makes one of each column chunk of 122,880 rows.
pub const LARGEST_SOURCE_PAGE: u64 = 64 << 20;

/// Whose file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writer {
    /// The converter: a lake's file.
    Convert,
    /// Anyone: a source.
    Any,
}

/// Refuses a footer that would take far more memory than those that `convert` writes.
pub(super) fn check_footer(file: &RandomAccess) -> Result<()> {
    let bytes = file.size()?;
    let Some(end) = bytes.checked_sub(8) else {
        return Err(refused("it is too short"));
    };
    let [a, b, c, d, ..] = *file.read_at(end, 8)? else {
        return Err(refused("it is too short"));
    };
    let footer_bytes = u64::from(u32::from_le_bytes([a, b, c, d]));
    if footer_bytes > LARGEST_FOOTER {
        return Err(refused(format!(
            "has a footer of {footer_bytes} bytes; at most {LARGEST_FOOTER} are read"
        )));
    }
    let Some(start) = end.checked_sub(footer_bytes) else {
        return Err(refused("the footer is longer than the file"));
    };
    let footer = read_within(file, start, footer_bytes)?;
    // The schema, and the columns of the row groups, by their numbers in the format.
    let lists = [
        (&[2][..], MOST_COLUMNS, "columns"),
        (&[4, 1], MOST_COLUMN_CHUNKS, "column chunks"),
    ];
    for (path, most, what) in lists {
        let mut count = 0;
        let counted = Thrift(&footer).each_struct(path, &mut |reader| {
            count += 1;
            if count > most {
                return None;
            }
            reader.skip(STRUCT, DEEPEST)
        });
        if count > most {
            return Err(refused(format!("has a footer of more than {most} {what}")));
        }
        if counted.is_none() {
            return Err(refused("its footer can't be read"));
        }
    }
    Ok(())
}

/// Reads some bytes of a file that are in it, and not too many.
pub(super) fn read_within(file: &RandomAccess, start: u64, length: u64) -> Result<Bytes> {
    let is_inside = start
        .checked_add(length)
        .is_some_and(|end| Some(end) <= file.size().ok());
    if !is_inside {
        return Err(refused(format!(
            "{length} bytes at byte {start} are outside of the file"
        )));
    }
    if length > LARGEST_ROW_GROUP {
        return Err(refused(format!(
            "{length} bytes at byte {start} are to be read at once; at most {LARGEST_ROW_GROUP} are"
        )));
    }
    let length = usize::try_from(length).map_err(|error| refused(error.to_string()))?;
    Ok(file.read_at(start, length)?)
}

/// A Parquet file whose footer was read. The header of each page is looked at before the Parquet crate
/// takes memory for the page.
pub struct CheckedFile {
    file: RandomAccess,
    writer: Writer,
    /// In the order of their first bytes.
    chunks: Vec<ColumnChunkLimit>,
    /// Of each column chunk, the page that was read last.
    seen: Mutex<Vec<LastPage>>,
}

/// The page of a column chunk that was read last.
#[derive(Clone, Default)]
struct LastPage {
    start: u64,
    /// Where its bytes after the header are, if it has any.
    body: Option<u64>,
    /// The values up to its end.
    values: u64,
}

/// Where a column chunk is, and what its pages may have at most.
struct ColumnChunkLimit {
    start: u64,
    end: u64,
    bytes: u64,
    values: u64,
}

impl CheckedFile {
    /// A file and what its footer says, if that is within the limits for its writer.
    ///
    /// # Errors
    /// Names the limit that is exceeded.
    pub fn new(file: RandomAccess, footer: &ParquetMetaData, writer: Writer) -> Result<Self> {
        let mut chunks = Vec::new();
        let mut index = 0_u64;
        for group in footer.row_groups() {
            let (mut bytes, mut list_values) = (0_u64, 0_u64);
            for column in group.columns() {
                let limit = ColumnChunkLimit::of(column, group.num_rows())?;
                bytes = bytes.saturating_add(limit.bytes);
                if column.column_descr().max_rep_level() > 0 {
                    list_values = list_values.saturating_add(limit.values);
                }
                chunks.push(limit);
                let lengths = [column.column_index_length(), column.offset_index_length()];
                for length in lengths.into_iter().flatten() {
                    index = index.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
                }
            }
            for (number, most, what) in [
                (bytes, LARGEST_ROW_GROUP, "bytes in a row group"),
                (
                    list_values,
                    MOST_LIST_VALUES,
                    "values of lists in a row group",
                ),
                (index, LARGEST_PAGE_INDEX, "bytes in its page index"),
            ] {
                if writer == Writer::Convert && number > most {
                    return Err(refused(format!(
                        "has {number} {what}; at most {most} are read"
                    )));
                }
            }
        }
        chunks.sort_by_key(|chunk| chunk.start);
        let seen = Mutex::new(vec![LastPage::default(); chunks.len()]);
        Ok(Self {
            file,
            writer,
            chunks,
            seen,
        })
    }

    /// Checks the header of the page at `start`, of which `header` has the first bytes. False if there are the bytes
    /// after the header that was checked last: the crate asks for them so, too, but doesn't read them.
    fn check_page(&self, start: u64, header: &[u8]) -> Result<bool> {
        let after = self.chunks.partition_point(|chunk| chunk.start <= start);
        let number = after
            .checked_sub(1)
            .filter(|&number| start < self.chunks[number].end)
            .ok_or_else(|| refused("a page is outside of its column chunk"))?;
        let limit = &self.chunks[number];
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let last = &mut seen[number];
        if last.body == Some(start) {
            return Ok(false);
        }
        let page = PageHeader::read(header).ok_or_else(|| {
            refused(format!(
                "the page at byte {start} has a header that can't be read"
            ))
        })?;
        if self.writer == Writer::Convert && !page.is_known() {
            return Err(refused(format!(
                "the page at byte {start} is of a type or an encoding that convert doesn't write"
            )));
        }
        let bytes = page.bytes.max(page.compressed_bytes);
        if self.writer == Writer::Any && bytes > LARGEST_SOURCE_PAGE {
            return Err(refused(format!(
                "the page at byte {start} has {bytes} bytes; at most {LARGEST_SOURCE_PAGE} are read"
            )));
        }
        if bytes > limit.bytes {
            return Err(refused(format!(
                "the page at byte {start} has {} bytes, its column chunk {}",
                bytes, limit.bytes
            )));
        }
        if start != last.start {
            // The column chunk may be read again, from its first page on.
            let before = if start < last.start { 0 } else { last.values };
            *last = LastPage {
                start,
                body: (page.compressed_bytes > 0).then_some(start + page.header_bytes),
                values: before.saturating_add(page.values),
            };
        }
        let values = last.values;
        if values > limit.values {
            return Err(refused(format!(
                "the pages up to byte {start} have {values} values, their column chunk {}",
                limit.values
            )));
        }
        Ok(true)
    }
}

impl ColumnChunkLimit {
    fn of(column: &ColumnChunkMetaData, rows: i64) -> Result<Self> {
        let number = |number: i64| {
            u64::try_from(number).map_err(|_| refused("a column chunk has a negative size"))
        };
        let start = column
            .dictionary_page_offset()
            .unwrap_or(column.data_page_offset());
        let start = number(start.min(column.data_page_offset()))?;
        let end = start.checked_add(number(column.compressed_size())?);
        let values = number(column.num_values())?;
        if column.column_descr().max_rep_level() == 0 && values != number(rows)? {
            return Err(refused(
                "a column chunk has another number of values than its row group",
            ));
        }
        Ok(Self {
            start,
            end: end.ok_or_else(|| refused("a column chunk is outside of the file"))?,
            // A page that compression makes larger is in the file with that size.
            bytes: number(column.uncompressed_size().max(column.compressed_size()))?,
            values,
        })
    }
}

/// A file whose footer hasn't been read.
pub struct UncheckedFile<'a>(pub &'a RandomAccess);

impl Length for UncheckedFile<'_> {
    fn len(&self) -> u64 {
        self.0.size().unwrap_or_default()
    }
}

impl ChunkReader for UncheckedFile<'_> {
    type T = bytes::buf::Reader<Bytes>;

    /// The crate reads the end of the footer by it, and nothing else.
    fn get_read(&self, start: u64) -> Result<Self::T> {
        let left = self.0.size()?.saturating_sub(start);
        Ok(read_within(self.0, start, left.min(LARGEST_PAGE_HEADER))?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        read_within(self.0, start, length as u64)
    }
}

impl Length for CheckedFile {
    fn len(&self) -> u64 {
        self.file.size().unwrap_or_default()
    }
}

/// The crate reads headers of pages by `get_read`, and everything else by `get_bytes`.
impl ChunkReader for CheckedFile {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let left = self.file.size()?.saturating_sub(start);
        let header = read_within(&self.file, start, left.min(LARGEST_PAGE_HEADER))?;
        match self.check_page(start, &header)? {
            true => Ok(header.reader()),
            false => Ok(Bytes::new().reader()),
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        read_within(&self.file, start, length as u64)
    }
}

/// The contents of a page header.
#[derive(Default)]
struct PageHeader {
    header_bytes: u64,
    kind: i64,
    bytes: u64,
    compressed_bytes: u64,
    /// The values of a data page.
    values: u64,
    encoding: i64,
}

impl PageHeader {
    /// Numbers of the format: kinds of pages, and encodings.
    const DATA: i64 = 0;
    const DICTIONARY: i64 = 2;
    const ENCODINGS: [i64; 4] = [0, 2, 3, 8];

    /// Whether `convert` writes such pages: version 1, with values that are PLAIN, indices or RLE. Others may
    /// take any amount of memory.
    fn is_known(&self) -> bool {
        [Self::DATA, Self::DICTIONARY].contains(&self.kind)
            && Self::ENCODINGS.contains(&self.encoding)
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut page = Self::default();
        let mut thrift = Thrift(bytes);
        thrift.each_field(|reader, id, kind| {
            match id {
                1 => page.kind = reader.signed()?,
                2 => page.bytes = u64::try_from(reader.signed()?).ok()?,
                3 => page.compressed_bytes = u64::try_from(reader.signed()?).ok()?,
                5 | 7 | 8 if kind == STRUCT => {
                    let (is_data, encoding) = (id != 7, if id == 8 { 4 } else { 2 });
                    reader.each_field(|reader, id, kind| {
                        match id {
                            1 => {
                                let values = u64::try_from(reader.signed()?).ok()?;
                                page.values = if is_data { values } else { 0 };
                            }
                            id if id == encoding => page.encoding = reader.signed()?,
                            _ => reader.skip(kind, DEEPEST)?,
                        }
                        Some(())
                    })?;
                }
                _ => reader.skip(kind, DEEPEST)?,
            }
            Some(())
        })?;
        page.header_bytes = (bytes.len() - thrift.0.len()) as u64;
        Some(page)
    }
}

fn refused(reason: impl Into<String>) -> ParquetError {
    ParquetError::General(reason.into())
}

#[cfg(test)]
mod tests;
