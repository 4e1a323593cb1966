//! Runs over several cells that are killed, and shards over several cells.

use std::fs;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Instant;

use super::{directory, make, two, well};
use tracelake_testkit::{Scratch, assert_same_tree, convert, program, run, tree};

#[test]
fn a_killed_run_resumes_to_the_same_lake() {
    let scratch = Scratch::new();
    for (cell, seed) in [("a", "1"), ("b", "2")] {
        make(&directory(&scratch.src(), cell), seed, "2000");
    }
    let begun = Instant::now();
    well(&scratch.src(), &scratch.out(), &[]);
    let whole = begun.elapsed();
    let out = scratch.path().join("killed");
    for share in [0.2, 0.4, 0.5, 0.6, 0.8] {
        for _ in 0..2 {
            let mut command = program();
            command.arg("convert").args([scratch.src(), out.clone()]);
            let mut child = command.stderr(Stdio::null()).spawn().unwrap();
            sleep(whole.mul_f64(share));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        convert(&scratch.src(), &out, &[]).well();
        assert_same_tree(&tree(&out), &tree(&scratch.out()), &share.to_string());
        fs::remove_dir_all(&out).unwrap();
    }
}

#[test]
fn shards_over_two_cells_make_the_lake_of_one_run() {
    let scratch = two();
    well(&scratch.src(), &scratch.out(), &[]);
    let out = scratch.path().join("sharded");
    for shard in ["2/3", "0/3"] {
        well(&scratch.src(), &out, &["--shard", shard]);
    }
    let early = run(["commit", out.to_str().unwrap()]);
    early.refuses(6, "shard 1: ");
    early.says(" of cell ");
    run(["inspect", out.to_str().unwrap()]).shows(" of cell ");
    well(&scratch.src(), &out, &["--shard", "1/3"]);
    run(["commit", out.to_str().unwrap()]).well();
    assert_same_tree(&tree(&out), &tree(&scratch.out()), "shards");
}

#[test]
fn shards_add_a_cell() {
    let scratch = two();
    well(&scratch.src(), &scratch.out(), &[]);
    let out = scratch.path().join("sharded");
    well(&directory(&scratch.src(), "a"), &out, &[]);
    for shard in ["0/2", "1/2"] {
        well(&directory(&scratch.src(), "b"), &out, &["--shard", shard]);
    }
    run(["commit", out.to_str().unwrap()]).well();
    assert_same_tree(&tree(&out), &tree(&scratch.out()), "grown");
}
