//! The facts of a part and of a file.

use std::ops::{Deref, DerefMut};
use std::path::{Component, Path};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tracelake_core::digest::Digest;
use tracelake_core::options::Accepted;
use tracelake_core::part_key::{CellName, PartKey, read_cell};

/// One part of a table.
///
/// # Memory
/// A clone shares its facts until one of the two is changed: a run keeps those of all parts, to note, to check and to
/// list them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartFacts(pub(super) Arc<PartFields>);

impl Deref for PartFacts {
    type Target = PartFields;

    fn deref(&self) -> &PartFields {
        &self.0
    }
}

impl DerefMut for PartFacts {
    fn deref_mut(&mut self) -> &mut PartFields {
        Arc::make_mut(&mut self.0)
    }
}

impl Serialize for PartFacts {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.0.as_ref().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PartFacts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let fields = PartFields::deserialize(deserializer)?;
        Ok(Self(Arc::new(fields)))
    }
}

/// The facts of a part, as a manifest has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PartFields {
    /// The cell, in a lake that is partitioned by cell.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "read_cell"
    )]
    pub cell: Option<CellName>,
    /// The number in the names of the source and of the output.
    pub file_number: u32,
    /// The input file; the path is relative to SRC, or to the directory of the cell. If the file wasn't
    /// read to its end, size and digest are those of the bytes read.
    pub source: FileFacts,
    /// How many parts its source was cut into, if one file holds the whole table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u32>,
    /// How many parts its table has, if each part of it was converted alone and some are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_all: Option<u32>,
    /// Rows in the source.
    pub rows_in: u64,
    /// Rows in the output.
    pub rows_out: u64,
    /// Rows written to the rejects file.
    pub rows_rejected: u64,
    /// Rows that the lake's selection leaves out; `None` if it selects no rows of the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_not_selected: Option<u64>,
    /// Values that were mapped to a sentinel because the file spells it in another way.
    pub sentinels_mapped: u64,
    /// Whether its first line was accepted as a header: 1 if it was.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub headers_accepted: u64,
    /// Whether its first column was accepted as an index: 1 if it was.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub indexes_accepted: u64,
    /// Whether a byte order mark was accepted at its start: 1 if it was.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub boms_accepted: u64,
    /// Integers that were accepted although they are spelled `5.0`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub integral_floats_accepted: u64,
    /// Fields that were accepted as NULL although they aren't empty.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub nulls_accepted: u64,
    /// The smallest value of the table's time column, sentinels included.
    pub time_min: Option<i64>,
    /// The largest value of the table's time column, sentinels included.
    pub time_max: Option<i64>,
    /// Derived tables only: rows of the input table from which no row was derived. The source of such a
    /// part is a file of the lake, and `rows_in` counts the rows derived from it.
    #[serde(default, rename = "left_out", skip_serializing_if = "Option::is_none")]
    pub rows_not_derived: Option<u64>,
    /// The output file; the path is relative to OUT.
    pub output: FileFacts,
    /// The rejects file, if any row was rejected; the path is relative to OUT.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejects: Option<Box<FileFacts>>,
}

impl PartFacts {
    /// A part that has no rows, made from `source`.
    #[must_use]
    pub fn new(key: PartKey, source: FileFacts, output: FileFacts) -> Self {
        Self(Arc::new(PartFields {
            cell: key.cell,
            file_number: key.file_number,
            source,
            of: None,
            in_all: None,
            rows_in: 0,
            rows_out: 0,
            rows_rejected: 0,
            rows_not_selected: None,
            sentinels_mapped: 0,
            headers_accepted: 0,
            indexes_accepted: 0,
            boms_accepted: 0,
            integral_floats_accepted: 0,
            nulls_accepted: 0,
            time_min: None,
            time_max: None,
            rows_not_derived: None,
            output,
            rejects: None,
        }))
    }

    /// Everything accepted although it isn't as published.
    #[must_use]
    pub fn accepted(&self) -> Accepted {
        Accepted {
            headers: self.headers_accepted,
            indexes: self.indexes_accepted,
            boms: self.boms_accepted,
            integral_floats: self.integral_floats_accepted,
            nulls: self.nulls_accepted,
        }
    }

    /// Notes what was accepted.
    pub fn set_accepted(&mut self, accepted: Accepted) {
        self.headers_accepted = accepted.headers;
        self.indexes_accepted = accepted.indexes;
        self.boms_accepted = accepted.boms;
        self.integral_floats_accepted = accepted.integral_floats;
        self.nulls_accepted = accepted.nulls;
    }

    /// The cell and the file number.
    #[must_use]
    pub fn key(&self) -> PartKey {
        PartKey {
            cell: self.cell,
            file_number: self.file_number,
        }
    }

    /// Its files in the lake: the output, and the rejects file if it has one.
    pub fn files(&self) -> impl Iterator<Item = &FileFacts> {
        std::iter::once(&self.output).chain(self.rejects.as_deref())
    }

    /// Whether the part keeps the counting law, `rows_in = rows_out + rows_rejected + rows_not_selected`.
    #[must_use]
    pub fn counts_add_up(&self) -> bool {
        let sum = self.rows_out.checked_add(self.rows_rejected);
        let sum = sum.and_then(|sum| sum.checked_add(self.rows_not_selected.unwrap_or(0)));
        sum == Some(self.rows_in)
    }

    /// How many bytes of the source its digest covers: all (`u64::MAX`), unless the source is cut into
    /// parts and wasn't read to its end.
    #[must_use]
    pub fn digested(&self, is_cut: bool) -> u64 {
        if is_cut && self.of.is_none() {
            self.source.bytes
        } else {
            u64::MAX
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileFacts {
    /// A relative path with forward slashes.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// The SHA-256 of its bytes.
    pub sha256: Digest,
}

/// Whether a path names a file below a directory: relative, without `..` and without control characters.
pub fn is_relative(path: &str) -> bool {
    !path.is_empty() && !path.chars().any(char::is_control) && stays_below(path)
}

/// Whether a relative path stays below its directory. Symbolic links aren't followed.
pub(crate) fn stays_below(path: &str) -> bool {
    let is_name = |component| matches!(component, Component::Normal(_));
    Path::new(path).components().all(is_name)
}
