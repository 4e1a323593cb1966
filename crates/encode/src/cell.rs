//! Values that may contain others, and what the readers of such values share. Pure.

use std::sync::Arc;

use tracelake_core::fault::Fault;
use tracelake_core::field_order::FieldOrder;
use tracelake_core::options::Accept;
use tracelake_schema::{Column, Kind, Zone};

use crate::value::{self, OtherSpellings, Spelled, other_spelling};

/// One value of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// No value.
    Null,
    /// A whole number.
    Integer(i64),
    /// A decimal number.
    Float(f64),
    /// A truth value.
    Boolean(bool),
    /// A code whose names are in the column's description.
    Code(i32),
    /// A text; also a date-time, as it is spelled.
    Text(String),
    /// Its values in the order of the column's fields.
    Struct(Vec<Cell>),
    /// Its elements, in order.
    List(Vec<Cell>),
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// In the order of the table's columns.
    pub cells: Vec<Cell>,
    /// How many values are spelled differently.
    pub others: OtherSpellings,
}

/// Reads the numbers of a row, and counts those in another spelling.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NumberReader<'a> {
    accept: &'a Accept,
    pub(crate) others: OtherSpellings,
}

impl<'a> NumberReader<'a> {
    /// Has read nothing yet.
    pub(crate) fn new(accept: &'a Accept) -> Self {
        Self {
            accept,
            others: OtherSpellings::default(),
        }
    }

    /// Reads a number, or a date-time as its microseconds, as [`value`] does.
    pub(crate) fn read(&mut self, column: &Column, text: &[u8]) -> Result<Cell, Fault> {
        match column.kind {
            Kind::Float => value::float(text).map(Cell::Float),
            Kind::DateTime(zone) => value::date_time_of(column, text, zone).map(Cell::Integer),
            Kind::Code => match value::code(text) {
                Ok(code) => Ok(Cell::Code(code)),
                Err(fault) => {
                    let (value, spelled) = self.other(column, text, fault)?;
                    let code = i32::try_from(value).map_err(|_| fault)?;
                    self.others.count(spelled);
                    Ok(Cell::Code(code))
                }
            },
            Kind::Integer | Kind::Boolean | Kind::Text | Kind::Struct | Kind::List => {
                match value::integer(text) {
                    Ok(integer) => Ok(Cell::Integer(integer)),
                    Err(fault) => {
                        let (value, spelled) = self.other(column, text, fault)?;
                        self.others.count(spelled);
                        Ok(Cell::Integer(value))
                    }
                }
            }
        }
    }

    fn other(self, column: &Column, text: &[u8], fault: Fault) -> Result<(i64, Spelled), Fault> {
        other_spelling(column, text, fault, self.accept)
    }

    /// Whether a field that isn't empty is NULL: as described, or on request; then it is counted.
    pub(crate) fn is_null(&mut self, column: &Column, text: &[u8]) -> bool {
        let is_accepted = self.accept.is_null(text);
        if is_accepted {
            self.others.count(Spelled::AsNull);
        }
        is_accepted || column.spelling.is_null(text)
    }
}

/// Keeps the spelling of a date-time.
///
/// # Errors
/// If it isn't one.
pub(crate) fn date_time(column: &Column, text: String, zone: Zone) -> Result<Cell, Fault> {
    value::date_time_of(column, text.as_bytes(), zone).map(|_| Cell::Text(text))
}

/// Reads a truth value as `read` does, or a described spelling of one.
///
/// # Errors
/// If it isn't one.
pub(crate) fn boolean(
    column: &Column,
    text: &[u8],
    read: fn(&[u8]) -> Result<bool, Fault>,
) -> Result<Cell, Fault> {
    let value = read(text).or_else(|fault| {
        let other = other_spelling(column, text, fault, &Accept::default());
        other.map(|(value, _)| value != 0)
    });
    value.map(Cell::Boolean)
}

/// The columns whose value is in the name of the file, in ascending order, and that value.
pub(crate) fn captured_cells(order: &FieldOrder) -> impl Iterator<Item = (usize, Cell)> {
    order.captured.iter().map(|(index, text)| {
        let cell = match order.table.columns[*index].kind {
            Kind::Integer => value::integer(text.as_bytes()).map_or(Cell::Null, Cell::Integer),
            _ => Cell::Text(text.clone()),
        };
        (*index, cell)
    })
}

/// NULL, unless the column is mandatory.
pub(crate) fn null(column: &Column) -> Result<Cell, Fault> {
    if column.mandatory {
        Err(Fault::Absent)
    } else {
        Ok(Cell::Null)
    }
}

/// The values of a row or a struct, which are read with their names and in any order.
pub(crate) struct NamedCells<'a> {
    columns: &'a [Arc<Column>],
    cells: Vec<Option<Cell>>,
    /// The column to try first: the one after the last that was found.
    next: usize,
}

impl<'a> NamedCells<'a> {
    pub(crate) fn new(columns: &'a [Arc<Column>]) -> Self {
        Self {
            columns,
            cells: vec![None; columns.len()],
            next: 0,
        }
    }

    /// The column with a name; a fault if it doesn't exist or has a value already.
    pub(crate) fn column(&mut self, name: &str) -> Result<(usize, &'a Arc<Column>), Fault> {
        let order = (self.next..self.columns.len()).chain(0..self.next);
        let mut named = order.filter(|&index| self.columns[index].content == name);
        let index = named.next().ok_or(Fault::UnknownKey)?;
        if self.cells[index].is_some() {
            return Err(Fault::DoubleKey);
        }
        self.next = index + 1;
        Ok((index, &self.columns[index]))
    }

    pub(crate) fn put(&mut self, index: usize, cell: Cell) {
        self.cells[index] = Some(cell);
    }

    /// The values in the order of the columns. A missing one is NULL, or a fault if it's mandatory.
    pub(crate) fn finish(self) -> Result<Vec<Cell>, (&'a Arc<Column>, Fault)> {
        self.finish_some(|_| true)
    }

    /// The values of the columns whose index `is_kept` is true for, as [`NamedCells::finish`].
    pub(crate) fn finish_some(
        self,
        is_kept: impl Fn(usize) -> bool,
    ) -> Result<Vec<Cell>, (&'a Arc<Column>, Fault)> {
        let cells = self.cells.into_iter().zip(self.columns).enumerate();
        let kept = cells.filter(|(index, _)| is_kept(*index));
        let cells = kept.map(|(_, (cell, column))| {
            cell.map_or_else(|| null(column).map_err(|fault| (column, fault)), Ok)
        });
        cells.collect()
    }
}
