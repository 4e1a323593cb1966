//! Parts by their names.

use std::collections::BTreeMap;
use std::sync::Arc;

use tracelake_core::part_key::PartKey;
use tracelake_schema::Trace;

use crate::manifest::PartFacts;

/// A part of a table of a known trace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartName {
    /// The table.
    pub table: Arc<str>,
    /// The cell and the file number.
    pub key: PartKey,
}

impl PartName {
    /// The part of a table of this name.
    #[must_use]
    pub fn new(table: &str, key: PartKey) -> Self {
        let table = table.into();
        Self { table, key }
    }

    /// The part of a table of this trace; `None` if it has no such table.
    #[must_use]
    pub fn of(trace: &Trace, table: &str, key: PartKey) -> Option<Self> {
        trace.table(table).map(|table| Self::new(&table.name, key))
    }
}

/// The facts of parts.
pub type Parts = BTreeMap<PartName, PartFacts>;

/// The parts of one table, in order.
pub fn parts_of<'a, T>(
    parts: &'a BTreeMap<PartName, T>,
    table: &'a str,
) -> impl Iterator<Item = (PartKey, &'a T)> {
    let from_here = parts.range(PartName::new(table, PartKey::FIRST)..);
    let of_table = from_here.take_while(move |(name, _)| *name.table == *table);
    of_table.map(|(name, facts)| (name.key, facts))
}
