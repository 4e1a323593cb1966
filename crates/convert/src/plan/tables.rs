//! The tables, files and parts of a plan.

use tracelake_core::digest::Digest;
use tracelake_core::field_order::FieldOrder;
use tracelake_core::options::{Format, Layout};
use tracelake_core::part_key::PartKey;
use tracelake_lake::manifest::REJECTS;
use tracelake_schema::description::MOST_PARTS;

/// Largest part count that file names may claim; published tables have up to 500. A name alone must not decide how much
/// memory a plan takes.
pub const PARTS_LIMIT: u32 = MOST_PARTS;

/// One table to convert.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TablePlan {
    /// Whether its files are Parquet.
    pub is_parquet: bool,
    /// Which field of its files is which column.
    pub order: FieldOrder,
    /// The parts that are files, in order; those of a stream are known when it is read.
    pub parts: Vec<PartPlan>,
    /// Parts that are not there.
    pub missing: Vec<PartKey>,
    /// Notes for people on its number of parts, where the lake doesn't show it.
    pub notes: Vec<String>,
}

/// One file that is cut into parts while it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamPlan {
    /// The input, relative to [`Plan::source`](super::Plan::source).
    pub source: String,
    /// The size of the input; `None` if no listing gives it.
    pub bytes: Option<u64>,
    /// The SHA-256 that the publisher names for it.
    pub sha256: Option<Digest>,
    /// The names of the tables it holds, in order. For an archive of all tables, those it may hold.
    pub tables: Vec<String>,
    /// Rows per part; the last part may have fewer.
    pub part_rows: u64,
}

/// One part to convert.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartPlan {
    /// Its cell and its file number.
    pub key: PartKey,
    /// The input, relative to [`Plan::source`](super::Plan::source).
    pub source: String,
    /// Where the input's path below the directory of its cell begins, in bytes; see [`PartPlan::recorded`].
    pub(crate) recorded_from: usize,
    /// The size of the input; `None` if no listing gives it.
    pub bytes: Option<u64>,
    /// The SHA-256 that the publisher names for it.
    pub sha256: Option<Digest>,
    /// How many parts there are, if the name of the input says it.
    pub(crate) total: Option<u32>,
    /// How many parts its table has, if it is converted alone.
    pub(crate) in_all: Option<u32>,
    /// The table that it's of.
    pub(crate) table: String,
    pub(crate) layout: Layout,
    pub(crate) format: Format,
}

impl PartPlan {
    /// A part of a table, whose input isn't named.
    pub(crate) fn new(key: PartKey, table: &str, layout: Layout, format: Format) -> Self {
        Self {
            key,
            source: String::new(),
            recorded_from: 0,
            bytes: None,
            sha256: None,
            total: None,
            in_all: None,
            table: table.to_owned(),
            layout,
            format,
        }
    }

    /// The input as the lake records it: relative to the directory of its cell, so that cells can be converted together
    /// or one after the other.
    #[must_use]
    pub fn recorded(&self) -> &str {
        self.source.get(self.recorded_from..).unwrap_or_default()
    }

    /// The output, relative to the lake.
    #[must_use]
    pub fn output(&self) -> String {
        let folder = self.key.folder(&self.table, self.layout);
        format!("{folder}/{}.{}", self.stem(), self.format)
    }

    /// The file of its rejects, relative to the lake.
    #[must_use]
    pub fn rejects(&self) -> String {
        let rejects = format!("{REJECTS}/{}", self.table);
        let folder = self.key.folder(&rejects, Layout::Flat);
        format!("{folder}/{}.ndjson", self.stem())
    }

    /// The name of its files without their extension.
    fn stem(&self) -> String {
        let number = self.key.file_number;
        match self.total {
            Some(total) => format!("part-{number:05}-of-{total:05}"),
            None => format!("part-{number:05}"),
        }
    }
}
