//! Published rows, compared with a plain reading of them.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use serde_json::Value;
use tracelake_schema::{Column, Kind, Syntax, TRACES, Table};

use tracelake_testkit::nested::{convert, equal};
use tracelake_testkit::shared;

/// A file of published rows beside the workspace, and the table whose rows they are.
fn published(file: &str, syntax: Syntax, name: &str) -> (PathBuf, &'static Arc<Table>) {
    let mut tables = TRACES.iter().flat_map(|trace| &trace.tables);
    let table = tables.find(|table| table.syntax == syntax && table.name == name);
    (shared(file), table.unwrap())
}

/// Whether a cell of an array is what a text says, by the standard library alone.
#[track_caller]
fn assert_says(column: &Column, text: &str, array: &dyn Array, row: usize) {
    let what = format!("{} in row {row}: {text}", column.name);
    assert_eq!(
        array.is_null(row),
        text.is_empty() || text == "None",
        "{what}"
    );
    if array.is_null(row) {
        return;
    }
    let float = |text: &str| text.parse::<f64>().unwrap();
    match column.kind {
        Kind::DateTime(_) => unreachable!("a nested table has no date-times"),
        Kind::Integer => {
            assert_eq!(
                array.as_primitive::<Int64Type>().value(row).to_string(),
                text
            );
        }
        Kind::Code => {
            assert_eq!(
                array.as_primitive::<Int32Type>().value(row).to_string(),
                text
            );
        }
        Kind::Float => {
            let found = array.as_primitive::<Float64Type>().value(row);
            assert_eq!(found, float(text), "{what}");
        }
        Kind::Boolean => assert_eq!(array.as_boolean().value(row), text == "1", "{what}"),
        Kind::Text => assert_eq!(array.as_string::<i32>().value(row), text),
        Kind::Struct => {
            for (field, inner) in column.fields.iter().zip(array.as_struct().columns()) {
                let name = format!("'{}': ", field.content);
                let start = text.find(&name).unwrap() + name.len();
                let end = text[start..].find([',', '}']).unwrap();
                let value = text[start..start + end].trim_matches('\'');
                if field.kind == Kind::Text && value.is_empty() {
                    assert_eq!(inner.as_string::<i32>().value(row), "");
                } else {
                    assert_says(field, value, inner, row);
                }
            }
        }
        Kind::List => {
            let items = array.as_list::<i32>().value(row);
            let inner = text.strip_prefix('[').unwrap().strip_suffix(']').unwrap();
            let pieces: Vec<&str> = match column.fields[0].kind {
                Kind::Struct => inner.split_inclusive('}').map(str::trim).collect(),
                _ => inner.split_whitespace().collect(),
            };
            assert_eq!(items.len(), pieces.len(), "{what}");
            for (at, piece) in pieces.into_iter().enumerate() {
                assert_says(&column.fields[0], piece, &items, at);
            }
        }
    }
}

#[test]
#[cfg_attr(not(published_data), ignore = "needs ../shared/data")]
fn published_quoted_csv_equals_its_plain_reading() {
    let file = "borg-2019/borg_traces_data-60-records.csv";
    let (path, table) = published(file, Syntax::QuotedCsv, "borg_traces_data");
    let [part] = &convert(&path, table, None).unwrap()[..] else {
        panic!("one part");
    };
    assert_eq!((part.converted.rows_in, part.converted.rows_out), (60, 60));
    let rows = part.rows();
    let mut plain = csv::Reader::from_path(&path).unwrap();
    for (row, record) in plain.records().map(Result::unwrap).enumerate() {
        for (&index, text) in table.fields.iter().zip(&record) {
            assert_says(&table.columns[index], text, rows.column(index), row);
        }
    }
}

#[test]
#[cfg_attr(not(published_data), ignore = "needs ../shared/data")]
fn a_published_json_line_equals_its_plain_reading() {
    let file = "borg-2019/instance_usage-1-row.json";
    let (path, table) = published(file, Syntax::Json, "instance_usage");
    let [part] = &convert(&path, table, None).unwrap()[..] else {
        panic!("one part");
    };
    assert_eq!((part.converted.rows_in, part.converted.rows_out), (1, 1));
    let rows = part.rows();
    let line: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    for (column, array) in table.columns.iter().zip(rows.columns()) {
        let value = &line[&*column.content];
        assert!(equal(column, value, array, 0), "{}: {value}", column.name);
    }
}
