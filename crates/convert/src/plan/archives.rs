//! Which tables an archive can hold, and what its members are.

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_schema::{Files, Table, Trace};

use crate::discover::{self, FoundFile, FoundSource};

/// The number of the part of a table that a member of an archive is, `None` within if the table is in one file; `None` if
/// it isn't of the table. The path of a member says nothing but its last name.
#[must_use]
pub fn number_of_member(table: &Table, path: &str) -> Option<Option<u32>> {
    let name = path.rsplit('/').next()?;
    match table.files {
        // What is compressed or packed once more isn't a text.
        Files::Named if name.ends_with(".gz") || name.ends_with(".zip") => None,
        Files::Named => match &table.naming.claims(name)[..] {
            [claim] => Some(Some(claim.number)),
            _ => None,
        },
        _ => {
            let rest = name.strip_prefix(table.name);
            let extension = rest.and_then(|rest| rest.strip_prefix('.'));
            let mut names = table.naming.patterns.iter();
            let is_text = extension == Some(table.syntax.extension())
                || names.any(|pattern| pattern.text == name);
            is_text.then_some(None)
        }
    }
}

/// An archive belongs to the trace, and no table may be beside it a second time.
pub(super) fn fit_archives(found: &FoundSource, trace: &'static Trace) -> Result<()> {
    let Some((first, _)) = found.archives.first() else {
        return Ok(());
    };
    let wrong = |archive: &FoundFile, reason: String, hint: &str| {
        Err(Error::new(ErrorKind::Failed, reason)
            .at(found.root.join(&archive.path))
            .hint(hint))
    };
    if !trace.tables.iter().any(is_archived) {
        return wrong(
            first,
            format!("{} is not published in archives", trace.name),
            "unpack it, or name the trace with --trace",
        );
    }
    for table in trace.tables {
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
        let beside = tables.find(|found| found.name.as_deref() == Some(table.name));
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
pub(super) fn may_hold(trace: &'static Trace, archive: &FoundFile, table: &Table) -> bool {
    let name = archive.path.rsplit('/').next().unwrap_or(&archive.path);
    let known = discover::archive_of(trace, name).and_then(|known| known.table);
    is_archived(table) && known.is_none_or(|known| known == table.name)
}
