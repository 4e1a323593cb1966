//! `Source` against a plain and strict reader: the same verdict on a file and the same text.
//!
//! Input, by the low two bits of its first byte: 0 a file as it is, that is called gzip; 1 a file as it is, that is called
//! a text; 2 deflate data, around which a header and a trailer that fit are put; 3 a text that is repeated, cut into
//! members, compressed and then broken (see `compressed`), in the format that the next two bits say.
//!
//! Of zstd, xz and bzip2, what is accepted has to be what their crates read.

use std::io::{self, Read, Write};

use super::setting::{directory, options};
use crate::source::{WRITERS, Writer};
use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::GzDecoder;
use flate2::{Compression, Crc, Decompress, FlushDecompress, GzBuilder, Status};
use lzma_rust2::XzReader;
use tracelake_core::Context;
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind};
use tracelake_source::{Chunk, Fingerprint, LINE_LIMIT, Source};

/// How much the plain reader reads at once, in bytes.
const READ: usize = 32 << 10;

/// A text up to here cannot break the limit, whatever READ adds.
const LOOK: usize = LINE_LIMIT - READ;

/// Tries one input.
pub fn run(data: &[u8]) {
    let ([mode], rest) = options(data);
    let (mode, format) = (mode & 3, usize::from(mode >> 2 & 3));
    let (name, bytes) = match mode {
        0 => ("a.csv.gz", rest.to_vec()),
        1 => ("a.csv", rest.to_vec()),
        2 => ("a.csv.gz", framed(rest)),
        _ => ("a.CSV.GZ", compressed(rest, WRITERS[format])),
    };
    let directory = directory();
    let path = directory.path().join(name);
    std::fs::write(&path, &bytes).unwrap();
    let mut source = Source::open(&Context::new(), &path).unwrap();
    let is_archive = source.is_archive();
    if matches!(is_archive, Ok(true)) {
        return;
    }
    let ours = is_archive.and_then(|_| ours(source));
    let (mut text, whole) = match (other(&bytes), &ours) {
        (Some(Ok(text)), Ok(_)) => (text, true),
        (Some(Err(error)), Ok(_)) => panic!("what the crate refuses was accepted: {error}"),
        // These crates accept more.
        (Some(_), Err(error)) => {
            assert!(
                matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Misfit),
                "{error}"
            );
            return;
        }
        (None, _) if mode == 1 && !is_gzip(&bytes) => (bytes.clone(), true),
        (None, _) => plain(&bytes),
    };
    if is_gzip(&bytes) && (is_gzip(&text) || other(&text).is_some()) {
        assert!(
            ours.is_err(),
            "a file that is compressed twice was accepted"
        );
        return;
    }
    end_last_line(&mut text, whole);
    // A text too short for a line past the limit need not be searched for one.
    let longest = match text.len() {
        short @ ..=LOOK => short,
        _ => text
            .split(|&byte| byte == b'\n')
            .map(<[u8]>::len)
            .max()
            .unwrap_or(0),
    };
    match ours {
        Ok((found, fingerprint)) => {
            assert!(whole, "a broken file was accepted");
            assert!(
                longest <= LINE_LIMIT,
                "a line of {longest} bytes was accepted"
            );
            assert!(
                found == text,
                "{} bytes of text instead of {}",
                found.len(),
                text.len()
            );
            assert_eq!(fingerprint.bytes, bytes.len() as u64);
            assert_eq!(fingerprint.sha256, Digest::of(&bytes));
        }
        Err(error) => {
            match error.kind() {
                ErrorKind::Corrupt => assert!(!whole, "refused, but whole: {error}"),
                // How much of a broken member comes out before the fault is found isn't specified.
                ErrorKind::Misfit if !whole => {
                    assert!(longest + READ > LINE_LIMIT, "{longest}: {error}")
                }
                ErrorKind::Misfit => assert!(longest > LINE_LIMIT, "{longest}: {error}"),
                _ => panic!("{error}"),
            }
            assert_eq!(error.place().path.as_deref(), Some(&*path));
            assert!(!error.to_string().contains(char::is_control), "{error}");
        }
    }
}

/// All chunks, joined.
fn ours(mut source: Source) -> Result<(Vec<u8>, Fingerprint), Error> {
    let (mut text, mut chunks) = (Vec::new(), [Chunk::default(), Chunk::default()]);
    // Two in turn, as a part has them: what an earlier chunk left must not matter.
    while source.next_chunk(&mut chunks[0])? {
        let lines = chunks[0].lines();
        assert_eq!(lines.last(), Some(&b'\n'), "a chunk of half a line");
        text.extend_from_slice(lines);
        chunks.swap(0, 1);
    }
    assert!(chunks[0].lines().is_empty(), "lines after the end");
    let more = source.next_chunk(&mut chunks[1])?;
    assert!(!more, "a chunk after the last");
    Ok((text, source.fingerprint()))
}

/// A last line without an end gets the one that the first line has.
fn end_last_line(text: &mut Vec<u8>, whole: bool) {
    if !whole || text.last().is_none_or(|&last| last == b'\n') {
        return;
    }
    let first = text.split_inclusive(|&byte| byte == b'\n').next();
    if first.is_some_and(|line| line.ends_with(b"\r\n")) && !text.ends_with(b"\r") {
        text.push(b'\r');
    }
    text.push(b'\n');
}

fn is_gzip(file: &[u8]) -> bool {
    file.starts_with(b"\x1f\x8b")
}

/// The text of a file that is compressed in another format, or why its crate refuses it.
fn other(file: &[u8]) -> Option<io::Result<Vec<u8>>> {
    let is_skippable = |first: &u8| first >> 4 == 5 && file[1..].starts_with(b"\x2a\x4d\x18");
    let mut text = Vec::new();
    let read = if file.starts_with(b"\x28\xb5\x2f\xfd") || file.first().is_some_and(is_skippable) {
        zstd::stream::read::Decoder::new(file).and_then(|mut frames| {
            frames.window_log_max(31)?;
            frames.read_to_end(&mut text)
        })
    } else if file.starts_with(b"\xfd7zXZ\0") {
        XzReader::new(file, true).read_to_end(&mut text)
    } else if file.starts_with(b"BZh")
        && file
            .get(4..6)
            .is_some_and(|two| two == b"1A" || two == b"\x17\x72")
    {
        MultiBzDecoder::new(file).read_to_end(&mut text)
    } else {
        return None;
    };
    Some(read.map(|_| text))
}

/// Member by member, then nothing but NUL: the text until something is wrong, and whether nothing is.
fn plain(file: &[u8]) -> (Vec<u8>, bool) {
    let (mut text, mut rest) = (Vec::new(), file);
    loop {
        let mut member = GzDecoder::new(rest);
        loop {
            let mut buffer = [0; READ];
            match member.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => text.extend_from_slice(&buffer[..read]),
                Err(_) => return (text, false),
            }
        }
        rest = member.into_inner();
        if rest.iter().all(|&byte| byte == 0) {
            return (text, true);
        }
    }
}

/// The most that deflate data are let to become, in bytes.
const MOST: usize = 1 << 18;

/// A member with these deflate data, so that a wrong CRC cannot hide a wrong text.
fn framed(deflate: &[u8]) -> Vec<u8> {
    let mut file = b"\x1f\x8b\x08\0\0\0\0\0\0\xff".to_vec();
    let (mut inflate, mut crc) = (Decompress::new(false), Crc::new());
    let mut buffer = vec![0; READ];
    let mut read = 0;
    while (crc.amount() as usize) < MOST {
        let before = (inflate.total_in(), inflate.total_out());
        let status = inflate.decompress(&deflate[read..], &mut buffer, FlushDecompress::None);
        read = inflate.total_in() as usize;
        crc.update(&buffer[..(inflate.total_out() - before.1) as usize]);
        let stuck = before == (inflate.total_in(), inflate.total_out());
        if stuck || !matches!(status, Ok(Status::Ok)) {
            break;
        }
    }
    file.extend_from_slice(&deflate[..read]);
    file.extend_from_slice(&crc.sum().to_le_bytes());
    file.extend_from_slice(&crc.amount().to_le_bytes());
    file
}

/// Options: members, level and header, repeats, how it is broken and where (two bytes). Then the
/// text.
fn compressed(data: &[u8], (ending, write): Writer) -> Vec<u8> {
    let ([members, style, repeats, how, high, low], line) = options(data);
    // Large ones are slow, so they take two bytes to choose: past a chunk, past the longest line.
    let doubled = match (repeats, style) {
        (0xfe, 0xfe) => 12,
        (0xff, 0xfe) => 21,
        _ => repeats % 6,
    };
    let most = (LINE_LIMIT + LINE_LIMIT / 2) / line.len().max(1);
    let text = line.repeat((1_usize << doubled).min(most).max(1));
    let mut state = usize::from(members) + 1;
    let mut cuts: Vec<usize> = (0..members % 8)
        .map(|_| {
            state = state.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
            state % (text.len() + 1)
        })
        .chain([0, text.len()])
        .collect();
    cuts.sort_unstable();
    let mut file = Vec::new();
    let mut ends = Vec::new();
    for cut in cuts.windows(2) {
        if ending != ".gz" {
            file.extend(write(&text[cut[0]..cut[1]]));
            ends.push(file.len());
            continue;
        }
        let mut header = GzBuilder::new();
        if style & 16 > 0 {
            header = header.filename("a,b\n");
        }
        if style & 32 > 0 {
            header = header.comment("c");
        }
        if style & 64 > 0 {
            header = header.extra(vec![b'B', b'C', 2, 0, 9, 9]);
        }
        let level = Compression::new(u32::from(style % 10));
        let mut member = header.write(&mut file, level);
        member.write_all(&text[cut[0]..cut[1]]).unwrap();
        member.finish().unwrap();
        ends.push(file.len());
    }
    let place = usize::from(high) << 8 | usize::from(low);
    match how % 10 {
        0 => {}
        1 => file.extend(vec![0; place * 4]),
        2 => {
            file.extend(vec![0; place * 4]);
            file.push(1);
        }
        3 => file.extend([0x1f, 0x8b, 8]),
        4 => file.extend(line),
        5 => file.truncate(place.min(file.len())),
        6 => file.truncate(file.len().saturating_sub(place)),
        7 => {
            let at = place / 8 % file.len();
            file[at] ^= 1 << (place % 8);
        }
        8 => {
            // In the last trailer or near it.
            let back = place / 8 % file.len().min(20);
            let at = file.len() - 1 - back;
            file[at] ^= 1 << (place % 8);
        }
        // Between two members.
        _ => {
            let at = ends[place % ends.len()];
            let byte = [0, b'\n', 0x1f][place / 8 % 3];
            file.insert(at, byte);
        }
    }
    file
}
