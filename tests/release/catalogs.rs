//! RO-Crate, the citation and Zenodo's metadata: every number is the one that plain means find, nothing is said that isn't
//! true, and what needs a day has one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::release::{FILES, release, released, small, there};
use tracelake_testkit::{
    LOCKS, Scratch, assert_same_tree, committed_sample, convert, good_row, manifest, run, sha256,
    trace, tree,
};

fn json(out: &Path, name: &str) -> Value {
    serde_json::from_slice(&fs::read(out.join(name)).unwrap()).unwrap()
}

/// The entities of a crate by their ids.
fn entities(out: &Path) -> BTreeMap<String, Value> {
    let graph = json(out, "ro-crate-metadata.json")["@graph"].clone();
    let entities = graph.as_array().unwrap().iter();
    let by_id = entities.map(|one| (one["@id"].as_str().unwrap().to_owned(), one.clone()));
    let by_id: BTreeMap<String, Value> = by_id.collect();
    assert_eq!(
        by_id.len(),
        graph.as_array().unwrap().len(),
        "ids are unique"
    );
    by_id
}

fn ids(list: &Value) -> BTreeSet<String> {
    // A single one isn't in a list.
    let ids = list
        .as_array()
        .map_or(std::slice::from_ref(list), |list| &list[..]);
    ids.iter()
        .map(|one| one["@id"].as_str().unwrap().to_owned())
        .collect()
}

/// A lake with rejects, two parts of a table, and one missing row.
fn lake() -> Scratch {
    let scratch = Scratch::with_sample(2, 50);
    scratch.part("machine_events", 0, 1, b"0,5,0,plat=,0.5,0.2493\nbad\n");
    scratch.convert(&["--on-bad-row", "reject"]).exits(3);
    release(&scratch.out(), &["--allow-missing", "--allow-rejects"]).well();
    scratch
}

#[test]
fn a_crate_describes_every_file_with_its_size_and_digest() {
    let scratch = lake();
    let out = scratch.out();
    let entities = entities(&out);
    let files = tree(&out).unwrap();
    for (path, bytes) in &files {
        let Some(bytes) = bytes.as_ref().filter(|_| !LOCKS.contains(&&path[..])) else {
            continue;
        };
        if path == "ro-crate-metadata.json" {
            continue;
        }
        let file = entities
            .get(path)
            .unwrap_or_else(|| panic!("{path} isn't described"));
        assert_eq!(file["@type"], "File");
        assert!(file["encodingFormat"].is_string(), "{path}");
        // Its list has the digest of the crate.
        if path != "SHA256SUMS" {
            assert_eq!(file["contentSize"], bytes.len().to_string(), "{path}");
            assert_eq!(file["sha256"], sha256(bytes), "{path}");
        }
    }
    let in_lake = entities
        .iter()
        .filter(|(id, one)| one["@type"] == "File" && !id.starts_with('#'));
    for (id, _) in in_lake {
        assert!(out.join(id).is_file(), "{id} is not there");
    }
    // Every entity that is named is there.
    fn named(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| named(item, found)),
            Value::Object(fields) => {
                if let (1, Some(Value::String(id))) = (fields.len(), fields.get("@id")) {
                    found.insert(id.clone());
                }
                fields.values().for_each(|value| named(value, found));
            }
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    entities.values().for_each(|one| named(one, &mut found));
    found.remove("https://w3id.org/ro/crate/1.3");
    for id in found {
        assert!(entities.contains_key(&id), "{id} is named and isn't there");
    }
}

#[test]
fn a_crate_says_what_was_made_of_what() {
    let scratch = lake();
    let out = scratch.out();
    let entities = entities(&out);
    let (root, action) = (&entities["./"], &entities["#conversion"]);
    assert_eq!(root["datePublished"], trace().published.as_deref().unwrap());
    assert_eq!(entities["ro-crate-metadata.json"]["about"]["@id"], "./");
    let manifest = manifest(&out);
    let mut outputs = BTreeSet::new();
    let mut sources = BTreeSet::new();
    for table in manifest["tables"].as_array().unwrap() {
        let name = table["name"].as_str().unwrap();
        let parts = table["parts"].as_array().unwrap();
        let paths: BTreeSet<String> = parts
            .iter()
            .map(|part| part["output"]["path"].as_str().unwrap().to_owned())
            .collect();
        let dataset = &entities[&format!("{name}/")];
        assert_eq!(dataset["@type"], "Dataset");
        assert_eq!(ids(&dataset["hasPart"]), paths);
        assert!(ids(&root["hasPart"]).contains(&format!("{name}/")));
        outputs.extend(paths);
        for part in parts {
            outputs.extend(part["rejects"]["path"].as_str().map(str::to_owned));
            let path = part["source"]["path"].as_str().unwrap();
            let bytes = fs::read(scratch.src().join(path)).unwrap();
            let id = format!("#{}/{path}", sha256(&bytes));
            let source = &entities[&id];
            assert_eq!(source["sha256"], sha256(&bytes));
            assert_eq!(source["contentSize"], bytes.len().to_string());
            sources.insert(id);
        }
    }
    assert!(outputs.iter().any(|path| path.ends_with(".ndjson")));
    assert_eq!(ids(&action["result"]), outputs);
    assert_eq!(ids(&action["object"]), sources);
    let program = &entities[action["instrument"]["@id"].as_str().unwrap()];
    assert_eq!(program["name"], "tracelake");
    assert_eq!(program["version"], env!("CARGO_PKG_VERSION"));
    assert!(
        action["description"]
            .as_str()
            .unwrap()
            .contains("--layout hive --format parquet")
    );
}

#[test]
fn every_file_names_the_lake_by_its_digest() {
    let scratch = released(&["machine_events"]);
    let out = scratch.out();
    let digest = sha256(&fs::read(out.join("_tracelake/manifest.json")).unwrap());
    for name in FILES.iter().filter(|name| !name.ends_with(".toml")) {
        let text = fs::read_to_string(out.join(name)).unwrap();
        assert!(text.contains(&digest), "{name}");
    }
    let inspect = |arguments: &[&str]| {
        let run = run([&["inspect", out.to_str().unwrap()], arguments].concat());
        run.exits(0);
        run.stdout
    };
    assert!(inspect(&[]).contains(&format!("\ndigest: {digest}\n")));
    let inventory: Value = serde_json::from_str(&inspect(&["--json"])).unwrap();
    assert_eq!(inventory["digest"], *digest);
    let verify = |digest: &str| run(["verify", out.to_str().unwrap(), "--digest", digest]);
    verify(&digest).well();
    verify(&format!("sha256:{digest}")).well();
    let other = sha256(b"");
    let found = verify(&other);
    assert_eq!(found.code, 5);
    let says =
        format!("manifest.json: has SHA-256 {digest}, and the lake that is asked for has {other};");
    found.prints(&says);
    for none in ["", "beef", &digest.to_uppercase(), &format!("{digest}0")] {
        let refused = verify(none);
        assert_eq!(refused.code, 2, "{none}: {}", refused.stderr);
    }
    // A clustered lake has another digest.
    let clustered = scratch.path().join("clustered");
    let out = out.to_str().unwrap();
    let made = run([
        "cluster",
        out,
        clustered.to_str().unwrap(),
        "--compact",
        "--files",
        "1",
    ]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let clustered = clustered.to_str().unwrap();
    let manifest = Path::new(clustered).join("_tracelake/manifest.json");
    let own = sha256(&fs::read(manifest).unwrap());
    run(["verify", clustered, "--digest", &own]).well();
    assert_eq!(run(["verify", clustered, "--digest", &digest]).code, 5);
}

#[test]
fn a_day_is_that_of_the_trace_or_of_the_option() {
    let scratch = small(&["machine_events"]);
    let out = scratch.out();
    let refused = release(&out, &["--allow-missing", "--date", "2023-02-29"]);
    refused.refuses(2, "--date: '2023-02-29' is not a day of the calendar");
    assert_eq!(there(&out), [""; 0]);
    let days = |day: &str| {
        assert_eq!(json(&out, "croissant.json")["datePublished"], day);
        assert_eq!(entities(&out)["./"]["datePublished"], day);
        assert_eq!(json(&out, ".zenodo.json")["publication_date"], day);
        let citation = fs::read_to_string(out.join("CITATION.cff")).unwrap();
        assert!(
            citation.contains(&format!("\ndate-released: {day}\n")),
            "{citation}"
        );
        run([Path::new("verify"), &out]).well();
    };
    release(&out, &["--allow-missing"]).well();
    days(trace().published.as_deref().unwrap());
    let first = tree(&out);
    release(&out, &["--allow-missing", "--date", "2026-06-01"]).well();
    days("2026-06-01");
    release(&out, &["--allow-missing"]).well();
    assert_same_tree(&tree(&out), &first, "the day of the trace again");
}

/// A release without a day has no crate; that of an earlier release goes, unless it was edited.
#[test]
fn a_synthetic_lake_has_a_crate_on_a_day_only() {
    let scratch = Scratch::new();
    let out = scratch.out();
    convert(&committed_sample(), &out, &[]).well();
    let undated = release(&out, &[]);
    undated.well();
    undated.prints("no ro-crate-metadata.json, which needs a date: pass --date");
    let files = there(&out);
    assert!(!files.contains(&"ro-crate-metadata.json") && !files.contains(&"CITATION.cff"));
    run([Path::new("verify"), &out]).well();
    let first = tree(&out);
    release(&out, &["--date", "2026-06-01"]).well();
    run([Path::new("verify"), &out]).well();
    let entities = entities(&out);
    let root = &entities["./"];
    assert!(
        root["description"]
            .as_str()
            .unwrap()
            .starts_with("Synthetic data in the format of")
    );
    assert!(root.get("author").is_none() && root.get("isBasedOn").is_none());
    let crate_file = out.join("ro-crate-metadata.json");
    let edited = fs::read_to_string(&crate_file).unwrap() + "\n";
    let whole = fs::read(&crate_file).unwrap();
    fs::write(&crate_file, edited).unwrap();
    let says = "ro-crate-metadata.json: was changed since the release; move it away";
    release(&out, &[]).refuses(6, says);
    fs::write(&crate_file, whole).unwrap();
    release(&out, &[]).well();
    assert_same_tree(&tree(&out), &first, "without a day again");
}

/// Croissant, RO-Crate and Zenodo say of a lake what the card says.
#[test]
fn what_a_lake_lacks_is_in_every_description() {
    let scratch = Scratch::new();
    let rows = format!("bad\n{}\nworse\n", good_row("machine_events"));
    scratch.only("machine_events", rows.as_bytes());
    let select = ["--on-bad-row", "reject", "--time", "0..1"];
    scratch.convert(&select).exits(3);
    let out = scratch.out();
    release(&out, &["--allow-missing", "--allow-rejects"]).well();
    let limits = json(&out, "croissant.json")["rai:dataLimitations"].clone();
    let limits: Vec<&str> = limits
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one.as_str().unwrap())
        .collect();
    let all = limits.join("\n");
    for says in [
        "A subset of the trace, selected by `--time 0..1`.",
        "task_usage: 500 of 500 parts are missing: 0-499.",
        "2 rows did not fit their table and are not in it; `_tracelake/rejects` has them.",
    ] {
        assert!(all.contains(says), "{says} is not in {all}");
    }
    for anomaly in &trace().anomalies {
        assert!(limits.contains(&&**anomaly), "{anomaly}");
    }
    let croissant = json(&out, "croissant.json");
    assert_eq!(croissant["rai:hasSyntheticData"], false);
    let descriptions = [
        croissant["description"].clone(),
        json(&out, "datapackage.json")["description"].clone(),
        json(&out, ".zenodo.json")["description"].clone(),
        entities(&out)["./"]["description"].clone(),
        fs::read_to_string(out.join("CITATION.cff")).unwrap().into(),
        fs::read_to_string(out.join("README.md")).unwrap().into(),
    ];
    for text in descriptions {
        let text = text.as_str().unwrap();
        for says in ["This is not the whole trace.", "selected by `--time 0..1`"] {
            assert!(text.contains(says), "{says} is not in {text}");
        }
    }
}

/// The publisher of the trace made up some rows of this table.
#[test]
fn rows_of_the_publishers_making_are_synthetic() {
    let scratch = released(&["job_events"]);
    let croissant = json(&scratch.out(), "croissant.json");
    assert_eq!(croissant["rai:hasSyntheticData"], true);
    let limits = croissant["rai:dataLimitations"].to_string();
    assert!(
        limits.contains("job_events: The publisher synthesised some records"),
        "{limits}"
    );
}

#[test]
fn croissant_says_how_a_lake_was_made() {
    let scratch = released(&["machine_events"]);
    let out = scratch.out();
    let clustered = scratch.path().join("clustered");
    let paths = [&out, &clustered].map(|path| path.to_str().unwrap());
    let made = run([
        "cluster", paths[0], paths[1], "--by", "machine", "--files", "2",
    ]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    release(&clustered, &["--allow-missing"]).well();
    run([Path::new("verify"), &clustered]).well();
    let croissant = json(&clustered, "croissant.json");
    let from = croissant["prov:wasDerivedFrom"].as_array().unwrap();
    assert_eq!(from[0]["@id"], trace().url.as_deref().unwrap());
    let digest = sha256(&fs::read(out.join("_tracelake/manifest.json")).unwrap());
    assert_eq!(from[1]["identifier"], format!("sha256:{digest}"));
    let activity = &croissant["prov:wasGeneratedBy"][1];
    let commands = activity["description"].as_str().unwrap();
    assert!(
        commands.contains("tracelake convert SRC LAKE --layout hive"),
        "{commands}"
    );
    assert!(
        commands.ends_with("tracelake cluster LAKE OUT --by machine --files 2"),
        "{commands}"
    );
    assert_eq!(
        activity["prov:wasAssociatedWith"]["version"],
        env!("CARGO_PKG_VERSION")
    );
    let limits = croissant["rai:dataLimitations"].to_string();
    assert!(
        limits.contains("The rows of each machine are together"),
        "{limits}"
    );
    // The source of its files is the manifest of the other lake, which isn't its own.
    let entities = entities(&clustered);
    let objects = ids(&entities["#conversion"]["object"]);
    assert_eq!(
        objects,
        BTreeSet::from([format!("#{digest}/_tracelake/manifest.json")])
    );
    let own = sha256(&fs::read(clustered.join("_tracelake/manifest.json")).unwrap());
    assert_eq!(entities["_tracelake/manifest.json"]["sha256"], own);
}
