//! The rows and columns that a lake has of its source: a sample, a range of time, some of the columns.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::Arc;

use md5::{Digest, Md5};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tracelake_schema::{Column, Kind, Trace, Zone};

use crate::date_time::{self, date_time};
use crate::error::escape;

/// How many classes rows may be divided into. A class of the largest published table has a thousand rows then.
pub const CLASSES_RANGE: RangeInclusive<u32> = 1..=1_000_000;

/// One of the classes that the rows of a table are divided into by the hash of a key.
///
/// ```
/// use tracelake_core::selection::Sample;
///
/// let sample: Sample = "8/16".parse()?;
/// assert_eq!(Sample::hash(b"6253771429") % 16, 8);
/// assert!(sample.selects(b"6253771429"));
/// assert!("16/16".parse::<Sample>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// The class, from 0.
    pub class: u32,
    /// The number of classes.
    pub of: u32,
}

impl Sample {
    /// The first four bytes of the MD5 of a key's canonical text, as a number.
    ///
    /// The text is that of an integer in decimal without leading zeros, that of a text itself, and empty for NULL.
    #[must_use]
    pub fn hash(key: &[u8]) -> u32 {
        let [a, b, c, d, ..] = <[u8; 16]>::from(Md5::digest(key));
        u32::from_be_bytes([a, b, c, d])
    }

    /// Whether a key with this canonical text is in the class.
    #[must_use]
    pub fn selects(self, key: &[u8]) -> bool {
        Self::hash(key) % self.of == self.class
    }
}

impl FromStr for Sample {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |reason: &str| {
            let shown = escape(text.as_bytes(), 40);
            Err(format!("'{shown}' is not a sample: {reason}"))
        };
        let Some((class, of)) = text.split_once('/') else {
            return wrong("write a class and the number of classes, such as 0/16");
        };
        let most = CLASSES_RANGE.end();
        let number = |text: &str| {
            let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            is_plain.then(|| text.parse::<u32>().unwrap_or(u32::MAX))
        };
        match (number(class), number(of)) {
            (Some(_), Some(of)) if !CLASSES_RANGE.contains(&of) => {
                wrong(&format!("there can be 1 to {most} classes"))
            }
            (Some(class), Some(of)) if class >= of => wrong(&format!(
                "the classes are numbered from 0 to {}",
                of.saturating_sub(1)
            )),
            (Some(class), Some(of)) => Ok(Self { class, of }),
            _ => wrong("write a class and the number of classes, such as 0/16"),
        }
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.class, self.of)
    }
}

/// Columns such as `task_usage.cpu_rate`, or `cpu_rate` where there is one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnNames(pub Vec<String>);

impl ColumnNames {
    /// The names, each split into that of the table, if it is given, and that of the column.
    pub fn pairs(&self) -> impl Iterator<Item = (Option<&str>, &str)> {
        self.0.iter().map(|name| match name.split_once('.') {
            Some((table, column)) => (Some(table), column),
            None => (None, &name[..]),
        })
    }

    /// The names that have a table.
    pub fn with_tables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs()
            .filter_map(|(table, column)| Some((table?, column)))
    }
}

impl FromStr for ColumnNames {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = text.split(',').map(|name| {
            let is_whole = !name.is_empty() && name.split('.').all(|word| !word.is_empty());
            if is_whole && name.matches('.').count() <= 1 {
                return Ok(name.to_owned());
            }
            let shown = escape(name.as_bytes(), 80);
            Err(format!(
                "'{shown}' is not a column: write TABLE.COLUMN, or COLUMN for one table"
            ))
        });
        Ok(Self(names.collect::<Result<_, _>>()?))
    }
}

impl fmt::Display for ColumnNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(","))
    }
}

/// A range of time: from its first point up to, but without, its last.
///
/// ```
/// use tracelake_core::selection::TimeRange;
///
/// let range: TimeRange = "1h30m..2d".parse()?;
/// assert_eq!(range.bounds(1), Ok((5_400, Some(172_800))));
/// assert_eq!(range.in_units(1_000_000)?.to_string(), "5400000000..172800000000");
/// let range = "2011-05-02..".parse::<TimeRange>()?.since(1_304_290_200);
/// assert_eq!(range.bounds(1), Ok((4_200, None)));
/// assert!("5..5".parse::<TimeRange>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeRange {
    /// The first point; open if the range has no beginning.
    pub from: TimePoint,
    /// The point after the last one; open if the range has no end.
    pub to: TimePoint,
}

/// A point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimePoint {
    /// None: the range has no such end.
    Open,
    /// In the unit of the trace, from its time 0.
    Units(i64),
    /// In microseconds from time 0 of the trace.
    Micros(i64),
    /// A date, in microseconds since 1970-01-01 00:00:00 UTC.
    Date(i64),
}

/// The units of durations, and the microseconds of each.
const DURATIONS: [(&str, i64); 6] = [
    ("us", 1),
    ("ms", 1_000),
    ("s", 1_000_000),
    ("m", 60_000_000),
    ("h", 3_600_000_000),
    ("d", 86_400_000_000),
];

impl TimePoint {
    /// The point in a unit of which a second has `per_second`; `None` if it is open.
    fn in_units(self, per_second: i64) -> Result<Option<i64>, String> {
        match self {
            Self::Open => Ok(None),
            Self::Units(units) => Ok(Some(units)),
            Self::Micros(micros) | Self::Date(micros) => {
                let scaled = i128::from(micros) * i128::from(per_second);
                let rounded = i64::try_from(scaled / 1_000_000).ok();
                let units = rounded.filter(|_| scaled % 1_000_000 == 0);
                let not_whole = || format!("'{self}' is not a whole number of the trace's units");
                units.map(Some).ok_or_else(not_whole)
            }
        }
    }

    /// Counts a date from a moment in seconds since 1970-01-01 00:00:00 UTC.
    fn since(self, epoch: i64) -> Self {
        match self {
            Self::Date(micros) => {
                Self::Micros(micros.saturating_sub(epoch.saturating_mul(1_000_000)))
            }
            other => other,
        }
    }

    /// Reads `2011-05-02`, `2011-05-02T13:30` or `2011-05-02T13:30:05.5`, with or without a `Z`.
    fn date(text: &str) -> Option<i64> {
        let text = text.strip_suffix('Z').unwrap_or(text);
        let rest = match text.len() {
            10 => "T00:00:00",
            16 => ":00",
            _ => "",
        };
        date_time(format!("{text}{rest}").as_bytes(), Zone::None).ok()
    }

    /// Reads `1h30m`: numbers with units.
    fn duration(text: &str) -> Option<i64> {
        let (sign, mut rest) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text),
        };
        let mut sum = 0_i64;
        while !rest.is_empty() {
            let digits = rest.find(|letter: char| !letter.is_ascii_digit())?;
            let (number, after) = rest.split_at(digits);
            let letters = after.find(|letter: char| !letter.is_ascii_alphabetic());
            let (unit, after) = after.split_at(letters.unwrap_or(after.len()));
            let (_, micros) = DURATIONS.iter().find(|(name, _)| *name == unit)?;
            let part = number.parse::<i64>().ok()?.checked_mul(*micros)?;
            sum = sum.checked_add(part)?;
            rest = after;
        }
        (!text.is_empty()).then_some(sign * sum)
    }
}

impl FromStr for TimePoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let read = if text.is_empty() {
            Some(Self::Open)
        } else if digits.bytes().all(|byte| byte.is_ascii_digit()) {
            text.parse().ok().map(Self::Units)
        } else if text.as_bytes().get(4) == Some(&b'-') {
            Self::date(text).map(Self::Date)
        } else {
            Self::duration(text).map(Self::Micros)
        };
        read.ok_or_else(|| {
            let shown = escape(text.as_bytes(), 40);
            format!(
                "'{shown}' is not a time: write a number in the trace's unit, or 1h30m, or \
                 2011-05-02T13:30"
            )
        })
    }
}

impl fmt::Display for TimePoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open => Ok(()),
            Self::Units(units) => write!(f, "{units}"),
            Self::Micros(micros) => {
                let mut units = DURATIONS.iter().rev();
                let unit = units.find(|(_, size)| micros % size == 0);
                let (name, size) = unit.unwrap_or(&DURATIONS[0]);
                write!(f, "{}{name}", micros / size)
            }
            Self::Date(micros) => f.write_str(&date_time::written(*micros).replace(' ', "T")),
        }
    }
}

impl TimeRange {
    /// The first point and the one after the last, in a unit of which a second has `per_second`. Without a beginning it
    /// begins at the least time that there is.
    ///
    /// # Errors
    /// When a duration isn't a whole number of units, or the range is empty.
    pub fn bounds(self, per_second: i64) -> Result<(i64, Option<i64>), String> {
        let from = self.from.in_units(per_second)?.unwrap_or(i64::MIN);
        let to = self.to.in_units(per_second)?;
        if to.is_none_or(|to| from < to) {
            Ok((from, to))
        } else {
            Err(format!(
                "'{self}' is an empty range of time: it has to end after it begins"
            ))
        }
    }

    /// This range in a trace's unit.
    ///
    /// # Errors
    /// The errors of [`TimeRange::bounds`].
    pub fn in_units(self, per_second: i64) -> Result<Self, String> {
        self.bounds(per_second)?;
        let point = |point: TimePoint| {
            let units = point.in_units(per_second)?;
            Ok::<_, String>(units.map_or(TimePoint::Open, TimePoint::Units))
        };
        Ok(Self {
            from: point(self.from)?,
            to: point(self.to)?,
        })
    }

    /// This range with its dates counted from a trace's time 0, in seconds since 1970-01-01 00:00:00 UTC.
    #[must_use]
    pub fn since(self, epoch: i64) -> Self {
        Self {
            from: self.from.since(epoch),
            to: self.to.since(epoch),
        }
    }

    /// This range as people type it for a trace: with dates, if its times are date-times.
    #[must_use]
    pub fn as_typed(self, trace: &Trace) -> Self {
        let mut times = trace
            .tables
            .iter()
            .filter_map(|table| Some(&table.columns[table.time?]));
        let is_date = |column: &Arc<Column>| matches!(column.kind, Kind::DateTime(_));
        let are_dates = times.next().is_some_and(is_date) && times.all(is_date);
        let epoch = trace.epoch.unwrap_or(0).saturating_mul(1_000_000);
        let point = |point: TimePoint| match point {
            TimePoint::Units(micros) if are_dates => TimePoint::Date(micros.saturating_add(epoch)),
            other => other,
        };
        Self {
            from: point(self.from),
            to: point(self.to),
        }
    }

    /// Whether it has a date.
    #[must_use]
    pub fn has_dates(self) -> bool {
        let is_date = |point| matches!(point, TimePoint::Date(_));
        is_date(self.from) || is_date(self.to)
    }

    /// Whether it depends on the unit of the trace.
    #[must_use]
    pub fn has_units(self) -> bool {
        let has_unit = |point| matches!(point, TimePoint::Units(units) if units != 0);
        has_unit(self.from) || has_unit(self.to)
    }
}

impl FromStr for TimeRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| {
            let shown = escape(text.as_bytes(), 40);
            Err(format!(
                "'{shown}' {what}: write FROM..TO, such as 1h30m..2d, 2h.. or ..2011-05-03"
            ))
        };
        let Some((from, to)) = text.split_once("..") else {
            return wrong("is not a range of time");
        };
        let range = Self {
            from: from.parse()?,
            to: to.parse()?,
        };
        match (range.from, range.to) {
            (TimePoint::Open, TimePoint::Open) => wrong("has neither a beginning nor an end"),
            (TimePoint::Units(_), TimePoint::Units(_)) => range.bounds(1).map(|_| range),
            (TimePoint::Micros(_), TimePoint::Micros(_))
            | (TimePoint::Date(_), TimePoint::Date(_)) => range.bounds(1_000_000).map(|_| range),
            _ => Ok(range),
        }
    }
}

impl fmt::Display for TimeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.from, self.to)
    }
}

/// Writes a value to JSON as it is typed, and reads it back.
macro_rules! as_typed_in_json {
    ($($type:ty),+) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )+};
}

as_typed_in_json!(Sample, ColumnNames, TimeRange);

#[cfg(test)]
mod tests;
