//! Plans as they are written and read, and refused ones.

#![cfg(test)]

use tracelake_core::origin::FORMAT;

use super::*;
use crate::manifest;

/// A plan of no parts in 4 shards.
fn plan() -> PlanFile {
    let derived = PlannedDerived {
        table: "edges".to_owned(),
        from: "edges".to_owned(),
    };
    PlanFile {
        derived: vec![derived],
        ..PlanFile::new(4, Vec::new())
    }
}

/// A plan as another version may write it.
fn written(format: u32) -> Result<PlanFile> {
    let json = format!(
        "{{\n  \"format\": {format}, \"later\": [[]], \"shards\": 4, \"tables\": [], \"parts\": [],\n"
    );
    PlanFile::from_json(&seal::document(json.into()))
}

fn json(plan: &PlanFile) -> Vec<u8> {
    plan.to_json().unwrap()
}

#[test]
fn a_plan_of_another_version_is_read_if_its_format_is_known() {
    assert_eq!(written(FORMAT).unwrap(), PlanFile::new(4, Vec::new()));
    for format in [FORMAT + 1, FORMAT - 1] {
        let error = written(format).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        let says = format!("in format {format}; this program reads {FORMAT}");
        assert!(error.to_string().contains(&says), "{error}");
    }
    assert_eq!(PlanFile::from_json(&json(&plan())).unwrap(), plan());
}

#[test]
fn every_flip_of_a_plan_is_refused() {
    let json = json(&plan());
    for at in 0..json.len() {
        let mut flipped = json.clone();
        flipped[at] ^= 4;
        let error = PlanFile::from_json(&flipped).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused, "byte {at}");
    }
}

#[test]
fn a_table_that_is_derived_from_itself_has_a_shard() {
    let plan = plan();
    assert_eq!(plan.assignment().shard_of("edges", 7.into()), Some(3));
}

#[test]
fn the_size_of_a_plan_has_a_limit() {
    check_bytes(MOST_BYTES).unwrap();
    let error = check_bytes(MOST_BYTES + 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
}

/// The plan has as many parts as a manifest can have, with paths as long as published ones.
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
    let mut plan = plan();
    let empty = json(&plan).len();
    plan.parts = vec![part];
    let in_plan = (json(&plan).len() - empty) as u64;
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
    let mut plan = plan();
    for (paths, is_plan) in [(["a", "b"], true), (["a", "a"], false)] {
        plan.streams = paths.map(stream).to_vec();
        assert_eq!(PlanFile::from_json(&json(&plan)).is_ok(), is_plan);
    }
}

#[test]
fn the_number_of_shards_has_a_limit() {
    let mut plan = plan();
    for (shards, is_plan) in [
        (0, false),
        (1, true),
        (MOST_SHARDS, true),
        (MOST_SHARDS + 1, false),
        (u32::MAX, false),
    ] {
        plan.shards = shards;
        let read = PlanFile::from_json(&json(&plan));
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
        let read = PlanFile::from_json(&json(&plan));
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
        ..plan()
    }
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
fn a_plan_whose_paths_lead_out_is_refused() {
    for (path, is_plan) in [("jobs/0", true), ("../jobs/0", false), ("/jobs/0", false)] {
        let mut plan = whole_plan();
        path.clone_into(&mut plan.parts[0].source.path);
        assert_eq!(PlanFile::from_json(&json(&plan)).is_ok(), is_plan, "{path}");
        let mut plan = whole_plan();
        path.clone_into(&mut plan.streams[0].source.path);
        assert_eq!(PlanFile::from_json(&json(&plan)).is_ok(), is_plan, "{path}");
    }
}
