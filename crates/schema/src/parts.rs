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

    /// The names of its published files, in a cell if one is given; `None` if their number isn't known.
    ///
    /// ```
    /// use tracelake_schema::{Files, Table};
    ///
    /// let mut table = Table::plain("jobs", []);
    /// assert_eq!(table.file_names(None).unwrap(), ["jobs.csv.gz"]);
    /// (table.files, table.parts) = (Files::Parts, 2);
    /// assert_eq!(table.file_names(None).unwrap()[1], "jobs/part-00001-of-00002.csv.gz");
    /// ```
    #[must_use]
    pub fn file_names(&self, cell: Option<&str>) -> Option<Vec<String>> {
        let (name, extension) = (&self.name, self.syntax.extension());
        let parts = Some(self.parts_in(cell)).filter(|parts| *parts > 0);
        let names = match self.files {
            Files::Parts => {
                let parts = parts?;
                let file = |part| format!("{name}/part-{part:05}-of-{parts:05}.{extension}.gz");
                (0..parts).map(file).collect()
            }
            Files::Shards => {
                let file = |shard| format!("{name}-{shard:012}.{extension}.gz");
                (0..parts?).map(file).collect()
            }
            Files::Named => {
                let parts = parts.or_else(|| self.naming.count())?;
                let names = (0..parts).map(|part| self.naming.name_of(part, parts));
                names.collect::<Option<_>>()?
            }
            Files::Whole => {
                let first = self.naming.patterns.first();
                let plain = || format!("{name}.{extension}.gz");
                vec![first.map_or_else(plain, |pattern| pattern.text.clone())]
            }
            Files::Derived => Vec::new(),
        };
        Some(names)
    }

    fn shards_of(&self, cell: &str) -> Option<&CellShards> {
        self.shards.iter().find(|shards| shards.cell == cell)
    }
}
