//! A table that no trace has, and what the library makes of a text of it.

use std::borrow::Cow;
use std::path::Path;

use arrow_array::RecordBatch;
use bytes::Bytes;
use serde_json::Value;
use tracelake_convert::part::{Beginning, Converted, ReadProgress, TableText, convert_part};
use tracelake_core::Context;
use tracelake_core::error::{Error, Result};
use tracelake_core::field_order::FieldOrder;
use tracelake_encode::output::Encoding;
use tracelake_schema::arrow::arrow_schema;
use tracelake_schema::{Column, Files, Kind, Syntax, Table};
use tracelake_source::Source;

use tracelake_testkit::read_parquet;

const fn column(name: &'static str, kind: Kind, fields: &'static [Column]) -> Column {
    Column {
        mandatory: matches!(name.as_bytes(), b"time" | b"item" | b"after"),
        fields,
        ..Column::plain(name, kind)
    }
}

pub(crate) static JSON: Table = Table {
    name: "steps",
    summary: "",
    columns: &[
        // Before the time, so that its column chunk is not the one of its index.
        column(
            "usage",
            Kind::Struct,
            &[
                column("cpus", Kind::Float, &[]),
                column("memory", Kind::Float, &[]),
            ],
        ),
        column("time", Kind::Integer, &[]),
        column("user", Kind::Text, &[]),
        column("after", Kind::List, &[column("item", Kind::Integer, &[])]),
    ],
    fields: &[0, 1, 2, 3],
    files: Files::Whole,
    naming: tracelake_schema::Naming::NONE,
    csv: tracelake_schema::Csv::PLAIN,
    syntax: Syntax::Json,
    parts: 0,
    published: None,
    shards: &[],
    required: None,
    entity: &[],
    primary_key: &[],
    references: &[],
    time: Some(1),
    synthetic: "",
};

pub(crate) static QUOTED: Table = Table {
    syntax: Syntax::QuotedCsv,
    ..JSON
};

pub(crate) const HEADER: &str = "usage,time,user,after\n";

/// A good row of either syntax; that of quoted CSV has two lines.
pub(crate) fn row(table: &Table, number: usize) -> String {
    let user = "u".repeat(number % 7);
    if table.syntax == Syntax::Json {
        let usage = format!(r#"{{"cpus":{},"memory":null}}"#, number as f64 / 8.0);
        format!(
            "{{\"usage\":{usage},\"time\":\"{number}\",\"user\":\"x{user}\",\"after\":[{number},\"2\"]}}\n"
        )
    } else {
        let usage = format!("{{'cpus': {:?}, 'memory': None}}", number as f64 / 8.0);
        format!("\"{usage}\",{number},\"x{user}\",\"[{number}\n 2]\"\n")
    }
}

/// The header of a text, before its rows.
pub(crate) fn header(table: &Table) -> &'static str {
    if table.syntax == Syntax::Json {
        ""
    } else {
        HEADER
    }
}

/// The result for one part.
pub(crate) struct Part {
    pub(crate) converted: Converted,
    pub(crate) parquet: Vec<u8>,
    pub(crate) rejects: Vec<Value>,
}

impl Part {
    pub(crate) fn rows(&self) -> RecordBatch {
        read_parquet(Bytes::from(self.parquet.clone()))
    }
}

/// Converts a file of a table in parts of `part_rows` rows, with the bad rows rejected.
pub(crate) fn convert(
    path: &Path,
    table: &'static Table,
    part_rows: Option<u64>,
) -> Result<Vec<Part>> {
    let order = FieldOrder::built_in(table, "here");
    let mut source = Source::open(&Context::new(), path)?;
    let beginning = Beginning::of(&mut source, Cow::Borrowed(&order))?;
    let mut text = TableText::new(&mut source, &beginning, part_rows);
    let mut parts = Vec::new();
    while text.next_part()? {
        let mut rejects = Vec::new();
        let (converted, parquet) = convert_part(
            &mut text,
            &order,
            &arrow_schema(table),
            Encoding::DEFAULT,
            Vec::new(),
            &mut |bad| {
                // A strict run would say this.
                assert!(!bad.to_error(path, &order).to_string().contains('\n'));
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
pub(crate) fn convert_text(text: &[u8], table: &'static Table) -> std::result::Result<Part, Error> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("text");
    std::fs::write(&path, text).unwrap();
    let mut parts = convert(&path, table, None)?;
    assert_eq!(parts.len(), 1);
    Ok(parts.remove(0))
}
