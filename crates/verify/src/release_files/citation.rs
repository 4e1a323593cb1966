//! How to cite a lake: `CITATION.cff`, and the metadata that Zenodo takes from `.zenodo.json`.

use serde_json::{Value, json};
use tracelake_schema::Creator;

use super::released_lake::{ReleasedLake, spdx};
use super::selection;

/// The citation in the Citation File Format 1.2.0; `None` if the creators aren't known, or the data are synthetic.
pub(super) fn citation(lake: &ReleasedLake<'_>) -> Option<String> {
    if lake.creators().is_empty() {
        return None;
    }
    let trace = lake.trace;
    let authors = |indent: &str| -> String {
        let authors = lake
            .creators()
            .iter()
            .map(|creator| author(creator, indent));
        format!("{indent}authors:\n") + &authors.collect::<String>()
    };
    let message = match lake.citation() {
        Some(citation) => {
            format!("If you use these data, cite the work of those who made them: {citation}")
        }
        None => "If you use these data, cite the work of those who made them.".to_owned(),
    };
    let mut cff = format!(
        "cff-version: 1.2.0\ntype: dataset\nmessage: {}\ntitle: {}\nabstract: {}\n{}",
        text(&message),
        text(&lake.title()),
        text(&selection::description(lake)),
        authors(""),
    );
    cff += &format!("version: {}\n", text(&lake.manifest.origin.version));
    if let Some(date) = lake.date() {
        cff += &format!("date-released: {date}\n");
    }
    if spdx(&trace.licence) {
        cff += &format!("license: {}\n", trace.licence);
    }
    if let Some(url) = lake.publisher.url() {
        cff += &format!("url: {}\n", text(url));
    }
    cff += &format!(
        "identifiers:\n- type: other\n  value: {}\n  description: {}\n",
        text(&lake.digest()),
        text(&format!(
            "The SHA-256 of {}, which names the whole lake",
            lake.given.manifest.path
        )),
    );
    cff += "keywords:\n";
    for keyword in lake.keywords() {
        cff += &format!("- {}\n", text(keyword));
    }
    cff += &format!(
        "references:\n- type: data\n  title: {}\n{}",
        text(&trace.title),
        authors("  "),
    );
    if let Some(page) = lake.page() {
        cff += &format!("  url: {}\n", text(page));
    }
    if let Some(citation) = lake.citation() {
        cff += &format!("  notes: {}\n", text(citation));
    }
    Some(cff)
}

fn author(creator: &Creator, indent: &str) -> String {
    let name = text(&creator.name);
    match &creator.given {
        Some(given) => format!(
            "{indent}- family-names: {name}\n{indent}  given-names: {}\n",
            text(given)
        ),
        None => format!("{indent}- name: {name}\n"),
    }
}

/// A text in YAML: JSON is YAML as well.
fn text(text: &str) -> String {
    Value::from(text).to_string()
}

/// The metadata that Zenodo shows for an upload.
pub(super) fn zenodo(lake: &ReleasedLake<'_>) -> Value {
    let trace = lake.trace;
    let mut zenodo = json!({
        "upload_type": "dataset",
        "title": lake.title(),
        // Zenodo shows it as HTML.
        "description": html(&selection::description(lake)),
        "version": lake.manifest.origin.version,
        "keywords": lake.keywords(),
    });
    if let Some(date) = lake.date() {
        zenodo["publication_date"] = date.into();
    }
    let mut notes = format!(
        "The SHA-256 of {}, which names the whole lake: {}.",
        lake.given.manifest.path, lake.given.manifest.sha256
    );
    // Without a licence, Zenodo would take one for granted.
    zenodo["license"] = "notspecified".into();
    if !lake.is_synthetic() {
        match spdx(&trace.licence) {
            true => zenodo["license"] = trace.licence.to_lowercase().into(),
            false => notes += &format!(" Licence of the data: {}.", html(&trace.licence)),
        }
    }
    zenodo["notes"] = notes.into();
    if !lake.creators().is_empty() {
        let creators = lake.creators().iter().map(|creator| match &creator.given {
            Some(given) => json!({"name": format!("{}, {given}", creator.name)}),
            None => json!({"name": creator.name}),
        });
        zenodo["creators"] = creators.collect();
    }
    if let Some(citation) = lake.citation() {
        zenodo["references"] = json!([citation]);
    }
    if let Some(page) = lake.page() {
        zenodo["related_identifiers"] = json!([{"relation": "isDerivedFrom", "identifier": page}]);
    }
    zenodo
}

/// A text in HTML.
fn html(text: &str) -> String {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
    escaped.replace('>', "&gt;")
}
