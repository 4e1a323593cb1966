//! Plans that are taken over, outputs that no facts name, and stores that ignore conditions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::{
    JOBS, MANIFEST, Objects, PLAN, PREFIX, Server, after, lake, of, plan_of, same, source, store,
    tracelake, with_stores,
};
use crate::crash::child::HANGS;
use crate::support::{Run, Score, ended, ensure};
use crate::urls::server::Answer;

/// A store in which the first request that puts facts waits until it is released.
struct Holding {
    server: Server,
    held: Arc<AtomicUsize>,
    is_released: Arc<AtomicBool>,
}

impl Holding {
    fn new(state: &Objects) -> Self {
        let held = Arc::new(AtomicUsize::new(0));
        let is_released = Arc::new(AtomicBool::new(false));
        let (holds, released) = (Arc::clone(&held), Arc::clone(&is_released));
        let server = store(state, move |asked| {
            let is_facts = asked.method == "PUT" && asked.path.contains("/_tracelake/facts/");
            if is_facts && holds.fetch_add(1, Ordering::SeqCst) == 0 {
                let begun = Instant::now();
                while !released.load(Ordering::SeqCst) && begun.elapsed() < HANGS {
                    thread::sleep(Duration::from_millis(5));
                }
            }
            Answer::Well
        });
        Self {
            server,
            held,
            is_released,
        }
    }

    /// Runs a command for all tables; while it waits for the answer to its first facts, it runs `others`.
    fn around(&self, arguments: &[&str], others: &[(&str, &[&str])]) -> Result<Run, String> {
        let mut held = with_stores(&self.server.url());
        held.args(["convert", source(), super::OUT]).args(of(""));
        held.args(["--threads", "1"]).args(arguments);
        held.stdout(std::process::Stdio::null());
        let child = held.stderr(std::process::Stdio::piped()).spawn().unwrap();
        let begun = Instant::now();
        while self.held.load(Ordering::SeqCst) == 0 && begun.elapsed() < HANGS {
            thread::sleep(Duration::from_millis(5));
        }
        let outcome = others.iter().try_for_each(|(tables, arguments)| {
            let run = tracelake(&self.server, tables, arguments);
            ensure(run.code == 0, || {
                format!("{tables} {arguments:?}: {}", run.stderr)
            })
        });
        self.is_released.store(true, Ordering::SeqCst);
        let run = ended(child.wait_with_output().unwrap());
        outcome.map(|()| run)
    }
}

#[test]
fn a_run_whose_plan_was_taken_over_ends_before_the_manifest() {
    let mut score = Score::new("plans that were taken over");
    // The new plan is only begun: the old run must not put a manifest of its own.
    let begun = || {
        let holding = Holding::new(&Objects::new());
        let others: &[(&str, &[&str])] = &[(JOBS, &["--take-over", "--shard", "0/2"])];
        let run = holding.around(&[], others)?;
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
        let holding = Holding::new(&Objects::new());
        let others: &[(&str, &[&str])] = &[
            (JOBS, &["--take-over", "--shard", "0/1"]),
            ("", &["commit", "--remove-unnamed"]),
        ];
        let run = holding.around(&[], others)?;
        ensure(run.code == 6, || {
            format!("exit {}: {}", run.code, run.stderr)
        })?;
        let left = holding.server.objects(PREFIX);
        let manifest = lake(JOBS).remove(MANIFEST);
        ensure(left.get(MANIFEST) == manifest.as_ref(), || {
            "another manifest".to_owned()
        })
    };
    score.count("finished", finished());
    // The new plan is the same one, by a plain run that finished it: the late run is done as well.
    let same_plan = || {
        let holding = Holding::new(&Objects::new());
        let run = holding.around(&[], &[("", &["--take-over"])])?;
        ensure(run.code == 0, || {
            format!("exit {}: {}", run.code, run.stderr)
        })?;
        let left = holding.server.objects(PREFIX);
        same(&after(&left, &[("", &[])]), &lake(""))
    };
    score.count("finished by an equal plan", same_plan());
    let late_shard = || {
        let holding = Holding::new(&Objects::new());
        let run = holding.around(&["--shard", "0/2"], &[("", &[])])?;
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
