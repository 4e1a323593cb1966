//! The request, before anything was looked at.

use std::ops::RangeInclusive;
use std::str::FromStr;

use tracelake_core::options::{Layout, OnBadRow};
use tracelake_core::origin::Settings;
use tracelake_encode::output::Encoding;
use tracelake_location::Location;
use tracelake_schema::{Files, Rule, Trace};

/// Rows in a part of a table that is published in one file, unless asked otherwise: sixteen full row
/// groups, so that each part is some hundred megabytes.
pub const PART_ROWS: u64 = 1 << 24;

/// A conversion request.
#[derive(Debug, Clone)]
pub struct Request {
    /// A directory laid out as published, one table's directory, or one file: on disk, in a bucket or on
    /// a web server.
    pub source: Location,
    /// The trace; `None` to recognise it.
    pub trace: Option<&'static Trace>,
    /// The cell that the source is of; `None` for what its directories are named after.
    pub cell: Option<String>,
    /// The tables to convert; empty for all in the source.
    pub tables: Vec<String>,
    /// The parts to convert; `None` for all in the source.
    pub parts: Option<PartSet>,
    /// Whether parts may be missing.
    pub allow_missing: bool,
    /// How the lake is laid out.
    pub layout: Layout,
    /// The format of the output files, and how they are compressed.
    pub encoding: Encoding,
    /// Which checksums the source is checked against.
    pub checksums: ChecksumSource,
    /// The policy for a row that can't be converted.
    pub on_bad_row: OnBadRow,
    /// Rows in a part of a table that is published in one file, at least 1; `None` for [`PART_ROWS`].
    pub part_rows: Option<u64>,
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
            layout: Layout::Hive,
            encoding: Encoding::DEFAULT,
            checksums: ChecksumSource::Auto,
            on_bad_row: OnBadRow::Fail,
            part_rows: None,
            derive: Vec::new(),
        }
    }

    /// Rows in a part of a table that is published in one file.
    #[must_use]
    pub fn part_rows(&self) -> u64 {
        self.part_rows.unwrap_or(PART_ROWS)
    }

    /// The options that decide the bytes of the outputs. A new field doesn't compile until it is listed
    /// here, with those that do or those that don't.
    pub(super) fn settings(&self, trace: &Trace) -> Settings {
        let &Self {
            // These decide bytes; `part_rows` has a default.
            layout,
            encoding,
            on_bad_row,
            part_rows: _,
            // These decide what is converted. The trace is part of the origin by itself.
            source: _,
            trace: _,
            cell: _,
            tables: _,
            parts: _,
            derive: _,
            // These decide what is refused.
            allow_missing: _,
            checksums: _,
        } = self;
        let is_cut = trace.tables.iter().any(|table| table.files == Files::Whole);
        Settings {
            layout,
            format: encoding.format(),
            compression: encoding.codec(),
            on_bad_row,
            part_rows: is_cut.then_some(self.part_rows()),
            row_group_rows: encoding.row_group_rows(),
        }
    }
}

/// Which checksums a source is checked against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChecksumSource {
    /// `SHA256SUM` in the source, if there is one.
    Auto,
    /// None.
    None,
    /// This file.
    File(Location),
}

/// File numbers such as `0-9,17`.
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
