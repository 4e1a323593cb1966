//! One part: the path of the data, from the text of a table to an output file.

mod beginning;
mod blocks;
mod lines;
mod member;
mod parquet;
mod read_ahead;
mod read_progress;

use std::borrow::Cow;
use std::io::Write;

use arrow_array::RecordBatch;
use tracelake_core::error::Result;
use tracelake_core::field_order::FieldOrder;
use tracelake_core::options::{Accepted, Format};
use tracelake_encode::arrow_file::ArrowFile;
use tracelake_encode::batch::BatchBuilder;
use tracelake_encode::output::{BlockBuilder, OutputFile, OutputSettings, RowOrder, RowSource};
use tracelake_encode::parquet_file::ParquetFile;
use tracelake_encode::reject::Reject;
use tracelake_encode::syntax::{BYTE_ORDER_MARK, LeftOut};
use tracelake_source::{Fingerprint, Source};

use crate::bad_row::{BadRow, BadShare, Place};
use blocks::Blocks;
use lines::{Lines, SplitChunk};
use read_ahead::ReadAhead;

pub use beginning::Beginning;
pub use blocks::Converted;
pub use member::is_text;
pub(crate) use member::{enter_member, leave_member};
pub use parquet::ParquetPart;
pub use read_ahead::CHUNKS as CHUNKS_AHEAD;
pub use read_progress::ReadProgress;

/// Rejects that are written before the next look at whether to stop: a chunk can have 131,072 of them.
const REJECTS_BETWEEN_LOOKS: usize = 1024;

/// The most chunks that are converted in a turn, which may be a turn of a thread that waits to go on with
/// another part.
const CHUNKS_IN_A_TURN: usize = 32;

/// Converts one part of a text: reads it in chunks, splits them into records, encodes these column by
/// column and writes row groups to `out`.
///
/// Idle threads read the next chunks, encode some of the columns, or write the previous row group; on one
/// thread these steps follow each other. The output is the same either way.
///
/// `on_bad_row` stops the conversion by returning an error. `progress` gets how many bytes of the file were read for
/// the rows so far, often enough to stop within a moment once its context is cancelled.
///
/// # Errors
/// When the file can't be read or the output can't be written, and any error of `on_bad_row`;
/// [`tracelake_core::ErrorKind::Stopped`].
///
/// # Memory
/// Five chunks of text, the row group being encoded and, on several threads, the one being written; not
/// the size of the file.
pub fn convert_part<W: Write + Send>(
    rows: PartRows<'_, '_>,
    order: &FieldOrder,
    output: OutputSettings,
    out: W,
    on_bad_row: &mut (dyn FnMut(&BadRow<'_>) -> Result<()> + Send),
    progress: &mut ReadProgress,
) -> Result<(Converted, W)> {
    let convert = match output.format() {
        Format::Parquet => convert_as::<ParquetFile<W>, W>,
        Format::Arrow => convert_as::<ArrowFile<W>, W>,
    };
    convert(rows, order, output, out, on_bad_row, progress)
}

fn convert_as<F: OutputFile<W>, W: Write + Send>(
    rows: PartRows<'_, '_>,
    order: &FieldOrder,
    output: OutputSettings,
    out: W,
    on_bad_row: &mut (dyn FnMut(&BadRow<'_>) -> Result<()> + Send),
    progress: &mut ReadProgress,
) -> Result<(Converted, W)> {
    let mut file = F::create(out, &order.table, output, RowOrder::Published)?;
    let mut reader = rows.blocks(order, on_bad_row, progress, |source| {
        file.builder(source, output)
    });
    let mut block = reader.fill()?;
    while let Some(full) = block {
        let (written, filled) = rayon::join(|| file.write(full), || reader.fill());
        written?;
        block = filled?;
    }
    Ok((reader.converted(), file.finish()?))
}

/// Reads one part of a text as batches of `batch_rows` rows, which `on_batch` gets in order. Otherwise
/// like [`convert_part`].
///
/// # Errors
/// When the file can't be read, and any error of the callbacks.
///
/// # Memory
/// Five chunks of text and the batch being made; not the size of the file.
pub(crate) fn read_batches(
    rows: PartRows<'_, '_>,
    order: &FieldOrder,
    batch_rows: usize,
    on_batch: &mut dyn FnMut(RecordBatch) -> Result<()>,
    on_bad_row: &mut (dyn FnMut(&BadRow<'_>) -> Result<()> + Send),
    progress: &mut ReadProgress,
) -> Result<Converted> {
    let mut reader = rows.blocks(order, on_bad_row, progress, |_| {
        BatchBuilder::new(&order.table, batch_rows)
    });
    while let Some(block) = reader.fill()? {
        on_batch(block)?;
    }
    Ok(reader.converted())
}

/// The rows of one part.
pub enum PartRows<'a, 'b> {
    /// The current part of a text.
    Text(&'a mut TableText<'b>),
    /// A Parquet file.
    Parquet(&'a mut ParquetPart),
}

impl<'b> PartRows<'_, 'b> {
    /// Makes blocks of the rows, by the builder that `builder` makes.
    fn blocks<'a, B: BlockBuilder + 'a>(
        self,
        order: &'a FieldOrder,
        on_bad_row: &'a mut (dyn FnMut(&BadRow<'_>) -> Result<()> + Send),
        progress: &'a mut ReadProgress,
        builder: impl FnOnce(RowSource<'_>) -> B,
    ) -> Box<dyn Blocks<B::Block> + 'a>
    where
        Self: 'a,
        'b: 'a,
    {
        match self {
            Self::Text(text) => {
                let builder = builder(RowSource::of(order));
                Box::new(BlockReader::new(text, builder, on_bad_row, progress))
            }
            Self::Parquet(part) => {
                let builder = builder(RowSource::Rows(&order.table));
                Box::new(part.blocks(order, builder, on_bad_row, progress))
            }
        }
    }
}

/// The text of a table, from a file or a member of an archive, to be converted part by part. After an error it
/// can't be read on.
pub struct TableText<'a> {
    lines: Lines<'a>,
    /// The chunk to convert next; it has no lines at the end of a part.
    current: SplitChunk,
    position: TextPosition,
    /// Whether `next_part` has been called.
    is_begun: bool,
    /// Whether a byte order mark was accepted.
    is_marked: bool,
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
    /// Starts at the current position of `source`, after its beginning. A part ends after `part_rows` rows, if given.
    #[must_use]
    pub fn new(
        source: &'a mut Source,
        beginning: &'a Beginning<'_>,
        part_rows: Option<u64>,
    ) -> Self {
        let mut position = TextPosition::default();
        if beginning.is_marked {
            position.bytes = BYTE_ORDER_MARK.len() as u64;
        }
        Self {
            lines: Lines::new(source, &beginning.order, part_rows),
            current: SplitChunk::new(&beginning.order),
            position,
            is_begun: false,
            is_marked: beginning.is_marked,
        }
    }

    /// Advances to the next part; false after the last one. A text without any line is one part.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn next_part(&mut self) -> Result<bool> {
        self.lines.start_part();
        self.lines.read(&mut self.current)?;
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        Ok(is_first || self.current.has_lines())
    }

    /// Skips the current part.
    ///
    /// # Errors
    /// When the file can't be read; [`tracelake_core::ErrorKind::Stopped`] once the context of `progress` is cancelled.
    pub fn pass_part(&mut self, progress: &mut ReadProgress) -> Result<()> {
        while self.current.has_lines() {
            self.position.pass(&self.current);
            self.lines.read(&mut self.current)?;
            progress.advance(self.current.position)?;
        }
        Ok(())
    }

    /// The fingerprint of the bytes read so far.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.lines.source().fingerprint()
    }
}

/// Makes blocks of the rows of a part.
struct BlockReader<'a, 'b, B> {
    lines: &'a mut Lines<'b>,
    /// The chunk to convert next.
    current: &'a mut SplitChunk,
    ahead: ReadAhead<'a>,
    rows: ChunkConverter<'a, B>,
    /// The number of rows before the part.
    before: u64,
    /// Whether a byte order mark was accepted.
    is_marked: bool,
}

impl<'a, 'b, B: BlockBuilder> BlockReader<'a, 'b, B> {
    fn new(
        text: &'a mut TableText<'b>,
        builder: B,
        on_bad_row: &'a mut (dyn FnMut(&BadRow<'_>) -> Result<()> + Send),
        progress: &'a mut ReadProgress,
    ) -> Self {
        let order = text.lines.order();
        Self {
            lines: &mut text.lines,
            current: &mut text.current,
            ahead: ReadAhead::new(order),
            before: text.position.rows,
            is_marked: text.is_marked,
            rows: ChunkConverter {
                order,
                position: &mut text.position,
                builder,
                rejected: 0,
                not_selected: 0,
                on_bad_row,
                progress,
            },
        }
    }
}

impl<B: BlockBuilder> Blocks<B::Block> for BlockReader<'_, '_, B> {
    fn converted(&self) -> Converted {
        let ChunkConverter { builder, order, .. } = &self.rows;
        let others = builder.others();
        let is_first = self.before == 0;
        Converted {
            rows_in: self.rows.position.rows - self.before,
            rows_out: builder.pushed(),
            rows_rejected: self.rows.rejected,
            rows_not_selected: (!self.rows.order.rules.is_empty())
                .then_some(self.rows.not_selected),
            sentinels_mapped: others.sentinels,
            accepted: Accepted {
                headers: self.lines.headers_accepted(),
                indexes: u64::from(is_first && order.has_index()),
                boms: u64::from(is_first && self.is_marked),
                integral_floats: others.integral_floats,
                nulls: others.nulls,
            },
            time: builder.time(),
        }
    }

    fn fill(&mut self) -> Result<Option<B::Block>> {
        let Self {
            lines,
            current,
            ahead,
            rows,
            ..
        } = self;
        while rows.have_room_for(current) {
            let ((), converted) = rayon::join(
                || ahead.read(|chunk| lines.read(chunk)),
                || ahead.while_converting(|| rows.convert(current, ahead)),
            );
            converted?;
            ahead.next(current)?;
        }
        rows.builder.finish()
    }
}

/// The rows of a part, chunk by chunk.
struct ChunkConverter<'a, B> {
    order: &'a FieldOrder,
    /// Of the next chunk.
    position: &'a mut TextPosition,
    builder: B,
    rejected: u64,
    not_selected: u64,
    on_bad_row: &'a mut (dyn FnMut(&BadRow<'_>) -> Result<()> + Send),
    progress: &'a mut ReadProgress,
}

impl<B: BlockBuilder> ChunkConverter<'_, B> {
    /// Whether a chunk has rows for this block.
    fn have_room_for(&self, split: &SplitChunk) -> bool {
        split.has_lines() && !self.builder.is_full(split.records.rows())
    }

    /// Converts a chunk, and those that are ready after it.
    fn convert(&mut self, current: &mut SplitChunk, ahead: &ReadAhead<'_>) -> Result<()> {
        self.push(current)?;
        for _ in 1..CHUNKS_IN_A_TURN {
            if !ahead.next_if(current, |next| self.have_room_for(next)) {
                break;
            }
            self.push(current)?;
        }
        Ok(())
    }

    /// Adds the rows of a chunk to the block.
    fn push(&mut self, split: &SplitChunk) -> Result<()> {
        let SplitChunk {
            chunk,
            records,
            position,
        } = split;
        let lines = chunk.lines();
        let LeftOut {
            rejects,
            not_selected,
        } = records.push(&mut self.builder, lines, self.order)?;
        self.not_selected += not_selected;
        self.position.first_chunk = (self.position.rows == 0).then(|| BadShare {
            bad: rejects.len() as u64,
            rows: records.count(),
        });
        for rejects in rejects.chunks(REJECTS_BETWEEN_LOOKS) {
            for reject in rejects {
                (self.on_bad_row)(&self.position.of(lines, reject))?;
                self.rejected += 1;
            }
            self.progress.advance(*position)?;
        }
        self.position.pass(split);
        self.progress.advance(*position)
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
        let (raw, field) = (&chunk[reject.row()], reject.field());
        BadRow {
            place: Place::Line {
                line: self.lines + reject.line() as u64 + 1,
                byte: self.bytes + reject.row().start as u64,
                field: field.start as u64,
            },
            raw: Cow::Borrowed(raw),
            value: Cow::Borrowed(&raw[field]),
            column: reject.column.clone(),
            inner: Cow::Borrowed(&reject.inner),
            fault: reject.fault,
            first_chunk: self.first_chunk,
        }
    }
}
