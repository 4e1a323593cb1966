//! The parts that an earlier run finished: checked against the disk and the source, and kept or made again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use rayon::prelude::*;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::event::Event;
use tracelake_lake::manifest::PartFacts;
use tracelake_lake::store::{Hints, LakeProgress};
use tracelake_source as source;
use tracelake_source::Fingerprint;

use super::fate::{Fate, FoundPart, PartFiles, Role, decide};
use super::recheck::{Outputs, no_file_twice};
use super::{Parts, Run, TablePart, digest, parts_of};
use crate::plan::{PartPlan, check_sha256};

impl Run<'_> {
    /// Says what of the manifest and the journals isn't believed.
    pub(super) fn warn_of_damage(&self, progress: &LakeProgress) {
        if let Some(damaged) = &progress.damaged {
            self.context.warn(format!(
                "{damaged}; parts that can't be checked are converted again"
            ));
        }
        if progress.damaged_lines > 0 {
            self.context.warn(format!(
                "damaged lines in this lake's journals: {}; their parts are converted again",
                progress.damaged_lines
            ));
        }
    }

    /// Checks the parts that an earlier run finished and returns those to keep.
    pub(super) fn keep(&self, progress: &LakeProgress) -> Result<Parts> {
        let mut finished = self.last_of_each(progress);
        finished.retain(|&key, _| self.is_mine(key));
        let planned: BTreeMap<TablePart, &PartPlan> = self
            .plan
            .parts()
            .map(|(table, part)| ((table.index, part.key), part))
            .collect();
        let sources: BTreeMap<TablePart, (&str, u64)> = finished
            .iter()
            .filter_map(|(&key, facts)| {
                if let Some(part) = planned.get(&key) {
                    return Some((key, (&part.source[..], u64::MAX)));
                }
                // Also of a part that isn't selected: the file may be read again, and is then that of all its parts.
                let stream = self.plan.stream_of(key.0)?;
                Some((key, (&stream.source[..], facts.digested(true))))
            })
            .collect();
        // Only a part that isn't planned asks for them.
        let planned_outputs = LazyLock::new(|| {
            let parts = self.plan.parts();
            parts
                .map(|(_, part)| part.output())
                .collect::<BTreeSet<_>>()
        });
        let now = self.fingerprints(sources.values().copied())?;
        let format = self.plan.encoding.format();
        let hints = match self.run_options.shard {
            Some(_) => Hints::AskedFor,
            None => Hints::Listed,
        };
        let outputs = Outputs::new(&self.context, self.lake, format, progress, hints)?;
        let kept = finished.into_par_iter().map(|(key, facts)| {
            self.context.check()?;
            let table = key.0.table(self.plan.trace);
            // First, because this refuses a path that leads out of the lake, whatever else is wrong with it.
            let is_whole = outputs.are_whole(&facts)?;
            let files = match (self.is_misplaced(&planned, key, &facts), is_whole) {
                (true, _) => PartFiles::Misplaced,
                (false, false) => PartFiles::Damaged,
                (false, true) => {
                    let wrong = outputs.contradiction(table, &facts)?;
                    wrong.map_or(PartFiles::Whole, PartFiles::Contradicted)
                }
            };
            let is_selected = planned.contains_key(&key) || self.plan.selects(key.1.file_number);
            let role = match sources.get(&key) {
                Some(source) if !is_same(now.get(source), &facts) => Role::ChangedSource,
                Some(_) if is_selected => Role::SameSource,
                Some(_) => Role::NotSelected,
                None if self.is_derived(key) => Role::Derived,
                None if planned_outputs.contains(&facts.output.path) => Role::FileOfAnother,
                None => Role::NotSelected,
            };
            let (table, path) = (table.name, &facts.output.path);
            match files {
                PartFiles::Whole | PartFiles::Damaged => {}
                PartFiles::Contradicted(wrong) => self.context.warn(format!("{path}: {wrong}")),
                PartFiles::Misplaced => self.context.warn(format!(
                    "{path}: is not where the output of this part belongs"
                )),
            }
            match decide(FoundPart { files, role }) {
                Fate::Keep => {}
                Fate::Remake => {
                    self.context
                        .warn(format!("{path} is damaged and is converted again"));
                    return Ok(None);
                }
                Fate::RefuseSource => {
                    let source = sources.get(&key).map_or("", |source| source.0);
                    return Err(self.another_source(table, source));
                }
                Fate::RefuseDamage => {
                    let reason = "is damaged, but not selected";
                    return Err(Error::new(ErrorKind::Failed, reason)
                        .at(self.lake.root().join(path))
                        .hint("select it with --tables and --parts to convert it again"));
                }
            }
            if is_selected && sources.contains_key(&key) {
                // The rest of a stream comes after the kept parts, which are skipped.
                let bytes = match (planned.contains_key(&key), facts.of) {
                    (true, _) => facts.source.bytes,
                    (false, Some(parts)) => facts.source.bytes / u64::from(parts.max(1)),
                    (false, None) => 0,
                };
                self.context.emit(Event::Kept {
                    table,
                    part: key.1,
                    rows: facts.rows_out,
                    bytes,
                });
            }
            Ok(Some((key, facts)))
        });
        let kept: Parts = (kept.collect::<Result<Vec<_>>>()?.into_iter())
            .flatten()
            .collect();
        no_file_twice(self.lake.root(), &kept)?;
        self.check_listed(&kept)?;
        Ok(kept)
    }

    /// Compares the sources of finished parts with the digests that the publisher lists: they may have been converted
    /// without these.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if one differs.
    pub(super) fn check_listed(&self, finished: &Parts) -> Result<()> {
        for (table, part) in self.plan.parts() {
            let facts = finished.get(&(table.index, part.key));
            if let Some((expected, facts)) = part.sha256.zip(facts) {
                let path = self.plan.source.join(&part.source);
                check_sha256(&path, expected, facts.source.sha256)?;
            }
        }
        for stream in &self.plan.streams {
            let Some(expected) = stream.sha256 else {
                continue;
            };
            let path = self.plan.source.join(&stream.source);
            let tables = stream.tables.iter();
            let parts = tables.flat_map(|table| parts_of(finished, *table));
            let mut parts = parts.map(|(_, facts)| facts).peekable();
            let found = match parts.peek() {
                None => continue,
                Some(_) => parts.find(|facts| facts.of.is_some()),
            };
            // If all parts are of the beginning of the file, none of them has the digest of the rest.
            let found = match found {
                Some(facts) => facts.source.sha256,
                None => digest(&self.context, &path)?,
            };
            check_sha256(&path, expected, found)?;
        }
        Ok(())
    }

    /// Whether the output of a part of the plan is not where the plan puts it.
    fn is_misplaced(
        &self,
        planned: &BTreeMap<TablePart, &PartPlan>,
        key: TablePart,
        facts: &PartFacts,
    ) -> bool {
        if let Some(part) = planned.get(&key) {
            return part.output() != facts.output.path;
        }
        let (index, number) = (key.0, key.1.file_number);
        let mut tables = self.plan.tables.iter();
        let table = tables.find(|table| table.index == index);
        let cut = table.zip(self.plan.stream_of(index));
        cut.is_some_and(|(table, stream)| {
            self.plan.cut(stream, table, number).output() != facts.output.path
        })
    }

    /// Whether a part is of a table that is to be derived.
    fn is_derived(&self, (index, _): TablePart) -> bool {
        let table = index.table(self.plan.trace);
        let mut derived = self.plan.derived.iter();
        derived.any(|derived| derived.table.name == table.name)
    }

    /// The fingerprints of sources, each up to where it was read. Every source is read only once.
    fn fingerprints<'a>(
        &self,
        sources: impl Iterator<Item = (&'a str, u64)>,
    ) -> Result<BTreeMap<(&'a str, u64), Fingerprint>> {
        let mut sources: Vec<(&str, u64)> = sources.collect();
        sources.sort_unstable();
        sources.dedup();
        let of_one_file = sources.par_chunk_by(|one, next| one.0 == next.0);
        let fingerprints = of_one_file.map(|sources| {
            self.context.check()?;
            let path = self.plan.source.join(sources[0].0);
            let lengths = sources.iter().map(|(_, length)| *length).collect();
            let found = source::fingerprints(&self.context, &path, &lengths)?;
            Ok((sources[0].0, found))
        });
        let fingerprints = fingerprints.collect::<Result<Vec<_>>>()?.into_iter();
        let each = fingerprints.flat_map(|(source, found)| {
            found
                .into_iter()
                .map(move |(length, fingerprint)| ((source, length), fingerprint))
        });
        Ok(each.collect())
    }

    /// The error for a part whose source has changed.
    fn another_source(&self, table: &'static str, source: &str) -> Error {
        let reason = "is not the file that the lake was made from";
        let hint = format!("put the old file back, or use {}", self.elsewhere());
        Error::new(ErrorKind::Refused, reason)
            .at(self.plan.source.join(source))
            .field(table)
            .hint(hint)
    }
}

/// Whether a source is still what a part was made from.
fn is_same(now: Option<&Fingerprint>, facts: &PartFacts) -> bool {
    let then = (facts.source.bytes, facts.source.sha256);
    now.is_some_and(|now| (now.bytes, now.sha256) == then)
}
