//! The records of a chunk, whatever the syntax of the table.

use std::ops::Range;

use rayon::prelude::*;
use tracelake_core::error::Result;
use tracelake_core::fault::Fault;
use tracelake_core::field_order::FieldOrder;
use tracelake_core::line_ending::LineEnding;
use tracelake_encode::cell::Row;
use tracelake_encode::json::JsonRecords;
use tracelake_encode::output::BlockBuilder;
use tracelake_encode::reject::Reject;
use tracelake_encode::row_fields::{RowFields, RowTexts};
use tracelake_encode::selection::Selector;
use tracelake_encode::split::LineForm;
use tracelake_encode::{quoted, split};
use tracelake_schema::Syntax;

use super::beginning::BYTE_ORDER_MARK;

/// How many records one thread reads at once.
const RECORDS_PER_GROUP: usize = 32;

/// The records of one chunk; reused from chunk to chunk.
pub(super) struct ChunkRecords {
    offsets: RecordOffsets,
    ending: LineEnding,
    /// Whether a byte order mark that doesn't belong there precedes the first record.
    marked: bool,
}

/// The offsets of the records, as the table's syntax needs them.
enum RecordOffsets {
    Csv(split::Records),
    Json(JsonRecords),
    QuotedCsv(quoted::QuotedRecords),
}

/// Whether a chunk is at the start or the end of its text.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub(super) is_first: bool,
    pub(super) is_last: bool,
}

impl ChunkRecords {
    pub(super) fn new(order: &FieldOrder) -> Self {
        Self {
            offsets: match order.table.syntax {
                Syntax::Csv => RecordOffsets::Csv(split::Records::default()),
                Syntax::Json => RecordOffsets::Json(JsonRecords::new(order)),
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
        order: &FieldOrder,
        (form, ending): (LineForm, LineEnding),
        ends: Ends,
        most: u64,
    ) -> usize {
        self.ending = ending;
        self.marked = ends.is_first && !order.table.csv.bom && lines.starts_with(BYTE_ORDER_MARK);
        match &mut self.offsets {
            RecordOffsets::Csv(records) => {
                let lines = first(lines, most);
                records.split(lines, order.fields.len(), form);
                if self.marked {
                    records.refuse_first(Fault::ByteOrderMark);
                }
                lines.len()
            }
            RecordOffsets::Json(records) => {
                let lines = first(lines, most);
                records.split(lines, ending, order);
                if self.marked {
                    records.read_first_plainly();
                }
                lines.len()
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
            RecordOffsets::Json(records) => records.ranges().len(),
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
            RecordOffsets::Json(records) => records.ranges().len(),
            RecordOffsets::QuotedCsv(records) => records.ranges().len(),
        }
    }

    /// Bytes of the offsets of values, if they are kept apart from those of the records.
    pub(super) fn value_bytes(&self) -> usize {
        match &self.offsets {
            RecordOffsets::Json(records) => records.bytes(),
            RecordOffsets::Csv(_) | RecordOffsets::QuotedCsv(_) => 0,
        }
    }

    /// Reads records in parallel. `read` gets the index of a record and its text without the line ending, and says
    /// how to take it. The rejects still lack their lines.
    fn read(
        &self,
        lines: &[u8],
        ranges: &[Range<usize>],
        read: impl Fn(usize, &[u8]) -> std::result::Result<Taken, Reject> + Sync,
    ) -> Vec<std::result::Result<Taken, Reject>> {
        let records = ranges
            .par_iter()
            .with_min_len(RECORDS_PER_GROUP)
            .enumerate();
        let results = records.map(|(index, range)| {
            let (raw, shape) = self.ending.body(&lines[range.clone()]);
            let marked = (index == 0 && self.marked).then_some(Fault::ByteOrderMark);
            let taken = match marked.or(shape) {
                Some(fault) => Err(Reject::new(0..raw.len(), fault)),
                None => read(index, raw),
            };
            taken.map_err(|reject| reject.in_row(range.start..range.start + raw.len()))
        });
        results.collect()
    }
}

/// How a record is taken.
enum Taken {
    /// As it was read with its chunk.
    Directly,
    /// As a row.
    Row(Row),
    /// It isn't selected.
    Not,
}

impl From<Option<Row>> for Taken {
    fn from(row: Option<Row>) -> Self {
        row.map_or(Self::Not, Self::Row)
    }
}

/// The records of a chunk that didn't become rows.
#[derive(Default)]
pub(super) struct Pushed {
    /// The bad ones, in the order of the file.
    pub(super) rejects: Vec<Reject>,
    /// How many the rules of the table don't select.
    pub(super) not_selected: u64,
}

/// Adds the good records of a chunk that are selected to `builder`; returns the others.
///
/// # Errors
/// When a page cannot be encoded.
pub(super) fn push(
    builder: &mut impl BlockBuilder,
    lines: &[u8],
    records: &ChunkRecords,
    order: &FieldOrder,
) -> Result<Pushed> {
    match &records.offsets {
        RecordOffsets::Csv(split) => Ok(Pushed {
            rejects: builder.push_fields(order, lines, split)?,
            not_selected: split.not_selected() as u64,
        }),
        RecordOffsets::Json(json) => push_json(builder, lines, records, json, order),
        RecordOffsets::QuotedCsv(quoted) => {
            let ending = records.ending;
            let taken = records.read(lines, quoted.ranges(), |index, raw| {
                let is_selected = match order.rules.is_empty() {
                    true => Ok(true),
                    false => quoted.is_selected(index, raw, order, ending),
                };
                match is_selected {
                    Ok(true) => quoted.row(index, raw, order, ending).map(Taken::Row),
                    Ok(false) => Ok(Taken::Not),
                    Err(fault) => quoted.row(index, raw, order, ending).and(Err(fault)),
                }
            });
            let texts = RowTexts::new(order.table.columns);
            let read = ReadRecords::of(texts, taken, |_, _| {});
            read.push(builder)?;
            Ok(read.pushed(lines))
        }
    }
}

/// Adds the good records of a chunk of JSON as they were read with it, and reads the others plainly.
fn push_json(
    builder: &mut impl BlockBuilder,
    lines: &[u8],
    records: &ChunkRecords,
    json: &JsonRecords,
    order: &FieldOrder,
) -> Result<Pushed> {
    // The records with a value that can't be read, which the columns find.
    let mut faulty = Vec::new();
    if let Some((rows, not_selected)) = json.all() {
        let found = builder.push_rows(lines, rows)?;
        if found.is_empty() {
            return Ok(Pushed {
                rejects: Vec::new(),
                not_selected,
            });
        }
        faulty.extend(found.into_iter().map(|row| json.record(row)));
    }
    loop {
        let taken = records.read(lines, json.ranges(), |record, raw| {
            match json.is_direct(record) && faulty.binary_search(&record).is_err() {
                true => Ok(Taken::Directly),
                false => json.row(raw, order).map(Taken::from),
            }
        });
        let texts = RowTexts::after(lines, order.table.columns);
        let read = ReadRecords::of(texts, taken, |record, rows| {
            json.append(lines, record, records.ending, rows);
        });
        let found = read.push(builder)?;
        if found.is_empty() {
            return Ok(read.pushed(lines));
        }
        faulty.extend(found);
        faulty.sort_unstable();
    }
}

/// The records of a chunk, of which some were read as cells.
struct ReadRecords {
    texts: RowTexts,
    /// The record of each row.
    records: Vec<usize>,
    pushed: Pushed,
}

impl ReadRecords {
    /// Adds the rows of records to `texts`; `direct` adds that of a record which was read directly.
    fn of(
        mut texts: RowTexts,
        taken: Vec<std::result::Result<Taken, Reject>>,
        direct: impl Fn(usize, &mut RowFields),
    ) -> Self {
        let mut pushed = Pushed::default();
        let mut records = Vec::new();
        for (record, taken) in taken.into_iter().enumerate() {
            match taken {
                Ok(Taken::Directly) => direct(record, &mut texts.rows),
                Ok(Taken::Row(row)) => texts.push(&row),
                Ok(Taken::Not) => {
                    pushed.not_selected += 1;
                    continue;
                }
                Err(reject) => {
                    pushed.rejects.push(reject);
                    continue;
                }
            }
            records.push(record);
        }
        Self {
            texts,
            records,
            pushed,
        }
    }

    /// Adds the rows to `builder`; returns the records with a value that can't be read. If there are any, nothing was
    /// added.
    fn push(&self, builder: &mut impl BlockBuilder) -> Result<Vec<usize>> {
        let faulty = builder.push_rows(&self.texts.text, &self.texts.rows)?;
        Ok(faulty.into_iter().map(|row| self.records[row]).collect())
    }

    /// The records that aren't rows, with the lines of the rejects.
    fn pushed(self, lines: &[u8]) -> Pushed {
        let (mut line, mut seen) = (0, 0);
        let with_line = |reject: Reject| {
            let start = reject.row().start;
            line += memchr::memchr_iter(b'\n', &lines[seen..start]).count();
            seen = start;
            reject.in_line(line)
        };
        Pushed {
            rejects: self.pushed.rejects.into_iter().map(with_line).collect(),
            not_selected: self.pushed.not_selected,
        }
    }
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
