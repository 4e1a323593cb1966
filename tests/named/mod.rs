//! Traces that have their own patterns for file names: rows in the published form, converted, verified and read back.

mod published;
mod recognised;

use std::path::Path;
use std::sync::Arc;

use tracelake_schema::{TRACES, Trace};
use tracelake_testkit::{Scratch, convert, manifest, read_output, run, value_text};

/// The rows of a table in a lake, each as its values in text, part after part.
fn rows(lake: &Path, table: &str) -> Vec<Vec<String>> {
    let manifest = manifest(lake);
    let tables = manifest["tables"].as_array().unwrap();
    let Some(facts) = tables.iter().find(|one| one["name"] == table) else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    for part in facts["parts"].as_array().unwrap() {
        let batch = read_output(&lake.join(part["output"]["path"].as_str().unwrap()));
        assert_eq!(part["rows_out"].as_u64(), Some(batch.num_rows() as u64));
        for row in 0..batch.num_rows() {
            let columns = batch.columns().iter();
            rows.push(columns.map(|column| value_text(column, row)).collect());
        }
    }
    rows
}

/// The file numbers of a table in a lake.
fn file_numbers(lake: &Path, table: &str) -> Vec<u64> {
    let manifest = manifest(lake);
    let tables = manifest["tables"].as_array().unwrap();
    let facts = tables.iter().find(|one| one["name"] == table).unwrap();
    let parts = facts["parts"].as_array().unwrap().iter();
    parts
        .map(|part| part["file_number"].as_u64().unwrap())
        .collect()
}

/// The traces with a table of this name.
fn traces_with(table: &str) -> Vec<&'static Arc<Trace>> {
    TRACES
        .iter()
        .filter(|trace| trace.table(table).is_some())
        .collect()
}

/// The only trace with a table of this name.
fn trace_with(table: &str) -> &'static Arc<Trace> {
    let traces = traces_with(table);
    assert_eq!(traces.len(), 1, "{table}");
    traces[0]
}

/// Converts the source of a scratch directory, verifies the lake in both ways, and checks which trace was recognised.
fn convert_and_verify(scratch: &Scratch, trace: &Trace, options: &[&str]) {
    let out = scratch.out();
    convert(
        &scratch.src(),
        &out,
        &[&["--allow-missing"], options].concat(),
    )
    .well();
    assert_eq!(manifest(&out)["trace"], trace.name);
    let (lake, source) = (out.to_str().unwrap(), scratch.src());
    for arguments in [
        &["verify", lake][..],
        &["verify", lake, "--source", source.to_str().unwrap()],
        &["inspect", lake],
    ] {
        let run = run(arguments);
        assert_eq!(run.code, 0, "{arguments:?}: {}", run.stderr);
    }
}
