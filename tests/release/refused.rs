//! Lakes that aren't released: every refusal names its reason and leaves the lake as it was.

use std::fs;
use std::path::Path;

use tracelake_core::origin::ENCODING;

use crate::release::{FILES, release, released, small, there};

use tracelake_testkit::{Scratch, assert_same_tree, good_row, output_path, seal, tree};

/// Exit `code` and a message that says this; the lake is as it was.
#[track_caller]
fn refused(out: &Path, arguments: &[&str], code: i32, says: &str) {
    let before = tree(out);
    let run = release(out, arguments);
    assert_eq!(run.code, code, "{}", run.stderr);
    assert!(run.stderr.contains(says), "{says}: {}", run.stderr);
    assert_same_tree(&tree(out), &before, says);
}

#[test]
fn missing_parts_are_named_and_may_be_allowed() {
    let scratch = small(&["machine_events"]);
    let says = "job_events: 500 of 500 parts are missing: 0-499; convert the rest too, or pass \
                --allow-missing, and the card says so";
    refused(&scratch.out(), &[], 6, says);
    refused(&scratch.out(), &["--allow-rejects"], 6, says);
    release(&scratch.out(), &["--allow-missing"]).well();
    assert_eq!(there(&scratch.out()), FILES);
}

#[test]
fn rejected_rows_are_counted_and_may_be_allowed() {
    let scratch = Scratch::new();
    let rows = format!("bad\n{}\nworse\n", good_row("machine_events"));
    scratch.only("machine_events", rows.as_bytes());
    scratch.convert(&["--on-bad-row", "reject"]).exits(3);
    let out = scratch.out();
    let says = "rejected rows: 2; fix them, or pass --allow-rejects, and the card says so";
    refused(&out, &["--allow-missing"], 6, says);
    release(&out, &["--allow-missing", "--allow-rejects"]).well();
    let card = fs::read_to_string(out.join("README.md")).unwrap();
    assert!(
        card.contains("**2 rows did not fit their table and are not in it.**"),
        "{card}"
    );
}

#[test]
fn what_is_no_finished_lake_is_refused() {
    let scratch = small(&["machine_events"]);
    let out = scratch.out();
    fs::remove_file(out.join("_tracelake/manifest.json")).unwrap();
    refused(
        &out,
        &["--allow-missing"],
        6,
        "not a finished lake: it has no manifest",
    );
    let nowhere = scratch.path().join("nowhere");
    refused(&nowhere, &["--allow-missing"], 6, "not a finished lake");
    assert!(!nowhere.exists());
}

#[test]
fn a_lake_of_another_encoding_is_refused() {
    let scratch = small(&["machine_events"]);
    let path = scratch.out().join("_tracelake/manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    let this = format!("\"encoding\": {ENCODING}");
    assert!(text.contains(&this));
    let other = text.replacen(&this, "\"encoding\": 1000", 1);
    fs::write(&path, seal(&other)).unwrap();
    refused(
        &scratch.out(),
        &["--allow-missing"],
        6,
        "made it, in encoding 1000; the encoding of this program is",
    );
}

/// No argument makes a list of checksums out of files that are not what was converted.
#[test]
fn a_changed_file_is_named_whatever_is_allowed() {
    let scratch = released(&["job_events", "machine_events"]);
    let out = scratch.out();
    let all = ["--allow-missing", "--allow-rejects"];
    let part = output_path("machine_events", 0, 1);
    let whole = fs::read(out.join(&part)).unwrap();
    let mut bytes = whole.clone();
    bytes[whole.len() / 2] ^= 1;
    fs::write(out.join(&part), bytes).unwrap();
    refused(&out, &all, 5, &format!("{part}: has SHA-256 "));
    refused(&out, &all, 5, "\nnot released\n");
    fs::remove_file(out.join(&part)).unwrap();
    refused(&out, &all, 5, &part);
    fs::write(out.join(&part), whole).unwrap();
    let stray = out.join(output_path("job_events", 7, 8));
    fs::create_dir_all(stray.parent().unwrap()).unwrap();
    fs::write(&stray, "").unwrap();
    refused(
        &out,
        &all,
        5,
        "part-00007-of-00008.parquet: is not in the manifest",
    );
}

#[test]
fn a_file_of_somebody_else_is_not_replaced() {
    // The publisher's file is meant to be edited.
    for name in FILES.into_iter().filter(|name| !name.ends_with(".toml")) {
        let scratch = small(&["machine_events"]);
        fs::write(scratch.out().join(name), "mine").unwrap();
        let says = format!("{name}: is not of a release; move it away");
        refused(&scratch.out(), &["--allow-missing"], 6, &says);
    }
    let scratch = released(&["machine_events"]);
    // A file with the right bytes isn't foreign.
    fs::remove_file(scratch.out().join("SHA256SUMS")).unwrap();
    release(&scratch.out(), &["--allow-missing"]).well();
    let card = scratch.out().join("README.md");
    let text = fs::read_to_string(&card).unwrap() + "\nAsk me about it.\n";
    fs::write(&card, text).unwrap();
    let says = "README.md: was changed since the release; move it away";
    refused(&scratch.out(), &["--allow-missing"], 6, says);
}
