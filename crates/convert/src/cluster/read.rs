//! Some rows of a lake, in their order.

use std::sync::Arc;

use arrow_array::RecordBatch;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_encode::packed_rows::RowPacker;
use tracelake_lake::manifest::PartFacts;
use tracelake_schema::Table;
use tracelake_schema::arrow::arrow_schema;

use super::write::{Chunk, Chunks};
use crate::lake_file::BatchIterator;
use crate::lake_files::LakeFiles;

/// Some rows of a table, in their order.
pub(super) struct CutChunks<'a> {
    files: &'a LakeFiles<'a>,
    table: Arc<Table>,
    packer: RowPacker,
    /// The parts that are left.
    parts: &'a [PartFacts],
    /// Rows to skip in the first of them.
    skipped: u64,
    /// Rows that are left.
    left: u64,
    batches: Option<BatchIterator>,
    batch: RecordBatch,
    next: usize,
}

impl<'a> CutChunks<'a> {
    /// `rows` rows of some parts, after the first `skipped`.
    pub(super) fn new(
        files: &'a LakeFiles<'a>,
        table: &Arc<Table>,
        mut parts: &'a [PartFacts],
        mut skipped: u64,
        rows: u64,
    ) -> Self {
        while let Some((first, rest)) = parts.split_first()
            && first.rows_out <= skipped
        {
            skipped -= first.rows_out;
            parts = rest;
        }
        Self {
            files,
            table: Arc::clone(table),
            packer: RowPacker::new(table, &[]),
            parts,
            skipped,
            left: rows,
            batches: None,
            batch: RecordBatch::new_empty(arrow_schema(table)),
            next: 0,
        }
    }

    /// Makes sure that there is a row at hand; false at the end.
    fn fill(&mut self) -> Result<bool> {
        while self.next == self.batch.num_rows() {
            let Some((part, rest)) = self.parts.split_first() else {
                return Ok(false);
            };
            let batches = match &mut self.batches {
                Some(batches) => batches,
                None => {
                    let opened = self.files.rows(&self.table, part, self.skipped)?;
                    self.skipped = 0;
                    self.batches.insert(opened)
                }
            };
            match batches.next() {
                Some(batch) => (self.batch, self.next) = (self.files.batch(part, batch)?, 0),
                None => (self.batches, self.parts) = (None, rest),
            }
        }
        Ok(true)
    }
}

impl Chunks for CutChunks<'_> {
    fn next_chunk(&mut self) -> Result<Chunk> {
        let mut chunk = Chunk::default();
        let mut values = Vec::new();
        while self.left > 0 && self.fill()? {
            let part = self.parts.first();
            let Some(rows) = self.packer.batch(&self.batch) else {
                return Err(part.map_or_else(
                    || Error::new(ErrorKind::Failed, "a batch of no file"),
                    |part| self.files.other_columns(part),
                ));
            };
            while self.left > 0 && self.next < self.batch.num_rows() {
                values.clear();
                rows.push_values(self.next, &mut values);
                if !chunk.push(&values) {
                    return Ok(chunk);
                }
                self.next += 1;
                self.left -= 1;
            }
        }
        Ok(chunk)
    }
}
