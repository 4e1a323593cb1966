//! A look at a lake: its identity, its outputs, the facts of parts and the manifest, in this order.
//!
//! An output is shown after its facts are put, and facts are removed after the manifest has them. So whatever other runs
//! make during the look, it finds no output that neither facts nor the manifest name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::options::OnBadRow;
use tracelake_core::words::{for_shell, several};
use tracelake_location::{Listed, Location};
use tracelake_schema::Trace;

use crate::backend::{Backend, Version, backend, paths_of};
use crate::facts::{self, Fact, Facts};
use crate::identity::{self, FoundIdentity, Identity, elsewhere};
use crate::manifest::{self, AbsentTable, FileFacts, Manifest, PartFacts};
use crate::outputs::{is_output, is_skipped, outputs_of, part_of, table_names};
use crate::parts::{PartName, Parts};
use crate::plan_file::{Assignment, PlanFile};
use crate::rules::{Rule, holds};
use crate::{FACTS, HOME, IDENTITY, LOCK, MANIFEST, PLANS, REPLACES, STAGING, WORK};

/// How many facts are in memory at a time while they are read.
const FACTS_AT_ONCE: usize = 512;

/// The goal of a run: a lake, and the parts to make.
pub struct Goal<'a> {
    /// The identity that the lake must have.
    pub identity: Identity,
    /// The parts; all of them are in shard 0 if the run isn't one of several shards.
    pub plan: &'a PlanFile,
    /// The shard that this run makes; `None` for all, with a commit.
    pub shard: Option<u32>,
    /// The policy for bad rows.
    pub on_bad_row: OnBadRow,
    /// The root of the source.
    pub source: &'a Location,
    /// The path of the file of a part, relative to the source.
    pub source_of: &'a (dyn Fn(&PartName) -> String + Sync),
    /// The path of the output of a part, relative to the lake.
    pub output_of: &'a (dyn Fn(&PartName) -> String + Sync),
}

impl Goal<'_> {
    /// Whether the run makes a part, or derives another one from it.
    pub(crate) fn wants(&self, assignment: &Assignment<'_>, name: &PartName) -> bool {
        assignment.is_for(self.shard.unwrap_or(0), &name.table, name.key)
    }
}

/// A place where a lake is or will be.
#[derive(Debug, Clone)]
pub struct Lake {
    pub(crate) backend: Arc<dyn Backend>,
}

impl Lake {
    /// The lake at `root`; nothing is looked at yet.
    #[must_use]
    pub fn at(root: &Location) -> Self {
        Self {
            backend: backend(root),
        }
    }

    /// The directory of the lake, or its prefix in a bucket.
    #[must_use]
    pub fn root(&self) -> &Location {
        self.backend.root()
    }

    /// Refuses to mix a lake with what would be another one.
    pub(crate) fn refuse_another(
        &self,
        then: Option<&FoundIdentity>,
        now: &Identity,
    ) -> Result<()> {
        let Some(then) = then else { return Ok(()) };
        let differences = then.identity.differences(now);
        if differences.is_empty() {
            return Ok(());
        }
        let reason = format!(
            "the lake was made with other options: {}",
            differences.join("; ")
        );
        let (lake, run) = (&then.identity, now);
        let other = elsewhere(&*self.backend);
        let hint = match () {
            () if lake.origin.trace != run.origin.trace => format!("use {other}"),
            // Which encoding a program has is nothing to choose.
            () if lake.origin.encoding != run.origin.encoding => {
                format!("use the version of tracelake that made it, or {other}")
            }
            () if lake.cells && !run.cells => format!("name the cell with --cell, or use {other}"),
            () => format!("use the same ones, or {other}"),
        };
        Err(Error::new(ErrorKind::Refused, reason)
            .at(self.root())
            .hint(hint))
    }
}

/// The content of a place.
pub(crate) enum Place {
    Nothing,
    SomethingElse,
    Lake(Box<FoundIdentity>),
}

/// Recognises a lake to make it or to go on with it; `None` where there is nothing yet.
///
/// # Errors
/// [`ErrorKind::Refused`] for something else, and as [`place_of`].
pub(crate) fn recognise(backend: &dyn Backend) -> Result<Option<FoundIdentity>> {
    match place_of(backend)? {
        Place::Nothing => Ok(None),
        Place::Lake(found) => Ok(Some(*found)),
        Place::SomethingElse => Err(Error::new(
            ErrorKind::Refused,
            "the directory holds something else",
        )
        .at(backend.root())
        .hint("name an empty or new directory for the lake")),
    }
}

/// Looks what is in a place.
///
/// # Errors
/// [`ErrorKind::Refused`] for a lake without identity.
pub(crate) fn place_of(backend: &dyn Backend) -> Result<Place> {
    if let Some(found) = identity::find(backend)? {
        return Ok(Place::Lake(Box::new(found)));
    }
    let mut files = backend.list("")?;
    files.retain(|file| {
        let is_staged = file
            .path
            .strip_prefix(STAGING)
            .is_some_and(|rest| rest.starts_with('/'));
        !is_staged && ![LOCK, WORK, REPLACES].contains(&&file.path[..])
    });
    if files.is_empty() {
        return Ok(Place::Nothing);
    }
    // Another run may have begun the lake after the first look.
    if holds(Rule::IdentityAfterListing)
        && let Some(found) = identity::find(backend)?
    {
        return Ok(Place::Lake(Box::new(found)));
    }
    let root = backend.root();
    let is_in_home = |file: &Listed| file.path.starts_with(HOME);
    let is_old = |file: &Listed| {
        let old = ["_tracelake/plan.json", "_tracelake/journal"];
        old.iter().any(|start| file.path.starts_with(start))
    };
    // A manifest of today names the identity.
    let is_of_today = matches!(FoundManifest::read(backend), Ok(FoundManifest::Whole(..)));
    let has_manifest = files.iter().any(|file| file.path == MANIFEST);
    let (reason, hint) = if files.iter().any(is_old) || has_manifest && !is_of_today {
        let reason = "the lake was made by a tracelake before 0.1.0";
        (
            reason,
            format!("convert again, into {}", elsewhere(backend)),
        )
    } else if files.iter().any(is_in_home) {
        (
            "the lake has lost _tracelake/lake.json",
            format!("restore it, or convert again, into {}", elsewhere(backend)),
        )
    } else {
        return Ok(Place::SomethingElse);
    };
    Err(Error::new(ErrorKind::Refused, reason).at(root).hint(hint))
}

/// The manifest as it was found.
#[derive(Debug, Default)]
pub(crate) enum FoundManifest {
    #[default]
    None,
    /// It isn't one, and what it was is lost.
    Damaged(Version, Error),
    Whole(Version, Box<Manifest>),
}

impl FoundManifest {
    pub(crate) fn read(backend: &dyn Backend) -> Result<Self> {
        let Some(found) = backend.get(MANIFEST, manifest::MOST_BYTES)? else {
            return Ok(Self::None);
        };
        let place = || backend.root().join(MANIFEST);
        match Manifest::read(&found.bytes) {
            Ok(manifest) => Ok(Self::Whole(found.version, Box::new(manifest))),
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                Ok(Self::Damaged(found.version, error.at(place())))
            }
            Err(error) => Err(error.at(place())),
        }
    }

    pub(crate) fn whole(&self) -> Option<&Manifest> {
        match self {
            Self::Whole(_, manifest) => Some(manifest),
            _ => None,
        }
    }

    /// Reads the manifest of the lake with this identity.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if it names another identity, or a table that the trace doesn't have.
    pub(crate) fn of_lake(backend: &dyn Backend, trace: &Arc<Trace>, lake: Digest) -> Result<Self> {
        let mut found = Self::read(backend)?;
        let Self::Whole(_, manifest) = &mut found else {
            return Ok(found);
        };
        manifest.origin.know(trace);
        if manifest.lake != lake && holds(Rule::FirstIdentityStays) {
            let reason = "isn't the one that the manifest names";
            return Err(Error::new(ErrorKind::Refused, reason)
                .at(backend.root().join(IDENTITY))
                .hint(format!(
                    "restore it from a copy of the lake, or convert again, into {}",
                    elsewhere(backend)
                )));
        }
        let is_known = |name: &str| trace.all_tables().any(|table| table.name == name);
        match manifest.tables.iter().find(|table| !is_known(&table.name)) {
            None => Ok(found),
            Some(table) => Err(Error::new(
                ErrorKind::Refused,
                format!("{} has no table {}", trace.name, table.name),
            )
            .at(backend.root().join(MANIFEST))
            .hint("use the version of tracelake that made the lake")),
        }
    }

    /// Its parts, of tables of the trace.
    pub(crate) fn parts(&self, trace: &Trace) -> Parts {
        self.whole()
            .map_or_else(Parts::new, |manifest| parts_in(manifest, trace))
    }
}

/// Refuses to add to a damaged manifest, or to remove anything beside it: what it named is lost.
pub(crate) fn refuse_damaged(lake: &Lake, manifest: &FoundManifest) -> Result<()> {
    match manifest {
        FoundManifest::Damaged(..) => Err(Error::new(
            ErrorKind::Refused,
            "the manifest is damaged, so what is committed isn't known",
        )
        .at(lake.root().join(MANIFEST))
        .hint(format!(
            "restore it, or run convert for all parts of the lake, which writes it again, or use {}",
            elsewhere(&*lake.backend)
        ))),
        _ => Ok(()),
    }
}

/// The parts of a manifest, of tables of the trace.
pub(crate) fn parts_in(manifest: &Manifest, trace: &Trace) -> Parts {
    let named = manifest.parts().filter_map(|(table, facts)| {
        let name = PartName::of(trace, table, facts.key())?;
        Some((name, facts.clone()))
    });
    named.collect()
}

/// A part that was recorded.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    pub(crate) facts: PartFacts,
    /// The tag that the source's store gave its bytes.
    pub(crate) tag: Option<String>,
}

/// A lake as a look found it, or a part of it.
#[derive(Debug, Default)]
pub(crate) struct Look {
    /// The outputs and rejects files, with their sizes.
    pub(crate) outputs: BTreeMap<String, u64>,
    /// Files in the directories of tables that no run can have made.
    pub(crate) foreign: Vec<String>,
    /// The parts that have facts, damaged or not.
    pub(crate) named: BTreeSet<PartName>,
    /// The facts that were asked for and are whole.
    pub(crate) recorded: BTreeMap<PartName, Recorded>,
    /// The tables that archives don't have, by facts.
    pub(crate) absent: BTreeSet<AbsentTable>,
    /// The paths of all facts.
    pub(crate) facts: Vec<String>,
    pub(crate) manifest: FoundManifest,
}

impl Look {
    /// Looks at all outputs, and reads the facts of the parts that are wanted.
    pub(crate) fn whole(
        backend: &dyn Backend,
        trace: &Arc<Trace>,
        lake: Digest,
        wants: &dyn Fn(&PartName) -> bool,
    ) -> Result<Self> {
        let mut look = Self::default();
        if !holds(Rule::FactsBeforeManifest) {
            look.manifest = FoundManifest::of_lake(backend, trace, lake)?;
        }
        look.list_outputs(backend, trace)?;
        let listed = paths_of(backend.list(FACTS)?);
        look.read_facts(backend, trace, lake, listed, wants)?;
        if holds(Rule::FactsBeforeManifest) {
            look.manifest = FoundManifest::of_lake(backend, trace, lake)?;
        }
        look.read_late_facts(backend, trace, lake, wants)?;
        Ok(look)
    }

    fn list_outputs(&mut self, backend: &dyn Backend, trace: &Trace) -> Result<()> {
        let listed = outputs_of(backend, &table_names(Some(trace)))?;
        let (outputs, others): (Vec<Listed>, Vec<Listed>) = listed
            .into_iter()
            .partition(|file| is_output(Some(trace), &file.path));
        let outputs = outputs.into_iter().map(|file| (file.path, file.bytes));
        self.outputs = outputs.collect();
        self.foreign = paths_of(others);
        self.foreign.retain(|path| !is_skipped(path));
        self.foreign.sort_unstable();
        Ok(())
    }

    /// Asks by name for the facts of outputs that seem to have none: they may have been shown during the look, or a listing
    /// is late.
    fn read_late_facts(
        &mut self,
        backend: &dyn Backend,
        trace: &Arc<Trace>,
        lake: Digest,
        wants: &dyn Fn(&PartName) -> bool,
    ) -> Result<()> {
        let unnamed = self.unnamed(&self.manifest.parts(trace));
        if unnamed.is_empty() || !holds(Rule::FactsByName) {
            return Ok(());
        }
        let named = unnamed.iter().filter_map(|path| part_of(path));
        let paths: BTreeSet<String> = named
            .map(|(table, key)| facts::path_of(table, key))
            .collect();
        let paths: Vec<String> = paths.into_iter().collect();
        let paths = paths_of(backend.look_up(&paths)?);
        let listed = std::mem::take(&mut self.facts);
        self.read_facts(backend, trace, lake, paths, wants)?;
        self.facts.extend(listed);
        Ok(())
    }

    /// Looks for a run that asks for some parts. A shard looks at those alone.
    pub(crate) fn for_run(
        backend: &dyn Backend,
        trace: &Arc<Trace>,
        lake: Digest,
        goal: &Goal<'_>,
    ) -> Result<Self> {
        let assignment = goal.plan.assignment();
        let wants = |name: &PartName| goal.wants(&assignment, name);
        let Some(shard) = goal.shard else {
            return Self::whole(backend, trace, lake, &wants);
        };
        let mut look = Self::default();
        let planned = goal.plan.parts.iter().filter(|part| part.shard == shard);
        let named = planned.flat_map(|part| {
            let tables = goal.plan.with_derived(&part.table);
            tables.filter_map(|table| PartName::of(trace, table, part.key()))
        });
        let named: Vec<PartName> = named.collect();
        let mut outputs: Vec<String> = named.iter().map(|name| (goal.output_of)(name)).collect();
        let mut facts: Vec<String> = named
            .iter()
            .map(|name| facts::path_of(&name.table, name.key))
            .collect();
        // How many parts a file is cut into isn't known before.
        let mut cut = BTreeSet::new();
        for stream in goal
            .plan
            .streams
            .iter()
            .filter(|stream| stream.shard == shard)
        {
            cut.extend(
                stream
                    .tables
                    .iter()
                    .flat_map(|table| goal.plan.with_derived(table)),
            );
        }
        // Nor are the parts of an earlier run that others are derived from.
        let is_planned = |table: &str| {
            goal.plan.parts.iter().any(|part| part.table == table)
                || goal.plan.stream_of(table).is_some()
        };
        let derived = goal
            .plan
            .derived
            .iter()
            .filter(|derived| !is_planned(&derived.from));
        cut.extend(derived.map(|derived| &derived.table[..]));
        let mut listed = Vec::new();
        for table in cut {
            listed.append(&mut backend.list(table)?);
            facts.extend(paths_of(backend.list(&format!("{FACTS}/{table}"))?));
        }
        look.read_facts(backend, trace, lake, facts, &wants)?;
        let rejects = look
            .recorded
            .values()
            .filter_map(|known| known.facts.rejects.as_ref());
        outputs.extend(rejects.map(|file| file.path.clone()));
        look.manifest = FoundManifest::of_lake(backend, trace, lake)?;
        if look.manifest.whole().is_some() {
            // A part that is committed isn't looked at.
            let committed = look.manifest.parts(trace);
            let mut named = named.iter();
            outputs.retain(|_| {
                named
                    .next()
                    .is_none_or(|name| !committed.contains_key(name))
            });
        }
        listed.append(&mut backend.look_up(&outputs)?);
        look.outputs = listed
            .into_iter()
            .map(|file| (file.path, file.bytes))
            .collect();
        look.outputs.retain(|path, _| is_output(Some(trace), path));
        look.read_late_facts(backend, trace, lake, &wants)?;
        Ok(look)
    }

    /// Reads the facts at these paths that are wanted; some may not be there.
    fn read_facts(
        &mut self,
        backend: &dyn Backend,
        trace: &Arc<Trace>,
        lake: Digest,
        paths: Vec<String>,
        wants: &dyn Fn(&PartName) -> bool,
    ) -> Result<()> {
        let is_wanted =
            |path: &&String| facts::part_of(trace, path).is_none_or(|name| wants(&name));
        let wanted: Vec<String> = paths.iter().filter(is_wanted).cloned().collect();
        for paths in wanted.chunks(FACTS_AT_ONCE) {
            for (path, json) in paths.iter().zip(backend.get_all(paths, facts::MOST_BYTES)?) {
                let Some(json) = json else { continue };
                let name = facts::part_of(trace, path);
                self.named.extend(name.clone());
                let Some(read) = Facts::read(&json, path, lake) else {
                    continue;
                };
                self.absent.extend(read.absent());
                if let (Fact::Part(facts), Some(name)) = (read.fact, name) {
                    self.recorded.insert(
                        name,
                        Recorded {
                            facts,
                            tag: read.tag,
                        },
                    );
                }
            }
        }
        let unread = paths.iter().filter(|path| !is_wanted(path));
        self.named
            .extend(unread.filter_map(|path| facts::part_of(trace, path)));
        self.facts = paths;
        Ok(())
    }

    /// Whether all files of a part are there with their sizes.
    pub(crate) fn is_shown(&self, facts: &PartFacts) -> bool {
        let mut files = facts.files();
        !holds(Rule::OutputsAreThere)
            || files.all(|file| self.outputs.get(&file.path) == Some(&file.bytes))
    }

    /// The tables that archives don't have, by facts and manifest.
    pub(crate) fn all_absent(&self) -> BTreeSet<AbsentTable> {
        let committed = self
            .manifest
            .whole()
            .into_iter()
            .flat_map(|found| &found.absent);
        self.absent.iter().chain(committed).cloned().collect()
    }

    /// Whether all outputs, and all parts that have facts, are some of these.
    pub(crate) fn has_only(&self, trace: &Trace, are: &dyn Fn(&PartName) -> bool) -> bool {
        let mut parts = self.outputs.keys().filter_map(|path| part_of(path));
        self.named.iter().all(are)
            && parts
                .all(|(table, key)| PartName::of(trace, table, key).is_some_and(|name| are(&name)))
    }

    /// The files of committed parts that aren't there, or have another size.
    pub(crate) fn lost<'a>(
        &self,
        backend: &dyn Backend,
        committed: &'a Parts,
    ) -> Result<Vec<&'a FileFacts>> {
        let files = committed.values().flat_map(PartFacts::files);
        let lacking = files.filter(|file| self.outputs.get(&file.path) != Some(&file.bytes));
        not_there(backend, lacking.collect())
    }

    /// The parts that have facts and are shown, and aren't in the manifest.
    pub(crate) fn made(&self, committed: &Parts) -> Parts {
        let recorded = self.recorded.iter();
        let made = recorded
            .filter(|(name, known)| !committed.contains_key(name) && self.is_shown(&known.facts));
        made.map(|(name, known)| (name.clone(), known.facts.clone()))
            .collect()
    }

    /// The parts that have facts, whole or not, and an output.
    pub(crate) fn shown(&self, trace: &Trace) -> BTreeSet<PartName> {
        let parts = self.outputs.keys().filter_map(|path| part_of(path));
        let names = parts.filter_map(|(table, key)| PartName::of(trace, table, key));
        names.filter(|name| self.named.contains(name)).collect()
    }

    /// The outputs that neither facts nor the manifest name.
    pub(crate) fn unnamed(&self, committed: &Parts) -> Vec<String> {
        let names = committed.keys().chain(&self.named);
        let tables: BTreeMap<&str, &Arc<str>> =
            names.map(|name| (&*name.table, &name.table)).collect();
        let is_named = |path: &String| {
            let Some((table, key)) = part_of(path) else {
                return true;
            };
            let Some(&table) = tables.get(table) else {
                return false;
            };
            let table = Arc::clone(table);
            let name = PartName { table, key };
            let recorded = || self.recorded.get(&name).map(|known| &known.facts);
            match committed.get(&name).or_else(recorded) {
                Some(facts) => facts.files().any(|file| file.path == *path),
                // Facts that weren't read, or are damaged.
                None => self.named.contains(&name),
            }
        };
        self.outputs
            .keys()
            .filter(|path| !is_named(path))
            .cloned()
            .collect()
    }
}

/// Looks for files that a listing lacks, which may be late, and returns those that aren't there with their sizes.
pub(crate) fn not_there<'a>(
    backend: &dyn Backend,
    mut files: Vec<&'a FileFacts>,
) -> Result<Vec<&'a FileFacts>> {
    let paths: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
    let found = backend.look_up(&paths)?.into_iter();
    let found: BTreeMap<String, u64> = found.map(|file| (file.path, file.bytes)).collect();
    files.retain(|file| found.get(&file.path) != Some(&file.bytes));
    Ok(files)
}

/// How many files an error names.
const SHOWN: usize = 5;

/// Refuses outputs that neither facts nor the manifest name.
pub(crate) fn refuse_unnamed(
    lake: &Lake,
    paths: &[String],
    manifest: &FoundManifest,
) -> Result<()> {
    if paths.is_empty() {
        return Ok(());
    }
    let shown: Vec<&str> = paths.iter().take(SHOWN).map(String::as_str).collect();
    let more = match paths.len().saturating_sub(SHOWN) as u64 {
        0 => String::new(),
        more => format!(" and {}", several(more, "more file")),
    };
    let reason = format!("outputs that no run recorded: {}{more}", shown.join(", "));
    let restore = match manifest.whole() {
        Some(_) => String::new(),
        None => format!("if {MANIFEST} was lost, restore it; else "),
    };
    Err(Error::new(ErrorKind::Refused, reason)
        .at(lake.root())
        .hint(format!(
            "{restore}move them away, or delete them: tracelake commit {} --remove-unnamed",
            for_shell(lake.root())
        )))
}

/// The error for files in the directories of tables that no run can have made: every reader would take them for data, and
/// they may be the only copy.
pub(crate) fn foreign(root: &Location, paths: &[String]) -> Error {
    let mut reason = "isn't part of the lake".to_owned();
    let (first, others) = paths
        .split_first()
        .map_or(("", paths), |(first, rest)| (&first[..], rest));
    if !others.is_empty() {
        let are = if others.len() == 1 { "is" } else { "are" };
        let others = &others[..others.len().min(SHOWN - 1)];
        reason += &format!("; neither {are} {}", others.join(", "));
    }
    Error::new(ErrorKind::Refused, reason)
        .at(root.join(first))
        .hint("move it away: readers would take it for data")
}

/// Reads the manifest of a lake.
///
/// # Errors
/// [`ErrorKind::Refused`] if there is none, or the file isn't one; [`ErrorKind::Corrupt`] if it is
/// damaged, or the lake's identity.
pub fn read_manifest(root: &Location) -> Result<Manifest> {
    let backend = backend(root);
    match FoundManifest::read(&*backend)? {
        FoundManifest::Whole(_, mut manifest) => {
            if manifest.origin.description.is_some()
                && let Some(found) = identity::find(&*backend)?
                && let Some(trace) = found.identity.origin.find_trace()
            {
                manifest.origin.know(&trace);
            }
            Ok(*manifest)
        }
        FoundManifest::Damaged(_, error) => {
            Err(error.hint("run convert again, for all parts of the lake, to write it again"))
        }
        FoundManifest::None => {
            let hint = match (identity::find(&*backend), backend.list(PLANS)) {
                (Ok(None), _) => "check its name".to_owned(),
                (_, Ok(plans)) if !plans.is_empty() => {
                    let lake = for_shell(root);
                    format!("once all of its shards are converted, run tracelake commit {lake}")
                }
                _ => "run convert until it succeeds".to_owned(),
            };
            let reason = "not a finished lake: it has no manifest";
            Err(Error::new(ErrorKind::Refused, reason).at(root).hint(hint))
        }
    }
}

/// The place of a path that a lake names for one of its files; a manifest may come from strangers,
/// so a path or a link that leads out of the lake is refused.
///
/// # Errors
/// [`ErrorKind::Refused`].
pub fn inside(root: &Location, path: &str) -> Result<Location> {
    backend(root).inside(path)
}
