//! A file that is cut into parts while it is read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_lake::store::CutFacts;
use tracelake_source::Source;

use super::files::StagedPart;
use super::remaining::{Cuts, missing_of};
use super::{Parts, Run, Shared};
use crate::part::{ReadProgress, TableText};
use crate::plan::{StreamPlan, TableIndex, TablePlan, check_sha256};

/// A stream on its way to parts.
struct Cutting<'a> {
    stream: &'a StreamPlan,
    parts: Parts,
    /// How many parts each of its tables has so far.
    counts: BTreeMap<TableIndex, u32>,
    progress: ReadProgress,
}

impl Run<'_> {
    /// Whether all selected parts of a stream are there.
    pub(super) fn is_cut(&self, stream: &StreamPlan, cuts: &Cuts<'_>, parts: &Parts) -> bool {
        let planned = self.plan.planned_stream(stream);
        let there = |table: &str, key| {
            let rank = TableIndex::of(self.plan.trace, table);
            rank.is_some_and(|rank| parts.contains_key(&(rank, key)))
        };
        missing_of(&planned, cuts, &there).is_some_and(|missing| missing.is_empty())
    }

    /// Converts a file that is cut into parts, those that stay left out.
    pub(super) fn convert_stream(&self, shared: &Shared, stream: &StreamPlan) -> Result<Parts> {
        let path = self.plan.source.join(&stream.source);
        self.context.check()?;
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
            progress: ReadProgress::new(&self.context),
        };
        let mut ended = true;
        if source.is_archive() {
            while let Some(member) = source.next_member()? {
                let path = path.join(&member.path);
                let Some(table) = self.plan.table_of(stream, &member) else {
                    if member.path.ends_with('/') {
                        continue;
                    }
                    self.context.warn(format!(
                        "{} is skipped: it is not a table of {}",
                        path.display(),
                        self.plan.trace.name
                    ));
                    continue;
                };
                if cutting.counts.contains_key(&table.rank) {
                    let reason = "a second member of one table";
                    let name = table.order.table.name;
                    return Err(Error::new(ErrorKind::Misfit, reason)
                        .at(path)
                        .field(name)
                        .hint("make an archive of what belongs together"));
                }
                ended &= self.cut(shared, &mut cutting, table, &path, &mut source)?;
            }
            if cutting.counts.is_empty() {
                let tables = self.plan.tables_of(stream);
                let names = tables.map(|table| format!("{}.csv", table.order.table.name));
                let names: Vec<String> = names.collect();
                let reason = format!("holds no {}", names.join(", "));
                return Err(Error::new(ErrorKind::Misfit, reason)
                    .at(path)
                    .hint("if it holds archives, unpack it and name their directory"));
            }
        } else {
            for table in self.plan.tables_of(stream) {
                ended &= self.cut(shared, &mut cutting, table, &path, &mut source)?;
            }
        }
        let Cutting {
            mut parts,
            counts,
            mut progress,
            ..
        } = cutting;
        let whole = ended.then(|| source.fingerprint());
        if let Some(whole) = &whole {
            progress.report(whole.bytes);
            for ((table, _), facts) in &mut parts {
                facts.source.bytes = whole.bytes;
                facts.source.sha256.clone_from(&whole.sha256);
                facts.of = Some(counts[table]);
            }
        }
        let tables = self.plan.tables_of(stream).map(|table| {
            let count = counts.get(&table.rank).copied();
            (table.order.table.name.to_owned(), count.unwrap_or(0))
        });
        let cut = CutFacts {
            source: stream.source.clone(),
            whole,
            selected: self.plan.planned_stream(stream).selected,
            tables: tables.collect(),
        };
        self.with_journal(shared, |journal| journal.note_cut(cut))?;
        Ok(parts)
    }

    /// Converts the text of a table part by part; false where no more of it was wanted.
    fn cut(
        &self,
        shared: &Shared,
        cutting: &mut Cutting<'_>,
        table: &TablePlan,
        path: &Path,
        source: &mut Source,
    ) -> Result<bool> {
        let Cutting {
            stream,
            parts,
            counts,
            progress,
        } = cutting;
        let mut text = TableText::new(source, &table.order, Some(stream.part_rows));
        let mut number = 0;
        while text.next_part()? {
            let key = (table.rank, number.into());
            if let Some(facts) = shared.kept.get(&key) {
                text.pass_part(progress)?;
                parts.insert(key, facts.clone());
            } else if self.plan.selects(number) {
                let part = self.plan.cut(stream, table, number);
                let written =
                    self.stage((table, &table.order), &part, path, &mut text, progress)?;
                text.confirm()?;
                let staged = StagedPart {
                    table,
                    part: &part,
                    source: text.fingerprint(),
                    unconfirmed: None,
                    written,
                };
                let facts = self.commit(shared, staged)?;
                parts.insert(key, facts);
            } else {
                text.pass_part(progress)?;
            }
            number += 1;
            counts.insert(table.rank, number);
            let selected = self.plan.selected.as_ref();
            if selected.is_some_and(|selected| !selected.goes_on(number)) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
