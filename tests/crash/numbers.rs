//! Numbers in the names of files: none of them decides how much memory a run takes.

use std::fs;

use crate::crash::child::measured;
use tracelake_testkit::{Score, Scratch, ensure, good_line, program, seal};

#[test]
fn a_name_with_a_huge_number_is_refused_or_costs_nothing() {
    let mut score = Score::new("huge numbers in names");
    let row = good_line("job_events");
    for (name, arguments, code) in [
        ("part-00000-of-4294967295.csv", &[][..], 1),
        ("part-00000-of-4294967295.csv", &["--allow-missing"], 1),
        ("part-00000-of-500000000.csv", &["--allow-missing"], 1),
        ("part-4294967294-of-4294967295.csv", &["--allow-missing"], 1),
        ("part-00000-of-1000000.csv", &["--allow-missing"], 0),
        ("part-00000-of-1000000.csv", &["--parts", "0"], 0),
        ("part-00000-of-1000000.csv", &[], 1),
    ] {
        let scratch = Scratch::new();
        scratch.file(&format!("job_events/{name}"), row.as_bytes());
        let mut command = program();
        command.arg("convert").args([scratch.src(), scratch.out()]);
        command.args(arguments);
        let (run, peak) = measured(command);
        let outcome = ensure(run.code == code, || {
            format!("exit {}: {}", run.code, run.stderr)
        });
        let outcome = outcome
            .and_then(|()| ensure(run.stderr.len() < 2000, || "says too much".to_owned()))
            .and_then(|()| ensure(peak < 256 << 20, || format!("{} MiB", peak >> 20)));
        score.count(&format!("{name} {arguments:?}"), outcome);
    }
    score.close();
}

/// Numbers of shards, on the command line and in a plan that was tampered with.
#[test]
fn a_huge_number_of_shards_is_refused() {
    let mut score = Score::new("huge numbers of shards");
    let row = good_line("job_events");
    let scratch = Scratch::new();
    scratch.file("job_events/part-00000-of-00001.csv", row.as_bytes());
    let shard = |shard: &str| {
        let mut command = program();
        command.arg("convert").args([scratch.src(), scratch.out()]);
        command.args(["--shard", shard]);
        command
    };
    let mut commit = program();
    commit.arg("commit").arg(scratch.out());
    let plans = scratch.out().join("_tracelake/plans");
    for (name, mut command, code, says) in [
        (
            "0/4294967295",
            shard("0/4294967295"),
            2,
            "at most 1000000 shards",
        ),
        ("0/1000001", shard("0/1000001"), 2, "at most 1000000 shards"),
        ("0/1000000", shard("0/1000000"), 0, "shard 0 of 1000000"),
        (
            "in the plan, to the commit",
            commit,
            6,
            "it has 4294967295 shards",
        ),
    ] {
        if name.starts_with("in the plan") {
            let plan = fs::read_dir(&plans)
                .unwrap()
                .next()
                .unwrap()
                .unwrap()
                .path();
            let text = fs::read_to_string(&plan).unwrap();
            let text = text.replace("\"shards\": 1000000", "\"shards\": 4294967295");
            fs::write(&plan, seal(&text)).unwrap();
        }
        command.env("NO_COLOR", "1");
        let (run, peak) = measured(command);
        let outcome = ensure(run.code == code && run.stderr.contains(says), || {
            format!("exit {}: {}", run.code, run.stderr)
        });
        let outcome =
            outcome.and_then(|()| ensure(peak < 128 << 20, || format!("{} MiB", peak >> 20)));
        score.count(name, outcome);
    }
    score.close();
}
