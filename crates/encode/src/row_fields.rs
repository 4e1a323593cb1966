//! Rows with structs and lists as the texts of their leaves. Pure.
//!
//! A leaf is a column, or a field of a struct or an item of a list, that holds values itself. Its texts are ranges of
//! the text of a chunk, as the fields of CSV are, and its levels say which rows they belong to, as those of Parquet
//! do. So the leaves of JSON take the way of the columns of CSV.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use tracelake_schema::{Column, Kind};

use crate::cell::{Cell, Row};
use crate::levels::Levels;
use crate::nodes::{MaxLevels, Node, leaves};
use crate::split::FieldOffsets;
use crate::value::OtherSpellings;

/// The texts of a leaf in some rows.
///
/// # Memory
/// 8 bytes a value, and a byte for each level.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LeafFields {
    pub(crate) levels: Levels,
    /// For each value the offset before its text, which wraps, and where it ends.
    offsets: Vec<u32>,
}

impl LeafFields {
    pub(crate) fn new(most: MaxLevels) -> Self {
        Self {
            levels: Levels::new(most),
            offsets: Vec::new(),
        }
    }

    /// The size of the entries of a column as a reader has them in memory, in bytes.
    pub(crate) fn decoded_bytes(&self, column: &Column) -> usize {
        let texts = match column.kind {
            Kind::Text => self.fields().iter().map(|(start, end)| end - start).sum(),
            Kind::Integer
            | Kind::Float
            | Kind::Boolean
            | Kind::Code
            | Kind::DateTime(_)
            | Kind::Struct
            | Kind::List => 0,
        };
        size_of::<u64>() * self.levels.entries() + texts
    }

    /// The texts of the values.
    pub(crate) fn fields(&self) -> FieldOffsets<'_> {
        FieldOffsets {
            offsets: &self.offsets,
            step: 2,
            field: 0,
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, (start, end): (u32, u32), repetition: u8) {
        self.offsets
            .extend_from_slice(&[start.wrapping_sub(1), end]);
        self.levels.push_value(repetition);
    }

    fn clear(&mut self) {
        self.offsets.clear();
        self.levels.clear();
    }

    /// Removes what was added since the last row ended.
    fn undo(&mut self) {
        self.levels.undo();
        self.offsets.truncate(2 * self.levels.values());
    }
}

/// Rows of cells as texts.
#[derive(Debug)]
pub struct RowTexts {
    nodes: Vec<Node>,
    /// The texts, one after another.
    pub text: Vec<u8>,
    /// Where they are.
    pub rows: RowFields,
}

impl RowTexts {
    /// No rows of these columns.
    #[must_use]
    pub fn new(columns: &[Arc<Column>]) -> Self {
        Self::of(Node::of(columns))
    }

    pub(crate) fn of(nodes: Vec<Node>) -> Self {
        Self {
            text: Vec::new(),
            rows: RowFields::new(&nodes),
            nodes,
        }
    }

    /// Adds a row.
    pub fn push(&mut self, row: &Row) {
        self.rows.push_row(&self.nodes, row, &mut self.text);
    }
}

/// Rows as the texts of their leaves; reused from chunk to chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct RowFields {
    pub(crate) leaves: Vec<LeafFields>,
    rows: usize,
    /// Values that were spelled differently before their text was taken.
    others: OtherSpellings,
}

impl RowFields {
    /// No rows of these columns.
    pub(crate) fn new(nodes: &[Node]) -> Self {
        let leaves = leaves(nodes).into_iter();
        Self {
            leaves: leaves.map(|leaf| LeafFields::new(leaf.most)).collect(),
            rows: 0,
            others: OtherSpellings::default(),
        }
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    /// Values that were spelled differently before their text was taken.
    pub(crate) fn others(&self) -> OtherSpellings {
        self.others
    }

    /// Bytes that the values and levels take.
    pub(crate) fn bytes(&self) -> usize {
        let leaves = self.leaves.iter();
        leaves
            .map(|leaf| 4 * leaf.offsets.len() + 2 * leaf.levels.entries())
            .sum()
    }

    /// Removes all rows and keeps their room.
    pub(crate) fn clear(&mut self) {
        (self.rows, self.others) = (0, OtherSpellings::default());
        self.leaves.iter_mut().for_each(LeafFields::clear);
    }

    /// Ends a row that has an entry in every leaf.
    pub(crate) fn end_row(&mut self) {
        self.rows += 1;
        for leaf in &mut self.leaves {
            leaf.levels.end_row(self.rows);
        }
    }

    /// Removes the values of a row that has not ended.
    pub(crate) fn undo_row(&mut self) {
        self.leaves.iter_mut().for_each(LeafFields::undo);
    }

    /// Adds the text of a value.
    #[inline]
    pub(crate) fn push(&mut self, leaf: usize, text: (u32, u32), repetition: u8) {
        self.leaves[leaf].push(text, repetition);
    }

    /// Adds NULL, or an empty list, to leaves.
    pub(crate) fn push_null(&mut self, leaves: Range<usize>, definition: u8, repetition: u8) {
        for leaf in &mut self.leaves[leaves] {
            leaf.levels.push(definition, repetition);
        }
    }

    /// Adds a row of cells, whose texts are appended to `text`.
    fn push_row(&mut self, nodes: &[Node], row: &Row, text: &mut Vec<u8>) {
        for (node, cell) in nodes.iter().zip(&row.cells) {
            self.push_cell(node, cell, 0, text);
        }
        self.others += row.others;
        self.end_row();
    }

    fn push_cell(&mut self, node: &Node, cell: &Cell, repetition: u8, text: &mut Vec<u8>) {
        let start = text.len();
        match cell {
            Cell::Null => {
                return self.push_null(node.leaves.clone(), node.null_level(), repetition);
            }
            Cell::Struct(cells) => {
                for (field, cell) in node.fields.iter().zip(cells) {
                    self.push_cell(field, cell, repetition, text);
                }
                return;
            }
            Cell::List(cells) => {
                if cells.is_empty() {
                    self.push_null(node.leaves.clone(), node.levels.definition, repetition);
                }
                for (at, cell) in cells.iter().enumerate() {
                    let repetition = if at == 0 {
                        repetition
                    } else {
                        node.levels.repetition
                    };
                    self.push_cell(&node.fields[0], cell, repetition, text);
                }
                return;
            }
            Cell::Text(value) => text.extend_from_slice(value.as_bytes()),
            Cell::Boolean(value) => append(text, format_args!("{value}")),
            Cell::Integer(value) => append(text, format_args!("{value}")),
            Cell::Code(value) => append(text, format_args!("{value}")),
            // The shortest text that gives the same float.
            Cell::Float(value) => append(text, format_args!("{value:?}")),
        }
        self.push(
            node.leaves.start,
            (offset(start), offset(text.len())),
            repetition,
        );
    }
}

fn append(text: &mut Vec<u8>, value: std::fmt::Arguments<'_>) {
    text.write_fmt(value).expect("memory takes any text");
}

/// An offset into a chunk and the texts of its cells.
pub(crate) fn offset(at: usize) -> u32 {
    u32::try_from(at).expect("a chunk is shorter than 4 GiB")
}

#[cfg(test)]
mod tests {
    use tracelake_testkit::every_kind::TABLE;

    use super::*;

    #[test]
    fn leaves_have_a_size_in_memory() {
        let mut texts = RowTexts::new(&TABLE.columns);
        let lines = [
            r#"{"time":1,"user":"abc","after":[1,2,3]}"#,
            r#"{"time":2,"user":"de"}"#,
        ];
        for line in lines {
            texts.push(&crate::json::row(line.as_bytes(), &(&TABLE.columns).into()).unwrap());
        }
        let nodes = Node::of(&TABLE.columns);
        let found = leaves(&nodes).into_iter().zip(&texts.rows.leaves);
        let bytes = |name: &str| {
            let mut found = found.clone().filter(|(leaf, _)| leaf.column.name == name);
            found
                .next()
                .map(|(leaf, texts)| texts.decoded_bytes(&leaf.column))
        };
        // Eight bytes for each value, NULL or empty list, and the texts.
        assert_eq!(bytes("time"), Some(2 * 8));
        assert_eq!(bytes("user"), Some(2 * 8 + 5));
        assert_eq!(bytes("cpus"), Some(2 * 8));
        assert_eq!(bytes("item"), Some(4 * 8));
    }
}
