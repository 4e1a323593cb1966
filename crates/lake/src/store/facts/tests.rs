//! Journals as they are written and read.

#![cfg(test)]

use tracelake_core::digest::Digest;
use tracelake_core::options::Codec;
use tracelake_core::settings::Settings;
use tracelake_location::{Memory, Url};

use super::*;
use crate::manifest::{FileFacts, TableFacts};

fn origin(compression: Codec) -> Origin {
    let mut settings = Settings::default();
    settings.compression = compression;
    Origin::new("some-trace", settings)
}

fn facts(file_number: u32) -> PartFacts {
    let file = FileFacts {
        path: format!("part-{file_number}"),
        bytes: 1,
        sha256: Digest::of(b""),
    };
    PartFacts::new(file_number.into(), file.clone(), file)
}

fn journal_part(file_number: u32, etag: &str) -> JournalLine {
    let facts = facts(file_number);
    JournalLine::Part {
        table: "jobs".to_owned(),
        etags: BTreeMap::from([(facts.output.path.clone(), etag.to_owned())]),
        facts,
    }
}

fn journal(lines: &[JournalLine]) -> Vec<u8> {
    lines.iter().flat_map(|one| line(one).unwrap()).collect()
}

#[test]
fn a_journal_adds_to_what_is_known() {
    let cut = CutFacts {
        source: "x".to_owned(),
        selected: None,
        tables: BTreeMap::new(),
    };
    let lines = [
        JournalLine::Origin(origin(Codec::None)),
        journal_part(0, "a"),
        JournalLine::Cut(cut.clone()),
        journal_part(0, "b"),
        // There is one of them, at the start.
        JournalLine::Origin(origin(Codec::None)),
        journal_part(1, "c"),
    ];
    let mut bytes = journal(&lines);
    bytes.extend(b"{}\n");
    let mut progress = LakeProgress::default();
    read_journal(&mut &bytes[..], &mut progress).unwrap();
    assert_eq!(progress.origin, Some(origin(Codec::None)));
    let parts: Vec<_> = progress
        .parts
        .iter()
        .map(|(table, facts)| (&**table, facts.file_number))
        .collect();
    assert_eq!(parts, [("jobs", 0), ("jobs", 0), ("jobs", 1)]);
    assert_eq!(progress.cut, [cut]);
    let etags = [("part-0", "b"), ("part-1", "c")];
    let etags = etags.map(|(path, etag)| (path.to_owned(), etag.to_owned()));
    assert_eq!(progress.etags, BTreeMap::from(etags));
    assert_eq!((progress.damaged_lines, progress.complete), (2, false));

    // Those of another lake are skipped, those of another policy on bad rows aren't.
    let other = journal(&[
        JournalLine::Origin(origin(Codec::Snappy)),
        journal_part(2, "d"),
    ]);
    read_journal(&mut &other[..], &mut progress).unwrap();
    assert_eq!(progress.parts.len(), 3);
    let mut rejecting = origin(Codec::None);
    rejecting.options.on_bad_row = tracelake_core::options::OnBadRow::Reject;
    let same = journal(&[JournalLine::Origin(rejecting), journal_part(2, "d")]);
    read_journal(&mut &same[..], &mut progress).unwrap();
    assert_eq!((progress.parts.len(), progress.damaged_lines), (4, 2));
}

#[test]
fn a_journal_without_its_first_line_says_nothing() {
    let whole = journal(&[
        JournalLine::Origin(origin(Codec::None)),
        journal_part(0, "a"),
        journal_part(1, "b"),
    ]);
    let first = whole.iter().position(|&byte| byte == b'\n').unwrap();
    let damaged = [b"x", &whole[1..]].concat();
    let unknown = seal::line(br#"{"origin":{"options":{"layout":"heap"}}}"#.to_vec());
    let unknown = [&unknown, &whole[first + 1..]].concat();
    for (journal, damaged_lines) in [(&b""[..], 0), (&damaged, 2), (&whole[..first], 0)] {
        let mut progress = LakeProgress::default();
        read_journal(&mut &*journal, &mut progress).unwrap();
        assert!(progress.parts.is_empty() && progress.origin.is_none());
        assert_eq!(progress.damaged_lines, damaged_lines);
    }
    // As another version may write it.
    let mut progress = LakeProgress::default();
    let error = read_journal(&mut &unknown[..], &mut progress).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    progress.origin = Some(origin(Codec::None));
    read_journal(&mut &unknown[..], &mut progress).unwrap();
    assert!(progress.parts.is_empty());
}

#[test]
fn what_a_journal_notes_is_read_back() {
    let directory = tempfile::tempdir().unwrap();
    let root = Location::from(directory.path());
    let lake = Lake::open(&root).unwrap();
    let kept = facts(0);
    let begun = lake.begin(&origin(Codec::None), None, std::iter::once(("jobs", &kept)));
    let journal = begun.unwrap();
    journal.note("tasks", &facts(2), BTreeMap::new()).unwrap();
    let cut = CutFacts {
        source: "x".to_owned(),
        selected: None,
        tables: BTreeMap::from([("tasks".to_owned(), 3)]),
    };
    journal.note_cut(cut.clone()).unwrap();
    let plan = PlanFile::empty(origin(Codec::None));
    for progress in [
        lake.progress().unwrap(),
        lake.progress_of(&plan, 0).unwrap(),
        lake.progress_to_take_over().unwrap(),
    ] {
        let parts = [("jobs".into(), facts(0)), ("tasks".into(), facts(2))];
        assert_eq!(progress.parts, parts);
        assert_eq!(progress.cut, std::slice::from_ref(&cut));
        assert_eq!((progress.damaged_lines, progress.complete), (0, false));
    }
}

#[test]
fn a_plan_is_written_as_it_is() {
    let plan = PlanFile::empty(origin(Codec::None));
    let bytes = plan_bytes(&plan, &"lake".parse().unwrap()).unwrap();
    assert_eq!(PlanFile::from_json(&bytes).unwrap(), plan);
    let directory = tempfile::tempdir().unwrap();
    let lake = Lake::open(&directory.path().into()).unwrap();
    lake.put_plan(&plan).unwrap();
    assert_eq!(std::fs::read(directory.path().join(PLAN)).unwrap(), bytes);
}

#[test]
fn a_finished_lake_has_the_parts_of_its_manifest() {
    let mut table = TableFacts::new("jobs", String::new());
    table.push(facts(0));
    let manifest = Manifest::new(origin(Codec::None), vec![table]);
    let progress = LakeProgress::finished(manifest);
    assert_eq!(progress.origin, Some(origin(Codec::None)));
    assert_eq!(progress.parts, [("jobs".into(), facts(0))]);
    assert!(progress.complete && progress.plan.is_none());
}

#[test]
fn a_request_is_that_of_its_lake() {
    let requested = PlanFile::empty(origin(Codec::None));
    let directory = tempfile::tempdir().unwrap();
    let root = Location::from(directory.path());
    let lake = Lake::open(&root).unwrap();
    assert_eq!(asked(&root, &requested.origin), None);
    let begin = |asked| {
        lake.begin(&requested.origin, asked, std::iter::empty())
            .unwrap()
    };
    begin(Some(&requested));
    assert_eq!(
        progress(&root).unwrap().origin,
        Some(requested.origin.clone())
    );
    assert_eq!(asked(&root, &requested.origin), Some(requested.clone()));
    assert_eq!(asked(&root, &origin(Codec::Snappy)), None);
    std::fs::write(directory.path().join(ASKED), "{}").unwrap();
    assert_eq!(asked(&root, &requested.origin), None);
    begin(None);
    assert!(!directory.path().join(ASKED).exists());

    // No run has a bucket alone.
    let objects = [(format!("lake/{ASKED}"), requested.to_json().into())];
    let bucket = Url::of_objects("bucket", Arc::new(Memory::new(objects.into())));
    let root = Location::Url(bucket).join("lake");
    assert_eq!(asked(&root, &requested.origin), None);
}
