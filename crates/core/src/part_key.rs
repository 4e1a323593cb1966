//! The key of a part in its table: the cell and the file number.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use crate::options::Layout;
use crate::words;

/// The name of a cell, as the description of its trace spells it.
pub type CellName = &'static str;

/// The partitions that a part is in. They are ordered by cell, then by file number.
///
/// ```
/// use tracelake_core::options::Layout;
/// use tracelake_core::part_key::PartKey;
///
/// let part = PartKey { cell: Some("a"), file_number: 17 };
/// assert_eq!(part.folder("jobs", Layout::Hive), "jobs/cell=a/file_number=17");
/// assert_eq!(part.folder("jobs", Layout::Flat), "jobs/cell=a");
/// assert_eq!(part.to_string(), "17 of cell a");
/// assert_eq!(PartKey::from(17).to_string(), "17");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct PartKey {
    /// The cell, in a lake that is partitioned by cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell: Option<CellName>,
    /// The number in the names of the source and of the output.
    pub file_number: u32,
}

impl PartKey {
    /// The first of all.
    pub const FIRST: Self = Self {
        cell: None,
        file_number: 0,
    };

    /// The directory of the part below `parent`: that of its table, or of the rejects of its table.
    #[must_use]
    pub fn folder(self, parent: &str, layout: Layout) -> String {
        let Self { cell, file_number } = self;
        let cell_folder = cell.map_or_else(String::new, |cell| format!("/{CELL}{cell}"));
        match layout {
            Layout::Hive => format!("{parent}{cell_folder}/{FILE_NUMBER}{file_number}"),
            Layout::Flat => format!("{parent}{cell_folder}"),
        }
    }
}

/// How the directories of cells start.
pub const CELL: &str = "cell=";
/// How the directories of parts start, in the hive layout.
pub const FILE_NUMBER: &str = "file_number=";

impl From<u32> for PartKey {
    /// A part of a lake without cells.
    fn from(file_number: u32) -> Self {
        Self {
            cell: None,
            file_number,
        }
    }
}

impl fmt::Display for PartKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.file_number, of_cell(self.cell))
    }
}

/// Ascending parts for people.
///
/// ```
/// use tracelake_core::part_key::{PartKey, listed};
///
/// let part = |cell, file_number| PartKey { cell, file_number };
/// assert_eq!(listed(&[part(None, 0), part(None, 1), part(None, 5)]), "0-1, 5");
/// let cells = [part(Some("a"), 0), part(Some("a"), 1), part(Some("b"), 5)];
/// assert_eq!(listed(&cells), "0-1 of cell a, 5 of cell b");
/// ```
#[must_use]
pub fn listed(parts: &[PartKey]) -> String {
    let cells = parts.chunk_by(|a, b| a.cell == b.cell).map(|parts| {
        let numbers: Vec<u32> = parts.iter().map(|part| part.file_number).collect();
        let cell = parts.first().and_then(|part| part.cell);
        format!("{}{}", words::numbers(&numbers), of_cell(cell))
    });
    cells.collect::<Vec<_>>().join(", ")
}

/// ` of cell a`; nothing in a lake without cells.
#[must_use]
pub fn of_cell(cell: Option<&str>) -> String {
    cell.map_or_else(String::new, |cell| format!(" of cell {cell}"))
}

/// Reads a cell, of any trace. Other texts are refused, because a cell becomes the name of a directory.
///
/// # Errors
/// See [`tracelake_schema::cell_name`].
pub fn read_cell<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<CellName>, D::Error> {
    let name = Option::<String>::deserialize(deserializer)?;
    let cell = name.map(|name| tracelake_schema::cell_name(&name));
    cell.transpose().map_err(serde::de::Error::custom)
}
