//! The phases of a chunk of text in one column: its fields are looked up and parsed, then appended.

use std::ops::Range;

use tracelake_core::fault::Fault;
use tracelake_core::options::Accept;
use tracelake_schema::Column;

use super::chunk::{ChunkBuilder, EncodedChunk, Result};
use super::encoder::{Encoder, Unknown};
use super::found::Found;
use super::kind::{FieldCache, PhysicalKind};
use super::min_max::MinMax;
use crate::row_fields::LeafFields;
use crate::run_fields::RunFields;
use crate::split::FieldOffsets;
use crate::typed_rows::LeafValues;
use crate::value::{OtherSpellings, Spelled, other_spelling};

/// The fields of a column in a chunk of text.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ChunkFields<'a> {
    /// A field of each record.
    Records(FieldOffsets<'a>, &'a SourceField),
    /// The values of a leaf of rows that were read as JSON.
    Leaf(&'a LeafFields),
    /// The fields of each record that are the items of a list.
    Items(&'a RunFields<'a>),
    /// The name of the file, which gives each row this value.
    Name(&'a [u8]),
    /// Absent: every row is NULL.
    Absent,
}

/// Where the fields of a column are in a file.
#[derive(Debug)]
pub(crate) struct SourceField {
    /// The position in a record, from 0.
    pub(crate) position: usize,
    /// Whether an empty field is a fault; otherwise it is NULL.
    pub(crate) mandatory: bool,
    /// Spellings that are accepted, and counted.
    pub(crate) accept: Accept,
}

/// One column of a table on its way to column chunks, one for each row group.
pub(crate) trait ColumnEncoder: Send {
    /// Starts with a chunk of text.
    fn start<'a>(&'a mut self, text: &'a [u8], fields: ChunkFields<'a>)
    -> Box<dyn LookUp<'a> + 'a>;

    /// Adds typed values, none of which has a fault.
    ///
    /// # Errors
    /// When a page cannot be encoded.
    fn push_typed(&mut self, leaf: &LeafValues) -> Result<()>;

    /// Makes a column chunk of the rows since the last one, and starts over.
    ///
    /// # Errors
    /// When a page cannot be encoded.
    fn finish(&mut self) -> Result<EncodedChunk>;

    /// The size of the column chunk so far, in bytes: its pages before they were compressed, the dictionary, and
    /// the values of the open page as they are kept; in a list, also the values as readers have them.
    fn bytes(&self) -> usize;

    /// How many values are spelled differently, since the beginning.
    fn others(&self) -> OtherSpellings;

    /// The smallest and the largest integer of all finished column chunks; `None` for other kinds.
    fn integers(&self) -> Option<(i64, i64)>;
}

/// Phase one of a chunk of text: fields are looked up, a few records at a time.
pub(crate) trait LookUp<'a>: Send {
    /// Looks up this column's field in each record of `range`, which follows the one before.
    fn look_up(&mut self, range: Range<usize>);

    /// Parses the fields that weren't found. Nothing that lasts is changed yet.
    fn parse(self: Box<Self>) -> Box<dyn Append + 'a>;
}

/// Phase two of a chunk of text: the faults of the column are known.
pub(crate) trait Append: Send {
    /// The records whose field is faulty, in order.
    fn faults(&self) -> &[(usize, Fault)];

    /// Adds all records but the faulty ones of all columns, which are sorted.
    ///
    /// # Errors
    /// When a page cannot be encoded.
    fn append(self: Box<Self>, faulty: &[usize]) -> Result<()>;
}

/// The fields of one column in a chunk of text, on their way into its page.
///
/// Its holder sees only the trait of the current phase: first [`LookUp`], then [`Append`].
pub(super) struct ColumnFields<'a, K: PhysicalKind> {
    encoder: &'a mut Encoder<K>,
    text: &'a [u8],
    fields: ChunkFields<'a>,
    /// Whether each field so far has an index.
    all_found: bool,
}

impl<K: PhysicalKind> ColumnEncoder for Encoder<K> {
    fn start<'a>(
        &'a mut self,
        text: &'a [u8],
        fields: ChunkFields<'a>,
    ) -> Box<dyn LookUp<'a> + 'a> {
        self.found.clear();
        self.unknown.clear();
        self.faults.clear();
        Box::new(ColumnFields {
            encoder: self,
            text,
            fields,
            all_found: true,
        })
    }

    fn push_typed(&mut self, leaf: &LeafValues) -> Result<()> {
        self.add_typed(&leaf.data);
        self.page.add_leaf(&self.found, &leaf.levels);
        if leaf.levels.is_in_list() {
            self.list_bytes += leaf.decoded_bytes();
        }
        self.end_what_is_full()
    }

    fn finish(&mut self) -> Result<EncodedChunk> {
        let dictionary = self.end_page()?;
        match dictionary {
            // A column chunk of one page, as in every small part, compresses its dictionary once.
            Some(dictionary) => self.chunk.add_dictionary(dictionary, self.indexed_values)?,
            None if self.page.is_plain() => {}
            None => self.end_dictionary(self.indexed_values)?,
        }
        let chunk = std::mem::replace(&mut self.chunk, ChunkBuilder::new());
        if let Some(min_max) = chunk.min_max() {
            MinMax::merge(&mut self.min_max, &min_max);
        }
        let mut encoded = chunk.finish(&self.descriptor, self.codec)?;
        encoded.close.bloom_filter = self.bloom_filter(encoded.close.rows_written);
        self.page.start_over();
        (self.indexed_values, self.list_bytes) = (0, 0);
        self.cache.clear();
        self.dictionary.clear();
        self.known = None;
        Ok(encoded)
    }

    fn bytes(&self) -> usize {
        self.list_bytes
            + self.chunk.uncompressed()
            + self.dictionary.plain_bytes()
            + self.page.bytes()
    }

    fn others(&self) -> OtherSpellings {
        self.others
    }

    fn integers(&self) -> Option<(i64, i64)> {
        self.min_max.as_ref().and_then(K::integers)
    }
}

impl<'a, K: PhysicalKind> LookUp<'a> for ColumnFields<'a, K> {
    fn look_up(&mut self, range: Range<usize>) {
        let range = match self.fields {
            ChunkFields::Items(run) => run.values(range),
            _ => range,
        };
        let encoder = &mut *self.encoder;
        let before = encoder.found.len();
        debug_assert_eq!(before, range.start, "records are looked up in order");
        encoder.found.resize(before + range.len(), Found::UNKNOWN);
        let found = &mut encoder.found[before..];
        let (fields, is_optional) = match self.fields {
            ChunkFields::Records(fields, field) => (fields, !field.mandatory),
            ChunkFields::Leaf(leaf) => (leaf.fields(), false),
            ChunkFields::Items(run) => (run.leaf.fields(), false),
            ChunkFields::Name(_) => {
                self.all_found = false;
                return;
            }
            ChunkFields::Absent => {
                self.all_found = false;
                return found.fill(Found::NULL);
            }
        };
        let fields = fields.after(range.start);
        if !encoder.page.is_plain() {
            encoder
                .cache
                .find_all(self.text, fields, &encoder.dictionary, found);
        }
        let unknown = found
            .iter()
            .fold(false, |any, found| any | (*found == Found::UNKNOWN));
        self.all_found &= !unknown;
        if unknown && is_optional {
            for (found, (start, end)) in found.iter_mut().zip(fields.iter()) {
                if start == end {
                    *found = Found::NULL;
                }
            }
        }
    }

    fn parse(self: Box<Self>) -> Box<dyn Append + 'a> {
        let Encoder {
            column,
            found,
            unknown,
            parsed: values,
            faults,
            nulls,
            page,
            ..
        } = &mut *self.encoder;
        if self.all_found {
            return self;
        }
        let plain = Accept::default();
        let mut others = Vec::new();
        let mut done = 0;
        if page.is_plain() {
            values.resize(found.len(), K::Parsed::default());
            let fields = match self.fields {
                // Any field may be a spelling of NULL.
                ChunkFields::Records(fields, field) if !field.accept.has_nulls_in(column) => {
                    Some(fields)
                }
                ChunkFields::Items(run) => Some(run.leaf.fields()),
                _ => None,
            };
            if let Some(fields) = fields {
                done = K::parse_column(self.text, fields, values, &mut others);
            }
        }
        for record in others.into_iter().chain(done..found.len()) {
            let found = &mut found[record];
            if *found != Found::UNKNOWN {
                continue;
            }
            let parsed = match self.fields {
                ChunkFields::Records(fields, field) => {
                    let (start, end) = fields.get(record);
                    let text = &self.text[start..end];
                    if field.accept.is_null_in(column, text) {
                        match field.mandatory {
                            true => faults.push((record, Fault::Empty)),
                            false => *found = Found::NULL,
                        }
                        nulls.extend(field.accept.is_null(text).then_some(record));
                        continue;
                    }
                    match text.is_empty() {
                        true => Err(Fault::Empty),
                        false => spelled::<K>(column, text, &field.accept, K::parse),
                    }
                }
                ChunkFields::Leaf(leaf) => {
                    let (start, end) = leaf.fields().get(record);
                    let text = &self.text[start..end];
                    spelled::<K>(column, text, &plain, K::parse_json)
                }
                ChunkFields::Items(run) => {
                    let (start, end) = run.leaf.fields().get(record);
                    spelled::<K>(column, &self.text[start..end], run.accept, K::parse)
                }
                ChunkFields::Name(value) => spelled::<K>(column, value, &plain, K::parse),
                ChunkFields::Absent => continue,
            };
            match parsed {
                Ok((parsed, spelled)) => unknown.push(Unknown {
                    record,
                    parsed,
                    spelled,
                }),
                Err(fault) => faults.push((record, fault)),
            }
        }
        self
    }
}

impl<K: PhysicalKind> Append for ColumnFields<'_, K> {
    fn faults(&self) -> &[(usize, Fault)] {
        &self.encoder.faults
    }

    fn append(self: Box<Self>, faulty: &[usize]) -> Result<()> {
        let Self {
            encoder,
            text,
            fields,
            all_found,
        } = *self;
        let field = |record| match fields {
            ChunkFields::Records(fields, _) => (text, fields.get(record)),
            ChunkFields::Leaf(leaf) => (text, leaf.fields().get(record)),
            ChunkFields::Items(run) => (text, run.leaf.fields().get(record)),
            ChunkFields::Name(value) => (value, (0, value.len())),
            ChunkFields::Absent => (text, (0, 0)),
        };
        let kept = match fields {
            ChunkFields::Items(run) if !faulty.is_empty() => Some(run.without(faulty)),
            _ => None,
        };
        let faulty = kept.as_ref().map_or(faulty, |(_, values)| values);
        let unknown = std::mem::take(&mut encoder.unknown);
        for unknown in &unknown {
            if faulty.binary_search(&unknown.record).is_ok() {
                continue;
            }
            encoder.others.count(unknown.spelled);
            if encoder.page.is_plain() {
                encoder.parsed[unknown.record] = unknown.parsed;
            } else {
                let (text, field) = field(unknown.record);
                encoder.found[unknown.record] = encoder.intern(unknown, text, field);
            }
        }
        if let Some(plain) = encoder.page.plain() {
            let records = encoder.found.iter().zip(&encoder.parsed).enumerate();
            for (record, (_, parsed)) in records.filter(|(record, (found, _))| {
                **found != Found::NULL
                    && (faulty.is_empty() || faulty.binary_search(record).is_err())
            }) {
                let bytes = || {
                    let (text, (start, end)) = field(record);
                    &text[start..end]
                };
                plain.add(K::value(parsed, bytes));
            }
        }
        encoder.unknown = unknown;
        for record in encoder.nulls.drain(..) {
            if faulty.binary_search(&record).is_err() {
                encoder.others.count(Spelled::AsNull);
            }
        }
        let found = &mut encoder.found;
        let mut record = 0;
        if !faulty.is_empty() {
            found.retain(|_| {
                record += 1;
                faulty.binary_search(&(record - 1)).is_err()
            });
        }
        let leaf = match fields {
            ChunkFields::Leaf(leaf) => Some(leaf),
            ChunkFields::Items(run) => Some(&run.leaf),
            _ => None,
        };
        if let Some(leaf) = leaf {
            let levels = kept.as_ref().map_or(&leaf.levels, |(levels, _)| levels);
            encoder.page.add_leaf(found, levels);
            if leaf.levels.is_in_list() {
                encoder.list_bytes += leaf.decoded_bytes(&encoder.column);
            }
        } else if all_found {
            encoder.page.add_indices(found);
        } else {
            encoder.page.add_rows(found);
        }
        encoder.end_what_is_full()
    }
}

/// Parses a text by `parse`, which knows the plain spelling; says how it is spelled.
#[inline(always)]
fn spelled<K: PhysicalKind>(
    column: &Column,
    text: &[u8],
    accept: &Accept,
    parse: impl FnOnce(&[u8]) -> std::result::Result<K::Parsed, Fault>,
) -> std::result::Result<(K::Parsed, Spelled), Fault> {
    match parse(text) {
        Ok(parsed) => Ok((parsed, Spelled::Plainly)),
        Err(fault) => {
            let (value, spelled) = other_spelling(column, text, fault, accept)?;
            let parsed = K::from_other(value).ok_or(fault)?;
            Ok((parsed, spelled))
        }
    }
}
