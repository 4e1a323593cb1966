//! Carries out a plan: joins the lake, converts what isn't done, and commits it.
//!
//! How runs agree on a lake is the work of `tracelake_lake`; a run knows no more of it than `join`, `commit` of a part, and
//! `finish`.

mod derived;
mod files;
mod room;
mod run_options;
mod schedule;
mod step;
mod streams;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_lake::manifest::Manifest;
use tracelake_lake::plan_file::PlanFile;
use tracelake_lake::{
    Goal, Joined, Lake, Overwrite, PartName, Parts, check_overwrite, check_rejects, finish_rename,
    parts_of, progress, remaining,
};
use tracelake_location::Location;
use tracelake_schema::Trace;
use tracelake_source as source;

use crate::plan::{Plan, check_sha256};
use derived::underived;
use schedule::{Schedule, Work};
use step::{Run, no_threads};

pub(crate) use files::finish_part;
pub use room::Room;
pub use run_options::{RunOptions, parts_within};
pub(crate) use schedule::first_failure;

/// The result of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The manifest of the lake as it is now. Of a shard that isn't committed yet, it has the parts of
    /// the shard, and isn't written.
    pub manifest: Manifest,
    /// How many parts this run converted; the others were finished before.
    pub converted: usize,
    /// Whether all parts of the run are in the manifest of the lake.
    pub is_committed: bool,
}

impl Outcome {
    /// The result of a commit.
    #[must_use]
    pub fn committed(manifest: Manifest) -> Self {
        Self {
            manifest,
            converted: 0,
            is_committed: true,
        }
    }
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
    let how = (context.threads(), run_options.overwrite);
    make_lake(context, &plan.trace, out, how, |out| {
        convert_into(context, plan, out, run_options)
    })
}

/// Makes a lake of a trace at `out` by `make`, on a number of threads. One that replaces the lake there is made beside it,
/// and takes its place at the end.
pub(crate) fn make_lake(
    context: &Context,
    trace: &Trace,
    out: &Location,
    (threads, is_replaced): (usize, bool),
    make: impl FnOnce(&Location) -> Result<Outcome> + Send,
) -> Result<Outcome> {
    let out = &out.within(context);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| no_threads(threads, error))?;
    let outcome = pool.install(|| {
        if is_replaced && let Some(overwrite) = Overwrite::begin(context, out, trace)? {
            let outcome = make(&overwrite.place())?;
            overwrite.finish()?;
            return Ok(outcome);
        }
        if let Location::Disk(path) = out {
            finish_rename(path)?;
        }
        make(out)
    });
    outcome.map_err(resumable)
}

/// Does something with the goal of a plan.
fn with_goal<T>(
    plan: &Plan,
    shards: u32,
    run_options: RunOptions,
    act: impl FnOnce(&Goal<'_>) -> Result<T>,
) -> Result<T> {
    let file = plan.to_file(shards);
    act(&Goal {
        identity: plan.identity(),
        plan: &file,
        shard: run_options.shard.map(|shard| shard.index),
        on_bad_row: plan.origin.options.on_bad_row,
        source: &plan.source,
        source_of: &|name| plan.source_of(name),
        output_of: &|name| plan.output_of(name),
    })
}

fn convert_into(
    context: &Context,
    plan: &Plan,
    out: &Location,
    run_options: RunOptions,
) -> Result<Outcome> {
    let shards = run_options.shard.map_or(1, |shard| shard.of);
    with_goal(plan, shards, run_options, |goal| {
        let joined = Lake::at(out).join(context, goal)?;
        check_derived(plan, &joined)?;
        if let Some(damaged) = joined.damaged() {
            context.warn(format!(
                "{damaged}; parts that can't be checked are converted again"
            ));
        }
        let kept = joined.keep()?;
        check_listed(context, plan, &kept)?;
        let rejected = kept.values().map(|part| part.rows_rejected);
        let rejected = rejected.fold(0, u64::saturating_add);
        check_rejects(rejected, run_options.max_rejects).map_err(|error| error.at(out))?;
        let todo = todo(plan, goal, &joined, &kept);
        let is_done = todo.is_empty() && underived(plan, goal, &kept).is_empty();
        if is_done && let Some(manifest) = joined.finished_with(&kept)? {
            let checked = manifest.check_rejects(run_options.max_rejects);
            checked.map_err(|error| error.at(out))?;
            return Ok(Outcome::committed(manifest));
        }
        if !run_options.ignore_disk_space {
            Room::for_work(context, plan, &todo, out, run_options).check(out)?;
        }
        check_zips(context, plan, &todo)?;
        let working = joined.begin()?;
        let run = Run {
            context: context.for_parts(),
            plan,
            goal,
            working: &working,
            kept: &kept,
            run_options,
            rejected: AtomicU64::new(rejected),
            doubted: Mutex::default(),
        };
        let made = work(&run, &todo)?;
        let converted = made.len();
        let mut parts = kept;
        parts.extend(made);
        if run_options.shard.is_some() {
            let manifest = working.assemble(&parts);
            working.leave()?;
            return Ok(Outcome {
                manifest,
                converted,
                is_committed: false,
            });
        }
        let manifest = working.finish(&parts, run_options.max_rejects)?;
        Ok(Outcome {
            manifest,
            converted,
            is_committed: true,
        })
    })
}

/// Prepares the lake at `out` for the shards of a plan, as the first of them would. A launcher learns this way whether the
/// lake can be made, before it starts any workers.
///
/// Returns the plan; `None` if the lake has everything of it.
///
/// # Errors
/// Errors of [`convert`] before it converts anything.
pub fn prepare(
    context: &Context,
    plan: &Plan,
    out: &Location,
    run_options: RunOptions,
) -> Result<Option<PlanFile>> {
    let out = &out.within(context);
    let shards = run_options.shard.map_or(1, |shard| shard.of);
    let prepared = with_goal(plan, shards, run_options, |goal| {
        let joined = Lake::at(out).join(context, goal)?;
        check_derived(plan, &joined)?;
        if let Some(found) = progress(out)?
            && let Some(manifest) = &found.manifest
        {
            let committed = found.committed(manifest);
            if remaining(
                &plan.trace,
                goal.plan,
                &committed,
                &committed,
                &found.counts,
            )
            .is_empty()
            {
                return Ok(None);
            }
        }
        joined.begin()?.keep_begun().leave()?;
        Ok(Some(goal.plan.clone()))
    });
    prepared.map_err(resumable)
}

/// Looks at OUT as [`convert`] would, and changes nothing. Returns the parts that are done; they aren't validated yet.
///
/// # Errors
/// Whatever [`convert`] would refuse before its work begins.
pub fn preview(
    context: &Context,
    plan: &Plan,
    out: &Location,
    run_options: RunOptions,
) -> Result<BTreeSet<PartName>> {
    let out = &out.within(context);
    if run_options.overwrite && check_overwrite(out, &plan.trace)?.is_some() {
        return Ok(BTreeSet::new());
    }
    let shards = run_options.shard.map_or(1, |shard| shard.of);
    with_goal(plan, shards, run_options, |goal| {
        let joined = Lake::at(out).peek(context, goal)?;
        check_derived(plan, &joined)?;
        Ok(joined.done().into_keys().collect())
    })
}

/// Refuses to derive a table from one that is neither in the plan nor in the lake.
fn check_derived(plan: &Plan, joined: &Joined<'_>) -> Result<()> {
    let done = match plan.derived.is_empty() {
        true => return Ok(()),
        false => joined.done(),
    };
    for derived in &plan.derived {
        let mut tables = plan.tables.iter().map(|table| &*table.order.table.name);
        let is_planned = tables.any(|name| name == derived.from);
        if !is_planned && !done.keys().any(|name| *name.table == *derived.from) {
            let reason = format!(
                "{} is derived from {}, which is neither selected nor in the lake",
                derived.table.name, derived.from
            );
            return Err(Error::new(ErrorKind::Usage, reason).hint(format!(
                "select {} too, or leave --derive out",
                derived.from
            )));
        }
    }
    Ok(())
}

/// The files that are left to convert.
fn todo<'a>(plan: &'a Plan, goal: &Goal<'_>, joined: &Joined<'_>, kept: &Parts) -> Vec<Work<'a>> {
    let assignment = goal.plan.assignment();
    let shard = goal.shard.unwrap_or(0);
    let parts = plan.parts().filter(|(table, part)| {
        let table = &table.order.table.name;
        let is_mine = assignment.shard_of(table, part.key) == Some(shard);
        is_mine && !kept.contains_key(&PartName::new(table, part.key))
    });
    // A damaged part still says how many there are.
    let counts = joined.counts(&joined.done());
    let streams = plan.streams.iter().filter(|stream| {
        let missing = counts.missing_of(&plan.trace, &plan.planned_stream(stream), kept);
        let is_mine = assignment.shard_of_stream(&stream.source) == Some(shard);
        is_mine && missing.is_none_or(|missing| !missing.is_empty())
    });
    parts
        .map(|(table, part)| Work::Part(table, part))
        .chain(streams.map(Work::Stream))
        .collect()
}

/// Compares the sources of finished parts with the digests that the publisher lists: they may have been converted without
/// these.
fn check_listed(context: &Context, plan: &Plan, finished: &Parts) -> Result<()> {
    for (table, part) in plan.parts() {
        let name = PartName::new(&table.order.table.name, part.key);
        if let Some((expected, facts)) = part.sha256.zip(finished.get(&name)) {
            let path = plan.source.join(&part.source);
            check_sha256(&path, expected, facts.source.sha256)?;
        }
    }
    for stream in &plan.streams {
        let Some(expected) = stream.sha256 else {
            continue;
        };
        let path = plan.source.join(&stream.source);
        let tables = plan.tables_of(stream).map(|table| &*table.order.table.name);
        let mut parts = tables
            .flat_map(|table| parts_of(finished, table))
            .map(|(_, facts)| facts)
            .peekable();
        let found = match parts.peek() {
            None => continue,
            Some(_) => parts.find(|facts| facts.of.is_some()),
        };
        // If all parts are of the beginning of the file, none of them has the digest of the rest.
        let found = match found {
            Some(facts) => facts.source.sha256,
            None => source::fingerprint(context, &path)?.sha256,
        };
        check_sha256(&path, expected, found)?;
    }
    Ok(())
}

/// Compares listed zip archives with their digests before the first part in each is converted; one of several workers
/// has that part.
fn check_zips(context: &Context, plan: &Plan, todo: &[Work<'_>]) -> Result<()> {
    for (zip, expected) in &plan.zips {
        let first = plan.first_in(zip).map(|(_, part)| part);
        let has_first = todo
            .iter()
            .any(|work| matches!(work, Work::Part(_, part) if first == Some(*part)));
        if has_first {
            let path = plan.source.join(zip);
            check_sha256(
                &path,
                *expected,
                source::fingerprint(context, &path)?.sha256,
            )?;
        }
    }
    Ok(())
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

/// Converts files, and derives what is derived from them. Returns the parts made.
fn work(run: &Run<'_>, todo: &[Work<'_>]) -> Result<Parts> {
    let mut made = Schedule::new(run, todo).convert_all()?;
    let mut parts = run.kept.clone();
    parts.extend(
        made.iter()
            .map(|(name, facts)| (name.clone(), facts.clone())),
    );
    made.append(&mut run.derive_all(&parts)?);
    Ok(made)
}
