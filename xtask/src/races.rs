//! `cargo xtask races`: two to six writers at a time on one prefix of a bucket, with kills, lost answers,
//! requests that arrive twice and listings that are old. None of them may harm what another one wrote.

mod http;
mod judge;
mod moto;
mod proxy;
mod schedule;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::buckets::MOTO;
use crate::readers::environment;
use crate::rig::{Score, build_with, text};
use judge::{Judge, MANIFEST, check_end};
use moto::{Moto, OUT, Objects};
use proxy::Proxy;
use schedule::{End, Network, Schedule, Selection, Start, Task, Writer};

/// How long the writers of a race may take.
const HANGS: Duration = Duration::from_secs(180);

/// The sweep ends after this many wrong races.
const ENOUGH_WRONG: u64 = 10;

/// Runs the races of `runs` seeds from `seed` on.
pub(crate) fn races(root: &Path, runs: u64, seed: u64) -> Result<()> {
    environment(root, "buckets/moto", &[MOTO])?;
    let program = build_with(root, &[], "--bin", "tracelake")?;
    let moto = Moto::start(root)?;
    let races = Races {
        judge: Judge::new(program)?,
        proxy: Proxy::start(moto.address())?,
        moto,
    };
    let mut score = Score::default();
    let mut ends = BTreeMap::new();
    for seed in seed..seed.saturating_add(runs) {
        let schedule = Schedule::draw(seed);
        let mut said = String::new();
        let outcome = races.run(&schedule, &mut said, &mut ends);
        if outcome.is_err() {
            println!("{}{said}", schedule.lines());
        }
        score.count(&format!("seed {seed}"), outcome);
        if score.wrong == ENOUGH_WRONG {
            break;
        }
    }
    for (end, count) in ends {
        println!("{count:>6} {end}");
    }
    score.close("races")
}

struct Races {
    judge: Judge,
    moto: Moto,
    proxy: Proxy,
}

/// How many writers and finishing runs ended in which way.
type Ends = BTreeMap<String, u64>;

impl Races {
    /// Runs one race, finishes the lake and judges it; `said` is what the processes wrote to stderr.
    fn run(&self, schedule: &Schedule, said: &mut String, ends: &mut Ends) -> Result<()> {
        self.moto.reset(&self.begun(schedule.start)?)?;
        self.proxy.begin(schedule);
        let outcome = self.writers(schedule);
        self.proxy.end();
        let ended = outcome?;
        let mut done = BTreeSet::new();
        if let Start::Finished(selection) | Start::Released(selection) = schedule.start {
            done.insert(selection);
        }
        for (number, (output, writer)) in ended.iter().zip(&schedule.writers).enumerate() {
            *said += &format!("  writer {number} ended: {}\n", shortened(output));
            let code = output.status.code();
            let end = code.map_or("was killed".to_owned(), |code| format!("exit {code}"));
            *ends.entry(format!("writers: {end}")).or_default() += 1;
            if code == Some(0) && writer.task == Task::Convert {
                done.insert(writer.selection);
            }
        }
        // The gravest finding first.
        let left = self.moto.objects()?;
        if left.contains_key(MANIFEST) && self.verify()?.status.success() {
            self.judge.check_kept(&left, &done)?;
        }
        self.judge.check_data(&left)?;
        let finished = self.finish(schedule, &done, said, ends);
        for (output, writer) in ended.iter().zip(&schedule.writers) {
            let is_killed = output.status.code().is_none() && writer.end != End::Undisturbed;
            if !is_killed {
                let may_refuse = writer.task == Task::Commit;
                check_end(output, may_refuse, writer.network != Network::default())?;
            }
        }
        finished
    }

    /// The objects that a race begins with.
    fn begun(&self, start: Start) -> Result<Objects> {
        match start {
            Start::Empty => Ok(Objects::new()),
            Start::Finished(selection) => self.judge.lake(&BTreeSet::from([selection]), false),
            Start::Released(selection) => self.judge.lake(&BTreeSet::from([selection]), true),
            Start::Begun(selection) => {
                self.moto.reset(&Objects::new())?;
                let mut command = self.judge.command(self.moto.address(), "start");
                command.args(self.judge.convert(selection, OUT)?);
                let output = command.args(["--shard", "0/2"]).output()?;
                ensure!(output.status.success(), "{}", text(&output));
                self.moto.objects()
            }
        }
    }

    /// Starts every writer at its time, kills those that are to be killed, and waits for all.
    fn writers(&self, schedule: &Schedule) -> Result<Vec<Output>> {
        let begun = Instant::now();
        let mut running = Running(Vec::new());
        for (number, writer) in schedule.writers.iter().enumerate() {
            running.0.push((number, writer, None));
        }
        running.0.sort_by_key(|(_, writer, _)| writer.starts_ms);
        let mut ended: BTreeMap<usize, std::process::ExitStatus> = BTreeMap::new();
        while ended.len() < schedule.writers.len() {
            ensure!(begun.elapsed() < HANGS, "a writer hangs");
            for (number, writer, child) in &mut running.0 {
                let starts = Duration::from_millis(writer.starts_ms);
                let Some(child) = child else {
                    if begun.elapsed() >= starts {
                        *child = Some(self.start(*number, writer)?);
                    }
                    continue;
                };
                let is_due = match writer.end {
                    End::Undisturbed => false,
                    End::Killed { after_ms } => {
                        begun.elapsed() >= starts + Duration::from_millis(after_ms)
                    }
                    End::KilledAtWrite { .. } => self.proxy.is_waiting(*number),
                };
                if is_due {
                    child.kill()?;
                }
                if let Some(status) = child.try_wait()? {
                    ended.insert(*number, status);
                }
            }
            sleep(Duration::from_millis(3));
        }
        let outputs = ended.into_iter().map(|(number, status)| {
            Ok(Output {
                status,
                stdout: Vec::new(),
                stderr: fs::read(self.judge.log(number))?,
            })
        });
        outputs.collect()
    }

    fn start(&self, number: usize, writer: &Writer) -> Result<Child> {
        let user = format!("writer-{number}");
        let mut command = self.judge.command(self.proxy.address(), &user);
        if writer.task == Task::Commit {
            command.args(["commit", OUT]);
        } else {
            command.args(self.judge.convert(writer.selection, OUT)?);
        }
        match writer.task {
            Task::Convert | Task::Commit => {}
            Task::Shard { index, of } => {
                command.args(["--shard", &format!("{index}/{of}")]);
            }
        }
        let log = File::create(self.judge.log(number))?;
        let child = command.stdout(Stdio::null()).stderr(log).spawn();
        child.context("cannot start a writer")
    }

    fn verify(&self) -> Result<Output> {
        let mut command = self.judge.command(self.moto.address(), "finish");
        Ok(command.args(["verify", OUT]).output()?)
    }

    /// Finishes the lake as a user does: runs what was asked for again, commits what shards have made, and forgets what
    /// stands beside the lake. No run may be refused.
    fn finish(
        &self,
        schedule: &Schedule,
        done: &BTreeSet<Selection>,
        said: &mut String,
        ends: &mut Ends,
    ) -> Result<()> {
        let mut asked = done.clone();
        let converts = schedule
            .writers
            .iter()
            .filter(|writer| writer.task != Task::Commit);
        asked.extend(converts.map(|writer| writer.selection));
        if let Start::Begun(selection) = schedule.start {
            asked.insert(selection);
        }
        if asked.is_empty() {
            // Commits alone make nothing.
            ensure!(
                self.moto.objects()?.is_empty(),
                "commits alone made objects"
            );
            *ends.entry("lakes: none".to_owned()).or_default() += 1;
            return Ok(());
        }
        for &selection in &asked {
            self.finishing(&self.judge.convert(selection, OUT)?, said)?;
        }
        for more in [&[][..], &["--forget"]] {
            let commit = [&["commit", OUT][..], more].concat();
            self.finishing(
                &commit.into_iter().map(str::to_owned).collect::<Vec<_>>(),
                said,
            )?;
        }
        let found = self.moto.objects()?;
        self.judge.check_data(&found)?;
        let verified = self.verify()?;
        ensure!(
            verified.status.success(),
            "the finished lake: {}",
            text(&verified)
        );
        self.judge.check_kept(&found, done)?;
        *ends.entry("lakes: finished".to_owned()).or_default() += 1;
        let mut expected = self.judge.lake(&asked, false)?;
        if let Start::Released(selection) = schedule.start {
            // Files of a release stay as they were, and describe the lake before the additions.
            let selections = BTreeSet::from([selection]);
            let before = self.judge.lake(&selections, false)?;
            let mut release = self.judge.lake(&selections, true)?;
            release.retain(|name, _| !before.contains_key(name));
            expected.extend(release);
        }
        Judge::check_same(&found, &expected)
    }

    /// Runs one command of the user who finishes the lake.
    fn finishing(&self, arguments: &[String], said: &mut String) -> Result<()> {
        let mut command = self.judge.command(self.moto.address(), "finish");
        let output = command.args(arguments).output()?;
        *said += &format!("  then {}: {}\n", arguments.join(" "), shortened(&output));
        ensure!(
            output.status.success(),
            "{} fails while the lake is finished",
            arguments.join(" ")
        );
        Ok(())
    }
}

/// The output of a process, without the table of what it converted.
fn shortened(output: &Output) -> String {
    let said = text(output);
    match output.status.success() {
        true => said.lines().next_back().unwrap_or_default().to_owned(),
        false => said,
    }
}

/// The writers of a race; dropping it kills those that still run.
struct Running<'a>(Vec<(usize, &'a Writer, Option<Child>)>);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        for child in self.0.iter_mut().filter_map(|(_, _, child)| child.as_mut()) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
