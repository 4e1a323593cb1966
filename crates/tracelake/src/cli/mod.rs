//! The command line: what can be typed, and what it means. The only module that knows clap.

mod cluster;
pub(crate) mod keywords;
mod values;

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Parser, Subcommand, ValueEnum};
pub(crate) use cluster::ClusterArgs;
use serde::Serialize;
use tracelake_convert::given_trace::given_trace;
use tracelake_convert::plan::{ChecksumSource, PartSet, Request, Shard};
use tracelake_convert::run::{RunOptions, parts_within};
use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::options::{OnBadRow, SourceForm, find_trace, unknown_table};
use tracelake_core::selection::TimeRange;
use tracelake_core::settings::Settings;
use tracelake_fetch::CONNECTIONS;
use tracelake_generate::Options;
use tracelake_lake::{CommitOptions, Forget, HOME};
use tracelake_location::Location;
use tracelake_schema::{Rule, Table, Trace, example_name, simulated_trace_names, trace_names};
use tracelake_verify::export::ExportOptions;
use tracelake_verify::release::ReleaseOptions;
use values::{
    BAD_ROWS, INPUT, OUTPUT, PERFORMANCE, at_least, name, rows, rule, seconds, size, trace, within,
};
pub(crate) use values::{ProgressArg, lake_to_make, limited};

/// Turn published cluster traces into a typed, partitioned Parquet lake.
#[derive(Debug, Parser)]
#[command(
    name = "tracelake",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  tracelake schema                              list the known traces
  tracelake fetch --list                        where their files are
  tracelake convert clusterdata-2011-2 lake     convert a download
  tracelake verify lake                         check the result

Exit codes:
  0    done
  1    failed: reading, writing, or something is missing
  2    wrong arguments
  3    done, but some rows were rejected
  4    a bad row, or a file that doesn't match its table
  5    corrupt input or a damaged lake
  6    refused: OUT is locked, is something else, was made with other options, or isn't ready
  130  stopped by Ctrl-C (143 by SIGTERM)"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Fetch(FetchArgs),
    Convert(Box<ConvertArgs>),
    Commit(CommitArgs),
    Cluster(ClusterArgs),
    Verify(VerifyArgs),
    Release(ReleaseArgs),
    Inspect(InspectArgs),
    Export(ExportArgs),
    Schema(SchemaArgs),
    Generate(GenerateArgs),
    Check(CheckArgs),
    Report(ReportArgs),
    Derive(DeriveArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Download the published files of a trace, checked. Run it again to resume.
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  tracelake fetch --list
      Where the files of all traces are, or why they can't be fetched.
  tracelake fetch {0} download --tables task_usage --parts 0-9
      Download ten parts of one table.
  tracelake convert download lake --allow-missing
      Convert them.

At most {1} connections are open at a time. A file ends in .partial until it is complete and checked: by its
published SHA-256, or by the checks of its compression where none is published.", example_name(), CONNECTIONS))]
pub(crate) struct FetchArgs {
    #[arg(value_name = "TRACE", value_parser = trace, required_unless_present = "list", help = format!(
        "Name of the trace: {}; or a description of another trace, for example ./my-trace.toml",
        known_traces()
    ))]
    trace: Option<String>,
    /// The directory to download to; it is created
    #[arg(
        value_name = "DIR",
        required_unless_present = "list",
        conflicts_with = "list"
    )]
    dir: Option<PathBuf>,
    /// Print where the files of each table are, or why they can't be fetched, of all traces or of TRACE
    #[arg(long, conflicts_with_all = ["tables", "parts", "cell", "source_form"])]
    pub(crate) list: bool,
    /// Fetch only these tables, for example job_events,task_events
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = name)]
    tables: Vec<String>,
    /// Fetch only the parts with these file numbers, of each cell, for example 0-9,17
    #[arg(long, value_name = "NUMBERS")]
    parts: Option<PartSet>,
    /// Fetch only this cell of a trace that is published by cell, for example a
    #[arg(long, value_name = "NAME", value_parser = name)]
    cell: Option<String>,
    /// Form of the tables that are published in two: json or parquet
    #[arg(
        long,
        value_name = "FORM",
        default_value_t,
        hide_possible_values = true
    )]
    source_form: SourceForm,
    /// How to show progress on stderr: a bar on a terminal, lines, JSON lines, or none
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub(crate) progress: ProgressArg,
}

impl FetchArgs {
    /// The trace, if one is named.
    pub(crate) fn trace(&self) -> Result<Option<Arc<Trace>>> {
        self.trace.as_deref().map(given_trace).transpose()
    }

    /// The directory to download to.
    pub(crate) fn dir(&self) -> Result<PathBuf> {
        let dir = self.dir.clone().unwrap_or_default();
        match Location::parse(dir.as_os_str())? {
            Location::Disk(path) => Ok(path),
            Location::Url(url) => Err(Error::new(ErrorKind::Usage, "files are fetched to a disk")
                .at(url.to_string())
                .hint("name a directory")),
        }
    }

    /// The request to fetch files of a trace.
    pub(crate) fn request(&self, trace: Arc<Trace>) -> tracelake_fetch::Request {
        let mut request = tracelake_fetch::Request::new(trace);
        request.tables.clone_from(&self.tables);
        request.parts.clone_from(&self.parts);
        request.cell.clone_from(&self.cell);
        request.form = self.source_form;
        request
    }
}

/// Convert a downloaded trace into a lake. Run it again to resume or to add to the lake.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tracelake convert clusterdata-2011-2 lake --dry-run
      Show what would be done.
  tracelake convert clusterdata-2011-2 lake --tables task_usage --parts 0-9
      Convert ten parts of one table.
  tracelake convert alibaba alibaba-lake --derive dag --memory 2GiB
      Convert archives in 2 GiB of memory, and derive the edges of the task graph.
  tracelake convert clusterdata-2011-2 lake --on-bad-row reject --max-rejects 100
      Set bad rows aside in lake/_tracelake/rejects, at most 100 of them.")]
pub(crate) struct ConvertArgs {
    /// The trace: a directory laid out as published, the directory of one table, or one file; a path, or
    /// a URL that starts with s3://, gs://, az://, abfss://, https:// or http://
    #[arg(value_name = "SRC")]
    pub(crate) source: PathBuf,
    /// The lake: a new or empty directory, or an existing lake to resume or add to; also in a bucket
    /// (s3://, gs://, az://, abfss://)
    #[arg(value_name = "OUT")]
    pub(crate) out: PathBuf,
    #[arg(long, help_heading = INPUT, value_name = "NAME|FILE", value_parser = trace, help = format!(
        "Name of the trace: {}; or a description of another trace, for example ./my-trace.toml [default: recognised \
         from file names, first rows and schema.csv]",
        known_traces()
    ))]
    trace: Option<String>,
    /// Cell that SRC belongs to, for a trace published by cell, for example a [default: taken from the
    /// name of the directory or bucket]
    #[arg(long, help_heading = INPUT, value_name = "NAME", value_parser = name)]
    cell: Option<String>,
    /// Convert only these tables, for example job_events,task_events
    #[arg(long, help_heading = INPUT, value_name = "NAMES", value_delimiter = ',', value_parser = name)]
    tables: Vec<String>,
    /// Convert only the parts with these file numbers, of each cell, for example 0-9,17
    #[arg(long, help_heading = INPUT, value_name = "NUMBERS")]
    parts: Option<PartSet>,
    /// Convert what there is even if parts are missing
    #[arg(long, help_heading = INPUT)]
    allow_missing: bool,
    /// File of SHA-256 checksums to check the source against, or none [default: SHA256SUM in SRC, if
    /// there is one]
    #[arg(long, help_heading = INPUT, value_name = "FILE|none")]
    checksums: Option<PathBuf>,
    #[command(flatten)]
    settings: Settings,
    /// Derive another table: dag makes batch_task_edges from the task dependencies encoded in task
    /// names
    #[arg(long, help_heading = OUTPUT, value_name = "RULE", value_delimiter = ',', value_parser = rule)]
    derive: Vec<Rule>,
    /// Convert shard I of N (from 0), for example 0/4, and don't commit: run every shard, anywhere and
    /// in any order, then tracelake commit OUT
    #[arg(long, help_heading = OUTPUT, value_name = "I/N")]
    pub(crate) shard: Option<Shard>,
    /// Replace the lake in OUT. A directory that isn't a lake is still refused
    #[arg(long, help_heading = OUTPUT, conflicts_with = "shard")]
    pub(crate) overwrite: bool,
    /// Begin even if the disk of OUT is clearly too small for the lake
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) ignore_disk_space: bool,
    /// Print what would be done and what it takes, and check OUT, without changing anything
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) dry_run: bool,
    /// Stop the run when the lake has more rejected rows than this
    #[arg(long, help_heading = BAD_ROWS, value_name = "N")]
    pub(crate) max_rejects: Option<u64>,
    /// Number of threads [default: one per processor]
    #[arg(long, help_heading = PERFORMANCE, value_name = "N", value_parser = within::<u16>(1, 1024))]
    threads: Option<u16>,
    /// Memory limit, for example 512M or 2GiB [default: 128 MB plus 128 MB per thread]
    #[arg(long, help_heading = PERFORMANCE, value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,
    /// How to show progress on stderr: auto (a bar on a terminal), plain (a line per part), json (JSON
    /// lines) or none
    #[arg(long, help_heading = PERFORMANCE, value_name = "HOW", default_value = "auto", hide_possible_values = true)]
    pub(crate) progress: ProgressArg,
}

/// Finish a lake whose shards were converted by convert --shard.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  for i in 0 1 2 3; do tracelake convert clusterdata-2011-2 lake --shard $i/4 & done; wait
  tracelake commit lake
  tracelake commit lake --forget --tables task_events --parts 17
      Make this part again, by the next convert, after its source has changed.")]
pub(crate) struct CommitArgs {
    /// The lake
    #[arg(value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// Remove outputs that no run recorded, instead of refusing to finish the lake. Only while no other run works on it
    #[arg(long)]
    pub(crate) remove_unnamed: bool,
    /// Read every output in a bucket too, where names and sizes are compared otherwise
    #[arg(long)]
    pub(crate) verify_outputs: bool,
    /// Refuse if the lake has more rejected rows than this
    #[arg(long, value_name = "N")]
    pub(crate) max_rejects: Option<u64>,
    /// Go back to what is committed, instead of committing: remove parts that aren't, and the plans of shards that ask for
    /// them. Only while no other run works on the lake
    #[arg(long, conflicts_with_all = ["remove_unnamed", "verify_outputs", "max_rejects"])]
    pub(crate) forget: bool,
    /// Forget only parts of these tables, for example job_events,task_events
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = name, requires = "forget")]
    tables: Vec<String>,
    /// Forget only the parts with these file numbers, for example 0-9,17
    #[arg(long, value_name = "NUMBERS", requires = "forget")]
    parts: Option<PartSet>,
    /// Forget only parts of this cell
    #[arg(long, value_name = "NAME", value_parser = name, requires = "forget")]
    cell: Option<String>,
    /// Number of threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = within::<u16>(1, 1024))]
    pub(crate) threads: Option<u16>,
    /// How to show progress on stderr: a bar on a terminal, lines, JSON lines, or none
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub(crate) progress: ProgressArg,
}

impl CommitArgs {
    /// How the lake is committed.
    pub(crate) fn options(&self) -> CommitOptions {
        let mut options = CommitOptions::default();
        options.max_rejects = self.max_rejects;
        options.remove_unnamed = self.remove_unnamed;
        options.verify_outputs = self.verify_outputs;
        options
    }

    /// The parts to forget.
    pub(crate) fn to_forget(&self) -> Forget {
        Forget {
            tables: self.tables.clone(),
            parts: self.parts.as_ref().map(|parts| parts.ranges().collect()),
            cell: self.cell.clone(),
        }
    }
}

/// Check a finished lake: files, row counts and checksums, and with --source every value.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tracelake verify lake
  tracelake verify lake --source clusterdata-2011-2")]
pub(crate) struct VerifyArgs {
    /// The lake
    #[arg(value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// Also compare every value with the source that the lake was made from, or with another lake of the trace
    #[arg(long, value_name = "SRC")]
    pub(crate) source: Option<PathBuf>,
    /// Also check that the lake is the one with this digest, which inspect prints: the SHA-256 of its manifest
    #[arg(long, value_name = "D")]
    pub(crate) digest: Option<String>,
    /// Print the result as JSON on stdout
    #[arg(long)]
    pub(crate) json: bool,
    /// How to show progress on stderr: a bar on a terminal, lines, JSON lines, or none
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub(crate) progress: ProgressArg,
}

/// Verify a finished lake and add what it needs to be published: checksums and descriptions.
#[derive(Debug, Args)]
#[command(after_help = "\
Writes into the lake:
  SHA256SUMS               the SHA-256 of every file
  README.md                a dataset card for people and the Hugging Face hub
  croissant.json           Croissant 1.1, with RAI fields and provenance
  datapackage.json         a data package
  ro-crate-metadata.json   RO-Crate 1.3; needs a date
  CITATION.cff             how to cite it, if the trace has creators
  .zenodo.json             what Zenodo shows of an upload
  _tracelake/release.toml  for you to fill in; what you write there is put into the others")]
pub(crate) struct ReleaseArgs {
    /// The lake
    #[arg(value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// Release the lake even if rows were rejected; its README.md says how many
    #[arg(long)]
    allow_rejects: bool,
    /// Release the lake even if parts or tables of the trace are missing; its README.md says which
    #[arg(long)]
    allow_missing: bool,
    /// Add a Delta log to each table, so that readers of Delta tables take its directory
    #[arg(long)]
    delta: bool,
    /// Print what changed since an older lake of the same trace: the lake, or its manifest.json
    #[arg(long, value_name = "OLD")]
    pub(crate) since: Option<PathBuf>,
    /// The day of the release, for example 2026-06-01 [default: that of the trace's document, if it is known]
    #[arg(long, value_name = "DATE")]
    date: Option<String>,
    /// How to show progress on stderr: a bar on a terminal, lines, JSON lines, or none
    #[arg(long, value_name = "HOW", default_value = "auto")]
    pub(crate) progress: ProgressArg,
}

/// Write the requests to language models in a lake as JSON lines that replay tools read.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tracelake export lake requests.jsonl --as mooncake
      All requests, in the order of their arrival.
  tracelake export lake code.jsonl --as mooncake --service code --time 0..1h --drop-empty
      The first hour of one service, without requests that have no tokens.

timestamp is in milliseconds from the first request in FILE. Blocks (hash_ids) have 512 tokens in Mooncake's traces, and 16
in Bailian's. A FILE that is there is replaced once the new one is complete.")]
pub(crate) struct ExportArgs {
    /// The lake
    #[arg(value_name = "LAKE")]
    pub(crate) lake: PathBuf,
    /// The new file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The form of its lines
    #[arg(long = "as", value_name = "FORM")]
    form: ExportForm,
    /// Only requests that arrived from FROM up to, but without, TO: in the trace's unit, as 1h30m..2d, or as dates where it
    /// is known when time 0 was; FROM or TO may be left out
    #[arg(long, value_name = "FROM..TO", allow_hyphen_values = true)]
    time: Option<TimeRange>,
    /// Only requests of this service or workload, for example code
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// Leave out requests without tokens of the input or of the output
    #[arg(long)]
    pub(crate) drop_empty: bool,
}

/// The form of exported requests.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ExportForm {
    /// Objects with timestamp, input_length, output_length, and hash_ids and session_id where the trace has them
    Mooncake,
}

/// Show what a lake or a source contains: tables, parts, rows, bytes and time range.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tracelake inspect clusterdata-2011-2      what was downloaded, and which parts are missing
  tracelake inspect lake                    what was converted; of an unfinished lake, what is left")]
pub(crate) struct InspectArgs {
    /// A lake or a source
    #[arg(value_name = "OUT|SRC")]
    pub(crate) path: PathBuf,
    /// Exit with 0 even if parts of a source are missing
    #[arg(long)]
    pub(crate) allow_missing: bool,
    /// Trace of a source: a name, or a description such as ./my-trace.toml [default: recognised]
    #[arg(long, value_name = "NAME|FILE", value_parser = trace)]
    pub(crate) trace: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Describe the known traces, their tables and their columns.
#[derive(Debug, Args)]
#[command(after_help = format!("\
Examples:
  tracelake schema
  tracelake schema {0} job_events
  tracelake schema {0} --as duckdb > views.sql
  tracelake schema lake --as duckdb > views.sql
  tracelake schema {0} --as checks > checks.sql
  tracelake schema --new sample.csv > my-trace.toml
  tracelake schema --new downloads > my-trace.toml", example_name()))]
pub(crate) struct SchemaArgs {
    #[arg(value_name = "TRACE|LAKE", value_parser = trace, help = format!(
        "Name of the trace: {}; or a description of another trace, for example ./my-trace.toml; or a lake, whose files \
         the SQL then names [default: a list of all traces]",
        known_traces()
    ))]
    pub(crate) trace: Option<String>,
    /// One of its tables [default: all]
    #[arg(value_name = "TABLE", value_parser = name)]
    table: Option<String>,
    /// Draft the description of a new trace from a file of CSV, JSON or Parquet, or from a directory or an archive of them
    #[arg(long, value_name = "FILE|DIR", conflicts_with_all = ["trace", "table", "form"])]
    pub(crate) new: Option<PathBuf>,
    /// Print the JSON Schema of descriptions, by which editors complete and check them
    #[arg(long, conflicts_with_all = ["trace", "table", "form", "new"])]
    pub(crate) json_schema: bool,
    /// Format: text, json, markdown, SQL for duckdb or spark, or checks of the rows for duckdb
    #[arg(
        long = "as",
        value_name = "FORMAT",
        default_value = "text",
        hide_possible_values = true
    )]
    pub(crate) form: SchemaForm,
}

/// Make a synthetic trace in the published format, for tests and benchmarks.
#[derive(Debug, Args)]
#[command(after_help = format!("\
Example:
  tracelake generate {} made --parts 4 --rows 1000000 --seed 7", example_name()))]
pub(crate) struct GenerateArgs {
    #[arg(value_name = "TRACE", value_parser = name, help = format!(
        "Name of the trace to imitate: {}",
        simulated_traces()
    ))]
    trace: String,
    /// A new or empty directory
    #[arg(value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// Number of parts of each table that is published in several
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = within::<u32>(1, 99_999))]
    parts: u32,
    /// Number of rows of the largest table, over all its parts
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = rows)]
    rows: u64,
    /// Seed of the random numbers; the same seed gives the same bytes
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Form of the tables that are published in two: json or parquet
    #[arg(
        long,
        value_name = "FORM",
        default_value_t,
        hide_possible_values = true
    )]
    form: SourceForm,
}

/// Compare the rows of a lake with what its documents promise (needs the Python package).
#[derive(Debug, Args, Serialize)]
#[command(after_help = format!("\
Examples:
  tracelake check lake
  tracelake check lake --only task_life_cycle --fail-on new,skipped

Exit codes: 0 nothing to fail on, 4 something to fail on, others as in tracelake --help.

{}", needs_python("check")))]
pub(crate) struct CheckArgs {
    /// A finished lake of Parquet files
    #[arg(value_name = "LAKE")]
    #[serde(skip)]
    pub(crate) lake: PathBuf,
    /// Make only these checks, for example task_life_cycle [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = name)]
    only: Vec<String>,
    /// Exit with 4 on new findings, known findings, findings of checks that weren't tried on published rows, or skipped
    /// checks: new, known, untried, skipped, several of them separated by commas, or none
    #[arg(long, value_name = "KINDS", value_parser = name, default_value = "new")]
    fail_on: String,
    /// Make checks even if parts that they need are missing; the gaps may cause findings
    #[arg(long)]
    allow_missing: bool,
    #[command(flatten)]
    #[serde(flatten)]
    queries: QueryArgs,
}

/// Draw what is in a lake as one HTML page, which needs no network (needs the Python package).
#[derive(Debug, Args, Serialize)]
#[command(after_help = format!("\
Examples:
  tracelake report lake -o lake.html
  tracelake report lake -o lake.html --overwrite

{}", needs_python("report")))]
pub(crate) struct ReportArgs {
    /// A finished lake of Parquet files
    #[arg(value_name = "LAKE")]
    #[serde(skip)]
    pub(crate) lake: PathBuf,
    /// The page
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    #[serde(skip)]
    pub(crate) out: PathBuf,
    /// Replace FILE if it exists
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    #[serde(flatten)]
    queries: QueryArgs,
}

/// Make tables that everyone computes again, such as task lifetimes, from a lake (needs the Python package).
#[derive(Debug, Args, Serialize)]
#[command(after_help = format!("\
Example:
  tracelake derive lake derived --tables task_lifetimes

{}", needs_python("check")))]
pub(crate) struct DeriveArgs {
    /// A finished lake of Parquet files
    #[arg(value_name = "LAKE")]
    #[serde(skip)]
    pub(crate) lake: PathBuf,
    /// A new or empty directory
    #[arg(value_name = "OUT")]
    #[serde(skip)]
    pub(crate) out: PathBuf,
    /// Make only these tables, for example task_lifetimes [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = name)]
    tables: Vec<String>,
    /// A lake of another trace that tables are joined with; it is only read
    #[arg(long, value_name = "LAKE")]
    #[serde(skip)]
    pub(crate) with: Option<PathBuf>,
    /// Make tables even if parts that they need are missing
    #[arg(long)]
    allow_missing: bool,
    #[command(flatten)]
    #[serde(flatten)]
    queries: QueryArgs,
}

/// Options of all commands that query a lake with DuckDB.
#[derive(Debug, Args, Serialize)]
struct QueryArgs {
    /// Print the result as JSON on stdout
    #[arg(long)]
    json: bool,
    /// The cell to query, in a lake of several cells
    #[arg(long, value_name = "NAME", value_parser = name)]
    cell: Option<String>,
    /// Number of threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = within::<u16>(1, 1024))]
    threads: Option<u16>,
    /// Memory limit of DuckDB, for example 2GiB [default: 1200MB]
    #[arg(long, value_name = "SIZE", value_parser = at_least(100_000_000, "too small: queries need 100MB"))]
    memory: Option<u64>,
    /// Time limit of a query [default: none; one hour if the trace isn't built in]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    time_limit: Option<f64>,
    /// How to show progress on stderr: a bar on a terminal, lines, JSON lines, or none
    #[arg(long, value_name = "HOW", default_value = "auto")]
    progress: ProgressArg,
}

/// Print shell completions, for example for ~/.local/share/bash-completion/completions/tracelake
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

/// Print a man page: that of tracelake, or of one of its commands; `tracelake man | man -l -` shows it
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// A command, such as convert
    #[arg(value_name = "COMMAND", value_parser = name)]
    pub(crate) command: Option<String>,
}

/// Output forms of `tracelake schema`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaForm {
    Text,
    Json,
    Duckdb,
    Spark,
    Markdown,
    Checks,
}

/// How to get a command of the Python package, which isn't on PyPI yet.
pub(crate) fn in_python(extra: &str) -> String {
    format!(
        "install the package from a clone of the repository: pip install './crates/python[{extra}]'"
    )
}

/// End of the help of a command of the Python package.
fn needs_python(extra: &str) -> String {
    format!(
        "DuckDB runs the queries, from the Python package:\n  {}",
        in_python(extra)
    )
}

fn known_traces() -> String {
    trace_names().collect::<Vec<_>>().join(", ")
}

fn simulated_traces() -> String {
    simulated_trace_names().collect::<Vec<_>>().join(", ")
}

impl ConvertArgs {
    /// The context, limited to the threads and the memory that are asked for.
    pub(crate) fn within(&self, context: &Context) -> Context {
        let context = limited(context, self.threads);
        let window = self.run_options().window(self.memory, context.threads());
        context.with_window(window)
    }

    /// How the run is carried out.
    pub(crate) fn run_options(&self) -> RunOptions {
        let mut options = RunOptions::default();
        options.parts_at_once = self.memory.map_or(usize::MAX, |memory| {
            parts_within(memory).expect("a size that is enough for one part")
        });
        options.overwrite = self.overwrite;
        options.max_rejects = self.max_rejects;
        options.shard = self.shard;
        options.ignore_disk_space = self.ignore_disk_space;
        options
    }

    /// Builds the request from the arguments.
    pub(crate) fn request(&self) -> Result<Request> {
        if self.max_rejects.is_some() && self.settings.on_bad_row == OnBadRow::Fail {
            return Err(
                Error::new(ErrorKind::Usage, "--max-rejects needs --on-bad-row reject")
                    .hint("the first bad row stops the run anyway: leave --max-rejects out"),
            );
        }
        let mut request = Request::new(Location::parse(self.source.as_os_str())?);
        request.trace = self.trace.as_deref().map(given_trace).transpose()?;
        request.cell.clone_from(&self.cell);
        request.tables.clone_from(&self.tables);
        request.parts.clone_from(&self.parts);
        request.allow_missing = self.allow_missing;
        request.settings.clone_from(&self.settings);
        request.checksums = match &self.checksums {
            None => ChecksumSource::Auto,
            Some(path) if path.as_os_str() == "none" => ChecksumSource::None,
            Some(path) => ChecksumSource::File(Location::parse(path.as_os_str())?),
        };
        request.derive.clone_from(&self.derive);
        Ok(request)
    }
}

impl ReleaseArgs {
    /// The options of the release.
    pub(crate) fn options(&self) -> ReleaseOptions {
        let mut options = ReleaseOptions::default();
        options.allow_rejects = self.allow_rejects;
        options.allow_missing = self.allow_missing;
        options.delta = self.delta;
        options.date.clone_from(&self.date);
        options
    }
}

impl ExportArgs {
    /// The requests to export.
    pub(crate) fn options(&self) -> ExportOptions {
        match self.form {
            ExportForm::Mooncake => {
                let mut options = ExportOptions::default();
                options.time = self.time;
                options.service.clone_from(&self.service);
                options.drop_empty = self.drop_empty;
                options
            }
        }
    }
}

impl SchemaArgs {
    /// The table of the trace, where it is named.
    pub(crate) fn table_of<'a>(&self, trace: &'a Trace) -> Result<Option<&'a Table>> {
        let table = |name: &String| {
            let table = trace.table(name).map(|table| &**table);
            table.ok_or_else(|| unknown_table(name, trace))
        };
        self.table.as_ref().map(table).transpose()
    }

    /// The lake, if a directory or a URL is named instead of a trace.
    pub(crate) fn lake(&self) -> Result<Option<Location>> {
        let Some(named) = self
            .trace
            .as_deref()
            .filter(|named| find_trace(named).is_err())
        else {
            return Ok(None);
        };
        let place = Location::parse(named.as_ref())?;
        let is_lake = match &place {
            Location::Disk(path) => path.join(HOME).is_dir(),
            Location::Url(_) => !named
                .split('#')
                .next()
                .is_some_and(|file| file.ends_with(".toml")),
        };
        Ok(is_lake.then_some(place))
    }
}

impl GenerateArgs {
    pub(crate) fn trace(&self) -> Result<&'static Arc<Trace>> {
        find_trace(&self.trace)
    }

    pub(crate) fn options(&self) -> Options {
        let mut options = Options::default();
        (options.parts, options.rows) = (self.parts, self.rows);
        (options.seed, options.form) = (self.seed, self.form);
        options
    }
}

#[cfg(test)]
mod tests;
