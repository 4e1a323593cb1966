//! More files than a trace has.

use std::collections::BTreeMap;

use super::{MOON, Station, below, sums};
use tracelake_testkit::server::{Answer, Server};
use tracelake_testkit::{gzip, tries_all};

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
    // Whether there is a list, and the list.
    assert!(server.asked().len() <= before + 3);
}
