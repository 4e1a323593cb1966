//! The counting law, and what is believed of a manifest.

#![cfg(test)]

use std::sync::Arc;

use tracelake_core::origin::Origin;
use tracelake_core::part_key::PartKey;
use tracelake_core::settings::Settings;
use tracelake_schema::{Confidence, Published};

use super::*;

fn file(path: &str) -> FileFacts {
    FileFacts {
        path: path.into(),
        bytes: 1,
        sha256: Digest::of(b""),
    }
}

fn read(json: &[u8]) -> Result<Manifest> {
    Manifest::read(json)
}

fn manifest(rows_rejected: u64, rows: u64) -> Manifest {
    let part = PartFields {
        cell: None,
        file_number: 7,
        source: file("jobs/part-7.csv.gz"),
        of: None,
        in_all: None,
        rows_not_derived: None,
        rows_in: 10,
        rows_out: 9,
        rows_rejected,
        rows_not_selected: None,
        sentinels_mapped: 0,
        headers_accepted: 0,
        indexes_accepted: 0,
        boms_accepted: 0,
        integral_floats_accepted: 0,
        nulls_accepted: 0,
        time_min: Some(0),
        time_max: None,
        output: file("jobs/part-7.parquet"),
        rejects: None,
    };
    let part = PartFacts(Arc::new(part));
    let tables = vec![TableFacts {
        name: "jobs".into(),
        schema_fingerprint: "ff".into(),
        rows,
        rows_not_selected: None,
        parts: vec![part],
    }];
    Manifest {
        origin: Origin::new("some-trace", Settings::default()),
        lake: Digest::of(b"a lake"),
        tables,
        absent: Vec::new(),
    }
}

#[test]
fn the_counting_law_holds_per_part_and_in_total() {
    assert!(manifest(1, 9).check_counts().is_ok());
    assert!(
        manifest(0, 9)
            .check_counts()
            .unwrap_err()
            .to_string()
            .contains("10 rows in")
    );
    assert!(
        manifest(1, 8)
            .check_counts()
            .unwrap_err()
            .to_string()
            .contains("9 in its parts")
    );
}

#[test]
fn a_whole_table_is_compared_with_its_published_count() {
    let mut table = (*tracelake_schema::TRACES[0].tables[0]).clone();
    let mut facts = manifest(1, 9).tables.remove(0);
    let mut part = facts.parts.remove(0);
    table.parts = 2;
    table.published = Some(Published {
        rows: 19,
        confidence: Confidence::Reported,
        source: "somebody".to_owned(),
        not_of: Vec::new(),
    });
    assert_eq!(
        facts.more_than_published(&table, &Settings::default()),
        None
    );
    for (number, more) in [(1, None), (1, None), (0, Some(11)), (2, None)] {
        part.file_number = number;
        facts.parts.push(part.clone());
        assert_eq!(
            facts.more_than_published(&table, &Settings::default()),
            more,
            "{number}"
        );
    }
    facts.parts.drain(2..);
    facts.parts[0].file_number = 0;
    assert_eq!(
        facts.more_than_published(&table, &Settings::default()),
        Some(1)
    );
    facts.parts[0].rows_in = 9;
    assert_eq!(
        facts.more_than_published(&table, &Settings::default()),
        Some(0)
    );
    facts.parts[0].rows_in = 3;
    assert_eq!(
        facts.more_than_published(&table, &Settings::default()),
        Some(-6)
    );
    facts.parts[0].rows_in = u64::MAX;
    assert_eq!(
        facts.more_than_published(&table, &Settings::default()),
        Some(i64::MAX)
    );
    table.published = None;
    assert!(facts.is_whole(&table, &Settings::default()));
    assert_eq!(
        facts.more_than_published(&table, &Settings::default()),
        None
    );
}

#[test]
fn reads_what_it_writes() {
    let mut manifest = manifest(1, 9);
    let json = manifest.to_json().unwrap();
    assert_eq!(read(&json).unwrap(), manifest);
    manifest.origin.synthetic = true;
    manifest.tables[0].parts[0].headers_accepted = 1;
    manifest.tables[0].parts[0].integral_floats_accepted = 7;
    let json = manifest.to_json().unwrap();
    assert_eq!(read(&json).unwrap(), manifest);
    assert!(
        String::from_utf8(json)
            .unwrap()
            .contains("\"synthetic\": true")
    );
}

#[test]
fn every_flipped_bit_is_noticed() {
    let json = manifest(1, 9).to_json().unwrap();
    for at in 0..json.len() {
        for bit in 0..8 {
            let mut flipped = json.clone();
            flipped[at] ^= 1 << bit;
            let error = read(&flipped).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "bit {bit} of byte {at}");
        }
        read(&json[..at]).unwrap_err();
        let longer = [&json[..at], b" ", &json[at..]].concat();
        read(&longer).unwrap_err();
    }
    read(&[&json[..], b"\n"].concat()).unwrap_err();
}

#[test]
fn a_manifest_without_a_digest_is_not_believed() {
    let json = serde_json::to_vec_pretty(&manifest(1, 9)).unwrap();
    let error = read(&json).unwrap_err();
    assert!(error.to_string().contains("damaged"), "{error}");
}

#[test]
fn unknown_fields_are_skipped() {
    let manifest = manifest(1, 9);
    let json = String::from_utf8(serde_json::to_vec_pretty(&manifest).unwrap()).unwrap();
    let later = json.replacen('{', "{\n  \"later\": [{}],", 1);
    let body = later.strip_suffix("\n}").unwrap().to_owned() + ",\n";
    assert_eq!(read(&seal::document(body.into_bytes())).unwrap(), manifest);
}

/// Another version may write such options.
#[test]
fn unknown_options_are_refused_by_name() {
    let json = String::from_utf8(manifest(1, 9).to_json().unwrap()).unwrap();
    let (body, _) = json.split_at(json.len() - usize::try_from(seal::END_BYTES).unwrap());
    for (known, unknown, says) in [
        (
            "hive",
            "heap",
            "unknown layout 'heap', expected hive or flat",
        ),
        (
            "parquet",
            "orc",
            "unknown format 'orc', expected parquet or arrow",
        ),
        ("zstd:3", "lz4", "unknown compression 'lz4', expected zstd"),
        (
            "fail",
            "skip",
            "unknown on-bad-row 'skip', expected fail or reject",
        ),
    ] {
        let changed = body.replacen(&format!("\"{known}\""), &format!("\"{unknown}\""), 1);
        let error = read(&seal::document(changed.into_bytes())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        let message = error.to_string();
        assert!(
            message.starts_with(&format!("not a manifest: {says}")),
            "{message}"
        );
        assert!(
            message.contains("use the version of tracelake that made it"),
            "{message}"
        );
    }
}

#[test]
fn the_bound_of_a_part_holds_for_the_longest_facts() {
    let mut manifest = manifest(1, 9);
    let empty = manifest.to_json().unwrap().len() as u64;
    let path = "a\u{1}\"\\é".repeat(9);
    let file = FileFacts {
        path: path.clone(),
        bytes: u64::MAX,
        sha256: Digest::of(b""),
    };
    let part = PartFields {
        cell: Some("a"),
        file_number: u32::MAX,
        source: file.clone(),
        of: Some(u32::MAX),
        in_all: Some(u32::MAX),
        rows_in: u64::MAX,
        rows_out: u64::MAX,
        rows_rejected: u64::MAX,
        rows_not_selected: Some(u64::MAX),
        sentinels_mapped: u64::MAX,
        headers_accepted: u64::MAX,
        indexes_accepted: u64::MAX,
        boms_accepted: u64::MAX,
        integral_floats_accepted: u64::MAX,
        nulls_accepted: u64::MAX,
        time_min: Some(i64::MIN),
        time_max: Some(i64::MIN),
        rows_not_derived: Some(u64::MAX),
        output: file.clone(),
        rejects: Some(Box::new(file)),
    };
    manifest.tables[0].parts.push(PartFacts(Arc::new(part)));
    let more = manifest.to_json().unwrap().len() as u64 - empty;
    let most = most_bytes([&path; 3]);
    assert!(more <= most && most <= more + 300, "{more} {most}");
    check_bytes(MOST_BYTES).unwrap();
    assert_eq!(
        check_bytes(MOST_BYTES + 1).unwrap_err().kind(),
        ErrorKind::Refused
    );
}

/// A part of `rows` rows, of which one is rejected if it has rejects.
fn part(cell: Option<CellName>, file_number: u32, rows: u64) -> PartFacts {
    let output = file(&format!("jobs/{file_number}.parquet"));
    let mut part = PartFacts::new(PartKey { cell, file_number }, file("jobs.csv"), output);
    (part.rows_in, part.rows_out) = (rows, rows);
    part
}

#[test]
fn a_table_adds_up_its_parts() {
    let mut facts = TableFacts::new("jobs", "ff".into());
    assert_eq!((facts.rows, facts.rows_not_selected), (0, None));
    facts.push(part(None, 0, 5));
    assert_eq!((facts.rows, facts.rows_not_selected), (5, None));
    for (not_selected, sum) in [(3, 3), (4, 7), (u64::MAX, u64::MAX)] {
        let mut part = part(None, 1, 6);
        part.rows_not_selected = Some(not_selected);
        facts.push(part);
        assert_eq!(facts.rows_not_selected, Some(sum));
    }
    assert_eq!(
        (facts.rows, facts.rows_in(), facts.parts.len()),
        (23, 23, 4)
    );
    facts.push(part(None, 2, u64::MAX));
    assert_eq!((facts.rows, facts.rows_in()), (u64::MAX, u64::MAX));
}

#[test]
fn a_table_is_taken_apart_by_its_cells() {
    let mut facts = TableFacts::new("jobs", "ff".into());
    assert!(facts.by_cell().is_empty());
    assert_eq!(facts.cell(), None);
    facts.push(part(None, 0, 5));
    facts.push(part(None, 1, 6));
    let whole = facts.by_cell();
    assert!(whole.keys().eq(&[None]));
    assert!(matches!(whole[&None], Cow::Borrowed(_)));

    let mut facts = TableFacts::new("jobs", "ff".into());
    for (cell, number, rows) in [("a", 0, 5), ("b", 0, 7), ("a", 1, 6)] {
        facts.push(part(Some(cell), number, rows));
    }
    assert_eq!(facts.cell(), Some("a"));
    let cells = facts.by_cell();
    let found: Vec<_> = cells
        .iter()
        .map(|(cell, facts)| (*cell, &facts.name[..], facts.rows, facts.parts.len()))
        .collect();
    assert_eq!(
        found,
        [(Some("a"), "jobs", 11, 2), (Some("b"), "jobs", 7, 1)]
    );
    assert_eq!(cells[&Some("a")].schema_fingerprint, "ff");
}

#[test]
fn a_manifest_adds_up_its_tables() {
    let mut manifest = manifest(1, 9);
    assert_eq!((manifest.rows(), manifest.rows_rejected()), (9, 1));
    assert_eq!(manifest.rows_not_selected(), None);
    let mut other = TableFacts::new("tasks", "ff".into());
    let mut with_rejects = part(Some("a"), 3, 8);
    with_rejects.rows_rejected = 2;
    with_rejects.rows_not_selected = Some(4);
    with_rejects.rejects = Some(Box::new(file("rejects")));
    other.push(with_rejects);
    manifest.tables.push(other);
    assert_eq!((manifest.rows(), manifest.rows_rejected()), (17, 3));
    assert_eq!(manifest.rows_not_selected(), Some(4));
    assert_eq!(manifest.cells(), [None, Some("a")].into());
    let parts: Vec<_> = manifest
        .parts()
        .map(|(table, part)| (table, part.file_number))
        .collect();
    assert_eq!(parts, [("jobs", 7), ("tasks", 3)]);
    let files: Vec<&str> = manifest.files().map(|file| &file.path[..]).collect();
    assert_eq!(files, ["jobs/part-7.parquet", "jobs/3.parquet", "rejects"]);
    manifest.tables[0].rows = u64::MAX;
    manifest.tables[0].parts[0].rows_rejected = u64::MAX;
    assert_eq!(
        (manifest.rows(), manifest.rows_rejected()),
        (u64::MAX, u64::MAX)
    );
}

#[test]
fn rows_that_are_not_selected_count() {
    let mut part = part(None, 0, 5);
    for (rows_in, rows_out, rejected, not_selected, adds_up) in [
        (5, 5, 0, None, true),
        (5, 4, 1, None, true),
        (5, 3, 1, Some(1), true),
        (5, 3, 1, Some(2), false),
        (5, 3, 1, None, false),
        (4, 3, 2, None, false),
        (u64::MAX, u64::MAX, 1, None, false),
        (0, u64::MAX, 0, Some(1), false),
    ] {
        (part.rows_in, part.rows_out) = (rows_in, rows_out);
        (part.rows_rejected, part.rows_not_selected) = (rejected, not_selected);
        assert_eq!(part.counts_add_up(), adds_up, "{part:?}");
    }
    let mut manifest = manifest(1, 9);
    manifest.tables[0].parts[0].rows_in = 13;
    manifest.tables[0].parts[0].rows_not_selected = Some(3);
    manifest.tables[0].rows_not_selected = Some(3);
    manifest.check_counts().unwrap();
    manifest.tables[0].parts[0].rows_in = 12;
    let says = |manifest: &Manifest| manifest.check_counts().unwrap_err().to_string();
    let expected = "12 rows in, but 9 out and 1 rejected, 3 not selected";
    assert!(says(&manifest).contains(expected), "{}", says(&manifest));
    manifest.tables[0].parts[0].rows_in = 13;
    for (rows, named) in [(Some(4), "4"), (None, "none")] {
        manifest.tables[0].rows_not_selected = rows;
        let expected = format!("rows_not_selected is {named}, but 3 in its parts");
        assert!(says(&manifest).contains(&expected), "{}", says(&manifest));
    }
}

#[test]
fn what_was_read_of_a_source_was_digested() {
    let mut part = part(None, 0, 5);
    part.source.bytes = 70;
    assert_eq!((part.digested(true), part.digested(false)), (70, u64::MAX));
    part.of = Some(3);
    assert_eq!(part.digested(true), u64::MAX);
}

#[test]
fn paths_stay_below_their_directory() {
    for (path, is_below) in [
        ("jobs/part-7.csv.gz", true),
        ("a", true),
        ("..a/b..", true),
        ("", false),
        ("/jobs", false),
        ("../jobs", false),
        ("jobs/../../x", false),
        ("jobs/..", false),
        ("./jobs", false),
        ("a\nb", false),
    ] {
        assert_eq!(is_relative(path), is_below, "{path:?}");
    }
}

/// A part without them has the bytes that it had before these counts existed.
#[test]
fn counts_of_what_was_accepted_are_written_if_there_are_any() {
    let mut part = PartFacts::new(0.into(), file("a"), file("b"));
    let names = ["headers_accepted", "integral_floats_accepted"];
    let written = |part: &PartFacts| {
        let json = serde_json::to_value(part).unwrap();
        names.map(|name| json.get(name).and_then(serde_json::Value::as_u64))
    };
    assert_eq!(written(&part), [None, None]);
    (part.headers_accepted, part.integral_floats_accepted) = (1, 5);
    assert_eq!(written(&part), [Some(1), Some(5)]);
}
