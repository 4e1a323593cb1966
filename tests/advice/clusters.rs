//! Lakes that are clustered.

use std::fs;

use tracelake_testkit::{Scratch, committed_sample, convert, run};

use super::{Advice, change, retype};

/// The sample as a lake.
fn sample(scratch: &Scratch) {
    convert(&committed_sample(), &scratch.out(), &[]).well();
}

pub(super) const ADVICE: &[Advice] = &[
    retype(
        "pass a larger --file-size, or --files",
        sample,
        "cluster OUT DIR/made --by job --file-size 1",
        "cluster OUT DIR/made --by job --files 2",
    ),
    retype(
        "cluster by another key, or pass --compact",
        |s| {
            convert(
                &committed_sample(),
                &s.out(),
                &["--tables", "machine_events"],
            )
            .well()
        },
        "cluster OUT DIR/made --by job",
        "cluster OUT DIR/made --compact",
    ),
    change(
        "name an existing directory with --spill",
        sample,
        "cluster OUT DIR/made --by job --spill DIR/spilled",
        |s| fs::create_dir(s.path().join("spilled")).unwrap(),
    ),
    retype(
        "pass more, or leave it out",
        sample,
        "cluster OUT DIR/made --compact --memory 100MB",
        "cluster OUT DIR/made --compact --memory 300MB",
    ),
    retype(
        "name the lake that it was clustered from, and compare that one with the source",
        |s| {
            sample(s);
            let paths = [s.out(), s.path().join("made")];
            let [lake, made] = paths.each_ref().map(|path| path.to_str().unwrap());
            run(["cluster", lake, made, "--by", "job"]).well();
        },
        "verify DIR/made --source SRC",
        "verify DIR/made --source OUT",
    ),
];
