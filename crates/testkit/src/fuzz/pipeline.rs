//! The whole way of a part, from gzip to a verified lake, against a plain decoder: the same rows,
//! the same rejects, the counting law, and a strict run on two threads that fails exactly when there
//! are rejects and makes the same bytes when there are none.
//!
//! Input: a byte for the table, one for options, one for the order of the fields, one for which
//! optional fields are left out; then a script with a line per row (see `rows`).

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use super::setting::{context, directory, options, trace};
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, cast::AsArray};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compression, write::GzEncoder};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tracelake_convert::plan::{Request, plan};
use tracelake_convert::run::{RunOptions, convert};
use tracelake_core::error::ErrorKind;
use tracelake_core::options::{Codec, Layout, OnBadRow};
use tracelake_lake::manifest::PartFacts;
use tracelake_schema::{Column, Kind, Table};
use tracelake_verify::verify;

/// The most rows that a script makes.
const MOST: usize = 2000;

/// Tries one input.
pub fn run(data: &[u8]) {
    let ([table, choices, order, left_out], script) = options(data);
    let table = &trace().tables[usize::from(table) % trace().tables.len()];
    let own_schema = choices & 1 > 0;
    let fields = fields(table, own_schema, order, left_out);
    let text = rows(table, &fields, script, choices);

    let directory = directory();
    let (source, out) = (
        directory.path().join("source"),
        directory.path().join("lake"),
    );
    fs::create_dir_all(source.join(&*table.name)).unwrap();
    if own_schema {
        fs::write(source.join("schema.csv"), schema_csv(table, &fields)).unwrap();
    }
    let path = source.join(&*table.name).join("part-00000-of-00001.csv.gz");
    fs::write(&path, gzip(&text, choices & 16 > 0)).unwrap();

    let mut request = Request::new(source.clone());
    request.trace = Some(Arc::clone(trace()));
    request.settings.on_bad_row = OnBadRow::Reject;
    let codecs = [Codec::None, Codec::Snappy, Codec::Zstd(1), Codec::Zstd(3)];
    let codec = codecs[usize::from(choices >> 5) % 4];
    request.settings.compression = codec;
    if choices & 128 > 0 {
        request.settings.layout = Layout::Flat;
    }
    let mut run_options = RunOptions::default();
    run_options.parts_at_once = 1;
    let lenient = plan(&context(), &request).unwrap();
    let outcome = convert(&context(), &lenient, &(&out).into(), run_options).unwrap();
    outcome.manifest.check_counts().unwrap();
    let part = &outcome.manifest.tables[0].parts[0];

    let plain = Plain::decode(table, &fields, &text);
    check_facts(table, part, &plain);
    let columns: Vec<&Column> = table.columns.iter().map(|it| &**it).collect();
    check_output(&columns, &out.join(&part.output.path), &plain.good);
    match &part.rejects {
        Some(rejects) => check_rejects(
            &fs::read_to_string(out.join(&rejects.path)).unwrap(),
            &plain.bad,
        ),
        None => assert!(plain.bad.is_empty()),
    }

    let verdict = verify(&context(), &(&out).into(), Some(&source.into())).unwrap();
    let wrong: Vec<_> = verdict.findings.iter().map(ToString::to_string).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    assert_eq!(verdict.values, part.rows_out * table.columns.len() as u64);
    assert_eq!((verdict.parts, verdict.not_converted), (1, 0));

    request.settings.on_bad_row = OnBadRow::Fail;
    let strict = plan(&context(), &request).unwrap();
    let strictly = directory.path().join("strict");
    let two = context().with_threads(2);
    match convert(&two, &strict, &(&strictly).into(), run_options) {
        Ok(strict) => {
            assert_eq!(part.rows_rejected, 0);
            // Digests included: the bytes do not depend on the threads either.
            assert_eq!(strict.manifest.tables, outcome.manifest.tables);
        }
        Err(error) => {
            assert!(part.rows_rejected > 0, "{error}");
            assert_eq!(error.kind(), ErrorKind::Misfit, "{error}");
            assert_eq!(error.place().line, plain.bad.first().map(|bad| bad.line));
            assert!(!error.to_string().contains(char::is_control), "{error}");
            assert!(!strictly.exists(), "a failed run left files");
        }
    }
}

/// The columns of the file's fields, in their order there.
pub(super) fn fields(
    table: &'static Table,
    own_schema: bool,
    order: u8,
    left_out: u8,
) -> Vec<usize> {
    let mut fields = table.fields.to_vec();
    if own_schema {
        let optional = |index: &usize| !table.columns[*index].mandatory;
        fields.retain(|index| !optional(index) || left_out >> (index % 8) & 1 == 0);
        let around = usize::from(order) % fields.len();
        fields.rotate_left(around);
        if order & 64 > 0 {
            fields.reverse();
        }
    }
    fields
}

pub(super) fn schema_csv(table: &Table, fields: &[usize]) -> String {
    let mut csv = "file pattern,field number,content,format,mandatory\n".to_owned();
    for (number, &index) in (1..).zip(fields) {
        let column = &table.columns[index];
        let mandatory = if column.mandatory { "YES" } else { "NO" };
        csv += &format!(
            "{}/part-?????-of-?????.csv.gz,{number},{},{},{mandatory}\n",
            table.name, column.content, column.format
        );
    }
    csv
}

/// The text that a script makes. Each line of it is a valid row; `=` puts another line in its place;
/// `*12` says the row before twelve times more; `cX` sets its field `c` to X, `cX;dY` two fields.
pub(super) fn rows(table: &Table, fields: &[usize], script: &[u8], choices: u8) -> Vec<u8> {
    let (mut text, mut rows) = (Vec::new(), 0);
    let mut last = Vec::new();
    for line in script.split(|&byte| byte == b'\n') {
        let mut times = 1;
        match line.split_first() {
            Some((b'=', other)) => last = other.to_vec(),
            Some((b'*', number)) => {
                times = str::from_utf8(number)
                    .ok()
                    .and_then(|number| number.parse().ok())
                    .unwrap_or(1);
            }
            _ => {
                let mut row: Vec<Vec<u8>> = fields
                    .iter()
                    .map(|&index| valid(&table.columns[index], rows))
                    .collect();
                for change in line.split(|&byte| byte == b';') {
                    if let Some((&place, value)) = change.split_first() {
                        let place = usize::from(place.wrapping_sub(b'a')) % row.len();
                        row[place] = value.to_vec();
                    }
                }
                last = row.join(&b',');
                if choices & 2 > 0 {
                    last.push(b'\r');
                }
            }
        }
        for _ in 0..times.min(MOST - rows) {
            text.extend_from_slice(&last);
            text.push(b'\n');
            rows += 1;
        }
    }
    if choices & 4 > 0 {
        text.pop();
    }
    if choices & 8 > 0 {
        text.splice(0..0, *b"\xef\xbb\xbf");
    }
    text
}

/// Some value of a column; every fourth optional one is empty.
fn valid(column: &Column, row: usize) -> Vec<u8> {
    if !column.mandatory && row % 4 == 3 {
        return Vec::new();
    }
    match column.kind {
        Kind::DateTime(_) => unreachable!("the traces that are fuzzed have no date-times"),
        Kind::Integer => (row * 1_000_003).to_string(),
        Kind::Code => column
            .codes
            .get(row % column.codes.len().max(1))
            .map_or(row as i32, |code| code.value)
            .to_string(),
        // A number kept by its digits, and one kept by its text or not at all.
        Kind::Float if row.is_multiple_of(2) => format!("0.{:04}", row * 37 % 10_000),
        Kind::Float => format!("{:e}", row as f64 / 7.0),
        Kind::Boolean => (row % 2).to_string(),
        Kind::Text | Kind::Struct | Kind::List => format!("text={row}/\u{3a9}"),
    }
    .into_bytes()
}

pub(super) fn gzip(text: &[u8], two_members: bool) -> Vec<u8> {
    let middle = if two_members {
        text.len() / 2
    } else {
        text.len()
    };
    let mut file = Vec::new();
    for text in [&text[..middle], &text[middle..]] {
        let mut member = GzEncoder::new(file, Compression::fast());
        member.write_all(text).unwrap();
        file = member.finish().unwrap();
    }
    file
}

/// The output for a text of a plain decoder, field by field with the standard library.
struct Plain {
    good: Vec<Vec<Value>>,
    bad: Vec<Bad>,
    /// Values of good rows that were spelled in another way.
    mapped: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Integer(i64),
    Code(i32),
    Float(u64),
    Boolean(bool),
    Text(String),
}

pub(super) struct Bad {
    line: u64,
    byte: u64,
    /// The first bad column in the order of the file; none where the shape is wrong.
    column: Option<&'static str>,
    raw: Vec<u8>,
}

impl Plain {
    fn decode(table: &'static Table, fields: &[usize], text: &[u8]) -> Self {
        let mut plain = Self {
            good: Vec::new(),
            bad: Vec::new(),
            mapped: 0,
        };
        for record in records(&ended(text), fields.len()) {
            let mut row: Vec<Value> = table.columns.iter().map(|_| Value::Null).collect();
            let mut mapped = 0;
            let mut wrong = record.cells.is_none().then_some(None);
            for (&index, cell) in fields.iter().zip(record.cells.iter().flatten()) {
                match value(&table.columns[index], cell, &mut mapped) {
                    Some(value) => row[index] = value,
                    None => wrong = wrong.or(Some(Some(&*table.columns[index].name))),
                }
            }
            match wrong {
                None => {
                    plain.good.push(row);
                    plain.mapped += mapped;
                }
                Some(column) => plain.bad.push(record.bad(column)),
            }
        }
        plain
    }
}

/// A text whose last line has the end that the first line has.
pub(super) fn ended(text: &[u8]) -> Vec<u8> {
    let first = text.split_inclusive(|&byte| byte == b'\n').next();
    let crlf = first.is_some_and(|line| line.ends_with(b"\r\n"));
    let end = match text.last() {
        Some(b'\n') | None => &b""[..],
        Some(b'\r') => b"\n",
        _ if crlf => b"\r\n",
        _ => b"\n",
    };
    [text, end].concat()
}

/// A line of a text.
pub(super) struct Record<'a> {
    line: u64,
    byte: u64,
    raw: &'a [u8],
    /// Its fields, unless its shape is wrong.
    pub(super) cells: Option<Vec<&'a [u8]>>,
}

impl Record<'_> {
    /// This line as a bad row.
    pub(super) fn bad(&self, column: Option<&'static str>) -> Bad {
        Bad {
            line: self.line,
            byte: self.byte,
            column,
            raw: self.raw.to_vec(),
        }
    }
}

/// The lines of a text, which ends with a line ending.
pub(super) fn records(text: &[u8], fields: usize) -> Vec<Record<'_>> {
    let mut file_has_crlf = None;
    let mut byte = 0;
    let lines = text.split_inclusive(|&byte| byte == b'\n').zip(1..);
    let records = lines.map(|(line, number)| {
        let bare = &line[..line.len() - 1];
        let stripped = bare.strip_suffix(b"\r");
        let (row, has_crlf) = (stripped.unwrap_or(bare), stripped.is_some());
        let crlf = *file_has_crlf.get_or_insert(has_crlf);
        let cells: Vec<&[u8]> = row.split(|&byte| byte == b',').collect();
        let marked = byte == 0 && line.starts_with(b"\xef\xbb\xbf");
        let shape = !row.is_empty() && has_crlf == crlf && cells.len() == fields && !marked;
        let record = Record {
            line: number,
            byte,
            // Where lines end without a carriage return, it is part of the row, not of its end.
            raw: if crlf { row } else { bare },
            cells: shape.then_some(cells),
        };
        byte += line.len() as u64;
        record
    });
    records.collect()
}

pub(super) fn value(column: &'static Column, cell: &[u8], mapped: &mut u64) -> Option<Value> {
    if cell.is_empty() {
        return (!column.mandatory).then_some(Value::Null);
    }
    let text = str::from_utf8(cell).ok()?;
    let digits = text
        .strip_prefix('-')
        .unwrap_or(text)
        .bytes()
        .all(|byte| byte.is_ascii_digit());
    let number = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte))
        && !text.starts_with('+');
    Some(match column.kind {
        Kind::DateTime(_) => return None,
        Kind::Integer => {
            if let Some(sentinel) = column
                .sentinels
                .iter()
                .find(|sentinel| sentinel.also.as_deref() == Some(text))
            {
                *mapped += 1;
                return Some(Value::Integer(sentinel.value));
            }
            Value::Integer(text.parse().ok().filter(|_| digits)?)
        }
        Kind::Code => Value::Code(text.parse().ok().filter(|_| digits)?),
        Kind::Float => Value::Float(
            text.parse::<f64>()
                .ok()
                .filter(|value| number && value.is_finite())?
                .to_bits(),
        ),
        Kind::Boolean => Value::Boolean(["0", "1"].iter().position(|&word| word == text)? == 1),
        Kind::Text | Kind::Struct | Kind::List => {
            let plain = !text
                .bytes()
                .any(|byte| byte == b'"' || byte.is_ascii_control());
            Value::Text(plain.then(|| text.to_owned())?)
        }
    })
}

fn check_facts(table: &Table, part: &PartFacts, plain: &Plain) {
    assert_eq!(part.rows_out, plain.good.len() as u64);
    assert_eq!(part.rows_rejected, plain.bad.len() as u64);
    assert_eq!(part.rows_in, part.rows_out + part.rows_rejected);
    assert_eq!(part.sentinels_mapped, plain.mapped);
    if let Some(time) = table.time {
        let times = || {
            plain.good.iter().filter_map(|row| match row[time] {
                Value::Integer(time) => Some(time),
                _ => None,
            })
        };
        assert_eq!(
            (part.time_min, part.time_max),
            (times().min(), times().max())
        );
    }
}

pub(super) fn check_output(columns: &[&Column], path: &Path, good: &[Vec<Value>]) {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    assert_eq!(
        reader.metadata().file_metadata().num_rows(),
        good.len() as i64
    );
    let mut rows = good.iter();
    for batch in reader.build().unwrap() {
        let batch = batch.unwrap();
        for row in 0..batch.num_rows() {
            let expected = rows.next().unwrap();
            for (index, column) in columns.iter().enumerate() {
                let array = batch.column(index);
                let found = match column.kind {
                    _ if array.is_null(row) => Value::Null,
                    Kind::DateTime(_) => Value::Null,
                    Kind::Integer => Value::Integer(array.as_primitive::<Int64Type>().value(row)),
                    Kind::Code => Value::Code(array.as_primitive::<Int32Type>().value(row)),
                    Kind::Float => {
                        Value::Float(array.as_primitive::<Float64Type>().value(row).to_bits())
                    }
                    Kind::Boolean => Value::Boolean(array.as_boolean().value(row)),
                    Kind::Text | Kind::Struct | Kind::List => {
                        Value::Text(array.as_string::<i32>().value(row).to_owned())
                    }
                };
                assert_eq!(found, expected[index], "row {row}, {}", column.name);
            }
        }
    }
    assert!(rows.next().is_none());
}

pub(super) fn check_rejects(ndjson: &str, bad: &[Bad]) {
    assert_eq!(ndjson.lines().count(), bad.len());
    for (line, bad) in ndjson.lines().zip(bad) {
        let reject: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(reject["line"], bad.line);
        assert_eq!(reject["byte"], bad.byte);
        assert_eq!(reject["column"].as_str(), bad.column, "{line}");
        assert!(!reject["reason"].as_str().unwrap().is_empty());
        let raw = match reject.get("raw_base64") {
            Some(base64) => STANDARD.decode(base64.as_str().unwrap()).unwrap(),
            None => reject["raw"].as_str().unwrap().as_bytes().to_vec(),
        };
        assert_eq!(raw, bad.raw);
    }
}
