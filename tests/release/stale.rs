//! No release outlives the lake that it describes.

use std::fs;

use crate::release::{FILES, release, released, small, there};
use tracelake_testkit::{assert_same_tree, good_row, run, seal, tree};

#[test]
fn a_release_goes_when_the_lake_changes() {
    let scratch = released(&["machine_events"]);
    let out = scratch.out();
    scratch.convert_well(&[]);
    assert_eq!(there(&out), FILES, "nothing was to do");
    let row = format!("{}\n", good_row("job_events"));
    scratch.only("job_events", row.as_bytes());
    scratch.convert_well(&[]);
    assert_eq!(there(&out), [""; 0]);
    let verified = run([std::path::Path::new("verify"), &out]);
    assert_eq!(verified.code, 0, "{}", verified.stderr);
    release(&out, &["--allow-missing"]).well();
    scratch.convert_well(&["--overwrite", "--compression", "snappy"]);
    assert_eq!(there(&out), [""; 0]);
}

/// The first part that would change the lake takes the release away; what fails before does not.
#[test]
fn a_run_that_changes_nothing_leaves_the_release() {
    let scratch = released(&["machine_events"]);
    let before = tree(&scratch.out());
    scratch.only("job_events", b"bad\n");
    assert_eq!(scratch.convert(&[]).code, 4);
    assert_same_tree(&tree(&scratch.out()), &before, "a bad row");
}

#[test]
fn a_manifest_that_is_written_anew_takes_the_release_along() {
    let scratch = released(&["machine_events"]);
    let path = scratch.out().join("_tracelake/manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    let other = text.replacen(
        "\"schema_fingerprint\": \"",
        "\"schema_fingerprint\": \"0",
        1,
    );
    assert_ne!(other, text);
    fs::write(&path, seal(&other)).unwrap();
    scratch.convert_well(&[]);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    assert_eq!(there(&scratch.out()), [""; 0]);
}

#[test]
fn what_somebody_wrote_stays() {
    let scratch = released(&["machine_events"]);
    let out = scratch.out();
    let card = fs::read_to_string(out.join("README.md")).unwrap() + "\nAsk me about it.\n";
    fs::write(out.join("README.md"), &card).unwrap();
    let before = tree(&out);
    scratch.only(
        "job_events",
        format!("{}\n", good_row("job_events")).as_bytes(),
    );
    let refused = scratch.convert(&[]);
    assert_eq!(refused.code, 6);
    assert!(
        refused
            .message()
            .contains("README.md: was changed since the release")
    );
    assert_same_tree(&tree(&out), &before, "refused");
    fs::rename(out.join("README.md"), scratch.path().join("mine.md")).unwrap();
    scratch.convert_well(&[]);
    assert_eq!(there(&out), [""; 0]);

    // Without a release a README.md and a list of checksums are nothing of ours.
    let scratch = small(&["machine_events"]);
    for name in ["README.md", "SHA256SUMS"] {
        fs::write(scratch.out().join(name), "mine").unwrap();
    }
    scratch.only(
        "job_events",
        format!("{}\n", good_row("job_events")).as_bytes(),
    );
    scratch.convert_well(&[]);
    assert_eq!(there(&scratch.out()), ["README.md", "SHA256SUMS"]);
    let verified = run([std::path::Path::new("verify"), &scratch.out()]);
    assert_eq!(verified.code, 0, "{}", verified.stderr);
}
