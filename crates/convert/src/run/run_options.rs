//! How a run is carried out: what doesn't change a byte of the lake.

use crate::plan::Shard;

/// How a run is carried out; nothing here changes a byte of the lake.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct RunOptions {
    /// The most parts that are converted at a time, at least 1, on as many threads; see [`parts_within`].
    pub parts_at_once: usize,
    /// Threads that wait for the disk or the bucket while others convert, at least 1; `None` for as many as the
    /// disk or the bucket needs.
    pub commits_at_once: Option<usize>,
    /// Whether an existing lake is replaced. Not together with a shard.
    pub overwrite: bool,
    /// The most rows that may be rejected in the whole lake; `None` for any number. A shard counts its
    /// own, and the commit all.
    pub max_rejects: Option<u64>,
    /// The shard to convert, without a commit; `None` to convert everything and commit.
    pub shard: Option<Shard>,
    /// Whether the work begins on a disk that is clearly too small for it.
    pub ignore_disk_space: bool,
}

impl Default for RunOptions {
    /// Converts everything, a part on each thread, into a new lake or one to resume.
    fn default() -> Self {
        Self {
            parts_at_once: usize::MAX,
            commits_at_once: None,
            overwrite: false,
            max_rejects: None,
            shard: None,
            ignore_disk_space: false,
        }
    }
}

impl RunOptions {
    /// The most memory that the run takes on some threads, in bytes.
    pub(super) fn most_memory(&self, threads: usize) -> u64 {
        let parts = threads.min(self.parts_at_once) as u64;
        MEMORY.saturating_add(PART_MEMORY.saturating_mul(parts))
    }

    /// The most bytes that the window of a compressed file may have, for [`Context::with_window`]: what `memory`, if it is
    /// limited, leaves beside the parts is shared by them.
    ///
    /// [`Context::with_window`]: tracelake_core::Context::with_window
    ///
    /// ```
    /// use tracelake_convert::run::RunOptions;
    ///
    /// let mut options = RunOptions::default();
    /// options.parts_at_once = 2;
    /// assert_eq!(options.window(None, 8), 32 << 20);
    /// assert_eq!(options.window(Some(384_000_000 + 2_000), 8), (32 << 20) + 1_000);
    /// ```
    #[must_use]
    pub fn window(&self, memory: Option<u64>, threads: usize) -> u64 {
        let parts = threads.min(self.parts_at_once).max(1) as u64;
        let left = memory
            .unwrap_or_default()
            .saturating_sub(self.most_memory(threads));
        WINDOW.saturating_add(left / parts)
    }
}

/// How many files are read ahead for each part that is converted, if a server has them. The first answer says how
/// large a file is, and the next ones give the rest: twice 100 ms, in which three parts of 5 MB are converted.
pub(super) const FILES_AHEAD: usize = 3;

/// Memory of a run apart from its parts, in bytes.
const MEMORY: u64 = 128_000_000;

/// The most memory of one part, in bytes: a row group being encoded, with the dictionaries of its
/// columns and their caches.
const PART_MEMORY: u64 = 128_000_000;

/// Memory for a window, out of [`PART_MEMORY`]: zstd needs 8 MiB up to level 19, xz 8 MiB by default and 64 MiB at
/// level 9.
const WINDOW: u64 = 32 << 20;

/// How many parts may be converted at a time within `memory` bytes; `None` if there isn't enough for
/// one.
///
/// ```
/// use tracelake_convert::run::parts_within;
/// assert_eq!(parts_within(400_000_000), Some(2));
/// assert_eq!(parts_within(255_000_000), None);
/// ```
#[must_use]
pub fn parts_within(memory: u64) -> Option<usize> {
    let parts = memory.saturating_sub(MEMORY) / PART_MEMORY;
    usize::try_from(parts).ok().filter(|&parts| parts > 0)
}
