//! The decoder against zlib-rs: the same text, the same end and the same verdict on broken input.

#![cfg(test)]

use super::*;
use crate::Raw;
use flate2::{Decompress, FlushDecompress, Status};
use proptest::prelude::*;
use std::io::Write;
use tracelake_core::instructions::plainly;

/// Decodes a stream piecemeal; returns the text and how many bytes follow the stream. Asserts that BMI
/// makes no difference.
fn ours(stream: &[u8], piece: usize) -> Option<(Vec<u8>, usize)> {
    let plain = plainly(|| decoded(stream, piece));
    assert!(!cfg!(bmi) || decoded(stream, piece) == plain, "{stream:x?}");
    plain
}

fn decoded(stream: &[u8], piece: usize) -> Option<(Vec<u8>, usize)> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(stream).unwrap();
    let raw = Raw::open(&tracelake_core::Context::new(), &file.path().into()).unwrap();
    let mut input = Input::new(b"", Box::new(raw));
    let mut inflate = Inflate::new();
    let (mut text, mut buffer) = (Vec::new(), vec![0; piece]);
    loop {
        match inflate.read(&mut input, &mut buffer).ok()? {
            0 => break,
            read => text.extend_from_slice(&buffer[..read]),
        }
    }
    let mut rest = 0;
    while input.byte().unwrap().is_some() {
        rest += 1;
    }
    Some((text, rest))
}

/// Like [`ours`], by zlib-rs.
fn plain(stream: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut inflate = Decompress::new(false);
    let mut text = Vec::with_capacity(1 << 20);
    loop {
        let read = usize::try_from(inflate.total_in()).unwrap();
        let before = text.len();
        let status = inflate.decompress_vec(&stream[read..], &mut text, FlushDecompress::None);
        let read_on = usize::try_from(inflate.total_in()).unwrap();
        match status.ok()? {
            Status::StreamEnd => return Some((text, stream.len() - read_on)),
            _ if read_on == read && text.len() == before && text.capacity() > text.len() => {
                return None;
            }
            _ => text.reserve(1 << 20),
        }
    }
}

fn deflate(text: &[u8], level: u32) -> Vec<u8> {
    let level = flate2::Compression::new(level);
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), level);
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// Text with matches of all kinds: near, far, long, of one byte.
fn texts() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..300),
        ("[0-9,.e\n-]{0,60}", 0..200_usize).prop_map(|(text, times)| text.repeat(times).into()),
        (any::<u8>(), 0..70_000_usize).prop_map(|(byte, times)| vec![byte; times]),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn reads_what_was_written(text in texts(), level in 0..10_u32, piece in 1..100_000_usize) {
        let mut stream = deflate(&text, level);
        stream.extend(b"rest");
        prop_assert!(ours(&stream, piece) == Some((text, 4)));
    }

    /// The plain twin: the same verdict on whatever is broken, and the same text and end.
    #[test]
    fn equals_zlib_on_broken_streams(
        text in texts(),
        level in 0..10_u32,
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut stream = deflate(&text, level);
        for (index, mask) in flips {
            let at = index.index(stream.len());
            stream[at] ^= mask;
        }
        prop_assert!(ours(&stream, 4096) == plain(&stream));
    }

    #[test]
    fn equals_zlib_on_any_bytes(stream in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(ours(&stream, 4096) == plain(&stream));
    }
}

/// Random bytes, equal in every run.
fn random_bytes() -> impl Iterator<Item = u8> {
    let step = |state: &u64| {
        Some(
            state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1),
        )
    };
    std::iter::successors(Some(1_u64), step).map(|state| state.to_le_bytes()[7])
}

/// The build script decides whether the next test is ignored.
#[test]
fn the_tests_were_built_for_this_processor() {
    let says = "run `touch crates/source/build.rs` and test again";
    assert_eq!(cfg!(bmi), tracelake_core::instructions::has_bmi(), "{says}");
}

/// All other tests decode with BMI as well then.
#[test]
#[cfg_attr(not(bmi), ignore = "needs a processor with BMI1 and BMI2")]
fn decodes_with_bmi_as_without() {
    let mut bytes = random_bytes();
    for level in 0..10 {
        let digits: Vec<u8> = bytes
            .by_ref()
            .take(200_000)
            .map(|byte| b'0' + byte % 12)
            .collect();
        let stream = deflate(&digits, level);
        assert!(decoded(&stream, 1 << 20) == Some((digits, 0)), "{level}");
        for length in (0..stream.len()).step_by(stream.len() / 100) {
            let cut = &stream[..length];
            assert!(
                decoded(cut, 4096) == plainly(|| decoded(cut, 4096)),
                "{level}, {length}"
            );
        }
    }
}

#[test]
fn blocks_of_fixed_codes_come_before_and_after_others() {
    let long = b"0.0625,17,0.5\n0.125,4,1\n".repeat(500);
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    for text in [&b"abc"[..], &long, b"abd", b"abe", &long, b"abf"] {
        encoder.write_all(text).unwrap();
        // Ends the block.
        encoder.flush().unwrap();
    }
    let stream = encoder.finish().unwrap();
    let text = [b"abc", &long[..], b"abdabe", &long, b"abf"].concat();
    assert!(ours(&stream, 1 << 20) == Some((text, 0)));
}

#[test]
fn a_stream_does_not_reach_into_the_one_before() {
    // A block of fixed codes: a match of three bytes, one byte back.
    let reaches_back = [0x03, 0x02, 0];
    for rest in [0, 12] {
        let stream = [&deflate(b"before", 9)[..], &reaches_back, &[0; 12][..rest]].concat();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&stream).unwrap();
        let raw = Raw::open(&tracelake_core::Context::new(), &file.path().into()).unwrap();
        let mut input = Input::new(b"", Box::new(raw));
        let (mut inflate, mut text) = (Inflate::new(), [0; 16]);
        let mut read = || inflate.read(&mut input, &mut text);
        assert!(matches!((read(), read()), (Ok(6), Ok(0))));
        inflate.reset();
        let outcome = inflate.read(&mut input, &mut text);
        assert!(matches!(outcome, Err(Stop::Broken(_))), "{rest}");
    }
}

#[test]
fn equals_zlib_on_random_headers_of_dynamic_blocks() {
    // Random bits reach the rules for the header; hardly any get past the code for code lengths.
    let mut bytes = random_bytes();
    for _ in 0..20_000 {
        let mut stream: Vec<u8> = bytes.by_ref().take(96).collect();
        stream[0] = stream[0] & !7 | 5;
        assert!(ours(&stream, 64) == plain(&stream), "{stream:?}");
    }
}

/// Codes with too few bits that are allowed all the same, which no encoder at hand writes.
#[test]
fn equals_zlib_on_codes_that_are_not_complete() {
    // Headers up to where the code for distances is written.
    const LITERAL_MATCH_END: [u8; 14] = [
        0x0d, 0xe0, 0x41, 0x92, 0x24, 0x49, 0x92, 0x24, 0x41, 0xbc, 0x15, 0xff, 0xff, 0x09,
    ];
    const END: [u8; 10] = [0x05, 0xe0, 0x41, 0x92, 0x24, 0x49, 0x92, 0x24, 0x41, 0xfc];
    let streams: [(&[u8], &[u8], Option<&str>); _] = [
        // One code for a distance of one bit, and its other bit.
        (&LITERAL_MATCH_END, &[0x22, 0xb4, 0], Some("aaaa")),
        (&LITERAL_MATCH_END, &[0x22, 0xf4, 0], None),
        // No code for a distance, and a match all the same.
        (&LITERAL_MATCH_END, &[0x22, 0x10], Some("a")),
        (&LITERAL_MATCH_END, &[0x22, 0xb0, 0], None),
        // One code for a distance of two bits.
        (&LITERAL_MATCH_END, &[0x22, 0x12], None),
        // The end of the block is the only code, and its other bit.
        (&END, &[0xff, 0xd7, 8, 0], Some("")),
        (&END, &[0xff, 0xd7, 8, 1], None),
    ];
    for (header, rest, text) in streams {
        let mut stream = [header, rest].concat();
        // Near the end of the input, and in the inner loop.
        for rest in [0, 12] {
            stream.extend(&b"rest1234rest"[..rest]);
            let whole = text.map(|text| (text.into(), rest));
            assert!(ours(&stream, 64) == whole, "{stream:x?}");
            assert!(plain(&stream) == whole, "{stream:x?}");
        }
    }
}

/// A block of the codes `used`, each of one bit, and the text of the first and the second one of them.
/// The lengths below `lengths` have codes of four bits themselves.
fn dynamic_block(literals: usize, distances: usize, used: [usize; 2], lengths: usize) -> Vec<u8> {
    let mut bits = Vec::new();
    let mut put = |value: usize, count: u32| {
        bits.extend((0..count).map(|at| u8::from(value >> at & 1 == 1)));
    };
    put(0b101, 3);
    put(literals - 257, 5);
    put(distances - 1, 5);
    put(ORDER.len() - 4, 4);
    for symbol in ORDER {
        put(if symbol < lengths { 4 } else { 0 }, 3);
    }
    for symbol in 0..literals + distances {
        // Codes are written with their highest bit first.
        put(usize::from(used.contains(&symbol)) << 3, 4);
    }
    put(0b10, 2);
    let bytes = bits.chunks(8);
    let byte = |bits: &[u8]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | bit);
    bytes.map(byte).collect()
}

#[test]
fn headers_of_dynamic_blocks_are_as_strict_as_those_of_zlib() {
    let end = [0, 256];
    for (stream, is_right) in [
        (dynamic_block(257, 1, end, 16), true),
        (dynamic_block(286, 30, end, 16), true),
        (dynamic_block(287, 1, end, 16), false),
        (dynamic_block(288, 1, end, 16), false),
        (dynamic_block(257, 31, end, 16), false),
        (dynamic_block(257, 32, end, 16), false),
        // Without a code for the end.
        (dynamic_block(257, 1, [0, 1], 16), false),
        // A code for code lengths that isn't complete.
        (dynamic_block(257, 1, end, 15), false),
    ] {
        let text = is_right.then(|| (vec![0], 0));
        assert!(plain(&stream) == text, "{stream:x?}");
        assert!(ours(&stream, 64) == text, "{stream:x?}");
    }
}

#[test]
fn the_longest_matches_may_end_anywhere() {
    let mut bytes = random_bytes();
    for start in 0..300 {
        let mut text: Vec<u8> = bytes.by_ref().take(start).collect();
        let block: Vec<u8> = bytes.by_ref().take(64).collect();
        text.extend(block.iter().cycle().take(100_000));
        assert!(
            ours(&deflate(&text, 9), 1 << 20) == Some((text, 0)),
            "{start}"
        );
    }
}
