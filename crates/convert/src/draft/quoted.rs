//! Drafts CSV with quotes, which has a header and commas.

use std::borrow::Cow;
use std::collections::BTreeMap;

use tracelake_core::error::Result;
use tracelake_core::line_ending::LineEnding;
use tracelake_core::words::several;
use tracelake_schema::description::is_printable;

use super::csv::{check_width, described, from, notes, unprintable};
use super::description::Table;
use super::form::{self, Column, Header};
use super::{BYTE_ORDER_MARK, misfit};

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
    let (records, has_more) = records(without_mark.unwrap_or(text), has_more, &mut bad);
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
        form: String::new(),
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

/// The records of a text, and whether it has more of them.
fn records<'a>(text: &'a str, mut has_more: bool, bad: &mut BadRecords) -> (Vec<Record<'a>>, bool) {
    let ending = LineEnding::of(text.as_bytes());
    let mut records = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < text.len() {
        if at > MOST_BYTES_SEEN {
            has_more = true;
            break;
        }
        let start = at;
        let mut fields = Vec::new();
        let fault = loop {
            match field(text, at, ending) {
                Ok((field, end)) => {
                    fields.push(field);
                    at = end + 1;
                    if text.as_bytes().get(end) != Some(&b',') {
                        break None;
                    }
                }
                Err(why) => {
                    let newline = memchr::memchr(b'\n', &text.as_bytes()[at..]);
                    at = newline.map_or(text.len(), |newline| at + newline + 1);
                    break Some(why);
                }
            }
        };
        at = at.min(text.len());
        match fault {
            // It may be cut off.
            Some(_) if has_more && at == text.len() => {}
            Some(why) => bad.add(line, why),
            None if text[start..at].trim_ascii().is_empty() => bad.add(line, "is blank"),
            None => records.push(Record { line, fields }),
        }
        line += memchr::memchr_iter(b'\n', &text.as_bytes()[start..at]).count();
    }
    if has_more {
        // It may be cut off.
        records.pop();
    }
    (records, has_more)
}

/// The field that starts at a byte, and the byte of the comma or the line feed after it.
fn field(
    text: &str,
    start: usize,
    ending: LineEnding,
) -> std::result::Result<(Cow<'_, str>, usize), &'static str> {
    const STRAY: &str = "has a quote in a field that isn't quoted, or something after its end";
    const ENDING: &str = "doesn't end as the first line does, with LF or CR LF";
    let bytes = text.as_bytes();
    let is_quoted = bytes.get(start) == Some(&b'"');
    let (value, end) = if is_quoted {
        let mut at = start + 1;
        loop {
            let quote = memchr::memchr(b'"', &bytes[at..]).ok_or("has a quote without an end")?;
            at += quote + 1;
            if bytes.get(at) != Some(&b'"') {
                break;
            }
            at += 1;
        }
        let inner = &text[start + 1..at - 1];
        let value = match inner.contains('"') {
            true => Cow::Owned(inner.replace("\"\"", "\"")),
            false => Cow::Borrowed(inner),
        };
        (value, at)
    } else {
        let end = memchr::memchr2(b',', b'\n', &bytes[start..]);
        let end = end.map_or(text.len(), |end| start + end);
        (Cow::Borrowed(&text[start..end]), end)
    };
    let rest = &bytes[end..];
    let is_cr_lf = |rest: &[u8]| rest.starts_with(b"\r\n") || rest == b"\r";
    match (is_quoted, ending) {
        (false, _) if value.contains('"') => Err(STRAY),
        (false, LineEnding::CrLf) if rest.first() != Some(&b',') => {
            match value.strip_suffix('\r') {
                Some(_) => Ok((Cow::Borrowed(&text[start..end - 1]), end)),
                None if rest.is_empty() => Ok((value, end)),
                None => Err(ENDING),
            }
        }
        (false, LineEnding::Lf) if value.contains('\r') => Err(ENDING),
        (true, LineEnding::CrLf) if is_cr_lf(rest) => Ok((value, (end + 1).min(text.len()))),
        (true, LineEnding::CrLf) if rest.first() == Some(&b'\n') => Err(ENDING),
        (true, _) if !rest.is_empty() && !matches!(rest[0], b',' | b'\n') => Err(STRAY),
        _ => Ok((value, end)),
    }
}
