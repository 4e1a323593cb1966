//! `cargo xtask bench` makes an input, runs the program and its peers in turn, and writes docs/internals/benchmarks.md.
//! `--only` measures one thing: some of them write sections of pages, and the others only print.

mod input;
mod peers;
mod phases;
mod scale;
mod servers;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tracelake_testkit::trace;

use crate::workspace::program;
use input::largest;
use peers::PEERS;

/// Measurements that `--only` selects.
const PARTS: [&str; 7] = [
    "reading",
    "formats",
    "growth",
    "clustered",
    "phases",
    "servers",
    "scale",
];

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Measure only this: reading our files; other formats, with their section and the README's chart; longer input, with
    /// its page; lakes clustered by job, with theirs; the phases of the work, with Linux's perf; a web server and a store
    /// that is slow; or the requests of whole traces, with their page
    #[arg(long, value_parser = PARTS)]
    only: Option<String>,
    /// Rows of the largest table, in two parts
    #[arg(long, default_value_t = 4_800_000)]
    rows: u64,
    /// Rounds; everything runs once in each
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Measure this program, such as an earlier version, instead of building one
    #[arg(long, value_name = "PATH", requires = "only")]
    program: Option<PathBuf>,
    /// The trace whose phases are measured [default: the first one that is published in parts]
    #[arg(long, requires = "only")]
    trace: Option<String>,
    /// The table whose phases are measured [default: the last one of the trace]
    #[arg(long, requires = "only")]
    table: Option<String>,
}

/// Measures, and prints or writes what was found.
pub(crate) fn bench(root: &Path, options: &Options) -> Result<()> {
    let (rows, rounds) = (options.rows, options.rounds);
    let built = || match &options.program {
        Some(program) => Ok(program.clone()),
        None => program(root, &["--release"]),
    };
    match options.only.as_deref() {
        Some("scale") => scale::scale(root),
        Some("servers") => servers::servers(root, &built()?, rows, rounds),
        Some("phases") => {
            let trace = match &options.trace {
                Some(name) => tracelake_schema::trace(name)
                    .with_context(|| format!("no trace is named {name}"))?,
                None => trace(),
            };
            let last = largest(trace)?;
            let table = options.table.as_deref().unwrap_or(last);
            phases::phases(root, trace, table, rows)
        }
        only => peers::measure(root, only.unwrap_or(PEERS), &built()?, rows, rounds),
    }
}
