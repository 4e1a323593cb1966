//! The columns that rows of JSON have, and those of them that are read.

use std::sync::Arc;

use tracelake_core::field_order::FieldOrder;
use tracelake_core::options::Accept;
use tracelake_schema::{Column, Extra};

use crate::nodes::{Node, keys};

/// The columns of a table whose rows are JSON, and those of them that are read.
#[derive(Debug, Clone)]
pub(crate) struct JsonColumns {
    /// All columns that a row may have, and their names.
    pub(super) whole: Arc<[Arc<Column>]>,
    pub(super) keys: Vec<Vec<u8>>,
    /// Those that are read.
    pub(crate) nodes: Vec<Node>,
    /// For each of them the index that its values have; `None` if every column is read.
    pub(super) kept: Option<Vec<Option<usize>>>,
    pub(super) accept: Accept,
    /// What becomes of names that no column has.
    pub(super) extra: Extra,
}

impl JsonColumns {
    /// The columns that an order of fields names.
    pub(crate) fn of(order: &FieldOrder) -> Self {
        let whole = &order.whole.columns;
        let kept = whole.iter().map(|column| {
            let found = order.table.column(&column.name);
            found.map(|(index, _)| index)
        });
        let is_some = order.table.columns.len() < whole.len();
        Self {
            whole: Arc::clone(whole),
            keys: keys(whole),
            nodes: Node::of(&order.table.columns),
            kept: is_some.then(|| kept.collect()),
            accept: order.accept,
            extra: order.whole.json.extra,
        }
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
        }
    }
}
