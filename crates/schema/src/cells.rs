//! The cells of a trace: clusters that were traced side by side, each published in a separate place.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;

use crate::description::is_identifier;
use crate::{CellShards, Files, Published, Table, Trace};

/// The cells of a trace whose files have the same names in each cell.
///
/// In a lake, a cell is a partition above the file number: `cell=a/file_number=17`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cells {
    /// The names of the cells, in ascending order.
    pub names: Vec<String>,
    /// The name of the bucket or directory of a cell, with `{cell}` in place of the cell.
    pub directory: String,
    /// The meaning of a cell.
    pub doc: String,
}

impl Cells {
    /// The cell of a name, as the catalog spells it.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&str> {
        let mut names = self.names.iter().map(String::as_str);
        names.find(|cell| *cell == name)
    }

    /// The cell that a bucket or directory of this name is published for.
    #[must_use]
    pub fn of_directory(&self, name: &str) -> Option<&str> {
        let (start, end) = self.directory.split_once("{cell}")?;
        self.find(name.strip_prefix(start)?.strip_suffix(end)?)
    }

    /// The name of a cell's bucket or directory.
    #[must_use]
    pub fn directory_of(&self, cell: &str) -> String {
        self.directory.replace("{cell}", cell)
    }
}

impl Trace {
    /// The cells that a table is published by; a table in one file covers all of them.
    #[must_use]
    pub fn cells_of(&self, table: &Table) -> Option<&Cells> {
        let cells = self.cells.as_ref();
        cells.filter(|_| table.files != Files::Whole)
    }
}

impl Table {
    /// The number of published parts, in a cell if one is given; 0 if it is unknown.
    #[must_use]
    pub fn parts_in(&self, cell: Option<&str>) -> u32 {
        match cell {
            None => self.parts,
            Some(cell) => self.shards_of(cell).map_or(0, |shards| shards.count),
        }
    }

    /// The number of published Parquet parts, in a cell if one is given; 0 if it is unknown.
    #[must_use]
    pub fn parquet_parts_in(&self, cell: Option<&str>) -> u32 {
        let shards = cell.and_then(|cell| self.shards_of(cell));
        shards.map_or(0, |shards| shards.parquet)
    }

    /// The number of published rows, in a cell if one is given; `None` if it isn't known.
    #[must_use]
    pub fn published_in(&self, cell: Option<&str>) -> Option<&Published> {
        match cell {
            None => self.published.as_ref(),
            Some(cell) => self.shards_of(cell)?.rows.as_ref(),
        }
    }

    fn shards_of(&self, cell: &str) -> Option<&CellShards> {
        self.shards.iter().find(|shards| shards.cell == cell)
    }
}

/// The most names of cells that a process keeps.
const MAX_CELL_NAMES: usize = 1 << 16;

/// The names that were asked for.
static CELL_NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// A name that a cell can have, of whatever trace; `None` for another text. It may become the name of a directory.
///
/// # Memory
/// The name, until the process ends; of at most 65,536 names.
///
/// # Example
///
/// ```
/// assert_eq!(tracelake_schema::cell_name("a"), Some("a"));
/// assert_eq!(tracelake_schema::cell_name("../a"), None);
/// ```
#[must_use]
pub fn cell_name(name: &str) -> Option<&'static str> {
    let mut names = CELL_NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return Some(known);
    }
    if names.len() >= MAX_CELL_NAMES {
        return None;
    }
    let name: &str = is_identifier(name).then(|| Box::leak(name.into()))?;
    names.insert(name);
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_names_its_cell() {
        let cells = Cells {
            names: ["a", "b"].map(str::to_owned).into(),
            directory: "moon_{cell}_1969".to_owned(),
            doc: "a crater".to_owned(),
        };
        assert_eq!(cells.of_directory("moon_b_1969"), Some("b"));
        assert_eq!(cells.directory_of("b"), "moon_b_1969");
        for other in ["moon_c_1969", "moon__1969", "moon_b", "b", "moon_1969", ""] {
            assert_eq!(cells.of_directory(other), None, "{other}");
        }
    }
}
