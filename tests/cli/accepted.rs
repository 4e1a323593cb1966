//! Inputs that look odd and are fine all the same.

use std::fs;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};

use crate::cli::bad_source::schema_csv;
use tracelake_testkit::{
    Scratch, convert, good_row, gzip, manifest, output_path, part_path, read_output, row_with,
    rows, sha256, table, trace,
};

/// The only part of a table, from a scratch lake.
fn only(scratch: &Scratch, table: &str) -> RecordBatch {
    read_output(&scratch.out().join(output_path(table, 0, 1)))
}

/// Converts one file of a table and reads it back.
fn lake_of(table: &str, file: &str, bytes: &[u8]) -> RecordBatch {
    let scratch = Scratch::new();
    scratch.file(&format!("{table}/{file}"), bytes);
    scratch.convert_well(&[]);
    only(&scratch, table)
}

/// Other ways to write the same text down give the same values.
#[test]
fn other_wrappings_of_the_same_text() {
    for table in &trace().tables {
        let text = rows::sample(table, 0, 40);
        let crlf = text.replace('\n', "\r\n");
        let cut = text.trim_end();
        let (one, two) = text.split_at(text.len() / 2);
        let name = "part-00000-of-00001.csv.gz";
        let expected = lake_of(&table.name, name, &gzip(text.as_bytes()));
        assert_eq!(expected.num_rows(), 40);
        let wrappings: &[(&str, &str, Vec<u8>)] = &[
            ("CRLF", name, gzip(crlf.as_bytes())),
            ("no final newline", name, gzip(cut.as_bytes())),
            (
                "plain text",
                "part-00000-of-00001.csv",
                text.clone().into_bytes(),
            ),
            (
                "two members",
                name,
                [gzip(one.as_bytes()), gzip(two.as_bytes())].concat(),
            ),
            (
                "an empty member",
                name,
                [gzip(b""), gzip(text.as_bytes()), gzip(b"")].concat(),
            ),
            (
                "padding",
                name,
                [gzip(text.as_bytes()), vec![0; 1000]].concat(),
            ),
        ];
        for (what, name, bytes) in wrappings {
            assert_eq!(
                lake_of(&table.name, name, bytes),
                expected,
                "{}: {what}",
                table.name
            );
        }
    }
}

/// CRLF is accepted for a whole file, and so is a missing final newline; together as well.
#[test]
fn crlf_without_the_final_line_ending() {
    let table = table("task_events");
    let text = rows::sample(table, 0, 40);
    let name = "part-00000-of-00001.csv.gz";
    let expected = lake_of(&table.name, name, &gzip(text.as_bytes()));
    let crlf = text.replace('\n', "\r\n");
    for cut in [1, 2] {
        let bytes = gzip(&crlf.as_bytes()[..crlf.len() - cut]);
        assert_eq!(lake_of(&table.name, name, &bytes), expected, "cut by {cut}");
    }
}

#[test]
fn a_gzip_of_nothing_is_a_part_of_no_rows() {
    for bytes in [gzip(b""), [gzip(b""), gzip(b"")].concat()] {
        let scratch = Scratch::new();
        scratch.file(&part_path("task_usage", 0, 1), &bytes);
        scratch.convert_well(&[]);
        let lake = only(&scratch, "task_usage");
        assert_eq!((lake.num_rows(), lake.num_columns()), (0, 20));
        let part = &manifest(&scratch.out())["tables"][0]["parts"][0];
        assert_eq!(part["rows_in"], 0);
        assert!(part["time_min"].is_null() && part["time_max"].is_null());
    }
}

#[test]
fn values_at_the_edges_of_their_kinds() {
    let integers = [
        "0",
        "-0",
        "007",
        "9223372036854775807",
        "-9223372036854775808",
        "-1",
    ];
    let text: Vec<u8> = integers
        .iter()
        .flat_map(|value| {
            [
                row_with(table("machine_events"), "machine_id", value.as_bytes()),
                b"\n".to_vec(),
            ]
        })
        .flatten()
        .collect();
    let lake = lake_of("machine_events", "part-00000-of-00001.csv", &text);
    let found = lake.column(1).as_primitive::<Int64Type>().values().to_vec();
    assert_eq!(found, [0, 0, 7, i64::MAX, i64::MIN, -1]);

    // A code without a name is kept: the documents disagree on some.
    let text = row_with(table("machine_events"), "event_type", b"-2147483648");
    let lake = lake_of("machine_events", "part-00000-of-00001.csv", &text);
    assert_eq!(
        lake.column(2).as_primitive::<Int32Type>().value(0),
        i32::MIN
    );

    let floats = [
        "1",
        "-0",
        "1e308",
        "5e-324",
        "2.861e-06",
        "0.1",
        "1e-400",
        "9007199254740993",
        "0.30000000000000004",
    ];
    let text: Vec<u8> = floats
        .iter()
        .flat_map(|value| {
            [
                row_with(table("machine_events"), "cpus", value.as_bytes()),
                b"\n".to_vec(),
            ]
        })
        .flatten()
        .collect();
    let lake = lake_of("machine_events", "part-00000-of-00001.csv", &text);
    let found: Vec<u64> = lake
        .column(4)
        .as_primitive::<Float64Type>()
        .values()
        .iter()
        .map(|v| v.to_bits())
        .collect();
    let expected: Vec<u64> = floats
        .iter()
        .map(|text| text.parse::<f64>().unwrap().to_bits())
        .collect();
    assert_eq!(found, expected);

    let text = row_with(
        table("machine_events"),
        "platform_id",
        "Größe ≠ 名 ' ; | \\".as_bytes(),
    );
    let lake = lake_of("machine_events", "part-00000-of-00001.csv", &text);
    assert_eq!(
        lake.column(3).as_string::<i32>().value(0),
        "Größe ≠ 名 ' ; | \\"
    );
}

/// Files of 2011 are reported to hold 2^64 - 1 where 2^63 - 1 is meant.
#[test]
fn a_time_of_all_bits_is_mapped_and_counted() {
    for table in &trace().tables {
        let Some(time) = table.time else { continue };
        let name = &table.columns[time].name;
        let mapped = row_with(table, name, b"18446744073709551615");
        let plain = row_with(table, name, b"9223372036854775807");
        let text = [
            &mapped[..],
            &plain,
            &mapped,
            good_row(&table.name).as_bytes(),
        ]
        .join(&b"\n"[..]);
        let scratch = Scratch::new();
        scratch.only(&table.name, &text);
        scratch.convert_well(&[]);
        let times = only(&scratch, &table.name)
            .column(time)
            .as_primitive::<Int64Type>()
            .clone();
        assert_eq!(times.values()[..3], [i64::MAX; 3], "{}", table.name);
        let part = &manifest(&scratch.out())["tables"][0]["parts"][0];
        assert_eq!(part["sentinels_mapped"], 2);
        assert_eq!(part["time_max"].as_i64(), Some(i64::MAX));
        assert_eq!(
            (part["rows_in"].as_u64(), part["rows_out"].as_u64()),
            (Some(4), Some(4))
        );
    }
}

#[test]
fn the_trace_s_own_schema_is_followed() {
    let text = rows::sample(table("task_constraints"), 0, 30);
    let expected = lake_of(
        "task_constraints",
        "part-00000-of-00001.csv",
        text.as_bytes(),
    );
    let numbered = |number: u32| format!("task_constraints/part-?????-of-?????.csv.gz,{number},");
    // The order that one of the documents prints: name, operator, value.
    let swapped = schema_csv()
        .replace(&numbered(4), "four")
        .replace(&numbered(5), &numbered(4))
        .replace("four", &numbered(5));
    let swapped_rows: String = text
        .lines()
        .map(|line| {
            let mut fields: Vec<&str> = line.split(',').collect();
            fields.swap(3, 4);
            fields.join(",") + "\n"
        })
        .collect();
    // Without an optional last field: the column is all NULL.
    let shorter = schema_csv().replace(
        &format!("{}attribute value,STRING_HASH_OR_INTEGER,NO\n", numbered(6)),
        "",
    );
    let shorter_rows: String = text
        .lines()
        .map(|line| line.rsplit_once(',').unwrap().0.to_owned() + "\n")
        .collect();
    let cases = [
        ("as published", schema_csv(), &text),
        ("CRLF", schema_csv().replace('\n', "\r\n"), &text),
        (
            "a byte order mark",
            format!("\u{feff}{}", schema_csv()),
            &text,
        ),
        ("another order", swapped, &swapped_rows),
        ("a field less", shorter, &shorter_rows),
    ];
    for (what, schema, rows) in cases {
        let scratch = Scratch::new();
        scratch.file("schema.csv", schema.as_bytes());
        scratch.only("task_constraints", rows.as_bytes());
        scratch.convert_well(&[]);
        let lake = only(&scratch, "task_constraints");
        assert!(lake.schema() == expected.schema(), "{what}");
        for column in 0..5 {
            assert_eq!(
                lake.column(column),
                expected.column(column),
                "{what}: {column}"
            );
        }
        let nulls = lake.column(5).null_count();
        match what {
            "a field less" => assert_eq!(nulls, 30),
            _ => assert_eq!(lake.column(5), expected.column(5), "{what}"),
        }
        // The second opinion follows the same schema.
        let (src, out) = (scratch.src(), scratch.out());
        tracelake_testkit::run([
            "verify",
            out.to_str().unwrap(),
            "--source",
            src.to_str().unwrap(),
        ])
        .well();
    }
}

/// Version 2 lacks the last field of task_usage; its lake has the column all the same.
#[test]
fn both_versions_give_one_schema() {
    let row = good_row("task_usage");
    let older = row.rsplit_once(',').unwrap().0;
    let new = lake_of("task_usage", "part-00000-of-00001.csv", row.as_bytes());
    let scratch = Scratch::new();
    scratch.only("task_usage", older.as_bytes());
    scratch.convert_well(&[]);
    assert_eq!(manifest(&scratch.out())["trace"], "google-2011-v2");
    let old = only(&scratch, "task_usage");
    assert!(old.schema() == new.schema());
    assert!(old.column(19).is_null(0) && new.column(19).is_valid(0));
    for column in 0..19 {
        assert_eq!(old.column(column), new.column(column));
    }
}

#[test]
fn checksums_that_agree_are_silent() {
    let scratch = Scratch::with_sample(2, 5);
    scratch.file("schema.csv", schema_csv().as_bytes());
    let mut list = format!("{}  schema.csv\n", sha256(schema_csv().as_bytes()));
    for table in &trace().tables {
        let total = table.parts.min(2);
        for number in 0..total {
            let path = part_path(&table.name, number, total);
            let bytes = fs::read(scratch.src().join(&path)).unwrap();
            list += &format!("{}  {path}\n", sha256(&bytes));
        }
    }
    scratch.file("SHA256SUM", list.as_bytes());
    let run = scratch.convert(&[]);
    run.well();
    // A few rows are no whole table, which is another matter.
    let mut warnings = run
        .stderr
        .lines()
        .filter(|line| line.starts_with("warning"));
    let is_short = |line: &str| line.contains("fewer than the published count");
    assert!(warnings.all(is_short), "{}", run.stderr);
    // Another list may be named, or none.
    let wrong = scratch.path().join("wrong");
    fs::write(
        &wrong,
        list.replace(|digit: char| digit.is_ascii_digit() && digit < '2', "2"),
    )
    .unwrap();
    let run = scratch.convert(&["--overwrite", "--checksums", wrong.to_str().unwrap()]);
    assert_ne!(run.code, 0);
    fs::copy(&wrong, scratch.src().join("SHA256SUM")).unwrap();
    scratch.convert_well(&["--overwrite", "--checksums", "none"]);
}

#[test]
fn a_source_may_be_a_table_or_a_file() {
    let scratch = Scratch::with_sample(3, 10);
    let table = scratch.src().join("task_events");
    let out = scratch.path().join("table");
    convert(&table, &out, &[]).well();
    assert_eq!(
        manifest(&out)["tables"][0]["parts"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    // A file is taken alone: its siblings are not missed.
    let file = table.join("part-00001-of-00003.csv.gz");
    let alone = scratch.path().join("alone");
    convert(&file, &alone, &[]).well();
    let path = output_path("task_events", 1, 3);
    assert_eq!(
        fs::read(alone.join(&path)).unwrap(),
        fs::read(out.join(&path)).unwrap()
    );
    assert_eq!(
        manifest(&alone)["tables"][0]["parts"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    // A name that says nothing, of a trace that is named: the number of fields does.
    let renamed = scratch.path().join("download.csv.gz");
    fs::copy(&file, &renamed).unwrap();
    let guessed = scratch.path().join("guessed");
    convert(&renamed, &guessed, &["--trace", &trace().name]).well();
    let found = read_output(&guessed.join(output_path("task_events", 0, 1)));
    assert_eq!(found, read_output(&out.join(&path)));
}

#[test]
fn tables_and_parts_can_be_selected() {
    let scratch = Scratch::with_sample(4, 5);
    scratch.convert_well(&["--tables", "task_usage,job_events", "--parts", "1,3"]);
    let manifest = manifest(&scratch.out());
    let tables = manifest["tables"].as_array().unwrap();
    let names: Vec<&str> = tables
        .iter()
        .map(|table| table["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["job_events", "task_usage"]);
    for table in tables {
        let parts = table["parts"].as_array().unwrap();
        let numbers: Vec<u64> = parts
            .iter()
            .map(|part| part["file_number"].as_u64().unwrap())
            .collect();
        assert_eq!(numbers, [1, 3]);
    }
}

#[test]
fn mixed_totals_can_be_allowed() {
    let scratch = Scratch::new();
    let row = good_row("job_events").as_bytes();
    scratch.part("job_events", 0, 2, row);
    scratch.part("job_events", 1, 3, row);
    scratch.convert_well(&["--allow-missing"]);
    assert!(scratch.out().join(output_path("job_events", 1, 3)).exists());
}

/// Codecs and layouts change the bytes, never the values; every output is named by the manifest.
#[test]
fn every_codec_and_layout_gives_the_same_values() {
    let scratch = Scratch::with_sample(2, 50);
    scratch.convert_well(&[]);
    for codec in ["zstd:1", "zstd:22", "snappy", "none"] {
        for layout in ["hive", "flat"] {
            let out = scratch.path().join(format!("{codec}-{layout}"));
            convert(
                &scratch.src(),
                &out,
                &["--compression", codec, "--layout", layout],
            )
            .well();
            let manifest = manifest(&out);
            for table in manifest["tables"].as_array().unwrap() {
                let name = table["name"].as_str().unwrap();
                for part in table["parts"].as_array().unwrap() {
                    let number = u32::try_from(part["file_number"].as_u64().unwrap()).unwrap();
                    let total = tracelake_testkit::table(name).parts.min(2);
                    let hive = output_path(name, number, total);
                    let path = part["output"]["path"].as_str().unwrap();
                    match layout {
                        "hive" => assert_eq!(path, hive),
                        _ => assert_eq!(
                            path,
                            format!("{name}/part-{number:05}-of-{total:05}.parquet")
                        ),
                    }
                    assert_eq!(
                        read_output(&out.join(path)),
                        read_output(&scratch.out().join(hive))
                    );
                }
            }
        }
    }
}

/// Nothing but Parquet is in a table's directory.
#[test]
fn only_parquet_lies_beside_parquet() {
    let scratch = Scratch::with_sample(2, 5);
    scratch.convert_well(&[]);
    for (path, bytes) in tracelake_testkit::tree(&scratch.out()).unwrap() {
        let ours = path.starts_with("_tracelake") || bytes.is_none();
        assert!(ours || path.ends_with(".parquet"), "{path}");
    }
}
