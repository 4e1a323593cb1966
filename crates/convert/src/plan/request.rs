//! The request, before anything was looked at.

use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::Arc;

use tracelake_core::settings::{PART_ROWS, Settings};
use tracelake_location::Location;
use tracelake_schema::{Rule, Trace};

/// A conversion request.
///
/// ```
/// use tracelake_convert::plan::{ChecksumSource, Request};
/// use tracelake_core::options::Format;
///
/// let mut request = Request::new("clusterdata-2011-2".as_ref() as &std::path::Path);
/// request.tables = vec!["job_events".to_owned()];
/// request.settings.format = Format::Arrow;
/// request.checksums = ChecksumSource::None;
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Request {
    /// A directory laid out as published, one table's directory, or one file: on disk, in a bucket or on
    /// a web server.
    pub source: Location,
    /// The trace; `None` to recognise it.
    pub trace: Option<Arc<Trace>>,
    /// The cell that the source is of; `None` for what its directories are named after.
    pub cell: Option<String>,
    /// The tables to convert; empty for all in the source.
    pub tables: Vec<String>,
    /// The parts to convert; `None` for all in the source.
    pub parts: Option<PartSet>,
    /// Whether parts may be missing.
    pub allow_missing: bool,
    /// Whether archives of many parts are read to see which of them are missing.
    pub lists_archives: bool,
    /// The options that decide the bytes of the lake.
    pub settings: Settings,
    /// Which checksums the source is checked against.
    pub checksums: ChecksumSource,
    /// The tables to derive from others.
    pub derive: Vec<Rule>,
}

impl Request {
    /// Everything that is in `source`, with the defaults of the command line.
    #[must_use]
    pub fn new(source: impl Into<Location>) -> Self {
        Self {
            source: source.into(),
            trace: None,
            cell: None,
            tables: Vec::new(),
            parts: None,
            allow_missing: false,
            lists_archives: true,
            settings: Settings::default(),
            checksums: ChecksumSource::Auto,
            derive: Vec::new(),
        }
    }

    /// Rows in each part of a file that is cut.
    pub(super) fn part_rows(&self) -> u64 {
        self.settings.part_rows.unwrap_or(PART_ROWS)
    }

    /// Whether a table is asked for.
    pub(super) fn wants(&self, table: &str) -> bool {
        self.tables.is_empty() || self.tables.iter().any(|name| name == table)
    }

    /// Whether a part is asked for.
    pub(super) fn selects(&self, number: u32) -> bool {
        let parts = self.parts.as_ref();
        parts.is_none_or(|parts| parts.contains(number))
    }
}

/// Which checksums a source is checked against.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChecksumSource {
    /// `SHA256SUM` in the source, if there is one.
    Auto,
    /// None.
    None,
    /// This file.
    File(Location),
}

/// File numbers such as `0-9,17`.
///
/// ```
/// use tracelake_convert::plan::PartSet;
///
/// let parts: PartSet = "0-9,17".parse()?;
/// assert!(parts.contains(9) && !parts.contains(10));
/// assert_eq!(parts.numbers().count(), 11);
/// assert_eq!("9-0".parse::<PartSet>(), Err("'9-0' runs backwards".to_owned()));
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartSet(Vec<RangeInclusive<u32>>);

impl PartSet {
    /// Whether a file number is in the set.
    #[must_use]
    pub fn contains(&self, number: u32) -> bool {
        self.0.iter().any(|range| range.contains(&number))
    }

    /// The file numbers, range by range.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        self.0.iter().cloned().flatten()
    }

    /// The ranges that it consists of: the first and the last file number of each.
    pub fn ranges(&self) -> impl Iterator<Item = (u32, u32)> {
        self.0.iter().map(|range| (*range.start(), *range.end()))
    }

    /// Whether it has a file number from `number` on.
    #[must_use]
    pub fn goes_on(&self, number: u32) -> bool {
        self.0.iter().any(|range| *range.end() >= number)
    }
}

impl FromStr for PartSet {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let number = |text: &str| {
            let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let number = plain.then(|| text.parse::<u32>().ok()).flatten();
            number.ok_or_else(|| format!("'{text}' is not a file number"))
        };
        let ranges = text.split(',').map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(format!("'{range}' runs backwards"));
            }
            Ok(first..=last)
        });
        Ok(Self(ranges.collect::<std::result::Result<_, _>>()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_sets() {
        let parts: PartSet = "0-2,17".parse().unwrap();
        let inside: Vec<u32> = (0..20).filter(|&number| parts.contains(number)).collect();
        assert_eq!(inside, [0, 1, 2, 17]);
        for bad in ["", "1-", "-1", "2-1", "a", "1,,2", "+1", "4294967296"] {
            assert!(bad.parse::<PartSet>().is_err(), "{bad}");
        }
    }
}
