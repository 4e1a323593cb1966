//! The arguments of `tracelake cluster`.

use std::path::PathBuf;

use clap::Args;
use tracelake_convert::cluster::{
    Arrangement, ClusterOptions, ClusterRequest, FileCount, LEAST_MEMORY, MOST_FILES,
};
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_location::Location;

use super::values::{OUTPUT, PERFORMANCE, ProgressArg, at_least, name, within};

/// Make a lake of the same rows in which those of one job, machine or container are together.
#[derive(Debug, Args)]
#[command(
    group = clap::ArgGroup::new("arrangement").required(true).args(["by", "compact"]),
    after_help = "\
Examples:
  tracelake cluster lake by-job --by job
      Put the rows of each job together: finding one reads a small part of one file.
  tracelake cluster lake by-job --by job --files 64 --memory 2GiB --spill /scratch
      Make 64 files a table, and sort on another disk.
  tracelake cluster lake compact --compact
      Keep the order of the rows, in files of 256 MB."
)]
pub(crate) struct ClusterArgs {
    /// The finished lake to take the rows from; a path, or a URL that starts with s3://, gs://, az:// or abfss://
    #[arg(value_name = "LAKE")]
    pub(crate) lake: PathBuf,
    /// The lake to make: a new or empty directory, or an existing lake to resume; also in a bucket
    #[arg(value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// Sample key whose rows are put together, for example job or machine. Tables without it are copied
    #[arg(long, help_heading = OUTPUT, value_name = "KEY", value_parser = name)]
    by: Option<String>,
    /// Keep the order of the rows, and cut each table into files with equal numbers of rows
    #[arg(long, help_heading = OUTPUT)]
    compact: bool,
    /// Make only these tables, for example job_events,task_events
    #[arg(long, help_heading = OUTPUT, value_name = "NAMES", value_delimiter = ',', value_parser = name)]
    tables: Vec<String>,
    /// Number of files of each table
    #[arg(long, help_heading = OUTPUT, value_name = "N", value_parser = within::<u32>(1, MOST_FILES.into()), conflicts_with = "file_size")]
    files: Option<u32>,
    /// Size of the files, for example 64MB: that of the largest table decides the number for all of them; with --compact,
    /// each table has its own [default: 256MB]
    #[arg(long, help_heading = OUTPUT, value_name = "SIZE", value_parser = at_least(1, "a file has at least 1 byte"))]
    file_size: Option<u64>,
    /// Replace the lake in OUT. A directory that isn't a lake is still refused
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) overwrite: bool,
    /// Print what would be done and what it takes, and check OUT, without changing anything
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) dry_run: bool,
    /// Number of threads [default: one per processor]
    #[arg(long, help_heading = PERFORMANCE, value_name = "N", value_parser = within::<u16>(1, 1024))]
    pub(crate) threads: Option<u16>,
    /// Memory limit, for example 512MB or 2GiB [default: 128 MB plus 128 MB per thread]
    #[arg(long, help_heading = PERFORMANCE, value_name = "SIZE", value_parser = at_least(LEAST_MEMORY, "too small: rows are clustered in 64MB or more"))]
    memory: Option<u64>,
    /// Directory for rows that don't fit in memory while they are sorted [default: a directory in OUT; for a bucket,
    /// that of temporary files]
    #[arg(long, help_heading = PERFORMANCE, value_name = "DIR")]
    spill: Option<PathBuf>,
    /// How to show progress on stderr: auto (a bar on a terminal), plain (a line per file), json (JSON lines) or none
    #[arg(long, help_heading = PERFORMANCE, value_name = "HOW", default_value = "auto", hide_possible_values = true)]
    pub(crate) progress: ProgressArg,
}

/// The memory of a thread unless it is asked for, in bytes, and that beside all threads.
const THREAD_MEMORY: u64 = 128_000_000;

impl ClusterArgs {
    /// The request.
    pub(crate) fn request(&self) -> Result<ClusterRequest> {
        let arrangement = match &self.by {
            Some(key) => Arrangement::By(key.clone()),
            None => Arrangement::Compact,
        };
        let mut request = ClusterRequest::new(Location::parse(self.lake.as_os_str())?, arrangement);
        match (self.files, self.file_size) {
            (Some(files), _) => request.files = FileCount::Files(files),
            (None, Some(bytes)) => request.files = FileCount::OfSize(bytes),
            (None, None) => {}
        }
        request.tables.clone_from(&self.tables);
        let least = request.least_memory();
        if self.memory.is_some_and(|memory| memory < least) {
            let reason = format!(
                "--memory: too small: --compact needs {} MB",
                least / 1_000_000
            );
            return Err(Error::new(ErrorKind::Usage, reason).hint("pass more, or leave it out"));
        }
        Ok(request)
    }

    /// How the work is done on some threads.
    pub(crate) fn options(&self, threads: usize) -> ClusterOptions {
        let default = THREAD_MEMORY.saturating_mul(1 + threads as u64);
        let mut options = ClusterOptions::new(self.memory.unwrap_or(default));
        options.spill.clone_from(&self.spill);
        options.overwrite = self.overwrite;
        options
    }
}
