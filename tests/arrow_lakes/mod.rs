//! Lakes of Arrow files have the rows of the Parquet lakes, and everything else that these have.

mod commands;
mod same_rows;

use std::path::Path;

use tracelake_testkit::{Run, convert};

/// The options that make an Arrow lake.
const ARROW: [&str; 2] = ["--format", "arrow"];

/// Converts a source into an Arrow lake.
fn arrow(source: &Path, out: &Path, options: &[&str]) -> Run {
    convert(source, out, &[&ARROW, options].concat())
}
