//! Findings of the checker: counts, and everything that is wrong.

use std::fmt::Debug;

/// Counts of what was checked, and findings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    pub(crate) files: usize,
    /// Without a row.
    pub(crate) empty_files: usize,
    pub(crate) row_groups: usize,
    /// Data pages without a value.
    pub(crate) null_pages: usize,
    /// Column chunks whose data pages have two encodings.
    pub(crate) mixed_chunks: usize,
    /// Values, NULLs and empty lists.
    pub(crate) values: usize,
    pub(crate) bloom_filters: usize,
    /// Texts among the bounds that were cut short.
    pub(crate) cut_bounds: usize,
    pub(crate) findings: Vec<String>,
}

impl Seen {
    /// Notes that something is wrong.
    pub(super) fn find(&mut self, place: &str, what: &str) {
        self.findings.push(format!("{place}: {what}"));
    }

    /// Notes that something is wrong, unless it is right.
    pub(super) fn ensure(&mut self, place: &str, is_right: bool, wrong: &str) {
        if !is_right {
            self.find(place, wrong);
        }
    }

    /// Notes a difference.
    pub(super) fn expect<T: PartialEq + Debug>(
        &mut self,
        place: &str,
        what: &str,
        said: T,
        real: T,
    ) {
        if said != real {
            self.find(place, &format!("{what} is {said:?}, real {real:?}"));
        }
    }
}
