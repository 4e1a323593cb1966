//! Integers, INT64, and codes, INT32.

use parquet::bloom_filter::Sbbf;
use parquet::file::statistics::{Statistics, ValueStatistics};
use tracelake_core::fault::Fault;

use super::kind::{Number, PhysicalKind, number_kind, statistics};
use super::min_max::MinMax;
use super::text_cache::TextCache;
use crate::value;

/// INT64: integers.
pub(super) struct Int64;

impl PhysicalKind for Int64 {
    number_kind!();
    type Cache = TextCache;

    fn parse(field: &[u8]) -> Result<Number, Fault> {
        value::integer(field)
    }

    fn from_sentinel(value: i64) -> Option<Number> {
        Some(value)
    }

    fn encode_plain(value: &Number, out: &mut Vec<u8>) {
        out.extend_from_slice(&value.to_le_bytes());
    }

    fn statistics(bounds: Option<&MinMax<Number>>, nulls: u64) -> Statistics {
        statistics!(
            Statistics::Int64,
            bounds.map(|bounds| (bounds.min, bounds.max)),
            nulls
        )
    }

    fn page_bounds(bounds: &MinMax<Number>) -> Option<(Vec<u8>, Vec<u8>)> {
        Some((
            bounds.min.to_le_bytes().into(),
            bounds.max.to_le_bytes().into(),
        ))
    }

    fn integers(bounds: &MinMax<Number>) -> Option<(i64, i64)> {
        Some((bounds.min, bounds.max))
    }

    fn bloom_filter(values: &Vec<Number>) -> Option<Sbbf> {
        let mut filter = Sbbf::new_with_ndv_fpp(values.len() as u64, 0.01).ok()?;
        for value in values {
            filter.insert(value);
        }
        Some(filter)
    }
}

/// INT32: codes.
pub(super) struct Int32;

impl Int32 {
    fn narrow(number: Number) -> i32 {
        i32::try_from(number).expect("a code was parsed as 32 bits")
    }
}

impl PhysicalKind for Int32 {
    number_kind!();
    type Cache = TextCache;

    fn parse(field: &[u8]) -> Result<Number, Fault> {
        value::code(field).map(Number::from)
    }

    fn encode_plain(value: &Number, out: &mut Vec<u8>) {
        out.extend_from_slice(&Self::narrow(*value).to_le_bytes());
    }

    fn statistics(bounds: Option<&MinMax<Number>>, nulls: u64) -> Statistics {
        let bounds = bounds.map(|bounds| (Self::narrow(bounds.min), Self::narrow(bounds.max)));
        statistics!(Statistics::Int32, bounds, nulls)
    }

    fn page_bounds(bounds: &MinMax<Number>) -> Option<(Vec<u8>, Vec<u8>)> {
        let bytes = |number| Self::narrow(number).to_le_bytes().into();
        Some((bytes(bounds.min), bytes(bounds.max)))
    }
}
