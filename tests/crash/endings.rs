//! Runs that end in other ways: their output has no reader, or a limit is reached.

use std::fs::File;
use std::io;
use std::process::{Command, Stdio};

use tracelake_testkit::{
    Score, Scratch, convert, ended, ensure, finished_lake, good_line, gzip, program, run, trace,
    tree,
};

/// A pipe whose reader has gone away.
fn broken_pipe() -> Stdio {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let lake = finished_lake().to_str().unwrap();
    let name = &trace().name;
    let commands: &[&[&str]] = &[
        &["schema"],
        &["schema", name],
        &["schema", name, "--as", "json"],
        &["schema", name, "--as", "duckdb"],
        &["schema", name, "--as", "spark"],
        &["schema", name, "--as", "markdown"],
        &["schema", name, "--as", "checks"],
        &["inspect", lake],
        &["inspect", lake, "--json"],
        &["--help"],
        &["--version"],
    ];
    let mut score = Score::new("a closed reader of stdout");
    for arguments in commands {
        let gone = program().args(*arguments).stdout(broken_pipe()).output();
        let gone = ended(gone.unwrap());
        let right = gone.code == 0 && gone.stderr.is_empty();
        score.count(
            &arguments.join(" "),
            ensure(right, || format!("{}: {}", gone.code, gone.stderr)),
        );
        let head = "set -o pipefail; \"$@\" | head -n 1";
        let mut shell = Command::new("bash");
        shell
            .args(["-c", head, "bash"])
            .arg(env!("CARGO_BIN_EXE_tracelake"));
        let head = ended(shell.args(*arguments).output().unwrap());
        let right = head.code == 0 && head.stderr.is_empty() && head.stdout.lines().count() == 1;
        score.count(
            &format!("{} | head -n 1", arguments.join(" ")),
            ensure(right, || format!("{}: {}", head.code, head.stderr)),
        );
    }
    score.close();
}

/// Output that can't be written is reported, where anyone can read it.
#[test]
fn a_full_stdout_is_one_clear_error() {
    for arguments in [
        &["schema"][..],
        &["inspect", finished_lake().to_str().unwrap()],
        &["--help"],
        &["--version"],
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        ended(program().args(arguments).stdout(full).output().unwrap())
            .refuses(1, "cannot write to stdout");
    }
}

/// Lakes are equal with and without a listener.
#[test]
fn a_run_that_nobody_listens_to_makes_the_same_lake() {
    let source = Scratch::with_sample(1, 40);
    source.convert_well(&[]);
    let mut score = Score::new("a closed reader of stderr");
    for progress in ["auto", "plain", "json", "none"] {
        for closed in [
            "2>&-",
            "2>/dev/full",
            ">&- 2>&-",
            "<&- >&- 2>&-",
            "2>&1 | true",
        ] {
            let scratch = Scratch::new();
            let mut shell = Command::new("bash");
            let line = format!("set -o pipefail; \"$@\" {closed}");
            shell.args(["-c", &line, "bash", env!("CARGO_BIN_EXE_tracelake")]);
            shell.arg("convert").args([source.src(), scratch.out()]);
            let ended = ended(shell.args(["--progress", progress]).output().unwrap());
            let outcome =
                ensure(ended.code == 0, || format!("exit {}", ended.code)).and_then(|()| {
                    ensure(tree(&scratch.out()) == tree(&source.out()), || {
                        "another lake".to_owned()
                    })
                });
            score.count(&format!("--progress {progress} {closed}"), outcome);
        }
    }
    score.close();
}

/// A limit on the size of files (RLIMIT_FSIZE), in KiB; the write fails, no signal kills.
#[test]
fn a_limit_on_file_sizes_is_one_clear_error() {
    let source = Scratch::with_sample(2, 2000);
    source.convert_well(&[]);
    let mut score = Score::new("limits on file sizes");
    for limit in [0, 1, 2, 4, 8, 16, 32, 64] {
        let scratch = Scratch::new();
        let out = scratch.out();
        let mut shell = Command::new("bash");
        let line = format!("ulimit -f {limit} && exec \"$@\"");
        shell.args(["-c", &line, "bash", env!("CARGO_BIN_EXE_tracelake")]);
        let limited = ended(
            shell
                .arg("convert")
                .args([source.src(), out.clone()])
                .output()
                .unwrap(),
        );
        let outcome = (|| {
            ensure(limited.code == 1, || format!("exit {}", limited.code))?;
            let said: Vec<&str> = limited.stderr.lines().collect();
            let [line] = said[..] else {
                return Err(format!("not one line: {said:?}"));
            };
            let names = line.contains(&format!("{}/", out.display()));
            ensure(names && line.contains("ulimit -f"), || line.to_owned())?;
            let left = tree(&out).unwrap_or_default();
            let clean = tree(&source.out()).unwrap();
            let half = left.iter().find(|(name, bytes)| {
                !name.starts_with("_tracelake") && clean.get(*name) != Some(bytes)
            });
            ensure(half.is_none(), || format!("half-made: {half:?}"))?;
            ensure(convert(&source.src(), &out, &[]).code == 0, || {
                "resuming".to_owned()
            })?;
            ensure(tree(&out) == tree(&source.out()), || {
                "another lake".to_owned()
            })
        })();
        score.count(&format!("ulimit -f {limit}"), outcome);
    }
    score.close();
}

/// `verify`'s reason for a lake that isn't finished.
const NOT_FINISHED: &str = "not a finished lake: it has no manifest";

/// `inspect` calls an unfinished lake unfinished, and `verify` refuses it.
#[test]
fn an_unfinished_lake_is_told_apart() {
    let scratch = Scratch::with_sample(1, 10);
    // The smallest part comes last, and is cut.
    let cut = gzip(good_line("task_constraints").as_bytes());
    scratch.file(
        "task_constraints/part-00000-of-00001.csv.gz",
        &cut[..cut.len() - 4],
    );
    scratch.convert(&["--threads", "1"]).exits(5);
    let out = scratch.out();
    assert!(
        out.join("_tracelake/facts/job_events").exists(),
        "nothing was finished before"
    );
    let before = tree(&out);
    for (arguments, code, says) in [
        (&["inspect", "OUT"][..], 0, "unfinished lake of "),
        (&["inspect", "OUT", "--json"], 0, "\"finished\": false"),
        (&["verify", "OUT"], 6, NOT_FINISHED),
        (&["verify", "OUT", "--source", "SRC"], 6, NOT_FINISHED),
    ] {
        let (out, src) = (out.to_str().unwrap(), scratch.src());
        let arguments = arguments.iter().map(|&argument| match argument {
            "OUT" => out,
            "SRC" => src.to_str().unwrap(),
            other => other,
        });
        let looked = run(arguments);
        assert_eq!(looked.code, code, "{}", looked.stderr);
        let said = if code == 0 {
            &looked.stdout[..]
        } else {
            assert_eq!(looked.stdout, "");
            looked.message()
        };
        assert!(said.contains(says), "{said}");
    }
    assert!(tree(&out) == before, "looking changed something");
}
