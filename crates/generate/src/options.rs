//! How much to generate.

/// How much to generate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The parts of every table that is published in parts or shards, 1 to 99,999.
    pub parts: u32,
    /// The rows of the largest table in total over its parts, at least one for each part and at most 10^12.
    pub rows: u64,
    /// The seed of the random numbers; another seed makes another trace.
    pub seed: u64,
}

impl Default for Options {
    /// Two parts, 100,000 rows, seed 1: a few seconds and a few megabytes.
    fn default() -> Self {
        Self {
            parts: 2,
            rows: 100_000,
            seed: 1,
        }
    }
}
