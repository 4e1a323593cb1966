//! Delta logs of a release: what is in them, and that a lake with them is the same lake.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tracelake_schema::{Kind, TRACES};

use crate::release::{release, small};
use tracelake_testkit::{
    Run, Scratch, assert_same_tree, convert, generate, good_line, manifest, output_path, run,
    sha256, table, tree,
};

const LOG: &str = "_delta_log/00000000000000000000.json";
const DELTA: [&str; 3] = ["--allow-missing", "--allow-rejects", "--delta"];

fn log_of(out: &Path, table: &str) -> PathBuf {
    out.join(table).join(LOG)
}

fn actions(out: &Path, table: &str) -> Vec<Value> {
    let log = fs::read_to_string(log_of(out, table)).unwrap();
    log.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn verify(out: &Path) -> Run {
    run([Path::new("verify"), out])
}

#[track_caller]
fn finds(out: &Path, words: &str) {
    let verified = verify(out);
    verified.exits(5);
    verified.prints(words);
}

/// A lake with Delta logs.
fn with_logs(tables: &[&str]) -> Scratch {
    let scratch = small(tables);
    release(&scratch.out(), &DELTA).well();
    scratch
}

/// Compares a log with the manifest and the catalog; returns its actions `protocol` and `metaData`.
#[track_caller]
fn check_log(out: &Path, table: &str) -> (Value, Value) {
    let manifest = manifest(out);
    let tables = manifest["tables"].as_array().unwrap();
    let facts = tables.iter().find(|facts| facts["name"] == table).unwrap();
    let parts = facts["parts"].as_array().unwrap();
    let actions = actions(out, table);
    assert_eq!(actions.len(), 2 + parts.len());
    let trace = tracelake_schema::trace(manifest["trace"].as_str().unwrap()).unwrap();
    let time = trace.table(table).unwrap();
    let time = time.time.map(|index| &time.columns[index]);
    for (action, part) in actions[2..].iter().zip(parts) {
        let mut stats = json!({"numRecords": part["rows_out"]});
        if let Some(time) =
            time.filter(|time| time.kind == Kind::Integer && part["time_min"].is_i64())
        {
            stats["minValues"] = json!({&*time.name: part["time_min"]});
            stats["maxValues"] = json!({&*time.name: part["time_max"]});
        }
        let mut partition = json!({"file_number": part["file_number"].to_string()});
        if part["cell"].is_string() {
            partition["cell"] = part["cell"].clone();
        }
        let path = part["output"]["path"].as_str().unwrap();
        let added = json!({
            "path": path.strip_prefix(&format!("{table}/")).unwrap(),
            "partitionValues": partition,
            "size": fs::metadata(out.join(path)).unwrap().len(),
            "modificationTime": 0,
            "dataChange": true,
            "stats": action["add"]["stats"],
        });
        assert_eq!(action, &json!({"add": added}));
        let said: Value = serde_json::from_str(action["add"]["stats"].as_str().unwrap()).unwrap();
        assert_eq!(said, stats, "{path}");
    }
    (
        actions[0]["protocol"].clone(),
        actions[1]["metaData"].clone(),
    )
}

fn fields(metadata: &Value) -> Vec<Value> {
    let schema: Value = serde_json::from_str(metadata["schemaString"].as_str().unwrap()).unwrap();
    schema["fields"].as_array().unwrap().clone()
}

#[test]
fn a_log_has_every_file_of_its_table() {
    let scratch = Scratch::with_sample(2, 50);
    scratch.part("machine_events", 0, 1, b"0,5,0,plat=,0.5,0.2493\nbad\n");
    scratch.convert(&["--on-bad-row", "reject"]).exits(3);
    let out = scratch.out();
    release(&out, &DELTA).well();
    let mut ids = BTreeSet::new();
    let sums = fs::read_to_string(out.join("SHA256SUMS")).unwrap();
    for facts in manifest(&out)["tables"].as_array().unwrap() {
        let name = facts["name"].as_str().unwrap();
        let (protocol, metadata) = check_log(&out, name);
        assert_eq!(
            protocol,
            json!({"minReaderVersion": 1, "minWriterVersion": 2})
        );
        assert_eq!(metadata["name"], name);
        assert_eq!(metadata["partitionColumns"], json!(["file_number"]));
        let fields = fields(&metadata);
        let (number, columns) = fields.split_last().unwrap();
        assert_eq!(
            (&number["name"], &number["type"]),
            (&json!("file_number"), &json!("integer"))
        );
        for (field, column) in columns.iter().zip(table(name).columns.iter()) {
            assert_eq!(field["name"], column.name);
            assert_eq!(field["nullable"], !column.mandatory);
            assert_eq!(field["metadata"]["comment"], column.comment());
        }
        let id = metadata["id"].as_str().unwrap().to_owned();
        let lengths: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{id}");
        assert!(ids.insert(id));
        let line = format!(
            "{}  {name}/{LOG}\n",
            sha256(&fs::read(log_of(&out, name)).unwrap())
        );
        assert!(sums.contains(&line), "{line}");
    }
    verify(&out).well();
}

#[test]
fn a_log_of_cells_has_them_as_a_column() {
    let directory = tempfile::tempdir().unwrap();
    let trace = TRACES.iter().find(|trace| trace.cells.is_some()).unwrap();
    let cells = trace.cells.as_ref().unwrap();
    let (source, out) = (
        directory.path().join("source"),
        directory.path().join("lake"),
    );
    for cell in &cells.names[..2] {
        generate(
            &trace.name,
            &source.join(cells.directory_of(cell)),
            &["--rows", "300"],
        );
    }
    let tables = ["--tables", "machine_events,instance_usage"];
    convert(&source, &out, &tables).well();
    release(&out, &DELTA).well();
    for name in ["machine_events", "instance_usage"] {
        let (_, metadata) = check_log(&out, name);
        assert_eq!(metadata["partitionColumns"], json!(["cell", "file_number"]));
        let fields = fields(&metadata);
        let names: Vec<&Value> = fields
            .iter()
            .rev()
            .take(2)
            .map(|field| &field["name"])
            .collect();
        assert_eq!(names, ["file_number", "cell"]);
    }
    verify(&out).well();
}

/// Only a date-time without a zone needs a newer protocol, at whatever depth it is.
#[test]
fn local_times_need_a_feature_and_others_do_not() {
    let scratch = Scratch::new();
    let description = r#"
        family = "clocks"
        licence = "CC0-1.0"
        citation = "None"
        [[table]]
        name = "utc"
        file = "utc.csv"
        [table.columns]
        at = { kind = "date-time", zone = "published" }
        [[table]]
        name = "local"
        file = "local.csv"
        [table.columns]
        at = { kind = "date-time" }
    "#;
    let path = scratch.path().join("clocks.toml");
    fs::write(&path, description).unwrap();
    fs::create_dir_all(scratch.src()).unwrap();
    fs::write(scratch.src().join("utc.csv"), "2020-01-01T00:00:00Z\n").unwrap();
    fs::write(scratch.src().join("local.csv"), "2020-01-01 00:00:00\n").unwrap();
    scratch.convert_well(&["--trace", path.to_str().unwrap()]);
    release(&scratch.out(), &DELTA).well();
    let kind = |name: &str| {
        let actions = actions(&scratch.out(), name);
        let kind = fields(&actions[1]["metaData"])[0]["type"].clone();
        (kind, actions[0]["protocol"].clone())
    };
    assert_eq!(
        kind("utc"),
        (
            "timestamp".into(),
            json!({"minReaderVersion": 1, "minWriterVersion": 2})
        )
    );
    let features = json!({
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["timestampNtz"],
        "writerFeatures": ["appendOnly", "invariants", "timestampNtz"],
    });
    assert_eq!(kind("local"), ("timestamp_ntz".into(), features));
}

#[test]
fn other_lakes_have_no_delta_logs() {
    for options in [["--layout", "flat"], ["--format", "arrow"]] {
        let scratch = Scratch::new();
        scratch.good("machine_events");
        scratch.convert_well(&options);
        let before = tree(&scratch.out());
        let refused = release(&scratch.out(), &DELTA);
        refused.refuses(2, options[1]);
        assert_same_tree(&tree(&scratch.out()), &before, options[1]);
        release(&scratch.out(), &["--allow-missing"]).well();
    }
}

#[test]
fn a_lake_with_delta_logs_is_the_same_lake() {
    let scratch = Scratch::with_sample(2, 50);
    scratch.convert_well(&[]);
    let (out, other) = (scratch.out(), scratch.path().join("other"));
    convert(&scratch.src(), &other, &[]).well();
    for lake in [&out, &other] {
        release(lake, &DELTA).well();
    }
    let before = tree(&out);
    assert_same_tree(&tree(&other), &before, "in another directory");
    release(&out, &["--allow-missing"]).well();
    let at = out.to_str().unwrap();
    for command in [
        vec!["verify", at],
        vec!["verify", at, "--source", scratch.src().to_str().unwrap()],
        vec!["inspect", at],
        vec!["commit", at],
        vec!["commit", at, "--remove-unnamed"],
        vec!["commit", at, "--forget"],
        vec!["convert", scratch.src().to_str().unwrap(), at],
    ] {
        run(&command).exits(0);
        assert_same_tree(&tree(&out), &before, &command.join(" "));
    }
    for (lake, command) in [
        ("by-job", ["--by", "job"]),
        ("compact", ["--file-size", "1MB"]),
    ] {
        let lake = scratch.path().join(lake);
        let mut arguments = vec![
            "cluster",
            at,
            lake.to_str().unwrap(),
            command[0],
            command[1],
        ];
        if command[0] == "--file-size" {
            arguments.push("--compact");
        }
        run(&arguments).well();
        release(&lake, &DELTA).well();
        for facts in manifest(&lake)["tables"].as_array().unwrap() {
            check_log(&lake, facts["name"].as_str().unwrap());
        }
    }
    scratch.convert_well(&["--overwrite", "--compression", "snappy"]);
    assert!(!log_of(&out, "job_events").exists());
}

/// A lake of chosen columns has those in its log, and no bounds of a time that it lacks.
#[test]
fn a_log_has_the_columns_of_the_lake() {
    let scratch = Scratch::new();
    scratch.good("machine_events");
    scratch.convert_well(&["--columns", "machine_events.machine_id"]);
    release(&scratch.out(), &DELTA).well();
    let actions = actions(&scratch.out(), "machine_events");
    let fields = fields(&actions[1]["metaData"]);
    let names: Vec<&Value> = fields.iter().map(|field| &field["name"]).collect();
    assert_eq!(names, ["machine_id", "file_number"]);
    assert_eq!(actions[2]["add"]["stats"], r#"{"numRecords":1}"#);
    verify(&scratch.out()).well();
}

#[test]
fn a_log_stays_when_the_lake_changes_and_any_release_makes_it_again() {
    const STALE: &str = "describe an older manifest";
    let scratch = with_logs(&["machine_events"]);
    let out = scratch.out();
    let first = fs::read(log_of(&out, "machine_events")).unwrap();
    scratch.only("job_events", good_line("job_events").as_bytes());
    let added = scratch.convert(&[]);
    added.exits(0);
    added.prints(STALE);
    assert_eq!(fs::read(log_of(&out, "machine_events")).unwrap(), first);
    for command in ["verify", "inspect"] {
        let ended = run([Path::new(command), &out]);
        ended.exits(0);
        assert!(
            (ended.stdout.clone() + &ended.stderr).contains(STALE),
            "{command}"
        );
    }
    release(&out, &["--allow-missing"]).well();
    assert_ne!(fs::read(log_of(&out, "machine_events")).unwrap(), first);
    check_log(&out, "machine_events");
    check_log(&out, "job_events");
    assert!(!verify(&out).stderr.contains(STALE));
    // Without logs, there are none to make again.
    for table in ["machine_events", "job_events"] {
        fs::remove_dir_all(out.join(table).join("_delta_log")).unwrap();
    }
    finds(&out, LOG);
    release(&out, &["--allow-missing"]).well();
    assert!(!log_of(&out, "job_events").exists());
    verify(&out).well();
}

#[test]
fn a_log_that_somebody_wrote_is_never_replaced() {
    // An edited one.
    let scratch = with_logs(&["machine_events"]);
    let out = scratch.out();
    let log = log_of(&out, "machine_events");
    let edited = fs::read_to_string(&log).unwrap() + "{}\n";
    fs::write(&log, &edited).unwrap();
    finds(&out, LOG);
    for arguments in [&DELTA[..], &DELTA[..1]] {
        let refused = release(&out, arguments);
        refused.refuses(
            6,
            &format!("{LOG}: was changed since the release; move it away"),
        );
        assert_eq!(fs::read_to_string(&log).unwrap(), edited);
    }
    fs::remove_file(&log).unwrap();
    finds(&out, LOG);
    release(&out, &DELTA).well();
    verify(&out).well();
    // What a writer of Delta tables adds.
    let next = log.with_file_name("00000000000000000001.json");
    fs::write(&next, "{}\n").unwrap();
    finds(&out, "00000000000000000001.json: is not in the manifest");
    release(&out, &DELTA).exits(5);

    // One that no release wrote.
    let scratch = small(&["machine_events"]);
    let log = log_of(&scratch.out(), "machine_events");
    fs::create_dir_all(log.parent().unwrap()).unwrap();
    fs::write(&log, "mine").unwrap();
    finds(&scratch.out(), LOG);
    let refused = release(&scratch.out(), &["--allow-missing"]);
    refused.refuses(6, &format!("{LOG}: is not of a release; move it away"));
    assert_eq!(fs::read_to_string(&log).unwrap(), "mine");
}

/// A log of a release that was killed between two files is named, and the next release completes it.
#[test]
fn a_log_of_a_release_that_was_killed_is_found_and_made_again() {
    let tables = ["job_events", "machine_events"];
    let whole = with_logs(&tables);
    let expected = tree(&whole.out());
    let sums = fs::read(whole.out().join("SHA256SUMS")).unwrap();
    for before in [None, Some(&["--allow-missing"][..])] {
        let scratch = small(&tables);
        let out = scratch.out();
        if let Some(arguments) = before {
            release(&out, arguments).well();
        }
        fs::write(out.join("_tracelake/SHA256SUMS"), &sums).unwrap();
        let log = log_of(&out, tables[0]);
        fs::create_dir_all(log.parent().unwrap()).unwrap();
        fs::copy(log_of(&whole.out(), tables[0]), &log).unwrap();
        finds(&out, LOG);
        release(&out, &["--allow-missing"]).well();
        assert_same_tree(&tree(&out), &expected, "released again");
    }
    assert!(fs::exists(whole.out().join(output_path("job_events", 0, 1))).unwrap());
}
