//! Fields to a [`RecordBatch`], one tight loop per column, and rejects. Memory only.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, BooleanBufferBuilder, Float64Array, Int32Array, Int64Array,
    NullBufferBuilder, RecordBatch, StringArray, new_null_array,
};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{ArrowNativeType, SchemaRef};
use tracelake_schema::{Column, Kind, Sentinel};

use crate::error::{Error, ErrorKind, Result};
use crate::fault::Fault;
use crate::layout::{Field, Layout};
use crate::split::Records;
use crate::value;

/// A row that could not be converted, as a place in the chunk that it came in.
#[derive(Debug, Clone, PartialEq)]
pub struct Reject {
    /// Its place among all records of the chunk, from 0.
    pub ordinal: usize,
    /// The bytes of the row, without its line ending.
    pub row: Range<usize>,
    /// The bytes of the faulty field; the whole row where its shape is wrong.
    pub field: Range<usize>,
    /// The column of the field; `None` where the row's shape is wrong.
    pub column: Option<&'static Column>,
    /// What is wrong.
    pub fault: Fault,
}

/// Rows of one table on their way to a batch.
///
/// # Memory
/// The values of the rows pushed since the last [`Rows::finish`].
pub struct Rows {
    schema: SchemaRef,
    fields: Vec<Field>,
    /// One for each field of the file.
    cells: Vec<Cells>,
    /// Rows since the last batch, faulty ones included.
    rows: usize,
    /// Which of them are faulty, in order.
    faulty: Vec<usize>,
    sentinels_mapped: u64,
}

/// The values of one column.
struct Cells {
    values: Values,
    valid: NullBufferBuilder,
}

enum Values {
    Integer(Vec<i64>),
    Code(Vec<i32>),
    Float(Vec<f64>),
    Boolean(BooleanBufferBuilder),
    Text { offsets: Vec<i32>, bytes: Vec<u8> },
}

impl Rows {
    /// Prepares for the rows of a file; `schema` is the Arrow schema of the layout's table.
    #[must_use]
    pub fn new(layout: &Layout, schema: SchemaRef) -> Self {
        let cells = layout
            .fields
            .iter()
            .map(|field| Cells::new(field.column.kind))
            .collect();
        Self {
            schema,
            fields: layout.fields.clone(),
            cells,
            rows: 0,
            faulty: Vec::new(),
            sentinels_mapped: 0,
        }
    }

    /// Rows since the last batch, faulty ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Bytes that these rows take, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.cells.iter().map(Cells::bytes).sum()
    }

    /// Whether no row was pushed since the last batch.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Values that were spelled in another way and mapped to a sentinel, since the beginning.
    #[must_use]
    pub fn sentinels_mapped(&self) -> u64 {
        self.sentinels_mapped
    }

    /// Takes the well-formed records of a chunk and returns the rejects among all of its records,
    /// in order; of a row with several faulty fields the first is named.
    pub fn push(&mut self, chunk: &[u8], records: &Records) -> Vec<Reject> {
        let mut faults: Vec<(usize, usize, Fault)> = Vec::new();
        let mut mapped: Vec<usize> = Vec::new();
        for (position, (field, cells)) in self.fields.iter().zip(&mut self.cells).enumerate() {
            cells.extend(
                chunk,
                records,
                position,
                field.mandatory,
                |record, fault| {
                    let (start, end) = records.field(record, position);
                    match sentinel(field.column, &chunk[start..end], fault) {
                        Some(sentinel) => {
                            mapped.push(record);
                            Some(sentinel.value)
                        }
                        None => {
                            faults.push((record, position, fault));
                            None
                        }
                    }
                },
            );
        }
        // What was mapped in a row that is rejected is not in the output.
        mapped.retain(|record| !faults.iter().any(|(faulty, ..)| faulty == record));
        self.sentinels_mapped += mapped.len() as u64;
        let rejects = self.rejects(records, faults);
        self.rows += records.len();
        rejects
    }

    /// Lists the rejects and remembers the faulty rows.
    fn rejects(
        &mut self,
        records: &Records,
        mut faults: Vec<(usize, usize, Fault)>,
    ) -> Vec<Reject> {
        if faults.is_empty() && records.malformed().is_empty() {
            return Vec::new();
        }
        // By row, then by field in the order of the file; the sort is stable on both.
        faults.sort_by_key(|&(record, position, _)| (record, position));
        faults.dedup_by_key(|&mut (record, ..)| record);
        self.faulty
            .extend(faults.iter().map(|&(record, ..)| self.rows + record));
        let faulty = faults.iter().map(|&(record, position, fault)| {
            let (row_start, row_end) = records.record(record);
            let (start, end) = records.field(record, position);
            Reject {
                ordinal: records.ordinal(record),
                row: row_start..row_end,
                field: start..end,
                column: Some(self.fields[position].column),
                fault,
            }
        });
        let malformed = records.malformed().iter().map(|malformed| {
            let row = malformed.start as usize..malformed.end as usize;
            Reject {
                ordinal: malformed.ordinal as usize,
                row: row.clone(),
                field: row,
                column: None,
                fault: malformed.fault,
            }
        });
        let mut rejects: Vec<Reject> = faulty.chain(malformed).collect();
        rejects.sort_by_key(|reject| reject.ordinal);
        rejects
    }

    /// Makes a batch of the good rows pushed so far, in their order, and starts anew.
    ///
    /// # Errors
    /// When Arrow refuses the columns, which would be a defect of this crate.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        let rows = std::mem::take(&mut self.rows);
        let mut columns: Vec<Option<ArrayRef>> = vec![None; self.schema.fields().len()];
        for (field, cells) in self.fields.iter().zip(&mut self.cells) {
            columns[field.index] = Some(cells.finish());
        }
        let columns = columns
            .into_iter()
            .zip(self.schema.fields())
            .map(|(column, field)| {
                column.unwrap_or_else(|| new_null_array(field.data_type(), rows))
            });
        let schema = self.schema.clone();
        let batch = RecordBatch::try_new(schema, columns.collect()).map_err(arrow_error)?;
        if self.faulty.is_empty() {
            return Ok(batch);
        }
        let mut good = vec![true; rows];
        for row in self.faulty.drain(..) {
            good[row] = false;
        }
        filter_record_batch(&batch, &BooleanArray::from(good)).map_err(arrow_error)
    }
}

/// Arrow's errors are text; this is where they enter.
fn arrow_error(error: arrow::error::ArrowError) -> Error {
    Error::new(
        ErrorKind::Failed,
        format!("cannot make a batch of rows: {error}"),
    )
    .because(error)
}

/// The sentinel that a field means although it does not fit its column, if there is one.
fn sentinel(column: &'static Column, field: &[u8], fault: Fault) -> Option<&'static Sentinel> {
    if !matches!(fault, Fault::OutOfRange { .. }) {
        return None;
    }
    column
        .sentinels
        .iter()
        .find(|sentinel| sentinel.also.is_some_and(|also| also.as_bytes() == field))
}

impl Cells {
    fn new(kind: Kind) -> Self {
        let values = match kind {
            Kind::Integer => Values::Integer(Vec::new()),
            Kind::Code => Values::Code(Vec::new()),
            Kind::Float => Values::Float(Vec::new()),
            Kind::Boolean => Values::Boolean(BooleanBufferBuilder::new(0)),
            Kind::Text => Values::Text {
                offsets: vec![0],
                bytes: Vec::new(),
            },
        };
        Self {
            values,
            valid: NullBufferBuilder::new(0),
        }
    }

    /// Reads the field at `position` of every record. `on_fault` may know a sentinel's value for
    /// a field that does not fit.
    fn extend(
        &mut self,
        chunk: &[u8],
        records: &Records,
        position: usize,
        mandatory: bool,
        mut on_fault: impl FnMut(usize, Fault) -> Option<i64>,
    ) {
        let fields = records
            .column(position)
            .map(|(start, end)| &chunk[start..end]);
        let valid = &mut self.valid;
        match &mut self.values {
            Values::Integer(values) => {
                each(
                    fields,
                    mandatory,
                    valid,
                    value::integer,
                    on_fault,
                    |value| values.push(value),
                );
            }
            Values::Code(values) => each(
                fields,
                mandatory,
                valid,
                value::code,
                |record, fault| on_fault(record, fault).and_then(|value| value.try_into().ok()),
                |value| values.push(value),
            ),
            Values::Float(values) => each(
                fields,
                mandatory,
                valid,
                value::float,
                |record, fault| on_fault(record, fault).and(None),
                |value| values.push(value),
            ),
            Values::Boolean(values) => each(
                fields,
                mandatory,
                valid,
                value::boolean,
                |record, fault| on_fault(record, fault).and(None),
                |value| values.append(value),
            ),
            Values::Text { offsets, bytes } => each(
                fields,
                mandatory,
                valid,
                value::text,
                |record, fault| on_fault(record, fault).and(None),
                |value| {
                    bytes.extend_from_slice(value.as_bytes());
                    offsets.push(i32::try_from(bytes.len()).unwrap_or(i32::MAX));
                },
            ),
        }
    }

    /// Bytes that the values take so far.
    fn bytes(&self) -> usize {
        match &self.values {
            Values::Integer(values) => values.len() * 8,
            Values::Code(values) => values.len() * 4,
            Values::Float(values) => values.len() * 8,
            Values::Boolean(values) => values.len() / 8,
            Values::Text { offsets, bytes } => offsets.len() * 4 + bytes.len(),
        }
    }

    /// Makes an array of the values so far and starts anew, with room for as many again.
    fn finish(&mut self) -> ArrayRef {
        let nulls = self.valid.finish();
        match &mut self.values {
            Values::Integer(values) => Arc::new(Int64Array::new(take(values), nulls)),
            Values::Code(values) => Arc::new(Int32Array::new(take(values), nulls)),
            Values::Float(values) => Arc::new(Float64Array::new(take(values), nulls)),
            Values::Boolean(values) => Arc::new(BooleanArray::new(values.finish(), nulls)),
            Values::Text { offsets, bytes } => {
                let room = Vec::with_capacity(bytes.len());
                let bytes = Buffer::from_vec(std::mem::replace(bytes, room));
                let mut room = Vec::with_capacity(offsets.len());
                room.push(0);
                let offsets = OffsetBuffer::new(std::mem::replace(offsets, room).into());
                Arc::new(StringArray::new(offsets, bytes, nulls))
            }
        }
    }
}

/// Takes the values out and leaves room for as many.
fn take<T: ArrowNativeType>(values: &mut Vec<T>) -> ScalarBuffer<T> {
    let room = Vec::with_capacity(values.len());
    std::mem::replace(values, room).into()
}

/// Reads one column's fields: `push` gets a value for each, whether it is there, NULL or faulty.
/// A faulty row is dropped when the batch is made, so its value does not matter.
fn each<'a, T: Default>(
    fields: impl Iterator<Item = &'a [u8]>,
    mandatory: bool,
    valid: &mut NullBufferBuilder,
    read: impl Fn(&'a [u8]) -> std::result::Result<T, Fault>,
    mut on_fault: impl FnMut(usize, Fault) -> Option<T>,
    mut push: impl FnMut(T),
) {
    for (record, bytes) in fields.enumerate() {
        if bytes.is_empty() && !mandatory {
            valid.append_null();
            push(T::default());
            continue;
        }
        let value = if bytes.is_empty() {
            Err(Fault::Empty)
        } else {
            read(bytes)
        };
        push(value.unwrap_or_else(|fault| on_fault(record, fault).unwrap_or_default()));
        valid.append_non_null();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::LineEnding;
    use arrow::array::AsArray;
    use arrow::datatypes::Int64Type;
    use tracelake_schema::TRACES;

    /// The first table with an optional integer, an optional text and a sentinel: job events.
    fn layout() -> (Layout, SchemaRef) {
        let table = TRACES[0].table("job_events").unwrap();
        (
            Layout::built_in(table, "test"),
            tracelake_schema::arrow::arrow_schema(table),
        )
    }

    fn push(rows: &mut Rows, chunk: &[u8]) -> Vec<(usize, Option<&'static str>, Fault)> {
        let mut records = Records::default();
        records.split(chunk, 8, LineEnding::Lf);
        let rejects = rows.push(chunk, &records);
        rejects
            .into_iter()
            .map(|r| (r.ordinal, r.column.map(|c| c.name), r.fault))
            .collect()
    }

    #[test]
    fn keeps_good_rows_and_names_the_first_fault_of_each_bad_one() {
        let (layout, schema) = layout();
        let mut rows = Rows::new(&layout, schema);
        let chunk = b"0,,1,0,u,2,n,l\nx,,,0,u,,n,l\n\n5,,2,0,,,,\n7,,3,\n9,,4,99999999999,,,,\n";
        assert_eq!(
            push(&mut rows, chunk),
            [
                (1, Some("time"), Fault::NotInteger),
                (2, None, Fault::BlankLine),
                (
                    4,
                    None,
                    Fault::FieldCount {
                        found: 4,
                        expected: 8
                    }
                ),
                (5, Some("event_type"), Fault::OutOfRange { bits: 32 }),
            ]
        );
        assert_eq!(push(&mut rows, b"8,1,5,3,,,,\n"), []);
        let batch = rows.finish().unwrap();
        assert_eq!(
            batch.column(0).as_primitive::<Int64Type>().values(),
            &[0, 5, 8]
        );
        assert_eq!(
            batch
                .column(4)
                .as_string::<i32>()
                .iter()
                .collect::<Vec<_>>(),
            [Some("u"), None, None]
        );
        assert_eq!(rows.finish().unwrap().num_rows(), 0);
    }

    #[test]
    fn another_spelling_of_a_sentinel_is_mapped_and_counted() {
        let (layout, schema) = layout();
        let mut rows = Rows::new(&layout, schema);
        assert_eq!(
            push(
                &mut rows,
                b"18446744073709551615,,1,0,,,,\n9223372036854775807,,1,0,,,,\n"
            ),
            []
        );
        assert_eq!(
            push(
                &mut rows,
                b"18446744073709551614,,1,0,,,,\n0,,18446744073709551615,0,,,,\n"
            )
            .len(),
            2
        );
        assert_eq!(rows.sentinels_mapped(), 1);
        let batch = rows.finish().unwrap();
        assert_eq!(
            batch.column(0).as_primitive::<Int64Type>().values(),
            &[i64::MAX, i64::MAX]
        );
    }
}
