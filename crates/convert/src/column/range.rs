//! The smallest and the largest value of a page, a column chunk or a column.

use parquet::basic::BoundaryOrder;
use parquet::data_type::ByteArray;
use parquet::file::statistics::{Statistics, ValueStatistics};
use tracelake_schema::Kind;

use super::dictionary::to_float;
use super::encode;

/// The longest text that stands in statistics, in bytes; longer ones would blow up the footer.
const LONGEST: usize = 64;

/// The smallest and the largest value, both of them there.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Range {
    Numbers(i64, i64),
    Texts(Vec<u8>, Vec<u8>),
}

impl Range {
    /// Makes a range, or what was there, reach to one more number.
    pub(super) fn number(range: &mut Option<Self>, number: i64) {
        match range {
            Some(Self::Numbers(low, high)) => {
                *low = number.min(*low);
                *high = number.max(*high);
            }
            _ => *range = Some(Self::Numbers(number, number)),
        }
    }

    /// Makes a range, or what was there, reach to one more text.
    pub(super) fn text(range: &mut Option<Self>, text: &[u8]) {
        match range {
            Some(Self::Texts(low, high)) => {
                if text < &low[..] {
                    low.clear();
                    low.extend_from_slice(text);
                }
                if text > &high[..] {
                    high.clear();
                    high.extend_from_slice(text);
                }
            }
            _ => *range = Some(Self::Texts(text.to_vec(), text.to_vec())),
        }
    }

    /// Makes a range reach to all of another one.
    pub(super) fn extend(range: &mut Option<Self>, other: &Self) {
        match other {
            Self::Numbers(low, high) => {
                Self::number(range, *low);
                Self::number(range, *high);
            }
            Self::Texts(low, high) => {
                Self::text(range, low);
                Self::text(range, high);
            }
        }
    }

    /// The statistics of a column chunk; none where a text is too long for them.
    pub(super) fn statistics(range: Option<&Self>, kind: Kind, nulls: u64) -> Statistics {
        let range = range.filter(|range| range.is_short());
        let numbers = match range {
            Some(Self::Numbers(low, high)) => Some((*low, *high)),
            _ => None,
        };
        let (low, high) = numbers.unzip();
        let nulls = Some(nulls);
        match kind {
            Kind::Integer => Statistics::Int64(
                ValueStatistics::new(low, high, None, nulls, false)
                    .with_backwards_compatible_min_max(true),
            ),
            Kind::Code => Statistics::Int32(
                ValueStatistics::new(low.map(code), high.map(code), None, nulls, false)
                    .with_backwards_compatible_min_max(true),
            ),
            Kind::Boolean => {
                let (low, high) = (low.map(|low| low != 0), high.map(|high| high != 0));
                Statistics::Boolean(
                    ValueStatistics::new(low, high, None, nulls, false)
                        .with_backwards_compatible_min_max(true),
                )
            }
            // No float is NaN: the format refuses it.
            Kind::Float => {
                let (low, high) = numbers.map(|(low, high)| floats(low, high)).unzip();
                Statistics::Double(
                    ValueStatistics::new(low, high, None, nulls, false)
                        .with_backwards_compatible_min_max(true)
                        .with_nan_count(Some(0)),
                )
            }
            Kind::Text | Kind::Struct | Kind::List => {
                let (low, high) = match range {
                    Some(Self::Texts(low, high)) => (Some(low), Some(high)),
                    _ => (None, None),
                };
                let bytes = |text: &Vec<u8>| ByteArray::from(text.clone());
                Statistics::ByteArray(ValueStatistics::new(
                    low.map(bytes),
                    high.map(bytes),
                    None,
                    nulls,
                    false,
                ))
            }
        }
    }

    /// The two values as the page index has them; `None` where a text is too long for it.
    pub(super) fn bounds(&self, kind: Kind) -> Option<(Vec<u8>, Vec<u8>)> {
        let number = |number: i64| {
            let mut bytes = Vec::new();
            match kind {
                Kind::Boolean => bytes.push(u8::from(number != 0)),
                _ => encode::plain_number(kind, number, &mut bytes),
            }
            bytes
        };
        match self {
            Self::Numbers(low, high) if kind == Kind::Float => {
                let (low, high) = floats(*low, *high);
                Some((low.to_le_bytes().to_vec(), high.to_le_bytes().to_vec()))
            }
            Self::Numbers(low, high) => Some((number(*low), number(*high))),
            Self::Texts(low, high) => self.is_short().then(|| (low.clone(), high.clone())),
        }
    }

    fn is_short(&self) -> bool {
        match self {
            Self::Numbers(..) => true,
            Self::Texts(low, high) => low.len().max(high.len()) <= LONGEST,
        }
    }

    /// Whether a page may stand before another one in ascending, and in descending order.
    fn order(&self, next: &Self) -> (bool, bool) {
        match (self, next) {
            (Self::Numbers(low, high), Self::Numbers(next_low, next_high)) => (
                low <= next_low && high <= next_high,
                low >= next_low && high >= next_high,
            ),
            (Self::Texts(low, high), Self::Texts(next_low, next_high)) => (
                low <= next_low && high <= next_high,
                low >= next_low && high >= next_high,
            ),
            _ => (false, false),
        }
    }
}

/// The order of pages, of which those without a value do not count.
pub(super) fn boundary_order(pages: &[Option<Range>]) -> BoundaryOrder {
    let ranges: Vec<&Range> = pages.iter().flatten().collect();
    let orders = ranges.windows(2).map(|pair| pair[0].order(pair[1]));
    match orders.fold((true, true), |(a, d), (ascending, descending)| {
        (a && ascending, d && descending)
    }) {
        (true, _) => BoundaryOrder::ASCENDING,
        (false, true) => BoundaryOrder::DESCENDING,
        (false, false) => BoundaryOrder::UNORDERED,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a code was read as 32 bits"
)]
fn code(number: i64) -> i32 {
    number as i32
}

/// Of the two zeros the format wants the one that takes in the other.
fn floats(low: i64, high: i64) -> (f64, f64) {
    let (low, high) = (to_float(low), to_float(high));
    (
        if low == 0.0 { -0.0 } else { low },
        if high == 0.0 { 0.0 } else { high },
    )
}
