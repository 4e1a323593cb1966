//! Each format by the same table: whole files come out, and every other one is refused.

use std::io::Write;
use std::path::Path;

use lzma_rust2::{CheckType, XzOptions, XzWriter};
use sha2::{Digest, Sha256};
use tracelake_core::Context;
use tracelake_core::error::{ErrorKind, Result};

use super::Format;
use crate::bytes::Bytes;
use crate::packed::Packed;
use crate::{Chunk, Raw, Source};

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    let mut encoder = ::zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn xz_with(text: &[u8], check: CheckType) -> Vec<u8> {
    let mut options = XzOptions::with_preset(0);
    options.set_check_sum_type(check);
    options.set_block_size(std::num::NonZeroU64::new(100_000));
    let mut encoder = XzWriter::new(Vec::new(), options).unwrap();
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn xz(text: &[u8]) -> Vec<u8> {
    xz_with(text, CheckType::Crc64)
}

fn bzip2(text: &[u8]) -> Vec<u8> {
    let mut encoder = ::bzip2::write::BzEncoder::new(Vec::new(), ::bzip2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

type Writer = (&'static str, fn(&[u8]) -> Vec<u8>);

/// A writer of each format, by the ending of its files.
const WRITERS: [Writer; 4] = [(".gz", gzip), (".zst", zstd), (".xz", xz), (".bz2", bzip2)];

fn decode_within(ending: &str, bytes: &[u8], window: u64) -> Result<Vec<u8>> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(format!("a.csv{ending}"));
    std::fs::write(&path, bytes).unwrap();
    let mut source = Source::open(&Context::new().with_window(window), &path)?;
    let (mut text, mut chunk) = (Vec::new(), Chunk::default());
    while source.next_chunk(&mut chunk)? {
        text.extend_from_slice(chunk.lines());
    }
    assert_eq!(source.fingerprint().bytes, bytes.len() as u64);
    Ok(text)
}

fn decode(ending: &str, bytes: &[u8]) -> Result<Vec<u8>> {
    decode_within(ending, bytes, u64::MAX)
}

fn fault(ending: &str, bytes: &[u8]) -> String {
    let error = decode(ending, bytes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    error.to_string()
}

/// Text that takes several chunks, blocks of bzip2 and blocks of xz.
fn long_text() -> Vec<u8> {
    let rows = (0..20_000_u64).map(|row| format!("{row},{}\n", row.wrapping_mul(0x9e37_79b9)));
    rows.collect::<String>().into_bytes()
}

#[test]
fn all_members_come_out() {
    let text = long_text();
    let (one, two) = text.split_at(text.len() / 3);
    for (ending, write) in WRITERS {
        assert!(decode(ending, &write(&text)).unwrap() == text, "{ending}");
        let members = [write(one), write(b""), write(two), write(b"")].concat();
        assert!(decode(ending, &members).unwrap() == text, "{ending}");
        assert_eq!(decode(ending, &write(b"")).unwrap(), b"", "{ending}");
        let format = Format::of(&members).unwrap();
        assert!(std::ptr::eq(format, Format::of_name(ending).unwrap()));
        assert!(std::ptr::eq(format, Format::of(&write(b"")).unwrap()));
    }
}

#[test]
fn every_cut_is_noticed() {
    for (ending, write) in WRITERS {
        let first = write(b"1,2\n3,4\n");
        let whole = [&first[..], &write(b"5,6\n")].concat();
        for length in 0..whole.len() {
            let outcome = decode(ending, &whole[..length]);
            if length == first.len() {
                // Cut exactly between members: nothing in the bytes can tell, but a checksum can.
                assert_eq!(outcome.unwrap(), b"1,2\n3,4\n");
                continue;
            }
            let error = outcome.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{ending} cut at {length}");
            let format = Format::of_name(ending).unwrap();
            let number = if length < first.len() { 1 } else { 2 };
            let said = format!(
                "cut off, in {} {} {number} at byte",
                format.name, format.member
            );
            assert!(
                length == 0 || error.to_string().contains(&said),
                "{length}: {error}"
            );
        }
    }
    // Of a long text, where the end of the file meets the decoder's buffers.
    let text = long_text();
    for (ending, write) in WRITERS {
        let whole = write(&text);
        for length in (1..whole.len())
            .rev()
            .take(20)
            .chain((1..whole.len()).step_by(60_001))
        {
            assert!(
                fault(ending, &whole[..length]).contains("cut off"),
                "{ending} {length}"
            );
        }
    }
}

/// A flipped bit is noticed, or is one that says nothing about the text.
#[test]
fn every_flipped_bit_is_noticed() {
    let text = b"1,2\n3,4\n1,2\n3,4\n1,2\n3,4\n";
    for (ending, write) in WRITERS {
        let whole = write(text);
        let mut unnoticed = 0;
        for bit in 0..8 * whole.len() {
            let mut broken = whole.clone();
            broken[bit / 8] ^= 1 << (bit % 8);
            match decode(ending, &broken) {
                Ok(found) => {
                    assert_eq!(found, text, "{ending}, bit {bit}");
                    unnoticed += 1;
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}"),
            }
        }
        // The header of gzip has a time and a system, and the size of a bzip2 block or a zstd window may be any.
        let most = [(".gz", 64), (".zst", 16), (".xz", 0), (".bz2", 16)];
        let most = most.iter().find(|(known, _)| *known == ending).unwrap().1;
        assert!(unnoticed <= most, "{ending}: {unnoticed}");
    }
}

#[test]
fn only_padding_may_follow() {
    for (ending, write) in WRITERS {
        let (one, name) = (write(b"1\n"), Format::of_name(ending).unwrap().name);
        for garbage in [
            &b"x"[..],
            b"garbage",
            b"\n",
            b"\0\0x",
            b"\0\0\0\0x",
            b"\xff\xff",
        ] {
            let found = fault(ending, &[&one[..], garbage].concat());
            let said = format!("bytes that are not {name} after");
            assert!(found.contains(&said), "{found}");
            let said = format!("1, at byte {}", one.len());
            assert!(found.contains(&said), "{found}");
        }
        for zeros in [1, 4, 300_000] {
            let padded = [&one[..], &vec![0; zeros]].concat();
            let is_allowed = match ending {
                ".gz" => true,
                ".xz" => zeros % 4 == 0,
                _ => false,
            };
            assert_eq!(
                decode(ending, &padded).is_ok(),
                is_allowed,
                "{ending} {zeros}"
            );
            let between = [&padded[..], &one].concat();
            let is_allowed = ending == ".xz" && is_allowed;
            assert_eq!(
                decode(ending, &between).is_ok(),
                is_allowed,
                "{ending} {zeros}"
            );
        }
    }
}

#[test]
fn other_files_are_named() {
    for (ending, _) in WRITERS {
        let name = Format::of_name(ending).unwrap().name;
        for (bytes, said) in [
            (&b""[..], "the file is empty"),
            (b"1,2,3\n", "plain text, not"),
            (b"\0\x01\x02", "the file starts with other bytes"),
            (b"<!doctype html>", "a web page"),
            (b"Rar!\x1a", "a RAR archive"),
        ] {
            let found = fault(ending, bytes);
            assert!(found.contains(said) && found.contains(name), "{found}");
        }
    }
}

#[test]
fn each_check_of_xz_is_made() {
    let text = long_text();
    for (check, flags, bytes) in [
        (CheckType::None, 0, 0),
        (CheckType::Crc32, 1, 4),
        (CheckType::Crc64, 4, 8),
        (CheckType::Sha256, 10, 32),
    ] {
        let whole = xz_with(&text, check);
        assert_eq!(whole[7], flags);
        assert!(decode(".xz", &whole).unwrap() == text);
        if bytes > 0 {
            // The check of the only block is before the index.
            let mut short = xz_with(b"1,2,3\n", check);
            let index = short.len() - 12 - 8;
            short[index - 1] ^= 1;
            assert!(fault(".xz", &short).contains("wrong checksum of the text"));
        }
    }
}

#[test]
fn frames_without_text_are_skipped() {
    let skipped = |length: u32| {
        let head = [&b"\x5a\x2a\x4d\x18"[..], &length.to_le_bytes()].concat();
        [head, vec![7; length as usize]].concat()
    };
    let whole = [
        skipped(4),
        zstd(b"1\n"),
        skipped(300_000),
        zstd(b"2\n"),
        skipped(0),
    ]
    .concat();
    assert_eq!(Format::of(&whole).unwrap().name, "zstd");
    assert_eq!(decode(".zst", &whole).unwrap(), b"1\n2\n");
    let cut = [zstd(b"1\n"), skipped(9)].concat();
    assert!(fault(".zst", &cut[..cut.len() - 1]).contains("cut off, in zstd frame 2"));
}

#[test]
fn a_window_that_does_not_fit_is_refused_with_its_size() {
    let text = b"1,2,3,4\n".repeat(400_000);
    let mut encoder = ::zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(21).unwrap();
    encoder.write_all(&text).unwrap();
    let zstd = encoder.finish().unwrap();
    let mut options = XzOptions::with_preset(1);
    options.lzma_options.dict_size = 2 << 20;
    let mut encoder = XzWriter::new(Vec::new(), options).unwrap();
    encoder.write_all(&text).unwrap();
    let xz = encoder.finish().unwrap();
    for (ending, bytes, said) in [
        (
            ".zst",
            zstd,
            "needs a window of 2,097,152 bytes, and a part has 2,097,151 for it",
        ),
        (
            ".xz",
            xz,
            "needs a dictionary of 2,097,152 bytes, and a part has 2,097,151 for it",
        ),
    ] {
        assert!(decode_within(ending, &bytes, 2 << 20).unwrap() == text);
        let error = decode_within(ending, &bytes, (2 << 20) - 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains(said), "{error}");
    }
}

fn decode_file(path: &Path) -> Result<Vec<u8>> {
    let raw = Raw::open(&Context::new(), &path.into())?;
    let format = Format::of_name(".gz").unwrap();
    let mut packed = Packed::new(format, b"", Box::new(raw), 0);
    let (mut text, mut buffer) = (Vec::new(), [0; 777]);
    loop {
        match packed.read(&mut buffer)? {
            0 => return Ok(text),
            read => text.extend_from_slice(&buffer[..read]),
        }
    }
}

/// Streams of other test suites, each with the result of zlib.
#[test]
#[cfg_attr(not(suites), ignore = "needs the test suites in ../shared/suites")]
fn the_suites_streams_come_out_or_are_refused() {
    let suites = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/suites");
    let index = std::fs::read_to_string(suites.join("INDEX.tsv")).unwrap();
    let mut tried = 0_u32;
    for line in index.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let path = suites.join(fields[0]);
        if !fields[0].starts_with("gzip/") || !fields[0].ends_with(".gz") {
            continue;
        }
        let sha256 = fields[3].split("sha256=").nth(1);
        let expected = sha256
            .filter(|_| fields[3].contains(": VALID"))
            .map(|text| &text[..64]);
        match (decode_file(&path), expected) {
            (Ok(text), Some(expected)) => {
                assert_eq!(
                    tracelake_core::seal::hex(&Sha256::digest(&text)),
                    expected,
                    "{line}"
                );
            }
            (Err(error), None) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{line}"),
            (outcome, _) => panic!("{line}: {outcome:?}"),
        }
        tried += 1;
    }
    assert!(tried > 0);
}
