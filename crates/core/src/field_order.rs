//! Which field of a file is which column of its table.

use std::borrow::Cow;

use tracelake_schema::{Column, Table};

use crate::error::{Error, ErrorKind, Result};
use crate::options::Accept;

/// The fields of a table's files, in their order there.
#[derive(Debug, Clone)]
pub struct FieldOrder {
    /// The table.
    pub table: &'static Table,
    /// The fields of a row, in order.
    pub fields: Vec<Field>,
    /// Where the order comes from, for people: `schema.csv` or the trace's name.
    pub origin: String,
    /// The columns whose values come from the name of the file, each with its value.
    pub captured: Vec<(usize, String)>,
    /// What is accepted although it isn't as published.
    pub accept: Accept,
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
            captured: Vec::new(),
            accept: Accept::default(),
        }
    }

    /// The order for a file of this path: with the values that its name gives to columns.
    ///
    /// # Errors
    /// [`ErrorKind::Misfit`] if the name isn't one of the table's.
    pub fn of_file(&self, path: &str) -> Result<Cow<'_, Self>> {
        if !self.table.has_captures() {
            return Ok(Cow::Borrowed(self));
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        let columns = self.table.columns.iter().enumerate();
        let captured = columns.filter_map(|(index, column)| {
            let capture = column.spelling.capture?;
            let value = self.table.captured(name, capture);
            Some(value.map(|value| (index, value)).ok_or(capture))
        });
        let captured = captured.collect::<std::result::Result<Vec<_>, _>>();
        let captured = captured.map_err(|capture| {
            let names = self.table.naming.patterns.iter();
            let names: Vec<&str> = names.map(|pattern| pattern.text).collect();
            let reason = format!("its name doesn't say {{{capture}}}, which is a column");
            Error::new(ErrorKind::Misfit, reason)
                .at(path)
                .field(self.table.name)
                .hint(format!("name it {}", names.join(" or ")))
        })?;
        Ok(Cow::Owned(Self {
            captured,
            ..self.clone()
        }))
    }

    /// The value that the name of the file gives to a column.
    #[must_use]
    pub fn captured(&self, column: usize) -> Option<&str> {
        let mut captured = self.captured.iter();
        let found = captured.find(|(index, _)| *index == column);
        found.map(|(_, value)| &value[..])
    }

    /// The published names of the fields, as the header of a file has them.
    #[must_use]
    pub fn header(&self) -> Vec<u8> {
        let names = self.fields.iter();
        let names: Vec<&[u8]> = names.map(|field| field.column.content.as_bytes()).collect();
        names.join(&self.table.csv.separator)
    }
}
