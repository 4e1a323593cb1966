//! Plans as they are written and read, and refused ones.

#![cfg(test)]

use tracelake_core::origin::{FORMAT, Origin};

use super::*;
use crate::manifest;

impl PlanFile {
    /// A plan of no parts.
    pub(crate) fn empty(origin: Origin) -> Self {
        Self {
            origin,
            base: None,
            shards: 1,
            max_rejects: None,
            tables: Vec::new(),
            parts: Vec::new(),
            streams: Vec::new(),
            derived: Vec::new(),
        }
    }
}

/// A plan with fields that only another version knows.
fn plan(compression: &str) -> Result<PlanFile> {
    let json = r#"{
  "tool": "tracelake", "version": "9.0.0", "format": FORMAT, "trace": "some-trace", "later": [[]],
  "options": {"layout": "hive", "format": "parquet", "compression": "CODEC", "on_bad_row": "fail"},
  "shards": 4, "tables": [], "parts": [],
  "derived": [{"table": "edges", "from": "edges"}],
"#;
    let format = if compression == "later" {
        FORMAT + 1
    } else {
        FORMAT
    };
    let json = json.replace("FORMAT", &format.to_string());
    PlanFile::from_json(&seal::document(json.replace("CODEC", compression).into()))
}

#[test]
fn a_plan_of_another_version_is_refused_by_the_option() {
    let read = plan("zstd").unwrap();
    assert_eq!(PlanFile::from_json(&read.to_json()).unwrap(), read);
    let error = plan("lz4").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    let says = "not a plan: unknown compression 'lz4', expected zstd";
    assert!(error.to_string().starts_with(says), "{error}");
}

#[test]
fn a_plan_in_a_newer_format_is_refused_by_its_version() {
    let error = plan("later").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    let says = format!("tracelake 9.0.0 wrote it, in format {}", FORMAT + 1);
    assert!(error.to_string().starts_with(&says), "{error}");
}

#[test]
fn every_flip_of_a_plan_is_refused() {
    let json = plan("zstd").unwrap().to_json();
    for at in 0..json.len() {
        let mut flipped = json.clone();
        flipped[at] ^= 4;
        let error = PlanFile::from_json(&flipped).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused, "byte {at}");
    }
}

#[test]
fn a_table_that_is_derived_from_itself_has_a_shard() {
    let plan = plan("zstd").unwrap();
    assert_eq!(plan.assignment().shard_of("edges", 7.into()), Some(3));
}

#[test]
fn the_size_of_a_plan_has_a_limit() {
    check_bytes(MOST_BYTES).unwrap();
    let bytes = usize::try_from(MOST_BYTES).unwrap() + 1;
    let error = PlanFile::from_json(&vec![b' '; bytes]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    let says = format!("the plan has {bytes} bytes");
    assert!(error.to_string().starts_with(&says), "{error}");
}

/// As many parts as a manifest can have: their paths are as long as published ones.
#[test]
fn a_plan_has_room_for_the_parts_of_a_manifest() {
    let part = PlannedPart {
        table: "collection_events".to_owned(),
        cell: None,
        file_number: 123_456,
        shard: 123_456,
        source: PlannedSource {
            path: "collection_events/part-123456-of-250000.csv.gz".to_owned(),
            bytes: None,
            sha256: Some(Digest::of(b"a part")),
        },
    };
    let output = "collection_events/file_number=123456/part-123456-of-250000.parquet";
    let rejects = "_tracelake/rejects/collection_events/part-123456-of-250000.ndjson";
    let in_manifest = manifest::most_bytes([&part.source.path, output, rejects]);
    let mut plan = plan("zstd").unwrap();
    let empty = plan.to_json().len();
    plan.parts = vec![part];
    let in_plan = (plan.to_json().len() - empty) as u64;
    assert!(manifest::MOST_BYTES / in_manifest * in_plan <= MOST_BYTES);
}

#[test]
fn a_file_is_cut_into_parts_once() {
    let stream = |path: &str| PlannedStream {
        tables: Vec::new(),
        selected: None,
        shard: 0,
        source: PlannedSource {
            path: path.to_owned(),
            bytes: Some(1),
            sha256: None,
        },
    };
    let mut plan = plan("zstd").unwrap();
    for (paths, is_plan) in [(["a", "b"], true), (["a", "a"], false)] {
        plan.streams = paths.map(stream).to_vec();
        assert_eq!(PlanFile::from_json(&plan.to_json()).is_ok(), is_plan);
    }
}

#[test]
fn the_number_of_shards_has_a_limit() {
    let mut plan = plan("zstd").unwrap();
    for (shards, is_plan) in [
        (0, false),
        (1, true),
        (MOST_SHARDS, true),
        (MOST_SHARDS + 1, false),
        (u32::MAX, false),
    ] {
        plan.shards = shards;
        let read = PlanFile::from_json(&plan.to_json());
        assert_eq!(read.is_ok(), is_plan, "{shards}");
    }
    plan.shards = 4;
    let path = "a".to_owned();
    for (shard, is_plan) in [(3, true), (4, false)] {
        plan.streams = vec![PlannedStream {
            tables: Vec::new(),
            selected: None,
            shard,
            source: PlannedSource {
                path: path.clone(),
                bytes: Some(1),
                sha256: None,
            },
        }];
        let read = PlanFile::from_json(&plan.to_json());
        assert_eq!(read.is_ok(), is_plan, "shard {shard} of 4");
    }
}

fn source(path: &str, bytes: u64) -> PlannedSource {
    PlannedSource {
        path: path.to_owned(),
        bytes: Some(bytes),
        sha256: None,
    }
}

fn planned_part(table: &str, file_number: u32, shard: u32, bytes: u64) -> PlannedPart {
    PlannedPart {
        table: table.to_owned(),
        cell: None,
        file_number,
        shard,
        source: source(&format!("{table}/{file_number}"), bytes),
    }
}

/// Two parts of `jobs`, and `tasks.csv` with the tables `tasks` and `events` and two selected ranges of parts, in 4
/// shards; `edges` is derived from `jobs`, and `waits` from `tasks`.
fn whole_plan() -> PlanFile {
    let derived = |table: &str, from: &str| PlannedDerived {
        table: table.to_owned(),
        from: from.to_owned(),
    };
    let table = |name: &str| PlannedTable {
        name: name.to_owned(),
        fields: vec!["time".to_owned()],
    };
    PlanFile {
        tables: vec![table("jobs"), table("tasks"), table("events")],
        parts: vec![
            planned_part("jobs", 0, 1, 10),
            planned_part("jobs", 2, 3, 20),
        ],
        streams: vec![PlannedStream {
            tables: vec!["tasks".to_owned(), "events".to_owned()],
            selected: Some(vec![(0, 2), (5, 5)]),
            shard: 1,
            source: source("tasks.csv", 100),
        }],
        derived: vec![derived("edges", "jobs"), derived("waits", "tasks")],
        ..plan("zstd").unwrap()
    }
}

#[test]
fn the_table_of_differences() {
    let changed = |change: &dyn Fn(&mut PlanFile)| {
        let mut now = whole_plan();
        change(&mut now);
        whole_plan().difference(&now)
    };
    type Row<'a> = (&'a dyn Fn(&mut PlanFile), Option<&'a str>);
    let rows: &[Row<'_>] = &[
        (&|_| {}, None),
        // They don't decide the lake, or follow from the rest.
        (&|plan| plan.base = Some("a".repeat(64)), None),
        (&|plan| plan.max_rejects = Some(7), None),
        (&|plan| plan.parts[0].shard = 2, None),
        (&|plan| plan.streams[0].shard = 2, None),
        (&|plan| plan.shards = 1, None),
        (&|plan| plan.shards = 3, Some("shards was 4 and is now 3")),
        (
            &|plan| plan.origin.trace = "other".to_owned(),
            Some("trace was some-trace and is now other"),
        ),
        (
            &|plan| drop(plan.parts.pop()),
            Some("jobs 2 is in that plan, but not in this run"),
        ),
        (
            &|plan| plan.parts.push(planned_part("jobs", 3, 0, 1)),
            Some("jobs 3 is in this run, but not in that plan"),
        ),
        (
            &|plan| plan.parts[1].source.path = "jobs/two".to_owned(),
            Some("the file of jobs 2 was jobs/2 and is now jobs/two"),
        ),
        (
            &|plan| plan.parts[1].source.bytes = Some(21),
            Some("jobs 2 had 20 bytes and has now 21"),
        ),
        (
            &|plan| plan.streams.clear(),
            Some("tasks.csv is in that plan, but not in this run"),
        ),
        (
            &|plan| plan.streams[0].source.bytes = Some(99),
            Some("tasks.csv had 100 bytes and has now 99"),
        ),
        (
            &|plan| plan.streams[0].selected = None,
            Some("the tables, their fields, --parts or --derive changed"),
        ),
        (
            &|plan| plan.streams[0].tables.truncate(1),
            Some("the tables, their fields, --parts or --derive changed"),
        ),
        (
            &|plan| plan.tables[0].fields.clear(),
            Some("the tables, their fields, --parts or --derive changed"),
        ),
        (
            &|plan| plan.derived.clear(),
            Some("the tables, their fields, --parts or --derive changed"),
        ),
    ];
    for (row, (change, difference)) in rows.iter().enumerate() {
        assert_eq!(changed(*change).as_deref(), *difference, "row {row}");
    }
    let plain = PlanFile {
        shards: 1,
        ..whole_plan()
    };
    assert_eq!(plain.difference(&whole_plan()), None);
    // The list of a web server has digests, and a copy of its files on a disk has sizes.
    let listed = |content: &[u8]| {
        let mut plan = whole_plan();
        let source = &mut plan.parts[0].source;
        (source.bytes, source.sha256) = (None, Some(Digest::of(content)));
        plan
    };
    assert_eq!(listed(b"1").difference(&whole_plan()), None);
    assert_eq!(listed(b"1").difference(&listed(b"1")), None);
    assert_eq!(
        listed(b"1").difference(&listed(b"2")).as_deref(),
        Some("jobs 0 has another published SHA-256 than when it was planned")
    );
}

#[test]
fn each_part_has_its_shard() {
    let plan = whole_plan();
    let assignment = plan.assignment();
    for (table, number, shard) in [
        ("jobs", 0, Some(1)),
        ("jobs", 1, None),
        ("jobs", 2, Some(3)),
        ("edges", 0, Some(1)),
        ("edges", 2, Some(3)),
        // Of a part of the lake that the plan adds to.
        ("edges", 7, Some(3)),
        ("tasks", 2, Some(1)),
        ("events", 5, Some(1)),
        ("tasks", 3, None),
        ("tasks", 6, None),
        ("waits", 0, Some(1)),
        ("other", 0, None),
    ] {
        assert_eq!(
            assignment.shard_of(table, number.into()),
            shard,
            "{table} {number}"
        );
    }
    for (shard, table, number, is_for) in [
        (3, "jobs", 2, true),
        (1, "jobs", 2, false),
        (3, "jobs", 7, true),
        (2, "jobs", 7, false),
        (1, "tasks", 5, true),
        (0, "other", 0, false),
    ] {
        let found = assignment.is_for(shard, table, number.into());
        assert_eq!(found, is_for, "shard {shard}, {table} {number}");
    }
    let path = |table, number: u32| {
        let source = assignment.source_of(table, number.into());
        source.map(|source| source.path.as_str())
    };
    assert_eq!((path("jobs", 2), path("tasks", 2)), (Some("jobs/2"), None));
    assert_eq!(assignment.shard_of_stream("tasks.csv"), Some(1));
    assert_eq!(assignment.shard_of_stream("jobs/2"), None);
    assert_eq!(
        [0, 1, 3].map(|shard| plan.share(shard)),
        [(0, Some(0)), (2, Some(110)), (1, Some(20))]
    );
    assert_eq!(
        plan.with_derived("jobs").collect::<Vec<_>>(),
        ["jobs", "edges"]
    );
}

#[test]
fn ranges_select_parts() {
    let mut stream = whole_plan().streams.remove(0);
    let numbers = |stream: &PlannedStream, most| {
        let keys = stream.selected_below(most);
        keys.map(|key| key.file_number).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&stream, 9), [0, 1, 2, 5]);
    assert_eq!(numbers(&stream, 5), [0, 1, 2]);
    assert_eq!(numbers(&stream, 1), [0]);
    let selects =
        |stream: &PlannedStream, cell, file_number| stream.selects(PartKey { cell, file_number });
    let selected =
        |stream: &PlannedStream| [0, 2, 3, 5, 6].map(|number| selects(stream, None, number));
    assert_eq!(selected(&stream), [true, true, false, true, false]);
    assert!(!selects(&stream, Some("a"), 0));
    stream.selected = None;
    assert_eq!(numbers(&stream, 2), [0, 1]);
    assert_eq!(selected(&stream), [true; 5]);
    assert!(!selects(&stream, Some("a"), 0));
}

#[test]
fn a_plan_is_named_by_its_tables() {
    let mut plan = whole_plan();
    assert_eq!(
        plan.to_string(),
        "jobs (2 parts), tasks, events in 4 shards"
    );
    plan.shards = 1;
    assert_eq!(plan.to_string(), "jobs (2 parts), tasks, events");
    plan.streams.clear();
    assert_eq!(plan.to_string(), "jobs (2 parts)");
    plan.parts.clear();
    plan.streams = whole_plan().streams;
    assert_eq!(plan.to_string(), "tasks, events");
}

#[test]
fn a_part_that_was_made_from_another_file_is_found() {
    let plan = whole_plan();
    let made = |table: &str, number: u32, path: &str, bytes| {
        let file = |path: &str| manifest::FileFacts {
            path: path.to_owned(),
            bytes,
            sha256: tracelake_core::digest::Digest::of(b""),
        };
        (
            table.into(),
            PartFacts::new(number.into(), file(path), file("out")),
        )
    };
    let changed = Some(("jobs/2", "jobs"));
    for (made, expected) in [
        (vec![], None),
        (
            vec![made("jobs", 0, "jobs/0", 10), made("jobs", 2, "jobs/2", 20)],
            None,
        ),
        (vec![made("jobs", 2, "jobs/2", 21)], changed),
        (vec![made("jobs", 2, "jobs/two", 20)], changed),
        (vec![made("other", 2, "jobs/2", 21)], None),
    ] {
        assert_eq!(plan.changed_source(&made), expected, "{made:?}");
    }
}

#[test]
fn a_plan_whose_paths_lead_out_is_refused() {
    for (path, base, is_plan) in [
        ("jobs/0", None, true),
        ("jobs/0", Some("a".repeat(64)), true),
        ("../jobs/0", None, false),
        ("/jobs/0", None, false),
        ("jobs/0", Some("a".repeat(63)), false),
        ("jobs/0", Some("x".repeat(64)), false),
    ] {
        let mut plan = whole_plan();
        plan.base = base;
        path.clone_into(&mut plan.parts[0].source.path);
        assert_eq!(
            PlanFile::from_json(&plan.to_json()).is_ok(),
            is_plan,
            "{path}, {:?}",
            plan.base
        );
        let mut plan = whole_plan();
        path.clone_into(&mut plan.streams[0].source.path);
        let is_path = path == "jobs/0";
        assert_eq!(
            PlanFile::from_json(&plan.to_json()).is_ok(),
            is_path,
            "{path}"
        );
    }
}
