//! SIGINT, SIGTERM and SIGKILL: what was finished stays, and one more run makes the right lake.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::crash::child::{AT_ONCE, HANGS, Working, busy, within_time};
use tracelake_testkit::{
    Score, Scratch, assert_same_tree, convert, ensure, gzip, manifest, part_path,
    plain_whole_tables, program, run, tree,
};

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

/// Checks that visible files in `out` are whole, and that an unfinished lake has no manifest.
fn nothing_half_made(out: &Path) -> Result<(), String> {
    // A run that stopped before it finished a part leaves nothing at all.
    let left = tree(out).unwrap_or_default();
    let clean = tree(&busy().out()).unwrap();
    for (name, bytes) in &left {
        let visible = !name.starts_with("_tracelake");
        ensure(!visible || clean.get(name) == Some(bytes), || {
            format!("{name} is visible and not what it should be")
        })?;
    }
    ensure(!left.contains_key(MANIFEST), || "a manifest".to_owned())
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
            let says = error_text(&ended.stderr)?;
            ensure(says == STOPPED, || says.clone())?;
            ensure(!out.join(MANIFEST).exists(), || "a manifest".to_owned())?;
            ensure(!out.join("_tracelake/staging").exists(), || {
                "staged files are left".to_owned()
            })?;
            if after == "\"finished\"" {
                let looked = run(["verify", out.to_str().unwrap()]);
                let says = looked.message().contains("not a finished lake");
                ensure(looked.code == 6 && says, || looked.stderr.clone())?;
            }
            resumed(&out)
        })();
        score.count(&format!("SIG{signal} after {after}"), outcome);
    }
    score.close();
}

/// The message of a run that a signal stopped.
const STOPPED: &str = "stopped; finished parts are kept; run the same command again to resume";

/// The text of the error in the last of the JSON lines.
fn error_text(stderr: &str) -> Result<String, String> {
    let last = stderr.lines().last().unwrap_or_default();
    let event: Value = serde_json::from_str(last).map_err(|error| format!("{error}: {last}"))?;
    ensure(event["event"] == "error", || last.to_owned())?;
    let text = event["text"].as_str();
    Ok(text.ok_or_else(|| last.to_owned())?.to_owned())
}

/// The size of a sparse file: the program would read it for minutes.
const ENDLESS: u64 = 1 << 40;

/// Sources that keep the program busy for long without a row: what they are, the file, its start and
/// its length.
fn slow_sources() -> Vec<(&'static str, String, Vec<u8>, u64)> {
    let table = &plain_whole_tables().next().unwrap().name;
    let mut member = tar::Header::new_ustar();
    member.set_path("notes").unwrap();
    member.set_size(ENDLESS);
    member.set_cksum();
    let rows = format!("{}{}", "\n".repeat(131_072), ",,,,,\n".repeat(21_845));
    vec![
        (
            "rows to reject",
            part_path("job_events", 0, 1),
            gzip(rows.repeat(8).as_bytes()),
            0,
        ),
        (
            "padding after a member",
            part_path("job_events", 0, 1),
            gzip(b""),
            ENDLESS,
        ),
        (
            "a member that is skipped",
            format!("{table}.tar"),
            member.as_bytes().to_vec(),
            ENDLESS,
        ),
    ]
}

/// No input keeps a run from stopping: not one that is all rejects, and not one without any text.
#[test]
fn a_signal_stops_a_run_that_reads_without_end() {
    let mut score = Score::new("stops while nothing is converted");
    for (what, path, start, length) in slow_sources() {
        let scratch = Scratch::new();
        scratch.file(&path, &start);
        let file = fs::File::options()
            .write(true)
            .open(scratch.src().join(path));
        file.unwrap()
            .set_len(length.max(start.len() as u64))
            .unwrap();
        let arguments = ["--on-bad-row", "reject", "--ignore-disk-space"];
        let working = Working::start(&scratch.src(), &scratch.out(), &arguments);
        sleep(Duration::from_secs(1));
        working.signal("TERM");
        let (ended, took) = working.end();
        let outcome = (|| {
            ensure(ended.code == 143, || {
                format!("exit {}: {}", ended.code, ended.stderr)
            })?;
            ensure(took < AT_ONCE, || format!("took {took:?}"))?;
            let says = error_text(&ended.stderr)?;
            ensure(says == STOPPED, || says.clone())
        })();
        score.count(what, outcome);
    }
    score.close();
}

/// The time for N chunks of rejected rows grows with N, not with N².
#[test]
fn rejecting_rows_takes_time_in_proportion_to_them() {
    let chunk = format!("{}{}", "\n".repeat(131_072), ",,,,,\n".repeat(21_845));
    let scratch = Scratch::new();
    scratch.only("job_events", chunk.repeat(4).as_bytes());
    let (src, out) = (scratch.src(), scratch.out());
    let arguments = ["convert", src.to_str().unwrap(), out.to_str().unwrap()];
    within_time(&[&arguments[..], &["--on-bad-row", "reject"]].concat()).exits(3);
    let rows = chunk.lines().count() * 4;
    assert_eq!(
        manifest(&out)["tables"][0]["parts"][0]["rows_rejected"],
        rows
    );
}

/// Two signals one after the other, and the exit code.
const TWICE: &[([&str; 2], i32)] = &[
    (["INT", "INT"], 130),
    (["TERM", "TERM"], 143),
    (["INT", "TERM"], 143),
    (["TERM", "INT"], 130),
];

/// Far longer than a run that is free takes to stop.
const STILL: Duration = Duration::from_millis(700);

/// Asks a run twice that is held and so cannot stop by itself: the first time nothing comes of it,
/// the second time it ends.
fn asked_twice(
    mut working: Working,
    [first, second]: [&str; 2],
    code: i32,
    out: &Path,
) -> Result<(), String> {
    working.signal(first);
    let held = !working.ends_within(STILL);
    if held {
        working.signal(second);
    }
    let at_once = working.ends_within(AT_ONCE);
    if !at_once {
        working.signal("KILL");
    }
    let (ended, _) = working.end();
    ensure(held, || {
        format!("the first signal ended it: {}", ended.stderr)
    })?;
    ensure(at_once, || "the second signal did not end it".to_owned())?;
    ensure(ended.code == code, || format!("exit {}", ended.code))?;
    // It was not the first signal, late: then it says that it stopped.
    ensure(!ended.stderr.contains("tracelake: error"), || {
        ended.stderr.clone()
    })?;
    nothing_half_made(out)?;
    resumed(out)
}

/// A caller that ignores a signal, as `nohup` does, wants the run to continue.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_that_was_ignored_stays_ignored() {
    let mut score = Score::new("inherited dispositions");
    for signal in ["INT", "TERM"] {
        let scratch = Scratch::new();
        let out = scratch.out();
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("trap '' {signal}; exec \"$0\" \"$@\"")]);
        shell.arg(env!("CARGO_BIN_EXE_tracelake"));
        shell.env_remove("RUST_LOG");
        let mut working = Working::start_under(shell, &busy().src(), &out, &[]);
        working.wait_for("\"read\"");
        working.signal(signal);
        let (ended, _) = working.end();
        let outcome = ensure(ended.code == 0, || {
            format!("exit {}: {}", ended.code, ended.stderr)
        });
        score.count(
            signal,
            outcome.and_then(|()| {
                ensure(tree(&out) == tree(&busy().out()), || {
                    "another lake".to_owned()
                })
            }),
        );
    }
    score.close();
}

/// The run is held by a full pipe, at the next event that it reports.
#[test]
fn a_second_signal_ends_a_run_that_nobody_listens_to() {
    let mut score = Score::new("second signals while stderr is full");
    for after in ["\"started\"", "\"read\"", "\"finished\""] {
        for &(signals, code) in TWICE {
            let scratch = Scratch::new();
            let out = scratch.out();
            let mut working = Working::start(&busy().src(), &out, &[]);
            working.wait_for(after);
            working.hold();
            let outcome = asked_twice(working, signals, code, &out);
            score.count(&format!("{signals:?} after {after}"), outcome);
        }
    }
    score.close();
}

/// Held by a call that is interrupted whenever it is made again, so that it never returns; as a
/// read from a disk that hangs, and with no delay of a tracer in the way of the end.
#[test]
#[cfg_attr(not(strace), ignore = "needs strace and the permission to trace")]
fn a_second_signal_does_not_wait_for_a_call_that_never_returns() {
    let last = busy().src().join(part_path("job_events", 3, 4));
    let last = last.to_str().unwrap();
    // Late enough that parts are finished by then.
    let holds: [(&str, &[&str], &str); 3] = [
        ("openat", &["-P", last], ""),
        ("read", &["-P", last], ""),
        ("fsync", &[], ":when=9+"),
    ];
    let mut score = Score::new("second signals while a call does not return");
    for (call, more, when) in holds {
        for &(signals, code) in TWICE {
            let scratch = Scratch::new();
            let (out, log) = (scratch.out(), scratch.path().join("strace.log"));
            let mut strace = Command::new("strace");
            // With -D it is the program that is the child here, and strace that is beside it.
            strace.args(["-D", "-f", "-qq", "-o"]).arg(&log).args(more);
            strace.args(["-e", &format!("trace={call}")]);
            strace.args(["-e", &format!("inject={call}:error=EINTR{when}")]);
            let program = program();
            strace.arg(program.get_program()).args(program.get_args());
            strace.env_remove("RUST_LOG");
            let working = Working::start_under(strace, &busy().src(), &out, &[]);
            wait_for_injection(&log);
            let outcome = asked_twice(working, signals, code, &out);
            score.count(&format!("{signals:?} in {call}"), outcome);
        }
    }
    score.close();
}

/// Waits until strace has let a call fail.
fn wait_for_injection(log: &Path) {
    let begun = Instant::now();
    while !fs::read_to_string(log).is_ok_and(|log| log.contains("(INJECTED)")) {
        assert!(begun.elapsed() < HANGS, "the call is never made");
        sleep(Duration::from_millis(10));
    }
}

/// A handful of moments; `cargo xtask torture races` tries hundreds.
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
            nothing_half_made(&out)?;
            resumed(&out)
        })();
        score.count(&format!("SIGKILL {more} ms after {after}"), outcome);
    }
    score.close();
}

/// Runs side by side on one OUT: all of them work, only what would replace it is refused, and the lake is right.
#[test]
fn a_second_run_on_the_same_lake_works_beside_the_first() {
    let scratch = Scratch::new();
    let out = scratch.out();
    let mut working = Working::start(&busy().src(), &out, &[]);
    working.wait_for("\"read\"");
    working.hold();
    let over = convert(&busy().src(), &out, &["--overwrite"]);
    assert_eq!(over.code, 6, "{}", over.stderr);
    let says = "another tracelake is working on this lake";
    over.says(says);
    for more in [&["--tables", "job_events"][..], &[]] {
        convert(&busy().src(), &out, more).well();
    }
    let (first, _) = working.end();
    assert_eq!(first.code, 0, "{}", first.stderr);
    assert_same_tree(&tree(&out), &tree(&busy().out()), "the first run");
}

#[test]
fn runs_that_start_together_make_one_lake() {
    let source = Scratch::with_sample(2, 40);
    source.convert_well(&[]);
    for _ in 0..8 {
        let scratch = Scratch::new();
        let out = scratch.out();
        let started: Vec<Working> = (0..4)
            .map(|_| Working::start(&source.src(), &out, &[]))
            .collect();
        let ended: Vec<_> = started.into_iter().map(|run| run.end().0).collect();
        assert!(ended.iter().all(|run| run.code == 0), "{ended:?}");
        assert_same_tree(&tree(&out), &tree(&source.out()), "side by side");
    }
}
