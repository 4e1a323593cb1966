//! Which trace and table a source is taken for, and what is said when that may be wrong.

use std::sync::Arc;

use tracelake_schema::{Syntax, TRACES, Table, Trace};

use tracelake_testkit::{
    Scratch, committed_sample, convert, good_line, good_row, gzip, manifest, run, trace,
};

/// A name that tables of two data sets have, one in CSV and one in JSON lines.
fn shared_name() -> (&'static str, &'static Arc<Trace>) {
    let mut json = TRACES.iter().flat_map(|trace| {
        let tables = trace
            .tables
            .iter()
            .filter(|table| table.syntax == Syntax::Json);
        tables.map(move |table| (&*table.name, trace))
    });
    json.find(|(name, _)| trace().table(name).is_some())
        .unwrap()
}

fn quoted() -> &'static Table {
    let mut tables = TRACES.iter().flat_map(|trace| &trace.tables);
    tables
        .find(|table| table.syntax == Syntax::QuotedCsv)
        .unwrap()
}

fn header(table: &Table) -> String {
    let names = table
        .fields
        .iter()
        .map(|&index| &*table.columns[index].content);
    names.collect::<Vec<_>>().join(",")
}

#[test]
fn a_single_part_is_taken_for_the_trace_that_its_rows_fit() {
    let part = "machine_attributes/part-00000-of-00001.csv.gz";
    let scratch = Scratch::new();
    convert(&committed_sample().join(part), &scratch.out(), &[]).well();
    let manifest = manifest(&scratch.out());
    assert_eq!(manifest["trace"], trace().name);
    assert!(manifest["tables"][0]["rows"].as_u64().unwrap() > 0);
}

#[test]
fn the_rows_of_a_table_decide_between_two_traces_with_its_name() {
    let (name, other) = shared_name();
    let json = "{\"time\":\"0\"}\n";
    for (text, expected) in [(json, &other.name), (good_row(name), &trace().name)] {
        let scratch = Scratch::new();
        scratch.file(&format!("{name}/rows.csv.gz"), &gzip(text.as_bytes()));
        let file = scratch.src().join(name).join("rows.csv.gz");
        let plan = run(["convert", file.to_str().unwrap(), "out", "--dry-run"]);
        assert_eq!(plan.code, 0, "{}", plan.stderr);
        plan.shows(&format!("as {expected}\n"));
    }
}

#[test]
fn a_row_with_the_fields_of_several_tables_asks_which_one_it_is() {
    let scratch = Scratch::new();
    scratch.file("rows.csv", b"5,5,5,5,5,5\n");
    let run = convert(&scratch.src().join("rows.csv"), &scratch.out(), &[]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    let fitting = trace()
        .tables
        .iter()
        .filter(|table| table.fields.len() == 6);
    for table in fitting {
        run.says(&table.name);
    }
    run.says("--tables");
}

#[test]
fn an_empty_file_is_taken_for_the_trace_that_names_files_so() {
    let (name, _) = shared_name();
    let scratch = Scratch::new();
    scratch.only(name, b"");
    let file = scratch.src().join(name).join("part-00000-of-00001.csv.gz");
    convert(&file, &scratch.out(), &[]).well();
    assert_eq!(manifest(&scratch.out())["trace"], trace().name);
}

#[test]
fn the_quoted_file_is_known_by_its_header_under_any_name() {
    let table = quoted();
    let scratch = Scratch::new();
    scratch.file("download.csv", format!("{}\n", header(table)).as_bytes());
    convert(&scratch.src().join("download.csv"), &scratch.out(), &[]).well();
    assert_eq!(manifest(&scratch.out())["tables"][0]["name"], table.name);
}

#[test]
fn csv_in_place_of_json_lines_is_refused_before_any_work() {
    let json = TRACES.iter().flat_map(|trace| &trace.tables);
    let only_json = json.filter(|table| table.syntax == Syntax::Json);
    let table = only_json
        .into_iter()
        .find(|t| trace().table(&t.name).is_none())
        .unwrap();
    let scratch = Scratch::new();
    let name = format!("{}.csv", table.name);
    scratch.file(&name, b"time,collection_id\n1,2\n");
    convert(
        &scratch.src().join(name),
        &scratch.out(),
        &["--on-bad-row", "reject"],
    )
    .refuses(4, "JSON lines");
    assert!(!scratch.out().exists());
}

#[test]
fn when_nearly_every_row_is_bad_the_file_is_in_doubt_under_both_policies() {
    let wrong = good_line("machine_attributes").repeat(30);
    let wrong = wrong.replace(',', "x,");
    let scratch = Scratch::new();
    scratch.only("machine_attributes", wrong.as_bytes());
    let doubt = "30 of the first 30 rows are bad: this looks like the wrong table or trace";
    let fail = scratch.convert(&[]);
    fail.refuses(4, doubt);
    assert!(
        !fail.message().contains("--on-bad-row"),
        "{}",
        fail.message()
    );
    let reject = scratch.convert(&["--on-bad-row", "reject"]);
    assert_eq!(reject.code, 3, "{}", reject.stderr);
    let warnings = reject
        .stderr
        .lines()
        .filter(|line| line.starts_with("warning: "));
    assert_eq!(
        warnings.filter(|line| line.contains(doubt)).count(),
        1,
        "{}",
        reject.stderr
    );
}

#[test]
fn a_few_bad_rows_put_no_file_in_doubt() {
    let good = good_line("job_events").repeat(30);
    let scratch = Scratch::new();
    scratch.only("job_events", format!("x,\n{good}x,\n").as_bytes());
    let reject = scratch.convert(&["--on-bad-row", "reject"]);
    assert_eq!(reject.code, 3, "{}", reject.stderr);
    assert!(!reject.stderr.contains("warning"), "{}", reject.stderr);
    let fail = convert(&scratch.src(), &scratch.path().join("other"), &[]);
    assert!(
        !fail.message().contains("wrong table"),
        "{}",
        fail.message()
    );
}
