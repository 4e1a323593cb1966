//! One to six runs at a time on one lake, with kills, lost answers, requests that are carried out twice and listings that
//! are late. None of them may harm what another one wrote.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::process::{Child, Output, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tracelake_testkit::Score;
use tracelake_testkit::server::{Answer, Asked, status};

use super::judge::{Judge, Lake, check_end, is_well};
use super::schedule::{Dice, End, Network, Schedule, Task, Writer};
use crate::workspace::{Tree, said};

/// How long the writers of a race may take.
const HANGS: Duration = Duration::from_secs(180);

/// The sweep ends after this many wrong races.
const ENOUGH_WRONG: u64 = 10;

/// How many runs ended in which way.
type Ends = BTreeMap<String, u64>;

/// Runs the races of `runs` seeds from `seed` on.
pub(super) fn races(judges: &[Judge], only: Option<&str>, seed: u64, runs: u64) -> Result<()> {
    let mut score = Score::new("races");
    let (mut ends, mut wrong) = (Ends::new(), 0);
    for seed in seed..seed.saturating_add(runs) {
        let schedule = Schedule::draw(seed, only);
        let mut log = String::new();
        let race = Race::new(seed, schedule);
        let outcome = race.run(&judges[race.schedule.format], &mut log, &mut ends);
        let outcome = outcome.map_err(|error| format!("{error:#}"));
        if let Err(error) = &outcome {
            println!("wrong: seed {seed}: {error}\n{:#?}\n{log}", race.schedule);
            wrong += 1;
        }
        score.count(&format!("seed {seed}"), outcome);
        if wrong == ENOUGH_WRONG {
            break;
        }
    }
    for (end, count) in ends {
        println!("{count:>6} {end}");
    }
    score.close();
    Ok(())
}

/// A race that runs.
struct Race {
    schedule: Schedule,
    state: Mutex<State>,
}

struct State {
    dice: Dice,
    /// The processes, once they are started.
    children: Vec<Option<Child>>,
    /// How many writes each of them has sent.
    writes: Vec<u64>,
}

impl Race {
    fn new(seed: u64, schedule: Schedule) -> Arc<Self> {
        let count = schedule.writers.len();
        let state = State {
            dice: Dice(seed),
            children: (0..count).map(|_| None).collect(),
            writes: vec![0; count],
        };
        Arc::new(Self {
            schedule,
            state: Mutex::new(state),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the race, finishes the lake and judges it; `log` is what the processes wrote to stderr.
    fn run(self: &Arc<Self>, judge: &Judge, log: &mut String, ends: &mut Ends) -> Result<()> {
        let schedule = &self.schedule;
        let race = Arc::clone(self);
        let lake = match schedule.is_in_bucket {
            true => Judge::in_bucket(move |asked| race.answer(asked)),
            false => judge.on_disk()?,
        };
        for &task in &schedule.before {
            judge.well(&lake, task)?;
        }
        let ended = self.writers(judge, &lake)?;
        let writers = schedule.writers.iter().zip(&ended);
        for (number, output) in ended.iter().enumerate() {
            *log += &format!("writer {number} ended with {}\n", said(output));
            let end = output.status.code();
            let end = end.map_or("was killed".to_owned(), |code| format!("exit {code}"));
            *ends.entry(end).or_default() += 1;
        }
        let well = writers.clone().filter(|(_, output)| is_well(output));
        let well = well.map(|(writer, _)| writer.task);
        let tasks = schedule.before.iter().copied().chain(well);
        let converted = tasks.filter(|task| matches!(task, Task::Convert(_)));
        let done = converted.filter_map(Task::selection).collect();
        let release = match schedule.before[..] {
            [Task::Convert(selection), Task::Release] => judge.release(selection)?,
            _ => Tree::new(),
        };
        // The gravest finding first.
        judge.check_left(&lake, &done, &release)?;
        let asked = schedule.asked();
        for task in self.finishing() {
            judge.well(&lake, task)?;
        }
        judge.check_left(&lake, &asked, &release)?;
        // Files of a release stay as they were, and describe the lake before the additions.
        let mut expected = judge.reference(&asked, false)?;
        expected.extend(release);
        Judge::check_same(&lake.files(), &expected)?;
        for (writer, output) in writers {
            let is_killed = output.status.code().is_none() && writer.end != End::Undisturbed;
            if !is_killed {
                let is_disturbed = writer.network != Network::default();
                let may_fail = [(is_disturbed, 1), (writer.task == Task::Commit, 6)];
                let codes = may_fail.map(|(may, code)| if may { code } else { 0 });
                check_end(output, &codes)?;
            }
        }
        Ok(())
    }

    /// The commands of a user who finishes the lake: what was asked for again, the commit of what shards have made, and
    /// no memory of what is beside the lake. None may be refused.
    fn finishing(&self) -> Vec<Task> {
        let asked = self.schedule.asked().into_iter();
        let mut tasks: Vec<Task> = match self.schedule.ends_with_shards {
            true => asked
                .flat_map(|selection| [Task::Shard(selection, 0, 2), Task::Shard(selection, 1, 2)])
                .collect(),
            false => asked.map(Task::Convert).collect(),
        };
        // Commits alone make nothing.
        if !tasks.is_empty() {
            tasks.extend([Task::Commit, Task::Forget]);
        }
        tasks
    }

    /// Starts every writer at its time, kills those that are to be killed, and waits for all.
    fn writers(&self, judge: &Judge, lake: &Lake) -> Result<Vec<Output>> {
        let log = |number: usize| judge.path(&format!("stderr-{number}"));
        let start = |number: usize, writer: &Writer| {
            let user = format!("writer-{number}");
            let mut command = judge.command(&[], lake, &user, writer.task);
            command
                .stdout(Stdio::null())
                .stderr(File::create(log(number))?);
            command.spawn().context("cannot start a writer")
        };
        let writers = &self.schedule.writers;
        let begun = Instant::now();
        let mut ended = BTreeMap::new();
        while ended.len() < writers.len() {
            for (number, writer) in writers.iter().enumerate() {
                let child = &mut self.state().children[number];
                let starts = Duration::from_millis(writer.starts_ms);
                let Some(child) = child else {
                    if begun.elapsed() >= starts {
                        *child = Some(start(number, writer)?);
                    }
                    continue;
                };
                let ends = match writer.end {
                    End::Killed { after_ms } => starts + Duration::from_millis(after_ms),
                    _ => HANGS,
                };
                if begun.elapsed() >= ends {
                    child.kill()?;
                }
                if let Some(status) = child.try_wait()? {
                    ended.insert(number, status);
                }
            }
            sleep(Duration::from_millis(3));
        }
        ensure!(begun.elapsed() < HANGS, "a writer hangs");
        let outputs = ended.into_iter().map(|(number, status)| {
            Ok(Output {
                status,
                stdout: Vec::new(),
                stderr: fs::read(log(number))?,
            })
        });
        outputs.collect()
    }

    /// The answer to a request; its writer may be killed before it gets it.
    fn answer(&self, asked: &Asked) -> Answer {
        let Some(number) = writer(asked) else {
            return Answer::Well;
        };
        let Writer { end, network, .. } = &self.schedule.writers[number];
        let mut state = self.state();
        let delay = Duration::from_millis(state.dice.below(network.slow_ms));
        let roll = state.dice.below(1_000);
        let lacks = state.dice.below(network.lag);
        let mut is_last = false;
        if !matches!(&asked.method[..], "GET" | "HEAD") {
            let nth = state.writes[number];
            state.writes[number] += 1;
            is_last = matches!(end, End::KilledAtWrite { nth: last, .. } if nth == *last);
        }
        if is_last && let Some(child) = &mut state.children[number] {
            // One that has ended already isn't killed.
            let _ = child.kill();
        }
        drop(state);
        sleep(delay);
        match end {
            End::KilledAtWrite { is_done: false, .. } if is_last => status(503),
            End::KilledAtWrite { .. } if is_last => Answer::Lost,
            _ if roll < network.lost => Answer::Lost,
            _ if roll < network.lost + network.doubled => Answer::Twice,
            _ => Answer::Late(usize::try_from(lacks).unwrap_or(0)),
        }
    }
}

/// The number of the writer that sent a request, which is in its user `writer-3`.
fn writer(asked: &Asked) -> Option<usize> {
    let (_, user) = asked
        .headers
        .get("authorization")?
        .split_once("Credential=writer-")?;
    user.split('/').next()?.parse().ok()
}
