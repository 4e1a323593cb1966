//! How workers share a lake: the first one prepares it and writes the plan, and every other one
//! compares the plan with its own before it writes anything.

use std::thread;
use std::time::{Duration, Instant};

use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_lake::plan_file::PlanFile;
use tracelake_lake::store::{Agreement, Lake, LakeProgress};
use tracelake_location::Location;

use super::refuse::same_plan;
use super::remaining::remaining_with;
use super::{Run, RunOptions, clear_staging};
use crate::plan::Plan;

/// How long a worker waits until another one has prepared the lake, or has gone.
const PREPARED_WITHIN: Duration = Duration::from_secs(10);

/// The time between two looks.
const POLL: Duration = Duration::from_millis(50);

/// A lake, as a worker finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// A plan equal to its own.
    Agreed,
    /// A finished lake that has everything of its plan.
    Finished,
    /// Nothing, or a lake that has to change before the plan is carried out.
    Unprepared,
}

/// The next step of a worker.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// It works beside the others, or has nothing to do.
    Begin,
    /// It lets the others in, and looks once more: another process may take the lake in between.
    LetIn,
    /// It prepares the lake for all workers, then lets them in.
    Prepare,
    /// It waits for the process that has the lake to itself.
    Wait,
}

/// Decides what a worker does next, by what it found and whether it has the lake alone.
fn decide(found: Found, is_alone: bool) -> Step {
    match (found, is_alone) {
        (Found::Finished, _) | (Found::Agreed, false) => Step::Begin,
        (Found::Agreed, true) => Step::LetIn,
        (Found::Unprepared, true) => Step::Prepare,
        (Found::Unprepared, false) => Step::Wait,
    }
}

/// Joins the workers on the lake at `out`, whose plan is `agreed`.
///
/// The first worker has the lake alone for a moment. It withdraws the manifest of a finished lake that
/// lacks something of the plan, and writes the plan. Then it lets the others in.
pub(super) fn join(
    context: &Context,
    plan: &Plan,
    agreed: &PlanFile,
    out: &Location,
    run_options: RunOptions,
) -> Result<Lake> {
    let begun = Instant::now();
    let mut lake = Lake::join(out)?;
    if lake.agreement() == Agreement::Plan {
        // The run that puts the plan prepares the lake.
        return Ok(lake);
    }
    loop {
        let assignment = Some(agreed.assignment());
        let run = Run::new(context, plan, &lake, run_options, assignment);
        let step = run.find(agreed).and_then(|(found, progress)| {
            let step = decide(found, lake.is_alone());
            clear_staging(context, &lake)?;
            if step == Step::Prepare {
                run.prepare(agreed, &progress)?;
            }
            Ok(step)
        });
        match step {
            Err(error) => {
                lake.abandon();
                return Err(error);
            }
            Ok(Step::Begin) => return Ok(lake),
            Ok(Step::LetIn | Step::Prepare) => lake.share()?,
            Ok(Step::Wait) if begun.elapsed() > PREPARED_WITHIN => {
                return Err(
                    Error::new(ErrorKind::Refused, "another run has this lake to itself")
                        .at(out)
                        .hint("wait for it to end, or name another directory"),
                );
            }
            Ok(Step::Wait) => {
                drop(lake);
                thread::sleep(POLL);
                lake = Lake::join(out)?;
            }
        }
    }
}

impl Run<'_> {
    /// Looks at the lake, and refuses one that another plan works on.
    fn find(&self, agreed: &PlanFile) -> Result<(Found, LakeProgress)> {
        let taken_over = self.run_options.take_over && self.lake.is_alone();
        let progress = match taken_over {
            true => self.lake.progress_to_take_over()?,
            false => self.lake.progress()?,
        };
        self.refuse(&progress)?;
        if let Some(then) = progress.plan.as_ref().filter(|_| !taken_over) {
            same_plan(then, agreed).map_err(|error| error.at(self.lake.root()))?;
            return Ok((Found::Agreed, progress));
        }
        let has_all = progress.complete && self.has_all(agreed, &progress)?;
        let found = match has_all {
            true => Found::Finished,
            false => Found::Unprepared,
        };
        Ok((found, progress))
    }

    /// Whether a finished lake has everything of the plan, made from files of these sizes.
    pub(super) fn has_all(&self, agreed: &PlanFile, progress: &LakeProgress) -> Result<bool> {
        let parts = self.last_of_each(progress);
        if let Some((path, table)) = agreed.changed_source(&progress.parts) {
            return Err(Error::new(
                ErrorKind::Refused,
                "is not the file that the lake was made from",
            )
            .at(self.plan.source.join(path))
            .field(table)
            .hint("put the old file back, or name another directory"));
        }
        let missing = remaining_with(self.plan.trace, agreed, progress, &parts);
        Ok(missing.is_empty())
    }

    /// Prepares the lake for all workers; this one has it alone.
    fn prepare(&self, agreed: &PlanFile, progress: &LakeProgress) -> Result<()> {
        self.check_derived(progress)?;
        self.check_room_beside(progress)?;
        if progress.complete {
            // A release that was changed is refused now, while the lake is as it was.
            self.lake.check_release()?;
            self.lake.remove_plan()?;
            if let Some(origin) = &progress.origin {
                let parts = progress.parts.iter();
                let kept = parts.map(|(table, facts)| (&**table, facts));
                self.lake.begin(origin, None, kept)?;
            }
        }
        self.lake.put_plan(agreed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_workers() {
        for (found, is_alone, step) in [
            (Found::Agreed, false, Step::Begin),
            (Found::Agreed, true, Step::LetIn),
            (Found::Finished, false, Step::Begin),
            (Found::Finished, true, Step::Begin),
            (Found::Unprepared, false, Step::Wait),
            (Found::Unprepared, true, Step::Prepare),
        ] {
            assert_eq!(decide(found, is_alone), step, "{found:?}, {is_alone}");
        }
    }
}
