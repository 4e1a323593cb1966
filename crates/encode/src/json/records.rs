//! The records of a chunk of JSON lines.

use std::ops::Range;

use tracelake_core::field_order::FieldOrder;
use tracelake_core::line_ending::LineEnding;

use super::cells::{is_selected, row};
use super::columns::JsonColumns;
use super::direct;
use crate::cell::Row;
use crate::reject::Reject;
use crate::row_fields::RowFields;

/// The records of a chunk of whole lines; reused from chunk to chunk.
///
/// # Memory
/// The memory of [`RowFields`], and 16 bytes a record.
pub(crate) struct JsonRecords {
    columns: JsonColumns,
    /// The range of each line, with its ending.
    ranges: Vec<Range<usize>>,
    /// The rows that were read directly.
    rows: RowFields,
    /// How many records the rules of the table don't select, of those that were read directly.
    not_selected: u64,
    /// Whether every record was read directly.
    are_direct: bool,
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
        }
    }

    /// Splits whole lines into records, and finds their values unless one of them has to be read as cells. The first
    /// one has to if the text is `marked` with a byte order mark.
    pub(crate) fn split(
        &mut self,
        lines: &[u8],
        ending: LineEnding,
        order: &FieldOrder,
        marked: bool,
    ) {
        self.ranges.clear();
        self.rows.clear();
        self.not_selected = 0;
        // The ends of strings are ASCII, so strings of a valid line are valid.
        self.are_direct = !marked && str::from_utf8(lines).is_ok();
        let mut start = 0;
        for newline in memchr::memchr_iter(b'\n', lines) {
            let range = start..newline + 1;
            start = newline + 1;
            self.are_direct = self.are_direct && self.find(lines, range.clone(), ending, order);
            self.ranges.push(range);
        }
    }

    /// Finds the values of a line; false if it has to be read as cells.
    fn find(
        &mut self,
        lines: &[u8],
        range: Range<usize>,
        ending: LineEnding,
        order: &FieldOrder,
    ) -> bool {
        let (line, fault) = ending.body(&lines[range.clone()]);
        let is_selected = match (fault, order.rules.is_empty()) {
            (Some(_), _) => return false,
            (None, true) => Ok(true),
            (None, false) => self.is_selected(line, order),
        };
        match is_selected {
            Ok(true) => {
                let body = range.start..range.start + line.len();
                direct::append(lines, body, &self.columns, &mut self.rows)
            }
            Ok(false) => {
                self.not_selected += 1;
                true
            }
            Err(_) => false,
        }
    }

    /// The range of each line, with its ending.
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

    /// Reads a line as cells, see [`row`].
    pub(crate) fn row(&self, line: &[u8]) -> Result<Row, Reject> {
        row(line, &self.columns)
    }

    /// Whether the order's rules select a line, see [`is_selected`].
    pub(crate) fn is_selected(&self, line: &[u8], order: &FieldOrder) -> Result<bool, Reject> {
        is_selected(line, &self.columns, &order.rules)
    }
}
