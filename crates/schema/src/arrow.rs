//! The Arrow schema of a table, and what is derived from it.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Metadata, Schema, SchemaRef, TimeUnit};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::{Column, Kind, Table, Zone};

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
    Arc::new(Schema::new(fields(&table.columns)))
}

fn fields(columns: &[Arc<Column>]) -> Fields {
    columns.iter().map(|column| field(column)).collect()
}

fn field(column: &Column) -> Field {
    Field::new(&column.name, data_type(column), !column.mandatory).with_metadata(metadata(column))
}

/// The Arrow type of a column: signed integers, doubles and plain UTF-8, which every reader supports,
/// and structs and lists of them.
#[must_use]
pub fn data_type(column: &Column) -> DataType {
    match column.kind {
        Kind::Integer => DataType::Int64,
        Kind::Float => DataType::Float64,
        Kind::Boolean => DataType::Boolean,
        Kind::Text => DataType::Utf8,
        Kind::Code => DataType::Int32,
        Kind::DateTime(Zone::Published) => {
            DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
        }
        Kind::DateTime(Zone::None) => DataType::Timestamp(TimeUnit::Microsecond, None),
        Kind::Struct => DataType::Struct(fields(&column.fields)),
        Kind::List => match &column.fields[..] {
            [item, ..] => {
                // As the format names it; other names stop readers such as Iceberg's.
                let element = Field::new("element", data_type(item), !item.mandatory);
                DataType::List(element.into())
            }
            [] => DataType::Null,
        },
    }
}

/// The metadata of a column's field; Arrow keeps it sorted by key, so its order is always the same.
///
/// Every column has `comment` (the meaning with its unit) and `obfuscation`. Some also have `unit`, `codes`
/// (JSON, such as `{"0":"SUBMIT"}`), `sentinels` (JSON, such as `{"0":"BEFORE_TRACE"}`), `ranges` (JSON, the
/// first value of each, such as `{"0":"FREE","100":"BEST_EFFORT_BATCH"}`; `null` where values without a name
/// begin) and `invalid` (JSON, such as `[-1,101]`).
#[must_use]
pub fn metadata(column: &Column) -> Metadata {
    let mut metadata = Metadata::from([
        ("comment", column.comment().as_str()),
        ("obfuscation", column.obfuscation.name()),
    ]);
    if let Some(unit) = &column.unit {
        metadata.insert("unit", unit.as_str());
    }
    if !column.codes.is_empty() {
        let names = column
            .codes
            .iter()
            .map(|code| (code.value.to_string(), code.name.as_str().into()));
        metadata.insert("codes", Value::Object(names.collect()).to_string());
    }
    if !column.sentinels.is_empty() {
        let names = column
            .sentinels
            .iter()
            .map(|one| (one.value.to_string(), one.name.as_str().into()));
        metadata.insert("sentinels", Value::Object(names.collect()).to_string());
    }
    if !column.ranges.is_empty() {
        let mut names = Map::new();
        for range in &*column.ranges {
            names.insert(range.from.to_string(), range.name.as_str().into());
            if let Some(after) = range.to.and_then(|to| to.checked_add(1)) {
                names.insert(after.to_string(), Value::Null);
            }
        }
        metadata.insert("ranges", Value::Object(names).to_string());
    }
    if !column.invalid.is_empty() {
        metadata.insert("invalid", Value::from(&column.invalid[..]).to_string());
    }
    metadata
}

/// The name of a type, such as `Int64`, `Struct<cpus: Float64?>` or `List<Float64>`. A question mark
/// follows what can be NULL.
#[must_use]
pub fn type_name(data_type: &DataType) -> String {
    let name = |field: &Field| {
        let null = if field.is_nullable() { "?" } else { "" };
        format!("{}{null}", type_name(field.data_type()))
    };
    match data_type {
        DataType::Struct(fields) => {
            let named = fields
                .iter()
                .map(|field| format!("{}: {}", field.name(), name(field)));
            format!("Struct<{}>", named.collect::<Vec<_>>().join(", "))
        }
        DataType::List(item) => format!("List<{}>", name(item)),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => match zone {
            Some(zone) => format!("Timestamp<us, {zone}>"),
            None => "Timestamp<us>".to_owned(),
        },
        scalar => scalar.to_string(),
    }
}

/// The SHA-256 of names, types and nullability, in lowercase hex.
///
/// It covers one line per field with `name`, `type` and `nullable`, separated by tabs. Metadata is
/// left out, because a better description doesn't make another schema.
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
            type_name(field.data_type()),
            field.is_nullable()
        );
        hash.update(line);
    }
    crate::digest::hex(&hash.finalize())
}

/// The schema as Spark writes it into a Parquet footer, so that Spark shows the comments.
///
/// It belongs under the key [`SPARK_KEY`].
#[must_use]
pub fn spark_schema_json(table: &Table) -> String {
    spark_schema(table).to_string()
}

/// The schema of a table in Spark's JSON, in which the format Delta has it, too.
pub(crate) fn spark_schema(table: &Table) -> Value {
    spark_struct(&table.columns)
}

fn spark_struct(columns: &[Arc<Column>]) -> Value {
    let field = |column: &Arc<Column>| {
        json!({
            "name": column.name,
            "type": spark_type(column),
            "nullable": !column.mandatory,
            "metadata": {"comment": column.comment()},
        })
    };
    let mut schema = Map::new();
    schema.insert("type".into(), "struct".into());
    schema.insert("fields".into(), columns.iter().map(field).collect());
    Value::Object(schema)
}

/// The key of the Parquet footer under which Spark looks for its own schema.
pub const SPARK_KEY: &str = "org.apache.spark.sql.parquet.row.metadata";

fn spark_type(column: &Column) -> Value {
    match column.kind {
        Kind::Integer => "long".into(),
        Kind::Float => "double".into(),
        Kind::Boolean => "boolean".into(),
        Kind::Text => "string".into(),
        Kind::Code => "integer".into(),
        Kind::DateTime(Zone::Published) => "timestamp".into(),
        Kind::DateTime(Zone::None) => "timestamp_ntz".into(),
        Kind::Struct => spark_struct(&column.fields),
        Kind::List => json!({
            "type": "array",
            "elementType": column.fields.first().map_or(Value::Null, |item| spark_type(item)),
            "containsNull": column.fields.first().is_some_and(|item| !item.mandatory),
        }),
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
            for (table, other) in trace.tables.iter().zip(&first.tables) {
                assert_eq!(arrow_schema(table), arrow_schema(other), "{}", table.name);
            }
        }
    }

    #[test]
    fn what_a_version_lacks_is_nullable() {
        for table in TRACES.iter().flat_map(|trace| &trace.tables) {
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

    fn column(name: &str, kind: Kind, fields: &[Column]) -> Column {
        Column {
            fields: fields.iter().cloned().map(Arc::new).collect(),
            ..Column::plain(name, kind)
        }
    }

    fn scalars() -> [Column; 5] {
        [
            column("c0", Kind::Integer, &[]),
            column("c1", Kind::Float, &[]),
            column("c2", Kind::Boolean, &[]),
            column("c3", Kind::Text, &[]),
            column("c4", Kind::Code, &[]),
        ]
    }

    #[test]
    fn nested_types_are_named_by_what_is_in_them() {
        let pair = column("pair", Kind::Struct, &scalars());
        let pairs = column("pairs", Kind::List, &[pair]);
        assert_eq!(
            type_name(&data_type(&pairs)),
            "List<Struct<c0: Int64?, c1: Float64?, c2: Boolean?, c3: Utf8?, c4: Int32?>?>"
        );
        assert!(spark_type(&pairs)["elementType"]["fields"].is_array());
    }

    /// A change here means that no lake made before can be resumed.
    #[test]
    fn the_fingerprint_of_every_kind_stays() {
        let field = |column: &Column| {
            Field::new(
                &column.name,
                data_type(column),
                column.kind != Kind::Integer,
            )
        };
        let schema = Schema::new(scalars().iter().map(field).collect::<Vec<_>>());
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
            .flat_map(|trace| &trace.tables)
            .flat_map(|table| &*table.columns)
        {
            let metadata = metadata(column);
            assert_eq!(metadata["comment"], column.comment());
            assert_eq!(
                metadata.get("unit").map(String::as_str),
                column.unit.as_deref()
            );
            assert_eq!(
                metadata.contains_key("sentinels"),
                !column.sentinels.is_empty()
            );
            assert_eq!(metadata.contains_key("ranges"), !column.ranges.is_empty());
            assert_eq!(metadata.contains_key("invalid"), !column.invalid.is_empty());
            for code in &*column.codes {
                let pair = format!("\"{}\":\"{}\"", code.value, code.name);
                assert!(metadata["codes"].contains(&pair), "{pair}");
            }
        }
    }

    #[test]
    fn values_between_named_ranges_have_no_name() {
        let range = |from, to, name: &str| crate::Range {
            from,
            to,
            name: name.to_owned(),
            doc: String::new(),
        };
        let ranges = vec![
            range(0, Some(1), "LOW"),
            range(2, Some(3), "MIDDLE"),
            range(9, None, "HIGH"),
        ];
        let column = Column {
            ranges: ranges.into(),
            ..Column::plain("c", Kind::Integer)
        };
        assert_eq!(
            metadata(&column)["ranges"],
            r#"{"0":"LOW","2":"MIDDLE","4":null,"9":"HIGH"}"#
        );
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
                    .starts_with(&*column.doc)
            );
        }
    }
}
