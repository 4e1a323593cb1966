//! The inputs of every step of a run.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_lake::{Goal, Parts, Working, check_rejects};

use super::run_options::RunOptions;
use crate::plan::Plan;

pub(super) fn no_threads(
    threads: usize,
    error: impl std::error::Error + Send + Sync + 'static,
) -> Error {
    let reason = format!("cannot start {threads} threads: {error}");
    Error::new(ErrorKind::Failed, reason)
        .hint("pass a smaller --threads")
        .because(error)
}

/// The inputs of every step of a run.
pub(super) struct Run<'a> {
    /// Cancelled by a signal, and by a part that failed.
    pub(super) context: Context,
    pub(super) plan: &'a Plan,
    pub(super) goal: &'a Goal<'a>,
    pub(super) working: &'a Working,
    /// The parts that were done before.
    pub(super) kept: &'a Parts,
    pub(super) run_options: RunOptions,
    /// Rows that were rejected so far.
    pub(super) rejected: AtomicU64,
    /// The names of tables already warned about.
    pub(super) doubted: Mutex<BTreeSet<String>>,
}

impl Run<'_> {
    /// Counts rejected rows, and ends the run when there are too many.
    pub(super) fn count_rejects(&self, rows: u64) -> Result<()> {
        let before = self.rejected.fetch_add(rows, Ordering::Relaxed);
        check_rejects(before.saturating_add(rows), self.run_options.max_rejects)
    }
}
