//! `tracelake cluster`: the same rows, those of one entity together.

mod ended;
mod found;
mod layout;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use tracelake_testkit::{Run, Scratch, convert, generate, manifest, read_output, run, value_text};

/// The trace whose tables have the keys `job` and `machine`.
const TRACE: &str = "google-2011-v2.1";

/// A lake of a synthetic trace.
fn lake(scratch: &Scratch, options: &[&str]) -> PathBuf {
    let source = scratch.path().join("source");
    if !source.exists() {
        generate(TRACE, &source, &["--rows", "6000", "--parts", "3"]);
    }
    let out = scratch.path().join("lake");
    convert(&source, &out, &[&["--allow-missing"], options].concat()).well();
    out
}

/// Runs `cluster` without progress.
fn cluster(lake: &Path, out: &Path, options: &[&str]) -> Run {
    let paths = [lake, out].map(|path| path.to_str().unwrap());
    run(["cluster"].iter().chain(&paths).chain(options))
}

fn compare(out: &Path, lake: &Path) -> Run {
    let [out, lake] = [out, lake].map(|path| path.to_str().unwrap());
    run(["verify", out, "--source", lake])
}

/// The parts of a table, by their numbers, with what the manifest says of them.
fn parts(lake: &Path, table: &str) -> Vec<(u64, RecordBatch, serde_json::Value)> {
    let facts = manifest(lake);
    let mut tables = facts["tables"].as_array().unwrap().iter();
    let table = tables.find(|found| found["name"] == table).unwrap();
    let parts = table["parts"].as_array().unwrap().iter();
    let read = parts.map(|part| {
        let path = lake.join(part["output"]["path"].as_str().unwrap());
        let number = part["file_number"].as_u64().unwrap();
        (number, read_output(&path), part.clone())
    });
    read.collect()
}

/// All rows of a table, in the order of its parts.
fn rows(lake: &Path, table: &str) -> RecordBatch {
    let batches: Vec<RecordBatch> = parts(lake, table)
        .into_iter()
        .map(|(_, rows, _)| rows)
        .collect();
    concat_batches(&batches[0].schema(), &batches).unwrap()
}

/// The rows as texts, each with how often it is there.
fn counted(rows: &RecordBatch) -> BTreeMap<Vec<String>, usize> {
    let mut counted = BTreeMap::new();
    for row in 0..rows.num_rows() {
        *counted.entry(texts(rows, row)).or_default() += 1;
    }
    counted
}

fn texts(rows: &RecordBatch, row: usize) -> Vec<String> {
    let columns = rows.columns().iter();
    columns.map(|column| value_text(column, row)).collect()
}

fn tables(lake: &Path) -> Vec<String> {
    let facts = manifest(lake);
    let tables = facts["tables"].as_array().unwrap().iter();
    tables
        .map(|table| table["name"].as_str().unwrap().to_owned())
        .collect()
}
