//! The physical kinds of Parquet that tables of plain fields use, and what is particular to each:
//! how a field is parsed, how a value is stored, encoded and bounded.

use std::hash::Hash;

use parquet::bloom_filter::Sbbf;
use parquet::file::statistics::Statistics;
use tracelake_core::fault::Fault;
use tracelake_core::options::Accept;
use tracelake_schema::Column;

use super::dictionary::{Dictionary, ValueList};
use super::found::{Found, Span};
use super::min_max::MinMax;
use crate::plain_numbers::{self, PlainNumbers};
use crate::split::FieldOffsets;
use crate::typed_rows::TypedValues;

/// A number as values are compared and stored: integers, codes and booleans as they are, floats as
/// [`from_float`](super::double::from_float) maps them.
pub(super) type Number = i64;

/// A physical kind. Structs and lists have none: their leaves have.
pub(super) trait PhysicalKind: Sized + Send + 'static {
    /// A value: a [`Number`], or the bytes of a text.
    type Value: ?Sized + ToOwned<Owned: Send + Clone> + Ord + Hash;
    /// The result of parsing, beyond the verdict. A text is its field, so nothing.
    type Parsed: Copy + Default + Send;
    /// The distinct values of a dictionary.
    type Values: ValueList<Value = Self::Value>;
    /// Finds the index of a value by the bytes of its field.
    type Cache: FieldCache<Self>;

    /// Whether its values may go into a dictionary.
    const HAS_DICTIONARY: bool = true;

    /// PLAIN is tried for a column chunk whose values repeat fewer times than this on average, unless they are ids.
    /// Above it, the dictionary was the smaller one on every column of the traces.
    const TRY_PLAIN_BELOW_REPEATS: usize = 8;

    /// How its plain numbers are read, if it has any.
    const PLAIN_NUMBERS: Option<PlainNumbers<Self::Parsed>> = None;

    /// Parses a field that isn't empty.
    ///
    /// # Errors
    /// The fault of the field.
    fn parse(field: &[u8]) -> Result<Self::Parsed, Fault>;

    /// Parses the first fields of a column, those that have no fault and are spelled plainly, and returns how many
    /// fields it looked at; `others` gets those of them that are still to be parsed. `parsed` has an element for each
    /// field of the column.
    fn parse_column(
        text: &[u8],
        fields: FieldOffsets<'_>,
        parsed: &mut [Self::Parsed],
        others: &mut Vec<usize>,
    ) -> usize {
        Self::PLAIN_NUMBERS.map_or(0, |(spelling, number)| {
            plain_numbers::read(text, fields, spelling, parsed, others, number)
        })
    }

    /// Parses the text of a JSON value, a string without its quotes; it may be empty.
    ///
    /// # Errors
    /// The fault of the value.
    fn parse_json(text: &[u8]) -> Result<Self::Parsed, Fault> {
        Self::parse(text)
    }

    /// The value that a field has in another spelling; `None` for kinds without any.
    fn from_other(_value: i64) -> Option<Self::Parsed> {
        None
    }

    /// The index of a field that is too long for [`TextCache`](super::text_cache::TextCache). Only texts are
    /// looked up; other kinds parse such a field again.
    fn find_long(_dictionary: &Dictionary<Self::Values>, _field: &[u8]) -> Found {
        Found::UNKNOWN
    }

    /// The value of a parsed field; only a text needs its bytes.
    fn value<'a>(parsed: &'a Self::Parsed, field: impl FnOnce() -> &'a [u8]) -> &'a Self::Value;

    /// Gives `take` one of some typed values.
    fn with_typed<R>(values: &TypedValues, index: usize, take: impl FnOnce(&Self::Value) -> R)
    -> R;

    /// Appends a value in PLAIN encoding; a boolean as a byte, see [`Self::finish_plain`].
    fn encode_plain(value: &Self::Value, out: &mut Vec<u8>);

    /// Appends what [`Self::encode_plain`] wrote to a page.
    fn finish_plain(values: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(values);
    }

    /// The statistics of a column chunk.
    fn statistics(bounds: Option<&MinMax<Self::Value>>, nulls: u64) -> Statistics;

    /// The smallest and the largest value as the page index has them, shortened if they are long; `None` where no
    /// short text is large enough.
    fn page_bounds(bounds: &MinMax<Self::Value>) -> Option<(Vec<u8>, Vec<u8>)>;

    /// The bounds as integers, for kinds that have them.
    fn integers(_bounds: &MinMax<Self::Value>) -> Option<(i64, i64)> {
        None
    }

    /// A bloom filter of some values, for kinds that have one.
    fn bloom_filter(_values: &Self::Values) -> Option<Sbbf> {
        None
    }
}

/// Finds indices by the bytes of fields.
pub(super) trait FieldCache<K: PhysicalKind>: Send {
    /// Starts with no field of a column, of which some texts may be accepted as NULL.
    fn new(column: &Column, accept: &Accept) -> Self;

    /// Looks up fields of a chunk; `found` has an element for each, [`Found::UNKNOWN`].
    fn find_all(
        &mut self,
        text: &[u8],
        fields: FieldOffsets<'_>,
        dictionary: &Dictionary<K::Values>,
        found: &mut [Found],
    );

    /// Looks up one field; the dictionary isn't asked.
    fn find(&self, text: &[u8], field: Span) -> Found;

    /// Remembers the index of a field that isn't known, in a dictionary of `values` values.
    fn insert(&mut self, text: &[u8], field: Span, index: u32, values: usize);

    /// Forgets everything and keeps the room.
    fn clear(&mut self);

    /// Forgets everything and gives the room back.
    fn release(&mut self);
}

/// The statistics of a number, whose bounds are exact.
macro_rules! statistics {
    ($variant:path, $bounds:expr, $nulls:expr) => {{
        let (min, max) = $bounds.unzip();
        $variant(ValueStatistics::new(min, max, None, Some($nulls), false))
    }};
}

/// The parts of [`PhysicalKind`] in which all numbers are alike; typed values of a variant become numbers.
macro_rules! number_kind {
    ($variant:ident, $number:expr) => {
        type Value = Number;
        type Parsed = Number;
        type Values = Vec<Number>;

        fn value<'a>(parsed: &'a Number, _field: impl FnOnce() -> &'a [u8]) -> &'a Number {
            parsed
        }

        fn with_typed<R>(
            values: &crate::typed_rows::TypedValues,
            index: usize,
            take: impl FnOnce(&Number) -> R,
        ) -> R {
            match values {
                crate::typed_rows::TypedValues::$variant(values) => take(&$number(values[index])),
                _ => unreachable!("the values are of the type of their column"),
            }
        }
    };
}

pub(super) use {number_kind, statistics};
