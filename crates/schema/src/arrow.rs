//! The Arrow schema of a table, and what else depends on it alone.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Metadata, Schema, SchemaRef};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::{Column, Kind, Table};

/// The Arrow schema of a table: the same in every part and every version of a trace.
///
/// A mandatory column is not nullable, every other one is; a column that some version lacks is
/// never mandatory. Descriptions travel in the metadata of the fields, see [`metadata`].
///
/// # Example
///
/// ```
/// use tracelake_schema::{TRACES, arrow::arrow_schema};
///
/// let table = &TRACES[0].tables[0];
/// let schema = arrow_schema(table);
/// assert_eq!(schema.fields().len(), table.columns.len());
/// assert!(schema.field(0).metadata().contains_key("comment"));
/// ```
#[must_use]
pub fn arrow_schema(table: &Table) -> SchemaRef {
    let field = |column: &Column| {
        Field::new(column.name, data_type(column.kind), !column.mandatory)
            .with_metadata(metadata(column))
    };
    Arc::new(Schema::new(
        table.columns.iter().map(field).collect::<Vec<_>>(),
    ))
}

/// What a kind becomes in Arrow: signed integers, doubles and plain UTF-8, which every reader reads.
#[must_use]
pub fn data_type(kind: Kind) -> DataType {
    match kind {
        Kind::Integer => DataType::Int64,
        Kind::Float => DataType::Float64,
        Kind::Boolean => DataType::Boolean,
        Kind::Text => DataType::Utf8,
        Kind::Code => DataType::Int32,
    }
}

/// The metadata of a column's field; Arrow keeps it sorted by key, so its order is always the same.
///
/// Always there are `comment` (the meaning with its unit), `obfuscation` and `content` (the
/// publisher's name); where the column has them also `unit`, `codes` (JSON, such as
/// `{"0":"SUBMIT"}`) and `sentinels` (JSON, such as `{"0":"BEFORE_TRACE"}`).
#[must_use]
pub fn metadata(column: &Column) -> Metadata {
    let mut metadata = Metadata::from([
        ("comment", column.comment().as_str()),
        ("obfuscation", column.obfuscation.name()),
        ("content", column.content),
    ]);
    if let Some(unit) = column.unit {
        metadata.insert("unit", unit);
    }
    if !column.codes.is_empty() {
        let names = column
            .codes
            .iter()
            .map(|code| (code.value.to_string(), code.name.into()));
        metadata.insert("codes", Value::Object(names.collect()).to_string());
    }
    if !column.sentinels.is_empty() {
        let names = column
            .sentinels
            .iter()
            .map(|one| (one.value.to_string(), one.name.into()));
        metadata.insert("sentinels", Value::Object(names.collect()).to_string());
    }
    metadata
}

/// The SHA-256 of names, types and nullability, in lowercase hex.
///
/// It is taken over one line per field, `name`, `type` and `nullable` with a tab between. Metadata
/// does not enter: a better description is no other schema.
///
/// # Example
///
/// ```
/// use tracelake_schema::{TRACES, arrow::{arrow_schema, fingerprint}};
///
/// let schema = arrow_schema(&TRACES[0].tables[0]);
/// assert_eq!(fingerprint(&schema).len(), 64);
/// ```
#[must_use]
pub fn fingerprint(schema: &Schema) -> String {
    let mut hash = Sha256::new();
    for field in schema.fields() {
        let line = format!(
            "{}\t{}\t{}\n",
            field.name(),
            field.data_type(),
            field.is_nullable()
        );
        hash.update(line);
    }
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The schema as Spark writes it into a Parquet footer, so that Spark shows the comments.
///
/// It belongs under the key [`SPARK_KEY`].
#[must_use]
pub fn spark_schema_json(table: &Table) -> String {
    let field = |column: &Column| {
        json!({
            "name": column.name,
            "type": spark_type(column.kind),
            "nullable": !column.mandatory,
            "metadata": {"comment": column.comment()},
        })
    };
    let mut schema = Map::new();
    schema.insert("type".into(), "struct".into());
    schema.insert("fields".into(), table.columns.iter().map(field).collect());
    Value::Object(schema).to_string()
}

/// The key of the Parquet footer under which Spark looks for its own schema.
pub const SPARK_KEY: &str = "org.apache.spark.sql.parquet.row.metadata";

fn spark_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Integer => "long",
        Kind::Float => "double",
        Kind::Boolean => "boolean",
        Kind::Text => "string",
        Kind::Code => "integer",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TRACES;

    #[test]
    fn versions_of_a_family_share_their_schemas() {
        for trace in TRACES {
            let first = TRACES
                .iter()
                .find(|other| other.family == trace.family)
                .unwrap();
            assert_eq!(trace.tables.len(), first.tables.len());
            for (table, other) in trace.tables.iter().zip(first.tables) {
                assert_eq!(arrow_schema(table), arrow_schema(other), "{}", table.name);
            }
        }
    }

    #[test]
    fn what_a_version_lacks_is_nullable() {
        for table in TRACES.iter().flat_map(|trace| trace.tables) {
            let schema = arrow_schema(table);
            for index in 0..table.columns.len() {
                assert!(table.fields.contains(&index) || schema.field(index).is_nullable());
            }
        }
    }

    #[test]
    fn fingerprints_depend_on_names_types_and_nullability_alone() {
        let schema =
            |name: &str, kind, nullable| Schema::new(vec![Field::new(name, kind, nullable)]);
        let plain = schema("a", DataType::Int64, false);
        // printf 'a\tInt64\tfalse\n' | sha256sum
        let known = "4a2098cb7892f65e163a7043d61ba95dbf94d014fc7b1a9eefea00c1e3520065";
        assert_eq!(fingerprint(&plain), known);
        let described = plain.field(0).clone().with_metadata([("unit", "s")]);
        assert_eq!(fingerprint(&Schema::new(vec![described])), known);
        assert_ne!(fingerprint(&schema("b", DataType::Int64, false)), known);
        assert_ne!(fingerprint(&schema("a", DataType::Int32, false)), known);
        assert_ne!(fingerprint(&schema("a", DataType::Int64, true)), known);
    }

    /// A change here means that no lake made before can be resumed.
    #[test]
    fn the_fingerprint_of_every_kind_stays() {
        let kinds = [
            Kind::Integer,
            Kind::Float,
            Kind::Boolean,
            Kind::Text,
            Kind::Code,
        ];
        let field = |(index, kind)| Field::new(format!("c{index}"), data_type(kind), index > 0);
        let schema = Schema::new(kinds.into_iter().enumerate().map(field).collect::<Vec<_>>());
        // printf 'c0\tInt64\tfalse\nc1\tFloat64\ttrue\nc2\tBoolean\ttrue\nc3\tUtf8\ttrue\n\
        // c4\tInt32\ttrue\n' | sha256sum
        assert_eq!(
            fingerprint(&schema),
            "1aae7cb911aaef3deefcec6c93098c2d88bafe609a5a2cf1bcbfbc63848b2c82"
        );
    }

    #[test]
    fn metadata_carries_codes_and_special_values() {
        for column in TRACES
            .iter()
            .flat_map(|trace| trace.tables)
            .flat_map(|table| table.columns)
        {
            let metadata = metadata(column);
            assert_eq!(metadata["content"], column.content);
            assert_eq!(metadata.get("unit").map(String::as_str), column.unit);
            assert_eq!(
                metadata.contains_key("sentinels"),
                !column.sentinels.is_empty()
            );
            for code in column.codes {
                let pair = format!("\"{}\":\"{}\"", code.value, code.name);
                assert!(metadata["codes"].contains(&pair), "{pair}");
            }
        }
    }

    #[test]
    fn spark_reads_names_types_and_comments_in_order() {
        let table = &TRACES[0].tables[0];
        let text = spark_schema_json(table);
        assert!(
            text.starts_with(r#"{"type":"struct","fields":[{"name":""#),
            "{text}"
        );
        let value: Value = serde_json::from_str(&text).unwrap();
        for (index, column) in table.columns.iter().enumerate() {
            let field = &value["fields"][index];
            assert_eq!(field["name"], column.name);
            assert_eq!(field["nullable"], !column.mandatory);
            assert!(
                field["metadata"]["comment"]
                    .as_str()
                    .unwrap()
                    .starts_with(column.doc)
            );
        }
    }
}
