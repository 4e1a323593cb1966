//! An unpublished trace: one description is all that it takes.

use std::fs;
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use tracelake::{Context, Request, RunOptions, convert, plan};
use tracelake_schema::description;

const FIFTH: &str = r#"
family = "moon-1969"
licence = "CC0-1.0"
citation = "nobody"

[[trace]]
name = "moon-1969-v1"
title = "A cluster on the moon"
document = "a letter"

[[codes.phase]]
value = 0
name = "NEW"
doc = "new"
[[codes.phase]]
value = 4
name = "FULL"
doc = "full"

[[table]]
name = "craters"
summary = "Craters."
required = "a letter"
parts = 2
time = "time"
[[table.column]]
name = "time"
content = "time"
kind = "integer"
format = "INTEGER"
mandatory = true
unit = "seconds since landing"
obfuscation = "unchanged"
doc = "When."
[[table.column]]
name = "phase"
content = "phase"
kind = "code"
format = "INTEGER"
obfuscation = "unchanged"
codes = "phase"
doc = "Which."
[[table.column]]
name = "depth"
content = "depth"
kind = "float"
format = "FLOAT"
obfuscation = "unchanged"
doc = "How deep."
[[table.column]]
name = "lit"
content = "lit"
kind = "boolean"
format = "BOOLEAN"
obfuscation = "unchanged"
doc = "Whether."

[[table]]
name = "rovers"
summary = "Rovers."
required = "a letter"
files = "whole"
[[table.column]]
name = "rover"
content = "rover"
kind = "text"
format = "STRING"
mandatory = true
obfuscation = "unchanged"
doc = "Who."
[[table.column]]
name = "wheels"
content = "wheels"
kind = "integer"
format = "INTEGER"
obfuscation = "unchanged"
doc = "How many."

[[table]]
name = "signals"
summary = "Signals."
required = "a letter"
files = "shards"
syntax = "json"
[[table.column]]
name = "from"
content = "from"
kind = "struct"
format = "RECORD"
obfuscation = "unchanged"
doc = "Where from."
[[table.column.field]]
name = "station"
content = "station"
kind = "text"
format = "STRING"
obfuscation = "unchanged"
doc = "Its name."
[[table.column]]
name = "strengths"
content = "strengths"
kind = "list"
format = "REPEATED"
obfuscation = "unchanged"
doc = "How strong."
[[table.column.field]]
name = "item"
content = "item"
kind = "float"
format = "FLOAT"
mandatory = true
obfuscation = "unchanged"
doc = "One of them."
"#;

/// All rows of an output as the Parquet crate prints them.
fn rows(path: &Path) -> Vec<String> {
    let reader = SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| row.unwrap().to_string()).collect()
}

#[test]
fn a_fifth_trace_takes_one_description() {
    let trace = &description::intern(FIFTH).unwrap()[0];
    let directory = tempfile::tempdir().unwrap();
    let (source, out) = (directory.path().join("src"), directory.path().join("out"));
    let file = |path: &str, text: &str| {
        let path = source.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    file("craters/part-00000-of-00002.csv", "1,4,0.5,1\n2,,,0\n");
    file("craters/part-00001-of-00002.csv", "3,0,2e-3,\n");
    file("rovers.csv", "lunokhod,8\nsojourner,\nlrv,4\n");
    file(
        "signals-000000000000.json",
        "{\"from\":{\"station\":\"parkes\"},\"strengths\":[1,0.25]}\n{}\n",
    );
    let mut request = Request::new(source.clone());
    request.trace = Some(trace);
    request.settings.part_rows = Some(2);
    let context = Context::new().with_threads(1);
    let plan = plan(&context, &request).unwrap();
    let outcome = convert(
        &context,
        &plan,
        &out.as_path().into(),
        RunOptions::default(),
    )
    .unwrap();
    let tables = outcome.manifest.tables.iter();
    let counts: Vec<(&str, usize, u64)> = tables
        .map(|table| (&table.name[..], table.parts.len(), table.rows))
        .collect();
    assert_eq!(
        counts,
        [("craters", 2, 3), ("rovers", 2, 3), ("signals", 1, 2)]
    );
    let read = |path: &str| rows(&out.join(path));
    assert_eq!(
        read("craters/file_number=0/part-00000-of-00002.parquet"),
        [
            "{time: 1, phase: 4, depth: 0.5, lit: true}",
            "{time: 2, phase: null, depth: null, lit: false}"
        ]
    );
    assert_eq!(
        read("rovers/file_number=1/part-00001.parquet"),
        ["{rover: \"lrv\", wheels: 4}"]
    );
    assert_eq!(
        read("signals/file_number=0/part-00000.parquet"),
        [
            "{from: {station: \"parkes\"}, strengths: [1.0, 0.25]}",
            "{from: null, strengths: null}"
        ]
    );
}
