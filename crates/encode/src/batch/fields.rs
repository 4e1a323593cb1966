//! The fields of a chunk to Arrow arrays: the plain twin of `column`. It keeps nothing from one chunk
//! to the next, and parses every field.

use std::iter::repeat_n;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, Int64Array, RecordBatch, StringArray,
    builder::{BooleanBuilder, PrimitiveBuilder, StringBuilder},
    new_null_array,
};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::filter::filter_record_batch;
use rayon::prelude::*;
use tracelake_core::fault::Fault;
use tracelake_core::field_order::FieldOrder;
use tracelake_schema::{Column, Kind, Zone, arrow::data_type};

use crate::column::{Spelled, is_null, other_spelling};
use crate::reject::Reject;
use crate::rows::rejects;
use crate::split::Records;
use crate::value;

/// The rows of one chunk of text.
#[derive(Debug)]
pub(crate) struct ChunkRows {
    /// The good rows, in the order of the file.
    pub batch: RecordBatch,
    /// The other rows, in the order of the file, as [`crate::rows::RowGroupBuilder::push`] returns them.
    pub rejects: Vec<Reject>,
    /// Values of good rows that were spelled differently and mapped to a sentinel.
    pub mapped: u64,
    /// Integers of good rows that were accepted although they are spelled `5.0`.
    pub integral_floats: u64,
}

/// Reads the records of a chunk; `schema` is the Arrow schema of its table.
///
/// # Errors
/// When the files lack a mandatory column of the schema.
///
/// # Memory
/// The arrays, at most four times the text plus 1 bit per field.
pub(crate) fn chunk_rows(
    order: &FieldOrder,
    schema: &SchemaRef,
    chunk: &[u8],
    records: &Records,
) -> Result<ChunkRows, ArrowError> {
    let columns = order.table.columns.par_iter().enumerate();
    let columns = columns.map(|(index, column)| {
        let mut fields = order.fields.iter().enumerate();
        match fields.find(|(_, field)| field.index == Some(index)) {
            Some((position, field)) => ColumnFields {
                column,
                mandatory: field.mandatory,
                accepts_integral_floats: order.accept.integral_floats,
                chunk,
                records,
                position,
            }
            .read(),
            None => match order.captured(index) {
                Some(value) => ColumnValues::captured(column, value, records.len()),
                None => ColumnValues::absent(column, records.len()),
            },
        }
    });
    let columns: Vec<ColumnValues> = columns.collect();
    let (rejects, faulty) = rejects(&order.fields, |index| &columns[index].faults, records);
    let spelled = |wanted: Spelled| {
        let others = columns.iter().flat_map(|column| &column.others);
        let others = others.filter(|(record, spelled)| {
            *spelled == wanted && faulty.binary_search(record).is_err()
        });
        others.count() as u64
    };
    let mapped = spelled(Spelled::AsSentinel);
    let integral_floats = spelled(Spelled::AsFloat);
    let arrays = columns.into_iter().map(|column| column.values).collect();
    let batch = RecordBatch::try_new(Arc::clone(schema), arrays)?;
    Ok(ChunkRows {
        batch: without(batch, &faulty)?,
        rejects,
        mapped,
        integral_floats,
    })
}

/// A batch without the rows `faulty`, which are in order.
fn without(batch: RecordBatch, faulty: &[usize]) -> Result<RecordBatch, ArrowError> {
    if faulty.is_empty() {
        return Ok(batch);
    }
    let mut keep = vec![true; batch.num_rows()];
    for &record in faulty {
        keep[record] = false;
    }
    filter_record_batch(&batch, &BooleanArray::from(keep))
}

/// One column of the well-formed records of a chunk.
struct ColumnValues {
    /// One value per record: NULL if the field is empty, any value if it has a fault.
    values: ArrayRef,
    /// The records whose field has no value, in order.
    faults: Vec<(usize, Fault)>,
    /// The records whose field has another spelling, in order.
    others: Vec<(usize, Spelled)>,
}

impl ColumnValues {
    /// A column that the file does not have.
    fn absent(column: &Column, records: usize) -> Self {
        Self {
            values: new_null_array(&data_type(column), records),
            faults: Vec::new(),
            others: Vec::new(),
        }
    }

    /// A column that the name of the file gives this value.
    fn captured(column: &Column, value: &str, records: usize) -> Self {
        let values: ArrayRef = match column.kind {
            Kind::Integer => {
                let value = value::integer(value.as_bytes()).ok();
                Arc::new(Int64Array::from(vec![value; records]))
            }
            _ => Arc::new(StringArray::from_iter_values(repeat_n(value, records))),
        };
        Self {
            values,
            faults: Vec::new(),
            others: Vec::new(),
        }
    }
}

/// The fields of one column of a chunk.
struct ColumnFields<'a> {
    column: &'static Column,
    /// Whether an empty field is a fault.
    mandatory: bool,
    /// Whether integers spelled `5.0` are accepted.
    accepts_integral_floats: bool,
    chunk: &'a [u8],
    records: &'a Records,
    /// The position of the column's field in a record.
    position: usize,
}

impl<'a> ColumnFields<'a> {
    fn read(&self) -> ColumnValues {
        let mut others = Vec::new();
        let mut other = |record, field, fault| {
            let accepts = self.accepts_integral_floats;
            let found = other_spelling(self.column, field, fault, accepts);
            let (value, spelled) = found.ok_or(fault)?;
            if spelled != Spelled::Plainly {
                others.push((record, spelled));
            }
            Ok(value)
        };
        let (values, faults): (ArrayRef, _) = match self.column.kind {
            Kind::Integer => self.numbers::<Int64Type>(|record, field| {
                value::integer(field).or_else(|fault| other(record, field, fault))
            }),
            Kind::DateTime(zone) => {
                let (values, faults) = self
                    .numbers::<TimestampMicrosecondType>(|_, field| value::date_time(field, zone));
                let values = match zone {
                    Zone::None => values,
                    Zone::Published => {
                        let values = values.as_primitive::<TimestampMicrosecondType>().clone();
                        Arc::new(values.with_timezone("UTC"))
                    }
                };
                (values, faults)
            }
            Kind::Code => self.numbers::<Int32Type>(|record, field| {
                value::code(field).or_else(|fault| {
                    let value = other(record, field, fault)?;
                    i32::try_from(value).map_err(|_| fault)
                })
            }),
            Kind::Float => self.numbers::<Float64Type>(|_, field| value::float(field)),
            Kind::Boolean => {
                let mut builder = BooleanBuilder::with_capacity(self.records.len());
                let faults = self.each(
                    |_, field| value::boolean(field),
                    |value| builder.append_option(value),
                );
                (Arc::new(builder.finish()), faults)
            }
            // A table of plain fields has neither structs nor lists.
            Kind::Text | Kind::Struct | Kind::List => {
                let mut builder = StringBuilder::new();
                let faults = self.each(
                    |_, field| value::text(field),
                    |value| builder.append_option(value),
                );
                (Arc::new(builder.finish()), faults)
            }
        };
        ColumnValues {
            values,
            faults,
            others,
        }
    }

    fn numbers<T: ArrowPrimitiveType>(
        &self,
        read: impl FnMut(usize, &'a [u8]) -> Result<T::Native, Fault>,
    ) -> (ArrayRef, Vec<(usize, Fault)>) {
        let mut builder = PrimitiveBuilder::<T>::with_capacity(self.records.len());
        let faults = self.each(read, |value| builder.append_option(value));
        (Arc::new(builder.finish()), faults)
    }

    /// Adds one value per record; returns the records that have a fault. Their value is the type's
    /// default, because a mandatory column can't hold NULL.
    fn each<V: Default>(
        &self,
        mut read: impl FnMut(usize, &'a [u8]) -> Result<V, Fault>,
        mut put: impl FnMut(Option<V>),
    ) -> Vec<(usize, Fault)> {
        let mut faults = Vec::new();
        let fields = self.records.column(self.position, 0..self.records.len());
        for (record, (start, end)) in fields.iter().enumerate() {
            let field = &self.chunk[start..end];
            let value = match field.is_empty() || is_null(self.column, field) {
                true if self.mandatory => Err(Fault::Empty),
                true => Ok(None),
                false => read(record, field).map(Some),
            };
            put(value.unwrap_or_else(|fault| {
                faults.push((record, fault));
                Some(V::default())
            }));
        }
        faults
    }
}
