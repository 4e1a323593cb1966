//! Lakes that are finished, released and changed again, on a disk; and what tags say in a bucket.

#![cfg(test)]

use std::fs;
use std::io::Write;
use std::sync::Arc;

use tempfile::TempDir;
use tracelake_core::digest::Digest;
use tracelake_core::origin::Origin;
use tracelake_core::seal;
use tracelake_core::settings::Settings;
use tracelake_location::{Memory, Objects, Url};
use tracelake_schema::description::intern;

use super::tests::{names, origin};
use super::*;
use crate::manifest::{PartFacts, TableFacts};
use crate::plan_file::PlanFile;

const OUTPUT: &str = "jobs/file_number=0/part-00000.parquet";
const STRAY: &str = "jobs/file_number=1/part-00001.parquet";
const STRAY_REJECTS: &str = "_tracelake/rejects/jobs/part-00001.ndjson";
const NOTES: &str = "jobs/notes.txt";

fn jobs() -> BTreeSet<&'static str> {
    BTreeSet::from(["jobs"])
}

fn commit(lake: &Lake, path: &str, bytes: &[u8]) -> Committed {
    let mut staging = lake.stage(path).unwrap();
    staging.write_all(bytes).unwrap();
    lake.commit(staging.close().unwrap()).unwrap()
}

/// The manifest of a part that is written to [`OUTPUT`].
fn manifest(lake: &Lake, origin: Origin) -> Manifest {
    let output = commit(lake, OUTPUT, b"rows").into_facts();
    let mut table = TableFacts::new("jobs", String::new());
    table.push(PartFacts::new(0.into(), output.clone(), output));
    Manifest::new(origin, vec![table])
}

/// A lake in a temporary directory.
struct OnDisk {
    directory: TempDir,
    root: Location,
    lake: Lake,
}

impl OnDisk {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = Location::from(directory.path());
        let lake = Lake::open(&root).unwrap();
        Self {
            directory,
            root,
            lake,
        }
    }

    /// A finished one, and its manifest.
    fn finished() -> (Self, Manifest) {
        let here = Self::new();
        let manifest = manifest(&here.lake, origin());
        let removed = here.lake.publish(&manifest, &jobs(), Unnamed::Refuse);
        assert_eq!(removed.unwrap(), [""; 0]);
        (here, manifest)
    }

    fn put(&self, path: &str, bytes: &[u8]) {
        let path = self.directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn has(&self, path: &str) -> bool {
        self.directory.path().join(path).exists()
    }

    /// The names in the home of the lake.
    fn home(&self) -> Vec<String> {
        let mut names = names(&self.directory.path().join(HOME));
        names.sort_unstable();
        names
    }
}

#[track_caller]
fn fails(result: Result<impl std::fmt::Debug>, kind: ErrorKind, says: &str) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(says), "{error}");
}

#[test]
fn a_lake_is_finished_by_its_manifest() {
    let here = OnDisk::new();
    let lake = &here.lake;
    let asked = PlanFile::empty(origin());
    lake.begin(&origin(), Some(&asked), std::iter::empty())
        .unwrap();
    let manifest = manifest(lake, origin());
    for path in [STRAY, STRAY_REJECTS, NOTES] {
        here.put(path, b"x");
    }
    fails(
        lake.publish(&manifest, &jobs(), Unnamed::Refuse),
        ErrorKind::Refused,
        STRAY,
    );
    fails(read_manifest(&here.root), ErrorKind::Refused, "no manifest");
    let removed = lake.publish(&manifest, &jobs(), Unnamed::Remove).unwrap();
    assert_eq!(removed, [STRAY_REJECTS, STRAY]);
    assert_eq!(read_manifest(&here.root).unwrap(), manifest);
    assert!(here.has(OUTPUT) && here.has(NOTES) && !here.has(STRAY));
    assert_eq!(here.home(), ["lock", "manifest.json"]);
}

#[test]
fn a_manifest_that_cannot_be_used_says_why() {
    let (here, manifest) = OnDisk::finished();
    here.put(MANIFEST, b"{}\n");
    fails(
        read_manifest(&here.root),
        ErrorKind::Corrupt,
        "run convert again",
    );
    // One of a later version, on a disk and in a bucket.
    let json = manifest.to_json().unwrap();
    let newer = b"{\n  \"tracelake\": 1,\n".to_vec();
    here.put(MANIFEST, &seal::document(newer.clone()));
    let elsewhere =
        "use the version of tracelake that made it, or another directory or --overwrite";
    fails(read_manifest(&here.root), ErrorKind::Refused, elsewhere);
    let bucket = Arc::new(Memory::default());
    let root = Location::Url(Url::of_objects("bucket", bucket.clone()));
    bucket.put(MANIFEST, seal::document(newer).into()).unwrap();
    fails(read_manifest(&root), ErrorKind::Refused, "or a new prefix");
    bucket.put(MANIFEST, json.into()).unwrap();
    assert_eq!(read_manifest(&root).unwrap(), manifest);
    assert_eq!(Lake::open(&root).unwrap().clear_staging().unwrap(), 0);
}

#[test]
fn a_finished_lake_is_tidied() {
    let (here, manifest) = OnDisk::finished();
    for name in [PLAN, ASKED, JOURNAL, strays::STRAYS] {
        here.put(name, b"x");
    }
    here.put("_tracelake/journal-3.ndjson", b"x");
    here.put("_tracelake/staging/5/file", b"x");
    here.lake.tidy(&manifest).unwrap();
    assert_eq!(here.home(), ["lock", "manifest.json"]);
}

#[test]
fn files_of_a_lake_are_outputs_or_foreign() {
    let (here, manifest) = OnDisk::finished();
    for path in [
        STRAY,
        STRAY_REJECTS,
        NOTES,
        "jobs/old/part-00000.parquet",
        "tasks/part-00000.parquet",
        "jobs/part-00002.csv",
    ] {
        here.put(path, b"x");
    }
    let found = files(&here.root, &jobs()).unwrap();
    assert_eq!(found, [STRAY_REJECTS, OUTPUT, STRAY]);
    let foreign = foreign_files(&here.root, &jobs()).unwrap();
    let expected = [NOTES, "jobs/old/part-00000.parquet", "jobs/part-00002.csv"];
    assert_eq!(foreign, expected);
    let removed = here.lake.remove_unnamed(&manifest, &jobs()).unwrap();
    assert_eq!(removed, [STRAY_REJECTS, STRAY]);
    assert!(here.has(OUTPUT) && here.has(NOTES) && !here.has(STRAY));
    // Those that a killed run was removing are removed again, and nothing else that the list has.
    here.put(STRAY, b"x");
    let list = [STRAY, OUTPUT, NOTES].map(|path| format!("{path}\n"));
    here.put(strays::STRAYS, list.concat().as_bytes());
    here.lake.remove_strays(&manifest, &[]).unwrap();
    assert!(!here.has(STRAY) && here.has(OUTPUT) && here.has(NOTES));
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_a_directory_is_refused() {
    for name in ["file_number=3", "cell=a"] {
        let (here, _) = OnDisk::finished();
        let link = here.directory.path().join("jobs").join(name);
        std::os::unix::fs::symlink("/tmp", link).unwrap();
        fails(
            files(&here.root, &jobs()),
            ErrorKind::Refused,
            "symbolic link",
        );
    }
}

#[test]
fn a_file_is_known_by_its_size_and_digest() {
    let here = OnDisk::new();
    let mut staging = here.lake.stage(OUTPUT).unwrap();
    staging.write_all(b"ro").unwrap();
    staging.write_all(b"ws").unwrap();
    let facts = here
        .lake
        .commit(staging.close().unwrap())
        .unwrap()
        .into_facts();
    assert_eq!((facts.path.as_str(), facts.bytes), (OUTPUT, 4));
    assert_eq!(facts.sha256, Digest::of(b"rows"));
}

#[test]
fn a_directory_goes_with_its_last_file() {
    let here = OnDisk::new();
    for path in [OUTPUT, STRAY, NOTES] {
        here.put(path, b"x");
    }
    // One that isn't there is no error.
    let paths = [STRAY, "tasks/file_number=0/part-00000.parquet", OUTPUT];
    here.lake.backend.remove(&paths.map(str::to_owned)).unwrap();
    assert_eq!(names(&here.directory.path().join("jobs")), ["notes.txt"]);
    here.lake.backend.remove(&[NOTES.to_owned()]).unwrap();
    assert_eq!(names(here.directory.path()), [HOME]);
}

#[test]
fn each_worker_has_a_journal() {
    let here = OnDisk::new();
    drop(
        here.lake
            .begin(&origin(), None, std::iter::empty())
            .unwrap(),
    );
    for _ in 0..2 {
        drop(here.lake.join_in(&origin()).unwrap());
    }
    here.put("_tracelake/journal-x.ndjson", b"not one of ours");
    here.put("_tracelake/journal-0.ndjson", b"not one of ours");
    let names = here.home();
    let journals = ["journal-1.ndjson", "journal-2.ndjson", "journal.ndjson"];
    assert!(
        journals
            .iter()
            .all(|name| names.iter().any(|it| it == name))
    );
    // They are read in this order, the first one first.
    let numbered = [1, 2].map(|number| format!("{HOME}/journal-{number}.ndjson"));
    let order = [JOURNAL, &numbered[0], &numbered[1]];
    assert_eq!(here.lake.backend.journals().unwrap(), order);
    let progress = here.lake.progress().unwrap();
    assert_eq!(progress.origin, Some(origin()));
    assert_eq!(progress.damaged_lines, 0);
}

#[test]
fn only_a_lake_is_an_existing_one() {
    let directory = tempfile::tempdir().unwrap();
    let root = Location::from(directory.path().join("lake").as_path());
    fails(
        Lake::existing(&root, Duration::ZERO),
        ErrorKind::Refused,
        "not a lake",
    );
    assert!(Lake::peek(&root).unwrap().is_none());
    fs::create_dir(directory.path().join("lake")).unwrap();
    assert!(Lake::peek(&root).unwrap().is_none());
    let thesis = directory.path().join("lake/thesis.tex");
    fs::write(&thesis, "x").unwrap();
    assert_eq!(Lake::peek(&root).unwrap_err().kind(), ErrorKind::Refused);
    fs::remove_file(&thesis).unwrap();
    let lake = Lake::open(&root).unwrap();
    assert_eq!(lake.elsewhere(), "another directory or --overwrite");
    drop(lake.stage(OUTPUT).unwrap());
    drop(lake);
    assert!(Lake::peek(&root).unwrap().is_some());
    let staged = directory.path().join("lake/_tracelake/staging/3/file");
    fs::create_dir_all(staged.parent().unwrap()).unwrap();
    fs::write(&staged, "x").unwrap();
    let lake = Lake::existing(&root, Duration::ZERO).unwrap();
    assert!(staged.exists());
    assert_eq!(lake.clear_staging().unwrap(), 1);
    assert!(!staged.exists());
}

#[test]
fn what_was_begun_is_not_given_up() {
    let here = OnDisk::new();
    let begun = here.lake.begin(&origin(), None, std::iter::empty());
    drop(begun.unwrap());
    here.lake.abandon();
    let journal = here.directory.path().join(JOURNAL);
    assert!(journal.exists());
}

/// The digests of a release, and its files.
fn release(lake: &Lake) -> (String, Vec<(&'static str, Vec<u8>)>, Digest) {
    let files: Vec<_> = RELEASE
        .iter()
        .map(|&name| (name, name.as_bytes().to_vec()))
        .collect();
    let manifest = lake.root().join(MANIFEST).read_small(1 << 20).unwrap();
    let digest = Digest::of(&manifest);
    let lines = files.iter().map(|(name, bytes)| (Digest::of(bytes), *name));
    let lines = lines.chain([(digest, MANIFEST)]);
    let sums = lines.map(|(digest, name)| sums_line(digest, name) + "\n");
    (sums.collect(), files, digest)
}

#[test]
fn a_release_is_there_whole_until_the_lake_changes() {
    let (here, manifest) = OnDisk::finished();
    let lake = &here.lake;
    assert_eq!(release_sums(&here.root).unwrap(), None);
    let (sums, files, digest) = release(lake);
    lake.put_release(&sums, &files, digest).unwrap();
    assert_eq!(release_sums(&here.root).unwrap(), Some(sums.clone()));
    assert!(RELEASE.iter().all(|name| here.has(name)));
    assert_eq!(here.home(), ["lock", "manifest.json"]);
    lake.check_release().unwrap();
    // It may be put again.
    lake.put_release(&sums, &files, digest).unwrap();

    here.put(CARD, b"mine now");
    fails(lake.check_release(), ErrorKind::Refused, "was changed");
    let published = lake.publish(&manifest, &jobs(), Unnamed::Refuse);
    fails(published, ErrorKind::Refused, "was changed");
    assert!(here.has(SUMS));
    here.put(CARD, CARD.as_bytes());
    lake.publish(&manifest, &jobs(), Unnamed::Refuse).unwrap();
    assert!(!here.has(SUMS) && !RELEASE.iter().any(|name| here.has(name)));
}

#[test]
fn a_release_of_another_manifest_or_over_other_files_is_refused() {
    let (here, _) = OnDisk::finished();
    let lake = &here.lake;
    let (sums, files, digest) = release(lake);
    let other = lake.put_release(&sums, &files, Digest::of(b"other"));
    fails(other, ErrorKind::Refused, "changed while it was released");
    assert!(!here.has(SUMS) && !here.has(CARD));
    here.put(CARD, b"mine");
    let over = lake.put_release(&sums, &files, digest);
    fails(over, ErrorKind::Refused, "is not of a release");
    let path = here.directory.path().join(CARD);
    assert_eq!(fs::read(path).unwrap(), b"mine");
    // A directory is no file of a release either.
    fs::create_dir(here.directory.path().join(SUMS)).unwrap();
    assert_eq!(release_sums(&here.root).unwrap(), None);
}

const DESCRIPTION: &str = r#"
family = "some"
licence = "CC0-1.0"
citation = "The store's tests."
[[trace]]
name = "some-of-store"
title = "Some"
document = "a letter"
[[table]]
name = "jobs"
summary = "Jobs."
files = "whole"
entity = ["job"]
[[table.column]]
name = "job"
content = "job"
kind = "integer"
format = "INTEGER"
obfuscation = "unchanged"
doc = "The job."
"#;

#[test]
fn a_lake_keeps_the_description_of_its_trace() {
    let here = OnDisk::new();
    let trace = intern(DESCRIPTION).unwrap();
    let origin = Origin::of(trace.first().unwrap(), Settings::default());
    let manifest = manifest(&here.lake, origin);
    here.lake
        .publish(&manifest, &jobs(), Unnamed::Refuse)
        .unwrap();
    assert_eq!(read_manifest(&here.root).unwrap(), manifest);
    let path = here.directory.path().join(DESCRIPTION_PATH);
    assert_eq!(fs::read_to_string(&path).unwrap(), DESCRIPTION);

    fs::write(&path, DESCRIPTION.replace("Some", "Sums")).unwrap();
    fails(read_manifest(&here.root), ErrorKind::Corrupt, "has SHA-256");
    fs::remove_file(&path).unwrap();
    fails(read_manifest(&here.root), ErrorKind::Corrupt, "is missing");
    here.lake.tidy(&manifest).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), DESCRIPTION);

    // That of an earlier lake goes when a lake of a built-in trace takes its place.
    here.lake.put_description(&tests::origin()).unwrap();
    assert!(!path.exists());

    // In a bucket, another run may be making a lake of it.
    let bucket = Arc::new(Memory::default());
    let root = Location::Url(Url::of_objects("bucket", bucket.clone()));
    let lake = Lake::open(&root).unwrap();
    bucket.put(DESCRIPTION_PATH, DESCRIPTION.into()).unwrap();
    lake.put_description(&tests::origin()).unwrap();
    assert!(bucket.objects().contains_key(DESCRIPTION_PATH));
}

#[test]
fn tags_say_which_outputs_are_untouched() {
    let bucket = Arc::new(Memory::default());
    let root = Location::Url(Url::of_objects("bucket", bucket.clone()));
    let lake = Lake::open(&root).unwrap();
    let (path, tag) = commit(&lake, OUTPUT, b"rows").etag().unwrap();
    assert_eq!(path, OUTPUT);
    commit(&lake, STRAY, b"others");
    let noted = BTreeMap::from([(path, tag), (STRAY.to_owned(), "another tag".to_owned())]);
    let untouched = BTreeMap::from([(OUTPUT.to_owned(), 4)]);
    for hints in [Hints::Listed, Hints::AskedFor] {
        assert_eq!(
            lake.untouched(&noted, hints).unwrap(),
            untouched,
            "{hints:?}"
        );
        assert!(lake.untouched(&BTreeMap::new(), hints).unwrap().is_empty());
    }
    assert!(lake.untouched(&noted, Hints::Ignored).unwrap().is_empty());
    bucket.put(OUTPUT, b"rOws".to_vec().into()).unwrap();
    assert!(lake.untouched(&noted, Hints::Listed).unwrap().is_empty());
    // A disk has no tags.
    assert_eq!(commit(&OnDisk::new().lake, OUTPUT, b"rows").etag(), None);
}
