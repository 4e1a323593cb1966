//! Booleans, BOOLEAN: bits, without a dictionary.

use parquet::file::statistics::{Statistics, ValueStatistics};
use tracelake_core::fault::Fault;

use super::encode;
use super::kind::{Number, PhysicalKind, number_kind, statistics};
use super::min_max::MinMax;
use super::text_cache::TextCache;
use crate::value;

/// BOOLEAN: bits.
pub(super) struct Boolean;

impl PhysicalKind for Boolean {
    number_kind!(Booleans, Number::from);
    type Cache = TextCache;
    const HAS_DICTIONARY: bool = false;

    fn parse(field: &[u8]) -> Result<Number, Fault> {
        value::boolean(field).map(Number::from)
    }

    fn parse_json(text: &[u8]) -> Result<Number, Fault> {
        value::json_boolean(text).map(Number::from)
    }

    fn from_other(value: i64) -> Option<Number> {
        Some(value)
    }

    fn encode_plain(value: &Number, out: &mut Vec<u8>) {
        out.push(u8::from(*value != 0));
    }

    fn finish_plain(values: &[u8], out: &mut Vec<u8>) {
        encode::bits(values, out);
    }

    fn statistics(bounds: Option<&MinMax<Number>>, nulls: u64) -> Statistics {
        let min_max = bounds.map(|bounds| (bounds.min != 0, bounds.max != 0));
        statistics!(Statistics::Boolean, min_max, nulls)
    }

    fn page_bounds(bounds: &MinMax<Number>) -> Option<(Vec<u8>, Vec<u8>)> {
        let byte = |number| vec![u8::from(number != 0)];
        Some((byte(bounds.min), byte(bounds.max)))
    }
}
