//! A file that is cut into parts while it is read.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::field_order::FieldOrder;
use tracelake_lake::manifest::PartFacts;
use tracelake_lake::store::{CutFacts, Staging};
use tracelake_location::Location;
use tracelake_schema::{Files, Table};
use tracelake_source::{Fingerprint, Source};

use super::files::{SyncedPart, recorded};
use super::remaining::{Cuts, missing_of};
use super::{Parts, Run, Shared, TablePart, parts_of};
use crate::part::{Beginning, ReadProgress, TableText};
use crate::plan::{PARTS_LIMIT, StreamPlan, TableIndex, TablePlan, check_sha256};

/// A stream on its way to parts.
struct Cutting<'a> {
    stream: &'a StreamPlan,
    made: Vec<SyncedPart>,
    /// How many parts each of its tables has so far.
    counts: BTreeMap<TableIndex, u32>,
    /// The tables that have more parts, none of which is selected.
    continued: BTreeSet<TableIndex>,
    /// The numbers of the members that are parts, selected or not.
    numbers: BTreeMap<TableIndex, BTreeSet<u32>>,
    progress: ReadProgress,
}

/// The parts of a stream that was read to its end, or to the last selected part.
pub(super) struct CutParts {
    /// Parts to commit.
    pub(super) made: Vec<SyncedPart>,
    /// Parts that an earlier run has made, when it read less of the file.
    pub(super) grown: Vec<(TablePart, PartFacts)>,
}

impl Run<'_> {
    /// Whether all selected parts of a stream are there.
    pub(super) fn is_cut(&self, stream: &StreamPlan, cuts: &Cuts<'_>, parts: &Parts) -> bool {
        let planned = self.plan.planned_stream(stream);
        let there = |table: &str, key| {
            let index = TableIndex::of(self.plan.trace, table);
            index.is_some_and(|index| parts.contains_key(&(index, key)))
        };
        missing_of(self.plan.trace, &planned, cuts, &there)
            .is_some_and(|missing| missing.is_empty())
    }

    /// Converts a file that is cut into parts, those that stay left out. All of it is checked before any of its parts is
    /// committed: a broken file, or one with another digest than its publisher's, leaves nothing.
    ///
    /// # Memory
    /// The facts of the parts, and the paths of their staged files.
    pub(super) fn convert_stream(&self, shared: &Shared, stream: &StreamPlan) -> Result<CutParts> {
        self.context.check()?;
        let path = self.plan.source.join(&stream.source);
        let mut cutting = Cutting {
            stream,
            made: Vec::new(),
            counts: BTreeMap::new(),
            continued: BTreeSet::new(),
            numbers: BTreeMap::new(),
            progress: ReadProgress::new(&self.context),
        };
        let mut source = self.open(&path)?;
        let cut = self.read_stream(shared, &mut cutting, &path, &mut source);
        let read = source.fingerprint();
        if let Some(expected) = stream.sha256
            // What is wrong with its text doesn't matter if it is another file.
            && cut.as_ref().err().is_none_or(is_of_text)
        {
            check_sha256(&path, expected, source.digest_rest()?.sha256)?;
        }
        cut?;
        source.confirm()?;
        source.warn_of_zeros();
        self.note_cut(shared, cutting, read)
    }

    /// Reads a file to its end or to the last selected part, and makes its parts.
    fn read_stream(
        &self,
        shared: &Shared,
        cutting: &mut Cutting<'_>,
        location: &Location,
        source: &mut Source,
    ) -> Result<()> {
        let stream = cutting.stream;
        let path = PathBuf::from(location);
        if source.is_archive() {
            while let Some(member) = source.next_member()? {
                let member_path = path.join(&member.path);
                let Some((table, number)) = self.plan.table_of(stream, &member) else {
                    if member.path.ends_with('/') {
                        continue;
                    }
                    self.context.warn(format!(
                        "{} is skipped: it is not a table of {}",
                        member_path.display(),
                        self.plan.trace.name
                    ));
                    continue;
                };
                if let Some(number) = number {
                    self.convert_member(shared, cutting, (table, number), &member_path, source)?;
                    continue;
                }
                if cutting.counts.contains_key(&table.index) {
                    let reason = "a second member of one table";
                    let name = table.order.table.name;
                    return Err(Error::new(ErrorKind::Misfit, reason)
                        .at(member_path)
                        .field(name)
                        .hint("make an archive of what belongs together"));
                }
                self.cut(shared, cutting, table, &member_path, source)?;
            }
            if cutting.counts.is_empty() {
                let plans = self.plan.tables_of(stream);
                let tables: Vec<&Table> = plans.map(|table| table.order.table).collect();
                let reason = format!("holds no {}", names_in_archives(&tables));
                return Err(Error::new(ErrorKind::Misfit, reason)
                    .at(path)
                    .hint("if it holds archives, unpack it and name their directory"));
            }
            self.check_numbers(cutting, &path)?;
        } else {
            for table in self.plan.tables_of(stream) {
                self.cut(shared, cutting, table, &path, source)?;
            }
        }
        cutting.progress.report(source.position());
        Ok(())
    }

    /// Gives the parts of a file the size and the digest of what was read of it, by this run or by an earlier one that
    /// read more, and notes how many they are, before any of them is committed.
    fn note_cut(
        &self,
        shared: &Shared,
        cutting: Cutting<'_>,
        read: Fingerprint,
    ) -> Result<CutParts> {
        let stream = cutting.stream;
        // They were compared with the file as it is now.
        let kept = || {
            let tables = stream.tables.iter();
            tables.flat_map(|&table| {
                parts_of(&shared.kept, table).map(move |(key, facts)| ((table, key), facts))
            })
        };
        let mut longest = (read.bytes, read.sha256);
        let mut counts = BTreeMap::new();
        for ((table, _), facts) in kept() {
            if facts.source.bytes > longest.0 {
                longest = (facts.source.bytes, facts.source.sha256);
            }
            counts.extend(facts.of.map(|of| (table, of)));
        }
        let ended = cutting.counts.iter();
        counts.extend(ended.filter(|(table, _)| !cutting.continued.contains(table)));
        let complete = |table: TableIndex, facts: &mut PartFacts| {
            (facts.source.bytes, facts.source.sha256) = longest;
            facts.of = counts.get(&table).copied();
        };
        let mut made = cutting.made;
        for part in &mut made {
            complete(part.table, &mut part.facts);
        }
        let is_grown = |table, facts: &PartFacts| {
            (facts.source.bytes, facts.of) != (longest.0, counts.get(&table).copied())
        };
        let grown = kept().filter(|((table, _), facts)| is_grown(*table, facts));
        let grown = grown.map(|(key, facts)| {
            let mut facts = facts.clone();
            complete(key.0, &mut facts);
            (key, facts)
        });
        let grown: Vec<(TablePart, PartFacts)> = grown.collect();
        if self.lake.is_alone() && made.is_empty() && grown.is_empty() {
            return Ok(CutParts { made, grown });
        }
        let tables = self.plan.tables_of(stream).map(|table| {
            let count = cutting.counts.get(&table.index).copied();
            (table.order.table.name.to_owned(), count.unwrap_or(0))
        });
        let cut = CutFacts {
            source: stream.source.clone(),
            selected: self.plan.planned_stream(stream).selected,
            tables: tables.collect(),
        };
        self.with_journal(shared, |journal| {
            journal.note_cut(cut)?;
            grown.iter().try_for_each(|((table, _), facts)| {
                journal.note(table.table(self.plan.trace).name, facts, BTreeMap::new())
            })
        })?;
        Ok(CutParts { made, grown })
    }

    /// Converts a member of an archive that is a part by itself.
    fn convert_member(
        &self,
        shared: &Shared,
        cutting: &mut Cutting<'_>,
        (table, number): (&TablePlan, u32),
        path: &Path,
        source: &mut Source,
    ) -> Result<()> {
        let wrong = |reason: String, hint: &'static str| {
            Err(Error::new(ErrorKind::Misfit, reason)
                .at(path)
                .field(table.order.table.name)
                .hint(hint))
        };
        if number >= PARTS_LIMIT {
            let reason = format!("part {number}, and a table has at most {PARTS_LIMIT}");
            return wrong(reason, "rename it");
        }
        let numbers = cutting.numbers.entry(table.index).or_default();
        if !numbers.insert(number) {
            return wrong(
                format!("a second member with the number {number}"),
                "make an archive of what belongs together, with names that differ",
            );
        }
        *cutting.counts.entry(table.index).or_default() += 1;
        let order = table.order.of_file(&path.to_string_lossy())?;
        let beginning = Beginning::of(source, order)?;
        let order = &beginning.order;
        let mut text = TableText::new(source, &beginning, None);
        text.next_part()?;
        self.pass_or_convert(shared, cutting, (table, order, number), path, &mut text)
    }

    /// Reads the current part of a text: past it if the part is finished or isn't selected, and otherwise to convert it
    /// into staged files.
    fn pass_or_convert(
        &self,
        shared: &Shared,
        cutting: &mut Cutting<'_>,
        (table, order, number): (&TablePlan, &FieldOrder, u32),
        path: &Path,
        text: &mut TableText<'_>,
    ) -> Result<()> {
        let key = (table.index, number.into());
        if shared.kept.contains_key(&key) || !self.plan.selects(number) {
            return text.pass_part(&mut cutting.progress);
        }
        let part = self.plan.cut(cutting.stream, table, number);
        let written = self.stage((table, order), &part, path, text, &mut cutting.progress)?;
        let source = recorded(&part, text.fingerprint());
        let synced = SyncedPart::new(key, source, written, Staging::set_aside)?;
        cutting.made.push(synced);
        Ok(())
    }

    /// Refuses an archive in which parts are missing: later runs count on their number.
    fn check_numbers(&self, cutting: &Cutting<'_>, path: &Path) -> Result<()> {
        for table in self.plan.tables_of(cutting.stream) {
            let Some(numbers) = cutting.numbers.get(&table.index) else {
                continue;
            };
            let first = table.order.table.naming.first;
            let misplaced = (first..)
                .zip(numbers)
                .find(|(place, number)| place != *number);
            if let Some((missing, _)) = misplaced {
                let found = numbers.len();
                let reason = format!("has {found} parts of the table, but not part {missing}");
                return Err(Error::new(ErrorKind::Misfit, reason)
                    .at(path)
                    .field(table.order.table.name)
                    .hint(
                        "download it again; if it's complete, unpack it and pass --allow-missing",
                    ));
            }
        }
        Ok(())
    }

    /// Converts the text of a table part by part, to its end or as long as more of it is wanted.
    fn cut(
        &self,
        shared: &Shared,
        cutting: &mut Cutting<'_>,
        table: &TablePlan,
        path: &Path,
        source: &mut Source,
    ) -> Result<()> {
        let beginning = Beginning::of(source, Cow::Borrowed(&table.order))?;
        let order = &beginning.order;
        let mut text = TableText::new(source, &beginning, Some(cutting.stream.part_rows));
        let mut number = 0;
        while text.next_part()? {
            self.pass_or_convert(shared, cutting, (table, order, number), path, &mut text)?;
            number += 1;
            cutting.counts.insert(table.index, number);
            let selected = self.plan.selected.as_ref();
            if selected.is_some_and(|selected| !selected.goes_on(number)) {
                cutting.continued.insert(table.index);
                break;
            }
        }
        Ok(())
    }
}

/// Whether an error is one of what a file says.
fn is_of_text(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Misfit)
}

/// The names that archives of these tables are searched for.
fn names_in_archives(tables: &[&Table]) -> String {
    let names = tables.iter().map(|table| {
        let pattern = table.naming.patterns.first();
        match pattern.filter(|_| table.files == Files::Named) {
            Some(pattern) => pattern.text.to_owned(),
            None => format!("{}.{}", table.name, table.syntax.extension()),
        }
    });
    names.collect::<Vec<_>>().join(", ")
}
