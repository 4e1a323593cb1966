//! More files than a trace has.

use std::collections::BTreeMap;

use super::{MOON, Station, below, sums};
use tracelake_testkit::server::{Answer, Server, to_closed_port};
use tracelake_testkit::{gzip, sha256, tries_all};

#[test]
fn a_hundred_thousand_files_are_fetched_once() {
    let count = if tries_all() { 100_000 } else { 1_000 };
    let description = MOON.replace("parts = 3", &format!("parts = {count}"));
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for number in 0..count {
        let path = format!("jobs/part-{number:05}-of-{count:05}.csv.gz");
        files.insert(path, gzip(format!("{number},x\n").as_bytes()));
    }
    let mut served = below("moon", &files);
    served.insert("moon/SHA256SUM".to_owned(), sums(&files).into_bytes());
    let server = Server::start(served, |_| Answer::Well);
    let station = Station::new(&server, &description);
    let only = ["--tables", "jobs"];
    station.fetch(&only).exits(0);
    let before = server.asked().len();
    files.insert("SHA256SUM".to_owned(), sums(&files).into_bytes());
    assert!(station.files() == files);
    station.fetch(&only).exits(0);
    // The list is asked for, in as many ranges as it has, and nothing else.
    let again = server.asked().split_off(before);
    assert!(again.iter().all(|asked| asked.path == "moon/SHA256SUM"));
}

/// A server that lists many files, and redirects every request for one to a closed port.
#[test]
fn a_server_that_does_not_answer_ends_the_work() {
    const FILES: usize = 1_000;
    let closed = to_closed_port();
    let line = |it| format!("{}  jobs/part-{it:05}-of-{FILES:05}.csv.gz\n", sha256(b""));
    let list: String = (0..FILES).map(line).collect();
    let served = BTreeMap::from([("moon/SHA256SUM".to_owned(), list.into_bytes())]);
    let server = Server::start(served, move |asked| {
        match asked.path.ends_with("SHA256SUM") {
            true => Answer::Well,
            false => closed(),
        }
    });
    let station = Station::new(&server, MOON);
    let run = station.fetch(&["--tables", "jobs"]);
    run.refuses(1, "check the network");
    assert!(!station.dir().exists());
    // Each of the first ones is tried again some times.
    assert!(server.asked().len() < FILES / 4, "{}", server.asked().len());
}
