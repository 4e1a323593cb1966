//! The unfinished work of a plan.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tracelake_core::error::{Error, ErrorKind};
use tracelake_core::part_key::{PartKey, listed};
use tracelake_core::words::{for_shell, several};
use tracelake_location::Location;
use tracelake_schema::Trace;

use crate::manifest::{AbsentTable, PartFacts};
use crate::parts::{PartName, Parts, parts_of};
use crate::plan_file::{PlanFile, PlannedStream};

/// How many shards an error names whose parts are missing.
const SHARDS_SHOWN: usize = 8;

/// The most missing parts that are listed: facts may say anything, and must not decide how much memory a look at them
/// takes.
const LISTED: usize = 100_000;

/// A shard's unfinished work.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Remaining {
    /// The parts of each table.
    pub parts: BTreeMap<String, Vec<PartKey>>,
    /// Files that are cut into parts, and were not read to their end; relative to SRC.
    pub files: Vec<String>,
}

/// How many parts the files have that are cut into parts.
#[derive(Debug, Default)]
pub struct Counts {
    /// By their tables; known once a file was read to its end.
    of: BTreeMap<Arc<str>, u32>,
    absent: BTreeSet<AbsentTable>,
}

impl Counts {
    /// Counts from these parts, and from archives that lack some tables.
    pub(crate) fn new(parts: &Parts, absent: BTreeSet<AbsentTable>) -> Self {
        let mut of: BTreeMap<Arc<str>, u32> = BTreeMap::new();
        for (name, facts) in parts {
            if let Some(count) = facts.of {
                let most = of.entry(Arc::clone(&name.table)).or_default();
                *most = count.max(*most);
            }
        }
        Self { of, absent }
    }

    /// How many parts of a table a file has.
    fn get(&self, table: &str, stream: &PlannedStream) -> Option<u32> {
        let source = &stream.source;
        let is_absent = |absent: &AbsentTable| {
            let same_size = source
                .bytes
                .is_none_or(|bytes| bytes == absent.source.bytes);
            absent.name == table && absent.source.path == source.path && same_size
        };
        let known = self.of.get(table).copied();
        known.or_else(|| self.absent.iter().any(is_absent).then_some(0))
    }

    /// The selected parts of a file that are missing, each with its table. `None` if no run has read the file as far as it
    /// was wanted, so that the number of its parts isn't known.
    #[must_use]
    pub fn missing_of(
        &self,
        trace: &Trace,
        stream: &PlannedStream,
        parts: &Parts,
    ) -> Option<Vec<PartName>> {
        let mut missing = Vec::new();
        for table in &stream.tables {
            let table = trace.table(table)?;
            let is_there = |key: &PartKey| parts.contains_key(&PartName::new(&table.name, *key));
            let Some(count) = self.get(&table.name, stream) else {
                // With a selection, the parts themselves say whether all are there.
                let is_all = stream.selected.is_some()
                    && stream.selected_below(u32::MAX).all(|key| is_there(&key));
                match is_all {
                    true => continue,
                    false => return None,
                }
            };
            let first = table.naming.first;
            let lacking = stream
                .selected_below(first.saturating_add(count))
                .filter(|key| key.file_number >= first && !is_there(key))
                .map(|key| PartName::new(&table.name, key));
            missing.extend(lacking.take(LISTED - missing.len()));
        }
        Some(missing)
    }
}

/// Lists a plan's unfinished work, by shard; `parts` are done, and these of them are committed.
#[must_use]
pub fn remaining(
    trace: &Trace,
    plan: &PlanFile,
    parts: &Parts,
    committed: &Parts,
    counts: &Counts,
) -> BTreeMap<u32, Remaining> {
    let mut missing: BTreeMap<u32, Remaining> = BTreeMap::new();
    let mut lacks = |shard: u32, table: &str, key| {
        let parts = &mut missing.entry(shard).or_default().parts;
        parts.entry(table.to_owned()).or_default().push(key);
    };
    for part in &plan.parts {
        let name = PartName::of(trace, &part.table, part.key());
        if !name.is_some_and(|name| parts.contains_key(&name)) {
            lacks(part.shard, &part.table, part.key());
        }
    }
    let mut unread = Vec::new();
    for stream in &plan.streams {
        match counts.missing_of(trace, stream, parts) {
            None => unread.push(stream),
            Some(missing) => {
                for name in missing {
                    lacks(stream.shard, &name.table, name.key);
                }
            }
        }
    }
    let assignment = plan.assignment();
    for derived in &plan.derived {
        let Some(from) = trace.table(&derived.from) else {
            continue;
        };
        for (key, input) in parts_of(parts, &from.name) {
            let Some(name) = PartName::of(trace, &derived.table, key) else {
                continue;
            };
            let made = parts.get(&name);
            if assignment.makes(trace, &name, committed)
                && made.is_none_or(|made| !is_derived_from(made, input))
            {
                let shard = assignment.shard_of(&derived.table, key);
                lacks(shard.unwrap_or_default(), &derived.table, key);
            }
        }
    }
    for stream in unread {
        let shard = missing.entry(stream.shard).or_default();
        shard.files.push(stream.source.path.clone());
    }
    missing
}

/// Whether a derived part was made from another one, and says as much about the file of that one.
#[must_use]
pub fn is_derived_from(derived: &PartFacts, other: &PartFacts) -> bool {
    derived.source.sha256 == other.output.sha256 && derived.of == other.of
}

/// The error that names what is missing of plans, each with the number of its shards.
pub(crate) fn incomplete(root: &Location, plans: &[(u32, BTreeMap<u32, Remaining>)]) -> Error {
    let describe = |(shard, missing): (&u32, &Remaining)| {
        let parts = missing.parts.iter().map(|(table, keys)| {
            let mut sorted = keys.clone();
            sorted.sort_unstable();
            format!("{table} {}", listed(&sorted))
        });
        let files = missing
            .files
            .iter()
            .map(|file| format!("{file}, which is cut into parts"));
        let all: Vec<String> = parts.chain(files).collect();
        format!("shard {shard}: {}", all.join(", "))
    };
    let lacking = plans.iter().map(|(_, missing)| {
        let shown: Vec<String> = missing.iter().take(SHARDS_SHOWN).map(describe).collect();
        let more = match missing.len().saturating_sub(SHARDS_SHOWN) as u64 {
            0 => String::new(),
            more => format!("; and {}", several(more, "more shard")),
        };
        format!("{}{more}", shown.join("; "))
    });
    let reason = format!(
        "not finished: {}",
        lacking.collect::<Vec<_>>().join("; of another plan: ")
    );
    let first = plans.first();
    let shards = first.map_or(1, |(shards, _)| *shards);
    let shard = first
        .and_then(|(_, missing)| missing.keys().next().copied())
        .unwrap_or_default();
    let lake = for_shell(root);
    Error::new(ErrorKind::Refused, reason).at(root).hint(format!(
        "run tracelake convert SRC {lake} --shard {shard}/{shards} with the options of the others, for each of these \
         shards, then commit again; or give up what isn't committed: tracelake commit {lake} --forget"
    ))
}
