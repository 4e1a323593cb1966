//! Every backend does the same.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use tracelake_location::{Memory, Url};

use super::*;

/// A lake on a disk, and one in a bucket in memory.
fn each(check: impl Fn(&dyn Backend)) {
    let directory = tempfile::tempdir().unwrap();
    let bucket = Url::of_objects("bucket", Arc::new(Memory::new(BTreeMap::new())));
    for root in [directory.path().into(), Location::Url(bucket).join("lake")] {
        let backend = backend(&root);
        backend.prepare().unwrap();
        check(&*backend);
    }
}

fn text(backend: &dyn Backend, path: &str) -> Option<String> {
    let read = backend.read(path).unwrap();
    read.map(|(bytes, _)| String::from_utf8(bytes).unwrap())
}

/// The texts of the files of these paths.
fn read_each(backend: &dyn Backend, paths: Vec<String>) -> Vec<String> {
    let mut texts = Vec::new();
    let shown = backend.read_each(paths, &mut |file| {
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        texts.push(text);
        Ok(())
    });
    shown.unwrap();
    texts
}

/// The files below these directories, sorted.
fn paths(backend: &dyn Backend, directories: &[&str]) -> Vec<String> {
    let directories: Vec<String> = directories.iter().map(|&name| name.to_owned()).collect();
    let mut paths = Vec::new();
    let listed = backend.list(&directories, &mut |listed| {
        paths.push(listed.path);
        Ok(())
    });
    listed.unwrap();
    paths.sort_unstable();
    paths
}

#[test]
fn what_is_put_if_absent_stays() {
    each(|backend| {
        let path = "_tracelake/plan.json";
        assert!(backend.put_new(path, b"one".to_vec()).unwrap());
        assert!(!backend.put_new(path, b"other".to_vec()).unwrap());
        assert_eq!(text(backend, path).unwrap(), "one");
        backend.put(path, b"other".to_vec()).unwrap();
        assert_eq!(text(backend, path).unwrap(), "other");
    });
}

#[test]
fn a_staged_file_is_visible_once_it_is_shown() {
    each(|backend| {
        let path = "jobs/file_number=0/part-00000.parquet";
        let mut dropped = backend.stage(path).unwrap();
        dropped.write_all(b"half").unwrap();
        drop(dropped);
        let mut file = backend.stage(path).unwrap();
        file.write_all(b"whole").unwrap();
        file.close().unwrap();
        assert_eq!(text(backend, path), None);
        let tag = backend.show(file).unwrap();
        assert_eq!(text(backend, path).unwrap(), "whole");
        let found = backend.look_up(vec![path.to_owned()]).unwrap();
        assert_eq!(found.into_iter().find_map(|found| found.etag), tag);
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
            backend.put(path, path.into()).unwrap();
        }
        assert_eq!(paths(backend, &["jobs"]), all[1..3]);
        let rejects = "_tracelake/rejects/jobs";
        assert_eq!(paths(backend, &["jobs", rejects]), all[..3]);
        assert!(paths(backend, &["job"]).is_empty());
        let read = read_each(backend, vec!["jobs/gone".to_owned(), all[2].to_owned()]);
        assert_eq!(read, [all[2]]);

        let gone = [all[1], "jobs/gone", all[2]].map(str::to_owned);
        backend.remove(&gone).unwrap();
        assert!(paths(backend, &["jobs"]).is_empty());
        assert_eq!(text(backend, all[3]).unwrap(), all[3]);
    });
}

#[test]
fn a_lake_is_found_once_something_is_in_it() {
    each(|backend| {
        backend.put("_tracelake/plan.json", Vec::new()).unwrap();
        assert!(backend.has_lake().unwrap());
        let names = backend.names("_tracelake").unwrap();
        assert!(names.contains(&"plan.json".to_owned()), "{names:?}");
    });
}

#[test]
fn journals_are_read_back() {
    each(|backend| {
        let journal = backend.join_in(b"head\n".to_vec()).unwrap();
        journal.note("jobs-00000.ndjson", b"one\n").unwrap();
        // A worker that was killed after it has noted this does it again.
        journal.note("jobs-00000.ndjson", b"one\n").unwrap();
        let journals = read_each(backend, backend.journals().unwrap());
        assert_eq!(journals.len(), 1);
        assert!(journals[0].starts_with("head\none\n"), "{journals:?}");
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
    let [directory, elsewhere] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let backend = backend(&directory.path().into());
    backend.prepare().unwrap();
    let staged = |path| {
        let mut file = backend.stage(path).unwrap();
        file.write_all(b"whole").unwrap();
        file
    };
    backend.show(staged("jobs/one")).unwrap();
    let jobs = directory.path().join("jobs");
    fs::remove_dir_all(&jobs).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), &jobs).unwrap();
    let error = backend.show(staged("jobs/two")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn something_else_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("thesis.tex"), "x").unwrap();
    let objects = BTreeMap::from([("lake/thesis.tex".to_owned(), "x".into())]);
    let bucket = Url::of_objects("bucket", Arc::new(Memory::new(objects)));
    for root in [directory.path().into(), Location::Url(bucket).join("lake")] {
        let error = backend(&root).prepare().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
    }
}

#[test]
fn on_a_disk_a_lock_keeps_runs_apart() {
    let directory = tempfile::tempdir().unwrap();
    let open = || backend(&Location::from(directory.path() as &Path));
    let (one, other) = (open(), open());
    one.prepare().unwrap();
    for (held, wanted, given) in [
        (Access::Alone, Access::Alone, None),
        (Access::Alone, Access::Shared, None),
        (Access::Alone, Access::Look, None),
        (Access::Shared, Access::Alone, None),
        (Access::Shared, Access::Shared, Some(Access::Shared)),
        (Access::Shared, Access::Look, Some(Access::Look)),
        (Access::Look, Access::Alone, None),
    ] {
        assert_eq!(one.lock(held).unwrap(), Some(held));
        assert_eq!(other.lock(wanted).unwrap(), given, "{held:?}, {wanted:?}");
        one.unlock().unwrap();
        other.unlock().unwrap();
    }
}

#[test]
fn in_a_bucket_every_run_shares_the_lake() {
    let bucket = Url::of_objects("bucket", Arc::new(Memory::new(BTreeMap::new())));
    let backend = backend(&Location::Url(bucket));
    assert_eq!(backend.lock(Access::Alone).unwrap(), Some(Access::Shared));
    assert_eq!(backend.agreement(), Agreement::Plan);
}
