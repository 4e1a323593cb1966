//! `verify` without the source finds damaged, missing and stray files, and counts that do not fit.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::verify::patient::Patient;
use tracelake_testkit::{Score, ensure};

/// Exit 5 and a finding that names this.
fn finds(patient: &Patient, says: &str) -> Result<(), String> {
    let run = patient.verify();
    ensure(
        run.code == 5 && run.stderr.contains(says) && !run.stderr.contains(": 0 wrong"),
        || format!("exit {}, not {says}: {}", run.code, run.stderr),
    )
}

const PART: &str = "job_events/file_number=1/part-00001-of-00002.parquet";

#[test]
fn verify_finds_damaged_files() {
    let patient = Patient::new("job_events,machine_events");
    let mut score = Score::new("damaged, missing and stray files");
    let whole = fs::read(patient.lake().join(PART)).unwrap();
    for at in (0..whole.len()).step_by(whole.len() / 150) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        fs::write(patient.lake().join(PART), bytes).unwrap();
        score.count(&format!("byte {at} flipped"), finds(&patient, PART));
    }
    for length in [0, 1, 4, whole.len() / 2, whole.len() - 1] {
        fs::write(patient.lake().join(PART), &whole[..length]).unwrap();
        score.count(&format!("cut to {length}"), finds(&patient, PART));
    }
    patient.heal();
    fs::write(patient.lake().join(PART), [&whole[..], b"\0"].concat()).unwrap();
    score.count("a byte more", finds(&patient, PART));
    fs::remove_file(patient.lake().join(PART)).unwrap();
    score.count("missing", finds(&patient, PART));
    fs::create_dir(patient.lake().join(PART)).unwrap();
    score.count("a directory", finds(&patient, PART));
    patient.heal();
    for stray in [
        "job_events/part-00000-of-00002.parquet",
        "job_events/file_number=0/part-00001-of-00002.parquet",
        "job_events/file_number=9/part-00009-of-00002.parquet",
        "task_usage/file_number=0/part-00000-of-00001.parquet",
        "_tracelake/rejects/job_events/part-00000-of-00002.ndjson",
        "job_events/copy.parquet",
        "job_events/file_number=1/copy of part-00001-of-00002.parquet",
        "job_events/file_number=1/deeper/part-00001-of-00002.parquet",
        "job_events/notes",
        "job_events/.DS_Store",
        "machine_events/_SUCCESS",
    ] {
        let path = patient.lake().join(stray);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &whole).unwrap();
        score.count(stray, finds(&patient, stray));
        patient.heal();
    }
    score.close();
}

/// Facts of a part that `verify` can hold against something: how they change, and what it says.
const FACTS: &[(&str, i64, &str)] = &[
    ("/tables/0/rows", 1, "job_events"),
    ("/tables/0/rows", -1, "job_events"),
    ("/tables/0/parts/1/rows_in", 1, "rows in, but"),
    ("/tables/0/parts/1/rows_in", -1, "rows in, but"),
    ("/tables/0/parts/1/rows_out", 1, "rows in, but"),
    ("/tables/0/parts/1/rows_out", -1, "its footer says"),
    ("/tables/0/parts/1/rows_rejected", 1, "rows in, but"),
    ("/tables/0/parts/1/output/bytes", 1, "but the manifest says"),
    (
        "/tables/0/parts/1/output/bytes",
        -1,
        "but the manifest says",
    ),
];

fn add(json: &mut Value, pointer: &str, number: i64) {
    let value = json.pointer_mut(pointer).unwrap();
    *value = Value::from(value.as_i64().unwrap_or_default() + number);
}

const OTHER_DIGEST: &str = "0000000000000000000000000000000000000000000000000000000000000000";

#[test]
fn verify_finds_counts_that_do_not_fit() {
    let patient = Patient::new("job_events,machine_events");
    let mut score = Score::new("changed manifests");
    for &(pointer, number, says) in FACTS {
        let mut json = patient.healthy.clone();
        add(&mut json, pointer, number);
        patient.write_manifest(&json);
        score.count(&format!("{pointer} {number:+}"), finds(&patient, says));
    }
    // Counts that keep the law among themselves, but not with the footers.
    let mut json = patient.healthy.clone();
    for pointer in [
        "/tables/0/rows",
        "/tables/0/parts/1/rows_in",
        "/tables/0/parts/1/rows_out",
    ] {
        add(&mut json, pointer, 1);
    }
    patient.write_manifest(&json);
    score.count(
        "a row more in all counts",
        finds(&patient, "its footer says"),
    );
    let edits: &[(&str, &str, &str)] = &[
        (
            "/tables/0/parts/1/output/sha256",
            OTHER_DIGEST,
            "but the manifest says",
        ),
        (
            "/tables/0/parts/1/output/path",
            "job_events/nothing.parquet",
            "cannot open",
        ),
        (
            "/tables/0/parts/1/output/path",
            "../out/x.parquet",
            "leads out of the lake",
        ),
        (
            "/tables/0/parts/1/source/path",
            "../../etc/passwd",
            "leads out of the source",
        ),
        ("/tables/0/parts/1/source/path", "/etc/passwd", "leads out"),
        ("/tables/0/parts/1/source/path", "a\nb", "leads out"),
        ("/tables/0/name", "machine_attributes", "machine_attributes"),
        ("/tables/0/name", "nothing", "unknown table"),
    ];
    for (pointer, value, says) in edits {
        let mut json = patient.healthy.clone();
        *json.pointer_mut(pointer).unwrap() = Value::from(*value);
        patient.write_manifest(&json);
        score.count(&format!("{pointer} is {value}"), finds(&patient, says));
    }
    // A part that the manifest forgets is a stray file.
    let mut json = patient.healthy.clone();
    let rows = json["tables"][0]["parts"][1]["rows_out"].as_i64().unwrap();
    json["tables"][0]["parts"].as_array_mut().unwrap().remove(1);
    add(&mut json, "/tables/0/rows", -rows);
    patient.write_manifest(&json);
    score.count("a part is forgotten", finds(&patient, PART));
    score.close();
}

/// A change that keeps the counting law and the digests.
type Edit = (&'static str, fn(&mut Value));

/// Facts that the files could tell, too.
const UNSEEN: &[Edit] = &[
    ("a reject that is not there", |json| {
        add(json, "/tables/0/parts/1/rows_in", 1);
        add(json, "/tables/0/parts/1/rows_rejected", 1);
    }),
    ("another time_min", |json| {
        add(json, "/tables/0/parts/1/time_min", 1)
    }),
    ("another time_max", |json| {
        add(json, "/tables/0/parts/1/time_max", -1)
    }),
    ("another sentinels_mapped", |json| {
        add(json, "/tables/0/parts/1/sentinels_mapped", 1)
    }),
    ("another schema_fingerprint", |json| {
        json["tables"][0]["schema_fingerprint"] = "00".into()
    }),
    ("a part counted twice", |json| {
        let part = json["tables"][0]["parts"][1].clone();
        let rows = part["rows_out"].as_i64().unwrap();
        json["tables"][0]["parts"]
            .as_array_mut()
            .unwrap()
            .push(part);
        add(json, "/tables/0/rows", rows);
    }),
    ("another file number", |json| {
        add(json, "/tables/0/parts/1/file_number", 5)
    }),
];

#[test]
fn verify_finds_facts_that_the_files_contradict() {
    let patient = Patient::new("job_events,machine_events");
    let mut score = Score::new("facts that the files contradict");
    for (what, edit) in UNSEEN {
        let mut json = patient.healthy.clone();
        edit(&mut json);
        patient.write_manifest(&json);
        // How a sentinel was spelled is in the source alone.
        if *what != "another sentinels_mapped" {
            score.count(what, finds(&patient, "job_events"));
        }
        let with_source = patient.verify_source();
        let outcome = ensure(with_source.code == 5, || with_source.stderr);
        score.count(&format!("{what}, with the source"), outcome);
    }
    assert!(Path::new(&patient.lake()).exists());
    score.close();
}
