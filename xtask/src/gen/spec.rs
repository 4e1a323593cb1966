//! The contents of a file in `schemas/`, as written there.

use std::collections::BTreeMap;

use serde::Deserialize;

/// One file: the versions of a data set and the tables that they share.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FamilySpec {
    pub(crate) family: String,
    #[serde(default)]
    pub(crate) revision: u32,
    pub(crate) licence: String,
    pub(crate) citation: String,
    #[serde(default)]
    pub(crate) creators: Vec<String>,
    pub(crate) url: Option<String>,
    /// Seconds since 1970-01-01 00:00:00 UTC at the trace's time 0.
    pub(crate) epoch: Option<i64>,
    pub(crate) download: Option<String>,
    #[serde(default)]
    pub(crate) anomalies: Vec<String>,
    pub(crate) trace: Vec<TraceSpec>,
    #[serde(default)]
    pub(crate) codes: BTreeMap<String, Vec<CodeSpec>>,
    #[serde(default)]
    pub(crate) sentinels: BTreeMap<String, Vec<SentinelSpec>>,
    #[serde(default)]
    pub(crate) ranges: BTreeMap<String, Vec<RangeSpec>>,
    pub(crate) table: Vec<TableSpec>,
    #[serde(default)]
    pub(crate) derived: Vec<DerivedSpec>,
    #[serde(default)]
    pub(crate) check: Vec<CheckSpec>,
    #[serde(default)]
    pub(crate) figure: Vec<FigureSpec>,
    #[serde(default)]
    pub(crate) query_table: Vec<QueryTableSpec>,
}

/// [`tracelake_schema::Check`], or one for each of several tables.
#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckSpec {
    pub(crate) name: String,
    pub(crate) sentence: String,
    pub(crate) document: String,
    /// The tables that make a check each: `{table}`, `{time}` and `{entity}` are replaced by the name of
    /// the table, of its time column and of the first column that identifies what a row is about.
    #[serde(default)]
    pub(crate) each: Vec<String>,
    /// Tables, each with the parts that are needed if these aren't `any`: `job_events all`.
    pub(crate) needs: Vec<String>,
    #[serde(default)]
    pub(crate) by_part: bool,
    pub(crate) sql: String,
    #[serde(default)]
    pub(crate) known: Vec<KnownSpec>,
}

/// [`tracelake_schema::Known`].
#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub(crate) struct KnownSpec {
    pub(crate) when: Option<String>,
    pub(crate) at_most: Option<u64>,
    pub(crate) at_most_percent: Option<f64>,
    /// The tables of `each` with this anomaly; by default all of them.
    #[serde(default)]
    pub(crate) of: Vec<String>,
    pub(crate) doc: String,
}

/// [`tracelake_schema::Figure`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FigureSpec {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) caption: String,
    pub(crate) needs: Vec<String>,
    pub(crate) plot: String,
    pub(crate) x: String,
    pub(crate) y: String,
    pub(crate) sql: String,
}

/// [`tracelake_schema::QueryTable`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueryTableSpec {
    pub(crate) name: String,
    pub(crate) summary: String,
    pub(crate) needs: Vec<String>,
    pub(crate) column: Vec<QueryColumnSpec>,
    pub(crate) sql: String,
}

/// [`tracelake_schema::QueryColumn`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueryColumnSpec {
    pub(crate) name: String,
    pub(crate) unit: Option<String>,
    pub(crate) doc: String,
}

/// A table that is made of another one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DerivedSpec {
    pub(crate) rule: String,
    pub(crate) from: String,
    pub(crate) table: TableSpec,
}

/// One published version.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TraceSpec {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) document: String,
    #[serde(default)]
    pub(crate) archive: Vec<ArchiveSpec>,
    pub(crate) cells: Option<CellsSpec>,
    #[serde(default)]
    pub(crate) location: Vec<LocationSpec>,
    pub(crate) published: Option<String>,
}

/// [`tracelake_schema::Cells`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CellsSpec {
    pub(crate) names: Vec<String>,
    pub(crate) directory: String,
    pub(crate) doc: String,
}

/// [`tracelake_schema::PublishedAt`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LocationSpec {
    pub(crate) url: String,
    pub(crate) doc: String,
}

/// One published archive.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ArchiveSpec {
    pub(crate) table: Option<String>,
    pub(crate) names: Vec<String>,
    pub(crate) sha256: String,
    pub(crate) size: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CodeSpec {
    pub(crate) value: i32,
    pub(crate) name: String,
    pub(crate) doc: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SentinelSpec {
    pub(crate) value: i64,
    pub(crate) name: String,
    pub(crate) also: Option<String>,
    pub(crate) doc: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RangeSpec {
    pub(crate) from: i64,
    /// The last value, where the next range does not begin right after it.
    pub(crate) to: Option<i64>,
    pub(crate) name: String,
    pub(crate) doc: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableSpec {
    pub(crate) name: String,
    pub(crate) summary: String,
    #[serde(default)]
    pub(crate) files: FilesSpec,
    #[serde(default)]
    pub(crate) syntax: SyntaxSpec,
    /// 0 where it is not known.
    #[serde(default)]
    pub(crate) parts: u32,
    pub(crate) published: Option<PublishedSpec>,
    #[serde(default)]
    pub(crate) shards: Vec<ShardsSpec>,
    /// Why the mandatory columns have a value in every row.
    pub(crate) required: Option<String>,
    #[serde(default)]
    pub(crate) entity: Vec<String>,
    #[serde(default)]
    pub(crate) primary_key: Vec<String>,
    #[serde(default)]
    pub(crate) references: Vec<ReferenceSpec>,
    /// The name of the integer column by which rows are placed in time.
    pub(crate) time: Option<String>,
    #[serde(default)]
    pub(crate) synthetic: String,
    pub(crate) column: Vec<ColumnSpec>,
}

/// [`tracelake_schema::Reference`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReferenceSpec {
    pub(crate) columns: Vec<String>,
    pub(crate) table: String,
    /// The columns of the other table, where their names differ.
    #[serde(default)]
    pub(crate) to: Vec<String>,
}

/// [`tracelake_schema::CellShards`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShardsSpec {
    pub(crate) cell: String,
    pub(crate) count: u32,
    pub(crate) rows: Option<PublishedSpec>,
}

/// [`tracelake_schema::Files`].
#[derive(Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FilesSpec {
    #[default]
    Parts,
    Shards,
    Whole,
    Derived,
}

/// [`tracelake_schema::Syntax`].
#[derive(Deserialize, Default, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SyntaxSpec {
    #[default]
    Csv,
    QuotedCsv,
    Json,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PublishedSpec {
    pub(crate) rows: u64,
    pub(crate) confidence: String,
    pub(crate) source: String,
    /// The versions that the count does not hold for.
    #[serde(default)]
    pub(crate) not_of: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ColumnSpec {
    pub(crate) name: String,
    pub(crate) content: String,
    pub(crate) kind: String,
    pub(crate) format: String,
    #[serde(default)]
    pub(crate) mandatory: bool,
    pub(crate) unit: Option<String>,
    /// The parts of a struct, or the one item of a list.
    #[serde(default)]
    pub(crate) field: Vec<ColumnSpec>,
    pub(crate) obfuscation: String,
    /// The name of a list in `codes`.
    pub(crate) codes: Option<String>,
    /// The name of a list in `sentinels`.
    pub(crate) sentinels: Option<String>,
    /// The name of a list in `ranges`.
    pub(crate) ranges: Option<String>,
    /// Values that mark a measurement as not valid.
    #[serde(default)]
    pub(crate) invalid: Vec<i64>,
    /// The versions whose files do not have the column.
    #[serde(default)]
    pub(crate) absent_in: Vec<String>,
    pub(crate) doc: String,
    #[serde(default)]
    pub(crate) synthetic: String,
    #[serde(default)]
    pub(crate) empty: f64,
}
