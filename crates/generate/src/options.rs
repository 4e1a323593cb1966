//! Options of a synthetic trace.

use tracelake_core::options::SourceForm;
use tracelake_schema::{Table, Trace};

/// How much to generate, and in which form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// The parts of every table that is published in parts or shards, 1 to 99,999.
    pub parts: u32,
    /// The rows of the largest table in total over its parts, at least one for each part and at most 10^12.
    pub rows: u64,
    /// The seed of the random numbers; another seed makes another trace.
    pub seed: u64,
    /// The form of the tables that are published in two; the rows are the same.
    pub form: SourceForm,
}

impl Default for Options {
    /// Two parts, 100,000 rows, seed 1, JSON: a few seconds and a few megabytes.
    fn default() -> Self {
        Self {
            parts: 2,
            rows: 100_000,
            seed: 1,
            form: SourceForm::Json,
        }
    }
}

impl Options {
    /// The command that generates a trace with these options.
    pub(crate) fn command(&self, trace: &Trace) -> String {
        let Self {
            parts,
            rows,
            seed,
            form,
        } = self;
        let form = match form {
            SourceForm::Json => String::new(),
            SourceForm::Parquet => format!(" --form {form}"),
        };
        let name = &trace.name;
        format!("generate {name} --parts {parts} --rows {rows} --seed {seed}{form}")
    }

    /// Whether a table is written as Parquet.
    pub(crate) fn is_parquet(&self, table: &Table) -> bool {
        table.parquet && self.form == SourceForm::Parquet
    }
}
