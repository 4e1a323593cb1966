//! The columns of a table with what they contain, and their leaves. Pure.

use std::ops::Range;
use std::sync::Arc;

use parquet::schema::types::ColumnDescriptor;
use tracelake_schema::{Column, Kind};

/// The levels that the values of a leaf have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MaxLevels {
    /// How many of the columns around it, and of itself, may be NULL or are lists that may be empty.
    pub(crate) definition: u8,
    /// How many lists it is in.
    pub(crate) repetition: u8,
}

impl MaxLevels {
    /// The levels of a column of a file.
    pub(crate) fn of(descriptor: &ColumnDescriptor) -> Self {
        let level = |level| u8::try_from(level).expect("a description has few levels");
        Self {
            definition: level(descriptor.max_def_level()),
            repetition: level(descriptor.max_rep_level()),
        }
    }
}

/// A column with what it contains, and where its leaves are.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) column: Arc<Column>,
    /// Its leaves among those of the table.
    pub(crate) leaves: Range<usize>,
    /// The levels of a value that isn't NULL, and of the items of a list.
    pub(crate) levels: MaxLevels,
    /// The fields of a struct, or the item of a list.
    pub(crate) fields: Vec<Node>,
    /// The names of the fields of a struct, see [`keys`].
    pub(crate) keys: Vec<Vec<u8>>,
}

/// The names of columns as JSON has them, with quotes and a colon.
pub(crate) fn keys(columns: &[Arc<Column>]) -> Vec<Vec<u8>> {
    let keys = columns
        .iter()
        .map(|column| format!("\"{}\":", column.content));
    keys.map(String::into_bytes).collect()
}

impl Node {
    /// The nodes of the columns of a table, or of those that are read.
    pub(crate) fn of(columns: &[Arc<Column>]) -> Vec<Self> {
        let top = MaxLevels {
            definition: 0,
            repetition: 0,
        };
        Self::within(columns, 0, top)
    }

    fn within(columns: &[Arc<Column>], first: usize, around: MaxLevels) -> Vec<Self> {
        let mut next = first;
        let nodes = columns.iter().map(|column| {
            let mut levels = around;
            levels.definition += u8::from(!column.mandatory);
            let start = next;
            let fields = match column.kind {
                Kind::Struct => Self::within(&column.fields, start, levels),
                Kind::List => {
                    levels.repetition += 1;
                    let item = MaxLevels {
                        definition: levels.definition + 1,
                        ..levels
                    };
                    let item_only = column.fields.get(..1).unwrap_or_default();
                    Self::within(item_only, start, item)
                }
                _ => Vec::new(),
            };
            next = fields.last().map_or(start + 1, |last| last.leaves.end);
            Self {
                column: Arc::clone(column),
                leaves: start..next,
                levels,
                fields,
                keys: keys(&column.fields),
            }
        });
        nodes.collect()
    }

    /// The level of NULL in its place.
    pub(crate) fn null_level(&self) -> u8 {
        self.levels.definition - u8::from(!self.column.mandatory)
    }

    /// The columns of its leaves, in order.
    fn add_leaves(&self, leaves: &mut Vec<Leaf>) {
        if self.fields.is_empty() {
            leaves.push(Leaf {
                column: Arc::clone(&self.column),
                most: self.levels,
            });
        }
        for field in &self.fields {
            field.add_leaves(leaves);
        }
    }
}

/// A column without structs and lists, and its levels.
#[derive(Debug, Clone)]
pub(crate) struct Leaf {
    pub(crate) column: Arc<Column>,
    pub(crate) most: MaxLevels,
}

/// The leaves of some columns, in order.
pub(crate) fn leaves(nodes: &[Node]) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    for node in nodes {
        node.add_leaves(&mut leaves);
    }
    leaves
}
