//! Every output is on the disk before the manifest names it, and all of them when a command ends: the order
//! of the calls that the program makes, recorded by a library that is preloaded into it.

mod disk;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use tempfile::TempDir;
use tracelake_schema::TRACES;

use disk::Disk;
use tracelake_testkit::{Score, Scratch, copy, ensure, generate, good_line, program, tree};

/// The library that records.
fn recorder() -> &'static Path {
    static BUILT: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, library) = BUILT.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let library = directory.path().join("record.so");
        let source = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/crash/durable/record.c"
        );
        let mut compiler = Command::new("cc");
        compiler
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(&library);
        let built = compiler
            .args([source, "-ldl", "-pthread"])
            .output()
            .unwrap();
        assert!(built.status.success(), "{built:?}");
        (directory, library)
    });
    library
}

/// A lake that commands work on, with the record of what they do.
struct Recorded {
    scratch: Scratch,
    out: PathBuf,
    disk: Disk,
}

impl Recorded {
    /// A lake to be made in a directory that has to be made as well.
    fn new(scratch: Scratch) -> Self {
        let out = scratch.path().join("new/lake");
        let disk = Disk::new(&out);
        Self { scratch, out, disk }
    }

    /// Runs a command on SRC and OUT, or on OUT alone; it is killed before its next change after `changes` of
    /// them.
    fn run(&mut self, command: &[&str], changes: Option<u32>) -> Output {
        let record = self.scratch.path().join("record");
        let (name, options) = command.split_first().unwrap();
        let mut program = program();
        program.arg(name);
        if *name == "convert" {
            program.arg(self.scratch.src());
        }
        program.arg(&self.out).args(options);
        program.env("LD_PRELOAD", recorder());
        program.env("RECORD_TO", &record);
        if let Some(changes) = changes {
            program.env("RECORD_CALLS", changes.to_string());
        }
        let ended = program.output().unwrap();
        let calls = fs::read_to_string(&record).unwrap();
        self.disk.replay(&calls);
        fs::remove_file(&record).unwrap();
        ended
    }

    /// Runs a command to its end, and expects this exit code.
    #[track_caller]
    fn ends(&mut self, command: &[&str], code: i32) {
        let ended = self.run(command, None);
        assert_eq!(ended.status.code(), Some(code), "{command:?}: {ended:?}");
    }
}

/// The text of a table's part, without and with a row that is rejected.
fn good(name: &str) -> String {
    good_line(name).repeat(20)
}

fn bad(name: &str) -> String {
    good(name) + "bad\n"
}

/// A source of two tables, one of them in two parts.
fn source() -> Scratch {
    let scratch = Scratch::new();
    scratch.part("job_events", 0, 2, bad("job_events").as_bytes());
    scratch.part("job_events", 1, 2, good("job_events").as_bytes());
    scratch.only("machine_events", bad("machine_events").as_bytes());
    scratch
}

/// How `convert` is run on it; the exit code is 3, because of the rejects.
const REJECT: [&str; 3] = ["convert", "--on-bad-row", "reject"];

fn reject<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&REJECT[..], more].concat()
}

#[test]
#[cfg_attr(not(preload), ignore = "needs glibc and a C compiler")]
fn outputs_are_synced_before_the_manifest_and_everything_at_the_end() {
    let mut score = Score::new("commands whose fsyncs are in order");
    for format in ["parquet", "arrow"] {
        for layout in ["hive", "flat"] {
            let mut lake = Recorded::new(source());
            lake.ends(&reject(&["--format", format, "--layout", layout]), 3);
            score.count(&format!("convert, {format}, {layout}"), lake.disk.close());
        }
    }

    let trace = TRACES
        .iter()
        .find(|trace| !trace.derived.is_empty())
        .unwrap();
    let scratch = Scratch::new();
    fs::remove_dir(scratch.src()).unwrap();
    generate(&trace.name, &scratch.src(), &["--rows", "600"]);
    let mut lake = Recorded::new(scratch);
    lake.ends(&["convert", "--part-rows", "200", "--derive", "dag"], 0);
    let derived = &trace.derived[0].table.name;
    assert!(lake.out.join(derived).is_dir(), "nothing was derived");
    score.count(
        "convert, tables cut into parts, derived ones",
        lake.disk.close(),
    );

    let mut lake = Recorded::new(source());
    for shard in ["2/3", "0/3", "1/3"] {
        let ended = lake.run(&reject(&["--shard", shard]), None);
        assert!(matches!(ended.status.code(), Some(0 | 3)), "{ended:?}");
    }
    lake.ends(&["commit"], 3);
    score.count("shards and commit", lake.disk.close());

    let mut lake = Recorded::new(source());
    lake.scratch
        .part("job_events", 0, 2, good("job_events").as_bytes());
    lake.scratch
        .only("machine_events", good("machine_events").as_bytes());
    // The smallest part is the last one.
    lake.scratch.part("job_events", 1, 2, b"bad\n");
    lake.ends(&["convert", "--threads", "1"], 4);
    lake.scratch
        .part("job_events", 1, 2, good("job_events").as_bytes());
    assert!(
        lake.out.join("_tracelake/facts").exists(),
        "no part was finished"
    );
    lake.ends(&["convert", "--threads", "1"], 0);
    score.count("a run that resumes", lake.disk.close());

    let mut lake = Recorded::new(source());
    lake.ends(&REJECT, 3);
    lake.ends(&["release", "--allow-missing", "--allow-rejects"], 0);
    lake.scratch
        .only("machine_attributes", good("machine_attributes").as_bytes());
    lake.ends(&REJECT, 3);
    lake.ends(&["release", "--allow-missing", "--allow-rejects"], 0);
    score.count(
        "a lake that is released, extended and released again",
        lake.disk.close(),
    );
    score.close();
}

/// Kills a command before each of its changes, runs it again, and expects the lake of an undisturbed run.
fn kill_everywhere(
    score: &mut Score,
    what: &str,
    before: Option<&Path>,
    command: &[&str],
    code: i32,
) {
    let start = || {
        let mut lake = Recorded::new(source());
        if let Some(before) = before {
            copy(before, &lake.out);
            lake.disk = Disk::new(&lake.out);
        }
        lake
    };
    let mut whole = start();
    whole.ends(command, code);
    let expected = tree(&whole.out);
    for changes in 0.. {
        if !score.is_due() {
            continue;
        }
        let mut lake = start();
        let ended = lake.run(command, Some(changes));
        if ended.status.signal().is_none() {
            assert_eq!(ended.status.code(), Some(code), "{ended:?}");
            break;
        }
        lake.ends(command, code);
        let outcome = lake
            .disk
            .close()
            .and_then(|()| ensure(tree(&lake.out) == expected, || "another lake".to_owned()));
        score.count(&format!("{what}, killed after {changes} changes"), outcome);
    }
}

#[test]
#[cfg_attr(not(preload), ignore = "needs glibc and a C compiler")]
fn a_run_after_a_kill_syncs_what_the_killed_one_did_not() {
    let mut score = Score::one_in(5, "kills between two changes");
    kill_everywhere(&mut score, "convert", None, &REJECT, 3);
    let mut finished = Recorded::new(source());
    finished.ends(&REJECT, 3);
    let before = Some(finished.out.as_path());
    let release = ["release", "--allow-missing", "--allow-rejects", "--delta"];
    kill_everywhere(&mut score, "release", before, &release, 0);
    let mut released = Recorded::new(source());
    released.ends(&reject(&["--tables", "machine_events"]), 3);
    released.ends(&release, 0);
    let before = Some(released.out.as_path());
    kill_everywhere(&mut score, "convert, more tables", before, &REJECT, 3);
    score.close();
}
