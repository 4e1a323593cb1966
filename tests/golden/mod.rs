//! The lakes of fixed inputs are what they were: every value by counts, ranges and sums, every file
//! by its digest. This directory has what they were, one file for each lake.
//!
//! `cargo xtask golden` runs this; `cargo xtask golden --update` writes the files anew.

mod facts;
mod page;

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use tempfile::TempDir;
use tracelake_schema::{TRACES, Trace};

use self::facts::{Facts, differences, of_lake};
use tracelake_testkit::{
    committed_sample, convert, copy, generate, gzip, is_simulated, part_path, table, tree,
};

/// Set by `cargo xtask golden --update`.
const UPDATE: &str = "TRACELAKE_GOLDEN_UPDATE";

/// A generated trace: several parts, some thousand rows in each table that grows, the same on any machine.
const GENERATE: [&str; 6] = ["--parts", "2", "--rows", "12000", "--seed", "20110501"];

/// The formats, and what they add to the name of a page.
const FORMATS: [(&str, &str); 2] = [("parquet", ""), ("arrow", "-arrow")];

/// The name of the page of the committed sample.
const SAMPLE: &str = "sample";

fn pages() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden")
}

/// Converts a source and reads the lake back. Checksums would tell of a change as well, but not
/// where it is.
fn facts_of(source: &Path, trace: Option<&Trace>, format: &str) -> Facts {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("lake");
    let mut options = vec!["--checksums", "none", "--format", format];
    options.extend(trace.iter().flat_map(|trace| ["--trace", &trace.name]));
    convert(source, &out, &options).well();
    of_lake(&out)
}

/// Generates a trace, if a simulation makes all of its tables.
fn generated(trace: &Trace) -> Option<TempDir> {
    if !is_simulated(trace) {
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    generate(&trace.name, directory.path(), &GENERATE);
    Some(directory)
}

#[test]
fn every_lake_is_what_it_was() {
    let mut lakes = Vec::new();
    let mut add = |name: &str, made: &str, source: &Path, trace: Option<&Trace>| {
        for (format, suffix) in FORMATS {
            let facts = facts_of(source, trace, format);
            let made = match suffix {
                "" => made.to_owned(),
                _ => format!("{made}, --format {format}"),
            };
            lakes.push((format!("{name}{suffix}"), made, facts));
        }
    };
    add(SAMPLE, "tests/sample", &committed_sample(), None);
    for trace in TRACES {
        let Some(source) = generated(trace) else {
            continue;
        };
        let made = format!("tracelake generate {} {}", trace.name, GENERATE.join(" "));
        add(&trace.name, &made, source.path(), Some(trace));
    }
    let update = std::env::var_os(UPDATE).is_some();
    let mut wrong = String::new();
    for (name, source, now) in &lakes {
        let path = pages().join(format!("{name}.toml"));
        let text = page::write(source, now);
        let before = fs::read_to_string(&path).unwrap_or_default();
        if before == text {
            continue;
        }
        let differences = differences(&page::read(&before), now);
        let count = differences.len();
        let told = format!("tests/golden/{name}.toml: {count} facts differ\n");
        wrong += &(told + &differences.concat());
        if update {
            fs::write(&path, text).unwrap();
        }
    }
    for path in strangers(lakes.iter().map(|(name, _, _)| &name[..])) {
        wrong += &format!("tests/golden/{path}: no lake is made for it any more\n");
        if update {
            fs::remove_file(pages().join(path)).unwrap();
        }
    }
    let hint = "look at each; if all are meant, run `cargo xtask golden --update`";
    assert!(
        update || wrong.is_empty(),
        "lakes differ from tests/golden:\n{wrong}{hint}"
    );
    if update && !wrong.is_empty() {
        // Past the capture of the test harness.
        let text = format!("golden: written anew:\n{wrong}");
        std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes()).unwrap();
    }
}

/// Pages of lakes that are not made.
fn strangers<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let known: BTreeSet<String> = names.map(|name| format!("{name}.toml")).collect();
    let found = tree(&pages()).unwrap().into_keys();
    let strange = found.filter(|name| name.ends_with(".toml") && !known.contains(name));
    strange.collect()
}

/// Replaces one field in the middle of the second part of a table.
fn change(source: &Path, name: &str, column: &str, value: &str) -> String {
    let total = table(name).parts.min(2);
    let path = source.join(part_path(name, total - 1, total));
    let mut text = String::new();
    let file = fs::File::open(&path).unwrap();
    MultiGzDecoder::new(file).read_to_string(&mut text).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let middle = lines.len() / 2;
    let (index, _) = table(name).column(column).unwrap();
    let mut fields: Vec<&str> = lines[middle].split(',').collect();
    assert_ne!(fields[index], value);
    fields[index] = value;
    lines[middle] = fields.join(",");
    fs::write(&path, gzip((lines.join("\n") + "\n").as_bytes())).unwrap();
    format!("part-{:05}-of-{total:05}", total - 1)
}

/// One value in the sample is changed: the differences are in its column and nowhere else, but for
/// the digests of its file and of the manifest.
#[test]
fn a_changed_value_is_named() {
    let before = facts_of(&committed_sample(), None, "parquet");
    let changes = [
        ("job_events", "scheduling_class", "7", "max was"),
        ("task_usage", "cpu_rate", "", "nulls was"),
        // Between the smallest and the largest, and as long as all others.
        (
            "job_events",
            "user",
            "Maaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=",
            "crc32 was",
        ),
        ("machine_events", "cpus", "0.123", "min was"),
        ("machine_attributes", "attribute_name", "~", "max was"),
        (
            "task_events",
            "different_machines_restriction",
            "",
            "nulls was",
        ),
    ];
    for (name, column, value, difference) in changes {
        let source = tempfile::tempdir().unwrap();
        copy(&committed_sample(), source.path());
        let part = change(source.path(), name, column, value);
        let told = differences(&before, &facts_of(source.path(), None, "parquet"));
        let start = format!("  {name}, {part}, {column}: ");
        let named = |line: &&String| line.starts_with(&start);
        let sizes = (told.iter().filter(named).count(), told.len());
        assert!(sizes.0 > 0 && sizes.1 == sizes.0 + 2, "{told:#?}");
        assert!(
            told.iter()
                .any(|line| line.starts_with(&(start.clone() + difference))),
            "{told:#?}"
        );
        for digest in [
            format!("  {name}, {part}: sha256"),
            "  _tracelake, manifest.json: sha256".into(),
        ] {
            assert!(
                told.iter().any(|line| line.starts_with(&digest)),
                "{told:#?}"
            );
        }
    }
}
