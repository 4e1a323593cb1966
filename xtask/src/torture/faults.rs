//! Makes the N-th system call of a kind fail, N = 1, 2, 3 … until a run passes untouched; then fills a small disk, limits
//! the file size and the open files. With the lake in a bucket, it lets the N-th request fail. After each: one clear
//! error, nothing half-made visible, and a resumed run that makes the right bytes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Result, ensure};
use tracelake_testkit::Score;
use tracelake_testkit::server::{Answer, status};

use super::judge::{Judge, Lake, check_code, check_end, is_well};
use super::schedule::Task;
use crate::workspace::{Tree, is_installed, make, run, said};

/// The calls that are made to fail, and how.
const CALLS: &[(&str, &[&str])] = &[
    ("write", &["ENOSPC", "EIO"]),
    ("fsync", &["ENOSPC", "EIO"]),
    ("rename", &["ENOSPC", "EIO"]),
    ("openat", &["EMFILE", "EIO"]),
    ("mkdir", &["ENOSPC"]),
    ("close", &["EIO"]),
    ("unlink", &["EIO"]),
    ("flock", &["EIO"]),
    ("read", &["EIO"]),
];

/// Limits that the shell sets: the size of files, in KiB, and the number of open ones.
const LIMITS: [&str; 10] = [
    "-f 1", "-f 8", "-f 16", "-f 32", "-f 64", "-n 4", "-n 6", "-n 8", "-n 10", "-n 12",
];

/// How disks are mounted that are full before the lake is whole, or can't be written to.
const DISKS: [&str; 6] = [
    "size=40k",
    "size=80k",
    "size=120k",
    "size=200k",
    "size=300k",
    "ro",
];

/// A request fault: its name, the answer, and whether it hits all later requests too.
type RequestFault = (&'static str, fn() -> Answer, bool);

const REQUESTS: &[RequestFault] = &[
    ("refused", || status(403), false),
    ("refused with all later ones", || status(403), true),
    (
        "answered with an error of the server",
        || status(500),
        false,
    ),
    ("done, but not answered", || Answer::Lost, false),
];

/// The exit codes of a run that is disturbed; 127 is the loader's, which opens libraries before the program runs.
const CODES: [i32; 7] = [1, 2, 4, 5, 6, 0, 127];

/// The command that is disturbed.
const CONVERT: Task = Task::Convert(0);

/// Sweeps through all faults.
pub(super) fn faults(judges: &[Judge], only: Option<&str>) -> Result<()> {
    let mut sweep = Sweep(Score::new("faults"));
    for judge in judges {
        println!("{}:", judge.format);
        if only != Some("bucket") {
            ensure!(
                is_installed("strace"),
                "strace is needed: install it with your system's package manager"
            );
            for (call, errors) in CALLS {
                for error in *errors {
                    let fail = |nth| fail_call(judge, call, error, nth);
                    sweep.each(&format!("{call} {error}"), fail)?;
                }
            }
            for limit in LIMITS {
                let limited = format!("ulimit {limit} && exec \"$@\"");
                let lake = judge.on_disk()?;
                let ended = disturbed(judge, &["bash", "-c", &limited, "bash"], &lake)?;
                let outcome = check(judge, &lake, &ended, false);
                sweep.count(&format!("ulimit {limit}"), outcome);
            }
            sweep.small_disks(judge)?;
        }
        if only != Some("disk") {
            for &(fault, answer, stays) in REQUESTS {
                let fail = |nth| fail_request(judge, answer, stays, nth);
                sweep.each(&format!("a request {fault}"), fail)?;
            }
        }
    }
    sweep.0.close();
    Ok(())
}

/// Counts what was tried.
struct Sweep(Score);

impl Sweep {
    fn count(&mut self, what: &str, outcome: Result<()>) {
        let outcome = outcome.map_err(|error| format!("{error:#}"));
        if let Err(error) = &outcome {
            println!("wrong: {what}: {error}");
        }
        self.0.count(what, outcome);
    }

    /// Tries the first, the second … fault of a kind, until there is none.
    fn each(
        &mut self,
        what: &str,
        fault: impl Fn(u32) -> Result<Option<Result<()>>>,
    ) -> Result<()> {
        let mut tried = 0;
        while let Some(outcome) = fault(tried + 1)? {
            tried += 1;
            self.count(&format!("{what}, {tried}"), outcome);
        }
        println!("{what}: {tried}");
        if tried == 0 {
            self.count(what, Err(anyhow::anyhow!("the run never does it")));
        }
        Ok(())
    }

    /// Small disks, and one that can't be written to; on the same disk, but larger, the run resumes.
    fn small_disks(&mut self, judge: &Judge) -> Result<()> {
        let disk = judge.path("disk");
        make(&disk)?;
        let lake = Lake::Disk(disk.join("lake"));
        for options in DISKS {
            if !mount(options, &disk)? {
                println!("skipped: this user may not mount a disk");
                return Ok(());
            }
            let outcome = (|| {
                let mut command = judge.command(&[], &lake, "disturbed", CONVERT);
                let ended = command.arg("--ignore-disk-space").output()?;
                check_end(&ended, &CODES)?;
                ensure!(!is_well(&ended), "it fits");
                judge.check_left(&lake, &BTreeSet::new(), &Tree::new())?;
                let larger = mount("remount,rw,size=64m", &disk)?;
                ensure!(larger, "the disk does not grow");
                check_resumed(judge, &lake)
            })();
            run(Command::new("umount").arg(&disk))?;
            self.count(&format!("a disk with {options}"), outcome);
        }
        Ok(())
    }
}

/// Lets the `nth` call fail, and checks the rest; none when the run made fewer calls.
fn fail_call(judge: &Judge, call: &str, error: &str, nth: u32) -> Result<Option<Result<()>>> {
    let lake = judge.on_disk()?;
    let log = judge.path("strace.log");
    let traced = format!("trace={call}");
    let inject = format!("inject={call}:error={error}:when={nth}");
    let log_path = log.display().to_string();
    let mut strace = vec!["strace", "-f", "-qq", "-e", &traced, "-e", &inject];
    strace.extend(["-o", &log_path]);
    let ended = disturbed(judge, &strace, &lake)?;
    let log = fs::read_to_string(&log)?;
    // strace counts per thread, so the error may come about and its message then fail as well.
    let silenced = |line: &str| line.contains(" write(2,") && line.contains("(INJECTED)");
    let is_silenced = log.lines().any(silenced);
    let is_injected = log.contains("(INJECTED)");
    Ok(is_injected.then(|| check(judge, &lake, &ended, is_silenced)))
}

/// Lets the `nth` request of a run whose lake is in a bucket fail, and checks the rest; none when the run sent fewer.
fn fail_request(
    judge: &Judge,
    answer: fn() -> Answer,
    stays: bool,
    nth: u32,
) -> Result<Option<Result<()>>> {
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let lake = Judge::in_bucket(move |asked| {
        let authorization = asked.headers.get("authorization");
        if authorization.is_some_and(|user| user.contains("Credential=undisturbed")) {
            return Answer::Well;
        }
        let number = count.fetch_add(1, Ordering::Relaxed) + 1;
        match number == nth || stays && number > nth {
            true => answer(),
            false => Answer::Well,
        }
    });
    let ended = disturbed(judge, &[], &lake)?;
    let is_sent = asked.load(Ordering::Relaxed) >= nth;
    Ok(is_sent.then(|| check(judge, &lake, &ended, false)))
}

fn disturbed(judge: &Judge, wrapper: &[&str], lake: &Lake) -> Result<Output> {
    Ok(judge
        .command(wrapper, lake, "disturbed", CONVERT)
        .output()?)
}

/// Checks how a disturbed run ended, what it left, and that one more run makes the right lake of it.
fn check(judge: &Judge, lake: &Lake, ended: &Output, is_silenced: bool) -> Result<()> {
    // The standard library panics if a directory can't be closed, which no system lets happen.
    let is_of_directory = said(ended).contains("unexpected error during closedir");
    match (is_of_directory, is_silenced) {
        (true, _) => {}
        (_, true) => check_code(ended, &CODES)?,
        _ => check_end(ended, &CODES)?,
    }
    judge.check_left(lake, &BTreeSet::new(), &Tree::new())?;
    check_resumed(judge, lake)
}

fn check_resumed(judge: &Judge, lake: &Lake) -> Result<()> {
    judge.well(lake, CONVERT)?;
    let mut found = lake.files();
    if let Lake::Bucket(_) = lake {
        // Facts stay in a bucket.
        found.retain(|name, _| !name.starts_with("_tracelake/facts/"));
    }
    Judge::check_same(&found, &judge.reference(&BTreeSet::from([0]), false)?)
}

/// Mounts a small disk with these options; false if this user may not.
fn mount(options: &str, disk: &Path) -> Result<bool> {
    let mut mount = Command::new("mount");
    mount
        .args(["-t", "tmpfs", "-o", options, "tmpfs"])
        .arg(disk);
    Ok(mount.output()?.status.success())
}
