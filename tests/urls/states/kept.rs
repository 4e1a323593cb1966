//! Files that a run that only tidies up leaves to others, and releases beside runs that change the lake.

use super::held::Holding;
use super::{
    JOBS, MACHINES, MANIFEST, OTHERS, Objects, PLAN, PREFIX, RELEASE, after, lake, recorded,
    released, same, store, tracelake,
};
use tracelake_testkit::server::Asked;
use tracelake_testkit::{Score, ensure, sha256};

/// Whether the lake's home is listed, as before facts and copies of manifests are removed.
fn lists_home(asked: &Asked) -> bool {
    let is_list = asked.query.contains("list-type=2") && !asked.query.contains("delimiter");
    is_list && asked.query.contains("_tracelake")
}

/// A lake that was committed, and whose plan and facts weren't removed any more.
fn committed() -> Objects {
    for most in 0.. {
        let (_, rule) = recorded(most);
        let server = store(&lake(JOBS), rule);
        drop(tracelake(&server, MACHINES, &[]));
        let left = server.objects(PREFIX);
        let adds = left
            .get(MANIFEST)
            .is_some_and(|now| *now != lake(JOBS)[MANIFEST]);
        if adds && left.contains_key(PLAN) {
            return left;
        }
    }
    unreachable!()
}

#[test]
fn a_run_that_tidies_up_leaves_the_plan_of_others() {
    let mut score = Score::new("runs that tidy up late");
    type Runs<'a> = &'a [(&'a str, &'a [&'a str])];
    let begun: Runs<'_> = &[(OTHERS, &["--shard", "0/2"])];
    let twice: Runs<'_> = &[(MACHINES, &[]), ("task_usage", &["--shard", "0/2"])];
    let cases = [
        ("a finished lake", lake(JOBS), begun),
        ("one that has changed twice", lake(JOBS), twice),
        ("one with its plan", committed(), begun),
    ];
    for (name, state, adds) in cases {
        let late = || {
            let holding = Holding::new(&state, lists_home);
            let run = holding.around(JOBS, &[], adds)?;
            ensure(run.code == 0 || run.code == 6, || {
                format!("exit {}: {}", run.code, run.stderr)
            })?;
            let (left, alone) = (holding.server.objects(PREFIX), after(&state, adds));
            same(&left, &alone)?;
            let (tables, _) = adds[adds.len() - 1];
            let last: Runs<'_> = &[(tables, &["--shard", "1/2"]), ("", &["commit"])];
            same(&after(&left, last), &lake(""))
        };
        score.count(name, late());
    }
    score.close();
}

/// Expects every file that the checksums of a release name, with its digest, if there are checksums.
fn is_whole(found: &Objects) -> Result<(), String> {
    let Some(sums) = found.get("SHA256SUMS") else {
        return Ok(());
    };
    for line in String::from_utf8(sums.clone()).unwrap().lines() {
        let (digest, name) = line.split_once("  ").unwrap();
        let bytes = found.get(name).ok_or(format!("{name} is missing"))?;
        ensure(sha256(bytes) == digest, || format!("{name} differs"))?;
    }
    Ok(())
}

#[test]
fn checksums_name_what_is_there_after_any_write() {
    let mut score = Score::one_in(5, "releases that end after each of their writes");
    let whole = released();
    type Begun<'a> = (&'a str, Objects, (&'a str, &'a [&'a str]));
    let begun: &[Begun<'_>] = &[
        ("release", lake(JOBS), ("", RELEASE)),
        ("release again", whole.clone(), ("", RELEASE)),
        ("add tables", whole.clone(), (OTHERS, &[])),
    ];
    for (what, before, (tables, arguments)) in begun {
        for most in 0.. {
            if !score.is_due() {
                continue;
            }
            let (_, rule) = recorded(most);
            let server = store(before, rule);
            let run = tracelake(&server, tables, arguments);
            let left = server.objects(PREFIX);
            let resumed = || {
                is_whole(&left)?;
                let adds: &[(&str, &[&str])] = &[(OTHERS, &[])];
                same(&after(&left, adds), &lake(""))?;
                match *what {
                    "add tables" => Ok(()),
                    _ => same(&after(&left, &[("", RELEASE)]), &whole),
                }
            };
            score.count(&format!("{what}, {most} writes"), resumed());
            if run.code != 1 {
                assert!(run.code == 0 && most > 2, "{what}: {}", run.stderr);
                break;
            }
        }
    }
    score.close();
}

/// Whether the card of a release is put.
fn puts_card(asked: &Asked) -> bool {
    asked.method == "PUT" && asked.path.ends_with("/README.md")
}

#[test]
fn a_release_of_a_lake_that_changes_is_withdrawn() {
    let adds: &[(&str, &[&str])] = &[(OTHERS, &[])];
    let holding = Holding::new(&lake(JOBS), puts_card);
    let run = holding.around("", RELEASE, adds).unwrap();
    assert_eq!(run.code, 6, "{}", run.stderr);
    assert!(
        run.stderr.contains("changed while it was released"),
        "{}",
        run.stderr
    );
    same(&holding.server.objects(PREFIX), &after(&lake(JOBS), adds)).unwrap();
}

#[test]
fn a_copy_of_a_manifest_that_is_left_over_is_removed_by_the_next_run() {
    let mut state = lake(JOBS);
    let copy = format!("_tracelake/base-{}.json", "0".repeat(64));
    state.insert(copy, b"left over".to_vec());
    same(&after(&state, &[(JOBS, &[])]), &lake(JOBS)).unwrap();
    same(&after(&state, &[("", &[])]), &lake("")).unwrap();
}
