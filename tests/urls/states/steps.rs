//! The order of the steps, and what follows when a run ends after any of them.

use super::{
    FACTS, MANIFEST, OTHERS, Objects, PREFIX, Write, after, has_plan, lake, recorded, released,
    same, store, tracelake, union,
};
use tracelake_testkit::server::Answer;
use tracelake_testkit::{Score, ensure};

#[test]
fn facts_are_put_before_outputs_and_the_manifest_is_put_last() {
    let (log, rule) = recorded(usize::MAX);
    let server = store(&released(), rule);
    tracelake(&server, OTHERS, &[]).exits(0);
    let log = log.lock().unwrap().clone();
    let put = |start: &str| {
        let is_it = |write: &&Write| matches!(write, Write::Put(name) if name.starts_with(start));
        log.iter().filter(is_it).count()
    };
    // Facts and output of each of three parts, and the test of the store's conditions.
    assert_eq!(
        (put(FACTS), put("machine_events/"), put("task_usage/")),
        (3, 1, 2),
        "{log:?}"
    );
    for (at, write) in log.iter().enumerate() {
        if let Write::Put(name) = write
            && let Some((table, _)) = name.split_once("/file_number=")
        {
            let facts = format!("{FACTS}{table}/");
            let before = log[..at]
                .iter()
                .filter(|write| matches!(write, Write::Put(name) if name.starts_with(&facts)));
            let outputs = log[..at].iter().filter(
                |write| matches!(write, Write::Put(name) if name.starts_with(&format!("{table}/"))),
            );
            assert!(
                before.count() > outputs.count(),
                "{name} is put before its facts: {log:?}"
            );
        }
    }
    assert_eq!(
        log.last(),
        Some(&Write::Put(MANIFEST.to_owned())),
        "{log:?}"
    );
    assert!(
        !log.iter().any(|write| matches!(write, Write::Removed(_))),
        "{log:?}"
    );
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
            assert!(most > 1, "{what} writes nothing: {}", run.stderr);
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
        &union(&released, &all),
    );
    let all = union(&released, &all);
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
    score.close();
}

/// A committer that ends just after it has put the manifest leaves a plan that the next run removes.
#[test]
fn a_plan_goes_after_its_parts_are_committed() {
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
        assert!(has_plan(&left), "the plan went first");
        same(&after(&left, &[("", &["--shard", "1/2"])]), &lake("")).unwrap();
        return;
    }
}
