//! Carries out a plan: parts over threads, resuming, stopping, and what to do with a bad row.
//!
//! A run converts what the plan gives to it and notes the facts of each part. A plain run is given
//! everything, has the lake alone and commits at the end; a shard is given its share, works beside
//! others, and leaves the commit to [`Commit`].

mod by_plan;
mod commit;
mod derived;
mod fate;
mod files;
mod keep;
mod preview;
mod recheck;
mod refuse;
mod remaining;
mod room;
mod run_options;
mod schedule;
mod share;
mod states;
mod streams;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use tracelake_core::Context;
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::part_key::PartKey;
use tracelake_core::words::several;
use tracelake_lake::manifest::{self, Manifest, PartFacts};
use tracelake_lake::plan_file::{Assignment, PlanFile};
use tracelake_lake::store::{Agreement, Journal, Lake, LakeProgress};
use tracelake_location::Location;
use tracelake_schema::Trace;
use tracelake_source as source;
use tracelake_source::Source;

use crate::plan::{Plan, Shard, TableIndex};
use by_plan::Joined;
use remaining::Cuts;
use schedule::Work;

pub use commit::{Commit, CommitOptions};
pub use preview::{FinishedParts, preview};
pub use remaining::{Remaining, remaining};
pub use room::Room;
pub use run_options::{RunOptions, parts_within};

/// The result of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The manifest of the lake as it is now. Of a shard that isn't committed yet, it has the parts of
    /// the shard, and isn't written.
    pub manifest: Manifest,
    /// How many parts this run converted; the others were finished before.
    pub converted: usize,
    /// Whether the lake is finished, and the manifest is on the disk.
    pub is_committed: bool,
}

/// The parts of a lake.
type Parts = BTreeMap<TablePart, PartFacts>;

/// A table of the trace, and a part of it.
type TablePart = (TableIndex, PartKey);

/// The parts of one table.
fn parts_of(parts: &Parts, table: TableIndex) -> impl Iterator<Item = (PartKey, &PartFacts)> {
    let from_here = parts.range((table, PartKey::FIRST)..);
    from_here
        .take_while(move |((index, _), _)| *index == table)
        .map(|((_, key), facts)| (*key, facts))
}

/// Converts what a plan names into the lake at `out`, or one shard of it. Parts that an earlier run
/// finished are validated and kept.
///
/// # Errors
/// The first one in the order of the plan; parts finished until then stay for the next run.
pub fn convert(
    context: &Context,
    plan: &Plan,
    out: &Location,
    run_options: RunOptions,
) -> Result<Outcome> {
    let outcome = convert_within(context, plan, &out.within(context), run_options);
    outcome.map_err(resumable)
}

fn convert_within(
    context: &Context,
    plan: &Plan,
    out: &Location,
    run_options: RunOptions,
) -> Result<Outcome> {
    let pool = threads(context.threads())?;
    let shards = run_options.shard.map_or(1, |shard| shard.of);
    // A run that has the lake alone needs none, and that of many parts is large.
    let agreed = LazyLock::new(|| plan.to_file(shards, run_options.max_rejects));
    let lake = match run_options.shard {
        Some(_) => share::join(context, plan, &agreed, out, run_options)?,
        None => Lake::open(out)?,
    };
    let assignment = run_options.shard.map(|_| agreed.assignment());
    let run = Run::new(context, plan, &lake, run_options, assignment);
    let outcome = pool.install(|| match (lake.agreement(), run_options.shard) {
        (Agreement::Plan, _) => run.convert_by_plan(&agreed),
        (Agreement::Lock, Some(shard)) => run.convert_shard(&agreed, shard),
        (Agreement::Lock, None) => run.convert(),
    });
    match outcome {
        Ok(_) => lake.leave(),
        Err(_) => lake.abandon(),
    }
    outcome
}

/// Prepares the lake at `out` for the shards of a plan, and writes the plan, as the first worker would.
/// A launcher learns this way whether the lake can be made, before it starts any workers.
///
/// Returns the plan; `None` if the lake is finished, and has everything of it.
///
/// # Errors
/// As [`convert`], before it converts anything.
pub fn prepare(
    context: &Context,
    plan: &Plan,
    out: &Location,
    run_options: RunOptions,
) -> Result<Option<PlanFile>> {
    let prepared = prepare_within(context, plan, &out.within(context), run_options);
    prepared.map_err(resumable)
}

fn prepare_within(
    context: &Context,
    plan: &Plan,
    out: &Location,
    run_options: RunOptions,
) -> Result<Option<PlanFile>> {
    let shards = run_options.shard.map_or(1, |shard| shard.of);
    let agreed = plan.to_file(shards, run_options.max_rejects);
    let lake = share::join(context, plan, &agreed, out, run_options)?;
    let is_finished = match lake.agreement() {
        Agreement::Lock => lake.progress()?.complete,
        Agreement::Plan => {
            let assignment = Some(agreed.assignment());
            let run = Run::new(context, plan, &lake, run_options, assignment);
            matches!(run.join_plan(&agreed)?, Joined::Finished(_))
        }
    };
    lake.leave();
    Ok((!is_finished).then_some(agreed))
}

/// A pool of this many threads.
fn threads(threads: usize) -> Result<rayon::ThreadPool> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| no_threads(threads, error))
}

fn no_threads(threads: usize, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    let reason = format!("cannot start {threads} threads: {error}");
    Error::new(ErrorKind::Failed, reason)
        .hint("pass a smaller --threads")
        .because(error)
}

/// Removes what killed runs have staged in a lake that this run may change.
fn clear_staging(context: &Context, lake: &Lake) -> Result<()> {
    let files = lake.clear_staging()? as u64;
    if files > 0 {
        context.warn(format!(
            "removed {} that an interrupted run left unfinished",
            several(files, "file")
        ));
    }
    Ok(())
}

/// The inputs of every step of a run.
struct Run<'a> {
    /// Cancelled by a signal, and by a part that failed.
    context: Context,
    plan: &'a Plan,
    lake: &'a Lake,
    run_options: RunOptions,
    /// Which shard does what, if this run does the work of one.
    assignment: Option<Assignment<'a>>,
    /// Rows of the lake that were rejected so far.
    rejected: AtomicU64,
    /// The most bytes that the manifest takes with the parts so far.
    manifest_bytes: AtomicU64,
    /// Tables of which a file was said to be in doubt; once for each is enough.
    doubted: Mutex<BTreeSet<TableIndex>>,
}

/// State shared by the threads of a run.
struct Shared {
    kept: Parts,
    /// Whether the plan of unfinished shards stays, because this run continues it.
    continues: bool,
    /// Begun when it is first needed.
    journal: Mutex<Option<Arc<Journal>>>,
}

impl<'a> Run<'a> {
    fn new(
        context: &Context,
        plan: &'a Plan,
        lake: &'a Lake,
        run_options: RunOptions,
        assignment: Option<Assignment<'a>>,
    ) -> Self {
        Self {
            context: context.for_parts(),
            plan,
            lake,
            run_options,
            assignment,
            rejected: AtomicU64::new(0),
            manifest_bytes: AtomicU64::new(0),
            doubted: Mutex::default(),
        }
    }

    /// A plain run: everything, and then the commit.
    fn convert(&self) -> Result<Outcome> {
        let progress = preview::progress(self.lake, self.run_options)?;
        self.refuse(&progress)?;
        self.refuse_other_plan(&progress)?;
        self.check_derived(&progress)?;
        clear_staging(&self.context, self.lake)?;
        self.warn_of_damage(&progress);
        let kept = self.keep(&progress)?;
        self.count_kept(&kept)?;
        let todo = self.todo(&progress, &kept);
        let is_done = todo.is_empty() && self.underived(&kept).is_empty();
        let before = kept.len();
        let continues = progress.plan.is_some() && !self.run_options.take_over;
        let parts = if progress.complete && is_done {
            kept.clone()
        } else {
            // A release that was changed is refused now, and not after the first part.
            self.lake.check_release()?;
            self.check_room(&todo)?;
            self.work(&todo, kept.clone(), continues)?
        };
        // A file that is cut into parts may have been read for nothing.
        let is_finished = progress.complete && parts == kept;
        let manifest = self.committer().publish(parts, is_finished)?;
        Ok(Outcome {
            converted: manifest.parts().count().saturating_sub(before),
            manifest,
            is_committed: true,
        })
    }

    /// The work of one shard, without a commit. In a finished lake there is nothing to do.
    fn convert_shard(&self, agreed: &PlanFile, shard: Shard) -> Result<Outcome> {
        let progress = self.lake.progress_of(agreed, shard.index)?;
        if progress.complete {
            let manifest = self.committer().assemble(self.last_of_each(&progress));
            if self.lake.is_alone() {
                self.lake.tidy(&manifest)?;
            }
            return self.finished(manifest);
        }
        self.warn_of_damage(&progress);
        let kept = self.keep(&progress)?;
        self.count_kept(&kept)?;
        let todo = self.todo(&progress, &kept);
        let before = kept.len();
        self.check_room(&todo)?;
        let parts = self.work(&todo, kept, true)?;
        let manifest = self.committer().assemble(parts);
        Ok(Outcome {
            converted: manifest.parts().count().saturating_sub(before),
            manifest,
            is_committed: false,
        })
    }

    /// The outcome of a run that finds a finished lake.
    fn finished(&self, manifest: Manifest) -> Result<Outcome> {
        self.check_listed(&self.last_of_each(&LakeProgress::finished(manifest.clone())))?;
        Ok(Outcome {
            manifest,
            converted: 0,
            is_committed: true,
        })
    }

    /// Counts the parts that stay: the bytes that they take in the manifest, and their rejected rows.
    fn count_kept(&self, kept: &Parts) -> Result<()> {
        self.fits_manifest(kept)?;
        let rejected = kept.values().map(|part| part.rows_rejected);
        self.count_rejects(rejected.fold(0, u64::saturating_add))
    }

    /// The files that are left to convert.
    fn todo(&self, progress: &LakeProgress, kept: &Parts) -> Vec<Work<'a>> {
        let parts = self.plan.parts().filter(|(table, part)| {
            let key = (table.index, part.key);
            self.is_mine(key) && !kept.contains_key(&key)
        });
        let mut cuts = Cuts::of(progress);
        // The lake may be without a table of an archive because it wasn't asked for, and a look at the archive is cheap.
        cuts.is_complete &= !self.lake.is_alone();
        let streams = self.plan.streams.iter().filter(|stream| {
            let shard = self.run_options.shard.zip(self.assignment.as_ref());
            let is_mine = shard.is_none_or(|(shard, assignment)| {
                assignment.shard_of_stream(&stream.source) == Some(shard.index)
            });
            is_mine && !self.is_cut(stream, &cuts, kept)
        });
        parts
            .map(|(table, part)| Work::Part(table, part))
            .chain(streams.map(Work::Stream))
            .collect()
    }

    /// Converts files, and derives what is derived from them. Returns the parts kept and made.
    fn work(&self, todo: &[Work<'_>], kept: Parts, continues: bool) -> Result<Parts> {
        let shared = Shared {
            kept: kept.clone(),
            continues,
            journal: Mutex::new(None),
        };
        let mut parts = kept;
        parts.append(&mut self.convert_all(todo, &shared)?);
        parts.append(&mut self.derive_all(&shared, &parts)?);
        Ok(parts)
    }

    /// Whether this run makes a part, or derives another one from it: a plain run makes all.
    fn is_mine(&self, (index, part): TablePart) -> bool {
        let (Some(shard), Some(assignment)) = (self.run_options.shard, &self.assignment) else {
            return true;
        };
        let table = index.table(self.plan.trace);
        assignment.is_for(shard.index, table.name, part)
    }

    /// Checks that a manifest of the parts kept and planned can be read back, and counts the kept
    /// ones. How many parts a stream has is known only at its end.
    fn fits_manifest(&self, kept: &Parts) -> Result<()> {
        for facts in kept.values() {
            self.count_in_manifest(facts)?;
        }
        let planned = self.plan.parts().filter(|(table, part)| {
            let key = (table.index, part.key);
            !kept.contains_key(&key)
        });
        let known = self.manifest_bytes.load(Ordering::Relaxed);
        let bytes = planned.fold(known, |bytes, (_, part)| {
            let entry = [part.recorded(), &part.output(), &part.rejects()];
            bytes.saturating_add(manifest::most_bytes(entry))
        });
        manifest::check_bytes(bytes).map_err(|error| error.at(self.lake.root()))
    }

    /// Counts one more part in the manifest.
    fn count_in_manifest(&self, facts: &PartFacts) -> Result<()> {
        let rejects = facts.rejects.as_ref().map_or("", |file| &file.path);
        let bytes = manifest::most_bytes([&facts.source.path, &facts.output.path, rejects]);
        let before = self.manifest_bytes.fetch_add(bytes, Ordering::Relaxed);
        manifest::check_bytes(before.saturating_add(bytes))
            .map_err(|error| error.at(self.lake.root()))
    }

    /// Counts rejected rows, and ends the run when there are too many.
    fn count_rejects(&self, rows: u64) -> Result<()> {
        let before = self.rejected.fetch_add(rows, Ordering::Relaxed);
        check_rejects(before.saturating_add(rows), self.run_options.max_rejects)
    }

    /// The known parts by their key; of a part that was done twice, the later entry counts.
    fn last_of_each(&self, progress: &LakeProgress) -> Parts {
        last_of_each(self.plan.trace, progress)
    }

    /// Opens a source whose reading a signal ends.
    fn open(&self, path: &Location) -> Result<Source> {
        Source::open(&self.context, path)
    }
}

/// The known parts by their key; of a part that was done twice, the later entry counts.
fn last_of_each(trace: &'static Trace, progress: &LakeProgress) -> Parts {
    // A journal may name any table.
    let known = progress.parts.iter().filter_map(|(table, facts)| {
        let index = TableIndex::of(trace, table)?;
        Some(((index, facts.key()), facts.clone()))
    });
    known.collect()
}

/// Ends the work when there are too many rejected rows.
fn check_rejects(rejected: u64, most: Option<u64>) -> Result<()> {
    match most {
        Some(most) if rejected > most => Err(Error::new(
            ErrorKind::Misfit,
            format!("more than {most} rows are rejected"),
        )
        .hint("look at the first one without --on-bad-row, or raise --max-rejects")),
        _ => Ok(()),
    }
}

/// The SHA-256 of a file; a signal ends it.
fn digest(context: &Context, path: &Location) -> Result<Digest> {
    Ok(source::fingerprint(context, path)?.sha256)
}

/// Says how to resume work that was stopped.
fn resumable(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Stopped(_) => {
            error.or_hint("finished parts are kept; run the same command again to resume")
        }
        _ => error,
    }
}
