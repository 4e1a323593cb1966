//! How a run joins the others that work by one plan, and how it ends.

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::seal::sha256;
use tracelake_core::words;
use tracelake_lake::manifest::Manifest;
use tracelake_lake::plan_file::PlanFile;
use tracelake_lake::store::{
    Lake, LakeProgress, LakeState, Withdrawal, finished_by_another, plan_bytes,
};
use tracelake_schema::Trace;

use super::remaining::has_all;
use super::states::{SightedPlan, Sighting, Step, decide};
use super::{Outcome, Parts, Run};

/// How many times a run looks at a lake that others change at the same time before it gives up.
const LOOKS: usize = 8;

/// The hint for a plan that isn't the run's own.
const TAKE_OVER: &str = "wait for the runs that work by it; if there are none, pass --take-over";

/// A finished lake, compared with the plan of a run.
enum Compared {
    /// It has everything.
    Same,
    /// Something is to be added, or made again; the parts that stay, if they were checked.
    Lacks(Option<Parts>),
}

/// A lake that a run has joined.
#[derive(Debug)]
pub(super) enum Joined {
    /// The plan in the lake, by which the run works, and the parts of the manifest that it adds to, if this run has
    /// checked them.
    Working(Box<PlanFile>, Option<Parts>),
    /// The lake has everything of the run's plan.
    Finished(Box<Manifest>),
}

impl Run<'_> {
    /// Joins the lake: puts the plan, or finds that the one in the lake agrees with `own`.
    pub(super) fn join_plan(&self, own: &PlanFile) -> Result<Joined> {
        let mut may_take_over = self.run_options.take_over;
        // The plan that this run has put, for a lake that another one has finished at the same moment.
        let mut put_here: Option<String> = None;
        // The parts that stay of a manifest with this digest. They are checked once, whatever else happens to the lake.
        let mut checked: Option<(String, Parts)> = None;
        for _ in 0..LOOKS {
            let state = self.lake.state()?;
            let plan = state.plan.as_ref().map(|found| {
                let file = found.content.as_ref().ok();
                SightedPlan {
                    file,
                    agrees: file.is_some_and(|file| file.difference(own).is_none()),
                    is_replaced: may_take_over || put_here.as_ref() == Some(&found.digest),
                }
            });
            match (self.run_options.shard, plan) {
                // Who put the plan has listed the lake, and the commit does again: a shard needn't.
                (Some(_), Some(SightedPlan { agrees: true, .. })) => {
                    self.refuse_other_settings(&sighted(&state))?;
                }
                _ => self.refuse(&sighted(&state))?,
            }
            let has_all = match (&state.manifest, &plan) {
                (None, _) => false,
                (Some(found), Some(plan)) => match (&found.content, plan.file) {
                    (Ok(manifest), Some(file)) => has_all(self.plan.trace, file, manifest),
                    _ => false,
                },
                (Some(found), None) => match &found.content {
                    Ok(manifest) => match self.compare(own, manifest)? {
                        Compared::Same => true,
                        Compared::Lacks(kept) => {
                            checked = kept.map(|kept| (found.digest.clone(), kept));
                            false
                        }
                    },
                    Err(damaged) => {
                        self.context.warn(format!(
                            "{damaged}; parts that can't be checked are converted again"
                        ));
                        false
                    }
                },
            };
            let step = decide(Sighting {
                manifest: state.manifest.as_ref().map(|found| &found.digest[..]),
                plan,
                has_all,
            });
            tracing::debug!(?step, "looked at the lake");
            match step {
                Step::Put { base } => {
                    self.check_derived(&sighted(&state))?;
                    let base = match (&state.manifest, base) {
                        (Some(found), base) => {
                            self.lake.check_release()?;
                            self.lake.put_base(found)?;
                            base
                        }
                        (None, _) => self.lake.orphaned_base()?,
                    };
                    put_here = self.put(own, base)?.or(put_here);
                }
                Step::Replace { base } => {
                    if let Some(found) = state.manifest.as_ref().filter(|_| base.is_some()) {
                        self.lake.put_base(found)?;
                    }
                    let base = match base {
                        Some(base) => Some(base),
                        None => self.lake.orphaned_base()?,
                    };
                    self.lake.remove_plan()?;
                    may_take_over = false;
                    put_here = self.put(own, base)?.or(put_here);
                }
                Step::Withdraw | Step::Join => {
                    let Some(found) = state.plan else { continue };
                    let plan = found.content?;
                    self.lake.work_by(&found.digest, &plan, found.etag);
                    if let Some(found) = state.manifest
                        && self.lake.withdraw_manifest(&found)? == Withdrawal::PlanIsGone
                    {
                        continue;
                    }
                    self.lake.put_description(&plan.origin)?;
                    let kept = checked
                        .filter(|(digest, _)| plan.base.as_ref() == Some(digest))
                        .map(|(_, kept)| kept);
                    return Ok(Joined::Working(Box::new(plan), kept));
                }
                Step::Tidy => {
                    if let (Some(found), Some(manifest)) = (&state.plan, &state.manifest)
                        && let (Ok(plan), Ok(manifest)) = (&found.content, &manifest.content)
                    {
                        self.lake.work_by(&found.digest, plan, found.etag.clone());
                        self.lake.tidy(manifest)?;
                    }
                }
                Step::Finished => {
                    if let Some(Ok(manifest)) = state.manifest.map(|found| found.content) {
                        self.lake.tidy(&manifest)?;
                        return Ok(Joined::Finished(Box::new(manifest)));
                    }
                }
                Step::Refuse => return Err(self.refusal(state, own)),
            }
        }
        Err(
            Error::new(ErrorKind::Refused, "other runs keep changing this lake")
                .at(self.lake.root())
                .hint("wait for them to end, then run the same command again"),
        )
    }

    /// Puts the run's plan, which adds to `base`; returns its digest if no other plan was there.
    fn put(&self, own: &PlanFile, base: Option<String>) -> Result<Option<String>> {
        let own = PlanFile {
            base,
            ..own.clone()
        };
        let json = plan_bytes(&own, self.lake.root())?;
        let digest = sha256(&json);
        let is_put = self.lake.put_new_plan(json)?;
        Ok(is_put.then_some(digest))
    }

    /// Compares a finished lake with the plan of this run. A run without shards also checks its outputs, so that it makes
    /// damaged ones again.
    fn compare(&self, own: &PlanFile, manifest: &Manifest) -> Result<Compared> {
        let progress = LakeProgress::finished(manifest.clone());
        if !self.has_all(own, &progress)? {
            return Ok(Compared::Lacks(None));
        }
        if self.run_options.shard.is_some() {
            return Ok(Compared::Same);
        }
        let kept = self.keep(&progress)?;
        let is_done = self.todo(&progress, &kept).is_empty() && self.underived(&kept).is_empty();
        if !is_done || self.committer().assemble(kept.clone()).tables != manifest.tables {
            return Ok(Compared::Lacks(Some(kept)));
        }
        self.count_kept(&kept)?;
        Ok(Compared::Same)
    }

    /// The error that names the plan in the lake, and the manifest if there is one.
    fn refusal(&self, state: LakeState, own: &PlanFile) -> Error {
        let root = self.lake.root();
        let Some(plan) = state.plan.map(|found| found.content) else {
            return Error::new(ErrorKind::Refused, "other runs keep changing this lake").at(root);
        };
        let plan = match plan {
            Ok(plan) => plan,
            Err(damaged) => return damaged,
        };
        let manifest = state.manifest.and_then(|found| found.content.ok());
        if let Some(manifest) = manifest {
            return two_lakes(&manifest, &plan).at(root);
        }
        let reason = match plan.difference(own) {
            Some(difference) => {
                format!("another plan is in progress here: {difference}; it converts {plan}")
            }
            None => format!("another plan is in progress here; it converts {plan}"),
        };
        Error::new(ErrorKind::Refused, reason)
            .at(root)
            .hint(TAKE_OVER)
    }

    /// Converts beside other runs on the same plan.
    pub(super) fn convert_by_plan(&self, own: &PlanFile) -> Result<Outcome> {
        let (agreed, checked) = match self.join_plan(own)? {
            Joined::Working(agreed, checked) => (agreed, checked),
            Joined::Finished(manifest) => return self.finished(*manifest),
        };
        let outcome = match self.run_options.shard {
            None => self.convert_all_of(&agreed, checked),
            Some(shard) => self.convert_shard(own, shard),
        };
        match outcome {
            // Another worker on this plan was faster.
            Err(error) if error.kind() == ErrorKind::Refused => {
                self.lake.put_back()?;
                match committed(self.lake, self.plan.trace, &agreed)? {
                    Some(manifest) => self.finished(manifest),
                    None => Err(error),
                }
            }
            outcome => outcome,
        }
    }

    /// A run without shards: everything of the plan, and then the commit. Parts that were `checked` are kept.
    fn convert_all_of(&self, agreed: &PlanFile, checked: Option<Parts>) -> Result<Outcome> {
        let progress = self.lake.progress()?;
        if progress.complete {
            return Err(finished_by_another(self.lake.root()));
        }
        self.warn_of_damage(&progress);
        self.check_derived(&progress)?;
        let kept = match checked {
            Some(kept) => kept,
            None => self.keep(&progress)?,
        };
        self.count_kept(&kept)?;
        let todo = self.todo(&progress, &kept);
        let before = kept.len();
        let parts = self.work(&todo, kept, true)?;
        let converted = parts.len().saturating_sub(before);
        let manifest = self
            .committer_by(&agreed.origin, &parts)
            .publish(parts, false)?;
        Ok(Outcome {
            converted,
            manifest,
            is_committed: true,
        })
    }
}

/// The manifest, if another worker on the same plan has committed the lake.
pub(super) fn committed(
    lake: &Lake,
    trace: &'static Trace,
    plan: &PlanFile,
) -> Result<Option<Manifest>> {
    let state = lake.state()?;
    let finished = state.finished().map(|found| &found.content);
    let Some(Ok(manifest)) = finished else {
        return Ok(None);
    };
    Ok(has_all(trace, plan, manifest).then(|| manifest.clone()))
}

/// The error for a lake that is finished, with a plan beside it that adds something else.
pub(super) fn two_lakes(manifest: &Manifest, plan: &PlanFile) -> Error {
    let reason = format!(
        "the lake is finished with {}, and an unfinished plan adds {plan}",
        tables_of(manifest)
    );
    Error::new(ErrorKind::Refused, reason).hint(TAKE_OVER)
}

/// The progress of a lake, by its plan and manifest alone.
fn sighted(state: &LakeState) -> LakeProgress {
    if let Some(Ok(manifest)) = state.manifest.as_ref().map(|found| &found.content) {
        return LakeProgress::finished(manifest.clone());
    }
    let plan = state
        .plan
        .as_ref()
        .and_then(|found| found.content.as_ref().ok());
    LakeProgress {
        origin: plan.map(|plan| plan.origin.clone()),
        ..LakeProgress::default()
    }
}

/// The tables of a lake for people, such as `job_events (2 parts), task_events (1 part)`.
fn tables_of(manifest: &Manifest) -> String {
    let tables = manifest.tables.iter();
    words::tables(tables.map(|table| (&table.name[..], table.parts.len())))
}
