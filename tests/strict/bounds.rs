//! The smallest and the largest value, and what a footer or a page index may say about them.

use parquet::basic::Type as Physical;
use parquet::file::statistics::Statistics;

use super::Result;
use super::schema::{check_value, compare, float};
use super::seen::Seen;

/// Texts longer than this are long, in bytes.
const LONG_TEXT: usize = 64;

/// The smallest and the largest of some values, and how many are NaN.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bounds<'v> {
    pub(super) min_max: Option<(&'v [u8], &'v [u8])>,
    pub(super) nans: i64,
}

impl<'v> Bounds<'v> {
    pub(super) fn of(physical: Physical, values: impl Iterator<Item = &'v [u8]>) -> Self {
        let mut bounds = Self::default();
        for value in values {
            if physical == Physical::DOUBLE && float(value).is_nan() {
                bounds.nans += 1;
                continue;
            }
            let (min, max) = bounds.min_max.get_or_insert((value, value));
            if compare(physical, value, min).is_lt() {
                *min = value;
            }
            if compare(physical, value, max).is_gt() {
                *max = value;
            }
        }
        bounds
    }
}

/// How a bound relates to the value that it bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// It is the value.
    Exact,
    /// It is a text that was cut short.
    Cut,
    /// It is a float further away.
    Wide,
}

/// Compares a lower bound with the smallest value.
pub(super) fn lower(physical: Physical, bound: &[u8], min: &[u8]) -> Result<Fit> {
    check_value(physical, bound)?;
    match physical {
        Physical::BYTE_ARRAY if bound != min && is_cut_below(bound, min) => Ok(Fit::Cut),
        Physical::DOUBLE => fit_of_floats(float(bound), float(min), -0.0, |bound, min| bound < min),
        _ if bound == min => Ok(Fit::Exact),
        _ => Err(format!("{bound:?} is no lower bound of {min:?}")),
    }
}

/// Compares an upper bound with the largest value.
pub(super) fn upper(physical: Physical, bound: &[u8], max: &[u8]) -> Result<Fit> {
    check_value(physical, bound)?;
    match physical {
        Physical::BYTE_ARRAY if bound != max && is_cut_above(bound, max) => Ok(Fit::Cut),
        Physical::DOUBLE => fit_of_floats(float(bound), float(max), 0.0, |bound, max| bound > max),
        _ if bound == max => Ok(Fit::Exact),
        _ => Err(format!("{bound:?} is no upper bound of {max:?}")),
    }
}

/// Whether a text is the beginning of a long one.
fn is_cut_below(bound: &[u8], min: &[u8]) -> bool {
    min.len() > LONG_TEXT && min.starts_with(bound)
}

/// Whether a text is the beginning of a long one with a larger last character.
fn is_cut_above(bound: &[u8], max: &[u8]) -> bool {
    let text = str::from_utf8(bound).unwrap_or_default();
    let last = text.chars().last().map_or(0, char::len_utf8);
    max.len() > LONG_TEXT && bound > max && max.starts_with(&bound[..bound.len() - last])
}

/// A bound that is a zero has the sign that the format asks for.
fn fit_of_floats(
    bound: f64,
    value: f64,
    zero: f64,
    is_beyond: impl Fn(f64, f64) -> bool,
) -> Result<Fit> {
    if bound == 0.0 && bound.is_sign_negative() != zero.is_sign_negative() {
        return Err(format!("the bound {bound:?} is a zero of the wrong sign"));
    }
    if bound == value {
        return Ok(Fit::Exact);
    }
    if is_beyond(bound, value) {
        return Ok(Fit::Wide);
    }
    Err(format!("{bound:?} is no bound of {value:?}"))
}

/// Compares statistics with the values that they describe.
pub(super) fn check_statistics(
    seen: &mut Seen,
    place: &str,
    said: &Statistics,
    real: &Bounds,
    nulls: usize,
) {
    let physical = said.physical_type();
    let nulls = Some(nulls as u64);
    seen.expect(place, "null_count", said.null_count_opt(), nulls);
    if let Some(nans) = said.nan_count_opt() {
        seen.expect(place, "nan_count", i64::try_from(nans), Ok(real.nans));
    }
    let [min, max] = match real.min_max {
        Some((min, max)) => [Some(min), Some(max)],
        None => [None; 2],
    };
    let (low, high) = (said.min_bytes_opt(), said.max_bytes_opt());
    let sides: [(_, _, _, _, fn(_, _, _) -> _); 2] = [
        ("min_value", low, said.min_is_exact(), min, lower),
        ("max_value", high, said.max_is_exact(), max, upper),
    ];
    for (name, bound, is_exact, real, fit) in sides {
        match (bound, real) {
            (None, None) => {}
            (Some(bound), Some(real)) => match fit(physical, bound, real) {
                Ok(Fit::Exact) if is_exact => {}
                Ok(Fit::Cut) if !is_exact => {}
                Ok(fit) => seen.find(place, &format!("{name} is {fit:?}, exact {is_exact}")),
                Err(error) => seen.find(place, &format!("{name}: {error}")),
            },
            (said, real) => seen.find(place, &format!("{name} is {said:?}, real {real:?}")),
        }
    }
    if said.is_min_max_deprecated() && low.or(high).is_some() {
        seen.find(place, "min and max, which are deprecated");
    }
}

#[test]
fn bounds_are_exact_or_cut() {
    let text = Physical::BYTE_ARRAY;
    let long = "é".repeat(33);
    let long = long.as_bytes();
    let (below, above) = (&long[..64], ["é".repeat(31), "ê".to_owned()].concat());
    assert_eq!(lower(text, long, long), Ok(Fit::Exact));
    assert_eq!(lower(text, below, long), Ok(Fit::Cut));
    assert_eq!(upper(text, long, long), Ok(Fit::Exact));
    assert_eq!(upper(text, above.as_bytes(), long), Ok(Fit::Cut));
    // Within a character, of a short text, on the wrong side, of another text.
    assert!(lower(text, &long[..63], long).is_err());
    assert!(lower(text, b"a", b"ab").is_err());
    assert!(lower(text, above.as_bytes(), long).is_err());
    assert!(upper(text, below, long).is_err());
    assert!(upper(text, b"zz", long).is_err());
    assert!(upper(text, b"b", b"ab").is_err());
    let double = |bound: f64, value: f64| {
        let (bound, value) = (bound.to_le_bytes(), value.to_le_bytes());
        [lower, upper].map(|fit| fit(Physical::DOUBLE, &bound, &value).ok())
    };
    assert_eq!(double(1.5, 1.5), [Some(Fit::Exact); 2]);
    assert_eq!(double(1.0, 1.5), [Some(Fit::Wide), None]);
    assert_eq!(double(2.0, 1.5), [None, Some(Fit::Wide)]);
    let zeros = [double(-0.0, 0.0), double(0.0, -0.0)];
    assert_eq!(zeros, [[Some(Fit::Exact), None], [None, Some(Fit::Exact)]]);
    let int = |bound: i32, value: i32| {
        let (bound, value) = (bound.to_le_bytes(), value.to_le_bytes());
        [lower, upper].map(|fit| fit(Physical::INT32, &bound, &value).ok())
    };
    assert_eq!(int(-1, -1), [Some(Fit::Exact); 2]);
    assert_eq!([int(-2, -1), int(0, -1)], [[None; 2]; 2]);
    assert!(lower(Physical::INT32, &[0; 8], &[0; 4]).is_err());
}
