//! The contents of the files of a clustered lake.

use std::fs::{self, File};

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use parquet::file::reader::{FileReader, SerializedFileReader};
use tracelake_testkit::{
    Scratch, assert_same_tree, convert, generate, manifest, read_output, run, sha256, tree,
};

use super::{TRACE, cluster, compare, counted, lake, parts, rows, tables, texts};

/// The columns of each table, by which its rows are ordered, as the documents say.
const ORDERS: [(&str, &[&str]); 4] = [
    ("job_events", &["job_id", "time"]),
    ("task_events", &["job_id", "task_index", "time"]),
    ("task_constraints", &["job_id", "task_index", "time"]),
    ("task_usage", &["job_id", "task_index", "start_time"]),
];

#[test]
fn each_file_has_the_rows_of_a_sample_in_order() {
    let scratch = Scratch::new();
    let lake = lake(&scratch, &[]);
    let out = scratch.path().join("by-job");
    cluster(&lake, &out, &["--by", "job", "--files", "3"]).well();
    assert_eq!(tables(&out), tables(&lake));
    for table in tables(&lake) {
        assert_eq!(
            counted(&rows(&out, &table)),
            counted(&rows(&lake, &table)),
            "{table}"
        );
    }
    for class in 0..3_u64 {
        let sampled = scratch.path().join(format!("sample-{class}"));
        let sample = format!("{class}/3");
        let options = ["--allow-missing", "--sample", &sample, "--sample-by", "job"];
        convert(&scratch.path().join("source"), &sampled, &options).well();
        for (table, order) in ORDERS {
            let (number, found, facts) =
                parts(&out, table).swap_remove(usize::try_from(class).unwrap());
            assert_eq!(number, class);
            let path = facts["output"]["path"].as_str().unwrap();
            assert_eq!(
                path,
                format!("{table}/file_number={class}/part-0000{class}-of-00003.parquet")
            );
            assert_eq!(
                counted(&found),
                counted(&rows(&sampled, table)),
                "{table} {class}"
            );
            let columns: Vec<_> = order
                .iter()
                .map(|name| found.column_by_name(name).unwrap())
                .collect();
            let place = |row: usize| -> Vec<Option<i64>> {
                let values = columns.iter().map(|column| {
                    let values = column.as_primitive::<Int64Type>();
                    values.is_valid(row).then(|| values.value(row))
                });
                values.collect()
            };
            // None comes before every value.
            let places: Vec<_> = (0..found.num_rows()).map(place).collect();
            assert!(places.is_sorted(), "{table} {class}");
            // The file says so.
            let file = SerializedFileReader::new(File::open(out.join(path)).unwrap()).unwrap();
            let groups = file.metadata().row_groups();
            assert!(!groups.is_empty());
            for group in groups {
                let sorting = group.sorting_columns().unwrap().iter();
                let names = sorting.map(|by| {
                    assert!(by.nulls_first && !by.descending);
                    let at = usize::try_from(by.column_idx).unwrap();
                    group.column(at).column_path().string()
                });
                assert_eq!(names.collect::<Vec<_>>(), order);
            }
        }
    }
    // Rows of one place stay in the order of the lake.
    let names = ["job_id", "task_index", "time"];
    let found = rows(&out, "task_constraints");
    let place = |row: usize| {
        let columns = names.iter().map(|name| found.column_by_name(name).unwrap());
        let values = columns.map(|column| column.as_primitive::<Int64Type>().value(row));
        values.collect::<Vec<_>>()
    };
    let before = rows(&lake, "task_constraints");
    let order: Vec<Vec<String>> = (0..before.num_rows())
        .map(|row| texts(&before, row))
        .collect();
    let mut equal = 0;
    for row in 1..found.num_rows() {
        if place(row - 1) == place(row) {
            let [one, other] = [row - 1, row].map(|row| texts(&found, row));
            let first = order.iter().position(|row| *row == one).unwrap();
            let last = order.iter().rposition(|row| *row == other).unwrap();
            assert!(first < last || one == other);
            equal += 1;
        }
    }
    assert!(equal > 10, "{equal} rows have the place of the one before");
}

#[test]
fn tables_without_the_key_are_copied() {
    let scratch = Scratch::new();
    let lake = lake(&scratch, &[]);
    let out = scratch.path().join("by-job");
    cluster(&lake, &out, &["--by", "job", "--files", "2"]).well();
    for table in ["machine_events", "machine_attributes"] {
        let [before, after] = [&lake, &out].map(|lake| tree(&lake.join(table)));
        assert_same_tree(&after, &before, table);
    }
    // By their own key, they are not.
    let out = scratch.path().join("by-machine");
    cluster(&lake, &out, &["--by", "machine", "--files", "2"]).well();
    assert_eq!(parts(&out, "machine_events").len(), 2);
    let [before, after] = [&lake, &out].map(|lake| tree(&lake.join("job_events")));
    assert_same_tree(&after, &before, "job_events");
    compare(&out, &lake).exits(0);
}

#[test]
fn the_lake_says_how_it_was_clustered() {
    let scratch = Scratch::new();
    let lake = lake(&scratch, &[]);
    let digest = sha256(&fs::read(lake.join("_tracelake/manifest.json")).unwrap());
    for (options, expected) in [
        (
            &["--by", "job", "--file-size", "1GB"][..],
            serde_json::json!({"by": "job", "files": 1, "source": digest}),
        ),
        (
            &["--compact", "--files", "2"],
            serde_json::json!({"files": 2, "source": digest}),
        ),
        (
            &["--compact"],
            serde_json::json!({"file_size": 256_000_000, "source": digest}),
        ),
    ] {
        let out = scratch.path().join("out");
        cluster(&lake, &out, options).well();
        let identity = fs::read(out.join("_tracelake/lake.json")).unwrap();
        let identity: serde_json::Value = serde_json::from_slice(&identity).unwrap();
        let [then, made] = [&lake, &out].map(|lake| manifest(lake));
        for file in [&identity, &made] {
            assert_eq!(file["clustered"], expected);
            for field in ["trace", "options", "synthetic"] {
                assert_eq!(file[field], then[field], "{field}");
            }
        }
        for part in made["tables"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|table| table["parts"].as_array().unwrap())
        {
            assert_eq!(part["source"]["path"], "_tracelake/manifest.json");
            assert_eq!(part["source"]["sha256"], digest);
        }
        let run = compare(&out, &lake);
        run.exits(0);
        run.prints(": 0 wrong");
        fs::remove_dir_all(&out).unwrap();
    }
}

#[test]
fn compact_keeps_the_order() {
    let scratch = Scratch::new();
    let lake = lake(&scratch, &[]);
    let out = scratch.path().join("compact");
    cluster(&lake, &out, &["--compact", "--files", "4"]).well();
    for table in tables(&lake) {
        assert_eq!(rows(&out, &table), rows(&lake, &table), "{table}");
        let counts: Vec<usize> = parts(&out, &table)
            .iter()
            .map(|(_, rows, _)| rows.num_rows())
            .collect();
        assert_eq!(counts.len(), 4);
        let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
        assert!(most - least <= 1, "{table}: {counts:?}");
    }
    // Times ascend within a row group, as far as the source has them so.
    compare(&out, &lake).exits(0);
    // One file for each table.
    let one = scratch.path().join("one");
    cluster(&lake, &one, &["--compact"]).well();
    for table in tables(&lake) {
        assert_eq!(parts(&one, &table).len(), 1);
        assert_eq!(rows(&one, &table), rows(&lake, &table), "{table}");
    }
}

#[test]
fn bytes_are_the_same_on_any_number_of_threads() {
    let scratch = Scratch::new();
    let lake = lake(&scratch, &[]);
    for way in [
        &["--by", "job", "--files", "5"][..],
        &["--compact", "--files", "5"],
    ] {
        let mut made = Vec::new();
        for (threads, memory) in [("1", "256MB"), ("2", "2GB"), ("3", "300MB")] {
            let out = scratch.path().join(format!("on-{threads}"));
            let options = [way, &["--threads", threads, "--memory", memory]].concat();
            cluster(&lake, &out, &options).well();
            made.push(tree(&out));
            fs::remove_dir_all(out).unwrap();
        }
        assert_same_tree(&made[1], &made[0], "two threads");
        assert_same_tree(&made[2], &made[0], "three threads");
    }
}

#[test]
fn cells_structs_and_lists_are_kept() {
    let scratch = Scratch::new();
    let source = scratch.path().join("source");
    for (cell, seed) in [("a", "1"), ("b", "2")] {
        let directory = source.join(format!("clusterdata_2019_{cell}"));
        generate(
            "borg-2019",
            &directory,
            &["--rows", "2000", "--parts", "2", "--seed", seed],
        );
    }
    let lake = scratch.path().join("lake");
    convert(&source, &lake, &["--allow-missing"]).well();
    for (name, way) in [
        ("sorted", &["--by", "collection", "--files", "3"][..]),
        ("compact", &["--compact", "--files", "3"]),
    ] {
        let out = scratch.path().join(name);
        cluster(&lake, &out, way).well();
        compare(&out, &lake).exits(0);
        for table in tables(&lake) {
            for cell in ["a", "b"] {
                let of_cell = |lake| {
                    let parts = parts(lake, &table).into_iter();
                    let parts: Vec<_> = parts.filter(|(.., facts)| facts["cell"] == cell).collect();
                    parts
                };
                let [before, after] = [&lake, &out].map(|lake| of_cell(lake));
                let count = |parts: &[(u64, arrow_array::RecordBatch, serde_json::Value)]| {
                    let mut all = std::collections::BTreeMap::new();
                    for (_, rows, _) in parts {
                        for (row, count) in counted(rows) {
                            *all.entry(row).or_insert(0) += count;
                        }
                    }
                    all
                };
                assert_eq!(count(&after), count(&before), "{table} of {cell}");
            }
        }
    }
}

#[test]
fn other_layouts_and_formats_are_kept() {
    let scratch = Scratch::new();
    for options in [
        &["--layout", "flat", "--compression", "snappy"][..],
        &["--format", "arrow"],
    ] {
        let lake = lake(&scratch, options);
        for way in [
            &["--by", "job", "--files", "2"][..],
            &["--compact", "--files", "2"],
        ] {
            let out = scratch.path().join("out");
            cluster(&lake, &out, way).well();
            compare(&out, &lake).exits(0);
            for table in tables(&lake) {
                assert_eq!(
                    counted(&rows(&out, &table)),
                    counted(&rows(&lake, &table)),
                    "{table}"
                );
            }
            fs::remove_dir_all(&out).unwrap();
        }
        fs::remove_dir_all(&lake).unwrap();
    }
}

#[test]
fn selections_and_rejected_rows_are_carried_over() {
    let scratch = Scratch::with_sample(1, 200);
    let src = scratch.src();
    scratch.part("job_events", 0, 1, b"not,a,row\n1,,7,0,u,0,j,l\nneither\n");
    let lake = scratch.path().join("lake");
    let options = [
        "--on-bad-row",
        "reject",
        "--time",
        "0..1d",
        "--columns",
        "machine_events.time",
    ];
    convert(&src, &lake, &[&["--allow-missing"], &options[..]].concat()).exits(3);
    let out = scratch.path().join("out");
    cluster(&lake, &out, &["--by", "job", "--files", "2"]).well();
    let [then, made] = [&lake, &out].map(|lake| manifest(lake));
    assert_eq!(made["options"], then["options"]);
    let sums = |manifest: &serde_json::Value| {
        let tables = manifest["tables"].as_array().unwrap().iter();
        let sums = tables.map(|table| {
            let parts = table["parts"].as_array().unwrap().iter();
            let sum = |field: &str| -> u64 {
                parts.clone().filter_map(|part| part[field].as_u64()).sum()
            };
            (
                table["name"].clone(),
                table["rows_not_selected"].clone(),
                [
                    "rows_in",
                    "rows_out",
                    "rows_rejected",
                    "rows_not_selected",
                    "sentinels_mapped",
                ]
                .map(sum),
            )
        });
        sums.collect::<Vec<_>>()
    };
    assert_eq!(sums(&made), sums(&then));
    let rejects = out.join("_tracelake/rejects/job_events/part-00000-of-00002.ndjson");
    let lines = fs::read_to_string(rejects).unwrap();
    let lines: Vec<serde_json::Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    for (line, (number, raw)) in lines.iter().zip([(1, "not,a,row"), (3, "neither")]) {
        assert_eq!((&line["line"], &line["raw"]), (&number.into(), &raw.into()));
        assert_eq!(line["source"], "job_events/part-00000-of-00001.csv.gz");
    }
    compare(&out, &lake).exits(0);
}

#[test]
fn an_entity_ends_its_row_group() {
    let scratch = Scratch::new();
    let source = scratch.path().join("source");
    generate(TRACE, &source, &["--rows", "150000", "--parts", "1"]);
    let lake = scratch.path().join("lake");
    convert(
        &source,
        &lake,
        &["--tables", "task_usage", "--allow-missing"],
    )
    .well();
    let out = scratch.path().join("out");
    cluster(
        &lake,
        &out,
        &["--by", "job", "--files", "1", "--memory", "64MB"],
    )
    .well();
    compare(&out, &lake).exits(0);
    let path = out.join("task_usage/file_number=0/part-00000-of-00001.parquet");
    let rows = read_output(&path);
    let jobs = rows
        .column_by_name("job_id")
        .unwrap()
        .as_primitive::<Int64Type>();
    let groups = tracelake_testkit::row_groups(&path);
    assert!(groups.len() > 1, "{groups:?}");
    assert!(groups.iter().all(|rows| *rows <= 1 << 17), "{groups:?}");
    let mut end = 0;
    let mut at_ends = 0;
    for rows in &groups[..groups.len() - 1] {
        end += usize::try_from(*rows).unwrap();
        at_ends += usize::from(jobs.value(end - 1) != jobs.value(end));
    }
    assert!(at_ends > 0, "{groups:?}");
    // A lake that was clustered can be clustered, released and inspected.
    let again = scratch.path().join("again");
    cluster(&out, &again, &["--by", "machine", "--files", "2"]).well();
    compare(&again, &lake).exits(0);
    run(["inspect", again.to_str().unwrap()]).exits(0);
    run(["release", again.to_str().unwrap(), "--allow-missing"]).exits(0);
    let card = fs::read_to_string(again.join("README.md")).unwrap();
    assert!(
        card.contains("tracelake cluster LAKE OUT --by machine --files 2"),
        "{card}"
    );
    run(["verify", again.to_str().unwrap()]).exits(0);
}

#[test]
fn derived_tables_are_kept() {
    let scratch = Scratch::new();
    let source = scratch.path().join("source");
    generate("alibaba-2018", &source, &["--rows", "900"]);
    let lake = scratch.path().join("lake");
    let options = ["--derive", "dag", "--part-rows", "200", "--layout", "flat"];
    convert(&source, &lake, &options).well();
    let left_out = |lake: &std::path::Path| -> u64 {
        let parts = parts(lake, "batch_task_edges").into_iter();
        let counts = parts.map(|(.., facts)| facts["left_out"].as_u64().unwrap());
        counts.sum()
    };
    assert!(left_out(&lake) > 0);
    for way in [
        &["--by", "job", "--files", "2"][..],
        &["--by", "container", "--files", "2"],
        &["--compact", "--files", "2"],
    ] {
        let out = scratch.path().join("out");
        cluster(&lake, &out, way).well();
        compare(&out, &lake).exits(0);
        assert_eq!(tables(&out), tables(&lake));
        assert_eq!(left_out(&out), left_out(&lake), "{way:?}");
        fs::remove_dir_all(&out).unwrap();
    }
}
