//! Checks, figures and tables that are queries.

use serde::Deserialize;

use super::words::words;

/// A promise about the rows of a trace, and the query that finds what breaks it.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// Its name, such as `task_usage_sorted`.
    pub name: String,
    /// The promise, in one sentence.
    pub sentence: String,
    /// Where it is promised: the document and its section, or the measurement.
    pub document: String,
    /// The tables that the query reads, the checked one first.
    pub needs: Vec<Need>,
    /// Whether what breaks the promise is always in one part, so that the query may run on some of the
    /// parts at a time, the same ones of every table.
    pub by_part: bool,
    /// Whether no published rows were at hand to try it on, so that what it finds may be wrong with the check.
    pub untried: bool,
    /// A query in DuckDB's SQL with one row for each violation. Its first column, `finding`, says what
    /// is wrong; the others say where.
    pub sql: String,
    /// Violations that are known from the published data.
    pub known: Vec<Known>,
}

/// Violations of a [`Check`] that were published or measured.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// A condition on the rows of the check's query; by default `true`, which holds for all of them.
    #[serde(default = "always")]
    pub when: String,
    /// The most violations that it explains; more are a new finding.
    pub at_most: Option<u64>,
    /// The most violations that it explains, in percent of the rows of the checked table.
    pub at_most_percent: Option<f64>,
    /// The checked tables with these violations, of a check that is described once for several tables; by default all.
    #[serde(default)]
    pub(crate) of: Vec<String>,
    /// The known violations, and who says so.
    pub doc: String,
}

fn always() -> String {
    "true".to_owned()
}

/// A table that a query reads, and which of its parts it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// The name of the table.
    pub table: String,
    /// The parts.
    pub parts: NeededParts,
}

words! {
    /// The parts of a table that a query needs in order to be right.
    pub enum NeededParts {
        /// Any: each row is judged by itself, or by its neighbours in the part.
        Any = "any",
        /// Any, without gaps between them.
        Unbroken = "unbroken",
        /// Those that the lake has of the first table.
        Same = "same",
        /// All published parts.
        All = "all",
    }
}

/// A figure of a report, and the query for its numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// Its name, such as `task_events_over_time`.
    pub name: String,
    /// Its title.
    pub title: String,
    /// The content, and how it was computed.
    pub caption: String,
    /// The tables that the query reads.
    pub needs: Vec<Need>,
    /// How the numbers are drawn.
    pub plot: Plot,
    /// The label of the horizontal axis.
    pub x: String,
    /// The label of the vertical axis.
    pub y: String,
    /// A query in DuckDB's SQL with the columns `x`, `series` and `y`, in the order of the figure; with
    /// bins, one with the rows to be put into them.
    pub sql: String,
    /// The intervals that the rows of the query are put into, if the figure is one over time.
    pub bins: Option<Bins>,
}

/// The intervals of time of a [`Figure`].
///
/// The query has a row for each thing that happens, with the columns `time` and `series`. A row counts as one, or as
/// its `amount`, and what is drawn is the sum of an interval per `unit`; with `samples`, it is the sum of the amounts
/// divided by that of the samples. A row with a `change` changes a level from then on, and what is drawn is the level at
/// the end of an interval.
///
/// If rows have a `file_number`, these alone decide which time is covered: that of parts without a gap, from the first
/// time to the last one, or to the last `until`. Without the column, all rows do, as those of one part.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bins {
    /// 1 on the horizontal axis, in the unit of the times.
    pub unit: u64,
    /// The least width of an interval, by default the unit; a wider one is a multiple of it.
    pub width: Option<u64>,
    /// The most intervals.
    #[serde(default = "most_bins")]
    pub most: u32,
    /// The time at 0 on the horizontal axis; the first time that is covered if it isn't given.
    pub origin: Option<i64>,
    /// The time at which the published trace begins, if it is known.
    pub begin: Option<i64>,
    /// The time at which it ends: the first one that isn't in it.
    pub end: Option<i64>,
    /// The series that the others are percentages of.
    pub percent_of: Option<String>,
}

fn most_bins() -> u32 {
    120
}

words! {
    /// How the numbers of a [`Figure`] are drawn.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Plot {
        /// One line for each series; x is a number.
        Lines = "lines",
        /// As lines, one on top of the other.
        Areas = "areas",
        /// One group of bars for each x, which is a text.
        Bars = "bars",
        /// As bars, one on top of the other.
        Stacks = "stacks",
        /// Not at all: each row is a number with the name `x` and the unit `series`, for the top of the page.
        Numbers = "numbers",
    }
}

/// A table that a query makes of those of a lake, such as the lifetimes of tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryTable {
    /// Its name.
    pub name: String,
    /// A one-line description.
    pub summary: String,
    /// The tables that the query reads.
    pub needs: Vec<Need>,
    /// The tables of a lake of another trace that it reads as well.
    pub with: Option<With>,
    /// The columns of the result.
    pub columns: Vec<QueryColumn>,
    /// The query, in DuckDB's SQL; it ends with the order of the rows.
    pub sql: String,
}

/// Tables of another trace, which a query reads as `"with".NAME`. If that trace has cells, they have a column `cell`.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct With {
    /// The family of the other trace.
    pub family: String,
    /// The tables.
    pub tables: Vec<String>,
}

/// A column of a [`QueryTable`].
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueryColumn {
    /// Its name.
    pub name: String,
    /// The unit of the values, if they have one.
    pub unit: Option<String>,
    /// Its meaning.
    pub doc: String,
}
