//! Gzip as it may come: every member read to its end, or the file refused with member and byte.

use std::ops::Range;

use flate2::Crc;

use crate::rejects::account::account;
use tracelake_testkit::{
    Score, Scratch, WRITERS, ensure, good_line, gzip, part_path, table, trace,
};

const TABLE: &str = "machine_attributes";

fn rows(count: usize) -> Vec<u8> {
    let row = good_line(TABLE);
    row.repeat(count).into_bytes()
}

/// A member with these flags and everything that they announce.
fn flagged(flags: u8, text: &[u8]) -> Vec<u8> {
    let plain = gzip(text);
    let mut member = vec![0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 0xff];
    if flags & 4 != 0 {
        // The extra field of BGZF: the size of the block.
        member.extend(b"\x06\0BC\x02\0\x10\x27");
    }
    if flags & 8 != 0 {
        member.extend(b"part-00000\0");
    }
    if flags & 16 != 0 {
        member.extend(b"a comment\0");
    }
    if flags & 2 != 0 {
        let mut crc = Crc::new();
        crc.update(&member);
        member.extend(&crc.sum().to_le_bytes()[..2]);
    }
    member.extend(&plain[10..]);
    member
}

/// Streams that are whole: a name, the file and its text.
fn whole() -> Vec<(String, Vec<u8>, Vec<u8>)> {
    let text = rows(50);
    let mut streams = Vec::new();
    for flags in 0..32 {
        streams.push((
            format!("flags {flags:#04x}"),
            flagged(flags, &text),
            text.clone(),
        ));
    }
    for size in [1, 3, 7, 100, 701] {
        let members: Vec<u8> = text
            .chunks(size)
            .flat_map(|piece| flagged(4, piece))
            .collect();
        let ended = [&members[..], &flagged(4, b"")].concat();
        streams.push((format!("members of {size} bytes"), members, text.clone()));
        streams.push((
            format!("members of {size} bytes and an empty one"),
            ended,
            text.clone(),
        ));
    }
    for padding in [1, 511, 512, 10_240, 300_000] {
        let padded = [gzip(&text), vec![0; padding]].concat();
        streams.push((format!("{padding} bytes of padding"), padded, text.clone()));
    }
    streams.push(("nothing".to_owned(), gzip(b""), Vec::new()));
    for (ending, write) in WRITERS {
        let pieces: Vec<Vec<u8>> = text.chunks(701).map(write).collect();
        let members = [write(b""), pieces.concat(), write(b"")].concat();
        streams.push((
            format!("members as {ending} has them"),
            members,
            text.clone(),
        ));
    }
    streams
}

/// Streams that are broken: a name, the file, and what the message says.
fn broken() -> Vec<(String, Vec<u8>, &'static str)> {
    let member = gzip(&rows(3));
    let two = [&member[..], &gzip(&rows(2))].concat();
    let mut streams = Vec::new();
    let mut push = |name: String, file: &[u8], says| streams.push((name, file.to_vec(), says));
    push("an empty file".to_owned(), b"", "the file is empty");
    for length in (1..two.len()).filter(|&length| length != member.len()) {
        let says = if length < member.len() {
            "in gzip member 1 at byte"
        } else {
            "in gzip member 2 at byte"
        };
        push(format!("cut at {length}"), &two[..length], says);
    }
    for garbage in [
        &b"x"[..],
        b"garbage",
        b"\n",
        b"\0\0x",
        b"\0\x1f\x8b",
        b"\x8b\x1f",
    ] {
        let name = format!("{} after the end", garbage.escape_ascii());
        push(
            name,
            &[&member[..], garbage].concat(),
            "after member 1, at byte",
        );
    }
    for flag in [0x20, 0x40, 0x80, 0xe0] {
        let mut file = member.clone();
        file[3] |= flag;
        push(
            format!("flag {flag:#x}"),
            &file,
            "reserved flags are set in a gzip header, in gzip member 1",
        );
        let file = [&member[..], &file].concat();
        push(
            format!("flag {flag:#x} later"),
            &file,
            "reserved flags are set in a gzip header, in gzip member 2",
        );
    }
    for method in [0, 7, 9, 255] {
        let mut file = member.clone();
        file[2] = method;
        push(
            format!("method {method}"),
            &file,
            "a compression method other than deflate",
        );
    }
    let mut header = flagged(2, &rows(1));
    header[4] = 1;
    push(
        "a wrong CRC of a header".to_owned(),
        &header,
        "wrong CRC of a gzip header",
    );
    let trailer: [(Range<usize>, &'static str); 2] = [
        (
            member.len() - 8..member.len() - 4,
            "wrong CRC of the text, in gzip member 1",
        ),
        (
            member.len() - 4..member.len(),
            "wrong length of the text, in gzip member 1",
        ),
    ];
    for (range, says) in trailer {
        for bit in 8 * range.start..8 * range.end {
            let mut file = member.clone();
            file[bit / 8] ^= 1 << (bit % 8);
            push(format!("bit {bit} flipped"), &file, says);
        }
    }
    for (ending, write) in WRITERS {
        let (one, says) = (write(&rows(3)), "1 at byte");
        push(format!("half of {ending}"), &one[..one.len() / 2], says);
        push(
            format!("{ending} without its last byte"),
            &one[..one.len() - 1],
            says,
        );
        let more = [&one[..], b"x"].concat();
        push(format!("{ending} and more"), &more, "1, at byte");
        let mut flipped = one.clone();
        flipped[one.len() / 2] ^= 1;
        push(format!("a flipped bit of {ending}"), &flipped, says);
    }
    let others: &[(&[u8], &'static str)] = &[
        (b"0,5,attr=,3,0\n", "plain text, not gzip"),
        (
            b"<!DOCTYPE html><html>404</html>",
            "not gzip but a web page",
        ),
        (b"<HTML><BODY>", "not gzip but a web page"),
        (b"<?xml version='1.0'?><Error/>", "not gzip but a web page"),
        (b"\x28\xb5\x2f\xfd\x04\0", "cut off, in zstd frame 1"),
        (b"\xfd7zXZ\0\0", "cut off, in xz stream 1"),
        (b"PK\x03\x04\x14\0", "the archive is cut short"),
        (b"BZh91AY&SY", "cut off, in bzip2 stream 1"),
        (b"\x1f\x9d\x90", "in gzip member 1"),
        (b"\x04\x22\x4d\x18", "other bytes"),
        (b"\0\0\0\0", "other bytes"),
    ];
    for (file, says) in others {
        push(format!("{} as gzip", file.escape_ascii()), file, says);
    }
    streams
}

#[test]
fn whole_streams_are_read_to_their_end() {
    let mut score = Score::new("whole gzip streams");
    for (name, file, text) in whole() {
        let scratch = Scratch::new();
        scratch.file(&part_path(TABLE, 0, 1), &file);
        let run = scratch.convert(&["--trace", &trace().name]);
        let outcome = ensure(run.code == 0, || run.stderr.clone())
            .and_then(|()| account(&text, &scratch.out(), table(TABLE), (0, 1)))
            .map(|_| ());
        score.count(&name, outcome);
    }
    score.close();
}

#[test]
fn broken_streams_are_refused_with_member_and_byte() {
    let mut score = Score::one_in(5, "broken gzip streams");
    for (name, file, says) in broken() {
        if !score.is_due() {
            continue;
        }
        let scratch = Scratch::new();
        scratch.file(&part_path(TABLE, 0, 1), &file);
        for more in [&[][..], &["--on-bad-row", "reject"]] {
            let run = scratch.convert(&[&["--trace", &trace().name], more].concat());
            let message = run.message();
            let right = run.code == 5
                && message.contains(says)
                && message.contains(&part_path(TABLE, 0, 1));
            let outcome = ensure(right && !scratch.out().exists(), || {
                format!("{}: {message}", run.code)
            });
            score.count(&format!("{name} {more:?}"), outcome);
        }
    }
    score.close();
}
