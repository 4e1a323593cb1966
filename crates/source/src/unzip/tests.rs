//! Zip archives that are whole, damaged, and made to mislead.

use std::io::{Cursor, Seek, Write};
use std::path::PathBuf;

use tracelake_core::error::{ErrorKind, Result};
use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, ZipWriter};

use crate::{Chunk, Source};

/// The path of a member, whether it's a file, and its text.
type Member = (String, bool, String);

/// The members of an archive, each with its text, and the size that was digested.
fn members(bytes: &[u8]) -> Result<(Vec<Member>, u64)> {
    let directory = tempfile::tempdir().unwrap();
    let path: PathBuf = directory.path().join("a.zip");
    std::fs::write(&path, bytes).unwrap();
    let mut source = Source::open(&tracelake_core::Context::new(), path.as_path())?;
    assert!(source.is_archive()?);
    let (mut members, mut chunk) = (Vec::new(), Chunk::default());
    while let Some(member) = source.next_member()? {
        let mut text = String::new();
        // Every other text is left to be skipped.
        while members.len() % 2 == 0 && source.next_chunk(&mut chunk)? {
            text += &String::from_utf8_lossy(chunk.lines());
        }
        members.push((member.path, member.is_file, text));
    }
    Ok((members, source.fingerprint().bytes))
}

fn fault(bytes: &[u8]) -> String {
    let error = members(bytes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    error.to_string()
}

fn text() -> String {
    "1,2,3\n4,5,6\n".repeat(3_000)
}

/// An archive of a directory, a text, one that is skipped, and one that is stored.
fn write<W: Write + Seek>(mut zip: ZipWriter<W>, options: SimpleFileOptions) -> W {
    zip.add_directory("data/", options).unwrap();
    for (name, text) in [
        ("data/a.csv", text()),
        ("skipped", text()),
        ("b.csv", text()),
    ] {
        zip.start_file(name, options).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    let stored = options.compression_method(CompressionMethod::Stored);
    zip.start_file("empty.csv", stored).unwrap();
    zip.start_file("c.csv", stored).unwrap();
    zip.write_all(b"7\n8").unwrap();
    zip.finish().unwrap()
}

fn deflated() -> SimpleFileOptions {
    SimpleFileOptions::default().compression_method(CompressionMethod::Deflated)
}

fn whole() -> Vec<u8> {
    write(ZipWriter::new(Cursor::new(Vec::new())), deflated()).into_inner()
}

fn expected() -> Vec<Member> {
    let member = |name: &str, is_file, text: &str| (name.to_owned(), is_file, text.to_owned());
    vec![
        member("data/", false, ""),
        member("data/a.csv", true, ""),
        member("skipped", true, &text()),
        member("b.csv", true, ""),
        member("empty.csv", true, ""),
        member("c.csv", true, ""),
    ]
}

#[test]
fn members_are_read_in_order() {
    let bytes = whole();
    let (found, size) = members(&bytes).unwrap();
    assert_eq!(found, expected());
    assert_eq!(size, bytes.len() as u64);
}

#[test]
fn sizes_may_have_64_bits() {
    let wide = deflated().large_file(true);
    let bytes = write(ZipWriter::new(Cursor::new(Vec::new())), wide).into_inner();
    assert_eq!(members(&bytes).unwrap().0, expected());
}

/// A member as a program writes it to a pipe: the sizes follow the data.
#[test]
fn sizes_may_follow_the_data() {
    for options in [deflated(), deflated().large_file(true)] {
        let mut zip = ZipWriter::new_stream(Vec::new());
        for name in ["a.csv", "b.csv"] {
            zip.start_file(name, options).unwrap();
            zip.write_all(text().as_bytes()).unwrap();
        }
        zip.start_file("empty.csv", options).unwrap();
        let writer: StreamWriter<Vec<u8>> = zip.finish().unwrap();
        let bytes = writer.into_inner();
        let found = members(&bytes).unwrap().0;
        let names: Vec<&str> = found.iter().map(|(name, ..)| &name[..]).collect();
        assert_eq!(names, ["a.csv", "b.csv", "empty.csv"]);
        assert_eq!(found[0].2, text());
    }
}

#[test]
fn an_archive_that_is_cut_is_refused() {
    let bytes = whole();
    for length in (0..bytes.len())
        .step_by(7)
        .chain(bytes.len() - 30..bytes.len())
    {
        fault(&bytes[..length]);
    }
    assert!(fault(b"").contains("not a zip archive but an empty file"));
}

/// A changed byte is noticed, or is one that says nothing about the texts, such as a date.
#[test]
fn a_changed_byte_changes_no_text() {
    let bytes = whole();
    let mut refused = 0;
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x41;
        match members(&changed) {
            Ok((found, _)) => {
                let texts = |list: &[Member]| {
                    let texts = list
                        .iter()
                        .map(|(name, _, text)| (name.clone(), text.clone()));
                    texts.collect::<Vec<_>>()
                };
                assert_eq!(texts(&found), texts(&expected()), "byte {at}");
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "byte {at}: {error}");
                refused += 1;
            }
        }
    }
    assert!(refused > bytes.len() / 2, "{refused} of {}", bytes.len());
}

/// Where the first header of a signature starts.
fn header(bytes: &[u8], signature: &[u8; 4]) -> usize {
    let mut windows = bytes.windows(4);
    windows.position(|window| window == signature).unwrap()
}

#[test]
fn what_cannot_be_read_is_named() {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("jobs.csv", deflated()).unwrap();
    zip.write_all(b"1\n").unwrap();
    let bytes = zip.finish().unwrap().into_inner();
    let local = header(&bytes, b"PK\x03\x04");
    let changed = |at: usize, byte: u8| {
        let mut changed = bytes.clone();
        changed[at] = byte;
        fault(&changed)
    };
    assert!(changed(local + 6, 1).contains("the member jobs.csv is encrypted"));
    let methods = [
        (9, "deflate64"),
        (12, "bzip2"),
        (14, "LZMA"),
        (93, "zstd"),
        (95, "xz"),
        (97, "method 97"),
        (98, "PPMd"),
        (99, "an encrypted method"),
    ];
    for (method, name) in methods {
        let reason = format!("jobs.csv is compressed by {name}, not deflate");
        assert!(changed(local + 8, method).contains(&reason));
    }
    assert!(changed(local + 14, 99).contains("wrong CRC of the text of the member jobs.csv"));
    assert!(changed(local + 22, 99).contains("wrong length of the text"));
    assert!(changed(local + 18, 99).contains("wrong length of the compressed text"));
    assert!(fault(b"PK00PK\x03\x04").contains("a piece of a split archive"));
    assert!(fault(b"MZ......").contains("a program that unpacks itself"));
    assert!(fault(b"<!doctype html>").contains("a web page"));
    let more = [&bytes[..], b"more"].concat();
    assert!(fault(&more).contains("bytes after the end of the archive"));
    let padded = [&bytes[..], &[0; 700]].concat();
    assert_eq!(members(&padded).unwrap().1, padded.len() as u64);
}

/// Readers that begin at the end of such an archive see other members than those that begin at its start.
#[test]
fn a_hidden_member_is_refused() {
    let bytes = whole();
    let directory = header(&bytes, b"PK\x01\x02");
    let first = header(&bytes, b"PK\x03\x04");
    let second = first + 4 + header(&bytes[first + 4..], b"PK\x03\x04");
    // A member before the others that the directory doesn't have.
    let hidden = [&bytes[first..second], &bytes].concat();
    assert!(fault(&hidden).contains("other members than the archive: 6 entries and 7 members"));
    // An entry that says another name.
    let mut renamed = bytes.clone();
    let name = directory + 46;
    renamed[name] = b'x';
    assert!(fault(&renamed).contains("other members"));
}

/// Declared sizes reserve no memory, and members are counted, not kept.
#[test]
fn neither_many_members_nor_huge_sizes_take_memory() {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for number in 0..100_000 {
        zip.start_file(format!("{number}.csv"), stored).unwrap();
    }
    let bytes = zip.finish().unwrap().into_inner();
    let (found, _) = members(&bytes).unwrap();
    assert_eq!(found.len(), 100_000);
    assert_eq!(found[99_999].0, "99999.csv");

    let mut huge = whole();
    let second = header(&huge[4..], b"PK\x03\x04") + 4;
    huge[second + 18..second + 26].fill(0xfe);
    assert!(fault(&huge).contains("wrong length of the text of the member data/a.csv"));
}
