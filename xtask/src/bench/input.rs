//! The input of the benchmarks.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tracelake_schema::Trace;

use crate::workspace::{generate, target};

/// A source of a trace in this many parts, with this many rows of its largest table; `form` is an option of `generate`.
pub(super) fn generated(
    root: &Path,
    program: &Path,
    trace: &Trace,
    (parts, rows): (u64, u64),
    form: Option<&str>,
) -> Result<PathBuf> {
    let kind = form.map_or_else(String::new, |form| format!("-{form}"));
    let name = format!("{}-{parts}x{rows}{kind}", trace.name);
    let source = target(root).join("bench-data").join(name);
    // The input is a function of its rows, so that of an earlier run is as good.
    if !source.join("SHA256SUM").exists() {
        let [parts, rows] = [parts, rows].map(|number| number.to_string());
        let mut options = vec!["--parts", &parts, "--rows", &rows];
        options.extend(form.into_iter().flat_map(|form| ["--form", form]));
        generate(program, trace, &source, &options)?;
    }
    Ok(source)
}

/// The last table of a trace, which is the largest one.
pub(super) fn largest(trace: &Trace) -> Result<&str> {
    let last = trace.tables.last();
    Ok(&last.context("a trace has tables")?.name)
}
