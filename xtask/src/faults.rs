//! `cargo xtask faults`: makes the N-th system call of a kind fail, N = 1, 2, 3 … until a run passes
//! untouched; then fills a small disk, limits the file size and the open files. With the lake in a bucket,
//! it lets the N-th request fail. After each: one clear error, nothing half-made visible, and a resumed run
//! that makes the right bytes.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, ensure};

use crate::rig::{FORMATS, Rig, Score, text};
use tracelake_testkit::server::{Answer, status};

/// Rows of the largest table: few, since every system call of a run needs a separate run here.
const ROWS: u64 = 2_000;

/// The calls that are made to fail, and how.
const FAULTS: &[(&str, &str)] = &[
    ("write", "ENOSPC"),
    ("write", "EIO"),
    ("fsync", "EIO"),
    ("fsync", "ENOSPC"),
    ("rename", "EIO"),
    ("rename", "ENOSPC"),
    ("openat", "EMFILE"),
    ("openat", "EIO"),
    ("close", "EIO"),
    ("mkdir", "ENOSPC"),
    ("unlink", "EIO"),
    ("flock", "EIO"),
    ("read", "EIO"),
];

/// Sweeps through all faults.
pub(crate) fn faults(root: &Path, only: Option<&str>) -> Result<()> {
    let mut score = Score::default();
    for format in FORMATS {
        println!("{format}:");
        let mut rig = Rig::new(root, "faults", ROWS, format)?;
        if only != Some("bucket") {
            need_strace()?;
            sweep(&rig, &mut score)?;
        }
        if only != Some("disk") {
            rig.use_bucket();
            sweep_requests(&rig, &mut score)?;
        }
    }
    score.close("faults")
}

fn sweep(rig: &Rig, score: &mut Score) -> Result<()> {
    for (call, error) in FAULTS {
        let before = score.tried;
        for nth in 1.. {
            if !inject(rig, call, error, nth, score)? {
                break;
            }
        }
        println!("{call} {error}: {} calls", score.tried - before);
        score.expect_tries(before, &format!("the run never calls {call}"));
    }
    limits(rig, score)?;
    small_disk(rig, score)?;
    read_only(rig, score)
}

/// Lets the `nth` call fail; false when the run made fewer calls.
fn inject(rig: &Rig, call: &str, error: &str, nth: u32, score: &mut Score) -> Result<bool> {
    let out = rig.fresh()?;
    let log_path = rig.scratch.join("strace.log");
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-qq", "-e", &format!("trace={call}"), "-o"])
        .arg(&log_path);
    strace.args(["-e", &format!("inject={call}:error={error}:when={nth}")]);
    let ended = strace
        .arg(&rig.program)
        .args(rig.arguments(&out))
        .output()?;
    let log = fs::read_to_string(&log_path)?;
    let injected = log.contains("(INJECTED)");
    // The standard library panics if a directory can't be closed, which no system lets happen. What is left, and the next
    // run, are checked all the same.
    let said = String::from_utf8_lossy(&ended.stderr);
    let is_of_directory = said.contains("unexpected error during closedir");
    if injected {
        // strace counts per thread, so the error may come about and its message then fail as well.
        let silenced = |line: &str| line.contains(" write(2,") && line.contains("(INJECTED)");
        let end = match log.lines().any(silenced) {
            _ if is_of_directory => Ok(()),
            true => rig.check_code(&ended),
            false => rig.check_end(&ended),
        };
        let outcome = end
            .and_then(|()| rig.check_left(&out))
            .and_then(|()| rig.check_resumed(&out));
        score.count(&format!("{call} {error} at call {nth}"), outcome);
    }
    Ok(injected)
}

/// A request fault: its name, the answer, and whether it hits all later requests too.
type RequestFault = (&'static str, fn() -> Answer, bool);

const REQUEST_FAULTS: &[RequestFault] = &[
    ("refused", || status(403), false),
    ("refused with all later ones", || status(403), true),
    (
        "answered with an error of the server",
        || status(500),
        false,
    ),
    ("done, but not answered", || Answer::Lost, false),
];

/// Lets the N-th request of a run whose lake is in a bucket fail, N = 1, 2, 3 … until none does.
fn sweep_requests(rig: &Rig, score: &mut Score) -> Result<()> {
    for &(fault, answer, stays) in REQUEST_FAULTS {
        let before = score.tried;
        for nth in 1.. {
            let out = rig.fresh()?;
            let asked = Arc::new(AtomicU32::new(0));
            let count = Arc::clone(&asked);
            rig.answer(move |_| {
                let number = count.fetch_add(1, Ordering::Relaxed) + 1;
                match number == nth || stays && number > nth {
                    true => answer(),
                    false => Answer::Well,
                }
            });
            let ended = rig.convert(&out).output()?;
            if asked.load(Ordering::Relaxed) < nth {
                break;
            }
            rig.answer(|_| Answer::Well);
            let outcome = rig
                .check_end(&ended)
                .and_then(|()| rig.check_left(&out))
                .and_then(|()| rig.check_resumed(&out));
            score.count(&format!("request {nth} {fault}"), outcome);
        }
        println!("a request is {fault}: {} requests", score.tried - before);
        score.expect_tries(before, "the run sends no request");
    }
    Ok(())
}

/// Limits that the shell sets: the size of files, in KiB, and the number of open ones.
fn limits(rig: &Rig, score: &mut Score) -> Result<()> {
    for limit in [
        "-f 1", "-f 8", "-f 16", "-f 32", "-f 64", "-n 4", "-n 6", "-n 8", "-n 10", "-n 12",
    ] {
        let out = rig.fresh()?;
        let mut shell = Command::new("bash");
        shell.args(["-c", &format!("ulimit {limit} && exec \"$@\""), "bash"]);
        let ended = shell.arg(&rig.program).args(rig.arguments(&out)).output()?;
        let outcome = rig
            .check_end(&ended)
            .and_then(|()| rig.check_left(&out))
            .and_then(|()| rig.check_resumed(&out));
        score.count(&format!("ulimit {limit}"), outcome);
    }
    Ok(())
}

/// Disks of a few sizes that are full before the lake is whole; grown, the run resumes.
fn small_disk(rig: &Rig, score: &mut Score) -> Result<()> {
    let disk = rig.scratch.join("disk");
    fs::create_dir_all(&disk)?;
    for size in ["40k", "80k", "120k", "200k", "300k"] {
        if !mount(
            &["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"],
            &disk,
        )? {
            println!("skipped: this user may not mount a small disk");
            return Ok(());
        }
        let out = disk.join("lake");
        let outcome = (|| {
            let ended = rig.convert(&out).arg("--ignore-disk-space").output()?;
            rig.check_end(&ended)?;
            rig.check_left(&out)?;
            ensure!(
                mount(&["-o", "remount,size=64m"], &disk)?,
                "the disk does not grow"
            );
            rig.check_resumed(&out)
        })();
        unmount(&disk)?;
        score.count(&format!("a disk of {size}"), outcome);
    }
    Ok(())
}

/// A disk that cannot be written to.
fn read_only(rig: &Rig, score: &mut Score) -> Result<()> {
    let disk = rig.scratch.join("disk");
    fs::create_dir_all(&disk)?;
    if !mount(&["-t", "tmpfs", "-o", "ro", "tmpfs"], &disk)? {
        println!("skipped: this user may not mount a read-only disk");
        return Ok(());
    }
    let ended = rig.convert(&disk.join("lake")).output()?;
    unmount(&disk)?;
    let refused = ended.status.code() == Some(1);
    let outcome = rig.check_end(&ended).and_then(|()| {
        ensure!(refused, "not refused: {}", text(&ended));
        Ok(())
    });
    score.count("a read-only disk", outcome);
    Ok(())
}

fn mount(arguments: &[&str], disk: &Path) -> Result<bool> {
    Ok(Command::new("mount")
        .args(arguments)
        .arg(disk)
        .output()?
        .status
        .success())
}

fn unmount(disk: &Path) -> Result<()> {
    let ended = Command::new("umount").arg(disk).output()?;
    ensure!(ended.status.success(), "umount: {}", text(&ended));
    Ok(())
}

/// strace injects the faults; where it is missing and Debian's package can be had, it is installed.
fn need_strace() -> Result<()> {
    let there = || {
        Command::new("strace")
            .arg("-V")
            .output()
            .is_ok_and(|said| said.status.success())
    };
    if !there() {
        let mut apt = Command::new("apt-get");
        apt.args(["install", "--yes", "strace"])
            .output()
            .context("cannot start apt-get")?;
    }
    ensure!(
        there(),
        "strace is needed: install it, as root or with your system's package manager"
    );
    Ok(())
}
