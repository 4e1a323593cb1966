//! The full description, for programs.

use serde_json::{Value, json};

use super::{asked, field_number};
use crate::arrow::{arrow_schema, data_type, fingerprint};
use crate::{Column, Table, Trace};

/// Everything that is known of a trace, or of one of its tables, as one JSON object.
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
    let description = json!({
        "name": trace.name,
        "family": trace.family,
        "title": trace.title,
        "document": trace.document,
        "licence": trace.licence,
        "citation": trace.citation,
        "creators": trace.creators,
        "url": trace.url,
        "published": trace.published,
        "epoch": trace.epoch,
        "anomalies": trace.anomalies,
        "tables": asked(trace, table).iter().map(describe).collect::<Vec<_>>(),
    });
    format!("{description:#}\n")
}

fn describe(table: &Table) -> Value {
    let columns = table.columns.iter().enumerate();
    json!({
        "name": table.name,
        "summary": table.summary,
        "parts": table.parts,
        "schema_fingerprint": fingerprint(&arrow_schema(table)),
        "columns": columns.map(|(index, one)| column(table, index, one)).collect::<Vec<_>>(),
    })
}

fn column(table: &Table, index: usize, column: &Column) -> Value {
    let codes = column.codes.iter();
    let codes = codes.map(|one| json!({"value": one.value, "name": one.name, "doc": one.doc}));
    let sentinels = column
        .sentinels
        .iter()
        .map(|one| json!({"value": one.value, "name": one.name, "also": one.also, "doc": one.doc}));
    json!({
        "name": column.name,
        "content": column.content,
        "field_number": field_number(table, index),
        "format": column.format,
        "type": data_type(column.kind).to_string(),
        "nullable": !column.mandatory,
        "unit": column.unit,
        "obfuscation": column.obfuscation.name(),
        "codes": codes.collect::<Vec<_>>(),
        "sentinels": sentinels.collect::<Vec<_>>(),
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
