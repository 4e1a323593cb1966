//! The program as the first process of a container, which gets no signal that it doesn't ask for.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::crash::child::{AT_ONCE, HANGS, Working, busy};
use tracelake_testkit::{Run, Scratch, assert_same_tree, convert, run, tree};

/// A command whose program becomes process 1 of a new namespace.
fn container() -> Command {
    let mut unshare = Command::new("unshare");
    unshare.args([
        "--user",
        "--map-root-user",
        "--pid",
        "--fork",
        "--mount-proc",
    ]);
    unshare.arg("--kill-child");
    unshare
}

/// The run was stopped, at once, and the next one completes its lake.
fn assert_stopped(ended: &Run, took: Duration, out: &Path) {
    assert_eq!(ended.code, 143, "{}", ended.stderr);
    ended.prints("stopped; finished parts are kept");
    assert!(took < AT_ONCE, "took {took:?}");
    assert!(!out.join("_tracelake/manifest.json").exists());
    convert(&busy().src(), out, &[]).exits(0);
    assert_same_tree(&tree(out), &tree(&busy().out()), "after SIGTERM");
}

#[test]
#[cfg_attr(
    not(process_namespaces),
    ignore = "needs unshare, and namespaces of processes"
)]
fn sigterm_stops_the_first_process() {
    let scratch = Scratch::new();
    let mut command = container();
    command.arg(env!("CARGO_BIN_EXE_tracelake"));
    let mut working = Working::start_under(command, &busy().src(), &scratch.out(), &[]);
    working.wait_for("\"finished\"");
    working.signal_to_its_child("TERM");
    let (ended, took) = working.end();
    assert_stopped(&ended, took, &scratch.out());
}

/// A shell keeps signals to itself, so the recipe passes them on.
#[test]
#[cfg_attr(
    not(process_namespaces),
    ignore = "needs unshare, and namespaces of processes"
)]
fn sigterm_passes_through_the_recipe_of_a_shard() {
    let scratch = Scratch::new();
    let recipe = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/recipes/shard.sh");
    let bin = Path::new(env!("CARGO_BIN_EXE_tracelake")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = container();
    command.arg("sh").arg(recipe).env("PATH", path);
    command.env("SRC", busy().src()).env("OUT", scratch.out());
    let one_shard = [
        ("JOB_COMPLETION_INDEX", "0"),
        ("SHARDS", "1"),
        ("THREADS", "1"),
    ];
    command.envs(one_shard).env_remove("SLURM_ARRAY_TASK_ID");
    let working = Working::start_as_it_is(command);
    let begun = Instant::now();
    let staging = scratch.out().join("_tracelake/staging");
    while fs::read_dir(&staging).map_or(0, Iterator::count) == 0 {
        assert!(begun.elapsed() < HANGS, "the shard doesn't begin");
        sleep(Duration::from_millis(1));
    }
    working.signal_to_its_child("TERM");
    let (ended, took) = working.end();
    assert_eq!(ended.code, 143, "{}", ended.stderr);
    assert!(took < AT_ONCE, "took {took:?}");
    ended.prints("stopped; finished parts are kept");
    // The same shard again, and the commit.
    let out = scratch.out();
    convert(&busy().src(), &out, &["--shard", "0/1"]).well();
    run(["commit", out.to_str().unwrap()]).well();
    assert_same_tree(
        &tree(&out),
        &tree(&busy().out()),
        "after SIGTERM to the recipe",
    );
}
