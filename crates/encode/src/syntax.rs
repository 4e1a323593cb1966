//! The records of a chunk of text in any syntax, from bytes to rows of a block.

use std::ops::Range;

use rayon::prelude::*;
use tracelake_core::error::Result;
use tracelake_core::fault::Fault;
use tracelake_core::field_order::FieldOrder;
use tracelake_core::line_ending::LineEnding;
use tracelake_schema::Syntax;

use crate::cell::Row;
use crate::json::JsonRecords;
use crate::output::BlockBuilder;
use crate::quoted::QuotedRecords;
use crate::reject::Reject;
use crate::row_fields::RowTexts;
use crate::split::{LineForm, Records};
use crate::splitting::first;

pub use crate::selection::Selector;
pub use crate::splitting::{ArrayPlace, NoArray, Splitting};

/// U+FEFF in UTF-8, which some programs write at the start of a text.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How many records one thread reads at once.
const RECORDS_PER_GROUP: usize = 32;

/// The records of one chunk of whole lines; reused from chunk to chunk.
pub struct ChunkRecords {
    offsets: RecordOffsets,
    ending: LineEnding,
    /// Whether a byte order mark that doesn't belong there precedes the first record.
    marked: bool,
}

/// The offsets of the records, as the table's syntax needs them.
enum RecordOffsets {
    Csv(Records),
    Json(JsonRecords),
    QuotedCsv(QuotedRecords),
}

/// The records of a chunk that didn't become rows.
#[derive(Debug, Default)]
pub struct LeftOut {
    /// The bad ones, in the order of the file.
    pub rejects: Vec<Reject>,
    /// How many the rules of the table don't select.
    pub not_selected: u64,
}

impl ChunkRecords {
    /// No records of a table.
    #[must_use]
    pub fn new(order: &FieldOrder) -> Self {
        Self {
            offsets: match order.table.syntax {
                Syntax::Csv => RecordOffsets::Csv(Records::default()),
                Syntax::Json => RecordOffsets::Json(JsonRecords::new(order)),
                Syntax::QuotedCsv => {
                    RecordOffsets::QuotedCsv(QuotedRecords::new(order.table.csv.separator))
                }
                Syntax::Parquet => unreachable!("a Parquet file has no lines"),
            },
            ending: LineEnding::Lf,
            marked: false,
        }
    }

    /// Splits whole lines into records; returns the length of these in bytes.
    pub fn split(&mut self, lines: &[u8], order: &FieldOrder, splitting: Splitting) -> usize {
        let csv = order.table.csv;
        let Splitting { ending, most, .. } = splitting;
        self.ending = ending;
        self.marked = splitting.is_first && !csv.bom && lines.starts_with(BYTE_ORDER_MARK);
        match &mut self.offsets {
            RecordOffsets::Csv(records) => {
                let lines = first(lines, most);
                let form = LineForm::of(csv, ending);
                let form = form.after(splitting.skipped_bytes, splitting.skipped_lines);
                records.split(lines, order.fields.len(), form);
                if self.marked {
                    records.refuse_first(Fault::ByteOrderMark);
                }
                lines.len()
            }
            RecordOffsets::Json(records) => records.split(lines, order, self.marked, splitting),
            RecordOffsets::QuotedCsv(records) => records.split(lines, splitting.is_last, most),
        }
    }

    /// Where the chunk ends in an array of JSON, or why the text is none, and where; `None` if the text isn't to be one.
    #[must_use]
    pub fn array(&self) -> Option<std::result::Result<ArrayPlace, (usize, NoArray)>> {
        match &self.offsets {
            RecordOffsets::Json(records) => records.array(),
            RecordOffsets::Csv(_) | RecordOffsets::QuotedCsv(_) => None,
        }
    }

    /// Removes the records that rules don't select, where that needs no more than the offsets of their fields. Other
    /// records are removed when they are read.
    pub fn select(&mut self, lines: &[u8], selector: &mut Selector) {
        if let RecordOffsets::Csv(records) = &mut self.offsets {
            selector.retain(lines, records);
        }
    }

    /// Removes the header, if it is a record of the syntax; the chunk is the first one.
    ///
    /// # Errors
    /// The reason why it isn't the published header, and the byte where it differs.
    pub fn take_header(
        &mut self,
        lines: &[u8],
        order: &FieldOrder,
    ) -> std::result::Result<(), (usize, String)> {
        if self.marked {
            return Err((0, Fault::ByteOrderMark.to_string()));
        }
        match &mut self.offsets {
            RecordOffsets::QuotedCsv(records) => records.take_header(lines, order, self.ending),
            RecordOffsets::Csv(_) | RecordOffsets::Json(_) => Ok(()),
        }
    }

    /// The longest record, if records can have several lines.
    #[must_use]
    pub fn longest(&self) -> Option<Range<usize>> {
        match &self.offsets {
            RecordOffsets::QuotedCsv(records) => longest(records.ranges()),
            RecordOffsets::Json(records) if self.is_array() => longest(records.ranges()),
            RecordOffsets::Csv(_) | RecordOffsets::Json(_) => None,
        }
    }

    fn is_array(&self) -> bool {
        self.array().is_some()
    }

    /// The number of records, including those of the wrong shape and those that aren't selected.
    #[must_use]
    pub fn count(&self) -> u64 {
        let others = match &self.offsets {
            RecordOffsets::Csv(records) => records.malformed().len() + records.not_selected(),
            RecordOffsets::Json(_) | RecordOffsets::QuotedCsv(_) => 0,
        };
        (self.rows() + others) as u64
    }

    /// The number of lines that were split.
    #[must_use]
    pub fn lines(&self, lines: &[u8]) -> u64 {
        match &self.offsets {
            RecordOffsets::Csv(records) => self.count() + records.skipped() as u64,
            RecordOffsets::Json(_) if !self.is_array() => self.count(),
            RecordOffsets::Json(_) | RecordOffsets::QuotedCsv(_) => {
                memchr::memchr_iter(b'\n', lines).count() as u64
            }
        }
    }

    /// The number of records that may become rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        match &self.offsets {
            RecordOffsets::Csv(records) => records.len(),
            RecordOffsets::Json(records) => records.ranges().len(),
            RecordOffsets::QuotedCsv(records) => records.ranges().len(),
        }
    }

    /// Bytes of the offsets of values, if they are kept apart from those of the records.
    #[must_use]
    pub fn value_bytes(&self) -> usize {
        match &self.offsets {
            RecordOffsets::Json(records) => records.bytes(),
            RecordOffsets::Csv(_) | RecordOffsets::QuotedCsv(_) => 0,
        }
    }

    /// Adds the good records that are selected to `builder`; returns the others.
    ///
    /// # Errors
    /// When a page cannot be encoded.
    pub fn push(
        &self,
        builder: &mut impl BlockBuilder,
        lines: &[u8],
        order: &FieldOrder,
    ) -> Result<LeftOut> {
        match &self.offsets {
            RecordOffsets::Csv(records) => Ok(LeftOut {
                rejects: builder.push_fields(order, lines, records)?,
                not_selected: records.not_selected() as u64,
            }),
            RecordOffsets::Json(json) => {
                if let Some((rows, not_selected)) = json.direct()
                    && builder
                        .push_rows(&json.text(lines, order), rows)?
                        .is_empty()
                {
                    return Ok(LeftOut {
                        rejects: Vec::new(),
                        not_selected,
                    });
                }
                let is_selected = |_, raw: &[u8]| json.is_selected(raw, order);
                let row = |_, raw: &[u8]| json.row(raw, order);
                self.push_cells(builder, lines, order, json.ranges(), is_selected, row)
            }
            RecordOffsets::QuotedCsv(quoted) => {
                let is_selected = |index, raw: &[u8]| quoted.is_selected(index, raw, order);
                let row = |index, raw: &[u8]| quoted.row(index, raw, order);
                self.push_cells(builder, lines, order, quoted.ranges(), is_selected, row)
            }
        }
    }

    /// Reads records as cells, in parallel, and adds them to `builder`. `is_selected` and `row` get the index of a record
    /// and its text without the line ending.
    fn push_cells(
        &self,
        builder: &mut impl BlockBuilder,
        lines: &[u8],
        order: &FieldOrder,
        ranges: &[Range<usize>],
        is_selected: impl Fn(usize, &[u8]) -> std::result::Result<bool, Reject> + Sync,
        row: impl Fn(usize, &[u8]) -> std::result::Result<Row, Reject> + Sync,
    ) -> Result<LeftOut> {
        let read = |(index, range): (usize, &Range<usize>)| {
            let record = &lines[range.clone()];
            let (raw, shape) = match self.is_array() {
                true => (record, None),
                false => self.ending.body(record),
            };
            let in_chunk = range.start..range.start + raw.len();
            let marked = (index == 0 && self.marked).then_some(Fault::ByteOrderMark);
            let is_selected = match (marked.or(shape), order.rules.is_empty()) {
                (Some(fault), _) => return Err(Reject::of_shape(in_chunk, fault)),
                (None, true) => Ok(true),
                (None, false) => is_selected(index, raw),
            };
            let row = match is_selected {
                Ok(true) => row(index, raw).map(Some),
                Ok(false) => Ok(None),
                // The first fault of the row is reported, whichever rule found another.
                Err(reject) => row(index, raw).and(Err(reject)),
            };
            row.map_err(|reject| reject.in_row(in_chunk))
        };
        let records = ranges.par_iter().with_min_len(RECORDS_PER_GROUP);
        let rows: Vec<_> = records.enumerate().map(read).collect();
        let mut texts = RowTexts::new(&order.table.columns);
        let mut left_out = LeftOut::default();
        let (mut line, mut seen) = (0, 0);
        for row in rows {
            match row {
                Ok(Some(row)) => texts.push(&row),
                Ok(None) => left_out.not_selected += 1,
                Err(reject) => {
                    let start = reject.row().start;
                    line += memchr::memchr_iter(b'\n', &lines[seen..start]).count();
                    seen = start;
                    left_out.rejects.push(reject.in_line(line));
                }
            }
        }
        let faulty = builder.push_rows(&texts.text, &texts.rows)?;
        assert!(faulty.is_empty(), "a value can be read from its own text");
        Ok(left_out)
    }
}

fn longest(ranges: &[Range<usize>]) -> Option<Range<usize>> {
    ranges.iter().max_by_key(|range| range.len()).cloned()
}
