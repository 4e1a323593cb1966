//! The CPU time of a conversion that reads from a web server on loopback, against one that reads the same file from the
//! disk; and how fast many small parts get from one bucket to another when each request takes a while.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use tracelake_testkit::server::{Answer, Server};
use tracelake_testkit::{Scratch, trace};

use super::input::{generated, largest};
use crate::workspace::{output, tree};

/// Parts of about 5 MB, and their rows.
const PARTS: u64 = 120;
const ROWS: u64 = 120_000;

/// How long a store takes to answer a request, in milliseconds.
const LATENCY: u64 = 100;

/// Measures and prints both ratios.
pub(super) fn servers(root: &Path, program: &Path, rows: u64, rounds: u32) -> Result<()> {
    let table = largest(trace())?;
    reading(root, program, table, rows, rounds)?;
    latency(root, program, table, rounds)
}

fn reading(root: &Path, program: &Path, table: &str, rows: u64, rounds: u32) -> Result<()> {
    let source = generated(root, program, trace(), (2, rows), None)?;
    let file = format!("{table}/part-00000-of-00002.csv.gz");
    let server = Server::of(&source, "", |_| Answer::Well);
    let disk = source.join(&file).display().to_string();
    let web = format!("{}/{file}", server.url());
    let scratch = Scratch::new();
    let out = scratch.out();
    let cpu_time = |from: &str| -> Result<f64> {
        if out.exists() {
            fs::remove_dir_all(&out)?;
        }
        let before = cpu_of_children()?;
        output(&mut convert(program, from, &out))?;
        Ok(cpu_of_children()? - before)
    };
    // The first run of each finds the file in memory, and shows that the lakes are the same.
    cpu_time(&disk)?;
    let expected = tree(&out);
    cpu_time(&web)?;
    ensure!(tree(&out) == expected, "the lakes differ");
    let ratios = (0..rounds).map(|_| {
        let from_disk = cpu_time(&disk)?;
        Ok(cpu_time(&web)? / from_disk)
    });
    println!(
        "CPU time of reading from a web server, relative to reading from disk: {}",
        spread(ratios.collect::<Result<_>>()?)
    );
    Ok(())
}

fn latency(root: &Path, program: &Path, table: &str, rounds: u32) -> Result<()> {
    let source = generated(root, program, trace(), (PARTS, PARTS * ROWS), None)?;
    let wait = Arc::new(AtomicU64::new(0));
    let waits = Arc::clone(&wait);
    let objects = format!("bucket/source/{table}/");
    let server = Server::of(&source.join(table), &objects, move |_| {
        sleep(Duration::from_millis(waits.load(Ordering::Relaxed)));
        Answer::Well
    });
    let wall_time = |latency: u64| -> Result<f64> {
        server.clear("bucket/lake/");
        wait.store(latency, Ordering::Relaxed);
        let mut convert = convert(program, "s3://bucket/source", Path::new("s3://bucket/lake"));
        convert.args(["--threads", "2"]);
        convert.env("AWS_ENDPOINT_URL", server.url());
        convert.env("AWS_ACCESS_KEY_ID", "tests");
        convert.env("AWS_SECRET_ACCESS_KEY", "tests");
        let begun = Instant::now();
        output(&mut convert)?;
        Ok(begun.elapsed().as_secs_f64())
    };
    wall_time(0)?;
    let ratios = (0..rounds).map(|_| Ok(wall_time(0)? / wall_time(LATENCY)?));
    println!(
        "throughput of {PARTS} parts from bucket to bucket at {LATENCY} ms a request, relative to that at 0 ms: {}",
        spread(ratios.collect::<Result<_>>()?)
    );
    Ok(())
}

fn convert(program: &Path, from: &str, out: &Path) -> Command {
    let mut convert = Command::new(program);
    convert.args(["convert", from]).arg(out);
    convert.args(["--trace", &trace().name, "--allow-missing"]);
    convert.args(["--checksums", "none", "--progress", "none"]);
    convert
}

/// The median, with the lowest and the highest.
fn spread(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    let middle = values.get(values.len() / 2);
    let [low, middle, high] =
        [values.first(), middle, values.last()].map(|value| value.copied().unwrap_or(f64::NAN));
    format!("{middle:.2} ({low:.2} to {high:.2})")
}

/// CPU seconds of all processes that this one started and that have ended, to a hundredth.
fn cpu_of_children() -> Result<f64> {
    let text = fs::read_to_string("/proc/self/stat").context("needs Linux to measure CPU time")?;
    // The name of the program, which may hold blanks, ends with the last parenthesis.
    let (_, fields) = text.rsplit_once(')').context("no name")?;
    let fields = fields.split_whitespace().skip(13).take(2);
    let ticks: Result<Vec<f64>, _> = fields.map(str::parse).collect();
    Ok(ticks?.iter().sum::<f64>() / 100.0)
}
