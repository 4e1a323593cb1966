//! The records of a chunk of JSON: lines, or elements of an array.

use std::borrow::Cow;
use std::ops::Range;

use tracelake_core::fault::Fault;
use tracelake_core::field_order::FieldOrder;

use super::array;
use super::cells::{is_selected, row};
use super::columns::JsonColumns;
use super::direct;
use crate::cell::{Row, captured_cells};
use crate::reject::Reject;
use crate::row_fields::RowFields;
use crate::splitting::{ArrayPlace, NoArray, Splitting, first};

/// The records of a chunk of whole lines; reused from chunk to chunk.
///
/// # Memory
/// The memory of [`RowFields`], and 16 bytes a record.
pub(crate) struct JsonRecords {
    columns: JsonColumns,
    /// The range of each line, with its ending, or of each element.
    ranges: Vec<Range<usize>>,
    /// The rows that were read directly.
    rows: RowFields,
    /// How many records the rules of the table don't select, of those that were read directly.
    not_selected: u64,
    /// Whether every record was read directly.
    are_direct: bool,
    /// Where in the array the chunk ends, if the text is one.
    array: Option<Result<ArrayPlace, (usize, NoArray)>>,
}

impl JsonRecords {
    /// No records of a table.
    pub(crate) fn new(order: &FieldOrder) -> Self {
        let columns = JsonColumns::of(order);
        Self {
            rows: RowFields::new(&columns.nodes),
            columns,
            ranges: Vec::new(),
            not_selected: 0,
            are_direct: true,
            array: order.whole.json.array.then_some(Ok(ArrayPlace::Start)),
        }
    }

    /// Splits whole lines into records, and finds their values unless one of them has to be read as cells. The first
    /// one has to if the text is `marked` with a byte order mark. Returns where the records end; a blank line is left that
    /// may be the last one.
    pub(crate) fn split(
        &mut self,
        chunk: &[u8],
        order: &FieldOrder,
        marked: bool,
        splitting: Splitting,
    ) -> usize {
        self.ranges.clear();
        self.rows.clear();
        self.columns.place_captured(order, chunk.len());
        self.not_selected = 0;
        // The ends of strings are ASCII, so strings of a valid line are valid.
        self.are_direct = !marked && str::from_utf8(chunk).is_ok();
        if self.array.is_some() {
            return self.split_array(chunk, order, splitting);
        }
        let lines = first(chunk, splitting.most);
        let mut start = 0;
        for newline in memchr::memchr_iter(b'\n', lines) {
            let range = start..newline + 1;
            if range.end == chunk.len() && matches!(&lines[range.clone()], b"\n" | b"\r\n") {
                break;
            }
            start = newline + 1;
            let (line, fault) = splitting.ending.body(&lines[range.clone()]);
            let body = range.start..range.start + line.len();
            self.are_direct = self.are_direct && self.find(lines, body, fault, order);
            self.ranges.push(range);
        }
        match splitting.is_last {
            true => lines.len(),
            false => start,
        }
    }

    /// Splits a piece of an array into its elements.
    fn split_array(&mut self, chunk: &[u8], order: &FieldOrder, splitting: Splitting) -> usize {
        let mut place = splitting.array;
        let (is_last, most) = (splitting.is_last, splitting.most);
        let whole = array::split(chunk, &mut place, is_last, most, &mut self.ranges);
        self.array = Some(whole.map(|_| place));
        for element in 0..self.ranges.len() {
            let range = self.ranges[element].clone();
            self.are_direct = self.are_direct && self.find(chunk, range, None, order);
        }
        whole.unwrap_or(0)
    }

    /// Where in the array the chunk ends, if the text is one; or why it is none, and where.
    pub(crate) fn array(&self) -> Option<Result<ArrayPlace, (usize, NoArray)>> {
        self.array
    }

    /// Finds the values of a line, whose range is without its ending; false if it has to be read as cells.
    fn find(
        &mut self,
        lines: &[u8],
        body: Range<usize>,
        fault: Option<Fault>,
        order: &FieldOrder,
    ) -> bool {
        let line = &lines[body.clone()];
        let is_selected = match (fault, order.rules.is_empty()) {
            (Some(_), _) => return false,
            (None, true) => Ok(true),
            (None, false) => self.is_selected(line, order),
        };
        match is_selected {
            Ok(true) => direct::append(lines, body, &self.columns, &mut self.rows),
            Ok(false) => {
                self.not_selected += 1;
                true
            }
            Err(_) => false,
        }
    }

    /// The range of each line, with its ending, or of each element.
    pub(crate) fn ranges(&self) -> &[Range<usize>] {
        &self.ranges
    }

    /// Bytes of the offsets of values.
    pub(crate) fn bytes(&self) -> usize {
        self.rows.bytes()
    }

    /// The rows and how many records aren't selected, if all records were read directly.
    pub(crate) fn direct(&self) -> Option<(&RowFields, u64)> {
        self.are_direct.then_some((&self.rows, self.not_selected))
    }

    /// Reads a line as cells, see [`row`], and adds those that the name of the file gives it.
    pub(crate) fn row(&self, line: &[u8], order: &FieldOrder) -> Result<Row, Reject> {
        let mut row = row(line, &self.columns)?;
        for (index, cell) in captured_cells(order) {
            row.cells.insert(index, cell);
        }
        Ok(row)
    }

    /// The text that rows read directly have their values in: the chunk, and then the values of the file's name.
    pub(crate) fn text<'a>(&self, chunk: &'a [u8], order: &FieldOrder) -> Cow<'a, [u8]> {
        if order.captured.is_empty() {
            return Cow::Borrowed(chunk);
        }
        let values = order.captured.iter().map(|(_, value)| value.as_bytes());
        let values: Vec<&[u8]> = values.collect();
        Cow::Owned([&[chunk], &values[..]].concat().concat())
    }

    /// Whether the order's rules select a line, see [`is_selected`].
    pub(crate) fn is_selected(&self, line: &[u8], order: &FieldOrder) -> Result<bool, Reject> {
        is_selected(line, &self.columns, order)
    }
}
