//! Outputs that no facts name, outputs that a commit reads, and stores that ignore conditions.

use std::collections::BTreeSet;

use super::{JOBS, MANIFEST, Objects, PREFIX, after, lake, plan_of, same, store, tracelake};
use tracelake_testkit::server::{Answer, status};
use tracelake_testkit::{Score, ensure};

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
            // It is removed before a manifest exists, so that no reader of a finished lake finds it.
            let log = log.lock().unwrap();
            let put = super::Write::Put(MANIFEST.to_owned());
            let removed = super::Write::Removed(UNNAMED.to_owned());
            let at = |write| log.iter().position(|other| other == write);
            ensure(at(&removed) < at(&put), || format!("{log:?}"))
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
        for arguments in [&[][..], &["--shard", "0/2"]] {
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
fn a_commit_reads_outputs_only_on_request() {
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
    // In a bucket, names and sizes are compared; other bytes of the same size are found on request.
    let damaged = |cut: bool| {
        let mut damaged = made.clone();
        let bytes = damaged.get_mut(&outputs[0]).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        if cut {
            bytes.pop();
        }
        damaged
    };
    for (what, cut, more) in [
        ("another size", true, &[][..]),
        ("other bytes", false, &["--verify-outputs"]),
    ] {
        let (run, _, left) = commit(&damaged(cut), more);
        let outcome = ensure(run.code == 6, || {
            format!("exit {}: {}", run.code, run.stderr)
        });
        let outcome =
            outcome.and_then(|()| ensure(!left.contains_key(MANIFEST), || "a manifest".to_owned()));
        score.count(what, outcome);
    }
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
