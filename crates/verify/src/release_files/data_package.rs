//! The description as a data package, version 2.

use serde_json::{Value, json};
use tracelake_schema::{Column, Table, render};

use super::released_lake::{ReleasedLake, TypeNames, licence_page, media_type, proven_key};
use super::selection;

/// A package with one resource for each table.
pub(super) fn data_package(lake: &ReleasedLake<'_>) -> Value {
    let trace = lake.trace;
    let resources = lake.tables.iter().map(|(table, facts)| {
        let paths = facts.parts.iter().map(|part| &part.output.path);
        json!({
            "name": table.name,
            "description": table.summary,
            "type": "table",
            "path": paths.collect::<Vec<_>>(),
            "format": lake.format().name(),
            "mediatype": media_type(lake.format()),
            "schema": schema(table, &|name| lake.tables.iter().any(|(one, _)| one.name == name)),
        })
    });
    // A data package needs a licence's name or path; a title alone is invalid.
    let mut licence = json!({"name": trace.licence});
    if let Some(page) = licence_page(&trace.licence) {
        licence["path"] = page.into();
    }
    let mut source = json!({"title": trace.document});
    if let Some(url) = &trace.url {
        source["path"] = url.as_str().into();
    }
    let contributors = lake.creators().iter();
    let contributors =
        contributors.map(|one| json!({"title": one.to_string(), "roles": ["creator"]}));
    let synthetic = if lake.is_synthetic() {
        "-synthetic"
    } else {
        ""
    };
    let mut package = json!({
        "$schema": "https://datapackage.org/profiles/2.0/datapackage.json",
        "name": format!("{}{synthetic}", trace.name),
        "id": lake.digest(),
        "title": lake.title(),
        "description": selection::description(lake),
    });
    // Synthetic rows have no publisher.
    if !lake.is_synthetic() {
        package["licenses"] = json!([licence]);
        package["sources"] = json!([source]);
        if let Some(url) = &trace.url {
            package["homepage"] = url.as_str().into();
        }
        if !lake.creators().is_empty() {
            package["contributors"] = contributors.collect();
        }
    }
    package["resources"] = resources.collect();
    package
}

/// The columns and keys of a table. `is_here` says whether the package has a table, because a
/// reference to another package's table is not allowed.
fn schema(table: &Table, is_here: &dyn Fn(&str) -> bool) -> Value {
    let fields: Vec<Value> = table
        .columns
        .iter()
        .map(|column| describe(column))
        .collect();
    let mut schema = json!({"fields": fields});
    if let Some(key) = proven_key(table) {
        schema["primaryKey"] = json!(key);
    }
    let known = table.references.iter().filter(|one| is_here(&one.table));
    let references: Vec<Value> = known
        .map(|one| {
            // The standard's name for the table itself is the empty text.
            let resource = if one.table == table.name {
                ""
            } else {
                &one.table
            };
            json!({
                "fields": one.columns,
                "reference": {"resource": resource, "fields": one.to},
            })
        })
        .collect();
    // Not `foreignKeys`, by which every row has a partner: special values have none, nor have rows of a part whose
    // partners are in another one, and readers that check foreign keys look into the first file of a table alone.
    if !references.is_empty() {
        schema["references"] = references.into();
    }
    schema
}

fn describe(column: &Column) -> Value {
    let mut described = json!({
        "name": column.name,
        "type": TypeNames::of(column.kind).data_package,
        "title": column.content,
        "description": render::remark(column),
        "constraints": {"required": column.mandatory},
    });
    if !column.mandatory
        && let Some(spelled) = TypeNames::of(column.kind).null_in_pandas
    {
        described["missingValues"] = json!(["", spelled]);
    }
    if !column.codes.is_empty() {
        let codes = column.codes.iter();
        let categories = codes.map(|code| json!({"value": code.value, "label": code.name}));
        described["categories"] = categories.collect();
    }
    described
}

#[cfg(test)]
mod tests {
    use tracelake_schema::TRACES;

    use super::*;

    #[test]
    fn keys_are_those_of_the_catalog_and_refer_to_tables_of_the_package_alone() {
        for table in TRACES.iter().flat_map(|trace| &trace.tables) {
            let whole = schema(table, &|_| true);
            let is_mandatory =
                |name: &String| table.column(name).is_some_and(|(_, one)| one.mandatory);
            let proven =
                !table.primary_key.is_empty() && table.primary_key.iter().all(is_mandatory);
            assert_eq!(whole.get("primaryKey").is_some(), proven, "{}", table.name);
            let references = whole["references"].as_array().map_or(0, Vec::len);
            assert_eq!(references, table.references.len(), "{}", table.name);
            assert!(schema(table, &|_| false).get("references").is_none());
        }
    }
}
