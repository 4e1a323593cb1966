//! Quoted CSV with a header to cells: quoted fields can span lines (RFC 4180), and structs and lists are
//! written as Python prints them. Pure.
//!
//! The csv crate finds the ends of records and the values of fields. It accepts any text, so each record
//! is compared with its own bytes: written again, it has to give the same ones.

mod python;
mod tests;

use std::io::Read;
use std::ops::Range;

use csv::{ByteRecord, ReaderBuilder, Terminator};
use tracelake_core::error::escape;
use tracelake_core::fault::Fault;
use tracelake_core::field_order::{Field, FieldOrder};
use tracelake_core::line_ending::LineEnding;
use tracelake_core::words::several;
use tracelake_schema::Kind;

use crate::cell::{Cell, NumberReader, Row, boolean, captured_cells, date_time};
use crate::reject::Reject;
use crate::selection;

/// A line before the chunk, because the csv crate removes a byte order mark from the start of its text,
/// where it can be part of a value.
const BEFORE: &[u8] = b"-\n";

/// A line after the chunk, which becomes part of an incomplete record.
const AFTER: &[u8] = b"-\n";

/// The longest name in a header that is shown in full, in bytes.
const SHOWN: usize = 80;

/// The records of a chunk of whole lines; reused from chunk to chunk.
///
/// # Memory
/// The text of the chunk once more, and about 200 bytes per record.
#[derive(Default)]
pub(crate) struct QuotedRecords {
    ranges: Vec<Range<usize>>,
    /// The fields of each record; those of an earlier chunk may follow.
    fields: Vec<ByteRecord>,
    /// Whether the last record has a quoted field without an end.
    open: bool,
}

impl QuotedRecords {
    /// Splits a chunk of whole lines into at most `most` records; returns where the complete ones end. At
    /// the end of the file, the rest is a record too.
    pub(crate) fn split(&mut self, chunk: &[u8], is_last: bool, most: u64) -> usize {
        self.ranges.clear();
        self.open = false;
        let text = BEFORE.chain(chunk).chain(AFTER);
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .terminator(Terminator::Any(b'\n'))
            .from_reader(text);
        let mut fields = ByteRecord::new();
        let mut start = 0;
        while reader
            .read_byte_record(&mut fields)
            .expect("memory can be read, and bytes need not be text")
        {
            let read = usize::try_from(reader.position().byte())
                .expect("the position is within the chunk");
            let end = read.saturating_sub(BEFORE.len());
            // The csv crate skips blank lines.
            while chunk.get(start) == Some(&b'\n') && (self.ranges.len() as u64) < most {
                self.push(start..start + 1, &mut ByteRecord::new());
                start += 1;
            }
            if self.ranges.len() as u64 >= most {
                return start;
            }
            if end > chunk.len() {
                break;
            }
            if end > start {
                self.push(start..end, &mut fields);
                start = end;
            }
        }
        if is_last && start < chunk.len() {
            self.push(start..chunk.len(), &mut fields);
            self.open = true;
            start = chunk.len();
        }
        start
    }

    fn push(&mut self, range: Range<usize>, fields: &mut ByteRecord) {
        let index = self.ranges.len();
        self.ranges.push(range);
        if self.fields.len() == index {
            self.fields.push(ByteRecord::new());
        }
        std::mem::swap(&mut self.fields[index], fields);
    }

    /// The range of each record in the chunk, with its line ending.
    pub(crate) fn ranges(&self) -> &[Range<usize>] {
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
            None => self.fields_of(0, raw, ending),
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
                Some((range, name)) => (range.start, Some(*name)),
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
        self.fields.remove(0);
        Ok(())
    }

    /// Reads a record, whose bytes without the line ending are `raw`.
    pub(crate) fn row(
        &self,
        index: usize,
        raw: &[u8],
        order: &FieldOrder,
        ending: LineEnding,
    ) -> Result<Row, Reject> {
        let fields = self.checked_fields(index, raw, order, ending)?;
        let mut cells = vec![Cell::Null; order.table.columns.len()];
        for (index, cell) in captured_cells(order) {
            cells[index] = cell;
        }
        let mut numbers = NumberReader::new(order.accept);
        for (field, (range, text)) in order.fields.iter().zip(fields) {
            let Some(index) = field.index else {
                continue;
            };
            let cell = placed_cell(field, raw, range, text, &mut numbers)?;
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
        ending: LineEnding,
    ) -> Result<bool, Reject> {
        let fields = self.checked_fields(index, raw, order, ending)?;
        selection::selects(&order.rules, |field| match field.position {
            Some(position) => {
                let (range, text) = fields[position].clone();
                let mut numbers = NumberReader::new(order.accept);
                placed_cell(&order.fields[position], raw, range, text, &mut numbers)
            }
            None => Ok(Cell::Null),
        })
    }

    /// The fields of a record, as many as the order has.
    fn checked_fields(
        &self,
        index: usize,
        raw: &[u8],
        order: &FieldOrder,
        ending: LineEnding,
    ) -> Result<Vec<Placed<'_>>, Reject> {
        let fields = self.fields_of(index, raw, ending)?;
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

    /// The fields of a record and their ranges in it, quotes included; a fault if the record, written
    /// again, wouldn't have the same bytes.
    fn fields_of(
        &self,
        index: usize,
        raw: &[u8],
        ending: LineEnding,
    ) -> Result<Vec<Placed<'_>>, Reject> {
        if self.open && index + 1 == self.ranges.len() {
            return Err(Reject::new(0..raw.len(), Fault::OpenQuote));
        }
        let record = &self.fields[index];
        let mut fields = Vec::with_capacity(record.len());
        let mut at = 0;
        for (number, field) in record.iter().enumerate() {
            let is_last = number + 1 == record.len();
            let field = match field.strip_suffix(b"\r") {
                // It belongs to the line ending, which the csv crate doesn't know.
                Some(field) if is_last && ending == LineEnding::CrLf => field,
                _ => field,
            };
            let length = length(&raw[at..], field);
            let end = length.map(|length| at + length);
            let ended = end.filter(|&end| match raw.get(end) {
                Some(next) => !is_last && *next == b',',
                None => is_last,
            });
            let Some(end) = ended else {
                return Err(Reject::new(at..raw.len(), Fault::StrayQuote));
            };
            fields.push((at..end, field));
            at = end + 1;
        }
        Ok(fields)
    }
}

/// The range of a field in its record, and its value.
type Placed<'a> = (Range<usize>, &'a [u8]);

/// The length of a field, as written at the start of a text; `None` if the text doesn't start with it.
fn length(text: &[u8], field: &[u8]) -> Option<usize> {
    if text.first() != Some(&b'"') {
        let plain = memchr::memchr2(b'"', b'\r', field).is_none() && text.starts_with(field);
        return plain.then_some(field.len());
    }
    let mut at = 1;
    for (number, piece) in field.split(|&byte| byte == b'"').enumerate() {
        if number > 0 {
            at += text.get(at..)?.starts_with(b"\"\"").then_some(2)?;
        }
        at += text.get(at..)?.starts_with(piece).then_some(piece.len())?;
    }
    (text.get(at) == Some(&b'"')).then_some(at + 1)
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
fn cell(field: &Field, text: &[u8], numbers: &mut NumberReader) -> Result<Cell, Reject> {
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
    numbers: &mut NumberReader,
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
