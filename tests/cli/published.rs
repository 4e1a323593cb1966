//! Whole tables are compared with the published counts.

use std::path::Path;

use serde_json::Value;

use tracelake_testkit::{Run, Scratch, convert, good_line, good_row, run, shared, table};

const TABLE: &str = "machine_events";

/// The line about the table in a summary.
fn said(run: &Run) -> &str {
    assert_eq!(run.code, 0, "{}", run.stderr);
    let lines = run.stderr.lines();
    let mut reported = lines.filter(|line| line.contains("published count"));
    let line = reported.next().unwrap_or_default();
    assert_eq!(reported.next(), None, "{}", run.stderr);
    line
}

/// The table in a JSON object of a lake.
fn found(lake: &str) -> Value {
    let lake: Value = serde_json::from_str(lake).unwrap();
    let mut tables = lake["tables"].as_array().unwrap().iter();
    tables.find(|one| one["name"] == TABLE).unwrap().clone()
}

/// The table in the output of `inspect --json`.
fn inspected(lake: &Path) -> Value {
    found(&run([Path::new("inspect"), lake, Path::new("--json")]).stdout)
}

/// The table in the last JSON line of a run.
fn done(source: &Path, lake: &Path) -> Value {
    let run = convert(source, lake, &["--allow-missing", "--progress", "json"]);
    run.well();
    found(run.stderr.lines().last().unwrap())
}

#[test]
fn a_difference_is_told_and_is_no_error() {
    let published = table(TABLE).published.as_ref().unwrap();
    assert_eq!(table(TABLE).parts, 1);
    let scratch = Scratch::new();
    scratch.good(TABLE);
    // This one comes in many parts, and one of them says nothing of the others.
    let other = "job_events";
    scratch.part(other, 0, 500, good_line(other).as_bytes());
    let expected = |line: &str| {
        let digits: String = line.chars().filter(|one| *one != ',').collect();
        let more = 1 - i64::try_from(published.rows).unwrap();
        let (rows, sure) = (published.rows, published.confidence.name());
        let fewer = more.unsigned_abs();
        let words = format!("{fewer} fewer than the published count of {rows} ({sure})");
        assert_eq!(digits, format!("warning: {TABLE}: 1 row read {words}"));
        more
    };
    let more = expected(said(&scratch.convert(&["--allow-missing"])));
    expected(said(&run(["verify".into(), scratch.out()])));
    for value in [
        inspected(&scratch.out()),
        done(&scratch.src(), &scratch.out()),
    ] {
        assert_eq!(value["published_rows"], published.rows);
        assert_eq!(value["more_than_published"], more);
    }
    // Of a source nothing is known before it is read.
    assert!(inspected(&scratch.src())["more_than_published"].is_null());
    // Rows that are rejected were published all the same.
    let two = format!("{}\nbad\n", good_row(TABLE));
    scratch.only(TABLE, two.as_bytes());
    let reject = ["--allow-missing", "--overwrite", "--on-bad-row", "reject"];
    scratch.convert(&reject).prints("2 rows read");
}

#[test]
#[cfg_attr(not(published_data), ignore = "needs ../shared/data")]
fn a_published_file_matches() {
    let source = shared("google-2011");
    let scratch = Scratch::new();
    let line = format!("{TABLE}: 37,780 rows read, matches the published count");
    let run_of = convert(&source, &scratch.out(), &["--allow-missing"]);
    assert_eq!(said(&run_of), line);
    assert_eq!(said(&run(["verify".into(), scratch.out()])), line);
    for value in [inspected(&scratch.out()), done(&source, &scratch.out())] {
        assert_eq!(value["published_rows"], 37_780);
        assert_eq!(value["more_than_published"], 0);
    }
}
