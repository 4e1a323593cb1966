//! `cargo xtask latency`: how fast many small parts get from one bucket to another when each request takes a while.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::readers::target;
use crate::rig::{build, published_in_parts, text};
use tracelake_testkit::server::{Answer, Server};

/// Parts, which are about 5 MB each.
const PARTS: u64 = 120;

/// Rows of a part.
const ROWS: u64 = 120_000;

/// How long a store takes to answer a request.
const LATENCY: Duration = Duration::from_millis(100);

const LAKE: &str = "bucket/lake/";

/// Measures and prints the share of the throughput that is left.
pub(crate) fn latency(root: &Path, rounds: u32) -> Result<()> {
    let program = build(root, "--bin", "tracelake")?;
    let trace = published_in_parts()?;
    let largest = trace.tables.last().context("a trace has tables")?.name;
    let source = target(root).join(format!("latency-{PARTS}x{ROWS}"));
    if !source.exists() {
        let mut generate = Command::new(&program);
        generate.args(["generate", trace.name]).arg(&source);
        generate.args(["--parts", &PARTS.to_string()]);
        generate.args(["--rows", &(PARTS * ROWS).to_string()]);
        let made = generate.output()?;
        ensure!(made.status.success(), "generate: {}", text(&made));
    }
    let table = source.join(largest);
    let bytes: u64 = fs::read_dir(&table)?
        .map(|file| Ok(file?.metadata()?.len()))
        .sum::<Result<u64>>()?;
    let wait = Arc::new(AtomicU64::new(0));
    let waits = Arc::clone(&wait);
    let server = Server::of(&table, &format!("bucket/source/{largest}/"), move |_| {
        std::thread::sleep(Duration::from_millis(waits.load(Ordering::Relaxed)));
        Answer::Well
    });
    let convert = |latency: Duration| -> Result<f64> {
        server.clear(LAKE);
        let millis = u64::try_from(latency.as_millis())?;
        wait.store(millis, Ordering::Relaxed);
        let mut convert = Command::new(&program);
        convert.args(["convert", "s3://bucket/source", "s3://bucket/lake"]);
        convert.args([
            "--checksums",
            "none",
            "--progress",
            "none",
            "--threads",
            "2",
        ]);
        convert.args(["--trace", trace.name]);
        convert.env("AWS_ENDPOINT_URL", server.url());
        convert
            .env("AWS_ACCESS_KEY_ID", "tests")
            .env("AWS_SECRET_ACCESS_KEY", "tests");
        let begun = Instant::now();
        let ended = convert.output()?;
        ensure!(ended.status.success(), "convert: {}", text(&ended));
        Ok(begun.elapsed().as_secs_f64())
    };
    convert(Duration::ZERO)?;
    let (mut near, mut far) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        near.push(convert(Duration::ZERO)?);
        far.push(convert(LATENCY)?);
    }
    let [near, far] = [near, far].map(median);
    println!(
        "{PARTS} parts of {:.1} MB on 2 threads: {near:.2} s at 0 ms a request, {far:.2} s at {} ms: {:.0} % of the \
         throughput is left",
        to_mb(bytes / PARTS),
        LATENCY.as_millis(),
        100.0 * near / far
    );
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[expect(clippy::cast_precision_loss, reason = "not that many")]
fn to_mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
