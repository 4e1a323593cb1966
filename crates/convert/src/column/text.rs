//! Texts, BYTE_ARRAY.

use parquet::data_type::ByteArray;
use parquet::file::statistics::{Statistics, ValueStatistics};

use super::cache::Found;
use super::dictionary::Dictionary;
use super::kind::{PhysicalKind, ValueList};
use super::min_max::MinMax;
use super::text_cache::TextCache;
use crate::fault::Fault;
use crate::value;

/// The longest text that goes into statistics, in bytes; longer ones would bloat the footer.
const STATISTICS_TEXT_BYTES: usize = 64;

/// BYTE_ARRAY: UTF-8.
pub(super) struct Text;

impl Text {
    fn short(bounds: &MinMax<[u8]>) -> Option<(&Vec<u8>, &Vec<u8>)> {
        let longest = bounds.min.len().max(bounds.max.len());
        (longest <= STATISTICS_TEXT_BYTES).then_some((&bounds.min, &bounds.max))
    }
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

    fn find_long(dictionary: &Dictionary<Self>, field: &[u8]) -> Found {
        dictionary.find(field).map_or(Found::UNKNOWN, Found::at)
    }

    fn value<'a>(_parsed: &'a (), field: impl FnOnce() -> &'a [u8]) -> &'a [u8] {
        field()
    }

    fn encode_plain(value: &[u8], out: &mut Vec<u8>) {
        let length = u32::try_from(value.len()).expect("a field is shorter than a chunk of text");
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(value);
    }

    fn statistics(bounds: Option<&MinMax<[u8]>>, nulls: u64) -> Statistics {
        let (min, max) = bounds.and_then(Self::short).unzip();
        let bytes = |text: &Vec<u8>| ByteArray::from(text.clone());
        let (min, max) = (min.map(bytes), max.map(bytes));
        Statistics::ByteArray(ValueStatistics::new(min, max, None, Some(nulls), false))
    }

    fn page_bounds(bounds: &MinMax<[u8]>) -> Option<(Vec<u8>, Vec<u8>)> {
        Self::short(bounds).map(|(min, max)| (min.clone(), max.clone()))
    }
}

/// Texts, one after the other.
#[derive(Default)]
pub(super) struct Texts {
    /// Where each one ends in `bytes`.
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl ValueList<[u8]> for Texts {
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
