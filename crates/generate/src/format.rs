//! Formats rows as CSV, as CSV that pandas saved, or as JSON that BigQuery exported.

use std::sync::Arc;

use tracelake_schema::{Column, Kind, Syntax, Table, Trace};

use crate::random::{Random, share};
use crate::row::{ITEM_SEPARATOR, Row, Write};
use tracelake_core::error::{Error, ErrorKind};

/// Numpy breaks lines at this length.
const LINE: usize = 75;

/// How to write a row of a table.
pub(crate) struct RowFormat<R> {
    syntax: Syntax,
    fields: Vec<FieldFormat<R>>,
    /// The text of one value.
    text: Vec<u8>,
    /// A field that may need quotes.
    quoted: Vec<u8>,
}

/// How to write a column: the quantity that it shows, or the fields nested in it.
struct FieldFormat<R> {
    column: Arc<Column>,
    quantity: Option<Write<R>>,
    /// The quantity's codes and the column's, if they differ.
    codes: Vec<(u64, i32)>,
    /// The share of rows that are empty by chance, in 2^-32.
    empty: u64,
    nested: Vec<FieldFormat<R>>,
}

impl<R: Row> RowFormat<R> {
    /// Maps the columns of a table to quantities.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if the rows have no such quantity.
    pub(crate) fn of(trace: &Trace, table: &Table) -> Result<Self, Error> {
        let field = |&index: &usize| {
            let column = &table.columns[index];
            FieldFormat::of(column).map_err(|nested| {
                let reason = format!(
                    "{}: {}.{} cannot be generated: {} have no quantity {:?}",
                    trace.name,
                    table.name,
                    column.name,
                    R::STREAM,
                    nested.synthetic
                );
                Error::new(ErrorKind::Usage, reason)
            })
        };
        Ok(Self {
            syntax: table.syntax,
            fields: table.fields.iter().map(field).collect::<Result<_, _>>()?,
            text: Vec::new(),
            quoted: Vec::new(),
        })
    }

    /// Appends the header, if the syntax has one.
    pub(crate) fn begin(&self, out: &mut Vec<u8>) {
        if self.syntax != Syntax::QuotedCsv {
            return;
        }
        for (index, field) in self.fields.iter().enumerate() {
            separate(out, index);
            quote(out, field.column.content.as_bytes());
        }
        out.push(b'\n');
    }

    /// Appends a row.
    pub(crate) fn write(&mut self, row: &R, chance: &mut Random, out: &mut Vec<u8>) {
        let (text, mut index) = (&mut self.text, 0);
        if self.syntax == Syntax::Json {
            out.push(b'{');
        }
        for field in &self.fields {
            let empty = field.empty > 0 && chance.word() >> 32 < field.empty;
            match self.syntax {
                Syntax::Csv => {
                    separate(out, index);
                    if !empty {
                        field.write(row, out);
                    }
                }
                Syntax::QuotedCsv => {
                    separate(out, index);
                    self.quoted.clear();
                    if !empty {
                        field.python(row, None, text, &mut self.quoted);
                    }
                    quote(out, &self.quoted);
                }
                Syntax::Json | Syntax::Parquet => {
                    if empty || !field.member(row, None, index, text, out) {
                        continue;
                    }
                }
            }
            index += 1;
        }
        out.extend_from_slice(if self.syntax == Syntax::Json {
            b"}\n"
        } else {
            b"\n"
        });
    }
}

impl<R: Row> FieldFormat<R> {
    /// Finds the quantity of a column; fails with the column that the rows have no quantity for.
    fn of(column: &Arc<Column>) -> Result<Self, &Arc<Column>> {
        let quantity = match column.kind {
            Kind::Struct | Kind::List => None,
            _ => Some(R::quantity(&column.synthetic).ok_or(column)?),
        };
        let own = R::LEFT_EMPTY.contains(&&*column.synthetic);
        let chance = !column.mandatory && !own;
        Ok(Self {
            column: Arc::clone(column),
            quantity,
            codes: codes::<R>(column),
            empty: if chance { share(column.empty) } else { 0 },
            nested: column
                .fields
                .iter()
                .map(|field| Self::of(field))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Appends the text of a value, or of all items of a list with [`ITEM_SEPARATOR`] between them.
    fn write(&self, row: &R, out: &mut Vec<u8>) {
        let start = out.len();
        if let Some(write) = &self.quantity {
            write(row, out);
        }
        if self.codes.is_empty() {
            return;
        }
        let text = std::str::from_utf8(&out[start..]).ok();
        let number: Option<u64> = text.and_then(|text| text.parse().ok());
        if let Some((_, code)) = self.codes.iter().find(|pair| Some(pair.0) == number) {
            out.truncate(start);
            out.extend_from_slice(code.to_string().as_bytes());
        }
    }

    /// The text of one item, or of the only value; empty if there is none.
    fn item<'t>(&self, row: &R, item: Option<usize>, text: &'t mut Vec<u8>) -> &'t [u8] {
        text.clear();
        self.write(row, text);
        match item {
            Some(item) => text
                .split(|&byte| byte == ITEM_SEPARATOR)
                .nth(item)
                .unwrap_or_default(),
            None => text,
        }
    }

    /// The number of items in the list that this field is in.
    fn count(&self, row: &R, text: &mut Vec<u8>) -> usize {
        match self.nested.first() {
            Some(first) => first.count(row, text),
            None => match self.item(row, None, text) {
                [] => 0,
                items => items.split(|&byte| byte == ITEM_SEPARATOR).count(),
            },
        }
    }

    /// Appends a member of a JSON object, unless it is null.
    fn member(
        &self,
        row: &R,
        item: Option<usize>,
        index: usize,
        text: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> bool {
        let start = out.len();
        separate(out, index);
        out.push(b'"');
        out.extend_from_slice(self.column.name.as_bytes());
        out.extend_from_slice(b"\":");
        let present = self.json(row, item, text, out);
        if !present {
            out.truncate(start);
        }
        present
    }

    /// Appends a JSON value as BigQuery exports it, with integers as strings. Appends nothing for null.
    fn json(&self, row: &R, item: Option<usize>, text: &mut Vec<u8>, out: &mut Vec<u8>) -> bool {
        match (self.column.kind, &self.nested[..]) {
            (Kind::Struct, nested) => {
                out.push(b'{');
                let mut index = 0;
                for field in nested {
                    index += usize::from(field.member(row, item, index, text, out));
                }
                out.push(b'}');
                index > 0
            }
            (Kind::List, [of, ..]) => {
                out.push(b'[');
                for item in 0..of.count(row, text) {
                    separate(out, item);
                    of.json(row, Some(item), text, out);
                }
                out.push(b']');
                true
            }
            (kind, _) => {
                let value = self.item(row, item, text);
                match (kind, value) {
                    (_, []) => {}
                    (Kind::Float, number) => out.extend_from_slice(number),
                    (Kind::Boolean, b"0") => out.extend_from_slice(b"false"),
                    (Kind::Boolean, _) => out.extend_from_slice(b"true"),
                    (_, word) => {
                        // Hashes and digits need no escape.
                        out.push(b'"');
                        out.extend_from_slice(word);
                        out.push(b'"');
                    }
                }
                !value.is_empty()
            }
        }
    }

    /// Appends a field as pandas saves it: nested values as Python prints them.
    fn python(&self, row: &R, item: Option<usize>, text: &mut Vec<u8>, out: &mut Vec<u8>) {
        match (self.column.kind, &self.nested[..]) {
            (Kind::Struct, nested) => {
                out.push(b'{');
                for (index, field) in nested.iter().enumerate() {
                    out.extend_from_slice(if index > 0 { b", '" } else { b"'" });
                    out.extend_from_slice(field.column.content.as_bytes());
                    out.extend_from_slice(b"': ");
                    field.repr(row, item, text, out);
                }
                out.push(b'}');
            }
            (Kind::List, [of, ..]) => of.array(row, text, out),
            (kind, _) => number(kind, self.item(row, item, text), b".0", out),
        }
    }

    /// Appends a value inside a dict.
    fn repr(&self, row: &R, item: Option<usize>, text: &mut Vec<u8>, out: &mut Vec<u8>) {
        let is_text = self.column.kind == Kind::Text;
        if !self.nested.is_empty() {
            return self.python(row, item, text, out);
        }
        match self.item(row, item, text) {
            [] => out.extend_from_slice(b"None"),
            word if is_text => {
                out.push(b'\'');
                out.extend_from_slice(word);
                out.push(b'\'');
            }
            value => number(self.column.kind, value, b".0", out),
        }
    }

    /// Appends the items as numpy prints an array: numbers of one width, lines of [`LINE`] bytes,
    /// and a line for each dict.
    fn array(&self, row: &R, text: &mut Vec<u8>, out: &mut Vec<u8>) {
        let mut items: Vec<Vec<u8>> = Vec::new();
        for item in 0..self.count(row, text) {
            let mut value = Vec::new();
            match self.column.kind {
                Kind::Struct => self.python(row, Some(item), text, &mut value),
                kind => number(kind, self.item(row, Some(item), text), b".", &mut value),
            }
            items.push(value);
        }
        let width = items.iter().map(Vec::len).max().unwrap_or(0);
        let dicts = self.column.kind == Kind::Struct;
        let mut line = 1;
        out.push(b'[');
        for (index, item) in items.iter().enumerate() {
            if index > 0 && (dicts || line + 1 + width > LINE) {
                out.extend_from_slice(b"\n ");
                line = 1;
            } else if index > 0 {
                out.push(b' ');
                line += 1;
            }
            out.extend_from_slice(item);
            if self.column.kind == Kind::Float {
                out.resize(out.len() + width - item.len(), b' ');
            }
            line += width;
        }
        out.push(b']');
    }
}

/// The quantity's codes and the column's codes of the same names; empty if all are equal.
fn codes<R: Row>(column: &Column) -> Vec<(u64, i32)> {
    let named = R::CODE_NAMES
        .iter()
        .find(|named| named.0 == column.synthetic);
    let names = named.map_or(&[][..], |named| named.1);
    let coded = (0..).zip(names).filter_map(|(number, name)| {
        let code = column.codes.iter().find(|code| code.name == *name)?;
        Some((number, code.value))
    });
    let pairs: Vec<(u64, i32)> = coded.collect();
    let differs = |&(number, code): &(u64, i32)| u64::try_from(code) != Ok(number);
    if pairs.iter().any(differs) {
        pairs
    } else {
        Vec::new()
    }
}

/// Appends a number, with a decimal point if it is a float.
fn number(kind: Kind, value: &[u8], point: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(value);
    let whole = value.iter().all(u8::is_ascii_digit);
    if kind == Kind::Float && whole && !value.is_empty() {
        out.extend_from_slice(point);
    }
}

/// Appends a comma between two values.
fn separate(out: &mut Vec<u8>, index: usize) {
    if index > 0 {
        out.push(b',');
    }
}

/// Appends a field, in quotes where it needs them.
fn quote(out: &mut Vec<u8>, field: &[u8]) {
    if !field.iter().any(|byte| b",\"\r\n".contains(byte)) {
        out.extend_from_slice(field);
        return;
    }
    out.push(b'"');
    for &byte in field {
        if byte == b'"' {
            out.push(byte);
        }
        out.push(byte);
    }
    out.push(b'"');
}
