//! Texts, BYTE_ARRAY.

use parquet::data_type::ByteArray;
use parquet::file::statistics::{Statistics, ValueStatistics};
use tracelake_core::fault::Fault;

use super::dictionary::{Dictionary, ValueList};
use super::found::Found;
use super::kind::PhysicalKind;
use super::min_max::MinMax;
use super::text_cache::TextCache;
use crate::split::FieldOffsets;
use crate::typed_rows::TypedValues;
use crate::value;

/// The longest text that goes into statistics, in bytes; a longer one, which would bloat the footer, is shortened.
pub(super) const STATISTICS_TEXT_BYTES: usize = 64;

/// BYTE_ARRAY: UTF-8.
pub(super) struct Text;

/// The first characters of a text, at most [`STATISTICS_TEXT_BYTES`] of them: a lower bound of it.
fn lower(text: &[u8]) -> &[u8] {
    let mut end = text.len().min(STATISTICS_TEXT_BYTES);
    let is_inside = |end: usize| text.get(end).is_some_and(|byte| byte & 0xc0 == 0x80);
    while is_inside(end) {
        end -= 1;
    }
    &text[..end]
}

/// The shortest of the first characters of a text, the last of which is raised to the next one: an upper bound of a
/// long text. `None` if none of them can be raised.
fn upper(text: &[u8]) -> Option<Vec<u8>> {
    if text.len() <= STATISTICS_TEXT_BYTES {
        return Some(text.to_vec());
    }
    let mut short = std::str::from_utf8(lower(text)).ok()?.to_owned();
    while let Some(last) = short.pop() {
        if let Some(next) = (last..=char::MAX).nth(1) {
            short.push(next);
            return Some(short.into_bytes());
        }
    }
    None
}

impl PhysicalKind for Text {
    type Value = [u8];
    type Parsed = ();
    type Values = Texts;
    type Cache = TextCache;
    /// A text that repeats costs PLAIN a match of some bytes, and the dictionary an index.
    const TRY_PLAIN_BELOW_REPEATS: usize = 3;

    fn parse(field: &[u8]) -> Result<(), Fault> {
        value::text(field).map(|_| ())
    }

    fn parse_column(
        text: &[u8],
        fields: FieldOffsets<'_>,
        _parsed: &mut [()],
        others: &mut Vec<usize>,
    ) -> usize {
        let records = fields.iter().enumerate();
        let not_plain = records
            .filter(|&(_, (start, end))| start == end || !value::is_plain_text(&text[start..end]));
        others.extend(not_plain.map(|(record, _)| record));
        fields.iter().len()
    }

    fn parse_json(_text: &[u8]) -> Result<(), Fault> {
        // Its line was found to be UTF-8.
        Ok(())
    }

    fn find_long(dictionary: &Dictionary<Self::Values>, field: &[u8]) -> Found {
        dictionary.find(field).map_or(Found::UNKNOWN, Found::at)
    }

    fn value<'a>(_parsed: &'a (), field: impl FnOnce() -> &'a [u8]) -> &'a [u8] {
        field()
    }

    fn with_typed<R>(values: &TypedValues, index: usize, take: impl FnOnce(&[u8]) -> R) -> R {
        match values {
            TypedValues::Texts(values) => take(&values[index]),
            _ => unreachable!("the values are of the type of their column"),
        }
    }

    fn encode_plain(value: &[u8], out: &mut Vec<u8>) {
        let length = u32::try_from(value.len()).expect("a field is shorter than a chunk of text");
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(value);
    }

    fn statistics(bounds: Option<&MinMax<[u8]>>, nulls: u64) -> Statistics {
        let min = bounds.map(|bounds| ByteArray::from(lower(&bounds.min).to_vec()));
        let max = bounds.and_then(|bounds| upper(&bounds.max).map(ByteArray::from));
        let is_exact =
            |bound: Option<&[u8]>| bound.is_some_and(|b| b.len() <= STATISTICS_TEXT_BYTES);
        Statistics::ByteArray(
            ValueStatistics::new(min, max, None, Some(nulls), false)
                .with_min_is_exact(is_exact(bounds.map(|bounds| &bounds.min[..])))
                .with_max_is_exact(is_exact(bounds.map(|bounds| &bounds.max[..]))),
        )
    }

    fn page_bounds(bounds: &MinMax<[u8]>) -> Option<(Vec<u8>, Vec<u8>)> {
        Some((lower(&bounds.min).to_vec(), upper(&bounds.max)?))
    }
}

/// Texts, one after the other.
#[derive(Default)]
pub(super) struct Texts {
    /// Where each one ends in `bytes`.
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl ValueList for Texts {
    type Value = [u8];

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }

    fn push(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
        self.ends.push(self.bytes.len());
    }

    fn clear(&mut self) {
        self.ends.clear();
        self.bytes.clear();
    }

    fn plain_bytes(&self) -> usize {
        self.ends.len() * size_of::<u32>() + self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bounds_are_short_texts_around_all_that_begins_as_they_do(
            text in "[a\u{7f}é\u{d7ff}\u{e000}\u{10ffff}]{0,80}",
            more in "[\u{0}z\u{10ffff}]{0,9}",
        ) {
            let (text, longer) = (text.as_bytes(), [text.as_bytes(), more.as_bytes()].concat());
            let (low, high) = (lower(text), upper(&longer));
            prop_assert!(std::str::from_utf8(low).is_ok() && low.len() <= STATISTICS_TEXT_BYTES);
            prop_assert!(low <= text && text.starts_with(low));
            prop_assert_eq!(low == text, text.len() <= STATISTICS_TEXT_BYTES);
            let Some(high) = high else {
                // Nothing is larger than the largest character.
                let start = lower(&longer);
                let largest = "\u{10ffff}".repeat(start.len() / 4);
                prop_assert_eq!(start, largest.as_bytes());
                return Ok(());
            };
            prop_assert!(std::str::from_utf8(&high).is_ok());
            prop_assert!(high.len() <= STATISTICS_TEXT_BYTES + 3);
            prop_assert!(high >= longer);
            prop_assert_eq!(high == longer, longer.len() <= STATISTICS_TEXT_BYTES);
        }
    }

    #[test]
    fn an_upper_bound_ends_in_the_next_character() {
        let bound = |text: String| upper(text.as_bytes()).map(|b| String::from_utf8(b).unwrap());
        assert_eq!(bound("a".repeat(64)), Some("a".repeat(64)));
        assert_eq!(bound("a".repeat(65)), Some("a".repeat(63) + "b"));
        // Between the two are the surrogates, which are no characters.
        let most = format!("{}{}", "a".repeat(61), "\u{d7ff}".repeat(9));
        assert_eq!(bound(most).unwrap(), "a".repeat(61) + "\u{e000}");
        let largest = "\u{10ffff}".repeat(17);
        assert_eq!(bound(largest.clone()), None);
        assert_eq!(bound(format!("b{largest}")), Some("c".to_owned()));
    }
}
