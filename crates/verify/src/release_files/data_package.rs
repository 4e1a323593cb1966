//! The description as a data package, version 2.

use arrow_schema::{DataType, Field};
use serde_json::{Value, json};
use tracelake_core::options::Format;
use tracelake_schema::arrow::arrow_schema;
use tracelake_schema::{Column, Table, render};

use super::{ReleasedLake, licence_page};

/// A package with one resource for each table.
pub(super) fn data_package(lake: &ReleasedLake<'_>) -> Value {
    let trace = lake.trace;
    let mediatype = match lake.format() {
        Format::Parquet => "application/vnd.apache.parquet",
        Format::Arrow => "application/vnd.apache.arrow.file",
    };
    let resources = lake.tables.iter().map(|(table, facts)| {
        let paths = facts.parts.iter().map(|part| &part.output.path);
        json!({
            "name": table.name,
            "description": table.summary,
            "type": "table",
            "path": paths.collect::<Vec<_>>(),
            "format": lake.format().name(),
            "mediatype": mediatype,
            "schema": schema(table, &|name| lake.tables.iter().any(|(one, _)| one.name == name)),
        })
    });
    let mut licence = json!({"title": trace.licence});
    if let Some(page) = licence_page(trace.licence) {
        licence = json!({"name": trace.licence, "path": page});
    }
    let mut source = json!({"title": trace.document});
    if let Some(url) = trace.url {
        source["path"] = url.into();
    }
    let names = trace.creators.iter();
    let contributors = names.map(|name| json!({"title": name, "roles": ["creator"]}));
    let synthetic = if lake.is_synthetic() {
        "-synthetic"
    } else {
        ""
    };
    let mut package = json!({
        "$schema": "https://datapackage.org/profiles/2.0/datapackage.json",
        "name": format!("{}{synthetic}", trace.name),
        "title": lake.title(),
        "description": lake.description(),
    });
    // Synthetic rows have no publisher.
    if !lake.is_synthetic() {
        package["licenses"] = json!([licence]);
        package["sources"] = json!([source]);
        if let Some(url) = trace.url {
            package["homepage"] = url.into();
        }
        if !trace.creators.is_empty() {
            package["contributors"] = contributors.collect();
        }
    }
    package["resources"] = resources.collect();
    package
}

/// The columns and keys of a table. `is_here` says whether the package has a table, because a
/// reference to another package's table is not allowed.
fn schema(table: &Table, is_here: &dyn Fn(&str) -> bool) -> Value {
    let mut schema = json!({"fields": fields(table)});
    if !table.primary_key.is_empty() {
        schema["primaryKey"] = json!(table.primary_key);
    }
    let known = table.references.iter().filter(|one| is_here(one.table));
    let foreign_keys: Vec<Value> = known
        .map(|one| {
            // The standard's name for the table itself is the empty text.
            let resource = if one.table == table.name {
                ""
            } else {
                one.table
            };
            json!({
                "fields": one.columns,
                "reference": {"resource": resource, "fields": one.to},
            })
        })
        .collect();
    if !foreign_keys.is_empty() {
        schema["foreignKeys"] = foreign_keys.into();
    }
    schema
}

fn fields(table: &Table) -> Vec<Value> {
    let schema = arrow_schema(table);
    let fields = schema.fields().iter().zip(table.columns);
    fields
        .map(|(field, column)| describe(field, column))
        .collect()
}

fn describe(field: &Field, column: &Column) -> Value {
    let mut described = json!({
        "name": field.name(),
        "type": data_type(field.data_type()),
        "title": column.content,
        "description": render::remark(column),
        "constraints": {"required": !field.is_nullable()},
    });
    if !column.codes.is_empty() {
        let codes = column.codes.iter();
        let categories = codes.map(|code| json!({"value": code.value, "label": code.name}));
        described["categories"] = categories.collect();
    }
    described
}

/// The type of a table schema for values of an Arrow type.
fn data_type(kind: &DataType) -> &'static str {
    match kind {
        DataType::Boolean => "boolean",
        DataType::List(_) => "array",
        DataType::Struct(_) => "object",
        kind if kind.is_integer() => "integer",
        kind if kind.is_floating() => "number",
        _ => "string",
    }
}

#[cfg(test)]
mod tests {
    use tracelake_schema::TRACES;

    use super::*;

    #[test]
    fn keys_are_those_of_the_catalog_and_refer_to_tables_of_the_package_alone() {
        for table in TRACES.iter().flat_map(|trace| trace.tables) {
            let whole = schema(table, &|_| true);
            assert_eq!(
                whole.get("primaryKey").is_some(),
                !table.primary_key.is_empty()
            );
            let keys = whole["foreignKeys"].as_array().map_or(0, Vec::len);
            assert_eq!(keys, table.references.len(), "{}", table.name);
            assert!(schema(table, &|_| false).get("foreignKeys").is_none());
        }
    }
}
