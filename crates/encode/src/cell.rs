//! Values that may contain others, and what the readers of such values share. Pure.

use tracelake_core::fault::Fault;
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
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NumberReader {
    accept: Accept,
    pub(crate) others: OtherSpellings,
}

impl NumberReader {
    /// Has read nothing yet.
    pub(crate) fn new(accept: Accept) -> Self {
        Self {
            accept,
            ..Self::default()
        }
    }

    /// Reads a number, or a date-time as its microseconds, as [`value`] does.
    pub(crate) fn read(&mut self, column: &'static Column, text: &[u8]) -> Result<Cell, Fault> {
        match column.kind {
            Kind::Float => value::float(text).map(Cell::Float),
            Kind::DateTime(zone) => value::date_time(text, zone).map(Cell::Integer),
            Kind::Code => match value::code(text) {
                Ok(code) => Ok(Cell::Code(code)),
                Err(fault) => {
                    let (value, spelled) = self.other(column, text, fault)?;
                    let code = i32::try_from(value).map_err(|_| fault)?;
                    self.others.count(spelled);
                    Ok(Cell::Code(code))
                }
            },
            _ => match value::integer(text) {
                Ok(integer) => Ok(Cell::Integer(integer)),
                Err(fault) => {
                    let (value, spelled) = self.other(column, text, fault)?;
                    self.others.count(spelled);
                    Ok(Cell::Integer(value))
                }
            },
        }
    }

    fn other(
        self,
        column: &'static Column,
        text: &[u8],
        fault: Fault,
    ) -> Result<(i64, Spelled), Fault> {
        other_spelling(column, text, fault, self.accept).ok_or(fault)
    }

    /// Whether a field that isn't empty is NULL on request; then it is counted.
    pub(crate) fn is_null(&mut self, text: &[u8]) -> bool {
        let is_null = self.accept.is_null(text);
        if is_null {
            self.others.count(Spelled::AsNull);
        }
        is_null
    }
}

/// Keeps the spelling of a date-time.
///
/// # Errors
/// If it isn't one.
pub(crate) fn date_time(text: String, zone: Zone) -> Result<Cell, Fault> {
    value::date_time(text.as_bytes(), zone).map(|_| Cell::Text(text))
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
pub(crate) struct NamedCells {
    columns: &'static [Column],
    cells: Vec<Option<Cell>>,
    /// The column to try first: the one after the last that was found.
    next: usize,
}

impl NamedCells {
    pub(crate) fn new(columns: &'static [Column]) -> Self {
        Self {
            columns,
            cells: vec![None; columns.len()],
            next: 0,
        }
    }

    /// The column with a name; a fault if it doesn't exist or has a value already.
    pub(crate) fn column(&mut self, name: &str) -> Result<(usize, &'static Column), Fault> {
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
    pub(crate) fn finish(self) -> Result<Vec<Cell>, (&'static Column, Fault)> {
        self.finish_some(|_| true)
    }

    /// The values of the columns whose index `is_kept` is true for, as [`NamedCells::finish`].
    pub(crate) fn finish_some(
        self,
        is_kept: impl Fn(usize) -> bool,
    ) -> Result<Vec<Cell>, (&'static Column, Fault)> {
        let cells = self.cells.into_iter().zip(self.columns).enumerate();
        let kept = cells.filter(|(index, _)| is_kept(*index));
        let cells = kept.map(|(_, (cell, column))| {
            cell.map_or_else(|| null(column).map_err(|fault| (column, fault)), Ok)
        });
        cells.collect()
    }
}

/// Rows with structs and lists, for tests.
#[doc(hidden)]
pub mod tests {
    use tracelake_schema::{Files, Sentinel, Syntax, Table};

    use super::*;
    #[cfg(test)]
    use crate::reject::Reject;

    pub(crate) const fn column(
        name: &'static str,
        kind: Kind,
        mandatory: bool,
        fields: &'static [Column],
    ) -> Column {
        Column {
            mandatory,
            fields,
            ..Column::plain(name, kind)
        }
    }

    /// A table with every kind of column, and structs in lists.
    pub const TABLE: Table = Table {
        name: "jobs",
        summary: "",
        columns: &[
            Column {
                sentinels: &[Sentinel {
                    value: i64::MAX,
                    name: "AFTER",
                    also: Some("18446744073709551615"),
                    doc: "",
                }],
                unit: Some("microseconds"),
                ..column("time", Kind::Integer, true, &[])
            },
            column("event", Kind::Code, false, &[]),
            column("share", Kind::Float, false, &[]),
            column("done", Kind::Boolean, false, &[]),
            column("user", Kind::Text, false, &[]),
            column(
                "usage",
                Kind::Struct,
                false,
                &[
                    column("cpus", Kind::Float, false, &[]),
                    column("memory", Kind::Float, false, &[]),
                ],
            ),
            column(
                "rules",
                Kind::List,
                false,
                &[column(
                    "item",
                    Kind::Struct,
                    true,
                    &[
                        column("name", Kind::Text, true, &[]),
                        column("relation", Kind::Code, false, &[]),
                    ],
                )],
            ),
            column(
                "after",
                Kind::List,
                false,
                &[column("item", Kind::Integer, true, &[])],
            ),
            column("since", Kind::DateTime(Zone::Published), false, &[]),
        ],
        fields: &[0, 1, 2, 3, 4, 5, 6, 7, 8],
        files: Files::Whole,
        naming: tracelake_schema::Naming::NONE,
        csv: tracelake_schema::Csv::PLAIN,
        syntax: Syntax::Json,
        published: None,
        shards: &[],
        required: None,
        entity: &[],
        primary_key: &[],
        references: &[],
        parts: 0,
        time: Some(0),
        synthetic: "",
    };

    /// Spellings of date-times with a zone.
    #[cfg(test)]
    pub(crate) const DATE_TIMES: &str = "(19|20)[0-9]{2}-0[1-9]-[012][1-8][T ][01][0-9]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6}(000)?)?(Z|[+-](0[0-9]|1[0-3]):[0-5][0-9])";

    /// The path of the column at fault, the faulty text, and the fault.
    #[cfg(test)]
    pub(crate) fn described(reject: Reject, raw: &[u8]) -> (String, String, Fault) {
        let column = reject.column.map_or("", |column| column.name);
        let field = String::from_utf8_lossy(&raw[reject.field()]).into_owned();
        (format!("{column}{}", reject.inner), field, reject.fault)
    }

    /// Formats a cell as Python prints it, with numpy's spaces in lists or with commas.
    pub(crate) fn python(cell: &Cell, column: &'static Column, numpy: bool) -> String {
        match cell {
            Cell::Null => "None".to_owned(),
            Cell::Integer(value) => value.to_string(),
            Cell::Code(value) => value.to_string(),
            Cell::Float(value) => format!("{value:?}"),
            Cell::Boolean(true) => "True".to_owned(),
            Cell::Boolean(false) => "False".to_owned(),
            Cell::Text(text) => {
                let quote = if text.contains('\'') && !text.contains('"') {
                    '"'
                } else {
                    '\''
                };
                let mut printed = String::from(quote);
                for c in text.chars() {
                    match c {
                        '\\' => printed.push_str("\\\\"),
                        '\n' => printed.push_str("\\n"),
                        c if c == quote => printed.extend(['\\', c]),
                        c if c.is_control() && u32::from(c) < 256 => {
                            printed += &format!("\\x{:02x}", u32::from(c))
                        }
                        c if u32::from(c) > 0xffff => {
                            printed += &format!("\\U{:08x}", u32::from(c))
                        }
                        c if c.is_alphanumeric() || c.is_ascii() => printed.push(c),
                        c => printed += &format!("\\u{:04x}", u32::from(c)),
                    }
                }
                printed.push(quote);
                printed
            }
            Cell::Struct(cells) => {
                let named = cells.iter().zip(column.fields).map(|(cell, column)| {
                    format!("'{}': {}", column.content, python(cell, column, numpy))
                });
                format!("{{{}}}", named.collect::<Vec<_>>().join(", "))
            }
            Cell::List(items) => {
                let written: Vec<String> = items
                    .iter()
                    .map(|item| python(item, &column.fields[0], numpy))
                    .collect();
                format!("[{}]", written.join(if numpy { "\n " } else { ", " }))
            }
        }
    }

    /// A row as quoted CSV; fields are quoted `always` or where they must be.
    pub fn quoted_line(cells: &[Cell], numpy: bool, always: bool) -> String {
        let fields = cells.iter().zip(TABLE.columns).map(|(cell, column)| {
            let field = match cell {
                Cell::Null => return String::new(),
                Cell::Text(text) => text.clone(),
                cell => python(cell, column, numpy),
            };
            if always || field.contains([',', '"', '\n']) {
                format!("\"{}\"", field.replace('"', "\"\""))
            } else {
                field
            }
        });
        fields.collect::<Vec<_>>().join(",")
    }

    /// The values of a struct or a row as a JSON object.
    pub fn json_object(cells: &[Cell], columns: &[Column]) -> serde_json::Value {
        cells
            .iter()
            .zip(columns)
            .map(|(cell, column)| (column.content.to_owned(), json(cell, column)))
            .collect()
    }

    fn json(cell: &Cell, column: &Column) -> serde_json::Value {
        match cell {
            Cell::Null => serde_json::Value::Null,
            // As BigQuery exports them.
            Cell::Integer(value) => value.to_string().into(),
            Cell::Code(value) => value.to_string().into(),
            Cell::Float(value) => (*value).into(),
            Cell::Boolean(value) => (*value).into(),
            Cell::Text(text) => text.as_str().into(),
            Cell::Struct(cells) => json_object(cells, column.fields),
            Cell::List(items) => items
                .iter()
                .map(|item| json(item, &column.fields[0]))
                .collect(),
        }
    }

    /// All cells that differ from this one in a single value, by as little as possible.
    pub fn mutations(cell: &Cell, column: &'static Column) -> Vec<Cell> {
        let one = |inner: &[Cell], at: usize, other: Cell| {
            let mut changed = inner.to_vec();
            changed[at] = other;
            changed
        };
        let mut others = match cell {
            Cell::Null => {
                return vec![match column.kind {
                    Kind::Integer => Cell::Integer(0),
                    Kind::DateTime(_) => Cell::Text("1970-01-01 00:00:00Z".to_owned()),
                    Kind::Code => Cell::Code(0),
                    Kind::Float => Cell::Float(0.0),
                    Kind::Boolean => Cell::Boolean(false),
                    Kind::Text => Cell::Text("x".to_owned()),
                    Kind::Struct => Cell::Struct(vec![Cell::Null; column.fields.len()]),
                    Kind::List => Cell::List(vec![]),
                }];
            }
            Cell::Integer(value) => vec![Cell::Integer(value ^ 1)],
            Cell::Code(value) => vec![Cell::Code(value ^ 1)],
            Cell::Float(value) => vec![
                Cell::Float(f64::from_bits(value.to_bits() ^ 1)),
                Cell::Float(-value),
            ],
            Cell::Boolean(value) => vec![Cell::Boolean(!value)],
            Cell::Text(text) if matches!(column.kind, Kind::DateTime(_)) => {
                vec![Cell::Text(text.replacen("00", "01", 1))]
            }
            Cell::Text(text) => vec![Cell::Text(format!("{text}="))],
            Cell::Struct(cells) => {
                let fields = cells.iter().zip(column.fields).enumerate();
                let others = fields.flat_map(|(at, (cell, column))| {
                    let others = mutations(cell, column).into_iter();
                    others.map(move |other| Cell::Struct(one(cells, at, other)))
                });
                others.collect()
            }
            Cell::List(items) => {
                let mut others = vec![Cell::List(
                    [&items[..], &items[..1.min(items.len())]].concat(),
                )];
                others.retain(|_| !items.is_empty());
                for (at, item) in items.iter().enumerate() {
                    let mut shorter = items.clone();
                    shorter.remove(at);
                    others.push(Cell::List(shorter));
                    for other in mutations(item, &column.fields[0]) {
                        others.push(Cell::List(one(items, at, other)));
                    }
                }
                others
            }
        };
        others.push(Cell::Null);
        others
    }
}
