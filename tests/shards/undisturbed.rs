//! Runs that can't succeed leave the lake as it is.

use std::fs;

use super::{commit, shard};
use tracelake_testkit::{Scratch, rows, table, tree};

const MANIFEST: &str = "_tracelake/manifest.json";

/// A source of one part of each of these tables.
fn source(tables: &[&str]) -> Scratch {
    let scratch = Scratch::new();
    for name in tables {
        let text = rows::sample(table(name), 0, 20);
        scratch.file(&format!("{name}/part-00000-of-00001.csv"), text.as_bytes());
    }
    scratch
}

/// A shard of a lake whose source has changed, although its size is the same, leaves the lake finished.
#[test]
fn a_shard_that_finds_a_changed_source_withdraws_nothing() {
    let (jobs, machines) = ("job_events", "machine_events");
    let scratch = source(&[jobs, machines]);
    scratch.convert_well(&["--tables", jobs]);
    let finished = tree(&scratch.out());
    let path = scratch
        .src()
        .join(format!("{jobs}/part-00000-of-00001.csv"));
    let text = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.reverse();
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    let run = shard(&scratch.src(), &scratch.out(), 0, 1, &[]);
    assert_eq!(run.code, 6, "{}", run.stderr);
    let manifest = |tree: Option<std::collections::BTreeMap<String, Option<Vec<u8>>>>| {
        tree.and_then(|mut tree| tree.remove(MANIFEST))
    };
    assert_eq!(
        manifest(tree(&scratch.out())),
        manifest(finished),
        "no manifest"
    );
    // Nor does it block the run that made the lake.
    fs::write(&path, text).unwrap();
    scratch.convert_well(&["--tables", jobs]);
}

/// A manifest says nothing of parts that the shards have still to make.
#[test]
fn a_manifest_of_another_lake_doesnt_finish_shards() {
    let scratch = source(&["job_events", "machine_events"]);
    let other = source(&["job_events"]);
    other.convert_well(&[]);
    shard(&scratch.src(), &scratch.out(), 0, 2, &[]).well();
    fs::copy(other.out().join(MANIFEST), scratch.out().join(MANIFEST)).unwrap();
    commit(&scratch.out()).exits(6);
    shard(&scratch.src(), &scratch.out(), 1, 2, &[]).well();
}
