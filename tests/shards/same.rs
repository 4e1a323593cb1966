//! Shards in any order, at once, repeated and late.

use std::fs;

use serde_json::Value;

use super::{assert_same, commit, shard, start};
use tracelake_testkit::{Scratch, convert, ended, generate, run, tree};

#[test]
fn shards_in_any_order_make_the_lake_of_one_run() {
    let scratch = Scratch::with_sample(3, 60);
    for options in [&[][..], &["--layout", "flat"], &["--format", "arrow"]] {
        let one = scratch.path().join("one");
        convert(&scratch.src(), &one, options).well();
        // More shards than parts leave some of them without work.
        for of in [1, 2, 5, 40] {
            let out = scratch.path().join("sharded");
            for index in (0..of).rev() {
                shard(&scratch.src(), &out, index, of, options).well();
                assert!(!out.join("_tracelake/manifest.json").exists());
            }
            commit(&out).well();
            assert_same(&out, &one, &format!("{of} shards, {options:?}"));
            fs::remove_dir_all(&out).unwrap();
        }
        fs::remove_dir_all(&one).unwrap();
    }
}

/// Each shard twice at the same time, as a scheduler does that doesn't trust a slow machine.
#[test]
fn shards_at_once_and_repeated_make_the_lake_of_one_run() {
    let scratch = Scratch::with_sample(3, 60);
    scratch.convert_well(&[]);
    let out = scratch.path().join("sharded");
    let workers: Vec<_> = [0, 1, 2, 3, 3, 2, 1, 0]
        .map(|index| start(&scratch.src(), &out, index, 4, &[]))
        .into();
    for worker in workers {
        ended(worker.wait_with_output().unwrap()).well();
    }
    commit(&out).well();
    assert_same(&out, &scratch.out(), "at once");
}

#[test]
fn a_late_worker_and_a_second_commit_change_nothing() {
    let scratch = Scratch::with_sample(2, 30);
    let out = scratch.out();
    for index in [0, 1] {
        shard(&scratch.src(), &out, index, 2, &[]).well();
    }
    commit(&out).well();
    let before = tree(&out);
    let late = shard(&scratch.src(), &out, 1, 2, &[]);
    late.well();
    late.prints("the lake is finished");
    commit(&out).well();
    // Nor does it matter how many shards the late worker thinks there are.
    shard(&scratch.src(), &out, 6, 7, &["--parts", "0"]).well();
    assert!(tree(&out) == before, "something changed");
}

#[test]
fn two_commits_at_once_make_one_lake() {
    let scratch = Scratch::with_sample(3, 60);
    scratch.convert_well(&[]);
    for _ in 0..5 {
        let out = scratch.path().join("sharded");
        for index in 0..3 {
            shard(&scratch.src(), &out, index, 3, &[]).well();
        }
        let commits = [(); 3].map(|()| {
            let mut command = tracelake_testkit::program();
            command.arg("commit").arg(&out);
            command.stdout(std::process::Stdio::piped());
            command
                .stderr(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        });
        let codes = commits.map(|commit| ended(commit.wait_with_output().unwrap()).code);
        assert_eq!(codes, [0; 3]);
        assert_same(&out, &scratch.out(), "committed");
        fs::remove_dir_all(&out).unwrap();
    }
}

/// A table in one file is the work of one shard, and so is what is derived from it.
#[test]
fn files_that_are_cut_are_the_work_of_one_shard() {
    let scratch = Scratch::new();
    let src = scratch.path().join("alibaba");
    generate("alibaba-2018", &src, &["--rows", "3000"]);
    let options = ["--part-rows", "700", "--derive", "dag"];
    for more in [&[][..], &["--parts", "0-1"], &["--tables", "batch_task"]] {
        let options = [&options[..], more].concat();
        let one = scratch.path().join("one");
        convert(&src, &one, &options).well();
        let out = scratch.path().join("sharded");
        for index in [2, 0, 1] {
            shard(&src, &out, index, 3, &options).well();
        }
        // Once more: now everything is kept.
        shard(&src, &out, 0, 3, &options).well();
        commit(&out).well();
        assert_same(&out, &one, &format!("{more:?}"));
        fs::remove_dir_all(&out).unwrap();
        fs::remove_dir_all(&one).unwrap();
    }
    let dry = shard(&src, &scratch.out(), 0, 3, &["--dry-run"]);
    let says = dry
        .stdout
        .matches("one file is the work of one shard: shard ");
    assert_eq!(says.count(), 6, "{}", dry.stdout);
}

/// The dry run shows what the plan then says.
#[test]
fn a_dry_run_prints_the_shard_of_each_part() {
    let scratch = Scratch::with_sample(3, 60);
    let dry = shard(&scratch.src(), &scratch.out(), 1, 4, &["--dry-run"]);
    assert_eq!(dry.code, 0, "{}", dry.stderr);
    assert!(!scratch.out().exists());
    shard(&scratch.src(), &scratch.out(), 0, 4, &[]).well();
    let mut plans = fs::read_dir(scratch.out().join("_tracelake/plans")).unwrap();
    let plan = fs::read(plans.next().unwrap().unwrap().path()).unwrap();
    let plan: Value = serde_json::from_slice(&plan).unwrap();
    let mut bytes = [0; 4];
    for part in plan["parts"].as_array().unwrap() {
        let start = format!(
            "  {} -> {}/file_number={}/",
            part["source"]["path"].as_str().unwrap(),
            part["table"].as_str().unwrap(),
            part["file_number"]
        );
        let mut lines = dry.stdout.lines();
        let line = lines.find(|text| text.starts_with(&start)).unwrap();
        assert!(
            line.contains(&format!("(shard {})", part["shard"])),
            "{line}"
        );
        let shard = usize::try_from(part["shard"].as_u64().unwrap()).unwrap();
        bytes[shard] += part["source"]["bytes"].as_u64().unwrap();
    }
    // No shard has more than another by more than the largest file.
    let parts = plan["parts"].as_array().unwrap().iter();
    let largest = parts
        .map(|part| part["source"]["bytes"].as_u64().unwrap())
        .max()
        .unwrap();
    let (least, most) = (bytes.iter().min().unwrap(), bytes.iter().max().unwrap());
    assert!(most - least <= largest, "{bytes:?}");
    dry.shows("shard 1 of 4: ");
}

/// `inspect` says how far each shard is, and what to do next.
#[test]
fn inspect_says_what_is_done_and_what_is_left() {
    let scratch = Scratch::with_sample(2, 30);
    let out = scratch.out();
    let inspect = |more: &[&str]| {
        let looked = run([&["inspect", out.to_str().unwrap()][..], more].concat());
        assert_eq!(looked.code, 0, "{}", looked.stderr);
        looked.stdout
    };
    shard(&scratch.src(), &out, 1, 2, &[]).well();
    let text = inspect(&[]);
    assert!(text.starts_with("unfinished lake of "), "{text}");
    assert!(
        text.contains("run the shards that have something left"),
        "{text}"
    );
    let json: Value = serde_json::from_str(&inspect(&["--json"])).unwrap();
    assert_eq!(json["finished"], Value::from(false));
    let done = |shard: usize| json["shards"][shard]["parts_left"] == 0;
    assert!(!done(0) && done(1), "{json}");
    let tables = json["tables"].as_array().unwrap().iter();
    let missing: usize = tables
        .map(|table| table["missing"].as_array().unwrap().len())
        .sum();
    assert_eq!(json["shards"][0]["parts_left"], Value::from(missing));
    shard(&scratch.src(), &out, 0, 2, &[]).well();
    assert!(inspect(&[]).ends_with("run tracelake commit on it to finish it\n"));
    commit(&out).well();
    let json: Value = serde_json::from_str(&inspect(&["--json"])).unwrap();
    assert_eq!(
        (&json["finished"], json.get("shards")),
        (&Value::from(true), None)
    );
}

/// The first line and the last one say which shard it is, and that nothing is committed yet.
#[test]
fn json_lines_name_the_shard() {
    let scratch = Scratch::with_sample(2, 30);
    let json = ["--progress", "json"];
    let done = shard(&scratch.src(), &scratch.out(), 1, 3, &json);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let lines: Vec<Value> = done
        .stderr
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let (first, last) = (&lines[0], lines.last().unwrap());
    for line in [first, last] {
        assert_eq!(
            (&line["shard"], &line["shards"]),
            (&1.into(), &3.into()),
            "{line}"
        );
    }
    assert_eq!(last["committed"], Value::from(false));
    let finished = lines
        .iter()
        .filter(|line| line["event"] == "finished")
        .count();
    assert_eq!(first["parts"], Value::from(finished));
    assert_eq!(last["converted"], Value::from(finished));
    for index in [0, 2] {
        shard(&scratch.src(), &scratch.out(), index, 3, &[]).well();
    }
    let out = scratch.out();
    let arguments = ["commit", out.to_str().unwrap(), "--progress", "json"];
    let committed = run(arguments);
    let last: Value = serde_json::from_str(committed.stderr.lines().last().unwrap()).unwrap();
    assert_eq!(last["event"], Value::from("done"));
    assert_eq!(last["committed"], Value::from(true));
}
