//! Rows as bytes, so that they can be sorted, kept in a file and merged: the place of a row in the order, and its values.
//! Pure.
//!
//! The bytes of a place compare as the rows do. NULL comes before every value, and floats are in their total order.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{
    Array, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
};
use arrow_buffer::NullBuffer;
use bytes::Bytes;
use tracelake_schema::{Kind, Table};

use crate::key_hash::KeyHasher;
use crate::nodes::{Leaf, MaxLevels, Node, leaves};
use crate::typed_rows::{LeafData, TypedRows, TypedValues};

/// Marks a value in the bytes of a place; NULL is 0.
const VALUE: u8 = 1;

/// Ends a text in the bytes of a place. A zero within the text is followed by [`AFTER_ZERO`], which is larger.
const TEXT_END: [u8; 2] = [0, 0];
const AFTER_ZERO: u8 = 0xff;

/// Packs the rows of a table.
#[derive(Debug)]
pub struct RowPacker {
    nodes: Vec<Node>,
    leaves: Vec<Leaf>,
    /// The columns that order the rows, the key first.
    order: Vec<usize>,
    hasher: KeyHasher,
}

impl RowPacker {
    /// Prepares for the rows of a table that these columns order, none of which is a struct or a list.
    #[must_use]
    pub fn new(table: &Table, order: &[usize]) -> Self {
        let nodes = Node::of(&table.columns);
        Self {
            leaves: leaves(&nodes),
            nodes,
            order: order.to_vec(),
            hasher: KeyHasher::new(),
        }
    }

    /// Prepares to pack the rows of a batch; `None` if its columns aren't those of the table.
    pub fn batch<'a>(&'a mut self, batch: &'a RecordBatch) -> Option<BatchRows<'a>> {
        if batch.num_columns() != self.nodes.len() {
            return None;
        }
        let columns = self.nodes.iter().zip(batch.columns());
        let columns = columns.map(|(node, array)| PackedColumn::of(node, &self.leaves, array));
        Some(BatchRows {
            columns: columns.collect::<Option<_>>()?,
            order: &self.order,
            hasher: &mut self.hasher,
        })
    }
}

/// The rows of a batch, to be packed.
pub struct BatchRows<'a> {
    columns: Vec<PackedColumn<'a>>,
    order: &'a [usize],
    hasher: &'a mut KeyHasher,
}

impl BatchRows<'_> {
    /// The hash of the key of a row.
    ///
    /// # Panics
    /// When no column orders the rows, or the batch has no such row.
    pub fn hash(&mut self, row: usize) -> u32 {
        let key = &self.columns[self.order[0]];
        match &key.values {
            _ if key.is_null(row) => self.hasher.null(),
            ArrayValues::Integers(values) => self.hasher.integer(values.value(row)),
            ArrayValues::Codes(values) => self.hasher.integer(values.value(row).into()),
            ArrayValues::Texts(values) => self.hasher.text(values.value(row).as_bytes()),
            // A description names an integer or a text.
            _ => self.hasher.null(),
        }
    }

    /// Appends the place of a row in the order.
    ///
    /// # Panics
    /// When the batch has no such row.
    pub fn push_place(&self, row: usize, out: &mut Vec<u8>) {
        for &column in self.order {
            self.columns[column].push_place(row, out);
        }
    }

    /// Appends the values of a row.
    ///
    /// # Panics
    /// When the batch has no such row.
    pub fn push_values(&self, row: usize, out: &mut Vec<u8>) {
        for column in &self.columns {
            column.push_values(row, out);
        }
    }
}

/// A column of a batch.
struct PackedColumn<'a> {
    node: &'a Node,
    /// Its leaves.
    leaves: &'a [Leaf],
    values: ArrayValues<'a>,
    nulls: Option<&'a NullBuffer>,
}

/// The values of a column of a batch.
enum ArrayValues<'a> {
    Integers(&'a Int64Array),
    /// The microseconds of date-times.
    Times(&'a [i64]),
    Codes(&'a Int32Array),
    Floats(&'a Float64Array),
    Booleans(&'a BooleanArray),
    Texts(&'a StringArray),
    /// A struct or a list.
    Nested(&'a dyn Array),
}

impl<'a> PackedColumn<'a> {
    fn of(node: &'a Node, leaves: &'a [Leaf], array: &'a Arc<dyn Array>) -> Option<Self> {
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        if node.column.mandatory && nulls.is_some() {
            return None;
        }
        let values = match node.column.kind {
            Kind::Struct | Kind::List => {
                check_nested(node, array)?;
                ArrayValues::Nested(array)
            }
            kind => flat_values(kind, array)?,
        };
        Some(Self {
            node,
            leaves: leaves.get(node.leaves.clone())?,
            values,
            nulls,
        })
    }

    #[inline]
    fn is_null(&self, row: usize) -> bool {
        self.nulls.is_some_and(|nulls| nulls.is_null(row))
    }

    fn push_place(&self, row: usize, out: &mut Vec<u8>) {
        if self.is_null(row) {
            return out.push(0);
        }
        out.push(VALUE);
        let mut integer = |value: i64| {
            // The sign comes first, and a negative number before the others.
            out.extend_from_slice(&(value ^ i64::MIN).to_be_bytes());
        };
        match &self.values {
            ArrayValues::Integers(values) => integer(values.value(row)),
            ArrayValues::Times(values) => integer(values[row]),
            ArrayValues::Codes(values) => integer(values.value(row).into()),
            ArrayValues::Floats(values) => {
                let bits = values.value(row).to_bits().cast_signed();
                // Of negative floats, the larger number is the smaller float.
                integer(if bits < 0 { bits ^ i64::MAX } else { bits });
            }
            ArrayValues::Booleans(values) => out.push(values.value(row).into()),
            ArrayValues::Texts(values) => {
                for &byte in values.value(row).as_bytes() {
                    out.push(byte);
                    if byte == 0 {
                        out.push(AFTER_ZERO);
                    }
                }
                out.extend_from_slice(&TEXT_END);
            }
            ArrayValues::Nested(_) => {}
        }
    }

    fn push_values(&self, row: usize, out: &mut Vec<u8>) {
        if let ArrayValues::Nested(array) = self.values {
            for (leaf, most) in self.node.leaves.clone().zip(self.leaves) {
                let start = out.len();
                let is_in_list = most.most.repetition > 0;
                if is_in_list {
                    out.extend_from_slice(&[0; COUNT_BYTES]);
                }
                let entries = push_entries(self.node, array, row, (leaf, most.most), 0, out);
                if is_in_list {
                    out[start..start + COUNT_BYTES].copy_from_slice(&entries.to_le_bytes());
                }
            }
            return;
        }
        if !self.node.column.mandatory {
            let is_null = self.is_null(row);
            out.push(self.node.levels.definition - u8::from(is_null));
            if is_null {
                return;
            }
        }
        push_value(&self.values, row, out);
    }
}

/// The bytes of the number of entries that a leaf in a list has in a row.
const COUNT_BYTES: usize = size_of::<u32>();

/// The values of an array without fields; `None` if it isn't of this kind.
fn flat_values(kind: Kind, array: &dyn Array) -> Option<ArrayValues<'_>> {
    Some(match kind {
        Kind::Integer => ArrayValues::Integers(array.as_primitive_opt::<Int64Type>()?),
        Kind::DateTime(_) => ArrayValues::Times(
            array
                .as_primitive_opt::<TimestampMicrosecondType>()?
                .values(),
        ),
        Kind::Code => ArrayValues::Codes(array.as_primitive_opt::<Int32Type>()?),
        Kind::Float => ArrayValues::Floats(array.as_primitive_opt::<Float64Type>()?),
        Kind::Boolean => ArrayValues::Booleans(array.as_boolean_opt()?),
        Kind::Text => ArrayValues::Texts(array.as_string_opt::<i32>()?),
        Kind::Struct | Kind::List => return None,
    })
}

/// Checks that an array has the fields and items of a column; `None` if it hasn't.
fn check_nested(node: &Node, array: &dyn Array) -> Option<()> {
    match node.column.kind {
        Kind::Struct => {
            let columns = array.as_struct_opt()?.columns();
            if columns.len() != node.fields.len() {
                return None;
            }
            let mut fields = node.fields.iter().zip(columns);
            fields.try_for_each(|(field, column)| check_nested(field, column))
        }
        Kind::List => check_nested(node.fields.first()?, array.as_list_opt::<i32>()?.values()),
        kind => flat_values(kind, array).map(drop),
    }
}

/// Appends the entries of one leaf in a row: the levels of each, and its value. Returns their number.
fn push_entries(
    node: &Node,
    array: &dyn Array,
    row: usize,
    (leaf, most): (usize, MaxLevels),
    repetition: u8,
    out: &mut Vec<u8>,
) -> u32 {
    let push_levels = |definition: u8, out: &mut Vec<u8>| {
        if most.definition > 0 {
            out.push(definition);
        }
        if most.repetition > 0 {
            out.push(repetition);
        }
    };
    if array.is_null(row) {
        push_levels(node.null_level(), out);
        return 1;
    }
    match node.column.kind {
        Kind::Struct => {
            let columns = array.as_struct().columns();
            let mut fields = node.fields.iter().zip(columns);
            let field = fields.find(|(field, _)| field.leaves.contains(&leaf));
            field.map_or(0, |(field, column)| {
                push_entries(field, column, row, (leaf, most), repetition, out)
            })
        }
        Kind::List => {
            let list = array.as_list::<i32>();
            let bounds = [row, row + 1].map(|at| usize::try_from(list.value_offsets()[at]));
            let ([Ok(start), Ok(end)], Some(item)) = (bounds, node.fields.first()) else {
                return 0;
            };
            if start == end {
                push_levels(node.levels.definition, out);
                return 1;
            }
            (start..end).fold(0, |entries: u32, index| {
                let repetition = match index == start {
                    true => repetition,
                    false => node.levels.repetition,
                };
                let values = list.values();
                let pushed = push_entries(item, values, index, (leaf, most), repetition, out);
                entries.saturating_add(pushed)
            })
        }
        kind => {
            push_levels(node.levels.definition, out);
            if let Some(values) = flat_values(kind, array) {
                push_value(&values, row, out);
            }
            1
        }
    }
}

/// Appends a value that isn't NULL.
#[inline]
fn push_value(values: &ArrayValues<'_>, row: usize, out: &mut Vec<u8>) {
    match values {
        ArrayValues::Integers(values) => out.extend_from_slice(&values.value(row).to_le_bytes()),
        ArrayValues::Times(values) => out.extend_from_slice(&values[row].to_le_bytes()),
        ArrayValues::Codes(values) => out.extend_from_slice(&values.value(row).to_le_bytes()),
        ArrayValues::Floats(values) => out.extend_from_slice(&values.value(row).to_le_bytes()),
        ArrayValues::Booleans(values) => out.push(values.value(row).into()),
        ArrayValues::Texts(values) => {
            let text = values.value(row).as_bytes();
            // An array of texts has at most 2^31 bytes.
            let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(text);
        }
        ArrayValues::Nested(_) => {}
    }
}

/// The length of the bytes of the key in a place, of which it is the first column: equal keys have equal ones.
#[must_use]
pub fn key_bytes(place: &[u8], kind: Kind) -> usize {
    let rest = place.get(1..).unwrap_or_default();
    match place.first() {
        None | Some(0) => 1.min(place.len()),
        Some(_) if kind == Kind::Text => {
            let mut at = 0;
            while let Some(&[byte, next]) = rest.get(at..at + 2) {
                match (byte, next) {
                    (0, 0) => break,
                    (0, _) => at += 2,
                    _ => at += 1,
                }
            }
            (1 + at + TEXT_END.len()).min(place.len())
        }
        Some(_) => (1 + size_of::<i64>()).min(place.len()),
    }
}

/// Unpacks rows of a table.
#[derive(Debug)]
pub struct RowUnpacker {
    table: Arc<Table>,
    leaves: Vec<Leaf>,
}

impl RowUnpacker {
    /// Prepares for the rows of a table.
    #[must_use]
    pub fn new(table: &Arc<Table>) -> Self {
        Self {
            table: Arc::clone(table),
            leaves: leaves(&Node::of(&table.columns)),
        }
    }

    /// Unpacks this many rows; `None` if the bytes hold more or fewer of them, or something else.
    ///
    /// # Memory
    /// Texts stay in `packed`.
    #[must_use]
    pub fn unpack(&self, packed: &Bytes, rows: usize) -> Option<TypedRows> {
        let mut typed = TypedRows::new(&self.table);
        let mut reader = PackedReader { packed, at: 0 };
        for row in 1..=rows {
            for (leaf, unpacked) in self.leaves.iter().zip(&mut typed.leaves) {
                let LeafData::Values(values) = &mut unpacked.data else {
                    return None;
                };
                let levels = &mut unpacked.levels;
                let MaxLevels {
                    definition: most,
                    repetition: most_repetition,
                } = leaf.most;
                let entries = match most_repetition {
                    0 => 1,
                    _ => u32::from_le_bytes(reader.array()?),
                };
                for _ in 0..entries {
                    let definition = if most > 0 { reader.byte()? } else { 0 };
                    let repetition = if most_repetition > 0 {
                        reader.byte()?
                    } else {
                        0
                    };
                    if definition > most || repetition > most_repetition {
                        return None;
                    }
                    if definition < most {
                        levels.push(definition, repetition);
                        continue;
                    }
                    levels.push_value(repetition);
                    reader.push_value(leaf.column.kind, values)?;
                }
                levels.end_row(row);
            }
        }
        typed.rows = rows;
        (reader.at == packed.len()).then_some(typed)
    }
}

/// Reads packed values.
struct PackedReader<'a> {
    packed: &'a Bytes,
    at: usize,
}

impl PackedReader<'_> {
    #[inline]
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let array = self.packed.get(self.at..)?.first_chunk()?;
        self.at += N;
        Some(*array)
    }

    #[inline]
    fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    #[inline]
    fn push_value(&mut self, kind: Kind, values: &mut TypedValues) -> Option<()> {
        match values {
            TypedValues::Integers(values) => values.push(match kind {
                Kind::Code => i32::from_le_bytes(self.array()?).into(),
                Kind::Integer
                | Kind::Float
                | Kind::Boolean
                | Kind::Text
                | Kind::DateTime(_)
                | Kind::Struct
                | Kind::List => i64::from_le_bytes(self.array()?),
            }),
            TypedValues::Floats(values) => values.push(f64::from_le_bytes(self.array()?)),
            TypedValues::Booleans(values) => values.push(self.byte()? != 0),
            TypedValues::Texts(values) => {
                let length = usize::try_from(u32::from_le_bytes(self.array()?)).ok()?;
                let end = self.at.checked_add(length)?;
                self.packed.get(self.at..end)?;
                values.push(self.packed.slice(self.at..end));
                self.at = end;
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
