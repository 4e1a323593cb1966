//! `cargo xtask reading`: the CPU time of a conversion that reads from a web server on loopback,
//! against one that reads the same file from the disk, in turn.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::bench::source;
use crate::readers::target;
use crate::rig::{build, published_in_parts, text, tree};
use tracelake_testkit::server::{Answer, Server};

/// Measures and prints the ratio.
pub(crate) fn reading(root: &Path, rows: u64, rounds: u32) -> Result<()> {
    let program = build(root, "--bin", "tracelake")?;
    let source = source(root, &program, rows)?;
    let last = published_in_parts()?.tables.last();
    let largest = last.context("a trace has tables")?.name;
    let file = "part-00000-of-00002.csv.gz";
    let path = source.join(largest).join(file);
    let server = Server::of(&source, "", |_| Answer::Well);
    let bytes = fs::metadata(&path)?.len();
    let url = format!("{}/{largest}/{file}", server.url());
    let out = target(root).join("bench-data/lake");
    let convert = |from: &str| -> Result<f64> {
        if out.exists() {
            fs::remove_dir_all(&out)?;
        }
        let mut convert = Command::new(&program);
        convert.args(["convert", from]).arg(&out);
        convert.args([
            "--allow-missing",
            "--checksums",
            "none",
            "--progress",
            "none",
        ]);
        convert.args(["--trace", published_in_parts()?.name]);
        let before = cpu_of_children()?;
        let ended = convert.output()?;
        ensure!(ended.status.success(), "convert: {}", text(&ended));
        Ok(cpu_of_children()? - before)
    };
    let path = path.to_str().context("a path that isn't UTF-8")?;
    // The first run of each finds the file in memory, and shows that the lakes are the same.
    convert(path)?;
    let expected = tree(&out)?;
    convert(&url)?;
    ensure!(tree(&out)? == expected, "the lakes differ");
    let (mut disk, mut web, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        disk.push(convert(path)?);
        web.push(convert(&url)?);
        ratios.extend(web.last().zip(disk.last()).map(|(web, disk)| web / disk));
    }
    fs::remove_dir_all(&out)?;
    println!(
        "{} MB, {rounds} rounds: CPU seconds from disk {}, from a web server {}, ratio {}",
        bytes / 1_000_000,
        spread(disk),
        spread(web),
        spread(ratios)
    );
    Ok(())
}

/// The median, with the lowest and the highest.
fn spread(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    let [low, .., high] = values[..] else {
        return values
            .first()
            .map_or_else(String::new, |one| format!("{one:.2}"));
    };
    format!("{:.2} ({low:.2} to {high:.2})", values[values.len() / 2])
}

/// CPU seconds of all processes that this one started and that have ended, to a hundredth.
fn cpu_of_children() -> Result<f64> {
    let text = fs::read_to_string("/proc/self/stat").context("needs Linux to measure CPU time")?;
    // The name of the program, which may hold blanks, ends with the last parenthesis.
    let fields = text
        .rsplit_once(')')
        .context("no name")?
        .1
        .split_whitespace();
    let ticks: Result<Vec<u64>, _> = fields.skip(13).take(2).map(str::parse).collect();
    let total: u64 = ticks?.iter().sum();
    #[expect(clippy::cast_precision_loss, reason = "not that many")]
    Ok(total as f64 / 100.0)
}
