//! What happens during a run, as plain data. The library never prints: whoever watches decides.

/// Something that happened; handed to the watcher from any thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The conversion of a part begins.
    Started {
        /// The table.
        table: &'static str,
        /// The part's file number.
        file_number: u32,
    },
    /// More bytes of some source file were read, as they lie on disk.
    Read {
        /// How many more.
        bytes: u64,
    },
    /// A part is committed.
    Finished {
        /// The table.
        table: &'static str,
        /// The part's file number.
        file_number: u32,
        /// Rows in the output.
        rows: u64,
        /// Rows that were rejected.
        rejected: u64,
        /// The size of the output in bytes.
        bytes_out: u64,
    },
    /// A part was finished by an earlier run, validated, and is kept.
    Kept {
        /// The table.
        table: &'static str,
        /// The part's file number.
        file_number: u32,
        /// Rows in the output.
        rows: u64,
        /// The size of its source in bytes.
        bytes: u64,
    },
    /// `verify` has checked a part and found nothing wrong.
    Verified {
        /// The table.
        table: &'static str,
        /// The part's file number.
        file_number: u32,
        /// Rows in the output.
        rows: u64,
    },
    /// Something worth knowing that doesn't stop the run.
    Warning(String),
}

/// Whoever watches a run; called from several threads at once.
pub type Watcher<'a> = &'a (dyn Fn(Event) + Sync);
