//! A proxy on loopback between the writers and the store. It loses answers, sends requests twice, delays
//! them, answers listings with older ones, and says when a writer waits for the write at which it is killed.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use super::http::Request;
use super::schedule::{Dice, End, Schedule};

/// How often every known listing is asked for, while a writer may get an older one.
const LISTED_EVERY: Duration = Duration::from_millis(150);

/// A proxy that lives until it is dropped.
pub(super) struct Proxy {
    address: String,
    shared: Arc<Shared>,
}

struct Shared {
    store: String,
    state: Mutex<State>,
    /// moto looks whether there is an object and puts it in two steps, so it gets one write after the other.
    writing: Mutex<()>,
}

#[derive(Default)]
struct State {
    is_stopped: bool,
    /// The race; none between two races.
    race: Option<Race>,
    /// The listings that writers have asked for in all races.
    listings: BTreeMap<String, Request>,
}

struct Race {
    schedule: Schedule,
    dice: Dice,
    /// How many writes each writer has sent.
    writes: Vec<u64>,
    /// Which writers wait at the write at which they are killed.
    waiting: Vec<bool>,
    /// The answers to listings, the oldest first.
    listed: BTreeMap<String, Vec<(Instant, Vec<u8>)>>,
}

/// The fate of a request.
enum Fate {
    Forward,
    Lost,
    /// Sent twice; whether the first answer counts.
    Doubled(bool),
    /// Answered with this older listing.
    Older(Vec<u8>),
    /// Never answered; whether it is carried out.
    Held(bool),
}

impl Proxy {
    /// Starts a proxy in front of the store at this address.
    pub(super) fn start(store: &str) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?.to_string();
        let shared = Arc::new(Shared {
            store: store.to_owned(),
            state: Mutex::default(),
            writing: Mutex::default(),
        });
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if serving.state().is_stopped {
                    break;
                }
                let shared = Arc::clone(&serving);
                // A writer may be killed at any moment, so a broken connection is no failure.
                thread::spawn(move || shared.serve(&stream?));
            }
        });
        let listing = Arc::clone(&shared);
        thread::spawn(move || listing.keep_listings());
        Ok(Self { address, shared })
    }

    /// `127.0.0.1:12345`.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Begins a race.
    pub(super) fn begin(&self, schedule: &Schedule) {
        let count = schedule.writers.len();
        self.shared.state().race = Some(Race {
            schedule: schedule.clone(),
            dice: Dice::new(schedule.seed),
            writes: vec![0; count],
            waiting: vec![false; count],
            listed: BTreeMap::new(),
        });
    }

    /// Whether a writer waits for the answer to the write at which it is killed.
    pub(super) fn is_waiting(&self, writer: usize) -> bool {
        let state = self.shared.state();
        let race = state.race.as_ref();
        race.is_some_and(|race| race.waiting.get(writer) == Some(&true))
    }

    /// Ends a race; requests that are held end without an answer.
    pub(super) fn end(&self) {
        self.shared.state().race = None;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.is_stopped = true;
        state.race = None;
        drop(state);
        let _ = TcpStream::connect(&self.address);
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, mut stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let Some(request) = Request::read(&mut BufReader::new(stream))? else {
            return Ok(());
        };
        let (delay, fate) = self.state().fate(&request);
        sleep(delay);
        let answer = match fate {
            Fate::Forward => self.send(&request)?,
            Fate::Doubled(is_first) => {
                let answers = [self.send(&request)?, self.send(&request)?];
                answers[usize::from(!is_first)].clone()
            }
            Fate::Older(answer) => answer,
            Fate::Lost => {
                self.send(&request)?;
                return Ok(());
            }
            Fate::Held(is_done) => {
                if is_done {
                    self.send(&request)?;
                }
                self.hold(&request);
                return Ok(());
            }
        };
        stream.write_all(&answer)
    }

    fn send(&self, request: &Request) -> io::Result<Vec<u8>> {
        let one = request
            .is_write()
            .then(|| self.writing.lock().unwrap_or_else(PoisonError::into_inner));
        let answer = request.send(&self.store);
        drop(one);
        answer
    }

    /// Marks its writer as waiting, and returns after the race.
    fn hold(&self, request: &Request) {
        let mut state = self.state();
        let waiting = state.race.as_mut().map(|race| &mut race.waiting);
        if let Some((waiting, writer)) = waiting.zip(writer(request))
            && let Some(is_waiting) = waiting.get_mut(writer)
        {
            *is_waiting = true;
        }
        drop(state);
        while self.state().race.is_some() {
            sleep(Duration::from_millis(20));
        }
    }

    /// Asks for every known listing again and again while a race needs older ones.
    fn keep_listings(&self) {
        loop {
            sleep(LISTED_EVERY);
            let state = self.state();
            if state.is_stopped {
                return;
            }
            let Some(race) = &state.race else {
                continue;
            };
            let seed = race.schedule.seed;
            let lags = |race: &Race| {
                let mut writers = race.schedule.writers.iter();
                writers.any(|writer| writer.network.lag_ms > 0)
            };
            if !lags(race) {
                continue;
            }
            let listings: Vec<(String, Request)> = state.listings.clone().into_iter().collect();
            drop(state);
            for (target, request) in listings {
                let asked = Instant::now();
                let answer = self.send(&request);
                let mut state = self.state();
                let race = state.race.as_mut();
                let same_race = race.filter(|race| race.schedule.seed == seed);
                if let (Some(race), Ok(answer)) = (same_race, answer) {
                    race.listed.entry(target).or_default().push((asked, answer));
                }
            }
        }
    }
}

/// The number of the writer that sent a request, which is in its user `writer-3`.
fn writer(request: &Request) -> Option<usize> {
    request.user()?.strip_prefix("writer-")?.parse().ok()
}

impl State {
    /// How long a request waits, and what happens to it then.
    fn fate(&mut self, request: &Request) -> (Duration, Fate) {
        if request.is_listing() {
            let target = request.target.clone();
            self.listings
                .entry(target)
                .or_insert_with(|| request.clone());
        }
        let (Some(race), Some(number)) = (&mut self.race, writer(request)) else {
            return (Duration::ZERO, Fate::Forward);
        };
        let Some(writer) = race.schedule.writers.get(number).cloned() else {
            return (Duration::ZERO, Fate::Forward);
        };
        let network = writer.network;
        let delay = Duration::from_millis(race.dice.below(network.slow_ms));
        if request.is_write() {
            let nth = race.writes[number];
            race.writes[number] += 1;
            if let End::KilledAtWrite { nth: at, is_done } = writer.end
                && at == nth
            {
                return (delay, Fate::Held(is_done));
            }
        }
        let roll = race.dice.below(1_000);
        let fate = if roll < network.lost {
            Fate::Lost
        } else if roll < network.lost + network.doubled {
            Fate::Doubled(race.dice.one_in(2))
        } else if request.is_listing() && network.lag_ms > 0 {
            race.older_listing(&request.target, network.lag_ms)
        } else {
            Fate::Forward
        };
        (delay, fate)
    }
}

impl Race {
    /// A listing of at most this age.
    fn older_listing(&mut self, target: &str, lag_ms: u64) -> Fate {
        let age = Duration::from_millis(self.dice.below(lag_ms));
        let listed = self.listed.get(target).into_iter().flatten().rev();
        let mut recent = listed.take_while(|(at, _)| at.elapsed().as_millis() <= lag_ms.into());
        match recent.find(|(at, _)| at.elapsed() >= age) {
            Some((_, answer)) => Fate::Older(answer.clone()),
            None => Fate::Forward,
        }
    }
}
