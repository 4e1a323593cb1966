//! Which field of a file is which column of its table.

use tracelake_schema::{Column, Table};

/// The fields of a table's files, in their order there.
#[derive(Debug, Clone)]
pub struct FieldOrder {
    /// The table.
    pub table: &'static Table,
    /// The fields of a row, in order.
    pub fields: Vec<Field>,
    /// Where the order comes from, for people: `schema.csv` or the trace's name.
    pub origin: String,
}

/// One field of a row.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The index of its column in the table.
    pub index: usize,
    /// Its column.
    pub column: &'static Column,
    /// Whether it may not be empty.
    pub mandatory: bool,
}

impl FieldOrder {
    /// The order that a table has where no `schema.csv` says otherwise.
    #[must_use]
    pub fn built_in(table: &'static Table, origin: &str) -> Self {
        let fields = table.fields.iter().map(|&index| Field {
            index,
            column: &table.columns[index],
            mandatory: table.columns[index].mandatory,
        });
        Self {
            table,
            fields: fields.collect(),
            origin: origin.to_owned(),
        }
    }
}
