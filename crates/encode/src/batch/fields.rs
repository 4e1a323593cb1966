//! The fields of a chunk to Arrow arrays: the plain twin of `column`. It keeps nothing from one chunk
//! to the next, and parses every field.

use std::iter::repeat_n;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, Int64Array, ListArray, PrimitiveArray, RecordBatch,
    StringArray,
    builder::{BooleanBuilder, StringBuilder},
    new_null_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use arrow_select::filter::filter_record_batch;
use rayon::prelude::*;
use tracelake_core::fault::Fault;
use tracelake_core::field_order::{Field, FieldOrder};
use tracelake_core::options::Accept;
use tracelake_schema::{Column, Kind, Zone, arrow::data_type};

use crate::plain_numbers::{self, PlainNumbers, Spelling};
use crate::reject::Reject;
use crate::rows::rejects;
use crate::run_fields;
use crate::split::{FieldOffsets, Records};
use crate::value::{self, OtherSpellings, Spelled, other_spelling};

/// The rows of one chunk of text.
#[derive(Debug)]
pub(crate) struct ChunkRows {
    /// The good rows, in the order of the file.
    pub batch: RecordBatch,
    /// The other rows, in the order of the file, as [`crate::rows::RowGroupBuilder::push`] returns them.
    pub rejects: Vec<Reject>,
    /// Values of good rows that are spelled differently.
    pub others: OtherSpellings,
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
    let read = |(index, column): (usize, &Arc<Column>)| {
        let mut fields = order.fields.iter().enumerate();
        match fields.find(|(_, field)| field.index == Some(index)) {
            Some((_, Field { item: Some(_), .. })) => read_run(order, index, chunk, records),
            Some((position, field)) => ColumnFields {
                column,
                mandatory: field.mandatory,
                accept: &order.accept,
                chunk,
                fields: records.column(position, 0..records.len()),
            }
            .read(|record| (record, position)),
            None => ColumnValues {
                values: match order.captured(index) {
                    Some(value) => captured(column, value, records.len()),
                    // The file doesn't have the column.
                    None => new_null_array(&data_type(column), records.len()),
                },
                faults: Vec::new(),
                others: Vec::new(),
            },
        }
    };
    let columns: Vec<ColumnValues> = order
        .table
        .columns
        .par_iter()
        .enumerate()
        .map(read)
        .collect();
    let faults = columns.iter().flat_map(|column| column.faults.clone());
    let (rejects, faulty) = rejects(&order.fields, faults.collect(), records);
    let mut others = OtherSpellings::default();
    for (record, spelled) in columns.iter().flat_map(|column| &column.others) {
        if faulty.binary_search(record).is_err() {
            others.count(*spelled);
        }
    }
    let arrays = columns.into_iter().map(|column| column.values).collect();
    let batch = RecordBatch::try_new(Arc::clone(schema), arrays)?;
    Ok(ChunkRows {
        batch: without(batch, &faulty)?,
        rejects,
        others,
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

/// Reads the fields that are the items of a list.
fn read_run(order: &FieldOrder, column: usize, chunk: &[u8], records: &Records) -> ColumnValues {
    let item = run_fields::item(&order.table.columns[column]);
    let positions = run_fields::positions(order, column);
    let offsets = run_fields::offsets(&positions, records);
    let read = ColumnFields {
        column: item,
        mandatory: item.mandatory,
        accept: &order.accept,
        chunk,
        fields: FieldOffsets {
            offsets: &offsets,
            step: 2,
            field: 0,
        },
    };
    let items = positions.len();
    let mut list = read.read(|value| (value / items, positions[value % items]));
    let DataType::List(field) = data_type(&order.table.columns[column]) else {
        return list;
    };
    let lengths = OffsetBuffer::from_lengths(repeat_n(items, records.len()));
    list.values = Arc::new(ListArray::new(field, lengths, list.values, None));
    list
}

/// One column of the well-formed records of a chunk.
struct ColumnValues {
    /// One value per record: NULL if the field is empty, any value if it has a fault.
    values: ArrayRef,
    /// The records whose field has no value, the position of that field, and why, in order.
    faults: Vec<(usize, usize, Fault)>,
    /// The records whose field has another spelling.
    others: Vec<(usize, Spelled)>,
}

/// The values of a column that the name of the file gives this value.
fn captured(column: &Column, value: &str, records: usize) -> ArrayRef {
    match column.kind {
        Kind::Integer => {
            let value = value::integer(value.as_bytes()).ok();
            Arc::new(Int64Array::from(vec![value; records]))
        }
        _ => Arc::new(StringArray::from_iter_values(repeat_n(value, records))),
    }
}

/// The fields of one column of a chunk.
struct ColumnFields<'a> {
    column: &'a Column,
    /// Whether an empty field is a fault.
    mandatory: bool,
    /// Spellings that are accepted.
    accept: &'a Accept,
    chunk: &'a [u8],
    fields: FieldOffsets<'a>,
}

impl<'a> ColumnFields<'a> {
    /// Reads the fields; `place` says the record of a field and its position there.
    fn read(&self, place: impl Fn(usize) -> (usize, usize)) -> ColumnValues {
        let mut others = Vec::new();
        let mut other = |record, field, fault| {
            let (value, spelled) = other_spelling(self.column, field, fault, self.accept)?;
            if spelled != Spelled::Plainly {
                others.push((record, spelled));
            }
            Ok(value)
        };
        let (values, faults): (ArrayRef, _) = match self.column.kind {
            Kind::Integer => self.numbers::<Int64Type>(
                Some((Spelling::Integer, |bits| Some(bits.cast_signed()))),
                |record, field| value::integer(field).or_else(|fault| other(record, field, fault)),
            ),
            Kind::DateTime(zone) => {
                let (values, faults) = self
                    .numbers::<TimestampMicrosecondType>(None, |_, field| {
                        value::date_time_of(self.column, field, zone)
                    });
                let values = match zone {
                    Zone::None => values,
                    Zone::Published => {
                        let times = values.as_primitive::<TimestampMicrosecondType>().clone();
                        Arc::new(times.with_timezone("UTC"))
                    }
                };
                (values, faults)
            }
            Kind::Code => self.numbers::<Int32Type>(
                Some((Spelling::Integer, |bits| i32::try_from(bits).ok())),
                |record, field| {
                    value::code(field).or_else(|fault| {
                        let value = other(record, field, fault)?;
                        i32::try_from(value).map_err(|_| fault)
                    })
                },
            ),
            Kind::Float => self.numbers::<Float64Type>(
                Some((Spelling::Float, |bits| Some(f64::from_bits(bits)))),
                |_, field| value::float(field),
            ),
            Kind::Boolean => {
                let mut builder = BooleanBuilder::with_capacity(self.fields.iter().len());
                let faults = self.each(
                    |record, field| {
                        value::boolean(field)
                            .or_else(|fault| other(record, field, fault).map(|value| value != 0))
                    },
                    |value| builder.append_option(value),
                );
                (Arc::new(builder.finish()), faults)
            }
            // A table of plain fields has neither structs nor lists.
            Kind::Text | Kind::Struct | Kind::List => match self.texts() {
                Some(texts) => (Arc::new(texts), Vec::new()),
                None => {
                    let mut builder = StringBuilder::new();
                    let faults = self.each(
                        |_, field| value::text(field),
                        |value| builder.append_option(value),
                    );
                    (Arc::new(builder.finish()), faults)
                }
            },
        };
        if self.accept.has_nulls() {
            let fields = self.fields.iter().enumerate();
            let accepted =
                fields.filter(|(_, (start, end))| self.accept.is_null(&self.chunk[*start..*end]));
            others.extend(accepted.map(|(record, _)| (record, Spelled::AsNull)));
        }
        let faults = faults.into_iter().map(|(field, fault)| {
            let (record, position) = place(field);
            (record, position, fault)
        });
        let others = others.into_iter();
        ColumnValues {
            values,
            faults: faults.collect(),
            others: others.map(|(field, how)| (place(field).0, how)).collect(),
        }
    }

    /// Reads one number per record, those that are `plain` eight at a time; returns also the records that have a fault.
    fn numbers<T: ArrowPrimitiveType>(
        &self,
        plain: Option<PlainNumbers<T::Native>>,
        mut read: impl FnMut(usize, &'a [u8]) -> Result<T::Native, Fault>,
    ) -> (ArrayRef, Vec<(usize, Fault)>) {
        let fields = self.fields;
        let mut values = vec![T::Native::default(); self.fields.iter().len()];
        let mut others = Vec::new();
        // Any number may be a spelling of NULL.
        let usable = plain.filter(|_| !self.accept.has_nulls_in(self.column));
        let done = usable.map_or(0, |(spelling, put)| {
            plain_numbers::read(self.chunk, fields, spelling, &mut values, &mut others, put)
        });
        let mut faults = Vec::new();
        let mut is_valid: Option<Vec<bool>> = None;
        for record in others.into_iter().chain(done..self.fields.iter().len()) {
            let (start, end) = fields.get(record);
            values[record] = match self.value(record, &self.chunk[start..end], &mut read) {
                Ok(Some(value)) => value,
                Ok(None) => {
                    let all = || vec![true; self.fields.iter().len()];
                    is_valid.get_or_insert_with(all)[record] = false;
                    T::Native::default()
                }
                Err(fault) => {
                    faults.push((record, fault));
                    T::Native::default()
                }
            };
        }
        let nulls = is_valid.map(NullBuffer::from);
        let values = PrimitiveArray::<T>::new(values.into(), nulls);
        (Arc::new(values), faults)
    }

    /// The texts of a column, which are checked all at once; `None` if any of them may have a fault.
    fn texts(&self) -> Option<StringArray> {
        if self.accept.has_nulls_in(self.column) {
            return None;
        }
        let fields = self.fields;
        let mut bytes = Vec::new();
        let mut has_empty = false;
        for (start, end) in fields.iter() {
            bytes.extend_from_slice(&self.chunk[start..end]);
            has_empty |= start == end;
        }
        value::text(&bytes).ok()?;
        if has_empty && self.mandatory {
            return None;
        }
        let lengths = || fields.iter().map(|(start, end)| end - start);
        let nulls = has_empty.then(|| lengths().map(|length| length > 0).collect::<NullBuffer>());
        let offsets = OffsetBuffer::from_lengths(lengths());
        // Two halves of a character are one only if there is no field's end between them.
        StringArray::try_new(offsets, bytes.into(), nulls).ok()
    }

    /// Adds one value per record; returns the records that have a fault. Their value is the type's
    /// default, because a mandatory column can't hold NULL.
    fn each<V: Default>(
        &self,
        mut read: impl FnMut(usize, &'a [u8]) -> Result<V, Fault>,
        mut put: impl FnMut(Option<V>),
    ) -> Vec<(usize, Fault)> {
        let mut faults = Vec::new();
        for (record, (start, end)) in self.fields.iter().enumerate() {
            let value = self.value(record, &self.chunk[start..end], &mut read);
            put(value.unwrap_or_else(|fault| {
                faults.push((record, fault));
                Some(V::default())
            }));
        }
        faults
    }

    /// The value of a field, `None` if it is NULL.
    #[inline(always)]
    fn value<V>(
        &self,
        record: usize,
        field: &'a [u8],
        read: &mut impl FnMut(usize, &'a [u8]) -> Result<V, Fault>,
    ) -> Result<Option<V>, Fault> {
        match field.is_empty() || self.accept.is_null_in(self.column, field) {
            true if self.mandatory => Err(Fault::Empty),
            true => Ok(None),
            false => read(record, field).map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracelake_core::line_ending::LineEnding;
    use tracelake_schema::Table;

    use crate::samples::machines;

    /// The texts of these rows, read at once if they can be, and one by one.
    fn texts(rows: &[&[u8]], mandatory: bool) -> (Option<StringArray>, Vec<(usize, usize, Fault)>) {
        let table: &Table = machines();
        let column = table
            .columns
            .iter()
            .find(|column| column.kind == Kind::Text);
        let lines = rows.iter().map(|row| [row, &b",\n"[..]].concat());
        let chunk: Vec<u8> = lines.flatten().collect();
        let mut records = Records::default();
        records.split(&chunk, 2, LineEnding::Lf);
        let fields = ColumnFields {
            column: column.unwrap(),
            mandatory,
            accept: &Accept::default(),
            chunk: &chunk,
            fields: records.column(0, 0..records.len()),
        };
        (fields.texts(), fields.read(|record| (record, 0)).faults)
    }

    #[test]
    fn texts_are_read_at_once_unless_one_has_a_fault() {
        let (read, faults) = texts(&[b"a", b"", "\u{e9}".as_bytes(), b"bc"], false);
        let expected = StringArray::from(vec![Some("a"), None, Some("\u{e9}"), Some("bc")]);
        assert_eq!((read, faults), (Some(expected), vec![]));
        let (read, faults) = texts(&[b"a", b""], true);
        assert_eq!((read, faults), (None, vec![(1, 0, Fault::Empty)]));
        let (read, faults) = texts(&[b"a", b"b\"", b"c"], false);
        assert_eq!((read, faults), (None, vec![(1, 0, Fault::Quote)]));
        // The halves of a character, in two fields.
        let (read, faults) = texts(&[b"\xc3", b"\xa9"], false);
        assert!(read.is_none());
        assert_eq!(faults.len(), 2);
    }
}
