//! The encoder of one column, for every physical kind.

use std::sync::Arc;

use parquet::basic::Encoding;
use parquet::bloom_filter::Sbbf;
use parquet::schema::types::ColumnDescPtr;
use tracelake_core::fault::Fault;
use tracelake_core::options::{Accept, Codec};
use tracelake_schema::{Column, Kind};

use super::choice::{self, Body, Candidate};
use super::chunk::{ChunkBuilder, PageFacts, Result};
use super::compress::Redundancy;
use super::dictionary::{Dictionary, ValueList};
use super::found::Found;
use super::kind::{FieldCache, PhysicalKind};
use super::min_max::MinMax;
use super::page::{PageBuffer, PageValues};
use crate::nodes::MaxLevels;
use crate::typed_rows::{LeafData, TypedValues};
use crate::value::{OtherSpellings, Spelled};

/// A page ends after the chunk of text that brings it to this many rows. Smaller pages let readers skip more of what
/// they don't want.
pub(super) const PAGE_ROWS: usize = 1 << 15;

/// The rows of a page that decides on the encoding of its column chunk, instead of [`PAGE_ROWS`]: fewer rows say too
/// little about the other pages. With pages of 16,384 rows throughout, task_usage was 12 % larger.
pub(super) const CHOOSING_PAGE_ROWS: usize = 1 << 16;

/// The page of an id is the whole row group, so that what repeats every five minutes is in one page: a part of
/// task_usage of 2.4 million rows took 53.4 MB with small pages for all columns, 50.5 MB with large ones for ids, and
/// 49.3 MB with these on whole bytes, in the same time.
const ID_PAGE_ROWS: usize = 1 << 20;

/// A page of items of lists ends after as many of them. The first page decides on the encoding, and with as few items
/// as other columns have rows, most of them were new: a list of eleven floats became PLAIN and took 1.7 times as many
/// bytes.
pub(super) const PAGE_ITEMS: usize = 1 << 18;

/// A dictionary larger than this is given up: the rest of the column chunk is PLAIN.
pub(super) const DICTIONARY_BYTES: usize = 1 << 20;

/// A PLAIN page ends after the chunk of text that brings its values to this many bytes; a boolean counts as
/// one byte.
pub(super) const PLAIN_PAGE_BYTES: usize = 256 << 10;

/// A measured integer, such as a time, becomes PLAIN after a chunk of text of its first page if it has at least
/// this many values, and hardly any of them repeats.
pub(super) const UNREPEATED_ROWS: usize = 1024;
/// At most one value in this many repeats another one.
pub(super) const UNREPEATED_BUT_ONE_IN: usize = 16;

/// Ids that repeat fewer times on average have no bloom filter: it would be large compared with its rows.
pub(super) const BLOOM_FILTER_REPEATS: u64 = 32;

/// A field that wasn't found, parsed.
pub(super) struct Unknown<K: PhysicalKind> {
    pub(super) record: usize,
    pub(super) parsed: K::Parsed,
    pub(super) spelled: Spelled,
}

/// One column of a table.
///
/// # Memory
/// The column chunk so far, compressed; the page so far, see [`PageBuffer`]; a dictionary of at most
/// 1 MiB with some 4 MiB to look it up.
pub(super) struct Encoder<K: PhysicalKind> {
    pub(super) column: Arc<Column>,
    pub(super) descriptor: ColumnDescPtr,
    pub(super) codec: Codec,
    pub(super) cache: K::Cache,
    pub(super) dictionary: Dictionary<K::Values>,
    /// How many values of the dictionary, from the first one on, the finished pages may use.
    pub(super) indexed_values: usize,
    pub(super) page: PageBuffer<K>,
    pub(super) chunk: ChunkBuilder<K>,
    /// The size of the values of a column in a list, as readers have them: a list can repeat what takes no room in
    /// the file.
    pub(super) list_bytes: usize,
    /// The results of the look-ups in a chunk of text, and those of parsing the rest.
    pub(super) found: Vec<Found>,
    pub(super) unknown: Vec<Unknown<K>>,
    /// Where values are written PLAIN, those of all fields in a chunk of text; of NULLs and faults, anything.
    pub(super) parsed: Vec<K::Parsed>,
    pub(super) faults: Vec<(usize, Fault)>,
    /// Of all finished column chunks.
    pub(super) min_max: Option<MinMax<K::Value>>,
    /// The dictionary that typed values came with last, and what each of its values is in this one.
    pub(super) known: Option<(Arc<TypedValues>, Vec<Found>)>,
    /// The records of a chunk of text whose field was accepted as NULL.
    pub(super) nulls: Vec<usize>,
    pub(super) others: OtherSpellings,
}

impl<K: PhysicalKind> Encoder<K> {
    pub(super) fn new(
        column: Arc<Column>,
        descriptor: ColumnDescPtr,
        codec: Codec,
        accept: &Accept,
    ) -> Self {
        Self {
            cache: K::Cache::new(&column, accept),
            column,
            codec,
            dictionary: Dictionary::new(),
            indexed_values: 0,
            page: PageBuffer::new(MaxLevels::of(&descriptor)),
            descriptor,
            chunk: ChunkBuilder::new(),
            list_bytes: 0,
            found: Vec::new(),
            unknown: Vec::new(),
            parsed: Vec::new(),
            faults: Vec::new(),
            min_max: None,
            known: None,
            nulls: Vec::new(),
            others: OtherSpellings::default(),
        }
    }

    /// The index of a value whose field wasn't found, or not before the chunk of text at hand.
    pub(super) fn intern(
        &mut self,
        unknown: &Unknown<K>,
        text: &[u8],
        field: (usize, usize),
    ) -> Found {
        // Another spelling is counted each time, so it is never remembered.
        let is_plain = unknown.spelled == Spelled::Plainly;
        if is_plain {
            let found = self.cache.find(text, field);
            if found != Found::UNKNOWN {
                return found;
            }
        }
        let value = K::value(&unknown.parsed, || &text[field.0..field.1]);
        let index = self.dictionary.intern(value);
        if is_plain {
            self.cache.insert(text, field, index, self.dictionary.len());
        }
        Found::at(index)
    }

    /// Adds typed values to the page, or to `found` their indices.
    pub(super) fn add_typed(&mut self, data: &LeafData) {
        let Self {
            found,
            page,
            dictionary,
            known,
            ..
        } = self;
        found.clear();
        if let Some(plain) = page.plain() {
            let mut add = |values: &TypedValues, index| {
                K::with_typed(values, index, |value| plain.add(value));
                found.push(Found::UNKNOWN);
            };
            return match data {
                LeafData::Values(values) => (0..values.len()).for_each(|index| add(values, index)),
                LeafData::Indices(values, indices) => {
                    let indices = indices.iter();
                    indices.for_each(|index| add(values, *index as usize));
                }
            };
        }
        let mut intern = |values: &TypedValues, index| {
            Found::at(K::with_typed(values, index, |value| {
                dictionary.intern(value)
            }))
        };
        match data {
            LeafData::Values(values) => {
                found.extend((0..values.len()).map(|index| intern(values, index)));
            }
            LeafData::Indices(values, indices) => {
                // A value of a dictionary is looked up once.
                let is_known = known
                    .as_ref()
                    .is_some_and(|(of, _)| Arc::ptr_eq(of, values));
                if !is_known {
                    *known = Some((Arc::clone(values), vec![Found::UNKNOWN; values.len()]));
                }
                let Some((_, known)) = known else { return };
                found.extend(indices.iter().map(|&index| {
                    let index = index as usize;
                    if known[index] == Found::UNKNOWN {
                        known[index] = intern(values, index);
                    }
                    known[index]
                }));
            }
        }
    }

    /// Writes all later values of the column chunk PLAIN.
    fn start_plain(&mut self) {
        self.page.make_plain(self.dictionary.values());
        self.dictionary.release();
        self.cache.release();
    }

    /// Whether values are in the dictionary, and no page was large enough to choose by.
    fn is_undecided(&self) -> bool {
        matches!(self.page.values(), PageValues::Indexed { width: None, .. })
    }

    /// Whether hardly anything has repeated in enough rows of a measured integer.
    fn is_unrepeated(&self) -> bool {
        let values = self.page.count();
        self.is_undecided()
            && self.chunk.is_empty()
            && matches!(self.column.kind, Kind::Integer | Kind::DateTime(_))
            && !is_id(&self.column)
            && values >= UNREPEATED_ROWS
            && values - self.dictionary.len() <= values / UNREPEATED_BUT_ONE_IN
    }

    /// The rows of the page so far when it is full, or its items. A page of booleans ends earlier, unless many are NULL:
    /// [`PLAIN_PAGE_BYTES`] is 32 KiB of bits.
    fn page_entries(&self) -> usize {
        if self.descriptor.max_rep_level() > 0 {
            PAGE_ITEMS
        } else if is_id(&self.column) || self.column.kind == Kind::Boolean {
            ID_PAGE_ROWS
        } else if self.is_undecided() {
            CHOOSING_PAGE_ROWS
        } else {
            PAGE_ROWS
        }
    }

    /// Ends what is full after a chunk of text.
    pub(super) fn end_what_is_full(&mut self) -> Result<()> {
        if self.is_unrepeated() {
            self.start_plain();
        }
        let is_dictionary_full = self.dictionary.plain_bytes() > DICTIONARY_BYTES;
        let is_page_full = self.page.entries() >= self.page_entries()
            || self.page.is_plain() && self.page.bytes() >= PLAIN_PAGE_BYTES;
        // NULLs alone take no room, and say nothing about how to encode what follows them.
        if self.page.count() > 0 && (is_page_full || is_dictionary_full) {
            self.end_page()?;
        }
        // Unless the page chose PLAIN.
        if is_dictionary_full && !self.page.is_plain() {
            self.end_dictionary(self.dictionary.len())?;
            self.start_plain();
        }
        Ok(())
    }

    /// Encodes and compresses the page so far. Returns the body of the whole dictionary if choosing an
    /// encoding made it.
    pub(super) fn end_page(&mut self) -> Result<Option<Body>> {
        if self.page.rows() == 0 {
            return Ok(None);
        }
        let mut dictionary = None;
        let mut raw = Vec::new();
        self.page.encode_levels(&mut raw);
        let known =
            u32::try_from(self.dictionary.len()).expect("a row group has at most 2^20 rows");
        if let PageValues::Indexed { indices, .. } = self.page.values() {
            let is_known = indices
                .iter()
                .fold(true, |all, &index| all & (index < known));
            assert!(is_known, "only what has an index was added to the page");
        }
        let min_max = self.page_min_max();
        let is_ascending = self.page_is_ascending();
        let mut encoding = Encoding::PLAIN;
        let mut starts_plain = false;
        let body = match self.page.values() {
            _ if self.page.count() == 0 => self.body(raw, Redundancy::Matches)?,
            PageValues::Plain(plain) => {
                plain.encode(&mut raw);
                self.body(raw, Redundancy::Matches)?
            }
            PageValues::Indexed {
                indices,
                width: Some(width),
            } if !self.is_mostly_new() => {
                encoding = Encoding::RLE_DICTIONARY;
                let redundancy = width.encode(indices, self.dictionary.len(), &mut raw);
                self.indexed_values = self.dictionary.len();
                self.body(raw, redundancy)?
            }
            PageValues::Indexed { indices, .. } => {
                let chosen = self.smallest_page(&raw, indices)?;
                if self.chunk.storage().is_none() {
                    self.chunk.set_storage(chosen.storage());
                }
                let is_telling = chosen.is_telling();
                match chosen.dictionary {
                    None => {
                        self.end_dictionary(self.indexed_values)?;
                        starts_plain = true;
                    }
                    Some((width, new_values)) => {
                        encoding = Encoding::RLE_DICTIONARY;
                        if is_telling {
                            self.page.set_width(width);
                        }
                        dictionary = Some(new_values).filter(|_| self.indexed_values == 0);
                        self.indexed_values = self.dictionary.len();
                    }
                }
                chosen.page
            }
        };
        let facts = PageFacts {
            rows: self.page.rows(),
            entries: self.page.entries(),
            nulls: self.page.nulls(),
            encoding,
            is_ascending: is_ascending && self.page.nulls() == 0,
            min_max,
        };
        self.chunk.add_page(body, facts)?;
        self.page.clear();
        if starts_plain {
            self.start_plain();
        }
        Ok(dictionary)
    }

    /// Whether hardly any value of the page was in the dictionary before: then PLAIN may be smaller from
    /// now on, as for the times after those of the rows that open a file.
    fn is_mostly_new(&self) -> bool {
        let new = self.dictionary.len() - self.indexed_values;
        new * choice::try_plain_below_repeats::<K>(is_id(&self.column)) >= self.page.count()
    }

    /// The page in the smallest encoding.
    fn smallest_page(&self, levels: &[u8], indices: &[u32]) -> Result<Candidate> {
        Ok(choice::smallest::<K>(
            levels,
            indices,
            &self.dictionary,
            self.indexed_values,
            is_id(&self.column),
            self.codec,
        )?)
    }

    /// The body of a page whose encoding leaves no choice; the first one decides about compression.
    fn body(&mut self, raw: Vec<u8>, redundancy: Redundancy) -> Result<Body> {
        let body = Body::new(raw, redundancy, self.chunk.storage(), self.codec)?;
        if self.chunk.storage().is_none() {
            self.chunk.set_storage(body.storage());
        }
        Ok(body)
    }

    /// Encodes and compresses the first values of the dictionary, which finished pages use.
    pub(super) fn end_dictionary(&mut self, values: usize) -> Result<()> {
        if values == 0 {
            return Ok(());
        }
        let storage = self.chunk.storage();
        let body =
            choice::encode_dictionary::<K>(&self.dictionary, 0..values, storage, self.codec)?;
        self.chunk.add_dictionary(body, values)
    }

    /// The bounds of the page so far.
    fn page_min_max(&self) -> Option<MinMax<K::Value>> {
        let indices = match self.page.values() {
            PageValues::Plain(plain) => return plain.min_max.clone(),
            PageValues::Indexed { indices, .. } if indices.is_empty() => return None,
            PageValues::Indexed { indices, .. } => indices,
        };
        let value = |index: u32| self.dictionary.values().get(index as usize);
        let (low, high) = self.dictionary.bounds()?;
        // All values of the dictionary came with the first page, and most pages have its bounds.
        if self.chunk.is_empty() || indices.contains(&low) && indices.contains(&high) {
            let (min, max) = (value(low).to_owned(), value(high).to_owned());
            return Some(MinMax { min, max });
        }
        self.dictionary.values().min_max(indices)
    }

    /// Whether the values of the page so far are ascending. Only rows that are ordered by a time are said to be sorted.
    fn page_is_ascending(&self) -> bool {
        let is_kind = matches!(self.column.kind, Kind::Integer | Kind::DateTime(_));
        if !is_kind || is_id(&self.column) {
            return false;
        }
        let value = |index: &u32| self.dictionary.values().get(*index as usize);
        match self.page.values() {
            PageValues::Plain(plain) => plain.is_ascending,
            PageValues::Indexed { indices, .. } => {
                indices.is_sorted_by(|one, next| value(one) <= value(next))
            }
        }
    }

    /// A bloom filter of an id, if all its values are in the dictionary and it repeats enough.
    pub(super) fn bloom_filter(&self, rows: u64) -> Option<Sbbf> {
        let values = self.dictionary.len() as u64;
        let repeats = values > 0 && values * BLOOM_FILTER_REPEATS <= rows;
        let is_row = self.descriptor.max_rep_level() == 0;
        let filter = repeats && is_row && is_id(&self.column) && !self.page.is_plain();
        filter
            .then(|| K::bloom_filter(self.dictionary.values()))
            .flatten()
    }
}

/// Whether the values of a column identify something: integers that measure nothing.
fn is_id(column: &Column) -> bool {
    column.kind == Kind::Integer && column.unit.is_none()
}
