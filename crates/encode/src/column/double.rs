//! Floats, DOUBLE.

use parquet::file::statistics::{Statistics, ValueStatistics};
use tracelake_core::fault::Fault;

use super::cache::NumberCache;
use super::kind::{Number, PhysicalKind, number_kind, statistics};
use super::min_max::MinMax;
use crate::plain_numbers::{PlainNumbers, Spelling};
use crate::value;

/// DOUBLE: floats, none of them NaN, which the format of the fields doesn't have.
pub(super) struct Double;

impl Double {
    fn bounds(bounds: &MinMax<Number>) -> (f64, f64) {
        (
            lower_bound(to_float(bounds.min)),
            upper_bound(to_float(bounds.max)),
        )
    }
}

/// The smallest value as a bound. Of the two zeros the format asks for -0, since readers may take them for equal.
fn lower_bound(min: f64) -> f64 {
    if min == 0.0 { -0.0 } else { min }
}

/// The largest value as a bound. Of the two zeros the format asks for +0, since readers may take them for equal.
fn upper_bound(max: f64) -> f64 {
    if max == 0.0 { 0.0 } else { max }
}

impl PhysicalKind for Double {
    number_kind!(Floats, from_float);
    type Cache = NumberCache;

    /// On no column of the traces was PLAIN smaller above it. With 8, trials took a tenth of the CPU time of many
    /// distinct floats.
    const TRY_PLAIN_BELOW_REPEATS: usize = 3;

    const PLAIN_NUMBERS: Option<PlainNumbers<Number>> = Some((Spelling::Float, |bits| {
        Some(from_float(f64::from_bits(bits)))
    }));

    fn parse(field: &[u8]) -> Result<Number, Fault> {
        value::float(field).map(from_float)
    }

    fn encode_plain(value: &Number, out: &mut Vec<u8>) {
        out.extend_from_slice(&to_float(*value).to_le_bytes());
    }

    fn statistics(bounds: Option<&MinMax<Number>>, nulls: u64) -> Statistics {
        statistics!(Statistics::Double, bounds.map(Self::bounds), nulls)
    }

    fn integers(bounds: &MinMax<Number>) -> Option<(i64, i64)> {
        Some(whole(to_float(bounds.min), to_float(bounds.max)))
    }

    fn page_bounds(bounds: &MinMax<Number>) -> Option<(Vec<u8>, Vec<u8>)> {
        let (min, max) = Self::bounds(bounds);
        Some((min.to_le_bytes().into(), max.to_le_bytes().into()))
    }
}

/// The whole numbers around the smallest and the largest float, as a manifest records a time that is a float.
pub(crate) fn whole(min: f64, max: f64) -> (i64, i64) {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a float beyond 64 bits becomes the nearest integer"
    )]
    let whole = (min.floor() as i64, max.ceil() as i64);
    whole
}

/// A float as an integer: equal only for equal bits, and in the order of the floats, where -0 comes
/// before 0.
pub(super) fn from_float(value: f64) -> Number {
    flip(value.to_bits().cast_signed())
}

/// The float that [`from_float`] made an integer of.
pub(super) fn to_float(number: Number) -> f64 {
    f64::from_bits(flip(number).cast_unsigned())
}

/// Inverts all bits but the sign of a negative number; it undoes itself.
fn flip(bits: i64) -> i64 {
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn floats_keep_their_bits_and_their_order(a in any::<f64>(), b in any::<f64>()) {
            prop_assert_eq!(to_float(from_float(a)).to_bits(), a.to_bits());
            if a < b {
                prop_assert!(from_float(a) < from_float(b));
            }
            prop_assert!(from_float(-0.0) < from_float(0.0));
        }
    }
}
