//! The last step: parts to the manifest, which is swapped for the next one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::prelude::*;
use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::event::Event;
use tracelake_core::words::{for_shell, several};
use tracelake_location::Location;
use tracelake_schema::Trace;

use crate::MANIFEST;
use crate::backend::Hold;
use crate::facts;
use crate::identity::FoundIdentity;
use crate::look::refuse_damaged;
use crate::look::{FoundManifest, Lake, Look, foreign, refuse_unnamed};
use crate::manifest::Manifest;
use crate::parts::{PartName, Parts};
use crate::plan_file::{Assignment, PlanFile};
use crate::publish::{add, keep_names, put_description, read_plans, warn_of_uncommitted};
use crate::release::warn_of_stale;
use crate::remaining::{Counts, incomplete, remaining};
use crate::rules::{Rule, holds};
use crate::session::{Session, check_encoding, open_lake};
use crate::staging::digest_of;
use crate::work::forget_command;

/// How a lake is committed.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct CommitOptions {
    /// The most rows that may be rejected in the whole lake; `None` for any number.
    pub max_rejects: Option<u64>,
    /// Whether every output is read in a bucket too.
    pub verify_outputs: bool,
    /// Whether outputs that neither facts nor the manifest name are removed.
    pub remove_unnamed: bool,
}

/// A lake whose shards were converted, to be committed.
#[derive(Debug)]
pub struct Commit {
    context: Context,
    options: CommitOptions,
    session: Session,
    identity: FoundIdentity,
    trace: Arc<Trace>,
    /// The plans of shards, by their paths.
    plans: BTreeMap<String, PlanFile>,
    look: Look,
    committed: Parts,
}

impl Commit {
    /// Reads what the shards of the lake at `out` have made.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] when there is no lake, or a process has it alone; when the disk or the store fails.
    pub fn open(context: &Context, out: &Location, options: CommitOptions) -> Result<Self> {
        Self::of(context, &Lake::at(&out.within(context)), options)
    }

    pub(crate) fn of(context: &Context, lake: &Lake, options: CommitOptions) -> Result<Self> {
        let out = lake.root();
        let hold = match options.remove_unnamed {
            true => Hold::Alone,
            false => Hold::Shared,
        };
        let (session, identity) = open_lake(lake, hold)?;
        let trace = identity.identity.trace().map_err(|error| error.at(out))?;
        check_encoding(&identity.identity, &trace).map_err(|error| error.at(out))?;
        let backend = &*session.lake.backend;
        let plans = read_plans(backend)?;
        let look = Look::whole(backend, &trace, identity.sha256, &|_| true)?;
        let committed = look.manifest.parts(&trace);
        Ok(Self {
            context: context.clone(),
            options,
            session,
            identity,
            trace,
            plans,
            look,
            committed,
        })
    }

    /// The size of the outputs to check, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let made = self.look.made(&self.committed);
        made.values()
            .fold(0, |bytes, facts| bytes.saturating_add(facts.output.bytes))
    }

    /// Commits every plan of which all parts are there, and checks that this is so of all plans. Returns the manifest of the
    /// lake as it is then, which is `None` only where unnamed outputs were removed and nothing else is there.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if a part is missing or damaged, nothing was converted, or a file is unknown;
    /// [`ErrorKind::Misfit`] if too many rows are rejected; when the disk or the store fails.
    pub fn finish(mut self) -> Result<Option<Manifest>> {
        let options = self.options;
        let root = self.session.lake.root().clone();
        if !self.look.foreign.is_empty() {
            return Err(foreign(&root, &self.look.foreign));
        }
        let has_removed = self.handle_unnamed()?;
        self.refuse_lost()?;
        if self.plans.is_empty() && matches!(self.look.manifest, FoundManifest::None) {
            return match has_removed {
                true => self.session.leave(None).map(|()| None),
                false => Err(self.nothing_to_commit()),
            };
        }
        let made = self.believed()?;
        let mut done = self.committed.clone();
        done.extend(made.clone());
        let counts = Counts::new(&done, self.look.all_absent());
        let (mut complete, mut lacking) = (Vec::new(), Vec::new());
        for (path, plan) in &self.plans {
            let missing = remaining(&self.trace, plan, &done, &self.committed, &counts);
            match missing.is_empty() {
                true => complete.push((path.clone(), plan)),
                false => lacking.push((plan.shards, missing)),
            }
        }
        let assignments: Vec<Assignment<'_>> =
            complete.iter().map(|(_, plan)| plan.assignment()).collect();
        let is_planned = |name: &PartName| {
            let mut plans = assignments.iter();
            plans.any(|plan| plan.makes(&self.trace, name, &self.committed))
        };
        let (adds, uncommitted): (Parts, Parts) =
            made.into_iter().partition(|(name, _)| is_planned(name));
        if matches!(self.look.manifest, FoundManifest::Damaged(..))
            && !self
                .look
                .has_only(&self.trace, &|name| adds.contains_key(name))
        {
            refuse_damaged(&self.session.lake, &self.look.manifest)?;
        }
        let lake = self.session.lake.clone();
        put_description(&*lake.backend, &self.identity.identity)?;
        let paths: Vec<String> = complete.into_iter().map(|(path, _)| path).collect();
        let absent = match paths.is_empty() {
            true => BTreeSet::new(),
            false => self.look.all_absent(),
        };
        if !holds(Rule::PlanAfterManifest) {
            lake.backend.remove(&paths)?;
        }
        // Nothing else of the look and the plans is needed beside the next manifest.
        let found = std::mem::take(&mut self.look).manifest;
        self.plans.clear();
        let manifest = match (paths.is_empty(), found) {
            (false, found) => Some(add(
                &lake,
                &self.identity,
                &self.trace,
                found,
                &adds,
                absent,
                options.max_rejects,
            )?),
            (true, FoundManifest::Whole(_, manifest)) => {
                manifest
                    .check_rejects(options.max_rejects)
                    .map_err(|error| error.at(&root))?;
                lake.backend.keep_names(&[MANIFEST.to_owned()])?;
                Some(*manifest)
            }
            (true, FoundManifest::Damaged(_, error)) => return Err(error),
            (true, FoundManifest::None) => None,
        };
        lake.backend.remove(&paths)?;
        warn_of_stale(&self.context, &*lake.backend)?;
        self.session.leave(manifest.as_ref())?;
        if !lacking.is_empty() {
            if !paths.is_empty() {
                let plans = several(paths.len() as u64, "plan");
                self.context
                    .warn(format!("committed all parts of {plans}; others lack some"));
            }
            return Err(incomplete(&root, &lacking));
        }
        warn_of_uncommitted(&self.context, &root, uncommitted.into_keys());
        Ok(manifest)
    }

    /// Refuses outputs that no run recorded, or removes them if that was asked for. Returns whether there were any.
    fn handle_unnamed(&self) -> Result<bool> {
        let unnamed = self.look.unnamed(&self.committed);
        if unnamed.is_empty() {
            return Ok(false);
        }
        let lake = &self.session.lake;
        refuse_damaged(lake, &self.look.manifest)?;
        if !self.options.remove_unnamed {
            refuse_unnamed(lake, &unnamed, &self.look.manifest)?;
        }
        lake.backend.remove(&unnamed)?;
        for path in unnamed {
            self.context
                .warn(format!("removed {path}, which no run recorded"));
        }
        Ok(true)
    }

    /// Refuses to finish a lake that has lost a committed output.
    fn refuse_lost(&self) -> Result<()> {
        let lake = &self.session.lake;
        let lost = self.look.lost(&*lake.backend, &self.committed)?;
        let Some(first) = lost.first() else {
            return Ok(());
        };
        let more = match lost.len() as u64 - 1 {
            0 => String::new(),
            1 => ", and so is 1 other file".to_owned(),
            more => format!(", and so are {}", several(more, "other file")),
        };
        let reason = format!("is committed, and is missing or has another size{more}");
        let out = for_shell(lake.root());
        Err(Error::new(ErrorKind::Refused, reason)
            .at(lake.root().join(&first.path))
            .hint(format!(
                "restore it, or make it again: tracelake convert SRC {out}"
            )))
    }

    /// The error for a lake without plan and manifest.
    fn nothing_to_commit(&self) -> Error {
        let lake = for_shell(self.session.lake.root());
        let (reason, hint) = match self.look.named.is_empty() {
            false => (
                "no plan of shards is in it",
                format!(
                    "run the convert command that made its parts again, or tracelake commit {lake} --forget to give them up"
                ),
            ),
            true => (
                "nothing has been converted into it",
                format!("run tracelake convert SRC {lake} --shard I/N for every I below N"),
            ),
        };
        Error::new(ErrorKind::Refused, reason)
            .at(self.session.lake.root())
            .hint(hint)
    }

    /// The parts that were made, without those whose outputs don't have the bytes that are recorded. In a bucket, which
    /// keeps what it was given, names and sizes are enough.
    fn believed(&self) -> Result<Parts> {
        let backend = &*self.session.lake.backend;
        let reads = backend.is_disk() || self.options.verify_outputs;
        let recorded = self.look.recorded.iter();
        let uncommitted = recorded.filter(|(name, _)| !self.committed.contains_key(name));
        let has_damaged_facts = |name: &&PartName| {
            !self.look.recorded.contains_key(name) && !self.committed.contains_key(name)
        };
        for name in self.look.named.iter().filter(has_damaged_facts) {
            let path = facts::path_of(&name.table, name.key);
            let forget = forget_command(backend, name);
            self.context.warn(format!("{path}: is damaged; {forget}"));
        }
        for file in uncommitted.flat_map(|(_, known)| known.facts.files()) {
            let found = self.look.outputs.get(&file.path);
            if found.is_some_and(|bytes| *bytes != file.bytes) {
                self.context.warn(format!("{}: is damaged", file.path));
            }
        }
        let checked = self
            .look
            .made(&self.committed)
            .into_par_iter()
            .map(|(name, facts)| {
                self.context.check()?;
                for file in facts.files().filter(|_| reads) {
                    if digest_of(&self.context, backend, &file.path)? != Some(file.sha256) {
                        // A shard in a bucket doesn't read its outputs again.
                        let forget = match backend.is_disk() {
                            true => String::new(),
                            false => format!("; {}", forget_command(backend, &name)),
                        };
                        self.context
                            .warn(format!("{}: is damaged{forget}", file.path));
                        return Ok(None);
                    }
                }
                self.context.emit(Event::Read {
                    bytes: facts.output.bytes,
                });
                self.context.emit(Event::Verified {
                    table: name.table.to_string(),
                    part: name.key,
                    rows: facts.rows_out,
                });
                Ok(Some((name, facts)))
            });
        let believed = checked.collect::<Result<Vec<_>>>()?;
        let believed: Parts = believed.into_iter().flatten().collect();
        keep_names(backend, believed.iter())?;
        Ok(believed)
    }
}
