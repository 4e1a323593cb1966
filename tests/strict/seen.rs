//! Findings of the checker: counts, and everything that is wrong.

use std::collections::BTreeMap;
use std::fmt::Debug;

/// Counts of what was checked, and findings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    pub(crate) files: usize,
    /// Without a row.
    pub(crate) empty_files: usize,
    pub(crate) row_groups: usize,
    pub(crate) pages: usize,
    /// Data pages without a value.
    pub(crate) null_pages: usize,
    /// Column chunks whose data pages have two encodings.
    pub(crate) mixed_chunks: usize,
    /// Values, NULLs and empty lists.
    pub(crate) values: usize,
    /// Pages whose header has a checksum.
    pub(crate) checksums: usize,
    pub(crate) bloom_filters: usize,
    /// Column chunks of lists, which have no column index.
    pub(crate) without_column_index: usize,
    /// Texts among the bounds that were cut short.
    pub(crate) cut_bounds: usize,
    /// The most indices in a bit-packed run.
    pub(crate) longest_packed: usize,
    /// How many columns have which order.
    pub(crate) orders: BTreeMap<&'static str, usize>,
    /// How many pages have which encoding.
    pub(crate) encodings: BTreeMap<i64, usize>,
    pub(crate) findings: Vec<String>,
}

impl Seen {
    /// The counts, as a line of text.
    pub(crate) fn counts(&self) -> String {
        let findings = Vec::new();
        let counts = Self {
            findings,
            ..self.clone()
        };
        format!("{counts:?}")
    }

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
