//! Runs of `cluster` that end early, are refused, or resume.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Instant;

use tracelake_testkit::{Scratch, assert_same_tree, convert, ended, program, run, tree, unfinish};

use super::{cluster, compare, lake};

/// Three files for each job.
const BY_JOB: [&str; 4] = ["--by", "job", "--files", "3"];

fn arguments<'a>(lake: &'a Path, out: &'a Path) -> Vec<&'a str> {
    let paths = [lake, out].map(|path| path.to_str().unwrap());
    [&["cluster"][..], &paths, &BY_JOB].concat()
}

#[test]
fn a_killed_run_resumes_to_the_same_lake() {
    let scratch = Scratch::new();
    let lake = lake(&scratch, &[]);
    let whole = scratch.path().join("whole");
    let begun = Instant::now();
    cluster(&lake, &whole, &BY_JOB).well();
    let taken = begun.elapsed();
    let out = scratch.path().join("out");
    for share in [0.1, 0.3, 0.5, 0.7, 0.9] {
        for _ in 0..2 {
            let mut command = program();
            command.args(arguments(&lake, &out));
            let mut child = command.stderr(Stdio::null()).spawn().unwrap();
            sleep(taken.mul_f64(share));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        cluster(&lake, &out, &BY_JOB).well();
        assert_same_tree(&tree(&out), &tree(&whole), &share.to_string());
        fs::remove_dir_all(&out).unwrap();
    }
}

#[test]
fn finished_files_are_kept() {
    let scratch = Scratch::new();
    let lake = lake(&scratch, &[]);
    let out = scratch.path().join("out");
    cluster(&lake, &out, &BY_JOB).well();
    let whole = tree(&out);
    // Nothing to do.
    let again = cluster(&lake, &out, &BY_JOB);
    again.well();
    again.prints("0 files made");
    // Before the commit, with one file lost and one damaged.
    unfinish(&out);
    let lost = out.join("task_usage/file_number=1/part-00001-of-00003.parquet");
    fs::remove_file(lost).unwrap();
    let damaged = out.join("job_events/file_number=2/part-00002-of-00003.parquet");
    fs::write(damaged, "damaged").unwrap();
    let resumed = cluster(&lake, &out, &BY_JOB);
    resumed.well();
    resumed.prints("2 files made, 12 kept from before");
    assert_same_tree(&tree(&out), &whole, "resumed");
    // Table by table.
    let grown = scratch.path().join("grown");
    for tables in ["job_events,machine_events", "task_usage", "task_events"] {
        cluster(
            &lake,
            &grown,
            &[&BY_JOB[..], &["--tables", tables]].concat(),
        )
        .well();
    }
    cluster(&lake, &grown, &BY_JOB).well();
    assert_same_tree(&tree(&grown), &whole, "grown");
}

#[test]
fn another_way_or_another_lake_is_refused() {
    let scratch = Scratch::new();
    let lake = lake(&scratch, &["--tables", "job_events,machine_events"]);
    let out = scratch.path().join("out");
    cluster(&lake, &out, &BY_JOB).well();
    let before = tree(&out);
    for (options, says) in [
        (
            &["--by", "machine", "--files", "3"][..],
            "clustered by job into 3 files a table; this run clusters by machine",
        ),
        (
            &["--by", "job", "--files", "4"],
            "this run clusters by job into 4 files a table",
        ),
        (
            &["--compact", "--files", "3"],
            "this run clusters without a key",
        ),
    ] {
        cluster(&lake, &out, options).refuses(6, says);
    }
    convert(&scratch.path().join("source"), &out, &["--allow-missing"])
        .refuses(6, "this run doesn't cluster");
    cluster(&out, &lake, &BY_JOB).refuses(6, "the lake wasn't clustered; this run clusters by job");
    assert_same_tree(&tree(&out), &before, "refused");
    // The lake grows, so that it is another one.
    convert(&scratch.path().join("source"), &lake, &["--allow-missing"]).well();
    cluster(&lake, &out, &BY_JOB).refuses(6, "the one it was clustered from has changed");
    assert_same_tree(&tree(&out), &before, "refused");
    let replaced = cluster(&lake, &out, &[&BY_JOB[..], &["--overwrite"]].concat());
    replaced.well();
    compare(&out, &lake).exits(0);
}

#[test]
fn what_is_no_lake_is_refused() {
    let scratch = Scratch::new();
    let lake = lake(&scratch, &["--tables", "job_events,machine_events"]);
    let out = scratch.path().join("out");
    let source = scratch.path().join("source");
    cluster(&source, &out, &BY_JOB).refuses(6, "not a finished lake");
    cluster(&lake, &source, &BY_JOB).refuses(6, "the directory holds something else");
    cluster(&lake, &lake.join("inside"), &BY_JOB).refuses(6, "OUT is inside SRC");
    cluster(&lake, &out, &["--by", "jobs"]).refuses(2, "did you mean job?");
    cluster(&lake, &out, &["--by", "job", "--tables", "task_usage"])
        .refuses(2, "the lake has no task_usage");
    cluster(&lake, &out, &["--by", "job", "--tables", "tasks"]).refuses(2, "has no table 'tasks'");
    let spill = scratch.path().join("nowhere");
    let options = [&BY_JOB[..], &["--spill", spill.to_str().unwrap()]].concat();
    cluster(&lake, &out, &options).refuses(2, "name an existing directory with --spill");
    for wrong in [
        &["--by", "job", "--compact"][..],
        &[],
        &["--by", "job", "--files", "2", "--file-size", "1MB"],
        &["--by", "job", "--files", "0"],
        &["--by", "job", "--memory", "63MB"],
        &["--by", "job", "--file-size", "0"],
    ] {
        cluster(&lake, &out, wrong).exits(2);
    }
    // Nothing was made.
    assert_eq!(tree(&out), None);
    // A lake without its manifest.
    unfinish(&lake);
    cluster(&lake, &out, &BY_JOB).refuses(6, "not a finished lake");
}

#[test]
fn a_dry_run_changes_nothing() {
    let scratch = Scratch::new();
    let lake = lake(&scratch, &[]);
    let out = scratch.path().join("out");
    let dry = [&BY_JOB[..], &["--dry-run"]].concat();
    let planned = cluster(&lake, &out, &dry);
    planned.exits(0);
    planned.shows("job_events: ");
    planned.shows(" -> 3 files, sorted by job_id, time\n");
    planned.shows(" -> copied\n");
    assert_eq!(tree(&out), None);
    cluster(&lake, &out, &BY_JOB).well();
    let before = tree(&out);
    cluster(&lake, &out, &dry).shows(", 3 done\n");
    assert_same_tree(&tree(&out), &before, "planned");
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_an_error_and_no_end() {
    let scratch = Scratch::new();
    let lake = lake(&scratch, &[]);
    let out = scratch.path().join("out");
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 64 && exec \"$@\"", "sh"]);
    limited
        .arg(env!("CARGO_BIN_EXE_tracelake"))
        .args(arguments(&lake, &out));
    let run = ended(limited.output().unwrap());
    run.refuses(1, "write");
    assert!(!out.join("_tracelake/manifest.json").exists());
    // What was staged or sorted is gone.
    assert!(!out.join("_tracelake/staging").exists());
    cluster(&lake, &out, &BY_JOB).well();
    let whole = scratch.path().join("whole");
    cluster(&lake, &whole, &BY_JOB).well();
    assert_same_tree(&tree(&out), &tree(&whole), "resumed");
}

#[test]
fn a_damaged_file_of_the_lake_is_named() {
    let scratch = Scratch::new();
    let lake = lake(&scratch, &[]);
    let path = "task_events/file_number=1/part-00001-of-00003.parquet";
    let mut bytes = fs::read(lake.join(path)).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(lake.join(path), bytes).unwrap();
    let out = scratch.path().join("out");
    let run = cluster(&lake, &out, &BY_JOB);
    run.refuses(5, path);
    assert!(!out.join("task_events").exists());
    assert!(!out.join("_tracelake/manifest.json").exists());
}

#[test]
fn rows_are_sorted_elsewhere_if_asked() {
    let scratch = Scratch::new();
    let lake = lake(&scratch, &["--tables", "job_events"]);
    let (out, spill) = (scratch.path().join("out"), scratch.path().join("spill"));
    fs::create_dir(&spill).unwrap();
    let options = [&BY_JOB[..], &["--spill", spill.to_str().unwrap()]].concat();
    cluster(&lake, &out, &options).well();
    assert_eq!(fs::read_dir(&spill).unwrap().count(), 0);
    run(["verify", out.to_str().unwrap()]).exits(0);
}
