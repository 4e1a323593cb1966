//! Workers whose requests wait for their turn, so that a list of choices decides in which order they reach the world, and
//! what fails.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The state that workers change: a bucket, or a disk.
pub(super) trait World: Clone + Hash + Debug + Send {
    /// The files that survive, by their paths.
    fn files(&self) -> BTreeMap<String, Vec<u8>>;

    /// Whether a worker could have this lock for itself alone now.
    fn is_free(&self, _lock: &str, _worker: usize) -> bool {
        true
    }

    /// A process is gone.
    fn kill(&mut self, worker: usize);

    /// The machine has lost what wasn't synced.
    fn crash(&mut self);

    /// Another file is in the place of the source.
    fn replace_source(&mut self);

    /// How often that has happened.
    fn source(&self) -> u64;
}

/// The next event of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Choice {
    /// The request of this worker is answered.
    Answer(usize),
    /// This worker is killed before its request is sent.
    Kill(usize),
    /// All workers are killed, and what wasn't synced is lost.
    Crash,
    /// The request of this worker is carried out, and its answer is lost: it sees an error.
    Lose(usize),
    /// The request of this worker is carried out, and sent again because its answer is lost.
    Repeat(usize),
    /// The listing that this worker asks for lacks the last changes.
    Lag(usize),
    /// The source is replaced.
    ReplaceSource,
}

/// How often things may happen in one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Limits {
    /// Requests before which the turn goes to another worker although this one could continue.
    pub(super) changes_of_turn: usize,
    pub(super) kills: usize,
    pub(super) crashes: usize,
    pub(super) lost_answers: usize,
    pub(super) late_lists: usize,
    pub(super) replaced_sources: usize,
}

/// A list of choices to replay, and the state in which the last one was found.
#[derive(Debug, Clone, Default)]
pub(super) struct Start {
    pub(super) choices: Vec<Choice>,
    found_in: Option<u64>,
}

/// The states that were reached, and the choices that are still to be tried.
#[derive(Debug)]
pub(super) struct Frontier {
    /// The most changes of turn that were left in a state.
    reached: HashMap<u64, usize>,
    pub(super) starts: Vec<Start>,
    /// Replays that didn't get to the state in which their last choice was found.
    pub(super) diverged: usize,
    /// The state of a generator of random numbers, if schedules are random.
    random: Option<u64>,
    /// Whether nothing else is tried than the first schedule.
    is_one: bool,
}

impl Frontier {
    /// All schedules.
    pub(super) fn all() -> Self {
        Self {
            reached: HashMap::new(),
            starts: vec![Start::default()],
            diverged: 0,
            random: None,
            is_one: false,
        }
    }

    /// The first schedule alone.
    pub(super) fn one() -> Self {
        Self {
            is_one: true,
            ..Self::all()
        }
    }

    /// Random schedules.
    pub(super) fn random(seed: u64, count: usize) -> Self {
        Self {
            starts: vec![Start::default(); count],
            random: Some(seed),
            ..Self::all()
        }
    }

    pub(super) fn states(&self) -> usize {
        self.reached.len()
    }

    /// Whether a state is new, or was only reached with fewer changes of turn left.
    fn is_news(&mut self, state: u64, changes_of_turn: usize) -> bool {
        match self.reached.get_mut(&state) {
            Some(known) if *known >= changes_of_turn => false,
            Some(known) => {
                *known = changes_of_turn;
                true
            }
            None => {
                self.reached.insert(state, changes_of_turn);
                true
            }
        }
    }

    /// A random number below a limit.
    fn below(&mut self, limit: usize) -> usize {
        let state = self.random.get_or_insert(1);
        // SplitMix64.
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit as u64).unwrap_or_default()
    }
}

/// A request of a worker.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Request {
    Read,
    List,
    /// A change that a store may carry out and not answer.
    Change,
    /// A change that the operating system answers.
    Call,
    /// A sync, which changes nothing that anybody sees.
    Sync,
    /// A lock that is waited for.
    Wait(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
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
enum Fault {
    None,
    Lost,
    Repeated,
    Late,
}

#[derive(Debug, Clone)]
struct Seat {
    phase: Phase,
    /// A digest of the requests so far and their answers: what the worker knows.
    history: u64,
    /// Whether its last request changed the world.
    has_changed: bool,
    /// Whether its request was carried out once already.
    is_repeated: bool,
}

/// One run of all workers.
#[derive(Debug)]
struct Run<W> {
    world: W,
    /// The digest of the world, until it changes.
    world_digest: Option<u64>,
    /// The files of the world after the last change.
    files: BTreeMap<String, Vec<u8>>,
    seats: Vec<Seat>,
    replayed: Start,
    chosen: Vec<Choice>,
    current: Option<usize>,
    left: Limits,
    /// Whether the rest of the run is known.
    is_known: bool,
    /// The worlds before each of the last changes.
    earlier: VecDeque<W>,
    /// The fault that a reader found, at the first step at which it did.
    wrong: Option<String>,
}

impl<W: World> Run<W> {
    fn digest(&mut self) -> u64 {
        *self.world_digest.get_or_insert_with(|| digest(&self.world))
    }
}

/// How many changes a listing may be behind.
const LATE: usize = 3;

/// Compares the files before and after a change, and returns what is wrong.
pub(super) type Reader =
    fn(&BTreeMap<String, Vec<u8>>, &BTreeMap<String, Vec<u8>>) -> Option<String>;

/// The world, the run, and what is left to explore.
#[derive(Debug)]
pub(super) struct Turns<W> {
    run: Mutex<Run<W>>,
    /// For each worker, its turn.
    turns: Vec<Condvar>,
    frontier: Arc<Mutex<Frontier>>,
    reader: Reader,
}

/// The end of a run.
pub(super) struct End<W> {
    pub(super) world: W,
    pub(super) chosen: Vec<Choice>,
    /// Whether another run has explored the rest.
    pub(super) is_known: bool,
    pub(super) wrong: Option<String>,
    pub(super) killed: Vec<bool>,
}

/// The worker was killed, or the answer lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoAnswer {
    Killed,
    Lost,
}

pub(super) fn digest(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

impl<W: World> Turns<W> {
    pub(super) fn new(
        world: W,
        workers: usize,
        limits: Limits,
        replayed: Start,
        frontier: &Arc<Mutex<Frontier>>,
        reader: Reader,
    ) -> Arc<Self> {
        let seat = Seat {
            phase: Phase::Busy,
            history: 0,
            has_changed: false,
            is_repeated: false,
        };
        Arc::new(Self {
            run: Mutex::new(Run {
                files: world.files(),
                world,
                world_digest: None,
                seats: vec![seat; workers],
                replayed,
                chosen: Vec::new(),
                current: None,
                left: limits,
                is_known: false,
                earlier: VecDeque::new(),
                wrong: None,
            }),
            turns: (0..workers).map(|_| Condvar::new()).collect(),
            frontier: Arc::clone(frontier),
            reader,
        })
    }

    fn run(&self) -> MutexGuard<'_, Run<W>> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn frontier(&self) -> MutexGuard<'_, Frontier> {
        self.frontier.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notify_all(&self) {
        self.turns.iter().for_each(Condvar::notify_one);
    }

    /// Ends the turns of a worker.
    pub(super) fn leave(&self, worker: usize) {
        let mut run = self.run();
        if run.seats[worker].phase != Phase::Killed {
            run.seats[worker].phase = Phase::Ended;
        }
        self.choose(&mut run);
    }

    pub(super) fn end(&self) -> End<W> {
        let run = self.run();
        let killed = run.seats.iter().map(|seat| seat.phase == Phase::Killed);
        End {
            world: run.world.clone(),
            chosen: run.chosen.clone(),
            is_known: run.is_known,
            wrong: run.wrong.clone(),
            killed: killed.collect(),
        }
    }

    /// Does something at once, if the worker isn't killed.
    pub(super) fn at_once(&self, worker: usize, act: impl FnOnce(&mut W)) {
        let mut run = self.run();
        if run.seats[worker].phase != Phase::Killed {
            act(&mut run.world);
            run.world_digest = None;
        }
    }

    /// Looks at the world without a turn. What a worker sees is part of what it knows.
    pub(super) fn peek<T: Hash>(&self, worker: usize, look: impl FnOnce(&W) -> T) -> T {
        let mut run = self.run();
        let seen = look(&run.world);
        let seat = &mut run.seats[worker];
        seat.history = digest((seat.history, &seen));
        seen
    }

    /// Everything that decides what can follow.
    fn state(run: &mut Run<W>) -> u64 {
        let world = run.digest();
        let seats = run.seats.iter().map(|seat| match seat.phase {
            Phase::Killed => (0, 0, false),
            Phase::Ended => (1, seat.history, false),
            _ => (2, seat.history, seat.is_repeated),
        });
        let seats: Vec<_> = seats.collect();
        let mut left = run.left;
        left.changes_of_turn = 0;
        let earlier: Vec<&W> = match left.late_lists {
            0 => Vec::new(),
            _ => run.earlier.iter().collect(),
        };
        digest((world, seats, run.current, left, earlier))
    }

    /// Chooses what happens next, once no worker computes.
    fn choose(&self, run: &mut Run<W>) {
        let is_busy = |seat: &Seat| matches!(seat.phase, Phase::Busy | Phase::Answered(..));
        if run.seats.iter().any(is_busy) {
            return;
        }
        let asks = |run: &Run<W>, worker: usize| match &run.seats[worker].phase {
            Phase::Asks(Request::Wait(lock)) if !run.world.is_free(lock, worker) => None,
            Phase::Asks(request) => Some(request.clone()),
            _ => None,
        };
        let waiting: Vec<usize> = (0..run.seats.len())
            .filter(|&worker| asks(run, worker).is_some())
            .collect();
        let continues = run.current.filter(|worker| waiting.contains(worker));
        let Some(next) = continues.or(waiting.first().copied()) else {
            let is_stuck = |seat: &Seat| matches!(seat.phase, Phase::Asks(_));
            if run.seats.iter().any(is_stuck) {
                run.wrong
                    .get_or_insert_with(|| "all workers wait for each other".to_owned());
                self.stop(run);
            }
            return;
        };
        let at = run.chosen.len();
        let choice = if let Some(choice) = run.replayed.choices.get(at).copied() {
            if at + 1 == run.replayed.choices.len()
                && Some(Self::state(run)) != run.replayed.found_in
            {
                self.frontier().diverged += 1;
                return self.stop(run);
            }
            choice
        } else if self.frontier().is_one {
            Choice::Answer(next)
        } else {
            let others = self.others(run, &waiting, continues, next, &asks);
            let state = Self::state(run);
            let mut frontier = self.frontier();
            let is_news = frontier.is_news(state, run.left.changes_of_turn);
            if frontier.random.is_some() {
                // Once in a while, something else than what is next happens.
                match frontier.below(8) {
                    0 if !others.is_empty() => others[frontier.below(others.len())],
                    _ => Choice::Answer(next),
                }
            } else {
                if !is_news {
                    drop(frontier);
                    return self.stop(run);
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
            }
        };
        self.carry_out(run, choice, continues, &asks);
    }

    /// The choices besides the next answer.
    fn others(
        &self,
        run: &Run<W>,
        waiting: &[usize],
        continues: Option<usize>,
        next: usize,
        asks: &dyn Fn(&Run<W>, usize) -> Option<Request>,
    ) -> Vec<Choice> {
        let mut others = Vec::new();
        if continues.is_none() || run.left.changes_of_turn > 0 {
            let others_waiting = waiting.iter().filter(|worker| **worker != next);
            others.extend(others_waiting.map(|&worker| Choice::Answer(worker)));
        }
        let seat = &run.seats[next];
        // A kill before a request that only reads is one right after the change before it.
        if continues.is_some() && seat.has_changed {
            if run.left.kills > 0 {
                others.push(Choice::Kill(next));
            }
            if run.left.crashes > 0 {
                others.push(Choice::Crash);
            }
        }
        let request = asks(run, next);
        if run.left.lost_answers > 0 && request == Some(Request::Change) && !seat.is_repeated {
            others.extend([Choice::Lose(next), Choice::Repeat(next)]);
        }
        if run.left.late_lists > 0 && request == Some(Request::List) && !run.earlier.is_empty() {
            others.push(Choice::Lag(next));
        }
        if run.left.replaced_sources > 0 {
            others.push(Choice::ReplaceSource);
        }
        others
    }

    fn carry_out(
        &self,
        run: &mut Run<W>,
        choice: Choice,
        continues: Option<usize>,
        asks: &dyn Fn(&Run<W>, usize) -> Option<Request>,
    ) {
        run.chosen.push(choice);
        let (worker, fault) = match choice {
            Choice::Kill(worker) => {
                run.left.kills -= 1;
                run.seats[worker].phase = Phase::Killed;
                run.world.kill(worker);
                run.world_digest = None;
                self.notify_all();
                return self.choose(run);
            }
            Choice::Crash => {
                run.left.crashes -= 1;
                run.world.crash();
                run.world_digest = None;
                for seat in &mut run.seats {
                    if seat.phase != Phase::Ended {
                        seat.phase = Phase::Killed;
                    }
                }
                return self.notify_all();
            }
            Choice::ReplaceSource => {
                run.left.replaced_sources -= 1;
                run.world.replace_source();
                run.world_digest = None;
                return self.choose(run);
            }
            Choice::Answer(worker) => (worker, Fault::None),
            Choice::Lose(worker) | Choice::Repeat(worker) => {
                run.left.lost_answers -= 1;
                let is_lost = matches!(choice, Choice::Lose(_));
                (
                    worker,
                    if is_lost {
                        Fault::Lost
                    } else {
                        Fault::Repeated
                    },
                )
            }
            Choice::Lag(worker) => {
                run.left.late_lists -= 1;
                (worker, Fault::Late)
            }
        };
        if continues.is_some_and(|current| current != worker) {
            run.left.changes_of_turn = run.left.changes_of_turn.saturating_sub(1);
        }
        run.current = Some(worker);
        let request = asks(run, worker).expect("it waits");
        run.seats[worker].phase = Phase::Answered(request, fault);
        self.turns[worker].notify_one();
    }

    /// Ends all workers.
    fn stop(&self, run: &mut Run<W>) {
        run.is_known = true;
        for seat in &mut run.seats {
            seat.phase = Phase::Killed;
        }
        self.notify_all();
    }

    /// Waits for the turn of a worker, carries out its request, and notes the answer.
    pub(super) fn ask<T: Hash>(
        &self,
        worker: usize,
        request: Request,
        what: impl Hash,
        carry_out: impl Fn(&mut W) -> T,
    ) -> Result<T, NoAnswer> {
        let mut run = self.run();
        loop {
            match run.seats[worker].phase.clone() {
                Phase::Killed => return Err(NoAnswer::Killed),
                Phase::Busy => {
                    run.seats[worker].phase = Phase::Asks(request.clone());
                    self.choose(&mut run);
                }
                Phase::Asks(_) | Phase::Ended => {
                    let wait = self.turns[worker].wait(run);
                    run = wait.unwrap_or_else(PoisonError::into_inner);
                }
                Phase::Answered(_, fault) => {
                    let is_change = !matches!(request, Request::Read | Request::List);
                    let before = match is_change {
                        true => run.digest(),
                        false => 0,
                    };
                    let earlier = (is_change && run.left.late_lists > 0).then(|| run.world.clone());
                    let answer = match (fault, run.earlier.front()) {
                        (Fault::Late, Some(earlier)) => carry_out(&mut earlier.clone()),
                        _ => carry_out(&mut run.world),
                    };
                    if is_change {
                        run.world_digest = None;
                    }
                    let has_changed = is_change && before != run.digest();
                    if has_changed {
                        let files = match request {
                            Request::Sync => run.files.clone(),
                            _ => run.world.files(),
                        };
                        if run.wrong.is_none() {
                            run.wrong = (self.reader)(&run.files, &files);
                        }
                        run.files = files;
                        run.earlier.extend(earlier);
                        if run.earlier.len() > LATE {
                            run.earlier.pop_front();
                        }
                    }
                    let seat = &mut run.seats[worker];
                    seat.has_changed = has_changed;
                    if fault == Fault::Repeated {
                        seat.is_repeated = true;
                        seat.phase = Phase::Asks(request.clone());
                        self.choose(&mut run);
                        continue;
                    }
                    seat.is_repeated = false;
                    let heard = (fault != Fault::Lost).then_some(&answer);
                    seat.history = digest((seat.history, &what, heard));
                    seat.phase = Phase::Busy;
                    return match fault {
                        Fault::Lost => Err(NoAnswer::Lost),
                        _ => Ok(answer),
                    };
                }
            }
        }
    }
}
