//! Limits for the Parquet files of a lake. A changed file can be given a matching digest, so no number in it is used
//! as a size before it was compared with the most that `convert` writes.

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

/// The largest header of a page, in bytes. `convert` puts no statistics into it.
const LARGEST_PAGE_HEADER: u64 = 8 << 10;

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
    /// A file and what its footer says, if that is no more than `convert` writes.
    ///
    /// # Errors
    /// Names the limit that is exceeded.
    pub fn new(file: RandomAccess, footer: &ParquetMetaData) -> Result<Self> {
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
                if number > most {
                    return Err(refused(format!(
                        "has {number} {what}; at most {most} are read"
                    )));
                }
            }
        }
        chunks.sort_by_key(|chunk| chunk.start);
        let seen = Mutex::new(vec![LastPage::default(); chunks.len()]);
        Ok(Self { file, chunks, seen })
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
        if !page.is_known() {
            return Err(refused(format!(
                "the page at byte {start} is of a type or an encoding that convert doesn't write"
            )));
        }
        if page.bytes.max(page.compressed_bytes) > limit.bytes {
            return Err(refused(format!(
                "the page at byte {start} has {} bytes, its column chunk {}",
                page.bytes.max(page.compressed_bytes),
                limit.bytes
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
                5 | 7 if kind == STRUCT => {
                    let is_data = id == 5;
                    reader.each_field(|reader, id, kind| {
                        match id {
                            1 => {
                                let values = u64::try_from(reader.signed()?).ok()?;
                                page.values = if is_data { values } else { 0 };
                            }
                            2 => page.encoding = reader.signed()?,
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
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    use parquet::arrow::ArrowWriter;
    use parquet::file::metadata::ParquetMetaDataReader;
    use tempfile::NamedTempFile;

    use super::*;

    fn open(bytes: &[u8]) -> (NamedTempFile, RandomAccess) {
        let file = NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let opened = RandomAccess::open(&file.path().into()).unwrap();
        (file, opened)
    }

    /// A file of one column of four values, which are in a dictionary.
    fn parquet() -> Vec<u8> {
        let values: ArrayRef = Arc::new(Int64Array::from(vec![7, 7, 8, 7]));
        let batch = RecordBatch::try_from_iter([("a", values)]).unwrap();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap()
    }

    fn varint(mut number: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while number > 127 {
            bytes.push(number.to_le_bytes()[0] | 128);
            number >>= 7;
        }
        bytes.push(number.to_le_bytes()[0]);
        bytes
    }

    /// The header of a page: fields 1 to 3, then field 5, a struct.
    fn header(kind: u64, bytes: u64, compressed: u64, values: u64, encoding: u64) -> Vec<u8> {
        let number = |number: u64| [vec![0x15], varint(number << 1)].concat();
        let head = [kind, bytes, compressed].map(number).concat();
        let data = [values, encoding].map(number).concat();
        [head, vec![0x2c], data, vec![0, 0]].concat()
    }

    /// A file that ends in a footer of these bytes.
    fn with_footer(footer: &[u8], length: usize) -> Vec<u8> {
        let length = u32::try_from(length).unwrap().to_le_bytes();
        [b"PAR1", footer, &length, b"PAR1"].concat()
    }

    #[test]
    fn a_footer_that_asks_for_too_much_is_refused() {
        check_footer(&open(&parquet()).1).unwrap();
        // Field 2 or 4, a list of structs, each of them empty or with a list of empty structs.
        let list = |id: u8, count: usize, one: &[u8]| {
            let head = [vec![id << 4 | 9, 0xfc], varint(count as u64)].concat();
            [head, one.repeat(count), vec![0]].concat()
        };
        let column_chunks = [&[0x19, 0xfc][..], &varint(1 << 17), &vec![0; 1 << 17], &[0]].concat();
        for (footer, length, says) in [
            (list(2, 1_001, &[0]), None, "of more than 1000 columns"),
            (
                list(4, 3, &column_chunks),
                None,
                "of more than 262144 column chunks",
            ),
            (list(2, 1_000, &[0])[..500].to_vec(), None, "can't be read"),
            (
                vec![0],
                Some((16 << 20) + 1),
                "has a footer of 16777217 bytes",
            ),
            (vec![0], Some(1_000), "longer than the file"),
        ] {
            let file = with_footer(&footer, length.unwrap_or(footer.len()));
            let error = check_footer(&open(&file).1).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        check_footer(&open(&with_footer(&list(2, 1_000, &[0]), 1_005)).1).unwrap();
    }

    #[test]
    fn a_page_has_no_more_than_its_column_chunk() {
        let bytes = parquet();
        let footer = ParquetMetaDataReader::new()
            .parse_and_finish(&Bytes::from(bytes.clone()))
            .unwrap();
        let column = footer.row_group(0).column(0);
        let (start, length) = column.byte_range();
        let most = u64::try_from(column.uncompressed_size()).unwrap();
        let (path, _) = open(&bytes);
        let reopened = || {
            let file = RandomAccess::open(&path.path().into()).unwrap();
            CheckedFile::new(file, &footer).unwrap()
        };
        let file = reopened();
        file.check_page(start, &header(0, most, length, 4, 8))
            .unwrap();
        let huge = i32::MAX as u64;
        for (at, header, says) in [
            (
                start,
                header(0, huge, 1, 4, 8),
                "has 2147483647 bytes, its column chunk",
            ),
            (
                start,
                header(0, most + 1, 1, 4, 8),
                "bytes, its column chunk",
            ),
            (
                start,
                header(0, 1, huge, 4, 8),
                "has 2147483647 bytes, its column chunk",
            ),
            (
                start,
                header(0, 1, 1, 5, 8),
                "have 5 values, their column chunk 4",
            ),
            // DELTA_BYTE_ARRAY, and version 2.
            (start, header(0, 1, 1, 4, 7), "that convert doesn't write"),
            (start, header(3, 1, 1, 4, 8), "that convert doesn't write"),
            (start, vec![0x15; 40], "can't be read"),
            (start, header(0, 1, 1, 4, 8)[..6].to_vec(), "can't be read"),
            (
                start + length,
                header(0, 1, 1, 4, 8),
                "outside of its column chunk",
            ),
        ] {
            let error = reopened().check_page(at, &header).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        // Values add up over pages, but not over readings.
        let file = reopened();
        let page = header(0, 1, 1, 3, 8);
        for _ in 0..2 {
            file.check_page(start, &page).unwrap();
            file.check_page(start, &page).unwrap();
            file.check_page(start + 2, &header(0, 1, 1, 1, 8)).unwrap();
        }
        let error = file.check_page(start + 3, &page).unwrap_err().to_string();
        assert!(error.contains("have 7 values"), "{error}");
        for (at, length) in [(0, 1 << 40), (u64::MAX, 1), (bytes.len() as u64, 1)] {
            let error = file.get_bytes(at, length).unwrap_err().to_string();
            assert!(error.contains("outside of the file"), "{error}");
        }
    }

    #[test]
    fn a_read_has_a_limit_in_a_file_of_any_size() {
        let (file, opened) = open(b"");
        file.as_file().set_len(1 << 30).unwrap();
        let error = read_within(&opened, 0, LARGEST_ROW_GROUP + 1).unwrap_err();
        assert!(
            error.to_string().contains("at most 134217728 are"),
            "{error}"
        );
    }
}
