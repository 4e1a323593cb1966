//! Integers and date-times, INT64, and codes, INT32.

use parquet::bloom_filter::Sbbf;
use parquet::file::statistics::{Statistics, ValueStatistics};
use tracelake_core::fault::Fault;
use tracelake_schema::Zone;

use super::cache::NumberCache;
use super::kind::{Number, PhysicalKind, number_kind, statistics};
use super::min_max::MinMax;
use super::text_cache::TextCache;
use crate::plain_numbers::{PlainNumbers, Spelling};
use crate::value;

/// Makes a kind whose values are stored as INT64.
macro_rules! int64_kind {
    ($(#[$doc:meta])* $kind:ident, $cache:ty, $parse:expr, $numbers:expr) => {
        $(#[$doc])*
        pub(super) struct $kind;

        impl PhysicalKind for $kind {
            number_kind!(Integers, Number::from);
            type Cache = $cache;

            const PLAIN_NUMBERS: Option<PlainNumbers<Number>> = $numbers;

            fn parse(field: &[u8]) -> Result<Number, Fault> {
                $parse(field)
            }

            fn from_other(value: i64) -> Option<Number> {
                Some(value)
            }

            fn encode_plain(value: &Number, out: &mut Vec<u8>) {
                out.extend_from_slice(&value.to_le_bytes());
            }

            fn statistics(bounds: Option<&MinMax<Number>>, nulls: u64) -> Statistics {
                let min_max = bounds.map(|bounds| (bounds.min, bounds.max));
                statistics!(Statistics::Int64, min_max, nulls)
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
    };
}

int64_kind!(
    /// INT64: integers.
    Int64,
    NumberCache,
    value::integer,
    Some((Spelling::Integer, |bits| Some(bits.cast_signed())))
);
int64_kind!(
    /// INT64: date-times with a zone, in microseconds since 1970 in UTC.
    Instant,
    TextCache,
    |field| value::date_time(field, Zone::Published),
    None
);
int64_kind!(
    /// INT64: date-times without a zone, in microseconds since 1970.
    DateTime,
    TextCache,
    |field| value::date_time(field, Zone::None),
    None
);

/// INT32: codes.
pub(super) struct Int32;

impl Int32 {
    fn narrow(number: Number) -> i32 {
        i32::try_from(number).expect("a code was parsed as 32 bits")
    }
}

impl PhysicalKind for Int32 {
    number_kind!(Integers, Number::from);
    type Cache = NumberCache;

    const PLAIN_NUMBERS: Option<PlainNumbers<Number>> = Some((Spelling::Integer, |bits| {
        i32::try_from(bits).ok().map(Number::from)
    }));

    fn parse(field: &[u8]) -> Result<Number, Fault> {
        value::code(field).map(Number::from)
    }

    fn from_other(value: i64) -> Option<Number> {
        i32::try_from(value).ok().map(Number::from)
    }

    fn encode_plain(value: &Number, out: &mut Vec<u8>) {
        out.extend_from_slice(&Self::narrow(*value).to_le_bytes());
    }

    fn statistics(bounds: Option<&MinMax<Number>>, nulls: u64) -> Statistics {
        let min_max = bounds.map(|bounds| (Self::narrow(bounds.min), Self::narrow(bounds.max)));
        statistics!(Statistics::Int32, min_max, nulls)
    }

    fn page_bounds(bounds: &MinMax<Number>) -> Option<(Vec<u8>, Vec<u8>)> {
        let bytes = |number| Self::narrow(number).to_le_bytes().into();
        Some((bytes(bounds.min), bytes(bounds.max)))
    }
}
