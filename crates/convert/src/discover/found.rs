//! The files of a source.

use std::sync::Arc;

use tracelake_core::part_key::{PartKey, listed};
use tracelake_location::Location;
use tracelake_schema::{Files, Table, Trace};

/// The files found in a source.
#[derive(Debug)]
pub struct FoundSource {
    /// The directory that paths are relative to.
    pub root: Location,
    /// Its path without links: names of files may begin with those of directories above it.
    pub above: String,
    /// The tables with at least one file, by name.
    pub tables: Vec<FoundTable>,
    /// Archives that may hold any table of a trace, and the trace if their name has it.
    pub archives: Vec<(FoundFile, Option<Arc<Trace>>)>,
    /// Zip archives whose files are parts of `tables`.
    pub zips: Vec<String>,
    /// Whether there is a `schema.csv` in the root.
    pub schema_csv: bool,
    /// The files named `SHA256SUM`: in the root, or in the directories of cells.
    pub checksums: Vec<String>,
    /// Whether the root holds the directories of cells, so that paths of parts begin with one of these.
    pub holds_cells: bool,
    /// Likely files of tables that aren't read.
    pub skipped: Vec<Skipped>,
    /// Whether the source is a single file, which is taken alone.
    pub alone: bool,
    /// Whether `tracelake generate` made the source.
    pub synthetic: bool,
}

impl FoundSource {
    pub(super) fn new(root: Location, above: &Location) -> Self {
        Self {
            root,
            above: above.to_string(),
            tables: Vec::new(),
            archives: Vec::new(),
            zips: Vec::new(),
            schema_csv: false,
            checksums: Vec::new(),
            holds_cells: false,
            skipped: Vec::new(),
            alone: false,
            synthetic: false,
        }
    }

    /// Skips the files of some tables.
    pub(crate) fn skip(&mut self, is_skipped: impl Fn(&FoundTable) -> bool, why: &str) {
        let tables = self.tables.extract_if(.., |table| is_skipped(table));
        let parts = tables.flat_map(|table| table.parts);
        self.skipped.extend(parts.map(|part| Skipped {
            path: part.file.path,
            why: why.to_owned(),
        }));
    }

    /// A path with the directories above the source before it.
    pub(crate) fn whole(&self, path: &str) -> String {
        format!("{}/{path}", self.above)
    }

    /// The first file found, with the source's path before it; the source where there is none.
    pub(crate) fn first_path(&self) -> Location {
        let parts = self.tables.iter().flat_map(|table| &table.parts);
        let mut files = parts
            .map(|part| &part.file)
            .chain(self.archives.iter().map(|(file, _)| file));
        files
            .next()
            .map_or_else(|| self.root.clone(), |file| self.root.join(&file.path))
    }
}

/// A file or directory that isn't read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its path, relative to the root.
    pub path: String,
    /// Why, and what to do about it.
    pub why: String,
}

/// The files of one table.
#[derive(Debug)]
pub struct FoundTable {
    /// Its name; `None` when neither a directory nor a file name has it.
    pub name: Option<String>,
    /// How its files are named.
    pub files: Files,
    /// Whether they are Parquet.
    pub is_parquet: bool,
    /// The files, by cell, file number and path.
    pub parts: Vec<FoundPart>,
}

impl FoundTable {
    /// The table of its name in a trace.
    pub(crate) fn in_trace<'a>(&self, trace: &'a Trace) -> Option<&'a Arc<Table>> {
        trace.table(self.name.as_deref()?)
    }

    /// Its file numbers for people, such as `parts 0-2, 7`.
    pub(crate) fn numbers(&self) -> String {
        let mut keys: Vec<PartKey> = self.parts.iter().map(|part| part.key).collect();
        keys.dedup();
        let s = if keys.len() == 1 { "" } else { "s" };
        format!("part{s} {}", listed(&keys))
    }
}

/// One input file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// Its path, relative to the root, with forward slashes.
    pub path: String,
    /// Its size; `None` if no listing gives it.
    pub bytes: Option<u64>,
}

/// One input file of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPart {
    /// The file.
    pub file: FoundFile,
    /// Its cell, if a directory names one, and its file number, from 0; 0 for a table in one file.
    pub key: PartKey,
    /// How many parts its name says that there are, if it does.
    pub total: Option<u32>,
}

impl FoundPart {
    /// The number after that of the last part, where the first part has the number `first`.
    #[must_use]
    pub fn end(&self, first: u32) -> u32 {
        let after = self.key.file_number.saturating_add(1);
        self.total
            .map_or(after.max(first), |total| total.saturating_add(first))
    }

    /// How many parts there are at least.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.total.unwrap_or(self.key.file_number.saturating_add(1))
    }
}
