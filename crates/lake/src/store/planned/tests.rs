//! The steps of runs that share a lake, on a bucket in memory.

#![cfg(test)]

use bytes::Bytes;
use tracelake_core::digest::Digest;
use tracelake_core::origin::Origin;
use tracelake_core::settings::Settings;
use tracelake_location::{Listed, Memory, Objects, Url};

use super::*;
use crate::manifest::{FileFacts, TableFacts};
use crate::plan_file::{PlannedDerived, PlannedPart, PlannedSource, PlannedStream};

/// A lake in a bucket, with what is in the bucket.
struct Shared {
    bucket: Arc<Memory>,
    lake: Lake,
}

impl Shared {
    fn new() -> Self {
        let bucket = Arc::new(Memory::default());
        let root = Location::Url(Url::of_objects("bucket", bucket.clone()));
        let lake = Lake::open(&root).unwrap();
        Self { bucket, lake }
    }

    fn put(&self, path: &str, bytes: Vec<u8>) {
        self.bucket.put(path, bytes.into()).unwrap();
    }

    fn text(&self, path: &str) -> Option<Bytes> {
        self.bucket.objects().get(path).cloned()
    }

    fn paths(&self) -> Vec<String> {
        self.bucket.objects().keys().cloned().collect()
    }

    /// Puts this plan and works by it.
    fn work_by(&self, plan: &PlanFile) {
        let json = plan.to_json();
        self.put(PLAN, json.clone());
        self.lake.work_by(&sha256(&json), plan, None);
    }

    fn state(&self) -> LakeState {
        self.lake.state().unwrap()
    }
}

fn origin() -> Origin {
    Origin::new("some-trace", Settings::default())
}

fn plan(base: Option<&Manifest>) -> PlanFile {
    PlanFile {
        base: base.map(digest),
        ..PlanFile::empty(origin())
    }
}

fn other_plan() -> PlanFile {
    PlanFile {
        shards: 2,
        ..plan(None)
    }
}

fn part(file_number: u32) -> PartFacts {
    let file = |path: String| FileFacts {
        path,
        bytes: 1,
        sha256: Digest::of(b""),
    };
    let (source, output) = (format!("{file_number}.csv"), format!("jobs/{file_number}"));
    PartFacts::new(file_number.into(), file(source), file(output))
}

fn manifest(parts: &[u32]) -> Manifest {
    let mut table = TableFacts::new("jobs", String::new());
    parts.iter().for_each(|number| table.push(part(*number)));
    Manifest::new(origin(), vec![table])
}

fn digest(manifest: &Manifest) -> String {
    sha256(&manifest.to_json().unwrap())
}

fn refused(result: Result<impl std::fmt::Debug>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    error.to_string()
}

#[test]
fn facts_have_names_of_their_own() {
    assert_eq!(facts_name("jobs", 7.into()), "jobs-00007.ndjson");
    let key = PartKey {
        cell: Some("a"),
        file_number: 7,
    };
    assert_eq!(facts_name("jobs", key), "jobs-a-00007.ndjson");
    let cut = cut_name("jobs.csv");
    assert!(cut.starts_with("cut-") && cut.ends_with(".ndjson") && cut.len() == 27);
    assert_ne!(cut, cut_name("tasks.csv"));
}

#[test]
fn one_plan_is_put() {
    let shared = Shared::new();
    let (one, other) = (plan(None).to_json(), other_plan().to_json());
    assert!(shared.lake.put_new_plan(one.clone()).unwrap());
    assert!(!shared.lake.put_new_plan(other.clone()).unwrap());
    assert_eq!(shared.text(PLAN).unwrap(), one);
    shared.lake.remove_plan().unwrap();
    assert!(shared.lake.put_new_plan(other).unwrap());
}

#[test]
fn damaged_facts_are_replaced() {
    let shared = Shared::new();
    let journal = shared.lake.join_in(&origin()).unwrap();
    let note = || journal.note("jobs", &part(7), Default::default()).unwrap();
    note();
    let path = facts_path(&facts_name("jobs", 7.into()));
    let whole = shared.text(&path).unwrap();
    shared.put(&path, b"damaged".to_vec());
    note();
    assert_eq!(shared.text(&path).unwrap(), whole);
}

#[test]
fn a_plan_keeps_a_copy_of_the_manifest_that_it_adds_to() {
    let shared = Shared::new();
    let manifest = manifest(&[0, 1]);
    shared.put(MANIFEST, manifest.to_json().unwrap());
    let found = shared.state().manifest.unwrap();
    shared.lake.put_base(&found).unwrap();
    let copy = shared.text(&base_name(&digest(&manifest))).unwrap();
    assert_eq!(copy, manifest.to_json().unwrap());
}

/// A store that replaces what it was asked to keep.
#[derive(Debug, Default)]
struct Replacing(Memory);

impl Objects for Replacing {
    fn read(&self, path: &str) -> Result<Option<(Bytes, String)>> {
        self.0.read(path)
    }

    fn version(&self, path: &str) -> Result<Option<(u64, String)>> {
        self.0.version(path)
    }

    fn list(&self, prefix: &str) -> Result<Vec<Listed>> {
        self.0.list(prefix)
    }

    fn put(&self, path: &str, bytes: Bytes) -> Result<String> {
        self.0.put(path, bytes)
    }

    fn put_new(&self, path: &str, bytes: Bytes) -> Result<bool> {
        self.0.put(path, bytes).map(|_| true)
    }

    fn remove(&self, paths: &[&str]) -> Result<()> {
        self.0.remove(paths)
    }
}

#[test]
fn a_store_that_ignores_conditions_is_refused() {
    let bucket = Arc::new(Replacing::default());
    let root = Location::Url(Url::of_objects("bucket", bucket.clone()));
    let lake = Lake::open(&root).unwrap();
    let error = lake.put_new_plan(plan(None).to_json()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Failed);
    assert!(bucket.0.objects().is_empty());
}

#[test]
fn a_run_notices_that_its_plan_is_gone() {
    let shared = Shared::new();
    shared.lake.check_plan().unwrap();
    assert!(!shared.lake.works_by_plan().unwrap());
    shared.work_by(&plan(None));
    for _ in 0..2 {
        shared.lake.check_plan().unwrap();
        assert!(shared.lake.works_by_plan().unwrap());
    }
    shared.put(PLAN, other_plan().to_json());
    let says = refused(shared.lake.check_plan());
    assert!(
        says.contains("has taken over this lake, by its own plan"),
        "{says}"
    );
    shared.lake.remove_plan().unwrap();
    let says = refused(shared.lake.check_plan());
    assert!(
        says.contains("has finished this lake, or taken it over"),
        "{says}"
    );
    assert!(!shared.lake.works_by_plan().unwrap());
}

#[test]
fn the_copy_of_a_withdrawn_manifest_is_found() {
    let shared = Shared::new();
    assert_eq!(shared.lake.orphaned_base().unwrap(), None);
    shared.put("_tracelake/base-.txt", Vec::new());
    shared.put("_tracelake/other.json", Vec::new());
    assert_eq!(shared.lake.orphaned_base().unwrap(), None);
    shared.put("_tracelake/base-aa.json", Vec::new());
    assert_eq!(shared.lake.orphaned_base().unwrap().unwrap(), "aa");
    shared.put("_tracelake/base-bb.json", Vec::new());
    refused(shared.lake.orphaned_base());
}

#[test]
fn a_manifest_is_withdrawn_by_the_plan_that_adds_to_it() {
    let (before, shared) = (manifest(&[0]), Shared::new());
    let json = before.to_json().unwrap();
    shared.put(MANIFEST, json.clone());
    shared.work_by(&plan(Some(&before)));
    let state = shared.state();
    assert!(state.finished().is_none());
    let found = state.manifest.unwrap();
    assert_eq!(
        shared.lake.withdraw_manifest(&found).unwrap(),
        Withdrawal::Done
    );
    let base = base_name(&digest(&before));
    assert_eq!(shared.paths(), [base.as_str(), PLAN]);
    assert_eq!(shared.text(&base).unwrap(), json);
    let parts = base_parts(&*shared.lake.backend, &plan(Some(&before))).unwrap();
    assert_eq!(parts, [("jobs".into(), part(0))]);
    // The copy is put again as long as the plan is there, and the manifest itself once it is gone.
    shared.bucket.remove(&[&base]).unwrap();
    assert_eq!(shared.lake.put_back().unwrap(), Withdrawal::Done);
    assert_eq!(shared.paths(), [base.as_str(), PLAN]);
    shared.put(PLAN, other_plan().to_json());
    assert_eq!(shared.lake.put_back().unwrap(), Withdrawal::PlanIsGone);
    assert_eq!(shared.text(MANIFEST).unwrap(), json);
    refused(shared.lake.withdraw_manifest(&found));
    assert_eq!(shared.text(MANIFEST).unwrap(), json);
}

#[test]
fn an_unfinished_lake_has_the_parts_of_its_base_and_of_its_facts() {
    let (before, shared) = (manifest(&[0]), Shared::new());
    shared.put(&base_name(&digest(&before)), before.to_json().unwrap());
    let adding = plan(Some(&before)).to_json();
    shared.put(PLAN, adding.clone());
    let journal = shared.lake.join_in(&origin()).unwrap();
    let etags = [("jobs/1".to_owned(), "1".to_owned())];
    journal
        .note("jobs", &part(1), etags.clone().into())
        .unwrap();
    let progress = shared.lake.progress().unwrap();
    assert_eq!(progress.origin, Some(origin()));
    let both = [0, 1].map(|number| ("jobs".into(), part(number)));
    assert_eq!((progress.parts, progress.complete), (both.to_vec(), false));
    assert_eq!(progress.plan_digest, Some(sha256(&adding)));
    assert_eq!(progress.plan, Some(plan(Some(&before))));
    assert_eq!(progress.etags, etags.into());

    // Facts beside the manifest are left over.
    shared.put(MANIFEST, manifest(&[0]).to_json().unwrap());
    shared.lake.remove_plan().unwrap();
    let progress = shared.lake.progress().unwrap();
    assert_eq!(
        (progress.parts, progress.complete),
        (both[..1].to_vec(), true)
    );
}

#[test]
fn a_plan_without_the_manifest_that_it_adds_to_is_refused() {
    let (before, shared) = (manifest(&[0]), Shared::new());
    let backend = &*shared.lake.backend;
    assert!(base_parts(backend, &plan(None)).unwrap().is_empty());
    let adding = plan(Some(&before));
    refused(base_parts(backend, &adding));
    shared.put(&base_name(&digest(&before)), b"damaged".to_vec());
    refused(base_parts(backend, &adding));
}

#[test]
fn a_manifest_is_put_where_it_may_be() {
    let (one, other) = (manifest(&[0]), manifest(&[0, 1]));
    // The manifest in the lake, what the plan adds to, whether the other manifest is put.
    for (found, base, is_put) in [
        (None, None, true),
        (None, Some(&one), true),
        (Some(&one), Some(&one), true),
        (Some(&one), None, false),
        (Some(&other), None, true),
        (Some(&other), Some(&one), true),
    ] {
        let shared = Shared::new();
        if let Some(found) = found {
            shared.put(MANIFEST, found.to_json().unwrap());
        }
        shared.work_by(&plan(base));
        let put = shared.lake.put_manifest_beside_others(&other);
        let left = match is_put {
            true => {
                put.unwrap();
                &other
            }
            false => {
                refused(put);
                &one
            }
        };
        assert_eq!(shared.text(MANIFEST).unwrap(), left.to_json().unwrap());
    }
    let shared = Shared::new();
    shared.work_by(&plan(None));
    shared.lake.remove_plan().unwrap();
    refused(shared.lake.put_manifest_beside_others(&other));
    assert!(shared.paths().is_empty());
}

#[test]
fn a_finished_lake_loses_its_facts_and_its_plan() {
    let (before, now) = (manifest(&[0]), manifest(&[0, 1]));
    let base = base_name(&digest(&before));
    let foreign = facts_path(&facts_name("jobs", 9.into()));
    let shared = Shared::new();
    for path in [&base, &foreign, &facts_path(&facts_name("jobs", 1.into()))] {
        shared.put(path, Vec::new());
    }
    shared.put(&facts_path(&cut_name("0.csv")), Vec::new());
    shared.put(DESCRIPTION_PATH, Vec::new());
    shared.work_by(&plan(Some(&before)));
    shared.put(MANIFEST, now.to_json().unwrap());
    shared.lake.remove_facts_beside_others(&now).unwrap();
    assert_eq!(shared.paths(), [foreign.as_str(), MANIFEST]);

    // The plan of others stays with the copy that it adds to, but that of a lake that is settled goes.
    let shared = Shared::new();
    let (own, old) = (base_name(&digest(&now)), base_name("old"));
    for path in [&own, &old] {
        shared.put(path, Vec::new());
    }
    shared.put(MANIFEST, now.to_json().unwrap());
    shared.put(PLAN, plan(Some(&now)).to_json());
    shared.lake.remove_facts_beside_others(&now).unwrap();
    let mut all = vec![own.as_str(), old.as_str(), MANIFEST, PLAN];
    all.sort_unstable();
    assert_eq!(shared.paths(), all);
    shared.lake.remove_plan().unwrap();
    shared.lake.remove_facts_beside_others(&now).unwrap();
    assert_eq!(shared.paths(), [own.as_str(), MANIFEST]);
}

#[test]
fn a_shard_reads_the_facts_of_its_own_parts() {
    let source = |path: &str| PlannedSource {
        path: path.to_owned(),
        bytes: Some(1),
        sha256: None,
    };
    let planned = |file_number, shard| PlannedPart {
        table: "jobs".to_owned(),
        cell: None,
        file_number,
        shard,
        source: source("jobs"),
    };
    let plan = PlanFile {
        shards: 2,
        parts: vec![planned(0, 0), planned(1, 1), planned(2, 0)],
        streams: vec![PlannedStream {
            tables: vec!["tasks".to_owned()],
            selected: None,
            shard: 1,
            source: source("tasks.csv"),
        }],
        derived: vec![PlannedDerived {
            table: "edges".to_owned(),
            from: "jobs".to_owned(),
        }],
        ..plan(None)
    };
    let shared = Shared::new();
    let tasks = (0..9)
        .filter(|number| *number != 7)
        .map(|number| facts_name("tasks", number.into()));
    let others = [
        ("jobs", 0),
        ("jobs", 1),
        ("edges", 0),
        ("edges", 1),
        ("edges", 5),
    ];
    let others = others.map(|(table, number): (_, u32)| facts_name(table, number.into()));
    for name in tasks.chain(others).chain([cut_name("tasks.csv")]) {
        shared.put(&facts_path(&name), name.clone().into());
    }
    let read = |shard, base: &[_]| {
        let mut names = Vec::new();
        let journals = journals_of(&*shared.lake.backend, &plan, shard, base, &mut |journal| {
            let mut name = String::new();
            journal.read_to_string(&mut name).unwrap();
            names.push(name);
            Ok(())
        });
        journals.unwrap();
        names
    };
    let names = |names: &[(&str, u32)]| -> Vec<String> {
        names
            .iter()
            .map(|(table, number)| facts_name(table, (*number).into()))
            .collect()
    };
    assert_eq!(read(0, &[]), names(&[("edges", 0), ("jobs", 0)]));
    let of_shard = read(1, &[("jobs".into(), part(5))]);
    let (known, cut_into) = of_shard.split_at(4);
    let mut expected = names(&[("edges", 1), ("edges", 5), ("jobs", 1)]);
    expected.push(cut_name("tasks.csv"));
    expected.sort_unstable();
    assert_eq!(known, expected);
    // One, two, four: the last ones weren't all there, so none is asked for after them.
    assert!(cut_into.len() >= 7, "{cut_into:?}");
    assert!(cut_into.iter().all(|name| name.starts_with("tasks-")));
}

#[test]
fn a_lake_is_finished_unless_its_manifest_is_about_to_be_replaced() {
    let (now, shared) = (manifest(&[0]), Shared::new());
    assert!(shared.state().finished().is_none());
    shared.put(MANIFEST, now.to_json().unwrap());
    assert_eq!(shared.state().finished().unwrap().digest, digest(&now));
    for (base, is_finished) in [
        (None, true),
        (Some(&now), false),
        (Some(&manifest(&[1])), true),
    ] {
        shared.put(PLAN, plan(base).to_json());
        assert_eq!(shared.state().finished().is_some(), is_finished, "{base:?}");
    }
    shared.put(PLAN, b"damaged".to_vec());
    assert!(shared.state().finished().is_some());
    assert!(shared.state().plan.unwrap().content.is_err());
    assert_eq!(shared.state().manifest.unwrap().content.unwrap(), now);
}
