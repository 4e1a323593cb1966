//! The commit protocol of buckets, explored: every order in which the requests of two workers can reach a bucket, with
//! up to three preemptions and a kill after any change.
//!
//! The code is that of `convert` and `commit`; only the bucket is in memory ([`schedule`]). After each run of the
//! workers, a manifest names only files that are whole, and what a worker with exit code 0 has made is there. Then the
//! commands are run again, one after the other, and the bucket must have the bytes of an undisturbed run.

mod commands;
mod explore;
mod schedule;

use commands::{Commands, all, commit, part, shard, take_over};
use explore::{Scenario, explore};
use schedule::{Conditions, Limits};

const USUAL: Limits = Limits {
    preemptions: 3,
    kills: 1,
    lost_answers: 0,
    lagging_lists: 0,
};

fn usual(name: &'static str, workers: Commands) -> Scenario {
    Scenario {
        name,
        before: vec![],
        recovery: vec![workers[0].clone(), workers[1].clone()],
        workers,
        limits: USUAL,
        conditions: Conditions::Honoured,
    }
}

#[test]
fn two_plain_runs() {
    explore(&usual("two plain runs", [all(), all()]), 1);
}

#[test]
fn two_shards() {
    let mut scenario = usual("two shards", [shard(0), shard(1)]);
    scenario.recovery.push(commit());
    explore(&scenario, 1);
}

#[test]
fn a_shard_and_a_commit() {
    let mut scenario = usual("a shard and a commit", [shard(1), commit()]);
    scenario.before = vec![shard(0)];
    explore(&scenario, 1);
}

#[test]
fn two_commits() {
    let mut scenario = usual("two commits", [commit(), commit()]);
    scenario.before = vec![shard(0), shard(1)];
    explore(&scenario, 1);
}

#[test]
fn a_commit_and_a_plain_run() {
    let mut scenario = usual("a commit and a plain run", [commit(), all()]);
    scenario.before = vec![shard(0), shard(1)];
    explore(&scenario, 1);
}

#[test]
fn two_equal_additions() {
    let mut scenario = usual("two equal additions", [part(1), part(1)]);
    scenario.before = vec![part(0)];
    explore(&scenario, 1);
}

#[test]
fn two_runs_for_different_parts() {
    explore(
        &usual("two runs for different parts", [part(0), part(1)]),
        1,
    );
}

#[test]
fn a_run_that_is_taken_over() {
    let mut scenario = usual("a run that is taken over", [part(0), take_over(part(1))]);
    scenario.recovery.reverse();
    explore(&scenario, 1);
}

#[test]
fn lost_answers() {
    let mut scenario = usual("lost answers", [part(0), part(0)]);
    scenario.limits.preemptions = 2;
    scenario.limits.kills = 0;
    scenario.limits.lost_answers = 1;
    explore(&scenario, 1);
}

#[test]
fn lagging_lists() {
    let mut scenario = usual("lagging lists", [part(1), part(1)]);
    scenario.before = vec![part(0)];
    scenario.limits.preemptions = 2;
    scenario.limits.lagging_lists = 1;
    explore(&scenario, 1);
}

#[test]
fn ignored_conditions() {
    let mut scenario = usual("ignored conditions", [part(0), part(1)]);
    scenario.conditions = Conditions::Ignored;
    explore(&scenario, 1);
}
