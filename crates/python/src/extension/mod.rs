//! The extension module of the Python package `tracelake`: the library, with the interpreter
//! released while it works. What it returns is JSON, from which `python/tracelake` makes typed
//! objects; what it raises are the classes of `tracelake._errors`.

mod error;
mod schema;
mod stream;
mod work;

use std::ffi::OsString;
use std::str::FromStr;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use serde_json::json;
use tracelake::program;
use tracelake_convert::plan::Shard;
use tracelake_convert::{plan, run};
use tracelake_core::error::{Error, ErrorKind};
use tracelake_core::options::SourceForm;
use tracelake_fetch::Checked;
use tracelake_lake::plan_file::MOST_SHARDS;
use tracelake_lake::{Commit, CommitOptions, Parts, SUMS, progress};
use tracelake_location::Location;
use tracelake_verify::release::ReleaseOptions;
use tracelake_verify::since::{self, Changes};
use tracelake_verify::{Verdict, Verification, inspect, manifest_of, release};

use self::work::work;

/// The native functions of the package `tracelake`, which wraps them.
#[pymodule]
mod _tracelake {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::schema::{
        arrow_schema, describe, duckdb_pattern, duckdb_views, shown_time, spark_named,
        spark_pattern, traces,
    };
    #[pymodule_export]
    use super::stream::{Reader, read_part};
    #[pymodule_export]
    use super::{
        cluster, commit, convert, facts, fetch, generate, inspect_path, main, manifest,
        open_descriptors, panic, prepare, query_command, redacted, release_lake, verify_lake,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::program::keep_panics();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// Runs the program with these arguments and returns its exit code.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| program::run(arguments))
}

/// The command of this package that the program's arguments ask for: its options as JSON, and its paths. If there is
/// nothing to do but to print, that is done, and the exit code returned.
#[pyfunction]
fn query_command(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<Py<PyAny>> {
    match py.detach(|| program::query_command(arguments)) {
        Ok(command) => {
            let paths = command.paths.into_iter().map(OsString::from);
            (command.options, paths.collect::<Vec<_>>()).into_py_any(py)
        }
        Err(code) => code.into_py_any(py),
    }
}

/// Opens descriptors 0 to 2 where they are closed, before a file that is written gets one of these numbers.
#[pyfunction]
fn open_descriptors(py: Python<'_>) -> PyResult<()> {
    work::open_descriptors(py)
}

/// A text in which URLs may be, without what may be a secret.
#[pyfunction]
fn redacted(text: &str) -> String {
    tracelake_core::redact::redacted(text)
}

/// Converts what the arguments of `tracelake convert` name; returns the manifest as JSON.
#[pyfunction]
fn convert(
    py: Python<'_>,
    arguments: Vec<OsString>,
    watch: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    work(py, watch.as_ref(), None, move |work| {
        let conversion = program::conversion(arguments)?;
        let context = conversion.within(&work.context);
        let plan = plan::plan(&context, &conversion.request)?;
        work.begin(plan.bytes());
        for warning in &plan.warnings {
            context.warn(warning.clone());
        }
        let outcome = run::convert(&context, &plan, &conversion.out, conversion.run_options())?;
        text_of(&outcome.manifest)
    })
}

/// Makes the lake that the arguments of `tracelake cluster` ask for; returns the manifest as JSON.
#[pyfunction]
fn cluster(
    py: Python<'_>,
    arguments: Vec<OsString>,
    watch: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    work(py, watch.as_ref(), None, move |work| {
        let begin = |bytes| work.begin(Some(bytes));
        let outcome = program::cluster(&work.context, arguments, begin)?;
        text_of(&outcome.manifest)
    })
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
    work(py, watch.as_ref(), None, move |work| {
        let conversion = program::conversion(arguments)?;
        let context = conversion.within(&work.context);
        let plan = plan::plan(&context, &conversion.request)?;
        for warning in &plan.warnings {
            context.warn(warning.clone());
        }
        let files = plan.parts().count() + plan.streams.len();
        let of =
            shards.unwrap_or_else(|| u32::try_from(files).unwrap_or(MOST_SHARDS).min(MOST_SHARDS));
        if !(1..=MOST_SHARDS).contains(&of) {
            let reason = format!("shards: {of} is not from 1 to {MOST_SHARDS}");
            return Err(Error::new(ErrorKind::Usage, reason));
        }
        let mut run_options = conversion.run_options();
        run_options.shard = Some(Shard { index: 0, of });
        let agreed = run::prepare(&context, &plan, &conversion.out, run_options)?;
        let answer = agreed.map(|_| json!({"shards": of, "bytes": plan.bytes()}));
        Ok(json!(answer).to_string())
    })
}

/// Commits a lake whose shards were converted; returns the manifest as JSON.
#[pyfunction]
fn commit(
    py: Python<'_>,
    lake: OsString,
    max_rejects: Option<u64>,
    threads: Option<usize>,
) -> PyResult<String> {
    work(py, None, threads, move |work| {
        let mut options = CommitOptions::default();
        options.max_rejects = max_rejects;
        let commit = Commit::open(&work.context, &Location::parse(&lake)?, options)?;
        let committed = commit.finish()?;
        committed.map_or_else(|| Ok("null".to_owned()), |manifest| text_of(&manifest))
    })
}

/// The finished parts of an unfinished lake, as noted by its workers so far, as JSON.
#[pyfunction]
fn facts(py: Python<'_>, lake: OsString) -> PyResult<String> {
    work(py, None, None, move |work| {
        let found = progress(&Location::parse(&lake)?.within(&work.context))?;
        let made = found.map_or_else(Parts::new, |found| found.made);
        let parts: Vec<_> = made
            .iter()
            .map(|(name, facts)| {
                json!({
                    "table": &*name.table, "cell": facts.cell, "file_number": facts.file_number, "rows": facts.rows_out,
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
    work(py, None, None, move |work| {
        let lake = Location::parse(&lake)?.within(&work.context);
        text_of(&manifest_of(&lake)?)
    })
}

/// The contents of a lake or a source, as JSON.
#[pyfunction]
fn inspect_path(py: Python<'_>, path: OsString, trace: Option<&str>) -> PyResult<String> {
    let trace = trace.map(|name| schema::find_trace(py, name)).transpose()?;
    work(py, None, None, move |work| {
        let inventory =
            inspect::inspect_as(&work.context, Location::parse(&path)?, trace.as_ref())?;
        serde_json::to_string(&inventory)
            .map_err(|error| Error::new(ErrorKind::Failed, error.to_string()))
    })
}

/// The result of a verification: its totals as JSON, and one exception for each finding.
type Findings = (String, Vec<Py<PyAny>>);

/// Verifies a lake.
#[pyfunction]
fn verify_lake(
    py: Python<'_>,
    lake: OsString,
    source: Option<OsString>,
    digest: Option<String>,
    threads: Option<usize>,
    watch: Option<Bound<'_, PyAny>>,
) -> PyResult<Findings> {
    let verdict = work(py, watch.as_ref(), threads, move |work| {
        let source = source.as_deref().map(Location::parse).transpose()?;
        let lake = Location::parse(&lake)?;
        let verification = Verification::open(&work.context, &lake, source.as_ref())?;
        verification.with_digest(digest.as_deref())?.run()
    })?;
    found(py, &verdict, None)
}

/// Verifies a lake and, where nothing is wrong, writes the files of its release.
#[pyfunction]
fn release_lake(
    py: Python<'_>,
    lake: OsString,
    switches: (bool, bool, bool),
    date: Option<String>,
    since: Option<OsString>,
    threads: Option<usize>,
    watch: Option<Bound<'_, PyAny>>,
) -> PyResult<Findings> {
    let mut options = ReleaseOptions::default();
    (options.allow_missing, options.allow_rejects, options.delta) = switches;
    options.date = date;
    let (verdict, changes) = work(py, watch.as_ref(), threads, move |work| {
        let (context, lake) = (&work.context, Location::parse(&lake)?);
        let old = since.map(|old| since::old_manifest(context, &Location::parse(&old)?, &lake));
        let old = old.transpose()?;
        let verdict = release::release(context, &lake, &options)?;
        let changes = old.map(|old| Changes::between(&old, &verdict.manifest));
        Ok((verdict, changes))
    })?;
    found(py, &verdict, changes.as_ref())
}

fn found(py: Python<'_>, verdict: &Verdict, changes: Option<&Changes>) -> PyResult<Findings> {
    let rows = verdict.manifest.rows();
    let released = verdict.released.iter().map(|path| &**path);
    let files: Vec<&str> = released.chain([SUMS]).collect();
    let totals = json!({
        "parts": verdict.parts, "rows": rows, "values": verdict.values,
        "not_converted": verdict.not_converted, "not_compared": verdict.not_compared, "files": files,
        "changes": changes,
    });
    let exception = |one| Ok(error::exception(py, one)?.into_value(py).into_any());
    let findings = verdict.findings.iter().map(exception);
    Ok((totals.to_string(), findings.collect::<PyResult<_>>()?))
}

/// Fetches what the arguments of `tracelake fetch` name; returns what was fetched as JSON.
#[pyfunction]
fn fetch(
    py: Python<'_>,
    arguments: Vec<OsString>,
    watch: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    work(py, watch.as_ref(), None, move |work| {
        let fetching = program::fetching(arguments)?;
        let plan = tracelake_fetch::plan(&work.context, &fetching.request)?;
        work.begin(plan.bytes());
        for (table, why) in &plan.left_out {
            work.context.warn(format!("{table} is left out: {why}"));
        }
        let done = tracelake_fetch::fetch(&work.context, &plan, &fetching.dir)?;
        let by_digest = done.checked_by(|checked| checked == Checked::Digest);
        let by_format = done.checked_by(|checked| matches!(checked, Checked::Format(_)));
        let by_size = done.checked_by(|checked| checked == Checked::Size);
        let unchecked = done.checked_by(|checked| checked == Checked::Nothing);
        Ok(json!({
            "trace": fetching.request.trace.name, "fetched": done.fetched, "bytes": done.bytes,
            "kept": done.kept, "by_digest": by_digest, "by_format": by_format, "by_size": by_size, "unchecked": unchecked,
        })
        .to_string())
    })
}

/// Generates a synthetic trace from its parts, rows and seed; returns its tables as JSON.
#[pyfunction]
fn generate(
    py: Python<'_>,
    trace: &str,
    out: OsString,
    numbers: (u32, u64, u64),
    form: &str,
    watch: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let trace = schema::find_trace(py, trace)?;
    let out = program::on_disk(&out).map_err(|error| error::raised(py, &error))?;
    let form = SourceForm::from_str(form).map_err(|expected| {
        error::raised(
            py,
            &Error::new(ErrorKind::Usage, format!("form: {expected}")),
        )
    })?;
    let (parts, rows, seed) = numbers;
    let mut options = tracelake_generate::Options::default();
    (options.parts, options.rows) = (parts, rows);
    (options.seed, options.form) = (seed, form);
    work(py, watch.as_ref(), None, move |work| {
        let made = tracelake_generate::generate(&work.context, &trace, &out, &options)?;
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
    work(py, None, None, |_| -> Result<(), Error> {
        panic!("asked for")
    })
}

/// A manifest as JSON; its trace is remembered.
fn text_of(manifest: &tracelake_lake::manifest::Manifest) -> tracelake_core::error::Result<String> {
    if let Some(trace) = manifest.origin.find_trace() {
        schema::remember(&trace);
    }
    text(manifest.to_json()?)
}

fn text(json: Vec<u8>) -> tracelake_core::error::Result<String> {
    String::from_utf8(json).map_err(|error| Error::new(ErrorKind::Failed, error.to_string()))
}
