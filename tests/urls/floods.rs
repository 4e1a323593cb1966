//! Bodies without end: whatever they answer, they take little memory, and the run ends.

use std::collections::BTreeMap;
use std::process::Command;
use std::thread;

use super::{plain, with_stores};
use crate::crash::child::measured;
use tracelake_testkit::server::{Answer, Asked, Server};
use tracelake_testkit::{Score, Scratch, committed_sample, ensure};

/// The memory that an answer may take, beside what the command takes from a server that answers well.
const ROOM: u64 = 64 << 20;

/// The memory that is promised for a run that converts one part at a time.
const STATED: u64 = 256_000_000;

type Rule = fn(&Asked) -> Answer;

fn flood(status: u16) -> Answer {
    Answer::Flood(status, Vec::new())
}

fn long(status: u16) -> Answer {
    Answer::Flood(status, vec![("Content-Length", (1_u64 << 40).to_string())])
}

fn is_object(asked: &Asked) -> bool {
    asked.method == "GET" && !is_list(asked)
}

fn is_list(asked: &Asked) -> bool {
    asked.query.contains("list-type=2")
}

/// The first byte is answered by bytes without end.
fn longer(asked: &Asked) -> Answer {
    match asked.range() {
        Some((start, end)) => {
            let range = format!("bytes {start}-{}/100000000", end - 1);
            let headers = [("Content-Range", range), ("ETag", "\"1\"".to_owned())];
            Answer::Flood(206, headers.to_vec())
        }
        None => flood(200),
    }
}

/// A part is asked for as a whole, and a range is sent.
fn unasked_range(asked: &Asked) -> Answer {
    let headers = [
        ("Content-Range", "bytes 0-9/10".to_owned()),
        ("ETag", "\"1\"".to_owned()),
        ("Last-Modified", "Wed, 21 Oct 2015 07:28:00 GMT".to_owned()),
    ];
    match asked.range() {
        _ if !is_object(asked) => Answer::Well,
        Some(_) => longer(asked),
        None => Answer::Flood(206, headers.to_vec()),
    }
}

/// A list whose last page never comes.
fn pages(asked: &Asked) -> Answer {
    if !is_list(asked) {
        return Answer::Well;
    }
    let name = "x".repeat(900);
    let key = |number: usize| {
        format!(
            "<Contents><Key>trace/{name}{}-{number}</Key><Size>1</Size><ETag>1</ETag>\
             <LastModified>2015-10-21T07:28:00.000Z</LastModified></Contents>",
            asked.before
        )
    };
    let keys: String = (0..1_000).map(key).collect();
    let body = format!(
        "<ListBucketResult><IsTruncated>true</IsTruncated>\
         <NextContinuationToken>{}</NextContinuationToken>{keys}</ListBucketResult>",
        asked.before
    );
    Answer::Status(200, Vec::new(), body)
}

/// A command, the answers that it gets, and its exit code.
struct Case {
    name: &'static str,
    /// With `URL`, `LAKE` and `OUT` in place of those.
    arguments: &'static [&'static str],
    rule: Rule,
    /// The end of the program.
    code: i32,
}

const WEB: &[&str] = &["inspect", "URL/bucket/trace/"];
const WEB_FILE: &[&str] = &[
    "convert",
    "URL/bucket/trace/job_events/part-00001-of-00002.csv.gz",
    "OUT",
];
const S3: &[&str] = &["inspect", "s3://bucket/trace"];
const INTO_S3: &[&str] = &["convert", "SOURCE", "s3://bucket/lake"];
const VERIFY: &[&str] = &["verify", "s3://bucket/lake"];
const COMMIT: &[&str] = &["commit", "s3://bucket/lake"];

fn case(name: &'static str, arguments: &'static [&'static str], rule: Rule) -> Case {
    Case {
        name,
        arguments,
        rule,
        code: 1,
    }
}

fn cases() -> Vec<Case> {
    let is_sums: Rule = |asked| match asked.path.ends_with("/SHA256SUM") {
        true if asked.path.matches("SHA256SUM").count() > 1 => {
            Answer::Status(404, Vec::new(), String::new())
        }
        true => flood(200),
        false => Answer::Well,
    };
    vec![
        case("408 of a web server", WEB, |_| flood(408)),
        case("429 of a web server", WEB, |_| flood(429)),
        case("500 of a web server", WEB_FILE, |_| flood(500)),
        case("503 of a web server, with a length", WEB_FILE, |_| {
            long(503)
        }),
        case("404 of a web server", WEB_FILE, |_| flood(404)),
        case("403 of a web server", WEB_FILE, |_| long(403)),
        case("a range of a web server", WEB_FILE, longer),
        Case {
            code: 5,
            ..case("SHA256SUM", WEB, is_sums)
        },
        case("408 of a store", S3, |_| flood(408)),
        case("429 of a store", S3, |_| long(429)),
        case("500 of a store", S3, |_| flood(500)),
        case("404 of a store", S3, |_| flood(404)),
        case("400 of a store", S3, |_| flood(400)),
        case("a list", S3, |asked| match is_list(asked) {
            true => flood(200),
            false => Answer::Well,
        }),
        case("pages of a list", S3, pages),
        case("a range of a store", S3, longer),
        case("an object of a store", VERIFY, |asked| {
            match is_object(asked) {
                true => flood(200),
                false => Answer::Well,
            }
        }),
        Case {
            code: 5,
            ..case(
                "a long object of a store",
                VERIFY,
                |asked| match is_object(asked) {
                    true => Answer::Flood(
                        200,
                        [
                            ("Content-Length", (1_u64 << 40).to_string()),
                            ("ETag", "\"1\"".to_owned()),
                            ("Last-Modified", "Wed, 21 Oct 2015 07:28:00 GMT".to_owned()),
                        ]
                        .to_vec(),
                    ),
                    false => Answer::Well,
                },
            )
        },
        case("a range that nobody asked for", VERIFY, unasked_range),
        case(
            "a commit, whose objects are too long",
            COMMIT,
            unasked_range,
        ),
        case(
            "a put of a store",
            INTO_S3,
            |asked| match &asked.method[..] {
                "PUT" | "POST" => flood(500),
                _ => Answer::Well,
            },
        ),
        case("a put that is done", INTO_S3, |asked| {
            match &asked.method[..] {
                "PUT" | "POST" => flood(200),
                _ => Answer::Well,
            }
        }),
    ]
}

/// Runs the program against a server with this rule; returns the exit code, what it said, and its memory.
fn run(case: &Case, rule: Rule) -> (i32, String, u64) {
    let scratch = Scratch::new();
    let sample = committed_sample();
    let server = Server::of(&sample, "bucket/trace/", rule);
    let place = |argument: &&str| {
        argument
            .replace("URL", &server.url())
            .replace("SOURCE", sample.to_str().unwrap())
            .replace("OUT", scratch.out().to_str().unwrap())
    };
    let mut command: Command = match case.arguments.concat().contains("s3://") {
        true => with_stores(&server.url()),
        false => plain(),
    };
    command.args(case.arguments.iter().map(place));
    let (run, peak) = measured(command);
    (run.code, run.stderr, peak)
}

#[test]
fn no_answer_takes_the_memory_that_its_server_wants() {
    let well: BTreeMap<&[&str], u64> = [WEB, WEB_FILE, S3, INTO_S3, VERIFY, COMMIT]
        .map(|arguments| {
            let (_, _, peak) = run(&case("", arguments, |_| Answer::Well), |_| Answer::Well);
            (arguments, peak)
        })
        .into();
    let cases = cases();
    // Most of them wait until they are tried again.
    let ended = thread::scope(|scope| {
        let cases: Vec<_> = cases
            .iter()
            .map(|case| scope.spawn(|| run(case, case.rule)))
            .collect();
        let ended = cases.into_iter().map(|case| case.join().unwrap());
        ended.collect::<Vec<_>>()
    });
    let mut score = Score::new("bodies without end");
    for (case, (code, stderr, peak)) in cases.iter().zip(ended) {
        // The keys of a long list are kept.
        let most = match case.name {
            "pages of a list" => STATED,
            _ => well[case.arguments] + ROOM,
        };
        let outcome = ensure(code == case.code, || format!("exit {code}: {stderr}"))
            .and_then(|()| ensure(peak < most, || format!("{peak} bytes of {most}")));
        score.count(case.name, outcome);
    }
    score.close();
}

#[test]
fn credentials_without_end_take_no_memory() {
    let portal = Server::start(BTreeMap::new(), |_| flood(200));
    let store = Server::of(&committed_sample(), "bucket/", |_| Answer::Well);
    let ask = |variables: &[(&str, &str)]| {
        let mut command = plain();
        command
            .env("AWS_ENDPOINT_URL", store.url())
            .envs(variables.iter().copied())
            .args(["inspect", "s3://bucket"]);
        measured(command)
    };
    let (run, well) = ask(&[("AWS_SKIP_SIGNATURE", "true")]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let url = portal.url();
    for name in [
        "AWS_METADATA_ENDPOINT",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    ] {
        let (_, peak) = ask(&[(name, &url)]);
        assert!(
            peak < well + ROOM,
            "{name}: {peak} bytes, and {well} without"
        );
        assert!(!portal.asked().is_empty());
    }
}
