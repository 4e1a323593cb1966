//! The tables of a version.

use std::sync::Arc;

use super::fault::{Result, Within, bail, ensure};
use super::files::{self, MOST_PARTS, csv};
use super::spec::TableSpec;
use super::words::{identifier, optional, prose, unique};
use crate::{
    CellShards, Cells, Column, Files, Json, Kind, Published, Reference, Requests, Syntax, Table,
};

/// A version of the data set, and the tables that all versions share.
pub(super) struct Version<'a> {
    pub(super) name: &'a str,
    /// The names of all versions.
    pub(super) all: &'a [&'a str],
    pub(super) cells: Option<&'a Cells>,
    pub(super) tables: &'a [&'a TableSpec],
}

impl Version<'_> {
    /// A table of the version, with columns that were checked.
    pub(super) fn table(&self, spec: &TableSpec, columns: &Arc<[Arc<Column>]>) -> Result<Table> {
        self.unnamed_table(spec, columns).within_named(&spec.name)
    }

    fn unnamed_table(&self, spec: &TableSpec, columns: &Arc<[Arc<Column>]>) -> Result<Table> {
        let naming = files::naming(spec)?;
        ensure!(
            spec.parts <= MOST_PARTS,
            "parts: a table has at most {MOST_PARTS}"
        );
        ensure!(
            !spec.parquet || spec.files == Files::Shards && spec.syntax == Syntax::Json,
            "parquet: only of a table with files = \"shards\" and syntax = \"json\""
        );
        ensure!(
            spec.syntax != Syntax::Parquet || matches!(spec.files, Files::Named | Files::Shards),
            "syntax = \"parquet\" needs files = \"named\" or \"shards\": a Parquet file is a part"
        );
        let published = of_version(spec, self.name, self.all);
        Ok(Table {
            name: identifier(&spec.name)?,
            summary: summary(spec).within("summary")?,
            columns: Arc::clone(columns),
            fields: fields(spec, self.name),
            files: spec.files,
            syntax: spec.syntax,
            parquet: spec.parquet,
            csv: csv(spec)?,
            json: json(spec)?,
            parts: match (spec.parts, naming.count()) {
                (0, Some(count)) if spec.files == Files::Named => count,
                (parts, _) => parts,
            },
            naming,
            published: published.within("published")?,
            shards: shards(&spec.shards, self.cells).within("shards")?,
            required: optional(spec.required.as_deref(), prose).within("required")?,
            entity: names_of(spec, &spec.entity).within("entity")?,
            primary_key: names_of(spec, &spec.primary_key).within("primary_key")?,
            references: references(spec, self.tables).within("references")?,
            time: time(spec, columns)?,
            requests: requests(spec, columns).within("requests")?,
            synthesised: optional(spec.synthesised.as_deref(), prose).within("synthesised")?,
            synthetic: spec.synthetic.clone(),
        })
    }
}

/// The details of JSON.
fn json(spec: &TableSpec) -> Result<Json> {
    ensure!(
        spec.json.is_none() || spec.syntax == Syntax::Json,
        "json: only for syntax = \"json\""
    );
    Ok(spec.json.unwrap_or_default())
}

/// The sentence about a table.
fn summary(spec: &TableSpec) -> Result<String> {
    let by_default = || Ok(format!("Rows of {}.", &*spec.name));
    let summary = optional(spec.summary.as_deref(), prose)?;
    summary.map_or_else(by_default, Ok)
}

/// The index of the column that a table names as its time.
fn time(table: &TableSpec, columns: &[Arc<Column>]) -> Result<Option<usize>> {
    let Some(name) = &table.time else {
        return Ok(None);
    };
    let index = columns
        .iter()
        .position(|column| column.name == *name && is_time(column));
    ensure!(
        index.is_some(),
        "{}: time names {name}, which is not an integer, float or date-time column of its files",
        table.name
    );
    Ok(index)
}

/// Checks and returns the roles of the columns in a table of requests.
fn requests(table: &TableSpec, columns: &[Arc<Column>]) -> Result<Option<Requests>> {
    let Some(requests) = &table.requests else {
        return Ok(None);
    };
    ensure!(
        table.time.is_some(),
        "the table has a `time`, when requests arrive"
    );
    ensure!(
        requests.hash_ids.is_some() == requests.block_size.is_some_and(|tokens| tokens > 0),
        "hash_ids and block_size, the tokens of a block, go together"
    );
    let is_integer = |column: &Column| column.kind == Kind::Integer;
    let is_key = |column: &Column| matches!(column.kind, Kind::Integer | Kind::Text);
    let are_integers = |column: &Column| {
        column.kind == Kind::List && column.fields.iter().all(|item| is_integer(item))
    };
    let check = |name: &str, what: &str, is_right: &dyn Fn(&Column) -> bool| {
        let found = columns.iter().find(|column| column.name == name);
        ensure!(
            found.is_some_and(|column| is_right(column)),
            "{name} is not a column of kind {what}"
        );
        Ok(())
    };
    check(&requests.input_length, "integer", &is_integer)?;
    check(&requests.output_length, "integer", &is_integer)?;
    if let Some(name) = &requests.hash_ids {
        check(name, "list with integers", &are_integers)?;
    }
    for name in [&requests.session_id, &requests.service]
        .into_iter()
        .flatten()
    {
        check(name, "text or integer", &is_key)?;
    }
    Ok(Some(requests.clone()))
}

/// Whether a column can place rows in time.
fn is_time(column: &Column) -> bool {
    let is_kind = matches!(column.kind, Kind::Integer | Kind::Float | Kind::DateTime(_));
    is_kind && column.spelling.capture.is_none()
}

/// Names that have to be columns of a table.
fn names_of(table: &TableSpec, names: &[String]) -> Result<Vec<String>> {
    unique("column", names.iter().map(String::as_str))?;
    let known = names.iter().map(|name| {
        let is_known = table.column.iter().any(|column| *column.name == **name);
        ensure!(is_known, "{} has no column {name}", table.name);
        Ok(name.clone())
    });
    known.collect()
}

fn references(table: &TableSpec, tables: &[&TableSpec]) -> Result<Vec<Reference>> {
    let references = table.references.iter().map(|spec| {
        let Some(other) = tables.iter().find(|other| *other.name == spec.table) else {
            bail!("there is no table {}", spec.table);
        };
        let to = if spec.to.is_empty() {
            &spec.columns
        } else {
            &spec.to
        };
        ensure!(
            !to.is_empty() && to.len() == spec.columns.len(),
            "as many columns here as in {}",
            other.name
        );
        Ok(Reference {
            columns: names_of(table, &spec.columns)?,
            table: spec.table.clone(),
            to: names_of(other, to)?,
        })
    });
    references.collect()
}

fn shards(list: &[CellShards], cells: Option<&Cells>) -> Result<Vec<CellShards>> {
    unique("cell", list.iter().map(|shards| shards.cell.as_str()))?;
    let shards = list.iter().map(|shards| {
        let is_known = cells.is_some_and(|cells| cells.find(&shards.cell).is_some());
        ensure!(
            shards.count.max(shards.parquet) <= MOST_PARTS,
            "count: a cell has at most {MOST_PARTS} shards"
        );
        ensure!(is_known, "there is no cell {}", shards.cell);
        Ok(CellShards {
            cell: shards.cell.clone(),
            count: shards.count,
            parquet: shards.parquet,
            rows: shards.rows.as_ref().map(published).transpose()?,
        })
    });
    shards.collect()
}

/// The published count of a table, if there is one that holds for the version.
fn of_version(table: &TableSpec, trace: &str, traces: &[&str]) -> Result<Option<Published>> {
    let Some(spec) = &table.published else {
        return Ok(None);
    };
    let unknown = spec.not_of.iter().find(|name| !traces.contains(&&name[..]));
    if let Some(name) = unknown {
        bail!("not_of: there is no trace {name}");
    }
    let holds = !spec.not_of.iter().any(|name| name == trace);
    Ok(holds.then_some(published(spec)?))
}

fn published(spec: &Published) -> Result<Published> {
    Ok(Published {
        source: prose(&spec.source)?,
        not_of: Vec::new(),
        ..*spec
    })
}

/// The order of the fields in a version's files: that of the columns, without the absent ones.
fn fields(table: &TableSpec, trace: &str) -> Vec<usize> {
    let columns = table.column.iter().enumerate();
    let present = columns.filter(|(_, column)| {
        column.capture.is_none() && !column.absent_in.iter().any(|name| name == trace)
    });
    present.map(|(index, _)| index).collect()
}
