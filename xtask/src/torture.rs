//! `cargo xtask torture`: disturbs runs of the program, and compares what is left with an undisturbed lake. `faults`
//! lets every system call and every request of a run fail in turn; in `races`, up to six runs work on one lake, are
//! killed at many moments, and lose answers.

mod faults;
mod judge;
mod races;
mod schedule;

use std::path::Path;

use anyhow::Result;

use judge::Judge;

/// The disturbances.
const WHAT: [&str; 2] = ["faults", "races"];

/// Where lakes are.
const PLACES: [&str; 2] = ["disk", "bucket"];

/// What to disturb, and how often.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Let system calls and requests fail in turn, or let several runs work on one lake and kill some
    #[arg(value_parser = WHAT)]
    what: String,
    /// Only with lakes on disk, or only with lakes in a bucket
    #[arg(long, value_parser = PLACES)]
    only: Option<String>,
    /// How many races
    #[arg(long, default_value_t = 1_000)]
    runs: u64,
    /// The seed of the first race; each other one has the next number
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// Disturbs runs, and fails if anything was wrong.
pub(crate) fn torture(root: &Path, options: &Options) -> Result<()> {
    let judges = Judge::of_each_format(root)?;
    let only = options.only.as_deref();
    match &options.what[..] {
        "faults" => faults::faults(&judges, only),
        _ => races::races(&judges, only, options.seed, options.runs),
    }
}
