//! SIGINT, SIGTERM and SIGKILL: what was finished stays, and one more run makes the right lake.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use crate::child::{AT_ONCE, Working, busy};
use crate::support::{Score, Scratch, assert_same_tree, convert, ensure, run, tree};

const MANIFEST: &str = "_tracelake/manifest.json";

/// Undisturbed, one more run makes of `out` what the first one would have made.
fn resumed(out: &Path) -> Result<(), String> {
    let busy = busy();
    let ended = convert(&busy.src(), out, &[]);
    ensure(ended.code == 0, || format!("resuming: {}", ended.stderr))?;
    ensure(tree(out) == tree(&busy.out()), || {
        "the resumed lake is not the undisturbed one".to_owned()
    })
}

/// Which signal, after which event, and the exit code.
const STOPS: &[(&str, &str, i32)] = &[
    ("INT", "\"started\"", 130),
    ("INT", "\"read\"", 130),
    ("INT", "\"finished\"", 130),
    ("TERM", "\"started\"", 143),
    ("TERM", "\"read\"", 143),
    ("TERM", "\"finished\"", 143),
];

#[test]
fn a_signal_stops_at_once_and_leaves_a_lake_to_go_on_with() {
    let mut score = Score::new("stops by a signal");
    for &(signal, after, code) in STOPS {
        let scratch = Scratch::new();
        let out = scratch.out();
        let mut working = Working::start(&busy().src(), &out, &[]);
        working.wait_for(after);
        working.signal(signal);
        let (ended, took) = working.end();
        let outcome = (|| {
            ensure(ended.code == code, || format!("exit {}", ended.code))?;
            ensure(took < AT_ONCE, || format!("took {took:?}"))?;
            let told: Vec<&str> = ended
                .stderr
                .lines()
                .filter(|l| !l.starts_with('{'))
                .collect();
            let [told] = told[..] else {
                return Err(format!("not one line: {told:?}"));
            };
            ensure(
                told == "tracelake: error: stopped; finished parts are kept; run the same command \
                         again to go on",
                || told.to_owned(),
            )?;
            ensure(!out.join(MANIFEST).exists(), || "a manifest".to_owned())?;
            ensure(!out.join("_tracelake/staging").exists(), || {
                "staged files are left".to_owned()
            })?;
            if after == "\"finished\"" {
                for command in ["inspect", "verify"] {
                    let looked = run([command, out.to_str().unwrap()]);
                    let says = looked.message().contains("not a finished lake");
                    ensure(looked.code == 6 && says, || {
                        format!("{command}: {}", looked.stderr)
                    })?;
                }
            }
            resumed(&out)
        })();
        score.count(&format!("SIG{signal} after {after}"), outcome);
    }
    score.close();
}

/// A handful of moments; `cargo xtask kill` tries two hundred.
#[test]
fn a_killed_run_is_taken_up() {
    let mut score = Score::new("kills");
    for (after, more) in [
        ("\"started\"", 0),
        ("\"read\"", 3),
        ("\"read\"", 40),
        ("\"finished\"", 0),
        ("\"finished\"", 25),
        ("\"file_number\":3", 5),
    ] {
        let scratch = Scratch::new();
        let out = scratch.out();
        let mut working = Working::start(&busy().src(), &out, &[]);
        working.wait_for(after);
        sleep(Duration::from_millis(more));
        working.signal("KILL");
        let (ended, _) = working.end();
        let outcome = (|| {
            ensure(ended.code == -1, || format!("ended with {}", ended.code))?;
            let (left, clean) = (tree(&out).unwrap(), tree(&busy().out()).unwrap());
            for (name, bytes) in &left {
                let visible = !name.starts_with("_tracelake");
                ensure(!visible || clean.get(name) == Some(bytes), || {
                    format!("{name} is visible and not what it should be")
                })?;
            }
            ensure(!left.contains_key(MANIFEST), || "a manifest".to_owned())?;
            resumed(&out)
        })();
        score.count(&format!("SIGKILL {more} ms after {after}"), outcome);
    }
    score.close();
}

/// Runs side by side on one OUT: one at a time works, the others are refused, the lake is right.
#[test]
fn a_second_run_on_the_same_lake_is_refused() {
    let scratch = Scratch::new();
    let out = scratch.out();
    let mut working = Working::start(&busy().src(), &out, &[]);
    working.wait_for("\"read\"");
    for more in [&[][..], &["--overwrite"], &["--tables", "job_events"]] {
        let second = convert(&busy().src(), &out, more);
        assert_eq!(second.code, 6, "{}", second.stderr);
        assert!(
            second
                .message()
                .contains("another tracelake is working on this lake"),
            "{}",
            second.stderr
        );
    }
    let (first, _) = working.end();
    assert_eq!(first.code, 0, "{}", first.stderr);
    assert_same_tree(&tree(&out), &tree(&busy().out()), "the first run");
}

#[test]
fn of_runs_that_start_together_one_makes_the_lake() {
    let source = Scratch::with_sample(2, 40);
    source.convert_well(&[]);
    for _ in 0..8 {
        let scratch = Scratch::new();
        let out = scratch.out();
        let started: Vec<Working> = (0..4)
            .map(|_| Working::start(&source.src(), &out, &[]))
            .collect();
        let ended: Vec<_> = started.into_iter().map(|run| run.end().0).collect();
        let codes: Vec<i32> = ended.iter().map(|run| run.code).collect();
        assert!(codes.iter().all(|code| [0, 6].contains(code)), "{ended:?}");
        assert!(codes.contains(&0), "{ended:?}");
        assert_same_tree(&tree(&out), &tree(&source.out()), "side by side");
    }
}
