//! Memory is bounded by the settings, never by the size of a file.
#![cfg(target_os = "linux")]
#![allow(
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise, and tells what it measured"
)]

#[path = "../support/mod.rs"]
mod support;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;

use support::rows::Dice;
use support::{Scratch, manifest, part_path, program};

const MIB: u64 = 1 << 20;

/// One row group held encoded, at most, and as much again for everything else.
const BOUND: u64 = 128 * MIB + 128 * MIB;

/// What ten times the rows may cost more: the larger file fills its row group, the smaller one
/// does not.
const GROWTH: u64 = 96 * MIB;

/// Writes a part of task_usage whose rows look like real ones and never repeat, as it goes.
fn write_usage(scratch: &Scratch, rows: u64) {
    let path = scratch.src().join(part_path("task_usage", 0, 1));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let file = BufWriter::new(File::create(path).unwrap());
    let mut gzip = GzEncoder::new(file, Compression::fast());
    let mut dice = Dice::new(1);
    for row in 0..rows {
        let start = 600_000_000 + row / 10_000 * 300_000_000;
        let end = start + 300_000_000;
        let (job, task) = (3_418_309 + row % 10_000 / 40, row % 40);
        let machine = 4_155_527_081 + dice.below(12_500) * 17;
        let mut share = || dice.below(10_000);
        let shares: [u64; 9] = std::array::from_fn(|_| share());
        let [a, b, c, d, e, f, g, h, i] = shares;
        writeln!(
            gzip,
            "{start},{end},{job},{task},{machine},0.0{a:04},0.{b:04},0.{b:04},0.00{c:04},0.00{d:04},\
             0.{b:04},{e}e-09,0.000{f:04},0.{g:04},0.00{h:04},2.{i:04},0.00{a:04},0,1,0.0{g:04}"
        )
        .unwrap();
    }
    gzip.finish().unwrap().flush().unwrap();
}

/// Converts with one thread and returns the most memory that the process ever held, in bytes.
fn peak(rows: u64) -> u64 {
    let scratch = Scratch::new();
    write_usage(&scratch, rows);
    let mut child = program()
        .arg("convert")
        .args([scratch.src(), scratch.out()])
        .args(["--threads", "1"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The kernel keeps the high-water mark until the process ends, so the last look is the truth
    // but for the last moment, which writes a footer.
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let code = loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let mark = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        if let Some(mark) = mark {
            let kib: u64 = mark.trim().trim_end_matches(" kB").parse().unwrap();
            peak = peak.max(kib * 1024);
        }
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        thread::sleep(Duration::from_millis(2));
    };
    assert_eq!(code, Some(0));
    assert_eq!(manifest(&scratch.out())["tables"][0]["rows"], rows);
    peak
}

#[test]
fn peak_memory_does_not_grow_with_the_file() {
    let (small, large) = (peak(200_000), peak(2_000_000));
    let shown = format!("{} MiB, then {} MiB", small / MIB, large / MIB);
    eprintln!("peak memory: {shown}");
    assert!(large <= BOUND, "{shown}");
    assert!(large <= small + GROWTH, "{shown}");
}
