//! One part: the path of the data, from an input file to an output file.

use std::io::Write;
use std::path::Path;

use arrow::datatypes::SchemaRef;

use crate::error::Result;
use crate::fault::Fault;
use crate::layout::Layout;
use crate::reject::BadRow;
use crate::rows::{Reject, RowGroup, Rows};
use crate::sheet::{Codec, Sheet, wrap};
use crate::source::{Chunk, Fingerprint, Source};
use crate::split::{LineEnding, Records};

/// U+FEFF in UTF-8, which some systems put before a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What became of the rows of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// The input, byte for byte.
    pub source: Fingerprint,
    /// Rows in the source.
    pub rows_in: u64,
    /// Rows in the output.
    pub rows_out: u64,
    /// Rows that could not be converted.
    pub rows_rejected: u64,
    /// Values that were spelled in another way and mapped to a sentinel.
    pub sentinels_mapped: u64,
    /// The smallest and the largest value of the time column, sentinels included.
    pub time: Option<(i64, i64)>,
}

/// Converts one file: reads `path` in chunks, splits them into records, encodes these column by
/// column and writes row groups to `out`.
///
/// A thread that has nothing else to do reads the next chunk meanwhile, takes some columns, or writes
/// the row group before; on one thread the same steps follow each other. What is written does not
/// depend on it.
///
/// `on_bad_row` decides whether a bad row ends the work; `tick` gets the bytes of the file read so
/// far, often enough to stop the work within a moment.
///
/// # Errors
/// Those of the file, of the output, and whatever the two callbacks return.
///
/// # Memory
/// Two chunks of text, the row group being encoded and, on several threads, the one being written; not
/// the size of the file.
pub fn convert_part<W: Write + Send>(
    path: &Path,
    layout: &Layout,
    schema: &SchemaRef,
    codec: Codec,
    out: W,
    on_bad_row: &mut (dyn FnMut(&BadRow<'_>) -> Result<()> + Send),
    tick: &mut (dyn FnMut(u64) -> Result<()> + Send),
) -> Result<(Converted, W)> {
    let mut sheet = Sheet::create(out, layout.table, schema)?;
    let mut filler = Filler {
        source: Lines::open(path, layout)?,
        rows: Rows::new(layout, sheet.schema(), codec),
        now: Split::default(),
        next: Split::default(),
        tally: Tally::default(),
        on_bad_row,
        tick,
    };
    filler.source.read(&mut filler.now)?;
    let mut row_group = filler.fill()?;
    while let Some(full) = row_group {
        let (written, filled) = rayon::join(|| sheet.write(full), || filler.fill());
        written?;
        row_group = filled?;
    }
    let Filler {
        source,
        rows,
        tally,
        ..
    } = filler;
    let converted = Converted {
        source: source.fingerprint(),
        rows_in: tally.lines,
        rows_out: rows.pushed(),
        rows_rejected: tally.rejected,
        sentinels_mapped: rows.sentinels_mapped(),
        time: layout.table.time.and_then(|column| rows.integers(column)),
    };
    Ok((converted, sheet.finish()?))
}

/// Makes row groups of a file.
struct Filler<'a> {
    source: Lines,
    rows: Rows,
    /// The chunk to be encoded, and the one that is read meanwhile.
    now: Split,
    next: Split,
    tally: Tally,
    on_bad_row: &'a mut (dyn FnMut(&BadRow<'_>) -> Result<()> + Send),
    tick: &'a mut (dyn FnMut(u64) -> Result<()> + Send),
}

impl Filler<'_> {
    /// The next row group; `None` after the last one.
    fn fill(&mut self) -> Result<Option<RowGroup>> {
        while self.now.has_lines() && !self.rows.is_full(self.now.records.len()) {
            let Split { chunk, records } = &self.now;
            let (read, rejects) = rayon::join(
                || self.source.read(&mut self.next),
                || self.rows.push(chunk.lines(), records),
            );
            for reject in rejects.map_err(|error| wrap(error, "encode"))? {
                (self.on_bad_row)(&self.tally.place(chunk.lines(), &reject))?;
                self.tally.rejected += 1;
            }
            self.tally.lines += (records.len() + records.malformed().len()) as u64;
            self.tally.bytes += chunk.lines().len() as u64;
            (self.tick)(self.source.position())?;
            read?;
            std::mem::swap(&mut self.now, &mut self.next);
        }
        self.rows.finish().map_err(|error| wrap(error, "encode"))
    }
}

/// A chunk of text and the places of its records.
#[derive(Default)]
struct Split {
    chunk: Chunk,
    records: Records,
}

impl Split {
    /// Whether the file did not end before it.
    fn has_lines(&self) -> bool {
        !self.chunk.lines().is_empty()
    }
}

/// A file on its way to split chunks.
struct Lines {
    source: Source,
    fields: usize,
    /// How the lines end, once there was one.
    ending: Option<LineEnding>,
}

impl Lines {
    fn open(path: &Path, layout: &Layout) -> Result<Self> {
        Ok(Self {
            source: Source::open(path)?,
            fields: layout.fields.len(),
            ending: None,
        })
    }

    /// Reads and splits the next chunk, which has no lines after the last one.
    fn read(&mut self, split: &mut Split) -> Result<()> {
        if !self.source.next_chunk(&mut split.chunk)? {
            return Ok(());
        }
        let lines = split.chunk.lines();
        let is_first = self.ending.is_none();
        let ending = *self.ending.get_or_insert_with(|| LineEnding::of(lines));
        split.records.split(lines, self.fields, ending);
        if is_first && lines.starts_with(BYTE_ORDER_MARK) {
            split.records.refuse_first(Fault::ByteOrderMark);
        }
        Ok(())
    }

    fn position(&self) -> u64 {
        self.source.position()
    }

    fn fingerprint(self) -> Fingerprint {
        self.source.fingerprint()
    }
}

/// What was counted on the way.
#[derive(Default)]
struct Tally {
    lines: u64,
    bytes: u64,
    rejected: u64,
}

impl Tally {
    /// Where in the file a reject of the chunk is that comes next.
    fn place<'a>(&self, chunk: &'a [u8], reject: &Reject) -> BadRow<'a> {
        BadRow {
            line: self.lines + reject.ordinal as u64 + 1,
            byte: self.bytes + reject.row.start as u64,
            column_byte: (reject.field.start - reject.row.start) as u64 + 1,
            column: reject.column,
            fault: reject.fault,
            field: &chunk[reject.field.clone()],
            raw: &chunk[reject.row.clone()],
        }
    }
}
