//! A release of a lake that has changed since: it stays, everyone says so, and the next release replaces it.

use std::fs;

use crate::release::{FILES, release, released, small, there};
use tracelake_testkit::{Scratch, assert_same_tree, good_line, run, tree};

const STALE: &str = "describe an older manifest";

/// Adds a table to a lake.
fn add(scratch: &Scratch) {
    let row = good_line("job_events");
    scratch.only("job_events", row.as_bytes());
    let added = scratch.convert(&[]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    added.prints(STALE);
}

#[test]
fn a_release_stays_when_the_lake_changes() {
    let scratch = released(&["machine_events"]);
    let out = scratch.out();
    scratch.convert_well(&[]);
    let before = tree(&out);
    add(&scratch);
    assert_eq!(there(&out), FILES);
    for command in ["verify", "inspect"] {
        let run = run([std::path::Path::new(command), &out]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(
            run.stderr.contains(STALE) || run.stdout.contains(STALE),
            "{command}"
        );
    }
    release(&out, &["--allow-missing"]).well();
    assert_ne!(
        tree(&out).unwrap()["SHA256SUMS"],
        before.unwrap()["SHA256SUMS"]
    );
    let verified = run([std::path::Path::new("verify"), &out]);
    assert!(!verified.stderr.contains(STALE), "{}", verified.stderr);
    scratch.convert_well(&["--overwrite", "--compression", "snappy"]);
    assert_eq!(there(&out), [""; 0]);
}

#[test]
fn a_run_that_changes_nothing_leaves_the_release() {
    let scratch = released(&["machine_events"]);
    let before = tree(&scratch.out());
    scratch.only("job_events", b"bad\n");
    scratch.convert(&[]).exits(4);
    assert_same_tree(&tree(&scratch.out()), &before, "a bad row");
}

/// Runs leave the files of a release alone, and a release never replaces one that was edited.
#[test]
fn what_somebody_wrote_stays() {
    let scratch = released(&["machine_events"]);
    let out = scratch.out();
    let card = fs::read_to_string(out.join("README.md")).unwrap() + "\nAsk me about it.\n";
    fs::write(out.join("README.md"), &card).unwrap();
    add(&scratch);
    let before = tree(&out);
    let refused = release(&out, &["--allow-missing"]);
    assert_eq!(refused.code, 6);
    let says = "README.md: was changed since the release";
    refused.says(says);
    assert_same_tree(&tree(&out), &before, "refused");
    fs::rename(out.join("README.md"), scratch.path().join("mine.md")).unwrap();
    release(&out, &["--allow-missing"]).well();

    // Without a release a README.md and a list of checksums are nothing of ours.
    let scratch = small(&["machine_events"]);
    for name in ["README.md", "SHA256SUMS"] {
        fs::write(scratch.out().join(name), "mine").unwrap();
    }
    let row = good_line("job_events");
    scratch.only("job_events", row.as_bytes());
    scratch.convert_well(&[]);
    assert_eq!(there(&scratch.out()), ["README.md", "SHA256SUMS"]);
    run([std::path::Path::new("verify"), &scratch.out()]).well();
}
