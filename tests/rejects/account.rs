//! The counting law, checked with nothing of the converter: lines of the text against the rows of
//! the Parquet file, the lines of the rejects file and the manifest.

use std::fs;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tracelake_schema::{Kind, Table};

use tracelake_testkit::{ensure, manifest, output_path, read_output};

/// A line of a rejects file.
pub(crate) struct Reject {
    pub(crate) line: usize,
    pub(crate) byte: usize,
    pub(crate) column: Option<String>,
    pub(crate) reason: String,
    pub(crate) raw: Vec<u8>,
}

/// The rejects of one part; none where there is no file.
pub(crate) fn rejects(out: &Path, table: &str, number: u32, total: u32) -> Vec<Reject> {
    let path = format!("_tracelake/rejects/{table}/part-{number:05}-of-{total:05}.ndjson");
    let text = fs::read_to_string(out.join(path)).unwrap_or_default();
    let reject = |line: &str| {
        let json: Value = serde_json::from_str(line).unwrap();
        let number = |key: &str| usize::try_from(json[key].as_u64().unwrap()).unwrap();
        let raw = match json.get("raw_base64") {
            Some(base64) => STANDARD.decode(base64.as_str().unwrap()).unwrap(),
            None => json["raw"].as_str().unwrap().as_bytes().to_vec(),
        };
        Reject {
            line: number("line"),
            byte: number("byte"),
            column: json["column"].as_str().map(str::to_owned),
            reason: json["reason"].as_str().unwrap().to_owned(),
            raw,
        }
    };
    text.lines().map(reject).collect()
}

/// Checks one part of a lake against the text that it was made from; returns how many rows were
/// accepted and how many rejected.
pub(crate) fn account(
    text: &[u8],
    out: &Path,
    table: &Table,
    (number, total): (u32, u32),
) -> Result<(usize, usize), String> {
    let mut lines: Vec<(usize, &[u8])> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        lines.push((at, line));
        at += line.len();
    }
    let rejects = rejects(out, &table.name, number, total);
    let mut bad = vec![false; lines.len() + 1];
    for reject in &rejects {
        let (byte, line) = *lines
            .get(reject.line - 1)
            .ok_or_else(|| format!("a reject of line {}", reject.line))?;
        let place = || format!("the reject of line {}", reject.line);
        ensure(byte == reject.byte, || {
            format!("{} is at byte {byte}", place())
        })?;
        let rest = line
            .strip_prefix(&reject.raw[..])
            .ok_or_else(|| format!("{}: raw", place()))?;
        // At the end of a file half a CRLF is an ending, too.
        let half = reject.line == lines.len() && rest == b"\r";
        let ended = half || [&b""[..], b"\n", b"\r\n"].contains(&rest);
        ensure(ended, || format!("{} is cut", place()))?;
        ensure(!reject.reason.is_empty(), || {
            format!("{} has no reason", place())
        })?;
        let known = reject
            .column
            .as_ref()
            .is_none_or(|name| table.column(name).is_some());
        ensure(known, || format!("{}: column", place()))?;
        ensure(!std::mem::replace(&mut bad[reject.line], true), || {
            format!("{} twice", place())
        })?;
    }
    let accepted = read_output(&out.join(output_path(&table.name, number, total)));
    let good = (1..).zip(&lines).filter(|(line, _)| !bad[*line]);
    let good: Vec<(usize, &[u8])> = good.map(|(line, (_, text))| (line, *text)).collect();
    ensure(good.len() == accepted.num_rows(), || {
        format!("{} good lines, {} rows", good.len(), accepted.num_rows())
    })?;
    for (row, (line, text)) in good.into_iter().enumerate() {
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        equal(text, table, &accepted, row).map_err(|error| format!("line {line}: {error}"))?;
    }
    counts(
        out,
        table,
        number,
        [lines.len(), accepted.num_rows(), rejects.len()],
    )?;
    Ok((accepted.num_rows(), rejects.len()))
}

/// The manifest says the same of the part.
fn counts(out: &Path, table: &Table, number: u32, expected: [usize; 3]) -> Result<(), String> {
    let manifest = manifest(out);
    let tables = manifest["tables"].as_array().unwrap();
    let facts = tables
        .iter()
        .find(|facts| facts["name"] == table.name)
        .unwrap();
    let parts = facts["parts"].as_array().unwrap();
    let part = parts
        .iter()
        .find(|part| part["file_number"] == number)
        .unwrap();
    let found = ["rows_in", "rows_out", "rows_rejected"].map(|key| part[key].as_u64().unwrap());
    ensure(found == expected.map(|count| count as u64), || {
        format!("the manifest says {found:?}, the files {expected:?}")
    })?;
    let sum: u64 = parts
        .iter()
        .map(|part| part["rows_out"].as_u64().unwrap())
        .sum();
    ensure(facts["rows"] == sum, || {
        format!("{} rows in all, {sum} in parts", facts["rows"])
    })?;
    ensure(part["rejects"].is_null() == (expected[2] == 0), || {
        "a rejects file".to_owned()
    })
}

/// A row of the lake has the values of the plain split of its line.
fn equal(line: &[u8], table: &Table, batch: &RecordBatch, row: usize) -> Result<(), String> {
    let fields: Vec<&[u8]> = line.split(|&byte| byte == b',').collect();
    ensure(fields.len() == table.fields.len(), || {
        format!("{} fields", fields.len())
    })?;
    for (&index, field) in table.fields.iter().zip(fields) {
        let column = &table.columns[index];
        let array = batch.column(index);
        let text = std::str::from_utf8(field).map_err(|error| error.to_string())?;
        let same = match (text, array.is_null(row)) {
            ("", null) => null,
            (_, true) => false,
            (text, false) => match column.kind {
                Kind::DateTime(_) => false,
                Kind::Integer => text.parse() == Ok(array.as_primitive::<Int64Type>().value(row)),
                Kind::Code => text.parse() == Ok(array.as_primitive::<Int32Type>().value(row)),
                Kind::Float => {
                    let value = array.as_primitive::<Float64Type>().value(row);
                    text.parse()
                        .is_ok_and(|parsed: f64| parsed.to_bits() == value.to_bits())
                }
                Kind::Boolean => {
                    text == if array.as_boolean().value(row) {
                        "1"
                    } else {
                        "0"
                    }
                }
                Kind::Text | Kind::Struct | Kind::List => {
                    text == array.as_string::<i32>().value(row)
                }
            },
        };
        ensure(same, || format!("{} is not {text:?}", column.name))?;
    }
    Ok(())
}
