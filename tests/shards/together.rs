//! Two runs on one lake at once, one of which may be killed.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use tracelake_testkit::{Score, Scratch, convert, ended, ensure, program, tree};

/// The tables that each of the two runs is asked for; all if it is empty.
const PAIRS: [[&str; 2]; 3] = [
    ["", ""],
    ["job_events", "task_events,task_usage"],
    ["", "machine_events"],
];

/// How many pairs are run.
const TURNS: u32 = 100;

/// The longest time until a run is killed, which is more than it takes.
const LONGEST: f64 = 0.15;

/// The arguments that select tables.
pub(crate) fn selection(tables: &str) -> Vec<&str> {
    match tables {
        "" => Vec::new(),
        tables => vec!["--tables", tables],
    }
}

/// Lets pairs of runs work at once, three in four of them with a kill, and checks what they leave: the run that isn't killed
/// ends well, and so do both when they are run again. `lake` gives a new lake: a run on it, and what is in it.
pub(crate) fn pairs<L>(
    name: &'static str,
    lake: impl Fn() -> L,
    run: impl Fn(&L, &str) -> Command,
    check: impl Fn(&L, &[&str; 2]) -> Result<(), String>,
) {
    let mut score = Score::one_in(7, name);
    for turn in 0..TURNS {
        if !score.is_due() {
            continue;
        }
        let pair = &PAIRS[turn as usize % PAIRS.len()];
        let lake = lake();
        let start = |tables| {
            let mut command = run(&lake, tables);
            command
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        };
        let (mut one, other) = (start(pair[0]), start(pair[1]));
        if turn % 4 > 0 {
            let share = (f64::from(turn) * 0.618_033_988_749_895).fract();
            thread::sleep(Duration::from_secs_f64(LONGEST * share));
            // SIGKILL, on Unix.
            one.kill().unwrap();
        }
        let one = one.wait_with_output().unwrap();
        let well = |run: &tracelake_testkit::Run, what: &str| {
            ensure(run.code == 0, || format!("{what}: {}", run.stderr))
        };
        let outcome = match one.status.code() {
            None => Ok(()),
            Some(_) => well(&ended(one), "the first run"),
        }
        .and_then(|()| well(&ended(other.wait_with_output().unwrap()), "the second run"))
        .and_then(|()| {
            pair.iter()
                .try_for_each(|tables| well(&ended(run(&lake, tables).output().unwrap()), "again"))
        })
        .and_then(|()| check(&lake, pair));
        score.count(&format!("turn {turn}"), outcome);
    }
    score.close();
}

#[test]
fn two_runs_at_once_make_one_lake() {
    let source = Scratch::with_sample(2, 200);
    let fresh = |pair: &[&str; 2]| {
        let out = source.path().join("fresh");
        for tables in pair {
            convert(&source.src(), &out, &selection(tables)).well();
        }
        let made = tree(&out);
        fs::remove_dir_all(out).unwrap();
        made
    };
    pairs(
        "two runs at once on a disk",
        Scratch::new,
        |lake, tables| {
            let mut command = program();
            command
                .arg("convert")
                .args([source.src(), lake.out()])
                .args(selection(tables));
            command
        },
        |lake, pair| {
            let (found, expected) = (tree(&lake.out()).unwrap(), fresh(pair).unwrap());
            let names = found.keys().chain(expected.keys());
            let mut other = names.filter(|name| found.get(*name) != expected.get(*name));
            match other.next() {
                None => Ok(()),
                Some(name) => Err(format!("{name} isn't as after undisturbed runs")),
            }
        },
    );
}
