//! The published parts of a table, their cells, and what the names of their files say.

use crate::{CellShards, Cells, Files, Published, Syntax, Table, Trace};

impl Trace {
    /// The cells that a table is published by; a table in one file covers all of them.
    #[must_use]
    pub fn cells_of(&self, table: &Table) -> Option<&Cells> {
        let cells = self.cells.as_ref();
        cells.filter(|_| table.files != Files::Whole)
    }
}

impl Table {
    /// Whether files of the table are Parquet, all of them or in one of two forms.
    #[must_use]
    pub fn is_published_as_parquet(&self) -> bool {
        self.parquet || self.syntax == Syntax::Parquet
    }

    /// Whether the value of a column comes from the name of the file.
    #[must_use]
    pub fn has_captures(&self) -> bool {
        let mut columns = self.columns.iter();
        columns.any(|column| column.spelling.capture.is_some())
    }

    /// The value that the path of a file gives to a column; `None` if it gives none.
    #[must_use]
    pub fn captured(&self, path: &str, capture: &str) -> Option<String> {
        let claims = self.naming.claims(path);
        let [claim] = &claims[..] else { return None };
        match capture {
            "n" => Some(claim.number.to_string()),
            "total" => claim.total.map(|total| total.to_string()),
            "date" => claim.date.clone(),
            _ => {
                let mut captures = self.naming.captures.iter();
                let index = captures.position(|known| known.name == capture)?;
                claim.values.get(index).cloned().flatten()
            }
        }
    }

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
