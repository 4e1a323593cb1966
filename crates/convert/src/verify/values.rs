//! Every value of a part against its source, by the standard library.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Float64Type, Int32Type, Int64Type};
use csv::ByteRecord;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tracelake_schema::{Column, Kind, Table};

use super::corrupt;
use super::plain::{GoodLines, PlainRows, open_text};
use crate::error::{Result, escape};
use crate::layout::Layout;
use crate::manifest::{Manifest, PartFacts};
use crate::plan::{Plan, StreamPlan};
use crate::source::{self, Fingerprint};

/// A source file that is being compared with the parts made from it, in their order.
pub(super) struct Original<'a> {
    layout: &'a Layout,
    path: PathBuf,
    /// Of each length that it was read up to.
    fingerprints: BTreeMap<u64, Fingerprint>,
    /// Rows in a part, if it is cut.
    part_rows: Option<u64>,
    /// `None` before the first part.
    text: Option<GoodLines>,
}

impl<'a> Original<'a> {
    /// The source of parts of one table.
    pub(super) fn find(
        plan: &'a Plan,
        manifest: &Manifest,
        table: &'static Table,
        parts: &[&PartFacts],
    ) -> Result<Self> {
        let missing = |part: &PartFacts| {
            corrupt(format!(
                "its source {} is not there",
                escape(part.source.path.as_bytes(), 200)
            ))
            .at(&part.output.path)
            .field(table.name)
            .hint("name the directory that the lake was made from")
        };
        let index = plan
            .tables
            .iter()
            .position(|planned| planned.layout.table.name == table.name);
        let stream = index.and_then(|index| plan.stream_of(index));
        let found = index.zip(parts.first()).and_then(|(index, part)| {
            let planned = &plan.tables[index];
            let mut parts = planned.parts.iter();
            let part = parts.find(|found| found.file_number == part.file_number);
            let source = part
                .map(|part| &part.source)
                .or(stream.map(|stream| &stream.source));
            Some((&planned.layout, plan.source.join(source?)))
        });
        let Some((layout, path)) = found else {
            return Err(parts
                .first()
                .map_or_else(|| corrupt("a table of no parts"), |p| missing(p)));
        };
        let lengths: BTreeSet<u64> = parts.iter().map(|part| read_up_to(stream, part)).collect();
        let fingerprints = source::fingerprints(&path, &lengths)?;
        Ok(Self {
            layout,
            path,
            fingerprints: lengths.into_iter().zip(fingerprints).collect(),
            part_rows: stream.and(manifest.origin.options.part_rows),
            text: None,
        })
    }

    /// The lines of a part, counted from 0; whatever the last one has belongs to it.
    fn lines(&self, part: &PartFacts) -> Range<u64> {
        let Some(rows) = self.part_rows else {
            return 0..u64::MAX;
        };
        let number = u64::from(part.file_number);
        let start = number.saturating_mul(rows);
        let is_last = part.of.is_some_and(|of| number + 1 == u64::from(of));
        let end = if is_last {
            u64::MAX
        } else {
            start.saturating_add(rows)
        };
        start..end
    }
}

/// How far the source of a part was read: a stream that was not read to its end only up to there.
fn read_up_to(stream: Option<&StreamPlan>, part: &PartFacts) -> u64 {
    match (stream, part.of) {
        (Some(_), None) => part.source.bytes,
        _ => u64::MAX,
    }
}

/// Compares every value of a part with its source.
pub(super) fn verify_values(
    original: &mut Original<'_>,
    table: &'static Table,
    part: &PartFacts,
    (output, rejects): (&Path, Option<&Path>),
    reader: ParquetRecordBatchReaderBuilder<File>,
) -> Result<u64> {
    let stream = original.part_rows.is_some() && part.of.is_none();
    let length = if stream { part.source.bytes } else { u64::MAX };
    let now = original.fingerprints.get(&length).map(|now| &now.sha256);
    if now != Some(&part.source.sha256) {
        let reason = format!(
            "has SHA-256 {}, but the lake was made from {}",
            now.map_or("", |now| now),
            part.source.sha256
        );
        return Err(corrupt(reason).at(&original.path).field(table.name));
    }
    let text = match original.text.take() {
        Some(text) => text,
        None => open_text(&original.path, table.name)?,
    };
    let lines = original.lines(part);
    let mut rows = PlainRows::new(text, &original.path, lines, rejects)?;
    let compared = compare_rows(original, table, part, output, reader, &mut rows);
    original.text = Some(rows.into_text());
    compared
}

/// Compares the rows of a part with those of its source.
fn compare_rows(
    Original { layout, path, .. }: &Original<'_>,
    table: &'static Table,
    part: &PartFacts,
    output: &Path,
    reader: ParquetRecordBatchReaderBuilder<File>,
    rows: &mut PlainRows,
) -> Result<u64> {
    let field_of = |index| layout.fields.iter().position(|field| field.index == index);
    let fields: Vec<Option<usize>> = (0..table.columns.len()).map(field_of).collect();
    let broken = |error: String| corrupt(format!("cannot be read: {error}")).at(output);
    let batches = reader.build().map_err(|error| broken(error.to_string()))?;
    let (mut seen, mut mapped) = (0, 0);
    for batch in batches {
        let batch = batch.map_err(|error| broken(error.to_string()))?;
        for row in 0..batch.num_rows() {
            if !rows.advance()? {
                let reason = format!("has {} rows, but its source {seen}", part.rows_out);
                return Err(corrupt(reason).at(output).field(table.name));
            }
            compare(layout, &fields, &rows.record, &batch, row).map_err(|(column, reason)| {
                corrupt(format!(
                    "{reason}, in row {} of {}",
                    seen + 1,
                    output.display()
                ))
                .at(path)
                .line(rows.line(), None)
                .field(format!("{}.{}", table.name, column.name))
            })?;
            mapped += spelled_otherwise(layout, &rows.record);
            seen += 1;
        }
    }
    if rows.advance()? {
        let reason = format!("has {seen} rows, but its source more");
        return Err(corrupt(reason).at(output).field(table.name));
    }
    if rows.rejected() != part.rows_rejected {
        let reason = format!(
            "{} rows are rejected, the manifest says {}",
            rows.rejected(),
            part.rows_rejected
        );
        return Err(corrupt(reason).at(output).field(table.name));
    }
    if mapped != part.sentinels_mapped {
        let reason = format!(
            "{mapped} sentinels are spelled otherwise, the manifest says {}",
            part.sentinels_mapped
        );
        return Err(corrupt(reason).at(output).field(table.name));
    }
    Ok(seen * table.columns.len() as u64)
}

/// How many fields of a row spell a sentinel in another way.
fn spelled_otherwise(layout: &Layout, record: &ByteRecord) -> u64 {
    let spelled = layout.fields.iter().zip(record).filter(|(field, text)| {
        let others = field
            .column
            .sentinels
            .iter()
            .filter_map(|sentinel| sentinel.also);
        others.into_iter().any(|also| also.as_bytes() == *text)
    });
    spelled.count() as u64
}

/// Compares one row of the source with one of the lake; `fields` has the field of each column.
fn compare(
    layout: &Layout,
    fields: &[Option<usize>],
    record: &ByteRecord,
    batch: &RecordBatch,
    row: usize,
) -> std::result::Result<(), (&'static Column, String)> {
    let columns = layout.table.columns;
    if record.len() != layout.fields.len() {
        let reason = format!("the source has {} fields", record.len());
        return Err((&columns[0], reason));
    }
    for (index, column) in columns.iter().enumerate() {
        let text = fields[index]
            .and_then(|field| record.get(field))
            .unwrap_or_default();
        let array = batch.column(index);
        let found = if array.is_null(row) {
            None
        } else {
            Some(array)
        };
        let equal = match (text, found) {
            (b"", None) => true,
            (b"", Some(_)) | (_, None) => false,
            (text, Some(array)) => equals(column, text, array.as_ref(), row),
        };
        if !equal {
            let shown = arrow::util::display::array_value_to_string(array, row);
            let lake = if array.is_null(row) {
                "NULL".to_owned()
            } else {
                shown.unwrap_or_default()
            };
            let source = escape(text, 80);
            return Err((
                column,
                format!("the source has '{source}', the lake {lake}"),
            ));
        }
    }
    Ok(())
}

/// Whether a field that is not empty means the value of an array, by the standard library.
fn equals(column: &Column, text: &[u8], array: &dyn Array, row: usize) -> bool {
    let Ok(text) = str::from_utf8(text) else {
        return false;
    };
    match column.kind {
        Kind::Integer => {
            let sentinel = column
                .sentinels
                .iter()
                .find(|sentinel| sentinel.also == Some(text));
            let expected =
                sentinel.map_or_else(|| text.parse().ok(), |sentinel| Some(sentinel.value));
            expected == Some(array.as_primitive::<Int64Type>().value(row))
        }
        Kind::Code => text.parse() == Ok(array.as_primitive::<Int32Type>().value(row)),
        Kind::Float => text.parse().is_ok_and(|expected: f64| {
            expected.to_bits() == array.as_primitive::<Float64Type>().value(row).to_bits()
        }),
        Kind::Boolean => {
            let value = array.as_boolean().value(row);
            text == if value { "1" } else { "0" }
        }
        Kind::Text | Kind::Struct | Kind::List => text == array.as_string::<i32>().value(row),
    }
}
