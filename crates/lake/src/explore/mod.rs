//! The commit protocol, explored: every order in which the requests of a few workers can reach a bucket, or their calls a
//! disk, with kills, crashes, lost answers, late lists and a source that changes.
//!
//! The code is that of every run; only the bucket and the disk are in memory ([`bucket`], [`disk`]), and a part has one
//! row. At every step a reader opens the lake. When all workers have ended, their commands are run again, alone, and the
//! lake must have the bytes of an undisturbed run.

#![allow(clippy::unwrap_used, reason = "a test that fails says where")]

mod bucket;
mod disk;
mod scenarios;
mod turns;
mod worker;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::env;
use std::sync::{Arc, Mutex};
use std::thread;

use tracelake_core::digest::Digest;
use tracelake_core::error::ErrorKind;
use tracelake_location::{Location, Url};

use crate::backend::disk::Disk;
use crate::look::Lake;
use crate::manifest::Manifest;
use crate::rules::{OFF, Rule};
use crate::{IDENTITY, LOCK, MANIFEST, WORK};
use bucket::{Asker, Bucket, Manners};
use disk::{Calls, Tree};
use turns::{Choice, End, Frontier, Limits, Start, Turns, World, digest};
use worker::{Command, Made, made, text};

/// Files by their paths.
type Files = BTreeMap<String, Vec<u8>>;

/// How a worker ended: with what it has made, or with the kind and the text of an error.
type Ended = Result<Made, (ErrorKind, String)>;

/// Some workers on one lake.
#[derive(Debug, Clone)]
struct Scenario {
    name: &'static str,
    /// The runs before it, which nothing disturbs.
    before: Vec<Command>,
    workers: Vec<Command>,
    /// The runs after it, one after the other.
    recovery: Vec<Command>,
    /// Whether a worker may be refused, because the workers want different things.
    may_refuse: bool,
    limits: Limits,
    manners: Manners,
    /// Whether the disk can link files.
    has_links: bool,
}

/// A world that lakes can be in.
trait Place: World + 'static {
    fn new(scenario: &Scenario) -> Self;
    fn lake(worker: usize, turns: &Arc<Turns<Self>>) -> Lake
    where
        Self: Sized;
}

impl Place for Bucket {
    fn new(scenario: &Scenario) -> Self {
        Self::new(scenario.manners)
    }

    fn lake(worker: usize, turns: &Arc<Turns<Self>>) -> Lake {
        let objects = Asker {
            worker,
            turns: Arc::clone(turns),
        };
        let url = Url::of_store("bucket", Arc::new(objects)).join("lake");
        Lake::at(&Location::Url(url))
    }
}

impl Place for Tree {
    fn new(scenario: &Scenario) -> Self {
        Self::new(scenario.has_links)
    }

    fn lake(worker: usize, turns: &Arc<Turns<Self>>) -> Lake {
        let calls = Calls {
            worker,
            turns: Arc::clone(turns),
        };
        Lake {
            backend: Arc::new(Disk::new(&disk::root(), Arc::new(calls))),
        }
    }
}

/// Runs the workers by a schedule.
fn replay<W: Place>(
    workers: &[Command],
    limits: Limits,
    world: W,
    start: Start,
    frontier: &Arc<Mutex<Frontier>>,
) -> (End<W>, Vec<Ended>) {
    let turns = Turns::new(
        world,
        workers.len(),
        limits,
        start,
        frontier,
        wrong_manifest,
    );
    let off = OFF.get();
    let ended = thread::scope(|scope| {
        let threads: Vec<_> = workers
            .iter()
            .enumerate()
            .map(|(worker, command)| {
                let turns = &turns;
                scope.spawn(move || {
                    OFF.set(off);
                    // What a command does side by side is done in this thread, in one order.
                    let pool = rayon::ThreadPoolBuilder::new()
                        .num_threads(1)
                        .use_current_thread();
                    let _pool = pool.build().unwrap();
                    let ended = {
                        let lake = W::lake(worker, turns);
                        command.run(&lake, worker, turns)
                    };
                    turns.leave(worker);
                    ended.map_err(|error| (error.kind(), error.to_string()))
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    (turns.end(), ended)
}

/// Runs a command alone.
fn alone<W: Place>(command: &Command, world: W) -> (W, Ended) {
    let frontier = Arc::new(Mutex::new(Frontier::one()));
    let workers = std::slice::from_ref(command);
    let (end, mut ended) = replay(
        workers,
        Limits::default(),
        world,
        Start::default(),
        &frontier,
    );
    let ended = match end.wrong {
        Some(wrong) => Err((ErrorKind::Failed, wrong)),
        None => ended.pop().unwrap(),
    };
    (end.world, ended)
}

/// Runs commands one after the other, each of which must succeed.
fn in_order<W: Place>(mut world: W, commands: &[Command]) -> Result<W, (ErrorKind, String)> {
    for command in commands {
        let (next, ended) = alone(command, world);
        ended.map_err(|(kind, error)| (kind, format!("{command:?}: {error}")))?;
        world = next;
    }
    Ok(world)
}

/// Finds what is wrong with the manifest after a change: it is gone, isn't whole, names a file that isn't there, or has
/// lost a part.
fn wrong_manifest(before: &Files, now: &Files) -> Option<String> {
    let read = |files: &Files| files.get(MANIFEST).map(|json| Manifest::read(json));
    let then = read(before).and_then(Result::ok);
    let manifest = match read(now) {
        None if then.is_none() => return None,
        None => return Some("the manifest is gone".to_owned()),
        Some(Err(error)) => return Some(error.to_string()),
        Some(Ok(manifest)) => manifest,
    };
    if now.get(IDENTITY).map(|json| Digest::of(json)) != Some(manifest.lake) {
        return Some("the manifest names another identity".to_owned());
    }
    for file in manifest.files() {
        if now.get(&file.path).map(|bytes| Digest::of(bytes)) != Some(file.sha256) {
            return Some(format!(
                "the manifest names {}, which isn't there",
                file.path
            ));
        }
    }
    let (had, has) = (then.as_ref().map(made).unwrap_or_default(), made(&manifest));
    had.difference(&has)
        .next()
        .map(|lost| format!("the manifest has lost {lost:?}"))
}

/// Explores a scenario; returns how many states it has. The error says what was lost first, and by which schedule.
fn explore<W: Place>(scenario: &Scenario, frontier: Frontier) -> Result<usize, String> {
    // What comes before and what is expected keep all rules.
    let off = OFF.replace(None);
    let world = in_order(W::new(scenario), &scenario.before).map_err(|(_, error)| error);
    let expected = world
        .clone()
        .and_then(|world| in_order(world, &scenario.recovery).map_err(|(_, error)| error));
    OFF.set(off);
    let (world, expected) = (world?, expected?.files());
    let frontier = Arc::new(Mutex::new(frontier));
    let mut ends = HashSet::new();
    loop {
        let next = frontier.lock().unwrap().starts.pop();
        let Some(start) = next else { break };
        let (end, ended) = replay(
            &scenario.workers,
            scenario.limits,
            world.clone(),
            start,
            &frontier,
        );
        let by = |wrong: String| {
            let ended: Vec<_> = ended.iter().map(|ended| ended.as_ref().err()).collect();
            format!("{wrong}\n  after {ended:?}\n  by {}", schedule(&end.chosen))
        };
        if let Some(wrong) = &end.wrong {
            return Err(by(wrong.clone()));
        }
        let oks: Vec<bool> = ended.iter().map(Result::is_ok).collect();
        if !end.is_known && ends.insert(digest((&end.world, &end.killed, oks))) {
            check(scenario, &end, &ended, &expected).map_err(by)?;
        }
    }
    let frontier = frontier.lock().unwrap();
    assert_eq!(frontier.diverged, 0, "{}", scenario.name);
    Ok(frontier.states())
}

/// Checks what the workers left.
fn check<W: Place>(
    scenario: &Scenario,
    end: &End<W>,
    ended: &[Ended],
    expected: &Files,
) -> Result<(), String> {
    let files = end.world.files();
    if let Some(wrong) = wrong_manifest(&Files::new(), &files) {
        return Err(wrong);
    }
    let is_replaced = end.world.source() > 0;
    let committed = files
        .get(MANIFEST)
        .map(|json| made(&Manifest::read(json).unwrap()));
    let committed = committed.unwrap_or_default();
    let workers = scenario.workers.iter().zip(ended).zip(&end.killed);
    for ((command, ended), killed) in workers {
        let is_shard = matches!(command, Command::Convert { shard: Some(_), .. });
        match ended {
            _ if *killed => {}
            Ok(made) if is_shard => {
                let is_there = |(part, output, _): &(u32, Digest, Digest)| {
                    let path = format!("job_events/file_number={part}/part-{part:05}.parquet");
                    files.get(&path).map(|bytes| Digest::of(bytes)) == Some(*output)
                };
                if let Some(lost) = made.iter().find(|made| !is_there(made)) {
                    return Err(format!("{lost:?} is lost, and its shard ended with 0"));
                }
            }
            // On a disk, what a run says is done is on the disk.
            Ok(made) => {
                if let Some(lost) = made.difference(&committed).next() {
                    return Err(format!("{lost:?} is lost, and its run ended with 0"));
                }
            }
            Err((ErrorKind::Refused, _)) if scenario.may_refuse || is_replaced => {}
            Err((ErrorKind::Failed, error)) if is_allowed_failure(scenario, error, is_replaced) => {
            }
            Err((_, error)) => return Err(format!("a worker failed: {error}")),
        }
    }
    let world = end.world.clone();
    if scenario.recovery.is_empty() {
        return Ok(());
    }
    let recovered = match in_order(world.clone(), &scenario.recovery) {
        Ok(recovered) => recovered,
        // The way out that the refusal names.
        Err((ErrorKind::Refused, error)) if is_replaced && error.contains("--forget") => {
            let forgotten = in_order(world, &[Command::Forget]).map_err(|(_, error)| error)?;
            match in_order(forgotten, &scenario.recovery) {
                // A part is committed from the old source.
                Err((ErrorKind::Refused, error)) if error.contains("put the old file back") => {
                    return Ok(());
                }
                recovered => recovered.map_err(|(_, error)| format!("after --forget: {error}"))?,
            }
        }
        Err((ErrorKind::Refused, error))
            if is_replaced && error.contains("put the old file back") =>
        {
            return Ok(());
        }
        Err((kind, error)) => return Err(format!("recovery ended with {kind:?}: {error}")),
    };
    if is_replaced {
        let json = &recovered.files()[MANIFEST];
        let parts = made(&Manifest::read(json).unwrap());
        let now = recovered.source();
        let mut old = parts
            .iter()
            .filter(|(part, _, source)| *source != Digest::of(&text(*part, now)));
        return match old.next() {
            Some(old) => Err(format!(
                "{old:?} was made from the old source, and no run was refused"
            )),
            None => Ok(()),
        };
    }
    same(&recovered.files(), expected)
}

/// Whether a worker may fail: it can't go on if the store ignores conditions, or the source changes while it reads.
fn is_allowed_failure(scenario: &Scenario, error: &str, is_replaced: bool) -> bool {
    (scenario.manners == Manners::IgnoresConditions && error.contains("ignores conditional"))
        || (is_replaced && error.contains("changed while"))
        || (scenario.limits.lost_answers > 0 && error.contains("no answer"))
}

/// Compares what a recovery leaves with what an undisturbed run does. In a bucket, facts may be left.
fn same(recovered: &Files, expected: &Files) -> Result<(), String> {
    let counts = |path: &&String| {
        let is_own = [LOCK, WORK].contains(&&path[..]) || path.starts_with("_tracelake/facts/");
        !is_own
    };
    let (now, then): (BTreeSet<&String>, BTreeSet<&String>) = (
        recovered.keys().filter(counts).collect(),
        expected.keys().filter(counts).collect(),
    );
    if let Some(path) = now.symmetric_difference(&then).next() {
        return Err(format!("{path} is in one of the two after the recovery"));
    }
    match now
        .into_iter()
        .find(|path| recovered.get(*path) != expected.get(*path))
    {
        Some(path) => Err(format!("{path} isn't that of an undisturbed run")),
        None => Ok(()),
    }
}

/// A schedule for people: `0×12 1×3 Kill(1)`.
fn schedule(chosen: &[Choice]) -> String {
    let runs = chosen.chunk_by(|one, other| one == other);
    let runs = runs.map(|run| match run[0] {
        Choice::Answer(worker) => format!("{worker}×{}", run.len()),
        other => format!("{other:?}"),
    });
    runs.collect::<Vec<_>>().join(" ")
}

/// Whether all cases are tried, and not a share of them.
fn tries_all() -> bool {
    env::var("TRACELAKE_TESTS").is_ok_and(|share| share == "all")
}
