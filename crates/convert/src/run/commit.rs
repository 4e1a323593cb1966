//! The last step of a lake: facts to a manifest, once everything that it names is there.

use std::collections::BTreeMap;
use std::time::Duration;

use rayon::prelude::*;
use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::event::Event;
use tracelake_core::origin::Origin;
use tracelake_core::words::for_shell;
use tracelake_lake::manifest::{Manifest, PartFacts, TableFacts};
use tracelake_lake::plan_file::{Assignment, PlanFile};
use tracelake_lake::store::{Hints, Lake, LakeProgress, Unnamed, read_manifest};
use tracelake_location::Location;
use tracelake_schema::Trace;
use tracelake_schema::arrow::{arrow_schema, fingerprint};

use super::by_plan::{committed, two_lakes};
use super::recheck::{Outputs, no_file_twice};
use super::refuse::nothing_foreign;
use super::remaining::{has_all, incomplete, remaining_with};
use super::{
    Outcome, Parts, Run, TablePart, check_rejects, clear_staging, last_of_each, resumable, threads,
};
use crate::plan::table_names;

/// How a lake is committed.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct CommitOptions {
    /// The most rows that may be rejected in the whole lake; `None` for what the shards were asked.
    pub max_rejects: Option<u64>,
    /// The policy for outputs that no shard noted.
    pub unnamed: Unnamed,
    /// Whether every output is read, even where a bucket lists it as it was noted.
    pub verify_outputs: bool,
}

impl Default for CommitOptions {
    /// Commits with the limit on rejects that the shards were given; outputs that no shard noted are refused.
    fn default() -> Self {
        Self {
            max_rejects: None,
            unnamed: Unnamed::Refuse,
            verify_outputs: false,
        }
    }
}

/// A lake whose shards were converted, to be committed.
#[derive(Debug)]
pub struct Commit {
    context: Context,
    lake: Lake,
    progress: LakeProgress,
}

impl Commit {
    /// Takes the lake at `out`, and reads what its shards have finished. Waits as long as `patience` for
    /// workers that are about to end.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] when there is no lake, or a process works on it; when the disk fails.
    pub fn open(context: &Context, out: &Location, patience: Duration) -> Result<Self> {
        let lake = Lake::existing(&out.within(context), patience)?;
        let progress = lake.progress()?;
        Ok(Self {
            context: context.clone(),
            lake,
            progress,
        })
    }

    /// The size of the outputs to check, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match self.progress.complete {
            true => 0,
            false => {
                let parts = self.progress.parts.iter();
                parts.fold(0, |bytes, (_, facts)| {
                    bytes.saturating_add(facts.output.bytes)
                })
            }
        }
    }

    /// Checks that everything that was planned is there, and writes the manifest. A lake that has one
    /// stays as it is.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if a part is missing or damaged, a file is unknown, or another version
    /// converted the shards; [`ErrorKind::Misfit`] if too many rows are rejected; when the disk fails.
    pub fn finish(self, options: CommitOptions) -> Result<Outcome> {
        let finished = self.finish_unless_raced(options).map_err(resumable);
        let Err(error) = &finished else {
            return finished;
        };
        // Another process on this plan may have been faster.
        let trace = self.progress.origin.as_ref().and_then(Origin::find_trace);
        let raced = match (trace, &self.progress.plan) {
            (Some(trace), Some(plan)) if error.kind() == ErrorKind::Refused => {
                committed(&self.lake, trace, plan)?
            }
            _ => None,
        };
        match raced {
            Some(manifest) => Ok(Outcome {
                manifest,
                converted: 0,
                is_committed: true,
            }),
            None => finished,
        }
    }

    fn finish_unless_raced(&self, options: CommitOptions) -> Result<Outcome> {
        let pool = threads(self.context.threads())?;
        let root = self.lake.root();
        if let (Some(digest), Some(plan)) = (&self.progress.plan_digest, &self.progress.plan) {
            self.lake.work_by(digest, plan, None);
        }
        if self.progress.complete {
            let manifest = read_manifest(root)?;
            clear_staging(&self.context, &self.lake)?;
            if let (Some(plan), Some(trace)) = (&self.progress.plan, manifest.origin.find_trace())
                && !has_all(trace, plan, &manifest)
            {
                return Err(two_lakes(&manifest, plan).at(root));
            }
            if options.unnamed == Unnamed::Remove {
                let removed = self
                    .lake
                    .remove_unnamed(&manifest, &table_names(manifest.origin.find_trace()))?;
                report_removed(&self.context, &removed);
            }
            self.lake.tidy(&manifest)?;
            return Ok(Outcome {
                manifest,
                converted: 0,
                is_committed: true,
            });
        }
        let plan = self.plan().map_err(|error| error.or_at(root))?;
        let origin = &plan.origin;
        let trace = origin.find_trace().ok_or_else(|| {
            Error::new(ErrorKind::Refused, "a lake of a trace that isn't known").at(root)
        })?;
        nothing_foreign(root, trace)?;
        clear_staging(&self.context, &self.lake)?;
        let parts = pool.install(|| self.believed(trace, plan, options))?;
        let missing = remaining_with(trace, plan, &self.progress, &parts);
        if !missing.is_empty() {
            return Err(incomplete(root, &missing, plan.shards));
        }
        let rejected = parts
            .values()
            .map(|part| part.rows_rejected)
            .fold(0, u64::saturating_add);
        check_rejects(rejected, options.max_rejects.or(plan.max_rejects))
            .map_err(|error| error.at(root))?;
        let committer = Committer {
            context: &self.context,
            lake: &self.lake,
            trace,
            origin: origin_of(origin, &parts),
            unnamed: options.unnamed,
        };
        let manifest = committer.publish(parts, false)?;
        Ok(Outcome {
            converted: 0,
            manifest,
            is_committed: true,
        })
    }

    /// The plan, if this version may carry it out.
    fn plan(&self) -> Result<&PlanFile> {
        let Some(plan) = &self.progress.plan else {
            let begun = self.progress.origin.is_some();
            let (reason, hint) = if begun {
                (
                    "it was begun by convert without --shard",
                    "run that convert command again to finish it".to_owned(),
                )
            } else {
                let root = for_shell(self.lake.root());
                (
                    "nothing has been converted into it",
                    format!("run tracelake convert SRC {root} --shard I/N for every I below N"),
                )
            };
            return Err(Error::new(ErrorKind::Refused, reason).hint(hint));
        };
        let options = plan.origin.options.clone();
        let now = match plan.origin.find_trace() {
            Some(trace) => Origin::of(trace, options),
            None => Origin::new(&plan.origin.trace, options),
        };
        let now = Origin {
            synthetic: plan.origin.synthetic,
            ..now
        };
        match plan.origin.difference(&now) {
            None => Ok(plan),
            Some(difference) => {
                let reason = format!("its shards were converted by another program: {difference}");
                Err(Error::new(ErrorKind::Refused, reason)
                    .hint("commit with the version that converted the shards"))
            }
        }
    }

    /// The finished parts whose files are on the disk with the digests that the facts name.
    fn believed(
        &self,
        trace: &'static Trace,
        plan: &PlanFile,
        options: CommitOptions,
    ) -> Result<Parts> {
        let root = self.lake.root();
        let format = plan.origin.options.format;
        let hints = match options.verify_outputs {
            true => Hints::Ignored,
            false => Hints::Listed,
        };
        let outputs = Outputs::new(&self.context, &self.lake, format, &self.progress, hints)?;
        let assignment = plan.assignment();
        let all = last_of_each(trace, &self.progress).into_par_iter();
        let checked = all.map(|(key, facts)| {
            self.context.check()?;
            let table = key.0.table(trace).name;
            if !is_planned_source(plan, &assignment, table, &facts) {
                return Ok(None);
            }
            let wrong = match outputs.are_whole(&facts)? {
                true => outputs.contradiction(key.0.table(trace), &facts)?,
                false => Some("is damaged"),
            };
            if wrong.is_none() {
                self.context.emit(Event::Read {
                    bytes: facts.output.bytes,
                });
                self.context.emit(Event::Verified {
                    table,
                    part: key.1,
                    rows: facts.rows_out,
                });
                return Ok(Some((key, facts)));
            }
            if assignment.shard_of(table, key.1).is_none() {
                return Err(Error::new(
                    ErrorKind::Refused,
                    "is damaged, and no shard makes it again",
                )
                .at(root.join(&facts.output.path))
                .hint("make a new lake, or restore the file"));
            }
            let why = wrong.unwrap_or_default();
            self.context.warn(format!("{}: {why}", facts.output.path));
            Ok(None)
        });
        let whole = checked.collect::<Result<Vec<_>>>()?;
        let parts = whole.into_iter().flatten().collect();
        no_file_twice(root, &parts)?;
        Ok(parts)
    }
}

/// Whether a part was made from the file that was planned for it. What is not planned is of an earlier
/// lake, and derived parts are made from files of the lake.
fn is_planned_source(
    plan: &PlanFile,
    assignment: &Assignment<'_>,
    table: &str,
    facts: &PartFacts,
) -> bool {
    if let Some(source) = assignment.source_of(table, facts.key()) {
        return source.is_source_of(facts);
    }
    let stream = plan.stream_of(table);
    stream.is_none_or(|stream| {
        let source = &stream.source;
        let most = source.bytes.unwrap_or(u64::MAX);
        source.path == facts.source.path && facts.source.bytes <= most
    })
}

/// The origin of a lake that was made by a plan: with the policy under which rows were rejected, if any were.
fn origin_of(origin: &Origin, parts: &Parts) -> Origin {
    match parts.values().any(|part| part.rows_rejected > 0) {
        true => origin.rejecting(),
        false => origin.clone(),
    }
}

fn report_removed(context: &Context, removed: &[String]) {
    for stray in removed {
        context.warn(format!(
            "removed {stray}, which an earlier run left and no manifest names"
        ));
    }
}

/// Puts the parts of a lake together.
pub(super) struct Committer<'a> {
    context: &'a Context,
    lake: &'a Lake,
    trace: &'static Trace,
    origin: Origin,
    /// The policy for outputs that no facts name.
    unnamed: Unnamed,
}

impl Run<'_> {
    /// Puts together what this run alone has made.
    pub(super) fn committer(&self) -> Committer<'_> {
        Committer {
            context: &self.context,
            lake: self.lake,
            trace: self.plan.trace,
            origin: self.plan.origin.clone(),
            unnamed: Unnamed::Remove,
        }
    }

    /// Puts together what several runs have made by the plan of `origin`. The policy is that of the first run,
    /// unless rows were rejected.
    pub(super) fn committer_by(&self, origin: &Origin, parts: &Parts) -> Committer<'_> {
        Committer {
            origin: origin_of(origin, parts),
            unnamed: Unnamed::Refuse,
            ..self.committer()
        }
    }
}

impl Committer<'_> {
    /// Writes the manifest of these parts, and removes what only an unfinished lake has.
    pub(super) fn publish(&self, parts: Parts, is_finished: bool) -> Result<Manifest> {
        let manifest = self.assemble(parts);
        // A manifest that doesn't say what is there is replaced.
        if is_finished {
            // A manifest can't be read without its description, and the copy may be damaged.
            self.lake.put_description(&manifest.origin)?;
            let found = read_manifest(self.lake.root())?;
            if found.tables == manifest.tables
                && found.origin.difference(&manifest.origin).is_none()
            {
                self.lake.tidy(&found)?;
                return Ok(found);
            }
        }
        let removed = self
            .lake
            .publish(&manifest, &table_names(Some(self.trace)), self.unnamed)?;
        report_removed(self.context, &removed);
        tracing::debug!(tables = manifest.tables.len(), "published");
        Ok(manifest)
    }

    /// The manifest of these parts.
    pub(super) fn assemble(&self, mut parts: Parts) -> Manifest {
        forget_alone(&mut parts);
        let mut tables: Vec<TableFacts> = Vec::new();
        for ((index, _), part) in parts {
            let table = index.table(self.trace);
            let same = tables.pop_if(|last| last.name == table.name);
            let mut facts = same
                .unwrap_or_else(|| TableFacts::new(table.name, fingerprint(&arrow_schema(table))));
            facts.push(part);
            tables.push(facts);
        }
        Manifest::new(self.origin.clone(), tables)
    }
}

/// Leaves it to parts that were all converted alone, and aren't all parts of their table or of its cell, to say so. A lake
/// that grew from one file then has the bytes of one that was made at once.
fn forget_alone(parts: &mut Parts) {
    let group = |&(table, key): &TablePart| (table, key.cell);
    // The number of parts, and of how many they are if all say so.
    let mut groups: BTreeMap<_, (u32, Option<u32>)> = BTreeMap::new();
    for (key, facts) in parts.iter() {
        let (count, total) = groups.entry(group(key)).or_insert((0, Some(0)));
        *count = count.saturating_add(1);
        *total = total.zip(facts.in_all).map(|(one, other)| one.max(other));
    }
    for (key, facts) in parts {
        let (count, total) = groups[&group(key)];
        if facts.in_all.is_some() && total.is_none_or(|total| count >= total) {
            facts.in_all = None;
        }
    }
}
