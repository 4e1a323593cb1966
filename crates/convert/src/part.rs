//! One part: the path of the data, from an input file to an output file.

use std::io::Write;
use std::path::Path;

use arrow::array::{AsArray, RecordBatch};
use arrow::compute::{max, min};
use arrow::datatypes::{Int64Type, SchemaRef};

use crate::error::Result;
use crate::fault::Fault;
use crate::layout::Layout;
use crate::reject::BadRow;
use crate::rows::{Reject, Rows};
use crate::sheet::{Codec, Sheet};
use crate::source::{Fingerprint, Source};
use crate::split::{LineEnding, Records};

/// Rows are handed to the writer when there are this many; enough to spread its cost per batch.
const BATCH_ROWS: usize = 16 << 10;

/// Or when they take this many bytes, so that long texts cannot fill the memory.
const BATCH_BYTES: usize = 16 << 20;

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

/// Converts one file: reads `path` in chunks, splits them into rows, decodes the rows column by
/// column and writes them to `out`.
///
/// `on_bad_row` decides whether a bad row ends the work; `tick` gets the bytes of the file read so
/// far, often enough to stop the work within a moment.
///
/// # Errors
/// Those of the file, of the output, and whatever the two callbacks return.
///
/// # Memory
/// A chunk of text, a batch of rows and the row group being encoded; not the size of the file.
pub fn convert_part<W: Write + Send>(
    path: &Path,
    layout: &Layout,
    schema: &SchemaRef,
    codec: Codec,
    out: W,
    on_bad_row: &mut dyn FnMut(&BadRow<'_>) -> Result<()>,
    tick: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<(Converted, W)> {
    let mut source = Source::open(path)?;
    let mut records = Records::default();
    let mut rows = Rows::new(layout, schema.clone());
    let mut sheet = Sheet::create(out, layout.table, schema.clone(), codec)?;
    let mut tally = Tally::default();
    let mut ending = None;
    while let Some(chunk) = source.next_chunk()? {
        let ending = *ending.get_or_insert_with(|| LineEnding::of(chunk));
        records.split(chunk, layout.fields.len(), ending);
        if tally.bytes == 0 && chunk.starts_with(BYTE_ORDER_MARK) {
            records.refuse_first(Fault::ByteOrderMark);
        }
        for reject in rows.push(chunk, &records) {
            on_bad_row(&tally.place(chunk, &reject))?;
            tally.rows_rejected += 1;
        }
        tally.lines += (records.len() + records.malformed().len()) as u64;
        tally.bytes += chunk.len() as u64;
        if rows.len() >= BATCH_ROWS || rows.bytes() >= BATCH_BYTES {
            tally.write(&mut sheet, &rows.finish()?, layout)?;
        }
        tick(source.position())?;
    }
    tally.write(&mut sheet, &rows.finish()?, layout)?;
    let converted = Converted {
        source: source.fingerprint(),
        rows_in: tally.lines,
        rows_out: tally.rows_out,
        rows_rejected: tally.rows_rejected,
        sentinels_mapped: rows.sentinels_mapped(),
        time: tally.time,
    };
    Ok((converted, sheet.finish()?))
}

/// What was counted on the way.
#[derive(Default)]
struct Tally {
    lines: u64,
    bytes: u64,
    rows_out: u64,
    rows_rejected: u64,
    time: Option<(i64, i64)>,
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

    fn write<W: Write + Send>(
        &mut self,
        sheet: &mut Sheet<W>,
        batch: &RecordBatch,
        layout: &Layout,
    ) -> Result<()> {
        self.rows_out += batch.num_rows() as u64;
        if let Some(time) = layout.table.time {
            let times = batch.column(time).as_primitive::<Int64Type>();
            if let (Some(low), Some(high)) = (min(times), max(times)) {
                let (min, max) = self.time.unwrap_or((low, high));
                self.time = Some((min.min(low), max.max(high)));
            }
        }
        sheet.write(batch)
    }
}
