//! Small files that inflate to a lot: refused, rejected or converted, within the memory bound.
#![cfg(target_os = "linux")]

use std::fs::File;

use crate::crash::child::measured;
use flate2::Crc;
use tracelake_testkit::{
    Score, Scratch, bzip2, ensure, good_line, good_row, gzip, part_path, program, xz, zstd,
};

const MIB: usize = 1 << 20;

/// The most memory that a run may hold here, with two threads.
const BOUND: u64 = 256 * MIB as u64;

/// `times` members of `text` each: 2 GiB of one byte are 8 MiB of gzip.
fn members(text: &[u8], times: usize) -> Vec<u8> {
    gzip(text).repeat(times)
}

/// A line of `length` bytes and its newline.
fn line(byte: u8, length: usize) -> Vec<u8> {
    let mut line = vec![byte; length];
    line.push(b'\n');
    line
}

/// A row of job events with a text of `length` bytes.
fn wide(length: usize) -> Vec<u8> {
    let row = good_row("job_events").replace("usr=", &"u".repeat(length));
    format!("{row}\n").into_bytes()
}

/// Rows of job events, each with another short text.
fn short_texts(rows: usize) -> Vec<u8> {
    let row = |number: usize| {
        let user = format!("u{number}");
        good_row("job_events").replace("usr=", &user) + "\n"
    };
    gzip((0..rows).map(row).collect::<String>().as_bytes())
}

/// An xz stream of blocks without text: 20 bytes each, and as many as its index says.
fn xz_blocks(count: u64) -> Vec<u8> {
    let with_crc = |bytes: &[u8]| {
        let mut crc = Crc::new();
        crc.update(bytes);
        [bytes, &crc.sum().to_le_bytes()].concat()
    };
    let flags = [0, 0];
    // A header, the end of LZMA2, and three bytes of padding.
    let header = with_crc(&[2, 0, 0x21, 1, 0, 0, 0, 0]);
    let block = [&header[..], &[0; 4]].concat();
    let digits = |mut number: u64| {
        let mut digits = Vec::new();
        loop {
            let [low, ..] = number.to_le_bytes();
            number >>= 7;
            digits.push(low & 0x7f | u8::from(number > 0) << 7);
            if number == 0 {
                return digits;
            }
        }
    };
    let record = [digits(header.len() as u64 + 1), digits(0)].concat();
    let times = usize::try_from(count).unwrap();
    let mut index = [vec![0], digits(count), record.repeat(times)].concat();
    index.resize(index.len().next_multiple_of(4), 0);
    let index = with_crc(&index);
    let backward = u32::try_from(index.len() / 4 - 1).unwrap();
    let footer = with_crc(&[&backward.to_le_bytes()[..], &flags].concat());
    // The checksum of a footer is before it.
    let (footer, crc) = footer.split_at(6);
    let start = [b"\xfd7zXZ\0", &with_crc(&flags)[..]].concat();
    [
        start,
        block.repeat(times),
        index,
        [crc, footer, b"YZ"].concat(),
    ]
    .concat()
}

/// A name, the file, the exit codes without and with `--on-bad-row reject --max-rejects 1000`.
fn bombs() -> Vec<(&'static str, Vec<u8>, i32, i32)> {
    let good = good_line("job_events");
    let mut header = b"\x1f\x8b\x08\x08\0\0\0\0\0\xff".to_vec();
    header.resize(64 * MIB, b'x');
    vec![
        (
            "2 GiB of one line",
            members(&vec![b'x'; 32 * MIB], 64),
            4,
            4,
        ),
        ("2 GiB of commas", members(&vec![b','; 32 * MIB], 64), 4, 4),
        (
            "2 GiB of newlines",
            members(&vec![b'\n'; 32 * MIB], 64),
            4,
            4,
        ),
        ("2 GiB of NUL", members(&vec![0; 32 * MIB], 64), 4, 4),
        ("2 GiB of digits", members(&vec![b'1'; 32 * MIB], 64), 4, 4),
        (
            "2 GiB of CRLF",
            members(&b"\r\n".repeat(16 * MIB), 64),
            4,
            4,
        ),
        (
            "one good row before 2 GiB of one line",
            [gzip(good.as_bytes()), members(&vec![b'x'; 32 * MIB], 64)].concat(),
            4,
            4,
        ),
        ("20 lines at the limit", members(&line(b'x', MIB), 20), 4, 3),
        (
            "20 lines of commas at the limit",
            members(&line(b',', MIB), 20),
            4,
            3,
        ),
        (
            "20 lines of NUL at the limit",
            members(&line(0, MIB), 20),
            4,
            3,
        ),
        (
            "20 lines of broken UTF-8 at the limit",
            members(&line(0xff, MIB), 20),
            4,
            3,
        ),
        (
            "1500 good rows with a text of 100 KiB",
            members(&wide(100 << 10), 1500),
            0,
            0,
        ),
        (
            "400 good rows with a text of nearly 1 MiB",
            members(&wide(MIB - 64), 400),
            0,
            0,
        ),
        (
            "1500 short texts before 2990 times one of 100 KiB",
            [short_texts(1500), members(&wide(100 << 10), 2990)].concat(),
            0,
            0,
        ),
        (
            "2 GiB of one line in zstd",
            zstd(&vec![b'x'; 32 * MIB]).repeat(64),
            4,
            4,
        ),
        (
            "1 GiB of one line in xz",
            xz(&vec![b'x'; 4 * MIB]).repeat(256),
            4,
            4,
        ),
        (
            "1 GiB of one line in bzip2",
            bzip2(&vec![b'x'; 4 * MIB]).repeat(256),
            4,
            4,
        ),
        (
            "100,000 streams of nothing in xz",
            xz(b"").repeat(100_000),
            0,
            0,
        ),
        (
            "an xz stream of 3,000,000 blocks",
            xz_blocks(3_000_000),
            0,
            0,
        ),
        ("200,000 members of nothing", members(b"", 200_000), 0, 0),
        ("a header without end", header, 5, 5),
        (
            "64 MiB of NUL after the end",
            [gzip(good.as_bytes()), vec![0; 64 * MIB]].concat(),
            0,
            0,
        ),
    ]
}

#[test]
fn what_inflates_without_end_stays_within_the_bound() {
    let mut score = Score::one_in(3, "decompression bombs");
    for (name, file, strict, rejecting) in bombs() {
        for (code, more) in [
            (strict, &[][..]),
            (
                rejecting,
                &["--on-bad-row", "reject", "--max-rejects", "1000"],
            ),
        ] {
            if !score.is_due() {
                continue;
            }
            let scratch = Scratch::new();
            scratch.file(&part_path("job_events", 0, 1), &file);
            let mut command = program();
            command.arg("convert").args([scratch.src(), scratch.out()]);
            command.args(["--threads", "2"]).args(more);
            let (run, peak) = measured(command);
            let outcome = ensure(run.code == code, || {
                format!("exit {}: {}", run.code, run.stderr)
            });
            let outcome = outcome.and_then(|()| {
                ensure(peak < BOUND, || format!("{} MiB", peak / MIB as u64))?;
                ensure(run.stderr.len() < 2000, || "says too much".to_owned())?;
                ensure(scratch.out().exists() == [0, 3].contains(&code), || {
                    "OUT".to_owned()
                })
            });
            score.count(&format!("{name} {more:?}"), outcome);
            if run.code == 0 {
                let mut command = program();
                command.arg("verify").arg(scratch.out());
                command.arg("--source").arg(scratch.src());
                let (run, peak) = measured(command);
                let outcome = ensure(run.code == 0 && peak < BOUND, || {
                    format!("exit {}, {} MiB", run.code, peak / MIB as u64)
                });
                score.count(&format!("verify {name} {more:?}"), outcome);
            }
        }
    }
    score.close();
}

/// Files that are read whole, or by the record, from a source and from a lake.
const WHOLE: &[&str] = &[
    "src/schema.csv",
    "src/SHA256SUM",
    "out/_tracelake/manifest.json",
    "out/_tracelake/lake.json",
    "out/_tracelake/facts/job_events/00000.json",
    "out/_tracelake/plans/0.json",
];

/// A sparse file costs its sender nothing.
#[test]
fn a_huge_side_file_is_refused_within_the_bound() {
    let mut score = Score::new("huge side files");
    for path in WHOLE {
        let scratch = Scratch::new();
        scratch.good("job_events");
        scratch.convert_well(&[]);
        let file = scratch.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        File::create(file).unwrap().set_len(1 << 30).unwrap();
        for command in ["convert", "verify", "inspect"] {
            let mut run = program();
            match command {
                "convert" => run.arg(command).args([scratch.src(), scratch.out()]),
                "verify" => run
                    .arg(command)
                    .arg(scratch.out())
                    .arg("--source")
                    .arg(scratch.src()),
                _ => run.arg(command).arg(scratch.path().join(&path[..3])),
            };
            let (run, peak) = measured(run);
            let outcome = ensure(run.code >= 0, || "hangs".to_owned());
            let outcome = outcome
                .and_then(|()| ensure(peak < BOUND, || format!("{} MiB", peak / MIB as u64)));
            score.count(&format!("{path}, {command}"), outcome);
        }
    }
    score.close();
}
