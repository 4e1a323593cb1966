//! A table that no trace has, and what the library makes of a text of it.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use bytes::Bytes;
use serde_json::Value;
use tracelake_convert::part::{
    Beginning, Converted, PartRows, ReadProgress, TableText, convert_part,
};
use tracelake_core::Context;
use tracelake_core::error::{Error, Result};
use tracelake_core::field_order::FieldOrder;
use tracelake_encode::output::OutputSettings;
use tracelake_schema::{Column, Kind, Syntax, Table};
use tracelake_source::Source;

use crate::every_kind;
use crate::lake::read_parquet;

/// A column that has other ones in it. Some names are mandatory: those of the time, of an element and of a list.
pub fn column(name: &str, kind: Kind, fields: impl IntoIterator<Item = Column>) -> Column {
    let mandatory = matches!(name, "time" | "t" | "item" | "after");
    every_kind::column(name, kind, mandatory, fields)
}

/// The table as JSON lines.
pub static JSON: LazyLock<Arc<Table>> = LazyLock::new(|| {
    let columns = [
        // Before the time, so that its column chunk is not the one of its index.
        column(
            "usage",
            Kind::Struct,
            [
                column("cpus", Kind::Float, []),
                column("memory", Kind::Float, []),
            ],
        ),
        column("time", Kind::Integer, []),
        column("user", Kind::Text, []),
        column("after", Kind::List, [column("item", Kind::Integer, [])]),
    ];
    Arc::new(Table {
        syntax: Syntax::Json,
        time: Some(1),
        ..Table::plain("steps", columns)
    })
});

/// The table as quoted CSV.
pub static QUOTED: LazyLock<Arc<Table>> = LazyLock::new(|| as_quoted(&JSON));

/// A table whose files are quoted CSV.
pub fn as_quoted(table: &Table) -> Arc<Table> {
    Arc::new(Table {
        syntax: Syntax::QuotedCsv,
        ..table.clone()
    })
}

/// The header of the quoted CSV.
pub const HEADER: &str = "usage,time,user,after\n";

/// A good row of either syntax; that of quoted CSV has two lines.
pub fn row(table: &Table, number: usize) -> String {
    let user = "u".repeat(number % 7);
    if table.syntax == Syntax::Json {
        let usage = format!(r#"{{"cpus":{},"memory":null}}"#, eighths(number));
        format!(
            "{{\"usage\":{usage},\"time\":\"{number}\",\"user\":\"x{user}\",\"after\":[{number},\"2\"]}}\n"
        )
    } else {
        let usage = format!("{{'cpus': {:?}, 'memory': None}}", eighths(number));
        format!("\"{usage}\",{number},\"x{user}\",\"[{number}\n 2]\"\n")
    }
}

fn eighths(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap()) / 8.0
}

/// The header of a text, before its rows.
pub fn header(table: &Table) -> &'static str {
    if table.syntax == Syntax::Json {
        ""
    } else {
        HEADER
    }
}

/// The result for one part.
pub struct Part {
    /// Its counts.
    pub converted: Converted,
    /// The file.
    pub parquet: Vec<u8>,
    /// The lines of its rejects file.
    pub rejects: Vec<Value>,
}

impl Part {
    /// The rows of the file.
    pub fn rows(&self) -> RecordBatch {
        let rows = read_parquet(Bytes::from(self.parquet.clone()));
        assert_eq!(rows.num_rows() as u64, self.converted.rows_out);
        rows
    }
}

/// Converts a file of a table in parts of `part_rows` rows, with the bad rows rejected.
///
/// # Errors
/// If the file is no table, or is damaged.
pub fn convert(path: &Path, table: &Arc<Table>, part_rows: Option<u64>) -> Result<Vec<Part>> {
    let order = FieldOrder::built_in(table, "here");
    let mut source = Source::open(&Context::new(), path)?;
    let beginning = Beginning::of(&mut source, Cow::Borrowed(&order))?;
    let mut text = TableText::new(&mut source, &beginning, part_rows);
    let mut parts = Vec::new();
    while text.next_part()? {
        let mut rejects = Vec::new();
        let (converted, parquet) = convert_part(
            PartRows::Text(&mut text),
            &order,
            OutputSettings::DEFAULT,
            Vec::new(),
            &mut |bad| {
                // A strict run would say this.
                let error = bad.to_error(path, &order).to_string();
                assert!(!error.contains(char::is_control), "{error}");
                rejects.push(serde_json::from_slice(&bad.to_json()?).unwrap());
                Ok(())
            },
            &mut ReadProgress::new(&Context::new()),
        )?;
        let counted = converted.rows_out + rejects.len() as u64;
        assert_eq!(converted.rows_in, counted, "the counting law");
        assert_eq!(converted.rows_rejected, rejects.len() as u64);
        parts.push(Part {
            converted,
            parquet,
            rejects,
        });
    }
    Ok(parts)
}

/// Like [`convert`], for a text of one part.
///
/// # Errors
/// Errors of [`convert`].
pub fn convert_text(text: &[u8], table: &Arc<Table>) -> std::result::Result<Part, Error> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("text");
    std::fs::write(&path, text).unwrap();
    let mut parts = convert(&path, table, None)?;
    assert_eq!(parts.len(), 1);
    Ok(parts.remove(0))
}

/// Whether a value of JSON means that of an array.
pub fn equal(column: &Column, value: &Value, array: &dyn Array, row: usize) -> bool {
    let text = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    let is_null = value.is_null() || column.spelling.is_null(text.as_bytes());
    if is_null || array.is_null(row) {
        return is_null && array.is_null(row);
    }
    match column.kind {
        Kind::DateTime(_) => false,
        Kind::Integer => text.parse() == Ok(array.as_primitive::<Int64Type>().value(row)),
        Kind::Code => text.parse() == Ok(array.as_primitive::<Int32Type>().value(row)),
        Kind::Float => text.parse() == Ok(array.as_primitive::<Float64Type>().value(row)),
        Kind::Boolean => {
            let word = || column.spelling.truth(text.as_bytes());
            let plain = || {
                text.parse()
                    .ok()
                    .filter(|_| !column.spelling.words.is_empty())
            };
            let value = value.as_bool().or_else(word).or_else(plain);
            value == Some(array.as_boolean().value(row))
        }
        Kind::Text => value.as_str() == Some(array.as_string::<i32>().value(row)),
        Kind::Struct => {
            let inner = column.fields.iter().zip(array.as_struct().columns());
            value.is_object()
                && inner
                    .into_iter()
                    .all(|(field, array)| equal(field, &value[&*field.content], array, row))
        }
        Kind::List => {
            let found = array.as_list::<i32>().value(row);
            let items = value.as_array().unwrap();
            let mut numbered = items.iter().enumerate();
            numbered.len() == found.len()
                && numbered.all(|(at, item)| equal(&column.fields[0], item, &found, at))
        }
    }
}
