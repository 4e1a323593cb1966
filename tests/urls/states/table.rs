//! Each state of a lake, and what every command does in it.

use std::collections::BTreeMap;

use super::{
    JOBS, MANIFEST, OTHERS, Objects, PREFIX, after, has_plan, lake, plan_of, same, store,
    tracelake, union,
};
use tracelake_testkit::server::Answer;
use tracelake_testkit::{Score, ensure};

/// The state of the bucket after a command.
#[derive(Debug, Clone, Copy)]
enum Then {
    /// Exactly what it had before, and no request but reads.
    Untouched,
    /// The content that it had before, but for facts.
    Unchanged,
    /// The lake of these tables (all if empty), as one run makes it.
    Lake(&'static str),
    /// The lake of these tables, and a plan beside it.
    LakeAndPlan(&'static str),
    /// A plan, and the manifest as it was, if there was one.
    Begun,
}

use Then::{Begun, Lake, LakeAndPlan, Unchanged, Untouched};

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
    ("nothing", "", &["commit", "--forget"], 6, &["not a lake"], Untouched),

    ("a plan of all", "", &[], 0, &[], Lake("")),
    ("a plan of all", "", REJECTING, 0, &[], Lake("")),
    ("a plan of all", "", &["--shard", "1/2"], 0, &[], Begun),
    ("a plan of all", "", &["--shard", "1/2", "--on-bad-row", "reject", "--max-rejects", "7"], 0, &[], Begun),
    ("a plan of all", "", &["commit"], 6, &["--shard", "--forget"], Unchanged),
    // A run of other parts commits them, and the plan is as it was.
    ("a plan of all", JOBS, &[], 0, &[], LakeAndPlan(JOBS)),
    ("a plan of all", JOBS, &["--shard", "0/2"], 0, &[], Begun),
    ("a plan of all", "", &["--compression", "none"], 6, &["compression"], Untouched),
    ("a plan of all", "", &["--layout", "flat"], 6, &["layout"], Untouched),
    ("a plan of all", "", &["--shard", "0/3"], 0, &[], Begun),
    ("a plan of all", "", &["commit", "--forget"], 0, &["nothing is left"], Lake("nothing")),
    ("a plan of jobs", OTHERS, &[], 0, &["not committed yet: job_events"], LakeAndPlan(OTHERS)),
    ("a plan of jobs", "", &[], 0, &[], Lake("")),
    // A run without shards makes all shards, however many the plan has.
    ("a plan of all in four", "", &[], 0, &[], Lake("")),

    ("jobs", JOBS, &[], 0, &[], Untouched),
    ("jobs", JOBS, REJECTING, 0, &[], Untouched),
    ("jobs", JOBS, &["--shard", "0/2"], 0, &[], Untouched),
    ("jobs", JOBS, &["--shard", "3/5"], 0, &[], Untouched),
    ("jobs", "", &["commit"], 0, &[], Untouched),
    ("jobs", "", &["commit", "--forget"], 0, &["what is committed stays"], Untouched),
    ("jobs", JOBS, &["--compression", "none"], 6, &["compression"], Untouched),
    ("jobs", OTHERS, &["--compression", "none"], 6, &["compression"], Untouched),
    ("jobs", OTHERS, &[], 0, &[], Lake("")),
    ("jobs", "", &[], 0, &[], Lake("")),
    ("jobs", OTHERS, &["--shard", "0/2"], 0, &[], Begun),
    ("jobs", "", &["--shard", "1/2"], 0, &[], Begun),
    ("all", JOBS, &[], 0, &[], Untouched),
    ("all", "", &["--parts", "1"], 0, &[], Untouched),
    ("all", OTHERS, &["--shard", "0/2"], 0, &[], Untouched),

    ("jobs, others begun", OTHERS, &[], 0, &[], Lake("")),
    ("jobs, others begun", OTHERS, &["--shard", "1/2"], 0, &[], Begun),
    ("jobs, others begun", JOBS, &[], 0, &[], Unchanged),
    ("jobs, others begun", "", &["commit"], 6, &["--shard"], Unchanged),
    ("jobs, others begun", "", &["commit", "--forget"], 0, &["what is committed stays"], Lake(JOBS)),

    ("all and its plan", "", &[], 0, &[], Lake("")),
    ("all and its plan", "", &["--shard", "0/2"], 0, &[], Lake("")),
    ("all and its plan", "", &["commit"], 0, &[], Lake("")),
    ("all and its plan", JOBS, &[], 0, &[], Lake("")),

    ("a damaged plan of all", "", &["commit"], 6, &["--forget"], Untouched),
    ("a damaged plan of all", "", &["commit", "--forget"], 0, &[], Lake("nothing")),
    ("a damaged plan of all", "", &["--shard", "1/2"], 0, &[], Begun),

    ("a lake of an earlier build", "", &[], 6, &["before 0.1.0", "a new prefix"], Untouched),
    ("a lake of an earlier build", "", &["commit"], 6, &["before 0.1.0", "a new prefix"], Untouched),

    ("jobs", JOBS, &["--overwrite"], 2, &["new prefix"], Untouched),
    ("a plan of all", "", &["--overwrite"], 2, &["new prefix"], Untouched),
];

/// Every state that the rows name, made by commands.
fn states() -> BTreeMap<&'static str, Objects> {
    let nothing = Objects::new();
    let shard: &[&str] = &["--shard", "0/2"];
    let all_begun = after(&nothing, &[("", shard)]);
    let mut damaged = all_begun.clone();
    let plan = damaged
        .iter_mut()
        .find(|(name, _)| name.starts_with(super::PLANS));
    plan.unwrap().1[0] ^= 1;
    let all_made = after(&nothing, &[("", shard), ("", &["--shard", "1/2"])]);
    let mut earlier = lake(JOBS);
    earlier.remove("_tracelake/lake.json");
    let manifest = earlier.get_mut("_tracelake/manifest.json").unwrap();
    *manifest = b"{\"tables\": []}".to_vec();
    BTreeMap::from([
        (
            "a plan of all in four",
            after(&nothing, &[("", &["--shard", "2/4"])]),
        ),
        ("a plan of jobs", after(&nothing, &[(JOBS, shard)])),
        ("jobs", lake(JOBS)),
        ("all", lake("")),
        ("jobs, others begun", after(&lake(JOBS), &[(OTHERS, shard)])),
        ("all and its plan", union(&lake(""), &plan_of(&all_made))),
        ("a damaged plan of all", damaged),
        ("a plan of all", all_begun),
        ("a lake of an earlier build", earlier),
        ("nothing", nothing),
    ])
}

#[test]
fn every_command_in_every_state() {
    let states = states();
    let mut score = Score::new("commands in states of a lake");
    for &(state, tables, arguments, code, says, then) in ROWS {
        let server = store(&states[state], |_| Answer::Well);
        let run = tracelake(&server, tables, arguments);
        let (before, left) = (&states[state], server.objects(PREFIX));
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
            Untouched => {
                ensure(left == *before, || "something changed".to_owned()).and_then(|()| {
                    let asked = server.asked().into_iter();
                    let mut writes = asked.filter(|asked| !super::writes(asked).is_empty());
                    let first = writes.next();
                    ensure(first.is_none(), || format!("it wrote: {first:?}"))
                })
            }
            Unchanged => same(&left, before),
            Lake("nothing") => ensure(left.is_empty(), || format!("it left {:?}", left.keys())),
            Lake(tables) => same(&left, &lake(tables)),
            LakeAndPlan(tables) => {
                let manifest = left.get(MANIFEST) == lake(tables).get(MANIFEST);
                ensure(manifest && has_plan(&left), || {
                    format!("it left {:?}", left.keys())
                })
            }
            Begun => ensure(
                has_plan(&left) && left.get(MANIFEST) == before.get(MANIFEST),
                || format!("it left {:?}", left.keys()),
            ),
        })
        .and_then(|()| ensure(server.uploads() == 0, || "an upload is left".to_owned()));
        score.count(&format!("{state}: {tables} {arguments:?}"), outcome);
    }
    score.close();
}
