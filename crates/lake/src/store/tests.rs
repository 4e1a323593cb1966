use std::fs;
use std::io::Write;
use std::path::Path;

use tracelake_core::origin::Origin;
use tracelake_core::settings::Settings;

use super::*;
use crate::manifest::PartFacts;

pub(super) fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

pub(super) fn origin() -> Origin {
    Origin::new("some-trace", Settings::default())
}

fn commit(lake: &Lake, path: &str, bytes: &[u8]) -> PartFacts {
    let mut staging = lake.stage(path).unwrap();
    staging.write_all(bytes).unwrap();
    let output = lake.commit(staging.close().unwrap()).unwrap().into_facts();
    PartFacts::new(0.into(), output.clone(), output)
}

#[test]
fn a_file_appears_whole_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("a/lake");
    let lake = Lake::open(&(&root).into()).unwrap();
    let path = "jobs/file_number=0/part-0.parquet";
    let mut staging = lake.stage(path).unwrap();
    staging.write_all(b"half").unwrap();
    assert!(!root.join(path).exists());
    drop(staging);
    assert!(names(&root.join("_tracelake/staging/0")).is_empty());
    commit(&lake, path, b"whole");
    assert_eq!(fs::read(root.join(path)).unwrap(), b"whole");
}

#[test]
fn giving_up_leaves_out_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("new/lake");
    let lake = Lake::open(&(&root).into()).unwrap();
    drop(lake.stage("jobs/part-0.parquet").unwrap());
    lake.abandon();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn one_run_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let lake = Lake::open(&directory.path().into()).unwrap();
    let error = Lake::open(&directory.path().into()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    drop(lake);
    Lake::open(&directory.path().into()).unwrap();
}

#[test]
fn workers_share_a_lake_that_was_prepared() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("lake");
    let mut first = Lake::join(&(&root).into()).unwrap();
    assert!(first.is_alone());
    first.share().unwrap();
    let second = Lake::join(&(&root).into()).unwrap();
    assert!(!first.is_alone() && !second.is_alone());
    assert_eq!(
        Lake::open(&(&root).into()).unwrap_err().kind(),
        ErrorKind::Refused
    );
    // Each stages its files in its own directory, and leaves the other's alone.
    let path = "jobs/part-0.parquet";
    let (one, other) = (first.stage(path).unwrap(), second.stage(path).unwrap());
    drop((one, other));
    first.leave();
    assert_eq!(names(&root.join("_tracelake/staging")), ["1"]);
    second.leave();
    assert_eq!(names(&root.join("_tracelake")), ["lock"]);
    assert!(Lake::join(&(&root).into()).unwrap().is_alone());
}

#[test]
fn something_else_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("thesis.tex"), "x").unwrap();
    let error = Lake::open(&directory.path().into()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert_eq!(names(directory.path()), ["thesis.tex"]);
}

#[test]
fn a_torn_journal_is_believed_up_to_the_tear() {
    let directory = tempfile::tempdir().unwrap();
    let lake = Lake::open(&directory.path().into()).unwrap();
    let facts = commit(&lake, "jobs/part-0.parquet", b"x");
    let journal = lake.begin(&origin(), None, std::iter::empty()).unwrap();
    journal.note("jobs", &facts, BTreeMap::new()).unwrap();
    journal.note("jobs", &facts, BTreeMap::new()).unwrap();
    let path = directory.path().join("_tracelake/journal.ndjson");
    let whole = fs::read(&path).unwrap();
    for (length, parts) in [(whole.len(), 2), (whole.len() - 1, 1), (40, 0), (0, 0)] {
        fs::write(&path, &whole[..length]).unwrap();
        let progress = lake.progress().unwrap();
        assert_eq!((progress.parts.len(), progress.complete), (parts, false));
    }
}

#[test]
fn nothing_leads_out_of_the_lake() {
    let directory = tempfile::tempdir().unwrap();
    for path in ["../x", "/etc/passwd", "a/../../x"] {
        assert!(inside(&directory.path().into(), path).is_err(), "{path}");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/tmp", directory.path().join("jobs")).unwrap();
        assert!(inside(&directory.path().into(), "jobs/part-0.parquet").is_err());
    }
}
