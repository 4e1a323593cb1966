//! Lakes that grow by shards, and shards that a plain run continues.

use std::fs;

use super::{assert_same, commit, shard};
use tracelake_testkit::{RELEASE_FILES, Scratch, convert, generate, run};

#[test]
fn a_plain_run_continues_what_shards_began() {
    let scratch = Scratch::with_sample(3, 60);
    scratch.convert_well(&[]);
    let out = scratch.path().join("sharded");
    shard(&scratch.src(), &out, 1, 3, &[]).well();
    let run = convert(&scratch.src(), &out, &["--progress", "json"]);
    run.well();
    run.prints("\"event\":\"kept\"");
    assert_same(&out, &scratch.out(), "continued");
}

#[test]
fn shards_continue_what_a_plain_run_began() {
    let scratch = Scratch::with_sample(3, 60);
    scratch.convert_well(&[]);
    let out = scratch.path().join("sharded");
    let last = "machine_events/part-00000-of-00001.csv.gz";
    let whole = fs::read(scratch.src().join(last)).unwrap();
    scratch.file(last, &whole[..20]);
    convert(&scratch.src(), &out, &["--threads", "1"]).exits(5);
    scratch.file(last, &whole);
    let runs = [0, 1].map(|index| shard(&scratch.src(), &out, index, 2, &["--progress", "json"]));
    for run in &runs {
        run.well();
    }
    let said = runs.map(|run| run.stderr).concat();
    assert!(said.contains("\"event\":\"kept\""), "{said}");
    commit(&out).well();
    assert_same(&out, &scratch.out(), "continued");
}

#[test]
fn overwriting_replaces_what_shards_began() {
    let scratch = Scratch::with_sample(3, 60);
    scratch.convert_well(&["--layout", "flat"]);
    let out = scratch.path().join("sharded");
    shard(&scratch.src(), &out, 1, 3, &[]).well();
    convert(&scratch.src(), &out, &["--overwrite", "--layout", "flat"]).well();
    assert_same(&out, &scratch.out(), "overwritten");
}

/// Shards that add to a released lake leave it as it is until they are committed, and the files of the release then describe
/// an older manifest.
#[test]
fn a_released_lake_grows_by_shards() {
    let scratch = Scratch::with_sample(3, 60);
    scratch.convert_well(&[]);
    let grown = scratch.path().join("grown");
    convert(
        &scratch.src(),
        &grown,
        &["--tables", "job_events,machine_events"],
    )
    .well();
    let lake = grown.to_str().unwrap();
    let release = ["release", lake, "--allow-missing"];
    run(release).well();
    let manifest = || fs::read(grown.join("_tracelake/manifest.json")).unwrap();
    let before = manifest();
    let more = [
        "--tables",
        "job_events,task_events,task_usage,machine_attributes,task_constraints",
    ];
    for index in [2, 0] {
        shard(&scratch.src(), &grown, index, 3, &more).well();
        assert!(manifest() == before && grown.join("README.md").exists());
        run(["verify", lake]).well();
    }
    commit(&grown).exits(6);
    shard(&scratch.src(), &grown, 1, 3, &more).well();
    commit(&grown).well();
    let stale = "describe an older manifest";
    let verified = run(["verify", lake]);
    verified.well();
    verified.prints(stale);
    run(["inspect", lake]).shows(stale);
    run(release).well();
    let verified = run(["verify", lake]);
    assert!(!verified.stderr.contains(stale), "{}", verified.stderr);
    for name in RELEASE_FILES {
        fs::remove_file(grown.join(name)).unwrap();
    }
    assert_same(&grown, &scratch.out(), "grown");
}

/// A release that a user changed is never replaced, and disturbs no run.
#[test]
fn a_changed_release_stays() {
    let scratch = Scratch::with_sample(1, 10);
    let out = scratch.out();
    convert(&scratch.src(), &out, &["--tables", "job_events"]).well();
    let release = ["release", out.to_str().unwrap(), "--allow-missing"];
    run(release).well();
    fs::write(out.join("README.md"), "mine").unwrap();
    shard(&scratch.src(), &out, 0, 1, &[]).well();
    commit(&out).well();
    run(release).refuses(6, "was changed since the release");
    assert_eq!(fs::read(out.join("README.md")).unwrap(), b"mine");
}

/// A table that an earlier run has finished is not of any shard, but what is derived from it is.
#[test]
fn what_is_derived_from_a_finished_table_is_shared_out() {
    let scratch = Scratch::new();
    let src = scratch.path().join("alibaba");
    generate("alibaba-2018", &src, &["--rows", "3000"]);
    let part_rows = ["--part-rows", "700"];
    let tasks = [&part_rows[..], &["--tables", "batch_task"]].concat();
    let derived = ["--tables", "machine_meta", "--derive", "dag"];
    let derived = [&part_rows[..], &derived].concat();
    let (one, out) = (scratch.path().join("one"), scratch.path().join("sharded"));
    for lake in [&one, &out] {
        convert(&src, lake, &tasks).well();
    }
    convert(&src, &one, &derived).well();
    for index in [1, 0] {
        shard(&src, &out, index, 2, &derived).well();
    }
    commit(&out).well();
    assert_same(&out, &one, "derived from a finished table");
}
