//! The order of tables.

use std::sync::Arc;

use tracelake_schema::{Table, Trace};

/// The index of a table in its trace, derived tables after all others. Plans and lakes have their tables in
/// this order.
///
/// ```
/// use tracelake_convert::plan::TableIndex;
///
/// let trace = &tracelake_schema::TRACES[0];
/// let first = TableIndex::of(trace, &trace.tables[0].name).unwrap();
/// assert_eq!(first.table(trace).name, trace.tables[0].name);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TableIndex(usize);

impl TableIndex {
    /// The index of the table with this name; `None` if the trace doesn't have it.
    #[must_use]
    pub fn of(trace: &Trace, table: &str) -> Option<Self> {
        let index = trace.all_tables().position(|known| known.name == table);
        index.map(Self)
    }

    /// The published tables of a trace, each with its index.
    pub(super) fn published(trace: &Trace) -> impl Iterator<Item = (Self, &Arc<Table>)> {
        let tables = trace.tables.iter().enumerate();
        tables.map(|(index, table)| (Self(index), table))
    }

    /// The table with this index.
    ///
    /// # Panics
    /// When the index is one of another trace, which has more tables.
    #[must_use]
    pub fn table(self, trace: &Trace) -> &Arc<Table> {
        let table = trace.all_tables().nth(self.0);
        table.expect("an index is used with the trace that it is of")
    }
}
