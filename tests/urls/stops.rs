//! Signals while a server is waited for, and what an object takes of memory.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tracelake_location::OBJECT_MEMORY;

use super::lakes::{UNCOMPRESSED, large};
use super::{plain, with_stores};
use crate::crash::child::{AT_ONCE, HANGS, Working, measured};
use tracelake_testkit::server::{Answer, Asked, Server};
use tracelake_testkit::{Score, Scratch, committed_sample, ensure, good_line};

/// The memory of the HTTP client beside its objects: certificates, connections, code.
const CLIENT: u64 = 12 << 20;

/// Whether a request is for data: before it, names are looked at.
fn is_data(asked: &Asked) -> bool {
    asked.path.ends_with(".csv.gz") && asked.range() != Some((0, 1))
}

/// Stops a run once the server was asked for what it holds back: the run ends at once.
fn stop_while_asked(
    working: Working,
    server: &Server,
    what: &str,
    is_held: impl Fn(&Asked) -> bool,
) -> Result<(), String> {
    let begun = Instant::now();
    while !server.asked().iter().any(&is_held) {
        assert!(begun.elapsed() < HANGS, "{what} was not asked for");
        sleep(Duration::from_millis(10));
    }
    working.signal("INT");
    let (ended, took) = working.end();
    ensure(ended.code == 130, || {
        format!("exit {}: {}", ended.code, ended.stderr)
    })?;
    ensure(took < AT_ONCE, || format!("took {took:?}"))
}

#[test]
fn a_signal_ends_the_waiting_for_a_server() {
    let busy = || Answer::Status(503, vec![("Retry-After", "50".to_owned())], String::new());
    let mut score = Score::new("stops while a server is waited for");
    for (name, answer) in [("silent", Answer::Silent), ("asks for patience", busy())] {
        let server = Server::of(
            &committed_sample(),
            "bucket/trace/",
            move |asked| match is_data(asked) {
                true => answer.clone(),
                false => Answer::Well,
            },
        );
        let scratch = Scratch::new();
        let out = scratch.out();
        // The first rows of no table are needed to know the trace, so that the run begins.
        let trace = &tracelake_testkit::trace().name;
        let more = ["--trace", trace];
        let source = Path::new("s3://bucket/trace");
        let working = Working::start_under(with_stores(&server.url()), source, &out, &more);
        let outcome = stop_while_asked(working, &server, "data", is_data)
            .and_then(|()| ensure(!out.exists(), || "OUT is there".to_owned()));
        score.count(name, outcome);
    }
    score.close();
}

#[test]
fn a_signal_ends_the_waiting_for_a_store_that_is_written_to() {
    type Held = fn(&Asked) -> bool;
    let cases: [(&str, Held); 6] = [
        ("a list", |asked| asked.query.contains("list-type=2")),
        ("facts", |asked| asked.path.contains("/facts/job_events")),
        ("the start of an upload", |asked| {
            asked.query.starts_with("uploads")
        }),
        ("a part of an upload", |asked| {
            asked.query.contains("partNumber=2")
        }),
        ("the end of an upload", |asked| {
            asked.method == "POST" && asked.query.contains("uploadId=")
        }),
        ("a part of an upload, and its abort", |asked| {
            asked.query.contains("partNumber=2") || asked.method == "DELETE"
        }),
    ];
    let mut score = Score::new("stops while a store that is written to is waited for");
    for (name, is_held) in cases {
        let server = Server::start(Default::default(), move |asked| match is_held(asked) {
            true => Answer::Silent,
            false => Answer::Well,
        });
        let source = large().src();
        let out = Path::new("s3://bucket/lake");
        let command = with_stores(&server.url());
        let working = Working::start_under(command, &source, out, &UNCOMPRESSED);
        let stopped = stop_while_asked(working, &server, name, is_held);
        // A server that doesn't answer the abort keeps the parts, until the lifecycle rule removes them.
        let left = usize::from(name.ends_with("abort"));
        let visible = server.objects("bucket/lake/job_events/").len();
        let outcome = stopped
            .and_then(|()| {
                ensure(server.uploads() == left, || {
                    format!("{} uploads are left", server.uploads())
                })
            })
            .and_then(|()| ensure(visible == 0, || format!("{visible} outputs are visible")));
        score.count(name, outcome);
    }
    score.close();
}

#[test]
fn an_object_takes_no_more_memory_than_documented() {
    let scratch = Scratch::new();
    let row = good_line("task_usage");
    let text = row.repeat((64 << 20) / row.len());
    scratch.file("task_usage/part-00000-of-00001.csv", text.as_bytes());
    let server = Server::of(&scratch.src(), "bucket/", |_| Answer::Well);
    let disk = scratch.src().to_str().unwrap().to_owned();
    let peak = |source: &str, mut command: std::process::Command, out: &str| {
        command
            .args(["convert", source])
            .arg(scratch.path().join(out));
        let (run, peak) = measured({
            command.args(["--threads", "1"]);
            command
        });
        assert_eq!(run.code, 0, "{}", run.stderr);
        peak
    };
    let from_disk = peak(&disk, plain(), "one");
    let from_bucket = peak("s3://bucket", with_stores(&server.url()), "two");
    assert!(from_bucket < from_disk + OBJECT_MEMORY + CLIENT);
}
