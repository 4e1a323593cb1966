//! Finds the contents of OUT before a run, and changes nothing there.

use std::collections::BTreeSet;

use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::part_key::PartKey;
use tracelake_lake::store::{Lake, LakeProgress};
use tracelake_location::Location;

use super::{Run, RunOptions};
use crate::plan::Plan;

/// The contents of a lake before a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FinishedParts {
    /// The parts that an earlier run finished, each with its table. They aren't validated yet.
    pub finished: BTreeSet<(String, PartKey)>,
}

impl FinishedParts {
    /// The parts that facts or a manifest name.
    pub(super) fn of(progress: &LakeProgress) -> Self {
        let named = progress.parts.iter();
        Self {
            finished: named
                .map(|(table, facts)| (table.to_string(), facts.key()))
                .collect(),
        }
    }

    /// Whether a part of a table is finished.
    #[must_use]
    pub fn has(&self, table: &str, part: PartKey) -> bool {
        self.finished.contains(&(table.to_owned(), part))
    }
}

/// Looks at OUT as [`super::convert`] would, and changes nothing.
///
/// # Errors
/// Whatever [`super::convert`] would refuse before its work begins.
pub fn preview(
    context: &Context,
    plan: &Plan,
    out: &Location,
    run_options: RunOptions,
) -> Result<FinishedParts> {
    let progress = match Lake::peek(&out.within(context))? {
        None => LakeProgress::default(),
        Some(lake) => {
            let progress = progress(&lake, run_options)?;
            let run = Run::new(context, plan, &lake, run_options, None);
            run.refuse(&progress)?;
            if !progress.complete {
                run.refuse_other_plan(&progress)?;
            }
            progress
        }
    };
    check_derived(plan, &progress)?;
    Ok(FinishedParts::of(&progress))
}

/// The progress that counts for a run with these options, unless it is one of several workers.
pub(super) fn progress(lake: &Lake, run_options: RunOptions) -> Result<LakeProgress> {
    match run_options {
        RunOptions {
            overwrite: true, ..
        } => Ok(LakeProgress::default()),
        RunOptions {
            take_over: true, ..
        } => lake.progress_to_take_over(),
        _ => lake.progress(),
    }
}

impl Run<'_> {
    /// Refuses to derive a table from one that is neither in the plan nor in the lake.
    pub(super) fn check_derived(&self, progress: &LakeProgress) -> Result<()> {
        check_derived(self.plan, progress)
    }
}

fn check_derived(plan: &Plan, progress: &LakeProgress) -> Result<()> {
    for derived in &plan.derived {
        let is_planned = plan
            .tables
            .iter()
            .any(|table| table.order.table.name == derived.from);
        let mut finished = progress.parts.iter();
        let is_finished = finished.any(|(table, _)| **table == *derived.from);
        if !is_planned && !is_finished {
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
