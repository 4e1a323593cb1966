//! A file that is cut into parts while it is read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::files::Ticks;
use super::left::missing_of;
use super::{Parts, Run, Shared, of_table, rank_of};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Event;
use crate::part::TableText;
use crate::plan::{StreamPlan, check_sha256};
use crate::source::Source;
use crate::store::{CutFacts, LakeProgress};

/// A stream on its way to parts.
struct Cutting<'a> {
    stream: &'a StreamPlan,
    parts: Parts,
    /// How many parts each of its tables has so far.
    counts: BTreeMap<usize, u32>,
    ticks: Ticks<'a>,
}

impl Run<'_> {
    /// Whether all selected parts of a stream are there.
    pub(super) fn is_cut(
        &self,
        stream: &StreamPlan,
        progress: &LakeProgress,
        parts: &Parts,
    ) -> bool {
        let planned = self.plan.planned_stream(stream);
        let there = |table: &str, key| {
            let rank = rank_of(self.plan.trace, table);
            rank.is_some_and(|rank| parts.contains_key(&(rank, key)))
        };
        missing_of(&planned, progress, &there).is_some_and(|missing| missing.is_empty())
    }

    /// Converts a file that is cut into parts, those that stay left out.
    pub(super) fn convert_stream(&self, shared: &Shared, stream: &StreamPlan) -> Result<Parts> {
        let path = self.plan.source.join(&stream.source);
        self.go_on()?;
        if let Some(expected) = &stream.sha256 {
            // Its first parts are committed before its last byte is read.
            check_sha256(&path, expected, &self.digest(&path)?)?;
        }
        let mut source = self.open(&path)?;
        let path = PathBuf::from(path);
        let mut cutting = Cutting {
            stream,
            parts: Parts::new(),
            counts: BTreeMap::new(),
            ticks: Ticks::new(self),
        };
        let mut ended = true;
        if source.is_archive() {
            while let Some(member) = source.next_member()? {
                let path = path.join(&member.path);
                let Some(table) = self.plan.table_of(stream, &member) else {
                    if member.path.ends_with('/') {
                        continue;
                    }
                    (self.watch)(Event::Warning(format!(
                        "{} is skipped: it is not a table of {}",
                        path.display(),
                        self.plan.trace.name
                    )));
                    continue;
                };
                if cutting.counts.contains_key(&table) {
                    let reason = "a second member of one table";
                    let name = self.plan.tables[table].order.table.name;
                    return Err(Error::new(ErrorKind::Misfit, reason)
                        .at(path)
                        .field(name)
                        .hint("make an archive of what belongs together"));
                }
                ended &= self.cut(shared, &mut cutting, table, &path, &mut source)?;
            }
            if cutting.counts.is_empty() {
                let names = stream
                    .tables
                    .iter()
                    .map(|&table| self.plan.tables[table].order.table);
                let names: Vec<String> = names.map(|table| format!("{}.csv", table.name)).collect();
                let reason = format!("holds no {}", names.join(", "));
                return Err(Error::new(ErrorKind::Misfit, reason)
                    .at(path)
                    .hint("if it holds archives, unpack it and name their directory"));
            }
        } else {
            for &table in &stream.tables {
                ended &= self.cut(shared, &mut cutting, table, &path, &mut source)?;
            }
        }
        let Cutting {
            mut parts,
            counts,
            mut ticks,
            ..
        } = cutting;
        let whole = ended.then(|| source.fingerprint());
        if let Some(whole) = &whole {
            ticks.read_up_to(whole.bytes);
            for (&table, &count) in &counts {
                let rank = self.plan.tables[table].rank;
                for (_, facts) in parts.range_mut(of_table(rank)) {
                    facts.source.bytes = whole.bytes;
                    facts.source.sha256.clone_from(&whole.sha256);
                    facts.of = Some(count);
                }
            }
        }
        let asked = self.plan.planned_stream(stream);
        let seen = stream.tables.iter().zip(asked.tables);
        let cut = CutFacts {
            source: stream.source.clone(),
            whole,
            selected: asked.selected,
            tables: seen
                .map(|(table, name)| (name, counts.get(table).copied().unwrap_or(0)))
                .collect(),
        };
        self.with_journal(shared, |journal| journal.note_cut(cut))?;
        Ok(parts)
    }

    /// Converts the text of a table part by part; false where no more of it was wanted.
    fn cut(
        &self,
        shared: &Shared,
        cutting: &mut Cutting<'_>,
        table: usize,
        path: &Path,
        source: &mut Source,
    ) -> Result<bool> {
        let Cutting {
            stream,
            parts,
            counts,
            ticks,
        } = cutting;
        let order = &self.plan.tables[table].order;
        let mut text = TableText::new(source, order, Some(stream.part_rows));
        let mut number = 0;
        while text.next_part()? {
            let key = self.key(table, number.into());
            if let Some(facts) = shared.kept.get(&key) {
                text.pass_part(&mut |position| ticks.tick(position))?;
                parts.insert(key, facts.clone());
            } else if self.plan.selects(number) {
                let part = self.plan.cut(stream, table, number);
                let done = self.stage(table, &part, path, &mut text, ticks)?;
                text.confirm()?;
                let facts = self.commit(shared, table, &part, text.fingerprint(), done)?;
                parts.insert(key, facts);
            } else {
                text.pass_part(&mut |position| ticks.tick(position))?;
            }
            number += 1;
            counts.insert(table, number);
            let selected = self.plan.selected.as_ref();
            if selected.is_some_and(|selected| !selected.goes_on(number)) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
