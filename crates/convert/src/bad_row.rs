//! A bad row with its position in the file: as an error, as a line of a rejects file, and as a hint at
//! what the file is instead.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use tracelake_core::error::{Error, ErrorKind, Result, escape};
use tracelake_core::fault::Fault;
use tracelake_core::field_order::FieldOrder;
use tracelake_core::options::NULLS;
use tracelake_core::words::{for_shell, group_digits, several};
use tracelake_schema::{Column, Syntax, TRACES, Table};
use tracelake_source::Magic;

use crate::fit::{count_named, fits_row, is_json, is_json_array, plain_fields};

/// A row that couldn't be converted, with its position in the file and its bytes.
///
/// ```
/// use tracelake_convert::reader::{ReadOptions, read_part};
/// use tracelake_core::Context;
/// use tracelake_core::field_order::FieldOrder;
///
/// let table = tracelake_schema::TRACES.iter().find_map(|trace| trace.table("machine_events")).unwrap();
/// let path = std::env::temp_dir().join(format!("machine_events-{}.csv", std::process::id()));
/// std::fs::write(&path, "0,5,0,a,0.5,0.25\n0,5,x,a,0.5,0.25\n")?;
/// let mut options = ReadOptions::default();
/// options.table = Some(table.name.to_owned());
/// options.on_bad_row = Some(Box::new(move |row| {
///     let error = row.to_error("a.csv".as_ref(), &FieldOrder::built_in(table, "here"));
///     assert!(error.to_string().starts_with("a.csv:2:5: "), "{error}");
///     Ok(())
/// }));
/// let rows = read_part(&Context::new(), path.as_path(), options)?.map(|batch| Ok(batch?.num_rows()));
/// assert_eq!(rows.sum::<Result<usize, Box<dyn std::error::Error>>>()?, 1);
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BadRow<'a> {
    /// Where it is.
    pub place: Place,
    /// The row, without its line ending; that of a Parquet file as JSON.
    pub raw: Cow<'a, [u8]>,
    /// The faulty value. If the row's shape is wrong, all of it.
    pub value: Cow<'a, [u8]>,
    /// The column of the field; `None` if the row's shape is wrong.
    pub column: Option<Arc<Column>>,
    /// The part of the column, such as `.cpus` or `[1].name`; empty if the column is a single value.
    pub inner: Cow<'a, str>,
    /// The fault.
    pub fault: Fault,
    /// How many rows of the file's first chunk are bad, if this row is in it.
    pub first_chunk: Option<BadShare>,
}

/// Where a row is in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In a text.
    Line {
        /// Its line, from 1.
        line: u64,
        /// Its first byte in the decompressed text, from 0.
        byte: u64,
        /// The first byte of the faulty value in the row, from 0.
        field: u64,
    },
    /// In a Parquet file.
    Row {
        /// Its row group, from 1.
        row_group: u64,
        /// Its number in the file, from 1.
        row: u64,
    },
}

impl Place {
    /// Whether it is the first row of its file.
    #[must_use]
    pub fn is_first(self) -> bool {
        matches!(self, Self::Line { line: 1, .. } | Self::Row { row: 1, .. })
    }
}

/// How many rows of the first chunk of a file are bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadShare {
    /// Bad rows.
    pub bad: u64,
    /// All rows.
    pub rows: u64,
}

impl BadShare {
    /// The fewest rows whose share says something about the file.
    const MIN_ROWS: u64 = 10;

    /// Whether at least 90 % of the rows are bad, so that the file is probably not of this table.
    #[must_use]
    pub fn is_nearly_all(self) -> bool {
        self.rows >= Self::MIN_ROWS && self.bad >= self.rows - self.rows / 10
    }
}

/// A list of rows, which is no row, and what to do about it.
pub(crate) const ARRAY: &str = "a JSON array: write one object a line, as jq -c '.[]' does";

/// The longest value that a message shows in full, in bytes.
const SHOWN: usize = 80;

/// A line of a rejects file.
#[derive(Serialize)]
struct RejectsLine<'a> {
    #[serde(flatten)]
    place: RejectsPlace,
    column: Option<String>,
    reason: String,
    raw: &'a str,
    /// The row, if `raw` can't hold it because it isn't UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_base64: Option<String>,
}

/// Where a row of a rejects file is.
#[derive(Serialize)]
#[serde(untagged)]
enum RejectsPlace {
    Line { line: u64, byte: u64 },
    Row { row_group: u64, row: u64 },
}

/// Spellings of NULL by pandas, which drafts keep as they are.
const NULLS_OF_PANDAS: [&str; 3] = ["NaN", "nan", "<NA>"];

impl BadRow<'_> {
    /// Guesses, from one bad row, at what the file is instead. The first one that applies is the hint.
    const HINTS: [fn(&Self, &FieldOrder) -> Option<String>; 13] = [
        Self::byte_order_mark,
        Self::padding,
        Self::other_file,
        Self::other_syntax,
        Self::header,
        Self::binary,
        Self::saved_again,
        Self::null,
        Self::word,
        Self::delimiter,
        Self::other_trace,
        Self::other_table,
        Self::index,
    ];

    /// Copies the row, to borrow nothing.
    #[must_use]
    pub fn into_owned(self) -> BadRow<'static> {
        BadRow {
            raw: Cow::Owned(self.raw.into_owned()),
            value: Cow::Owned(self.value.into_owned()),
            inner: Cow::Owned(self.inner.into_owned()),
            ..self
        }
    }

    /// The row as the error that stops a run.
    #[must_use]
    pub fn to_error(&self, path: &Path, order: &FieldOrder) -> Error {
        let table = &order.table.name;
        let field = match &self.column {
            Some(column) => format!("{table}.{}{}", column.name, self.inner),
            None => table.to_owned(),
        };
        let error = match self.place {
            Place::Line {
                line, field: at, ..
            } => Error::new(ErrorKind::Misfit, self.reason()).line(line, Some(at + 1)),
            Place::Row { row_group, row } => {
                let reason = self.reason();
                let reason = format!("row {row}, in row group {row_group}: {reason}");
                Error::new(ErrorKind::Misfit, reason)
            }
        };
        let error = error
            .at(path)
            .field(field)
            .of_value(escape(&self.value, SHOWN));
        let hint = match (self.hint(order), self.first_chunk) {
            (Some(hint), _) => hint,
            (None, Some(share)) if share.is_nearly_all() => wrong_file(share),
            (None, _) => {
                "correct it, or pass --on-bad-row reject to set such rows aside".to_owned()
            }
        };
        error.hint(hint)
    }

    /// Why the whole file is in doubt, if at least 90 % of its first chunk are bad.
    #[must_use]
    pub fn wrong_file_warning(&self, order: &FieldOrder) -> Option<String> {
        let share = self.first_chunk.filter(|share| share.is_nearly_all())?;
        Some(match self.hint(order) {
            Some(hint) => format!("{}: {hint}", bad_of_first(share)),
            None => wrong_file(share),
        })
    }

    /// The row as a line of a rejects file, with all its bytes.
    ///
    /// # Errors
    /// Never for a row of this crate; serde's signature has one.
    pub fn to_json(&self) -> Result<Vec<u8>> {
        let text = str::from_utf8(&self.raw);
        let lossy = String::from_utf8_lossy(&self.raw);
        let line = RejectsLine {
            place: match self.place {
                Place::Line { line, byte, .. } => RejectsPlace::Line { line, byte },
                Place::Row { row_group, row } => RejectsPlace::Row { row_group, row },
            },
            column: self
                .column
                .as_ref()
                .map(|column| format!("{}{}", column.name, self.inner)),
            reason: self.reason(),
            raw: text.unwrap_or(&lossy),
            raw_base64: text.is_err().then(|| STANDARD.encode(&self.raw)),
        };
        let mut json = serde_json::to_vec(&line).map_err(|error| {
            Error::new(ErrorKind::Failed, format!("cannot write a reject: {error}"))
        })?;
        json.push(b'\n');
        Ok(json)
    }

    /// The fault, with the value.
    fn reason(&self) -> String {
        match self.fault {
            Fault::Empty | Fault::Absent | Fault::BlankLine => self.fault.to_string(),
            fault => format!("{fault}: '{}'", escape(&self.value, SHOWN)),
        }
    }

    /// Guesses what the file is instead, and what to do about it.
    fn hint(&self, order: &FieldOrder) -> Option<String> {
        if let Place::Row { .. } = self.place {
            return None;
        }
        Self::HINTS.iter().find_map(|hint| hint(self, order))
    }

    fn byte_order_mark(&self, order: &FieldOrder) -> Option<String> {
        let marks: [(&[u8], &str); 3] = [
            (
                b"\xef\xbb\xbf",
                "UTF-8 with a byte order mark: pass --accept bom, or remove its first three bytes",
            ),
            (
                b"\xff\xfe",
                "UTF-16: convert it to UTF-8 without a byte order mark",
            ),
            (
                b"\xfe\xff",
                "UTF-16: convert it to UTF-8 without a byte order mark",
            ),
        ];
        let mark = marks.iter().find(|(mark, _)| self.raw.starts_with(mark));
        let (_, what) = mark.filter(|_| self.place.is_first())?;
        let may_have_one = self.fault == Fault::ByteOrderMark && is_described_csv(order);
        Some(match may_have_one {
            true => looks_like(&format!(
                "{what}, or write bom = true in [table.csv] of the description"
            )),
            false => looks_like(what),
        })
    }

    /// Blanks around a value, where the description doesn't say that they are trimmed.
    fn padding(&self, order: &FieldOrder) -> Option<String> {
        let is_padded = |field: &[u8]| {
            let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
            is_blank(field.first()) || is_blank(field.last())
        };
        let is_of_value = self.column.is_some() && is_padded(&self.value);
        let may_trim = is_described_csv(order) && !order.table.csv.trim;
        (is_of_value && may_trim).then(|| {
            looks_like("blanks around fields: write trim = true in [table.csv] of the description")
        })
    }

    fn other_file(&self, _: &FieldOrder) -> Option<String> {
        let magic = Magic::of(&self.raw).filter(|_| self.place.is_first())?;
        Some(looks_like(&format!("{}: {}", magic.is, magic.remedy)))
    }

    /// Another syntax than the table's.
    fn other_syntax(&self, order: &FieldOrder) -> Option<String> {
        let is_json = is_json(&self.raw);
        let expects_json = order.table.syntax == Syntax::Json;
        let what = match (expects_json, is_json) {
            // An object is one row; a list of them is not.
            (true, false) if self.place.is_first() && may_be_array(order, &self.raw) => {
                "a JSON array: write array = true in [table.json] of the description"
            }
            (_, false) if self.place.is_first() && is_json_array(&self.raw) => ARRAY,
            (true, false) if self.raw.contains(&b',') => {
                return Some(looks_like(&format!(
                    "CSV, and {} is published as JSON lines: take the published file",
                    order.table.name
                )));
            }
            (false, true) => {
                return Some(looks_like(&format!(
                    "JSON lines, and {} is published as CSV: name the right trace with --trace",
                    order.table.name
                )));
            }
            _ => return None,
        };
        Some(looks_like(what))
    }

    fn header(&self, order: &FieldOrder) -> Option<String> {
        // The commas of a JSON object separate no fields.
        if is_json(&self.raw) || is_json_array(&self.raw) {
            return None;
        }
        let fields = plain_fields(&self.raw);
        let named = |table: &Table| count_named(table, &fields);
        // Only a header is a whole row of words; this one has other names.
        let is_words = self.place.is_first()
            && fields.len() > 2
            && fields.iter().all(|field| {
                field.is_empty() || field.starts_with(|c: char| c.is_ascii_alphabetic())
            });
        if named(&order.table) < 2 && !is_words {
            return None;
        }
        let tables = TRACES.iter().flat_map(|trace| &trace.tables);
        let exported = tables
            .filter(|table| table.syntax == Syntax::Json)
            .max_by_key(|table| (named(table), table.name == order.table.name))
            .filter(|table| named(table) >= 3 && named(table) >= named(&order.table));
        let may_be_export = is_built_in(order) && order.table.syntax != Syntax::QuotedCsv;
        if let Some(table) = exported.filter(|_| may_be_export) {
            return Some(looks_like(&format!(
                "{0} exported as CSV: download the published {0}-*.json.gz",
                table.name
            )));
        }
        let (found, expected) = (fields.len(), order.fields.len());
        let other = match found == expected {
            false if order.is_header_after_index(&self.raw) => {
                "pass --accept header,index to skip it and its unnamed column, or \
                 take the published file"
                    .to_owned()
            }
            true if order.is_header(&self.raw) => {
                "pass --accept header to skip it, or remove the line".to_owned()
            }
            true => "remove the line".to_owned(),
            false => format!(
                "the file has {} where the table has {expected}: take the published file",
                several(found as u64, "field")
            ),
        };
        Some(looks_like(&format!(
            "a header, which the published files do not have: {other}"
        )))
    }

    fn binary(&self, _: &FieldOrder) -> Option<String> {
        let is_binary = self.value.contains(&0) && self.column.is_none();
        is_binary.then(|| looks_like("binary data or UTF-16, not CSV: download the file again"))
    }

    /// Integers as pandas and spreadsheets write them.
    fn saved_again(&self, _: &FieldOrder) -> Option<String> {
        let field = str::from_utf8(&self.value)
            .ok()
            .filter(|_| self.fault == Fault::NotInteger)?;
        let (whole, rest) = field.strip_prefix('-').unwrap_or(field).split_once('.')?;
        let digits =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) {
            return None;
        }
        if digits(rest) && rest.bytes().all(|byte| byte == b'0') {
            return Some(looks_like(
                "a file that pandas saved again, with integers as floats: pass \
                 --accept integral-floats, or use the published file",
            ));
        }
        let (fraction, exponent) = rest.split_once(['e', 'E'])?;
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        (digits(fraction) && digits(exponent)).then(|| {
            looks_like(
                "a file that a spreadsheet saved again, which cuts digits off: use the published file",
            )
        })
    }

    /// A text that stands for NULL elsewhere.
    fn null(&self, order: &FieldOrder) -> Option<String> {
        let text = str::from_utf8(&self.value).ok()?;
        let column = self
            .column
            .as_ref()
            .filter(|_| NULLS.contains(&text) || NULLS_OF_PANDAS.contains(&text))?;
        let mut fields = order.fields.iter();
        let field = fields.find(|field| field.column.name == column.name)?;
        let may_be_null = order.table.syntax != Syntax::Json && !field.mandatory;
        may_be_null.then(|| {
            looks_like(&format!(
                "NULL as another program writes it: pass --accept null={}, or use the published file",
                for_shell(text)
            ))
        })
    }

    /// A word for true or false, which a description could name.
    fn word(&self, order: &FieldOrder) -> Option<String> {
        let word = str::from_utf8(&self.value).ok()?.trim_matches('"');
        let is_fault = matches!(
            self.fault,
            Fault::NotBoolean | Fault::NotTruth | Fault::NotPythonTruth | Fault::NotWord
        );
        let (is_true, is_false) = (
            word.eq_ignore_ascii_case("true"),
            word.eq_ignore_ascii_case("false"),
        );
        let may_be_word = is_fault && (is_true || is_false) && !is_built_in(order);
        may_be_word.then(|| {
            looks_like(&format!(
                "a boolean: write words = {{ {is_true} = [\"{word}\"] }} for its column in the description"
            ))
        })
    }

    /// A number of the row before the fields.
    fn index(&self, order: &FieldOrder) -> Option<String> {
        if !matches!(self.fault, Fault::FieldCount { .. }) || order.table.syntax == Syntax::Json {
            return None;
        }
        let fields = order.table.csv.fields(&self.raw);
        let found = order.with_index_of(fields.map(|range| &self.raw[range]));
        found.map(|_| {
            looks_like(
                "a file that pandas saved again, with the number of the row as its first column: \
                 pass --accept index, or use the published file",
            )
        })
    }

    fn delimiter(&self, order: &FieldOrder) -> Option<String> {
        let Fault::FieldCount { found: 1, expected } = self.fault else {
            return None;
        };
        let own = order.table.csv.separator.text();
        let mut delimiters = [b',', b';', b'\t', b'|', b' '].into_iter();
        let delimiter =
            delimiters.find(|delimiter| split_count(&self.raw, *delimiter) == expected as usize)?;
        let shown = escape(&[delimiter], 1);
        Some(looks_like(&format!(
            "fields separated by '{shown}': separate them by '{}'",
            escape(own.as_bytes(), 10)
        )))
    }

    /// A table of the same name in another trace or version: it has as many fields, or such values.
    fn other_trace(&self, order: &FieldOrder) -> Option<String> {
        if !is_built_in(order) {
            return None;
        }
        let name = &order.table.name;
        let found = match self.fault {
            Fault::FieldCount { found, .. } => Some(found as usize),
            _ => None,
        };
        let fits = |table: &'static Arc<Table>| match found {
            Some(fields) => table.width() == fields,
            None => **table != *order.whole && fits_row(table, &self.raw),
        };
        let trace = TRACES
            .with_table(name)
            .find(|trace| trace.table(name).is_some_and(fits))?;
        let why = match found {
            Some(fields) => format!(
                "{name} of {} has {}, but this run expects {}",
                trace.name,
                several(fields as u64, "field"),
                order.origin
            ),
            None => format!("{name} of {} has such values", trace.name),
        };
        Some(format!("{why}; pass --trace {}", trace.name))
    }

    /// Another table of the same trace: it has as many fields.
    fn other_table(&self, order: &FieldOrder) -> Option<String> {
        let Fault::FieldCount { found, .. } = self.fault else {
            return None;
        };
        let tables: BTreeSet<&str> = TRACES
            .iter()
            .filter(|trace| trace.tables.iter().any(|other| **other == *order.whole))
            .flat_map(|trace| &trace.tables)
            .filter(|table| table.width() == found as usize)
            .map(|table| &*table.name)
            .collect();
        let others: Vec<&str> = tables.into_iter().collect();
        (!others.is_empty()).then(|| {
            format!(
                "{} has {}: is this file in the right place?",
                others.join(" or "),
                several(found.into(), "field")
            )
        })
    }
}

/// Whether a line begins an array that a user's description could call one.
fn may_be_array(order: &FieldOrder, line: &[u8]) -> bool {
    is_json_array(line) && !is_built_in(order)
}

/// Whether a table is one of the catalog, and not of a description of the user's.
fn is_built_in(order: &FieldOrder) -> bool {
    let mut traces = TRACES.with_table(&order.table.name);
    traces.any(|trace| {
        let known = trace.table(&order.table.name);
        known.is_some_and(|known| **known == *order.whole)
    })
}

/// Whether a user's description says how the lines of the table are written.
fn is_described_csv(order: &FieldOrder) -> bool {
    order.table.syntax == Syntax::Csv && !is_built_in(order)
}

fn looks_like(what: &str) -> String {
    format!("this looks like {what}")
}

fn wrong_file(share: BadShare) -> String {
    format!(
        "{}: this looks like the wrong table or trace; name the right one with --tables or --trace",
        bad_of_first(share)
    )
}

fn bad_of_first(share: BadShare) -> String {
    format!(
        "{} of the first {} are bad",
        group_digits(share.bad),
        several(share.rows, "row")
    )
}

fn split_count(row: &[u8], delimiter: u8) -> usize {
    row.split(|&byte| byte == delimiter).count()
}

#[cfg(test)]
mod tests;
