//! One part: the path of the data, from the text of a table to an output file.

mod syntax;

use std::borrow::Cow;
use std::io::Write;
use std::ops::Range;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use tracelake_schema::Syntax;

use crate::bad_row::{BadRow, BadShare};
use crate::error::{Error, ErrorKind, Result};
use crate::field_order::FieldOrder;
use crate::output::{Block, BlockBuilder, Encoding, OutputFile};
use crate::reject::Reject;
use crate::source::{Chunk, Fingerprint, LINE_LIMIT, Source};
use crate::split::LineEnding;
use syntax::{ChunkRecords, Ends};

/// Rejects that are written before the next tick: a chunk can have 131,072 of them.
const REJECTS_BETWEEN_TICKS: usize = 1024;

/// The counts of a part that was converted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// Rows in the source.
    pub rows_in: u64,
    /// Rows in the output.
    pub rows_out: u64,
    /// Rows that could not be converted.
    pub rows_rejected: u64,
    /// Values that were spelled differently and mapped to a sentinel.
    pub sentinels_mapped: u64,
    /// The smallest and the largest value of the time column, including sentinels.
    pub time: Option<(i64, i64)>,
}

/// Converts one part of a text: reads it in chunks, splits them into records, encodes these column by
/// column and writes row groups to `out`.
///
/// Idle threads read the next chunk, encode some of the columns, or write the previous row group; on one
/// thread these steps follow each other. The output is the same either way.
///
/// `on_bad_row` stops the conversion by returning an error, and so does `tick`. `tick` gets the bytes of
/// the file read so far, often enough to stop within a moment.
///
/// # Errors
/// Those of the file and of the output, and of the two callbacks.
///
/// # Memory
/// Two chunks of text, the row group being encoded and, on several threads, the one being written; not
/// the size of the file.
pub fn convert_part<W: Write + Send>(
    text: &mut TableText<'_>,
    order: &FieldOrder,
    schema: &SchemaRef,
    encoding: Encoding,
    out: W,
    on_bad_row: &mut (dyn FnMut(&BadRow<'_>) -> Result<()> + Send),
    tick: &mut (dyn FnMut(u64) -> Result<()> + Send),
) -> Result<(Converted, W)> {
    let mut file = OutputFile::create(out, order.table, schema, encoding)?;
    let builder = syntax::block_builder(order, schema, &file, encoding);
    let mut filler = Filler::new(text, builder, on_bad_row, tick);
    let mut block = filler.fill()?;
    while let Some(full) = block {
        let (written, filled) = rayon::join(|| file.write(full), || filler.fill());
        written?;
        block = filled?;
    }
    Ok((filler.converted(), file.finish()?))
}

/// Reads one part of a text as batches of `batch_rows` rows, which `on_batch` gets in order. Otherwise
/// like [`convert_part`].
///
/// # Errors
/// Those of the file and of the callbacks.
///
/// # Memory
/// Two chunks of text and the batch being made; not the size of the file.
pub(crate) fn read_batches(
    text: &mut TableText<'_>,
    order: &FieldOrder,
    schema: &SchemaRef,
    batch_rows: usize,
    on_batch: &mut dyn FnMut(RecordBatch) -> Result<()>,
    on_bad_row: &mut (dyn FnMut(&BadRow<'_>) -> Result<()> + Send),
    tick: &mut (dyn FnMut(u64) -> Result<()> + Send),
) -> Result<Converted> {
    let builder = BlockBuilder::batches(order.table, schema, batch_rows);
    let mut filler = Filler::new(text, builder, on_bad_row, tick);
    while let Some(block) = filler.fill()? {
        on_batch(block.into_batch())?;
    }
    Ok(filler.converted())
}

/// The text of a table, from a file or a member of an archive, to be converted part by part.
pub struct TableText<'a> {
    lines: Lines<'a>,
    /// The chunk to convert next; it has no lines at the end of a part.
    now: SplitChunk,
    place: TextPosition,
    /// Whether `next_part` has been called.
    is_begun: bool,
}

/// The position of the next line in a text, and the number of rows before it.
#[derive(Default, Clone, Copy)]
struct TextPosition {
    rows: u64,
    lines: u64,
    bytes: u64,
    /// How much of the current chunk is bad, if that is the first one of the text.
    first_chunk: Option<BadShare>,
}

impl<'a> TableText<'a> {
    /// Starts at the current position of `source`. A part ends after `part_rows` rows, if given.
    #[must_use]
    pub fn new(source: &'a mut Source, order: &'a FieldOrder, part_rows: Option<u64>) -> Self {
        Self {
            lines: Lines {
                source,
                order,
                ending: None,
                header: order.table.syntax == Syntax::QuotedCsv,
                part_rows,
                left: part_rows,
            },
            now: SplitChunk::new(order.table.syntax),
            place: TextPosition::default(),
            is_begun: false,
        }
    }

    /// Advances to the next part; false after the last one. A text without any line is one part.
    ///
    /// # Errors
    /// Those of the file.
    pub fn next_part(&mut self) -> Result<bool> {
        self.lines.left = self.lines.part_rows;
        self.lines.read(&mut self.now)?;
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        Ok(is_first || self.now.has_lines())
    }

    /// Skips the current part; `tick` is as in [`convert_part`].
    ///
    /// # Errors
    /// Those of the file, and what `tick` returns.
    pub fn pass_part(&mut self, tick: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        while self.now.has_lines() {
            self.place.pass(&self.now);
            self.lines.read(&mut self.now)?;
            tick(self.lines.source.position())?;
        }
        Ok(())
    }

    /// What was read of the file so far.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.lines.source.fingerprint()
    }

    /// Asks whether the file is still the one that was read so far.
    ///
    /// # Errors
    /// As [`Source::confirm`].
    pub fn confirm(&self) -> Result<()> {
        self.lines.source.confirm()
    }
}

/// Makes blocks of the rows of a part.
struct Filler<'a, 'b> {
    text: &'a mut TableText<'b>,
    /// Where the part starts.
    before: TextPosition,
    builder: BlockBuilder,
    /// The chunk that is read while `text.now` is converted.
    next: SplitChunk,
    rejected: u64,
    on_bad_row: &'a mut (dyn FnMut(&BadRow<'_>) -> Result<()> + Send),
    tick: &'a mut (dyn FnMut(u64) -> Result<()> + Send),
}

impl<'a, 'b> Filler<'a, 'b> {
    fn new(
        text: &'a mut TableText<'b>,
        builder: BlockBuilder,
        on_bad_row: &'a mut (dyn FnMut(&BadRow<'_>) -> Result<()> + Send),
        tick: &'a mut (dyn FnMut(u64) -> Result<()> + Send),
    ) -> Self {
        Self {
            before: text.place,
            builder,
            next: SplitChunk::new(text.lines.order.table.syntax),
            rejected: 0,
            text,
            on_bad_row,
            tick,
        }
    }

    /// The counts, after the last block.
    fn converted(&self) -> Converted {
        Converted {
            rows_in: self.text.place.rows - self.before.rows,
            rows_out: self.builder.pushed(),
            rows_rejected: self.rejected,
            sentinels_mapped: self.builder.sentinels_mapped(),
            time: self.builder.time(self.text.lines.order.table),
        }
    }

    /// The next block; `None` after the last one.
    fn fill(&mut self) -> Result<Option<Block>> {
        let TableText {
            lines, now, place, ..
        } = &mut *self.text;
        while now.has_lines() && !self.builder.is_full(now.records.rows()) {
            let order = lines.order;
            let (read, rejects) = rayon::join(
                || lines.read(&mut self.next),
                || syntax::push(&mut self.builder, now.chunk.lines(), &now.records, order),
            );
            let rejects = rejects?;
            place.first_chunk = (place.rows == 0).then(|| BadShare {
                bad: rejects.len() as u64,
                rows: now.records.count(),
            });
            for rejects in rejects.chunks(REJECTS_BETWEEN_TICKS) {
                for reject in rejects {
                    (self.on_bad_row)(&place.of(now.chunk.lines(), reject))?;
                    self.rejected += 1;
                }
                (self.tick)(lines.source.position())?;
            }
            place.pass(now);
            (self.tick)(lines.source.position())?;
            read?;
            std::mem::swap(now, &mut self.next);
        }
        self.builder.finish()
    }
}

/// A chunk of text and where its records are.
struct SplitChunk {
    chunk: Chunk,
    records: ChunkRecords,
}

impl SplitChunk {
    fn new(syntax: Syntax) -> Self {
        Self {
            chunk: Chunk::default(),
            records: ChunkRecords::new(syntax),
        }
    }

    /// Whether it has lines; it has none after the end of a part.
    fn has_lines(&self) -> bool {
        !self.chunk.lines().is_empty()
    }
}

/// Reads and splits the chunks of a text.
struct Lines<'a> {
    source: &'a mut Source,
    order: &'a FieldOrder,
    /// How the lines end, once one was read.
    ending: Option<LineEnding>,
    /// Whether the header is still to be read.
    header: bool,
    /// Rows in a part, and how many more the current part may have; `None` if one part has all.
    part_rows: Option<u64>,
    left: Option<u64>,
}

impl Lines<'_> {
    /// Reads and splits the next chunk, which has no lines at the end of the part.
    fn read(&mut self, split: &mut SplitChunk) -> Result<()> {
        let SplitChunk { chunk, records } = split;
        chunk.clear();
        while self.left != Some(0) && self.source.next_chunk(chunk)? {
            let is_first = self.ending.is_none() || self.header;
            let ending = *self
                .ending
                .get_or_insert_with(|| LineEnding::of(chunk.lines()));
            let most = self
                .left
                .map_or(u64::MAX, |left| left.saturating_add(u64::from(self.header)));
            let ends = Ends {
                is_first,
                is_last: self.source.is_at_end(),
            };
            let fields = self.order.fields.len();
            let whole = records.split(chunk.lines(), fields, ending, ends, most);
            let begun = whole..chunk.lines().len();
            let begun = (records.count() < most).then_some(begun);
            let mut long = records.longest().into_iter().chain(begun);
            let length =
                |record: &Range<usize>| ending.body(&chunk.lines()[record.clone()]).0.len();
            if let Some(long) = long.find(|record| length(record) > LINE_LIMIT) {
                return Err(self.source.too_long("record", chunk, long.start));
            }
            self.source.give_back(chunk, whole);
            if whole == 0 {
                // All of it is the start of one record.
                continue;
            }
            if self.header {
                let header = records.take_header(chunk.lines(), self.order);
                header.map_err(|(at, reason)| self.misfit(at, reason))?;
                self.header = false;
            }
            if let Some(left) = &mut self.left {
                let split = left.checked_sub(records.count());
                *left = split.expect("a chunk is split into at most this many records");
            }
            return Ok(());
        }
        if self.header {
            return Err(self.misfit(0, "there is no header".to_owned()));
        }
        Ok(())
    }

    /// The error for a wrong header, at one of its bytes.
    fn misfit(&self, at: usize, reason: String) -> Error {
        Error::new(ErrorKind::Misfit, reason)
            .at(self.source.location())
            .line(1, Some(at as u64 + 1))
            .field(self.order.table.name)
            .hint("the first line has to be the published header: download the file again")
    }
}

impl TextPosition {
    /// Advances past a chunk.
    fn pass(&mut self, split: &SplitChunk) {
        self.rows += split.records.count();
        self.lines += split.records.lines(split.chunk.lines());
        self.bytes += split.chunk.lines().len() as u64;
    }

    /// A reject of the chunk at this position, with its position in the text.
    fn of<'a>(&self, chunk: &'a [u8], reject: &'a Reject) -> BadRow<'a> {
        BadRow {
            line: self.lines + reject.line() as u64 + 1,
            byte: self.bytes + reject.row().start as u64,
            raw: Cow::Borrowed(&chunk[reject.row()]),
            field: reject.field(),
            column: reject.column,
            inner: Cow::Borrowed(&reject.inner),
            fault: reject.fault,
            first_chunk: self.first_chunk,
        }
    }
}
