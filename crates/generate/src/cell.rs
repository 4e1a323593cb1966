//! Cells: the quantities of a row in the words of a syntax, nested where the column is.

use tracelake_schema::{Column, Kind, Syntax, Table, Trace};

use crate::Error;
use crate::random::{Random, whole};
use crate::stream::{JobFacts, Row, TaskUsage, quantity};

/// Parts two items in what a quantity inside a list appends.
pub(crate) const ITEM: u8 = 0x1f;
/// Numpy breaks a line before it gets longer.
const LINE: usize = 75;

/// The columns of a table, each with what it is written from.
pub(crate) struct Cells<R> {
    syntax: Syntax,
    cells: Vec<Cell<R>>,
    /// The text of one value.
    text: Vec<u8>,
    /// A cell that may need quotes.
    quoted: Vec<u8>,
}

/// A column, and the quantity that it shows or the cells that are nested in it.
struct Cell<R> {
    column: &'static Column,
    source: Option<Source<R>>,
    /// The codes of the column where the cluster counts otherwise.
    codes: Vec<(u64, i32)>,
    /// The share of rows in which chance leaves it empty, in 2^-32.
    empty: u64,
    nested: Vec<Cell<R>>,
}

/// Where a quantity is found.
enum Source<R> {
    Row(fn(&R, &mut Vec<u8>)),
    Job(fn(&R) -> &JobFacts, fn(&JobFacts, &mut Vec<u8>)),
    Usage(fn(&R) -> &TaskUsage, fn(&TaskUsage, &mut Vec<u8>)),
}

impl<R: Row> Cells<R> {
    /// Maps the columns of a table to quantities.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the rows have no such quantity.
    pub(crate) fn of(trace: &Trace, table: &'static Table) -> Result<Self, Error> {
        let cell = |&column: &usize| {
            let column = &table.columns[column];
            Cell::of(column).map_err(|nested| {
                Error::Unsupported(format!(
                    "{}: {}.{} cannot be generated: {} have no quantity {:?}",
                    trace.name,
                    table.name,
                    column.name,
                    R::STREAM,
                    nested.synthetic
                ))
            })
        };
        Ok(Self {
            syntax: table.syntax,
            cells: table.fields.iter().map(cell).collect::<Result<_, _>>()?,
            text: Vec::new(),
            quoted: Vec::new(),
        })
    }

    /// Appends what a file begins with: the names of the fields, where they have quotes.
    pub(crate) fn begin(&self, out: &mut Vec<u8>) {
        if self.syntax != Syntax::QuotedCsv {
            return;
        }
        for (index, cell) in self.cells.iter().enumerate() {
            separate(out, index);
            quote(out, cell.column.content.as_bytes());
        }
        out.push(b'\n');
    }

    /// Appends a row.
    pub(crate) fn write(&mut self, row: &R, chance: &mut Random, out: &mut Vec<u8>) {
        let (text, mut index) = (&mut self.text, 0);
        if self.syntax == Syntax::Json {
            out.push(b'{');
        }
        for cell in &self.cells {
            let empty = cell.empty > 0 && chance.word() >> 32 < cell.empty;
            match self.syntax {
                Syntax::Csv => {
                    separate(out, index);
                    if !empty {
                        cell.write(row, out);
                    }
                }
                Syntax::QuotedCsv => {
                    separate(out, index);
                    self.quoted.clear();
                    if !empty {
                        cell.python(row, None, text, &mut self.quoted);
                    }
                    quote(out, &self.quoted);
                }
                Syntax::Json => {
                    if empty || !cell.member(row, None, index, text, out) {
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

impl<R: Row> Cell<R> {
    /// The cell of a column, or the column that no quantity is known for.
    fn of(column: &'static Column) -> Result<Self, &'static Column> {
        let source = match column.kind {
            Kind::Struct | Kind::List => None,
            _ => Some(Source::of(column.synthetic).ok_or(column)?),
        };
        let own = R::OWN_EMPTY.contains(&column.synthetic);
        let chance = !column.mandatory && !own;
        Ok(Self {
            column,
            source,
            codes: codes::<R>(column),
            empty: if chance { share(column.empty) } else { 0 },
            nested: column
                .fields
                .iter()
                .map(Self::of)
                .collect::<Result<_, _>>()?,
        })
    }

    /// Appends the text of a value, or of all of them with [`ITEM`] between in a list.
    fn write(&self, row: &R, out: &mut Vec<u8>) {
        let start = out.len();
        match &self.source {
            Some(Source::Row(write)) => write(row, out),
            Some(Source::Job(job, write)) => write(job(row), out),
            Some(Source::Usage(usage, write)) => write(usage(row), out),
            None => {}
        }
        if self.codes.is_empty() {
            return;
        }
        let number = std::str::from_utf8(&out[start..]).ok();
        let number: Option<u64> = number.and_then(|text| text.parse().ok());
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
                .split(|&byte| byte == ITEM)
                .nth(item)
                .unwrap_or_default(),
            None => text,
        }
    }

    /// How many items the row has for the list that this is in.
    fn count(&self, row: &R, text: &mut Vec<u8>) -> usize {
        match self.nested.first() {
            Some(first) => first.count(row, text),
            None => match self.item(row, None, text) {
                [] => 0,
                items => items.split(|&byte| byte == ITEM).count(),
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

    /// Appends a value of JSON, as BigQuery exports it: integers are texts. Nothing if it is null.
    fn json(&self, row: &R, item: Option<usize>, text: &mut Vec<u8>, out: &mut Vec<u8>) -> bool {
        match (self.column.kind, &self.nested[..]) {
            (Kind::Struct, nested) => {
                out.push(b'{');
                let mut index = 0;
                for cell in nested {
                    index += usize::from(cell.member(row, item, index, text, out));
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

    /// Appends a cell as pandas saves it: what is nested as Python prints it.
    fn python(&self, row: &R, item: Option<usize>, text: &mut Vec<u8>, out: &mut Vec<u8>) {
        match (self.column.kind, &self.nested[..]) {
            (Kind::Struct, nested) => {
                out.push(b'{');
                for (index, cell) in nested.iter().enumerate() {
                    out.extend_from_slice(if index > 0 { b", '" } else { b"'" });
                    out.extend_from_slice(cell.column.content.as_bytes());
                    out.extend_from_slice(b"': ");
                    cell.repr(row, item, text, out);
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

impl<R: Row> Source<R> {
    fn of(name: &str) -> Option<Self> {
        let own = quantity(R::QUANTITIES, name).map(Self::Row);
        let job = || {
            let write = quantity::<JobFacts>(JobFacts::QUANTITIES, name)?;
            Some(Self::Job(R::JOB?, write))
        };
        let usage = || {
            let write = quantity::<TaskUsage>(TaskUsage::QUANTITIES, name)?;
            Some(Self::Usage(R::USAGE?, write))
        };
        own.or_else(job).or_else(usage)
    }
}

/// What the numbers of a quantity are as codes of a column, by their names, where that differs.
fn codes<R: Row>(column: &Column) -> Vec<(u64, i32)> {
    let names = R::NAMES.iter().find(|named| named.0 == column.synthetic);
    let names = names.map_or(&[][..], |named| named.1);
    let pairs = (0..).zip(names).filter_map(|(number, name)| {
        let code = column.codes.iter().find(|code| code.name == *name)?;
        Some((number, code.value))
    });
    let pairs: Vec<(u64, i32)> = pairs.collect();
    let differs = |&(number, code): &(u64, i32)| u64::try_from(code) != Ok(number);
    if pairs.iter().any(differs) {
        pairs
    } else {
        Vec::new()
    }
}

/// Appends a number; Python shows of a float that it is one.
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

/// A share from 0 to 1 in units of 2^-32.
pub(crate) fn share(value: f64) -> u64 {
    whole(value.clamp(0.0, 1.0) * 4_294_967_296.0)
}
