//! Findings of `verify OUT --source LAKE` in a clustered lake.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::SortingColumn;
use parquet::file::properties::WriterProperties;
use tracelake_testkit::{Scratch, copy, manifest, read_output, sha256, write_manifest};

use super::{cluster, compare, lake, parts};

const TABLE: &str = "job_events";

/// Replaces the rows of a part of a table, and what the manifest says of it.
fn replace(lake: &Path, number: usize, rows: &RecordBatch, sorting: &[i32]) {
    let mut facts = manifest(lake);
    let tables = facts["tables"].as_array_mut().unwrap();
    let table = tables
        .iter_mut()
        .find(|found| found["name"] == TABLE)
        .unwrap();
    let before = table["parts"][number]["rows_out"].as_u64().unwrap();
    let part = &mut table["parts"][number];
    let path = lake.join(part["output"]["path"].as_str().unwrap());
    let sorting = sorting.iter().map(|&column_idx| SortingColumn {
        column_idx,
        descending: false,
        nulls_first: true,
    });
    let sorting: Vec<SortingColumn> = sorting.collect();
    let sorting = (!sorting.is_empty()).then_some(sorting);
    let properties = WriterProperties::builder()
        .set_sorting_columns(sorting)
        .build();
    let schema = read_output(&path).schema();
    let mut writer = ArrowWriter::try_new(
        File::create(&path).unwrap(),
        Arc::clone(&schema),
        Some(properties),
    )
    .unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
    let bytes = fs::read(&path).unwrap();
    let time = time_range(rows);
    part["output"]["sha256"] = sha256(&bytes).into();
    part["output"]["bytes"] = bytes.len().into();
    part["rows_out"] = rows.num_rows().into();
    part["rows_in"] = rows.num_rows().into();
    (part["time_min"], part["time_max"]) = time;
    let all = table["rows"].as_u64().unwrap() + rows.num_rows() as u64 - before;
    table["rows"] = all.into();
    write_manifest(lake, &facts);
}

/// The smallest and the largest time.
fn time_range(rows: &RecordBatch) -> (serde_json::Value, serde_json::Value) {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    let times = rows
        .column_by_name("time")
        .unwrap()
        .as_primitive::<Int64Type>();
    let values = times.values().iter();
    (
        values.clone().min().copied().into(),
        values.max().copied().into(),
    )
}

fn joined(schema: &RecordBatch, slices: &[RecordBatch]) -> RecordBatch {
    concat_batches(&schema.schema(), slices).unwrap()
}

/// The indices of the job and the time, by which a file of the table is sorted.
fn order(rows: &RecordBatch) -> Vec<i32> {
    let index = |name| i32::try_from(rows.schema().index_of(name).unwrap()).unwrap();
    vec![index("job_id"), index("time")]
}

#[test]
fn each_fault_is_found() {
    let scratch = Scratch::new();
    let lake = lake(&scratch, &["--tables", TABLE]);
    let out = scratch.path().join("out");
    cluster(&lake, &out, &["--by", "job", "--files", "2"]).well();
    let [first, second] = [0, 1].map(|number| parts(&out, TABLE).swap_remove(number).1);
    let order = order(&first);
    let all = first.num_rows();
    assert!(all > 10 && second.num_rows() > 10);
    let swapped = joined(
        &first,
        &[
            first.slice(all - 1, 1),
            first.slice(1, all - 2),
            first.slice(0, 1),
        ],
    );
    let lost = first.slice(0, all - 1);
    let doubled = joined(&first, &[first.slice(0, 1), first.clone()]);
    let moved = joined(&first, &[second.slice(0, 1), first.clone()]);
    let copied = scratch.path().join("copied");
    for (what, rows, second_rows, says) in [
        ("nothing", &first, &second, ": 0 wrong"),
        (
            "two rows swapped",
            &swapped,
            &second,
            "it comes before the row above it, by job_id, time",
        ),
        ("a row lost", &lost, &second, "they differ"),
        ("a row doubled", &doubled, &second, "they differ"),
        (
            "a row moved",
            &moved,
            &second.slice(1, second.num_rows() - 1),
            "its key is of class 1, and the file is number 0",
        ),
    ] {
        copy(&out, &copied);
        replace(&copied, 0, rows, &order);
        replace(&copied, 1, second_rows, &order);
        let run = compare(&copied, &lake);
        run.exits(if what == "nothing" { 0 } else { 5 });
        run.prints(says);
        fs::remove_dir_all(&copied).unwrap();
    }
    // A file that declares another order than its own, or none.
    for declared in [&order[..1], &[]] {
        copy(&out, &copied);
        replace(&copied, 0, &first, declared);
        let run = compare(&copied, &lake);
        run.exits(5);
        run.prints("it claims another order of its rows than theirs");
        fs::remove_dir_all(&copied).unwrap();
    }
}

#[test]
fn the_order_of_a_compact_lake_counts() {
    let scratch = Scratch::new();
    let lake = lake(&scratch, &["--tables", TABLE]);
    let out = scratch.path().join("out");
    cluster(&lake, &out, &["--compact", "--files", "2"]).well();
    let rows = parts(&out, TABLE).swap_remove(0).1;
    let all = rows.num_rows();
    let swapped = joined(
        &rows,
        &[
            rows.slice(all - 1, 1),
            rows.slice(1, all - 2),
            rows.slice(0, 1),
        ],
    );
    replace(&out, 0, &swapped, &[]);
    let run = compare(&out, &lake);
    run.exits(5);
    run.prints(", row 1 of ");
}

#[test]
fn a_clustered_lake_has_no_source_but_lakes() {
    let scratch = Scratch::new();
    let lake = lake(&scratch, &["--tables", TABLE]);
    let out = scratch.path().join("out");
    cluster(&lake, &out, &["--by", "job", "--files", "2"]).well();
    let run = compare(&out, &scratch.path().join("source"));
    run.refuses(2, "name the lake that it was clustered from");
}
