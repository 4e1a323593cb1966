//! Runs the workers of a scenario by every schedule, and checks what they leave.

use std::collections::{BTreeSet, HashSet};
use std::env;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Cursor;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use tracelake_core::digest::Digest;
use tracelake_core::error::ErrorKind;
use tracelake_lake::manifest::Manifest;
use tracelake_lake::store::progress;
use tracelake_location::{Location, Memory, Url};

use super::commands::{Command, Commands};
use super::schedule::{Asker, Choice, Conditions, End, Frontier, Limits, Start, Table, Tree};

/// Two workers on one bucket.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    /// The runs before it, which nothing disturbs.
    pub(crate) before: Vec<Command>,
    pub(crate) workers: Commands,
    /// The runs after it, one after the other.
    pub(crate) recovery: Vec<Command>,
    /// Whether a command afterwards may be refused, because the workers wanted different things.
    pub(crate) may_refuse: bool,
    pub(crate) limits: Limits,
    pub(crate) conditions: Conditions,
}

/// The parts of a worker that ended with exit code 0, each with the digest of its output.
type Made = BTreeSet<(String, u32, Digest)>;

/// How a worker ended: with what it has made, or with the kind and the text of an error.
type Ended = Result<Made, (ErrorKind, String)>;

fn bucket(objects: &Arc<Memory>) -> Location {
    let objects: Arc<Memory> = Arc::clone(objects);
    Location::Url(Url::of_objects("lake", objects))
}

fn run(command: &Command, lake: &Location) -> Ended {
    let outcome = command.run(lake);
    let outcome = outcome.map_err(|error| (error.kind(), error.to_string()))?;
    let parts = outcome.manifest.parts();
    let made = parts.map(|(table, part)| (table.to_owned(), part.file_number, part.output.sha256));
    Ok(made.collect())
}

/// Runs commands one after the other, each of which must succeed.
fn in_order(objects: Tree, commands: &[Command]) -> Result<Tree, (ErrorKind, String)> {
    let memory = Arc::new(Memory::new(objects));
    let lake = bucket(&memory);
    for command in commands {
        run(command, &lake).map_err(|(kind, error)| (kind, format!("{command:?}: {error}")))?;
    }
    let objects = memory.objects().clone();
    Ok(objects)
}

/// The finished parts of a lake whose outputs are whole: by its facts or its manifest, or by the copy of a manifest that
/// an addition has withdrawn, to which the next run adds.
fn finished(objects: &Tree) -> Result<Made, String> {
    let lake = bucket(&Arc::new(Memory::new(objects.clone())));
    let found = progress(&lake).map_err(|error| error.to_string())?;
    let copies = objects
        .iter()
        .filter(|(path, _)| path.starts_with("_tracelake/base-"));
    let copies = copies.filter_map(|(_, json)| Manifest::read(Cursor::new(json)).ok());
    let copied = copies.flat_map(|manifest| manifest.into_parts());
    let parts = found.parts.into_iter().chain(copied).filter(|(_, part)| {
        let output = objects.get(&part.output.path);
        output.is_some_and(|bytes| Digest::of(bytes) == part.output.sha256)
    });
    let parts =
        parts.map(|(table, part)| (table.to_string(), part.file_number, part.output.sha256));
    Ok(parts.collect())
}

/// One run of the workers by a schedule.
fn replay(
    scenario: &Scenario,
    most_preemptions: usize,
    objects: &Tree,
    start: Start,
    frontier: &Arc<Mutex<Frontier>>,
) -> (End, Vec<Ended>) {
    let workers = scenario.workers.len();
    let (mut limits, conditions) = (scenario.limits, scenario.conditions);
    limits.preemptions = limits.preemptions.min(most_preemptions);
    let table = Table::new(
        objects.clone(),
        workers,
        limits,
        conditions,
        start,
        frontier,
    );
    let ended = thread::scope(|scope| {
        let commands = scenario.workers.iter().enumerate();
        let threads: Vec<_> = commands
            .map(|(worker, command)| {
                let table = &table;
                scope.spawn(move || {
                    let asker = Asker {
                        worker,
                        table: Arc::clone(table),
                    };
                    let lake = Location::Url(Url::of_objects("lake", Arc::new(asker)));
                    let ended = run(command, &lake);
                    table.leave(worker);
                    ended
                })
            })
            .collect();
        let threads = threads.into_iter();
        threads.map(|thread| thread.join().unwrap()).collect()
    });
    (table.end(), ended)
}

/// The counts of an exploration.
#[derive(Debug)]
pub(crate) struct Explored {
    /// Runs in which a worker removed the manifest after another one had put the next.
    pub(crate) late_removals: usize,
    /// Those of them in which that worker was killed before it put things right. Then the next run may refuse the lake:
    /// see docs/internals/reliability.md.
    pub(crate) unhealed: usize,
}

/// Explores a scenario, which has at least this many states: all of it with `TRACELAKE_TESTS=all`, as in CI, and the
/// schedules with one preemption otherwise, or with none where lists lag.
pub(crate) fn explore(scenario: &Scenario, at_least: usize) -> Explored {
    let is_all = env::var("TRACELAKE_TESTS").is_ok_and(|share| share == "all");
    let (most, at_least) = if is_all {
        (usize::MAX, at_least)
    } else {
        (usize::from(scenario.limits.lagging_lists == 0), 1)
    };
    let begun = Instant::now();
    let objects = in_order(Tree::new(), &scenario.before).unwrap();
    let expected = in_order(objects.clone(), &scenario.recovery).unwrap();
    let frontier = Arc::new(Mutex::new(Frontier::new()));
    let (mut runs, mut requests, mut late, mut unhealed) = (0, 0, 0, 0);
    let (mut ends, mut wrong) = (HashSet::new(), Vec::new());
    loop {
        let next = frontier.lock().unwrap().starts.pop();
        let Some(start) = next else { break };
        let (end, ended) = replay(scenario, most, &objects, start, &frontier);
        runs += 1;
        requests += end.requests;
        if let Some(remover) = end.late_remover {
            late += 1;
            unhealed += usize::from(end.killed[remover]);
        }
        if let Some(manifest) = &end.wrong {
            wrong.push(format!("{manifest}\n  by {}", schedule(&end.chosen)));
        }
        if !end.is_known {
            let mut hasher = DefaultHasher::new();
            (
                &end.objects,
                &end.killed,
                ended.iter().map(Result::is_ok).collect::<Vec<_>>(),
            )
                .hash(&mut hasher);
            if ends.insert(hasher.finish()) {
                let found = check(scenario, &end, &ended, &expected);
                wrong.extend(found.err().map(|error| {
                    let ended: Vec<_> = ended.iter().map(|ended| ended.as_ref().err()).collect();
                    format!("{error}\n  after {ended:?}\n  by {}", schedule(&end.chosen))
                }));
            }
        }
        if wrong.len() > 2 {
            break;
        }
    }
    let frontier = frontier.lock().unwrap();
    let states = frontier.states();
    println!(
        "{}: {states} states, {runs} runs, {requests} requests, {} different ends, {late} late removals ({unhealed} unhealed), diverged {}, {:.1} s",
        scenario.name,
        ends.len(),
        frontier.diverged,
        begun.elapsed().as_secs_f64(),
    );
    assert!(wrong.is_empty(), "{}: {}", scenario.name, wrong.join("\n"));
    assert!(states >= at_least, "only {states} states");
    assert_eq!(frontier.diverged, 0);
    Explored {
        late_removals: late,
        unhealed,
    }
}

/// Checks what the workers left.
fn check(scenario: &Scenario, end: &End, ended: &[Ended], expected: &Tree) -> Result<(), String> {
    let finished = finished(&end.objects)?;
    let is_unhealed = end.late_remover.is_some_and(|worker| end.killed[worker]);
    for (ended, killed) in ended.iter().zip(&end.killed) {
        match ended {
            _ if *killed => {}
            Ok(made) if !is_unhealed => {
                if let Some(lost) = made.difference(&finished).next() {
                    return Err(format!("{lost:?} is lost, and its worker ended with 0"));
                }
            }
            Ok(_) | Err((ErrorKind::Refused, _)) => {}
            Err((ErrorKind::Failed, _)) if scenario.conditions == Conditions::Ignored => {}
            Err((_, error)) => return Err(error.clone()),
        }
    }
    let recovered = match in_order(end.objects.clone(), &scenario.recovery) {
        Err((ErrorKind::Refused, _)) if scenario.may_refuse || is_unhealed => return Ok(()),
        recovered => recovered.map_err(|(_, error)| error)?,
    };
    for (path, bytes) in &recovered {
        if expected.get(path) != Some(bytes) {
            return Err(format!("{path} isn't that of an undisturbed run"));
        }
    }
    let mut missing = expected
        .keys()
        .filter(|path| !recovered.contains_key(*path));
    match missing.next() {
        Some(path) => Err(format!("{path} is missing after the recovery")),
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
