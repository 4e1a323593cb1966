//! The cells of a trace: clusters that were traced side by side, each published in a separate place.

use serde::Deserialize;

/// The cells of a trace whose files have the same names in each cell.
///
/// In a lake, a cell is a partition above the file number: `cell=a/file_number=17`.
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
