//! The manifest, a lake's record of itself: its origin, its parts, and the counting law they keep.
//!
//! A manifest carries a digest of itself; see [`seal`].

mod part_facts;
mod tests;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::options::Accepted;
use tracelake_core::origin::{Origin, unreadable};
use tracelake_core::part_key::{CellName, PartKey};
use tracelake_core::seal;
use tracelake_core::settings::Settings;
use tracelake_core::with_origin;
use tracelake_schema::Table;

pub(crate) use part_facts::stays_below;
pub use part_facts::{FileFacts, PartFacts, PartFields, is_relative};

/// The largest manifest, in bytes: at least 150,000 parts with the paths of published
/// traces. A run checks it before it starts work, so nothing is written that can't be read back.
pub const MOST_BYTES: u64 = 256 << 20;

/// The most bytes one part takes in a manifest, apart from its three paths.
const PART_BYTES: u64 = 1_400;

/// The directory of the rejects files, relative to the lake.
pub const REJECTS: &str = "_tracelake/rejects";

with_origin! {
    /// The content of `_tracelake/manifest.json`, which is written last. It has no clock and no absolute
    /// path, so the same input gives the same bytes.
    #[non_exhaustive]
    pub struct Manifest {
        /// The program that made the lake, and the options.
        pub origin: Origin,
        /// The SHA-256 of `lake.json`.
        pub lake: Digest,
        /// The tables, in the order of the trace.
        pub tables: Vec<TableFacts>,
        /// The tables that were looked for in an archive, which doesn't have them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub absent: Vec<AbsentTable>,
    }
}

/// A table that an archive doesn't have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AbsentTable {
    /// Its name.
    pub name: String,
    /// The archive.
    pub source: FileFacts,
}

/// One table of a lake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TableFacts {
    /// Its name.
    pub name: String,
    /// The SHA-256 of the names, types and nullability in its Arrow schema.
    pub schema_fingerprint: String,
    /// Rows in all outputs.
    pub rows: u64,
    /// Rows of all sources that the lake's selection leaves out; `None` if it selects no rows of the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_not_selected: Option<u64>,
    /// Its parts, in the order of their cells and file numbers.
    pub parts: Vec<PartFacts>,
}

impl TableFacts {
    /// The table of this name, without parts.
    #[must_use]
    pub fn new(name: &str, schema_fingerprint: String) -> Self {
        Self {
            name: name.to_owned(),
            schema_fingerprint,
            rows: 0,
            rows_not_selected: None,
            parts: Vec::new(),
        }
    }

    /// Adds a part, and the rows of its output.
    pub fn push(&mut self, part: PartFacts) {
        self.rows = self.rows.saturating_add(part.rows_out);
        if let Some(rows) = part.rows_not_selected {
            let before = self.rows_not_selected.unwrap_or(0);
            self.rows_not_selected = Some(before.saturating_add(rows));
        }
        self.parts.push(part);
    }

    /// Rows in all sources.
    #[must_use]
    pub fn rows_in(&self) -> u64 {
        let rows = self.parts.iter().map(|part| part.rows_in);
        rows.fold(0, u64::saturating_add)
    }

    /// The table of each cell by itself; in a lake without cells, all of it, which isn't copied.
    #[must_use]
    pub fn by_cell(&self) -> BTreeMap<Option<CellName>, Cow<'_, Self>> {
        let mut cells: BTreeMap<Option<CellName>, Cow<'_, Self>> = BTreeMap::new();
        if !self.parts.is_empty() && self.parts.iter().all(|part| part.cell.is_none()) {
            cells.insert(None, Cow::Borrowed(self));
            return cells;
        }
        for part in &self.parts {
            let facts = cells.entry(part.cell).or_insert_with(|| {
                Cow::Owned(Self::new(&self.name, self.schema_fingerprint.clone()))
            });
            facts.to_mut().push(part.clone());
        }
        cells
    }

    /// The cell of the parts, if they are of one.
    #[must_use]
    pub fn cell(&self) -> Option<CellName> {
        self.parts.first().and_then(|part| part.cell)
    }

    /// Whether the lake has every published part, so that [`TableFacts::rows_in`] can be compared with
    /// a published count. The parts are of one cell, or of none: see [`TableFacts::by_cell`].
    #[must_use]
    pub fn is_whole(&self, table: &Table, options: &Settings) -> bool {
        let numbers: BTreeSet<u32> = self.parts.iter().map(|part| part.file_number).collect();
        let cut = self.parts.iter().find_map(|part| part.of);
        let parts = cut.unwrap_or_else(|| options.published_parts(table, self.cell()));
        if cut.is_none() && table.naming.is_sparse {
            return parts > 0 && u32::try_from(numbers.len()) == Ok(parts);
        }
        // What is cut is numbered from 0.
        let first = cut.map_or(table.naming.first, |_| 0);
        let whole = first..first.saturating_add(parts);
        !numbers.is_empty() && numbers.into_iter().eq(whole)
    }

    /// How many more rows were read than published, negative if some are missing. `None` without a
    /// published count, or if the lake doesn't have all parts.
    #[must_use]
    pub fn more_than_published(&self, table: &Table, options: &Settings) -> Option<i64> {
        let published = table
            .published_in(self.cell())
            .filter(|_| self.is_whole(table, options))?;
        let more = i128::from(self.rows_in()) - i128::from(published.rows);
        // A manifest may say anything.
        Some(i64::try_from(more).unwrap_or(i64::MAX))
    }
}

impl Manifest {
    /// The manifest of these tables, in a lake whose identity has this digest.
    #[must_use]
    pub fn new(origin: Origin, lake: Digest, tables: Vec<TableFacts>) -> Self {
        Self {
            origin,
            lake,
            tables,
            absent: Vec::new(),
        }
    }

    /// Reads a manifest and checks its digest.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if the content doesn't match the digest, or there is none;
    /// [`ErrorKind::Refused`] if the digest is right but the content isn't that of a manifest, or has
    /// options that only another version knows.
    pub fn read(json: &[u8]) -> Result<Self> {
        if !seal::is_whole(json) {
            let reason = "the manifest is damaged: its content doesn't match the digest at its end";
            return Err(Error::new(ErrorKind::Corrupt, reason));
        }
        let manifest: Self = serde_json::from_slice(json).map_err(|error| {
            let hint = "use the version of tracelake that made it";
            unreadable("a manifest", json, error).or_hint(hint)
        })?;
        manifest.origin.check_format()?;
        Ok(manifest)
    }

    /// Checks the counting law, `rows_in = rows_out + rows_rejected + rows_not_selected`, per part and in total.
    ///
    /// # Errors
    /// Names the first part or table that breaks it.
    pub fn check_counts(&self) -> Result<()> {
        for table in &self.tables {
            let mut rows = 0_u128;
            let mut not_selected = None;
            for part in &table.parts {
                if !part.counts_add_up() {
                    let selected = match part.rows_not_selected {
                        Some(rows) => format!(", {rows} not selected"),
                        None => String::new(),
                    };
                    let reason = format!(
                        "{} rows in, but {} out and {} rejected{selected}",
                        part.rows_in, part.rows_out, part.rows_rejected
                    );
                    return Err(Error::new(ErrorKind::Failed, reason)
                        .at(&part.output.path)
                        .field(table.name.clone()));
                }
                rows += u128::from(part.rows_out);
                if let Some(rows) = part.rows_not_selected {
                    not_selected = Some(not_selected.unwrap_or(0) + u128::from(rows));
                }
            }
            if not_selected != table.rows_not_selected.map(u128::from) {
                let rows =
                    |rows: Option<u128>| rows.map_or("none".to_owned(), |rows| rows.to_string());
                let reason = format!(
                    "rows_not_selected is {}, but {} in its parts",
                    rows(table.rows_not_selected.map(u128::from)),
                    rows(not_selected)
                );
                return Err(Error::new(ErrorKind::Failed, reason).field(table.name.clone()));
            }
            if rows != u128::from(table.rows) {
                let reason = format!("{} rows, but {rows} in its parts", table.rows);
                return Err(Error::new(ErrorKind::Failed, reason).field(table.name.clone()));
            }
        }
        Ok(())
    }

    /// The rows of all tables.
    #[must_use]
    pub fn rows(&self) -> u64 {
        let rows = self.tables.iter().map(|table| table.rows);
        rows.fold(0, u64::saturating_add)
    }

    /// The rejected rows of all tables.
    #[must_use]
    pub fn rows_rejected(&self) -> u64 {
        let rows = self.parts().map(|(_, part)| part.rows_rejected);
        rows.fold(0, u64::saturating_add)
    }

    /// The rows of all tables that the lake's selection leaves out; `None` if it selects no rows.
    #[must_use]
    pub fn rows_not_selected(&self) -> Option<u64> {
        let rows = self
            .tables
            .iter()
            .filter_map(|table| table.rows_not_selected);
        rows.reduce(u64::saturating_add)
    }

    /// Everything accepted in all parts although it isn't as published.
    #[must_use]
    pub fn accepted(&self) -> Accepted {
        let by_part = self.parts().map(|(_, part)| part.accepted());
        by_part.fold(Accepted::default(), Accepted::and)
    }

    /// The cells of the lake; [`None`] is that of parts without one.
    #[must_use]
    pub fn cells(&self) -> BTreeSet<Option<CellName>> {
        self.parts().map(|(_, part)| part.cell).collect()
    }

    /// All parts in order, each with the name of its table.
    pub fn parts(&self) -> impl Iterator<Item = (&str, &PartFacts)> {
        self.tables.iter().flat_map(|table| {
            table
                .parts
                .iter()
                .map(move |part| (table.name.as_str(), part))
        })
    }

    /// The table and the key of each part.
    pub(crate) fn part_names(&self) -> BTreeSet<(&str, PartKey)> {
        self.parts()
            .map(|(table, facts)| (table, facts.key()))
            .collect()
    }

    /// All files of the lake except the manifest.
    pub fn files(&self) -> impl Iterator<Item = &FileFacts> {
        self.parts().flat_map(|(_, part)| part.files())
    }

    /// Checks that no more rows are rejected than this.
    ///
    /// # Errors
    /// [`ErrorKind::Misfit`].
    pub fn check_rejects(&self, most: Option<u64>) -> Result<()> {
        let rejected = self.parts().map(|(_, part)| part.rows_rejected);
        check_rejects(rejected.fold(0, u64::saturating_add), most).map_err(|error| {
            error.hint(format!("look at them in {REJECTS}, or raise --max-rejects"))
        })
    }

    /// Writes `manifest.json`, its digest included. Returns its length in bytes.
    fn write(&self, file: impl Write) -> io::Result<u64> {
        let bytes = seal::write_document(file, self)?;
        check_bytes(bytes).map_err(io::Error::other)?;
        Ok(bytes)
    }

    /// The bytes of `manifest.json`, its digest included.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if the manifest would be too large to be read back.
    ///
    /// # Memory
    /// Its bytes: they are counted first, because a vector that grows takes up to three times as much.
    pub fn to_json(&self) -> Result<Vec<u8>> {
        let failed = |error| Error::disk("write", error);
        let bytes = self.write(io::sink()).map_err(failed)?;
        let mut json = Vec::with_capacity(usize::try_from(bytes).unwrap_or_default());
        self.write(&mut json).map_err(failed)?;
        Ok(json)
    }
}

/// Ends the work when there are too many rejected rows.
///
/// # Errors
/// [`ErrorKind::Misfit`].
pub fn check_rejects(rejected: u64, most: Option<u64>) -> Result<()> {
    match most {
        Some(most) if rejected > most => Err(Error::new(
            ErrorKind::Misfit,
            format!("more than {most} rows are rejected"),
        )
        .hint("look at the first one without --on-bad-row, or raise --max-rejects")),
        _ => Ok(()),
    }
}

/// The most bytes that a part with these paths takes in a manifest.
#[must_use]
pub fn most_bytes(paths: [&str; 3]) -> u64 {
    // A control character becomes six bytes, such as \u001b.
    let escaped = |path: &str| -> usize {
        path.bytes()
            .map(|byte| match byte {
                b'"' | b'\\' => 2,
                0..=0x1f => 6,
                _ => 1,
            })
            .sum()
    };
    paths.into_iter().fold(PART_BYTES, |bytes, path| {
        bytes.saturating_add(escaped(path) as u64)
    })
}

/// Checks that a manifest of this size can be read back.
///
/// # Errors
/// [`ErrorKind::Refused`] if it can't.
pub fn check_bytes(bytes: u64) -> Result<()> {
    if bytes <= MOST_BYTES {
        return Ok(());
    }
    let reason = format!(
        "too many parts: the manifest could take {bytes} bytes, and at most {MOST_BYTES} are read"
    );
    Err(Error::new(ErrorKind::Refused, reason)
        .hint("select tables or parts, pass a larger --part-rows, or make several lakes"))
}
