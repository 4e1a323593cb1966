//! Rows of cells to Arrow arrays.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch,
    StringArray, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, FieldRef, SchemaRef};
use rayon::prelude::*;

use crate::cell::{Cell, Row};

type Result<T> = std::result::Result<T, ArrowError>;

/// Rows as one batch; the cells of a row are in the order of the schema.
///
/// # Errors
/// When a cell is NULL and its column mandatory.
pub(crate) fn record_batch(schema: &SchemaRef, rows: &[Row]) -> Result<RecordBatch> {
    let fields = schema.fields().par_iter().enumerate();
    let arrays = fields.map(|(index, field)| {
        let cells: Vec<&Cell> = rows.iter().map(|row| &row.cells[index]).collect();
        array(field.data_type(), &cells)
    });
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    RecordBatch::try_new(Arc::clone(schema), arrays)
}

/// The cells of one column.
///
/// # Errors
/// When a value within a cell is NULL and mandatory.
///
/// # Panics
/// When a cell is of another kind than the column.
pub(crate) fn array(data_type: &DataType, cells: &[&Cell]) -> Result<ArrayRef> {
    macro_rules! plain {
        ($array:ty, $kind:path) => {{
            let values = cells.iter().map(|cell| match cell {
                $kind(value) => Some(value.clone()),
                other => null(other),
            });
            Arc::new(values.collect::<$array>())
        }};
    }
    Ok(match data_type {
        DataType::Int64 => plain!(Int64Array, Cell::Integer),
        DataType::Int32 => plain!(Int32Array, Cell::Code),
        DataType::Float64 => plain!(Float64Array, Cell::Float),
        DataType::Boolean => plain!(BooleanArray, Cell::Boolean),
        DataType::Struct(fields) => {
            let of_field = |(index, field): (usize, &FieldRef)| {
                let inner = cells.iter().map(|cell| match cell {
                    Cell::Struct(cells) => &cells[index],
                    other => null(other).unwrap_or(&Cell::Null),
                });
                array(field.data_type(), &inner.collect::<Vec<_>>())
            };
            let arrays = fields.iter().enumerate().map(of_field);
            let arrays = arrays.collect::<Result<Vec<_>>>()?;
            Arc::new(StructArray::try_new(fields.clone(), arrays, nulls(cells))?)
        }
        DataType::List(item) => {
            let lists = cells.iter().map(|cell| match cell {
                Cell::List(items) => items.as_slice(),
                other => null(other).unwrap_or(&[]),
            });
            let offsets = OffsetBuffer::from_lengths(lists.clone().map(<[Cell]>::len));
            let inner: Vec<&Cell> = lists.flatten().collect();
            let values = array(item.data_type(), &inner)?;
            Arc::new(ListArray::try_new(
                Arc::clone(item),
                offsets,
                values,
                nulls(cells),
            )?)
        }
        _ => {
            let texts = cells.iter().map(|cell| match cell {
                Cell::Text(text) => Some(text.as_str()),
                other => null(other),
            });
            Arc::new(texts.collect::<StringArray>())
        }
    })
}

/// Returns `None` for a cell that has no value.
fn null<T>(cell: &Cell) -> Option<T> {
    assert_eq!(*cell, Cell::Null, "a cell is NULL or of its column's kind");
    None
}

fn nulls(cells: &[&Cell]) -> Option<NullBuffer> {
    let valid = NullBuffer::from_iter(cells.iter().map(|cell| **cell != Cell::Null));
    (valid.null_count() > 0).then_some(valid)
}
