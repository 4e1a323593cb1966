//! The values of columns, appended row by row. Pure.
//!
//! A struct keeps the values of its fields in columns of their own, and a list those of its items, so that a
//! row costs no allocation. They become Arrow arrays without another pass over the rows.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch,
    StringArray, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, FieldRef, SchemaRef};
use rayon::prelude::*;
use tracelake_schema::{Column, Kind};

use crate::cell::{Cell, Row};

/// Rows of a table, by column.
#[derive(Debug, Clone, PartialEq)]
pub struct RowValues {
    pub(crate) columns: Vec<ColumnValues>,
    rows: usize,
    /// Values that were spelled differently and mapped to a sentinel.
    pub(crate) mapped: u64,
}

impl RowValues {
    /// No rows of these columns.
    #[must_use]
    pub fn new(columns: &[Column]) -> Self {
        Self {
            columns: columns.iter().map(ColumnValues::new).collect(),
            rows: 0,
            mapped: 0,
        }
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Adds a row.
    ///
    /// # Panics
    /// When a cell is of another kind than its column.
    pub fn push(&mut self, row: &Row) {
        for (column, cell) in self.columns.iter_mut().zip(&row.cells) {
            column.push(cell);
        }
        self.end_row(row.mapped);
    }

    /// Ends a row that has a value in every column.
    pub(crate) fn end_row(&mut self, mapped: u64) {
        self.rows += 1;
        self.mapped += mapped;
    }

    /// Removes the values of a row that has not ended.
    pub(crate) fn undo_row(&mut self) {
        for column in &mut self.columns {
            column.truncate(self.rows);
        }
    }

    /// Joins rows in order.
    #[must_use]
    pub fn concat(columns: &[Column], parts: &[Self]) -> Self {
        let mut all = Self::new(columns);
        let joined = all.columns.par_iter_mut().enumerate();
        joined.for_each(|(index, column)| {
            for part in parts {
                column.append(&part.columns[index]);
            }
        });
        all.rows = parts.iter().map(|part| part.rows).sum();
        all.mapped = parts.iter().map(|part| part.mapped).sum();
        all
    }

    /// The rows as one batch; the columns are in the order of the schema.
    ///
    /// # Errors
    /// When a value is NULL and its column mandatory.
    pub(crate) fn into_batch(self, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
        let columns = self.columns.into_par_iter().zip(schema.fields().par_iter());
        let arrays = columns.map(|(column, field)| column.into_array(field.data_type()));
        let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
        RecordBatch::try_new(Arc::clone(schema), arrays)
    }
}

/// The values of one column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ColumnValues {
    pub(crate) values: Values,
    /// Whether each value is there; one that is NULL has a filler in `values`.
    pub(crate) is_valid: Vec<bool>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Values {
    Integers(Vec<i64>),
    Codes(Vec<i32>),
    Floats(Vec<f64>),
    Booleans(Vec<bool>),
    /// The texts one after another, and where each ends.
    Texts(Vec<u8>, Vec<usize>),
    /// The values of each field.
    Structs(Vec<ColumnValues>),
    /// The items of all lists, and where each list ends.
    Lists(Box<ColumnValues>, Vec<usize>),
}

impl ColumnValues {
    fn new(column: &Column) -> Self {
        let fields = || column.fields.iter().map(Self::new);
        let values = match column.kind {
            // A row of plain fields has the date-times.
            Kind::Integer | Kind::DateTime(_) => Values::Integers(Vec::new()),
            Kind::Code => Values::Codes(Vec::new()),
            Kind::Float => Values::Floats(Vec::new()),
            Kind::Boolean => Values::Booleans(Vec::new()),
            Kind::Text => Values::Texts(Vec::new(), Vec::new()),
            Kind::Struct => Values::Structs(fields().collect()),
            Kind::List => {
                let item = fields().next().expect("a list has a column of items");
                Values::Lists(Box::new(item), Vec::new())
            }
        };
        Self {
            values,
            is_valid: Vec::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.is_valid.len()
    }

    /// Adds a cell.
    ///
    /// # Panics
    /// When it is of another kind than the column.
    fn push(&mut self, cell: &Cell) {
        match (&mut self.values, cell) {
            (_, Cell::Null) => return self.push_null(),
            (Values::Integers(values), Cell::Integer(value)) => values.push(*value),
            (Values::Codes(values), Cell::Code(value)) => values.push(*value),
            (Values::Floats(values), Cell::Float(value)) => values.push(*value),
            (Values::Booleans(values), Cell::Boolean(value)) => values.push(*value),
            (Values::Texts(bytes, ends), Cell::Text(text)) => {
                bytes.extend_from_slice(text.as_bytes());
                ends.push(bytes.len());
            }
            (Values::Structs(fields), Cell::Struct(cells)) => {
                for (field, cell) in fields.iter_mut().zip(cells) {
                    field.push(cell);
                }
            }
            (Values::Lists(item, ends), Cell::List(cells)) => {
                for cell in cells {
                    item.push(cell);
                }
                ends.push(item.len());
            }
            _ => unreachable!("a cell is NULL or of its column's kind"),
        }
        self.is_valid.push(true);
    }

    /// Adds NULL, also to the fields of a struct.
    pub(crate) fn push_null(&mut self) {
        match &mut self.values {
            Values::Integers(values) => values.push(0),
            Values::Codes(values) => values.push(0),
            Values::Floats(values) => values.push(0.0),
            Values::Booleans(values) => values.push(false),
            Values::Texts(bytes, ends) => ends.push(bytes.len()),
            Values::Structs(fields) => fields.iter_mut().for_each(Self::push_null),
            Values::Lists(item, ends) => ends.push(item.len()),
        }
        self.is_valid.push(false);
    }

    /// Keeps the first `len` values; later ones may be incomplete.
    fn truncate(&mut self, len: usize) {
        self.is_valid.truncate(len);
        match &mut self.values {
            Values::Integers(values) => values.truncate(len),
            Values::Codes(values) => values.truncate(len),
            Values::Floats(values) => values.truncate(len),
            Values::Booleans(values) => values.truncate(len),
            Values::Texts(bytes, ends) => {
                ends.truncate(len);
                bytes.truncate(ends.last().copied().unwrap_or_default());
            }
            Values::Structs(fields) => fields.iter_mut().for_each(|field| field.truncate(len)),
            Values::Lists(item, ends) => {
                ends.truncate(len);
                item.truncate(ends.last().copied().unwrap_or_default());
            }
        }
    }

    /// Adds the values of another part of this column.
    fn append(&mut self, other: &Self) {
        let extend_ends = |ends: &mut Vec<usize>, before: usize, others: &[usize]| {
            ends.extend(others.iter().map(|end| before + end));
        };
        match (&mut self.values, &other.values) {
            (Values::Integers(values), Values::Integers(others)) => values.extend(others),
            (Values::Codes(values), Values::Codes(others)) => values.extend(others),
            (Values::Floats(values), Values::Floats(others)) => values.extend(others),
            (Values::Booleans(values), Values::Booleans(others)) => values.extend(others),
            (Values::Texts(bytes, ends), Values::Texts(more, others)) => {
                extend_ends(ends, bytes.len(), others);
                bytes.extend_from_slice(more);
            }
            (Values::Structs(fields), Values::Structs(others)) => {
                let fields = fields.iter_mut().zip(others);
                fields.for_each(|(field, other)| field.append(other));
            }
            (Values::Lists(item, ends), Values::Lists(items, others)) => {
                extend_ends(ends, item.len(), others);
                item.append(items);
            }
            _ => unreachable!("both are parts of one column"),
        }
        self.is_valid.extend_from_slice(&other.is_valid);
    }

    /// The values as an Arrow array.
    ///
    /// # Errors
    /// When a value within one that isn't NULL is NULL and mandatory, or when texts or items are too many
    /// for an array.
    pub(crate) fn into_array(self, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
        let nulls = NullBuffer::from(self.is_valid);
        let nulls = (nulls.null_count() > 0).then_some(nulls);
        Ok(match (self.values, data_type) {
            (Values::Integers(values), _) => Arc::new(Int64Array::try_new(values.into(), nulls)?),
            (Values::Codes(values), _) => Arc::new(Int32Array::try_new(values.into(), nulls)?),
            (Values::Floats(values), _) => Arc::new(Float64Array::try_new(values.into(), nulls)?),
            (Values::Booleans(values), _) => Arc::new(BooleanArray::new(values.into(), nulls)),
            (Values::Texts(bytes, ends), _) => {
                let offsets = offsets(&ends)?;
                Arc::new(StringArray::try_new(offsets, bytes.into(), nulls)?)
            }
            (Values::Structs(columns), DataType::Struct(fields)) => {
                let columns = columns.into_iter().zip(fields.iter());
                let arrays = columns
                    .map(|(column, field): (_, &FieldRef)| column.into_array(field.data_type()));
                let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
                Arc::new(StructArray::try_new(fields.clone(), arrays, nulls)?)
            }
            (Values::Lists(items, ends), DataType::List(item)) => {
                let items = items.into_array(item.data_type())?;
                let offsets = offsets(&ends)?;
                Arc::new(ListArray::try_new(Arc::clone(item), offsets, items, nulls)?)
            }
            _ => unreachable!("the schema is that of the table"),
        })
    }
}

/// Arrow's offsets of values that end here.
fn offsets(ends: &[usize]) -> Result<OffsetBuffer<i32>, ArrowError> {
    let last = ends.last().copied().unwrap_or_default();
    if i32::try_from(last).is_err() {
        return Err(ArrowError::OffsetOverflowError(last));
    }
    let lengths = ends.iter().scan(0, |start, &end| {
        let length = end - *start;
        *start = end;
        Some(length)
    });
    Ok(OffsetBuffer::from_lengths(lengths))
}
