//! `tracelake fetch`: files from servers on loopback, and what is on disk afterwards.

mod faults;
mod https;
mod listed;
mod many_files;
mod places;
mod resumed;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use tracelake_testkit::server::{Answer, Asked, Server};
use tracelake_testkit::{Run, Scratch, ended, gzip, plain, sha256};

/// A trace with a table in three parts, `jobs`, and a table in one file, `craters`, below a web server's `moon/`.
const MOON: &str = r#"
family = "moon"
[[trace]]
name = "moon-1"
[[trace.location]]
url = "SERVER/moon"
doc = "All files."
[[table]]
name = "jobs"
parts = 3
[table.columns]
id = "integer"
name = "text"
[[table]]
name = "craters"
file = "craters.csv.gz"
[table.columns]
id = "integer"
"#;

/// The paths of the files of the trace, and their bytes.
fn moon() -> BTreeMap<String, Vec<u8>> {
    static MADE: LazyLock<BTreeMap<String, Vec<u8>>> = LazyLock::new(made);
    MADE.clone()
}

fn made() -> BTreeMap<String, Vec<u8>> {
    let part = |part: u64| {
        // Numbers that don't repeat, so that a part stays large when it is compressed: more than one block.
        let mut state = part + 1;
        let rows = (0..250_000).map(|row| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            format!("{row},{state:016x}\n")
        });
        gzip(rows.collect::<String>().as_bytes())
    };
    let parts = (0..3).map(|it| (format!("jobs/part-0000{it}-of-00003.csv.gz"), part(it)));
    let craters = ("craters.csv.gz".to_owned(), gzip(b"1\n2\n"));
    parts.chain([craters]).collect()
}

/// A part of several blocks.
const PART: &str = "jobs/part-00001-of-00003.csv.gz";

/// The published list of digests.
fn sums(files: &BTreeMap<String, Vec<u8>>) -> String {
    let lines = files
        .iter()
        .map(|(path, bytes)| format!("{}  {path}\n", sha256(bytes)));
    lines.collect()
}

/// Files below a directory of a server.
fn below(directory: &str, files: &BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
    let files = files
        .iter()
        .map(|(path, bytes)| (format!("{directory}/{path}"), bytes.clone()));
    files.collect()
}

/// A server with the files of the trace, and with their digests if these are published.
fn serve(
    has_sums: bool,
    rule: impl Fn(&Asked) -> Answer + Send + Sync + 'static,
) -> (Server, BTreeMap<String, Vec<u8>>) {
    let files = moon();
    let mut served = below("moon", &files);
    if has_sums {
        served.insert("moon/SHA256SUM".to_owned(), sums(&files).into_bytes());
    }
    (Server::start(served, rule), files)
}

/// A directory with the description of the trace, whose files are at a server.
struct Station {
    scratch: Scratch,
}

impl Station {
    fn new(server: &Server, description: &str) -> Self {
        let scratch = Scratch::new();
        let text = description.replace("SERVER", &server.url());
        fs::write(scratch.path().join("moon.toml"), text).unwrap();
        Self { scratch }
    }

    fn description(&self) -> PathBuf {
        self.scratch.path().join("moon.toml")
    }

    fn dir(&self) -> PathBuf {
        self.scratch.path().join("download")
    }

    /// The program, ready to fetch.
    fn command(&self, mut command: Command, options: &[&str]) -> Command {
        command
            .arg("fetch")
            .arg(self.description())
            .arg(self.dir())
            .args(options);
        command
    }

    fn fetch(&self, options: &[&str]) -> Run {
        ended(self.command(plain(), options).output().unwrap())
    }

    /// The files on disk, by their paths.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut open = vec![self.dir()];
        while let Some(path) = open.pop() {
            if path.is_dir() {
                open.extend(fs::read_dir(&path).unwrap().map(|one| one.unwrap().path()));
            } else if path.is_file() {
                let name = path.strip_prefix(self.dir()).unwrap();
                files.insert(name.to_str().unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
        files
    }

    /// The names of the files on disk.
    fn names(&self) -> Vec<String> {
        self.files().into_keys().collect()
    }
}

/// Flips one bit.
fn damaged(bytes: &[u8]) -> Vec<u8> {
    let mut damaged = bytes.to_vec();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    damaged
}

/// Converts what was fetched.
#[track_caller]
fn converts(station: &Station, source: &Path, options: &[&str]) {
    let description = station.description();
    let mut command = plain();
    command
        .arg("convert")
        .arg(source)
        .arg(station.scratch.out());
    command.arg("--trace").arg(description).args(options);
    ended(command.output().unwrap()).exits(0);
}

#[test]
fn a_trace_is_fetched_checked_and_converted() {
    let (server, files) = serve(true, |_| Answer::Well);
    let station = Station::new(&server, MOON);
    let run = station.fetch(&[]);
    run.exits(0);
    assert_eq!(run.stdout, "");
    let mut expected = files.clone();
    expected.insert("SHA256SUM".to_owned(), sums(&files).into_bytes());
    assert!(station.files() == expected, "{:?}", station.names());
    converts(&station, &station.dir(), &[]);

    // What is finished isn't asked for again.
    let before = server.asked().len();
    let run = station.fetch(&["--progress", "plain"]);
    run.exits(0);
    run.prints("kept 4");
    let asked = server.asked().split_off(before);
    let is_list = |asked: &Asked| asked.path.ends_with("SHA256SUM");
    assert!(asked.iter().all(is_list), "{asked:?}");
}

#[test]
fn parts_and_tables_are_chosen() {
    let (server, files) = serve(false, |_| Answer::Well);
    let station = Station::new(&server, MOON);
    let run = station.fetch(&["--tables", "jobs", "--parts", "1-2,7"]);
    run.exits(0);
    run.prints("2 without a published digest, checked by gzip's own checks");
    let expected: Vec<&String> = files.keys().skip(2).collect();
    assert_eq!(Vec::from_iter(&station.names()), expected);
    converts(
        &station,
        &station.dir(),
        &["--tables", "jobs", "--parts", "1-2"],
    );

    for (options, code, says) in [
        (
            &["--tables", "rocks"][..],
            2,
            "has no table 'rocks'; it has jobs, craters",
        ),
        (
            &["--parts", "7", "--tables", "jobs"],
            2,
            "no part has one of these numbers: jobs",
        ),
        (
            &["--cell", "a"],
            2,
            "isn't published by cell; leave --cell out",
        ),
        (&["--list"], 2, ""),
    ] {
        let run = station.fetch(options);
        assert_eq!(run.code, code, "{options:?}: {}", run.stderr);
        assert!(run.stderr.contains(says), "{options:?}: {}", run.stderr);
    }
}
