//! The description as ML Commons Croissant 1.1.

use serde_json::{Map, Value, json};
use tracelake_core::options::Format;
use tracelake_core::origin::Origin;
use tracelake_schema::{Column, Kind, Table, render};

use super::released_lake::{ReleasedLake, TypeNames, person_or_organisation, proven_key};
use super::{making, rai, selection};

/// The version of Croissant that the description follows.
const CONFORMS_TO: &str = "http://mlcommons.org/croissant/1.1";

/// The properties for responsible AI that have a single text.
const ONE: [&str; 3] = [
    "dataCollection",
    "dataSocialImpact",
    "dataReleaseMaintenancePlan",
];

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
                "encodingFormat": mime_type(lake.format()),
                "sha256": output.sha256,
            }));
        }
        distribution.push(json!({
            "@type": "cr:FileSet",
            "@id": file_set(table),
            "name": file_set(table),
            "description": format!("All files of the table {}.", table.name),
            "encodingFormat": mime_type(lake.format()),
            "includes": lake.pattern(table),
        }));
        record_sets.push(record_set(table));
    }
    distribution.push(json!({
        "@type": "cr:FileObject",
        "@id": lake.given.manifest.path,
        "name": lake.given.manifest.path,
        "description": "Every file of the tables with its source, size and SHA-256",
        "contentUrl": lake.given.manifest.path,
        "contentSize": format!("{} B", lake.given.manifest.bytes),
        "encodingFormat": "application/json",
        "sha256": lake.given.manifest.sha256,
    }));
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
    set("description", selection::description(lake).into());
    set("conformsTo", CONFORMS_TO.into());
    if let Some(date) = lake.date() {
        set("datePublished", date.into());
    }
    set("citeAs", lake.cite_as().into());
    set("license", lake.licence().into());
    let creators = lake.creators().iter();
    let creators = creators.map(person_or_organisation);
    if !lake.creators().is_empty() {
        set("creator", creators.collect());
    }
    if let Some(url) = lake.publisher.url().or(lake.page()) {
        set("url", url.into());
    }
    // The converter's version decides the bytes, so it is the version of the dataset.
    set("version", lake.manifest.origin.version.as_str().into());
    set("identifier", lake.digest().into());
    set("keywords", json!(lake.keywords()));
    for statement in rai::statements(lake) {
        match statement.texts()[..] {
            [] => {}
            [one] => set(&format!("rai:{}", statement.property), one.into()),
            // Of these there is one text each.
            ref all if ONE.contains(&statement.property) => {
                set(&format!("rai:{}", statement.property), all.join(" ").into());
            }
            ref all => set(&format!("rai:{}", statement.property), json!(all)),
        }
    }
    let has_synthetic = lake.is_synthetic() || lake.synthesised().next().is_some();
    set("rai:hasSyntheticData", has_synthetic.into());
    set("prov:wasDerivedFrom", derived_from(lake));
    set("prov:wasGeneratedBy", generated_by(lake));
    set("distribution", distribution.into());
    set("recordSet", record_sets.into());
    dataset.into()
}

/// The sources of a lake: the published trace, or synthetic files, and the lake that it was clustered from.
fn derived_from(lake: &ReleasedLake<'_>) -> Value {
    let mut from = match lake.is_synthetic() {
        true => json!({
            "@type": "prov:Entity",
            "prov:label": lake.title(),
        }),
        false => json!({
            "@type": "prov:Entity",
            "prov:label": lake.trace.title,
        }),
    };
    if let Some(page) = lake.page() {
        from["@id"] = page.into();
    }
    from["description"] = format!(
        "{} names each file of it with its SHA-256.",
        lake.given.manifest.path
    )
    .into();
    let clustered = lake.manifest.origin.clustered.as_ref();
    let before = clustered.map(|how| {
        json!({
            "@type": "prov:Entity",
            "prov:label": "The lake that it was clustered from",
            "identifier": format!("sha256:{}", how.source),
        })
    });
    match before {
        Some(before) => json!([from, before]),
        None => from,
    }
}

/// The two steps that made a lake: the publisher's, of which the documents tell, and ours, with all that decides its bytes.
fn generated_by(lake: &ReleasedLake<'_>) -> Value {
    let Origin { tool, version, .. } = &lake.manifest.origin;
    let creators = lake.creators().iter();
    let agents = creators.map(|creator| {
        json!({
            "@type": "prov:Agent",
            "prov:label": creator.to_string(),
        })
    });
    let mut collection = json!({
        "@type": "prov:Activity",
        "prov:label": "Collection",
        "description": rai::collection(lake),
    });
    if !lake.creators().is_empty() {
        collection["prov:wasAssociatedWith"] = agents.collect();
    }
    json!([collection, {
        "@type": "prov:Activity",
        "prov:label": lake.made_by(),
        "description": making::commands(lake).join("; "),
        "prov:used": {"@id": lake.given.manifest.path},
        "prov:wasAssociatedWith": {
            "@type": "prov:SoftwareAgent",
            "prov:label": tool,
            "version": version,
        },
    }])
}

/// The MIME type of outputs of this format, as readers of Croissant know it.
fn mime_type(format: Format) -> &'static str {
    match format {
        Format::Parquet => "application/x-parquet",
        Format::Arrow => "application/vnd.apache.arrow.file",
    }
}

fn file_set(table: &Table) -> String {
    format!("{}-files", table.name)
}

fn record_set(table: &Table) -> Value {
    let fields = table.columns.iter().map(|column| {
        let source = FieldSource {
            table,
            column: &column.name,
            path: Vec::new(),
        };
        describe(&table.name, column, &render::remark(column), &source)
    });
    let mut described = json!({
        "@type": "cr:RecordSet",
        "@id": table.name,
        "name": table.name,
        "description": table.summary,
    });
    if let Some(columns) = proven_key(table) {
        let key = columns
            .iter()
            .map(|column| json!({"@id": format!("{}/{column}", table.name)}));
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
fn describe(parent: &str, column: &Column, doc: &str, source: &FieldSource<'_>) -> Value {
    let id = format!("{parent}/{}", column.name);
    let item = column.fields.first().filter(|_| column.kind == Kind::List);
    let inner = item.map_or(column, |item| item);
    let mut described = Map::new();
    let mut set = |key: &str, value: Value| {
        described.insert(key.to_owned(), value);
    };
    set("@type", "cr:Field".into());
    set("@id", id.as_str().into());
    set("name", column.name.as_str().into());
    set("description", doc.into());
    if item.is_some() {
        set("isArray", true.into());
        set("arrayShape", "-1".into());
    }
    let Some(data_type) = TypeNames::of(inner.kind).croissant else {
        let sub_fields = inner.fields.iter().map(|child| {
            let path = source.path.iter().copied().chain([&*child.name]);
            let source = FieldSource {
                path: path.collect(),
                ..*source
            };
            describe(&id, child, &child.comment(), &source)
        });
        set("subField", sub_fields.collect());
        return described.into();
    };
    set("dataType", data_type.into());
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

/// The context that mlcroissant writes, word for word, and the prefix of PROV-O, which the specification adds to it for
/// provenance.
fn context() -> Value {
    let mut context = json!({
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
    });
    context["prov"] = "http://www.w3.org/ns/prov#".into();
    context
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use tracelake_schema::TRACES;

    /// The catalog has lists of numbers and of structs, and structs; each is described by its inner types.
    #[test]
    fn lists_and_structs_become_repeated_fields_and_sub_fields() {
        let mut seen = (false, false, false);
        for table in TRACES.iter().flat_map(|trace| &trace.tables) {
            for column in &*table.columns {
                let source = FieldSource {
                    table,
                    column: &column.name,
                    path: Vec::new(),
                };
                let described = describe("t", column, "what", &source);
                assert_eq!(described["@id"], format!("t/{}", column.name));
                assert_eq!(described["description"], "what");
                let is_list = column.kind == Kind::List;
                assert_eq!(described.get("isArray").is_some(), is_list);
                let inner = if is_list { &column.fields[0] } else { column };
                if inner.kind == Kind::Struct {
                    assert!(
                        described.get("source").is_none() && described.get("dataType").is_none()
                    );
                    let is_plain =
                        |field: &Arc<Column>| !matches!(field.kind, Kind::Struct | Kind::List);
                    let last = inner.fields.iter().rposition(is_plain).unwrap();
                    let sub_field = &described["subField"][last];
                    assert_eq!(sub_field["source"]["extract"]["column"], column.name);
                    assert_eq!(
                        sub_field["source"]["transform"]["jsonPath"],
                        inner.fields[last].name
                    );
                } else {
                    assert!(described["source"].get("transform").is_none());
                    assert!(described["dataType"].as_str().unwrap().starts_with("sc:"));
                }
                let is_struct = inner.kind == Kind::Struct;
                seen.0 |= is_list && !is_struct;
                seen.1 |= is_list && is_struct;
                seen.2 |= !is_list && is_struct;
            }
        }
        assert_eq!(seen, (true, true, true));
    }

    #[test]
    fn date_times_are_no_texts() {
        let is_date_time =
            |column: &&std::sync::Arc<Column>| matches!(column.kind, Kind::DateTime(_));
        let mut tables = TRACES.iter().flat_map(|trace| &trace.tables);
        let (table, column) = tables
            .find_map(|table| Some((table, table.columns.iter().find(is_date_time)?)))
            .unwrap();
        let fields = record_set(table)["field"].clone();
        let described = fields
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["name"] == column.name);
        assert_eq!(described.unwrap()["dataType"], "sc:DateTime");
    }
}
