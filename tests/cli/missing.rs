//! Parts that are known to exist and aren't there: an error before any work, wherever the files are and whoever knows.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tracelake_schema::{Files, Header, Syntax, TRACES, Table, Trace};

use crate::described::language::one_table;
use crate::streams::tar_gz;
use tracelake_testkit::{Run, Scratch, committed_sample, convert, gzip, manifest, run, tree};

/// A table whose files are numbered in their names, and only the catalog says how many there are.
fn counted() -> (&'static Arc<Trace>, &'static Arc<Table>) {
    let mut tables = TRACES
        .iter()
        .flat_map(|trace| trace.tables.iter().map(move |table| (trace, table)));
    tables
        .find(|(_, table)| {
            let is_numbered = table.files == Files::Named && table.naming.count().is_none();
            let is_plain = table.syntax == Syntax::Csv && table.csv.header == Header::None;
            is_numbered && is_plain && table.parts > 2
        })
        .unwrap()
}

/// A row of that table.
fn reading() -> Vec<u8> {
    let id = "+ZcrOp5/c/fJ6mVgP5qMZlOAGDwyjaaDNM0WoWOt2IDb47gT0UwK9lFwkPQv3C7Q";
    gzip(format!("300,{id},2.05,3.91,2.87\n").as_bytes())
}

fn convert_to(scratch: &Scratch, source: &Path, out: &str, arguments: &[&str]) -> Run {
    convert(source, &scratch.path().join(out), arguments)
}

/// Expects an error that names the missing parts, in a run and in a dry one, and nothing at OUT; and a lake where that is
/// allowed.
#[track_caller]
fn refused(scratch: &Scratch, source: &Path, arguments: &[&str], says: &str) {
    for more in [&[][..], &["--dry-run"]] {
        let refused = convert_to(scratch, source, "refused", &[arguments, more].concat());
        assert_eq!(refused.code, 1, "{}", refused.stderr);
        for says in [says, "--allow-missing"] {
            assert!(
                refused.message().contains(says),
                "{says}: {}",
                refused.message()
            );
        }
        assert!(!scratch.path().join("refused").exists());
    }
    convert_to(
        scratch,
        source,
        "allowed",
        &[arguments, &["--allow-missing"]].concat(),
    )
    .exits(0);
    let path = source.to_str().unwrap();
    let trace: &[&str] = arguments;
    let shown = run([&["inspect", path][..], trace].concat());
    assert_eq!(shown.code, 1, "{}", shown.stderr);
    assert!(shown.stdout.starts_with("source of "), "{}", shown.stdout);
    let shown = run([&["inspect", path, "--json", "--allow-missing"][..], trace].concat());
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    let json: Value = serde_json::from_str(&shown.stdout).unwrap();
    let tables = json["tables"].as_array().unwrap();
    assert!(
        tables
            .iter()
            .any(|table| !table["missing"].as_array().unwrap().is_empty()),
        "{json}"
    );
}

#[test]
fn the_catalog_knows_how_many_parts_there_are() {
    let (_, table) = counted();
    let first = table.naming.first;
    let name = table.naming.name_of(0, table.parts).unwrap();
    let scratch = Scratch::new();
    scratch.file(&name, &reading());
    let last = first + table.parts - 1;
    let says = format!(
        "{} of {} parts are missing: {}-{last}",
        table.parts - 1,
        table.parts,
        first + 1
    );
    refused(&scratch, &scratch.src(), &[], &says);
    // What is selected is there.
    convert_to(
        &scratch,
        &scratch.src(),
        "selected",
        &["--parts", &first.to_string()],
    )
    .exits(0);
}

#[test]
fn a_file_that_is_the_source_is_converted_alone_and_says_which_part_it_is() {
    let (_, table) = counted();
    let name = table.naming.name_of(0, table.parts).unwrap();
    let scratch = Scratch::new();
    scratch.file(&name, &reading());
    let alone = convert(&scratch.src().join(&name), &scratch.out(), &[]);
    alone.well();
    let says = format!(
        "{}: part {} of {}",
        table.name, table.naming.first, table.parts
    );
    alone.prints(&says);
    let facts = manifest(&scratch.out())["tables"][0]["parts"][0].clone();
    assert_eq!(facts["in_all"], table.parts);
    let lake = scratch.out();
    let lake = lake.to_str().unwrap();
    run(["inspect", lake]).shows(&says);
    run(["release", lake, "--allow-missing"]).exits(0);
    let card = fs::read_to_string(scratch.out().join("README.md")).unwrap();
    assert!(
        card.contains(&format!("Converted from single files: {says}")),
        "{card}"
    );
    run(["verify", lake]).exits(0);
    // In a directory, the same manifest says nothing of the kind.
    let whole = convert_to(&scratch, &scratch.src(), "whole", &["--allow-missing"]);
    assert_eq!(whole.code, 0, "{}", whole.stderr);
    let facts = manifest(&scratch.path().join("whole"))["tables"][0]["parts"][0].clone();
    assert!(facts.get("in_all").is_none(), "{facts}");
}

#[test]
fn a_lake_that_grew_from_one_file_has_the_bytes_of_one_made_at_once() {
    let table = committed_sample().join("job_events");
    let file = |number: u32| table.join(format!("part-0000{number}-of-00002.csv.gz"));
    let scratch = Scratch::new();
    let (grown, files) = (scratch.out(), scratch.path().join("files"));
    for out in [&grown, &files] {
        convert(&file(0), out, &[]).well();
        assert_eq!(manifest(out)["tables"][0]["parts"][0]["in_all"], 2);
    }
    // The rest as a directory, or as a file.
    convert(&table, &grown, &[]).well();
    convert(&file(1), &files, &[]).well();
    let whole = scratch.path().join("whole");
    convert(&table, &whole, &[]).well();
    for out in [&grown, &files] {
        assert!(tree(out) == tree(&whole), "{}", out.display());
    }
}

const READINGS: &str =
    "files = \"named\"\nnames = [\"readings-{n}-of-5.csv\"]\nfirst = 1\nparts = 5";

/// A description of readings, and what `--trace` is.
fn described(scratch: &Scratch, text: &str) -> PathBuf {
    let file = scratch.path().join("weather.toml");
    fs::write(&file, text).unwrap();
    file
}

#[test]
fn a_description_says_how_many_parts_there_are() {
    let scratch = Scratch::new();
    let columns = [("time", "kind = \"integer\"")];
    let file = described(&scratch, &one_table(READINGS, &columns));
    for number in [1, 2] {
        scratch.file(&format!("readings-{number}-of-5.csv"), b"1\n");
    }
    let trace = ["--trace", file.to_str().unwrap()];
    refused(
        &scratch,
        &scratch.src(),
        &trace,
        "readings: 3 of 5 parts are missing: 3-5",
    );
}

#[test]
fn an_archive_is_read_to_see_which_parts_are_missing() {
    let scratch = Scratch::new();
    let columns = [("time", "kind = \"integer\"")];
    let archive = |numbers: &[u32]| {
        let name = |number| format!("data/readings-{number}-of-5.csv");
        let names: Vec<String> = numbers.iter().map(name).collect();
        let members: Vec<_> = names.iter().map(|name| (&name[..], "1\n")).collect();
        tar_gz(&members)
    };
    let text = one_table(READINGS, &columns).replace(
        "[[table]]",
        "[[trace.archive]]\nnames = [\"readings.tar.gz\"]\nsha256 = \"SHA\"\nsize = \"1K\"\n[[table]]",
    );
    let with_digest = |bytes: &[u8]| text.replace("SHA", &tracelake_testkit::sha256(bytes));
    let some = archive(&[1, 2]);
    scratch.file("readings.tar.gz", &some);
    let file = described(&scratch, &with_digest(&some));
    let trace = ["--trace", file.to_str().unwrap()];
    refused(
        &scratch,
        &scratch.src(),
        &trace,
        "readings: 3 of 5 parts are missing: 3-5",
    );
    let all = archive(&[3, 1, 2, 5, 4]);
    scratch.file("readings.tar.gz", &all);
    described(&scratch, &with_digest(&all));
    convert_to(&scratch, &scratch.src(), "whole", &trace).exits(0);
}

/// A table whose shards are counted for a cell.
fn sharded() -> (&'static Trace, &'static Table, &'static str, u32) {
    let mut tables = TRACES
        .iter()
        .flat_map(|trace| trace.tables.iter().map(move |table| (trace, table)));
    let (trace, table) = tables
        .find(|(_, table)| {
            table.syntax == Syntax::Json && table.shards.iter().any(|cell| cell.count > 2)
        })
        .unwrap();
    let cell = table.shards.iter().find(|cell| cell.count > 2).unwrap();
    (trace, table, &cell.cell, cell.count)
}

#[test]
fn shards_are_counted_by_cell() {
    let (trace, table, cell, count) = sharded();
    let scratch = Scratch::new();
    let directory = trace.cells.as_ref().unwrap().directory_of(cell);
    let row = format!("{{\"{}\":\"0\"}}\n", table.columns[0].content);
    for place in [&directory[..], "downloads"] {
        for number in [0, 1] {
            let name = format!("{place}/{}-{number:012}.json.gz", table.name);
            scratch.file(&name, &gzip(row.as_bytes()));
        }
    }
    let says = format!(
        "{}: {} of {count} parts are missing: 2-{}",
        table.name,
        count - 2,
        count - 1
    );
    refused(&scratch, &scratch.src().join(&directory), &[], &says);
    // Nothing says which cell these are of, so nobody knows how many there are.
    let nameless = convert_to(&scratch, &scratch.src().join("downloads"), "nameless", &[]);
    assert_eq!(nameless.code, 0, "{}", nameless.stderr);
    let says = format!(
        "{}: whether parts are missing can't be told without the cell",
        table.name
    );
    nameless.prints(&says);
    convert_to(
        &scratch,
        &scratch.src().join("downloads"),
        "named",
        &["--cell", cell],
    )
    .exits(1);
}

/// A whole table that is far too short: the summary, `inspect` and the card mark it.
#[test]
fn a_fragment_of_a_table_is_marked() {
    let whole = |table: &Table| table.files == Files::Whole && table.published.is_some();
    let mut tables = TRACES.iter().flat_map(|trace| &trace.tables);
    let table = tables
        .find(|table| whole(table) && table.name == "machine_meta")
        .unwrap();
    let scratch = Scratch::new();
    let name = format!("{}.csv", table.name);
    scratch.file(&name, b"m_1,0,219,17,96,100,USING\n");
    let made = scratch.convert(&[]);
    made.well();
    let published = table.published.as_ref().unwrap().rows;
    let line = made
        .stderr
        .lines()
        .find(|line| line.starts_with("warning: "))
        .unwrap();
    assert!(line.contains("fewer than the published count"), "{line}");
    let lake = scratch.out();
    let lake = lake.to_str().unwrap();
    let shown = run(["inspect", lake]).stdout;
    let says = format!(
        "{}: 1 row of {}",
        table.name,
        tracelake_core::words::group_digits(published)
    );
    assert!(shown.contains(&says), "{shown}");
    run(["release", lake, "--allow-missing"]).exits(0);
    let card = fs::read_to_string(scratch.out().join("README.md")).unwrap();
    assert!(card.contains("**has a fraction of its rows**"), "{card}");
}
