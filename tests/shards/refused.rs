//! Refusals of workers and commits, which change nothing.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tracelake_core::origin::{ENCODING, FORMAT};
use tracelake_core::seal;

use super::{assert_same, assert_undisturbed, commit, shard, start};
use tracelake_testkit::{
    Scratch, assert_same_tree, convert, ended, good_line, good_row, output_path, run, tree,
};

/// A lake of which shard 0 of 2 is done.
fn begun() -> Scratch {
    let scratch = Scratch::with_sample(2, 30);
    shard(&scratch.src(), &scratch.out(), 0, 2, &[]).well();
    scratch
}

#[test]
fn another_identity_is_refused_before_anything_is_written() {
    let scratch = begun();
    let out = scratch.out();
    let before = tree(&out);
    let others: &[(&[&str], &str)] = &[
        (
            &["--shard", "1/2", "--compression", "snappy"],
            "compression was zstd:3 and is now snappy",
        ),
        (
            &["--shard", "1/2", "--layout", "flat"],
            "layout was hive and is now flat",
        ),
        (&["--layout", "flat"], "layout was hive and is now flat"),
        // Each difference is named.
        (
            &["--layout", "flat", "--compression", "none"],
            "compression was zstd:3 and is now none; layout was hive and is now flat",
        ),
    ];
    for (arguments, says) in others {
        for dry in [&["--dry-run"][..], &[]] {
            convert(&scratch.src(), &out, &[*arguments, dry].concat()).refuses(6, says);
            assert_same_tree(&tree(&out), &before, says);
        }
    }
}

/// Shards of several commands may work on one lake, and a commit needs all of each.
#[test]
fn plans_are_committed_one_by_one() {
    let scratch = begun();
    let out = scratch.out();
    let narrower = ["--tables", "job_events"];
    shard(&scratch.src(), &out, 0, 1, &narrower).well();
    commit(&out).refuses(6, "not finished: shard 1: ");
    let manifest = tracelake_testkit::manifest(&out);
    assert_eq!(manifest["tables"][0]["name"], "job_events");
    shard(&scratch.src(), &out, 1, 2, &[]).well();
    commit(&out).well();
    assert_undisturbed(&scratch, &out, &[], "both plans");
}

/// A source that changed since its part was made is refused, and the refusal names the way out.
#[test]
fn another_source_is_refused_until_its_part_is_forgotten() {
    let scratch = begun();
    let out = scratch.out();
    shard(&scratch.src(), &out, 1, 2, &[]).well();
    let changed = good_line("job_events");
    scratch.part("job_events", 1, 2, changed.as_bytes());
    let before = tree(&out);
    let run = convert(&scratch.src(), &out, &[]);
    run.refuses(6, "is not the file that the lake was made from");
    run.refuses(6, "--forget --tables job_events --parts 1");
    assert_same_tree(&tree(&out), &before, "refused");
    let lake = out.to_str().unwrap();
    let forget = [
        "commit",
        lake,
        "--forget",
        "--tables",
        "job_events",
        "--parts",
        "1",
    ];
    tracelake_testkit::run(forget).well();
    convert(&scratch.src(), &out, &[]).well();
    assert_undisturbed(&scratch, &out, &[], "the new source");
    // What is committed never changes.
    scratch.part("job_events", 1, 2, format!("{changed}{changed}").as_bytes());
    convert(&scratch.src(), &out, &[]).refuses(6, "another directory or --overwrite");
    convert(&scratch.src(), &out, &["--overwrite"]).well();
    assert_undisturbed(&scratch, &out, &[], "overwritten");
}

/// The only plan of a lake.
fn plan_path(out: &Path) -> PathBuf {
    let mut plans = fs::read_dir(out.join("_tracelake/plans")).unwrap();
    plans.next().unwrap().unwrap().path()
}

/// Replaces a line of the identity, and seals it again.
fn forge_identity(out: &Path, from: &str, to: &str) {
    let path = out.join("_tracelake/lake.json");
    let identity = fs::read_to_string(&path).unwrap();
    let forged = identity.replacen(from, to, 1);
    assert_ne!(identity, forged);
    let (body, _) = forged.split_once("  \"sha256\": ").unwrap();
    fs::write(&path, seal::document(body.into())).unwrap();
}

fn of_version(version: &str) -> String {
    format!("\"version\": \"{version}\"")
}

#[test]
fn another_encoding_or_format_is_refused_by_workers_and_by_the_commit() {
    for (field, known, says) in [
        ("encoding", ENCODING, "encoding was 1000 and is now"),
        ("format", FORMAT, "wrote it, in format 1000"),
    ] {
        let scratch = begun();
        let out = scratch.out();
        shard(&scratch.src(), &out, 1, 2, &[]).well();
        let line = |value: u32| format!("\"{field}\": {value}");
        forge_identity(&out, &line(known), &line(1000));
        let before = tree(&out);
        shard(&scratch.src(), &out, 1, 2, &[]).refuses(6, says);
        commit(&out).refuses(6, says);
        convert(&scratch.src(), &out, &[]).refuses(6, says);
        assert_same_tree(&tree(&out), &before, "refused");
    }
}

#[test]
fn another_version_with_the_same_encoding_goes_on_and_commits() {
    let scratch = Scratch::with_sample(2, 30);
    let out = scratch.out();
    // Before any facts name its digest.
    scratch.convert_well(&[]);
    forge_identity(
        &out,
        &of_version(env!("CARGO_PKG_VERSION")),
        &of_version("0.0.9"),
    );
    for directory in fs::read_dir(&out).unwrap() {
        let directory = directory.unwrap();
        if directory.file_name() != "_tracelake" {
            fs::remove_dir_all(directory.path()).unwrap();
        }
    }
    fs::remove_file(out.join("_tracelake/manifest.json")).unwrap();
    for index in [0, 1] {
        shard(&scratch.src(), &out, index, 2, &[]).well();
    }
    commit(&out).well();
    let manifest = fs::read_to_string(out.join("_tracelake/manifest.json")).unwrap();
    assert!(manifest.contains(&of_version("0.0.9")));
}

/// The name of a plan is its digest, so a damaged one is put again by the next shard.
#[test]
fn a_damaged_plan_is_put_again() {
    let scratch = begun();
    let out = scratch.out();
    let path = plan_path(&out);
    let plan = fs::read_to_string(&path).unwrap();
    fs::write(&path, plan.replacen("\"shards\": 2", "\"shards\": 3", 1)).unwrap();
    commit(&out).refuses(6, "the plan is damaged");
    shard(&scratch.src(), &out, 1, 2, &[]).well();
    commit(&out).well();
    assert_undisturbed(&scratch, &out, &[], "put again");
}

#[test]
fn a_commit_says_what_is_missing_and_which_shard_it_belongs_to() {
    let scratch = begun();
    let out = scratch.out();
    let before = tree(&out);
    let early = commit(&out);
    early.refuses(6, "not finished: shard 1: ");
    assert!(
        !early.message().contains("shard 0: "),
        "{}",
        early.message()
    );
    early.says("--shard 1/2");
    let json = fs::read(plan_path(&out)).unwrap();
    let plan: Value = serde_json::from_slice(&json).unwrap();
    for part in plan["parts"].as_array().unwrap() {
        let named = early.message().contains(part["table"].as_str().unwrap());
        assert!(named || part["shard"] == 0, "{}", early.message());
    }
    assert_same_tree(&tree(&out), &before, "early");
    shard(&scratch.src(), &out, 1, 2, &[]).well();
    // A part that is damaged is missing again, and its shard makes it again.
    let part = out.join(output_path("task_usage", 1, 2));
    let bytes = fs::read(&part).unwrap();
    fs::write(&part, &bytes[..bytes.len() - 1]).unwrap();
    let damaged = commit(&out);
    damaged.refuses(6, "task_usage 1");
    damaged.prints("is damaged");
    for index in [0, 1] {
        shard(&scratch.src(), &out, index, 2, &[]).well();
    }
    commit(&out).well();
    assert_undisturbed(&scratch, &out, &[], "mended");
}

#[test]
fn a_commit_refuses_what_is_not_sharded() {
    let scratch = Scratch::with_sample(1, 10);
    let nowhere = scratch.path().join("nowhere");
    commit(&nowhere).refuses(6, "not a lake");
    assert!(!nowhere.exists());
    commit(&scratch.src()).refuses(6, "not a lake");
    let begun = scratch.path().join("my lake");
    fs::create_dir_all(begun.join("_tracelake")).unwrap();
    fs::write(begun.join("_tracelake/lock"), "").unwrap();
    commit(&begun).refuses(6, "not a lake");
    // A plain run that failed is finished by a plain run.
    let last = "task_usage/part-00000-of-00001.csv.gz";
    let whole = fs::read(scratch.src().join(last)).unwrap();
    scratch.file(last, &whole[..20]);
    scratch.convert(&["--threads", "1"]).exits(5);
    scratch.file(last, &whole);
    let out = scratch.out();
    if out.exists() {
        commit(&out).refuses(6, "no plan of shards is in it");
    }
    scratch.convert_well(&[]);
    // A finished lake is committed already, however it was made.
    let before = tree(&out);
    commit(&out).well();
    assert_same_tree(&tree(&out), &before, "finished");
}

#[test]
fn unknown_files_are_refused_by_the_commit() {
    let scratch = begun();
    let out = scratch.out();
    shard(&scratch.src(), &out, 1, 2, &[]).well();
    for (name, says) in [
        ("job_events/notes.txt", "isn't part of the lake"),
        (
            "job_events/file_number=7/part-00007-of-00008.parquet",
            "no run recorded: job_events/file_number=7/part-00007-of-00008.parquet",
        ),
    ] {
        let path = out.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "x").unwrap();
        commit(&out).refuses(6, says);
        assert!(!out.join("_tracelake/manifest.json").exists());
        fs::remove_file(&path).unwrap();
    }
    commit(&out).well();
}

/// Any number of runs work on a lake at the same time; only what has it alone waits for none of them.
#[test]
fn a_run_waits_for_no_worker() {
    let busy = crate::crash::busy();
    let scratch = Scratch::new();
    let out = scratch.out();
    let mut working = crate::crash::Working::start(&busy.src(), &out, &["--shard", "0/2"]);
    working.wait_for("\"started\"");
    working.hold();
    let lake = out.to_str().unwrap();
    let says = "another tracelake is working on this lake";
    run(["commit", lake, "--forget"]).refuses(6, says);
    run(["commit", lake, "--remove-unnamed"]).refuses(6, says);
    convert(&busy.src(), &out, &["--overwrite"]).refuses(6, says);
    commit(&out).refuses(6, "not finished");
    // Another shard, and a run that makes all of it.
    let other = start(&busy.src(), &out, 1, 2, &[]);
    ended(other.wait_with_output().unwrap()).well();
    convert(&busy.src(), &out, &[]).well();
    working.end().0.well();
    commit(&out).well();
    assert_same(&out, &busy.out(), "after all");
}

#[test]
fn shards_and_overwriting_exclude_each_other() {
    let scratch = Scratch::with_sample(1, 10);
    for bad in ["4/4", "0/0", "1", "-1/2", "a/b"] {
        let run = convert(&scratch.src(), &scratch.out(), &["--shard", bad]);
        assert_eq!(run.code, 2, "{bad}: {}", run.stderr);
    }
    convert(
        &scratch.src(),
        &scratch.out(),
        &["--shard", "0/2", "--overwrite"],
    )
    .exits(2);
    assert!(!scratch.out().exists());
}

/// A source with one bad row in each part of a table.
fn with_bad_rows() -> Scratch {
    let scratch = Scratch::new();
    let good = good_row("job_events");
    for number in 0..3 {
        let text = format!("{good}\nbad\n{good}\n");
        scratch.part("job_events", number, 3, text.as_bytes());
    }
    scratch.good("machine_events");
    scratch
}

#[test]
fn the_policy_may_differ_until_a_row_is_rejected() {
    let scratch = with_bad_rows();
    let one = scratch.path().join("one");
    assert_eq!(
        convert(&scratch.src(), &one, &["--on-bad-row", "reject"]).code,
        3
    );
    let out = scratch.out();
    // Of four files and four shards, one has no bad row; which one it is, the plan says.
    let failed: Vec<bool> = (0..4)
        .map(|index| shard(&scratch.src(), &out, index, 4, &[]).code == 4)
        .collect();
    assert_eq!(
        failed.iter().filter(|&&failed| failed).count(),
        3,
        "{failed:?}"
    );
    for index in (0..4).filter(|&index| failed[index as usize]) {
        // A shard looks at its own parts alone.
        shard(&scratch.src(), &out, index, 4, &[]).exits(4);
        let rejecting = ["--on-bad-row", "reject"];
        shard(&scratch.src(), &out, index, 4, &rejecting).exits(3);
        shard(&scratch.src(), &out, index, 4, &[]).refuses(6, "has 1 rejected row");
    }
    convert(&scratch.src(), &out, &[]).refuses(6, "has 1 rejected row");
    commit(&out).exits(3);
    assert_same(&out, &one, "rejected");
}

#[test]
fn rejects_are_counted_by_each_worker_and_by_the_commit() {
    let scratch = with_bad_rows();
    let out = scratch.out();
    let options = ["--on-bad-row", "reject", "--max-rejects", "1"];
    for index in 0..4 {
        let run = shard(&scratch.src(), &out, index, 4, &options);
        assert!([0, 3].contains(&run.code), "{}", run.stderr);
    }
    run(["commit", out.to_str().unwrap(), "--max-rejects", "1"])
        .refuses(4, "more than 1 rows are rejected");
    assert!(!out.join("_tracelake/manifest.json").exists());
    run(["commit", out.to_str().unwrap(), "--max-rejects", "3"]).exits(3);
    assert_undisturbed(&scratch, &out, &["--on-bad-row", "reject"], "counted");
}
