//! The table of faults: what a server does, how the command ends, and what is on disk.

use std::fs::{self, File};

use tracelake_fetch::CONNECTIONS;

use super::{MOON, PART, Station, below, damaged, moon, serve, sums};
use tracelake_testkit::server::{Answer, Asked, Server, status};
use tracelake_testkit::{Score, ended, ensure, gzip, plain};

/// The state of a part after a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    /// The file.
    Whole,
    /// An unfinished file that the next run resumes.
    Resumable,
    /// An unfinished file that the next run begins again.
    Wrong,
    Nothing,
}

struct Fault {
    what: &'static str,
    has_sums: bool,
    rule: fn(&Asked) -> Answer,
    code: i32,
    says: &'static str,
    left: Left,
}

/// Does this to a part, from its first request on.
fn to_part(asked: &Asked, answer: Answer) -> Answer {
    match asked.path.ends_with(PART) {
        true => answer,
        false => Answer::Well,
    }
}

/// Does this to the first requests for a part.
fn at_first(asked: &Asked, times: usize, answer: Answer) -> Answer {
    match asked.before < times {
        true => to_part(asked, answer),
        false => Answer::Well,
    }
}

fn page() -> Answer {
    let html = "<!DOCTYPE html><html>We are sorry.</html>".to_owned();
    Answer::Status(200, Vec::new(), html)
}

fn redirect(to: &str) -> Answer {
    Answer::Status(302, vec![("Location", to.to_owned())], String::new())
}

const FAULTS: &[Fault] = &[
    Fault {
        what: "errors that pass",
        has_sums: true,
        rule: |asked| at_first(asked, 3, status(503)),
        code: 0,
        says: "checked by the published SHA-256",
        left: Left::Whole,
    },
    Fault {
        what: "too many requests, try again in a second",
        has_sums: false,
        rule: |asked| {
            let later = vec![("Retry-After", "1".to_owned())];
            at_first(asked, 1, Answer::Status(429, later, String::new()))
        },
        code: 0,
        says: "checked by gzip's own checks",
        left: Left::Whole,
    },
    Fault {
        what: "a trickle",
        has_sums: true,
        rule: |asked| to_part(asked, Answer::Slow(10_000)),
        code: 0,
        says: "",
        left: Left::Whole,
    },
    Fault {
        what: "a connection that is cut again and again",
        has_sums: true,
        rule: |asked| to_part(asked, Answer::Cut(300_000)),
        code: 0,
        says: "",
        left: Left::Whole,
    },
    Fault {
        what: "no ranges, and cut once",
        has_sums: true,
        rule: |asked| match asked.before {
            0..3 => to_part(asked, Answer::WholeCut(700_000)),
            _ => to_part(asked, Answer::Whole),
        },
        code: 0,
        says: "",
        left: Left::Whole,
    },
    Fault {
        what: "no size",
        has_sums: true,
        rule: |asked| to_part(asked, Answer::Chunked(false)),
        code: 0,
        says: "",
        left: Left::Whole,
    },
    Fault {
        what: "fewer bytes than the file has",
        has_sums: true,
        rule: |asked| to_part(asked, Answer::Off(-7)),
        code: 1,
        says: "",
        left: Left::Nothing,
    },
    Fault {
        what: "more bytes than announced",
        has_sums: true,
        rule: |asked| to_part(asked, Answer::Off(7)),
        code: 1,
        says: "sends more bytes than it announced",
        left: Left::Nothing,
    },
    Fault {
        what: "gone",
        has_sums: true,
        rule: |asked| to_part(asked, status(404)),
        code: 1,
        says: "there is no such object",
        left: Left::Nothing,
    },
    Fault {
        what: "forbidden",
        has_sums: false,
        rule: |asked| to_part(asked, status(403)),
        code: 1,
        says: "forbidden without credentials",
        left: Left::Nothing,
    },
    Fault {
        what: "a web page in the place of a file, and no digest",
        has_sums: false,
        rule: |asked| to_part(asked, page()),
        code: 5,
        says: "is a web page",
        left: Left::Wrong,
    },
    Fault {
        what: "a web page in the place of a file, and a digest",
        has_sums: true,
        rule: |asked| to_part(asked, page()),
        code: 5,
        says: "and the published one",
        left: Left::Wrong,
    },
    Fault {
        what: "a Git LFS pointer",
        has_sums: false,
        rule: |asked| {
            let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
            to_part(asked, Answer::Status(200, Vec::new(), pointer.to_owned()))
        },
        code: 5,
        says: "is a Git LFS pointer in place of the file; run the same command again",
        left: Left::Wrong,
    },
    Fault {
        what: "sent in circles",
        has_sums: false,
        rule: |asked| to_part(asked, redirect(&format!("/{}", asked.path))),
        code: 1,
        says: "redirected more than 10 times",
        left: Left::Nothing,
    },
    Fault {
        what: "sent on within the server",
        has_sums: true,
        rule: |asked| match asked.query.is_empty() {
            true => to_part(asked, redirect(&format!("/{}?signed=1", asked.path))),
            false => Answer::Well,
        },
        code: 0,
        says: "",
        left: Left::Whole,
    },
];

#[test]
fn faults_of_servers_end_as_the_table_says() {
    let mut score = Score::new("faults of servers");
    for fault in FAULTS {
        let (server, files) = serve(fault.has_sums, fault.rule);
        let station = Station::new(&server, MOON);
        let run = station.fetch(&["--tables", "jobs", "--parts", "1"]);
        let names = station.names();
        let has = |ending: &str| names.contains(&format!("{PART}{ending}"));
        let left = match (has(""), has(".partial"), has(".partial.json")) {
            (true, false, false) => Left::Whole,
            (false, true, true) => Left::Resumable,
            (false, true, false) => Left::Wrong,
            _ => Left::Nothing,
        };
        let is_right = || station.files()[PART] == files[PART];
        let nothing = |left: Left| left == Left::Nothing || left == Left::Wrong;
        let outcome = ensure(run.code == fault.code, || {
            format!("{}: {}", run.code, run.stderr)
        })
        .and_then(|()| ensure(run.stderr.contains(fault.says), || run.stderr.clone()))
        .and_then(|()| {
            let is_same = left == fault.left || nothing(left) && fault.left == Left::Nothing;
            ensure(is_same, || format!("{left:?}: {names:?}"))
        })
        .and_then(|()| {
            ensure(left != Left::Whole || is_right(), || {
                "other bytes".to_owned()
            })
        });
        score.count(fault.what, outcome);
    }
    score.close();
}

/// A file that isn't what was published stays unfinished. The others are fetched, and the next run fetches it anew.
#[test]
fn bytes_that_were_not_published_are_refused() {
    let whole = moon();
    for (has_sums, says) in [
        (true, "and the published one"),
        (false, "wrong CRC of the text"),
    ] {
        let mut served = below("moon", &whole);
        let wrong = damaged(&whole[PART]);
        served.insert(format!("moon/{PART}"), wrong);
        if has_sums {
            served.insert("moon/SHA256SUM".to_owned(), sums(&whole).into_bytes());
        }
        let server = Server::start(served, |_| Answer::Well);
        let station = Station::new(&server, MOON);
        let run = station.fetch(&[]);
        run.exits(5);
        if has_sums {
            run.says(says);
        }
        run.says("run the same command again, which fetches it anew");
        let mut names: Vec<String> = whole
            .keys()
            .map(|name| match &name[..] {
                PART => format!("{PART}.partial"),
                name => name.to_owned(),
            })
            .collect();
        if has_sums {
            names.insert(0, "SHA256SUM".to_owned());
            let listed = String::from_utf8(station.files()["SHA256SUM"].clone()).unwrap();
            assert!(!listed.contains(PART), "{listed}");
        }
        assert_eq!(station.names(), names);
        drop(server);
        let (right, _) = serve(has_sums, |_| Answer::Well);
        let text = MOON.replace("SERVER", &right.url());
        fs::write(station.description(), text).unwrap();
        station.fetch(&[]).exits(0);
        assert!(station.files()[PART] == whole[PART]);
    }
}

/// A list is from strangers: what leads out of the directory isn't fetched.
#[test]
fn nothing_is_written_outside_of_the_directory() {
    let files = moon();
    let outside = gzip(b"9\n");
    let mut served = below("moon", &files);
    let mut listed = files.clone();
    for path in [
        "../craters.csv.gz",
        "/craters.csv.gz",
        "a/../../craters.csv.gz",
        "jobs/../craters.csv.gz",
    ] {
        listed.insert(path.to_owned(), outside.clone());
        served.insert(format!("moon/{path}"), outside.clone());
    }
    served.insert("moon/SHA256SUM".to_owned(), sums(&listed).into_bytes());
    let server = Server::start(served, |_| Answer::Well);
    let station = Station::new(&server, MOON);
    station.fetch(&["--tables", "craters"]).exits(0);
    assert_eq!(station.names(), ["SHA256SUM", "craters.csv.gz"]);
    assert!(station.files()["craters.csv.gz"] == files["craters.csv.gz"]);
    assert!(!station.scratch.path().join("craters.csv.gz").exists());
}

#[test]
fn a_list_of_digests_is_one_and_is_there_if_promised() {
    let promised = MOON.replace(
        "doc = \"All files.\"",
        "doc = \"All files.\"\nsha256sum = true",
    );
    let (server, _) = serve(false, |_| Answer::Well);
    Station::new(&server, &promised).fetch(&[]).exits(1);
    let mut served = below("moon", &moon());
    served.insert("moon/SHA256SUM".to_owned(), b"<html>".to_vec());
    let server = Server::start(served, |_| Answer::Well);
    let run = Station::new(&server, MOON).fetch(&[]);
    run.refuses(
        5,
        "not a line of SHA-256 and path; it is not what its name says",
    );
}

/// A file may be larger than its disk. Nothing is written then.
#[test]
fn a_disk_that_is_too_small_is_refused_before_anything_is_written() {
    let (server, _) = serve(false, |_| Answer::Well);
    let archive = "[[trace.archive]]\ntable = \"craters\"\nnames = [\"craters.csv.gz\"]\n\
                   size = \"1,000,000,000,000,000\"\n[[table]]\nname = \"jobs\"";
    let station = Station::new(
        &server,
        &MOON.replace("[[table]]\nname = \"jobs\"", archive),
    );
    station.fetch(&[]).refuses(6, "too little room");
    assert!(!station.dir().exists());
}

#[test]
fn another_process_and_a_lake_are_refused() {
    let (server, _) = serve(false, |_| Answer::Well);
    let station = Station::new(&server, MOON);
    let partial = station.dir().join("craters.csv.gz.partial");
    fs::create_dir_all(station.dir()).unwrap();
    let held = File::create(&partial).unwrap();
    held.lock().unwrap();
    let only = ["--tables", "craters"];
    station
        .fetch(&only)
        .refuses(6, "another process fetches it");
    drop(held);
    station.fetch(&only).exits(0);
    fs::create_dir_all(station.dir().join("_tracelake")).unwrap();
    station.fetch(&only).refuses(6, "this is a lake");
    let mut command = plain();
    command
        .arg("fetch")
        .arg(station.description())
        .arg("s3://bucket/a");
    ended(command.output().unwrap()).refuses(2, "files are fetched to a disk; name a directory");
}

/// Neither a password nor a signature is in a message, in the log or in a file.
#[test]
fn a_secret_of_the_url_is_in_no_message_and_no_file() {
    const SECRET: &str = "K7MDENGsecret";
    let fails = |asked: &Asked| match asked.range() {
        Some((1.., _)) => status(403),
        _ => Answer::Well,
    };
    let (server, _) = serve(false, fails);
    let url = server
        .url()
        .replace("http://", &format!("http://me:{SECRET}@"));
    let text = MOON.replace("SERVER/moon", &format!("{url}/moon"));
    let station = Station::new(&server, &text);
    let mut command = station.command(plain(), &["--progress", "plain"]);
    let run = ended(command.env("RUST_LOG", "trace").output().unwrap());
    run.exits(1);
    assert!(!run.stderr.contains(SECRET), "{}", run.stderr);
    assert!(
        station
            .names()
            .iter()
            .any(|name| name.ends_with(".partial.json"))
    );
    for (name, bytes) in station.files() {
        assert!(!String::from_utf8_lossy(&bytes).contains(SECRET), "{name}");
    }
    let list = ended(
        plain()
            .arg("fetch")
            .arg(station.description())
            .arg("--list")
            .output()
            .unwrap(),
    );
    list.exits(0);
    assert!(!list.stdout.contains(SECRET), "{}", list.stdout);
}

/// Four large files at a time, and three ranges of each.
#[test]
fn connections_are_within_the_stated_number() {
    const FILES: usize = 12;
    let description = MOON.replace("parts = 3", &format!("parts = {FILES}"));
    let large = moon()[PART].clone();
    let file = |it| format!("jobs/part-{it:05}-of-{FILES:05}.csv.gz");
    let files = (0..FILES)
        .map(|number| (file(number), large.clone()))
        .collect();
    let mut served = below("moon", &files);
    served.insert("moon/SHA256SUM".to_owned(), sums(&files).into_bytes());
    let server = Server::start(served, |_| Answer::Well);
    let station = Station::new(&server, &description);
    station.fetch(&["--tables", "jobs"]).exits(0);
    let most = server.most_open();
    assert!((2..=CONNECTIONS).contains(&most), "{most}");
}
