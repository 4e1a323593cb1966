//! The columns that rows of JSON have, and those of them that are read.

use std::sync::Arc;

use tracelake_core::field_order::FieldOrder;
use tracelake_core::options::Accept;
use tracelake_schema::{Column, Extra};

use crate::nodes::{Node, keys};
use crate::row_fields::offset;

/// The columns of a table whose rows are JSON, and those of them that are read.
#[derive(Debug, Clone)]
pub(crate) struct JsonColumns {
    /// All columns that a row may have, and their names; those of the file's name aren't among them.
    pub(super) whole: Arc<[Arc<Column>]>,
    pub(super) keys: Vec<Vec<u8>>,
    /// The columns that are read.
    pub(crate) nodes: Vec<Node>,
    /// For each of them the index that its values have; `None` if every column is read.
    pub(super) kept: Option<Vec<Option<usize>>>,
    pub(super) accept: Accept,
    /// The policy for names that no column has.
    pub(super) extra: Extra,
    /// The leaves whose value is in the name of the file, and the range of that value after the chunk.
    pub(super) captured: Vec<(usize, (u32, u32))>,
}

impl JsonColumns {
    /// The columns that an order of fields names.
    pub(crate) fn of(order: &FieldOrder) -> Self {
        let columns = &order.whole.columns;
        let whole: Arc<[_]> = match order.whole.has_captures() {
            true => {
                let in_row = columns.iter().filter(|column| !is_captured(column));
                in_row.cloned().collect()
            }
            false => Arc::clone(columns),
        };
        let kept = whole.iter().map(|column| {
            let found = order.table.column(&column.name);
            found.map(|(index, _)| index)
        });
        let is_some = order.table.columns.len() < columns.len() || whole.len() < columns.len();
        Self {
            keys: keys(&whole),
            nodes: Node::of(&order.table.columns),
            kept: is_some.then(|| kept.collect()),
            whole,
            accept: order.accept.clone(),
            extra: order.whole.json.extra,
            captured: Vec::new(),
        }
    }

    /// Places the values that the name of the file has after a chunk of this length, one after another.
    pub(super) fn place_captured(&mut self, order: &FieldOrder, chunk: usize) {
        self.captured.clear();
        let mut start = chunk;
        for (index, value) in &order.captured {
            let end = start + value.len();
            let leaf = self.nodes[*index].leaves.start;
            self.captured.push((leaf, (offset(start), offset(end))));
            start = end;
        }
    }

    /// The index of a column among those that a row may have, of its index in the table.
    pub(super) fn in_row(&self, order: &FieldOrder, index: usize) -> usize {
        let before = &order.whole.columns[..index];
        index - before.iter().filter(|column| is_captured(column)).count()
    }

    pub(super) fn keeps(&self, index: usize) -> bool {
        self.kept
            .as_ref()
            .is_none_or(|kept| kept.get(index).is_some_and(Option::is_some))
    }
}

impl From<&Arc<[Arc<Column>]>> for JsonColumns {
    /// All columns.
    fn from(whole: &Arc<[Arc<Column>]>) -> Self {
        Self {
            whole: Arc::clone(whole),
            keys: keys(whole),
            nodes: Node::of(whole),
            kept: None,
            accept: Accept::default(),
            extra: Extra::Refuse,
            captured: Vec::new(),
        }
    }
}

/// Whether the name of the file has the value of a column.
fn is_captured(column: &Column) -> bool {
    column.spelling.capture.is_some()
}
