//! Laws that hold for generated traces that are published in shards or whole, checked on the files.
#![allow(clippy::panic, reason = "a broken law ends its test")]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use flate2::read::MultiGzDecoder;
use serde_json::{Map, Value};
use tracelake_core::Context;
use tracelake_core::options::SourceForm;
use tracelake_generate::{Options, Summary, generate};
use tracelake_schema::{Column, Files, Kind, Syntax, TRACES, Table, Trace};

fn small() -> Options {
    let mut options = Options::default();
    (options.rows, options.seed) = (6000, 5);
    options
}

fn made(trace: &'static Trace, options: Options) -> (tempfile::TempDir, Summary) {
    let directory = tempfile::tempdir().expect("a directory");
    let summary = generate(&Context::new(), trace, directory.path(), &options).expect("a trace");
    (directory, summary)
}

/// Every table of these files and this syntax, in a trace that was made of it.
fn each(
    files: Files,
    syntax: Syntax,
    mut check: impl FnMut(&Path, &'static Trace, &'static Table, u64),
) {
    let mut checked = 0;
    let fits = |table: &&Arc<Table>| table.files == files && table.syntax == syntax;
    for trace in simulated().filter(|trace| trace.tables.iter().any(|it| fits(&it))) {
        let (out, summary) = made(trace, small());
        for table in trace.tables.iter().filter(fits) {
            let rows = summary.tables.iter().find(|it| it.name == table.name);
            check(out.path(), trace, table, rows.expect("the table").rows);
            checked += 1;
        }
    }
    assert!(checked > 0, "no table of {files:?} and {syntax:?}");
}

/// The traces that can be generated.
fn simulated() -> impl Iterator<Item = &'static Arc<Trace>> {
    let all =
        |trace: &&'static Arc<Trace>| trace.tables.iter().all(|table| !table.synthetic.is_empty());
    TRACES.iter().filter(all)
}

fn gunzip(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let file = File::open(path).expect("a file");
    MultiGzDecoder::new(file)
        .read_to_end(&mut bytes)
        .expect("gzip");
    bytes
}

#[test]
fn the_same_options_give_the_same_bytes() {
    for trace in simulated().filter(|trace| !trace.in_parts()) {
        let sums = |options| {
            let (out, _) = made(trace, options);
            fs::read_to_string(out.path().join("SHA256SUM")).expect("sums")
        };
        let has_parquet = trace.tables.iter().any(|table| table.parquet);
        let is_published = |form: &&SourceForm| **form == SourceForm::Json || has_parquet;
        for &form in SourceForm::ALL.iter().filter(is_published) {
            let mut options = small();
            (options.rows, options.form) = (2000, form);
            let made = sums(options);
            assert_eq!(made, sums(options));
            options.seed = 6;
            assert_ne!(made, sums(options));
        }
    }
}

/// The fields of the one member of a table's archive, which has no owner and no time.
fn archived(out: &Path, table: &Table) -> Vec<Vec<String>> {
    let bytes = gunzip(&out.join(format!("{}.tar.gz", table.name)));
    let mut archive = tar::Archive::new(&bytes[..]);
    let mut rows = Vec::new();
    let mut members = 0;
    for member in archive.entries().expect("an archive") {
        let mut member = member.expect("a member");
        members += 1;
        let header = member.header();
        let facts = [header.mtime(), header.uid(), header.gid()];
        assert_eq!(facts.map(|fact| fact.expect("a number")), [0, 0, 0]);
        let path = member.path().expect("a path").into_owned();
        assert_eq!(path, Path::new(&format!("{}.csv", table.name)));
        let mut text = String::new();
        member.read_to_string(&mut text).expect("UTF-8");
        assert!(text.ends_with('\n'));
        for line in text.lines() {
            let fields: Vec<String> = line.split(',').map(str::to_owned).collect();
            assert_eq!(fields.len(), table.fields.len(), "{line}");
            rows.push(fields);
        }
    }
    assert_eq!(members, 1);
    rows
}

/// The fields of a table that is published in one plain file, below its header.
fn plain(out: &Path, table: &Table) -> Vec<Vec<String>> {
    let name = table.naming.name_of(0, 1).expect("a published name");
    let text = fs::read_to_string(out.join(name)).expect("UTF-8");
    let mut lines = text
        .lines()
        .map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let columns = table.fields.iter().map(|&index| &table.columns[index]);
    let names: Vec<&str> = columns.map(|column| &*column.content).collect();
    assert_eq!(lines.next().expect("a header"), names);
    let rows: Vec<Vec<String>> = lines.collect();
    assert!(rows.iter().all(|row| row.len() == names.len()));
    rows
}

fn position(table: &Table, quantity: &str) -> usize {
    let of = |&column: &usize| table.columns[column].synthetic == quantity;
    table.fields.iter().position(of).expect(quantity)
}

#[test]
fn an_archive_or_a_file_holds_one_table_whole() {
    let mut archives = 0;
    each(Files::Whole, Syntax::Csv, |out, trace, table, rows| {
        archives += trace.archives.len();
        let fields = match trace.archives.is_empty() {
            true => plain(out, table),
            false => archived(out, table),
        };
        assert_eq!(u64::try_from(fields.len()), Ok(rows), "{}", table.name);
        for (place, &index) in table.fields.iter().enumerate() {
            let column = &table.columns[index];
            for row in &fields {
                let (value, kind) = (&row[place], column.kind);
                assert!(!value.is_empty() || !column.mandatory, "{}", column.name);
                let reads = match kind {
                    Kind::Integer => value.parse::<i64>().is_ok(),
                    Kind::Float => value.parse::<f64>().is_ok(),
                    _ => true,
                };
                assert!(value.is_empty() || reads, "{}: {value}", column.name);
            }
        }
    });
    assert!(archives > 0);
}

#[test]
fn samples_are_grouped_and_ordered_by_time_within_a_group() {
    let mut largest = 0;
    each(Files::Whole, Syntax::Csv, |out, _, table, rows| {
        if !table.synthetic.ends_with("samples") {
            return;
        }
        largest = largest.max(rows);
        let time = position(table, "sample.time");
        let mut seen = BTreeSet::new();
        let mut last = (String::new(), 0);
        for row in archived(out, table) {
            let now: u64 = row[time].parse().expect("seconds");
            assert!(now.is_multiple_of(10));
            if row[0] == last.0 {
                assert!(now > last.1, "{row:?}");
            } else {
                assert!(seen.insert(row[0].clone()), "{} came before", row[0]);
            }
            last = (row[0].clone(), now);
        }
        assert!(!seen.is_empty());
    });
    assert_eq!(largest, small().rows);
}

#[test]
fn task_names_tell_a_dag_or_are_random() {
    each(Files::Whole, Syntax::Csv, |out, _, table, _| {
        if table.synthetic != "batch tasks" {
            return;
        }
        let [name, instances, status, start] =
            ["task.name", "task.instances", "task.status", "run.start"]
                .map(|quantity| position(table, quantity));
        let (mut dags, mut lone, mut deep) = (0, 0, 0);
        for row in archived(out, table) {
            assert_eq!(row[status] == "Waiting", row[instances].is_empty());
            assert!(row[status] != "Waiting" || row[start] == "0");
            if let Some(coded) = row[name].strip_prefix("task_") {
                assert!(coded.len() == 28 && coded.ends_with("=="), "{coded}");
                lone += 1;
                continue;
            }
            let text = row[name].trim_start_matches(['M', 'R', 'J']);
            let (text, stage) = text.split_once("_Stg").unwrap_or((text, "1"));
            assert!(stage.parse::<u8>().is_ok(), "{stage}");
            let numbers: Vec<u64> = text
                .split('_')
                .map(|number| number.parse().expect("a number"))
                .collect();
            assert!(numbers[1..].iter().all(|need| *need < numbers[0]));
            assert_eq!(numbers.iter().collect::<BTreeSet<_>>().len(), numbers.len());
            dags += 1;
            deep += usize::from(numbers.len() > 2);
        }
        assert!(dags > 10 && lone > 10 && deep > 0, "{dags} {lone} {deep}");
    });
}

#[test]
fn instances_belong_to_tasks() {
    each(Files::Whole, Syntax::Csv, |out, trace, table, _| {
        if table.synthetic != "batch instances" {
            return;
        }
        let of_stream = |stream: &str| trace.tables.iter().find(|it| it.synthetic == stream);
        let tasks = of_stream("batch tasks").expect("tasks");
        let names = |table: &Table| {
            let places = ["job.name", "task.name"].map(|quantity| position(table, quantity));
            let rows = archived(out, table);
            let names = rows
                .iter()
                .map(|row| places.map(|place| row[place].clone()));
            names.collect::<BTreeSet<_>>()
        };
        assert!(names(table).is_subset(&names(tasks)));
    });
}

#[test]
fn a_shard_holds_json_lines_as_they_are_exported() {
    each(Files::Shards, Syntax::Json, |out, _, table, rows| {
        let (mut count, mut nested) = (0, 0);
        for part in 0..small().parts {
            let path = out.join(format!("{}-{part:012}.json.gz", table.name));
            let text = String::from_utf8(gunzip(&path)).expect("UTF-8");
            for line in text.lines() {
                let object: Map<String, Value> = serde_json::from_str(line).expect(line);
                nested += check_object(&table.columns, &object);
                count += 1;
            }
        }
        assert_eq!(count, rows, "{}", table.name);
        let has = table.columns.iter().any(|column| !column.fields.is_empty());
        assert_eq!(nested > 0, has, "{}", table.name);
    });
}

/// Checks the members of an object and says how many structs and list items there are.
fn check_object(columns: &[Arc<Column>], object: &Map<String, Value>) -> usize {
    let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
    assert!(object.keys().all(|key| names.contains(&key.as_str())));
    let pairs = columns
        .iter()
        .filter_map(|column| Some((column, object.get(&column.name)?)));
    pairs.map(|(column, value)| check(column, value)).sum()
}

fn check(column: &Column, value: &Value) -> usize {
    match (column.kind, value) {
        (Kind::Integer, Value::String(digits)) => {
            digits.parse::<i64>().expect(&column.name);
            0
        }
        (Kind::Code, Value::String(digits)) => {
            let value: i32 = digits.parse().expect(&column.name);
            assert!(column.codes.iter().any(|code| code.value == value));
            0
        }
        (Kind::Text, Value::String(_))
        | (Kind::Float, Value::Number(_))
        | (Kind::Boolean, Value::Bool(_)) => 0,
        (Kind::Struct, Value::Object(object)) => 1 + check_object(&column.fields, object),
        (Kind::List, Value::Array(items)) => {
            let [of] = &column.fields[..] else {
                panic!("{}: one item", column.name)
            };
            let lengths: &[usize] = match of.synthetic.as_str() {
                "usage.cpu_distribution" => &[0, 11],
                "usage.cpu_tail" => &[0, 9],
                _ => &[0, 1, 2, 3, 4, 5],
            };
            assert!(lengths.contains(&items.len()), "{}", column.name);
            if of.kind == Kind::Float {
                let numbers = items.iter().map(|item| item.as_f64().expect("a number"));
                assert!(numbers.is_sorted(), "{}", column.name);
            }
            items.iter().map(|item| 1 + check(of, item)).sum()
        }
        (kind, value) => panic!("{}: {kind:?} as {value}", column.name),
    }
}

#[test]
fn a_quoted_file_has_a_header_and_cells_as_python_prints_them() {
    each(Files::Whole, Syntax::QuotedCsv, |out, _, table, rows| {
        let path = out.join(format!("{}.csv", table.name));
        let mut reader = csv::Reader::from_path(path).expect("a file");
        let header = reader.headers().expect("a header").clone();
        let contents = table.columns.iter().map(|column| &*column.content);
        assert!(header.iter().eq(contents));
        let (mut count, mut broken, mut none) = (0, 0, 0);
        for row in reader.records() {
            let row = row.expect("a row");
            for (column, cell) in table.columns.iter().zip(&row) {
                broken += usize::from(cell.contains('\n'));
                none += usize::from(cell.contains("None"));
                let fits = match column.kind {
                    Kind::DateTime(_) => true,
                    Kind::Integer | Kind::Code => cell.parse::<i64>().is_ok(),
                    Kind::Float => cell.is_empty() || cell.contains(['.', 'e']),
                    Kind::Boolean => ["0", "1"].contains(&cell),
                    Kind::Struct => cell.starts_with("{'") && cell.ends_with('}'),
                    Kind::List => cell.starts_with('[') && cell.ends_with(']'),
                    Kind::Text => !cell.is_empty(),
                };
                assert!(fits, "{}: {cell:?}", column.name);
            }
            count += 1;
        }
        assert_eq!(count, rows);
        assert!(broken > 0 && none > 0, "{broken} {none}");
    });
}
