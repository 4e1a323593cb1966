//! Events of a run, as plain data. The library never prints; the listener of a [`Context`](crate::Context) decides what to show.

use serde::Serialize;

use crate::part_key::PartKey;

/// Something that happened, reported from any thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// The conversion or the check of a part begins.
    Started {
        /// The table.
        table: String,
        /// The part.
        #[serde(flatten)]
        part: PartKey,
    },
    /// More bytes of a file were read: of a source by `convert`, of an output by `verify`.
    Read {
        /// The number of bytes on disk since the last such event.
        bytes: u64,
    },
    /// A part was committed.
    Finished {
        /// The table.
        table: String,
        /// The part.
        #[serde(flatten)]
        part: PartKey,
        /// Rows in the output.
        rows: u64,
        /// Rows that were rejected.
        rejected: u64,
        /// The size of the output in bytes.
        bytes_out: u64,
    },
    /// A part that an earlier run finished was validated and is kept.
    Kept {
        /// The table.
        table: String,
        /// The part.
        #[serde(flatten)]
        part: PartKey,
        /// Rows in the output.
        rows: u64,
        /// The size of its source in bytes.
        bytes: u64,
    },
    /// `verify` has checked a part and found nothing wrong.
    Verified {
        /// The table.
        table: String,
        /// The part.
        #[serde(flatten)]
        part: PartKey,
        /// Rows in the output.
        rows: u64,
    },
    /// `generate` has written more rows of a part.
    Generated {
        /// The table.
        table: String,
        /// The part.
        part: u32,
        /// Rows of the part so far.
        rows: u64,
    },
    /// `fetch` has a file, complete and checked.
    Fetched {
        /// Its path below the directory that is fetched to.
        path: String,
        /// Its size in bytes.
        bytes: u64,
        /// Whether it was there before.
        kept: bool,
    },
    /// Something worth knowing that doesn't stop the run.
    #[serde(skip)]
    Warning(String),
}
