//! A file that is cut into parts while it is read.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::field_order::FieldOrder;
use tracelake_lake::manifest::FileFacts;
use tracelake_lake::{MadePart, PartName, Staging};
use tracelake_location::Location;
use tracelake_schema::{Files, Table};
use tracelake_source::{Fingerprint, Source};

use super::files::recorded;
use super::step::Run;
use crate::part::{Beginning, PartRows, ReadProgress, TableText};
use crate::plan::{PARTS_LIMIT, StreamPlan, TablePlan, check_sha256};

/// A stream on its way to parts.
struct Cutting<'a> {
    stream: &'a StreamPlan,
    made: Vec<MadePart>,
    /// How many parts each of its tables has so far.
    counts: BTreeMap<String, u32>,
    /// The tables that have more parts, none of which is selected.
    continued: BTreeSet<String>,
    /// The numbers of the members that are parts, selected or not.
    numbers: BTreeMap<String, BTreeSet<u32>>,
    progress: ReadProgress,
}

impl Run<'_> {
    /// Converts a file that is cut into parts, those that stay left out. All of it is checked before any of its parts is
    /// committed: a broken file, or one with another digest than its publisher's, leaves nothing.
    ///
    /// # Memory
    /// The facts of the parts, and the paths of their staged files.
    pub(super) fn convert_stream(&self, stream: &StreamPlan) -> Result<Vec<MadePart>> {
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
        let mut source = Source::open(&self.context, &path)?;
        let cut = self.read_stream(&mut cutting, &path, &mut source);
        let read = source.fingerprint();
        if let Some(expected) = stream.sha256
            // What is wrong with its text doesn't matter if it is another file.
            && cut.as_ref().err().is_none_or(is_of_text)
        {
            check_sha256(&path, expected, source.digest_rest()?.sha256)?;
        }
        cut?;
        let tag = source.confirm()?;
        source.warn_of_zeros();
        self.complete(cutting, read, tag)
    }

    /// Reads a file to its end or to the last selected part, and makes its parts.
    fn read_stream(
        &self,
        cutting: &mut Cutting<'_>,
        location: &Location,
        source: &mut Source,
    ) -> Result<()> {
        let stream = cutting.stream;
        let path = PathBuf::from(location);
        if source.is_archive()? {
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
                    self.convert_member(cutting, (table, number), &member_path, source)?;
                    continue;
                }
                if cutting.counts.contains_key(&*table.order.table.name) {
                    let reason = "a second member of one table";
                    let name = &table.order.table.name;
                    return Err(Error::new(ErrorKind::Misfit, reason)
                        .at(member_path)
                        .field(name)
                        .hint("make an archive of what belongs together"));
                }
                self.cut(cutting, table, &member_path, source)?;
            }
            if cutting.counts.is_empty() {
                let plans = self.plan.tables_of(stream);
                let tables: Vec<&Table> = plans.map(|table| &*table.order.table).collect();
                let reason = format!("holds no {}", names_in_archives(&tables));
                return Err(Error::new(ErrorKind::Misfit, reason)
                    .at(path)
                    .hint("if it holds archives, unpack it and name their directory"));
            }
            self.check_numbers(cutting, &path)?;
        } else {
            for table in self.plan.tables_of(stream) {
                self.cut(cutting, table, &path, source)?;
            }
        }
        cutting.progress.report(source.position());
        Ok(())
    }

    /// Gives the parts of a file the size and the digest of what was read of it, and their number where that was all of a
    /// table.
    fn complete(
        &self,
        cutting: Cutting<'_>,
        read: Fingerprint,
        tag: Option<String>,
    ) -> Result<Vec<MadePart>> {
        let stream = cutting.stream;
        let mut made = cutting.made;
        for part in &mut made {
            let source = &mut part.facts.source;
            (source.bytes, source.sha256) = (read.bytes, read.sha256);
            let count = cutting.counts.get(&*part.name.table).copied();
            part.facts.of = count.filter(|_| !cutting.continued.contains(&*part.name.table));
            part.tag.clone_from(&tag);
            part.is_cut = true;
        }
        let tables = self
            .plan
            .tables_of(stream)
            .map(|table| &*table.order.table.name);
        let absent: Vec<&str> = tables
            .filter(|table| !cutting.counts.contains_key(*table))
            .collect();
        if !absent.is_empty() {
            let source = FileFacts {
                path: stream.source.clone(),
                bytes: read.bytes,
                sha256: read.sha256,
            };
            self.working.note_absent(&absent, &source)?;
        }
        Ok(made)
    }

    /// Converts a member of an archive that is a part by itself.
    fn convert_member(
        &self,
        cutting: &mut Cutting<'_>,
        (table, number): (&TablePlan, u32),
        path: &Path,
        source: &mut Source,
    ) -> Result<()> {
        let wrong = |reason: String, hint: &'static str| {
            Err(Error::new(ErrorKind::Misfit, reason)
                .at(path)
                .field(&*table.order.table.name)
                .hint(hint))
        };
        if number >= PARTS_LIMIT {
            let reason = format!("part {number}, and a table has at most {PARTS_LIMIT}");
            return wrong(reason, "rename it");
        }
        let numbers = cutting
            .numbers
            .entry(table.order.table.name.clone())
            .or_default();
        if !numbers.insert(number) {
            return wrong(
                format!("a second member with the number {number}"),
                "make an archive of what belongs together, with names that differ",
            );
        }
        *cutting
            .counts
            .entry(table.order.table.name.clone())
            .or_default() += 1;
        let order = table.order.of_file(&path.to_string_lossy())?;
        let beginning = Beginning::of(source, order)?;
        let order = &beginning.order;
        let mut text = TableText::new(source, &beginning, None);
        text.next_part()?;
        self.pass_or_convert(cutting, (table, order, number), path, &mut text)
    }

    /// Reads the current part of a text: past it if the part is finished or isn't selected, and otherwise to convert it
    /// into staged files.
    fn pass_or_convert(
        &self,
        cutting: &mut Cutting<'_>,
        (table, order, number): (&TablePlan, &FieldOrder, u32),
        path: &Path,
        text: &mut TableText<'_>,
    ) -> Result<()> {
        let name = PartName::new(&table.order.table.name, number.into());
        if self.kept.contains_key(&name) || !self.plan.selects(number) {
            return text.pass_part(&mut cutting.progress);
        }
        let part = self.plan.cut(cutting.stream, table, number);
        let written = self.stage(
            (table, order),
            &part,
            path,
            PartRows::Text(text),
            &mut cutting.progress,
        )?;
        let source = recorded(&part, text.fingerprint());
        cutting
            .made
            .push(written.sync(name, source, Staging::set_aside)?);
        Ok(())
    }

    /// Refuses an archive in which parts are missing: later runs count on their number.
    fn check_numbers(&self, cutting: &Cutting<'_>, path: &Path) -> Result<()> {
        for table in self.plan.tables_of(cutting.stream) {
            let Some(numbers) = cutting.numbers.get(&*table.order.table.name) else {
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
                    .field(&*table.order.table.name)
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
            self.pass_or_convert(cutting, (table, order, number), path, &mut text)?;
            number += 1;
            cutting
                .counts
                .insert(table.order.table.name.clone(), number);
            let selected = self.plan.selected.as_ref();
            if selected.is_some_and(|selected| !selected.goes_on(number)) {
                cutting.continued.insert(table.order.table.name.clone());
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
