//! The records of a chunk, whatever the syntax of the table.

use std::io::Write;
use std::ops::Range;

use arrow_schema::SchemaRef;
use rayon::prelude::*;
use tracelake_core::error::Result;
use tracelake_core::fault::Fault;
use tracelake_core::field_order::FieldOrder;
use tracelake_core::line_ending::LineEnding;
use tracelake_encode::column_values::RowValues;
use tracelake_encode::json::JsonColumns;
use tracelake_encode::output::{BlockBuilder, Encoding, OutputFile};
use tracelake_encode::reject::Reject;
use tracelake_encode::split::LineForm;
use tracelake_schema::{Column, Syntax};

use tracelake_encode::selection::Selector;
use tracelake_encode::{json, quoted, split};

/// U+FEFF in UTF-8, which some programs write at the start of a text.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How many records one thread reads at once.
const RECORDS_PER_GROUP: usize = 32;

/// The records of one chunk; reused from chunk to chunk.
pub(super) struct ChunkRecords {
    offsets: RecordOffsets,
    ending: LineEnding,
    /// Whether a byte order mark precedes the first record.
    marked: bool,
}

/// The offsets of the records, as the table's syntax needs them.
enum RecordOffsets {
    Csv(split::Records),
    /// The range of each line, with its ending.
    Json(Vec<Range<usize>>),
    QuotedCsv(quoted::QuotedRecords),
}

/// Whether a chunk is at the start or the end of its text.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub(super) is_first: bool,
    pub(super) is_last: bool,
}

impl ChunkRecords {
    pub(super) fn new(syntax: Syntax) -> Self {
        Self {
            offsets: match syntax {
                Syntax::Csv => RecordOffsets::Csv(split::Records::default()),
                Syntax::Json => RecordOffsets::Json(Vec::new()),
                Syntax::QuotedCsv => RecordOffsets::QuotedCsv(quoted::QuotedRecords::default()),
            },
            ending: LineEnding::Lf,
            marked: false,
        }
    }

    /// Splits whole lines into at most `most` records; returns the length of these in bytes.
    pub(super) fn split(
        &mut self,
        lines: &[u8],
        fields: usize,
        (form, ending): (LineForm, LineEnding),
        ends: Ends,
        most: u64,
    ) -> usize {
        self.ending = ending;
        self.marked = ends.is_first && lines.starts_with(BYTE_ORDER_MARK);
        match &mut self.offsets {
            RecordOffsets::Csv(records) => {
                let lines = first(lines, most);
                records.split(lines, fields, form);
                if self.marked {
                    records.refuse_first(Fault::ByteOrderMark);
                }
                lines.len()
            }
            RecordOffsets::Json(ranges) => {
                ranges.clear();
                let mut start = 0;
                for newline in memchr::memchr_iter(b'\n', first(lines, most)) {
                    ranges.push(start..newline + 1);
                    start = newline + 1;
                }
                start
            }
            RecordOffsets::QuotedCsv(records) => records.split(lines, ends.is_last, most),
        }
    }

    /// Removes the records that rules don't select, where that needs no more than the offsets of their fields. Other
    /// records are removed when they are read.
    pub(super) fn select(&mut self, lines: &[u8], selector: &mut Selector) {
        if let RecordOffsets::Csv(records) = &mut self.offsets {
            selector.retain(lines, records);
        }
    }

    /// Removes the header, if the table has one; the chunk is the first one. The error says what is wrong
    /// with it, and at which byte.
    pub(super) fn take_header(
        &mut self,
        lines: &[u8],
        order: &FieldOrder,
    ) -> std::result::Result<(), (usize, String)> {
        if self.marked {
            return Err((0, Fault::ByteOrderMark.to_string()));
        }
        match &mut self.offsets {
            RecordOffsets::QuotedCsv(records) => {
                records.take_header(lines, &order.fields, self.ending)
            }
            RecordOffsets::Csv(_) | RecordOffsets::Json(_) => Ok(()),
        }
    }

    /// The longest record, if records can have several lines.
    pub(super) fn longest(&self) -> Option<Range<usize>> {
        match &self.offsets {
            RecordOffsets::QuotedCsv(records) => {
                let ranges = records.ranges().iter();
                ranges.max_by_key(|range| range.len()).cloned()
            }
            RecordOffsets::Csv(_) | RecordOffsets::Json(_) => None,
        }
    }

    /// The number of records, including those of the wrong shape and those that aren't selected.
    pub(super) fn count(&self) -> u64 {
        let count = match &self.offsets {
            RecordOffsets::Csv(records) => {
                records.len() + records.malformed().len() + records.not_selected()
            }
            RecordOffsets::Json(ranges) => ranges.len(),
            RecordOffsets::QuotedCsv(records) => records.ranges().len(),
        };
        count as u64
    }

    /// The number of lines that were split.
    pub(super) fn lines(&self, lines: &[u8]) -> u64 {
        match &self.offsets {
            RecordOffsets::QuotedCsv(_) => memchr::memchr_iter(b'\n', lines).count() as u64,
            RecordOffsets::Csv(records) => self.count() + records.skipped() as u64,
            RecordOffsets::Json(_) => self.count(),
        }
    }

    /// The number of records that may become rows.
    pub(super) fn rows(&self) -> usize {
        match &self.offsets {
            RecordOffsets::Csv(records) => records.len(),
            RecordOffsets::Json(ranges) => ranges.len(),
            RecordOffsets::QuotedCsv(records) => records.ranges().len(),
        }
    }

    /// Reads records one by one, in parallel; `append` gets the index of a record, its text without the line
    /// ending, and where to add its values. The rejects still lack their lines.
    fn read(
        &self,
        lines: &[u8],
        ranges: &[Range<usize>],
        columns: &[Column],
        append: impl Fn(usize, &[u8], &mut RowValues) -> std::result::Result<bool, Reject> + Sync,
    ) -> (RowValues, Pushed) {
        let read = |(group, ranges): (usize, &[Range<usize>])| {
            let mut values = RowValues::new(columns);
            let mut pushed = Pushed::default();
            for (at, range) in ranges.iter().enumerate() {
                let index = group * RECORDS_PER_GROUP + at;
                let (raw, shape) = self.ending.body(&lines[range.clone()]);
                let marked = (index == 0 && self.marked).then_some(Fault::ByteOrderMark);
                let row = match marked.or(shape) {
                    Some(fault) => Err(Reject::new(0..raw.len(), fault)),
                    None => append(index, raw, &mut values),
                };
                match row {
                    Ok(true) => {}
                    Ok(false) => pushed.not_selected += 1,
                    Err(reject) => {
                        let row = range.start..range.start + raw.len();
                        pushed.rejects.push(reject.in_row(row));
                    }
                }
            }
            (values, pushed)
        };
        let groups = ranges.par_chunks(RECORDS_PER_GROUP).enumerate().map(read);
        let (values, groups): (Vec<_>, Vec<Pushed>) = groups.unzip();
        let pushed = Pushed {
            not_selected: groups.iter().map(|group| group.not_selected).sum(),
            rejects: groups.into_iter().flat_map(|group| group.rejects).collect(),
        };
        (RowValues::concat(columns, &values), pushed)
    }
}

/// What became of the records of a chunk that aren't rows now.
#[derive(Default)]
pub(super) struct Pushed {
    /// The bad ones, in the order of the file.
    pub(super) rejects: Vec<Reject>,
    /// How many the rules of the table don't select.
    pub(super) not_selected: u64,
}

/// Makes the builder for the rows of a table.
pub(super) fn block_builder<W: Write + Send>(
    order: &FieldOrder,
    schema: &SchemaRef,
    file: &OutputFile<W>,
    encoding: Encoding,
) -> BlockBuilder {
    match order.table.syntax {
        Syntax::Csv => BlockBuilder::of_fields(order, schema, file, encoding),
        Syntax::Json | Syntax::QuotedCsv => {
            BlockBuilder::of_rows(order.table, schema, file, encoding)
        }
    }
}

/// Adds the good records of a chunk that are selected to `builder`; returns the others.
///
/// # Errors
/// When a page cannot be encoded.
pub(super) fn push(
    builder: &mut BlockBuilder,
    lines: &[u8],
    records: &ChunkRecords,
    order: &FieldOrder,
) -> Result<Pushed> {
    let columns = order.table.columns;
    let (rows, pushed) = match &records.offsets {
        RecordOffsets::Csv(split) => {
            return Ok(Pushed {
                rejects: builder.push_fields(order, lines, split)?,
                not_selected: split.not_selected() as u64,
            });
        }
        RecordOffsets::Json(ranges) => {
            let json = JsonColumns::of(order);
            let is_selected = |raw: &[u8]| match order.rules.is_empty() {
                true => Ok(true),
                false => json::is_selected(raw, &json, &order.rules),
            };
            records.read(lines, ranges, columns, |_, raw, values| {
                match is_selected(raw) {
                    Ok(true) => json::append(raw, &json, values).map(|()| true),
                    Ok(false) => Ok(false),
                    // The first fault of the row is reported, whichever rule found another.
                    Err(fault) => json::row(raw, &json).and(Err(fault)),
                }
            })
        }
        RecordOffsets::QuotedCsv(quoted) => {
            let ending = records.ending;
            let is_selected = |index, raw: &[u8]| match order.rules.is_empty() {
                true => Ok(true),
                false => quoted.is_selected(index, raw, order, ending),
            };
            let ranges = quoted.ranges();
            records.read(
                lines,
                ranges,
                columns,
                |index, raw, values| match is_selected(index, raw) {
                    Ok(true) => {
                        values.push(&quoted.row(index, raw, order, ending)?);
                        Ok(true)
                    }
                    Ok(false) => Ok(false),
                    Err(fault) => quoted.row(index, raw, order, ending).and(Err(fault)),
                },
            )
        }
    };
    builder.push_rows(rows)?;
    let (mut line, mut seen) = (0, 0);
    let with_line = |reject: Reject| {
        let start = reject.row().start;
        line += memchr::memchr_iter(b'\n', &lines[seen..start]).count();
        seen = start;
        reject.in_line(line)
    };
    Ok(Pushed {
        rejects: pushed.rejects.into_iter().map(with_line).collect(),
        not_selected: pushed.not_selected,
    })
}

/// The first `most` lines, or all of them if there are fewer.
fn first(lines: &[u8], most: u64) -> &[u8] {
    // A line has at least one byte, so most chunks needn't be searched.
    let Some(skip) = usize::try_from(most)
        .ok()
        .filter(|most| *most < lines.len())
    else {
        return lines;
    };
    let end = match skip.checked_sub(1) {
        Some(skip) => memchr::memchr_iter(b'\n', lines).nth(skip),
        None => return &[],
    };
    end.map_or(lines, |end| &lines[..=end])
}
