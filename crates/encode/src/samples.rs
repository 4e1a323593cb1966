//! Rows for unit tests: a table of plain fields, and its records.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use parquet::arrow::ArrowSchemaConverter;
use parquet::schema::types::SchemaDescriptor;
use tracelake_core::field_order::FieldOrder;
use tracelake_core::line_ending::LineEnding;
use tracelake_schema::arrow::arrow_schema;
use tracelake_schema::{TRACES, Table};

use crate::split::Records;

/// The fields of [`machines`]: time, machine, event, platform, CPUs, memory.
pub(crate) const FIELDS: usize = 6;

/// A table of plain fields.
pub(crate) fn machines() -> &'static Table {
    let mut traces = TRACES.iter().filter(|trace| trace.in_parts());
    let table = traces.find_map(|trace| trace.table("machine_events"));
    table.expect("a table of machines")
}

pub(crate) fn order() -> FieldOrder {
    FieldOrder::built_in(machines(), "the catalog")
}

pub(crate) fn schema() -> SchemaRef {
    arrow_schema(machines())
}

pub(crate) fn parquet_schema() -> Arc<SchemaDescriptor> {
    let converted = ArrowSchemaConverter::new().convert(&schema());
    Arc::new(converted.expect("a schema of the catalog"))
}

/// Rows of [`machines`] at these times.
pub(crate) fn at(times: &[i64]) -> String {
    let rows = times.iter().map(|time| format!("{time},7,0,p,0.5,0.25\n"));
    rows.collect()
}

pub(crate) fn split(text: &str) -> Records {
    let mut records = Records::default();
    records.split(text.as_bytes(), FIELDS, LineEnding::Lf);
    records
}
