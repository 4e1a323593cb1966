//! A bucket whose requests wait for their turn, so that a list of choices decides in which order those of several
//! workers are answered, and which fail.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_lake::manifest::Manifest;
use tracelake_lake::plan_file::PlanFile;
use tracelake_location::{Listed, Memory, Objects};

/// The objects of a bucket, by their paths.
pub(crate) type Tree = BTreeMap<String, Bytes>;

/// How many changes a listing may be behind.
const LAG: usize = 3;

pub(crate) const MANIFEST: &str = "_tracelake/manifest.json";
pub(crate) const PLAN: &str = "_tracelake/plan.json";

/// The next event of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Choice {
    /// The request of this worker is answered.
    Answer(usize),
    /// This worker is killed before its request is sent.
    Kill(usize),
    /// The request of this worker is carried out, and its answer is lost: it's sent again later.
    Lose(usize),
    /// The listing that this worker asks for lacks the last changes.
    Lag(usize),
}

/// How often things may happen in one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Limits {
    /// Requests before which the turn goes to another worker although this one could continue.
    pub(crate) preemptions: usize,
    pub(crate) kills: usize,
    pub(crate) lost_answers: usize,
    pub(crate) lagging_lists: usize,
}

/// A bucket's manners.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conditions {
    Honoured,
    /// `put_new` replaces what is there.
    Ignored,
}

/// A list of choices to replay, and the state in which the last one was found.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    pub(crate) choices: Vec<Choice>,
    found_in: Option<u64>,
}

/// The states that were reached, and the choices that are still to be tried.
#[derive(Debug, Default)]
pub(crate) struct Frontier {
    /// The most preemptions that were left in a state.
    reached: HashMap<u64, usize>,
    pub(crate) starts: Vec<Start>,
    /// Replays that didn't get to the state in which their last choice was found.
    pub(crate) diverged: usize,
}

impl Frontier {
    pub(crate) fn new() -> Self {
        Self {
            starts: vec![Start {
                choices: Vec::new(),
                found_in: None,
            }],
            ..Self::default()
        }
    }

    pub(crate) fn states(&self) -> usize {
        self.reached.len()
    }

    /// Whether a state is new, or was only reached with fewer preemptions left.
    fn is_news(&mut self, state: u64, preemptions: usize) -> bool {
        match self.reached.get_mut(&state) {
            Some(known) if *known >= preemptions => false,
            Some(known) => {
                *known = preemptions;
                true
            }
            None => {
                self.reached.insert(state, preemptions);
                true
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Computes.
    Busy,
    /// Waits for its turn.
    Asks(Request),
    /// Its turn has come.
    Answered(Request, Fault),
    Ended,
    Killed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    Read,
    List,
    Change,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    Lost,
    Lagging,
}

#[derive(Debug, Clone)]
struct Seat {
    phase: Phase,
    /// A digest of the requests so far and their answers: what the worker knows.
    history: u64,
    /// Whether its last request changed the bucket.
    has_changed: bool,
    /// Whether its request was carried out once already.
    is_repeated: bool,
}

/// One run of all workers.
#[derive(Debug)]
struct Run {
    seats: Vec<Seat>,
    replayed: Start,
    chosen: Vec<Choice>,
    current: Option<usize>,
    left: Limits,
    /// Whether the rest of the run is known.
    is_known: bool,
    /// The objects after each of the last changes.
    earlier: VecDeque<Tree>,
    /// A digest of the objects.
    contents: u64,
    /// The fault of a manifest that was wrong when it appeared.
    wrong: Option<String>,
    /// The worker that last removed a manifest that no plan adds to.
    late_remover: Option<usize>,
    requests: usize,
}

/// The bucket, the run, and what is left to explore.
#[derive(Debug)]
pub(crate) struct Table {
    bucket: Memory,
    conditions: Conditions,
    run: Mutex<Run>,
    turn: Condvar,
    frontier: Arc<Mutex<Frontier>>,
}

/// The end of a run.
pub(crate) struct End {
    pub(crate) objects: Tree,
    pub(crate) chosen: Vec<Choice>,
    /// Whether another run has explored the rest.
    pub(crate) is_known: bool,
    pub(crate) wrong: Option<String>,
    pub(crate) late_remover: Option<usize>,
    pub(crate) killed: Vec<bool>,
    pub(crate) requests: usize,
}

fn digest(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

impl Table {
    pub(crate) fn new(
        objects: Tree,
        workers: usize,
        limits: Limits,
        conditions: Conditions,
        replayed: Start,
        frontier: &Arc<Mutex<Frontier>>,
    ) -> Arc<Self> {
        let seat = Seat {
            phase: Phase::Busy,
            history: 0,
            has_changed: false,
            is_repeated: false,
        };
        Arc::new(Self {
            conditions,
            run: Mutex::new(Run {
                seats: vec![seat; workers],
                replayed,
                chosen: Vec::new(),
                current: None,
                left: limits,
                is_known: false,
                earlier: VecDeque::new(),
                contents: digest(&objects),
                wrong: None,
                late_remover: None,
                requests: 0,
            }),
            bucket: Memory::new(objects),
            turn: Condvar::new(),
            frontier: Arc::clone(frontier),
        })
    }

    fn run(&self) -> MutexGuard<'_, Run> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the turns of a worker.
    pub(crate) fn leave(&self, worker: usize) {
        let mut run = self.run();
        if run.seats[worker].phase != Phase::Killed {
            run.seats[worker].phase = Phase::Ended;
        }
        self.choose(&mut run);
    }

    pub(crate) fn end(&self) -> End {
        let run = self.run();
        let killed = run.seats.iter().map(|seat| seat.phase == Phase::Killed);
        End {
            objects: self.bucket.objects().clone(),
            chosen: run.chosen.clone(),
            is_known: run.is_known,
            wrong: run.wrong.clone(),
            late_remover: run.late_remover,
            killed: killed.collect(),
            requests: run.requests,
        }
    }

    /// Everything that decides what can follow.
    fn state(&self, run: &Run) -> u64 {
        let seats = run.seats.iter().map(|seat| match seat.phase {
            Phase::Killed => (0, 0, false),
            Phase::Ended => (1, seat.history, false),
            _ => (2, seat.history, seat.is_repeated),
        });
        let seats: Vec<_> = seats.collect();
        let left = (
            run.left.kills,
            run.left.lost_answers,
            run.left.lagging_lists,
        );
        let earlier = (left.2 > 0).then_some(&run.earlier);
        digest((&*self.bucket.objects(), seats, run.current, left, earlier))
    }

    /// Chooses what happens next, once no worker computes.
    fn choose(&self, run: &mut Run) {
        let is_busy = |seat: &Seat| matches!(seat.phase, Phase::Busy | Phase::Answered(..));
        if run.seats.iter().any(is_busy) {
            return;
        }
        let asks = |run: &Run, worker: usize| match run.seats[worker].phase {
            Phase::Asks(request) => Some(request),
            _ => None,
        };
        let waiting: Vec<usize> = (0..run.seats.len())
            .filter(|&worker| asks(run, worker).is_some())
            .collect();
        let continues = run.current.filter(|worker| waiting.contains(worker));
        let Some(next) = continues.or(waiting.first().copied()) else {
            return;
        };
        let request = asks(run, next).expect("it waits");
        let at = run.chosen.len();
        let choice = if at < run.replayed.choices.len() {
            if at + 1 == run.replayed.choices.len()
                && Some(self.state(run)) != run.replayed.found_in
            {
                self.frontier().diverged += 1;
                return self.stop(run);
            }
            run.replayed.choices[at]
        } else {
            let state = self.state(run);
            let mut frontier = self.frontier();
            if !frontier.is_news(state, run.left.preemptions) {
                drop(frontier);
                return self.stop(run);
            }
            let mut others = Vec::new();
            let may_switch = continues.is_none() || run.left.preemptions > 0;
            if may_switch {
                let others_waiting = waiting.iter().filter(|worker| **worker != next);
                others.extend(others_waiting.map(|&worker| Choice::Answer(worker)));
            }
            // A kill before a request that only reads is one right after the change before it.
            if continues.is_some() && run.left.kills > 0 && run.seats[next].has_changed {
                others.push(Choice::Kill(next));
            }
            let is_first = !run.seats[next].is_repeated;
            if run.left.lost_answers > 0 && request == Request::Change && is_first {
                others.push(Choice::Lose(next));
            }
            if run.left.lagging_lists > 0 && request == Request::List && !run.earlier.is_empty() {
                others.push(Choice::Lag(next));
            }
            frontier.starts.extend(others.into_iter().map(|other| {
                let mut choices = run.chosen.clone();
                choices.push(other);
                Start {
                    choices,
                    found_in: Some(state),
                }
            }));
            Choice::Answer(next)
        };
        run.chosen.push(choice);
        let (worker, fault) = match choice {
            Choice::Kill(worker) => {
                run.left.kills -= 1;
                run.seats[worker].phase = Phase::Killed;
                self.turn.notify_all();
                return self.choose(run);
            }
            Choice::Answer(worker) => (worker, Fault::None),
            Choice::Lose(worker) => {
                run.left.lost_answers -= 1;
                (worker, Fault::Lost)
            }
            Choice::Lag(worker) => {
                run.left.lagging_lists -= 1;
                (worker, Fault::Lagging)
            }
        };
        if continues.is_some_and(|current| current != worker) {
            run.left.preemptions -= 1;
        }
        run.current = Some(worker);
        let request = asks(run, worker).expect("it waits");
        run.seats[worker].phase = Phase::Answered(request, fault);
        self.turn.notify_all();
    }

    /// Ends all workers.
    fn stop(&self, run: &mut Run) {
        run.is_known = true;
        for seat in &mut run.seats {
            seat.phase = Phase::Killed;
        }
        self.turn.notify_all();
    }

    fn frontier(&self) -> MutexGuard<'_, Frontier> {
        self.frontier.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the turn of a worker, carries out its request, and notes the answer.
    fn ask<T: Hash>(
        &self,
        worker: usize,
        request: Request,
        what: impl Hash,
        carry_out: impl Fn(&Memory) -> Result<T>,
    ) -> Result<T> {
        let killed = || Err(Error::new(ErrorKind::Failed, "killed"));
        let mut run = self.run();
        loop {
            match run.seats[worker].phase {
                Phase::Killed => return killed(),
                Phase::Busy => {
                    run.seats[worker].phase = Phase::Asks(request);
                    self.choose(&mut run);
                }
                Phase::Asks(_) | Phase::Ended => {
                    let wait = self.turn.wait(run);
                    run = wait.unwrap_or_else(PoisonError::into_inner);
                }
                Phase::Answered(_, fault) => {
                    let before =
                        (request == Request::Change).then(|| self.bucket.objects().clone());
                    let answer = match (fault, run.earlier.front()) {
                        (Fault::Lagging, Some(earlier)) => carry_out(&Memory::new(earlier.clone())),
                        _ => carry_out(&self.bucket),
                    };
                    run.requests += 1;
                    let has_changed = before
                        .as_ref()
                        .is_some_and(|before| *before != *self.bucket.objects());
                    if let Some(before) = before.filter(|_| has_changed) {
                        let now = self.bucket.objects();
                        let is_removed = !now.contains_key(MANIFEST);
                        let removed = before.get(MANIFEST).filter(|_| is_removed);
                        if removed.is_some_and(|it| !is_added_to(it, &before)) {
                            run.late_remover = Some(worker);
                        }
                        run.contents = digest(&*now);
                        run.earlier.push_back(before);
                        if run.earlier.len() > LAG {
                            run.earlier.pop_front();
                        }
                    }
                    if has_changed && run.wrong.is_none() {
                        run.wrong = wrong_manifest(&self.bucket.objects());
                    }
                    let seat = &mut run.seats[worker];
                    seat.has_changed = has_changed;
                    if fault == Fault::Lost {
                        seat.is_repeated = true;
                        seat.phase = Phase::Asks(request);
                        self.choose(&mut run);
                        continue;
                    }
                    seat.is_repeated = false;
                    seat.history = digest((seat.history, &what, answer.as_ref().ok()));
                    seat.phase = Phase::Busy;
                    self.turn.notify_all();
                    return answer;
                }
            }
        }
    }
}

/// Names a file that the manifest names, and that isn't there with its digest.
fn wrong_manifest(objects: &Tree) -> Option<String> {
    let json = objects.get(MANIFEST)?;
    let manifest = match Manifest::read(std::io::Cursor::new(json)) {
        Ok(manifest) => manifest,
        Err(error) => return Some(error.to_string()),
    };
    let is_whole = |path: &str, sha256: Digest| {
        let found = objects.get(path);
        found.is_some_and(|bytes| Digest::of(bytes) == sha256)
    };
    let mut files = manifest.files();
    let wrong = files.find(|file| !is_whole(&file.path, file.sha256))?;
    Some(format!(
        "the manifest names {}, which isn't there",
        wrong.path
    ))
}

/// Whether the plan in the bucket adds to this manifest.
fn is_added_to(manifest: &Bytes, objects: &Tree) -> bool {
    let plan = objects.get(PLAN);
    let plan = plan.and_then(|json| PlanFile::from_json(json).ok());
    plan.and_then(|plan| plan.base) == Some(tracelake_core::seal::sha256(manifest))
}

/// The bucket as one worker asks it.
#[derive(Debug)]
pub(crate) struct Asker {
    pub(crate) worker: usize,
    pub(crate) table: Arc<Table>,
}

impl Objects for Asker {
    fn read(&self, path: &str) -> Result<Option<(Bytes, String)>> {
        let table = &self.table;
        table.ask(self.worker, Request::Read, ("read", path), |bucket| {
            bucket.read(path)
        })
    }

    fn version(&self, path: &str) -> Result<Option<(u64, String)>> {
        let table = &self.table;
        table.ask(self.worker, Request::Read, ("version", path), |bucket| {
            bucket.version(path)
        })
    }

    fn list(&self, prefix: &str) -> Result<Vec<Listed>> {
        let table = &self.table;
        let listed = table.ask(self.worker, Request::List, ("list", prefix), |bucket| {
            let listed = bucket.list(prefix)?.into_iter();
            let listed = listed.map(|object| (object.path, object.bytes, object.etag));
            Ok(listed.collect::<Vec<_>>())
        });
        let listed = listed?.into_iter();
        Ok(listed
            .map(|(path, bytes, etag)| Listed { path, bytes, etag })
            .collect())
    }

    fn put(&self, path: &str, bytes: Bytes) -> Result<String> {
        let what = ("put", path, &bytes);
        let table = &self.table;
        table.ask(self.worker, Request::Change, what, |bucket| {
            bucket.put(path, bytes.clone())
        })
    }

    fn put_new(&self, path: &str, bytes: Bytes) -> Result<bool> {
        let what = ("put_new", path, &bytes);
        let table = &self.table;
        table.ask(self.worker, Request::Change, what, |bucket| {
            match table.conditions {
                Conditions::Honoured => bucket.put_new(path, bytes.clone()),
                Conditions::Ignored => bucket.put(path, bytes.clone()).map(|_| true),
            }
        })
    }

    /// A store removes the objects of one request one after the other.
    fn remove(&self, paths: &[&str]) -> Result<()> {
        let table = &self.table;
        for path in paths {
            table.ask(self.worker, Request::Change, ("remove", path), |bucket| {
                bucket.remove(&[path])
            })?;
        }
        Ok(())
    }
}
