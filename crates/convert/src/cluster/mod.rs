//! A lake as another lake: with the rows of each entity together, or in files of equal size.
//!
//! [`ClusterPlan::new`] decides which files are made; [`cluster`] makes them. Rows are packed as bytes, sorted
//! ([`sorting`](crate::sorting)), and merged as streams, one for each file (`write`). How the files become a lake is the work of `tracelake_lake`, as for `convert`.

mod copy;
mod group;
mod memory;
mod plan;
mod read;
mod request;
mod room;
mod write;

use std::collections::BTreeSet;

use tracelake_core::Context;
use tracelake_core::error::Result;
use tracelake_core::options::OnBadRow;
use tracelake_lake::{Goal, Lake, PartName, Parts, check_overwrite};
use tracelake_location::Location;

use crate::run::{Outcome, make_lake};
use group::{Making, make_group};
use memory::Memory;
use room::check_spill;

pub use plan::{ClusterPlan, Group};
pub use request::{
    Arrangement, ClusterOptions, ClusterRequest, FILE_SIZE, FileCount, LEAST_MEMORY,
    LEAST_MEMORY_COMPACT, MOST_FILES,
};
pub use room::Room;

/// Makes the files of a plan in the lake at `out`. Files that an earlier run finished are validated and kept.
///
/// # Errors
/// [`Corrupt`](tracelake_core::ErrorKind::Corrupt) if a file of the other lake is damaged;
/// [`Refused`](tracelake_core::ErrorKind::Refused) if `out` is something else, or a lake that was made in another way;
/// when the disk or the store fails.
///
/// # Memory
/// The memory of the options, whatever the rows are; a row takes at most 1 MiB or two.
pub fn cluster(
    context: &Context,
    plan: &ClusterPlan,
    out: &Location,
    options: &ClusterOptions,
) -> Result<Outcome> {
    let memory = Memory::of(options.memory, context.threads(), &plan.arrangement);
    let how = (memory.threads, options.overwrite);
    make_lake(context, &plan.trace, out, how, |out| {
        cluster_into(context, plan, out, options, memory)
    })
}

/// Looks at OUT as [`cluster`] would, and changes nothing. Returns the files that are done; they aren't validated yet.
///
/// # Errors
/// Whatever [`cluster`] would refuse before its work begins.
pub fn preview(
    context: &Context,
    plan: &ClusterPlan,
    out: &Location,
    options: &ClusterOptions,
) -> Result<BTreeSet<PartName>> {
    let out = &out.within(context);
    if options.overwrite && check_overwrite(out, &plan.trace)?.is_some() {
        return Ok(BTreeSet::new());
    }
    with_goal(plan, |goal| {
        let joined = Lake::at(out).peek(context, goal)?;
        Ok(joined.done().into_keys().collect())
    })
}

/// Does something with the goal of a plan.
fn with_goal<T>(plan: &ClusterPlan, act: impl FnOnce(&Goal<'_>) -> Result<T>) -> Result<T> {
    let (file, paths) = (plan.to_file(), plan.paths());
    act(&Goal {
        identity: plan.identity(),
        plan: &file,
        shard: None,
        // Rows were rejected before.
        on_bad_row: OnBadRow::Reject,
        source: &plan.lake,
        source_of: &|_| plan.source.path.clone(),
        output_of: &|name| paths.get(name).cloned().unwrap_or_default(),
    })
}

fn cluster_into(
    context: &Context,
    plan: &ClusterPlan,
    out: &Location,
    options: &ClusterOptions,
    memory: Memory,
) -> Result<Outcome> {
    if let Some(directory) = &options.spill {
        check_spill(directory)?;
    }
    with_goal(plan, |goal| {
        let joined = Lake::at(out).join(context, goal)?;
        let kept = joined.keep()?;
        let is_done = plan.names().all(|name| kept.contains_key(&name));
        if is_done && let Some(manifest) = joined.finished_with(&kept)? {
            return Ok(Outcome::committed(manifest));
        }
        let done: BTreeSet<PartName> = kept.keys().cloned().collect();
        Room::of(plan, &done, out, options).check(out)?;
        let working = joined.begin()?;
        for absent in &plan.absent {
            working.note_absent(&[&absent.name], &absent.source)?;
        }
        let scratch = match &options.spill {
            Some(directory) => directory.clone(),
            None => working.scratch()?,
        };
        let making = Making {
            context: context.for_parts(),
            plan,
            working: &working,
            kept: &kept,
            memory,
            scratch: &scratch,
        };
        let mut parts = Parts::new();
        for group in &plan.groups {
            parts.extend(make_group(&making, group)?);
        }
        let converted = parts.len();
        parts.extend(
            kept.iter()
                .map(|(name, facts)| (name.clone(), facts.clone())),
        );
        let manifest = working.finish(&parts, None)?;
        Ok(Outcome {
            manifest,
            converted,
            is_committed: true,
        })
    })
}

#[cfg(test)]
mod tests;
