//! Whether the disks have room for the work, by an estimate.

use std::collections::BTreeSet;
use std::path::Path;

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::words::group_digits;
use tracelake_lake::PartName;
use tracelake_location::{Location, free_bytes};

use super::plan::{ClusterPlan, Group, Way};
use super::request::ClusterOptions;

/// The least that a value takes while rows are sorted, in bytes, on average.
const VALUE_BYTES: u64 = 2;

/// Bytes that a row takes beside its values while rows are sorted.
const ROW_BYTES: u64 = 32;

/// The share of their size that files take at least once their rows are in another order.
const SMALLEST: (u64, u64) = (1, 4);

/// Resources needed and available, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// The least space for the files.
    pub files: u64,
    /// The least space for the rows that are being sorted, at the same time.
    pub sorted: u64,
    /// The most memory.
    pub memory: u64,
    /// Free where the lake is; `None` in a bucket.
    pub free: Option<u64>,
    /// Free where rows are sorted, if that is elsewhere.
    pub free_to_sort: Option<u64>,
}

impl Room {
    /// Looks at what a plan takes at `out` beside the files that are done.
    #[must_use]
    pub fn of(
        plan: &ClusterPlan,
        done: &BTreeSet<PartName>,
        out: &Location,
        options: &ClusterOptions,
    ) -> Self {
        let is_todo = |group: &&Group| {
            let mut outputs = group.outputs.iter();
            outputs.any(|output| !done.contains(&group.name(output)))
        };
        let sorted = |group: &Group| match group.way {
            Way::Sorted(_) => {
                let columns = group.table.columns.len() as u64;
                group
                    .rows()
                    .saturating_mul(columns * VALUE_BYTES + ROW_BYTES)
            }
            _ => 0,
        };
        let todo = plan.groups.iter().filter(is_todo);
        let bytes = todo
            .clone()
            .map(|group| group.bytes() / SMALLEST.1 * SMALLEST.0);
        let elsewhere = match (&options.spill, out.as_path()) {
            (Some(spill), _) => Some(spill.clone()),
            (None, Some(_)) => None,
            (None, None) => Some(std::env::temp_dir()),
        };
        Self {
            files: bytes.fold(0, u64::saturating_add),
            sorted: todo.map(sorted).max().unwrap_or_default(),
            memory: options.memory,
            free: out.as_path().and_then(free_bytes),
            free_to_sort: elsewhere.as_deref().and_then(free_bytes),
        }
    }

    /// Refuses to begin if a disk is clearly too small.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if less is free than the work takes at least.
    pub fn check(&self, out: &Location) -> Result<()> {
        let refuse = |free: u64, needed: u64, hint: &'static str| {
            let reason = format!(
                "too little room: {} bytes are free on its disk, and by an estimate the work takes at least {}",
                group_digits(free),
                group_digits(needed)
            );
            Err(Error::new(ErrorKind::Refused, reason).at(out).hint(hint))
        };
        let here = self.files.saturating_add(match self.free_to_sort {
            Some(_) => 0,
            None => self.sorted,
        });
        match (self.free, self.free_to_sort) {
            (Some(free), _) if free < here => refuse(
                free,
                here,
                "free some, or name a directory on a larger disk, also with --spill",
            ),
            (_, Some(free)) if free < self.sorted => refuse(
                free,
                self.sorted,
                "rows are sorted on another disk: free some there, or name a larger one with --spill",
            ),
            _ => Ok(()),
        }
    }
}

/// Refuses a directory for rows that are sorted that isn't one.
///
/// # Errors
/// [`ErrorKind::Usage`].
pub(super) fn check_spill(directory: &Path) -> Result<()> {
    match directory.is_dir() {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::Usage, "is not a directory")
            .at(directory)
            .hint("name an existing directory with --spill")),
    }
}
