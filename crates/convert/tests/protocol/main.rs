//! The commit protocol of buckets, explored: every order in which the requests of two workers can reach a bucket, with
//! up to three preemptions and a kill after any change.
//!
//! The code is that of `convert` and `commit`; only the bucket is in memory ([`schedule`]). After each run of the
//! workers, a manifest names only files that are whole, and what a worker with exit code 0 has made is there. Then the
//! commands are run again, one after the other, and the bucket must have the bytes of an undisturbed run.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that fails says where, and reports what it explored"
)]

mod commands;
mod explore;
mod schedule;
mod taken_over;

use commands::{Commands, all, commit, part, remove_unnamed, shard, take_over};
use explore::{Scenario, explore};
use schedule::{Conditions, Limits};

fn usual(name: &'static str, workers: Commands, preemptions: usize) -> Scenario {
    Scenario {
        name,
        before: vec![],
        recovery: vec![workers[0].clone(), workers[1].clone()],
        may_refuse: false,
        workers,
        limits: Limits {
            preemptions,
            kills: 1,
            lost_answers: 0,
            lagging_lists: 0,
        },
        conditions: Conditions::Honoured,
    }
}

fn plain_runs(preemptions: usize) -> Scenario {
    usual("two plain runs", [all(), all()], preemptions)
}

#[test]
fn two_plain_runs() {
    explore(&plain_runs(2), 20_000);
}

#[test]
fn two_shards() {
    let mut scenario = usual("two shards", [shard(0), shard(1)], 3);
    scenario.recovery.push(commit());
    explore(&scenario, 4_000);
}

#[test]
fn a_shard_and_a_commit() {
    let mut scenario = usual("a shard and a commit", [shard(1), commit()], 3);
    scenario.before = vec![shard(0)];
    explore(&scenario, 200);
}

#[test]
fn two_commits() {
    let mut scenario = usual("two commits", [commit(), commit()], 3);
    scenario.before = vec![shard(0), shard(1)];
    explore(&scenario, 4_000);
}

#[test]
fn a_commit_and_a_plain_run() {
    let mut scenario = usual("a commit and a plain run", [commit(), all()], 3);
    scenario.before = vec![shard(0), shard(1)];
    explore(&scenario, 5_000);
}

fn additions(preemptions: usize) -> Scenario {
    let mut scenario = usual("two equal additions", [part(1), part(1)], preemptions);
    scenario.before = vec![part(0)];
    scenario
}

#[test]
fn two_equal_additions() {
    let explored = explore(&additions(2), 35_000);
    // Buckets can't remove an object on a condition, so the run that comes late puts things right.
    assert!(explored.late_removals > explored.unhealed, "{explored:?}");
}

#[test]
fn two_runs_for_different_parts() {
    let name = "two runs for different parts";
    let mut scenario = usual(name, [part(0), part(1)], 2);
    scenario.recovery[0] = take_over(part(0));
    // The outputs of the replaced run are refused until a person decides what to do with them.
    scenario.may_refuse = true;
    explore(&scenario, 9_000);
}

#[test]
fn a_run_that_is_taken_over() {
    let workers = [part(0), take_over(part(1))];
    let mut scenario = usual("a run that is taken over", workers, 2);
    scenario.recovery.reverse();
    scenario.may_refuse = true;
    explore(&scenario, 13_000);
}

#[test]
fn lost_answers() {
    let mut scenario = usual("lost answers", [part(0), part(0)], 1);
    scenario.limits.lost_answers = 1;
    explore(&scenario, 9_000);
}

#[test]
fn lagging_lists() {
    let mut scenario = usual("lagging lists", [part(1), part(1)], 1);
    scenario.before = vec![part(0)];
    scenario.limits.lagging_lists = 1;
    explore(&scenario, 22_000);
}

#[test]
fn ignored_conditions() {
    let mut scenario = usual("ignored conditions", [part(0), part(1)], 3);
    scenario.conditions = Conditions::Ignored;
    scenario.recovery[0] = take_over(part(0));
    scenario.may_refuse = true;
    explore(&scenario, 700);
}

/// A late run undoes no commit.
#[test]
#[ignore = "one protocol"]
fn no_manifest_is_removed() {
    let explored = explore(&additions(2), 1_000);
    assert_eq!(explored.late_removals, 0, "{explored:?}");
}

/// The outputs of a running addition aren't left over.
#[test]
#[ignore = "one protocol"]
fn an_addition_and_a_removal_of_what_is_unnamed() {
    let name = "an addition and a removal of what is unnamed";
    let mut scenario = usual(name, [part(1), remove_unnamed()], 2);
    scenario.before = vec![part(0)];
    scenario.recovery = vec![part(1)];
    explore(&scenario, 1_000);
}

#[test]
#[ignore = "takes minutes: cargo test -p tracelake-convert --test protocol -- --ignored"]
fn three_preemptions() {
    explore(&plain_runs(3), 120_000);
    explore(&additions(3), 120_000);
}
