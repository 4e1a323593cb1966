//! The phases of a chunk of text in one column: its fields are looked up and parsed, then appended.

use std::ops::Range;

use tracelake_core::fault::Fault;
use tracelake_core::options::Accept;
use tracelake_schema::{Column, Kind};

use super::chunk::EncodedChunk;
use super::encoder::{Encoder, Unknown};
use super::found::Found;
use super::kind::{FieldCache, PhysicalKind};
use super::{Append, ChunkFields, ColumnEncoder, LookUp, Result};
use crate::value::{OtherSpellings, Spelled, other_spelling, sentinel};

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

/// One column in a chunk of text without fields of it: NULL in each row.
struct NoFields<'a, K: PhysicalKind> {
    encoder: &'a mut Encoder<K>,
}

impl<K: PhysicalKind> Encoder<K> {
    /// Forgets the chunk of text before.
    fn start_chunk(&mut self) {
        self.found.clear();
        self.unknown.clear();
        self.faults.clear();
    }
}

impl<K: PhysicalKind> ColumnEncoder for Encoder<K> {
    fn start<'a>(
        &'a mut self,
        text: &'a [u8],
        fields: ChunkFields<'a>,
    ) -> Box<dyn LookUp<'a> + 'a> {
        self.start_chunk();
        Box::new(ColumnFields {
            encoder: self,
            text,
            fields,
            all_found: true,
        })
    }

    fn start_absent<'a>(&'a mut self) -> Box<dyn LookUp<'a> + 'a> {
        self.start_chunk();
        Box::new(NoFields { encoder: self })
    }

    fn finish(&mut self) -> Result<EncodedChunk> {
        Encoder::finish(self)
    }

    fn bytes(&self) -> usize {
        Encoder::bytes(self)
    }

    fn others(&self) -> OtherSpellings {
        self.others
    }

    fn integers(&self) -> Option<(i64, i64)> {
        Encoder::integers(self)
    }
}

impl<'a, K: PhysicalKind> LookUp<'a> for ColumnFields<'a, K> {
    fn look_up(&mut self, range: Range<usize>) {
        let encoder = &mut *self.encoder;
        let before = encoder.found.len();
        debug_assert_eq!(before, range.start, "records are looked up in order");
        encoder.found.resize(before + range.len(), Found::UNKNOWN);
        let found = &mut encoder.found[before..];
        let (fields, is_optional) = match self.fields {
            ChunkFields::Records(fields, field) => (fields, !field.mandatory),
            ChunkFields::Leaf(leaf) => (leaf.fields(), false),
            ChunkFields::Name(_) => {
                self.all_found = false;
                return;
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
        let mut others = Vec::new();
        let mut done = 0;
        if page.is_plain() {
            values.resize(found.len(), K::Parsed::default());
            // Any field may be a spelling of NULL.
            if let ChunkFields::Records(fields, field) = self.fields
                && !field.accept.has_nulls_in(column)
            {
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
                    parse::<K>(column, text, field.accept)
                }
                ChunkFields::Leaf(leaf) => {
                    let (start, end) = leaf.fields().get(record);
                    parse_json::<K>(column, &self.text[start..end])
                }
                ChunkFields::Name(value) => parse::<K>(column, value, Accept::default()),
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
            ChunkFields::Name(value) => (value, (0, value.len())),
        };
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
        if let ChunkFields::Leaf(leaf) = fields {
            encoder.page.add_leaf(found, leaf);
            if leaf.is_in_list() {
                encoder.list_bytes += leaf.decoded_bytes(encoder.column);
            }
        } else if all_found {
            encoder.page.add_indices(found);
        } else {
            encoder.page.add_rows(found);
        }
        encoder.end_what_is_full()
    }
}

impl<'a, K: PhysicalKind> LookUp<'a> for NoFields<'a, K> {
    fn look_up(&mut self, range: Range<usize>) {
        self.encoder.found.resize(range.end, Found::NULL);
    }

    fn parse(self: Box<Self>) -> Box<dyn Append + 'a> {
        self
    }
}

impl<K: PhysicalKind> Append for NoFields<'_, K> {
    fn faults(&self) -> &[(usize, Fault)] {
        &[]
    }

    fn append(self: Box<Self>, faulty: &[usize]) -> Result<()> {
        let Encoder { found, page, .. } = &mut *self.encoder;
        found.truncate(found.len() - faulty.len());
        page.add_rows(found);
        self.encoder.end_what_is_full()
    }
}

/// Parses the text of a JSON value; says how it is spelled.
fn parse_json<K: PhysicalKind>(
    column: &'static Column,
    text: &[u8],
) -> std::result::Result<(K::Parsed, Spelled), Fault> {
    K::parse_json(text)
        .map(|parsed| (parsed, Spelled::Plainly))
        .or_else(|fault| {
            if column.kind != Kind::Integer {
                return Err(fault);
            }
            let sentinel = sentinel(column, text, fault).ok_or(fault)?;
            let parsed = K::from_sentinel(sentinel.value).ok_or(fault)?;
            Ok((parsed, Spelled::AsSentinel))
        })
}

/// Parses a field; says how it is spelled.
#[inline(always)]
fn parse<K: PhysicalKind>(
    column: &'static Column,
    field: &[u8],
    accept: Accept,
) -> std::result::Result<(K::Parsed, Spelled), Fault> {
    if field.is_empty() {
        return Err(Fault::Empty);
    }
    K::parse(field)
        .map(|parsed| (parsed, Spelled::Plainly))
        .or_else(|fault| {
            let other = other_spelling(column, field, fault, accept);
            let (value, spelled) = other.ok_or(fault)?;
            let parsed = K::from_sentinel(value).ok_or(fault)?;
            Ok((parsed, spelled))
        })
}
