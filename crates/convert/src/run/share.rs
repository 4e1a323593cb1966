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
use super::{Run, RunOptions};
use crate::plan::Plan;

/// How long a worker waits until another one has prepared the lake, or has gone.
const PREPARED_WITHIN: Duration = Duration::from_secs(10);

/// The time between two looks.
const POLL: Duration = Duration::from_millis(50);

/// A lake's state, as a worker finds it.
enum LakeState {
    /// A plan equal to its own.
    Agreed,
    /// A finished lake that has everything of its plan.
    Finished,
    /// Nothing, or a lake that has to change before the plan is carried out.
    Unprepared(Box<LakeProgress>),
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
    super::report_leftovers(context, &lake);
    loop {
        let assignment = Some(agreed.assignment());
        let run = Run::new(context, plan, &lake, run_options, assignment);
        let found = run.find(agreed);
        let prepared = found.and_then(|found| match found {
            LakeState::Agreed | LakeState::Finished if !lake.is_alone() => Ok(true),
            LakeState::Finished => Ok(true),
            LakeState::Agreed => Ok(false),
            LakeState::Unprepared(progress) if lake.is_alone() => {
                run.prepare(agreed, &progress)?;
                Ok(false)
            }
            LakeState::Unprepared(_) => Ok(false),
        });
        match prepared {
            Err(error) => {
                lake.abandon();
                return Err(error);
            }
            Ok(true) => return Ok(lake),
            // Another process may take the lake in between, so the plan is looked at once more.
            Ok(false) if lake.is_alone() => lake.share()?,
            Ok(false) if begun.elapsed() > PREPARED_WITHIN => {
                return Err(
                    Error::new(ErrorKind::Refused, "another run has this lake to itself")
                        .at(out)
                        .hint("wait for it to end, or name another directory"),
                );
            }
            Ok(false) => {
                drop(lake);
                thread::sleep(POLL);
                lake = Lake::join(out)?;
            }
        }
    }
}

impl Run<'_> {
    /// Looks at the lake, and refuses one that another plan works on.
    fn find(&self, agreed: &PlanFile) -> Result<LakeState> {
        let taken_over = self.run_options.take_over && self.lake.is_alone();
        let progress = match taken_over {
            true => self.lake.progress_to_take_over()?,
            false => self.lake.progress()?,
        };
        self.refuse(&progress)?;
        if let Some(then) = progress.plan.as_ref().filter(|_| !taken_over) {
            same_plan(then, agreed).map_err(|error| error.at(self.lake.root()))?;
            return Ok(LakeState::Agreed);
        }
        if progress.complete && self.has_all(agreed, &progress)? {
            return Ok(LakeState::Finished);
        }
        Ok(LakeState::Unprepared(Box::new(progress)))
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
                let kept = progress.parts.iter().cloned();
                self.lake.begin(origin, None, kept)?;
            }
        }
        self.lake.put_plan(agreed)
    }
}
