//! The fields of one column to a column chunk: looked up, packed into pages, compressed.
//!
//! A field that was seen before in the row group costs one look-up of its bytes, which gives the
//! index of its value in the dictionary. Only the others are read as values. The pages are encoded
//! here and not by the Parquet crate, because its writer wants values, and would hash each of them
//! again; what is not the values (headers, footer, indexes) stays with the crate.

mod compress;
mod decimals;
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
pub(crate) use compress::Compressor;
use decimals::Decimals;
use dictionary::{Dictionary, Values};
use range::Range as ValueRange;
use texts::{Key, MISS, MOST_VALUES, Texts};

type Result<T> = std::result::Result<T, ParquetError>;

/// A dictionary larger than this is given up: the rest of the column chunk is written plain.
const DICTIONARY_BYTES: usize = 1 << 20;

/// A page ends behind the chunk of text with which it has this many rows, or bytes of plain values.
///
/// Smaller pages let readers pass over more of what they do not want; those of ids are the whole
/// row group, so that what repeats every five minutes is in one page. One part of 2.4 million rows
/// of task_usage: 53.4 MB with small pages for all, 50.5 MB with large ones for ids, 49.3 MB with
/// these on whole bytes; the same time.
pub(crate) const PAGE_ROWS: usize = 1 << 16;
pub(crate) const ID_PAGE_ROWS: usize = 1 << 20;
const PAGE_BYTES: usize = 256 << 10;

/// A column chunk whose first page, of more than so many bytes, keeps more than so many hundredths of
/// its size is stored uncompressed. Indices of floats are such: a part of task_usage is 2 % larger for
/// it, and both writing and reading it is faster.
const SMALL: usize = 4 << 10;
const HARDLY: usize = 97;

/// Ids that come less often, on average, have no bloom filter: it would be large beside its rows.
const OFTEN: usize = 32;

/// So many floats are looked up among the texts: the table of decimals is too large for a small file.
const FEW_VALUES: usize = 512;

/// A field that is empty, and may be.
const NULL: u32 = u32::MAX;

/// One column of a table on its way to column chunks, one for each row group.
///
/// # Memory
/// The chunk so far, compressed; the page so far, at most 5 bytes a row or 256 KiB of plain values; a
/// dictionary of at most 1 MiB with some 4 MiB to look it up.
pub(crate) struct ColumnWriter {
    column: &'static Column,
    /// Where its fields stand in the file, and whether they may not be empty; `None` for a column
    /// that the file lacks.
    field: Option<(usize, bool)>,
    descriptor: ColumnDescPtr,
    codec: Codec,
    decimals: Decimals,
    texts: Texts,
    dictionary: Dictionary,
    /// Whether the dictionary was given up for this column chunk.
    plain: bool,
    /// The dictionary once it is complete.
    dictionary_page: DictionaryPage,
    read: Read,
    page: PageBuffer,
    chunk: Chunk,
    /// All rows since the beginning, faulty ones not included.
    range: Option<ValueRange>,
    sentinels_mapped: u64,
}

/// What was read from the records of one chunk of text. What was found of each of them, the index of
/// its value, [`NULL`] or [`MISS`], stands at the end of the page's indices meanwhile.
#[derive(Default)]
struct Read {
    /// Where there.
    start: usize,
    /// Whether some of them are not indices.
    odd: bool,
    /// The misses in order, without those that are faults.
    misses: Vec<Miss>,
    faults: Vec<(usize, Fault)>,
    /// The slots of what has to be looked up among the texts, while it is.
    rest: Vec<usize>,
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
    nulls: usize,
    /// From the first NULL on, 1 for each row that has a value, else 0.
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
    /// Whether pages are stored as they are, because the codec makes them hardly smaller.
    stored: bool,
    facts: Vec<PageFacts>,
    uncompressed: usize,
}

/// A compressed dictionary page with its header.
#[derive(Default)]
struct DictionaryPage {
    bytes: Vec<u8>,
    /// What both take uncompressed.
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
            codec,
            decimals: Decimals::new(),
            texts: Texts::new(),
            dictionary: Dictionary::new(column.kind),
            plain: false,
            dictionary_page: DictionaryPage::default(),
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
        self.read.start = self.page.indices.len();
        self.read.odd = false;
        self.read.misses.clear();
        self.read.faults.clear();
    }

    /// Looks its field of the next well-formed records of a chunk of text up.
    pub(crate) fn look_up(&mut self, text: &[u8], records: &Records, next: Range<usize>) {
        let indices = &mut self.page.indices;
        let before = indices.len();
        indices.resize(before + next.len(), MISS);
        let found = &mut indices[before..];
        let Some((position, mandatory)) = self.field else {
            found.fill(NULL);
            self.read.odd = true;
            return;
        };
        let fields = records.column(position, next.clone());
        if !self.plain {
            // Longer than what is kept: of text the dictionary itself can tell.
            let is_text = self.column.kind == Kind::Text;
            let long = |field: &[u8]| {
                let found = is_text.then(|| self.dictionary.find_text(field));
                found.flatten().unwrap_or(MISS)
            };
            if self.column.kind == Kind::Float {
                let rest = &mut self.read.rest;
                rest.resize(next.len(), 0);
                let mut count = 0;
                for (slot, (found, (start, end))) in found.iter_mut().zip(fields).enumerate() {
                    *found = self.decimals.find(decimals::place(text, start, end));
                    // Without a branch: which fields are left cannot be foretold.
                    rest[count] = slot;
                    count += usize::from(*found == MISS);
                }
                let field = |&slot: &usize| (slot, records.field(next.start + slot, position));
                let rest = rest[..count].iter().map(field);
                self.texts.find_all(text, rest, found, long);
            } else {
                self.texts.find_all(text, fields.enumerate(), found, long);
            }
        }
        let misses = found
            .iter()
            .fold(false, |any, &found| any | (found == MISS));
        self.read.odd |= misses;
        if misses && !mandatory {
            let fields = records.column(position, next);
            for (found, (start, end)) in found.iter_mut().zip(fields) {
                if start == end {
                    *found = NULL;
                }
            }
        }
    }

    /// Reads what was not found as values; nothing else is changed yet.
    pub(crate) fn read_misses(&mut self, text: &[u8], records: &Records) {
        let Read {
            start,
            odd: true,
            misses,
            faults,
            ..
        } = &mut self.read
        else {
            return;
        };
        let Some((position, _)) = self.field else {
            return;
        };
        let found = &self.page.indices[*start..];
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
    pub(crate) fn take(
        &mut self,
        text: &[u8],
        records: &Records,
        faulty: &[usize],
        compressor: &mut Compressor,
    ) -> Result<()> {
        let read = std::mem::take(&mut self.read);
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
                self.page.indices[read.start + record] = self.index(miss, text, start, end);
            }
        }
        if !faulty.is_empty() {
            let mut record = 0;
            self.page.retain(read.start, |_| {
                record += 1;
                faulty.binary_search(&(record - 1)).is_err()
            });
        }
        self.page.add_rows(read.start, read.odd);
        if self.plain {
            self.page.indices.clear();
        } else if self.column.kind != Kind::Float {
            self.page.see(read.start, self.dictionary.len());
        }
        self.read = read;
        if !self.plain && self.dictionary.bytes() > DICTIONARY_BYTES {
            self.end_page(compressor)?;
        }
        // Unless the page gave the dictionary up already.
        if !self.plain && self.dictionary.bytes() > DICTIONARY_BYTES {
            self.end_dictionary(compressor)?;
            self.plain = true;
            self.dictionary.release();
            self.texts.release();
        }
        let rows = if self.is_id() {
            ID_PAGE_ROWS
        } else {
            PAGE_ROWS
        };
        if self.page.rows >= rows || self.page.plain.len() >= PAGE_BYTES {
            self.end_page(compressor)?;
        }
        Ok(())
    }

    /// The index of a value whose text was not seen before, or not in the chunk before this one.
    fn index(&mut self, miss: &Miss, text: &[u8], start: usize, end: usize) -> u32 {
        let place = match self.column.kind {
            Kind::Float => decimals::place(text, start, end),
            _ => 0,
        };
        // What was mapped is counted each time, so it is not remembered.
        let key = Key::new(text, start, end).filter(|_| !miss.mapped);
        let known = match (self.decimals.find(place), key) {
            (MISS, Some(key)) => self.texts.find(key),
            (known, _) => known,
        };
        if known != MISS {
            return known;
        }
        let index = match self.column.kind {
            Kind::Text => self.dictionary.text(&text[start..end]),
            _ => self.dictionary.number(miss.number),
        };
        if self.column.kind == Kind::Float
            && self.dictionary.len() > FEW_VALUES
            && self.decimals.begin()
        {
            // What they know now comes in again, there.
            self.texts.clear();
        }
        if let Some(key) = key
            && (index as usize) < MOST_VALUES
            && !self.decimals.insert(place, index)
        {
            self.texts.insert(key, index);
        }
        index
    }

    /// Bytes of encoded values in the column chunk so far, or a little less than they would be.
    pub(crate) fn bytes(&self) -> usize {
        self.chunk.uncompressed
            + self.dictionary_page.uncompressed
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
    fn end_page(&mut self, compressor: &mut Compressor) -> Result<()> {
        let is_id = self.is_id();
        let page = &mut self.page;
        if page.rows == 0 {
            return Ok(());
        }
        let mut body = compressor.page();
        if !self.column.mandatory {
            page.levels.resize(page.rows, 1);
            encode::levels(&page.levels, &mut body);
        }
        let values = self.dictionary.values();
        let mut encoding = Encoding::PLAIN;
        // A dictionary of values that hardly repeat is larger than the values.
        let unique = !self.plain
            && self.chunk.facts.is_empty()
            && self.column.kind != Kind::Boolean
            && values.len() * 2 > page.indices.len();
        let range = if unique {
            for &index in &page.indices {
                encode::plain_value(self.column.kind, values, index as usize, &mut body);
            }
            page.range_of(values, self.column.kind)
        } else if self.plain {
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
                let mut width = encode::width(values.len());
                if is_id {
                    // The same ids come again and again in the same order: on whole bytes the codec
                    // finds that, at any other width only by chance.
                    width = width.next_multiple_of(8);
                }
                body.push(width);
                encode::hybrid(&page.indices, width, &mut body);
            }
            page.range_of(values, self.column.kind)
        };
        if unique {
            self.plain = true;
            self.dictionary.release();
            self.texts.release();
        }
        let rows = std::mem::take(&mut page.rows);
        let nulls = std::mem::take(&mut page.nulls);
        page.levels.clear();
        page.indices.clear();
        page.plain.clear();
        if let Some(range) = &range {
            ValueRange::extend(&mut self.range, range);
        }
        let offset = self.chunk.pages.len();
        let mut compressed = compressor.compress(&body, self.chunk.stored)?;
        if offset == 0 && body.len() > SMALL && compressed.len() > body.len() / 100 * HARDLY {
            // The first page decides for all of them, and the dictionary.
            self.chunk.stored = true;
            compressed.clone_from(&body);
        }
        let data = Page::DataPage {
            buf: compressed.into(),
            num_values: u32::try_from(rows).unwrap_or(u32::MAX),
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let uncompressed = write_page(data, body.len(), &mut self.chunk.pages)?;
        compressor.keep(body);
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

    /// Encodes and compresses the dictionary.
    fn end_dictionary(&mut self, compressor: &mut Compressor) -> Result<()> {
        let values = self.dictionary.values();
        let mut body = compressor.page();
        encode::plain(self.column.kind, values, &mut body);
        let page = Page::DictionaryPage {
            buf: compressor.compress(&body, self.chunk.stored)?.into(),
            num_values: u32::try_from(values.len()).unwrap_or(u32::MAX),
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        let mut bytes = Vec::new();
        let uncompressed = write_page(page, body.len(), &mut bytes)?;
        compressor.keep(body);
        self.dictionary_page = DictionaryPage {
            bytes,
            uncompressed,
        };
        Ok(())
    }

    /// Makes a column chunk of the rows since the last one, and starts anew.
    ///
    /// # Errors
    /// When a page cannot be encoded.
    pub(crate) fn finish(&mut self, compressor: &mut Compressor) -> Result<EncodedChunk> {
        self.end_page(compressor)?;
        let facts = &self.chunk.facts;
        if !self.plain && facts.iter().any(|page| page.encoding != Encoding::PLAIN) {
            self.end_dictionary(compressor)?;
        }
        let Chunk {
            pages,
            stored,
            facts,
            uncompressed: data,
        } = std::mem::take(&mut self.chunk);
        let codec = if stored { Codec::None } else { self.codec };
        let DictionaryPage {
            bytes: dictionary,
            uncompressed,
        } = std::mem::take(&mut self.dictionary_page);
        let uncompressed = uncompressed + data;
        let close = self.close(&facts, dictionary.len(), pages.len(), uncompressed, codec)?;
        self.plain = false;
        self.decimals.clear();
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
        codec: Codec,
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
            .set_compression(codec.compression())
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
            bloom_filter: self.bloom_filter(rows),
            column_index: index.valid().then(|| index.build()).transpose()?,
            offset_index: Some(offsets.build()),
        })
    }

    fn is_id(&self) -> bool {
        is_id(self.column)
    }

    /// A bloom filter of the values, where they are the names of something and all in the dictionary.
    fn bloom_filter(&self, rows: usize) -> Option<Sbbf> {
        let Values::Numbers(numbers) = self.dictionary.values() else {
            return None;
        };
        let repeat = numbers.len().saturating_mul(OFTEN) <= rows;
        if !self.is_id() || self.plain || numbers.is_empty() || !repeat {
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
    /// Keeps of the indices from `start` on those that `keep` says.
    fn retain(&mut self, start: usize, mut keep: impl FnMut(u32) -> bool) {
        let mut kept = start;
        for at in start..self.indices.len() {
            let index = self.indices[at];
            self.indices[kept] = index;
            kept += usize::from(keep(index));
        }
        self.indices.truncate(kept);
    }

    /// Makes rows of the indices from `start` on, of which none is odd unless `odd` says so.
    fn add_rows(&mut self, start: usize, odd: bool) {
        let found = &self.indices[start..];
        let rows = found.len();
        let nulls = if odd {
            found.iter().filter(|&&index| index == NULL).count()
        } else {
            0
        };
        if nulls + self.nulls > 0 {
            // Until there is a NULL the levels are not kept.
            self.levels.resize(self.rows, 1);
            let levels = found.iter().map(|&index| u8::from(index != NULL));
            self.levels.extend(levels);
        }
        if nulls > 0 {
            self.retain(start, |index| index != NULL);
        }
        self.rows += rows;
        self.nulls += nulls;
    }

    /// Remembers which values of the dictionary the indices from `start` on are of.
    fn see(&mut self, start: usize, values: usize) {
        self.seen.resize(values, 0);
        for &index in &self.indices[start..] {
            if let Some(seen) = self.seen.get_mut(index as usize) {
                *seen = 1;
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

    /// The range of the values of a dictionary that were seen, which are then forgotten. Of floats that
    /// of all values so far, which is hardly wider: pages hold tens of thousands of them.
    fn range_of(&mut self, values: &Values, kind: Kind) -> Option<ValueRange> {
        let mut range = None;
        if self.indices.is_empty() {
            return None;
        }
        match values {
            Values::Numbers(numbers) if kind == Kind::Float => {
                for &number in numbers {
                    ValueRange::number(&mut range, number);
                }
            }
            Values::Numbers(numbers) => {
                for (&number, _) in numbers
                    .iter()
                    .zip(&self.seen)
                    .filter(|(_, seen)| **seen == 1)
                {
                    ValueRange::number(&mut range, number);
                }
            }
            Values::Texts { .. } => {
                for (index, _) in self.seen.iter().enumerate().filter(|(_, seen)| **seen == 1) {
                    ValueRange::text(&mut range, values.text(index));
                }
            }
        }
        self.seen.clear();
        range
    }
}

/// Whether the values of a column are the names of something: integers that measure nothing.
pub(crate) fn is_id(column: &Column) -> bool {
    column.kind == Kind::Integer && column.unit.is_none()
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
        // A table of plain fields has neither structs nor lists.
        Kind::Text | Kind::Struct | Kind::List => value::text(field).map(|_| 0),
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
pub(crate) fn sentinel(
    column: &'static Column,
    field: &[u8],
    fault: Fault,
) -> Option<&'static Sentinel> {
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
