//! Records and rows to Arrow record batches of a fixed number of rows. Memory only.

mod fields;

use arrow_array::types::{Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, Int64Array, RecordBatch, cast::AsArray};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::coalesce::BatchCoalescer;
use tracelake_core::error::{Error, Result};
use tracelake_core::field_order::FieldOrder;
use tracelake_schema::Table;
use tracelake_schema::arrow::arrow_schema;

use crate::column::whole;
use crate::column_values::{self, ReadRows};
use crate::nodes::Node;
use crate::output::{BlockBuilder, arrow_error};
use crate::reject::Reject;
use crate::row_fields::RowFields;
use crate::rows::CHUNK_BYTES;
use crate::split::Records;
use crate::typed_rows::TypedRows;
use crate::value::OtherSpellings;
use fields::chunk_rows;

/// Rows in a batch, unless they take more than 32 MiB; those of task_usage take about 10 MB.
pub const BATCH_ROWS: usize = 1 << 16;

/// The most bytes of values in a batch. Only rows of more than 512 bytes reach it.
const BATCH_BYTES: usize = 32 << 20;

/// Builds record batches from the records or the rows of one table.
///
/// A batch has as many rows as requested, or fewer if these would take more than 32 MiB. Where it ends
/// depends on the text alone.
///
/// # Memory
/// At most 32 MiB of values, and as much again while a batch is put together.
pub struct BatchBuilder {
    schema: SchemaRef,
    nodes: Vec<Node>,
    coalescer: BatchCoalescer,
    /// Bytes of values since the last full batch.
    bytes: usize,
    /// The index of the column that orders rows in time.
    time: Option<usize>,
    range: Option<(i64, i64)>,
    rows: u64,
    others: OtherSpellings,
}

impl BatchBuilder {
    /// Prepares for the rows of a table, in batches of `batch_rows`.
    pub fn new(table: &Table, batch_rows: usize) -> Self {
        let schema = arrow_schema(table);
        Self {
            nodes: Node::of(&table.columns),
            coalescer: BatchCoalescer::new(schema.clone(), batch_rows.max(1)),
            schema,
            bytes: 0,
            time: table.time,
            range: None,
            rows: 0,
            others: OtherSpellings::default(),
        }
    }

    fn add(&mut self, batch: RecordBatch) -> Result<()> {
        let times = self.time.map(|time| batch.column(time));
        if let Some((first, last)) = times.and_then(|times| time_range(times)) {
            let (low, high) = self.range.unwrap_or((first, last));
            self.range = Some((low.min(first), high.max(last)));
        }
        self.rows += batch.num_rows() as u64;
        let columns = batch.columns().iter();
        let sizes = columns.map(|column| column.to_data().get_slice_memory_size());
        let bytes: usize = sizes
            .sum::<std::result::Result<_, _>>()
            .map_err(encode_error)?;
        self.coalescer.push_batch(batch).map_err(encode_error)?;
        // The rest of a chunk takes at most as much as the whole chunk.
        let is_begun = !self.coalescer.has_completed_batch();
        self.bytes = if is_begun { self.bytes + bytes } else { bytes };
        Ok(())
    }
}

impl BlockBuilder for BatchBuilder {
    type Block = RecordBatch;

    fn is_full(&self, _: usize) -> bool {
        self.coalescer.has_completed_batch()
            || (self.coalescer.get_buffered_rows() > 0 && self.bytes + CHUNK_BYTES > BATCH_BYTES)
    }

    fn push_fields(
        &mut self,
        order: &FieldOrder,
        chunk: &[u8],
        records: &Records,
    ) -> Result<Vec<Reject>> {
        let read = chunk_rows(order, &self.schema, chunk, records).map_err(encode_error)?;
        self.others += read.others;
        self.add(read.batch)?;
        Ok(read.rejects)
    }

    fn push_rows(&mut self, text: &[u8], rows: &RowFields) -> Result<Vec<usize>> {
        let read = column_values::read(&self.nodes, &self.schema, text, rows);
        match read.map_err(encode_error)? {
            ReadRows::Faulty(rows) => Ok(rows),
            ReadRows::Batch(batch, others) => {
                self.others += others;
                self.add(batch)?;
                Ok(Vec::new())
            }
        }
    }

    fn push_typed(&mut self, rows: &TypedRows) -> Result<()> {
        let batch = column_values::read_typed(&self.nodes, &self.schema, rows);
        self.others += rows.others;
        self.add(batch.map_err(encode_error)?)
    }

    /// Takes the next full batch, or else the rows that are left.
    fn finish(&mut self) -> Result<Option<RecordBatch>> {
        if !self.coalescer.has_completed_batch() {
            let finished = self.coalescer.finish_buffered_batch();
            finished.map_err(encode_error)?;
            self.bytes = 0;
        }
        Ok(self.coalescer.next_completed_batch())
    }

    fn pushed(&self) -> u64 {
        self.rows
    }

    fn others(&self) -> OtherSpellings {
        self.others
    }

    fn time(&self) -> Option<(i64, i64)> {
        self.range
    }
}

fn encode_error(error: ArrowError) -> Error {
    arrow_error(error, "encode")
}

/// The smallest and the largest value of a time column without NULLs, as a manifest records them: date-times in
/// microseconds, and the whole numbers around floats.
#[must_use]
pub fn time_range(times: &dyn Array) -> Option<(i64, i64)> {
    if let Some(times) = times.as_primitive_opt::<Int64Type>() {
        return range_of(times);
    }
    if let Some(times) = times.as_primitive_opt::<TimestampMicrosecondType>() {
        return range_of(&times.reinterpret_cast::<Int64Type>());
    }
    let floats = times.as_primitive_opt::<Float64Type>()?;
    let pairs = floats.iter().flatten().map(|value| (value, value));
    let range = pairs.reduce(|(low, high), (value, _)| (low.min(value), high.max(value)));
    range.map(|(low, high)| whole(low, high))
}

/// The smallest and the largest number, without NULLs.
pub fn range_of(values: &Int64Array) -> Option<(i64, i64)> {
    let pairs = values.iter().flatten().map(|value| (value, value));
    pairs.reduce(|(low, high), (value, _)| (low.min(value), high.max(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_leaves_nulls_out() {
        assert_eq!(
            range_of(&Int64Array::from(vec![None, Some(3), Some(-1)])),
            Some((-1, 3))
        );
        assert_eq!(range_of(&Int64Array::from(vec![None])), None);
    }
}
