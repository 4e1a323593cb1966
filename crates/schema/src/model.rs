//! The types that describe a trace. All of them are plain data.

mod columns;
mod queries;
mod requests;
mod run;
mod words;

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;

use crate::separator::without_blanks;
use crate::{Cells, Naming, Separator};
use words::words;

pub use columns::{
    Code, Column, Confidence, Kind, Obfuscation, Published, Range, Sentinel, Spelling, Zone,
};
pub use queries::{
    Bins, Check, Figure, Known, Need, NeededParts, Plot, QueryColumn, QueryTable, With,
};
pub use requests::Requests;
pub use run::Run;

/// One published data set in one version.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// The name on the command line and in the manifest.
    pub name: String,
    /// The description that it comes from, unless it is built in.
    pub description: Option<Arc<Description>>,
    /// The name shared by all versions of one data set.
    pub family: String,
    /// A one-line title.
    pub title: String,
    /// The publisher's document that the descriptions come from.
    pub document: String,
    /// Raised when a description changes: descriptions are in the footers of outputs.
    pub revision: u32,
    /// The licence of the data, as an SPDX expression.
    pub licence: String,
    /// How to cite the data.
    pub citation: String,
    /// The archives that were published, if the tables come in archives.
    pub archives: Vec<Archive>,
    /// The cells that it is published by, if it has any.
    pub cells: Option<Cells>,
    /// The URLs it is published at, the one to use first.
    pub locations: Vec<PublishedAt>,
    /// How large the compressed download is, in words, and who says so.
    pub download: Option<String>,
    /// The creators of the data, in the order of the citation.
    pub creators: Vec<Creator>,
    /// The publisher's page about the data.
    pub url: Option<String>,
    /// The day of the document that describes this version, as `2014-11-17`.
    pub published: Option<String>,
    /// The trace's time 0 in seconds since 1970-01-01 00:00:00 UTC, if it is known.
    pub epoch: Option<i64>,
    /// A sentence on what the trace's time 0 is.
    pub time_zero: Option<String>,
    /// The first second of the published rows and the one after the last, from time 0; from 1970-01-01 00:00:00 if its
    /// times are date-times without a time 0.
    pub span: Option<(i64, i64)>,
    /// Known errors and oddities of the published data as a whole; those of a column are in its `doc`.
    pub anomalies: Vec<String>,
    /// The tables, in the publisher's order.
    pub tables: Vec<Arc<Table>>,
    /// Tables that can be derived from them on request.
    pub derived: Vec<Arc<Derived>>,
    /// Promises of the documents about the rows, as queries that find the rows that break them.
    pub checks: Arc<[Check]>,
    /// The figures of a report on a lake, as queries.
    pub figures: Arc<[Figure]>,
    /// Tables that a query makes of those of a lake.
    pub query_tables: Arc<[QueryTable]>,
    /// The keys that its tables can be sampled by.
    pub sample_keys: Arc<[SampleKey]>,
    /// The trace with all columns, if this one has only some of them, see [`Trace::with_columns`].
    pub whole: Option<Arc<Trace>>,
}

/// A person or an organisation that made the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Creator {
    /// The given names of a person; `None` for an organisation.
    pub given: Option<String>,
    /// The family name of a person, or the name of an organisation.
    pub name: String,
}

/// The whole name, such as `Ada Lovelace`.
impl fmt::Display for Creator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(given) = &self.given {
            write!(f, "{given} ")?;
        }
        f.write_str(&self.name)
    }
}

/// A key by which several tables can be sampled together, such as a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleKey {
    /// Its name, such as `job`.
    pub name: String,
    /// The column that holds it in each table that has it, in the order of the tables.
    pub columns: Vec<KeyColumn>,
}

/// The column of a table that holds a [`SampleKey`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyColumn {
    /// The name of the table.
    pub table: String,
    /// The name of the column: an integer or a text.
    pub column: String,
    /// Whether the table is sampled by this key unless another one is asked for.
    pub is_default: bool,
}

/// A description that isn't part of the program: a lake keeps a copy of it.
#[derive(PartialEq, Eq)]
pub struct Description {
    /// The SHA-256 of its bytes, in lower-case hexadecimal.
    pub sha256: String,
    /// The whole text.
    pub text: String,
}

impl fmt::Debug for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Description")
            .field("sha256", &self.sha256)
            .finish_non_exhaustive()
    }
}

/// An archive that was published, such as `machine_usage.tar.gz`.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Archive {
    /// The table it holds; `None` if it holds all of them.
    pub table: Option<String>,
    /// The names the file is known under, the publisher's own first.
    pub names: Vec<String>,
    /// The publisher's SHA-256 of the file under its first name, in lowercase hex, if there is one.
    pub sha256: Option<String>,
    /// The size as the publisher prints it, such as `1.7G`.
    pub size: String,
}

/// A URL that a trace, or a piece of it, is published at, for everybody to read.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedAt {
    /// The URL, such as `gs://bucket`, without a slash at its end: of a bucket, of a directory, or of one file.
    pub url: String,
    /// The content there.
    pub doc: String,
    /// The tables whose files are there; empty for all that no other location names.
    #[serde(default)]
    pub tables: Vec<String>,
    /// Whether a `SHA256SUM` there has the digest of each file. On a web server, it also lists the files; without it, they
    /// have the names that the description says.
    #[serde(default)]
    pub sha256sum: bool,
    /// Why the files can't be fetched from there by a program, if they can't.
    pub not_fetched: Option<String>,
}

/// A table derived from another table of the lake.
#[derive(Debug, Clone, PartialEq)]
pub struct Derived {
    /// How it is derived.
    pub rule: Rule,
    /// The name of the table it is derived from.
    pub from: String,
    /// The derived table. Columns that the other table also has are copied; the rule makes the rest.
    pub table: Arc<Table>,
}

words! {
    /// How a table is derived from another one.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Rule {
        /// Decodes the column `task_name`, which holds a task's number and the numbers of the tasks it
        /// depends on: `M5_3_4` is task 5 and depends on tasks 3 and 4. Each dependency makes one row, with
        /// the integers `task_number` and `depends_on`.
        Dag = "dag",
    }
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

/// One table of a trace; every version of a family gives it the same columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The name of its directory, in the source and in the lake.
    pub name: String,
    /// A one-line description.
    pub summary: String,
    /// The columns in the order of the lake.
    pub columns: Arc<[Arc<Column>]>,
    /// The order of the fields in a file without a `schema.csv`: `fields[i]` is the index in
    /// `columns` of field `i`. A column that is not listed is always NULL.
    pub fields: Vec<usize>,
    /// How its files are named and split.
    pub files: Files,
    /// The names of its files, if they are [`Files::Named`], or other names of its one file.
    pub naming: Naming,
    /// How a row is written in them.
    pub syntax: Syntax,
    /// Whether the same rows are also published as Parquet files, whose names differ in nothing but the extension.
    pub parquet: bool,
    /// The details of [`Syntax::Csv`].
    pub csv: Csv,
    /// The details of [`Syntax::Json`].
    pub json: Json,
    /// The number of published parts; 0 if it is unknown.
    pub parts: u32,
    /// The number of rows in all published parts; `None` if it isn't known.
    pub published: Option<Published>,
    /// Known facts about the shards of single cells, where a trace covers several cells.
    pub shards: Vec<CellShards>,
    /// Why the mandatory columns can be relied on to have a value in every row; `None` if the
    /// table has no mandatory column.
    pub required: Option<String>,
    /// The columns that together identify the thing a row describes, such as a task or a machine.
    /// Many rows may describe the same thing.
    pub entity: Vec<String>,
    /// The columns whose values differ in every row; empty where no such set is known.
    pub primary_key: Vec<String>,
    /// References of the rows to other tables.
    pub references: Vec<Reference>,
    /// The index of the column that holds a row's time, if there is one: an integer, a float or a date-time.
    pub time: Option<usize>,
    /// The roles of its columns, if it has a row for each request to a language model.
    pub requests: Option<Requests>,
    /// A sentence on the rows that the publisher made up, such as those in place of missing ones; `None` if it says of none.
    pub synthesised: Option<String>,
    /// The stream of the simulated cluster that synthetic rows come from; empty if there is none.
    pub synthetic: String,
}

/// Columns that name something which another table of the trace describes.
///
/// The publisher says that they correspond, without a promise that every value is found there.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// The columns of this table.
    pub columns: Vec<String>,
    /// The other table.
    pub table: String,
    /// The columns of the other table, in the same order.
    #[serde(default)]
    pub to: Vec<String>,
}

/// The shards of a table that were published for one cell of the trace.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellShards {
    /// The cell, such as `a`.
    pub cell: String,
    /// The number of shards.
    pub count: u32,
    /// The number of Parquet shards; 0 if it is unknown.
    #[serde(default)]
    pub parquet: u32,
    /// How many rows they hold together; `None` if it isn't known.
    pub rows: Option<Published>,
}

/// How the files of a table are named, and what becomes a part.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Files {
    /// `<table>/part-00017-of-00500.csv.gz`: each file is a part.
    #[default]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Syntax {
    /// Comma-separated fields, one row per line, no header and no quotes.
    #[default]
    Csv,
    /// A header line, and fields that may be quoted and then span lines (RFC 4180). Structs and lists
    /// are written as Python prints them.
    QuotedCsv,
    /// One JSON object per line, or an array of them; an absent field is null.
    Json,
    /// Columns, in a file of Apache Parquet.
    Parquet,
}

/// The details of [`Syntax::Json`].
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Json {
    /// Whether the text is one array of objects, and not an object in each line.
    #[serde(default)]
    pub array: bool,
    /// What becomes of names that no column has.
    #[serde(default)]
    pub extra: Extra,
}

words! {
    /// What becomes of names, in an object or in a header, that no column has.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    #[derive(Deserialize, Default)]
    #[serde(rename_all = "kebab-case")]
    pub enum Extra {
        /// The row is bad, or the file of the header is refused.
        #[default]
        Refuse = "refuse",
        /// They are left out, with their values.
        Ignore = "ignore",
    }
}

/// The header of a file of CSV.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    /// None. In [`Syntax::QuotedCsv`], as [`Header::InOrder`].
    None,
    /// The names of all columns, in their order.
    InOrder,
    /// The names of columns in any order, each of which may be absent if [`Spelling::may_be_absent`] says so.
    ByName,
}

/// The details of [`Syntax::Csv`]; of [`Syntax::QuotedCsv`], only those of its header and the separator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Csv {
    /// Whether the first line that is no comment has the published names of the columns.
    pub header: Header,
    /// The policy for columns of a header that the table doesn't have; only with [`Header::ByName`].
    pub extra: Extra,
    /// The separator between two fields.
    pub separator: Separator,
    /// The first byte of lines that are no rows.
    pub comment: Option<u8>,
    /// Whether a file begins with a byte order mark.
    pub bom: bool,
    /// Whether spaces and tabs around a field aren't part of it.
    pub trim: bool,
    /// Whether a separator at the end of a line ends its last field, and begins no other.
    pub trailing: bool,
}

impl Csv {
    /// Commas, and nothing but rows.
    pub const PLAIN: Self = Self {
        header: Header::None,
        extra: Extra::Refuse,
        separator: Separator::Byte(b','),
        comment: None,
        bom: false,
        trim: false,
        trailing: false,
    };

    /// Whether one byte separates fields, and nothing else is beside them.
    #[must_use]
    pub fn one_byte(self) -> Option<u8> {
        match self.separator {
            Separator::Byte(separator) if !self.trim && !self.trailing => Some(separator),
            _ => None,
        }
    }

    /// The fields of a line without its ending.
    ///
    /// # Example
    ///
    /// ```
    /// use tracelake_schema::Csv;
    ///
    /// let padded = Csv { trim: true, ..Csv::PLAIN };
    /// let fields: Vec<_> = padded.fields(b" 1,\t23, ").collect();
    /// assert_eq!(fields, [1..2, 4..6, 8..8]);
    /// let trailing = Csv { trailing: true, ..Csv::PLAIN };
    /// assert_eq!(trailing.fields(b"1,,").collect::<Vec<_>>(), [0..1, 2..2]);
    /// ```
    pub fn fields(self, line: &[u8]) -> impl Iterator<Item = std::ops::Range<usize>> {
        let line = match self.trailing {
            true => self.separator.without_last(line),
            false => line,
        };
        let fields = self.separator.fields(line);
        fields.map(move |field| match self.trim {
            true => without_blanks(line, field),
            false => field,
        })
    }
}

impl Syntax {
    /// The extension of a file's name, without `.gz`.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Csv | Self::QuotedCsv => "csv",
            Self::Json => "json",
            Self::Parquet => "parquet",
        }
    }
}

impl Table {
    /// A table in one file of plain CSV, of which nothing is known but its name and its columns, in their order there.
    #[must_use]
    pub fn plain(name: &str, columns: impl IntoIterator<Item = Column>) -> Self {
        let columns: Arc<[_]> = columns.into_iter().map(Arc::new).collect();
        Self {
            name: name.to_owned(),
            summary: String::new(),
            fields: (0..columns.len()).collect(),
            columns,
            files: Files::Whole,
            naming: Naming::NONE,
            syntax: Syntax::Csv,
            parquet: false,
            csv: Csv::PLAIN,
            json: Json::default(),
            parts: 0,
            published: None,
            shards: Vec::new(),
            required: None,
            entity: Vec::new(),
            primary_key: Vec::new(),
            references: Vec::new(),
            time: None,
            requests: None,
            synthesised: None,
            synthetic: String::new(),
        }
    }

    /// The fields of a row of text, in order: the index of the column of each, and the item that the field is, if the
    /// column is a list of fields.
    pub fn row_fields(&self) -> impl Iterator<Item = (usize, Option<u32>)> {
        self.fields.iter().flat_map(|&index| {
            let run = self.columns[index].spelling.run.as_ref();
            let alone = run.is_none().then_some((index, None));
            let items = 0..run.map_or(0, Run::count);
            alone
                .into_iter()
                .chain(items.map(move |item| (index, Some(item))))
        })
    }

    /// The number of fields in a row of text.
    #[must_use]
    pub fn width(&self) -> usize {
        self.row_fields().count()
    }

    /// Whether each service in a table of requests counts time from its own start: its requests are in separate files, and
    /// its times aren't dates.
    #[must_use]
    pub fn has_clocks(&self) -> bool {
        let service = self.requests.as_ref().and_then(|it| it.service.as_deref());
        let service = service.and_then(|name| self.column(name));
        let time = self.time.map(|time| self.columns[time].kind);
        service.is_some_and(|(_, column)| column.spelling.capture.is_some())
            && !matches!(time, Some(Kind::DateTime(_)))
    }

    /// Finds a column by its name in the lake, with its index.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<(usize, &Arc<Column>)> {
        self.columns
            .iter()
            .enumerate()
            .find(|(_, column)| column.name == name)
    }
}

impl Trace {
    /// Finds a table by its name, including derived tables.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&Arc<Table>> {
        self.all_tables().find(|table| table.name == name)
    }

    /// Finds a key that tables can be sampled by.
    #[must_use]
    pub fn sample_key(&self, name: &str) -> Option<&SampleKey> {
        self.sample_keys.iter().find(|key| key.name == name)
    }

    /// The column that a table is sampled by: that of the key `by`, or the table's default. `None` if the table stays
    /// whole.
    #[must_use]
    pub fn sampled_column(&self, table: &str, by: Option<&str>) -> Option<&KeyColumn> {
        self.sample_keys
            .iter()
            .filter(|key| by.is_none_or(|by| key.name == by))
            .flat_map(|key| &key.columns)
            .find(|column| column.table == table && (by.is_some() || column.is_default))
    }

    /// The index of the column by which a table can be sampled by a key; `None` if it doesn't have that.
    #[must_use]
    pub fn key_index(&self, key: &str, table: &Table) -> Option<usize> {
        let mut columns = self.sample_key(key)?.columns.iter();
        let column = columns.find(|column| column.table == table.name)?;
        table.column(&column.column).map(|(index, _)| index)
    }

    /// The published tables, followed by the derived ones.
    pub fn all_tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        let derived = self.derived.iter().map(|derived| &derived.table);
        self.tables.iter().chain(derived)
    }

    /// Whether every table is published in [`Files::Parts`].
    #[must_use]
    pub fn in_parts(&self) -> bool {
        self.tables.iter().all(|table| table.files == Files::Parts)
    }
}
