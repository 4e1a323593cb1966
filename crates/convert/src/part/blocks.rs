//! Blocks of rows that a part is converted to, and their counts.

use tracelake_core::error::Result;
use tracelake_core::options::Accepted;

/// The counts of a part that was converted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// Rows in the source.
    pub rows_in: u64,
    /// Rows in the output.
    pub rows_out: u64,
    /// Rows that could not be converted.
    pub rows_rejected: u64,
    /// Rows that the rules of the table don't select; `None` if it has no rules.
    pub rows_not_selected: Option<u64>,
    /// Values that were spelled differently and mapped to a sentinel.
    pub sentinels_mapped: u64,
    /// Deviations from the published form that were accepted.
    pub accepted: Accepted,
    /// The smallest and the largest value of the time column, including sentinels.
    pub time: Option<(i64, i64)>,
}

/// The rows of a part as blocks of an output.
pub(super) trait Blocks<B>: Send {
    /// The next block; `None` after the last one.
    fn fill(&mut self) -> Result<Option<B>>;

    /// The counts, after the last block.
    fn converted(&self) -> Converted;
}
