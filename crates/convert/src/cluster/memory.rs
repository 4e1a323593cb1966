//! How much of the memory each step may take.

use super::request::Arrangement;

/// Memory for the program, the manifests and the plan, in bytes.
const BASE: u64 = 16 << 20;

/// Memory for reading a file: a page and a dictionary of each column, and a batch of rows.
const READER: u64 = 32 << 20;

/// The least that rows are sorted in.
const LEAST_SORTED: u64 = 8 << 20;

/// Memory for encoding a file: a row group with the dictionaries of its columns, and the rows on their way to it. Row
/// groups are smaller where rows are put together.
const WRITER: u64 = 112 << 20;
const ENTITY_WRITER: u64 = 40 << 20;

/// The least that is kept for reading sorted rows.
const LEAST_MERGED: u64 = 3 << 20;

/// Memory for reading a run of sorted rows: a block, and the current row.
const RUN: u64 = 2 * crate::sorting::BLOCK as u64;

/// The most runs that are merged at a time: more would be slower than merging twice.
const MOST_RUNS: u64 = 256;

/// The least memory for each thread: threads that share the columns of a file have buffers of their own.
const THREAD: u64 = 48_000_000;

/// The memory of the steps, all of which may run on each of some threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Memory {
    /// Threads that work.
    pub(super) threads: usize,
    /// Files that are read at a time.
    pub(super) readers: usize,
    /// Bytes in which each of them sorts its rows.
    pub(super) sorted: usize,
    /// Files that are written at a time.
    pub(super) writers: usize,
    /// Runs that each of them merges at a time.
    pub(super) runs: usize,
}

impl Memory {
    /// Shares this many bytes among some threads.
    pub(super) fn of(bytes: u64, threads: usize, arrangement: &Arrangement) -> Self {
        let writer = match arrangement {
            Arrangement::By(_) => ENTITY_WRITER,
            Arrangement::Compact => WRITER,
        };
        let most = usize::try_from(bytes / THREAD).unwrap_or(usize::MAX);
        let threads = threads.min(most).max(1);
        let bytes = bytes.saturating_sub(BASE);
        let at_once = |least: u64| {
            let most = usize::try_from(bytes / least).unwrap_or(usize::MAX);
            most.clamp(1, threads)
        };
        let readers = at_once(READER + LEAST_SORTED);
        let writers = at_once(writer + LEAST_MERGED);
        let sorted = (bytes / readers as u64).saturating_sub(READER);
        let merged = (bytes / writers as u64).saturating_sub(writer);
        let runs = merged.max(LEAST_MERGED) / RUN;
        Self {
            threads,
            readers,
            sorted: usize::try_from(sorted.max(LEAST_SORTED)).unwrap_or(usize::MAX),
            writers,
            runs: usize::try_from(runs.min(MOST_RUNS)).unwrap_or(usize::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::request::{LEAST_MEMORY, LEAST_MEMORY_COMPACT};

    #[test]
    fn steps_share_the_memory() {
        let by_job = Arrangement::By("job".to_owned());
        let least = Memory::of(LEAST_MEMORY, 8, &by_job);
        assert_eq!((least.threads, least.readers, least.writers), (1, 1, 1));
        assert!(least.sorted >= 8 << 20 && least.runs >= 16, "{least:?}");
        let more = Memory::of(2 << 30, 2, &by_job);
        assert_eq!((more.threads, more.readers, more.writers), (2, 2, 2));
        assert_eq!(more.runs, 256);
        assert!(more.sorted > 900 << 20, "{more:?}");
        let compact = |bytes| Memory::of(bytes, 2, &Arrangement::Compact).writers;
        assert_eq!([LEAST_MEMORY_COMPACT, 384_000_000].map(compact), [1, 2]);
        assert_eq!(Memory::of(0, 0, &by_job), Memory::of(1, 1, &by_job));
    }
}
