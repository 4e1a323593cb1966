//! Plans that are taken over, outputs that no facts name, and stores that ignore conditions.

use std::collections::BTreeSet;

use super::held::{Holding, puts_facts};
use super::{JOBS, MANIFEST, Objects, PLAN, PREFIX, after, lake, plan_of, same, store, tracelake};
use tracelake_testkit::server::{Answer, Asked, status};
use tracelake_testkit::{Score, ensure};

#[test]
fn a_run_whose_plan_was_taken_over_ends_before_the_manifest() {
    let mut score = Score::new("plans that were taken over");
    // The new plan is only begun: the old run must not put its manifest.
    let begun = || {
        let holding = Holding::new(&Objects::new(), puts_facts);
        let others: &[(&str, &[&str])] = &[(JOBS, &["--take-over", "--shard", "0/2"])];
        let run = holding.around("", &[], others)?;
        ensure(run.code == 6, || {
            format!("exit {}: {}", run.code, run.stderr)
        })?;
        ensure(run.stderr.contains("plan"), || run.stderr.clone())?;
        let left = holding.server.objects(PREFIX);
        ensure(!left.contains_key(MANIFEST), || "a manifest".to_owned())?;
        // The new plan is as the new run left it.
        let alone = after(&Objects::new(), &[(JOBS, &["--shard", "0/2"])]);
        ensure(left.get(PLAN) == alone.get(PLAN), || {
            "another plan".to_owned()
        })
    };
    score.count("begun", begun());
    // The new plan is finished: its manifest stays.
    let finished = || {
        let holding = Holding::new(&Objects::new(), puts_facts);
        let others: &[(&str, &[&str])] = &[
            (JOBS, &["--take-over", "--shard", "0/1"]),
            ("", &["commit", "--remove-unnamed"]),
        ];
        let run = holding.around("", &[], others)?;
        ensure(run.code == 6, || {
            format!("exit {}: {}", run.code, run.stderr)
        })?;
        let left = holding.server.objects(PREFIX);
        let put = holding.manifest.get().cloned().flatten();
        ensure(put.is_some() && left.get(MANIFEST) == put.as_ref(), || {
            format!("another manifest: {:?}", left.keys())
        })
    };
    score.count("finished", finished());
    // The new plan is the same one, by a plain run that finished it: the late run is done as well.
    let same_plan = || {
        let holding = Holding::new(&Objects::new(), puts_facts);
        let run = holding.around("", &[], &[("", &["--take-over"])])?;
        ensure(run.code == 0, || {
            format!("exit {}: {}", run.code, run.stderr)
        })?;
        let left = holding.server.objects(PREFIX);
        same(&after(&left, &[("", &[])]), &lake(""))
    };
    score.count("finished by an equal plan", same_plan());
    let late_shard = || {
        let holding = Holding::new(&Objects::new(), puts_facts);
        let run = holding.around("", &["--shard", "0/2"], &[("", &[])])?;
        ensure(run.code == 0, || {
            format!("exit {}: {}", run.code, run.stderr)
        })?;
        let left = holding.server.objects(PREFIX);
        same(&after(&left, &[("", &[])]), &lake(""))
    };
    score.count("a late shard", late_shard());
    score.close();
}

/// An output of a table and a part that the plan doesn't have, in the form of all others.
const UNNAMED: &str = "job_events/file_number=7/part-00007-of-00008.parquet";

#[test]
fn outputs_that_no_facts_name_are_removed_on_request() {
    let shards: &[(&str, &[&str])] = &[("", &["--shard", "0/2"]), ("", &["--shard", "1/2"])];
    let mut made = after(&Objects::new(), shards);
    made.insert(UNNAMED.to_owned(), b"rows".to_vec());
    let mut score = Score::new("outputs that no facts name");
    for (name, arguments) in [("commit", &["commit"][..]), ("convert", &[])] {
        let server = store(&made, |_| Answer::Well);
        let refused = || {
            let run = tracelake(&server, "", arguments);
            ensure(run.code == 6, || {
                format!("exit {}: {}", run.code, run.stderr)
            })?;
            for words in [UNNAMED, "--remove-unnamed"] {
                ensure(run.stderr.contains(words), || run.stderr.clone())?;
            }
            let left = server.objects(PREFIX);
            ensure(!left.contains_key(MANIFEST), || "a manifest".to_owned())?;
            ensure(left.contains_key(UNNAMED), || "it was removed".to_owned())?;
            let (log, rule) = super::recorded(usize::MAX);
            let server = store(&left, rule);
            let run = tracelake(&server, "", &["commit", "--remove-unnamed"]);
            ensure(run.code == 0, || run.stderr.clone())?;
            same(&server.objects(PREFIX), &lake(""))?;
            // It is removed once the manifest exists.
            let log = log.lock().unwrap();
            let put = super::Write::Put(MANIFEST.to_owned());
            let removed = super::Write::Removed(UNNAMED.to_owned());
            let at = |write| log.iter().position(|other| other == write);
            ensure(at(&put) < at(&removed), || format!("{log:?}"))
        };
        score.count(name, refused());
    }
    // A file that is no output of a lake stays, whatever is asked for.
    let mut foreign = after(&Objects::new(), shards);
    foreign.insert("job_events/notes.txt".to_owned(), b"mine".to_vec());
    for arguments in [&["commit"][..], &["commit", "--remove-unnamed"]] {
        let server = store(&foreign, |_| Answer::Well);
        let run = tracelake(&server, "", arguments);
        let outcome = ensure(run.code == 6, || {
            format!("exit {}: {}", run.code, run.stderr)
        })
        .and_then(|()| ensure(run.stderr.contains("notes.txt"), || run.stderr.clone()))
        .and_then(|()| same(&server.objects(PREFIX), &foreign));
        score.count(&format!("a note, {arguments:?}"), outcome);
    }
    score.close();
}

#[test]
fn a_store_that_ignores_conditions_is_refused() {
    let mut score = Score::new("stores that ignore conditions");
    let jobs = lake(JOBS);
    for (name, before) in [("nothing", &Objects::new()), ("a lake", &jobs)] {
        for arguments in [&[][..], &["--shard", "0/2"], &["--take-over"]] {
            let server = store(before, |_| Answer::Unconditional);
            let run = tracelake(&server, "", arguments);
            let left = server.objects(PREFIX);
            let outcome = ensure(run.code == 1, || {
                format!("exit {}: {}", run.code, run.stderr)
            })
            .and_then(|()| ensure(run.stderr.contains("condition"), || run.stderr.clone()))
            .and_then(|()| {
                let lost = before
                    .keys()
                    .find(|name| before.get(*name) != left.get(*name));
                ensure(lost.is_none(), || format!("{lost:?} was changed"))
            })
            .and_then(|()| {
                let new = left.keys().find(|name| {
                    !before.contains_key(*name) && !plan_of(&left).contains_key(*name)
                });
                ensure(new.is_none(), || format!("{new:?} was written"))
            });
            score.count(&format!("{name}, {arguments:?}"), outcome);
        }
    }
    score.close();
}

/// A plan whose shards are converted, and the names of the outputs.
fn converted() -> (Objects, Vec<String>) {
    let shards: &[(&str, &[&str])] = &[("", &["--shard", "0/2"]), ("", &["--shard", "1/2"])];
    let made = after(&Objects::new(), shards);
    let outputs = made.keys().filter(|name| name.ends_with(".parquet"));
    let outputs = outputs.cloned().collect();
    (made, outputs)
}

#[test]
fn a_commit_reads_only_outputs_that_were_replaced() {
    let (made, outputs) = converted();
    let mut score = Score::new("outputs that a commit reads");
    // The outputs that the commit asked for, and how it ended.
    let commit = |state: &Objects, more: &[&str]| {
        let server = store(state, |_| Answer::Well);
        let arguments = [&["commit"], more].concat();
        let run = tracelake(&server, "", &arguments);
        let asked = server.asked().into_iter();
        let read = asked.filter(|asked| asked.method == "GET" && asked.path.ends_with(".parquet"));
        let read = read.filter_map(|asked| Some(asked.path.strip_prefix(PREFIX)?.to_owned()));
        let read: BTreeSet<String> = read.collect();
        (run, read, server.objects(PREFIX))
    };
    let expect = |read: BTreeSet<String>, expected: &[String]| {
        let expected: BTreeSet<String> = expected.iter().cloned().collect();
        ensure(read == expected, || format!("read {read:?}"))
    };
    let untouched = || {
        let (run, read, left) = commit(&made, &[]);
        ensure(run.code == 0, || run.stderr.clone())?;
        expect(read, &[])?;
        same(&left, &lake(""))
    };
    score.count("none was replaced", untouched());
    let all = || {
        let (run, read, left) = commit(&made, &["--verify-outputs"]);
        ensure(run.code == 0, || run.stderr.clone())?;
        expect(read, &outputs)?;
        same(&left, &lake(""))
    };
    score.count("all on request", all());
    // As after a late worker, with a store that gives each object another tag.
    let replaced = || {
        let name = format!("{PREFIX}{}", outputs[0]);
        let server = store(&made, |_| Answer::Well);
        server.retag(&name, "\"later\"");
        let run = tracelake(&server, "", &["commit"]);
        ensure(run.code == 0, || run.stderr.clone())?;
        let is_read = |asked: &Asked| asked.method == "GET" && asked.path == name;
        ensure(server.asked().iter().any(is_read), || "not read".to_owned())?;
        same(&server.objects(PREFIX), &lake(""))
    };
    score.count("by equal bytes", replaced());
    let damaged = || {
        let mut damaged = made.clone();
        let bytes = damaged.get_mut(&outputs[0]).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        let (run, read, left) = commit(&damaged, &[]);
        ensure(run.code == 6, || {
            format!("exit {}: {}", run.code, run.stderr)
        })?;
        expect(read, &outputs[..1])?;
        ensure(!left.contains_key(MANIFEST), || "a manifest".to_owned())
    };
    score.count("by other bytes", damaged());
    score.close();
}

#[test]
fn an_output_that_is_replaced_while_it_is_read_is_read_again() {
    let (made, outputs) = converted();
    let name = format!("{PREFIX}{}", outputs[0]);
    let mut score = Score::new("outputs that are replaced while they are read");
    for (replaced, expected) in [(3, 0), (usize::MAX, 1)] {
        let read = name.clone();
        let server = store(&made, move |asked| {
            // Each answer is cut, and the rest of it is gone when it is asked for: the tag isn't that of the object.
            match asked.method == "GET" && asked.path == read && asked.before < replaced {
                true if asked.before % 2 == 0 => Answer::Cut(100),
                true => status(412),
                false => Answer::Well,
            }
        });
        let run = tracelake(&server, "", &["commit", "--verify-outputs"]);
        let outcome = ensure(run.code == expected, || {
            format!("exit {}: {}", run.code, run.stderr)
        });
        let outcome = outcome.and_then(|()| {
            let is_explained = run.stderr.contains("changed while it was read");
            ensure(is_explained == (expected == 1), || run.stderr.clone())
        });
        score.count(&format!("{replaced} times"), outcome);
    }
    score.close();
}

#[test]
fn a_plan_that_is_taken_over_while_its_store_is_checked_is_no_fault_of_the_store() {
    // The second put of the plan finds none, as after another run has removed it.
    let is_second =
        |asked: &Asked| asked.method == "PUT" && asked.path.ends_with(PLAN) && asked.before == 1;
    let server = store(&Objects::new(), move |asked| match is_second(asked) {
        true => Answer::Unconditional,
        false => Answer::Well,
    });
    let run = tracelake(&server, "", &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    same(&server.objects(PREFIX), &lake("")).unwrap();
}
