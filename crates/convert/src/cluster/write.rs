//! Rows to one file.

use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::options::Format;
use tracelake_encode::arrow_file::ArrowFile;
use tracelake_encode::output::{BlockBuilder, OutputFile, OutputSettings, RowOrder, RowSource};
use tracelake_encode::packed_rows::{RowUnpacker, key_bytes};
use tracelake_encode::parquet_file::ParquetFile;
use tracelake_schema::{Kind, Table};

use crate::sorting::{CLASS_BYTES, Merge};

/// A chunk ends after this many rows, or before the row that brings it to this many bytes. It doesn't depend on anything
/// else, because pages and row groups end between chunks.
const CHUNK_ROWS: usize = 4096;
const CHUNK_BYTES: usize = 1 << 20;

/// A chunk of at least this many rows ends at the end of an entity.
const FEWEST_ROWS: usize = 1024;

/// The most rows in a row group of a file in the order of an entity: a query for one entity reads one row group or two.
const ENTITY_ROW_GROUP_ROWS: usize = 1 << 17;

/// The most bytes of encoded values in it, so that 64 MB are enough to encode it, whatever the rows are.
const ENTITY_ROW_GROUP_BYTES: usize = 18 << 20;

/// The share of its rows from which on a row group ends at the end of an entity.
const NEARLY_FULL: (usize, usize) = (7, 8);

/// The values of some rows, packed one after the other.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    pub(super) values: Vec<u8>,
    pub(super) rows: usize,
    /// Whether its first row is of another entity than the row before.
    pub(super) starts_entity: bool,
}

impl Chunk {
    /// Adds a row; false if the chunk is full.
    pub(super) fn push(&mut self, values: &[u8]) -> bool {
        let bytes = self.values.len() + values.len();
        if self.rows == CHUNK_ROWS || self.rows > 0 && bytes > CHUNK_BYTES {
            return false;
        }
        self.values.extend_from_slice(values);
        self.rows += 1;
        true
    }
}

/// The rows of a file, chunk by chunk.
pub(super) trait Chunks: Send {
    /// The next chunk; it has no rows at the end.
    fn next_chunk(&mut self) -> Result<Chunk>;
}

/// The rows of a class, in order.
pub(super) struct SortedChunks {
    merge: Merge,
    /// The kind of the key.
    key: Kind,
    /// The place of the last row.
    last: Vec<u8>,
    /// Whether the row at hand wasn't taken yet.
    is_ahead: bool,
}

impl SortedChunks {
    pub(super) fn new(merge: Merge, key: Kind) -> Self {
        Self {
            merge,
            key,
            last: Vec::new(),
            is_ahead: false,
        }
    }

    /// Whether a row is of the same entity as the last one.
    fn is_same(&self, place: &[u8]) -> bool {
        let of_last = self.last.get(CLASS_BYTES..).unwrap_or_default();
        let key = CLASS_BYTES + key_bytes(of_last, self.key);
        self.last
            .get(..key)
            .is_some_and(|key| place.starts_with(key))
    }
}

impl Chunks for SortedChunks {
    fn next_chunk(&mut self) -> Result<Chunk> {
        let mut chunk = Chunk::default();
        loop {
            if !self.is_ahead && !self.merge.advance()? {
                return Ok(chunk);
            }
            let Some(row) = self.merge.row() else {
                return Ok(chunk);
            };
            self.is_ahead = true;
            if chunk.rows == 0 {
                chunk.starts_entity = !self.is_same(row.place);
            } else if chunk.rows >= FEWEST_ROWS && !self.is_same(row.place) {
                return Ok(chunk);
            }
            if !chunk.push(row.values) {
                return Ok(chunk);
            }
            self.is_ahead = false;
            // The file declares this order.
            if *row.place <= *self.last {
                let reason = "sorted rows came back in another order";
                return Err(Error::new(ErrorKind::Failed, reason).hint("check the disk"));
            }
            self.last.clear();
            self.last.extend_from_slice(row.place);
        }
    }
}

/// The outcome for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WrittenRows {
    pub(super) rows: u64,
    /// The smallest and the largest value of the time column, including sentinels.
    pub(super) time: Option<(i64, i64)>,
}

/// Writes rows to `out`.
///
/// # Memory
/// The row group being encoded, and two chunks.
pub(super) fn write_rows<W: Write + Send>(
    context: &Context,
    table: &Arc<Table>,
    output: OutputSettings,
    order: RowOrder<'_>,
    chunks: &mut dyn Chunks,
    out: W,
) -> Result<(WrittenRows, W)> {
    let write = match output.format() {
        Format::Parquet => write_as::<ParquetFile<W>, W>,
        Format::Arrow => write_as::<ArrowFile<W>, W>,
    };
    write(context, table, output, order, chunks, out)
}

fn write_as<F: OutputFile<W>, W: Write + Send>(
    context: &Context,
    table: &Arc<Table>,
    output: OutputSettings,
    order: RowOrder<'_>,
    chunks: &mut dyn Chunks,
    out: W,
) -> Result<(WrittenRows, W)> {
    let output = match order {
        RowOrder::By(_) => {
            output.with_row_groups_below(ENTITY_ROW_GROUP_ROWS, ENTITY_ROW_GROUP_BYTES)
        }
        RowOrder::Published => output,
    };
    let mut file = F::create(out, table, output, order)?;
    let mut builder = file.builder(RowSource::Rows(table), output);
    let unpacker = RowUnpacker::new(table);
    let nearly_full = output.most_rows() * NEARLY_FULL.0 / NEARLY_FULL.1;
    let mut ended = 0;
    let mut chunk = chunks.next_chunk()?;
    while chunk.rows > 0 {
        context.check()?;
        let in_group = usize::try_from(builder.pushed() - ended).unwrap_or(usize::MAX);
        let ends_group = chunk.starts_entity && in_group >= nearly_full;
        if (ends_group || builder.is_full(chunk.rows))
            && let Some(full) = builder.finish()?
        {
            file.write(full)?;
            ended = builder.pushed();
        }
        while builder.is_full(chunk.rows)
            && let Some(full) = builder.finish()?
        {
            file.write(full)?;
        }
        let (pushed, next) = rayon::join(
            || {
                let values = Bytes::from(std::mem::take(&mut chunk.values));
                let rows = unpacker.unpack(&values, chunk.rows).ok_or_else(|| {
                    Error::new(ErrorKind::Failed, "packed rows can't be unpacked")
                })?;
                builder.push_typed(&rows)
            },
            || chunks.next_chunk(),
        );
        pushed?;
        chunk = next?;
    }
    while let Some(last) = builder.finish()? {
        file.write(last)?;
    }
    let written = WrittenRows {
        rows: builder.pushed(),
        time: builder.time(),
    };
    Ok((written, file.finish()?))
}
