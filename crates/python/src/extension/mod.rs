//! The extension module of the Python package `tracelake`: the library, with the interpreter
//! released while it works. What it returns is JSON, from which `python/tracelake` makes typed
//! objects; what it raises are the classes of `tracelake._errors`.

mod error;
mod panics;
mod schema;
mod stream;
mod work;

use std::ffi::OsString;
use std::time::Duration;

use pyo3::prelude::*;
use serde_json::json;
use tracelake::program;
use tracelake::program::Conversion;
use tracelake_convert::plan::Shard;
use tracelake_convert::run::{Commit, CommitOptions};
use tracelake_convert::{plan, run};
use tracelake_core::error::{Error, ErrorKind};
use tracelake_core::event::Event;
use tracelake_lake::plan_file::MOST_SHARDS;
use tracelake_lake::store::{RELEASE, SUMS, progress, read_manifest};
use tracelake_location::Location;
use tracelake_verify::Verdict;
use tracelake_verify::release::Allow;
use tracelake_verify::{self as verify, inspect, release};

use self::work::{Interrupted, Progress, work};

/// The native functions of the package `tracelake`, which wraps them.
#[pymodule]
mod _tracelake {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::schema::{arrow_schema, describe, duckdb_views, spark_named, traces};
    #[pymodule_export]
    use super::stream::{Reader, read_part};
    #[pymodule_export]
    use super::{
        commit, convert, facts, generate, inspect_path, main, manifest, panic, prepare,
        release_lake, verify_lake,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::panics::keep();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// Runs the program with these arguments and returns its exit code.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    panics::print();
    py.detach(|| program::run(arguments))
}

/// Converts what the arguments of `tracelake convert` name; returns the manifest as JSON.
#[pyfunction]
fn convert(
    py: Python<'_>,
    arguments: Vec<OsString>,
    watch: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    work(py, watch.as_ref(), Interrupted::Wait, move |progress| {
        let asked = conversion(arguments, progress)?;
        let plan = plan::plan(&asked.request)?;
        progress.begin(plan.bytes());
        for warning in &plan.warnings {
            progress.show(Event::Warning(warning.clone()));
        }
        let run_options = asked.run_options(progress.stop_flag());
        let outcome = run::convert(&plan, &asked.out, run_options, &|event| {
            progress.show(event)
        })?;
        text(outcome.manifest.to_json()?)
    })
}

/// Parses arguments of `convert`; waiting for the server of SRC ends with the work.
fn conversion(arguments: Vec<OsString>, progress: &Progress) -> Result<Conversion, Error> {
    let mut asked = program::conversion(arguments)?;
    let stopped = run::until_stopped(progress.stop_flag());
    asked.request.source = asked.request.source.interrupted_by(&stopped);
    Ok(asked)
}

/// Plans what the arguments of `tracelake convert` name, and prepares the lake for `shards` workers; by
/// default, each file is a shard. Returns the number of shards and the bytes to read as JSON; null if the
/// lake is finished.
#[pyfunction]
fn prepare(
    py: Python<'_>,
    arguments: Vec<OsString>,
    shards: Option<u32>,
    watch: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    work(py, watch.as_ref(), Interrupted::Wait, move |progress| {
        let asked = conversion(arguments, progress)?;
        let plan = plan::plan(&asked.request)?;
        for warning in &plan.warnings {
            progress.show(Event::Warning(warning.clone()));
        }
        let files = plan.parts().count() + plan.streams.len();
        let of =
            shards.unwrap_or_else(|| u32::try_from(files).unwrap_or(MOST_SHARDS).min(MOST_SHARDS));
        if !(1..=MOST_SHARDS).contains(&of) {
            let reason = format!("shards: {of} is not from 1 to {MOST_SHARDS}");
            return Err(Error::new(ErrorKind::Usage, reason));
        }
        let mut run_options = asked.run_options(progress.stop_flag());
        run_options.shard = Some(Shard { index: 0, of });
        let watch = |event| progress.show(event);
        let agreed = run::prepare(&plan, &asked.out, run_options, &watch)?;
        let answer = agreed.map(|_| json!({"shards": of, "bytes": plan.bytes()}));
        Ok(json!(answer).to_string())
    })
}

/// Commits a lake whose shards were converted; returns the manifest as JSON. It waits `patience` seconds
/// for workers that are about to end.
#[pyfunction]
fn commit(
    py: Python<'_>,
    lake: OsString,
    patience: u32,
    max_rejects: Option<u64>,
    threads: Option<usize>,
) -> PyResult<String> {
    work(py, None, Interrupted::Wait, move |progress| {
        let threads = threads.unwrap_or_else(program::all_threads);
        let mut options = CommitOptions::new(threads, progress.stop_flag());
        options.max_rejects = max_rejects;
        let patience = Duration::from_secs(patience.into());
        let stopped = run::until_stopped(progress.stop_flag());
        let lake = Location::parse(&lake)?.interrupted_by(&stopped);
        let commit = Commit::open(&lake, patience)?;
        let outcome = commit.finish(options, &|event| progress.show(event))?;
        text(outcome.manifest.to_json()?)
    })
}

/// The finished parts of an unfinished lake, as noted by its workers so far, as JSON.
#[pyfunction]
fn facts(py: Python<'_>, lake: OsString) -> PyResult<String> {
    work(py, None, Interrupted::Leave, move |_| {
        let parts = progress(&Location::parse(&lake)?)?.parts;
        let parts: Vec<_> = parts
            .iter()
            .map(|(table, facts)| {
                json!({
                    "table": table, "cell": facts.cell, "file_number": facts.file_number, "rows": facts.rows_out,
                    "rejected": facts.rows_rejected, "bytes": facts.output.bytes,
                    "source": facts.source.path, "source_bytes": facts.source.bytes,
                })
            })
            .collect();
        Ok(json!(parts).to_string())
    })
}

/// Reads the manifest of a finished lake, as JSON.
#[pyfunction]
fn manifest(py: Python<'_>, lake: OsString) -> PyResult<String> {
    work(py, None, Interrupted::Leave, move |_| {
        text(read_manifest(&Location::parse(&lake)?)?.to_json()?)
    })
}

/// The contents of a lake or a source, as JSON.
#[pyfunction]
fn inspect_path(py: Python<'_>, path: OsString, trace: Option<&str>) -> PyResult<String> {
    let trace = trace.map(|name| schema::find_trace(py, name)).transpose()?;
    work(py, None, Interrupted::Leave, move |_| {
        let inventory = inspect::inspect_as(Location::parse(&path)?, trace)?;
        serde_json::to_string(&inventory)
            .map_err(|error| Error::new(ErrorKind::Failed, error.to_string()))
    })
}

/// The result of a verification: its totals as JSON, and one exception for each finding.
type Found = (String, Vec<Py<PyAny>>);

/// Verifies a lake. If it's interrupted, it doesn't wait for the file that is being read.
#[pyfunction]
fn verify_lake(
    py: Python<'_>,
    lake: OsString,
    source: Option<OsString>,
    threads: Option<usize>,
    watch: Option<Bound<'_, PyAny>>,
) -> PyResult<Found> {
    let threads = threads.unwrap_or_else(program::all_threads);
    let verdict = work(py, watch.as_ref(), Interrupted::Leave, move |progress| {
        let watch = |event| progress.show_or_end(event);
        let source = source.as_deref().map(Location::parse).transpose()?;
        verify::verify(&Location::parse(&lake)?, source.as_ref(), threads, &watch)
    })?;
    found(py, &verdict)
}

/// Verifies a lake and, where nothing is wrong, writes the files of its release.
#[pyfunction]
fn release_lake(
    py: Python<'_>,
    lake: OsString,
    allow_missing: bool,
    allow_rejects: bool,
    threads: Option<usize>,
) -> PyResult<Found> {
    let threads = threads.unwrap_or_else(program::all_threads);
    let mut allow = Allow::default();
    (allow.rejects, allow.missing) = (allow_rejects, allow_missing);
    let verdict = work(py, None, Interrupted::Wait, move |progress| {
        release::release(&Location::parse(&lake)?, allow, threads, &|event| {
            progress.show_or_end(event)
        })
    })?;
    found(py, &verdict)
}

fn found(py: Python<'_>, verdict: &Verdict) -> PyResult<Found> {
    let rows = verdict.manifest.rows();
    let files: Vec<&str> = RELEASE.into_iter().chain([SUMS]).collect();
    let totals = json!({
        "parts": verdict.parts, "rows": rows, "values": verdict.values,
        "not_converted": verdict.not_converted, "not_compared": verdict.not_compared, "files": files,
    });
    let findings = verdict.findings.iter();
    let findings = findings.map(|one| Ok(error::exception(py, one)?.into_value(py).into_any()));
    Ok((totals.to_string(), findings.collect::<PyResult<_>>()?))
}

/// Generates a synthetic trace; returns its tables as JSON.
#[pyfunction]
fn generate(
    py: Python<'_>,
    trace: &str,
    out: OsString,
    parts: u32,
    rows: u64,
    seed: u64,
    watch: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let trace = schema::find_trace(py, trace)?;
    let out = program::on_disk(&out).map_err(|error| error::raised(py, &error))?;
    let options = tracelake_generate::Options { parts, rows, seed };
    work(py, watch.as_ref(), Interrupted::Wait, move |progress| {
        let watch = |table: &str, part, rows| progress.generated(table, part, rows);
        let made = tracelake_generate::generate(trace, &out, &options, &watch);
        let made = made.map_err(|error| {
            let kind = match error {
                tracelake_generate::Error::Options(_) => ErrorKind::Usage,
                tracelake_generate::Error::NotEmpty(_) => ErrorKind::Refused,
                _ => ErrorKind::Failed,
            };
            Error::new(kind, error.to_string()).because(error)
        })?;
        let tables = made.tables.iter().map(|table| {
            json!({"name": table.name, "parts": table.parts, "rows": table.rows, "bytes": table.bytes})
        });
        Ok(json!({"trace": trace.name, "tables": tables.collect::<Vec<_>>()}).to_string())
    })
}

/// Panics, so that a test can see what becomes of a panic.
#[pyfunction]
#[expect(clippy::panic, reason = "what the function is for")]
fn panic(py: Python<'_>) -> PyResult<()> {
    work(py, None, Interrupted::Wait, |_: &Progress| {
        panic!("asked for")
    })
}

fn text(json: Vec<u8>) -> tracelake_core::error::Result<String> {
    String::from_utf8(json).map_err(|error| Error::new(ErrorKind::Failed, error.to_string()))
}
