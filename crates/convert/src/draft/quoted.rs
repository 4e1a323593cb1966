//! Drafts CSV with quotes, which has a header.

use std::borrow::Cow;
use std::collections::BTreeMap;

use tracelake_core::error::Result;
use tracelake_core::fault::Fault;
use tracelake_core::line_ending::LineEnding;
use tracelake_core::words::several;
use tracelake_encode::quoted::QuotedRecords;
use tracelake_schema::Separator;
use tracelake_schema::description::is_printable;

use super::csv::{check_width, described, from, notes, separator_line, unprintable};
use super::description::{Table, misfit};
use super::form::{self, BYTE_ORDER_MARK, Column, Header};

/// The most bytes that are looked at: their fields take up to ten times as much.
const MOST_BYTES_SEEN: usize = 8 << 20;

/// A record and its first line.
struct Record<'a> {
    line: usize,
    fields: Vec<Cow<'a, str>>,
}

/// The table of a text with quotes.
pub(super) fn table(text: &str, has_more: bool) -> Result<Table> {
    let without_mark = text.strip_prefix(BYTE_ORDER_MARK);
    let mut bad = BadRecords::default();
    let whole = without_mark.unwrap_or(text);
    let seen = match whole.as_bytes().get(..MOST_BYTES_SEEN) {
        Some(first) => &whole[..memchr::memrchr(b'\n', first).map_or(0, |end| end + 1)],
        None => whole,
    };
    let has_more = has_more || seen.len() < whole.len();
    let (separator, other) = form::separator_of_records(|separator| {
        let records = records(seen, has_more, separator, &mut BadRecords::default());
        records.iter().map(|record| record.fields.len()).collect()
    });
    let records = records(seen, has_more, separator, &mut bad);
    let [first, rows @ ..] = &records[..] else {
        return Err(misfit("has no row", "name a file with some rows"));
    };
    let width = first.fields.len();
    check_width(width)?;
    let mut columns: Vec<Column<'_>> = first
        .fields
        .iter()
        .map(|name| Column::new(name, false))
        .collect();
    for record in rows {
        if record.fields.len() != width {
            let found = several(record.fields.len() as u64, "field");
            bad.add(record.line, format!("has {found}, and the header {width}"));
            continue;
        }
        for (column, field) in columns.iter_mut().zip(&record.fields) {
            let is_control =
                |letter: &char| letter.is_ascii_control() && !matches!(letter, '\n' | '\r' | '\t');
            if let Some(letter) = field.chars().find(is_control) {
                let code = u32::from(letter);
                let why = format!("has the control character U+{code:04X} in a field");
                bad.add(record.line, why);
            }
            column.add(field);
        }
    }
    if let Header::IsNot = form::header(&columns) {
        let hint = "a table with quoted fields has a header: write one above the rows";
        return Err(misfit("has quotes and no header", hint).line(first.line as u64, None));
    }
    if !first.fields.iter().all(|name| is_printable(name)) {
        return Err(unprintable(first.line));
    }
    let mut notes = notes(has_more, &bad.explain());
    if form::header(&columns) == Header::MayBe {
        notes.push(format!(
            "line {} is taken for the header, which every file with quotes has.",
            first.line
        ));
    }
    if without_mark.is_some() {
        notes.push("the file begins with a byte order mark: pass --accept bom.".to_owned());
    }
    let names = columns.iter().map(|column| column.first.to_owned());
    let columns = columns.iter().zip(names);
    Ok(Table {
        from: from(rows.len(), has_more),
        notes,
        syntax: Some("quoted-csv"),
        form: match &separator_line(separator, other)[..] {
            "" => String::new(),
            line => format!("\n[table.csv]\n{line}"),
        },
        columns: columns
            .map(|(column, name)| described(column, name, false))
            .collect(),
        is_named: true,
    })
}

/// The first record with each fault that makes it a bad row.
#[derive(Default)]
pub(super) struct BadRecords(BTreeMap<String, usize>);

impl BadRecords {
    pub(super) fn add(&mut self, line: usize, why: impl Into<String>) {
        self.0.entry(why.into()).or_insert(line);
    }

    /// Their lines and faults, a few at most.
    pub(super) fn explain(self) -> Vec<(usize, String)> {
        let mut found: Vec<(usize, String)> =
            self.0.into_iter().map(|(why, line)| (line, why)).collect();
        found.sort();
        found.truncate(10);
        found
    }
}

/// The records of a text.
fn records<'a>(
    text: &'a str,
    has_more: bool,
    separator: Separator,
    bad: &mut BadRecords,
) -> Vec<Record<'a>> {
    let bytes = text.as_bytes();
    let ending = LineEnding::of(bytes);
    let mut split = QuotedRecords::new(separator);
    split.split(bytes, !has_more, u64::MAX);
    let (mut records, mut line) = (Vec::new(), 1);
    for (index, range) in split.ranges().iter().enumerate() {
        let record = &bytes[range.clone()];
        let (raw, fault) = ending.body(record);
        let fields = match fault {
            Some(fault) => Err(fault),
            None => split.fields(index, raw).map_err(|reject| reject.fault),
        };
        match fields {
            Ok(fields) => {
                let fields = fields
                    .into_iter()
                    .map(|(_, value)| text_of(value))
                    .collect();
                records.push(Record { line, fields });
            }
            Err(fault) => bad.add(line, why(&fault)),
        }
        line += memchr::memchr_iter(b'\n', record).count();
    }
    records
}

/// Says what is wrong with a record.
fn why(fault: &Fault) -> String {
    match fault {
        Fault::BlankLine => "is blank".to_owned(),
        Fault::LineEnding => "doesn't end as the first line does, with LF or CR LF".to_owned(),
        Fault::OpenQuote => "has a quote without an end".to_owned(),
        Fault::StrayQuote => {
            "has a quote in a field that isn't quoted, or something after its end".to_owned()
        }
        fault => format!("has {fault}"),
    }
}

/// A field of a text; it begins and ends beside ASCII characters.
fn text_of(value: Cow<'_, [u8]>) -> Cow<'_, str> {
    match value {
        Cow::Borrowed(value) => String::from_utf8_lossy(value),
        Cow::Owned(value) => Cow::Owned(String::from_utf8_lossy(&value).into_owned()),
    }
}
