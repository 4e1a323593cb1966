//! A file that is cut into parts while it is read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::field_order::FieldOrder;
use tracelake_core::words::several;
use tracelake_lake::manifest::PartFacts;
use tracelake_lake::store::CutFacts;
use tracelake_location::Location;
use tracelake_schema::{Files, Table};
use tracelake_source::{Fingerprint, Source};

use super::files::StagedPart;
use super::remaining::{Cuts, missing_of};
use super::{Parts, Run, Shared};
use crate::part::{ReadProgress, TableText};
use crate::plan::{PARTS_LIMIT, StreamPlan, TableIndex, TablePlan, check_sha256};

/// A stream on its way to parts.
struct Cutting<'a> {
    stream: &'a StreamPlan,
    parts: Parts,
    /// How many parts each of its tables has so far.
    counts: BTreeMap<TableIndex, u32>,
    /// The numbers of the members that are parts, selected or not.
    numbers: BTreeMap<TableIndex, BTreeSet<u32>>,
    progress: ReadProgress,
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

    /// Converts a file that is cut into parts, those that stay left out, and checks its digest.
    pub(super) fn convert_stream(&self, shared: &Shared, stream: &StreamPlan) -> Result<Parts> {
        self.context.check()?;
        let path = self.plan.source.join(&stream.source);
        let mut cutting = Cutting {
            stream,
            parts: Parts::new(),
            counts: BTreeMap::new(),
            numbers: BTreeMap::new(),
            progress: ReadProgress::new(&self.context),
        };
        let removes = self.removes_parts(shared);
        if let Some(expected) = stream.sha256
            && !removes
        {
            // Its first parts are committed before its last byte is read.
            check_sha256(&path, expected, self.digest(&path)?)?;
        }
        let read = self.read_stream(shared, &mut cutting, &path);
        let found = match (&read, stream.sha256) {
            (Ok(whole), _) => whole.as_ref().map(|whole| whole.sha256),
            // What is wrong with its text doesn't matter if it is another file.
            (Err(error), Some(_)) if removes && is_of_text(error) => Some(self.digest(&path)?),
            (Err(_), _) => None,
        };
        if let (Some(expected), Some(found)) = (stream.sha256, found)
            && let Err(another) = check_sha256(&path, expected, found)
        {
            if removes {
                self.remove_parts(shared, &cutting)?;
            }
            return Err(another);
        }
        self.note_cut(shared, &mut cutting, read?)?;
        Ok(cutting.parts)
    }

    /// Whether a run can remove the parts that it has made from a file that isn't the listed one. So it needs to read
    /// the file only once. Nothing is lost in a lake that is new and that no other run uses; and of a file that isn't
    /// read to its end, nothing is known at the end.
    fn removes_parts(&self, shared: &Shared) -> bool {
        let is_new = shared.kept.is_empty() && !self.run_options.overwrite;
        is_new && self.lake.is_alone() && self.plan.selected.is_none()
    }

    /// Removes the parts that were made from a file.
    fn remove_parts(&self, shared: &Shared, cutting: &Cutting<'_>) -> Result<()> {
        if cutting.parts.is_empty() {
            return Ok(());
        }
        let source = &cutting.stream.source;
        self.with_journal(shared, |journal| journal.note_removed(source))?;
        let files = cutting.parts.values().flat_map(PartFacts::files);
        let paths: Vec<String> = files.map(|file| file.path.clone()).collect();
        self.lake.remove_outputs(&paths)?;
        let parts = several(cutting.parts.len() as u64, "part");
        self.context
            .warn(format!("removed {parts} made from {source}"));
        Ok(())
    }

    /// Reads a file to its end or to the last selected part, and makes its parts. Returns what was read, if it is the
    /// whole file.
    fn read_stream(
        &self,
        shared: &Shared,
        cutting: &mut Cutting<'_>,
        location: &Location,
    ) -> Result<Option<Fingerprint>> {
        let stream = cutting.stream;
        let mut source = self.open(location)?;
        let path = PathBuf::from(location);
        let mut ended = true;
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
                    self.convert_member(
                        shared,
                        cutting,
                        (table, number),
                        &member_path,
                        &mut source,
                    )?;
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
                ended &= self.cut(shared, cutting, table, &member_path, &mut source)?;
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
                ended &= self.cut(shared, cutting, table, &path, &mut source)?;
            }
        }
        Ok(ended.then(|| source.fingerprint()))
    }

    /// Notes that a file was read, and gives its parts the digest of the whole.
    fn note_cut(
        &self,
        shared: &Shared,
        cutting: &mut Cutting<'_>,
        whole: Option<Fingerprint>,
    ) -> Result<()> {
        let stream = cutting.stream;
        if let Some(whole) = &whole {
            cutting.progress.report(whole.bytes);
            for ((table, _), facts) in &mut cutting.parts {
                facts.source.bytes = whole.bytes;
                facts.source.sha256 = whole.sha256;
                facts.of = Some(cutting.counts[table]);
            }
        }
        let tables = self.plan.tables_of(stream).map(|table| {
            let count = cutting.counts.get(&table.index).copied();
            (table.order.table.name.to_owned(), count.unwrap_or(0))
        });
        let cut = CutFacts {
            source: stream.source.clone(),
            whole,
            selected: self.plan.planned_stream(stream).selected,
            tables: tables.collect(),
        };
        self.with_journal(shared, |journal| journal.note_cut(cut))
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
        let wrong = |reason: String, hint: &str| {
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
        let mut text = TableText::new(source, &order, None);
        text.next_part()?;
        self.pass_or_convert(shared, cutting, (table, &order, number), path, &mut text)
    }

    /// Reads the current part of a text: past it if the part is finished or isn't selected, and otherwise to convert and
    /// commit it.
    fn pass_or_convert(
        &self,
        shared: &Shared,
        cutting: &mut Cutting<'_>,
        (table, order, number): (&TablePlan, &FieldOrder, u32),
        path: &Path,
        text: &mut TableText<'_>,
    ) -> Result<()> {
        let key = (table.index, number.into());
        let kept = shared.kept.get(&key);
        if kept.is_some() || !self.plan.selects(number) {
            text.pass_part(&mut cutting.progress)?;
            cutting.parts.extend(kept.map(|facts| (key, facts.clone())));
            return Ok(());
        }
        let part = self.plan.cut(cutting.stream, table, number);
        let written = self.stage((table, order), &part, path, text, &mut cutting.progress)?;
        text.confirm()?;
        let staged = StagedPart {
            table,
            part: &part,
            source: text.fingerprint(),
            unconfirmed: None,
            written,
        };
        let facts = self.commit(shared, staged)?;
        cutting.parts.insert(key, facts);
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

    /// Converts the text of a table part by part; false where no more of it was wanted.
    fn cut(
        &self,
        shared: &Shared,
        cutting: &mut Cutting<'_>,
        table: &TablePlan,
        path: &Path,
        source: &mut Source,
    ) -> Result<bool> {
        let order = &table.order;
        let mut text = TableText::new(source, order, Some(cutting.stream.part_rows));
        let mut number = 0;
        while text.next_part()? {
            self.pass_or_convert(shared, cutting, (table, order, number), path, &mut text)?;
            number += 1;
            cutting.counts.insert(table.index, number);
            let selected = self.plan.selected.as_ref();
            if selected.is_some_and(|selected| !selected.goes_on(number)) {
                return Ok(false);
            }
        }
        Ok(true)
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
