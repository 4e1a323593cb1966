//! Workers and committers that are killed at any moment.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{io, thread};

use super::{assert_same, commit, shard_command};
use crate::crash::busy;
use tracelake_testkit::{Score, Scratch, ended, ensure, program, tree};

/// Kills commands that run at the same time, each after its own delay; says how many had ended.
fn kill_after(commands: Vec<(Command, Duration)>) -> io::Result<usize> {
    let killed = commands.into_iter().map(|(mut command, delay)| {
        let mut child = command.stderr(Stdio::null()).spawn()?;
        Ok(thread::spawn(move || {
            thread::sleep(delay);
            let has_ended = child.try_wait()?.is_some();
            // SIGKILL, on Unix.
            child.kill()?;
            child.wait()?;
            io::Result::Ok(usize::from(has_ended))
        }))
    });
    let killed: Vec<_> = killed.collect::<io::Result<_>>()?;
    let ended = killed.into_iter().map(|thread| thread.join().unwrap());
    ended.sum()
}

/// Checks that whatever has its final name is whole.
fn nothing_half_made(out: &Path, finished: &Path) -> Result<(), String> {
    let Some(left) = tree(out) else {
        return Ok(());
    };
    let whole = tree(finished).unwrap();
    for (name, bytes) in left {
        let is_ours = !name.starts_with("_tracelake") || name == "_tracelake/manifest.json";
        if is_ours && bytes.is_some() {
            ensure(whole.get(&name) == Some(&bytes), || {
                format!("{name} is not whole")
            })?;
        }
    }
    Ok(())
}

/// Shares of the time that a run takes, spread by the golden ratio: the same every time.
fn share(moment: u32) -> f64 {
    (f64::from(moment) * 0.618_033_988_749_895).fract()
}

#[test]
fn killed_workers_and_committers_leave_what_the_next_ones_finish() {
    const SHARDS: u32 = 3;
    let busy = busy();
    let scratch = Scratch::new();
    let out = scratch.out();
    // How long shards take on this machine, in the best case.
    let begun = std::time::Instant::now();
    for index in 0..SHARDS {
        let output = shard_command(&busy.src(), &out, index, SHARDS, &[]).output();
        ended(output.unwrap()).well();
    }
    let whole = begun.elapsed() / SHARDS;
    commit(&out).well();
    assert_same(&out, &busy.out(), "undisturbed");
    let mut score = Score::new("killed shards and commits");
    for moment in 0..12 {
        fs::remove_dir_all(&out).unwrap();
        // All shards at once, each killed at another moment, twice.
        for round in 0..2 {
            let workers = (0..SHARDS).map(|index| {
                let more = ["--threads", "1"];
                let command = shard_command(&busy.src(), &out, index, SHARDS, &more);
                let share = share(moment * SHARDS + index + round * 7);
                (command, whole.mul_f64(share * 2.0))
            });
            kill_after(workers.collect()).unwrap();
        }
        let outcome = nothing_half_made(&out, &busy.out()).and_then(|()| {
            for index in 0..SHARDS {
                let worker = shard_command(&busy.src(), &out, index, SHARDS, &[]).output();
                let worker = ended(worker.unwrap());
                ensure(worker.code == 0, || worker.stderr.clone())?;
            }
            // The committer is killed as well.
            let mut committer = program();
            committer.arg("commit").arg(&out).stdout(Stdio::null());
            kill_after(vec![(committer, whole.mul_f64(share(moment) * 0.3))]).unwrap();
            nothing_half_made(&out, &busy.out())?;
            let committed = commit(&out);
            ensure(committed.code == 0, || committed.stderr.clone())?;
            ensure(tree(&out) == tree(&busy.out()), || {
                "another lake".to_owned()
            })
        });
        score.count(&format!("moment {moment}"), outcome);
    }
    score.close();
}

/// Files that a killed committer may leave next to a manifest.
#[test]
fn facts_and_a_plan_beside_a_manifest_are_left_over() {
    let scratch = Scratch::with_sample(2, 30);
    scratch.convert_well(&[]);
    let out = scratch.path().join("sharded");
    for index in [0, 1] {
        let output = shard_command(&scratch.src(), &out, index, 2, &[]).output();
        ended(output.unwrap()).well();
    }
    let facts = tree(&out).unwrap();
    commit(&out).well();
    let leave_over = || {
        for (name, bytes) in &facts {
            if let Some(bytes) = bytes.as_ref().filter(|_| name.starts_with("_tracelake/")) {
                let path = out.join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, bytes).unwrap();
            }
        }
    };
    // The lake is finished all the same: another plan may follow, and the next run tidies up.
    let other = ["convert", "SRC", "OUT", "--tables", "job_events"];
    let late = ["convert", "SRC", "OUT", "--shard", "0/2"];
    let new = ["convert", "SRC", "OUT", "--shard", "0/1", "--parts", "1"];
    for arguments in [
        &["commit", "OUT"][..],
        &["convert", "SRC", "OUT"],
        &other,
        &late,
        &new,
    ] {
        leave_over();
        let (src, lake) = (scratch.src(), out.clone());
        let arguments = arguments.iter().map(|&argument| match argument {
            "SRC" => src.to_str().unwrap().to_owned(),
            "OUT" => lake.to_str().unwrap().to_owned(),
            other => other.to_owned(),
        });
        tracelake_testkit::run(arguments).well();
        assert_same(&out, &scratch.out(), "tidied");
    }
}
