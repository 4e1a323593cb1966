//! `verify LAKE --source OTHER`, where OTHER is a lake.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Int64Array, RecordBatch};
use parquet::arrow::ArrowWriter;
use serde_json::Value;
use tracelake_schema::{TRACES, Trace};
use tracelake_testkit::{
    Run, Scratch, convert, copy, generate, manifest, read_output, run, sha256, write_manifest,
};

fn trace() -> &'static Trace {
    let is_published = |trace: &&Arc<Trace>| trace.tables.iter().any(|table| table.parquet);
    TRACES.iter().find(is_published).unwrap()
}

/// Lakes of both forms of the same rows.
fn both(scratch: &Scratch) -> [PathBuf; 2] {
    ["json", "parquet"].map(|form| {
        let source = scratch.path().join(format!("{form} source"));
        let options = ["--rows", "3000", "--parts", "2", "--form", form];
        generate(&trace().name, &source, &options);
        made(&source, &scratch.path().join(form), &[])
    })
}

fn made(source: &Path, lake: &Path, arguments: &[&str]) -> PathBuf {
    convert(source, lake, &[&["--allow-missing"], arguments].concat()).well();
    lake.to_owned()
}

fn compare(one: &Path, other: &Path) -> Run {
    let [one, other] = [one, other].map(|path| path.to_str().unwrap());
    run(["verify", one, "--source", other])
}

/// Changes an output of a lake, and what the manifest says of it.
fn change(lake: &Path, table: &str, change: impl FnOnce(RecordBatch) -> RecordBatch) {
    let mut facts = manifest(lake);
    let tables = facts["tables"].as_array_mut().unwrap().iter_mut();
    let table = tables
        .into_iter()
        .find(|found| found["name"] == table)
        .unwrap();
    let part: &mut Value = &mut table["parts"][0];
    let path = lake.join(part["output"]["path"].as_str().unwrap());
    let rows = change(read_output(&path));
    let mut writer =
        ArrowWriter::try_new(File::create(&path).unwrap(), rows.schema(), None).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
    let bytes = fs::read(&path).unwrap();
    part["output"]["sha256"] = sha256(&bytes).into();
    part["output"]["bytes"] = bytes.len().into();
    write_manifest(lake, &facts);
}

/// The machine of a row replaced.
fn with_machine(rows: &RecordBatch, row: usize, machine: i64) -> RecordBatch {
    let index = rows.schema().index_of("machine_id").unwrap();
    let mut machines: Vec<i64> = rows
        .column(index)
        .as_primitive::<Int64Type>()
        .values()
        .to_vec();
    machines[row] = machine;
    let mut columns = rows.columns().to_vec();
    columns[index] = Arc::new(Int64Array::from(machines));
    RecordBatch::try_new(rows.schema(), columns).unwrap()
}

/// The rows in another order.
fn turned(rows: &RecordBatch) -> RecordBatch {
    let half = rows.num_rows() / 2;
    let parts = [
        rows.slice(half, rows.num_rows() - half),
        rows.slice(0, half),
    ];
    arrow_select::concat::concat_batches(&rows.schema(), &parts).unwrap()
}

#[test]
fn lakes_of_both_forms_are_equal() {
    let scratch = Scratch::new();
    let [json, parquet] = both(&scratch);
    for [one, other] in [[&json, &parquet], [&parquet, &json]] {
        let run = compare(one, other);
        run.exits(0);
        run.prints("values compared");
        run.prints(": 0 wrong");
    }
    let counted = compare(&json, &parquet).stderr;
    let values = counted
        .split(", ")
        .find(|part| part.ends_with("compared with the source: 0 wrong"));
    let digits: String = values
        .unwrap()
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    let expected: u64 = manifest(&json)["tables"]
        .as_array()
        .unwrap()
        .iter()
        .map(|table| {
            let name = table["name"].as_str().unwrap();
            let columns = trace().table(name).unwrap().columns.len() as u64;
            let parts = table["parts"].as_array().unwrap().iter();
            columns
                * parts
                    .map(|part| part["rows_out"].as_u64().unwrap())
                    .sum::<u64>()
        })
        .sum();
    assert_eq!(digits, format!("{expected}0"), "{counted}");
    // Parts of other sizes, and other files of the same parts.
    let source = scratch.path().join("json source");
    let snappy = made(
        &source,
        &scratch.path().join("snappy"),
        &["--compression", "snappy"],
    );
    compare(&json, &snappy).exits(0);
    let arrow = made(
        &source,
        &scratch.path().join("arrow"),
        &["--format", "arrow", "--layout", "flat"],
    );
    compare(&arrow, &parquet).exits(0);
}

#[test]
fn the_order_of_rows_counts_only_where_it_should_be_the_same() {
    let scratch = Scratch::new();
    let [json, parquet] = both(&scratch);
    let copied = scratch.path().join("copy");
    copy(&json, &copied);
    change(&copied, "machine_events", |rows| turned(&rows));
    let run = compare(&copied, &json);
    run.exits(5);
    run.prints("machine_events");
    run.prints(", row 1 of ");
    compare(&copied, &parquet).exits(0);
}

#[test]
fn a_row_that_one_lake_lacks_is_named() {
    let scratch = Scratch::new();
    let [json, parquet] = both(&scratch);
    change(&parquet, "machine_events", |rows| {
        with_machine(&rows, 3, -7)
    });
    for [one, other] in [[&json, &parquet], [&parquet, &json]] {
        let run = compare(one, other);
        run.exits(5);
        run.prints("; they differ");
        run.prints("\"machine_id\":-7");
        run.prints(", row 4 of ");
        run.prints(" lacks: {");
    }
    // The same change, found row by row.
    let copied = scratch.path().join("copy");
    copy(&json, &copied);
    change(&copied, "machine_events", |rows| with_machine(&rows, 3, -7));
    let run = compare(&json, &copied);
    run.exits(5);
    run.prints("\"machine_id\":-7");
    run.prints(", row 4 of ");
}

#[test]
fn a_row_that_is_there_twice_is_not_there_once() {
    let scratch = Scratch::new();
    let [json, parquet] = both(&scratch);
    let machines = |rows: &RecordBatch, from: usize, to: usize| {
        let index = rows.schema().index_of("machine_id").unwrap();
        let slices = [
            rows.slice(0, to),
            rows.slice(from, 1),
            rows.slice(to + 1, rows.num_rows() - to - 1),
        ];
        let machines = rows.column(index).as_primitive::<Int64Type>();
        assert_ne!(machines.value(from), machines.value(to));
        arrow_select::concat::concat_batches(&rows.schema(), &slices).unwrap()
    };
    // As many rows, of which one is another one's copy.
    change(&parquet, "machine_events", |rows| machines(&rows, 0, 1));
    let run = compare(&json, &parquet);
    run.exits(5);
    run.prints("; they differ");
}

#[test]
fn lakes_that_cannot_be_equal_are_refused_or_reported() {
    let scratch = Scratch::new();
    let [json, parquet] = both(&scratch);
    let source = scratch.path().join("parquet source");
    let machines = ["--tables", "machine_events"];
    let few = made(&source, &scratch.path().join("few"), &machines);
    let run = compare(&json, &few);
    run.exits(5);
    run.prints("has no instance_usage");
    // The other lake may have more.
    let run = compare(&few, &json);
    run.exits(0);
    run.prints("not in the lake: ");
    let narrow = [&machines[..], &["--columns", "time"]].concat();
    let narrow = made(&source, &scratch.path().join("narrow"), &narrow);
    compare(&few, &narrow).refuses(2, "other --columns");
    let sampled = made(
        &source,
        &scratch.path().join("sampled"),
        &["--sample", "0/2"],
    );
    compare(&parquet, &sampled).exits(5);
    let others = Scratch::with_sample(1, 20);
    others.convert_well(&[]);
    compare(&json, &others.out()).refuses(2, "name a lake of the same trace");
    // A damaged file of the other lake is found before its rows.
    let damaged = scratch.path().join("damaged");
    copy(&parquet, &damaged);
    let output = damaged.join("machine_events/file_number=0/part-00000.parquet");
    let mut bytes = fs::read(&output).unwrap();
    bytes[20] ^= 1;
    fs::write(&output, bytes).unwrap();
    let run = compare(&json, &damaged);
    run.exits(5);
    run.prints("has SHA-256");
}
