//! What is in a lake or in a source, as plain data.

use std::path::Path;

use serde::Serialize;
use tracelake_schema::Table;

use crate::error::Result;
use crate::manifest::TableFacts;
use crate::plan::{ChecksumSource, Request, plan};
use crate::store::{HOME, read_manifest};

/// What is in a lake or in a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Inventory {
    /// `lake` or `source`.
    pub what: &'static str,
    /// The trace.
    pub trace: String,
    /// Whether `tracelake generate` made it, or the source of the lake.
    pub synthetic: bool,
    /// Its tables, in the order of the trace.
    pub tables: Vec<TableInventory>,
    /// Tables of the trace that are not there.
    pub absent: Vec<String>,
}

/// One table of a lake or of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TableInventory {
    /// Its name.
    pub name: String,
    /// How many of its parts are there; of a source its files, one of which may hold several tables.
    pub parts: usize,
    /// File numbers below the total that are not there; of a source only.
    pub missing: Vec<u32>,
    /// Rows; of a lake only, since those of a source are not counted before they are read.
    pub rows: Option<u64>,
    /// The rows that were published in all parts, by the count that the catalog has.
    pub published_rows: Option<u64>,
    /// How many rows more than that the sources of a lake have, less than 0 where some are missing;
    /// nothing while parts are missing.
    pub more_than_published: Option<i64>,
    /// The size of its files in bytes.
    pub bytes: u64,
    /// The smallest value of its time column; of a lake only.
    pub time_min: Option<i64>,
    /// The largest value of its time column; of a lake only.
    pub time_max: Option<i64>,
}

/// Looks at a lake, by its manifest, or at a source, by its files' names.
///
/// # Errors
/// When it is neither, or a lake that is not finished.
pub fn inspect(path: &Path) -> Result<Inventory> {
    if path.join(HOME).is_dir() {
        inspect_lake(path)
    } else {
        inspect_source(path)
    }
}

fn inspect_lake(path: &Path) -> Result<Inventory> {
    let manifest = read_manifest(path)?;
    let known = tracelake_schema::trace(&manifest.origin.trace);
    let inventory = |facts: &TableFacts| {
        let table = known.and_then(|trace| trace.table(&facts.name));
        TableInventory {
            name: facts.name.clone(),
            parts: facts.parts.len(),
            missing: Vec::new(),
            rows: Some(facts.rows),
            published_rows: table.and_then(published_rows),
            more_than_published: table.and_then(|table| facts.more_than_published(table)),
            bytes: facts.parts.iter().map(|part| part.output.bytes).sum(),
            time_min: facts.parts.iter().filter_map(|part| part.time_min).min(),
            time_max: facts.parts.iter().filter_map(|part| part.time_max).max(),
        }
    };
    let tables: Vec<TableInventory> = manifest.tables.iter().map(inventory).collect();
    let names = known
        .into_iter()
        .flat_map(|trace| trace.tables)
        .map(|table| table.name);
    let absent = names.filter(|name| !tables.iter().any(|table| table.name == *name));
    let absent = absent.map(str::to_owned).collect();
    Ok(Inventory {
        what: "lake",
        synthetic: manifest.origin.synthetic,
        trace: manifest.origin.trace,
        tables,
        absent,
    })
}

fn published_rows(table: &Table) -> Option<u64> {
    table.published.map(|published| published.rows)
}

fn inspect_source(path: &Path) -> Result<Inventory> {
    let mut request = Request::new(path.to_owned());
    request.allow_missing = true;
    request.checksums = ChecksumSource::None;
    let plan = plan(&request)?;
    let tables = plan.tables.iter().enumerate().map(|(index, table)| {
        let whole = plan.stream_of(index);
        let bytes = table.parts.iter().map(|part| part.bytes);
        TableInventory {
            name: table.layout.table.name.to_owned(),
            parts: table.parts.len() + usize::from(whole.is_some()),
            missing: table.missing.clone(),
            rows: None,
            published_rows: published_rows(table.layout.table),
            more_than_published: None,
            bytes: bytes.chain(whole.map(|stream| stream.bytes)).sum(),
            time_min: None,
            time_max: None,
        }
    });
    Ok(Inventory {
        what: "source",
        synthetic: plan.origin.synthetic,
        trace: plan.trace.name.to_owned(),
        tables: tables.collect(),
        absent: plan.absent.iter().map(|name| (*name).to_owned()).collect(),
    })
}
