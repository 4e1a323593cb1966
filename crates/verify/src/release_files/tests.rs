use std::collections::BTreeMap;
use std::sync::Arc;

use tracelake_core::error::ErrorKind;
use tracelake_core::options::Layout;
use tracelake_core::origin::Origin;
use tracelake_core::settings::Settings;
use tracelake_lake::manifest::TableFacts;
use tracelake_lake::{RELEASE, TEMPLATE};

use super::released_lake::licence_page;
use super::*;
use serde_json::Value;
use tracelake_core::part_key::PartKey;
use tracelake_lake::manifest::PartFacts;
use tracelake_schema::TRACES;

/// The first trace of the catalog in which every table is published in parts.
pub(super) fn trace() -> &'static Arc<Trace> {
    TRACES.iter().find(|trace| trace.in_parts()).unwrap()
}

fn file(path: &str) -> FileFacts {
    FileFacts {
        path: path.to_owned(),
        bytes: 1,
        sha256: Digest::of(b""),
    }
}

/// Input beside the manifest: a publisher who says nothing, and a day.
fn given() -> Given {
    Given {
        manifest: file("_tracelake/manifest.json"),
        identity: file(IDENTITY),
        publisher: TEMPLATE.as_bytes().to_vec(),
        date: Some("2026-06-01".to_owned()),
        has_delta_logs: true,
    }
}

/// A lake of the first table of the first trace with these outputs.
pub(super) fn manifest(layout: Layout, outputs: &[(u32, &str)]) -> Manifest {
    let mut options = Settings::default();
    options.layout = layout;
    let table = &trace().tables[0].name;
    let mut facts = TableFacts::new(table, String::new());
    for &(file_number, name) in outputs {
        let key = PartKey {
            cell: None,
            file_number,
        };
        let mut part = PartFacts::new(key, file("in"), file(&format!("{table}/{name}")));
        (part.rows_in, part.rows_out, part.rows_rejected) = (3, 2, 1);
        facts.push(part);
    }
    Manifest::new(
        Origin::new(&trace().name, options),
        Digest::of(b""),
        vec![facts],
    )
}

#[test]
fn a_whole_trace_is_called_whole() {
    let trace = trace().clone();
    let mut manifest = manifest(Layout::Flat, &[(0, "part-00000.parquet")]);
    let one = manifest.tables.remove(0);
    manifest.tables = trace
        .tables
        .iter()
        .map(|table| {
            let mut facts = one.clone();
            facts.name = table.name.to_owned();
            let rows = table
                .published
                .as_ref()
                .map_or(3, |published| published.rows);
            facts.parts = (0..table.parts)
                .map(|number| {
                    let mut part = one.parts[0].clone();
                    part.file_number = number;
                    part.rows_in = if number == 0 { rows } else { 0 };
                    part.output.path = format!("{}/part-{number:05}.parquet", table.name);
                    part
                })
                .collect();
            facts
        })
        .collect();
    assert_eq!(completeness(&trace, &manifest).gaps, []);
    let given = given();
    let lake = ReleasedLake::new(&trace, &manifest, &given).unwrap();
    let card = readme::readme(&lake);
    assert!(card.contains("Every part of every table that was published is here."));
    assert!(!card.contains("not the whole trace"));
    manifest.tables[0].parts[0].rows_in -= 1;
    let lake = ReleasedLake::new(&trace, &manifest, &given).unwrap();
    assert!(readme::readme(&lake).contains("**This is not the whole trace.**"));
}

#[test]
fn a_synthetic_lake_names_no_authors() {
    let mut manifest = manifest(Layout::Flat, &[(0, "part-00000.parquet")]);
    let files = |manifest: &Manifest| -> BTreeMap<String, String> {
        let release = release_files(trace(), manifest, &given()).unwrap();
        let files = release.files.into_iter();
        files
            .map(|(path, bytes)| (path, String::from_utf8(bytes).unwrap()))
            .collect()
    };
    let names = trace().creators.iter().map(|one| one.name.clone());
    let theirs: Vec<String> = names.chain([trace().citation.clone()]).collect();
    let published = files(&manifest);
    assert!(RELEASE.iter().all(|name| published.contains_key(*name)));
    let all: String = published.into_values().collect();
    assert!(theirs.iter().all(|name| all.contains(name)));
    manifest.origin.synthetic = true;
    let synthetic = files(&manifest);
    assert!(!synthetic.contains_key(CITATION));
    for (path, text) in &synthetic {
        for name in theirs.iter().chain([&trace().licence]) {
            assert!(!text.contains(name), "{name} in {path}");
        }
        assert!(!text.contains("licenses/"), "{path}");
        let says = "Synthetic data in the format of";
        assert!(path == PUBLISHER || text.contains(says), "{path}");
    }
}

/// Whatever a forged manifest says, no release has it.
#[test]
fn strings_of_a_manifest_cannot_reach_a_release() {
    const MARKUP: &str = "<img src=x onerror=alert(1)>";
    let healthy = manifest(Layout::Flat, &[(0, "part-00000.parquet")]);
    let json = serde_json::to_value(&healthy).unwrap();
    let mut pointers = Vec::new();
    strings(&json, String::new(), &mut pointers);
    assert!(pointers.len() > 10, "{pointers:?}");
    for pointer in pointers {
        let mut json = json.clone();
        *json.pointer_mut(&pointer).unwrap() = MARKUP.into();
        // A name that no option has, and what is no digest, isn't even read.
        let Ok(forged) = serde_json::from_value::<Manifest>(json) else {
            let is_digest = pointer == "/lake" || pointer.ends_with("/sha256");
            let is_checked = pointer.starts_with("/options/") || is_digest;
            assert!(is_checked, "{pointer}");
            continue;
        };
        let Ok(release) = release_files(trace(), &forged, &given()) else {
            continue;
        };
        for (name, bytes) in release.files {
            let text = String::from_utf8(bytes).unwrap();
            assert!(!text.contains("<img"), "{pointer} in {name}");
        }
    }
}

fn strings(json: &Value, pointer: String, found: &mut Vec<String>) {
    match json {
        Value::String(_) => found.push(pointer),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                strings(item, format!("{pointer}/{at}"), found);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                strings(value, format!("{pointer}/{name}"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn a_file_in_another_place_is_refused() {
    let made = |layout, name| {
        let manifest = manifest(layout, &[(0, name)]);
        release_files(trace(), &manifest, &given())
    };
    assert!(made(Layout::Flat, "part-00000.parquet").is_ok());
    assert!(made(Layout::Hive, "file_number=0/part-00000.parquet").is_ok());
    for (layout, name) in [
        (Layout::Hive, "part-00000.parquet"),
        (Layout::Hive, "file_number=1/part-00000.parquet"),
        (Layout::Flat, "file_number=0/part-00000.parquet"),
        (Layout::Flat, "part-00000.csv"),
        (Layout::Flat, "part-\n.parquet"),
        (Layout::Flat, "../part-00000.parquet"),
    ] {
        let error = made(layout, name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{name}");
    }
}

#[test]
fn checksums_are_sorted_and_name_every_file_once() {
    let parts = [(1, "part-00001.parquet"), (0, "part-00000.parquet")];
    let manifest = manifest(Layout::Flat, &parts);
    let release = release_files(trace(), &manifest, &given()).unwrap();
    let paths = release.sums.lines().map(|line| line.split_at(66).1);
    let paths: Vec<&str> = paths.collect();
    assert!(
        paths.is_sorted() && paths.len() == 2 + 2 + 1 + RELEASE.len(),
        "{paths:?}"
    );
    assert!(RELEASE.iter().all(|name| paths.contains(name)));
}

#[test]
fn licences_of_spdx_have_a_page() {
    let page = licence_page("CC-BY-4.0").unwrap();
    assert_eq!(page, "https://spdx.org/licenses/CC-BY-4.0.html");
    assert_eq!(licence_page("for research only"), None);
    assert_eq!(licence_page("LicenseRef-own"), None);
}

#[test]
fn a_licence_of_a_data_package_has_a_name() {
    let manifest = manifest(Layout::Flat, &[(0, "part-00000.parquet")]);
    let mut trace = (**trace()).clone();
    let given = given();
    for licence in ["CC-BY-4.0", "LicenseRef-own"] {
        trace.licence = licence.to_owned();
        let lake = ReleasedLake::new(&trace, &manifest, &given).unwrap();
        let package = data_package::data_package(&lake);
        assert_eq!(package["licenses"][0]["name"], licence);
    }
}
