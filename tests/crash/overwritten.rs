//! `--overwrite` makes the new lake beside the old one: whatever happens, OUT has one of the two, whole.

use std::fs;
use std::path::PathBuf;

use tracelake_testkit::{Scratch, assert_same_tree, convert, copy, sha256, tree};

const MANIFEST: &str = "_tracelake/manifest.json";
const MARK: &str = "_tracelake/replaces";

/// A finished lake, and the lake that takes its place.
fn old_and_new() -> (Scratch, PathBuf) {
    let scratch = Scratch::with_sample(2, 20);
    scratch.convert_well(&[]);
    let fresh = scratch.path().join("fresh");
    convert(&scratch.src(), &fresh, NEW).well();
    (scratch, fresh)
}

/// The options of the new lake.
const NEW: &[&str] = &["--compression", "none"];

const OVERWRITE: &[&str] = &["--compression", "none", "--overwrite"];

fn beside(scratch: &Scratch, what: &str) -> PathBuf {
    scratch.path().join(format!(".out.tracelake-{what}"))
}

#[test]
fn nothing_changes_before_the_end() {
    let (scratch, fresh) = old_and_new();
    let before = tree(&scratch.out());
    let part = scratch.src().join("task_usage/part-00001-of-00002.csv.gz");
    let whole = fs::read(&part).unwrap();
    fs::write(&part, &whole[..whole.len() / 2]).unwrap();
    let run = scratch.convert(&[OVERWRITE, &["--threads", "1"]].concat());
    assert_eq!(run.code, 5, "{}", run.stderr);
    assert_same_tree(&tree(&scratch.out()), &before, "a run that failed");
    fs::write(&part, whole).unwrap();
    // The same command goes on where it stopped.
    let run = scratch.convert(&[OVERWRITE, &["--progress", "json"]].concat());
    run.well();
    run.prints("\"event\":\"kept\"");
    assert_same_tree(&tree(&scratch.out()), &tree(&fresh), "resumed");
    assert!(!beside(&scratch, "new").exists());
}

/// Killed between the exchange and the end.
#[test]
fn an_old_lake_that_was_left_beside_is_removed() {
    let (scratch, fresh) = old_and_new();
    let manifest = fs::read(scratch.out().join(MANIFEST)).unwrap();
    fs::rename(scratch.out(), beside(&scratch, "new")).unwrap();
    copy(&fresh, &scratch.out());
    fs::write(scratch.out().join(MARK), sha256(&manifest)).unwrap();
    scratch.convert_well(OVERWRITE);
    assert_same_tree(&tree(&scratch.out()), &tree(&fresh), "exchanged");
    assert!(!beside(&scratch, "new").exists());
}

/// Where directories can't be exchanged: killed between the two renames.
#[test]
fn any_run_finishes_the_rename() {
    for arguments in [NEW, OVERWRITE] {
        let (scratch, fresh) = old_and_new();
        fs::rename(scratch.out(), beside(&scratch, "old")).unwrap();
        copy(&fresh, &beside(&scratch, "new"));
        scratch.convert_well(arguments);
        assert_same_tree(&tree(&scratch.out()), &tree(&fresh), "renamed");
        assert!(!beside(&scratch, "old").exists() && !beside(&scratch, "new").exists());
    }
}

#[test]
fn a_directory_of_others_is_in_the_way() {
    let (scratch, _) = old_and_new();
    let before = tree(&scratch.out());
    let thesis = beside(&scratch, "new").join("thesis.tex");
    for mark in [None, Some("the mark of another lake")] {
        fs::create_dir_all(beside(&scratch, "new").join("_tracelake")).unwrap();
        fs::write(&thesis, "x").unwrap();
        if let Some(mark) = mark {
            fs::write(beside(&scratch, "new").join(MARK), mark).unwrap();
        }
        scratch.convert(OVERWRITE).refuses(6, "move it away");
        assert_same_tree(&tree(&scratch.out()), &before, "refused");
        assert_eq!(fs::read(&thesis).unwrap(), b"x");
    }
    // The way out.
    fs::rename(beside(&scratch, "new"), scratch.path().join("elsewhere")).unwrap();
    scratch.convert_well(OVERWRITE);
}

#[cfg(unix)]
#[test]
fn a_link_is_not_replaced() {
    let (scratch, _) = old_and_new();
    let real = scratch.path().join("real");
    fs::rename(scratch.out(), &real).unwrap();
    std::os::unix::fs::symlink(&real, scratch.out()).unwrap();
    let before = tree(&real);
    scratch
        .convert(OVERWRITE)
        .refuses(6, "name what it points to");
    assert_same_tree(&tree(&real), &before, "refused");
    convert(&scratch.src(), &real, OVERWRITE).well();
}
