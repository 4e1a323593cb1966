//! A request to cluster a lake, before anything is read.

use std::path::PathBuf;

use tracelake_core::clustered::Clustered;
use tracelake_core::digest::Digest;
use tracelake_location::Location;

/// The size of files unless it is asked for, in bytes.
pub const FILE_SIZE: u64 = 256_000_000;

/// The most files of a table: a manifest has room for 150,000.
pub const MOST_FILES: u32 = 100_000;

/// The least memory that rows can be put together in, in bytes.
pub const LEAST_MEMORY: u64 = 64_000_000;

/// The least memory that rows can be cut into files in, in bytes: as for `convert`, whose row groups these files have.
pub const LEAST_MEMORY_COMPACT: u64 = 256_000_000;

/// A lake to cluster.
///
/// ```
/// use tracelake_convert::cluster::{Arrangement, ClusterRequest, FileCount};
///
/// let lake = std::path::Path::new("lake");
/// let mut request = ClusterRequest::new(lake, Arrangement::By("job".to_owned()));
/// request.files = FileCount::Files(16);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClusterRequest {
    /// The lake whose rows are taken.
    pub lake: Location,
    /// How its rows are arranged.
    pub arrangement: Arrangement,
    /// How many files they become.
    pub files: FileCount,
    /// The tables; empty for all.
    pub tables: Vec<String>,
}

impl ClusterRequest {
    /// All tables of a lake, in files of [`FILE_SIZE`].
    #[must_use]
    pub fn new(lake: impl Into<Location>, arrangement: Arrangement) -> Self {
        Self {
            lake: lake.into(),
            arrangement,
            files: FileCount::OfSize(FILE_SIZE),
            tables: Vec::new(),
        }
    }

    /// The least memory that this takes, in bytes.
    #[must_use]
    pub fn least_memory(&self) -> u64 {
        match self.arrangement {
            Arrangement::By(_) => LEAST_MEMORY,
            Arrangement::Compact => LEAST_MEMORY_COMPACT,
        }
    }

    /// The arrangement that the lake records; `files` is the number of files, where it is one for all tables.
    pub(super) fn clustered(&self, files: Option<u32>, source: Digest) -> Clustered {
        let by = match &self.arrangement {
            Arrangement::By(key) => Some(key.clone()),
            Arrangement::Compact => None,
        };
        let file_size = match self.files {
            FileCount::OfSize(bytes) if files.is_none() => Some(bytes),
            _ => None,
        };
        Clustered {
            by,
            files,
            file_size,
            source,
        }
    }
}

/// How rows are arranged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrangement {
    /// Rows with the same value of a sample key are together.
    By(String),
    /// They stay in their order.
    Compact,
}

/// How many files a table becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileCount {
    /// This many.
    Files(u32),
    /// Files of about this size, in bytes.
    OfSize(u64),
}

impl FileCount {
    /// The number of files for this many bytes.
    pub(super) fn of(self, bytes: u64) -> u64 {
        match self {
            Self::Files(files) => files.into(),
            Self::OfSize(size) => bytes.div_ceil(size.max(1)),
        }
        .max(1)
    }
}

/// How the work is done; nothing here changes a byte of the lake.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClusterOptions {
    /// The most memory that the work takes, in bytes, at least [`ClusterRequest::least_memory`].
    pub memory: u64,
    /// A directory for rows that are being sorted; `None` for the disk of the lake, or the system's for a lake in a
    /// bucket.
    pub spill: Option<PathBuf>,
    /// Whether an existing lake is replaced.
    pub overwrite: bool,
}

impl ClusterOptions {
    /// The options for this much memory.
    #[must_use]
    pub fn new(memory: u64) -> Self {
        Self {
            memory,
            spill: None,
            overwrite: false,
        }
    }
}
