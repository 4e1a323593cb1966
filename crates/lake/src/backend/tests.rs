//! Every backend does the same.

#![cfg(test)]

use std::fs;
use std::sync::Arc;

use object_store::memory::InMemory;
use tempfile::tempdir;
use tracelake_location::Url;

use super::*;
use crate::STAGING;

fn bucket() -> Location {
    let bucket = Url::of_store("bucket", Arc::new(InMemory::new()));
    Location::Url(bucket).join("lake")
}

/// A lake on a disk, and one in a bucket in memory.
fn each(check: impl Fn(&dyn Backend)) {
    let directory = tempdir().unwrap();
    for root in [directory.path().into(), bucket()] {
        let backend = backend(&root);
        let _held = backend.hold(Hold::Shared).unwrap();
        check(&*backend);
    }
}

fn put(backend: &dyn Backend, path: &str, bytes: &str) -> bool {
    let put = backend.put_if_absent(vec![(path.to_owned(), bytes.into())]);
    put.unwrap().pop().unwrap().unwrap()
}

fn stage(backend: &dyn Backend, path: &str, bytes: &str) -> Box<dyn Unfinished> {
    let mut file = backend.stage(path).unwrap();
    file.write_all(bytes.as_bytes()).unwrap();
    file.close().unwrap();
    file
}

fn show(backend: &dyn Backend, path: &str, bytes: &str) {
    backend
        .show(vec![stage(backend, path, bytes)])
        .unwrap()
        .pop()
        .unwrap()
        .unwrap();
}

fn text(backend: &dyn Backend, path: &str) -> Option<String> {
    let found = backend.get(path, 100).unwrap()?;
    Some(String::from_utf8(found.bytes).unwrap())
}

/// The files below a directory, sorted.
fn paths(backend: &dyn Backend, directory: &str) -> Vec<String> {
    let listed = backend.list(directory).unwrap().into_iter();
    let mut paths: Vec<String> = listed.map(|file| file.path).collect();
    paths.sort_unstable();
    paths
}

#[test]
fn what_is_put_if_absent_stays() {
    each(|backend| {
        let path = "_tracelake/facts/jobs/00000.json";
        assert!(put(backend, path, "one"));
        assert!(!put(backend, path, "other"));
        assert_eq!(text(backend, path).unwrap(), "one");
        let other = "_tracelake/facts/jobs/00001.json";
        let both = [path, other].map(|path| (path.to_owned(), b"two".to_vec()));
        let answers = backend.put_if_absent(both.into()).unwrap();
        assert_eq!(
            answers.into_iter().map(Result::unwrap).collect::<Vec<_>>(),
            [false, true]
        );
        assert_eq!(text(backend, other).unwrap(), "two");
        let read = backend
            .get_all(&[other, "gone", path].map(str::to_owned), 100)
            .unwrap();
        assert_eq!(read, [Some(b"two".to_vec()), None, Some(b"one".to_vec())]);
    });
}

#[test]
fn a_swap_replaces_what_was_read_and_nothing_else() {
    each(|backend| {
        let path = "_tracelake/manifest.json";
        let swap =
            |version: &Version, bytes: &str| backend.swap(path, version, bytes.into()).unwrap();
        assert!(!swap(&Version::of_nothing(), "none"));
        assert_eq!(text(backend, path), None);
        assert!(put(backend, path, "one"));
        let one = backend.get(path, 100).unwrap().unwrap();
        assert_eq!(one.version.sha256, Digest::of(b"one"));
        assert!(swap(&one.version, "two"));
        assert!(!swap(&one.version, "three"));
        assert_eq!(text(backend, path).unwrap(), "two");
    });
}

#[test]
fn a_staged_file_is_visible_once_it_is_shown() {
    each(|backend| {
        let path = "jobs/file_number=0/part-00000.parquet";
        let mut dropped = backend.stage(path).unwrap();
        dropped.write_all(b"half").unwrap();
        drop(dropped);
        let mut file = stage(backend, path, "whole");
        file.set_aside().unwrap();
        assert_eq!(text(backend, path), None);
        assert!(paths(backend, "jobs").is_empty());
        backend.show(vec![file]).unwrap().pop().unwrap().unwrap();
        assert_eq!(text(backend, path).unwrap(), "whole");
        let found = backend
            .look_up(&["jobs/gone", path].map(str::to_owned))
            .unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|file| (&file.path[..], file.bytes))
            .collect();
        assert_eq!(found, [(path, 5)]);
        show(backend, path, "anew");
        assert_eq!(text(backend, path).unwrap(), "anew");
        assert!(paths(backend, STAGING).is_empty());
    });
}

#[test]
fn files_are_listed_and_removed() {
    each(|backend| {
        let all = [
            "_tracelake/rejects/jobs/part-00001.ndjson",
            "jobs/cell=a/part-00000.parquet",
            "jobs/part-00001.parquet",
            "tasks/part-00000.parquet",
        ];
        for path in all {
            show(backend, path, path);
        }
        assert_eq!(paths(backend, "jobs"), all[1..3]);
        assert_eq!(paths(backend, "_tracelake/rejects/jobs"), all[..1]);
        assert!(paths(backend, "job").is_empty());
        let gone = [all[1], "jobs/gone", all[2]].map(str::to_owned);
        backend.remove(&gone).unwrap();
        assert!(paths(backend, "jobs").is_empty());
        assert_eq!(text(backend, all[3]).unwrap(), all[3]);
        if let Location::Disk(root) = backend.root() {
            assert!(
                !root.join("jobs").exists(),
                "a directory goes with its last file"
            );
        }
    });
}

#[test]
fn what_is_larger_than_its_limit_is_refused() {
    each(|backend| {
        put(backend, "_tracelake/lake.json", "ten bytes.");
        assert!(backend.get("_tracelake/lake.json", 10).unwrap().is_some());
        let error = backend.get("_tracelake/lake.json", 9).unwrap_err();
        assert!(error.to_string().contains("9 bytes"), "{error}");
    });
}

#[test]
fn nothing_leads_out() {
    each(|backend| {
        for path in ["../x", "/etc/passwd", "a/../../x"] {
            assert_eq!(backend.inside(path).unwrap_err().kind(), ErrorKind::Refused);
        }
        let place = backend.inside("jobs/part-00000.parquet").unwrap();
        assert_eq!(place.name(), Some("part-00000.parquet"));
    });
}

#[cfg(unix)]
#[test]
fn on_a_disk_a_directory_that_became_a_link_is_refused() {
    let [directory, elsewhere] = [(); 2].map(|()| tempdir().unwrap());
    let backend = backend(&directory.path().into());
    let _held = backend.hold(Hold::Shared).unwrap();
    show(&*backend, "jobs/one", "whole");
    let jobs = directory.path().join("jobs");
    fs::remove_dir_all(&jobs).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), &jobs).unwrap();
    let file = stage(&*backend, "jobs/two", "whole");
    let shown = backend.show(vec![file]);
    let error = shown
        .and_then(|mut shown| shown.pop().unwrap())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn on_a_disk_a_process_has_the_lake_alone_or_with_others() {
    let directory = tempdir().unwrap();
    let open = || backend(&Location::from(directory.path()));
    let (one, other) = (open(), open());
    for (held, wanted, is_given) in [
        (Hold::Alone, Hold::Alone, false),
        (Hold::Alone, Hold::Shared, false),
        (Hold::Shared, Hold::Alone, false),
        (Hold::Shared, Hold::Shared, true),
    ] {
        let mut first = one.hold(held).unwrap().unwrap();
        let second = other.hold(wanted).unwrap();
        assert_eq!(second.is_some(), is_given, "{held:?}, {wanted:?}");
        let mut was_alone = false;
        first
            .if_alone(&mut || {
                was_alone = true;
                Ok(())
            })
            .unwrap();
        assert_eq!(was_alone, !is_given, "{held:?}, {wanted:?}");
    }
    // Every lock was given up.
    assert!(one.hold(Hold::Alone).unwrap().is_some());
}

#[test]
fn in_a_bucket_everybody_has_the_lake() {
    let backend = backend(&bucket());
    let _first = backend.hold(Hold::Shared).unwrap().unwrap();
    assert!(backend.hold(Hold::Shared).unwrap().is_some());
}

#[test]
fn what_others_have_staged_is_cleared() {
    let directory = tempdir().unwrap();
    let [one, other] = [(); 2].map(|()| backend(&Location::from(directory.path())));
    let _held = one.hold(Hold::Shared).unwrap();
    let staged = stage(&*other, "jobs/one", "half");
    assert_eq!(paths(&*one, STAGING).len(), 1);
    assert_eq!(one.clear_staging(false).unwrap(), 0);
    assert_eq!(one.clear_staging(true).unwrap(), 1);
    assert!(paths(&*one, STAGING).is_empty());
    drop(staged);
}
