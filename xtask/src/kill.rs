//! `cargo xtask kill`: SIGKILL at random moments; after each, nothing half-made is visible and a
//! resumed run makes the same bytes as an undisturbed one.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::rig::{FORMATS, Rig, Score};

/// Rows of the largest table: enough for some tenths of a second of work.
const ROWS: u64 = 60_000;

/// Kills `moments` runs of each format.
pub(crate) fn kill(root: &Path, moments: u32) -> Result<()> {
    let mut score = Score::default();
    for format in FORMATS {
        let rig = Rig::new(root, "kill", ROWS, format)?;
        kill_runs(&rig, format, moments, &mut score)?;
    }
    score.close("kill")
}

fn kill_runs(rig: &Rig, format: &str, moments: u32, score: &mut Score) -> Result<()> {
    let out = rig.scratch.join("out");
    let begun = Instant::now();
    rig.convert(&out).output()?;
    let whole = begun.elapsed();
    let mut finished = 0;
    for moment in 0..moments {
        if out.exists() {
            fs::remove_dir_all(&out)?;
        }
        // Moments spread by the golden ratio are as good as random ones and the same every time.
        let share = (f64::from(moment) * 0.618_033_988_749_895).fract();
        // One in four runs is killed twice: once while it goes on from an earlier kill.
        for _ in 0..=u32::from(moment % 4 == 0) {
            let mut command = rig.convert(&out);
            let mut child = command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()?;
            sleep(Duration::from_secs_f64(whole.as_secs_f64() * share));
            finished += u32::from(child.try_wait()?.is_some());
            child.kill()?;
            child.wait()?;
        }
        let outcome = rig.check_left(&out).and_then(|()| rig.check_resumed(&out));
        score.count(
            &format!("{format}: killed after {:.0} % of the time", share * 100.0),
            outcome,
        );
    }
    println!("{format}: {finished} of the runs had ended before they were killed");
    Ok(())
}
