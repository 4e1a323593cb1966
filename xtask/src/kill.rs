//! `cargo xtask kill`: SIGKILL at random moments; after each, nothing half-made is visible and a
//! resumed run makes the same bytes as an undisturbed one.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::rig::{FORMATS, PLACES, Rig, Score};

/// Rows of the largest table: enough for some tenths of a second of work.
const ROWS: u64 = 60_000;

/// Kills `moments` runs of each format on disk and in a bucket, and the workers of a quarter as many lakes.
pub(crate) fn kill(root: &Path, moments: u32, only: Option<&str>) -> Result<()> {
    let mut score = Score::default();
    for format in FORMATS {
        let mut rig = Rig::new(root, "kill", ROWS, format)?;
        for place in PLACES
            .into_iter()
            .filter(|place| only.is_none_or(|only| only == *place))
        {
            if place == "bucket" {
                rig.use_bucket();
            }
            println!("{format}, {place}:");
            kill_runs(&rig, moments, &mut score)?;
            kill_shards(&rig, moments.div_ceil(4), &mut score)?;
        }
    }
    score.close("kill")
}

fn kill_runs(rig: &Rig, moments: u32, score: &mut Score) -> Result<()> {
    let out = rig.fresh()?;
    let begun = Instant::now();
    rig.convert(&out).output()?;
    let whole = begun.elapsed();
    let (mut finished, mut started) = (0, 0);
    for moment in 0..moments {
        rig.fresh()?;
        // Moments spread by the golden ratio are as good as random ones and the same every time.
        let share = (f64::from(moment) * 0.618_033_988_749_895).fract();
        // One in four runs is killed twice: once while it resumes after an earlier kill.
        for _ in 0..=u32::from(moment % 4 == 0) {
            let mut command = rig.convert(&out);
            let mut child = command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()?;
            sleep(Duration::from_secs_f64(whole.as_secs_f64() * share));
            started += 1;
            finished += u32::from(child.try_wait()?.is_some());
            child.kill()?;
            child.wait()?;
        }
        let outcome = rig.check_left(&out).and_then(|()| rig.check_resumed(&out));
        score.count(
            &format!("killed after {:.0} % of the time", share * 100.0),
            outcome,
        );
    }
    println!("{finished} of {started} runs had ended before they were killed");
    ensure!(finished < started, "no run was killed");
    Ok(())
}

/// How many workers share a lake.
const SHARDS: u32 = 3;

/// Kills all workers of a lake at different moments, and then the committer. Every other lake is finished
/// by its shards, and the others by a plain run, which continues them.
fn kill_shards(rig: &Rig, moments: u32, score: &mut Score) -> Result<()> {
    let out = rig.fresh()?;
    let (mut finished, mut started) = (0, 0);
    let (mut workers, mut commit) = (Duration::ZERO, Duration::ZERO);
    for moment in 0..=moments {
        rig.fresh()?;
        let share = |step: u32| (f64::from(moment * SHARDS + step) * 0.618_033_988_749_895).fract();
        let all = (0..SHARDS).map(|index| rig.shard(&out, index, SHARDS));
        if moment == 0 {
            // The first lake is not disturbed, and shows how long it takes.
            workers = timed(all.collect())?;
            commit = timed(vec![rig.commit(&out)])?;
            continue;
        }
        for round in 0..=u32::from(moment % 4 == 0) {
            let all = (0..SHARDS).map(|index| rig.shard(&out, index, SHARDS));
            let delays = (0..SHARDS).map(|index| workers.mul_f64(share(index + round)));
            started += SHARDS;
            finished += kill_at(all.zip(delays).collect())?;
        }
        let outcome = rig.check_left(&out).and_then(|()| {
            if moment % 2 == 0 {
                return rig.check_resumed(&out);
            }
            timed(
                (0..SHARDS)
                    .map(|index| rig.shard(&out, index, SHARDS))
                    .collect(),
            )?;
            kill_at(vec![(rig.commit(&out), commit.mul_f64(share(0)))])?;
            rig.check_left(&out)?;
            rig.check_committed(&out, SHARDS)
        });
        let shares: Vec<String> = (0..SHARDS)
            .map(|step| format!("{:.0}", share(step) * 100.0))
            .collect();
        score.count(
            &format!("shards killed after {} % of the time", shares.join(", ")),
            outcome,
        );
    }
    println!("{finished} of {started} workers had ended before they were killed");
    ensure!(finished < started, "no worker was killed");
    Ok(())
}

/// Runs commands at the same time, and returns how long that took.
fn timed(commands: Vec<Command>) -> Result<Duration> {
    let begun = Instant::now();
    let children: std::io::Result<Vec<_>> = commands.into_iter().map(start).collect();
    for mut child in children? {
        child.wait()?;
    }
    Ok(begun.elapsed())
}

/// Runs commands at the same time, kills each after its delay, and returns how many had ended.
fn kill_at(mut commands: Vec<(Command, Duration)>) -> Result<u32> {
    commands.sort_by_key(|(_, delay)| *delay);
    let begun = Instant::now();
    let started: Vec<_> = commands
        .into_iter()
        .map(|(command, delay)| Ok((start(command)?, delay)))
        .collect::<std::io::Result<_>>()?;
    let mut finished = 0;
    for (mut child, delay) in started {
        sleep(delay.saturating_sub(begun.elapsed()));
        finished += u32::from(child.try_wait()?.is_some());
        child.kill()?;
        child.wait()?;
    }
    Ok(finished)
}

fn start(mut command: Command) -> std::io::Result<std::process::Child> {
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}
