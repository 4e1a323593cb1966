//! Lakes that a build with another version made are gone on with. The README beside them says how they were made.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tracelake_testkit::{Scratch, assert_same_tree, convert, copy, manifest, run, tree};

/// A lake or the source of then.
fn of_then(name: &str) -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    tests.join("older").join(name)
}

/// A copy of a lake of then.
fn copied(name: &str) -> Scratch {
    let scratch = Scratch::new();
    copy(&of_then(name), &scratch.out());
    scratch
}

/// The manifest, but for who made it.
fn facts_of(lake: &Path) -> Value {
    let mut facts = manifest(lake);
    for name in ["version", "lake", "sha256"] {
        assert!(
            facts.as_object_mut().unwrap().remove(name).is_some(),
            "{name}"
        );
    }
    facts
}

/// Expects the lake that this version makes of the source of then.
#[track_caller]
fn same_as_fresh(lake: &Scratch) {
    let fresh = Scratch::new();
    convert(&of_then("source"), &fresh.out(), &[]).well();
    let data = |out: &Path| {
        let mut files = tree(out).unwrap();
        for name in ["_tracelake/lake.json", "_tracelake/manifest.json"] {
            assert!(files.remove(name).is_some(), "{name}");
        }
        Some(files)
    };
    assert_same_tree(&data(&lake.out()), &data(&fresh.out()), "the lake of then");
    assert_eq!(facts_of(&lake.out()), facts_of(&fresh.out()));
    let (out, source) = (lake.out(), of_then("source"));
    run([
        "verify",
        out.to_str().unwrap(),
        "--source",
        source.to_str().unwrap(),
    ])
    .well();
}

#[test]
fn the_lakes_are_of_another_version() {
    for name in ["finished", "unfinished"] {
        let identity = std::fs::read_to_string(of_then(name).join("_tracelake/lake.json")).unwrap();
        assert!(identity.contains("\"version\": \"0.1.1\""), "{identity}");
        assert_ne!(env!("CARGO_PKG_VERSION"), "0.1.1");
    }
}

#[test]
fn a_finished_lake_is_verified_shown_and_extended() {
    let lake = copied("finished");
    let (out, before) = (lake.out(), tree(&lake.out()));
    for command in ["verify", "inspect"] {
        let looked = run([command, out.to_str().unwrap()]);
        assert_eq!(looked.code, 0, "{}", looked.stderr);
    }
    assert_same_tree(&tree(&lake.out()), &before, "looked at");
    convert(&of_then("source"), &lake.out(), &[]).well();
    same_as_fresh(&lake);
}

/// One shard of two has worked.
#[test]
fn an_unfinished_lake_is_resumed() {
    for commands in [
        &[&["--shard", "1/2"][..]][..],
        &[&[]],
        &[&["--shard", "0/2"], &["--shard", "1/2"]],
    ] {
        let lake = copied("unfinished");
        for arguments in commands {
            convert(&of_then("source"), &lake.out(), arguments).well();
        }
        run(["commit", lake.out().to_str().unwrap()]).well();
        same_as_fresh(&lake);
    }
}
