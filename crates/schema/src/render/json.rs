//! The full description, for programs.

use serde_json::{Value, json};

use super::checks::{HELPERS, queries};
use super::{chosen_tables, field_number};
use crate::arrow::{arrow_schema, data_type, fingerprint, type_name};
use crate::{Column, Published, Table, Trace};

/// Everything the catalog knows of a trace, or of one of its tables, as one JSON object.
///
/// # Example
///
/// ```
/// use tracelake_schema::{TRACES, render};
///
/// let text = render::json(&TRACES[0], None);
/// let value: serde_json::Value = serde_json::from_str(&text)?;
/// assert_eq!(value["name"], TRACES[0].name);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn json(trace: &Trace, table: Option<&Table>) -> String {
    let mut description = json!({
        "name": trace.name,
        "family": trace.family,
        "title": trace.title,
        "document": trace.document,
        "licence": trace.licence,
        "citation": trace.citation,
        "creators": trace.creators.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "url": trace.url,
        "published": trace.published,
        "epoch": trace.epoch,
        "time_zero": trace.time_zero,
        "span": trace.span,
        "download": trace.download,
        "archives": trace.archives.iter().map(|one| json!({
            "table": one.table, "names": one.names, "sha256": one.sha256, "size": one.size,
        })).collect::<Vec<_>>(),
        "cells": trace.cells.as_ref().map(|cells| json!({
            "names": cells.names, "directory": cells.directory, "doc": cells.doc,
        })),
        "locations": trace.locations.iter().map(|one| json!({
            "url": one.url, "doc": one.doc, "tables": one.tables, "sha256sum": one.sha256sum,
            "not_fetched": one.not_fetched,
        })).collect::<Vec<_>>(),
        "anomalies": trace.anomalies,
        "sample_keys": trace.sample_keys.iter().map(|key| {
            let columns = key.columns.iter().map(|one| (one.table.clone(), json!(one.column)));
            (key.name.clone(), Value::Object(columns.collect()))
        }).collect::<serde_json::Map<_, _>>(),
        "tables": chosen_tables(trace, table).into_iter().map(describe).collect::<Vec<_>>(),
    });
    if let Some(given) = &trace.description {
        description["description"] = given.sha256.clone().into();
    }
    description["helpers"] = HELPERS.into();
    for (name, queries) in queries(trace, table) {
        description[name] = queries;
    }
    format!("{description:#}\n")
}

fn describe(table: &Table) -> Value {
    let columns = table.columns.iter().enumerate();
    json!({
        "name": table.name,
        "summary": table.summary,
        "files": format!("{:?}", table.files).to_lowercase(),
        "syntax": format!("{:?}", table.syntax).to_lowercase(),
        "parts": table.parts,
        "published": table.published.as_ref().map(count),
        "shards": table.shards.iter().map(|one| json!({
            "cell": one.cell, "count": one.count, "rows": one.rows.as_ref().map(count),
        })).collect::<Vec<_>>(),
        "required": table.required,
        "entity": table.entity,
        "primary_key": table.primary_key,
        "time": table.time.map(|index| &*table.columns[index].name),
        "references": table.references.iter().map(|one| json!({
            "columns": one.columns, "table": one.table, "to": one.to,
        })).collect::<Vec<_>>(),
        "schema_fingerprint": fingerprint(&arrow_schema(table)),
        "columns": columns
            .map(|(index, one)| column(one, field_number(table, index)))
            .collect::<Vec<_>>(),
    })
}

fn count(published: &Published) -> Value {
    json!({
        "rows": published.rows,
        "confidence": published.confidence.name(),
        "source": published.source,
    })
}

fn column(column: &Column, field_number: Option<usize>) -> Value {
    let fields = column
        .fields
        .iter()
        .map(|nested| self::column(nested, None));
    let codes = column
        .codes
        .iter()
        .map(|one| json!({"value": one.value, "name": one.name, "doc": one.doc}));
    let sentinels = column
        .sentinels
        .iter()
        .map(|one| json!({"value": one.value, "name": one.name, "also": one.also, "doc": one.doc}));
    let ranges = column
        .ranges
        .iter()
        .map(|one| json!({"from": one.from, "to": one.to, "name": one.name, "doc": one.doc}));
    json!({
        "name": column.name,
        "content": column.content,
        "field_number": field_number,
        "format": column.format,
        "type": type_name(&data_type(column)),
        "nullable": !column.mandatory,
        "fields": fields.collect::<Vec<_>>(),
        "unit": column.unit,
        "obfuscation": column.obfuscation.name(),
        "codes": codes.collect::<Vec<_>>(),
        "sentinels": sentinels.collect::<Vec<_>>(),
        "ranges": ranges.collect::<Vec<_>>(),
        "invalid": column.invalid,
        "looks_like": column.looks.patterns.iter().map(|one| &*one.text).collect::<Vec<_>>(),
        "within": column.looks.within.map(|(least, most)| [least, most]),
        "multiple_of": column.looks.multiple_of,
        "doc": column.doc,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TRACES;

    #[test]
    fn numbers_survive_and_an_absent_field_has_no_number() {
        for trace in TRACES {
            let value: Value = serde_json::from_str(&json(trace, None)).unwrap();
            for (t, table) in trace.tables.iter().enumerate() {
                let rows = table.published.as_ref().map(|published| published.rows);
                assert_eq!(value["tables"][t]["entity"], json!(table.entity));
                assert_eq!(value["tables"][t]["required"], json!(table.required));
                let time = table.time.map(|index| &*table.columns[index].name);
                assert_eq!(value["tables"][t]["time"], json!(time));
                assert_eq!(value["tables"][t]["published"]["rows"].as_u64(), rows);
                for (c, column) in table.columns.iter().enumerate() {
                    let described = &value["tables"][t]["columns"][c];
                    assert_eq!(described["name"], column.name);
                    assert_eq!(
                        described["field_number"].is_null(),
                        !table.fields.contains(&c)
                    );
                    for (s, sentinel) in column.sentinels.iter().enumerate() {
                        assert_eq!(described["sentinels"][s]["value"], sentinel.value);
                    }
                }
            }
        }
    }
}
