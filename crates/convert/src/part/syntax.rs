//! The records of a chunk, whatever the syntax of the table.

use std::io::Write;
use std::ops::Range;

use arrow_schema::SchemaRef;
use rayon::prelude::*;
use tracelake_schema::Syntax;

use crate::cell::Row;
use crate::error::Result;
use crate::fault::Fault;
use crate::field_order::FieldOrder;
use crate::output::{Encoding, OutputFile, Rows};
use crate::reject::Reject;
use crate::split::LineEnding;
use crate::{json, quoted, split};

/// U+FEFF in UTF-8, which some systems put before a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The fewest records that a thread takes at once.
const RECORDS_PER_THREAD: usize = 32;

/// The records of one chunk; reused from chunk to chunk.
pub(super) struct Records {
    found: Found,
    ending: LineEnding,
    /// Whether a byte order mark precedes the first record.
    marked: bool,
}

/// Where the records are, in the way that the table's syntax needs.
enum Found {
    Csv(split::Records),
    /// The range of each line, with its ending.
    Json(Vec<Range<usize>>),
    QuotedCsv(quoted::Records),
}

/// Which end of its file a chunk has.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub(super) is_first: bool,
    pub(super) is_last: bool,
}

impl Records {
    pub(super) fn new(syntax: Syntax) -> Self {
        Self {
            found: match syntax {
                Syntax::Csv => Found::Csv(split::Records::default()),
                Syntax::Json => Found::Json(Vec::new()),
                Syntax::QuotedCsv => Found::QuotedCsv(quoted::Records::default()),
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
        ending: LineEnding,
        ends: Ends,
        most: u64,
    ) -> usize {
        self.ending = ending;
        self.marked = ends.is_first && lines.starts_with(BYTE_ORDER_MARK);
        match &mut self.found {
            Found::Csv(records) => {
                let lines = first(lines, most);
                records.split(lines, fields, ending);
                if self.marked {
                    records.refuse_first(Fault::ByteOrderMark);
                }
                lines.len()
            }
            Found::Json(places) => {
                places.clear();
                let mut start = 0;
                for newline in memchr::memchr_iter(b'\n', first(lines, most)) {
                    places.push(start..newline + 1);
                    start = newline + 1;
                }
                start
            }
            Found::QuotedCsv(records) => records.split(lines, ends.is_last, most),
        }
    }

    /// Takes out the header, which the first chunk of a table that has one starts with. The error says
    /// what is wrong with it, and at which byte.
    pub(super) fn take_header(
        &mut self,
        lines: &[u8],
        order: &FieldOrder,
    ) -> std::result::Result<(), (usize, String)> {
        if self.marked {
            return Err((0, Fault::ByteOrderMark.to_string()));
        }
        match &mut self.found {
            Found::QuotedCsv(records) => records.take_header(lines, &order.fields, self.ending),
            Found::Csv(_) | Found::Json(_) => Ok(()),
        }
    }

    /// The longest record, where a record may have several lines.
    pub(super) fn longest(&self) -> Option<Range<usize>> {
        match &self.found {
            Found::QuotedCsv(records) => {
                let places = records.places().iter();
                places.max_by_key(|place| place.len()).cloned()
            }
            Found::Csv(_) | Found::Json(_) => None,
        }
    }

    /// The number of records, including those of the wrong shape.
    pub(super) fn count(&self) -> u64 {
        let count = match &self.found {
            Found::Csv(records) => records.len() + records.malformed().len(),
            Found::Json(places) => places.len(),
            Found::QuotedCsv(records) => records.places().len(),
        };
        count as u64
    }

    /// The number of lines that were split.
    pub(super) fn lines(&self, lines: &[u8]) -> u64 {
        match &self.found {
            Found::QuotedCsv(_) => memchr::memchr_iter(b'\n', lines).count() as u64,
            Found::Csv(_) | Found::Json(_) => self.count(),
        }
    }

    /// The number of records that may become rows.
    pub(super) fn rows(&self) -> usize {
        match &self.found {
            Found::Csv(records) => records.len(),
            Found::Json(places) => places.len(),
            Found::QuotedCsv(records) => records.places().len(),
        }
    }

    /// Reads records one by one, in parallel; `row` gets the index of a record and its text without the
    /// line ending. The rejects still lack their lines.
    fn read(
        &self,
        lines: &[u8],
        places: &[Range<usize>],
        row: impl Fn(usize, &[u8]) -> std::result::Result<Row, Reject> + Sync,
    ) -> Vec<std::result::Result<Row, Reject>> {
        let read = |(index, place): (usize, &Range<usize>)| {
            let (raw, shape) = self.ending.body(&lines[place.clone()]);
            let marked = (index == 0 && self.marked).then_some(Fault::ByteOrderMark);
            let row = match marked.or(shape) {
                Some(fault) => Err(Reject::new(0..raw.len(), fault)),
                None => row(index, raw),
            };
            row.map_err(|reject| reject.in_row(place.start..place.start + raw.len()))
        };
        let places = places.par_iter().enumerate();
        places.with_min_len(RECORDS_PER_THREAD).map(read).collect()
    }
}

/// Prepares for the rows of a table.
pub(super) fn rows<W: Write + Send>(
    order: &FieldOrder,
    schema: &SchemaRef,
    file: &OutputFile<W>,
    encoding: Encoding,
) -> Rows {
    match order.table.syntax {
        Syntax::Csv => Rows::of_fields(order, schema, file, encoding),
        Syntax::Json | Syntax::QuotedCsv => Rows::of_cells(order.table, schema, file),
    }
}

/// Adds the good records of a chunk to `rows`; returns the others, in the order of the file.
///
/// # Errors
/// When a page cannot be encoded.
pub(super) fn push(
    rows: &mut Rows,
    lines: &[u8],
    records: &Records,
    order: &FieldOrder,
) -> Result<Vec<Reject>> {
    let read = match &records.found {
        Found::Csv(found) => return rows.push_fields(order, lines, found),
        Found::Json(places) => {
            records.read(lines, places, |_, raw| json::row(raw, order.table.columns))
        }
        Found::QuotedCsv(found) => records.read(lines, found.places(), |index, raw| {
            found.row(index, raw, order, records.ending)
        }),
    };
    let (mut good, mut rejects) = (Vec::new(), Vec::new());
    let (mut line, mut seen) = (0, 0);
    for row in read {
        match row {
            Ok(row) => good.push(row),
            Err(reject) => {
                let start = reject.row().start;
                line += memchr::memchr_iter(b'\n', &lines[seen..start]).count();
                seen = start;
                rejects.push(reject.in_line(line));
            }
        }
    }
    rows.push_cells(&good)?;
    Ok(rejects)
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
