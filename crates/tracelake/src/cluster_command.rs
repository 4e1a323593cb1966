//! The command `tracelake cluster`.

use tracelake_convert::cluster::{ClusterPlan, Room, cluster, preview};
use tracelake_convert::discover;
use tracelake_core::Context;
use tracelake_core::error::Result;

use crate::cli::ClusterArgs;
use crate::report::{self, PlannedWork, Reporter};

/// Carries the command out; returns what `--dry-run` prints.
pub(crate) fn run(
    args: &ClusterArgs,
    context: &Context,
    reporter: &Reporter,
) -> Result<Option<String>> {
    let context = &args.within(context);
    let (request, out) = (args.request()?, args.out()?);
    let options = args.options(context.threads());
    let plan = ClusterPlan::new(context, &request)?;
    discover::refuse_inside(&request.lake, &out)?;
    if args.dry_run {
        let done = preview(context, &plan, &out, &options)?;
        let room = Room::of(&plan, &done, &out, &options);
        let text = report::cluster_text(&plan, &done, &room);
        room.check(&out)?;
        return Ok(Some(text));
    }
    reporter.start(PlannedWork {
        command: "cluster",
        parts: Some(plan.parts()),
        bytes: Some(plan.bytes()),
        shard: None,
    });
    let outcome = cluster(context, &plan, &out, &options)?;
    reporter.finish();
    report::clustered(reporter, &plan, &outcome);
    Ok(None)
}
