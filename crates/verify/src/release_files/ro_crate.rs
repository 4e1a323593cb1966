//! The description as RO-Crate 1.3: every file of the lake, and one action that made the outputs of the source files.

use std::collections::BTreeSet;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use tracelake_core::digest::Digest;
use tracelake_lake::manifest::{FileFacts, PartFacts};
use tracelake_lake::{
    CARD, CITATION, CROISSANT, DATA_PACKAGE, DESCRIPTION, PUBLISHER, SUMS, ZENODO,
};

use super::released_lake::{self, ReleasedLake, licence_page, person_or_organisation};
use super::{making, selection};

/// The specification that the description follows; its context has the names of all properties.
const SPECIFICATION: &str = "https://w3id.org/ro/crate/1.3";

/// The description of itself, and of the lake.
const DESCRIPTOR: &str = "ro-crate-metadata.json";
const ROOT: &str = "./";
const ACTION: &str = "#conversion";
const PROGRAM: &str = "#tracelake";
const PROGRAM_URL: &str = "https://crates.io/crates/tracelake";
const LICENCE: &str = "#licence";
const DIGEST: &str = "#digest";

/// A crate.
///
/// # Memory
/// The size of the manifest: entities of files borrow what they say.
#[derive(Serialize)]
pub(super) struct Crate<'a> {
    #[serde(rename = "@context")]
    context: String,
    #[serde(rename = "@graph")]
    graph: Vec<Entity<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Entity<'a> {
    File(File<'a>),
    Dataset(Dataset<'a>),
    Action(Action<'a>),
    Other(Value),
}

/// A file, of the lake or of the source.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    #[serde(rename = "@id")]
    id: String,
    #[serde(rename = "@type")]
    kind: &'static str,
    name: String,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    local_path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_size: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding_format: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<Digest>,
}

/// A directory.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Dataset<'a> {
    #[serde(rename = "@id")]
    id: String,
    #[serde(rename = "@type")]
    kind: &'static str,
    name: String,
    description: String,
    #[serde(flatten)]
    others: serde_json::Map<String, Value>,
    #[serde(serialize_with = "one_or_many")]
    has_part: Vec<Reference<'a>>,
}

/// The action that made the outputs.
#[derive(Serialize)]
struct Action<'a> {
    #[serde(rename = "@id")]
    id: &'static str,
    #[serde(rename = "@type")]
    kind: &'static str,
    name: String,
    description: String,
    instrument: Reference<'a>,
    #[serde(serialize_with = "one_or_many")]
    object: Vec<Reference<'a>>,
    #[serde(serialize_with = "one_or_many")]
    result: Vec<Reference<'a>>,
}

/// The specification has a single value without its list.
fn one_or_many<S: Serializer>(list: &[Reference<'_>], serializer: S) -> Result<S::Ok, S::Error> {
    match list {
        [one] => one.serialize(serializer),
        list => list.serialize(serializer),
    }
}

#[derive(Serialize, Clone)]
struct Reference<'a> {
    #[serde(rename = "@id")]
    id: std::borrow::Cow<'a, str>,
}

/// Describes a lake that is released on `date` beside `files`, which are the other files of the release.
pub(super) fn ro_crate<'a>(
    lake: &'a ReleasedLake<'_>,
    date: &str,
    files: &'a [(String, Vec<u8>)],
) -> Crate<'a> {
    let mut entities = Vec::new();
    let mut parts = Vec::new();
    let mut results = Vec::new();
    for (table, facts) in &lake.tables {
        if facts.parts.is_empty() {
            continue;
        }
        let outputs = facts.parts.iter().map(|part| &part.output);
        let has_part: Vec<Reference<'_>> = outputs.map(|output| to(&output.path)).collect();
        results.extend(has_part.iter().cloned());
        let id = format!("{}/", table.name);
        parts.push(to(id.clone()));
        entities.push(Entity::Dataset(Dataset {
            id,
            kind: "Dataset",
            name: table.name.clone(),
            description: table.summary.clone(),
            others: serde_json::Map::new(),
            has_part,
        }));
        let (format, what) = (
            released_lake::media_type(lake.format()),
            format!("Rows of the table {}", table.name),
        );
        for part in &facts.parts {
            entities.push(Entity::File(file_of(
                &part.output,
                Some(format),
                what.clone(),
            )));
        }
    }
    for rejects in lake
        .manifest
        .parts()
        .filter_map(|(_, part)| part.rejects.as_ref())
    {
        let what = "Rows that did not fit their table, with position and reason";
        let file = file_of(rejects, Some("application/x-ndjson"), what);
        results.push(to(&rejects.path));
        parts.push(to(&rejects.path));
        entities.push(Entity::File(file));
    }
    for file in others(lake, files) {
        parts.push(to(file.id.clone()));
        entities.push(Entity::File(file));
    }
    let (objects, sources) = sources(lake);
    entities.extend(sources.into_iter().map(Entity::File));
    entities.push(Entity::Action(Action {
        id: ACTION,
        kind: "CreateAction",
        name: lake.made_by(),
        description: making::commands(lake).join("\n"),
        instrument: to(PROGRAM),
        object: objects,
        result: results,
    }));
    let (others, contextual) = about(lake, date);
    let root = Dataset {
        id: ROOT.to_owned(),
        kind: "Dataset",
        name: lake.title(),
        description: selection::description(lake),
        others,
        has_part: parts,
    };
    let descriptor = json!({
        "@id": DESCRIPTOR,
        "@type": "CreativeWork",
        "conformsTo": {"@id": SPECIFICATION},
        "about": {"@id": ROOT},
    });
    let mut graph = vec![Entity::Other(descriptor), Entity::Dataset(root)];
    graph.extend(contextual.into_iter().map(Entity::Other));
    graph.append(&mut entities);
    Crate {
        context: format!("{SPECIFICATION}/context"),
        graph,
    }
}

/// The properties of the lake as a whole, and the things that they name.
fn about(lake: &ReleasedLake<'_>, date: &str) -> (serde_json::Map<String, Value>, Vec<Value>) {
    let origin = &lake.manifest.origin;
    let mut root = serde_json::Map::new();
    let mut set = |key: &str, value: Value| root.insert(key.to_owned(), value);
    let mut things = vec![
        json!({
            "@id": DIGEST,
            "@type": "PropertyValue",
            "name": format!("SHA-256 of {}", lake.given.manifest.path),
            "propertyID": "https://www.wikidata.org/wiki/Q64691",
            "value": lake.digest(),
        }),
        json!({
            "@id": PROGRAM,
            "@type": "SoftwareApplication",
            "name": origin.tool,
            "url": PROGRAM_URL,
            "version": origin.version,
            "softwareVersion": origin.version,
        }),
    ];
    set("datePublished", date.into());
    set("identifier", json!({"@id": DIGEST}));
    set("mentions", json!({"@id": ACTION}));
    set("version", origin.version.as_str().into());
    set("keywords", json!(lake.keywords()));
    if let Some(url) = lake.publisher.url() {
        set("url", url.into());
    }
    let page = licence_page(&lake.trace.licence).filter(|_| !lake.is_synthetic());
    let (id, name) = match page {
        Some(page) => (page, lake.trace.licence.clone()),
        None => (LICENCE.to_owned(), lake.licence()),
    };
    set("license", json!({"@id": id}));
    things.push(json!({
        "@id": id,
        "@type": "CreativeWork",
        "name": name,
        "description": format!("The licence of the data: {name}"),
    }));
    let mut creators = Vec::new();
    for (number, creator) in lake.creators().iter().enumerate() {
        let id = format!("#creator-{}", number + 1);
        let mut thing = person_or_organisation(creator);
        thing["@id"] = id.as_str().into();
        creators.push(json!({"@id": id}));
        things.push(thing);
    }
    match creators.len() {
        0 => {}
        1 => drop(set("author", creators.remove(0))),
        _ => drop(set("author", creators.into())),
    }
    set("creditText", lake.cite_as().into());
    if let Some(page) = lake.page() {
        set("isBasedOn", json!({"@id": page}));
        things.push(json!({
            "@id": page,
            "@type": "CreativeWork",
            "name": lake.trace.title,
        }));
    }
    (root, things)
}

/// Files of the lake that aren't outputs or rejects.
fn others<'a>(lake: &ReleasedLake<'_>, files: &'a [(String, Vec<u8>)]) -> Vec<File<'a>> {
    let given = &lake.given;
    let mut others = vec![
        file_of(
            &given.manifest,
            Some("application/json"),
            "Every file of the tables with its source, size and SHA-256",
        ),
        file_of(
            &given.identity,
            Some("application/json"),
            "What the lake was made of, and how",
        ),
    ];
    if let Some(description) = &lake.trace.description {
        let facts = FileFacts {
            path: DESCRIPTION.to_owned(),
            bytes: description.text.len() as u64,
            sha256: Digest::of(description.text.as_bytes()),
        };
        others.push(file_of(
            &facts,
            Some("application/toml"),
            "The description of the trace",
        ));
    }
    for (path, bytes) in files {
        let facts = FileFacts {
            path: path.clone(),
            bytes: bytes.len() as u64,
            sha256: Digest::of(bytes),
        };
        others.push(file_of(&facts, Some(media_type(path)), purpose(path)));
    }
    // It has the digest of this description, which can't have its digest as well.
    others.push(File {
        id: SUMS.to_owned(),
        kind: "File",
        name: SUMS.to_owned(),
        description: "The SHA-256 of every file of the lake".to_owned(),
        local_path: None,
        content_size: None,
        encoding_format: Some("text/plain"),
        sha256: None,
    });
    others
}

/// The files that the outputs were made from: references, and the entities of those that aren't in the lake.
fn sources<'a>(lake: &'a ReleasedLake<'_>) -> (Vec<Reference<'a>>, Vec<File<'a>>) {
    let (mut seen, mut objects, mut files) = (BTreeSet::new(), Vec::new(), Vec::new());
    for (_, part) in lake.manifest.parts() {
        if !seen.insert((part.cell, &part.source.path, part.source.sha256)) {
            continue;
        }
        // A derived table is made from a file of the lake, which is described already.
        if part.rows_not_derived.is_some() {
            objects.push(to(&part.source.path));
            continue;
        }
        let file = source_of(part);
        objects.push(to(file.id.clone()));
        files.push(file);
    }
    (objects, files)
}

/// A file of the source: it isn't in the lake, so its name begins with a number sign, and the digest tells it from another
/// one with its path.
fn source_of(part: &PartFacts) -> File<'_> {
    let path = escaped(&part.source.path);
    let path = match part.cell {
        Some(cell) => format!("{}/{path}", escaped(cell)),
        None => path,
    };
    File {
        id: format!("#{}/{path}", part.source.sha256),
        kind: "File",
        name: path,
        description: "A file that the lake was made from".to_owned(),
        local_path: Some(&part.source.path),
        content_size: Some(part.source.bytes.to_string()),
        encoding_format: None,
        sha256: Some(part.source.sha256),
    }
}

fn file_of<'a>(
    facts: &FileFacts,
    encoding_format: Option<&'a str>,
    description: impl Into<String>,
) -> File<'a> {
    File {
        id: facts.path.clone(),
        kind: "File",
        name: facts.path.clone(),
        description: description.into(),
        local_path: None,
        content_size: Some(facts.bytes.to_string()),
        encoding_format,
        sha256: Some(facts.sha256),
    }
}

/// The media type of a file of a release.
fn media_type(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("md") => "text/markdown",
        Some("json") => "application/json",
        Some("toml") => "application/toml",
        Some("cff") => "application/yaml",
        _ => "application/octet-stream",
    }
}

/// The purpose of a file of a release.
fn purpose(path: &str) -> &'static str {
    match path {
        CARD => "The dataset card",
        CROISSANT => "The lake as ML Commons Croissant",
        DATA_PACKAGE => "The lake as a data package",
        CITATION => "How to cite the lake",
        ZENODO => "The lake for Zenodo",
        PUBLISHER => "What the publisher of the lake says",
        _ => "A file of the release",
    }
}

fn to<'a>(id: impl Into<std::borrow::Cow<'a, str>>) -> Reference<'a> {
    Reference { id: id.into() }
}

/// A path as a part of a URI.
fn escaped(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        match byte.is_ascii_alphanumeric() || b"/-._~=".contains(&byte) {
            true => uri.push(char::from(byte)),
            false => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}
