//! Paths and names that are taken for others: the message says what they are, and what to type.

use std::fs;

use tracelake_schema::{Files, TRACES};

use tracelake_testkit::{Scratch, committed_sample, convert, run, trace, tree};

#[test]
fn what_is_no_lake_is_named_by_verify_and_release() {
    let scratch = Scratch::with_sample(1, 3);
    let source = scratch.path().join("my trace");
    fs::rename(scratch.src(), &source).unwrap();
    let file = source.join("note");
    fs::write(&file, "x").unwrap();
    let quoted = format!("tracelake convert '{}' lake", source.display());
    let before = tree(scratch.path());
    for command in ["verify", "release"] {
        for (path, says) in [
            (&scratch.path().join("nowhere"), "there is nothing here"),
            (&source, "not a lake but a source"),
            (&source, &quoted[..]),
            (&file, "not a lake but a file"),
        ] {
            let run = run([command, path.to_str().unwrap()]);
            assert_eq!(run.code, 6, "{command}: {}", run.stderr);
            let start = format!("{}: ", path.display());
            assert!(run.message().starts_with(&start), "{}", run.message());
            assert!(run.message().contains(says), "{says}: {}", run.message());
        }
    }
    tracelake_testkit::assert_same_tree(&tree(scratch.path()), &before, "looked at");
}

#[test]
fn the_command_that_is_hinted_at_names_the_lake() {
    let scratch = Scratch::with_sample(1, 3);
    for (name, typed) in [
        ("lake", "lake"),
        ("my lake", "'my lake'"),
        ("it's", r"'it'\''s'"),
    ] {
        let out = scratch.path().join(name);
        let shard = convert(&scratch.src(), &out, &["--shard", "0/2"]);
        shard.well();
        let typed = typed.replacen(name, out.to_str().unwrap(), 1);
        let typed = match name {
            "it's" => typed.replacen(r"'it", &format!("'{}/it", scratch.path().display()), 1),
            _ => typed,
        };
        let says = format!("when all shards are done: tracelake commit {typed}\n");
        assert!(shard.stderr.ends_with(&says), "{says}: {}", shard.stderr);
    }
}

#[test]
fn a_lake_and_a_source_that_are_swapped_are_typed_the_right_way_round() {
    let scratch = Scratch::with_sample(1, 3);
    scratch.convert_well(&[]);
    let (src, new) = (scratch.src(), scratch.path().join("new lake"));
    for (lake, typed) in [
        (scratch.out(), scratch.out().display().to_string()),
        (new.clone(), format!("'{}'", new.display())),
    ] {
        let run = convert(&lake, &src, &[]);
        assert_eq!(run.code, 1, "{}", run.stderr);
        let says = format!("tracelake convert {} {typed}", src.display());
        assert!(run.message().ends_with(&says), "{}", run.message());
    }
}

#[test]
fn a_mistyped_trace_has_its_name_suggested() {
    for trace in TRACES {
        let (mut typed, name) = (trace.name.to_owned(), &trace.name);
        let first = typed.remove(0);
        typed.insert(1, first);
        for typed in [
            typed,
            name.to_uppercase(),
            name[..name.len() - 1].to_owned(),
        ] {
            let run = run(["schema", &typed]);
            assert_eq!(run.code, 2, "{}", run.stderr);
            let (_, meant) = run.message().split_once("did you mean ").unwrap();
            let (meant, known) = meant.split_once('?').unwrap();
            assert!(
                meant.split(" or ").any(|meant| meant == name),
                "{}",
                run.message()
            );
            assert!(
                TRACES.iter().all(|trace| known.contains(&trace.name)),
                "{known}"
            );
        }
    }
    let run = run(["schema", "xyz"]);
    assert!(!run.message().contains("did you mean"), "{}", run.message());
    run.says(&TRACES[0].name);
}

#[test]
fn another_trace_than_the_one_asked_for_is_named() {
    let scratch = Scratch::new();
    let sample = committed_sample();
    let part = sample.join("job_events/part-00000-of-00002.csv.gz");
    for other in TRACES.iter().filter(|other| other.family != trace().family) {
        for source in [
            &sample,
            &sample.join("job_events"),
            &sample.join("machine_events"),
            &part,
        ] {
            let run = convert(source, &scratch.out(), &["--trace", &other.name]);
            assert!([1, 4].contains(&run.code), "{}", run.stderr);
            let says = format!("pass --trace {}", trace().name);
            assert!(run.message().ends_with(&says), "{}", run.message());
            assert!(
                !run.message().contains("any known trace"),
                "{}",
                run.message()
            );
        }
    }
    assert!(!scratch.out().exists());
    // Another version of the same trace is no mistake that files can tell.
    let mut versions = TRACES.iter().filter(|other| other.family == trace().family);
    let older = versions.find(|other| other.name != trace().name).unwrap();
    let empty = scratch.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let run = convert(&empty, &scratch.out(), &["--trace", &older.name]);
    let says = format!("no table of {} is here", older.name);
    run.says(&says);
    assert!(!run.message().contains("pass --trace"), "{}", run.message());
}

#[test]
fn a_misnamed_part_is_converted_when_the_file_itself_is_named() {
    let whole = TRACES.iter().flat_map(|trace| &trace.tables);
    let mut whole = whole
        .filter(|table| table.files == Files::Whole)
        .map(|table| &*table.name);
    let whole = whole.next_back().unwrap();
    let hash = "N5I2+pqV0s9j+1XwV8fwIxAb8p47z4I3dJ4o2I/RLxQ=";
    let row = format!("600,,3418309,0,{hash},2,{hash},{hash}\n");
    for (path, expected) in [
        (
            "job_events/jobs (1).csv",
            "such as part-00000-of-00500.csv.gz: rename it".to_owned(),
        ),
        (
            "machine_events/1.csv.gz",
            "machine_events-000000000000.json.gz".to_owned(),
        ),
        (
            "jobs.csv",
            "to convert it alone, name the file itself".to_owned(),
        ),
        (&format!("{whole}/x.gz"), format!("{whole}.csv")),
    ] {
        let scratch = Scratch::new();
        scratch.file(path, row.as_bytes());
        let run = scratch.convert(&[]);
        assert_eq!(run.code, 1, "{}", run.stderr);
        for says in [path, &expected, "to convert it alone, name the file itself"] {
            assert!(run.message().contains(says), "{says}: {}", run.message());
        }
        if path.contains("jobs") {
            let file = scratch.src().join(path);
            convert(&file, &scratch.out(), &[]).well();
            let manifest = tracelake_testkit::manifest(&scratch.out());
            assert_eq!(manifest["tables"][0]["name"], "job_events");
            assert_eq!(manifest["tables"][0]["rows"], 1);
        }
    }
    // Names that are no data are only said to be skipped.
    let scratch = Scratch::new();
    scratch.only("job_events", row.as_bytes());
    scratch.file("job_events/notes.txt", b"x");
    let run = scratch.convert(&[]);
    run.well();
    assert!(
        !run.stderr.contains("name the file itself"),
        "{}",
        run.stderr
    );
}
