//! Released lakes as Delta tables and in catalogs, and their signature, with the programs of others.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tracelake_schema::{Kind, TRACES};

use super::{ask, ask_all, findings, installed, is_right, judge};
use tracelake_testkit::{Scratch, convert, generate, manifest, run};

/// The interpreter that `cargo xtask readers` makes for them.
fn python() -> PathBuf {
    installed("readers-catalogs/bin/python")
}

/// Describes a lake for a script.
fn describe(out: &Path) -> Value {
    let manifest = manifest(out);
    // That of a description isn't in the catalog.
    let trace = tracelake_schema::trace(manifest["trace"].as_str().unwrap());
    let tables = manifest["tables"].as_array().unwrap().iter();
    let tables = tables.map(|facts| {
        let name = facts["name"].as_str().unwrap();
        let table = trace.and_then(|trace| trace.table(name));
        let time = table.and_then(|table| Some(&table.columns[table.time?]));
        let time = time.filter(|column| column.kind == Kind::Integer);
        let parts = facts["parts"].as_array().unwrap().iter().map(|part| {
            json!({
                "number": part["file_number"],
                "cell": part["cell"],
                "output": out.join(part["output"]["path"].as_str().unwrap()),
            })
        });
        json!({
            "name": name,
            "directory": out.join(name),
            "time": time.map(|column| &column.name),
            "parts": parts.collect::<Vec<_>>(),
        })
    });
    let readers = ["deltalake", "polars", "duckdb"];
    json!({"lake": out, "tables": tables.collect::<Vec<_>>(), "readers": readers})
}

fn release(out: &Path) {
    let arguments = ["--allow-missing", "--allow-rejects", "--delta"];
    run([&["release", out.to_str().unwrap()], &arguments[..]].concat()).well();
}

/// Every kind of column, NULLs, times before and after the trace, structs and lists, with and without cells, local times.
#[test]
#[cfg_attr(not(catalogs), ignore = "needs `cargo xtask readers`")]
fn readers_of_delta_tables_find_every_row() {
    let scratch = Scratch::with_sample(3, 200);
    scratch.convert_well(&[]);
    release(&scratch.out());
    let directory = tempfile::tempdir().unwrap();
    let mut outs = vec![scratch.out()];
    for trace in TRACES {
        if trace.tables.iter().any(|table| table.synthetic.is_empty()) {
            continue;
        }
        let [source, out] =
            ["source", "lake"].map(|name| directory.path().join(name).join(&trace.name));
        let cells: Vec<PathBuf> = match &trace.cells {
            None => vec![source.clone()],
            Some(cells) => {
                let names = cells.names[..2].iter();
                names
                    .map(|cell| source.join(cells.directory_of(cell)))
                    .collect()
            }
        };
        for directory in cells {
            generate(&trace.name, &directory, &["--rows", "500"]);
        }
        let mut options = vec!["--trace", &trace.name, "--checksums", "none"];
        if !trace.derived.is_empty() {
            options.extend(["--derive", "dag"]);
        }
        convert(&source, &out, &options).exits(0);
        release(&out);
        outs.push(out);
    }
    let requests: Vec<Value> = outs.iter().map(|out| describe(out)).collect();
    let answers = ask_all(&python(), "check_delta.py", &requests);
    for (answer, out) in answers.iter().zip(&outs) {
        is_right(answer, out);
    }
}

/// Date-times with a zone and without one, also in a struct, and a list with a NULL.
#[test]
#[cfg_attr(not(catalogs), ignore = "needs `cargo xtask readers`")]
fn readers_of_delta_tables_find_date_times_and_nested_values() {
    let scratch = Scratch::new();
    let described = r#"
        family = "clocks"
        licence = "CC0-1.0"
        citation = "None"
        [[table]]
        name = "readings"
        file = "readings.json"
        syntax = "json"
        time = "at"
        [table.columns]
        at = { kind = "date-time", zone = "published", doc = "When." }
        local = { kind = "date-time", doc = "When, by the clock there." }
        nested = { kind = "struct", doc = "A struct.", field = [{ name = "since", content = "since", kind = "date-time", doc = "Since when." }] }
        items = { kind = "list", doc = "A list.", field = [{ name = "item", content = "item", kind = "float", doc = "An item." }] }
    "#;
    let description = scratch.path().join("clocks.toml");
    std::fs::write(&description, described).unwrap();
    let rows = br#"{"at":"2020-01-01T00:00:00.000001Z","local":"2020-01-01 12:00:00.5","nested":{"since":"1960-05-05 00:00:01"},"items":[1.5,null]}
{"at":"2021-01-01T00:00:00Z"}
"#;
    scratch.file("readings.json", rows);
    scratch.convert_well(&["--trace", description.to_str().unwrap()]);
    release(&scratch.out());
    judge(
        &python(),
        "check_delta.py",
        &describe(&scratch.out()),
        &scratch.out(),
    );
}

/// The comparison is worth nothing unless it finds a wrong partition value and a wrong bound.
#[test]
#[cfg_attr(not(catalogs), ignore = "needs `cargo xtask readers`")]
fn the_comparison_of_delta_tables_finds_a_wrong_log() {
    let scratch = Scratch::with_sample(2, 50);
    scratch.convert_well(&["--tables", "job_events"]);
    let out = scratch.out();
    release(&out);
    let path = out.join("job_events/_delta_log/00000000000000000000.json");
    let log = std::fs::read_to_string(&path).unwrap();
    // Polars takes the values of partition columns from the paths.
    for (right, wrong, readers) in [
        (
            r#""file_number":"1""#,
            r#""file_number":"7""#,
            &["deltalake", "duckdb"][..],
        ),
        (
            r#"\"maxValues\":{\"time\":"#,
            r#"\"maxValues\":{\"time\":-"#,
            &["deltalake", "polars", "duckdb"],
        ),
    ] {
        assert!(log.contains(right), "{log}");
        std::fs::write(&path, log.replace(right, wrong)).unwrap();
        let answer = ask(&python(), "check_delta.py", &describe(&out));
        let found = findings(&answer);
        for reader in readers {
            let reader = format!("{reader}: job_events: ");
            assert!(found.contains(&reader), "{reader}: {found}");
        }
    }
}

/// The recipes of the page run as they are, and find every row.
#[test]
#[cfg_attr(not(catalogs), ignore = "needs `cargo xtask readers`")]
fn the_recipes_for_catalogs_find_every_row() {
    let scratch = Scratch::with_sample(3, 200);
    let out = scratch.path().join("catalog-lake");
    convert(&scratch.src(), &out, &[]).well();
    release(&out);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/catalogs.md");
    let mut request = describe(&out);
    request["page"] = std::fs::read_to_string(path).unwrap().into();
    request["directory"] = scratch.path().to_str().into();
    let answer = ask(&python(), "check_catalogs.py", &request);
    assert_eq!(findings(&answer), "");
    assert_eq!(answer["snippets"], 4);
    run([Path::new("verify"), &out]).well();
}

#[test]
#[cfg_attr(not(catalogs), ignore = "needs `cargo xtask readers`")]
fn a_signature_of_the_checksums_covers_the_lake() {
    let scratch = Scratch::with_sample(2, 50);
    scratch.convert_well(&[]);
    release(&scratch.out());
    let request = json!({"lake": scratch.out(), "tables": []});
    let answer = ask(&python(), "check_signature.py", &request);
    assert_eq!(findings(&answer), "");
    // No command minds the signature beside the lake's files.
    assert!(scratch.out().join("SHA256SUMS.minisig").exists());
    run([Path::new("verify"), &scratch.out()]).well();
    scratch.convert_well(&[]);
    release(&scratch.out());
}
