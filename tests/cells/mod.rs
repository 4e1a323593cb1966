//! Cells of a trace: directories of files with the same names make one lake, partitioned by cell.

mod growth;
#[cfg(unix)]
mod killed;
mod readers;
mod refused;
mod source;

use std::fs;
use std::path::{Path, PathBuf};

use tracelake_schema::{Cells, Files, TRACES, Trace};

use tracelake_testkit::{Run, Scratch, convert, generate, manifest, tree};

/// The trace that is published by cell.
fn trace() -> &'static Trace {
    TRACES.iter().find(|trace| trace.cells.is_some()).unwrap()
}

fn cells() -> &'static Cells {
    trace().cells.as_ref().unwrap()
}

/// A directory of a cell's files in `parent`, and a name that says so.
fn directory(parent: &Path, cell: &str) -> PathBuf {
    parent.join(cells().directory_of(cell))
}

/// Writes files of the trace into a directory; other cells have other rows.
fn make(directory: &Path, seed: &str, rows: &str) {
    let size = ["--parts", "2", "--rows", rows, "--seed", seed];
    generate(&trace().name, directory, &size);
    for table in &trace().tables {
        if table.files == Files::Whole {
            let name = format!("{}.{}", table.name, table.syntax.extension());
            fs::remove_file(directory.join(name)).unwrap();
        }
    }
}

/// A source of two cells.
fn two() -> Scratch {
    let scratch = Scratch::new();
    for (cell, seed) in [("a", "1"), ("b", "2")] {
        make(&directory(&scratch.src(), cell), seed, "300");
    }
    scratch
}

/// Files of which nothing says what cell they are of.
fn nameless(scratch: &Scratch) -> PathBuf {
    let files = scratch.path().join("downloads");
    tracelake_testkit::copy(&directory(&scratch.src(), "a"), &files);
    files
}

/// Converts without a word about tables that aren't there.
#[track_caller]
fn well(source: &Path, out: &Path, arguments: &[&str]) -> Run {
    let run = convert(source, out, arguments);
    run.well();
    run
}

/// The table, cell and file number of each part in a manifest.
fn parts(out: &Path) -> Vec<(String, Option<String>, u64)> {
    let manifest = manifest(out);
    let tables = manifest["tables"].as_array().unwrap().iter();
    let parts = tables.flat_map(|table| {
        let parts = table["parts"].as_array().unwrap().iter();
        parts.map(|part| {
            let cell = part["cell"].as_str().map(str::to_owned);
            let number = part["file_number"].as_u64().unwrap();
            (table["name"].as_str().unwrap().to_owned(), cell, number)
        })
    });
    parts.collect()
}

#[test]
fn a_cell_is_a_partition_above_the_file_number() {
    let scratch = two();
    for (layout, below) in [("hive", "file_number=1/"), ("flat", "")] {
        let out = scratch.path().join(layout);
        well(&scratch.src(), &out, &["--layout", layout]);
        let found = tree(&out).unwrap();
        for table in trace().tables.iter().filter(|it| it.files != Files::Whole) {
            for cell in ["a", "b"] {
                let path = format!("{}/cell={cell}/{below}part-00001.parquet", table.name);
                assert!(found.contains_key(&path), "{path}");
            }
        }
        assert!(parts(&out).is_sorted_by_key(|(table, cell, number)| {
            let index = trace().tables.iter().position(|it| it.name == *table);
            (index, cell.clone(), *number)
        }));
    }
}

#[test]
fn rejects_are_in_the_directory_of_their_cell() {
    let scratch = two();
    for cell in ["a", "b"] {
        let table = &trace().tables[0].name;
        let file = directory(&scratch.src(), cell).join(format!("{table}-000000000000.json.gz"));
        fs::write(file, tracelake_testkit::gzip(b"{\"time\":\"soon\"}\n")).unwrap();
    }
    let arguments = ["--on-bad-row", "reject", "--checksums", "none"];
    let run = convert(&scratch.src(), &scratch.out(), &arguments);
    assert_eq!(run.code, 3, "{}", run.stderr);
    let found = tree(&scratch.out()).unwrap();
    for cell in ["a", "b"] {
        let table = &trace().tables[0].name;
        let path = format!("_tracelake/rejects/{table}/cell={cell}/part-00000.ndjson");
        assert!(found[&path].is_some(), "{path}");
    }
    tracelake_testkit::run(["verify", scratch.out().to_str().unwrap()]).well();
}

#[test]
fn checksums_are_those_of_the_cell() {
    let scratch = two();
    let sums = directory(&scratch.src(), "b").join("SHA256SUM");
    let text = fs::read_to_string(&sums).unwrap();
    let table = &trace().tables[0].name;
    let file = format!("{table}-000000000001.json.gz");
    let lines = text.lines().map(|line| match line.ends_with(&file) {
        true => format!("{}  {file}\n", "0".repeat(64)),
        false => format!("{line}\n"),
    });
    let wrong: String = lines.collect();
    fs::write(&sums, wrong).unwrap();
    let run = convert(&scratch.src(), &scratch.out(), &[]);
    assert_eq!(run.code, 5, "{}", run.stderr);
    let place = format!("{}/{file}", cells().directory_of("b"));
    run.prints(&place);
}
