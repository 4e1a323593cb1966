//! Traces from description files: `--trace FILE.toml`.

mod accept;
mod archives;
#[cfg(all(unix, feature = "urls"))]
mod bucket;
mod cells;
mod date_times;
mod days;
mod door;
mod draft_forms;
mod drafts;
mod forms;
mod headers;
mod json;
pub(crate) mod language;
mod parquet;
mod short;
mod spellings;
mod tutorial;
mod wide;

use std::fs;
use std::path::PathBuf;

use tracelake_testkit::Scratch;

/// A trace that no catalog has: a table in parts and a table in one file.
const GARDEN: &str = r#"
family = "garden"
licence = "CC0-1.0"
citation = "The gardener"
[[trace]]
name = "garden-1"
title = "A garden"
document = "A notebook"
[[table]]
name = "plants"
summary = "One row for each plant."
files = "whole"
entity = ["plant"]
[[table.column]]
name = "plant"
content = "plant"
kind = "integer"
format = "INTEGER"
obfuscation = "unchanged"
doc = "The number of the plant."
[[table.column]]
name = "name"
content = "name"
kind = "text"
format = "STRING"
obfuscation = "unchanged"
doc = "The name."
[[table]]
name = "rain"
summary = "One row for each shower."
parts = 2
time = "time"
[[table.column]]
name = "time"
content = "time"
kind = "integer"
format = "INTEGER"
unit = "seconds since spring"
obfuscation = "unchanged"
doc = "When it began."
[[table.column]]
name = "litres"
content = "litres"
kind = "float"
format = "FLOAT"
obfuscation = "unchanged"
doc = "How much fell."
"#;

/// The garden's files in the source, and its description beside it.
fn garden(scratch: &Scratch) -> PathBuf {
    scratch.file("plants.csv", b"1,rose\n2,lily\n");
    scratch.file(
        "rain/part-00000-of-00002.csv.gz",
        &tracelake_testkit::gzip(b"1,0.5\n7,2\n"),
    );
    scratch.file(
        "rain/part-00001-of-00002.csv.gz",
        &tracelake_testkit::gzip(b"9,1e3\n"),
    );
    describe(scratch, "garden.toml", GARDEN)
}

/// The garden's description, and another one of the same files.
fn two_gardens(scratch: &Scratch) -> (String, String) {
    let other = GARDEN.replace("A garden", "Another garden");
    let paths = [garden(scratch), describe(scratch, "other.toml", &other)];
    let [garden, other] = paths.map(|path| path.to_str().unwrap().to_owned());
    (garden, other)
}

/// A description beside the source.
pub(crate) fn describe(scratch: &Scratch, name: &str, text: &str) -> PathBuf {
    let path = scratch.path().join(name);
    fs::write(&path, text).unwrap();
    path
}
