//! The values of columns as Arrow arrays, made of the texts of their leaves. Pure.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch,
    StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, FieldRef, Fields, SchemaRef};
use rayon::prelude::*;
use tracelake_core::fault::Fault;
use tracelake_core::options::Accept;
use tracelake_schema::Column;

use crate::cell::{Cell, NumberReader, boolean};
use crate::levels::Levels;
use crate::nodes::{MaxLevels, Node};
use crate::row_fields::RowFields;
use crate::typed_rows::{TypedRows, TypedValues};
use crate::value::{OtherSpellings, json_boolean};

/// The outcome of reading the values of some rows.
pub(crate) enum ReadRows {
    /// All of them, and how many values are spelled differently.
    Batch(RecordBatch, OtherSpellings),
    /// The rows with a value that can't be read, in order.
    Faulty(Vec<usize>),
}

/// Reads rows whose texts are in `text`; the columns are in the order of the schema.
///
/// # Errors
/// When a value is NULL and its column mandatory.
pub(crate) fn read(
    nodes: &[Node],
    schema: &SchemaRef,
    text: &[u8],
    rows: &RowFields,
) -> Result<ReadRows, ArrowError> {
    let with_fields = nodes.par_iter().zip(schema.fields().par_iter());
    let accept = Accept::default();
    let columns = with_fields.map(|(node, field)| {
        let mut reader = TextReader {
            text,
            rows,
            numbers: NumberReader::new(&accept),
            faulty: Vec::new(),
        };
        let values = column(&mut reader, node, field.data_type(), TOP);
        (values, reader.numbers.others, reader.faulty)
    });
    let columns: Vec<_> = columns.collect();
    let mut faulty: Vec<usize> = columns
        .iter()
        .flat_map(|(.., faulty)| faulty.clone())
        .collect();
    if !faulty.is_empty() {
        faulty.sort_unstable();
        faulty.dedup();
        return Ok(ReadRows::Faulty(faulty));
    }
    let mut others = rows.others();
    columns
        .iter()
        .for_each(|(_, of_column, _)| others += *of_column);
    let arrays = columns
        .into_par_iter()
        .map(|(values, ..)| values.into_array())
        .collect::<Result<Vec<_>, _>>()?;
    let batch = RecordBatch::try_new(Arc::clone(schema), arrays)?;
    Ok(ReadRows::Batch(batch, others))
}

/// Makes arrays of rows whose values are typed; the columns are in the order of the schema.
///
/// # Errors
/// See [`ColumnValues::into_array`].
pub(crate) fn read_typed(
    nodes: &[Node],
    schema: &SchemaRef,
    rows: &TypedRows,
) -> Result<RecordBatch, ArrowError> {
    let with_fields = nodes.par_iter().zip(schema.fields().par_iter());
    let arrays = with_fields.map(|(node, field)| {
        column(&mut TypedReader { rows }, node, field.data_type(), TOP).into_array()
    });
    let arrays: Result<Vec<_>, _> = arrays.collect();
    RecordBatch::try_new(Arc::clone(schema), arrays?)
}

/// The levels of the values of a column that is in no other.
const TOP: MaxLevels = MaxLevels {
    definition: 0,
    repetition: 0,
};

/// Reads the leaves of a column.
trait LeafReader {
    /// The levels of a leaf.
    fn levels(&self, leaf: usize) -> &Levels;

    /// Adds a value of a leaf, of this number.
    fn push(&mut self, node: &Node, value: usize, values: &mut Values);
}

/// Reads texts.
struct TextReader<'a> {
    text: &'a [u8],
    rows: &'a RowFields,
    numbers: NumberReader<'a>,
    /// The rows with a value that can't be read.
    faulty: Vec<usize>,
}

/// Reads typed values.
struct TypedReader<'a> {
    rows: &'a TypedRows,
}

impl LeafReader for TextReader<'_> {
    fn levels(&self, leaf: usize) -> &Levels {
        &self.rows.leaves[leaf].levels
    }

    fn push(&mut self, node: &Node, value: usize, values: &mut Values) {
        let leaf = &self.rows.leaves[node.leaves.start];
        let (start, end) = leaf.fields().get(value);
        let text = &self.text[start..end];
        if values.push(&node.column, text, &mut self.numbers).is_err() {
            self.faulty.push(leaf.levels.row_of(value));
            values.push_filler();
        }
    }
}

impl LeafReader for TypedReader<'_> {
    fn levels(&self, leaf: usize) -> &Levels {
        &self.rows.leaves[leaf].levels
    }

    fn push(&mut self, node: &Node, value: usize, values: &mut Values) {
        let (typed, index) = self.rows.leaves[node.leaves.start].at(value);
        values.push_typed(typed, index);
    }
}

/// The values of a column, or of a field or an item of one. `around` has the levels of the lists around it: those of
/// what is in an item.
fn column(
    reader: &mut impl LeafReader,
    node: &Node,
    data_type: &DataType,
    around: MaxLevels,
) -> ColumnValues {
    // A struct that is NULL has NULLs in its fields; a list that is NULL or empty has no items.
    let is_slot = |(definition, repetition): (u8, u8)| {
        definition >= around.definition && repetition <= around.repetition
    };
    let first = reader.levels(node.leaves.start);
    let is_valid = (first.iter())
        .filter(|entry| is_slot(*entry))
        .map(|(definition, _)| definition >= node.levels.definition)
        .collect();
    let values = match data_type {
        DataType::Struct(fields) => {
            let columns = node.fields.iter().zip(fields);
            let columns = columns
                .map(|(node, field)| column(reader, node, field.data_type(), around))
                .collect();
            Values::Structs(fields.clone(), columns)
        }
        DataType::List(item) => {
            let inside = MaxLevels {
                definition: node.levels.definition + 1,
                repetition: node.levels.repetition,
            };
            let (mut items, mut ends) = (0, Vec::new());
            for (definition, repetition) in first.iter() {
                if is_slot((definition, repetition)) {
                    ends.push(items);
                }
                if definition >= inside.definition && repetition <= inside.repetition {
                    items += 1;
                }
                if let Some(end) = ends.last_mut() {
                    *end = items;
                }
            }
            let items = column(reader, &node.fields[0], item.data_type(), inside);
            Values::Lists(Arc::clone(item), Box::new(items), ends)
        }
        _ => leaf(reader, node, data_type, around),
    };
    ColumnValues { values, is_valid }
}

fn leaf(
    reader: &mut impl LeafReader,
    node: &Node,
    data_type: &DataType,
    around: MaxLevels,
) -> Values {
    let levels: Vec<u8> = (reader.levels(node.leaves.start).iter())
        .map(|(definition, _)| definition)
        .collect();
    let (mut values, mut next) = (Values::new(data_type), 0);
    for definition in levels {
        if definition < around.definition {
            continue;
        }
        if definition < node.levels.definition {
            values.push_filler();
            continue;
        }
        reader.push(node, next, &mut values);
        next += 1;
    }
    values
}

/// The values of one column.
#[derive(Debug, Clone, PartialEq)]
struct ColumnValues {
    values: Values,
    /// Whether each value is there; one that is NULL has a filler in `values`.
    is_valid: Vec<bool>,
}

#[derive(Debug, Clone, PartialEq)]
enum Values {
    Integers(Vec<i64>),
    /// The microseconds of date-times, and their zone.
    DateTimes(Vec<i64>, Option<Arc<str>>),
    Codes(Vec<i32>),
    Floats(Vec<f64>),
    Booleans(Vec<bool>),
    /// The texts one after another, and where each ends.
    Texts(Vec<u8>, Vec<usize>),
    /// The fields, and the values of each.
    Structs(Fields, Vec<ColumnValues>),
    /// The item, those of all lists, and where each list ends.
    Lists(FieldRef, Box<ColumnValues>, Vec<usize>),
}

impl Values {
    /// No values of a leaf.
    fn new(data_type: &DataType) -> Self {
        match data_type {
            DataType::Int32 => Self::Codes(Vec::new()),
            DataType::Float64 => Self::Floats(Vec::new()),
            DataType::Boolean => Self::Booleans(Vec::new()),
            DataType::Utf8 => Self::Texts(Vec::new(), Vec::new()),
            DataType::Timestamp(_, zone) => Self::DateTimes(Vec::new(), zone.clone()),
            _ => Self::Integers(Vec::new()),
        }
    }

    /// Adds the value with a text; counts what is mapped to a sentinel.
    fn push(
        &mut self,
        column: &Column,
        text: &[u8],
        reader: &mut NumberReader<'_>,
    ) -> Result<(), Fault> {
        match self {
            Self::Booleans(values) => match boolean(column, text, json_boolean)? {
                Cell::Boolean(value) => values.push(value),
                _ => return Err(Fault::NotTruth),
            },
            Self::Texts(bytes, ends) => {
                bytes.extend_from_slice(text);
                ends.push(bytes.len());
            }
            numbers => match (numbers, reader.read(column, text)?) {
                (Self::Integers(values) | Self::DateTimes(values, _), Cell::Integer(value)) => {
                    values.push(value);
                }
                (Self::Codes(values), Cell::Code(value)) => values.push(value),
                (Self::Floats(values), Cell::Float(value)) => values.push(value),
                _ => return Err(Fault::NotNumber),
            },
        }
        Ok(())
    }

    /// Adds one of some typed values.
    fn push_typed(&mut self, typed: &TypedValues, index: usize) {
        match (self, typed) {
            (Self::Integers(values) | Self::DateTimes(values, _), TypedValues::Integers(typed)) => {
                values.push(typed[index]);
            }
            (Self::Codes(values), TypedValues::Integers(typed)) => {
                values.push(i32::try_from(typed[index]).expect("a code was read as 32 bits"));
            }
            (Self::Floats(values), TypedValues::Floats(typed)) => values.push(typed[index]),
            (Self::Booleans(values), TypedValues::Booleans(typed)) => values.push(typed[index]),
            (Self::Texts(bytes, ends), TypedValues::Texts(typed)) => {
                bytes.extend_from_slice(&typed[index]);
                ends.push(bytes.len());
            }
            _ => unreachable!("the values are of the type of their column"),
        }
    }

    /// Adds what is in the place of NULL.
    fn push_filler(&mut self) {
        match self {
            Self::Integers(values) | Self::DateTimes(values, _) => values.push(0),
            Self::Codes(values) => values.push(0),
            Self::Floats(values) => values.push(0.0),
            Self::Booleans(values) => values.push(false),
            Self::Texts(bytes, ends) => ends.push(bytes.len()),
            Self::Structs(..) | Self::Lists(..) => {}
        }
    }
}

impl ColumnValues {
    /// The values as an Arrow array.
    ///
    /// # Errors
    /// When a value within one that isn't NULL is NULL and mandatory, or when texts or items are too many
    /// for an array.
    fn into_array(self) -> Result<ArrayRef, ArrowError> {
        let nulls = NullBuffer::from(self.is_valid);
        let nulls = (nulls.null_count() > 0).then_some(nulls);
        Ok(match self.values {
            Values::Integers(values) => Arc::new(Int64Array::try_new(values.into(), nulls)?),
            Values::DateTimes(values, zone) => {
                let values = TimestampMicrosecondArray::try_new(values.into(), nulls)?;
                Arc::new(values.with_timezone_opt(zone))
            }
            Values::Codes(values) => Arc::new(Int32Array::try_new(values.into(), nulls)?),
            Values::Floats(values) => Arc::new(Float64Array::try_new(values.into(), nulls)?),
            Values::Booleans(values) => Arc::new(BooleanArray::new(values.into(), nulls)),
            Values::Texts(bytes, ends) => {
                let offsets = offsets(&ends)?;
                Arc::new(StringArray::try_new(offsets, bytes.into(), nulls)?)
            }
            Values::Structs(fields, columns) => {
                let columns = columns.into_iter().map(Self::into_array);
                let arrays = columns.collect::<Result<Vec<_>, _>>()?;
                Arc::new(StructArray::try_new(fields, arrays, nulls)?)
            }
            Values::Lists(item, items, ends) => {
                let offsets = offsets(&ends)?;
                Arc::new(ListArray::try_new(
                    item,
                    offsets,
                    items.into_array()?,
                    nulls,
                )?)
            }
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
