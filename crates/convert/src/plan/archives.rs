//! Which tables an archive can hold, and what its members are.

use std::collections::BTreeMap;

use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::part_key::PartKey;
use tracelake_schema::{Files, Table, Trace, uncompressed};
use tracelake_source::{Source, is_archive_name};

use super::parts::{are_missing, gaps};
use super::request::Request;
use super::tables::{PARTS_LIMIT, TablePlan};
use crate::discover::{self, FoundFile, FoundSource};

/// The number of the part of a table that a member of an archive is, `None` within if the table is in one file; `None` if
/// it isn't of the table. Of the path of a member, directories count if the names of files have some.
#[must_use]
pub fn number_of_member(table: &Table, path: &str) -> Option<Option<u32>> {
    let name = path.rsplit('/').next()?;
    match table.files {
        // An archive in an archive isn't a text.
        Files::Named if is_archive_name(name) => None,
        Files::Named => match &table.naming.claims(path)[..] {
            [claim] => Some(Some(claim.number)),
            _ => None,
        },
        _ => {
            let name = uncompressed(name);
            let rest = name.strip_prefix(&*table.name);
            let extension = rest.and_then(|rest| rest.strip_prefix('.'));
            let mut names = table.naming.patterns.iter();
            let is_text = extension == Some(table.syntax.extension())
                || names.any(|pattern| uncompressed(&pattern.text) == name);
            is_text.then_some(None)
        }
    }
}

/// Finds the parts of tables that an archive lacks, by the names of its members: before any work, so it's read once more.
/// `tables` are those that it may hold.
///
/// # Errors
/// When parts are missing, unless that is allowed; those of the archive.
pub(super) fn missing_members(
    context: &Context,
    request: &Request,
    found: &FoundSource,
    archive: &FoundFile,
    tables: Vec<&mut TablePlan>,
) -> Result<()> {
    let is_named = |table: &&mut TablePlan| table.order.table.files == Files::Named;
    let mut tables: Vec<_> = tables.into_iter().filter(is_named).collect();
    if tables.is_empty() || !request.lists_archives {
        return Ok(());
    }
    let path = found.root.join(&archive.path);
    let mut members: Vec<BTreeMap<u32, Option<u32>>> = vec![BTreeMap::new(); tables.len()];
    let mut source = Source::open(context, path.clone())?;
    while let Some(member) = source.next_member()? {
        let name = member.path.rsplit('/').next().unwrap_or(&member.path);
        let is_text = member.is_file && !is_archive_name(name);
        for (table, numbers) in tables.iter().zip(&mut members).filter(|_| is_text) {
            if let [claim] = &table.order.table.naming.claims(&member.path)[..] {
                numbers.insert(claim.number, claim.total);
            }
        }
    }
    for (planned, numbers) in tables.iter_mut().zip(members) {
        let table = &planned.order.table;
        let first = table.naming.first;
        let named = numbers.values().find_map(|total| *total);
        let published = Some(table.parts_in(None)).filter(|_| !found.synthetic);
        let total = named.or(published).unwrap_or(0);
        let last = numbers
            .last_key_value()
            .map(|(number, _)| number.saturating_add(1));
        let end = last.unwrap_or(first).max(first.saturating_add(total));
        if numbers.is_empty() || end.saturating_sub(first) > PARTS_LIMIT {
            // The run says what is wrong with such an archive.
            continue;
        }
        let there = numbers.keys().copied().map(PartKey::from);
        let gaps = gaps(
            None,
            there.filter(|part| part.file_number >= first),
            first..end,
        );
        let gaps: Vec<PartKey> = gaps
            .filter(|gap| request.selects(gap.file_number))
            .collect();
        if !gaps.is_empty() && !request.allow_missing {
            return Err(are_missing(table, &gaps, end - first).at(path));
        }
        planned.missing = gaps;
    }
    Ok(())
}

/// An archive belongs to the trace, and no table may be beside it a second time.
pub(super) fn fit_archives(found: &FoundSource, trace: &Trace) -> Result<()> {
    let Some((first, _)) = found.archives.first() else {
        return Ok(());
    };
    let wrong = |archive: &FoundFile, reason: String, hint: &'static str| {
        Err(Error::new(ErrorKind::Failed, reason)
            .at(found.root.join(&archive.path))
            .hint(hint))
    };
    if !trace.tables.iter().any(|table| is_archived(table)) {
        return wrong(
            first,
            format!("{} is not published in archives", trace.name),
            "unpack it, and name the directory of its files",
        );
    }
    for table in &trace.tables {
        let archives = found.archives.iter().map(|(file, _)| file);
        let mut holding = archives.filter(|file| may_hold(trace, file, table));
        let Some(archive) = holding.next() else {
            continue;
        };
        if let Some(other) = holding.next() {
            return wrong(
                archive,
                format!("may hold the same tables as {}", other.path),
                "move one of them away",
            );
        }
        let mut tables = found.tables.iter();
        let beside = tables.find(|found| found.name.as_deref() == Some(&table.name));
        if let Some(part) = beside.and_then(|found| found.parts.first()) {
            return wrong(
                archive,
                format!("may hold the table of {} too", part.file.path),
                "move one of them away",
            );
        }
    }
    Ok(())
}

/// Whether archives can hold a table: one whose texts are known by their names alone.
fn is_archived(table: &Table) -> bool {
    matches!(table.files, Files::Whole | Files::Named)
}

/// Whether an archive may hold a table: the one that its name says, or any.
pub(super) fn may_hold(trace: &Trace, archive: &FoundFile, table: &Table) -> bool {
    let name = archive.path.rsplit('/').next().unwrap_or(&archive.path);
    let known = discover::archive_of(trace, name).and_then(|known| known.table.as_deref());
    is_archived(table) && known.is_none_or(|known| known == table.name)
}
