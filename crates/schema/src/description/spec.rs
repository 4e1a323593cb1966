//! The contents of a description, as written there.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::fault::Name;
use super::short::ShortColumns;
use crate::{
    Archive, Bins, CellShards, Cells, Code, Files, Json, Known, Obfuscation, Plot, Published,
    PublishedAt, QueryColumn, Range, Reference, Rule, Sentinel, Syntax, Zone,
};

/// One file: the versions of a data set and the tables that they share.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FamilySpec {
    pub(super) family: Name,
    #[serde(default)]
    pub(super) revision: u32,
    pub(super) licence: Option<String>,
    pub(super) citation: Option<String>,
    #[serde(default)]
    pub(super) creators: Vec<String>,
    pub(super) url: Option<String>,
    /// Seconds since 1970-01-01 00:00:00 UTC at the trace's time 0.
    pub(super) epoch: Option<i64>,
    /// What time 0 is.
    pub(super) time_zero: Option<String>,
    /// The first second of the published rows, and the one after the last, from time 0.
    pub(super) span: Option<(i64, i64)>,
    pub(super) download: Option<String>,
    #[serde(default)]
    pub(super) anomalies: Vec<String>,
    /// Names of zones, and their offsets from UTC.
    #[serde(default)]
    pub(super) zones: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) trace: Vec<TraceSpec>,
    #[serde(default)]
    pub(super) codes: BTreeMap<String, Vec<Code>>,
    #[serde(default)]
    pub(super) sentinels: BTreeMap<String, Vec<Sentinel>>,
    #[serde(default)]
    pub(super) ranges: BTreeMap<String, Vec<Range>>,
    pub(super) table: Vec<TableSpec>,
    #[serde(default)]
    pub(super) derived: Vec<DerivedSpec>,
    #[serde(default)]
    pub(super) check: Vec<CheckSpec>,
    #[serde(default)]
    pub(super) figure: Vec<FigureSpec>,
    #[serde(default)]
    pub(super) query_table: Vec<QueryTableSpec>,
}

/// [`crate::Check`], or one for each of several tables.
#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckSpec {
    pub(super) name: Name,
    pub(super) sentence: String,
    pub(super) document: String,
    /// The tables that make a check each: `{table}`, `{time}` and `{entity}` are replaced by the name of
    /// the table, of its time column and of the first column that identifies what a row is about.
    #[serde(default)]
    pub(super) each: Vec<String>,
    /// Tables, each with the parts that are needed if these aren't `any`: `job_events all`.
    pub(super) needs: Vec<String>,
    #[serde(default)]
    pub(super) by_part: bool,
    #[serde(default)]
    pub(super) untried: bool,
    pub(super) sql: String,
    #[serde(default)]
    pub(super) known: Vec<Known>,
}

/// [`crate::Figure`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FigureSpec {
    pub(super) name: Name,
    pub(super) title: String,
    pub(super) caption: String,
    pub(super) needs: Vec<String>,
    pub(super) plot: Plot,
    pub(super) x: String,
    pub(super) y: String,
    pub(super) sql: String,
    pub(super) bins: Option<Bins>,
}

/// [`crate::QueryTable`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QueryTableSpec {
    pub(super) name: Name,
    pub(super) summary: String,
    pub(super) needs: Vec<String>,
    pub(super) column: Vec<QueryColumn>,
    pub(super) sql: String,
}

/// A table that is made of another one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DerivedSpec {
    pub(super) rule: Rule,
    pub(super) from: String,
    pub(super) table: TableSpec,
}

/// One published version.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct TraceSpec {
    pub(super) name: Name,
    pub(super) title: Option<String>,
    pub(super) document: Option<String>,
    #[serde(default)]
    pub(super) archive: Vec<Archive>,
    pub(super) cells: Option<Cells>,
    #[serde(default)]
    pub(super) location: Vec<PublishedAt>,
    pub(super) published: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableSpec {
    pub(super) name: Name,
    pub(super) summary: Option<String>,
    /// The name of its one file.
    pub(super) file: Option<String>,
    #[serde(default)]
    pub(super) files: Files,
    /// Patterns of the names of its files.
    #[serde(default)]
    pub(super) names: Vec<String>,
    /// Another pattern for each of them.
    #[serde(default)]
    pub(super) also: Vec<String>,
    /// The number of the first part.
    pub(super) first: Option<u32>,
    /// The values of captures in the names.
    #[serde(default)]
    pub(super) captures: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub(super) syntax: Syntax,
    /// Whether it is also published as Parquet.
    #[serde(default)]
    pub(super) parquet: bool,
    pub(super) csv: Option<CsvSpec>,
    pub(super) json: Option<Json>,
    /// Spellings of NULL in the columns that say nothing of their own.
    #[serde(default)]
    pub(super) null: Vec<String>,
    /// 0 where it is not known.
    #[serde(default)]
    pub(super) parts: u32,
    pub(super) published: Option<Published>,
    #[serde(default)]
    pub(super) shards: Vec<CellShards>,
    /// Why the mandatory columns have a value in every row.
    pub(super) required: Option<String>,
    #[serde(default)]
    pub(super) entity: Vec<String>,
    #[serde(default)]
    pub(super) primary_key: Vec<String>,
    #[serde(default)]
    pub(super) references: Vec<Reference>,
    /// The name of the column by which rows are placed in time.
    pub(super) time: Option<String>,
    /// The column that holds each key that the table can be sampled by.
    #[serde(default)]
    pub(super) sample_keys: BTreeMap<String, String>,
    /// The one of these keys that it is sampled by unless another is asked for.
    pub(super) sample_by: Option<String>,
    #[serde(default)]
    pub(super) synthetic: String,
    #[serde(default)]
    pub(super) column: Vec<ColumnSpec>,
    /// The columns in the short form.
    #[serde(default)]
    pub(super) columns: ShortColumns,
}

/// [`crate::Csv`], and the spellings of NULL.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CsvSpec {
    #[serde(default)]
    pub(super) header: bool,
    pub(super) separator: Option<String>,
    pub(super) comment: Option<String>,
    #[serde(default)]
    pub(super) bom: bool,
    #[serde(default)]
    pub(super) trim: bool,
    #[serde(default)]
    pub(super) null: Vec<String>,
}

impl TraceSpec {
    /// A version of which nothing is known but its name.
    pub(super) fn named(name: Name) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }
}

/// Spellings of true and false, beside those of the syntax.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WordsSpec {
    #[serde(rename = "true", default)]
    pub(super) yes: Vec<String>,
    #[serde(rename = "false", default)]
    pub(super) no: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct ColumnSpec {
    /// Empty until it is made of `content`.
    #[serde(default)]
    pub(super) name: Name,
    pub(super) content: Option<Name>,
    pub(super) kind: String,
    pub(super) format: Option<String>,
    #[serde(default)]
    pub(super) mandatory: bool,
    pub(super) unit: Option<String>,
    /// Of a date-time: `published` or `none`.
    pub(super) zone: Option<Zone>,
    /// Whether `5.0` is an integer.
    #[serde(default)]
    pub(super) integral_floats: bool,
    /// Whether a text may be a number.
    #[serde(default)]
    pub(super) numbers: bool,
    /// Spellings of true and false.
    pub(super) words: Option<WordsSpec>,
    /// Spellings of NULL in this column, in place of those of the table.
    pub(super) null: Option<Vec<String>>,
    /// The capture of the file's name that is the value.
    pub(super) capture: Option<String>,
    /// The parts of a struct, or the one item of a list.
    #[serde(default)]
    pub(super) field: Vec<ColumnSpec>,
    #[serde(default)]
    pub(super) obfuscation: Obfuscation,
    /// The name of a list in `codes`.
    pub(super) codes: Option<String>,
    /// The name of a list in `sentinels`.
    pub(super) sentinels: Option<String>,
    /// The name of a list in `ranges`.
    pub(super) ranges: Option<String>,
    /// Values that mark a measurement as not valid.
    #[serde(default)]
    pub(super) invalid: Vec<i64>,
    /// Patterns of its texts.
    #[serde(default)]
    pub(super) looks_like: Vec<String>,
    /// The smallest and the largest number.
    pub(super) within: Option<(f64, f64)>,
    /// The number that all integers are multiples of.
    pub(super) multiple_of: Option<i64>,
    /// The versions whose files do not have the column.
    #[serde(default)]
    pub(super) absent_in: Vec<String>,
    pub(super) doc: Option<String>,
    #[serde(default)]
    pub(super) synthetic: String,
    #[serde(default)]
    pub(super) empty: f64,
}

impl ColumnSpec {
    /// A column of which nothing is known but its kind.
    pub(super) fn of_kind(kind: String) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }
}
