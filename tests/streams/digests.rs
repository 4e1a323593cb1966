//! A file that is cut into parts, and that `SHA256SUM` lists: its digest is compared before its first part is committed.

use std::fs;

use crate::streams::two_tables;
use tracelake_testkit::server::{Answer, Server};
use tracelake_testkit::{
    Run, Scratch, assert_same_tree, ended, gzip, rows, sha256, tree, with_stores,
};

const CUT: [&str; 2] = ["--part-rows", "100"];

/// A source with a file of 250 rows of the first table, and the file's name.
fn source() -> (Scratch, String) {
    let [table, _] = two_tables();
    let scratch = Scratch::new();
    let name = format!("{}.csv.gz", table.name);
    scratch.file(&name, &gzip(rows::sample(table, 0, 250).as_bytes()));
    (scratch, name)
}

/// Lists the digest of `bytes` as that of a file.
fn list(scratch: &Scratch, name: &str, bytes: &[u8]) {
    let line = format!("{}  {name}\n", sha256(bytes));
    scratch.file("SHA256SUM", line.as_bytes());
}

fn bytes_of(scratch: &Scratch, name: &str) -> Vec<u8> {
    fs::read(scratch.src().join(name)).unwrap()
}

#[test]
fn a_wrong_file_leaves_nothing() {
    let (scratch, name) = source();
    list(&scratch, &name, b"another file");
    let run = scratch.convert(&CUT);
    run.refuses(5, &name);
    run.says("has SHA-256");
    assert!(tree(&scratch.out()).is_none());
    // The right file has other rows from its beginning on, and fewer parts.
    let [table, _] = two_tables();
    let right = gzip(rows::sample(table, 7, 150).as_bytes());
    scratch.file(&name, &right);
    list(&scratch, &name, &right);
    scratch.convert_well(&CUT);
    let plain = Scratch::new();
    plain.file(&name, &right);
    plain.convert_well(&CUT);
    assert_same_tree(&tree(&scratch.out()), &tree(&plain.out()), "the right file");
}

#[test]
fn of_a_wrong_file_its_digest_is_told_and_not_its_rows() {
    let [table, _] = two_tables();
    let (scratch, name) = source();
    let mut text = rows::sample(table, 0, 250);
    text.push_str("no row\n");
    scratch.file(&name, &gzip(text.as_bytes()));
    list(&scratch, &name, b"another file");
    scratch.convert(&CUT).refuses(5, "has SHA-256");
    // The listed file has a bad row.
    list(&scratch, &name, &bytes_of(&scratch, &name));
    scratch.convert(&CUT).refuses(4, ":251");
    assert!(tree(&scratch.out()).is_none());
}

#[test]
fn a_wrong_file_leaves_a_finished_lake_as_it_is() {
    let (scratch, _) = source();
    scratch.convert_well(&CUT);
    let before = tree(&scratch.out());
    let [_, other] = two_tables();
    let name = format!("{}.csv.gz", other.name);
    scratch.file(&name, &gzip(rows::sample(other, 0, 250).as_bytes()));
    list(&scratch, &name, b"another file");
    scratch.convert(&CUT).exits(5);
    assert_same_tree(&tree(&scratch.out()), &before, "a wrong file");
    // Nor does it cost a lake that is to be replaced.
    let only = ["--overwrite", "--tables", &other.name];
    scratch.convert(&[&CUT[..], &only].concat()).exits(5);
    assert_same_tree(&tree(&scratch.out()), &before, "a wrong file");
    // So does one of which only some parts are wanted.
    let (scratch, name) = source();
    list(&scratch, &name, b"another file");
    let run = scratch.convert(&["--part-rows", "100", "--parts", "0", "--allow-missing"]);
    assert_eq!(run.code, 5, "{}", run.stderr);
    assert!(tree(&scratch.out()).is_none(), "{}", run.stderr);
}

#[test]
#[cfg_attr(not(feature = "urls"), ignore = "needs the feature urls")]
fn a_listed_file_is_read_as_often_as_one_that_is_not_listed() {
    let (source, name) = source();
    let requests = |more: &[&str], code| {
        let (run, requests) = from_server(&source, &name, more, &Scratch::new());
        assert_eq!(run.code, code, "{}", run.stderr);
        requests
    };
    let unlisted = requests(&[], 0);
    list(&source, &name, &bytes_of(&source, &name));
    assert_eq!(requests(&[], 0), unlisted);
    list(&source, &name, b"another file");
    // It isn't asked whether a wrong file has changed.
    assert_eq!(requests(&[], 5), unlisted - 1);
    assert_eq!(requests(&["--checksums", "none"], 0), unlisted);
}

/// Converts a source that a server has, into a lake on disk. Returns how often the server was asked for the file.
fn from_server(source: &Scratch, name: &str, more: &[&str], scratch: &Scratch) -> (Run, usize) {
    let server = Server::of(&source.src(), "bucket/trace/", |_| Answer::Well);
    let mut command = with_stores(&server.url());
    command.args(["convert", "s3://bucket/trace"]);
    command.arg(scratch.out()).args(CUT).args(more);
    let run = ended(command.output().unwrap());
    let asked = server.asked();
    let of_file = asked.iter().filter(|asked| asked.path.ends_with(name));
    (run, of_file.count())
}
