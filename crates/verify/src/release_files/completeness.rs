//! How much of a trace a lake has, as far as that can be known.

use std::collections::BTreeSet;

use tracelake_core::part_key::{CellName, of_cell};
use tracelake_core::words::{self, ranges};
use tracelake_lake::manifest::{Manifest, PartFacts, TableFacts};
use tracelake_schema::{Files, Table, Trace};

/// The share of the published rows, in percent, from which on a table counts as complete: published counts may be wrong, but
/// not by more.
const COMPLETE_PERCENT: u64 = 99;

/// Whether a table has far fewer rows than were published.
#[must_use]
pub fn is_far_short(rows: u64, published: u64) -> bool {
    u128::from(rows) * 100 < u128::from(published) * u128::from(COMPLETE_PERCENT)
}

/// The parts of a table that were converted alone, each from a file named as the source, such as
/// `readings: part 1 of 125`; one text for each cell.
#[must_use]
pub fn parts_alone(facts: &TableFacts) -> Vec<String> {
    let notes = facts.by_cell().into_iter().filter_map(|(cell, facts)| {
        let total = facts.parts.iter().filter_map(|part| part.in_all).max()?;
        let numbers: Vec<u32> = facts.parts.iter().map(|part| part.file_number).collect();
        let s = if numbers.len() == 1 { "" } else { "s" };
        let (name, numbers) = (&facts.name, words::numbers(&numbers));
        Some(format!(
            "{name}{}: part{s} {numbers} of {total}",
            of_cell(cell)
        ))
    });
    notes.collect()
}

/// The gaps between a lake and its trace.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Completeness {
    /// The cells that a lake of some cells doesn't have.
    pub cells: Vec<String>,
    /// The tables that aren't complete, in the order of the trace.
    pub gaps: Vec<TableGap>,
    /// Tables whose complete size isn't known; `jobs of cell b` in a lake that is partitioned by cell.
    pub unknown: Vec<String>,
    /// Rejected rows.
    pub rejected: u64,
}

/// The gap of a lake in one table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TableGap {
    /// The name of the table.
    pub table: String,
    /// The cell, in a lake that is partitioned by cell.
    pub cell: Option<CellName>,
    /// The missing pieces.
    pub gap: Gap,
}

/// The missing pieces of a table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Gap {
    /// The whole table, whose number of parts isn't known.
    Absent,
    /// Parts.
    Parts {
        /// The number of parts of the complete table: as published, or as the names of its files say if
        /// that is more.
        total: u32,
        /// The missing file numbers below `total`: the first and the last of each run.
        missing: Vec<(u32, u32)>,
    },
    /// Parts, in the lake that it was clustered from.
    Before {
        /// The number of published parts.
        known: u32,
    },
    /// Rows: all known parts are here, and still their number isn't the published one.
    Rows {
        /// Rows read from the source.
        read: u64,
        /// Rows published.
        published: u64,
    },
}

/// The number of file numbers in runs.
pub(super) fn count(runs: &[(u32, u32)]) -> u64 {
    runs.iter()
        .map(|(first, last)| u64::from(*last) - u64::from(*first) + 1)
        .sum()
}

impl Gap {
    /// Describes what is missing: `2 of 500 parts are missing: 0, 7`.
    #[must_use]
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Absent => "the table is missing".to_owned(),
            Self::Parts { total, missing } => format!(
                "{} of {total} parts are missing: {}",
                count(missing),
                ranges(missing.iter().copied())
            ),
            Self::Before { known } => format!(
                "some of its {known} parts were missing in the lake that it was clustered from"
            ),
            Self::Rows { read, published } => {
                let rows = words::several(*read, "row");
                let published = words::group_digits(*published);
                format!("{rows} read, but {published} were published")
            }
        }
    }
}

/// Finds what a lake lacks of its trace. A synthetic one is only compared with the names of its
/// files.
#[must_use]
pub(crate) fn completeness(trace: &Trace, manifest: &Manifest) -> Completeness {
    let parts_of = |table: &Table| -> Vec<&PartFacts> {
        let tables = manifest
            .tables
            .iter()
            .filter(|facts| facts.name == table.name);
        tables.flat_map(|facts| &facts.parts).collect()
    };
    let cells = manifest.cells();
    // A trace may be published twice, in shards and as one file: only one of the two is expected.
    let is_expected = |table: &Table| {
        let mut others = trace
            .tables
            .iter()
            .filter(|other| other.files == table.files);
        others.any(|other| !parts_of(other).is_empty())
    };
    let clustered = manifest.origin.clustered.as_ref();
    let (mut gaps, mut unknown) = (Vec::new(), Vec::new());
    let tables = trace.tables.iter().filter(|table| is_expected(table));
    for (table, cell) in tables.flat_map(|table| cells.iter().map(move |cell| (table, *cell))) {
        let mut parts = parts_of(table);
        parts.retain(|part| part.cell == cell);
        let is_published = !manifest.origin.synthetic;
        let published = table.published_in(cell).filter(|_| is_published);
        let known = manifest.origin.options.published_parts(table, cell);
        let total = total(table, &parts, Some(known).filter(|_| is_published));
        let numbers = parts.iter().map(|part| part.file_number);
        let mut missing = missing(&parts, table.naming.first_of(numbers), total);
        if table.naming.is_sparse {
            // Which ones they are isn't known; the number of rows says whether some are.
            missing.clear();
        }
        let rows_in = parts.iter().map(|part| part.rows_in);
        let read = rows_in.fold(0, u64::saturating_add);
        // Its files say how many there are, but not how many there were before.
        let is_rearranged = clustered.is_some_and(|how| how.rearranges(trace, table));
        let lacks_some = is_rearranged && parts.iter().all(|part| part.of.is_none());
        let gap = match published {
            _ if parts.is_empty() && is_rearranged => Gap::Absent,
            None if lacks_some && is_published && known > 0 => Gap::Before { known },
            _ if !missing.is_empty() && !is_rearranged => Gap::Parts { total, missing },
            _ if parts.is_empty() => Gap::Absent,
            Some(published) if published.rows != read => Gap::Rows {
                read,
                published: published.rows,
            },
            None if is_published && known == 0 => {
                unknown.push(format!("{}{}", table.name, of_cell(cell)));
                continue;
            }
            _ => continue,
        };
        gaps.push(TableGap {
            table: table.name.clone(),
            cell,
            gap,
        });
    }
    let missing = |cell: &&String| !cells.contains(&Some(cell.as_str()));
    let by_cell = trace
        .cells
        .as_ref()
        .filter(|_| cells.iter().any(Option::is_some));
    let all = by_cell.filter(|_| !manifest.origin.synthetic);
    let names = all.map_or(&[][..], |all| &all.names).iter();
    Completeness {
        cells: names.filter(missing).cloned().collect(),
        gaps,
        unknown,
        rejected: manifest.rows_rejected(),
    }
}

/// The number of parts of a complete table, as far as it is known; 0 if nothing is.
fn total(table: &Table, parts: &[&PartFacts], published: Option<u32>) -> u32 {
    let named = parts
        .iter()
        .filter_map(|part| total_in_name(&part.output.path));
    let cut = parts.iter().filter_map(|part| part.of);
    // If a file wasn't read to its end, at least one more part follows.
    let is_open = parts
        .iter()
        .any(|part| table.files == Files::Whole && part.of.is_none());
    let last = parts.iter().map(|part| part.file_number).max();
    let open = last.filter(|_| is_open).map(|last| last.saturating_add(2));
    let totals = named.chain(cut).chain(open).chain(published);
    totals.max().unwrap_or(0)
}

/// The total in a name such as `part-00017-of-00500.parquet`, if there is one.
fn total_in_name(path: &str) -> Option<u32> {
    let (_, end) = path.rsplit_once("-of-")?;
    end.split_once('.')?.0.parse().ok()
}

/// The file numbers of `total` parts from `first` on that no part has.
fn missing(parts: &[&PartFacts], first: u32, total: u32) -> Vec<(u32, u32)> {
    let numbers: BTreeSet<u32> = parts.iter().map(|part| part.file_number).collect();
    let mut missing = Vec::new();
    let mut next = first;
    let end = first.saturating_add(total);
    for number in numbers
        .into_iter()
        .filter(|number| *number < end)
        .chain([end])
    {
        if number > next {
            missing.push((next, number - 1));
        }
        next = number.saturating_add(1);
    }
    missing
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tracelake_core::options::Layout;
    use tracelake_schema::{Confidence, Published};

    use super::super::tests::{manifest, trace};
    use super::*;

    /// The first trace, of its first table alone.
    fn one(published: Option<u64>, parts: u32, files: Files) -> Trace {
        let mut table = (*trace().tables[0]).clone();
        table.parts = parts;
        table.files = files;
        table.published = published.map(|rows| Published {
            rows,
            confidence: Confidence::Reported,
            source: "somebody".to_owned(),
            not_of: Vec::new(),
        });
        let mut trace = (**trace()).clone();
        trace.tables = vec![Arc::new(table)];
        trace
    }

    fn gap(trace: &Trace, parts: &[(u32, &str)]) -> Option<Gap> {
        let found = completeness(trace, &manifest(Layout::Flat, parts));
        found.gaps.into_iter().next().map(|table| table.gap)
    }

    #[test]
    fn missing_parts_are_counted_up_to_the_larger_total() {
        let trace = one(None, 9, Files::Parts);
        let parts = [
            (1, "part-00001-of-00002.parquet"),
            (4, "part-00004.parquet"),
        ];
        let found = gap(&trace, &parts).unwrap();
        assert_eq!(found.describe(), "7 of 9 parts are missing: 0, 2-3, 5-8");
        let found = gap(&trace, &[(0, "part-00000-of-99999.parquet")]).unwrap();
        assert_eq!(
            found.describe(),
            "99998 of 99999 parts are missing: 1-99998"
        );
        let all: Vec<(u32, &str)> = (0..9).map(|number| (number, "x")).collect();
        assert_eq!(gap(&trace, &all), None);
    }

    #[test]
    fn forged_file_numbers_are_harmless() {
        let trace = one(None, 3, Files::Parts);
        let found = gap(&trace, &[(u32::MAX, "x"), (u32::MAX, "x"), (3, "x")]).unwrap();
        assert_eq!(found.describe(), "3 of 3 parts are missing: 0-2");
        let name = format!("part-0-of-{}.parquet", u32::MAX);
        let found = gap(&trace, &[(u32::MAX - 1, &name)]).unwrap();
        let last = u32::MAX - 2;
        let says = format!("{} of {} parts are missing: 0-{last}", last + 1, u32::MAX);
        assert_eq!(found.describe(), says);
        let trace = one(None, 0, Files::Whole);
        assert!(gap(&trace, &[(u32::MAX, "x")]).is_some());
    }

    /// A lake of one part has three rows read.
    #[test]
    fn a_fragment_is_not_a_table() {
        let parts = [(0, "part-00000.parquet")];
        let read = |published| gap(&one(Some(published), 1, Files::Parts), &parts);
        assert_eq!(read(3), None);
        let found = read(246_934_820).unwrap();
        assert_eq!(
            found.describe(),
            "3 rows read, but 246,934,820 were published"
        );
    }

    #[test]
    fn what_nobody_counted_is_unknown() {
        let parts = [(0, "part-00000.parquet")];
        let found = completeness(
            &one(None, 0, Files::Shards),
            &manifest(Layout::Flat, &parts),
        );
        assert_eq!(found.gaps, []);
        assert_eq!(found.unknown, [&*trace().tables[0].name]);
        let mut synthetic = manifest(Layout::Flat, &parts);
        synthetic.origin.synthetic = true;
        let found = completeness(&one(Some(99), 500, Files::Parts), &synthetic);
        assert_eq!((found.gaps, found.unknown), (vec![], vec![]));
    }

    #[test]
    fn absent_tables_are_missing() {
        let all = trace().tables.len();
        let found = completeness(
            trace(),
            &manifest(Layout::Flat, &[(0, "part-00000.parquet")]),
        );
        assert_eq!(found.gaps.len(), all);
        assert_eq!(completeness(trace(), &manifest(Layout::Flat, &[])).gaps, []);
        let mut two = one(None, 0, Files::Shards);
        let other = Table {
            name: "other".to_owned(),
            ..(*two.tables[0]).clone()
        };
        two.tables.push(Arc::new(other));
        let found = completeness(&two, &manifest(Layout::Flat, &[(0, "part-00000.parquet")]));
        let [TableGap { table, gap, .. }] = &found.gaps[..] else {
            panic!("{found:?}");
        };
        assert_eq!(
            (&**table, gap.describe().as_str()),
            ("other", "the table is missing")
        );
    }
}
