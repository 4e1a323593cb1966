//! Bad rows that are set aside: what was good is there, what was bad is kept as it came.

use std::fs;

use serde_json::Value;

use crate::cli::bad_rows::VALUES;
use tracelake_testkit::{Scratch, good_row, manifest, output_path, read_output, row_with, table};

const REJECTS: &str = "_tracelake/rejects";

/// Every bad value between good rows: the good rows are the lake, and the counting law holds.
#[test]
fn every_bad_value_is_set_aside_with_its_place() {
    for &(name, column, value, _) in VALUES {
        let table = table(name);
        let good = good_row(name).as_bytes();
        let bad = row_with(table, column, value);
        let text = [good, &bad, good, b""].join(&b"\n"[..]);
        let scratch = Scratch::new();
        scratch.only(name, &text);
        let ended = scratch.convert(&["--on-bad-row", "reject"]);
        let what = format!("{name}.{column} {value:?}: {}", ended.stderr);
        assert_eq!((ended.code, &ended.stdout[..]), (3, ""), "{what}");
        let part = &manifest(&scratch.out())["tables"][0]["parts"][0];
        let counts = ["rows_in", "rows_out", "rows_rejected"].map(|count| part[count].as_u64());
        assert_eq!(counts, [Some(3), Some(2), Some(1)], "{what}");
        assert_eq!(
            read_output(&scratch.out().join(output_path(name, 0, 1))).num_rows(),
            2
        );
        let path = format!("{REJECTS}/{name}/part-00000-of-00001.ndjson");
        let lines = fs::read_to_string(scratch.out().join(path)).unwrap();
        let reject: Value = serde_json::from_str(&lines).unwrap();
        assert_eq!(reject["line"], 2, "{what}");
        assert_eq!(reject["byte"], good.len() as u64 + 1, "{what}");
        assert_eq!(reject["column"], column, "{what}");
        assert_ne!(reject["reason"], "", "{what}");
        match std::str::from_utf8(&bad) {
            Ok(row) => assert_eq!(reject["raw"], row, "{what}"),
            Err(_) => assert!(reject["raw_base64"].is_string(), "{what}"),
        }
        let verify = scratch.verify();
        assert_eq!(verify.code, 0, "{what}: {}", verify.stderr);
    }
}

#[test]
fn too_many_rejects_end_the_run() {
    let scratch = Scratch::new();
    scratch.only("job_events", b"bad\nbad\nbad\n");
    let arguments = ["--on-bad-row", "reject", "--max-rejects"];
    let run = scratch.convert(&[&arguments[..], &["2"]].concat());
    assert_eq!(run.code, 4, "{}", run.stderr);
    run.message();
    assert!(!scratch.out().exists());
    scratch.convert(&[&arguments[..], &["3"]].concat()).exits(3);
}

/// Without a bad row the two policies differ in nothing but the manifest's option.
#[test]
fn a_good_source_has_no_rejects() {
    let scratch = Scratch::with_sample(1, 20);
    scratch.convert_well(&["--on-bad-row", "reject"]);
    assert!(!scratch.out().join(REJECTS).exists());
}
