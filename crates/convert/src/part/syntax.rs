//! The records of a chunk, whatever the syntax of the table.

use std::io::Write;
use std::ops::Range;

use arrow::datatypes::SchemaRef;
use rayon::prelude::*;
use tracelake_schema::Syntax;

use crate::cell::{Bad, Row};
use crate::error::Result;
use crate::fault::Fault;
use crate::layout::Layout;
use crate::output::{Encoding, OutputFile, Rows};
use crate::rows::Reject;
use crate::split::LineEnding;
use crate::{json, quoted, split};

/// U+FEFF in UTF-8, which some systems put before a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Rows that one thread reads at least.
const SOME: usize = 32;

/// The records of one chunk; reused from chunk to chunk. A table has one syntax, so two of the three
/// are always empty.
#[derive(Default)]
pub(super) struct Records {
    plain: split::Records,
    json: Vec<Range<usize>>,
    quoted: quoted::Records,
    ending: Option<LineEnding>,
    /// Whether a byte order mark stands before the first.
    marked: bool,
    /// Whether a record may span lines.
    spans: bool,
}

impl Records {
    /// Splits whole lines, the first ones of the file if `is_first` and the last ones if `is_last`, to
    /// at most so many records; returns how many bytes these have.
    pub(super) fn split(
        &mut self,
        lines: &[u8],
        layout: &Layout,
        ending: LineEnding,
        [is_first, is_last]: [bool; 2],
        most: u64,
    ) -> usize {
        self.ending = Some(ending);
        self.spans = layout.table.syntax == Syntax::QuotedCsv;
        self.marked = is_first && lines.starts_with(BYTE_ORDER_MARK);
        match layout.table.syntax {
            Syntax::Csv => {
                let lines = first(lines, most);
                self.plain.split(lines, layout.fields.len(), ending);
                if self.marked {
                    self.plain.refuse_first(Fault::ByteOrderMark);
                }
                lines.len()
            }
            Syntax::Json => {
                self.json.clear();
                let mut start = 0;
                for newline in memchr::memchr_iter(b'\n', first(lines, most)) {
                    self.json.push(start..newline + 1);
                    start = newline + 1;
                }
                start
            }
            Syntax::QuotedCsv => self.quoted.split(lines, is_last, most),
        }
    }

    /// Takes the header out that the first chunk of a table with one starts with. The error says what
    /// is wrong with it, and at which byte.
    pub(super) fn take_header(
        &mut self,
        lines: &[u8],
        layout: &Layout,
    ) -> std::result::Result<(), (usize, String)> {
        if self.marked {
            return Err((0, Fault::ByteOrderMark.to_string()));
        }
        let ending = self.ending.unwrap_or(LineEnding::Lf);
        self.quoted.take_header(lines, &layout.fields, ending)
    }

    /// The longest record, where a record may have several lines.
    pub(super) fn longest(&self) -> Option<Range<usize>> {
        let places = self.quoted.places().iter();
        places.max_by_key(|place| place.len()).cloned()
    }

    /// The number of records, of those of the wrong shape, too.
    pub(super) fn count(&self) -> u64 {
        let plain = self.plain.len() + self.plain.malformed().len();
        (plain + self.json.len() + self.quoted.places().len()) as u64
    }

    /// The number of lines that were split.
    pub(super) fn lines(&self, lines: &[u8]) -> u64 {
        if self.spans {
            memchr::memchr_iter(b'\n', lines).count() as u64
        } else {
            self.count()
        }
    }

    /// The number of records that may become rows.
    pub(super) fn rows(&self) -> usize {
        self.plain.len() + self.json.len() + self.quoted.places().len()
    }

    /// The records of a nested table, in order: the place of each without its line ending, and the row.
    fn read(
        &self,
        lines: &[u8],
        layout: &Layout,
    ) -> Vec<(Range<usize>, std::result::Result<Row, Bad>)> {
        let ending = self.ending.unwrap_or(LineEnding::Lf);
        let is_json = layout.table.syntax == Syntax::Json;
        let places = if is_json {
            &self.json
        } else {
            self.quoted.places()
        };
        let read = |(index, place): (usize, &Range<usize>)| {
            let (raw, shape) = ending.body(&lines[place.clone()]);
            let marked = (index == 0 && self.marked).then_some(Fault::ByteOrderMark);
            let row = match marked.or(shape) {
                Some(fault) => Err(Bad::new(0..raw.len(), fault)),
                None if is_json => json::row(raw, layout.table.columns),
                None => self.quoted.row(index, raw, layout, ending),
            };
            (place.start..place.start + raw.len(), row)
        };
        let places = places.par_iter().enumerate().with_min_len(SOME);
        places.map(read).collect()
    }
}

/// Prepares for the rows of a table.
pub(super) fn rows<W: Write + Send>(
    layout: &Layout,
    schema: &SchemaRef,
    file: &OutputFile<W>,
    encoding: Encoding,
) -> Rows {
    match layout.table.syntax {
        Syntax::Csv => Rows::of_fields(layout, schema, file, encoding),
        Syntax::Json | Syntax::QuotedCsv => Rows::of_cells(layout.table, schema, file),
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
    layout: &Layout,
) -> Result<Vec<Reject>> {
    if layout.table.syntax == Syntax::Csv {
        return rows.push_fields(layout, lines, &records.plain);
    }
    let (mut good, mut rejects) = (Vec::new(), Vec::new());
    let (mut line, mut seen) = (0, 0);
    for (place, row) in records.read(lines, layout) {
        let bad = match row {
            Ok(row) => {
                good.push(row);
                continue;
            }
            Err(bad) => bad,
        };
        line += memchr::memchr_iter(b'\n', &lines[seen..place.start]).count();
        seen = place.start;
        rejects.push(Reject {
            line,
            field: place.start + bad.field.start..place.start + bad.field.end,
            row: place,
            column: bad.column,
            inner: bad.inner,
            fault: bad.fault,
        });
    }
    rows.push_cells(&good)?;
    Ok(rejects)
}

/// At most so many lines of those given.
fn first(lines: &[u8], most: u64) -> &[u8] {
    // A line has a byte, so most chunks need not be searched.
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
