//! The contents of a lake or a source, as plain data.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use tracelake_convert::plan::{ChecksumSource, Request, plan, sum};
use tracelake_core::Context;
use tracelake_core::date_time::shown;
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::origin::Origin;
use tracelake_core::part_key::{CellName, of_cell};
use tracelake_core::words::{self, group_digits, several};
use tracelake_lake::manifest::{Manifest, TableFacts};
use tracelake_lake::plan_file::PlanFile;
use tracelake_lake::{
    HOME, Parts, Progress, Remaining, STALE, is_stale, manifest_facts, parts_of, progress,
    release_sums, remaining,
};
use tracelake_location::{Listing, Location};
use tracelake_schema::{Kind, Table, Trace};

use crate::release_files::{Gap, TableGap, completeness, is_far_short, parts_alone};

/// The most missing file numbers that are listed for a table of a lake. A manifest may say anything,
/// and must not decide how much memory a look at it takes.
const LISTED: usize = 100_000;

/// The most shards that are listed.
const SHARDS_LISTED: u32 = 100_000;

/// The contents of a lake or a source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Inventory {
    /// `lake` or `source`.
    pub what: &'static str,
    /// Whether the lake is finished; `None` for a source. An unfinished lake has no manifest yet: its
    /// tables have the parts that are done, and `missing` is what is remaining of them.
    pub finished: Option<bool>,
    /// The trace.
    pub trace: String,
    /// Whether `tracelake generate` made it, or the source of the lake.
    pub synthetic: bool,
    /// The SHA-256 of the manifest, which names the whole lake; absent if there is none yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The options by which a lake has a selection of its trace, by their names; absent if it has none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub selection: BTreeMap<String, String>,
    /// Its tables, in the order of the trace.
    pub tables: Vec<TableInventory>,
    /// Tables of the trace that the lake or the source doesn't have; `jobs of cell b` if only one cell lacks
    /// it.
    pub absent: Vec<String>,
    /// Notes for people on parts and files that the tables don't show.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The shards of an unfinished lake that has a plan, as far as their workers have noted what they did; the
    /// files aren't checked. A run without shards into a bucket is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shards: Option<Vec<ShardInventory>>,
}

impl Inventory {
    /// The error for parts that a source lacks; `None` if it has all that are known of. An unfinished or a finished lake
    /// shows what it lacks, and that is no error.
    #[must_use]
    pub fn missing(&self) -> Option<Error> {
        let mut tables = self.tables.iter().filter(|_| self.what == "source");
        let table = tables.find(|table| !table.missing.is_empty())?;
        let numbers = words::numbers(&table.missing);
        let parts = several(table.missing.len() as u64, "part");
        let verb = if table.missing.len() == 1 {
            "is"
        } else {
            "are"
        };
        let reason = format!("{parts}{} {verb} missing: {numbers}", of_cell(table.cell));
        Some(
            Error::new(ErrorKind::Failed, reason)
                .field(table.name.clone())
                .hint("download them, or pass --allow-missing"),
        )
    }
}

/// Progress of a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShardInventory {
    /// Its number, from 0.
    pub shard: u32,
    /// How many files it reads.
    pub files: u64,
    /// Their size in bytes; `None` if that of one isn't known.
    pub bytes: Option<u64>,
    /// How many parts are remaining, of files whose number of parts is known.
    pub parts_left: usize,
    /// Files that are cut into parts, and were not read to their end; relative to SRC.
    pub files_left: Vec<String>,
}

impl ShardInventory {
    /// Whether everything is done.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.parts_left == 0 && self.files_left.is_empty()
    }
}

/// One table of a lake or of a source; where there are cells, of one cell.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TableInventory {
    /// Its name.
    pub name: String,
    /// The cell, if there are cells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell: Option<CellName>,
    /// How many parts there are; of a source its files, one of which may hold several tables.
    pub parts: usize,
    /// How many parts the runs on an unfinished lake were asked for, if their number was known then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<usize>,
    /// File numbers that are missing: below the total that the names of the files give, and, in a
    /// finished lake, of the parts that were published.
    pub missing: Vec<u32>,
    /// Whether parts were missing in the lake that it was clustered from.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lacked_parts: bool,
    /// Rows; of a lake only, since those of a source are not counted before they are read.
    pub rows: Option<u64>,
    /// Rows that were rejected; of a lake only.
    pub rejected: Option<u64>,
    /// Rows that the selection of a lake leaves out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_selected: Option<u64>,
    /// The rows that were published in all parts, by the count that the catalog has.
    pub published_rows: Option<u64>,
    /// How many more rows the sources of a lake have than were published, negative if some are missing;
    /// `None` while parts are missing.
    pub more_than_published: Option<i64>,
    /// The size of its files in bytes; `None` if that of one isn't known.
    pub bytes: Option<u64>,
    /// The unit of its time column, such as `microseconds`.
    pub time_unit: Option<String>,
    /// The smallest value of its time column; of a lake only.
    pub time_min: Option<i64>,
    /// The largest value of its time column; of a lake only.
    pub time_max: Option<i64>,
    /// The smallest and the largest value as people read them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<[String; 2]>,
}

/// Looks at a lake, by its manifest, or at a source, by the names of its files.
///
/// A lake that isn't finished is described by its facts, and by the plan of its shards if it has one:
/// what is done and what is remaining.
///
/// ```
/// use std::path::Path;
///
/// # let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/sample");
/// let context = tracelake_core::Context::new();
/// let source = tracelake_verify::inspect::inspect(&context, Path::new(sample))?;
/// assert_eq!(source.what, "source");
/// assert!(source.tables.iter().all(|table| table.rows.is_none())); // not counted before they are read
/// # Ok::<(), tracelake_core::Error>(())
/// ```
///
/// # Errors
/// When it is neither.
pub fn inspect(context: &Context, path: impl Into<Location>) -> Result<Inventory> {
    inspect_as(context, path, None)
}

/// Looks at a lake or a source as [`inspect`] does; a source is of this trace, if one is given.
///
/// # Errors
/// When it is neither.
pub fn inspect_as(
    context: &Context,
    path: impl Into<Location>,
    trace: Option<&Arc<Trace>>,
) -> Result<Inventory> {
    let location = path.into().within(context);
    let is_lake = match &location {
        Location::Disk(path) => path.join(HOME).is_dir(),
        Location::Url(url) if url.is_bucket() => {
            let entries = Listing::of(&location)?.entries("")?;
            entries.iter().any(|entry| entry.name == HOME)
        }
        Location::Url(_) => false,
    };
    if !is_lake {
        return inspect_source(context, &location, trace);
    }
    let Some(progress) = progress(&location)? else {
        return Err(Error::new(
            ErrorKind::Refused,
            "not a finished lake: nothing is in it yet",
        )
        .at(&location)
        .hint("run convert until it succeeds"));
    };
    let (trace, plans) = (&*progress.identity.trace()?, &progress.plans);
    if let Some(manifest) = &progress.manifest {
        let mut inventory = inspect_lake(manifest.clone(), true);
        inventory.digest = Some(manifest_facts(context, &location)?.sha256);
        inventory
            .notes
            .extend(notes_beyond(context, &location, &progress)?);
        return Ok(inventory);
    }
    let origin = progress.identity.origin.clone();
    let tables = tables_of(trace, &progress.made);
    let mut inventory = inspect_lake(Manifest::new(origin, Digest::of(b""), tables), false);
    if let Some(plan) = plans.first() {
        let remaining = remaining(trace, plan, &progress.made, &Parts::new(), &progress.counts);
        inventory.shards = Some(shards(plan, &remaining));
        add_remaining(&mut inventory, trace, plan, &remaining);
    }
    if plans.len() > 1 {
        let more = several(plans.len() as u64 - 1, "other plan");
        inventory
            .notes
            .push(format!("{more} of shards in progress"));
    }
    inventory.notes.extend(unnamed_note(&progress));
    Ok(inventory)
}

/// Notes on files of a lake that its manifest doesn't name, and on its release.
fn notes_beyond(context: &Context, root: &Location, progress: &Progress) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    let made = progress.made.len() as u64;
    if made > 0 {
        let tables = words::tables(counts_of(&progress.made));
        notes.push(format!("made, but not committed yet: {tables}"));
    }
    if !progress.plans.is_empty() {
        let plans = several(progress.plans.len() as u64, "plan");
        notes.push(format!("{plans} of shards not committed yet"));
    }
    notes.extend(unnamed_note(progress));
    if let Some(first) = progress.lost.first() {
        let files = several(progress.lost.len() as u64, "committed file");
        notes.push(format!(
            "missing or of another size: {files}, such as {first}; convert makes them again"
        ));
    }
    if release_sums(root)?.is_some() {
        let manifest = manifest_facts(context, root)?;
        notes.extend((is_stale(root, manifest.sha256)? == Some(true)).then(|| STALE.to_owned()));
    }
    Ok(notes)
}

fn unnamed_note(progress: &Progress) -> Option<String> {
    let unnamed = progress.unnamed.len() as u64;
    let files = several(unnamed, "output");
    (unnamed > 0).then(|| {
        format!(
            "{files} that no run recorded, such as {}",
            progress.unnamed[0]
        )
    })
}

/// How many parts of each table there are.
fn counts_of(parts: &Parts) -> Vec<(&str, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in parts.keys() {
        *counts.entry(&*name.table).or_default() += 1;
    }
    counts.into_iter().collect()
}

/// Progress of each shard of a plan.
fn shards(plan: &PlanFile, remaining: &BTreeMap<u32, Remaining>) -> Vec<ShardInventory> {
    let shards = (0..plan.shards.min(SHARDS_LISTED)).map(|shard| {
        let (files, bytes) = plan.share(shard);
        let of_shard = remaining.get(&shard);
        let parts = of_shard
            .into_iter()
            .flat_map(|remaining| remaining.parts.values());
        ShardInventory {
            shard,
            files,
            bytes,
            parts_left: parts.map(Vec::len).sum(),
            files_left: of_shard.map_or_else(Vec::new, |remaining| remaining.files.clone()),
        }
    });
    shards.collect()
}

/// Adds the planned tables of which nothing is done yet, and says what of each table is remaining.
fn add_remaining(
    inventory: &mut Inventory,
    trace: &Trace,
    plan: &PlanFile,
    remaining: &BTreeMap<u32, Remaining>,
) {
    let cells: BTreeSet<Option<CellName>> = plan.parts.iter().map(|part| part.cell).collect();
    let cells = if cells.is_empty() {
        BTreeSet::from([None])
    } else {
        cells
    };
    let derived = plan.derived.iter().map(|derived| &derived.table);
    let names = plan.tables.iter().map(|table| &table.name).chain(derived);
    let planned = names.flat_map(|name| cells.iter().map(move |cell| (name, *cell)));
    for (name, cell) in planned {
        let parts = remaining
            .values()
            .filter_map(|remaining| remaining.parts.get(name))
            .flatten()
            .filter(|part| part.cell == cell);
        let mut missing: Vec<u32> = parts.map(|part| part.file_number).collect();
        missing.sort_unstable();
        missing.truncate(LISTED);
        let parts = plan.parts.iter();
        let planned_parts = parts.filter(|part| (&part.table, part.cell) == (name, cell));
        let asked = Some(planned_parts.count()).filter(|&count| count > 0);
        let mut tables = inventory.tables.iter_mut();
        if let Some(table) = tables.find(|table| (&table.name, table.cell) == (name, cell)) {
            table.missing = missing;
            table.asked = asked;
        } else if cell.is_none() || !missing.is_empty() {
            inventory.tables.push(TableInventory {
                name: name.clone(),
                cell,
                asked,
                missing,
                rows: Some(0),
                rejected: Some(0),
                published_rows: trace
                    .table(name)
                    .and_then(|table| published_rows(table, cell)),
                bytes: Some(0),
                time_unit: trace.table(name).and_then(|table| time_unit(table)),
                ..TableInventory::default()
            });
        }
    }
    inventory
        .tables
        .sort_by_key(|table| (place_in(trace, &table.name), table.cell));
    let tables = &inventory.tables;
    let is_absent = |name: &String| {
        let is_it = |table: &TableInventory| {
            table.name == *name || format!("{}{}", table.name, of_cell(table.cell)) == *name
        };
        !tables.iter().any(is_it)
    };
    inventory.absent.retain(is_absent);
}

/// The place of a table in its trace, derived tables after all others: inventories have their tables in this order.
fn place_in(trace: &Trace, table: &str) -> Option<usize> {
    trace.all_tables().position(|known| known.name == table)
}

/// The tables of parts that are made.
fn tables_of(trace: &Trace, parts: &Parts) -> Vec<TableFacts> {
    let tables = trace.all_tables().filter_map(|table| {
        let mut facts = TableFacts::new(&table.name, String::new());
        parts_of(parts, &table.name).for_each(|(_, part)| facts.push(part.clone()));
        (!facts.parts.is_empty()).then_some(facts)
    });
    tables.collect()
}

fn inspect_lake(mut manifest: Manifest, finished: bool) -> Inventory {
    let found = manifest.origin.find_trace();
    let known = found.as_deref();
    manifest.tables.sort_by_key(|table| {
        let place = known.and_then(|trace| place_in(trace, &table.name));
        (place.is_none(), place)
    });
    let gaps = known.map_or_else(Vec::new, |trace| completeness(trace, &manifest).gaps);
    let inventory = |(cell, facts): (Option<CellName>, Cow<'_, TableFacts>)| {
        let table = known.and_then(|trace| trace.table(&facts.name));
        let rejected = facts.parts.iter().map(|part| part.rows_rejected);
        let time_min = facts.parts.iter().filter_map(|part| part.time_min).min();
        let time_max = facts.parts.iter().filter_map(|part| part.time_max).max();
        let column = table.and_then(|table| Some(&table.columns[table.time?]));
        let times = column.zip(time_min.zip(time_max));
        TableInventory {
            name: facts.name.clone(),
            cell,
            parts: facts.parts.len(),
            asked: None,
            missing: missing(&gaps, &facts.name, cell),
            lacked_parts: lacked_parts(&facts, &manifest.origin, known),
            rows: Some(facts.rows),
            rejected: Some(rejected.fold(0, u64::saturating_add)),
            not_selected: facts.rows_not_selected,
            published_rows: table.and_then(|table| published_rows(table, cell)),
            more_than_published: table
                .and_then(|table| facts.more_than_published(table, &manifest.origin.options)),
            bytes: sum(facts.parts.iter().map(|part| Some(part.output.bytes))),
            time_unit: table.and_then(|table| time_unit(table)),
            time_min,
            time_max,
            times: times.map(|(column, (min, max))| [min, max].map(|time| shown(column, time))),
        }
    };
    let by_cell = manifest.tables.iter().flat_map(TableFacts::by_cell);
    let tables: Vec<TableInventory> = by_cell.map(inventory).collect();
    let cells = manifest.cells();
    let names = known.into_iter().flat_map(|trace| &trace.tables);
    let absent = names.flat_map(|table| absent(&table.name, &tables, &cells));
    Inventory {
        what: "lake",
        synthetic: manifest.origin.synthetic,
        finished: Some(finished),
        digest: None,
        absent: absent.collect(),
        selection: manifest.origin.options.selected(known),
        notes: notes_of_lake(&manifest.tables, &manifest.origin, known),
        trace: manifest.origin.trace,
        tables,
        shards: None,
    }
}

/// The parts that were converted alone, and the tables that have far fewer rows than were published.
fn notes_of_lake(tables: &[TableFacts], origin: &Origin, trace: Option<&Trace>) -> Vec<String> {
    let alone = tables.iter().flat_map(parts_alone);
    let by_cell = tables.iter().flat_map(TableFacts::by_cell);
    let short = by_cell.filter_map(|(cell, facts)| {
        let table = trace.filter(|_| !origin.synthetic)?.table(&facts.name)?;
        let published = table.published_in(cell)?.rows;
        let (rows, is_whole) = (facts.rows_in(), facts.is_whole(table, &origin.options));
        (is_whole && is_far_short(rows, published)).then(|| {
            format!(
                "{}{}: {} of {} published",
                facts.name,
                of_cell(cell),
                several(rows, "row"),
                group_digits(published)
            )
        })
    });
    let lacking = tables.iter().flat_map(TableFacts::by_cell);
    let lacking = lacking.filter(|(_, facts)| lacked_parts(facts, origin, trace));
    let lacking = lacking.map(|(cell, facts)| {
        format!(
            "{}{}: parts were missing in the lake that it was clustered from",
            facts.name,
            of_cell(cell)
        )
    });
    let clustered = origin
        .clustered
        .iter()
        .map(|how| format!("clustered {how}"));
    clustered.chain(alone).chain(short).chain(lacking).collect()
}

/// Whether parts were missing in the lake that a table was clustered from.
fn lacked_parts(facts: &TableFacts, origin: &Origin, trace: Option<&Trace>) -> bool {
    let table = trace.and_then(|trace| Some((trace, trace.table(&facts.name)?)));
    let how = origin.clustered.as_ref();
    let is_rearranged = how
        .zip(table)
        .is_some_and(|(how, (trace, table))| how.rearranges(trace, table));
    is_rearranged && facts.parts.iter().all(|part| part.of.is_none())
}

/// A table that a lake doesn't have, or the cells that lack it: `jobs of cell b`.
fn absent(
    name: &str,
    tables: &[TableInventory],
    cells: &BTreeSet<Option<CellName>>,
) -> Vec<String> {
    let own = tables.iter().filter(|table| table.name == name);
    let own_cells: BTreeSet<Option<CellName>> = own.map(|table| table.cell).collect();
    if own_cells.is_empty() {
        return vec![name.to_owned()];
    }
    let lacking = cells.difference(&own_cells);
    lacking
        .map(|cell| format!("{name}{}", of_cell(*cell)))
        .collect()
}

/// The file numbers of a table that keep the lake from being the whole trace.
fn missing(gaps: &[TableGap], table: &str, cell: Option<CellName>) -> Vec<u32> {
    let of_table = gaps
        .iter()
        .filter(|gap| gap.table == table && gap.cell == cell);
    let runs = of_table.flat_map(|gap| match &gap.gap {
        Gap::Parts { missing, .. } => &missing[..],
        Gap::Absent | Gap::Before { .. } | Gap::Rows { .. } => &[],
    });
    let numbers = runs.flat_map(|&(first, last)| first..=last);
    numbers.take(LISTED).collect()
}

fn published_rows(table: &Table, cell: Option<CellName>) -> Option<u64> {
    table.published_in(cell).map(|published| published.rows)
}

/// The unit of a table's time column, such as `microseconds`.
fn time_unit(table: &Table) -> Option<String> {
    let column = &table.columns[table.time?];
    if matches!(column.kind, Kind::DateTime(_)) {
        return Some("microseconds".to_owned());
    }
    let unit = column.unit.as_deref()?;
    unit.split_once(" since ").map(|(unit, _)| unit.to_owned())
}

fn inspect_source(
    context: &Context,
    path: &Location,
    trace: Option<&Arc<Trace>>,
) -> Result<Inventory> {
    let mut request = Request::new(path);
    request.trace = trace.cloned();
    request.allow_missing = true;
    request.checksums = ChecksumSource::None;
    let plan = plan(context, &request)?;
    let mut tables = Vec::new();
    for table in &plan.tables {
        let whole = plan.stream_of(&table.order.table.name);
        let present = table.parts.iter().map(|part| part.key);
        let keys = present.chain(table.missing.iter().copied());
        let cells: BTreeSet<Option<CellName>> = match whole {
            Some(_) => BTreeSet::from([None]),
            None => keys.map(|key| key.cell).collect(),
        };
        for cell in cells {
            let parts = table.parts.iter().filter(|part| part.key.cell == cell);
            let missing = table.missing.iter().filter(|key| key.cell == cell);
            let bytes = parts.clone().map(|part| part.bytes);
            tables.push(TableInventory {
                name: table.order.table.name.to_owned(),
                cell,
                parts: parts.count() + usize::from(whole.is_some()),
                missing: missing.map(|key| key.file_number).collect(),
                published_rows: published_rows(&table.order.table, cell),
                bytes: sum(bytes.chain(whole.map(|stream| stream.bytes))),
                time_unit: time_unit(&table.order.table),
                ..TableInventory::default()
            });
        }
    }
    Ok(Inventory {
        what: "source",
        synthetic: plan.origin.synthetic,
        trace: plan.trace.name.to_owned(),
        tables,
        notes: plan.notes().map(str::to_owned).collect(),
        absent: plan.absent,
        ..Inventory::default()
    })
}

#[cfg(test)]
mod tests;
