//! JSON lines, quoted CSV, and files that are cut into parts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracelake_schema::{Files, Syntax, TRACES, Table, Trace};
use tracelake_testkit::{convert, generate, verify_well};

use super::{assert_law, assert_unite, parts, rows};

/// A synthetic trace of a kind, and its description.
fn generated(is_wanted: impl Fn(&Trace) -> bool) -> (&'static Trace, tempfile::TempDir) {
    let trace = TRACES.iter().find(|trace| is_wanted(trace)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("src");
    generate(&trace.name, &source, &["--rows", "2000"]);
    (trace, directory)
}

fn is_json(trace: &Trace) -> bool {
    trace
        .tables
        .iter()
        .any(|table| table.syntax == Syntax::Json)
}

fn is_cut(trace: &Trace) -> bool {
    let is_whole = |table: &Arc<Table>| table.files == Files::Whole;
    !trace.derived.is_empty() && trace.tables.iter().all(is_whole)
}

/// Converts the classes of a sample and the whole, and compares them; returns the lakes of the classes.
fn assert_classes(trace: &Trace, directory: &Path, of: u32, more: &[&str]) -> Vec<PathBuf> {
    let source = directory.join("src");
    let whole = directory.join("whole");
    convert(&source, &whole, more).well();
    let classes = (0..of).map(|class| {
        let out = directory.join(class.to_string());
        let sample = format!("{class}/{of}");
        convert(&source, &out, &[&["--sample", &sample], more].concat()).well();
        assert_law(&out);
        verify_well(&out, &source);
        out
    });
    let classes: Vec<PathBuf> = classes.collect();
    let paths: Vec<&Path> = classes.iter().map(PathBuf::as_path).collect();
    let is_sampled = |path: &str| {
        let table = path.split('/').next().unwrap();
        let mut derived = trace.derived.iter();
        let from = derived.find(|derived| derived.table.name == table);
        let published = from.map_or(table, |derived| &derived.from);
        trace.sampled_column(published, None).is_some()
    };
    assert_unite(&whole, &paths, is_sampled);
    classes
}

#[test]
fn classes_of_json_lines() {
    let (trace, directory) = generated(is_json);
    assert_classes(trace, directory.path(), 4, &[]);
}

/// Parts end after the same lines of the source as without a selection, so that classes unite part by part.
#[test]
fn classes_of_files_that_are_cut() {
    let (trace, directory) = generated(is_cut);
    let rule = trace.derived[0].rule.name();
    let options = ["--part-rows", "300", "--derive", rule];
    let classes = assert_classes(trace, directory.path(), 3, &options);
    let cut = parts(&classes[0]).len();
    assert!(cut > trace.tables.len() * 2, "{cut} parts");
}

/// Columns of JSON lines, of which rows are selected by others.
#[test]
fn columns_of_json_lines() {
    let (trace, directory) = generated(is_json);
    let table = trace
        .tables
        .iter()
        .find(|table| {
            table.syntax == Syntax::Json && trace.sampled_column(&table.name, None).is_some()
        })
        .unwrap();
    let key = &trace.sampled_column(&table.name, None).unwrap().column;
    let time = &table.columns[table.time.unwrap()].name;
    let others = table.columns.iter().map(|column| &*column.name);
    let others = others.filter(|name| *name != key && *name != time);
    let others: Vec<String> = others
        .map(|name| format!("{}.{name}", table.name))
        .collect();
    let source = directory.path().join("src");
    let rules = [
        "--tables",
        &table.name,
        "--sample",
        "0/2",
        "--time",
        "0..30d",
    ];
    let [some, all] = ["some", "all"].map(|name| directory.path().join(name));
    convert(&source, &all, &rules).well();
    let columns = others.join(",");
    let chosen = [&rules[..], &["--columns", &columns]].concat();
    convert(&source, &some, &chosen).well();
    verify_well(&some, &source);
    let rest = |row: &String| {
        let values = row.split('|').zip(&*table.columns);
        let values = values.filter(|(_, column)| column.name != *key && column.name != *time);
        values.map(|(value, _)| value).collect::<Vec<_>>().join("|")
    };
    for (path, found) in rows(&some) {
        let expected: Vec<String> = rows(&all)[&path].iter().map(rest).collect();
        assert_eq!(found, expected, "{path}");
    }
}

/// A line that isn't JSON, has an unknown name or a faulty key is bad in every class; other faults only where the
/// row is selected.
#[test]
fn faults_of_json_lines() {
    let (trace, directory) = generated(is_json);
    let table = trace
        .tables
        .iter()
        .find(|table| table.syntax == Syntax::Json)
        .unwrap();
    let key = &trace.sampled_column(&table.name, None).unwrap().column;
    let time = &table.columns[table.time.unwrap()].name;
    let coded = table
        .columns
        .iter()
        .find(|column| column.kind == tracelake_schema::Kind::Code);
    let code = &coded.unwrap().name;
    let lines = [
        "{\"broken\":".to_owned(),
        format!("{{\"{time}\":\"5\",\"{key}\":\"7\",\"unknown\":1}}"),
        format!("{{\"{time}\":\"5\",\"{key}\":\"seven\"}}"),
        format!("{{\"{time}\":\"5\",\"{code}\":\"x\",\"{key}\":\"7\"}}"),
        format!("{{\"{time}\":\"5\",\"{code}\":\"1\",\"{key}\":\"0007\"}}"),
    ];
    let source = directory.path().join("faults");
    std::fs::create_dir(&source).unwrap();
    let name = format!("{}-000000000000.json", table.name);
    std::fs::write(source.join(name), lines.join("\n") + "\n").unwrap();
    let mut rejected = Vec::new();
    for class in ["0/2", "1/2"] {
        let out = directory.path().join(class.replace('/', "-"));
        let options = ["--sample", class, "--on-bad-row", "reject"];
        convert(&source, &out, &options).exits(3);
        assert_law(&out);
        verify_well(&out, &source);
        rejected.push(parts(&out)[0].1["rows_rejected"].as_u64().unwrap());
    }
    rejected.sort_unstable();
    assert_eq!(rejected, [3, 4]);
}

/// Cells that span lines, and a header.
#[test]
fn classes_of_quoted_csv() {
    let (trace, directory) = generated(is_json);
    let quoted = trace
        .tables
        .iter()
        .find(|table| table.syntax == Syntax::QuotedCsv)
        .unwrap();
    let options = ["--tables", &quoted.name, "--part-rows", "200"];
    assert_classes(trace, directory.path(), 3, &options);
}
