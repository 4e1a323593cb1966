//! `verify` beside a run that adds to the lake.

use tracelake::{Context, Location};
use tracelake_testkit::{Scratch, committed_sample, convert};
use tracelake_verify::Verification;

/// The outputs of an addition aren't foreign, whenever `verify` has read the manifest.
#[test]
fn outputs_that_are_added_in_the_meantime_are_no_finding() {
    let scratch = Scratch::new();
    let add = |table| convert(&committed_sample(), &scratch.out(), &["--tables", table]).well();
    add("job_events");
    let lake = Location::from(scratch.out().as_path());
    let verification = Verification::open(&Context::new(), &lake, None).unwrap();
    add("machine_events");
    let verdict = verification.run().unwrap();
    assert!(verdict.findings.is_empty(), "{:?}", verdict.findings);
}
