//! Files of other writers against the same rows as JSON, in every encoding of values and of lists.

#![cfg(test)]

mod lists;
mod rejected;
mod written;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use tracelake_core::field_order::FieldOrder;
use tracelake_schema::arrow::arrow_schema;
use tracelake_testkit::every_kind::TABLE;

use super::{ParquetRows, RowReject};
use crate::batch::{BATCH_ROWS, BatchBuilder};
use crate::output::BlockBuilder;
use crate::samples::WHOLE;
use crate::syntax::ChunkRecords;

fn order() -> FieldOrder {
    FieldOrder::built_in(&TABLE, "here")
}

/// The rows of a file, its rejects, and how many rows weren't selected.
fn read(file: &Bytes, order: &FieldOrder) -> (RecordBatch, Vec<RowReject>, u64) {
    let footer = ArrowReaderMetadata::load(file, ArrowReaderOptions::new()).unwrap();
    let footer = Arc::clone(footer.metadata());
    let (mut rows, warnings) = ParquetRows::new(file.clone(), footer, order).unwrap();
    assert_eq!(warnings, Vec::<String>::new());
    let mut builder = BatchBuilder::new(&order.table, BATCH_ROWS);
    let (mut rejects, mut not_selected, mut count) = (Vec::new(), 0, 0);
    while let Some(chunk) = rows.next_chunk().unwrap() {
        count += chunk.count();
        builder.push_typed(&chunk.rows).unwrap();
        not_selected += chunk.not_selected;
        rejects.extend(chunk.rejects);
    }
    assert_eq!(rows.position(), count);
    (all(builder), rejects, not_selected)
}

/// The rows of JSON lines, all of which are good.
fn read_json(lines: &str, order: &FieldOrder) -> RecordBatch {
    let mut builder = BatchBuilder::new(&order.table, BATCH_ROWS);
    let mut records = ChunkRecords::new(order);
    records.split(lines.as_bytes(), order, WHOLE);
    let left_out = records.push(&mut builder, lines.as_bytes(), order).unwrap();
    assert!(left_out.rejects.is_empty(), "{:?}", left_out.rejects);
    all(builder)
}

/// All rows of a builder.
fn all(mut builder: BatchBuilder) -> RecordBatch {
    let schema = arrow_schema(&TABLE);
    let batches = std::iter::from_fn(|| builder.finish().unwrap());
    let batches: Vec<RecordBatch> = batches.collect();
    match batches.first() {
        Some(first) => concat_batches(&first.schema(), &batches).unwrap(),
        None => RecordBatch::new_empty(schema),
    }
}
