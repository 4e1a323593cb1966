//! Each state of manifest and plan, and what every command does in it.

use std::collections::BTreeMap;

use super::{
    JOBS, MACHINES, MANIFEST, OTHERS, Objects, PLAN, after, lake, plan_of, planned, same, store,
    tracelake, union,
};
use tracelake_testkit::server::Answer;
use tracelake_testkit::{Score, ensure};

/// The state of the bucket after a command.
#[derive(Debug, Clone, Copy)]
enum Then {
    /// Exactly what it had before, and no request but reads.
    Untouched,
    /// The content that it had before.
    Unchanged,
    /// The lake of these tables (all if empty), as one run makes it.
    Lake(&'static str),
    /// A plan, and no manifest.
    Begun,
}

use Then::{Begun, Lake, Unchanged, Untouched};

/// A state, the tables and arguments of a command, its exit code, words of its message, and what it leaves.
type Row = (
    &'static str,
    &'static str,
    &'static [&'static str],
    i32,
    &'static [&'static str],
    Then,
);

/// Options that decide no bytes.
const REJECTING: &[&str] = &["--on-bad-row", "reject", "--max-rejects", "7"];

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("nothing", "", &[], 0, &[], Lake("")),
    ("nothing", "", &["--shard", "0/2"], 0, &[], Begun),
    ("nothing", "", &["commit"], 6, &["not a lake"], Untouched),

    ("a plan of all", "", &[], 0, &[], Lake("")),
    ("a plan of all", "", REJECTING, 0, &[], Lake("")),
    ("a plan of all", "", &["--shard", "1/2"], 0, &[], Begun),
    ("a plan of all", "", &["--shard", "1/2", "--on-bad-row", "reject", "--max-rejects", "7"], 0, &[], Begun),
    ("a plan of all", "", &["commit"], 6, &["--shard"], Unchanged),
    ("a plan of all", JOBS, &[], 6, &["plan", MACHINES], Untouched),
    ("a plan of all", "", &["--parts", "0"], 6, &["plan"], Untouched),
    ("a plan of all", "", &["--compression", "none"], 6, &["compression"], Untouched),
    ("a plan of all", "", &["--layout", "flat"], 6, &["layout"], Untouched),
    ("a plan of all", "", &["--shard", "0/3"], 6, &["shard"], Untouched),
    ("a plan of all", JOBS, &["--shard", "0/2"], 6, &["plan"], Untouched),
    ("a plan of jobs", OTHERS, &[], 6, &["plan", JOBS], Untouched),
    ("a plan of jobs", "", &[], 6, &["plan"], Untouched),
    ("a plan of jobs", OTHERS, &["--shard", "0/2"], 6, &["plan"], Untouched),
    // A plain run makes all shards, however many the plan has.
    ("a plan of all in four", "", &[], 0, &[], Lake("")),
    ("a plan of all in four", "", &["--shard", "1/2"], 6, &["shard"], Untouched),
    ("a plan of a plain run", "", &[], 0, &[], Lake("")),
    ("a plan of a plain run", OTHERS, &[], 6, &["plan"], Untouched),

    // A new plan instead of one that another process may still work on.
    ("a plan of all, no output", JOBS, &["--take-over"], 0, &[], Lake(JOBS)),
    ("a plan of jobs", "", &["--take-over"], 0, &[], Lake("")),
    ("a plan of jobs", "", &["--take-over", "--shard", "0/2"], 0, &[], Begun),
    ("jobs", JOBS, &["--take-over"], 0, &[], Lake(JOBS)),
    ("jobs, others planned", OTHERS, &["--take-over"], 0, &[], Lake("")),
    ("jobs and a foreign plan", OTHERS, &["--take-over"], 0, &[], Lake("")),

    ("jobs", JOBS, &[], 0, &[], Untouched),
    ("jobs", JOBS, REJECTING, 0, &[], Untouched),
    ("jobs", JOBS, &["--shard", "0/2"], 0, &[], Untouched),
    ("jobs", JOBS, &["--shard", "3/5"], 0, &[], Untouched),
    ("jobs", "", &["commit"], 0, &[], Untouched),
    ("jobs", JOBS, &["--compression", "none"], 6, &["compression"], Untouched),
    ("jobs", OTHERS, &["--compression", "none"], 6, &["compression"], Untouched),
    ("jobs", OTHERS, &[], 0, &[], Lake("")),
    ("jobs", "", &[], 0, &[], Lake("")),
    ("jobs", OTHERS, &["--shard", "0/2"], 0, &[], Begun),
    ("jobs", "", &["--shard", "1/2"], 0, &[], Begun),
    ("all", JOBS, &[], 0, &[], Untouched),
    ("all", "", &["--parts", "1"], 0, &[], Untouched),
    ("all", OTHERS, &["--shard", "0/2"], 0, &[], Untouched),

    ("jobs, others planned", OTHERS, &[], 0, &[], Lake("")),
    ("jobs, others planned", OTHERS, &["--shard", "0/2"], 0, &[], Begun),
    ("jobs, others planned", OTHERS, &["--shard", "0/3"], 6, &["shard"], Unchanged),
    ("jobs, others planned", OTHERS, &["--compression", "none"], 6, &["compression"], Unchanged),
    ("jobs, others begun", OTHERS, &[], 0, &[], Lake("")),
    ("jobs, others begun", OTHERS, &["--shard", "1/2"], 0, &[], Begun),
    ("jobs, others begun", MACHINES, &[], 6, &["plan"], Untouched),
    ("jobs, others begun", "", &["commit"], 6, &["--shard"], Unchanged),

    ("all and its plan", "", &[], 0, &[], Lake("")),
    ("all and its plan", "", &["--shard", "0/2"], 0, &[], Lake("")),
    ("all and its plan", "", &["commit"], 0, &[], Lake("")),
    ("all and its plan", JOBS, &[], 0, &[], Lake("")),
    ("jobs and its plan", OTHERS, &[], 0, &[], Lake("")),
    ("all and the plan that added others", "", &[], 0, &[], Lake("")),
    ("all and the plan that added others", "", &["commit"], 0, &[], Lake("")),

    ("jobs and a foreign plan", OTHERS, &[], 6, &["plan", JOBS, MACHINES], Untouched),
    ("jobs and a foreign plan", "", &[], 6, &["plan", JOBS, MACHINES], Untouched),
    ("jobs and a foreign plan", OTHERS, &["--shard", "1/2"], 6, &["plan", JOBS, MACHINES], Untouched),
    ("jobs and a foreign plan", "", &["commit"], 6, &["plan", JOBS, MACHINES], Untouched),

    ("a damaged plan of all", "", &[], 6, &["--take-over"], Untouched),
    ("a damaged plan of all", "", &["--take-over", "--dry-run"], 0, &[], Untouched),
    ("a damaged plan of all", "", &["--take-over"], 0, &[], Lake("")),

    ("jobs", JOBS, &["--overwrite"], 2, &["new prefix"], Untouched),
    ("a plan of all", "", &["--overwrite"], 2, &["new prefix"], Untouched),
];

/// Every state that the rows name, made by commands and their interruption.
fn states() -> BTreeMap<&'static str, Objects> {
    let nothing = Objects::new();
    let shard: &[&str] = &["--shard", "0/2"];
    let all_begun = after(&nothing, &[("", shard)]);
    let mut damaged = all_begun.clone();
    damaged.get_mut(PLAN).unwrap()[0] ^= 1;
    let others_planned = planned(&lake(JOBS), OTHERS, shard);
    let all_made = after(&nothing, &[("", shard), ("", &["--shard", "1/2"])]);
    let jobs_made = after(&nothing, &[(JOBS, shard), (JOBS, &["--shard", "1/2"])]);
    let added = after(
        &others_planned,
        &[(OTHERS, shard), (OTHERS, &["--shard", "1/2"])],
    );
    BTreeMap::from([
        ("a plan of all, no output", planned(&nothing, "", shard)),
        (
            "a plan of all in four",
            after(&nothing, &[("", &["--shard", "2/4"])]),
        ),
        ("a plan of jobs", after(&nothing, &[(JOBS, shard)])),
        ("a plan of a plain run", planned(&nothing, "", &[])),
        ("jobs", lake(JOBS)),
        ("all", lake("")),
        ("jobs, others begun", after(&lake(JOBS), &[(OTHERS, shard)])),
        ("all and its plan", union(&lake(""), &plan_of(&all_made))),
        (
            "jobs and its plan",
            union(&lake(JOBS), &plan_of(&jobs_made)),
        ),
        (
            "all and the plan that added others",
            union(&lake(""), &plan_of(&added)),
        ),
        (
            "jobs and a foreign plan",
            union(&lake(JOBS), &plan_of(&after(&nothing, &[(OTHERS, shard)]))),
        ),
        ("jobs, others planned", others_planned),
        ("a damaged plan of all", damaged),
        ("a plan of all", all_begun),
        ("nothing", nothing),
    ])
}

#[test]
fn every_command_in_every_state() {
    let states = states();
    let mut score = Score::new("commands in states of manifest and plan");
    for &(state, tables, arguments, code, says, then) in ROWS {
        let server = store(&states[state], |_| Answer::Well);
        let run = tracelake(&server, tables, arguments);
        let (before, left) = (&states[state], server.objects("bucket/lake/"));
        let outcome = ensure(run.code == code, || {
            format!("exit {}: {}", run.code, run.stderr)
        })
        .and_then(|()| {
            let missing = says.iter().find(|words| !run.stderr.contains(**words));
            ensure(missing.is_none(), || {
                format!("{missing:?} is not in {}", run.stderr)
            })
        })
        .and_then(|()| match then {
            Untouched => same(&left, before).and_then(|()| {
                let asked = server.asked().into_iter();
                let mut writes = asked.filter(|asked| !super::writes(asked).is_empty());
                let first = writes.next();
                ensure(first.is_none(), || format!("it wrote: {first:?}"))
            }),
            Unchanged => same(&left, before),
            Lake(tables) => same(&left, &lake(tables)),
            Begun => ensure(
                left.contains_key(PLAN) && !left.contains_key(MANIFEST),
                || format!("it left {:?}", left.keys()),
            ),
        })
        .and_then(|()| ensure(server.uploads() == 0, || "an upload is left".to_owned()));
        score.count(&format!("{state}: {tables} {arguments:?}"), outcome);
    }
    score.close();
}
