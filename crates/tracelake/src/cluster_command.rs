//! The command `tracelake cluster`.

use tracelake_convert::cluster::{ClusterOptions, ClusterPlan, Room, cluster, preview};
use tracelake_convert::discover;
use tracelake_convert::run::Outcome;
use tracelake_core::Context;
use tracelake_core::error::Result;
use tracelake_location::Location;

use crate::cli::{ClusterArgs, lake_to_make, limited};
use crate::report::{self, PlannedWork, Reporter};

/// A lake to make, as it was asked for.
pub(crate) struct Clustering {
    context: Context,
    pub(crate) plan: ClusterPlan,
    out: Location,
    options: ClusterOptions,
}

impl Clustering {
    /// Plans the work.
    pub(crate) fn new(args: &ClusterArgs, context: &Context) -> Result<Self> {
        let context = limited(context, args.threads);
        let request = args.request()?;
        let out = lake_to_make(&args.out, args.overwrite)?;
        let plan = ClusterPlan::new(&context, &request)?;
        discover::refuse_inside(&request.lake, &out)?;
        Ok(Self {
            options: args.options(context.threads()),
            context,
            plan,
            out,
        })
    }

    /// Does the work.
    pub(crate) fn carry_out(&self) -> Result<Outcome> {
        cluster(&self.context, &self.plan, &self.out, &self.options)
    }

    /// Describes what would be done.
    fn preview(&self) -> Result<String> {
        let done = preview(&self.context, &self.plan, &self.out, &self.options)?;
        let room = Room::of(&self.plan, &done, &self.out, &self.options);
        let text = report::cluster_text(&self.plan, &done, &room);
        room.check(&self.out)?;
        Ok(text)
    }
}

/// Carries the command out; returns what `--dry-run` prints.
pub(crate) fn run(
    args: &ClusterArgs,
    context: &Context,
    reporter: &Reporter,
) -> Result<Option<String>> {
    let work = Clustering::new(args, context)?;
    if args.dry_run {
        return work.preview().map(Some);
    }
    reporter.start(PlannedWork {
        command: "cluster",
        parts: Some(work.plan.parts()),
        bytes: Some(work.plan.bytes()),
        shard: None,
    });
    let outcome = work.carry_out()?;
    reporter.finish();
    report::clustered(reporter, &work.plan, &outcome);
    Ok(None)
}
