//! Packed rows against the batches that they were packed from.

use std::cmp::Ordering;

use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use proptest::prelude::*;
use serde_json::Value;
use tracelake_core::field_order::FieldOrder;
use tracelake_core::selection::Sample;
use tracelake_schema::arrow::arrow_schema;
use tracelake_testkit::every_kind::TABLE;

use super::*;
use crate::batch::{BATCH_ROWS, BatchBuilder};
use crate::output::BlockBuilder;
use crate::samples::{WHOLE, object};
use crate::syntax::ChunkRecords;

fn all(mut builder: BatchBuilder) -> RecordBatch {
    let batches: Vec<RecordBatch> = std::iter::from_fn(|| builder.finish().unwrap()).collect();
    match batches.first() {
        Some(first) => concat_batches(&first.schema(), &batches).unwrap(),
        None => RecordBatch::new_empty(arrow_schema(&TABLE)),
    }
}

fn builder() -> BatchBuilder {
    BatchBuilder::new(&TABLE, BATCH_ROWS)
}

/// The rows of some objects of JSON.
fn batch(rows: &[Value]) -> RecordBatch {
    let order = FieldOrder::built_in(&TABLE, "here");
    let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
    let mut builder = builder();
    let mut records = ChunkRecords::new(&order);
    records.split(lines.as_bytes(), &order, WHOLE);
    let left_out = records
        .push(&mut builder, lines.as_bytes(), &order)
        .unwrap();
    assert!(left_out.rejects.is_empty(), "{:?}", left_out.rejects);
    all(builder)
}

fn rows() -> impl Strategy<Value = Vec<Value>> {
    let row = object(&TABLE.columns, None).prop_map(|(_, json)| json);
    prop::collection::vec(row, 0..30)
}

/// The columns by which rows are ordered here: all that have a plain kind.
fn order() -> Vec<usize> {
    let is_flat = |kind| !matches!(kind, Kind::Struct | Kind::List);
    let columns = TABLE.columns.iter().enumerate();
    // Few values first, so that the others count.
    let mut order: Vec<usize> = columns
        .filter(|(_, column)| is_flat(column.kind))
        .map(|(index, _)| index)
        .collect();
    order.sort_by_key(|&index| TABLE.columns[index].kind != Kind::Boolean);
    order
}

/// Compares two values of a column, NULL first.
fn compare(array: &dyn Array, one: usize, other: usize) -> Ordering {
    let nulls = [one, other].map(|row| array.is_valid(row));
    if nulls != [true, true] {
        return nulls[0].cmp(&nulls[1]);
    }
    if let Some(values) = array.as_primitive_opt::<Float64Type>() {
        return values.value(one).total_cmp(&values.value(other));
    }
    if let Some(values) = array.as_string_opt::<i32>() {
        return values.value(one).cmp(values.value(other));
    }
    if let Some(values) = array.as_boolean_opt() {
        return values.value(one).cmp(&values.value(other));
    }
    if let Some(values) = array.as_primitive_opt::<Int32Type>() {
        return values.value(one).cmp(&values.value(other));
    }
    if let Some(values) = array.as_primitive_opt::<TimestampMicrosecondType>() {
        return values.value(one).cmp(&values.value(other));
    }
    let values = array.as_primitive::<Int64Type>();
    values.value(one).cmp(&values.value(other))
}

proptest! {
    #[test]
    fn rows_come_back(rows in rows()) {
        let batch = batch(&rows);
        let mut packer = RowPacker::new(&TABLE, &[]);
        let packed = packer.batch(&batch).unwrap();
        let mut bytes = Vec::new();
        // Backwards, as if they were sorted.
        (0..batch.num_rows()).rev().for_each(|row| packed.push_values(row, &mut bytes));
        let bytes = Bytes::from(bytes);
        let unpacker = RowUnpacker::new(&TABLE);
        let unpacked = unpacker.unpack(&bytes, batch.num_rows()).unwrap();
        let mut builder = builder();
        builder.push_typed(&unpacked).unwrap();
        let backwards: arrow_array::UInt32Array = (0..u32::try_from(batch.num_rows()).unwrap()).rev().collect();
        prop_assert_eq!(all(builder), take_record_batch(&batch, &backwards).unwrap());
        // Other bytes are refused, or are other rows.
        for end in 0..bytes.len() {
            prop_assert!(unpacker.unpack(&bytes.slice(..end), batch.num_rows()).is_none());
        }
    }

    #[test]
    fn places_compare_as_rows_do(rows in rows()) {
        let batch = batch(&rows);
        let order = order();
        let mut packer = RowPacker::new(&TABLE, &order);
        let packed = packer.batch(&batch).unwrap();
        let place = |row| {
            let mut place = Vec::new();
            packed.push_place(row, &mut place);
            place
        };
        for (one, other) in (0..batch.num_rows()).flat_map(|one| (0..one).map(move |other| (one, other))) {
            let mut columns = order.iter().map(|&column| compare(batch.column(column), one, other));
            let expected = columns.find(|order| order.is_ne()).unwrap_or(Ordering::Equal);
            prop_assert_eq!(place(one).cmp(&place(other)), expected);
        }
    }

    #[test]
    fn the_key_is_the_first_value(rows in rows(), text in "[\0a\u{1}é]{0,5}") {
        let mut rows = rows;
        let user = TABLE.columns.iter().position(|column| column.kind == Kind::Text).unwrap();
        for row in rows.iter_mut().step_by(2) {
            row[&*TABLE.columns[user].content] = text.clone().into();
        }
        let batch = batch(&rows);
        let time = TABLE.time.unwrap();
        for key in [user, time] {
            let mut packer = RowPacker::new(&TABLE, &[key, time]);
            let mut packed = packer.batch(&batch).unwrap();
            for row in 0..batch.num_rows() {
                let (mut place, mut alone) = (Vec::new(), Vec::new());
                packed.push_place(row, &mut place);
                packed.columns[key].push_place(row, &mut alone);
                prop_assert_eq!(key_bytes(&place, TABLE.columns[key].kind), alone.len());
                let column = batch.column(key);
                let canonical = match column.as_string_opt::<i32>() {
                    _ if column.is_null(row) => String::new(),
                    Some(texts) => texts.value(row).to_owned(),
                    None => column.as_primitive::<Int64Type>().value(row).to_string(),
                };
                prop_assert_eq!(packed.hash(row), Sample::hash(canonical.as_bytes()));
            }
        }
    }
}

#[test]
fn another_table_is_refused() {
    let batch = batch(&[]);
    let fewer = batch.project(&[0]).unwrap();
    let mut packer = RowPacker::new(&TABLE, &[]);
    assert!(packer.batch(&fewer).is_none());
    let mut columns: Vec<usize> = (0..batch.num_columns()).collect();
    columns.reverse();
    assert!(packer.batch(&batch.project(&columns).unwrap()).is_none());
}
