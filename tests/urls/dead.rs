//! Servers that don't answer any more: the first request that fails ends a run, however many files are listed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::{convert, plain};
use tracelake_testkit::server::{Answer, Asked, Server, status, to_closed_port};
use tracelake_testkit::{
    Run, Score, Scratch, ended, ensure, good_line, gzip, part_path, sha256, trace,
};

/// How long a run may take whose server is dead: as long as one request is tried again, and some more.
const SOON: Duration = Duration::from_secs(40);

/// The most requests that a run sends before it begins to read a part.
const REQUESTS: usize = 30;

/// The `SHA256SUM` of a source with this many files, which are all the same.
fn sums(files: u32) -> Vec<u8> {
    let digest = sha256(&part());
    let lines = (0..files).map(|file| {
        let path = part_path("job_events", file, files);
        format!("{digest}  {path}\n")
    });
    lines.collect::<String>().into_bytes()
}

fn part() -> Vec<u8> {
    gzip(good_line("job_events").as_bytes())
}

fn is_list(asked: &Asked) -> bool {
    asked.path == "trace/SHA256SUM"
}

/// A server that lists this many files, and redirects every other request to a closed port.
fn dying(files: u32) -> Server {
    let closed = to_closed_port();
    let list = BTreeMap::from([("trace/SHA256SUM".to_owned(), sums(files))]);
    Server::start(list, move |asked| match is_list(asked) {
        true => Answer::Well,
        false if asked.path == "trace/SHA256SUM/SHA256SUM" => status(404),
        false => closed(),
    })
}

/// A server that has all files and their list, and what it was asked for when it dies.
fn living(files: u32) -> Server {
    let parts = (0..files).map(|file| part_path("job_events", file, files));
    let mut all: BTreeMap<String, Vec<u8>> = parts
        .map(|path| (format!("trace/{path}"), part()))
        .collect();
    all.insert("trace/SHA256SUM".to_owned(), sums(files));
    Server::start(all, |_| Answer::Well)
}

fn ends_soon(server: &Server, run: impl FnOnce(&str) -> Run) -> Result<(), String> {
    let begun = Instant::now();
    let run = run(&format!("{}/trace", server.url()));
    let took = begun.elapsed();
    ensure(run.code == 1, || {
        format!("exit {}: {}", run.code, run.stderr)
    })?;
    ensure(run.stderr.contains("check the network"), || {
        run.stderr.clone()
    })?;
    ensure(took < SOON, || format!("took {took:?}"))?;
    let asked = server.asked().len();
    ensure(asked < REQUESTS, || format!("{asked} requests"))
}

#[test]
fn a_dead_server_ends_a_run_however_many_files_it_lists() {
    let mut score = Score::new("dead servers");
    for files in [64, 200, 100_000] {
        let server = dying(files);
        for more in [&[][..], &["--shard", "0/2"], &["--trace", &trace().name]] {
            let scratch = Scratch::new();
            let ended = ends_soon(&dying(files), |url| {
                convert(plain(), url, &scratch.out(), more)
            });
            let name = format!("{files} files {}", more.join(" "));
            score.count(&name, ended);
        }
        drop(server);
    }
    score.close();
}

#[test]
fn a_dead_server_ends_a_verification() {
    let scratch = Scratch::new();
    let out = scratch.out();
    let server = living(200);
    let url = format!("{}/trace", server.url());
    convert(plain(), &url, &out, &[]).well();
    let dead = dying(200);
    let ended = ends_soon(&dead, |url| {
        let mut command = plain();
        command.args(["verify", out.to_str().unwrap(), "--source", url]);
        ended(command.output().unwrap())
    });
    ended.unwrap();
}

#[test]
fn listed_files_are_not_asked_for_before_they_are_read() {
    let server = living(200);
    let url = format!("{}/trace", server.url());
    let scratch = Scratch::new();
    for arguments in [
        vec!["inspect", &url],
        vec![
            "convert",
            &url,
            scratch.out().to_str().unwrap(),
            "--dry-run",
        ],
    ] {
        let before = server.asked().len();
        let run = ended(plain().args(&arguments).output().unwrap());
        assert_eq!(run.code, 0, "{}", run.stderr);
        let asked = server.asked().len() - before;
        assert!(asked < REQUESTS, "{arguments:?}: {asked} requests");
        run.shows("200");
    }
}

#[test]
fn a_listed_file_that_the_server_does_not_have_is_named() {
    let list = BTreeMap::from([("trace/SHA256SUM".to_owned(), sums(2))]);
    let server = Server::start(list, |_| Answer::Well);
    let url = format!("{}/trace", server.url());
    let scratch = Scratch::new();
    // One part at a time, so that the first one is named.
    let run = convert(plain(), &url, &scratch.out(), &["--threads", "1"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let path = part_path("job_events", 0, 2);
    let words = format!("/trace/{path}: there is no such object; ");
    run.prints(&words);
    run.prints("--parts");
}

#[test]
fn a_list_leads_out_of_the_source_in_no_way() {
    let digest = sha256(&part());
    let inside = part_path("job_events", 0, 1);
    let mut list = format!("{digest}  {inside}\n");
    for out in [
        "..",
        "%2e%2e",
        "%2E.",
        "job_events/%2e%2e/..",
        "..%2f",
        "%252e%252e",
    ] {
        list += &format!("{digest}  {out}/secret/{inside}\n");
        list += &format!("{digest}  job_events/{out}/{out}/part-00000-of-00001.csv.gz\n");
    }
    let files = BTreeMap::from([
        ("a/trace/SHA256SUM".to_owned(), list.into_bytes()),
        (format!("a/trace/{inside}"), part()),
    ]);
    let server = Server::start(files, |_| Answer::Well);
    let scratch = Scratch::new();
    let url = format!("{}/a/trace", server.url());
    convert(plain(), &url, &scratch.out(), &[]).well();
    for asked in server.asked() {
        // What may say that the trace is synthetic is looked for above it.
        let is_above = asked.path == "a/SYNTHETIC.txt";
        assert!(asked.path.starts_with("a/trace") || is_above, "{asked:?}");
    }
}
