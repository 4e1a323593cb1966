//! A file that is cut into parts, and that `SHA256SUM` lists: its digest is known when its first parts are committed.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::streams::two_tables;
use tracelake_testkit::server::{Answer, Server, refusal};
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

/// The outputs in OUT, without its own files.
fn outputs(scratch: &Scratch) -> Vec<String> {
    let tree: BTreeMap<_, _> = tree(&scratch.out()).unwrap_or_default();
    let files = tree.into_iter().filter(|(_, bytes)| bytes.is_some());
    let names = files.map(|(name, _)| name);
    names
        .filter(|name| !name.starts_with("_tracelake/"))
        .collect()
}

#[test]
fn the_parts_of_a_wrong_file_are_removed() {
    let (scratch, name) = source();
    list(&scratch, &name, b"another file");
    let run = scratch.convert(&CUT);
    assert_eq!(run.code, 5, "{}", run.stderr);
    assert!(run.message().contains(&name), "{}", run.stderr);
    assert!(run.message().contains("has SHA-256"), "{}", run.stderr);
    let removed = format!("removed 3 parts made from {name}");
    assert!(run.stderr.contains(&removed), "{}", run.stderr);
    assert_eq!(outputs(&scratch), [""; 0]);
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
    let run = scratch.convert(&CUT);
    assert_eq!(run.code, 5, "{}", run.stderr);
    assert!(run.message().contains("has SHA-256"), "{}", run.stderr);
    assert!(run.stderr.contains("removed 2 parts"), "{}", run.stderr);
    assert_eq!(outputs(&scratch), [""; 0]);
    // The listed file has a bad row, and its good parts stay.
    list(&scratch, &name, &bytes_of(&scratch, &name));
    let run = scratch.convert(&CUT);
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert!(run.message().contains(":251"), "{}", run.stderr);
    assert_eq!(outputs(&scratch).len(), 2);
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
    let run = scratch.convert(&CUT);
    assert_eq!(run.code, 5, "{}", run.stderr);
    assert!(!run.stderr.contains("removed"), "{}", run.stderr);
    assert_same_tree(&tree(&scratch.out()), &before, "a wrong file");
    // Nor does it cost a lake that is to be replaced.
    let run = scratch.convert(&[&CUT[..], &["--overwrite"]].concat());
    assert_eq!(run.code, 5, "{}", run.stderr);
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
        let (run, requests) = from_server(&source, &name, usize::MAX, more, &Scratch::new());
        assert_eq!(run.code, code, "{}", run.stderr);
        requests
    };
    let unlisted = requests(&[], 0);
    list(&source, &name, &bytes_of(&source, &name));
    assert_eq!(requests(&[], 0), unlisted);
    list(&source, &name, b"another file");
    assert_eq!(requests(&[], 5), unlisted);
    assert_eq!(requests(&["--checksums", "none"], 0), unlisted);
}

/// Whether it is the right file isn't known where it can't be read again.
#[test]
#[cfg_attr(not(feature = "urls"), ignore = "needs the feature urls")]
fn parts_stay_if_their_file_cannot_be_digested() {
    let [table, _] = two_tables();
    let (source, name) = source();
    let text = rows::sample(table, 0, 250) + "no row\n";
    source.file(&name, &gzip(text.as_bytes()));
    let (run, requests) = from_server(&source, &name, usize::MAX, &[], &Scratch::new());
    assert_eq!(run.code, 4, "{}", run.stderr);
    list(&source, &name, b"another file");
    let scratch = Scratch::new();
    let (run, _) = from_server(&source, &name, requests, &[], &scratch);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(!run.stderr.contains("removed"), "{}", run.stderr);
    assert_eq!(outputs(&scratch).len(), 2);
}

/// Converts a source that a server has, into a lake on disk. The server refuses to give the file more often than
/// `most` times. Returns how often it was asked for.
fn from_server(
    source: &Scratch,
    name: &str,
    most: usize,
    more: &[&str],
    scratch: &Scratch,
) -> (Run, usize) {
    let (of_file, left) = (name.to_owned(), AtomicUsize::new(most));
    let server = Server::of(&source.src(), "bucket/trace/", move |asked| {
        let is_left = |left: usize| left.checked_sub(1);
        let (done, fresh) = (Ordering::Relaxed, Ordering::Relaxed);
        match asked.path.ends_with(&of_file) && left.fetch_update(done, fresh, is_left).is_err() {
            true => refusal(403, "AccessDenied"),
            false => Answer::Well,
        }
    });
    let mut command = with_stores(&server.url());
    command.args(["convert", "s3://bucket/trace"]);
    command.arg(scratch.out()).args(CUT).args(more);
    let run = ended(command.output().unwrap());
    let asked = server.asked();
    let of_file = asked.iter().filter(|asked| asked.path.ends_with(name));
    (run, of_file.count())
}
