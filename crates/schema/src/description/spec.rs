//! The contents of a description, as written there.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::column_spec::{ColumnSpec, ValuesSpec};
use super::fault::Name;
use super::short_columns::ShortColumns;
use crate::{
    Archive, Bins, CellShards, Cells, Code, Extra, Files, Json, Known, Plot, Published,
    PublishedAt, QueryColumn, Range, Reference, Requests, Rule, Sentinel, Syntax, With,
};

/// One file: the versions of a data set and the tables that they share.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FamilySpec {
    /// The name that all versions share.
    pub(super) family: Name,
    /// Raised when descriptions change.
    #[serde(default)]
    pub(super) revision: u32,
    /// The licence of the data, as an SPDX expression.
    pub(super) licence: Option<String>,
    /// How to cite the data.
    pub(super) citation: Option<String>,
    /// Who made the data.
    #[serde(default)]
    pub(super) creators: Vec<CreatorSpec>,
    /// The publisher's page.
    pub(super) url: Option<String>,
    /// Seconds since 1970-01-01 00:00:00 UTC at the trace's time 0.
    pub(super) epoch: Option<i64>,
    /// What time 0 is.
    pub(super) time_zero: Option<String>,
    /// The first second of the published rows, and the one after the last, from time 0.
    pub(super) span: Option<(i64, i64)>,
    /// How large the download is.
    pub(super) download: Option<String>,
    /// Sentences about known errors.
    #[serde(default)]
    pub(super) anomalies: Vec<String>,
    /// Names of zones, and their offsets from UTC.
    #[serde(default)]
    pub(super) zones: BTreeMap<String, String>,
    /// The versions of the data set.
    #[serde(default)]
    pub(super) trace: Vec<TraceSpec>,
    /// Names of the values of codes, by lists.
    #[serde(default)]
    pub(super) codes: BTreeMap<String, Vec<Code>>,
    /// Special values, by lists.
    #[serde(default)]
    pub(super) sentinels: BTreeMap<String, Vec<Sentinel>>,
    /// Names of ranges of values, by lists.
    #[serde(default)]
    pub(super) ranges: BTreeMap<String, Vec<Range>>,
    /// The tables.
    pub(super) table: Vec<TableSpec>,
    /// Tables that are made of others.
    #[serde(default)]
    pub(super) derived: Vec<DerivedSpec>,
    /// Promises about the rows, as queries.
    #[serde(default)]
    pub(super) check: Vec<CheckSpec>,
    /// Figures of a report, as queries.
    #[serde(default)]
    pub(super) figure: Vec<FigureSpec>,
    /// Tables that queries make.
    #[serde(default)]
    pub(super) query_table: Vec<QueryTableSpec>,
}

/// [`crate::Check`], or one for each of several tables.
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QueryTableSpec {
    pub(super) name: Name,
    pub(super) summary: String,
    pub(super) needs: Vec<String>,
    /// Tables of another trace that it reads as well; only of traces that come with the program.
    pub(super) with: Option<With>,
    pub(super) column: Vec<QueryColumn>,
    pub(super) sql: String,
}

/// A table that is made of another one.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DerivedSpec {
    pub(super) rule: Rule,
    pub(super) from: String,
    pub(super) table: TableSpec,
}

/// One published version.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct TraceSpec {
    /// It begins with the name of the family.
    pub(super) name: Name,
    /// What it is, in one line.
    pub(super) title: Option<String>,
    /// The publisher's document.
    pub(super) document: Option<String>,
    /// Published files and their digests.
    #[serde(default)]
    pub(super) archive: Vec<Archive>,
    /// The cells, if it is published per cell.
    pub(super) cells: Option<Cells>,
    /// Where it is published.
    #[serde(default)]
    pub(super) location: Vec<PublishedAt>,
    /// The day of its document, such as `2014-11-17`.
    pub(super) published: Option<String>,
}

#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableSpec {
    /// The name of the table.
    pub(super) name: Name,
    /// One sentence.
    pub(super) summary: Option<String>,
    /// The name of its one file.
    pub(super) file: Option<String>,
    /// How its files are named.
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
    /// Whether some values of captures have no file together.
    #[serde(default)]
    pub(super) sparse: bool,
    /// The values of captures in the names.
    #[serde(default)]
    pub(super) captures: BTreeMap<String, ValuesSpec>,
    /// How a row is written in its files.
    #[serde(default)]
    pub(super) syntax: Syntax,
    /// Whether it is also published as Parquet.
    #[serde(default)]
    pub(super) parquet: bool,
    /// The details of `syntax = "csv"`.
    pub(super) csv: Option<CsvSpec>,
    /// The details of `syntax = "json"`.
    pub(super) json: Option<Json>,
    /// Spellings of NULL in the columns that say nothing of their own.
    #[serde(default)]
    pub(super) null: Vec<String>,
    /// 0 where it is not known.
    #[serde(default)]
    pub(super) parts: u32,
    /// A count of all rows.
    pub(super) published: Option<Published>,
    /// What is known of each cell.
    #[serde(default)]
    pub(super) shards: Vec<CellShards>,
    /// Why the mandatory columns have a value in every row.
    pub(super) required: Option<String>,
    /// A sentence on the rows that the publisher made up.
    pub(super) synthesised: Option<String>,
    /// The columns that identify the thing a row is about.
    #[serde(default)]
    pub(super) entity: Vec<String>,
    /// The columns that identify a row.
    #[serde(default)]
    pub(super) primary_key: Vec<String>,
    /// Columns that name rows of other tables.
    #[serde(default)]
    pub(super) references: Vec<Reference>,
    /// The name of the column by which rows are placed in time.
    pub(super) time: Option<String>,
    /// What its columns are, if it has a row for each request to a language model.
    pub(super) requests: Option<Requests>,
    /// The column that holds each key that the table can be sampled by.
    #[serde(default)]
    pub(super) sample_keys: BTreeMap<String, String>,
    /// The one of these keys that it is sampled by unless another is asked for.
    pub(super) sample_by: Option<String>,
    #[serde(default)]
    pub(super) synthetic: String,
    /// The columns, in the order of the fields.
    #[serde(default)]
    pub(super) column: Vec<ColumnSpec>,
    /// The columns in the short form.
    #[serde(default)]
    pub(super) columns: ShortColumns,
}

/// A creator: the name of an organisation, or the two names of a person.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "not the name of an organisation, or { given = \"Ada\", family = \"Lovelace\" }"
)]
pub(super) enum CreatorSpec {
    Organisation(String),
    Person(PersonSpec),
}

/// A person.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PersonSpec {
    /// The given names.
    pub(super) given: String,
    /// The family name.
    pub(super) family: String,
}

/// Whether there is a header, and how columns are found in it.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Deserialize, Clone, Copy)]
#[serde(untagged, expecting = "not true, false or \"by-name\"")]
pub(super) enum HeaderSpec {
    Is(bool),
    Found(FoundBy),
}

/// How columns are found in a header.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FoundBy {
    ByName,
}

/// [`crate::Csv`], and the spellings of NULL.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CsvSpec {
    /// Whether the first line has the published names of the columns, or which of them by name.
    pub(super) header: Option<HeaderSpec>,
    /// What becomes of columns that no column is for.
    #[serde(default)]
    pub(super) extra: Extra,
    /// What is between two fields, or `blanks`.
    pub(super) separator: Option<String>,
    /// The character that lines begin with which are no rows.
    pub(super) comment: Option<String>,
    /// Whether a file begins with a byte order mark.
    #[serde(default)]
    pub(super) bom: bool,
    /// Whether blanks around a field aren't part of it.
    #[serde(default)]
    pub(super) trim: bool,
    /// Whether a separator at the end of a line begins no field.
    #[serde(default)]
    pub(super) trailing: bool,
    /// Spellings of NULL.
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
