//! The description as ML Commons Croissant 1.1.

use arrow_schema::{DataType, Field};
use serde_json::{Map, Value, json};
use tracelake_schema::arrow::arrow_schema;
use tracelake_schema::{Table, render};

use super::{ReleasedLake, licence_page};

/// The version of Croissant that the description follows.
const CONFORMS_TO: &str = "http://mlcommons.org/croissant/1.1";

/// A dataset: a file object for each output, and a file set and a record set for each table.
pub(super) fn croissant(lake: &ReleasedLake<'_>) -> Value {
    let trace = lake.trace;
    let mut distribution = Vec::new();
    let mut record_sets = Vec::new();
    for (table, facts) in &lake.tables {
        for part in &facts.parts {
            let output = &part.output;
            distribution.push(json!({
                "@type": "cr:FileObject",
                "@id": output.path,
                "name": output.path,
                "contentUrl": output.path,
                "contentSize": format!("{} B", output.bytes),
                "encodingFormat": lake.mime_type(),
                "sha256": output.sha256,
            }));
        }
        distribution.push(json!({
            "@type": "cr:FileSet",
            "@id": file_set(table),
            "name": file_set(table),
            "description": format!("All files of the table {}.", table.name),
            "encodingFormat": lake.mime_type(),
            "includes": lake.pattern(table),
        }));
        record_sets.push(record_set(table));
    }
    let names = trace.creators.iter();
    let creators = names.map(|name| json!({"@type": "sc:Person", "name": name}));
    let licence = licence_page(trace.licence);
    let mut dataset = Map::new();
    let mut set = |key: &str, value: Value| {
        dataset.insert(key.to_owned(), value);
    };
    set("@context", context());
    set("@type", "sc:Dataset".into());
    let synthetic = if lake.is_synthetic() {
        "-synthetic"
    } else {
        ""
    };
    set("name", format!("{}{synthetic}", trace.name).into());
    set("description", lake.description().into());
    set("conformsTo", CONFORMS_TO.into());
    // Synthetic rows have no publisher.
    if !lake.is_synthetic() {
        set("citeAs", trace.citation.into());
        if !trace.creators.is_empty() {
            set("creator", creators.collect());
        }
        if let Some(published) = trace.published {
            set("datePublished", published.into());
        }
        set(
            "license",
            licence.unwrap_or_else(|| trace.licence.to_owned()).into(),
        );
        if let Some(url) = trace.url {
            set("url", url.into());
        }
    }
    // The converter's version decides the bytes, so it is the version of the dataset.
    set("version", lake.manifest.origin.version.as_str().into());
    set("keywords", json!(["cluster trace", trace.family]));
    set("distribution", distribution.into());
    set("recordSet", record_sets.into());
    dataset.into()
}

fn file_set(table: &Table) -> String {
    format!("{}-files", table.name)
}

fn record_set(table: &Table) -> Value {
    let schema = arrow_schema(table);
    let columns = schema.fields().iter().zip(table.columns);
    let fields = columns.map(|(field, column)| {
        let source = FieldSource {
            table,
            column: column.name,
            path: Vec::new(),
        };
        describe(table.name, field, Some(&render::remark(column)), &source)
    });
    let mut described = json!({
        "@type": "cr:RecordSet",
        "@id": table.name,
        "name": table.name,
        "description": table.summary,
    });
    if !table.primary_key.is_empty() {
        let columns = table.primary_key.iter();
        let key = columns.map(|column| json!({"@id": format!("{}/{column}", table.name)}));
        described["key"] = key.collect();
    }
    // Croissant's `references` is a join to its readers, which would load both tables; the data
    // package has the references.
    described["field"] = fields.collect();
    described
}

/// Where the values of a field are: in a column, and there under a path of names.
struct FieldSource<'a> {
    table: &'a Table,
    column: &'a str,
    path: Vec<&'a str>,
}

/// A field; its own fields become sub-fields.
fn describe(parent: &str, field: &Field, doc: Option<&str>, source: &FieldSource<'_>) -> Value {
    let id = format!("{parent}/{}", field.name());
    let comment = field.metadata().get("comment").map(|doc| &doc[..]);
    let doc = doc.or(comment);
    let (inner, repeated) = match field.data_type() {
        DataType::List(inner) => (inner.data_type(), true),
        other => (other, false),
    };
    let mut described = Map::new();
    let mut set = |key: &str, value: Value| {
        described.insert(key.to_owned(), value);
    };
    set("@type", "cr:Field".into());
    set("@id", id.as_str().into());
    set("name", field.name().as_str().into());
    if let Some(doc) = doc {
        set("description", doc.into());
    }
    if repeated {
        set("isArray", true.into());
        set("arrayShape", "-1".into());
    }
    if let DataType::Struct(children) = inner {
        let sub_fields = children.iter().map(|child| {
            let path = source.path.iter().copied().chain([child.name().as_str()]);
            let source = FieldSource {
                path: path.collect(),
                ..*source
            };
            describe(&id, child, None, &source)
        });
        set("subField", sub_fields.collect());
        return described.into();
    }
    set("dataType", data_type(inner).into());
    let mut from = json!({
        "fileSet": {"@id": file_set(source.table)},
        "extract": {"column": source.column},
    });
    if !source.path.is_empty() {
        from["transform"] = json!({"jsonPath": source.path.join(".")});
    }
    set("source", from);
    described.into()
}

/// The type of schema.org for values of an Arrow type.
fn data_type(kind: &DataType) -> &'static str {
    match kind {
        DataType::Boolean => "sc:Boolean",
        kind if kind.is_integer() => "sc:Integer",
        kind if kind.is_floating() => "sc:Float",
        _ => "sc:Text",
    }
}

/// The context of the specification, word for word.
fn context() -> Value {
    json!({
        "@language": "en",
        "@vocab": "https://schema.org/",
        "arrayShape": "cr:arrayShape",
        "citeAs": "cr:citeAs",
        "column": "cr:column",
        "conformsTo": "dct:conformsTo",
        "containedIn": "cr:containedIn",
        "cr": "http://mlcommons.org/croissant/",
        "rai": "http://mlcommons.org/croissant/RAI/",
        "data": {"@id": "cr:data", "@type": "@json"},
        "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
        "dct": "http://purl.org/dc/terms/",
        "description": {"@container": "@language"},
        "equivalentProperty": "cr:equivalentProperty",
        "examples": {"@id": "cr:examples", "@type": "@json"},
        "extract": "cr:extract",
        "field": "cr:field",
        "fileProperty": "cr:fileProperty",
        "fileObject": "cr:fileObject",
        "fileSet": "cr:fileSet",
        "format": "cr:format",
        "includes": "cr:includes",
        "isArray": "cr:isArray",
        "isLiveDataset": "cr:isLiveDataset",
        "jsonPath": "cr:jsonPath",
        "key": "cr:key",
        "md5": "cr:md5",
        "name": {"@container": "@language"},
        "parentField": "cr:parentField",
        "path": "cr:path",
        "recordSet": "cr:recordSet",
        "references": "cr:references",
        "regex": "cr:regex",
        "repeated": "cr:repeated",
        "replace": "cr:replace",
        "samplingRate": "cr:samplingRate",
        "sc": "https://schema.org/",
        "separator": "cr:separator",
        "source": "cr:source",
        "subField": "cr:subField",
        "transform": "cr:transform",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracelake_schema::TRACES;

    #[test]
    fn lists_and_structs_become_repeated_fields_and_sub_fields() {
        let leaf = |name: &str| Field::new(name, DataType::Float64, true);
        let list = |inner: DataType| {
            let item = Field::new("item", inner, true);
            Field::new("c", DataType::List(item.into()), true)
        };
        let pair = DataType::Struct(vec![leaf("cpus"), leaf("memory")].into());
        let source = FieldSource {
            table: &TRACES[0].tables[0],
            column: "c",
            path: Vec::new(),
        };
        let plain = describe("t", &leaf("c"), Some("what"), &source);
        assert_eq!(plain["@id"], "t/c");
        assert_eq!(plain["dataType"], "sc:Float");
        assert_eq!(plain["description"], "what");
        assert!(plain["source"].get("transform").is_none());
        let numbers = describe("t", &list(DataType::Int64), None, &source);
        assert_eq!(
            (&numbers["isArray"], &numbers["dataType"]),
            (&json!(true), &json!("sc:Integer"))
        );
        let one = describe("t", &Field::new("c", pair.clone(), true), None, &source);
        assert!(one.get("isArray").is_none() && one.get("source").is_none());
        assert_eq!(one["subField"][1]["@id"], "t/c/memory");
        assert_eq!(one["subField"][1]["source"]["extract"]["column"], "c");
        assert_eq!(
            one["subField"][1]["source"]["transform"]["jsonPath"],
            "memory"
        );
        let many = describe("t", &list(pair), None, &source);
        assert_eq!(many["arrayShape"], "-1");
        assert_eq!(many["subField"][0]["dataType"], "sc:Float");
    }
}
