//! A trace's own `schema.csv`, which decides the order, number and presence of fields.

use std::sync::Arc;

use tracelake_core::error::{Error, ErrorKind, Result, escape};
use tracelake_core::field_order::{Field, FieldOrder};
use tracelake_location::Location;
use tracelake_schema::{Table, Trace};
use tracelake_source::Magic;

/// The columns of `schema.csv`, in the order that they are used in here.
const HEADER: [&str; 5] = [
    "file pattern",
    "field number",
    "content",
    "format",
    "mandatory",
];

/// Advice about a `schema.csv` that doesn't describe the tables here.
const OTHERS: &str =
    "move schema.csv away if it is of another trace, and download it again otherwise";

/// The largest file that is read, in bytes; the published one has 4 KB.
const LIMIT: u64 = 1 << 20;

/// One row: a field of a table.
#[derive(Debug)]
struct SchemaRow {
    line: u64,
    table: String,
    number: usize,
    content: String,
    format: String,
    mandatory: bool,
}

/// A `schema.csv` that was read, but not yet compared with a trace.
#[derive(Debug)]
pub struct SchemaCsv {
    path: Location,
    rows: Vec<SchemaRow>,
}

impl SchemaCsv {
    /// Reads the file.
    ///
    /// # Errors
    /// [`ErrorKind::Misfit`] when it does not have the published form, with the line.
    pub fn read(path: &Location) -> Result<Self> {
        let text = path.read_small(LIMIT)?;
        let advice = Magic::of(&text).map_or_else(|| OTHERS.to_owned(), Magic::advice);
        let hint = format!("{advice}; without one, the published order is used");
        let misfit = |line: u64, reason: String| {
            Error::new(ErrorKind::Misfit, reason)
                .at(path)
                .line(line, None)
                .hint(hint.clone())
        };
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .trim(csv::Trim::All)
            .from_reader(text.as_slice());
        let mut rows = Vec::new();
        let mut header = None;
        for record in reader.records() {
            let record = record.map_err(|error| wrap(path, error))?;
            let line = record.position().map_or(0, csv::Position::line);
            let Some(order) = header else {
                let places = HEADER.map(|name| {
                    record
                        .iter()
                        .position(|field| field.trim_start_matches('\u{feff}') == name)
                });
                let [Some(a), Some(b), Some(c), Some(d), Some(e)] = places else {
                    return Err(misfit(
                        line,
                        format!("expected the header {}", HEADER.join(",")),
                    ));
                };
                header = Some([a, b, c, d, e]);
                continue;
            };
            let [pattern, number, content, format, mandatory] =
                order.map(|place| record.get(place).unwrap_or_default());
            let shown = escape(pattern.as_bytes(), 80);
            let Some((table, _)) = pattern.split_once('/') else {
                return Err(misfit(
                    line,
                    format!("the file pattern '{shown}' names no directory"),
                ));
            };
            let number: usize = match number.parse() {
                Ok(at) if (1..=1000).contains(&at) && !number.starts_with('+') => at,
                _ => {
                    let shown = escape(number.as_bytes(), 40);
                    return Err(misfit(
                        line,
                        format!("the field number '{shown}' is not 1 to 1000"),
                    ));
                }
            };
            let mandatory = match mandatory {
                "YES" => true,
                "NO" => false,
                other => {
                    let shown = escape(other.as_bytes(), 40);
                    return Err(misfit(
                        line,
                        format!("mandatory is '{shown}', neither YES nor NO"),
                    ));
                }
            };
            rows.push(SchemaRow {
                line,
                table: table.to_owned(),
                number,
                content: content.to_owned(),
                format: format.to_owned(),
                mandatory,
            });
        }
        if rows.is_empty() {
            return Err(misfit(1, "describes no field".to_owned()));
        }
        Ok(Self {
            path: path.clone(),
            rows,
        })
    }

    /// How many fields it gives a table; 0 when it does not know the table.
    #[must_use]
    pub fn fields(&self, table: &str) -> usize {
        self.rows.iter().filter(|row| row.table == table).count()
    }

    /// Names the first table or field that a trace does not have.
    ///
    /// # Errors
    /// [`ErrorKind::Misfit`] with the line.
    pub fn check(&self, trace: &Trace) -> Result<()> {
        for row in &self.rows {
            let Some(table) = trace.table(&row.table) else {
                let shown = escape(row.table.as_bytes(), 80);
                return Err(self.misfit(row, format!("{} has no table '{shown}'", trace.name)));
            };
            self.field(table, row)?;
        }
        Ok(())
    }

    /// The order of the fields in the files of one table.
    ///
    /// # Errors
    /// [`ErrorKind::Misfit`] for an unknown, repeated or missing field.
    pub fn order(&self, table: &Arc<Table>) -> Result<FieldOrder> {
        let mut rows: Vec<&SchemaRow> = self
            .rows
            .iter()
            .filter(|row| row.table == table.name)
            .collect();
        rows.sort_by_key(|row| row.number);
        let mut fields: Vec<Field> = Vec::new();
        for (row, number) in rows.iter().zip(1..) {
            if row.number != number {
                let reason = format!("field number {} where {number} comes next", row.number);
                return Err(self.misfit(row, reason));
            }
            let field = self.field(table, row)?;
            if fields.iter().any(|other| other.index == field.index) {
                return Err(self.misfit(row, format!("'{}' occurs twice", field.column.content)));
            }
            fields.push(field);
        }
        for (index, column) in table.columns.iter().enumerate() {
            if column.mandatory && !fields.iter().any(|field| field.index == Some(index)) {
                let reason = format!("lacks the mandatory field '{}'", column.content);
                return Err(Error::new(ErrorKind::Misfit, reason)
                    .at(&self.path)
                    .field(&*table.name)
                    .hint(format!(
                        "{OTHERS}; without one, the published order is used"
                    )));
            }
        }
        Ok(FieldOrder::new(table, fields, "schema.csv"))
    }

    fn field(&self, table: &Table, row: &SchemaRow) -> Result<Field> {
        let known = table
            .columns
            .iter()
            .enumerate()
            .find(|(_, c)| c.content == row.content);
        let Some((index, column)) = known else {
            let shown = escape(row.content.as_bytes(), 80);
            return Err(self.misfit(row, format!("{} has no field '{shown}'", table.name)));
        };
        if row.format != column.format {
            let shown = escape(row.format.as_bytes(), 40);
            let reason = format!(
                "'{}' has the format '{shown}', expected {}",
                column.content, column.format
            );
            return Err(self.misfit(row, reason));
        }
        Ok(Field {
            index: Some(index),
            column: Arc::clone(column),
            item: None,
            mandatory: column.mandatory || row.mandatory,
        })
    }

    fn misfit(&self, row: &SchemaRow, reason: String) -> Error {
        Error::new(ErrorKind::Misfit, reason)
            .at(&self.path)
            .line(row.line, None)
            .hint(format!("name the right trace with --trace, or {OTHERS}"))
    }
}

fn wrap(path: &Location, error: csv::Error) -> Error {
    let line = error.position().map(csv::Position::line);
    let kind = if error.is_io_error() {
        ErrorKind::Failed
    } else {
        ErrorKind::Misfit
    };
    let wrapped = Error::new(kind, format!("cannot read: {error}"))
        .at(path)
        .because(error);
    match line {
        Some(line) => wrapped.line(line, None),
        None => wrapped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> Result<SchemaCsv> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), lines.join("\n")).unwrap();
        SchemaCsv::read(&Location::from(file.path()))
    }

    const HEAD: &str = "file pattern,field number,content,format,mandatory";

    #[test]
    fn fields_are_counted_by_table() {
        let schema_csv = read(&[
            HEAD,
            "a/part-?????-of-?????.csv.gz,1,time,INTEGER,YES",
            "a/part-?????-of-?????.csv.gz,2,user,STRING_HASH,NO",
            "b/part-?????-of-?????.csv.gz,1,time,INTEGER,YES",
        ]);
        let schema_csv = schema_csv.unwrap();
        assert_eq!(
            ["a", "b", "c"].map(|table| schema_csv.fields(table)),
            [2, 1, 0]
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let cases = [
            ("time,1,time,INTEGER,YES", "'time' names no directory"),
            ("a/b,0,time,INTEGER,YES", "'0' is not 1 to 1000"),
            ("a/b,1001,time,INTEGER,YES", "'1001' is not 1 to 1000"),
            ("a/b,+1,time,INTEGER,YES", "'+1' is not 1 to 1000"),
            ("a/b,1,time,INTEGER,yes", "mandatory is 'yes'"),
        ];
        for (line, reason) in cases {
            let error = read(&[HEAD, "a/b,1000,time,INTEGER,NO", line]).unwrap_err();
            assert_eq!(
                (error.kind(), error.place().line),
                (ErrorKind::Misfit, Some(3))
            );
            assert!(error.to_string().contains(reason), "{error}");
        }
        let error = read(&["time,job"]).unwrap_err().to_string();
        assert!(error.contains("expected the header"), "{error}");
        let error = read(&[HEAD]).unwrap_err().to_string();
        assert!(error.contains("describes no field"), "{error}");
    }
}
