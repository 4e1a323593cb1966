//! The options that decide the bytes of outputs.
//!
//! This is the only place that lists them: manifest, plan, command line, Python and Spark follow from the fields. A new
//! option is a field here, and the code that obeys it.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tracelake_schema::{Table, Trace};

use crate::error::{Error, ErrorKind, Result};
use crate::options::{Accept, Codec, Format, Layout, OnBadRow, SourceForm};
use crate::selection::{ColumnNames, Sample, TimeRange};

/// Rows in a part of a table that is published in one file, unless asked otherwise: thirty-two full row
/// groups, so that each part is some hundred megabytes.
pub const PART_ROWS: u64 = 1 << 24;

/// How many rows may be asked for in a part. A file of more might have a larger footer or page index than `verify`
/// reads.
pub const PART_ROWS_RANGE: RangeInclusive<u64> = 1..=1 << 27;

/// The most rows in a row group, unless asked otherwise. With more, files are smaller, but a query for a range of time
/// reads more that it doesn't want: see the measurements in `docs/internals/benchmarks.md`.
pub const ROW_GROUP_ROWS: usize = 1 << 19;

/// How many rows may be asked for in a row group: at least as many as a page has, and at most what the buffers of a
/// column are made for.
pub const ROW_GROUP_ROWS_RANGE: RangeInclusive<u64> = 1 << 16..=1 << 20;

/// The options that decide the bytes of outputs; two runs on one lake must agree on them.
///
/// The comment of a field is the help of its option.
///
/// ```
/// use tracelake_core::options::Codec;
/// use tracelake_core::settings::Settings;
///
/// let mut settings = Settings::default();
/// settings.compression = Codec::Snappy;
/// let named = settings.named();
/// assert_eq!(named[2], ("compression".to_owned(), "snappy".to_owned()));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[non_exhaustive]
pub struct Settings {
    /// Directories of the lake: hive (one file_number=N directory per part) or flat
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            help_heading = "Output",
            value_name = "LAYOUT",
            default_value_t,
            hide_possible_values = true
        )
    )]
    pub layout: Layout,
    /// Format of the output files: parquet, or arrow for Arrow IPC files (Feather v2)
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            help_heading = "Output",
            value_name = "FORMAT",
            default_value_t,
            hide_possible_values = true
        )
    )]
    pub format: Format,
    /// Compression: zstd, zstd:1 to zstd:22, snappy (Parquet only) or none
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            help_heading = "Output",
            value_name = "CODEC",
            default_value = "zstd"
        )
    )]
    pub compression: Codec,
    /// What to do with a row that can't be converted: fail stops the run, reject writes the row to a
    /// rejects file with its position and the reason
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            help_heading = "Bad rows",
            value_name = "POLICY",
            default_value_t,
            hide_possible_values = true
        )
    )]
    pub on_bad_row: OnBadRow,
    /// Rows per part, for tables that are published in one file [default: 16777216]
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Output", value_name = "N"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_rows: Option<u64>,
    /// The most rows in a row group of a Parquet file, from 65536 [default: 524288]
    #[cfg_attr(feature = "clap", arg(long, help_heading = "Output", value_name = "N"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_group_rows: Option<u64>,
    /// Read files that aren't as published: header skips a first line with the names of the columns, index skips an
    /// unnamed first column, bom a byte order mark, integral-floats reads 5.0 as the integer 5, null=TEXT reads a text
    /// as NULL; for example header,integral-floats,null=NaN
    #[cfg_attr(
        feature = "clap",
        arg(long, help_heading = "Bad rows", value_name = "FORMS")
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accept: Option<Accept>,
    /// Form of the source, where a table is there in both: json or parquet
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            help_heading = "Input",
            value_name = "FORM",
            hide_possible_values = true
        )
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_form: Option<SourceForm>,
    /// Keep the rows of class I of N (from 0), for example 0/16: those whose key has this hash, in all tables
    #[cfg_attr(
        feature = "clap",
        arg(long, help_heading = "Selection", value_name = "I/N")
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<Sample>,
    /// Key to sample by, for example job or machine; tables without it stay whole [default: the key of each table]
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            help_heading = "Selection",
            value_name = "KEY",
            requires = "sample"
        )
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample_by: Option<String>,
    /// Keep these columns, as TABLE.COLUMN,TABLE.COLUMN, or as bare names of one table; tables that aren't named
    /// keep all of theirs
    #[cfg_attr(
        feature = "clap",
        arg(long, help_heading = "Selection", value_name = "COLUMNS")
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<ColumnNames>,
    /// Keep the rows from FROM up to, but without, TO, and special times such as 0: in the trace's unit, as 1h30m..2d,
    /// or as dates where it is known when time 0 was; FROM or TO may be left out
    #[cfg_attr(
        feature = "clap",
        arg(
            long,
            help_heading = "Selection",
            value_name = "FROM..TO",
            allow_hyphen_values = true
        )
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeRange>,
}

impl Settings {
    /// Checks that the options go together and that their numbers are in range.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for Arrow files with Snappy or row groups, and for rows outside of [`PART_ROWS_RANGE`] or
    /// [`ROW_GROUP_ROWS_RANGE`].
    pub fn check(&self) -> Result<()> {
        let refuse = |reason: String, hint: &str| {
            Err(Error::new(ErrorKind::Usage, reason).hint(hint.to_owned()))
        };
        if self.format == Format::Arrow && self.compression == Codec::Snappy {
            return refuse(
                "Arrow files cannot be compressed with snappy".to_owned(),
                "pass --compression zstd, zstd:LEVEL or none",
            );
        }
        if self.format == Format::Arrow && self.row_group_rows.is_some() {
            return refuse(
                "Arrow files have no row groups".to_owned(),
                "leave --row-group-rows out",
            );
        }
        if self.sample_by.is_some() && self.sample.is_none() {
            return refuse(
                "--sample-by without --sample".to_owned(),
                "pass --sample I/N, such as 0/16",
            );
        }
        for (name, rows, range) in [
            ("part-rows", self.part_rows, PART_ROWS_RANGE),
            ("row-group-rows", self.row_group_rows, ROW_GROUP_ROWS_RANGE),
        ] {
            if let Some(rows) = rows.filter(|rows| !range.contains(rows)) {
                let (fewest, most) = range.into_inner();
                return refuse(
                    format!("--{name} can't be {rows}"),
                    &format!("pass {fewest} to {most} rows"),
                );
            }
        }
        Ok(())
    }

    /// The default options with the selection of these.
    #[must_use]
    pub fn selection(&self) -> Self {
        Self {
            sample: self.sample,
            sample_by: self.sample_by.clone(),
            columns: self.columns.clone(),
            time: self.time,
            ..Self::default()
        }
    }

    /// The options that select rows and columns, by the names that they have on the command line, as people type them
    /// for a trace.
    #[must_use]
    pub fn selected(&self, trace: Option<&Trace>) -> BTreeMap<String, String> {
        let all = Self::default().named();
        let mut selection = self.selection();
        selection.time = trace.map_or(self.time, |trace| Some(self.time?.as_typed(trace)));
        let named = selection.named().into_iter();
        named.filter(|option| !all.contains(option)).collect()
    }

    /// The number of published parts of a table in the form that the lake was made from, in a cell if one is given; 0 if
    /// it is unknown.
    #[must_use]
    pub fn published_parts(&self, table: &Table, cell: Option<&str>) -> u32 {
        match self.source_form {
            Some(SourceForm::Parquet) => table.parquet_parts_in(cell),
            Some(SourceForm::Json) | None => table.parts_in(cell),
        }
    }

    /// Whether the lake has only some of the rows or columns of its source.
    #[must_use]
    pub fn is_selection(&self) -> bool {
        self.selects_rows() || self.columns.is_some()
    }

    /// Whether the lake has only some of the rows of its source.
    #[must_use]
    pub fn selects_rows(&self) -> bool {
        self.sample.is_some() || self.time.is_some()
    }

    /// The options by the names that they have on the command line, without `--`, and their values; without those
    /// that aren't given.
    ///
    /// # Panics
    /// Never: the fields are texts and numbers.
    #[must_use]
    pub fn named(&self) -> Vec<(String, String)> {
        let Ok(Value::Object(fields)) = serde_json::to_value(self) else {
            unreachable!("settings are an object");
        };
        let named = |(name, value): (String, Value)| {
            let value = match value {
                Value::String(value) => value,
                value => value.to_string(),
            };
            (name.replace('_', "-"), value)
        };
        fields.into_iter().map(named).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_named_as_they_are_typed() {
        let mut settings = Settings::default();
        let named = |settings: &Settings| {
            let options = settings.named().into_iter();
            let typed: Vec<String> = options
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            typed.join(" ")
        };
        let defaults = "layout=hive format=parquet compression=zstd:3 on-bad-row=fail";
        assert_eq!(named(&settings), defaults);
        settings.part_rows = Some(7);
        assert_eq!(named(&settings), format!("{defaults} part-rows=7"));
    }
}
