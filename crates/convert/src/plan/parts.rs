//! The parts of one table: which are there, which are missing, and where their outputs go.

use std::ops::Range;
use std::sync::Arc;

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::field_order::FieldOrder;
use tracelake_core::part_key::{CellName, PartKey, listed, of_cell};
use tracelake_core::words::{first_few, several};
use tracelake_schema::{Table, Trace};

use super::checksums::listed_sha256;
use super::request::Request;
use super::tables::{PARTS_LIMIT, PartPlan, TablePlan};
use crate::discover::checksums::Checksums;
use crate::discover::{FoundPart, FoundSource, FoundTable};

/// Plans the parts of a table that are files.
pub(super) fn plan_table(
    request: &Request,
    (found, trace): (&FoundSource, &Trace),
    here: &FoundTable,
    order: FieldOrder,
    checksums: Option<&Checksums>,
) -> Result<TablePlan> {
    let table = Arc::clone(&order.table);
    let selected = |number| request.selects(number);
    let mut missing = Vec::new();
    let mut notes = Vec::new();
    for parts in here.parts.chunk_by(|a, b| a.key.cell == b.key.cell) {
        let counted = Counted::of(found, &table, here.is_parquet, parts);
        if found.alone {
            notes.extend(parts.first().and_then(|part| counted.note_alone(part)));
            continue;
        }
        check_numbers(request, found, &table, parts)?;
        notes.extend(counted.note_unknown(found, trace));
        if table.naming.is_sparse {
            notes.extend(counted.note_sparse(request, parts)?);
            continue;
        }
        let there = parts.iter().map(|part| part.key);
        let gaps = gaps(counted.cell, there, counted.numbers());
        let gaps: Vec<PartKey> = gaps.filter(|gap| selected(gap.file_number)).collect();
        if !gaps.is_empty() && !request.allow_missing {
            return Err(are_missing(&table, &gaps, counted.total()).at(&request.source));
        }
        missing.extend(gaps);
    }
    let in_all = found.alone.then(|| here.parts.first()).flatten();
    let in_all = in_all.and_then(|part| {
        let part_alone = std::slice::from_ref(part);
        Counted::of(found, &table, here.is_parquet, part_alone).alone(part)
    });
    let (layout, format) = (request.settings.layout, request.settings.format);
    let parts = here
        .parts
        .iter()
        .filter(|part| selected(part.key.file_number))
        .map(|part| {
            let path = &part.file.path;
            // Below the directories of cells, files of one name are different files.
            let (recorded_from, directory) = match path.find('/').filter(|_| found.holds_cells) {
                Some(slash) => (slash + 1, ""),
                None => (0, &*table.name),
            };
            PartPlan {
                source: path.clone(),
                recorded_from,
                bytes: part.file.bytes,
                sha256: listed_sha256(request, trace, checksums, (directory, path)),
                total: part.total,
                in_all,
                ..PartPlan::new(part.key, &table.name, layout, format)
            }
        });
    let parts = parts.collect();
    Ok(TablePlan {
        is_parquet: here.is_parquet,
        order,
        parts,
        missing,
        notes,
    })
}

/// The error for parts that aren't there.
pub(super) fn are_missing(table: &Table, gaps: &[PartKey], total: u32) -> Error {
    let missing = gaps.len();
    let reason = match names_of(table, gaps) {
        Some(names) => format!("{missing} of {total} files are missing: {names}"),
        None => format!("{missing} of {total} parts are missing: {}", listed(gaps)),
    };
    Error::new(ErrorKind::Failed, reason)
        .field(&*table.name)
        .hint(DOWNLOAD_THEM)
}

const DOWNLOAD_THEM: &str = "download them, or pass --allow-missing to convert the others";

/// How many parts a table has, in one cell.
struct Counted<'a> {
    table: &'a Table,
    cell: Option<CellName>,
    /// The number of the first part.
    first: u32,
    /// The number of parts, as the names of the files say, or else as the catalog does.
    known: Option<u32>,
    /// The number after that of the last part that is known of.
    end: u32,
}

impl<'a> Counted<'a> {
    /// Counts the parts of one cell. Of a synthetic trace, the catalog says nothing.
    fn of(found: &FoundSource, table: &'a Table, is_parquet: bool, parts: &[FoundPart]) -> Self {
        let numbers = parts.iter().map(|part| part.key.file_number);
        let first = table.naming.first_of(numbers);
        let cell = parts.first().and_then(|part| part.key.cell);
        let named = parts.iter().find_map(|part| part.total);
        let published = match is_parquet {
            true => table.parquet_parts_in(cell),
            false => table.parts_in(cell),
        };
        let published = Some(published).filter(|&count| count > 0 && !found.synthetic);
        let known = named.or(published);
        let ends = parts.iter().map(|part| part.end(first));
        let end = known.map(|known| first.saturating_add(known));
        Self {
            table,
            cell,
            first,
            known,
            end: ends.chain(end).max().unwrap_or(first),
        }
    }

    fn numbers(&self) -> Range<u32> {
        self.first..self.end
    }

    fn total(&self) -> u32 {
        self.end.saturating_sub(self.first)
    }

    /// How many parts the table has of which a file that is converted alone is one.
    fn alone(&self, part: &FoundPart) -> Option<u32> {
        let total = self.known.filter(|&total| total > 1)?;
        self.numbers()
            .contains(&part.key.file_number)
            .then_some(total)
    }

    /// Says of a file that is converted alone which part it is.
    fn note_alone(&self, part: &FoundPart) -> Option<String> {
        let name = &self.table.name;
        match (self.alone(part), self.table.parts) {
            (Some(total), _) => Some(format!(
                "{name}: part {} of {total}, converted alone",
                part.key
            )),
            (None, published) if published > 1 && part.total == Some(1) => Some(format!(
                "{name}: one file, converted alone; {} were published, and its name doesn't say which one it is",
                several(published.into(), "part")
            )),
            (None, _) => None,
        }
    }

    /// Says how many parts are missing of a table whose names don't say which.
    ///
    /// # Errors
    /// Unless some may be missing, or not all are asked for.
    fn note_sparse(&self, request: &Request, parts: &[FoundPart]) -> Result<Option<String>> {
        let Some(known) = self.known else {
            return Ok(None);
        };
        let there = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        let Some(missing) = known.checked_sub(there).filter(|&missing| missing > 0) else {
            return Ok(None);
        };
        let reason = format!("{missing} of {known} files are missing; their names don't say which");
        match request.allow_missing {
            true => Ok(Some(format!("{}: {reason}", self.table.name))),
            false => Err(Error::new(ErrorKind::Failed, reason)
                .field(&*self.table.name)
                .hint(DOWNLOAD_THEM)
                .at(&request.source)),
        }
    }

    /// Says that parts after the last one may be missing, if their number isn't known.
    fn note_unknown(&self, found: &FoundSource, trace: &Trace) -> Option<String> {
        if self.known.is_some() || found.synthetic {
            return None;
        }
        let name = format!("{}{}", self.table.name, of_cell(self.cell));
        Some(
            match trace.cells_of(self.table).filter(|_| self.cell.is_none()) {
                Some(_) => format!(
                    "{name}: whether parts are missing can't be told without the cell; name it with --cell"
                ),
                None => format!(
                    "{name}: how many parts were published isn't known, so none can be missed after the last one here"
                ),
            },
        )
    }
}

/// The names of the files of some parts, where names don't say the number of a part.
fn names_of(table: &Table, parts: &[PartKey]) -> Option<String> {
    let naming = &table.naming;
    let count = naming.count().or(naming.begins_anywhere().then_some(0))?;
    Some(first_few(parts, |part| {
        let name = naming.name_of(part.file_number - naming.first, count);
        name.unwrap_or_else(|| part.file_number.to_string())
    }))
}

/// The parts with these numbers that are not there; `there` are parts of one cell, in the order of their numbers.
pub(super) fn gaps(
    cell: Option<CellName>,
    there: impl Iterator<Item = PartKey> + Clone,
    numbers: Range<u32>,
) -> impl Iterator<Item = PartKey> {
    let there = there.map(|part| part.file_number);
    let after = there.clone().map(|number| number.saturating_add(1));
    let starts = std::iter::once(numbers.start).chain(after);
    starts
        .zip(there.chain([numbers.end]))
        .flat_map(|(start, end)| start..end)
        .map(move |file_number| PartKey { cell, file_number })
}

/// Two files of one number would become the same output; a number past the total is a mistake; two
/// totals mean that two downloads were mixed.
fn check_numbers(
    request: &Request,
    found: &FoundSource,
    table: &Table,
    parts: &[FoundPart],
) -> Result<()> {
    let wrong = |part: &FoundPart, reason: String, hint: &'static str| {
        Err(Error::new(ErrorKind::Failed, reason)
            .at(found.root.join(&part.file.path))
            .field(&*table.name)
            .hint(hint))
    };
    for pair in parts.windows(2) {
        if pair[0].key == pair[1].key {
            let reason = format!("has the same file number as {}", pair[0].file.path);
            return wrong(&pair[1], reason, "move one of them away");
        }
    }
    for part in parts {
        if part.total() > PARTS_LIMIT {
            let reason = format!(
                "one of {} parts, and a table has at most {PARTS_LIMIT}",
                part.total()
            );
            return wrong(part, reason, "rename it, or move it away");
        }
        let number = part.key.file_number;
        let first_number = table.naming.first;
        let end = part.end(first_number);
        if number >= end || number < first_number {
            let reason = match first_number {
                0 => format!("file number {number} is not below {end}"),
                first => format!(
                    "file number {number} is not from {first} to {}",
                    end.saturating_sub(1)
                ),
            };
            return wrong(part, reason, "rename it, or move it away");
        }
        let first = &parts[0];
        if part.total.is_some() && part.total != first.total && !request.allow_missing {
            let reason = format!(
                "one of {} parts, but {} is one of {}",
                part.total(),
                first.file.path,
                first.total()
            );
            return wrong(
                part,
                reason,
                "move one kind away, or pass --allow-missing to take both",
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_the_numbers_between_those_found() {
        let found = [2, 3, 3, 7].map(PartKey::from);
        let numbers = |parts: &[PartKey], total| {
            let gaps = gaps(None, parts.iter().copied(), 0..total).map(|gap| gap.file_number);
            gaps.collect::<Vec<_>>()
        };
        assert_eq!(numbers(&found, 10), [0, 1, 4, 5, 6, 8, 9]);
        assert_eq!(numbers(&found[..3], 4), [0, 1]);
        assert_eq!(numbers(&[], 2), [0, 1]);
        // Only as many as are asked for are ever made.
        let none = std::iter::empty();
        assert_eq!(gaps(None, none, 0..u32::MAX).nth(5), Some(5.into()));
    }
}
