//! The unfinished work of a plan that several workers carry out.

use std::collections::BTreeMap;

use tracelake_core::error::{Error, ErrorKind};
use tracelake_core::part_key::{PartKey, listed};
use tracelake_core::words::{for_shell, several};
use tracelake_lake::manifest::Manifest;
use tracelake_lake::plan_file::{PlanFile, PlannedStream};
use tracelake_lake::store::{CutFacts, LakeProgress};
use tracelake_location::Location;
use tracelake_schema::Trace;

use super::derived::is_derived_from;
use super::{Parts, last_of_each, parts_of};
use crate::plan::TableIndex;

/// How many shards an error names whose parts are missing.
const SHARDS_SHOWN: usize = 8;

/// Lists a plan's unfinished work, by shard, as far as its facts say.
#[must_use]
pub fn remaining(
    trace: &'static Trace,
    plan: &PlanFile,
    progress: &LakeProgress,
) -> BTreeMap<u32, Remaining> {
    remaining_with(trace, plan, progress, &last_of_each(trace, progress))
}

/// Whether a finished lake has everything of a plan, made with the same settings.
pub(super) fn has_all(trace: &'static Trace, plan: &PlanFile, manifest: &Manifest) -> bool {
    let same = plan
        .origin
        .difference_but_policy(&manifest.origin)
        .is_none();
    let progress = LakeProgress::finished(manifest.clone());
    same && remaining(trace, plan, &progress).is_empty()
}

/// A shard's unfinished work.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Remaining {
    /// The parts of each table.
    pub parts: BTreeMap<String, Vec<PartKey>>,
    /// Files that are cut into parts, and were not read to their end; relative to SRC.
    pub files: Vec<String>,
}

/// Lists the plan's unfinished work, by shard; `parts` are done.
pub(super) fn remaining_with(
    trace: &'static Trace,
    plan: &PlanFile,
    progress: &LakeProgress,
    parts: &Parts,
) -> BTreeMap<u32, Remaining> {
    let mut missing: BTreeMap<u32, Remaining> = BTreeMap::new();
    let there = |table: &str, key| {
        TableIndex::of(trace, table).is_some_and(|index| parts.contains_key(&(index, key)))
    };
    let mut lacks = |shard: u32, table: &str, key| {
        let parts = &mut missing.entry(shard).or_default().parts;
        parts.entry(table.to_owned()).or_default().push(key);
    };
    for part in &plan.parts {
        if !there(&part.table, part.key()) {
            lacks(part.shard, &part.table, part.key());
        }
    }
    let cuts = Cuts::of(progress);
    let mut unread = Vec::new();
    for stream in &plan.streams {
        match missing_of(trace, stream, &cuts, &there) {
            None => unread.push(stream),
            Some(missing) => {
                for (table, key) in missing {
                    lacks(stream.shard, &table, key);
                }
            }
        }
    }
    let assignment = plan.assignment();
    for derived in &plan.derived {
        let indices = (
            TableIndex::of(trace, &derived.table),
            TableIndex::of(trace, &derived.from),
        );
        let (Some(index), Some(from)) = indices else {
            continue;
        };
        for (key, input) in parts_of(parts, from) {
            let made = parts.get(&(index, key));
            if made.is_none_or(|made| !is_derived_from(made, input)) {
                let shard = assignment
                    .shard_of(&derived.table, key)
                    .expect("each part of a derived table is in a shard");
                lacks(shard, &derived.table, key);
            }
        }
    }
    for stream in unread {
        let shard = missing.entry(stream.shard).or_default();
        shard.files.push(stream.source.path.clone());
    }
    missing
}

/// The error that names what is missing, which is something.
pub(super) fn incomplete(
    root: &Location,
    missing: &BTreeMap<u32, Remaining>,
    shards: u32,
) -> Error {
    let describe = |(shard, missing): (&u32, &Remaining)| {
        let parts = missing.parts.iter().map(|(table, keys)| {
            let mut sorted = keys.clone();
            sorted.sort_unstable();
            format!("{table} {}", listed(&sorted))
        });
        let files = missing
            .files
            .iter()
            .map(|file| format!("{file}, which is cut into parts"));
        let all: Vec<String> = parts.chain(files).collect();
        format!("shard {shard}: {}", all.join(", "))
    };
    let shown: Vec<String> = missing.iter().take(SHARDS_SHOWN).map(describe).collect();
    let more = match missing.len().saturating_sub(SHARDS_SHOWN) as u64 {
        0 => String::new(),
        more => format!("; and {}", several(more, "more shard")),
    };
    let first = missing.keys().next().expect("something is missing");
    let reason = format!("not finished: {}{more}", shown.join("; "));
    let lake = for_shell(root);
    Error::new(ErrorKind::Refused, reason).at(root).hint(format!(
        "run tracelake convert SRC {lake} --shard {first}/{shards} with the options of the others, for \
         each of these shards, then commit again"
    ))
}

/// The most missing parts that are listed: a journal may say anything, and must not decide how much
/// memory a look at it takes.
const LISTED: usize = 100_000;

/// Facts about files that are cut into parts, indexed for many questions.
pub(super) struct Cuts<'a> {
    /// By the file; of several facts, the last ones count.
    files: BTreeMap<&'a str, Vec<&'a CutFacts>>,
    /// The tables that have parts, and how many, if a part of it says so.
    counts: BTreeMap<&'a str, Option<u32>>,
    /// Whether a table without parts isn't in its file, as in a finished lake.
    pub(super) is_complete: bool,
}

impl<'a> Cuts<'a> {
    pub(super) fn of(progress: &'a LakeProgress) -> Self {
        let mut files: BTreeMap<_, Vec<&CutFacts>> = BTreeMap::new();
        for cut in &progress.cut {
            files.entry(&cut.source[..]).or_default().push(cut);
        }
        let mut counts: BTreeMap<_, Option<u32>> = BTreeMap::new();
        for (table, facts) in &progress.parts {
            let most = counts.entry(&table[..]).or_default();
            *most = facts.of.max(*most);
        }
        Self {
            files,
            counts,
            is_complete: progress.complete,
        }
    }

    /// The last facts of a stream that know all of its tables.
    fn find(&self, stream: &PlannedStream) -> Option<&'a CutFacts> {
        let mut same = self.files.get(&stream.source.path[..])?.iter().rev();
        let found = same.find(|cut| {
            let mut tables = stream.tables.iter();
            cut.selected == stream.selected && tables.all(|table| cut.tables.contains_key(table))
        });
        found.copied()
    }

    /// Whether a finished lake has nothing of a table, but other tables of the file.
    fn is_absent(&self, table: &str, stream: &PlannedStream) -> bool {
        let is_there = |table: &str| self.counts.contains_key(table);
        let mut tables = stream.tables.iter();
        self.is_complete && !is_there(table) && tables.any(|table| is_there(table))
    }
}

/// The selected parts of a stream that are missing, each with its table. `None` if no run has read the
/// stream as far as it was wanted, so that the number of its parts isn't known.
pub(super) fn missing_of(
    trace: &'static Trace,
    stream: &PlannedStream,
    cuts: &Cuts<'_>,
    there: &dyn Fn(&str, PartKey) -> bool,
) -> Option<Vec<(String, PartKey)>> {
    let cut = cuts.find(stream);
    let mut missing = Vec::new();
    for table in &stream.tables {
        let count = match cut {
            Some(cut) => cut.tables.get(table).copied(),
            // A damaged part still says how many there are.
            None => cuts.counts.get(&table[..]).copied().flatten(),
        };
        let mut selected = stream.selected_below(u32::MAX);
        match count {
            Some(count) => {
                let first = trace.table(table).map_or(0, |table| table.naming.first);
                let lacking = stream
                    .selected_below(first.saturating_add(count))
                    .filter(|key| key.file_number >= first && !there(table, *key))
                    .map(|key| (table.clone(), key));
                missing.extend(lacking.take(LISTED - missing.len()));
            }
            None if stream.selected.is_some() && selected.all(|key| there(table, key)) => {}
            None if cuts.is_absent(table, stream) => {}
            None => return None,
        }
    }
    Some(missing)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tracelake_lake::plan_file::PlannedSource;
    use tracelake_schema::TRACES;

    use super::*;

    fn selected() -> impl Strategy<Value = Option<Vec<(u32, u32)>>> {
        prop_oneof![Just(None), Just(Some(vec![(0, 1)]))]
    }

    fn cut() -> impl Strategy<Value = CutFacts> {
        let tables = proptest::collection::btree_map("[ab]", 0..9_u32, 0..3);
        ("[xy]", selected(), tables).prop_map(|(source, selected, tables)| CutFacts {
            source,
            selected,
            tables,
        })
    }

    fn stream() -> impl Strategy<Value = PlannedStream> {
        let tables = proptest::collection::vec("[abc]", 0..3);
        ("[xyz]", selected(), tables).prop_map(|(path, selected, tables)| PlannedStream {
            tables,
            selected,
            shard: 0,
            source: PlannedSource {
                path,
                bytes: Some(1),
                sha256: None,
            },
        })
    }

    proptest! {
        #[test]
        fn the_last_facts_of_a_stream_count(
            cut in proptest::collection::vec(cut(), 0..8),
            stream in stream(),
        ) {
            let mut last = cut.iter().rev();
            let expected = last.find(|cut| {
                cut.source == stream.source.path
                    && cut.selected == stream.selected
                    && stream.tables.iter().all(|table| cut.tables.contains_key(table))
            });
            let progress = LakeProgress { cut: cut.clone(), ..LakeProgress::default() };
            prop_assert_eq!(Cuts::of(&progress).find(&stream), expected);
        }
    }

    /// A stream of the table `a` that selects these parts.
    fn selecting(selected: Option<Vec<(u32, u32)>>) -> PlannedStream {
        PlannedStream {
            tables: vec!["a".to_owned()],
            selected,
            shard: 0,
            source: PlannedSource {
                path: "x".to_owned(),
                bytes: Some(1),
                sha256: None,
            },
        }
    }

    #[test]
    fn the_table_of_streams() {
        let cut = |parts| CutFacts {
            source: "x".to_owned(),
            selected: None,
            tables: BTreeMap::from([("a".to_owned(), parts)]),
        };
        let first_two = Some(vec![(0, 1)]);
        // Parts that are there; selected parts; how many parts the facts say; the parts that are missing.
        type Row<'a> = (
            &'a [u32],
            Option<Vec<(u32, u32)>>,
            Option<u32>,
            Option<&'a [u32]>,
        );
        let rows: &[Row<'_>] = &[
            // The number of parts isn't known before a run has read the file to its end.
            (&[], None, None, None),
            (&[0, 1], None, None, None),
            (&[], None, Some(0), Some(&[])),
            (&[], None, Some(3), Some(&[0, 1, 2])),
            (&[1], None, Some(3), Some(&[0, 2])),
            (&[0, 1, 2], None, Some(3), Some(&[])),
            // With a selection, the parts themselves say whether all are there.
            (&[0, 1], first_two.clone(), None, Some(&[])),
            (&[0], first_two.clone(), None, None),
            (&[], first_two, None, None),
        ];
        for (there, selected, count, expected) in rows {
            let progress = LakeProgress {
                cut: count.iter().map(|&count| cut(count)).collect(),
                ..LakeProgress::default()
            };
            let cuts = Cuts::of(&progress);
            let is_there = |_: &str, key: PartKey| there.contains(&key.file_number);
            let missing = missing_of(&TRACES[0], &selecting(selected.clone()), &cuts, &is_there);
            let numbers = missing.map(|parts| {
                let keys = parts.into_iter();
                keys.map(|(_, key)| key.file_number).collect::<Vec<_>>()
            });
            assert_eq!(
                numbers.as_deref(),
                *expected,
                "{there:?} of {selected:?}, {count:?}"
            );
        }
    }

    #[test]
    fn a_stream_cut_for_another_selection_says_nothing() {
        let cut = CutFacts {
            source: "x".to_owned(),
            selected: Some(vec![(0, 1)]),
            tables: BTreeMap::from([("a".to_owned(), 2)]),
        };
        let progress = LakeProgress {
            cut: vec![cut],
            ..LakeProgress::default()
        };
        let cuts = Cuts::of(&progress);
        assert_eq!(
            missing_of(&TRACES[0], &selecting(None), &cuts, &|_, _| true),
            None
        );
    }
}
