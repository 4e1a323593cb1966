//! Rows whose values may hold others, JSON lines and quoted CSV, on the way to Parquet: the counting
//! law, rejects that are in the text where they say, the same rows whole and in parts, and every
//! value what serde_json and the csv crate read.
//!
//! Input: a byte of options, then the text of a file; of quoted CSV without the header, unless an
//! option says otherwise.

use std::fs;
use std::path::Path;

use super::setting::{directory, options};
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch, cast::AsArray};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;
use std::borrow::Cow;

use tracelake_convert::part::{Beginning, ReadProgress, TableText, convert_part};
use tracelake_core::Context;
use tracelake_core::error::{ErrorKind, Result};
use tracelake_core::field_order::FieldOrder;
use tracelake_encode::output::Encoding;
use tracelake_schema::arrow::arrow_schema;
use tracelake_schema::{Column, Files, Kind, Syntax, Table};
use tracelake_source::Source;

const fn column(name: &'static str, kind: Kind, fields: &'static [Column]) -> Column {
    Column {
        mandatory: matches!(name.as_bytes(), b"t" | b"item"),
        fields,
        ..Column::plain(name, kind)
    }
}

/// Every kind of column, under names that a fuzzer finds.
static JSON: Table = Table {
    name: "made_up",
    summary: "",
    columns: &[
        column("t", Kind::Integer, &[]),
        column("s", Kind::Text, &[]),
        column(
            "u",
            Kind::Struct,
            &[column("f", Kind::Float, &[]), column("c", Kind::Code, &[])],
        ),
        column("l", Kind::List, &[column("item", Kind::Float, &[])]),
        column(
            "r",
            Kind::List,
            &[column(
                "item",
                Kind::Struct,
                &[
                    column("s", Kind::Text, &[]),
                    column("b", Kind::Boolean, &[]),
                ],
            )],
        ),
    ],
    fields: &[0, 1, 2, 3, 4],
    files: Files::Whole,
    naming: tracelake_schema::Naming::NONE,
    csv: tracelake_schema::Csv::PLAIN,
    syntax: Syntax::Json,
    parts: 0,
    published: None,
    shards: &[],
    required: None,
    entity: &[],
    primary_key: &[],
    references: &[],
    time: Some(0),
    synthetic: "",
};

static QUOTED: Table = Table {
    syntax: Syntax::QuotedCsv,
    ..JSON
};

const HEADER: &[u8] = b"t,s,u,l,r\n";

/// Tries one input.
pub fn run(data: &[u8]) {
    let ([choices], text) = options(data);
    let quoted = choices & 1 > 0;
    let table = if quoted { &QUOTED } else { &JSON };
    let header: &[u8] = if quoted && choices & 2 == 0 {
        HEADER
    } else {
        b""
    };
    let text = [header, text].concat();
    let directory = directory();
    let path = directory.path().join("text");
    fs::write(&path, &text).unwrap();

    let whole = match convert(&path, table, None) {
        Ok(mut parts) => parts.remove(0),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Misfit, "{error}");
            assert!(quoted, "a text of short lines is always rows: {error}");
            return;
        }
    };
    let rows = whole.rows.num_rows();
    assert_eq!(whole.rows_in, rows + whole.rejects.len());
    let mut good = text.clone();
    for reject in whole.rejects.iter().rev() {
        check_reject(&text, reject);
        let end = reject.byte + reject.raw.len();
        let newline = text[end..].iter().position(|&byte| byte == b'\n');
        good.drain(reject.byte..newline.map_or(text.len(), |newline| end + newline + 1));
    }
    check_values(table, &good, &whole.rows);

    let part_rows = u64::from(choices >> 2) + 1;
    let parts = convert(&path, table, Some(part_rows)).unwrap();
    let mut before = 0;
    for part in &parts {
        assert!(part.rows_in as u64 <= part_rows);
        let found = &part.rows;
        assert!(*found == whole.rows.slice(before, found.num_rows()));
        before += found.num_rows();
    }
    assert_eq!(before, rows);
    let rejects = parts.iter().flat_map(|part| &part.rejects);
    assert!(rejects.eq(&whole.rejects));
}

struct Part {
    rows_in: usize,
    rows: RecordBatch,
    rejects: Vec<Reject>,
}

#[derive(PartialEq)]
struct Reject {
    line: usize,
    byte: usize,
    raw: Vec<u8>,
}

fn convert(path: &Path, table: &'static Table, part_rows: Option<u64>) -> Result<Vec<Part>> {
    let order = FieldOrder::built_in(table, "here");
    let mut source = Source::open(&Context::new(), path)?;
    let beginning = Beginning::of(&mut source, Cow::Borrowed(&order))?;
    let mut text = TableText::new(&mut source, &beginning, part_rows);
    let mut parts = Vec::new();
    while text.next_part()? {
        let mut rejects = Vec::new();
        let (converted, parquet) = convert_part(
            &mut text,
            &order,
            &arrow_schema(table),
            Encoding::DEFAULT,
            Vec::new(),
            &mut |bad| {
                let error = bad.to_error(path, &order).to_string();
                assert!(!error.contains(char::is_control), "{error}");
                let json: Value = serde_json::from_slice(&bad.to_json()?).unwrap();
                let raw = match json.get("raw_base64") {
                    Some(base64) => STANDARD.decode(base64.as_str().unwrap()).unwrap(),
                    None => json["raw"].as_str().unwrap().as_bytes().to_vec(),
                };
                let number = |key: &str| json[key].as_u64().unwrap() as usize;
                rejects.push(Reject {
                    line: number("line"),
                    byte: number("byte"),
                    raw,
                });
                Ok(())
            },
            &mut ReadProgress::new(&Context::new()),
        )?;
        let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(parquet)).unwrap();
        let schema = reader.schema().clone();
        let batches: Vec<RecordBatch> = reader
            .build()
            .unwrap()
            .map(|batch| batch.unwrap())
            .collect();
        let rows = arrow_select::concat::concat_batches(&schema, &batches).unwrap();
        assert_eq!(converted.rows_out as usize, rows.num_rows());
        parts.push(Part {
            rows_in: converted.rows_in as usize,
            rows,
            rejects,
        });
    }
    Ok(parts)
}

fn check_reject(text: &[u8], reject: &Reject) {
    assert!(text[reject.byte..].starts_with(&reject.raw));
    let lines = text[..reject.byte].iter().filter(|&&byte| byte == b'\n');
    assert_eq!(reject.line, lines.count() + 1);
}

/// Compares the rows with those of a text without the bad ones.
fn check_values(table: &Table, text: &[u8], rows: &RecordBatch) {
    if table.syntax == Syntax::Json {
        let lines: Vec<&[u8]> = text
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty())
            .collect();
        assert_eq!(lines.len(), rows.num_rows());
        for (row, line) in lines.into_iter().enumerate() {
            let object: Value = serde_json::from_slice(line).unwrap();
            for (column, array) in table.columns.iter().zip(rows.columns()) {
                assert!(
                    equal(column, &object[column.content], array, row),
                    "{object}"
                );
            }
        }
        return;
    }
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text);
    let records: Vec<csv::ByteRecord> = reader
        .byte_records()
        .map(|record| record.unwrap())
        .collect();
    assert_eq!(records.len(), rows.num_rows());
    for (row, record) in records.iter().enumerate() {
        let field = |index: usize| str::from_utf8(&record[index]).unwrap();
        let time = rows.column(0).as_primitive::<Int64Type>().value(row);
        assert_eq!(field(0).parse(), Ok(time));
        let texts = rows.column(1).as_string::<i32>();
        let found = if texts.is_null(row) {
            ""
        } else {
            texts.value(row)
        };
        assert_eq!(found, field(1));
        for index in 2..5 {
            let array = rows.column(index);
            assert_eq!(
                array.is_null(row),
                ["", "None"].contains(&field(index).trim())
            );
        }
        let list = rows.column(3).as_list::<i32>();
        if !list.is_null(row) {
            let numbers = field(3)
                .trim()
                .trim_start_matches('[')
                .trim_end_matches(']');
            let words = numbers.split(|c: char| c == ',' || c.is_whitespace());
            let numbers: Vec<f64> = words
                .filter(|number| !number.is_empty())
                .map(|number| number.parse().unwrap())
                .collect();
            assert_eq!(
                list.value(row).as_primitive::<Float64Type>().values(),
                &numbers[..]
            );
        }
    }
}

/// Whether a value of JSON means that of an array.
fn equal(column: &Column, value: &Value, array: &dyn Array, row: usize) -> bool {
    if value.is_null() || array.is_null(row) {
        return value.is_null() && array.is_null(row);
    }
    let text = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    match column.kind {
        Kind::DateTime(_) => false,
        Kind::Integer => text.parse() == Ok(array.as_primitive::<Int64Type>().value(row)),
        Kind::Code => text.parse() == Ok(array.as_primitive::<Int32Type>().value(row)),
        Kind::Float => text.parse() == Ok(array.as_primitive::<Float64Type>().value(row)),
        Kind::Boolean => value.as_bool() == Some(array.as_boolean().value(row)),
        Kind::Text => value.as_str() == Some(array.as_string::<i32>().value(row)),
        Kind::Struct => {
            let inner = column.fields.iter().zip(array.as_struct().columns());
            value.is_object()
                && inner
                    .into_iter()
                    .all(|(field, array)| equal(field, &value[field.content], array, row))
        }
        Kind::List => {
            let found = array.as_list::<i32>().value(row);
            let items = value.as_array().unwrap();
            let mut numbered = items.iter().enumerate();
            numbered.len() == found.len()
                && numbered.all(|(at, item)| equal(&column.fields[0], item, &found, at))
        }
    }
}
