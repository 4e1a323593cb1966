//! Quoted CSV with a header to cells: quoted fields can span lines (RFC 4180), and structs and lists are
//! written as Python prints them. Pure.

mod python;
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use tracelake_core::error::escape;
use tracelake_core::fault::Fault;
use tracelake_core::field_order::{Field, FieldOrder};
use tracelake_core::line_ending::LineEnding;
use tracelake_core::words::several;
use tracelake_schema::{Kind, Separator};

use crate::cell::{Cell, NumberReader, Row, boolean, captured_cells, date_time};
use crate::reject::Reject;
use crate::selection;

/// The longest name in a header that is shown in full, in bytes.
const SHOWN: usize = 80;

/// The records of a chunk of whole lines; reused from chunk to chunk.
///
/// # Memory
/// 16 bytes per record.
///
/// ```
/// use tracelake_encode::quoted::QuotedRecords;
/// use tracelake_schema::Separator;
///
/// let mut records = QuotedRecords::new(Separator::Byte(b';'));
/// let text = b"1;\"a;\nb\"\n2;c\n";
/// assert_eq!(records.split(text, true, u64::MAX), text.len());
/// assert_eq!(records.ranges(), [0..9, 9..13]);
/// let fields = records.fields(0, &text[..8]).unwrap();
/// assert_eq!(&*fields[1].1, b"a;\nb");
/// ```
pub struct QuotedRecords {
    separator: Separator,
    ranges: Vec<Range<usize>>,
    /// Whether the last record has a quoted field without an end.
    open: bool,
}

impl QuotedRecords {
    /// No records, whose fields have this between them; blanks can't be that.
    #[must_use]
    pub fn new(separator: Separator) -> Self {
        Self {
            separator,
            ranges: Vec::new(),
            open: false,
        }
    }

    /// Splits a chunk of whole lines into at most `most` records; returns where the complete ones end. At
    /// the end of the file, the rest is a record too.
    pub fn split(&mut self, chunk: &[u8], is_last: bool, most: u64) -> usize {
        self.ranges.clear();
        self.open = false;
        let mut start = 0;
        while start < chunk.len() && (self.ranges.len() as u64) < most {
            let end = match self.end(chunk, start) {
                Some(end) => end,
                None if is_last => {
                    self.open = true;
                    chunk.len()
                }
                None => break,
            };
            self.ranges.push(start..end);
            start = end;
        }
        start
    }

    /// Where the record that starts at a byte ends, with its line feed.
    fn end(&self, chunk: &[u8], start: usize) -> Option<usize> {
        let mut at = start;
        loop {
            if chunk.get(at) == Some(&b'"') {
                at = end_of_quotes(chunk, at)?;
            }
            let (end, length) = self.end_of_text(&chunk[at..])?;
            at += end + length;
            if chunk[at - 1] == b'\n' {
                return Some(at);
            }
        }
    }

    /// Where a text outside of quotes ends, and the length of the separator or the line feed there.
    fn end_of_text(&self, text: &[u8]) -> Option<(usize, usize)> {
        let separator = self.separator.bytes();
        let first = *separator.first()?;
        memchr::memchr2_iter(first, b'\n', text).find_map(|at| match text[at] {
            b'\n' => Some((at, 1)),
            _ => text[at..]
                .starts_with(separator)
                .then_some((at, separator.len())),
        })
    }

    /// The range of each record in the chunk, with its line ending.
    #[must_use]
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.ranges
    }

    /// Removes the first record, which is the header. The error says what is wrong with it, and at which
    /// of its bytes.
    pub(crate) fn take_header(
        &mut self,
        chunk: &[u8],
        order: &FieldOrder,
        ending: LineEnding,
    ) -> Result<(), (usize, String)> {
        let Some(range) = self.ranges.first() else {
            return Err((0, "there is no header".to_owned()));
        };
        let (raw, fault) = ending.body(&chunk[range.clone()]);
        let checked = match fault {
            Some(fault) => Err(Reject::new(0..0, fault)),
            None => self.fields(0, raw),
        };
        let names = checked.map_err(|reject| (reject.field().start, reject.fault.to_string()))?;
        // Fields that were found by their names are those of the header.
        let expected = match order.is_found {
            true => &[][..],
            false => &order.fields[..],
        };
        for (at, field) in expected.iter().enumerate() {
            let expected = field.content();
            let (start, found) = match names.get(at) {
                Some((range, name)) => (range.start, Some(&**name)),
                None => (raw.len(), None),
            };
            if found != Some(expected.as_bytes()) {
                let shown = found.map_or("nothing".to_owned(), |name| {
                    format!("'{}'", escape(name, SHOWN))
                });
                let reason = format!(
                    "field {} of the header is {shown}, not '{expected}'",
                    at + 1
                );
                return Err((start, reason));
            }
        }
        if let Some((range, name)) = names.get(order.fields.len()) {
            let reason = format!(
                "the header has {} where the table has {}; the first of them too many is '{}'",
                several(names.len() as u64, "field"),
                order.fields.len(),
                escape(name, SHOWN)
            );
            return Err((range.start, reason));
        }
        self.ranges.remove(0);
        Ok(())
    }

    /// Reads a record, whose bytes without the line ending are `raw`.
    pub(crate) fn row(&self, index: usize, raw: &[u8], order: &FieldOrder) -> Result<Row, Reject> {
        let fields = self.checked_fields(index, raw, order)?;
        let mut cells = vec![Cell::Null; order.table.columns.len()];
        for (index, cell) in captured_cells(order) {
            cells[index] = cell;
        }
        let mut numbers = NumberReader::new(&order.accept);
        for (field, (range, text)) in order.fields.iter().zip(fields) {
            let Some(index) = field.index else {
                continue;
            };
            let cell = placed_cell(field, raw, range, &text, &mut numbers)?;
            match field.item {
                None => cells[index] = cell,
                Some(item) => put_item(&mut cells[index], item as usize, cell),
            }
        }
        Ok(Row {
            cells,
            others: numbers.others,
        })
    }

    /// Whether the order's rules select a record, of which only the fields that they need are read.
    ///
    /// # Errors
    /// The first fault of what was read.
    pub(crate) fn is_selected(
        &self,
        index: usize,
        raw: &[u8],
        order: &FieldOrder,
    ) -> Result<bool, Reject> {
        let fields = self.checked_fields(index, raw, order)?;
        selection::selects(&order.rules, |field| match field.position {
            Some(position) => {
                let (range, text) = &fields[position];
                let mut numbers = NumberReader::new(&order.accept);
                placed_cell(
                    &order.fields[position],
                    raw,
                    range.clone(),
                    text,
                    &mut numbers,
                )
            }
            None => Ok(Cell::Null),
        })
    }

    /// The fields of a record, as many as the order has.
    fn checked_fields<'a>(
        &self,
        index: usize,
        raw: &'a [u8],
        order: &FieldOrder,
    ) -> Result<Vec<Placed<'a>>, Reject> {
        let fields = self.fields(index, raw)?;
        if fields.len() != order.fields.len() {
            let count = |count| u32::try_from(count).expect("a line has at most 1 MiB");
            let fault = Fault::FieldCount {
                found: count(fields.len()),
                expected: count(order.fields.len()),
            };
            return Err(Reject::new(0..raw.len(), fault));
        }
        Ok(fields)
    }

    /// The fields of a record, whose bytes without the line ending are `raw`, and their ranges in it, quotes included.
    ///
    /// # Errors
    /// A quote where none belongs, or one without an end.
    pub fn fields<'a>(&self, index: usize, raw: &'a [u8]) -> Result<Vec<Placed<'a>>, Reject> {
        if self.open && index + 1 == self.ranges.len() {
            return Err(Reject::new(0..raw.len(), Fault::OpenQuote));
        }
        let (separator, mut fields, mut at) = (self.separator.bytes(), Vec::new(), 0);
        loop {
            let stray = || Reject::new(at..raw.len(), Fault::StrayQuote);
            let (value, length) = self.field(&raw[at..]).ok_or_else(stray)?;
            let end = at + length;
            let is_last = end == raw.len();
            if !is_last && !raw[end..].starts_with(separator) {
                return Err(stray());
            }
            fields.push((at..end, value));
            if is_last {
                return Ok(fields);
            }
            at = end + separator.len();
        }
    }

    /// The value of the field that a text begins with, and its length with quotes; `None` if a quote is in its middle.
    fn field<'a>(&self, text: &'a [u8]) -> Option<(Cow<'a, [u8]>, usize)> {
        if text.first() != Some(&b'"') {
            let end = self.end_of_text(text).map_or(text.len(), |(end, _)| end);
            let value = &text[..end];
            let is_plain = memchr::memchr2(b'"', b'\r', value).is_none();
            return is_plain.then_some((Cow::Borrowed(value), end));
        }
        let end = end_of_quotes(text, 0)?;
        let inner = &text[1..end - 1];
        let value = match memchr::memchr(b'"', inner) {
            None => Cow::Borrowed(inner),
            Some(_) => {
                // Two quotes have nothing between them.
                let pieces: Vec<&[u8]> = inner.split(|&byte| byte == b'"').step_by(2).collect();
                Cow::Owned(pieces.join(&b'"'))
            }
        };
        Some((value, end))
    }
}

/// The range of a field in its record, and its value.
type Placed<'a> = (Range<usize>, Cow<'a, [u8]>);

/// Where the quotes end that begin at a byte; two quotes in a row are one of the value.
fn end_of_quotes(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += memchr::memchr(b'"', text.get(at..)?)? + 1;
        if text.get(at) != Some(&b'"') {
            return Some(at);
        }
        at += 1;
    }
}

/// The range in the record of a part of a field's text.
fn range_in_record(raw: &[u8], start: usize, text: &[u8], part: Range<usize>) -> Range<usize> {
    if !raw.starts_with(b"\"") {
        return start + part.start..start + part.end;
    }
    let offset = |at: usize| {
        let quotes = text.iter().take(at).filter(|&&byte| byte == b'"').count();
        start + 1 + at + quotes
    };
    offset(part.start)..offset(part.end)
}

/// Puts an item into the list that a cell is. A header may have the items in any order.
fn put_item(list: &mut Cell, item: usize, cell: Cell) {
    if let Cell::Null = list {
        *list = Cell::List(Vec::new());
    }
    if let Cell::List(items) = list {
        items.resize(items.len().max(item + 1), Cell::Null);
        items[item] = cell;
    }
}

/// Reads one field; an empty one is NULL, and what is accepted as such.
fn cell(field: &Field, text: &[u8], numbers: &mut NumberReader<'_>) -> Result<Cell, Reject> {
    let bad = |fault| Reject::new(0..text.len(), fault);
    let column = field.of_value();
    if text.is_empty() || numbers.is_null(column, text) {
        return if field.mandatory {
            Err(bad(Fault::Empty))
        } else {
            Ok(Cell::Null)
        };
    }
    match column.kind {
        Kind::Struct | Kind::List => {
            let text = utf8(text).map_err(bad)?;
            python::read(text, column, numbers)
        }
        Kind::Text => {
            let text = utf8(text).map_err(bad)?;
            let control = text
                .bytes()
                .find(|byte| byte.is_ascii_control() && !matches!(byte, b'\n' | b'\r' | b'\t'));
            match control {
                Some(byte) => Err(bad(Fault::Control { byte })),
                None => Ok(Cell::Text(text.to_owned())),
            }
        }
        Kind::Boolean => boolean(column, text, truth).map_err(bad),
        Kind::Integer | Kind::Code | Kind::Float => numbers.read(column, text).map_err(bad),
        Kind::DateTime(zone) => {
            let text = utf8(text).map_err(bad)?;
            date_time(column, text.to_owned(), zone).map_err(bad)
        }
    }
}

/// Reads a truth value as Python prints it, or as `0` or `1`.
fn truth(text: &[u8]) -> Result<bool, Fault> {
    match text {
        b"1" | b"True" => Ok(true),
        b"0" | b"False" => Ok(false),
        _ => Err(Fault::NotPythonTruth),
    }
}

/// The value of a field at `range` of its record; a fault has its column and its place.
fn placed_cell(
    field: &Field,
    raw: &[u8],
    range: Range<usize>,
    text: &[u8],
    numbers: &mut NumberReader<'_>,
) -> Result<Cell, Reject> {
    cell(field, text, numbers).map_err(|reject| {
        let at = range_in_record(&raw[range.clone()], range.start, text, reject.field());
        let reject = match field.item {
            Some(item) => reject.in_item(item as usize),
            None => reject,
        };
        reject.with_field(at).in_column(&field.column)
    })
}

fn utf8(text: &[u8]) -> Result<&str, Fault> {
    str::from_utf8(text).map_err(|error| {
        let byte = text[error.valid_up_to()];
        Fault::NotUtf8 { byte }
    })
}
