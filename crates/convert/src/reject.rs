//! A bad row with its place in the file: as an error, as a line of a rejects file, and what the
//! file seems to be instead.

use std::collections::BTreeSet;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use tracelake_schema::{Column, TRACES};

use crate::error::{Error, ErrorKind, Result, escape};
use crate::fault::Fault;
use crate::layout::Layout;

/// A row that could not be converted, with its place in the file.
#[derive(Debug, Clone)]
pub struct BadRow<'a> {
    /// Its line, from 1.
    pub line: u64,
    /// Its first byte in the decompressed text, from 0.
    pub byte: u64,
    /// The first byte of the faulty field in the line, from 1.
    pub column_byte: u64,
    /// The column of the field; `None` where the row's shape is wrong.
    pub column: Option<&'static Column>,
    /// What of the column, such as `.cpus` or `[1].name`; empty where the column is one value.
    pub inner: &'a str,
    /// What is wrong.
    pub fault: Fault,
    /// The field; the whole row where its shape is wrong.
    pub field: &'a [u8],
    /// The row, without its line ending.
    pub raw: &'a [u8],
}

/// The longest value that is shown in a message, in bytes.
const SHOWN: usize = 80;

/// A line of a rejects file.
#[derive(Serialize)]
struct Line<'a> {
    line: u64,
    byte: u64,
    column: Option<String>,
    reason: String,
    raw: &'a str,
    /// The row, where `raw` cannot hold it because it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_base64: Option<String>,
}

impl BadRow<'_> {
    /// The row as the error that ends a strict run.
    #[must_use]
    pub fn to_error(&self, path: &Path, layout: &Layout) -> Error {
        let table = layout.table.name;
        let field = match self.column {
            Some(column) => format!("{table}.{}{}", column.name, self.inner),
            None => table.to_owned(),
        };
        let error = Error::new(ErrorKind::Misfit, self.reason())
            .at(path)
            .line(self.line, Some(self.column_byte))
            .field(field);
        match self.hint(layout) {
            Some(hint) => error.hint(hint),
            None => error.hint("mend it, or pass --on-bad-row reject to set such rows aside"),
        }
    }

    /// The row as a line of a rejects file, which loses nothing.
    ///
    /// # Errors
    /// Never for a row of this crate; serde's signature has one.
    pub fn to_json(&self) -> Result<Vec<u8>> {
        let text = str::from_utf8(self.raw);
        let lossy = String::from_utf8_lossy(self.raw);
        let line = Line {
            line: self.line,
            byte: self.byte,
            column: self
                .column
                .map(|column| format!("{}{}", column.name, self.inner)),
            reason: self.reason(),
            raw: text.unwrap_or(&lossy),
            raw_base64: text.is_err().then(|| STANDARD.encode(self.raw)),
        };
        let mut json = serde_json::to_vec(&line).map_err(|error| {
            Error::new(ErrorKind::Failed, format!("cannot write a reject: {error}"))
        })?;
        json.push(b'\n');
        Ok(json)
    }

    /// What is wrong, with the value.
    fn reason(&self) -> String {
        match self.fault {
            Fault::Empty | Fault::Absent | Fault::BlankLine => self.fault.to_string(),
            fault => format!("{fault}: '{}'", escape(self.field, SHOWN)),
        }
    }

    /// What the file seems to be instead, where that can be told.
    fn hint(&self, layout: &Layout) -> Option<String> {
        let looks = |what: &str| Some(format!("this looks like {what}"));
        let first = self.line == 1;
        if first && self.raw.starts_with(b"\xef\xbb\xbf") {
            return looks("UTF-8 with a byte order mark: remove its first three bytes");
        }
        if first && (self.raw.starts_with(b"\xff\xfe") || self.raw.starts_with(b"\xfe\xff")) {
            return looks("UTF-16: convert it to UTF-8 without a byte order mark");
        }
        if self.is_header(layout) {
            return looks("a header, which the published files do not have: remove the line");
        }
        if self.field.contains(&0) && self.column.is_none() {
            return looks("binary data or UTF-16, not CSV: download the file again");
        }
        let Fault::FieldCount { found, expected } = self.fault else {
            return None;
        };
        if found == 1
            && let Some(delimiter) = [b';', b'\t', b'|', b' ']
                .into_iter()
                .find(|delimiter| split_count(self.raw, *delimiter) == expected as usize)
        {
            let shown = escape(&[delimiter], 1);
            return looks(&format!(
                "fields separated by '{shown}': separate them by commas"
            ));
        }
        let table = layout.table.name;
        let other = TRACES.iter().find(|trace| {
            trace
                .table(table)
                .is_some_and(|table| table.fields.len() == found as usize)
        });
        if let Some(trace) = other {
            return Some(format!(
                "{table} of {} has {found} fields, but {} was followed here; --trace names another",
                trace.name, layout.origin
            ));
        }
        let others: BTreeSet<&str> = TRACES
            .iter()
            .filter(|trace| trace.tables.iter().any(|other| other == layout.table))
            .flat_map(|trace| trace.tables)
            .filter(|table| table.fields.len() == found as usize)
            .map(|table| table.name)
            .collect();
        (!others.is_empty()).then(|| {
            let others: Vec<&str> = others.into_iter().collect();
            format!(
                "{} has {found} fields: is this file in the right place?",
                others.join(" or ")
            )
        })
    }

    /// Whether the row holds the columns' own names.
    fn is_header(&self, layout: &Layout) -> bool {
        let named = self.raw.split(|&byte| byte == b',').filter(|field| {
            let field = String::from_utf8_lossy(field);
            let field = field.trim().trim_matches('"');
            let columns = layout.table.columns.iter();
            columns.into_iter().any(|column| {
                column.name.eq_ignore_ascii_case(field)
                    || column.content.eq_ignore_ascii_case(field)
            })
        });
        named.count() >= 2
    }
}

fn split_count(row: &[u8], delimiter: u8) -> usize {
    row.split(|&byte| byte == delimiter).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Layout {
        let table = TRACES.iter().find_map(|trace| trace.table("job_events"));
        Layout::built_in(table.unwrap(), "schema.csv")
    }

    fn row(raw: &[u8], fault: Fault) -> BadRow<'_> {
        BadRow {
            line: 1,
            byte: 0,
            column_byte: 1,
            column: None,
            inner: "",
            fault,
            field: raw,
            raw,
        }
    }

    fn count(found: u32) -> Fault {
        Fault::FieldCount { found, expected: 8 }
    }

    #[test]
    fn hints_say_what_a_file_seems_to_be() {
        let cases: [(&[u8], Fault, &str); 7] = [
            (b"\xef\xbb\xbf0,,1", count(3), "byte order mark"),
            (b"\xff\xfe0\0,\0", count(2), "UTF-16"),
            (b"time,missing info,job ID", Fault::NotInteger, "a header"),
            (b"0;;1;0;;;;", count(1), "separated by ';'"),
            (b"0\t\t1\t0\t\t\t\t", count(1), "separated by '\\t'"),
            (
                b"0,,1,2,,0,u,2,9,,,,",
                count(13),
                "task_events has 13 fields",
            ),
            (b"0,,1,0\0,", count(5), "binary"),
        ];
        for (raw, fault, expected) in cases {
            let error = row(raw, fault)
                .to_error(Path::new("x"), &layout())
                .to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_reject_loses_nothing() {
        let json = row(b"a\xff\"\t\n", Fault::Quote).to_json().unwrap();
        let value: serde_json::Value = serde_json::from_slice(&json).unwrap();
        assert_eq!(
            STANDARD
                .decode(value["raw_base64"].as_str().unwrap())
                .unwrap(),
            b"a\xff\"\t\n"
        );
        let json = row("ü\u{0}".as_bytes(), Fault::Quote).to_json().unwrap();
        let value: serde_json::Value = serde_json::from_slice(&json).unwrap();
        assert_eq!(value["raw"], "ü\u{0}");
        assert_eq!(value.get("raw_base64"), None);
    }
}
