//! Where the program spends its time on one thread, from samples of perf, by phase of the work.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use tracelake_schema::Trace;

use super::input::generated;
use crate::workspace::{empty, output, program, target};

/// Samples a second.
const FREQUENCY: &str = "4999";

/// The phases, each with texts, separated by commas, of which one is in the names of its functions. The first that fits
/// counts.
const PHASES: &[(&str, &str)] = &[
    ("inflate, with CRC", "tracelake_source,crc32"),
    ("SHA-256 of input and output", "sha2,sha256"),
    ("zstd", "ZSTD_,HUF_,FSE_,HIST_,XXH64"),
    ("split", "tracelake_encode::split"),
    (
        "find values in JSON or quotes",
        "tracelake_encode::json,tracelake_encode::quoted,csv_core",
    ),
    (
        "look up and parse",
        "digit_cache,text_cache,column::cache,tracelake_encode::wide,tracelake_encode::value,plain_numbers,\
         as tracelake_encode::column::phases::LookUp",
    ),
    ("dictionaries, pages, packing", "tracelake_encode,hashbrown"),
    (
        "copies, allocator",
        "memmove,memset,malloc,free,realloc,unlink_chunk",
    ),
];

/// The phase of all other functions.
const REST: &str = "the rest";

/// The name of the kernel's functions among the samples.
const KERNEL: &str = "kernel";

/// Converts a table of a generated trace under perf, and prints the share of each phase.
pub(super) fn phases(root: &Path, trace: &Trace, table: &str, rows: u64) -> Result<()> {
    let program = program(root, &["--profile", "profiling"])?;
    let source = generated(root, &program, trace, (2, rows), None)?;
    let folder = target(root).join("phases");
    empty(&folder)?;
    let (samples, lake) = (folder.join("samples"), folder.join("lake"));
    let mut record = Command::new("perf");
    record.args(["record", "--quiet", "-e", "cpu-clock", "-F", FREQUENCY]);
    record.arg("-o").arg(&samples).arg("--").arg(&program);
    record.args(["convert", "--threads", "1", "--progress", "none"]);
    record.args(["--tables", table, "--trace", &trace.name]);
    output(record.arg(&source).arg(&lake))?;
    let mut report = Command::new("perf");
    report.args(["report", "--stdio", "--quiet", "--sort", "symbol"]);
    report.args(["--percent-limit", "0", "-i"]);
    let report = output(report.arg(&samples))?;
    println!("| phase | share of the CPU time |\n|---|---|");
    let mut all: Vec<_> = shares(&report).into_iter().collect();
    all.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    for (phase, share) in all {
        println!("| {phase} | {share:.1} % |");
    }
    Ok(())
}

/// The share of each phase in percent, from the lines of a report such as `12.30%  [.] tracelake_encode::split::f`.
fn shares(report: &str) -> BTreeMap<&'static str, f64> {
    let mut shares = BTreeMap::new();
    for line in report.lines() {
        let Some((percent, symbol)) = line.trim().split_once('%') else {
            continue;
        };
        if let Ok(percent) = percent.parse::<f64>() {
            *shares.entry(phase(symbol)).or_default() += percent;
        }
    }
    shares
}

fn phase(symbol: &str) -> &'static str {
    if symbol.contains("[k]") {
        return KERNEL;
    }
    let fits = |texts: &str| texts.split(',').any(|text| symbol.contains(text));
    let found = PHASES.iter().find(|(_, texts)| fits(texts));
    found.map_or(REST, |(phase, _)| phase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_added_up_by_phase() {
        let report = "
    40.00%  [.] tracelake_source::inflate::fast::decode
    20.50%  [.] tracelake_encode::column::digit_cache::DigitCache::find_all
    10.00%  [.] tracelake_encode::column::encoder::Encoder<K>::end_page
     9.50%  [.] tracelake_encode::split::split_blocks
     8.00%  [k] clear_page
     7.00%  [.] ZSTD_compressBlock_fast
     5.00%  [.] _start
";
        let shares = shares(report);
        assert!((shares.values().sum::<f64>() - 100.0).abs() < 1e-9);
        assert_eq!(shares["look up and parse"], 20.5);
        assert_eq!(shares["inflate, with CRC"], 40.0);
        assert_eq!(shares["dictionaries, pages, packing"], 10.0);
        assert_eq!((shares[KERNEL], shares[REST]), (8.0, 5.0));
    }
}
