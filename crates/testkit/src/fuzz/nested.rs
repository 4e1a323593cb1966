//! Rows whose values may hold others, JSON lines and quoted CSV, on the way to Parquet: the counting
//! law, rejects that are in the text where they say, the same rows whole and in parts, and every
//! value what serde_json and the csv crate read.
//!
//! Input: a byte of options, then the text of a file; of quoted CSV without the header, unless an
//! option says otherwise.

use std::fs;
use std::sync::{Arc, LazyLock};

use super::setting::{directory, options};
use crate::nested::{as_quoted, column, convert, equal};
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, RecordBatch, cast::AsArray};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use tracelake_core::error::ErrorKind;
use tracelake_schema::{Column, Kind, Spelling, Syntax, Table};

/// Every kind of column, under names that a fuzzer finds.
static JSON: LazyLock<Arc<Table>> = LazyLock::new(|| {
    let columns = [
        column("t", Kind::Integer, []),
        column("s", Kind::Text, []),
        column(
            "u",
            Kind::Struct,
            [
                spelled(column("f", Kind::Float, [])),
                column("c", Kind::Code, []),
            ],
        ),
        column("l", Kind::List, [column("item", Kind::Float, [])]),
        column(
            "r",
            Kind::List,
            [column(
                "item",
                Kind::Struct,
                [
                    column("s", Kind::Text, []),
                    spelled(column("b", Kind::Boolean, [])),
                ],
            )],
        ),
    ];
    Arc::new(Table {
        syntax: Syntax::Json,
        time: Some(0),
        ..Table::plain("made_up", columns)
    })
});

/// A column with other spellings of its values: `-` is NULL, and a boolean may be a word.
fn spelled(column: Column) -> Column {
    let words = [("y".to_owned(), true), ("n".to_owned(), false)].into_iter();
    let spelling = Spelling {
        nulls: ["-".to_owned()].into(),
        words: words.filter(|_| column.kind == Kind::Boolean).collect(),
        ..Spelling::default()
    };
    Column { spelling, ..column }
}

static QUOTED: LazyLock<Arc<Table>> = LazyLock::new(|| as_quoted(&JSON));

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
    let rows = whole.rows();
    let mut good = text.clone();
    for reject in whole.rejects.iter().rev() {
        let (byte, end) = check_reject(&text, reject);
        let newline = text[end..].iter().position(|&byte| byte == b'\n');
        good.drain(byte..newline.map_or(text.len(), |newline| end + newline + 1));
    }
    check_values(table, &good, &rows);

    let part_rows = u64::from(choices >> 2) + 1;
    let parts = convert(&path, table, Some(part_rows)).unwrap();
    let mut before = 0;
    for part in &parts {
        assert!(part.converted.rows_in <= part_rows);
        let found = part.rows();
        assert!(found == rows.slice(before, found.num_rows()));
        before += found.num_rows();
    }
    assert_eq!(before, rows.num_rows());
    let rejects = parts.iter().flat_map(|part| &part.rejects);
    assert!(rejects.eq(&whole.rejects));
}

/// Checks that a rejected row is in the text where it says; returns where it begins and ends.
fn check_reject(text: &[u8], reject: &Value) -> (usize, usize) {
    let raw = match reject.get("raw_base64") {
        Some(base64) => STANDARD.decode(base64.as_str().unwrap()).unwrap(),
        None => reject["raw"].as_str().unwrap().as_bytes().to_vec(),
    };
    let number = |key: &str| reject[key].as_u64().unwrap() as usize;
    let byte = number("byte");
    assert!(text[byte..].starts_with(&raw));
    let lines = text[..byte].iter().filter(|&&byte| byte == b'\n');
    assert_eq!(number("line"), lines.count() + 1);
    (byte, byte + raw.len())
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
                    equal(column, &object[&*column.content], array, row),
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
