//! What is in a lake or in a source, as plain data.

use std::collections::BTreeMap;

use serde::Serialize;
use tracelake_schema::{Table, Trace};

use crate::error::Result;
use crate::location::Location;
use crate::manifest::{Manifest, PartFacts, TableFacts};
use crate::plan::{ChecksumSource, Request, plan};
use crate::release_files::{Gap, TableGap, completeness};
use crate::store::{HOME, Progress, read_manifest, unfinished};

/// The most missing file numbers that are listed for a table of a lake. A manifest may say anything,
/// and must not decide how much memory a look at it takes.
const LISTED: usize = 100_000;

/// What is in a lake or in a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Inventory {
    /// `lake` or `source`.
    pub what: &'static str,
    /// Whether the lake is finished; `None` for a source. An unfinished lake has no manifest yet: its
    /// tables have the parts that are done, and `missing` is what is left of them.
    pub finished: Option<bool>,
    /// The trace.
    pub trace: String,
    /// Whether `tracelake generate` made it, or the source of the lake.
    pub synthetic: bool,
    /// Its tables, in the order of the trace.
    pub tables: Vec<TableInventory>,
    /// Tables of the trace that the lake or the source doesn't have.
    pub absent: Vec<String>,
}

/// One table of a lake or of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TableInventory {
    /// Its name.
    pub name: String,
    /// How many parts there are; of a source its files, one of which may hold several tables.
    pub parts: usize,
    /// File numbers that are missing: below the total that the names of the files give, and, in a
    /// finished lake, of the parts that were published.
    pub missing: Vec<u32>,
    /// Rows; of a lake only, since those of a source are not counted before they are read.
    pub rows: Option<u64>,
    /// Rows that were rejected; of a lake only.
    pub rejected: Option<u64>,
    /// The rows that were published in all parts, by the count that the catalog has.
    pub published_rows: Option<u64>,
    /// How many more rows the sources of a lake have than were published, negative if some are missing;
    /// `None` while parts are missing.
    pub more_than_published: Option<i64>,
    /// The size of its files in bytes.
    pub bytes: u64,
    /// The smallest value of its time column; of a lake only.
    pub time_min: Option<i64>,
    /// The largest value of its time column; of a lake only.
    pub time_max: Option<i64>,
}

/// Looks at a lake, by its manifest, or at a source, by the names of its files.
///
/// A lake that isn't finished is described by its journal: what is done and what is left.
///
/// # Errors
/// When it is neither.
pub fn inspect(path: impl Into<Location>) -> Result<Inventory> {
    let location = path.into();
    let lake = location.as_path().filter(|path| path.join(HOME).is_dir());
    let Some(path) = lake else {
        return inspect_source(&location);
    };
    match unfinished(path)? {
        Some(Progress {
            origin: Some(origin),
            parts,
            ..
        }) => {
            let tables = tables_of(parts);
            Ok(inspect_lake(Manifest { origin, tables }, false))
        }
        _ => Ok(inspect_lake(read_manifest(path)?, true)),
    }
}

/// The tables of a journal, in which a part that was converted again is listed again: its last line
/// counts.
fn tables_of(parts: Vec<(String, PartFacts)>) -> Vec<TableFacts> {
    let mut tables: BTreeMap<String, BTreeMap<u32, PartFacts>> = BTreeMap::new();
    for (table, facts) in parts {
        let table = tables.entry(table).or_default();
        table.insert(facts.file_number, facts);
    }
    let tables = tables.into_iter().map(|(name, parts)| TableFacts {
        name,
        schema_fingerprint: String::new(),
        rows: parts
            .values()
            .map(|part| part.rows_out)
            .fold(0, u64::saturating_add),
        parts: parts.into_values().collect(),
    });
    tables.collect()
}

fn inspect_lake(mut manifest: Manifest, finished: bool) -> Inventory {
    let known = tracelake_schema::trace(&manifest.origin.trace);
    let rank = |name: &str| {
        let mut tables = known.into_iter().flat_map(Trace::all_tables);
        tables.position(|table| table.name == name)
    };
    manifest
        .tables
        .sort_by_key(|table| rank(&table.name).unwrap_or(usize::MAX));
    let gaps = known.map_or_else(Vec::new, |trace| completeness(trace, &manifest).gaps);
    let inventory = |facts: &TableFacts| {
        let table = known.and_then(|trace| trace.table(&facts.name));
        let rejected = facts.parts.iter().map(|part| part.rows_rejected);
        TableInventory {
            name: facts.name.clone(),
            parts: facts.parts.len(),
            missing: missing(&gaps, &facts.name),
            rows: Some(facts.rows),
            rejected: Some(rejected.fold(0, u64::saturating_add)),
            published_rows: table.and_then(published_rows),
            more_than_published: table.and_then(|table| facts.more_than_published(table)),
            bytes: facts
                .parts
                .iter()
                .map(|part| part.output.bytes)
                .fold(0, u64::saturating_add),
            time_min: facts.parts.iter().filter_map(|part| part.time_min).min(),
            time_max: facts.parts.iter().filter_map(|part| part.time_max).max(),
        }
    };
    let tables: Vec<TableInventory> = manifest.tables.iter().map(inventory).collect();
    let names = known.into_iter().flat_map(|trace| trace.tables);
    let absent = names.map(|table| table.name.to_owned());
    let absent = absent.filter(|name| !tables.iter().any(|table| table.name == *name));
    Inventory {
        what: "lake",
        synthetic: manifest.origin.synthetic,
        finished: Some(finished),
        absent: absent.collect(),
        trace: manifest.origin.trace,
        tables,
    }
}

/// The file numbers of a table that keep the lake from being the whole trace.
fn missing(gaps: &[TableGap], table: &str) -> Vec<u32> {
    let gaps = gaps.iter().filter(|gap| gap.table == table);
    let runs = gaps.flat_map(|gap| match &gap.gap {
        Gap::Parts { missing, .. } => &missing[..],
        Gap::Absent | Gap::Rows { .. } => &[],
    });
    let numbers = runs.flat_map(|&(first, last)| first..=last);
    numbers.take(LISTED).collect()
}

fn published_rows(table: &Table) -> Option<u64> {
    table.published.map(|published| published.rows)
}

fn inspect_source(path: &Location) -> Result<Inventory> {
    let mut request = Request::new(path);
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
            rejected: None,
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
        finished: None,
        trace: plan.trace.name.to_owned(),
        tables: tables.collect(),
        absent: plan.absent.iter().map(|name| (*name).to_owned()).collect(),
    })
}
