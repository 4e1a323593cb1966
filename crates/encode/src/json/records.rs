//! The records of a chunk of JSON lines.

use std::ops::Range;

use tracelake_core::field_order::FieldOrder;
use tracelake_core::line_ending::LineEnding;

use super::{JsonColumns, direct, is_selected, row};
use crate::cell::Row;
use crate::reject::Reject;
use crate::row_fields::RowFields;

/// The records of a chunk of whole lines; reused from chunk to chunk.
///
/// # Memory
/// That of [`RowFields`], and 20 bytes a record.
pub struct JsonRecords {
    columns: JsonColumns,
    /// The range of each line, with its ending.
    ranges: Vec<Range<usize>>,
    /// The rows that were read directly, and the record of each.
    rows: RowFields,
    records: Vec<u32>,
    /// How many records the rules of the table don't select, of those that say so when they are read directly.
    not_selected: u64,
    /// Whether some records have to be read plainly.
    has_others: bool,
    is_first_plain: bool,
}

impl JsonRecords {
    /// No records of a table.
    #[must_use]
    pub fn new(order: &FieldOrder) -> Self {
        let columns = JsonColumns::of(order);
        Self {
            rows: RowFields::new(&columns.nodes),
            columns,
            ranges: Vec::new(),
            records: Vec::new(),
            not_selected: 0,
            has_others: false,
            is_first_plain: false,
        }
    }

    /// Splits whole lines into records, and finds their values where it can.
    pub fn split(&mut self, lines: &[u8], ending: LineEnding, order: &FieldOrder) {
        self.ranges.clear();
        self.rows.clear();
        self.records.clear();
        self.not_selected = 0;
        (self.has_others, self.is_first_plain) = (false, false);
        // The ends of strings are ASCII, so strings of a valid line are valid.
        let are_valid = str::from_utf8(lines).is_ok();
        let mut start = 0;
        for newline in memchr::memchr_iter(b'\n', lines) {
            let range = start..newline + 1;
            start = newline + 1;
            let (line, fault) = ending.body(&lines[range.clone()]);
            let is_valid = fault.is_none() && (are_valid || str::from_utf8(line).is_ok());
            let body = range.start..range.start + line.len();
            let is_selected = match (is_valid, order.rules.is_empty()) {
                (false, _) => None,
                (true, true) => Some(true),
                (true, false) => is_selected(line, &self.columns, &order.rules).ok(),
            };
            match is_selected {
                Some(false) => self.not_selected += 1,
                Some(true) if direct::append(lines, body, &self.columns, &mut self.rows) => {
                    self.records
                        .push(crate::row_fields::offset(self.ranges.len()));
                }
                _ => self.has_others = true,
            }
            self.ranges.push(range);
        }
    }

    /// Leaves the first record to the plain reader.
    pub fn read_first_plainly(&mut self) {
        self.has_others = true;
        self.is_first_plain = true;
    }

    /// The range of each line, with its ending.
    #[must_use]
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.ranges
    }

    /// Bytes of the offsets of values.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.rows.bytes()
    }

    /// The rows and how many records aren't selected, if all records were read directly.
    #[must_use]
    pub fn all(&self) -> Option<(&RowFields, u64)> {
        (!self.has_others).then_some((&self.rows, self.not_selected))
    }

    /// The record of a row.
    #[must_use]
    pub fn record(&self, row: usize) -> usize {
        self.records[row] as usize
    }

    /// Whether a record was read directly.
    #[must_use]
    pub fn is_direct(&self, record: usize) -> bool {
        let is_plain = record == 0 && self.is_first_plain;
        let record = u32::try_from(record).ok().filter(|_| !is_plain);
        record.is_some_and(|record| self.records.binary_search(&record).is_ok())
    }

    /// Adds the row of a record that was read directly.
    pub fn append(&self, lines: &[u8], record: usize, ending: LineEnding, rows: &mut RowFields) {
        let range = self.ranges[record].clone();
        let line = ending.body(&lines[range.clone()]).0.len();
        direct::append(lines, range.start..range.start + line, &self.columns, rows);
    }

    /// Reads the line of a record plainly, without its ending; `None` if it isn't selected.
    ///
    /// # Errors
    /// The first fault of the line.
    pub fn row(&self, line: &[u8], order: &FieldOrder) -> Result<Option<Row>, Reject> {
        let selected = match order.rules.is_empty() {
            true => Ok(true),
            false => is_selected(line, &self.columns, &order.rules),
        };
        match selected {
            Ok(true) => row(line, &self.columns).map(Some),
            Ok(false) => Ok(None),
            // The first fault of the row is reported, whichever rule found another.
            Err(fault) => row(line, &self.columns).and(Err(fault)),
        }
    }
}
