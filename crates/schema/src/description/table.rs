//! The tables of a version.

use super::fault::{Fault, Result, Within, bail, ensure};
use super::files::{self, csv};
use super::spec::{PublishedSpec, ShardsSpec, TableSpec};
use super::words::{identifier, leak, one_of, prose, unique};
use crate::{CellShards, Cells, Column, Confidence, Files, Kind, Published, Reference, Table};

/// The most parts of a table, and shards of a cell; published tables have up to 12,085. A description alone must not decide
/// how much memory a plan takes.
pub const MOST_PARTS: u32 = 1_000_000;

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
    pub(super) fn table(&self, spec: &TableSpec, columns: &'static [Column]) -> Result<Table> {
        self.unnamed_table(spec, columns).within_named(&spec.name)
    }

    fn unnamed_table(&self, spec: &TableSpec, columns: &'static [Column]) -> Result<Table> {
        let naming = files::naming(spec)?;
        ensure!(
            spec.parts <= MOST_PARTS,
            "parts: a table has at most {MOST_PARTS}"
        );
        ensure!(
            !spec.parquet || spec.files == Files::Shards,
            "parquet: only of a table with files = \"shards\""
        );
        let published = of_version(spec, self.name, self.all);
        Ok(Table {
            name: leak(identifier(&spec.name)?),
            summary: leak(prose(&spec.summary).within("summary")?),
            columns,
            fields: fields(spec, self.name),
            files: spec.files,
            syntax: spec.syntax,
            parquet: spec.parquet,
            naming,
            csv: csv(spec)?,
            parts: match (spec.parts, naming.count()) {
                (0, Some(count)) if spec.files == Files::Named => count,
                (parts, _) => parts,
            },
            published: published.within("published")?,
            shards: shards(&spec.shards, self.cells).within("shards")?,
            required: spec
                .required
                .as_deref()
                .map(prose)
                .transpose()
                .within("required")?
                .map(leak),
            entity: names_of(spec, &spec.entity).within("entity")?,
            primary_key: names_of(spec, &spec.primary_key).within("primary_key")?,
            references: references(spec, self.tables).within("references")?,
            time: time(spec, columns)?,
            synthetic: leak(spec.synthetic.as_str()),
        })
    }
}

/// The index of the column that a table names as its time.
fn time(table: &TableSpec, columns: &[Column]) -> Result<Option<usize>> {
    let Some(name) = &table.time else {
        return Ok(None);
    };
    let index = columns
        .iter()
        .position(|column| column.name == name && is_time(column));
    ensure!(
        index.is_some(),
        "{}: time names {name}, which is not an integer, float or date-time column of its files",
        table.name
    );
    Ok(index)
}

/// Whether a column can place rows in time.
fn is_time(column: &Column) -> bool {
    let is_kind = matches!(column.kind, Kind::Integer | Kind::Float | Kind::DateTime(_));
    is_kind && column.spelling.capture.is_none()
}

/// Names that have to be columns of a table.
fn names_of(table: &TableSpec, names: &[String]) -> Result<&'static [&'static str]> {
    unique("column", names.iter().map(String::as_str))?;
    let known = names.iter().map(|name| {
        let is_known = table.column.iter().any(|column| *column.name == **name);
        ensure!(is_known, "{} has no column {name}", table.name);
        Ok(leak(name.as_str()))
    });
    Ok(known.collect::<Result<Vec<_>>>()?.leak())
}

fn references(table: &TableSpec, tables: &[&TableSpec]) -> Result<&'static [Reference]> {
    let references = table.references.iter().map(|spec| {
        let Some(other) = tables.iter().find(|other| *other.name == *spec.table) else {
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
            table: leak(&*other.name),
            to: names_of(other, to)?,
        })
    });
    Ok(references.collect::<Result<Vec<_>>>()?.leak())
}

fn shards(list: &[ShardsSpec], cells: Option<&Cells>) -> Result<&'static [CellShards]> {
    unique("cell", list.iter().map(|shards| shards.cell.as_str()))?;
    let shards = list.iter().map(|shards| {
        let cell = cells.and_then(|cells| cells.find(&shards.cell));
        ensure!(
            shards.count.max(shards.parquet) <= MOST_PARTS,
            "count: a cell has at most {MOST_PARTS} shards"
        );
        Ok(CellShards {
            cell: leak(
                cell.ok_or_else(|| Fault::new(format!("there is no cell {}", shards.cell)))?,
            ),
            count: shards.count,
            parquet: shards.parquet,
            rows: shards.rows.as_ref().map(published).transpose()?,
        })
    });
    Ok(shards.collect::<Result<Vec<_>>>()?.leak())
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

fn published(spec: &PublishedSpec) -> Result<Published> {
    Ok(Published {
        rows: spec.rows,
        confidence: one_of(
            "confidence",
            &spec.confidence,
            Confidence::ALL,
            Confidence::name,
        )?,
        source: leak(prose(&spec.source)?),
    })
}

/// The order of the fields in a version's files: that of the columns, without the absent ones.
fn fields(table: &TableSpec, trace: &str) -> &'static [usize] {
    let columns = table.column.iter().enumerate();
    let present = columns.filter(|(_, column)| {
        column.capture.is_none() && !column.absent_in.iter().any(|name| name == trace)
    });
    present.map(|(index, _)| index).collect::<Vec<_>>().leak()
}
