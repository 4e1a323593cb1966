//! `generate` that is stopped: what it leaves, and what the next run makes of it. And rows that are drawn on their own.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tracelake_schema::{TRACES, Trace};
use tracelake_testkit::{
    Scratch, assert_same_tree, ended, manifest, program, run, trace, tree, verify_well,
};

fn generate(out: &Path, rows: &str) -> tracelake_testkit::Run {
    run([
        "generate",
        &trace().name,
        out.to_str().unwrap(),
        "--rows",
        rows,
    ])
}

/// The mark of a run that was killed is taken for what it is, whatever else it left.
#[test]
fn what_an_unfinished_run_left_is_replaced() {
    let scratch = Scratch::new();
    let (whole, broken) = (scratch.path().join("whole"), scratch.path().join("broken"));
    assert_eq!(generate(&whole, "50").code, 0);
    fs::create_dir_all(broken.join("job_events")).unwrap();
    fs::write(broken.join("job_events/part-00000-of-00002.csv.gz"), "half").unwrap();
    let mark = format!(
        "tracelake generate {} --parts 2 --rows 50 --seed 1\n",
        trace().name
    );
    fs::write(broken.join("UNFINISHED"), mark).unwrap();
    let other = generate(&broken, "60");
    assert_eq!(other.code, 6, "{}", other.stderr);
    other.prints("other options");
    let again = generate(&broken, "50");
    assert_eq!(again.code, 0, "{}", again.stderr);
    again.prints("replaced what an unfinished run");
    assert_same_tree(&tree(&broken), &tree(&whole), "replaced");
    generate(&whole, "50").exits(6);
}

#[cfg(unix)]
#[test]
fn a_signal_stops_it_and_the_message_says_what_to_do() {
    let scratch = Scratch::new();
    let out = scratch.path().join("made");
    let mut command = program();
    command.args([
        "generate",
        &trace().name,
        out.to_str().unwrap(),
        "--rows",
        "200000000",
    ]);
    let child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while !out.join("UNFINISHED").exists() {
        assert!(begun.elapsed() < Duration::from_secs(120), "it never began");
        std::thread::sleep(Duration::from_millis(5));
    }
    let kill = format!("kill -TERM {}", child.id());
    assert!(
        Command::new("sh")
            .args(["-c", &kill])
            .status()
            .unwrap()
            .success()
    );
    let run = ended(child.wait_with_output().unwrap());
    run.refuses(143, "run the same command again");
    assert!(out.join("UNFINISHED").exists());
}

#[test]
fn a_url_and_an_unreplaced_home_are_refused() {
    for out in [
        "s3://bucket/trace",
        "s3:/bucket/trace",
        "gs://bucket",
        "~/trace",
    ] {
        let made = generate(Path::new(out), "50");
        assert_eq!(made.code, 2, "{out}: {}", made.stderr);
        assert!(!Path::new(out).exists(), "{out}");
    }
}

/// Fewer rows than files: some files are empty, and still a source.
#[test]
fn a_drawn_trace_may_have_files_without_rows() {
    let scratch = Scratch::new();
    let size = ["--parts", "1", "--rows", "1"];
    tracelake_testkit::generate("qwen-bailian-2025", &scratch.src(), &size);
    scratch.convert_well(&[]);
    let table = &manifest(&scratch.out())["tables"][0];
    assert_eq!(
        (&table["rows"], table["parts"].as_array().unwrap().len()),
        (&1.into(), 4)
    );
    verify_well(&scratch.out(), &scratch.src());
}

/// Traces whose rows are drawn column by column: recognised, converted, equal to the source, and the same again.
#[test]
fn drawn_traces_are_read_as_published_ones() {
    let is_drawn = |trace: &&&Arc<Trace>| trace.tables.iter().all(|it| it.synthetic == "rows");
    let drawn: Vec<&Arc<Trace>> = TRACES.iter().filter(|trace| is_drawn(&trace)).collect();
    assert!(drawn.len() >= 8);
    for trace in drawn {
        let scratch = Scratch::new();
        let size = ["--parts", "2", "--rows", "300"];
        tracelake_testkit::generate(&trace.name, &scratch.src(), &size);
        scratch.convert_well(&[]);
        let lake = manifest(&scratch.out());
        assert_eq!(lake["trace"], trace.name);
        assert_eq!(lake["synthetic"], true);
        for table in lake["tables"].as_array().unwrap() {
            assert_eq!(table["rows"], 300, "{}: {}", trace.name, table["name"]);
        }
        verify_well(&scratch.out(), &scratch.src());
        let again = scratch.path().join("again");
        tracelake_testkit::generate(&trace.name, &again, &size);
        assert_same_tree(&tree(&again), &tree(&scratch.src()), &trace.name);
        if trace.tables[0].requests.is_some() {
            let file = scratch.path().join("requests.jsonl");
            let [lake, file] = [scratch.out(), file].map(|path| path.to_str().unwrap().to_owned());
            run(["export", &lake, &file, "--as", "mooncake"]).well();
            assert_eq!(fs::read_to_string(file).unwrap().lines().count(), 300);
        }
    }
}
