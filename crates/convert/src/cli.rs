//! The command line: what can be typed, and what it means. The only room that knows clap.

use std::path::PathBuf;

use crate::error::{Error, ErrorKind, Result, escape};
use crate::plan::{ChecksumSource, OnBadRow, PART_ROWS, PartSet, Partitions, Request};
use crate::release::Allow;
use crate::run::parts_within;
use crate::sheet::Codec;
use clap::{Args, Parser, Subcommand, ValueEnum};
use tracelake_generate::Options;
use tracelake_schema::{Rule, TRACES, Table, Trace};

/// Turns published cluster traces into a typed, partitioned Parquet lake.
///
/// Exit codes: 0 done; 1 failed; 2 usage; 3 done, some rows rejected; 4 bad row, or a file that
/// does not fit its table; 5 corrupt input; 6 refused; 130, 143 stopped by a signal.
#[derive(Debug, Parser)]
#[command(name = "tracelake", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Convert(ConvertArgs),
    Verify(VerifyArgs),
    Release(ReleaseArgs),
    Inspect(InspectArgs),
    Schema(SchemaArgs),
    Generate(GenerateArgs),
}

/// Convert a downloaded trace into a lake; run it again to go on where it stopped.
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// A directory laid out as published, one table's directory, or one file, which is taken alone
    #[arg(value_name = "SRC")]
    source: PathBuf,
    /// The directory of the lake: new, empty, or a lake that is not finished
    #[arg(value_name = "OUT")]
    pub(crate) out: PathBuf,
    #[arg(long, value_name = "NAME", help = format!(
        "The trace ({}); recognised from names, column counts and schema.csv if left out",
        trace_names()
    ))]
    trace: Option<String>,
    /// Only these tables, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    tables: Vec<String>,
    /// Only these file numbers, such as 0-9,17
    #[arg(long, value_name = "NUMBERS")]
    parts: Option<PartSet>,
    /// Threads; all processors if left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// The most memory, such as 512MB or 2GiB; 128 MB and 128 MB a thread if left out
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,
    /// What a bad row leads to: it ends the run, or is set aside with its place and reason
    #[arg(long, value_name = "WHAT", default_value = "fail")]
    on_bad_row: OnBadRowArg,
    /// End the run when more rows than this are rejected
    #[arg(long, value_name = "N")]
    pub(crate) max_rejects: Option<u64>,
    /// Convert what is there although parts are missing
    #[arg(long)]
    allow_missing: bool,
    /// Where the files of a table lie: in a directory for each file number, or side by side
    #[arg(long, value_name = "NAME", default_value = "hive")]
    layout: LayoutArg,
    /// How column chunks are compressed: zstd, zstd:1 to zstd:22, snappy, none
    #[arg(long, value_name = "CODEC", default_value = "zstd")]
    compression: Codec,
    /// Rows in a part of a table that is published in one file
    #[arg(long, value_name = "N", default_value_t = PART_ROWS, value_parser = clap::value_parser!(u64).range(1..))]
    part_rows: u64,
    /// Also make a table out of another one: dag, of the tasks that tasks of batch jobs wait for
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    derive: Vec<RuleArg>,
    /// A file of SHA-256 checksums, or none; SHA256SUM in SRC if left out and there
    #[arg(long, value_name = "FILE|none")]
    checksums: Option<PathBuf>,
    /// Replace the lake in OUT; anything that is not a lake is still refused
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Print what would be done and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// How progress is shown on stderr: a bar on a terminal, lines, JSON lines, or not at all
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub(crate) progress: ProgressArg,
}

/// Check a finished lake: files, footers, counts, checksums; and every value against its source.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The lake
    #[arg(value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// The source that the lake was made from: compare every value with it
    #[arg(long, value_name = "SRC")]
    pub(crate) source: Option<PathBuf>,
    /// Print the result as JSON on stdout
    #[arg(long)]
    pub(crate) json: bool,
    /// How to show progress on stderr: a bar on a terminal, lines, JSON lines, or none
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub(crate) progress: ProgressArg,
}

/// Verify a finished lake and write what it needs to be published: checksums and descriptions.
#[derive(Debug, Args)]
pub(crate) struct ReleaseArgs {
    /// The lake; SHA256SUMS, README.md, croissant.json and datapackage.json are written into it
    #[arg(value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// Release it although rows were rejected; the card says how many
    #[arg(long)]
    allow_rejects: bool,
    /// Release it although parts or tables of the trace are missing; the card says which
    #[arg(long)]
    allow_missing: bool,
}

/// Show what is in a lake or in a source: tables, parts, rows, bytes, time range.
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// A lake or a source
    #[arg(value_name = "OUT|SRC")]
    pub(crate) path: PathBuf,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show the traces, the tables of a trace, and what their columns mean.
#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    #[arg(value_name = "TRACE", help = format!(
        "A trace ({}); all of them in short if left out",
        trace_names()
    ))]
    trace: Option<String>,
    /// One of its tables; all of them if left out
    #[arg(value_name = "TABLE")]
    table: Option<String>,
    /// As a text, JSON, Markdown, or the statements that create the tables in DuckDB or Spark
    #[arg(long = "as", value_name = "FORM", default_value = "text")]
    pub(crate) form: SchemaForm,
}

/// Make a synthetic trace with the real one's format and shape.
#[derive(Debug, Args)]
pub(crate) struct GenerateArgs {
    #[arg(value_name = "TRACE", help = format!(
        "The trace whose format and shape to follow ({})",
        trace_names()
    ))]
    trace: String,
    /// A new or empty directory
    #[arg(value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// Parts of each table that is published in several
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=99_999))]
    parts: u32,
    /// Rows of the largest table, over all of its parts
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    rows: u64,
    /// The seed: the same one gives the same bytes
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LayoutArg {
    Hive,
    Flat,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum OnBadRowArg {
    Fail,
    Reject,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum RuleArg {
    Dag,
}

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressArg {
    Auto,
    Plain,
    Json,
    None,
}

/// What `tracelake schema` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaForm {
    Text,
    Json,
    Duckdb,
    Spark,
    Markdown,
}

/// The trace of a name that was typed.
fn find_trace(name: &str) -> Result<&'static Trace> {
    tracelake_schema::trace(name).ok_or_else(|| {
        Error::new(
            ErrorKind::Usage,
            format!("there is no trace '{}'", escape(name.as_bytes(), 80)),
        )
        .hint(format!("known are {}", trace_names()))
    })
}

fn trace_names() -> String {
    let names: Vec<&str> = TRACES.iter().map(|trace| trace.name).collect();
    names.join(", ")
}

impl ConvertArgs {
    /// Parts at a time.
    pub(crate) fn parts_at_a_time(&self) -> usize {
        self.memory.and_then(parts_within).unwrap_or(usize::MAX)
    }

    /// What is asked for.
    pub(crate) fn request(&self) -> Result<Request> {
        if self.max_rejects.is_some() && matches!(self.on_bad_row, OnBadRowArg::Fail) {
            return Err(Error::new(
                ErrorKind::Usage,
                "--max-rejects without --on-bad-row reject",
            )
            .hint("the first bad row ends the run anyway: leave --max-rejects out"));
        }
        Ok(Request {
            trace: self.trace.as_deref().map(find_trace).transpose()?,
            tables: self.tables.clone(),
            parts: self.parts.clone(),
            allow_missing: self.allow_missing,
            partitions: match self.layout {
                LayoutArg::Hive => Partitions::Hive,
                LayoutArg::Flat => Partitions::Flat,
            },
            codec: self.compression,
            checksums: match &self.checksums {
                None => ChecksumSource::Auto,
                Some(path) if path.as_os_str() == "none" => ChecksumSource::None,
                Some(path) => ChecksumSource::File(path.clone()),
            },
            part_rows: self.part_rows,
            derive: self
                .derive
                .iter()
                .map(|rule| match rule {
                    RuleArg::Dag => Rule::Dag,
                })
                .collect(),
            on_bad_row: match self.on_bad_row {
                OnBadRowArg::Fail => OnBadRow::Fail,
                OnBadRowArg::Reject => OnBadRow::Reject,
            },
            ..Request::new(self.source.clone())
        })
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads.map_or_else(all_threads, usize::from)
    }
}

impl ReleaseArgs {
    /// What the lake may lack.
    pub(crate) fn allow(&self) -> Allow {
        Allow {
            rejects: self.allow_rejects,
            missing: self.allow_missing,
        }
    }
}

/// Reads a size in bytes that is enough for one part.
fn size(text: &str) -> std::result::Result<u64, String> {
    const UNITS: [(&str, u64); 7] = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("", 1),
    ];
    let unit = UNITS.iter().find(|(unit, _)| text.ends_with(unit));
    let (unit, bytes) = unit.copied().unwrap_or(("", 1));
    let number = text.trim_end_matches(unit).parse::<u64>().ok();
    let size = number.and_then(|number| number.checked_mul(bytes));
    match size {
        None => Err("expected a whole number with MB, GB, MiB or GiB, such as 512MB".into()),
        Some(size) if parts_within(size).is_none() => {
            Err("too small: a conversion of one part at a time needs 256MB".into())
        }
        Some(size) => Ok(size),
    }
}

/// As many threads as there are processors for this process.
pub(crate) fn all_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl SchemaArgs {
    /// The trace and the table, if they are named.
    pub(crate) fn subject(&self) -> Result<Option<(&'static Trace, Option<&'static Table>)>> {
        let Some(trace) = self.trace.as_deref().map(find_trace).transpose()? else {
            return Ok(None);
        };
        let Some(name) = &self.table else {
            return Ok(Some((trace, None)));
        };
        match trace.table(name) {
            Some(table) => Ok(Some((trace, Some(table)))),
            None => {
                let names: Vec<&str> = trace.tables.iter().map(|table| table.name).collect();
                let reason = format!(
                    "{} has no table '{}'",
                    trace.name,
                    escape(name.as_bytes(), 80)
                );
                Err(Error::new(ErrorKind::Usage, reason)
                    .hint(format!("it has {}", names.join(", "))))
            }
        }
    }
}

impl GenerateArgs {
    pub(crate) fn trace(&self) -> Result<&'static Trace> {
        find_trace(&self.trace)
    }

    pub(crate) fn options(&self) -> Options {
        Options {
            parts: self.parts,
            rows: self.rows,
            seed: self.seed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn sizes_have_units_and_are_enough() {
        let sizes = ["256000000", "256MB", "1GB", "512MiB", "2GiB", "300000kB"].map(size);
        let bytes = [
            256_000_000,
            256_000_000,
            1_000_000_000,
            512 << 20,
            2 << 30,
            300_000_000,
        ];
        assert_eq!(sizes, bytes.map(Ok));
        for bad in [
            "",
            "MB",
            "-1GB",
            "1.5GB",
            "1 GB",
            "1TB",
            "1gb",
            "99999999999GiB",
        ] {
            assert!(size(bad).unwrap_err().starts_with("expected"), "{bad:?}");
        }
        for small in ["0", "255MB", "100MiB"] {
            assert!(size(small).unwrap_err().contains("256MB"), "{small:?}");
        }
    }
}
