//! A lake of some rows and columns: a sample by a key, a range of time, chosen columns.

mod classes;
mod columns;
mod formats;
mod lakes;
mod refused;
mod times;

use std::collections::BTreeMap;
use std::path::Path;

use arrow_array::RecordBatch;
use serde_json::Value;
use tracelake_testkit::{manifest, read_output, value_text};

/// The rows of a batch, as texts.
fn texts(batch: &RecordBatch) -> Vec<String> {
    let row = |row| {
        let columns = batch.columns().iter();
        let values = columns.map(|column| value_text(column, row));
        values.collect::<Vec<_>>().join("|")
    };
    (0..batch.num_rows()).map(row).collect()
}

/// The rows of every output of a lake, in order.
fn rows(out: &Path) -> BTreeMap<String, Vec<String>> {
    let parts = parts(out).into_iter().map(|(_, part)| {
        let path = part["output"]["path"].as_str().unwrap();
        (path.to_owned(), texts(&read_output(&out.join(path))))
    });
    parts.collect()
}

/// The parts in a manifest, each with the name of its table.
fn parts(out: &Path) -> Vec<(String, Value)> {
    let manifest = manifest(out);
    let tables = manifest["tables"].as_array().unwrap().iter();
    let parts = tables.flat_map(|table| {
        let name = table["name"].as_str().unwrap();
        let parts = table["parts"].as_array().unwrap().iter();
        parts.map(move |part| (name.to_owned(), part.clone()))
    });
    parts.collect()
}

/// Checks the counting law of every part, and of every table that its parts add up to.
#[track_caller]
fn assert_law(out: &Path) {
    let count = |value: &Value, name: &str| value[name].as_u64().unwrap_or(0);
    for (table, part) in parts(out) {
        let sum = count(&part, "rows_out") + count(&part, "rows_rejected");
        let sum = sum + count(&part, "rows_not_selected");
        assert_eq!(count(&part, "rows_in"), sum, "{table}: {part}");
    }
    for table in manifest(out)["tables"].as_array().unwrap() {
        let parts = table["parts"].as_array().unwrap().iter();
        let parts = parts.map(|part| count(part, "rows_not_selected"));
        assert_eq!(count(table, "rows_not_selected"), parts.sum::<u64>());
    }
}

/// Checks that classes have the rows of a whole lake: those of each part in their order, and each one once.
#[track_caller]
fn assert_unite(whole: &Path, classes: &[&Path], sampled: impl Fn(&str) -> bool) {
    let all = rows(whole);
    let classes: Vec<_> = classes.iter().map(|class| rows(class)).collect();
    for (path, expected) in all {
        let mut of_classes = classes.iter().map(|class| &class[&path]);
        if !sampled(&path) {
            assert!(of_classes.all(|rows| *rows == expected), "{path}");
            continue;
        }
        let mut rest: Vec<_> = of_classes.map(|rows| rows.iter().peekable()).collect();
        for row in &expected {
            let next = rest
                .iter_mut()
                .find_map(|rows| rows.next_if(|next| *next == row));
            assert!(next.is_some(), "{path}: {row}");
        }
        assert!(rest.iter_mut().all(|rows| rows.next().is_none()), "{path}");
    }
}
