//! Delta logs: for each table the list of its files as readers of Delta tables take it, in one version without a clock.
//!
//! Paths need no percent-encoding: [`ReleasedLake`] has checked that they consist of letters, digits, `-`, `_`, `.`, `/`
//! and `=`, which stand for themselves in a URI.

use serde_json::{Value, json};
use tracelake_core::digest::Digest;
use tracelake_lake::manifest::{FileFacts, PartFacts, TableFacts};
use tracelake_schema::{Column, Kind, Table, Zone, render};

use super::released_lake::ReleasedLake;

/// The feature that a table with date-times without a zone needs.
const TIMESTAMP_NTZ: &str = "timestampNtz";

/// The paths and bytes of the Delta logs of a lake with this manifest.
pub(super) fn delta_logs(
    lake: &ReleasedLake<'_>,
    manifest_file: &FileFacts,
) -> Vec<(String, Vec<u8>)> {
    let paths = tracelake_lake::delta_logs(lake.manifest).into_iter();
    let logs = paths.zip(&lake.tables).map(|(path, (table, facts))| {
        let log = log(lake, table, facts, manifest_file.sha256);
        (path, log.into_bytes())
    });
    logs.collect()
}

fn log(lake: &ReleasedLake<'_>, table: &Table, facts: &TableFacts, manifest: Digest) -> String {
    let has_cells = facts.parts.iter().any(|part| part.cell.is_some());
    let partitioned: &[&str] = match has_cells {
        true => &["cell", "file_number"],
        false => &["file_number"],
    };
    let description = match lake.is_synthetic() {
        true => format!("{}. {}", lake.title(), table.summary),
        false => table.summary.clone(),
    };
    let metadata = json!({"metaData": {
        "id": table_id(manifest, &table.name),
        "name": table.name,
        "description": description,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": render::delta_schema_json(lake.trace, table, partitioned),
        "partitionColumns": partitioned,
        "configuration": {},
    }});
    let added = facts.parts.iter().map(|part| added(table, part));
    let actions = [protocol(table), metadata].into_iter().chain(added);
    actions.map(|action| format!("{action}\n")).collect()
}

/// The lowest versions of the protocol by which the table can be read.
fn protocol(table: &Table) -> Value {
    let versions = match table.columns.iter().any(|column| has_local_time(column)) {
        // The other features are those of version 2.
        true => json!({
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": [TIMESTAMP_NTZ],
            "writerFeatures": ["appendOnly", "invariants", TIMESTAMP_NTZ],
        }),
        false => json!({"minReaderVersion": 1, "minWriterVersion": 2}),
    };
    json!({"protocol": versions})
}

/// Whether a column or one in it is a date-time without a zone.
fn has_local_time(column: &Column) -> bool {
    column.kind == Kind::DateTime(Zone::None)
        || column.fields.iter().any(|column| has_local_time(column))
}

/// A UUID of a table of the lake whose manifest has this digest.
fn table_id(manifest: Digest, table: &str) -> String {
    let digest = Digest::of(format!("{manifest} {table}").as_bytes()).to_string();
    // Version 8 and variant 8: made of other data than a clock or a random number.
    let [a, b, c, d, e] = [0..8, 8..12, 13..16, 17..20, 20..32].map(|range| &digest[range]);
    format!("{a}-{b}-8{c}-8{d}-{e}")
}

/// The action that adds a file to the table.
fn added(table: &Table, part: &PartFacts) -> Value {
    let path = part.output.path.strip_prefix(&*table.name);
    let path = path.and_then(|path| path.strip_prefix('/'));
    let mut partition = json!({"file_number": part.file_number.to_string()});
    if let Some(cell) = part.cell {
        partition["cell"] = cell.into();
    }
    json!({"add": {
        "path": path.unwrap_or(&part.output.path),
        "partitionValues": partition,
        "size": part.output.bytes,
        "modificationTime": 0,
        "dataChange": true,
        "stats": stats(table, part).to_string(),
    }})
}

/// Statistics of a file's rows, from the manifest. The bounds of date-times are left out, because readers take those in
/// a log for rounded ones.
fn stats(table: &Table, part: &PartFacts) -> Value {
    let mut stats = json!({"numRecords": part.rows_out});
    let time = table.time.and_then(|index| table.columns.get(index));
    if let Some(time) = time.filter(|time| time.kind == Kind::Integer)
        && let (Some(min), Some(max)) = (part.time_min, part.time_max)
    {
        stats["minValues"] = json!({&*time.name: min});
        stats["maxValues"] = json!({&*time.name: max});
    }
    stats
}
