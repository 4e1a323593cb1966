//! A lake and what is asked for → which files of which rows: plain data.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tracelake_core::Context;
use tracelake_core::clustered::Clustered;
use tracelake_core::error::{Error, ErrorKind, Result, escape};
use tracelake_core::options::unknown_table;
use tracelake_core::origin::Origin;
use tracelake_core::part_key::{CellName, PartKey};
use tracelake_encode::output::OutputSettings;
use tracelake_lake::manifest::{AbsentTable, FileFacts, Manifest, PartFacts, TableFacts};
use tracelake_lake::plan_file::{PlanFile, PlannedPart, PlannedSource, PlannedTable};
use tracelake_lake::{Identity, PartName, manifest_facts, read_manifest};
use tracelake_location::Location;
use tracelake_schema::{Kind, Table, Trace};

use super::request::{Arrangement, ClusterRequest, FileCount, MOST_FILES};
use crate::plan::{PartPlan, unknown_key};

/// The files to make, and of which rows.
#[derive(Debug)]
pub struct ClusterPlan {
    pub(super) lake: Location,
    /// The trace with the columns of the lake.
    pub(super) trace: Arc<Trace>,
    /// The manifest of the lake, as the source of every file.
    pub(super) source: FileFacts,
    pub(super) origin: Origin,
    pub(super) output: OutputSettings,
    /// One for each table, and each cell of it, in the order of the manifest.
    pub(super) groups: Vec<Group>,
    pub(super) arrangement: Arrangement,
    /// The tables that the source of the lake doesn't have.
    pub(super) absent: Vec<AbsentTable>,
}

/// The rows of a table, in one cell if the lake has cells, and what becomes of them.
#[derive(Debug)]
pub struct Group {
    pub(super) table: Arc<Table>,
    pub(super) cell: Option<CellName>,
    /// The files of the lake, in the order of their numbers.
    pub(super) inputs: Vec<PartFacts>,
    pub(super) way: Way,
    /// Whether the lake has all that was published.
    pub(super) is_whole: bool,
    /// The files to make.
    pub(super) outputs: Vec<PartPlan>,
}

/// How the files of a group are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Way {
    /// Byte for byte.
    Copied,
    /// File I has the rows whose key has class I, in the order of these columns, the key first.
    Sorted(Vec<usize>),
    /// Each file has as many rows as the others, in their order.
    Cut,
}

impl Group {
    /// The name of the table.
    #[must_use]
    pub fn table_name(&self) -> &str {
        &self.table.name
    }

    /// The cell.
    #[must_use]
    pub fn cell(&self) -> Option<CellName> {
        self.cell
    }

    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> u64 {
        let rows = self.inputs.iter().map(|part| part.rows_out);
        rows.fold(0, u64::saturating_add)
    }

    /// The size of the files in the lake, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let bytes = self.inputs.iter().map(|part| part.output.bytes);
        bytes.fold(0, u64::saturating_add)
    }

    /// How many files there are in the lake.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.inputs.len()
    }

    /// The columns that order the rows, none if they keep their order; `None` if the files are copied.
    #[must_use]
    pub fn order(&self) -> Option<Vec<&str>> {
        let name = |&column: &usize| &*self.table.columns[column].name;
        match &self.way {
            Way::Copied => None,
            Way::Sorted(order) => Some(order.iter().map(name).collect()),
            Way::Cut => Some(Vec::new()),
        }
    }

    pub(super) fn name(&self, output: &PartPlan) -> PartName {
        PartName::new(&self.table.name, output.key)
    }

    /// The files to make.
    pub fn names(&self) -> impl Iterator<Item = PartName> {
        self.files().map(|(name, _)| name)
    }

    /// The files to make, each with its path in the lake that is made.
    fn files(&self) -> impl Iterator<Item = (PartName, String)> {
        let copied = self.inputs.iter().filter(|_| self.way == Way::Copied);
        let copied = copied.map(|part| {
            let name = PartName::new(&self.table.name, part.key());
            (name, part.output.path.clone())
        });
        let made = self.outputs.iter();
        copied.chain(made.map(|output| (self.name(output), output.output())))
    }
}

impl ClusterPlan {
    /// Reads the manifest of a lake, and decides what becomes of its files. Nothing is written.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if there is no finished lake; [`ErrorKind::Usage`] for a key or a table that it doesn't have,
    /// and for too many files.
    pub fn new(context: &Context, request: &ClusterRequest) -> Result<Self> {
        let lake = request.lake.within(context);
        let manifest = read_manifest(&lake)?;
        let source = manifest_facts(context, &lake)?;
        if read_manifest(&lake)? != manifest {
            let reason = "the lake has changed while its manifest was read";
            return Err(Error::new(ErrorKind::Refused, reason)
                .at(&lake)
                .hint("wait for the other run to end, and run the same command again"));
        }
        let trace = manifest.origin.find_trace().ok_or_else(|| {
            let name = escape(manifest.origin.trace.as_bytes(), 80);
            let reason = format!("a lake of the trace '{name}', which is not known");
            Error::new(ErrorKind::Refused, reason)
                .at(&lake)
                .hint("use the version of tracelake that made it")
        })?;
        for name in &request.tables {
            if trace.table(name).is_none() {
                return Err(unknown_table(name, &trace));
            }
        }
        let mut groups =
            groups(&manifest, &trace, &request.arrangement).map_err(|error| error.at(&lake))?;
        let files = number_of_files(request, &groups).map_err(|error| error.at(&lake))?;
        let is_asked = |name: &String| request.tables.is_empty() || request.tables.contains(name);
        groups.retain(|group| is_asked(&group.table.name));
        let has = |name: &&String| groups.iter().any(|group| group.table.name == **name);
        if let Some(name) = request.tables.iter().find(|name| !has(name)) {
            let reason = format!("the lake has no {name}");
            return Err(Error::new(ErrorKind::Usage, reason).at(&lake));
        }
        let (layout, format) = (
            manifest.origin.options.layout,
            manifest.origin.options.format,
        );
        for group in &mut groups {
            let count = files.map_or_else(|| request.files.of(group.bytes()), u64::from);
            let count = match group.way {
                Way::Copied => continue,
                _ => checked(count).map_err(|error| error.at(&lake))?,
            };
            let outputs = (0..count).map(|file_number| {
                let cell = group.cell;
                let key = PartKey { cell, file_number };
                PartPlan {
                    source: source.path.clone(),
                    bytes: Some(source.bytes),
                    total: Some(count),
                    ..PartPlan::new(key, &group.table.name, layout, format)
                }
            });
            group.outputs = outputs.collect();
        }
        let whole = trace.whole.as_ref().unwrap_or(&trace);
        let mut origin = Origin::of(whole, manifest.origin.options.clone());
        origin.synthetic = manifest.origin.synthetic;
        origin.clustered = Some(request.clustered(files, source.sha256));
        Ok(Self {
            output: OutputSettings::of(&origin.options)?,
            lake,
            trace,
            source,
            origin,
            groups,
            arrangement: request.arrangement.clone(),
            absent: manifest.absent,
        })
    }

    /// The identity of the lake that is made.
    pub(super) fn identity(&self) -> Identity {
        let has_cells = self.groups.iter().any(|group| group.cell.is_some());
        Identity::new(&self.origin, has_cells)
    }

    /// The files to make.
    pub(super) fn names(&self) -> impl Iterator<Item = PartName> {
        self.groups.iter().flat_map(Group::names)
    }

    /// The paths of the files to make, relative to the lake that is made.
    pub(super) fn paths(&self) -> BTreeMap<PartName, String> {
        self.groups.iter().flat_map(Group::files).collect()
    }

    /// The plan as the commit protocol has it: the source of every part is the manifest of the lake.
    pub(super) fn to_file(&self) -> PlanFile {
        let tables = self.groups.iter().map(|group| PlannedTable {
            name: group.table.name.clone(),
            fields: Vec::new(),
        });
        let mut file = PlanFile::new(1, tables.collect());
        let parts = self.names().map(|name| PlannedPart {
            table: name.table.to_string(),
            cell: name.key.cell,
            file_number: name.key.file_number,
            shard: 0,
            source: PlannedSource {
                path: self.source.path.clone(),
                bytes: Some(self.source.bytes),
                sha256: None,
            },
        });
        file.parts = parts.collect();
        file
    }

    /// The lake whose rows are taken.
    #[must_use]
    pub fn lake(&self) -> &Location {
        &self.lake
    }

    /// How its rows are arranged, for people.
    #[must_use]
    pub fn clustered(&self) -> String {
        let clustered = self.origin.clustered.as_ref();
        clustered.map(Clustered::to_string).unwrap_or_default()
    }

    /// The work on each table, in each cell, in the order of the lake.
    #[must_use]
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// How many files are made.
    #[must_use]
    pub fn parts(&self) -> u64 {
        self.names().count() as u64
    }

    /// The size of all files that are read, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.groups
            .iter()
            .fold(0, |bytes, group| bytes.saturating_add(group.bytes()))
    }
}

/// The tables and cells of a lake, each without outputs.
fn groups(manifest: &Manifest, trace: &Trace, arrangement: &Arrangement) -> Result<Vec<Group>> {
    if let Arrangement::By(key) = arrangement
        && trace.sample_key(key).is_none()
    {
        return Err(unknown_key(key, trace));
    }
    let mut groups = Vec::new();
    for facts in &manifest.tables {
        let table = trace.table(&facts.name).ok_or_else(|| {
            let reason = format!("{} has no table {}", trace.name, facts.name);
            Error::new(ErrorKind::Refused, reason).hint("use the version of tracelake that made it")
        })?;
        for (cell, facts) in facts.by_cell() {
            let way = match arrangement {
                Arrangement::Compact => Way::Cut,
                Arrangement::By(key) => match trace.key_index(key, table) {
                    Some(column) => Way::Sorted(row_order(table, column)),
                    None => Way::Copied,
                },
            };
            let mut inputs = facts.parts.clone();
            inputs.sort_by_key(|part| part.file_number);
            groups.push(Group {
                table: Arc::clone(table),
                cell,
                is_whole: is_whole(manifest, &facts, table),
                inputs,
                way,
                outputs: Vec::new(),
            });
        }
    }
    if let Arrangement::By(key) = arrangement
        && !groups.iter().any(|group| group.way != Way::Copied)
    {
        let reason = format!("no table of the lake has the key '{key}'");
        return Err(
            Error::new(ErrorKind::Usage, reason).hint("cluster by another key, or pass --compact")
        );
    }
    Ok(groups)
}

/// Whether a lake has all parts of a table in a cell: those that were published or, of a synthetic trace and if their
/// number isn't known, those that the names of the files ask for.
fn is_whole(manifest: &Manifest, facts: &TableFacts, table: &Table) -> bool {
    let options = &manifest.origin.options;
    let published = options.published_parts(table, facts.cell());
    if facts.is_whole(table, options) {
        return true;
    }
    if published > 0 && !manifest.origin.synthetic {
        return false;
    }
    let numbers: BTreeSet<u32> = facts.parts.iter().map(|part| part.file_number).collect();
    let totals = facts.parts.iter().filter_map(|part| {
        let (_, total) = part.output.path.rsplit_once("-of-")?;
        total.split_once('.')?.0.parse().ok()
    });
    let cut = facts.parts.iter().filter_map(|part| part.of);
    let total: Option<u32> = totals.chain(cut).max();
    let first = numbers.first().copied().unwrap_or_default();
    let last = numbers.last().copied().unwrap_or_default();
    let count = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
    first <= 1 && last - first < count && total.is_none_or(|total| total == count)
}

/// The columns that order the rows of a table: the key, what else a row is about, and its time.
fn row_order(table: &Table, key: usize) -> Vec<usize> {
    let mut order = vec![key];
    let entity = table.entity.iter().filter_map(|name| table.column(name));
    for index in entity.map(|(index, _)| index).chain(table.time) {
        let is_flat = !matches!(table.columns[index].kind, Kind::Struct | Kind::List);
        if is_flat && !order.contains(&index) {
            order.push(index);
        }
    }
    order
}

/// The number of files, if all tables with the key have one number of them, or it is asked for.
fn number_of_files(request: &ClusterRequest, groups: &[Group]) -> Result<Option<u32>> {
    let is_one = matches!(request.arrangement, Arrangement::By(_))
        || matches!(request.files, FileCount::Files(_));
    if !is_one {
        return Ok(None);
    }
    let with_key = groups.iter().filter(|group| group.way != Way::Copied);
    let largest = with_key.map(Group::bytes).max().unwrap_or_default();
    checked(request.files.of(largest)).map(Some)
}

/// A number of files, unless there are too many.
fn checked(files: u64) -> Result<u32> {
    u32::try_from(files)
        .ok()
        .filter(|files| *files <= MOST_FILES)
        .ok_or_else(|| {
            let reason = format!("{files} files a table, and there may be at most {MOST_FILES}");
            Error::new(ErrorKind::Usage, reason).hint("pass a larger --file-size, or --files")
        })
}
