//! The fields of one column to a column chunk: looked up, packed into pages, compressed.
//!
//! A field that was seen before in the row group costs one look-up of its bytes, which gives the
//! index of its value in the dictionary. Only the others are read as values. The pages are encoded
//! here and not by the Parquet crate, because its writer wants values, and would hash each of them
//! again; what is not the values (headers, footer, indexes) stays with the crate.

mod compress;
mod dictionary;
mod encode;
mod range;
mod texts;

use std::ops::Range;

use bytes::{Buf, Bytes, buf::Reader};
use parquet::basic::{Encoding, PageType};
use parquet::bloom_filter::Sbbf;
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, ColumnIndexBuilder, OffsetIndexBuilder, PageEncodingStats,
};
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use tracelake_schema::{Column, Kind, Sentinel};

use crate::fault::Fault;
use crate::split::Records;
use crate::value;
pub use compress::Codec;
use compress::Compressor;
use dictionary::{Dictionary, Values};
use range::Range as ValueRange;
use texts::{Key, MISS, MOST_VALUES, Texts};

type Result<T> = std::result::Result<T, ParquetError>;

/// A dictionary larger than this is given up: the rest of the column chunk is written plain.
const DICTIONARY_BYTES: usize = 1 << 20;

/// A page ends behind the chunk of text with which it has this many rows, or bytes of plain values.
const PAGE_ROWS: usize = 1 << 16;
const PAGE_BYTES: usize = 1 << 20;

/// A field that is empty, and may be.
const NULL: u32 = u32::MAX;

/// One column of a table on its way to column chunks, one for each row group.
///
/// # Memory
/// The chunk so far, compressed; the page so far, 5 bytes a row or its plain values; a dictionary of at most
/// 1 MiB with some 8 MiB to look it up.
pub(crate) struct ColumnWriter {
    column: &'static Column,
    /// Where its fields stand in the file, and whether they may not be empty; `None` for a column
    /// that the file lacks.
    field: Option<(usize, bool)>,
    descriptor: ColumnDescPtr,
    compressor: Compressor,
    texts: Texts,
    dictionary: Dictionary,
    /// Whether the dictionary was given up for this column chunk.
    plain: bool,
    read: Read,
    page: PageBuffer,
    chunk: Chunk,
    /// All rows since the beginning, faulty ones not included.
    range: Option<ValueRange>,
    sentinels_mapped: u64,
}

/// What was read from the records of one chunk of text.
#[derive(Default)]
struct Read {
    /// Of each record the index of its value, [`NULL`] or [`MISS`].
    found: Vec<u32>,
    /// The misses in order, without those that are faults.
    misses: Vec<Miss>,
    faults: Vec<(usize, Fault)>,
}

struct Miss {
    record: u32,
    /// The value, unless it is text.
    number: i64,
    /// Whether it was spelled in another way and mapped to a sentinel.
    mapped: bool,
}

/// The page that is being filled.
#[derive(Default)]
struct PageBuffer {
    rows: usize,
    /// Of a column that may be NULL, 1 for each row that has a value, else 0.
    levels: Vec<u8>,
    /// Of each value its index, unless the dictionary was given up.
    indices: Vec<u32>,
    /// Of each value of the dictionary whether it is in this page.
    seen: Vec<u8>,
    /// The values in PLAIN encoding, once the dictionary was given up.
    plain: Vec<u8>,
    /// Of these.
    range: Option<ValueRange>,
}

/// The column chunk so far.
#[derive(Default)]
struct Chunk {
    pages: Vec<u8>,
    facts: Vec<PageFacts>,
    uncompressed: usize,
}

struct PageFacts {
    rows: usize,
    nulls: usize,
    encoding: Encoding,
    offset: usize,
    bytes: usize,
    range: Option<ValueRange>,
}

/// A column chunk that is complete: the bytes and what the footer says of them.
pub(crate) struct EncodedChunk {
    bytes: [Bytes; 2],
    /// What the footer says.
    pub(crate) close: ColumnCloseResult,
}

impl ColumnWriter {
    pub(crate) fn new(
        column: &'static Column,
        field: Option<(usize, bool)>,
        descriptor: ColumnDescPtr,
        codec: Codec,
    ) -> Self {
        Self {
            column,
            field,
            descriptor,
            compressor: Compressor::new(codec),
            texts: Texts::new(),
            dictionary: Dictionary::new(column.kind),
            plain: false,
            read: Read::default(),
            page: PageBuffer::default(),
            chunk: Chunk::default(),
            range: None,
            sentinels_mapped: 0,
        }
    }

    /// The records whose field was faulty when it was read last, in order.
    pub(crate) fn faults(&self) -> &[(usize, Fault)] {
        &self.read.faults
    }

    /// Forgets what was read last.
    pub(crate) fn start_reading(&mut self) {
        self.read.found.clear();
        self.read.misses.clear();
        self.read.faults.clear();
    }

    /// Looks its field of the next well-formed records of a chunk of text up.
    pub(crate) fn look_up(&mut self, text: &[u8], records: &Records, next: Range<usize>) {
        let found = &mut self.read.found;
        let Some((position, mandatory)) = self.field else {
            found.resize(next.end, NULL);
            return;
        };
        let empty = if mandatory { MISS } else { NULL };
        let fields = records.column(position, next);
        if self.plain {
            found.extend(fields.map(|(start, end)| if start == end { empty } else { MISS }));
        } else {
            self.texts.find_all(text, fields, empty, found, |field| {
                // Longer than what is looked up: of text the dictionary itself can tell.
                let is_text = self.column.kind == Kind::Text;
                let found = is_text.then(|| self.dictionary.find_text(field));
                found.flatten().unwrap_or(MISS)
            });
        }
    }

    /// Reads what was not found as values; nothing else is changed yet.
    pub(crate) fn read_misses(&mut self, text: &[u8], records: &Records) {
        let Read {
            found,
            misses,
            faults,
        } = &mut self.read;
        let Some((position, _)) = self.field else {
            return;
        };
        for (record, _) in found
            .iter()
            .enumerate()
            .filter(|(_, found)| **found == MISS)
        {
            let (start, end) = records.field(record, position);
            let (number, mapped) = match number(self.column, &text[start..end]) {
                Ok(number) => number,
                Err(fault) => {
                    faults.push((record, fault));
                    continue;
                }
            };
            misses.push(Miss {
                record: u32::try_from(record).unwrap_or(u32::MAX),
                number,
                mapped,
            });
        }
    }

    /// Adds what was read last, without the faulty records, whose numbers are in order.
    ///
    /// # Errors
    /// When a page cannot be encoded.
    pub(crate) fn take(&mut self, text: &[u8], records: &Records, faulty: &[usize]) -> Result<()> {
        let mut read = std::mem::take(&mut self.read);
        for miss in &read.misses {
            let record = miss.record as usize;
            if !faulty.is_empty() && faulty.binary_search(&record).is_ok() {
                continue;
            }
            self.sentinels_mapped += u64::from(miss.mapped);
            let (start, end) = match self.field {
                Some((position, _)) => records.field(record, position),
                None => continue,
            };
            if self.plain {
                self.page
                    .add(self.column.kind, miss.number, &text[start..end]);
            } else {
                read.found[record] = self.index(miss, text, start, end);
            }
        }
        if !faulty.is_empty() {
            let mut record = 0;
            read.found.retain(|_| {
                record += 1;
                faulty.binary_search(&(record - 1)).is_err()
            });
        }
        self.page
            .append(&read.found, !self.column.mandatory, self.plain);
        self.read = read;
        if !self.plain && self.dictionary.bytes() > DICTIONARY_BYTES {
            self.end_page()?;
            self.plain = true;
            self.texts.release();
        }
        if self.page.rows >= PAGE_ROWS || self.page.plain.len() >= PAGE_BYTES {
            self.end_page()?;
        }
        Ok(())
    }

    /// The index of a value whose text was not seen before, or not in the chunk before this one.
    fn index(&mut self, miss: &Miss, text: &[u8], start: usize, end: usize) -> u32 {
        let key = Key::new(text, start, end).filter(|_| !miss.mapped);
        if let Some(key) = key {
            let index = self.texts.find(key);
            if index != MISS {
                return index;
            }
        }
        let index = match self.column.kind {
            Kind::Text => self.dictionary.text(&text[start..end]),
            _ => self.dictionary.number(miss.number),
        };
        if let Some(key) = key.filter(|_| (index as usize) < MOST_VALUES) {
            self.texts.insert(key, index);
        }
        index
    }

    /// Bytes of encoded values in the column chunk so far, or a little less than they would be.
    pub(crate) fn bytes(&self) -> usize {
        self.chunk.uncompressed
            + self.dictionary.bytes()
            + self.page.plain.len()
            + self.page.indices.len() * 4
    }

    /// Values that were spelled in another way and mapped to a sentinel, since the beginning.
    pub(crate) fn sentinels_mapped(&self) -> u64 {
        self.sentinels_mapped
    }

    /// The smallest and the largest integer of all finished column chunks.
    pub(crate) fn integers(&self) -> Option<(i64, i64)> {
        match self.range {
            Some(ValueRange::Numbers(low, high)) if self.column.kind == Kind::Integer => {
                Some((low, high))
            }
            _ => None,
        }
    }

    /// Encodes and compresses the page so far.
    fn end_page(&mut self) -> Result<()> {
        let page = &mut self.page;
        if page.rows == 0 {
            return Ok(());
        }
        let mut body = Vec::with_capacity(page.plain.len() + page.indices.len() * 2 + 64);
        let mut nulls = 0;
        if !self.column.mandatory {
            encode::levels(&page.levels, &mut body);
            nulls = page.levels.iter().filter(|&&level| level == 0).count();
        }
        let values = self.dictionary.values();
        let mut encoding = Encoding::PLAIN;
        let range = if self.plain {
            body.extend_from_slice(&page.plain);
            page.range.take()
        } else {
            if let (Kind::Boolean, Values::Numbers(numbers)) = (self.column.kind, values) {
                let booleans = page
                    .indices
                    .iter()
                    .map(|&index| numbers[index as usize] != 0);
                encode::booleans(booleans, &mut body);
            } else if values.len() > 0 {
                encoding = Encoding::RLE_DICTIONARY;
                let width = encode::width(values.len());
                body.push(width);
                encode::hybrid(&page.indices, width, &mut body);
            }
            page.range_of(values)
        };
        let rows = std::mem::take(&mut page.rows);
        page.levels.clear();
        page.indices.clear();
        page.plain.clear();
        if let Some(range) = &range {
            ValueRange::extend(&mut self.range, range);
        }
        let offset = self.chunk.pages.len();
        let data = Page::DataPage {
            buf: self.compressor.compress(&body)?.into(),
            num_values: u32::try_from(rows).unwrap_or(u32::MAX),
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let uncompressed = write_page(data, body.len(), &mut self.chunk.pages)?;
        self.chunk.uncompressed += uncompressed;
        self.chunk.facts.push(PageFacts {
            rows,
            nulls,
            encoding,
            offset,
            bytes: self.chunk.pages.len() - offset,
            range,
        });
        Ok(())
    }

    /// Makes a column chunk of the rows since the last one, and starts anew.
    ///
    /// # Errors
    /// When a page cannot be encoded.
    pub(crate) fn finish(&mut self) -> Result<EncodedChunk> {
        self.end_page()?;
        let Chunk {
            pages,
            facts,
            uncompressed,
        } = std::mem::take(&mut self.chunk);
        let uses_dictionary = facts.iter().any(|page| page.encoding != Encoding::PLAIN);
        let mut dictionary = Vec::new();
        let mut total = uncompressed;
        if uses_dictionary {
            let values = self.dictionary.values();
            let mut body = Vec::with_capacity(self.dictionary.bytes());
            encode::plain(self.column.kind, values, &mut body);
            let page = Page::DictionaryPage {
                buf: self.compressor.compress(&body)?.into(),
                num_values: u32::try_from(values.len()).unwrap_or(u32::MAX),
                encoding: Encoding::PLAIN,
                is_sorted: false,
            };
            total += write_page(page, body.len(), &mut dictionary)?;
        }
        let close = self.close(&facts, dictionary.len(), pages.len(), total)?;
        self.plain = false;
        self.texts.clear();
        self.dictionary.clear();
        self.page.seen.clear();
        Ok(EncodedChunk {
            bytes: [dictionary.into(), pages.into()],
            close,
        })
    }

    /// What the footer says of a column chunk: its pages stand behind `dictionary` bytes.
    fn close(
        &self,
        pages: &[PageFacts],
        dictionary: usize,
        data: usize,
        uncompressed: usize,
    ) -> Result<ColumnCloseResult> {
        let kind = self.column.kind;
        let rows = pages.iter().map(|page| page.rows).sum();
        let nulls: usize = pages.iter().map(|page| page.nulls).sum();
        let mut range = None;
        let mut index = ColumnIndexBuilder::new(self.descriptor.physical_type());
        let mut offsets = OffsetIndexBuilder::new();
        for page in pages {
            let bounds = page.range.as_ref().map(|range| range.bounds(kind));
            if bounds == Some(None) {
                index.to_invalid();
            }
            let (low, high) = bounds.flatten().unwrap_or_default();
            let nans = (kind == Kind::Float).then_some(0);
            index.append(page.range.is_none(), low, high, signed(page.nulls), nans);
            offsets.append_row_count(signed(page.rows));
            let bytes = i32::try_from(page.bytes).map_err(too_large)?;
            offsets.append_offset_and_size(signed(dictionary + page.offset), bytes);
            if let Some(other) = &page.range {
                ValueRange::extend(&mut range, other);
            }
        }
        let ranges: Vec<Option<ValueRange>> = pages.iter().map(|page| page.range.clone()).collect();
        index.set_boundary_order(range::boundary_order(&ranges));
        let mut encodings = vec![Encoding::PLAIN, Encoding::RLE];
        let mut stats = Vec::new();
        if dictionary > 0 {
            encodings.push(Encoding::RLE_DICTIONARY);
            stats.push(encoding_stats(
                PageType::DICTIONARY_PAGE,
                Encoding::PLAIN,
                1,
            ));
        }
        for encoding in [Encoding::PLAIN, Encoding::RLE_DICTIONARY] {
            let count = pages
                .iter()
                .filter(|page| page.encoding == encoding)
                .count();
            if count > 0 {
                stats.push(encoding_stats(PageType::DATA_PAGE, encoding, count));
            }
        }
        let metadata = ColumnChunkMetaData::builder(self.descriptor.clone())
            .set_compression(self.compressor.codec().compression())
            .set_encodings(encodings)
            .set_page_encoding_stats(stats)
            .set_total_compressed_size(signed(dictionary + data))
            .set_total_uncompressed_size(signed(uncompressed))
            .set_num_values(signed(rows))
            .set_data_page_offset(signed(dictionary))
            .set_dictionary_page_offset((dictionary > 0).then_some(0))
            .set_statistics(ValueRange::statistics(range.as_ref(), kind, nulls as u64))
            .build()?;
        Ok(ColumnCloseResult {
            bytes_written: (dictionary + data) as u64,
            rows_written: rows as u64,
            metadata,
            bloom_filter: self.bloom_filter(),
            column_index: index.valid().then(|| index.build()).transpose()?,
            offset_index: Some(offsets.build()),
        })
    }

    /// A bloom filter of the values, where they are the names of something and all in the dictionary.
    fn bloom_filter(&self) -> Option<Sbbf> {
        let Values::Numbers(numbers) = self.dictionary.values() else {
            return None;
        };
        let is_id = self.column.kind == Kind::Integer && self.column.unit.is_none();
        if !is_id || self.plain || numbers.is_empty() {
            return None;
        }
        let mut filter = Sbbf::new_with_ndv_fpp(numbers.len() as u64, 0.01).ok()?;
        for number in numbers {
            filter.insert(number);
        }
        Some(filter)
    }
}

impl PageBuffer {
    /// Adds the levels and indices of records; with `plain` the values were added before.
    fn append(&mut self, found: &[u32], nullable: bool, plain: bool) {
        self.rows += found.len();
        if nullable {
            self.levels
                .extend(found.iter().map(|&index| u8::from(index != NULL)));
        }
        if plain {
            return;
        }
        let before = self.indices.len();
        if nullable && found.contains(&NULL) {
            self.indices
                .extend(found.iter().filter(|&&index| index != NULL));
        } else {
            self.indices.extend_from_slice(found);
        }
        for &index in &self.indices[before..] {
            if let Some(seen) = self.seen.get_mut(index as usize) {
                *seen = 1;
            } else {
                self.seen.resize(index as usize, 0);
                self.seen.push(1);
            }
        }
    }

    /// Adds a value in PLAIN encoding.
    fn add(&mut self, kind: Kind, number: i64, text: &[u8]) {
        if kind == Kind::Text {
            encode::plain_text(text, &mut self.plain);
            ValueRange::text(&mut self.range, text);
        } else {
            encode::plain_number(kind, number, &mut self.plain);
            ValueRange::number(&mut self.range, number);
        }
    }

    /// The range of the values of a dictionary that were seen, which are then forgotten.
    fn range_of(&mut self, values: &Values) -> Option<ValueRange> {
        let mut range = None;
        for (index, seen) in self.seen.iter_mut().enumerate() {
            if std::mem::take(seen) == 1 {
                match values {
                    Values::Numbers(numbers) => ValueRange::number(&mut range, numbers[index]),
                    Values::Texts { .. } => ValueRange::text(&mut range, values.text(index)),
                }
            }
        }
        range
    }
}

/// Reads a field as a number whose order is that of the values, with whether it was mapped to a
/// sentinel. Of text only the faults matter: its number is 0.
fn number(column: &'static Column, field: &[u8]) -> std::result::Result<(i64, bool), Fault> {
    if field.is_empty() {
        return Err(Fault::Empty);
    }
    let read = match column.kind {
        Kind::Integer => value::integer(field),
        Kind::Code => value::code(field).map(i64::from),
        Kind::Float => value::float(field).map(dictionary::from_float),
        Kind::Boolean => value::boolean(field).map(i64::from),
        Kind::Text => value::text(field).map(|_| 0),
    };
    match read {
        Ok(number) => Ok((number, false)),
        Err(fault) => match sentinel(column, field, fault) {
            Some(sentinel) => Ok((sentinel.value, true)),
            None => Err(fault),
        },
    }
}

/// The sentinel that a field means although it does not fit its column, if there is one.
fn sentinel(column: &'static Column, field: &[u8], fault: Fault) -> Option<&'static Sentinel> {
    if !matches!(fault, Fault::OutOfRange { .. }) {
        return None;
    }
    column
        .sentinels
        .iter()
        .find(|sentinel| sentinel.also.is_some_and(|also| also.as_bytes() == field))
}

/// Appends a compressed page with its header; returns what both take uncompressed.
fn write_page(page: Page, uncompressed: usize, out: &mut Vec<u8>) -> Result<usize> {
    let mut sink = TrackedWrite::new(out);
    let page = CompressedPage::new(page, uncompressed);
    let spec = SerializedPageWriter::new(&mut sink).write_page(page)?;
    sink.into_inner()?;
    Ok(spec.uncompressed_size)
}

fn encoding_stats(page_type: PageType, encoding: Encoding, count: usize) -> PageEncodingStats {
    PageEncodingStats {
        page_type,
        encoding,
        count: i32::try_from(count).unwrap_or(i32::MAX),
    }
}

/// A number of bytes or rows as the format has it.
fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn too_large(_: std::num::TryFromIntError) -> ParquetError {
    ParquetError::General("a page of more than 2 GiB".into())
}

impl Length for EncodedChunk {
    fn len(&self) -> u64 {
        self.bytes.iter().map(|bytes| bytes.len() as u64).sum()
    }
}

impl ChunkReader for EncodedChunk {
    type T = std::io::Chain<Reader<Bytes>, Reader<Bytes>>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let [mut dictionary, mut pages] = self.bytes.clone();
        let skip = usize::try_from(start).unwrap_or(usize::MAX);
        let first = skip.min(dictionary.len());
        dictionary.advance(first);
        pages.advance((skip - first).min(pages.len()));
        Ok(std::io::Read::chain(dictionary.reader(), pages.reader()))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let mut bytes = vec![0; length];
        std::io::Read::read_exact(&mut self.get_read(start)?, &mut bytes)?;
        Ok(bytes.into())
    }
}
