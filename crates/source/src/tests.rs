//! Chunks of whole lines from plain and broken files.

#![cfg(test)]

use std::io::Write;

use super::*;

fn chunks(name: &str, bytes: &[u8]) -> Result<(Vec<u8>, Fingerprint)> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let mut source = Source::open(&Context::new(), &path)?;
    let (mut text, mut chunk) = (Vec::new(), Chunk::default());
    while source.next_chunk(&mut chunk)? {
        assert_eq!(chunk.lines().last(), Some(&b'\n'));
        text.extend_from_slice(chunk.lines());
    }
    assert!(chunk.lines().is_empty());
    Ok((text, source.fingerprint()))
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn lines_cross_members_and_chunks() {
    let line = b"0123456789,abcdefghij\n".repeat(40_000);
    let (one, two) = line.split_at(line.len() / 3);
    let members = [gzip(one), gzip(b""), gzip(two), vec![0; 700]].concat();
    let (text, fingerprint) = chunks("a.csv.gz", &members).unwrap();
    assert!(text == line);
    assert_eq!(fingerprint.bytes, members.len() as u64);
    assert_eq!(
        fingerprint.sha256,
        tracelake_core::digest::Digest::of(&members)
    );
    assert!(chunks("a.csv", &line).unwrap().0 == line);
}

#[test]
fn each_length_has_the_digest_of_as_many_bytes() {
    let bytes = b"0123456789".repeat(40_000);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.csv");
    std::fs::write(&path, &bytes).unwrap();
    let context = Context::new();
    // Twice in one read, across reads, at the end and after it.
    let lengths = [0, 1, 7, 300_000, 400_000, u64::MAX].into();
    let found = fingerprints(&context, &path.clone().into(), &lengths).unwrap();
    assert!(found.keys().eq(&lengths));
    for (length, fingerprint) in &found {
        let read = &bytes[..usize::try_from(*length).unwrap().min(bytes.len())];
        assert_eq!(fingerprint.bytes, read.len() as u64);
        assert_eq!(fingerprint.sha256, tracelake_core::digest::Digest::of(read));
    }
    assert_eq!(fingerprint(&context, path).unwrap(), found[&u64::MAX]);
}

#[test]
fn what_is_given_back_comes_again() {
    let text = b"0123456789,abcdefghij\n".repeat(40_000);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.csv");
    std::fs::write(&path, &text).unwrap();
    let mut source = Source::open(&Context::new(), &path).unwrap();
    let (mut read, mut chunk, mut chunks) = (Vec::new(), Chunk::default(), 0);
    while source.next_chunk(&mut chunk).unwrap() {
        // All of it now and then, else but the first lines.
        chunks += 1;
        source.give_back(&mut chunk, if chunks % 5 == 0 { 0 } else { 22 * chunks });
        read.extend_from_slice(chunk.lines());
    }
    assert!(read == text);
}

#[test]
fn what_is_given_back_does_not_pile_up() {
    let text = b"0123456789,abcdefghij\n".repeat(100_000);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.csv");
    std::fs::write(&path, &text).unwrap();
    let mut source = Source::open(&Context::new(), &path).unwrap();
    let (mut read, mut chunk) = (Vec::new(), Chunk::default());
    while source.next_chunk(&mut chunk).unwrap() {
        assert!(chunk.lines().len() < 3 * CHUNK);
        source.give_back(&mut chunk, 22 * 1000);
        read.extend_from_slice(chunk.lines());
    }
    assert!(source.is_at_end());
    assert!(read == text);
}

#[test]
fn a_line_behind_what_is_given_back_has_the_same_limit() {
    let text = [b"a\n".to_vec(), vec![b'x'; LINE_LIMIT + 1], b"\n".to_vec()].concat();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.csv");
    std::fs::write(&path, text).unwrap();
    let mut source = Source::open(&Context::new(), &path).unwrap();
    let mut chunk = Chunk::default();
    let mut chunks = 0;
    let error = loop {
        match source.next_chunk(&mut chunk) {
            Ok(_) => source.give_back(&mut chunk, 0),
            Err(error) => break error,
        }
        chunks += 1;
    };
    assert_eq!(chunks, 1);
    assert!(
        error.to_string().contains("2 bytes into the text"),
        "{error}"
    );
}

#[test]
fn a_missing_final_newline_is_added() {
    assert_eq!(chunks("a.csv", b"a\nb").unwrap().0, b"a\nb\n");
    assert_eq!(chunks("a.csv.gz", &gzip(b"")).unwrap().0, b"");
}

#[test]
fn a_missing_final_newline_is_the_one_that_the_others_have() {
    assert_eq!(chunks("a.csv", b"a\r\nb").unwrap().0, b"a\r\nb\r\n");
    assert_eq!(chunks("a.csv", b"a\r\nb\r").unwrap().0, b"a\r\nb\r\n");
}

#[test]
fn the_line_limit_is_exact() {
    let line = vec![b'x'; LINE_LIMIT];
    for before in ["", "a\n"] {
        let text = [before.as_bytes(), &line, b"\nb\n"].concat();
        assert_eq!(chunks("a.csv", &text).unwrap().0, text);
        let text = [before.as_bytes(), b"x", &line, b"\nb\n"].concat();
        assert_eq!(
            chunks("a.csv", &text).unwrap_err().kind(),
            ErrorKind::Misfit
        );
    }
}

#[test]
fn an_endless_line_is_refused() {
    let error = chunks("a.csv.gz", &gzip(&vec![b'x'; LINE_LIMIT * 8])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Misfit);
}

#[test]
fn other_formats_are_named() {
    let named = |bytes: &[u8]| chunks("a.csv.gz", bytes).unwrap_err().to_string();
    assert!(named(b"").contains("empty"));
    assert!(named(b"1,2,3\n").contains("plain text"));
    assert!(named(b"<!DOCTYPE html>\n<html>").contains("web page"));
    assert!(named(b"\x28\xb5\x2f\xfd....").contains("zstd"));
    assert!(named(b"\xfd7zXZ\0....").contains("xz"));
    let garbage = [gzip(b"1\n"), b"garbage".to_vec()].concat();
    assert!(named(&garbage).contains("after member 1"));
}
