//! The order of the steps, and what follows when a run ends after any of them.

use super::{
    JOBS, MANIFEST, OTHERS, Objects, PLAN, PREFIX, Write, after, difference, lake, plan_of,
    recorded, released, same, store, tracelake,
};
use tracelake_testkit::server::Answer;
use tracelake_testkit::{Score, ensure};

#[test]
fn an_addition_puts_base_and_plan_before_it_withdraws_the_lake() {
    let before = released();
    let release_files = difference(&before, &lake(JOBS));
    assert!(release_files.len() > 1, "{release_files:?}");
    let (log, rule) = recorded(usize::MAX);
    let server = store(&before, rule);
    let run = tracelake(&server, OTHERS, &["--shard", "0/2"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let log = log.lock().unwrap().clone();
    let first = |is: &dyn Fn(&Write) -> bool| log.iter().position(is).unwrap();
    let last = |is: &dyn Fn(&Write) -> bool| log.iter().rposition(is).unwrap();
    let is_base =
        |write: &Write| matches!(write, Write::Put(name) if name.starts_with("_tracelake/base-"));
    let is_plan = |write: &Write| *write == Write::Put(PLAN.to_owned());
    let is_release =
        |write: &Write| matches!(write, Write::Removed(name) if release_files.contains(name));
    let is_manifest = |write: &Write| *write == Write::Removed(MANIFEST.to_owned());
    let is_output =
        |write: &Write| matches!(write, Write::Put(name) if !name.starts_with("_tracelake/"));
    assert!(first(&is_base) < first(&is_plan), "{log:?}");
    assert!(last(&is_plan) < first(&is_release), "{log:?}");
    assert!(last(&is_release) < first(&is_manifest), "{log:?}");
    assert!(last(&is_manifest) < first(&is_output), "{log:?}");
    let left = server.objects(PREFIX);
    assert!(release_files.iter().all(|name| !left.contains_key(name)));
    // The base is a copy of the manifest, under its digest.
    let bases: Vec<_> = left
        .iter()
        .filter(|(name, _)| name.starts_with("_tracelake/base-"))
        .collect();
    let [(name, base)] = bases[..] else {
        panic!("{:?}", left.keys());
    };
    assert!(*base == before[MANIFEST], "the base is another manifest");
    let manifest: serde_json::Value = serde_json::from_slice(base).unwrap();
    let digests = [
        manifest["sha256"].as_str().unwrap().to_owned(),
        tracelake_testkit::sha256(base),
    ];
    let named = |digest: &String| *name == format!("_tracelake/base-{digest}.json");
    assert!(digests.iter().any(named), "{name}: {digests:?}");
}

/// Lets a command end after each number of writes, resumes, and compares.
fn sweep(
    score: &mut Score,
    what: &str,
    before: &Objects,
    (tables, arguments): (&str, &[&str]),
    resumed: &[(&str, &[&str])],
    expected: &Objects,
) {
    let kept: Objects = before
        .iter()
        .filter(|(name, _)| expected.contains_key(*name) && !name.starts_with("_tracelake/"))
        .map(|(name, bytes)| (name.clone(), bytes.clone()))
        .collect();
    for most in 0.. {
        if !score.is_due() {
            continue;
        }
        let (_, rule) = recorded(most);
        let server = store(before, rule);
        let run = tracelake(&server, tables, arguments);
        let left = server.objects(PREFIX);
        let outcome = ensure(run.code == 0 || run.code == 1, || run.stderr.clone())
            .and_then(|()| {
                let lost = kept
                    .iter()
                    .find(|(name, bytes)| left.get(*name) != Some(bytes));
                ensure(lost.is_none(), || format!("lost {:?}", lost.unwrap().0))
            })
            .and_then(|()| {
                let server = store(&left, |_| Answer::Well);
                for (tables, arguments) in resumed {
                    let run = tracelake(&server, tables, arguments);
                    ensure(run.code == 0, || {
                        format!("{tables} {arguments:?}: {}", run.stderr)
                    })?;
                }
                same(&server.objects(PREFIX), expected)
            });
        score.count(&format!("{what}, {most} writes"), outcome);
        if run.code != 1 {
            assert!(most > 2, "{what} writes nothing: {}", run.stderr);
            return;
        }
    }
}

#[test]
fn a_run_that_ends_after_any_write_is_resumed() {
    let mut score = Score::one_in(5, "runs that end after each of their writes");
    let nothing = Objects::new();
    let all = lake("");
    let shards: &[(&str, &[&str])] = &[("", &["--shard", "0/2"]), ("", &["--shard", "1/2"])];
    let made = after(&nothing, shards);
    let plain: (&str, &[&str]) = ("", &[]);
    let commit: (&str, &[&str]) = ("", &["commit"]);
    let by_shards = [shards[1], shards[0], commit];
    sweep(&mut score, "a plain run", &nothing, plain, &[plain], &all);
    sweep(&mut score, "a shard", &nothing, shards[0], &by_shards, &all);
    sweep(
        &mut score,
        "a shard, then a plain run",
        &nothing,
        shards[1],
        &[plain],
        &all,
    );
    sweep(&mut score, "a commit", &made, commit, &[commit], &all);
    sweep(
        &mut score,
        "a commit, then a plain run",
        &made,
        commit,
        &[plain],
        &all,
    );
    let released = released();
    let addition: (&str, &[&str]) = (OTHERS, &[]);
    sweep(
        &mut score,
        "an addition",
        &released,
        addition,
        &[addition],
        &all,
    );
    let added: &[(&str, &[&str])] = &[(OTHERS, &["--shard", "0/2"]), (OTHERS, &["--shard", "1/2"])];
    let by_shards = [added[0], added[1], commit];
    sweep(
        &mut score,
        "an addition by shards",
        &released,
        added[1],
        &by_shards,
        &all,
    );
    let jobs = after(&nothing, &[(JOBS, &["--shard", "0/2"])]);
    let taken: (&str, &[&str]) = ("", &["--take-over"]);
    sweep(&mut score, "a take-over", &jobs, taken, &[taken], &all);
    score.close();
}

/// A committer that ends just after it has put the manifest leaves a plan that the next run removes.
#[test]
fn a_manifest_that_has_all_of_the_plan_is_committed() {
    let made = after(
        &Objects::new(),
        &[("", &["--shard", "0/2"]), ("", &["--shard", "1/2"])],
    );
    for most in 0.. {
        let (log, rule) = recorded(most);
        let server = store(&made, rule);
        let run = tracelake(&server, "", &["commit"]);
        let has_put = log
            .lock()
            .unwrap()
            .contains(&Write::Put(MANIFEST.to_owned()));
        if !has_put {
            assert_ne!(run.code, 0, "{}", run.stderr);
            continue;
        }
        let left = server.objects(PREFIX);
        assert!(plan_of(&left).contains_key(PLAN), "the plan went first");
        assert_eq!(after(&left, &[("", &["--shard", "1/2"])]), lake(""));
        return;
    }
}
