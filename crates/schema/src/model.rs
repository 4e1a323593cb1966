//! The types that describe a trace. All of them are plain, constant data.

use crate::{Cells, Naming, Separator};

/// One published data set in one version.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trace {
    /// The name on the command line and in the manifest.
    pub name: &'static str,
    /// The description that it comes from, unless it is built in.
    pub description: Option<Description>,
    /// The name shared by all versions of one data set.
    pub family: &'static str,
    /// A one-line title.
    pub title: &'static str,
    /// The publisher's document that the descriptions come from.
    pub document: &'static str,
    /// Raised when a description changes: descriptions are in the footers of outputs.
    pub revision: u32,
    /// The licence of the data, as an SPDX expression.
    pub licence: &'static str,
    /// How to cite the data.
    pub citation: &'static str,
    /// The archives that were published, if the tables come in archives.
    pub archives: &'static [Archive],
    /// The cells that it is published by, if it has any.
    pub cells: Option<Cells>,
    /// The URLs it is published at, the one to use first.
    pub locations: &'static [PublishedAt],
    /// How large the compressed download is, in words, and who says so.
    pub download: Option<&'static str>,
    /// The creators of the data, in the order of the citation.
    pub creators: &'static [&'static str],
    /// The publisher's page about the data.
    pub url: Option<&'static str>,
    /// The day of the document that describes this version, as `2014-11-17`.
    pub published: Option<&'static str>,
    /// The trace's time 0 in seconds since 1970-01-01 00:00:00 UTC, if it is known.
    pub epoch: Option<i64>,
    /// Known errors and oddities of the published data as a whole; those of a column are in its `doc`.
    pub anomalies: &'static [&'static str],
    /// The tables, in the publisher's order.
    pub tables: &'static [Table],
    /// Tables that can be derived from them on request.
    pub derived: &'static [Derived],
    /// Promises of the documents about the rows, as queries that find the rows that break them.
    pub checks: &'static [Check],
    /// The figures of a report on a lake, as queries.
    pub figures: &'static [Figure],
    /// Tables that a query makes of those of a lake.
    pub query_tables: &'static [QueryTable],
    /// The keys that its tables can be sampled by.
    pub sample_keys: &'static [SampleKey],
    /// The trace with all columns, if this one has only some of them, see [`Trace::with_columns`].
    pub whole: Option<&'static Trace>,
}

/// A key by which several tables can be sampled together, such as a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleKey {
    /// Its name, such as `job`.
    pub name: &'static str,
    /// The column that holds it in each table that has it, in the order of the tables.
    pub columns: &'static [KeyColumn],
}

/// The column of a table that holds a [`SampleKey`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyColumn {
    /// The name of the table.
    pub table: &'static str,
    /// The name of the column: an integer or a text.
    pub column: &'static str,
    /// Whether the table is sampled by this key unless another one is asked for.
    pub is_default: bool,
}

/// A description that isn't part of the program: a lake keeps a copy of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Description {
    /// The SHA-256 of its bytes, in lower-case hexadecimal.
    pub sha256: &'static str,
    /// The whole text.
    pub text: &'static str,
}

impl std::fmt::Debug for Description {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Description")
            .field("sha256", &self.sha256)
            .finish_non_exhaustive()
    }
}

/// A promise about the rows of a trace, and the query that finds what breaks it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Check {
    /// Its name, such as `task_usage_sorted`.
    pub name: &'static str,
    /// The promise, in one sentence.
    pub sentence: &'static str,
    /// Where it is promised: the document and its section, or the measurement.
    pub document: &'static str,
    /// The tables that the query reads, the checked one first.
    pub needs: &'static [Need],
    /// Whether what breaks the promise is always in one part, so that the query may run on some of the
    /// parts at a time, the same ones of every table.
    pub by_part: bool,
    /// A query in DuckDB's SQL with one row for each violation. Its first column, `finding`, says what
    /// is wrong; the others say where.
    pub sql: &'static str,
    /// Violations that are known from the published data.
    pub known: &'static [Known],
}

/// Violations of a [`Check`] that were published or measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Known {
    /// A condition on the rows of the check's query; `true` if it holds for all of them.
    pub when: &'static str,
    /// The most violations that it explains; more are a new finding.
    pub at_most: Option<u64>,
    /// The most violations that it explains, in percent of the rows of the checked table.
    pub at_most_percent: Option<f64>,
    /// The known violations, and who says so.
    pub doc: &'static str,
}

/// A table that a query reads, and which of its parts it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// The name of the table.
    pub table: &'static str,
    /// The parts.
    pub parts: NeededParts,
}

/// The parts of a table that a query needs in order to be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeededParts {
    /// Any: each row is judged by itself, or by its neighbours in the part.
    Any,
    /// Any, without gaps between them.
    Unbroken,
    /// Those that the lake has of the first table.
    Same,
    /// All published parts.
    All,
}

impl NeededParts {
    /// The name in the descriptions, such as `unbroken`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Unbroken => "unbroken",
            Self::Same => "same",
            Self::All => "all",
        }
    }
}

/// A figure of a report, and the query for its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figure {
    /// Its name, such as `task_events_over_time`.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// The content, and how it was computed.
    pub caption: &'static str,
    /// The tables that the query reads.
    pub needs: &'static [Need],
    /// How the numbers are drawn.
    pub plot: Plot,
    /// The label of the horizontal axis.
    pub x: &'static str,
    /// The label of the vertical axis.
    pub y: &'static str,
    /// A query in DuckDB's SQL with the columns `x`, `series` and `y`, in the order of the figure.
    pub sql: &'static str,
}

/// How the numbers of a [`Figure`] are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plot {
    /// One line for each series; x is a number.
    Lines,
    /// As lines, one on top of the other.
    Areas,
    /// One group of bars for each x, which is a text.
    Bars,
    /// As bars, one on top of the other.
    Stacks,
    /// Not at all: each row is a number with the name `x` and the unit `series`, for the top of the page.
    Numbers,
}

impl Plot {
    /// The name in the descriptions, such as `lines`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Lines => "lines",
            Self::Areas => "areas",
            Self::Bars => "bars",
            Self::Stacks => "stacks",
            Self::Numbers => "numbers",
        }
    }
}

/// A table that a query makes of those of a lake, such as the lifetimes of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryTable {
    /// Its name.
    pub name: &'static str,
    /// A one-line description.
    pub summary: &'static str,
    /// The tables that the query reads.
    pub needs: &'static [Need],
    /// The columns of the result.
    pub columns: &'static [QueryColumn],
    /// The query, in DuckDB's SQL; it ends with the order of the rows.
    pub sql: &'static str,
}

/// A column of a [`QueryTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryColumn {
    /// Its name.
    pub name: &'static str,
    /// The unit of the values, if they have one.
    pub unit: Option<&'static str>,
    /// Its meaning.
    pub doc: &'static str,
}

/// An archive that was published, such as `machine_usage.tar.gz`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Archive {
    /// The table it holds; `None` if it holds all of them.
    pub table: Option<&'static str>,
    /// The names the file is known under, the publisher's own first.
    pub names: &'static [&'static str],
    /// The publisher's SHA-256 of the file under its first name, in lowercase hex.
    pub sha256: &'static str,
    /// The size as the publisher prints it, such as `1.7G`.
    pub size: &'static str,
}

/// A URL that a trace, or a piece of it, is published at, for everybody to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishedAt {
    /// The URL, such as `gs://bucket`, without a slash at its end.
    pub url: &'static str,
    /// The content there.
    pub doc: &'static str,
}

/// A table derived from another table of the lake.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Derived {
    /// How it is derived.
    pub rule: Rule,
    /// The name of the table it is derived from.
    pub from: &'static str,
    /// The derived table. Columns that the other table also has are copied; the rule makes the rest.
    pub table: Table,
}

/// How a table is derived from another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Decodes the column `task_name`, which holds a task's number and the numbers of the tasks it
    /// depends on: `M5_3_4` is task 5 and depends on tasks 3 and 4. Each dependency makes one row, with
    /// the integers `task_number` and `depends_on`.
    Dag,
}

impl Derived {
    /// Whether a column of the other table is needed: one that is copied, or that the rule decodes.
    #[must_use]
    pub fn needs(&self, column: &str) -> bool {
        let decoded = match self.rule {
            Rule::Dag => "task_name",
        };
        column == decoded || self.table.column(column).is_some()
    }
}

impl Rule {
    /// Every rule.
    pub const ALL: [Self; 1] = [Self::Dag];

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dag => "dag",
        }
    }
}

/// One table of a trace; every version of a family gives it the same columns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Table {
    /// The name of its directory, in the source and in the lake.
    pub name: &'static str,
    /// A one-line description.
    pub summary: &'static str,
    /// The columns in the order of the lake.
    pub columns: &'static [Column],
    /// The order of the fields in a file without a `schema.csv`: `fields[i]` is the index in
    /// `columns` of field `i`. A column that is not listed is always NULL.
    pub fields: &'static [usize],
    /// How its files are named and split.
    pub files: Files,
    /// The names of its files, if they are [`Files::Named`], or other names of its one file.
    pub naming: Naming,
    /// How a row is written in them.
    pub syntax: Syntax,
    /// The details of [`Syntax::Csv`].
    pub csv: Csv,
    /// The number of published parts; 0 if it is unknown.
    pub parts: u32,
    /// The number of rows in all published parts; `None` if it isn't known.
    pub published: Option<Published>,
    /// Known facts about the shards of single cells, where a trace covers several cells.
    pub shards: &'static [CellShards],
    /// Why the mandatory columns can be relied on to have a value in every row; `None` if the
    /// table has no mandatory column.
    pub required: Option<&'static str>,
    /// The columns that together identify the thing a row describes, such as a task or a machine.
    /// Many rows may describe the same thing.
    pub entity: &'static [&'static str],
    /// The columns whose values differ in every row; empty where no such set is known.
    pub primary_key: &'static [&'static str],
    /// References of the rows to other tables.
    pub references: &'static [Reference],
    /// The index of the column that holds a row's time, if there is one: an integer, a float or a date-time.
    pub time: Option<usize>,
    /// The stream of the simulated cluster that synthetic rows come from; empty if there is none.
    pub synthetic: &'static str,
}

/// Columns that name something which another table of the trace describes.
///
/// The publisher says that they correspond, without a promise that every value is found there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference {
    /// The columns of this table.
    pub columns: &'static [&'static str],
    /// The other table.
    pub table: &'static str,
    /// The columns of the other table, in the same order.
    pub to: &'static [&'static str],
}

/// The shards of a table that were published for one cell of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellShards {
    /// The cell, such as `a`.
    pub cell: &'static str,
    /// The number of shards.
    pub count: u32,
    /// How many rows they hold together; `None` if it isn't known.
    pub rows: Option<Published>,
}

/// How the files of a table are named, and what becomes a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// `<table>/part-00017-of-00500.csv.gz`: each file is a part.
    Parts,
    /// `<table>-000000000017.json.gz`: each file is a part, and the names don't give the total.
    Shards,
    /// Files that are found by the patterns of [`Table::naming`]: each file is a part.
    Named,
    /// One file, `<table>.csv.gz`, or an archive member of that name: split into parts with a fixed
    /// number of rows.
    Whole,
    /// No files, because the table is derived from another one, see [`Derived`].
    Derived,
}

/// How a row is written in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syntax {
    /// Comma-separated fields, one row per line, no header and no quotes.
    Csv,
    /// A header line, and fields that may be quoted and then span lines (RFC 4180). Structs and lists
    /// are written as Python prints them.
    QuotedCsv,
    /// One JSON object per line; an absent field is null.
    Json,
}

/// The details of [`Syntax::Csv`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Csv {
    /// Whether the first line has the published names of the columns.
    pub header: bool,
    /// The separator between two fields.
    pub separator: Separator,
    /// The first byte of lines that are no rows.
    pub comment: Option<u8>,
}

impl Csv {
    /// Commas, and nothing but rows.
    pub const PLAIN: Self = Self {
        header: false,
        separator: Separator::Byte(b','),
        comment: None,
    };
}

impl Syntax {
    /// The extension of a file's name, without `.gz`.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Csv | Self::QuotedCsv => "csv",
            Self::Json => "json",
        }
    }
}

impl Table {
    /// Finds a column by its name in the lake, with its index.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<(usize, &'static Column)> {
        self.columns
            .iter()
            .enumerate()
            .find(|(_, column)| column.name == name)
    }
}

impl Trace {
    /// Finds a table by its name, including derived tables.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&'static Table> {
        self.all_tables().find(|table| table.name == name)
    }

    /// Finds a key that tables can be sampled by.
    #[must_use]
    pub fn sample_key(&self, name: &str) -> Option<&'static SampleKey> {
        self.sample_keys.iter().find(|key| key.name == name)
    }

    /// The column that a table is sampled by: that of the key `by`, or the table's default. `None` if the table stays
    /// whole.
    #[must_use]
    pub fn sampled_column(&self, table: &str, by: Option<&str>) -> Option<&'static KeyColumn> {
        self.sample_keys
            .iter()
            .filter(|key| by.is_none_or(|by| key.name == by))
            .flat_map(|key| key.columns)
            .find(|column| column.table == table && (by.is_some() || column.is_default))
    }

    /// The published tables, followed by the derived ones.
    pub fn all_tables(&self) -> impl Iterator<Item = &'static Table> + use<> {
        let derived = self.derived.iter().map(|derived| &derived.table);
        self.tables.iter().chain(derived)
    }

    /// Whether every table is published in [`Files::Parts`].
    #[must_use]
    pub fn in_parts(&self) -> bool {
        self.tables.iter().all(|table| table.files == Files::Parts)
    }
}

/// One column of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Column {
    /// The name in the lake, by convention the snake case of `content`.
    pub name: &'static str,
    /// The publisher's own name, as `schema.csv` has it in its column `content`.
    pub content: &'static str,
    /// How a field is read.
    pub kind: Kind,
    /// The publisher's name for the format, as `schema.csv` has it in its column `format`.
    pub format: &'static str,
    /// Whether an empty field makes a bad row; otherwise it is NULL. [`Table::required`] says why a
    /// column is mandatory. A column that some version of the family lacks never is.
    pub mandatory: bool,
    /// The unit of the values, if they have one.
    pub unit: Option<&'static str>,
    /// The fields of a [`Kind::Struct`], or the single item of a [`Kind::List`]; otherwise empty.
    pub fields: &'static [Column],
    /// The publisher's change to the values.
    pub obfuscation: Obfuscation,
    /// The named values of a [`Kind::Code`]. Values without a name are kept, too.
    pub codes: &'static [Code],
    /// Special values, which don't mean what they say.
    pub sentinels: &'static [Sentinel],
    /// Names for the values between certain bounds. The ranges ascend and don't overlap; values
    /// between two of them have no name.
    pub ranges: &'static [Range],
    /// Values with which the publisher marks invalid measurements. The lake keeps them unchanged;
    /// views show them as NULL.
    pub invalid: &'static [i64],
    /// The meaning of the column.
    pub doc: &'static str,
    /// Where its values are found and how they may be spelled, where that is special.
    pub spelling: Spelling,
    /// How a synthetic trace fills the column: the name of a quantity of the simulated cluster.
    pub synthetic: &'static str,
    /// The share of synthetic rows in which an optional column is empty, from 0 to 1.
    pub empty: f64,
}

impl Column {
    /// The meaning of the column, with its unit, as one text.
    #[must_use]
    pub fn comment(&self) -> String {
        match self.unit {
            Some(unit) => format!("{} Unit: {unit}.", self.doc),
            None => self.doc.to_owned(),
        }
    }

    /// The number of units per second if the column is a point in time, otherwise `None`. The unit of
    /// a point in time says what it counts from, such as `seconds since the trace began`.
    #[must_use]
    pub fn time_units(&self) -> Option<i64> {
        match self.unit?.split_once(" since ")?.0 {
            "microseconds" => Some(1_000_000),
            "milliseconds" => Some(1_000),
            "seconds" => Some(1),
            _ => None,
        }
    }

    /// Whether a text may hold an integer: whether the publisher's format is `…_OR_INTEGER`.
    #[must_use]
    pub fn may_be_integer(&self) -> bool {
        self.kind == Kind::Text && self.format.ends_with("_OR_INTEGER")
    }
}

/// How a field is read, and its Arrow type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Decimal digits with an optional minus, `Int64`.
    Integer,
    /// The output of C's `%g`, `Float64`, correctly rounded.
    Float,
    /// `0` or `1`, `Boolean`.
    Boolean,
    /// UTF-8, `Utf8`.
    Text,
    /// An integer with named values, `Int32`.
    Code,
    /// A date and a time of day in microseconds, `Timestamp`.
    DateTime(Zone),
    /// Several named values, `Struct`.
    Struct,
    /// Any number of values of one kind, `List`.
    List,
}

/// Whether date-times have a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    /// Each value ends with `Z` or an offset such as `+08:00`; the lake has it in UTC.
    Published,
    /// No value has a zone, and the lake's timestamps have none.
    None,
}

/// Where the values of a column are found and how they may be spelled, beside what [`Kind`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spelling {
    /// Spellings of NULL beside the empty field.
    pub nulls: &'static [&'static str],
    /// Whether an integer may be spelled `5.0`.
    pub integral_floats: bool,
    /// The capture of the file's name that is the value of the column in all of its rows; the file has no such field.
    pub capture: Option<&'static str>,
}

impl Spelling {
    /// A field of the file, of which only the empty one is NULL.
    pub const PLAIN: Self = Self {
        nulls: &[],
        integral_floats: false,
        capture: None,
    };
}

/// A publisher's change to the values of a column before publishing them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obfuscation {
    /// Nothing.
    Unchanged,
    /// Each value is replaced by an opaque keyed hash.
    Hashed,
    /// Each value is replaced by its rank among all values.
    Ordered,
    /// Each value is divided by the largest one in the trace.
    Rescaled,
    /// Hashed where there are many values, ordered where there are few.
    HashedOrOrdered,
}

impl Obfuscation {
    /// The name in the descriptions, such as `hashed-or-ordered`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Obfuscation::Unchanged => "unchanged",
            Obfuscation::Hashed => "hashed",
            Obfuscation::Ordered => "ordered",
            Obfuscation::Rescaled => "rescaled",
            Obfuscation::HashedOrOrdered => "hashed-or-ordered",
        }
    }
}

/// A named value of a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    /// The value in the file and in the lake.
    pub value: i32,
    /// The publisher's name for it, or ours where the publisher gave none.
    pub name: &'static str,
    /// Its meaning.
    pub doc: &'static str,
}

/// A range of values with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// The first value.
    pub from: i64,
    /// The last value; `None` if the range has no end.
    pub to: Option<i64>,
    /// The publisher's name for it.
    pub name: &'static str,
    /// Its meaning.
    pub doc: &'static str,
}

/// A value with a special meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sentinel {
    /// The value in the lake.
    pub value: i64,
    /// Its name.
    pub name: &'static str,
    /// Another number that files contain for it, if any; it is mapped to `value` and counted.
    pub also: Option<&'static str>,
    /// Its meaning.
    pub doc: &'static str,
}

/// A count of the rows in all published parts of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// The rows.
    pub rows: u64,
    /// How reliable the count is.
    pub confidence: Confidence,
    /// Who counted.
    pub source: &'static str,
}

/// How reliable a published count is, the most reliable first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confidence {
    /// The publisher says so.
    Publisher,
    /// Counted in the published files by this project.
    Measured,
    /// Another reader of the files says so.
    Reported,
}

impl Confidence {
    /// The name in the descriptions, such as `measured`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Confidence::Publisher => "publisher",
            Confidence::Measured => "measured",
            Confidence::Reported => "reported",
        }
    }
}
