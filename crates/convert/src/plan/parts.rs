//! The parts of one table: which are there, which are missing, and where their outputs go.

use std::ops::Range;

use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::field_order::FieldOrder;
use tracelake_core::options::{Format, Layout};
use tracelake_core::part_key::{PartKey, listed};
use tracelake_core::words::first_few;
use tracelake_schema::{Table, Trace};

use super::checksums::described_sha256;
use super::{PARTS_LIMIT, PartPlan, Request, TableIndex, TablePlan};
use crate::discover::checksums::Checksums;
use crate::discover::{FoundPart, FoundSource, FoundTable};

/// Plans the parts of a table that are files.
pub(super) fn plan_table(
    request: &Request,
    (found, trace): (&FoundSource, &'static Trace),
    here: &FoundTable,
    index: TableIndex,
    order: FieldOrder,
    checksums: Option<&Checksums>,
) -> Result<TablePlan> {
    let table = order.table;
    let selected = |number| {
        request
            .parts
            .as_ref()
            .is_none_or(|parts| parts.contains(number))
    };
    let mut missing = Vec::new();
    let cells = here.parts.chunk_by(|a, b| a.key.cell == b.key.cell);
    for parts in cells.filter(|_| !found.alone) {
        check_numbers(request, found, table, parts)?;
        let first = table.naming.first;
        let ends = parts.iter().map(|part| part.end(first));
        let end = ends.max().expect("a cell that was found has a part");
        let total = end.saturating_sub(first);
        let gaps: Vec<PartKey> = gaps(parts, first..end)
            .filter(|gap| selected(gap.file_number))
            .collect();
        if !gaps.is_empty() && !request.allow_missing {
            let missing = gaps.len();
            let reason = match names_of(table, &gaps) {
                Some(names) => format!("{missing} of {total} files are missing: {names}"),
                None => format!("{missing} of {total} parts are missing: {}", listed(&gaps)),
            };
            return Err(Error::new(ErrorKind::Failed, reason)
                .at(&request.source)
                .field(table.name)
                .hint("download them, or pass --allow-missing to convert the others"));
        }
        missing.extend(gaps);
    }
    let parts = here
        .parts
        .iter()
        .filter(|part| selected(part.key.file_number))
        .map(|part| {
            let path = &part.file.path;
            // Below the directories of cells, files of one name are different files.
            let (recorded_from, directory) = match path.find('/').filter(|_| found.holds_cells) {
                Some(slash) => (slash + 1, ""),
                None => (0, table.name),
            };
            let sha256 = checksums
                .and_then(|sums| sums.of(directory, path))
                .or_else(|| described_sha256(request, trace, path));
            let place = (request.settings.layout, request.settings.format);
            part_plan(place, table.name, part, recorded_from, sha256)
        });
    let parts = parts.collect();
    let schema = tracelake_schema::arrow::arrow_schema(table);
    Ok(TablePlan {
        index,
        order,
        schema,
        parts,
        missing,
    })
}

/// Plans a part; the path of its source as the lake records it begins at `recorded_from`.
pub(super) fn part_plan(
    (layout, format): (Layout, Format),
    table: &'static str,
    part: &FoundPart,
    recorded_from: usize,
    sha256: Option<Digest>,
) -> PartPlan {
    PartPlan {
        key: part.key,
        source: part.file.path.clone(),
        recorded_from,
        bytes: part.file.bytes,
        etag: part.file.etag.clone(),
        sha256,
        total: part.total,
        table,
        layout,
        format,
    }
}

/// The names of the files of some parts, where names don't say the number of a part.
fn names_of(table: &Table, parts: &[PartKey]) -> Option<String> {
    let count = table.naming.count()?;
    Some(first_few(parts, |part| {
        let name = table
            .naming
            .name_of(part.file_number - table.naming.first, count);
        name.unwrap_or_else(|| part.file_number.to_string())
    }))
}

/// The parts with these numbers that are not there; `parts` are of one cell, in the order of
/// their numbers.
fn gaps(parts: &[FoundPart], numbers: Range<u32>) -> impl Iterator<Item = PartKey> {
    let cell = parts.first().and_then(|part| part.key.cell);
    let there = parts.iter().map(|part| part.key.file_number);
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
    let wrong = |part: &FoundPart, reason: String, hint: &str| {
        Err(Error::new(ErrorKind::Failed, reason)
            .at(found.root.join(&part.file.path))
            .field(table.name)
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
    use crate::discover::FoundFile;

    #[test]
    fn gaps_are_the_numbers_between_those_found() {
        let part = |number| FoundPart {
            file: FoundFile {
                path: String::new(),
                bytes: 0,
                etag: None,
            },
            key: PartKey::from(number),
            total: Some(10),
        };
        let found = [2, 3, 3, 7].map(part);
        let numbers = |parts: &[FoundPart], total| {
            let gaps = gaps(parts, 0..total).map(|gap| gap.file_number);
            gaps.collect::<Vec<_>>()
        };
        assert_eq!(numbers(&found, 10), [0, 1, 4, 5, 6, 8, 9]);
        assert_eq!(numbers(&found[..3], 4), [0, 1]);
        assert_eq!(numbers(&[], 2), [0, 1]);
        // Only as many as are asked for are ever made.
        assert_eq!(gaps(&[], 0..u32::MAX).nth(5), Some(5.into()));
    }
}
