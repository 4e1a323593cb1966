//! `_tracelake/plans/<digest>.json`: the parts that the shards of one command make.
//!
//! It depends on the command and the source alone, so all shards have the same. It is plain data with relative paths, so
//! workers may see the source and the lake under different roots.

mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::iter;

use serde::{Deserialize, Serialize};
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result, escape};
use tracelake_core::origin::{FORMAT, check_format, unreadable};
use tracelake_core::part_key::{CellName, PartKey, read_cell};
use tracelake_core::seal;
use tracelake_core::words;

use tracelake_schema::Trace;

use crate::PLANS;
use crate::manifest::is_relative;
use crate::parts::{PartName, Parts};

/// The most shards that a plan may have; a manifest can't have as many parts.
pub const MOST_SHARDS: u32 = 1_000_000;

/// The largest plan, in bytes: as many parts with the paths of published traces as a manifest can have. In
/// memory, a plan of short strings takes eight times as much.
pub const MOST_BYTES: u64 = 64 << 20;

/// The path of a plan with this digest.
pub(crate) fn path_of(sha256: Digest) -> String {
    format!("{PLANS}/{sha256}.json")
}

/// The content of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanFile {
    /// [`FORMAT`].
    format: u32,
    /// How many shards there are; 1 for a run without `--shard`, which doesn't put its plan.
    pub shards: u32,
    /// The tables to convert, with the order of the fields in their files.
    pub tables: Vec<PlannedTable>,
    /// The parts that are files.
    pub parts: Vec<PlannedPart>,
    /// The files that are cut into parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<PlannedStream>,
    /// The tables to derive.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derived: Vec<PlannedDerived>,
}

/// A table to convert.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTable {
    /// Its name.
    pub name: String,
    /// The columns in the order of the fields in its files.
    pub fields: Vec<String>,
}

/// A part that is a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedPart {
    /// Its table.
    pub table: String,
    /// Its cell, in a lake that is partitioned by cell.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "read_cell"
    )]
    pub cell: Option<CellName>,
    /// Its file number.
    pub file_number: u32,
    /// The shard that converts it, from 0.
    pub shard: u32,
    /// Its file.
    pub source: PlannedSource,
}

impl PlannedPart {
    /// Its cell and its file number.
    #[must_use]
    pub fn key(&self) -> PartKey {
        PartKey {
            cell: self.cell,
            file_number: self.file_number,
        }
    }

    fn name(&self) -> (&str, PartKey) {
        (&self.table, self.key())
    }
}

/// A file that is cut into parts: the work of one shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedStream {
    /// The tables that it holds or, if it is an archive, may hold.
    pub tables: Vec<String>,
    /// The file numbers to convert, as ranges; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected: Option<Vec<(u32, u32)>>,
    /// The shard that converts it, from 0.
    pub shard: u32,
    /// The file.
    pub source: PlannedSource,
}

/// A file of the source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedSource {
    /// Its path relative to SRC, or to the directory of its cell.
    pub path: String,
    /// Its size, if a listing gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Its published SHA-256, if no listing gives its size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
}

/// A table to derive, each part of it in the shard of the part that it is derived from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedDerived {
    /// Its name.
    pub table: String,
    /// The table that it is derived from.
    pub from: String,
}

/// Checks that a plan of this size can be read back.
///
/// # Errors
/// [`ErrorKind::Refused`] if it can't.
fn check_bytes(bytes: u64) -> Result<()> {
    if bytes <= MOST_BYTES {
        return Ok(());
    }
    let reason = format!("the plan has {bytes} bytes, and at most {MOST_BYTES} are read");
    Err(Error::new(ErrorKind::Refused, reason)
        .hint("select tables or parts, or make several lakes"))
}

impl PlanFile {
    /// The plan of these tables for some shards, none of which has a part yet.
    #[must_use]
    pub fn new(shards: u32, tables: Vec<PlannedTable>) -> Self {
        Self {
            format: FORMAT,
            shards,
            tables,
            parts: Vec::new(),
            streams: Vec::new(),
            derived: Vec::new(),
        }
    }

    /// Reads a plan.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if `json` isn't one, is damaged, has more than [`MOST_SHARDS`] shards or none,
    /// or another version wrote it.
    pub fn from_json(json: &[u8]) -> Result<Self> {
        if !seal::is_whole(json) {
            let reason = "the plan is damaged: its content doesn't match the digest at its end";
            return Err(Error::new(ErrorKind::Refused, reason));
        }
        let plan: Self = serde_json::from_slice(json).map_err(|error| {
            unreadable("a plan", json, error).or_hint("use the version of tracelake that wrote it")
        })?;
        check_format(plan.format, "another version")?;
        plan.check_streams()?;
        plan.check_shards()?;
        let parts = plan.parts.iter().map(|part| &part.source);
        let mut sources = parts.chain(plan.streams.iter().map(|stream| &stream.source));
        if let Some(source) = sources.find(|source| !is_relative(&source.path)) {
            let shown = escape(source.path.as_bytes(), 200);
            let reason = format!("not a plan: {shown} is a path that leads out of the source");
            return Err(Error::new(ErrorKind::Refused, reason));
        }
        Ok(plan)
    }

    /// Checks the number of shards, and that each file is in one of them.
    fn check_shards(&self) -> Result<()> {
        let refused = |reason| Err(Error::new(ErrorKind::Refused, reason));
        if !(1..=MOST_SHARDS).contains(&self.shards) {
            return refused(format!(
                "not a plan: it has {} shards, and a plan has 1 to {MOST_SHARDS}",
                self.shards
            ));
        }
        let parts = self.parts.iter().map(|part| part.shard);
        let mut shards = parts.chain(self.streams.iter().map(|stream| stream.shard));
        match shards.find(|shard| *shard >= self.shards) {
            Some(shard) => refused(format!(
                "not a plan: a file is in shard {shard}, and the last one is {}",
                self.shards - 1
            )),
            None => Ok(()),
        }
    }

    /// Checks that no file is cut into parts twice.
    fn check_streams(&self) -> Result<()> {
        let mut known = BTreeSet::new();
        let mut paths = self.streams.iter().map(|stream| &stream.source.path);
        match paths.find(|path| !known.insert(*path)) {
            None => Ok(()),
            Some(twice) => {
                let twice = tracelake_core::error::escape(twice.as_bytes(), 200);
                let reason = format!("not a plan: it has {twice} twice");
                Err(Error::new(ErrorKind::Refused, reason))
            }
        }
    }

    /// The bytes of the file.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if they are too many to be read back.
    pub fn to_json(&self) -> Result<Vec<u8>> {
        let mut json = Vec::new();
        seal::write_document(&mut json, self).map_err(|error| Error::disk("write", error))?;
        check_bytes(json.len() as u64)?;
        Ok(json)
    }

    /// How many files a shard reads, and their size in bytes; `None` if that of one isn't known.
    #[must_use]
    pub fn share(&self, shard: u32) -> (u64, Option<u64>) {
        let parts = self.parts.iter().map(|part| (part.shard, &part.source));
        let streams = self.streams.iter().map(|file| (file.shard, &file.source));
        let files = parts.chain(streams).filter(|(of, _)| *of == shard);
        files.fold((0, Some(0)), |(files, bytes), (_, source)| {
            let sum = bytes.zip(source.bytes);
            (files + 1, sum.map(|(a, b): (u64, u64)| a.saturating_add(b)))
        })
    }

    /// Which shard makes which part, for many questions.
    #[must_use]
    pub fn assignment(&self) -> Assignment<'_> {
        let mut parts: Vec<&PlannedPart> = self.parts.iter().collect();
        parts.sort_by_key(|part| part.name());
        Assignment { parts, plan: self }
    }

    /// A table and those that are derived from it.
    pub fn with_derived<'a>(&'a self, table: &'a str) -> impl Iterator<Item = &'a str> {
        let mine = (self.derived.iter()).filter(move |derived| derived.from == table);
        iter::once(table).chain(mine.map(|derived| &derived.table[..]))
    }

    /// The file that is cut into the parts of a table.
    #[must_use]
    pub fn stream_of(&self, table: &str) -> Option<&PlannedStream> {
        let mut streams = self.streams.iter();
        streams.find(|stream| stream.tables.iter().any(|name| name == table))
    }
}

/// The tables for people, with the number of their parts: `job_events (2 parts) in 4 shards`.
impl fmt::Display for PlanFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts_of = |name: &str| self.parts.iter().filter(|part| part.table == name).count();
        let of_streams = self.streams.iter().flat_map(|stream| &stream.tables);
        let names: Vec<&str> = of_streams.map(String::as_str).collect();
        let whole = names.join(", ");
        let cut = self
            .tables
            .iter()
            .map(|table| (&table.name[..], parts_of(&table.name)));
        let cut = words::tables(cut.filter(|(_, parts)| *parts > 0));
        let separator = if whole.is_empty() || cut.is_empty() {
            ""
        } else {
            ", "
        };
        write!(f, "{cut}{separator}{whole}")?;
        match self.shards {
            1 => Ok(()),
            shards => write!(f, " in {shards} shards"),
        }
    }
}

/// Which shard makes which part.
#[derive(Debug)]
pub struct Assignment<'a> {
    /// Sorted by table and key.
    parts: Vec<&'a PlannedPart>,
    plan: &'a PlanFile,
}

impl Assignment<'_> {
    /// The shard that makes a part; `None` if the plan doesn't have it.
    #[must_use]
    pub fn shard_of(&self, table: &str, key: PartKey) -> Option<u32> {
        if let Some(from) = self.derived_from(table) {
            // If an earlier plan made the part it's derived from, it's assigned by its number.
            let shard = self.shard_of_read(from, key);
            return Some(shard.unwrap_or(key.file_number % self.plan.shards.max(1)));
        }
        self.shard_of_read(table, key)
    }

    /// Whether a shard makes a part, or derives another one from it.
    #[must_use]
    pub fn is_for(&self, shard: u32, table: &str, key: PartKey) -> bool {
        let mut tables = self.plan.with_derived(table);
        tables.any(|table| self.shard_of(table, key) == Some(shard))
    }

    /// Whether the plan makes a part, if these are committed: one that is derived from a part of neither is left to the run
    /// that made that part.
    #[must_use]
    pub fn makes(&self, trace: &Trace, name: &PartName, committed: &Parts) -> bool {
        let read = self.derived_from(&name.table).unwrap_or(&name.table);
        let input = PartName::of(trace, read, name.key).filter(|input| input != name);
        self.shard_of_read(read, name.key).is_some()
            || input.is_some_and(|input| committed.contains_key(&input))
    }

    /// The table that a derived one is made from.
    fn derived_from(&self, table: &str) -> Option<&str> {
        let mut derived = self.plan.derived.iter();
        let derived = derived.find(|derived| derived.table == table)?;
        Some(&derived.from)
    }

    /// The shard that makes a part from a file of the source.
    fn shard_of_read(&self, table: &str, key: PartKey) -> Option<u32> {
        if let Some(part) = self.part(table, key) {
            return Some(part.shard);
        }
        let stream = self.plan.stream_of(table)?;
        stream.selects(key).then_some(stream.shard)
    }

    /// The file of a part that is a file.
    #[must_use]
    pub fn source_of(&self, table: &str, key: PartKey) -> Option<&PlannedSource> {
        let part = self.part(table, key)?;
        Some(&part.source)
    }

    fn part(&self, table: &str, key: PartKey) -> Option<&PlannedPart> {
        let found = self
            .parts
            .binary_search_by_key(&(table, key), |part| part.name());
        Some(self.parts[found.ok()?])
    }

    /// The shard that converts a file that is cut into parts.
    #[must_use]
    pub fn shard_of_stream(&self, source: &str) -> Option<u32> {
        let mut streams = self.plan.streams.iter();
        let stream = streams.find(|stream| stream.source.path == source)?;
        Some(stream.shard)
    }
}

impl PlannedStream {
    /// The parts to convert with a number below `most`.
    pub fn selected_below(&self, most: u32) -> impl Iterator<Item = PartKey> {
        let all = || vec![(0, u32::MAX)];
        let ranges = self.selected.clone().unwrap_or_else(all).into_iter();
        let numbers = ranges.flat_map(move |(first, last)| first..last.saturating_add(1).min(most));
        numbers.map(PartKey::from)
    }

    /// Whether a part is to be converted.
    #[must_use]
    pub fn selects(&self, key: PartKey) -> bool {
        let number = key.file_number;
        let selects = |ranges: &Vec<(u32, u32)>| {
            let mut all = ranges.iter();
            all.any(|(first, last)| (*first..=*last).contains(&number))
        };
        // A table published in one file has no cells.
        key.cell.is_none() && self.selected.as_ref().is_none_or(selects)
    }
}
