//! Both lakes of one source, compared value by value.

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use serde_json::Value;
use tracelake_schema::{Files, TRACES, Trace, arrow::arrow_schema};

use super::arrow;
use tracelake_testkit::{
    Scratch, assert_same_tree, committed_sample, convert, generate, good_row, heads, manifest,
    read_arrow, read_output, run, shared, table, tree,
};

/// The facts of a part that don't depend on the format.
fn counts(part: &Value) -> Vec<&Value> {
    let names = [
        "file_number",
        "of",
        "rows_in",
        "rows_out",
        "rows_rejected",
        "sentinels_mapped",
        "time_min",
        "time_max",
        "left_out",
        "rejects",
    ];
    names.iter().map(|name| &part[*name]).collect()
}

/// The parts of a lake with the index of their table, and its trace.
fn parts(out: &Path) -> (&'static Trace, Vec<(String, Value)>) {
    let manifest = manifest(out);
    let trace = tracelake_schema::trace(manifest["trace"].as_str().unwrap()).unwrap();
    let mut parts = Vec::new();
    for table in manifest["tables"].as_array().unwrap() {
        let name = table["name"].as_str().unwrap();
        for part in table["parts"].as_array().unwrap() {
            parts.push((name.to_owned(), part.clone()));
        }
    }
    (trace, parts)
}

/// Makes both lakes and compares them; returns the rows of both.
#[track_caller]
fn assert_same_rows(source: &Path, options: &[&str]) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let lakes: [PathBuf; 2] = ["parquet", "arrow"].map(|name| directory.path().join(name));
    let parquet = convert(source, &lakes[0], options);
    let made = arrow(source, &lakes[1], options);
    assert_eq!(made.code, parquet.code, "{}", made.stderr);
    assert!([0, 3].contains(&made.code), "{}", made.stderr);
    let (trace, expected) = parts(&lakes[0]);
    let (_, found) = parts(&lakes[1]);
    assert_eq!(found.len(), expected.len());
    let mut rows = 0;
    for ((name, expected), (table, found)) in expected.iter().zip(&found) {
        assert_eq!((name, counts(expected)), (table, counts(found)));
        let [parquet, arrow] =
            [expected, found].map(|part| part["output"]["path"].as_str().unwrap());
        assert_eq!(parquet.replace(".parquet", ".arrow"), arrow);
        let before = read_output(&lakes[0].join(parquet));
        let now = read_output(&lakes[1].join(arrow));
        let schema = arrow_schema(trace.table(name).unwrap());
        assert_eq!(now.schema(), schema, "{name}: comments and units included");
        assert!(before.columns() == now.columns(), "{name} differs");
        rows += now.num_rows();
    }
    for lake in &lakes {
        let lake = lake.to_str().unwrap();
        run(["verify", lake, "--source", source.to_str().unwrap()]).well();
    }
    rows
}

#[test]
fn a_sample_of_every_table() {
    let scratch = Scratch::with_sample(3, 400);
    assert_eq!(assert_same_rows(&scratch.src(), &[]), 3 * 4 * 400 + 2 * 400);
    assert!(assert_same_rows(&committed_sample(), &["--layout", "flat"]) > 0);
}

#[test]
#[cfg_attr(not(published_data), ignore = "needs ../shared/data")]
fn published_rows() {
    let rows = assert_same_rows(&shared("google-2011"), &["--allow-missing"]);
    assert!(rows > 50_000, "{rows}");
    let rows = assert_same_rows(&heads().src(), &["--allow-missing"]);
    assert_eq!(rows, 1800);
}

/// Structs and lists, tables cut into parts, derived tables.
#[test]
fn every_generated_trace() {
    for trace in TRACES {
        if trace.tables.iter().any(|table| table.synthetic.is_empty()) {
            continue;
        }
        let directory = tempfile::tempdir().unwrap();
        generate(&trace.name, directory.path(), &["--rows", "3000"]);
        let mut options = vec!["--trace", &trace.name, "--checksums", "none"];
        if trace.tables.iter().any(|table| table.files == Files::Whole) {
            options.extend(["--part-rows", "700"]);
        }
        if !trace.derived.is_empty() {
            options.extend(["--derive", "dag"]);
        }
        assert!(
            assert_same_rows(directory.path(), &options) >= 3000,
            "{}",
            trace.name
        );
    }
}

#[test]
fn rejects_and_sentinels() {
    let scratch = Scratch::new();
    let usage = good_row("task_usage");
    let mapped = usage.replacen("900", "18446744073709551615", 1);
    let rows = [
        usage,
        "bad",
        &mapped,
        "600,x",
        "",
        usage,
        &usage.replacen("900", "9x", 1),
    ];
    scratch.only("task_usage", rows.join("\n").as_bytes());
    assert_eq!(
        assert_same_rows(&scratch.src(), &["--on-bad-row", "reject"]),
        3
    );
    let all_bad = Scratch::new();
    all_bad.only("job_events", b"bad\n");
    assert_eq!(
        assert_same_rows(&all_bad.src(), &["--on-bad-row", "reject"]),
        0
    );
}

/// Enough rows for several batches and chunks, with rejects, on any number of threads.
#[test]
fn batches_have_65536_rows_on_any_number_of_threads() {
    let rows = 135_000;
    let mut text = tracelake_testkit::rows::sample(table("task_events"), 0, rows);
    text.insert_str(0, "bad\n");
    text.push_str("bad\n");
    let scratch = Scratch::new();
    scratch.only("task_events", text.as_bytes());
    let lake = |threads: &str, codec: &str| {
        let out = scratch.path().join(threads).join(codec);
        let options = [
            "--on-bad-row",
            "reject",
            "--threads",
            threads,
            "--compression",
            codec,
        ];
        arrow(&scratch.src(), &out, &options).exits(3);
        out
    };
    for codec in ["zstd", "none"] {
        let first = lake("1", codec);
        for threads in ["2", "5"] {
            let other = tree(&lake(threads, codec));
            assert_same_tree(&other, &tree(&first), threads);
        }
        let (_, parts) = parts(&first);
        let path = first.join(parts[0].1["output"]["path"].as_str().unwrap());
        let batches: Vec<usize> = read_arrow(&path)
            .iter()
            .map(RecordBatch::num_rows)
            .collect();
        assert_eq!(batches, [65_536, 65_536, rows - 2 * 65_536]);
    }
}
