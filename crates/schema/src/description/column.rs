//! The columns of a table, and the lists that they share.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::column_spec::{ColumnSpec, ValuesSpec};
use super::fault::{Result, Within, bail, ensure};
use super::files::{self, LONGEST_RANGE, header};
use super::lists::{codes, listed, lists, ranges, sentinels};
use super::looks::{has_looks, looks};
use super::spec::{FamilySpec, TableSpec};
use super::spelling::{OfTable, Zones, zones};
use super::words::{identifier, kind, optional, printable, prose, unique, word};
use crate::{Code, Column, Files, Header, Kind, Range, Run, Sentinel, Syntax, Zone};

/// The most columns of a table, with the fields of structs, and two more for each list: the reader of lakes refuses a
/// Parquet schema with more.
pub const MOST_COLUMNS: usize = 999;

/// The most structs and lists in one another. Published traces have up to 5.
pub const MOST_DEPTH: usize = 16;

/// Names that no column can have: those that the directories of a lake add to a table, and those that DuckDB can add.
pub const ADDED_COLUMNS: [&str; 4] = ["cell", "file_number", "filename", "file_row_number"];

/// The lists that columns share by name.
pub(super) struct Shared {
    codes: BTreeMap<String, Arc<[Code]>>,
    sentinels: BTreeMap<String, Arc<[Sentinel]>>,
    ranges: BTreeMap<String, Arc<[Range]>>,
    zones: Zones,
}

/// How many entries columns have in a Parquet schema. A list has three: itself, its repeated group, and its item.
fn count(columns: &[ColumnSpec]) -> usize {
    let entries = columns.iter().map(|column| {
        let group = usize::from(column.kind == "list");
        1 + group + count(&column.field)
    });
    entries.fold(0, usize::saturating_add)
}

/// How many structs and lists are in one another.
fn depth(column: &ColumnSpec) -> usize {
    let inner = column.field.iter().map(depth).max();
    inner.map_or(0, |inner| inner + 1)
}

impl Shared {
    pub(super) fn read(spec: &FamilySpec) -> Result<Self> {
        Ok(Self {
            codes: lists("codes", &spec.codes, codes)?,
            sentinels: lists("sentinels", &spec.sentinels, sentinels)?,
            ranges: lists("ranges", &spec.ranges, ranges)?,
            zones: zones(&spec.zones).within("zones")?,
        })
    }

    /// The columns of a table; an error names the column.
    pub(super) fn columns(&self, table: &TableSpec, traces: &[&str]) -> Result<Arc<[Arc<Column>]>> {
        let counted = table.files == Files::Parts;
        ensure!(!counted || table.parts > 0, "parts must be at least 1");
        ensure!(!table.column.is_empty(), "the table has no column");
        ensure!(
            table.column.iter().any(is_mandatory) == table.required.is_some(),
            "a table with mandatory columns, and no other, says in `required` why they always have a value"
        );
        let flat = table.syntax == Syntax::Csv;
        let is_nested = |column: &ColumnSpec| !column.field.is_empty() && column.columns.is_none();
        ensure!(
            !flat || !table.column.iter().any(is_nested),
            "a row of plain fields has no struct and no list but one with `columns`"
        );
        if let Some(capturing) = table.column.iter().find(|column| is_captured(column)) {
            ensure!(
                capturing.capture.is_some(),
                "{}: captures are for columns, and not within structs and lists",
                capturing.name
            );
        }
        if let Some(looking) = table.column.iter().find(|column| has_looks(column)) {
            ensure!(
                flat,
                "{}: looks_like, within and multiple_of are for syntax = \"csv\"",
                looking.name
            );
        }
        let of_table = OfTable::read(table, &self.zones)?;
        let columns = count(&table.column);
        ensure!(
            columns <= MOST_COLUMNS,
            "column: there are {columns}, and a table has at most {MOST_COLUMNS} columns; fields of structs count, too, \
             and a list as three. A run of columns can be one list, with `columns`"
        );
        let names = || table.column.iter().map(|column| &*column.name);
        if let Some(name) = names().find(|name| ADDED_COLUMNS.contains(name)) {
            bail!("{name}: a column can't have the name of one that is added to the table");
        }
        unique("column", names())?;
        let mut columns = Vec::new();
        for column in &table.column {
            let read = self.column(column, &of_table, traces);
            let mut read = read.within_named(&column.name)?;
            may_be_absent(column, table).within_named(&column.name)?;
            also(column, table).within_named(&column.name)?;
            let capture = capture(column, table, read.kind);
            read.spelling.capture = capture.within_named(&column.name)?;
            read.spelling.run = run(column, table).within_named(&column.name)?;
            columns.push(Arc::new(read));
        }
        contents(table, &columns)?;
        Ok(columns.into())
    }

    fn column(&self, column: &ColumnSpec, of: &OfTable, traces: &[&str]) -> Result<Column> {
        ensure!(
            depth(column) <= MOST_DEPTH,
            "structs and lists are at most {MOST_DEPTH} deep in one another"
        );
        let kind = kind(&column.kind, column.zone)?;
        let spelling = of.spelling(column, kind)?;
        let codes = listed("codes", &self.codes, column.codes.as_ref())?;
        ensure!(
            (kind == Kind::Code) != codes.is_empty(),
            "a column of kind code, and no other, has codes"
        );
        let sentinels = listed("sentinels", &self.sentinels, column.sentinels.as_ref())?;
        let ranges = listed("ranges", &self.ranges, column.ranges.as_ref())?;
        ensure!(
            ranges.is_empty() || kind == Kind::Integer,
            "only a column of kind integer has ranges"
        );
        let fields = match kind {
            Kind::Struct => column.field.len(),
            Kind::List => 1,
            _ => 0,
        };
        ensure!(
            column.field.len() == fields && (kind != Kind::Struct || fields > 0),
            "a struct has fields, a list has one field, its item, and no other kind has any"
        );
        unique(
            "field",
            column.field.iter().map(|field| field.name.as_ref()),
        )?;
        let fields = column
            .field
            .iter()
            .map(|field| {
                let field = self.column(field, of, traces);
                Ok(Arc::new(field.within_named(&column.name)?))
            })
            .collect::<Result<Vec<_>>>()?;
        ensure!(
            sentinels.is_empty() || kind == Kind::Integer,
            "only a column of kind integer has sentinels"
        );
        ensure!(
            column.invalid.is_empty() || matches!(kind, Kind::Integer | Kind::Float),
            "only a column of kind integer or float has invalid values"
        );
        ensure!(
            column.invalid.is_sorted_by(|a, b| a < b),
            "the invalid values must ascend"
        );
        for absent in &column.absent_in {
            ensure!(
                traces.contains(&absent.as_str()),
                "absent_in: there is no trace {absent}"
            );
        }
        ensure!(
            column.absent_in.is_empty() || !column.mandatory,
            "a column that a version lacks cannot be mandatory: it is NULL there"
        );
        ensure!(
            (0.0..=1.0).contains(&column.empty),
            "empty is a share from 0 to 1"
        );
        ensure!(
            column.empty == 0.0 || !column.mandatory,
            "a mandatory column is never empty"
        );
        Ok(Column {
            name: identifier(&column.name)?,
            content: printable(content(column))?,
            kind,
            format: optional(column.format.as_deref(), word)?.unwrap_or_default(),
            mandatory: column.mandatory,
            unit: optional(column.unit.as_deref(), prose)?,
            fields,
            obfuscation: column.obfuscation,
            codes,
            sentinels,
            ranges,
            invalid: column.invalid.clone(),
            doc: doc(column)?,
            looks: looks(column, kind)?,
            spelling,
            synthetic: column.synthetic.clone(),
            empty: column.empty,
        })
    }

    /// Refuses a list that no column uses: it is a slip of the pen.
    pub(super) fn check_use(&self, tables: &[&TableSpec]) -> Result<()> {
        let mut columns: Vec<&ColumnSpec> = Vec::new();
        let mut rest: Vec<&ColumnSpec> = tables.iter().flat_map(|t| &t.column).collect();
        while let Some(column) = rest.pop() {
            rest.extend(&column.field);
            columns.push(column);
        }
        let is_zoned = |column: &&ColumnSpec| column.zone == Some(Zone::Published);
        ensure!(
            self.zones.is_empty() || columns.iter().any(is_zoned),
            "zones is not used: no column has zone = \"published\""
        );
        for list in self.codes.keys() {
            let used = columns.iter().any(|c| c.codes.as_ref() == Some(list));
            ensure!(used, "codes.{list} is not used");
        }
        for list in self.sentinels.keys() {
            let used = columns.iter().any(|c| c.sentinels.as_ref() == Some(list));
            ensure!(used, "sentinels.{list} is not used");
        }
        for list in self.ranges.keys() {
            let used = columns.iter().any(|c| c.ranges.as_ref() == Some(list));
            ensure!(used, "ranges.{list} is not used");
        }
        Ok(())
    }
}

/// The publisher's name of a column.
fn content(column: &ColumnSpec) -> &str {
    column.content.as_deref().unwrap_or(&column.name)
}

/// The meaning of a column.
fn doc(column: &ColumnSpec) -> Result<String> {
    match (&column.doc, content(column).trim()) {
        (Some(doc), _) => prose(doc),
        (None, "") => Ok(format!("{}.", &*column.name)),
        (None, content) => prose(&format!("{content}.")),
    }
}

/// Checks the published names of the columns of a table.
fn contents(table: &TableSpec, columns: &[Arc<Column>]) -> Result<()> {
    let runs = || columns.iter().filter_map(|it| it.spelling.run.as_ref());
    let fields: u64 = runs().map(|run| u64::from(run.count())).sum();
    ensure!(
        fields <= LONGEST_RANGE,
        "columns: the runs of a table have at most {LONGEST_RANGE} columns, and there are {fields}"
    );
    // A header may have a name twice: the columns of plain CSV are known by their places.
    if header(table) == Header::InOrder {
        return Ok(());
    }
    let mut names: Vec<Cow<'_, str>> = runs().flat_map(Run::names).collect();
    for column in columns.iter().filter(|it| it.spelling.run.is_none()) {
        let also = column.spelling.also.iter();
        names.push(Cow::Borrowed(&*column.content));
        names.extend(also.map(|name| Cow::Borrowed(&**name)));
    }
    unique("content", names.iter().map(|name| &**name))
}

/// The columns of the file that are the items of a list.
fn run(column: &ColumnSpec, table: &TableSpec) -> Result<Option<Run>> {
    let is_run = |column: &ColumnSpec| column.columns.is_some();
    ensure!(
        !column.field.iter().any(is_run),
        "columns: only of a column, and not of a field in it"
    );
    let Some(spec) = &column.columns else {
        return Ok(None);
    };
    let is_flat = column.field.iter().all(|item| item.field.is_empty());
    ensure!(
        column.kind == "list" && is_flat,
        "columns: only of a list whose item is no struct and no list"
    );
    ensure!(
        matches!(table.syntax, Syntax::Csv | Syntax::QuotedCsv) && table.files != Files::Parts,
        "columns: only with syntax = \"csv\" or \"quoted-csv\", and not with files = \"parts\""
    );
    ensure!(column.capture.is_none(), "columns: it has no capture");
    files::run(spec).map(Some).within("columns")
}

/// Checks that a column which a header may lack can be found by its name, and NULL.
fn may_be_absent(column: &ColumnSpec, table: &TableSpec) -> Result<()> {
    let may_be = |column: &ColumnSpec| column.may_be_absent;
    ensure!(
        !column.field.iter().any(may_be),
        "may_be_absent: a header has no fields of structs and lists"
    );
    if !may_be(column) {
        return Ok(());
    }
    ensure!(
        header(table) == Header::ByName,
        "may_be_absent: only with header = \"by-name\" in [table.csv]"
    );
    ensure!(
        !column.mandatory && column.capture.is_none(),
        "may_be_absent: such a column is not mandatory, and has no capture"
    );
    Ok(())
}

/// Checks the other names of a column in a header.
fn also(column: &ColumnSpec, table: &TableSpec) -> Result<()> {
    let has = |column: &ColumnSpec| !column.also.is_empty();
    ensure!(
        !column.field.iter().any(has),
        "also: a header has no fields of structs and lists"
    );
    if !has(column) {
        return Ok(());
    }
    ensure!(
        header(table) == Header::ByName && column.columns.is_none() && column.capture.is_none(),
        "also: only with header = \"by-name\" in [table.csv], and of a column that is one of the file"
    );
    column
        .also
        .iter()
        .try_for_each(|name| printable(name).map(drop))
}

/// The capture of the file's name that a column names.
fn capture(column: &ColumnSpec, table: &TableSpec, kind: Kind) -> Result<Option<String>> {
    let Some(name) = &column.capture else {
        return Ok(None);
    };
    let is_known = match &name[..] {
        "n" | "total" | "date" => table
            .names
            .iter()
            .all(|one| one.contains(&format!("{{{name}}}"))),
        _ => table.captures.contains_key(name),
    };
    ensure!(
        is_known,
        "capture: {{{name}}} is not a capture of the table's names"
    );
    ensure!(
        matches!(kind, Kind::Text | Kind::Integer),
        "capture: only a column of kind text or integer can be one"
    );
    let is_integer = |value: &String| !value.starts_with('+') && value.parse::<i64>().is_ok();
    let are_integers = match table.captures.get(name) {
        Some(ValuesSpec::Values(values)) => values.iter().all(is_integer),
        Some(ValuesSpec::Range(_)) | None => true,
    };
    ensure!(
        kind == Kind::Text || are_integers,
        "capture: not all values of {{{name}}} are integers"
    );
    Ok(Some(name.clone()))
}

/// Whether the name of the file has the value of a column, or of anything nested in it.
fn is_captured(column: &ColumnSpec) -> bool {
    column.capture.is_some() || column.field.iter().any(is_captured)
}

/// Whether a column, or anything nested in it, is mandatory.
fn is_mandatory(column: &ColumnSpec) -> bool {
    column.mandatory || column.field.iter().any(is_mandatory)
}
