//! Carries out a plan: parts over threads, resuming, stopping, and what to do with a bad row.

mod keep;
mod look;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use tracelake_schema::{Derived, Table};

use crate::derive::derive;
use crate::error::{Error, ErrorKind, Result, escape};
use crate::event::{Event, EventSink};
use crate::lake_file::LakeFile;
use crate::location::Location;
use crate::manifest::{self, FileFacts, Manifest, PartFacts, REJECTS, TableFacts};
use crate::options::OnBadRow;
use crate::part::{Converted, Text, convert_part};
use crate::plan::{PartPlan, Plan, StreamPlan, TablePlan, check_sha256, table_names};
use crate::reject::BadRow;
use crate::source::{self, Fingerprint, Interrupt, Source};
use crate::store::{
    Journal, Lake, Progress, Staged, Staging, files, foreign_files, inside, read_manifest,
};
use crate::words::several;

pub use look::{Found, look};

/// How a run is carried out; nothing here changes a byte of the lake.
#[derive(Debug, Clone, Copy)]
pub struct Conduct<'a> {
    /// Threads, at least 1.
    pub threads: usize,
    /// Parts that are converted at a time, at least 1; see [`parts_within`].
    pub parts: usize,
    /// Whether an existing lake is replaced.
    pub overwrite: bool,
    /// The most rows that may be rejected in the whole lake; `None` for any number.
    pub max_rejects: Option<u64>,
    /// Read often: the number of the signal that asks the run to stop, or 0.
    pub stop: &'a Arc<AtomicUsize>,
}

/// What a run takes beside its parts, in bytes.
const MEMORY: u64 = 128_000_000;

/// How many foreign files an error names beside the first.
const FOREIGN_SHOWN: usize = 4;

/// What one part takes at most, in bytes: a row group being encoded, with the dictionaries of its
/// columns and what looks values up in them.
const PART_MEMORY: u64 = 128_000_000;

/// How many parts may be converted at a time within `memory` bytes; `None` if there isn't enough for
/// one.
///
/// ```
/// use tracelake_convert::run::parts_within;
/// assert_eq!(parts_within(400_000_000), Some(2));
/// assert_eq!(parts_within(255_000_000), None);
/// ```
#[must_use]
pub fn parts_within(memory: u64) -> Option<usize> {
    let parts = memory.saturating_sub(MEMORY) / PART_MEMORY;
    usize::try_from(parts).ok().filter(|&parts| parts > 0)
}

/// What a run led to.
#[derive(Debug)]
pub struct Outcome {
    /// The manifest of the lake as it is now.
    pub manifest: Manifest,
    /// How many parts this run converted; the others were finished before.
    pub converted: usize,
}

/// The parts of a lake, by their table's place in the trace and their file number.
type Parts = BTreeMap<(usize, u32), PartFacts>;

/// Converts what a plan names into the lake at `out`. Parts that an earlier run finished are
/// validated and kept.
///
/// # Errors
/// The first one in the order of the plan; parts finished until then stay for the next run.
pub fn convert(
    plan: &Plan,
    out: &Path,
    conduct: Conduct<'_>,
    watch: EventSink<'_>,
) -> Result<Outcome> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(conduct.threads)
        .build();
    let pool = pool.map_err(|error| {
        Error::new(
            ErrorKind::Failed,
            format!("cannot start {} threads: {error}", conduct.threads),
        )
        .hint("pass a smaller --threads")
        .because(error)
    })?;
    let lake = Lake::open(out)?;
    if lake.left_behind() > 0 {
        watch(Event::Warning(format!(
            "removed {} that an interrupted run left unfinished",
            several(lake.left_behind() as u64, "file")
        )));
    }
    let run = Run::new(plan, &lake, conduct, watch);
    match pool.install(|| run.convert()) {
        Ok(outcome) => Ok(outcome),
        Err(error) => {
            lake.abandon();
            Err(error)
        }
    }
}

/// What every step of a run needs.
struct Run<'a> {
    plan: &'a Plan,
    lake: &'a Lake,
    conduct: Conduct<'a>,
    /// Rows of the lake that were rejected so far.
    rejected: AtomicU64,
    /// Whether a part failed, so that the others stop.
    failed: Arc<AtomicBool>,
    /// Fails once a signal arrived or a part failed; sources ask it too.
    interrupt: Interrupt,
    /// The most bytes that the manifest takes with the parts so far.
    manifest_bytes: AtomicU64,
    /// Tables of which a file was said to be in doubt; once for each is enough.
    doubted: Mutex<BTreeSet<usize>>,
    watch: EventSink<'a>,
}

impl<'a> Run<'a> {
    fn new(plan: &'a Plan, lake: &'a Lake, conduct: Conduct<'a>, watch: EventSink<'a>) -> Self {
        let failed = Arc::new(AtomicBool::new(false));
        Self {
            plan,
            lake,
            conduct,
            rejected: AtomicU64::new(0),
            interrupt: interrupt(Arc::clone(conduct.stop), Arc::clone(&failed)),
            failed,
            manifest_bytes: AtomicU64::new(0),
            doubted: Mutex::default(),
            watch,
        }
    }
}

/// A file to convert.
#[derive(Clone, Copy)]
enum Work<'a> {
    /// It is a part of a table of the plan.
    Part(usize, &'a PartPlan),
    /// It is cut into parts.
    Stream(&'a StreamPlan),
}

impl Work<'_> {
    fn bytes(&self) -> u64 {
        match self {
            Self::Part(_, part) => part.bytes,
            Self::Stream(stream) => stream.bytes,
        }
    }
}

/// What the threads of a run share.
struct Shared {
    kept: Parts,
    /// Begun when it is first needed.
    journal: Mutex<Option<Journal>>,
}

/// A stream on its way to parts.
struct Cutting<'a> {
    stream: &'a StreamPlan,
    parts: Parts,
    /// How many parts each of its tables has so far.
    counts: BTreeMap<usize, u32>,
    ticks: Ticks<'a>,
}

/// Tells how far a file is read, and stops where that is wanted.
struct Ticks<'a> {
    run: &'a Run<'a>,
    /// Bytes of the file that were reported.
    told: u64,
}

impl<'a> Ticks<'a> {
    fn new(run: &'a Run<'a>) -> Self {
        Self { run, told: 0 }
    }

    fn read_up_to(&mut self, position: u64) {
        let bytes = position - self.told;
        self.told = position;
        if bytes > 0 {
            (self.run.watch)(Event::Read { bytes });
        }
    }

    fn tick(&mut self, position: u64) -> Result<()> {
        self.read_up_to(position);
        self.run.go_on()
    }
}

/// A part whose files are staged.
struct Done {
    converted: Converted,
    output: Staged,
    rejects: Option<Staged>,
}

impl Run<'_> {
    fn convert(&self) -> Result<Outcome> {
        let progress = if self.conduct.overwrite {
            Progress::default()
        } else {
            self.lake.progress()?
        };
        if let Some(damaged) = &progress.damaged {
            (self.watch)(Event::Warning(format!(
                "{damaged}; parts that can't be checked are converted again"
            )));
        }
        self.refuse(&progress)?;
        let finished = progress.parts.iter();
        let finished = finished.map(|(table, facts)| (table.clone(), facts.file_number));
        look::check_derived(self.plan, &finished.collect())?;
        let mut parts = self.keep(&progress)?;
        self.fits_manifest(&parts)?;
        let rejected = parts.values().map(|part| part.rows_rejected);
        self.count_rejects(rejected.fold(0, u64::saturating_add))?;
        let todo = self
            .plan
            .parts()
            .filter(|(table, part)| !parts.contains_key(&self.key(*table, part.file_number)))
            .map(|(table, part)| Work::Part(table, part));
        let streams = self.plan.streams.iter();
        let streams = streams.filter(|stream| !self.is_finished(stream, &progress, &parts));
        let todo: Vec<Work> = todo.chain(streams.map(Work::Stream)).collect();
        let kept = parts.len();
        let resumed = progress.complete && todo.is_empty() && self.underived(&parts).is_empty();
        if !resumed {
            // A release that somebody changed is refused now, and not after the first part.
            self.lake.release_files()?;
            let shared = Shared {
                kept: parts.clone(),
                journal: Mutex::new(None),
            };
            parts.extend(self.convert_all(&todo, &shared)?);
            parts.extend(self.derive_all(&shared, &parts)?);
        }
        let manifest = self.assemble(parts);
        // A manifest that doesn't say what is there is replaced.
        if !resumed || read_manifest(self.lake.root())? != manifest {
            self.check_footers(&manifest)?;
            for stray in self.lake.publish(&manifest, &table_names())? {
                (self.watch)(Event::Warning(format!(
                    "removed {stray}, which an earlier run left and no manifest names"
                )));
            }
            tracing::debug!(tables = manifest.tables.len(), "published");
        }
        Ok(Outcome {
            converted: manifest.parts().count().saturating_sub(kept),
            manifest,
        })
    }

    /// Refuses whatever must not be changed, while the lake is still as it was.
    fn refuse(&self, progress: &Progress) -> Result<()> {
        self.same_origin(progress)?;
        self.nothing_foreign()?;
        self.nothing_unknown(progress)?;
        self.nothing_leads_out()
    }

    /// Refuses to mix a lake with what other options would make.
    fn same_origin(&self, progress: &Progress) -> Result<()> {
        let now = &self.plan.origin;
        let mut then = progress.origin.clone();
        // A part without rejected rows has the same bytes under either policy.
        let rejected = progress
            .parts
            .iter()
            .any(|(_, facts)| facts.rows_rejected > 0);
        if let Some(then) = then.as_mut().filter(|_| !rejected) {
            then.options.on_bad_row.clone_from(&now.options.on_bad_row);
        }
        match then.and_then(|then| then.difference(now)) {
            None => Ok(()),
            Some(difference) => {
                let reason = format!("the lake was made with other options: {difference}");
                Err(Error::new(ErrorKind::Refused, reason)
                    .at(self.lake.root())
                    .hint("use the same ones, another directory, or --overwrite"))
            }
        }
    }

    /// Refuses a lake whose table directories hold files that no run of ours can have made: every
    /// reader would take them for data, and they may be somebody's only copy.
    fn nothing_foreign(&self) -> Result<()> {
        let mut foreign = foreign_files(self.lake.root(), &table_names())?;
        foreign.truncate(1 + FOREIGN_SHOWN);
        let Some((first, others)) = foreign.split_first() else {
            return Ok(());
        };
        let mut reason = "is in a table's directory, but isn't part of the lake".to_owned();
        if !others.is_empty() {
            reason += &format!("; so are {}", others.join(", "));
        }
        Err(Error::new(ErrorKind::Refused, reason)
            .at(self.lake.root().join(first))
            .hint("move it away: readers would take it for data"))
    }

    /// Where neither a manifest nor a journal can be read, refuses to lose what may be a part: only
    /// what this run makes again may be there.
    fn nothing_unknown(&self, progress: &Progress) -> Result<()> {
        if progress.origin.is_some() || self.conduct.overwrite {
            return Ok(());
        }
        let planned: BTreeSet<&str> = self
            .plan
            .parts()
            .flat_map(|(_, part)| [part.output.as_str(), part.rejects.as_str()])
            .collect();
        // What a stream makes is known by its table alone.
        let streams = self.plan.streams.iter().flat_map(|stream| &stream.tables);
        let streams: Vec<String> = streams
            .map(|&table| self.plan.tables[table].layout.table.name)
            .flat_map(|name| [format!("{name}/"), format!("{REJECTS}/{name}/")])
            .collect();
        let is_planned = |file: &String| {
            planned.contains(file.as_str()) || streams.iter().any(|table| file.starts_with(table))
        };
        let files = files(self.lake.root(), &table_names())?;
        match files.iter().find(|file| !is_planned(file)) {
            None => Ok(()),
            Some(file) => {
                let reason = "may be part of a lake, but no manifest that can be read names it";
                Err(Error::new(ErrorKind::Refused, reason)
                    .at(self.lake.root().join(file))
                    .hint("select its part too, name another directory, or pass --overwrite"))
            }
        }
    }

    /// Refuses a link in the way of an output now, while the lake is still as it was.
    fn nothing_leads_out(&self) -> Result<()> {
        for (_, part) in self.plan.parts() {
            inside(self.lake.root(), &part.output)?;
            inside(self.lake.root(), &part.rejects)?;
        }
        Ok(())
    }

    /// Checks that a manifest of the parts kept and planned can be read back, and counts the kept
    /// ones. How many parts a stream has is known only at its end.
    fn fits_manifest(&self, kept: &Parts) -> Result<()> {
        for facts in kept.values() {
            self.count_in_manifest(facts)?;
        }
        let planned = self.plan.parts().filter(|(table, part)| {
            let key = self.key(*table, part.file_number);
            !kept.contains_key(&key)
        });
        let planned = planned
            .map(|(_, part)| manifest::most_bytes([&part.source, &part.output, &part.rejects]));
        let known = self.manifest_bytes.load(Ordering::Relaxed);
        let bytes = planned.fold(known, u64::saturating_add);
        manifest::check_bytes(bytes).map_err(|error| error.at(self.lake.root()))
    }

    /// Counts one more part in the manifest.
    fn count_in_manifest(&self, facts: &PartFacts) -> Result<()> {
        let rejects = facts.rejects.as_ref().map_or("", |file| &file.path);
        let bytes = manifest::most_bytes([&facts.source.path, &facts.output.path, rejects]);
        let before = self.manifest_bytes.fetch_add(bytes, Ordering::Relaxed);
        manifest::check_bytes(before.saturating_add(bytes))
            .map_err(|error| error.at(self.lake.root()))
    }

    /// Whether all selected parts of a stream are there.
    fn is_finished(&self, stream: &StreamPlan, progress: &Progress, parts: &Parts) -> bool {
        let there = |table: usize, number| parts.contains_key(&self.key(table, number));
        let mut is_cut = false;
        for &table in &stream.tables {
            let name = self.plan.tables[table].layout.table.name;
            let known = progress.parts.iter().filter(|(table, _)| table == name);
            // A damaged part still says how many there are.
            if let Some(count) = known.filter_map(|(_, facts)| facts.of).max() {
                is_cut = true;
                if !(0..count).all(|number| !self.plan.selects(number) || there(table, number)) {
                    return false;
                }
            }
        }
        let selected = self.plan.selected.as_ref();
        let all =
            |table| selected.is_some_and(|set| set.numbers().all(|number| there(table, number)));
        is_cut || stream.tables.iter().all(|&table| all(table))
    }

    /// What a part is known by; `table` is an index in the plan.
    fn key(&self, table: usize, file_number: u32) -> (usize, u32) {
        (self.plan.tables[table].rank, file_number)
    }

    /// The place of a table in the trace.
    fn rank_of(&self, table: &str) -> Option<usize> {
        let mut tables = self.plan.trace.all_tables();
        tables.position(|known| known.name == table)
    }

    /// The table of such a place.
    fn table(&self, rank: usize) -> Option<&'static Table> {
        self.plan.trace.all_tables().nth(rank)
    }

    /// Converts files side by side, the largest first so that none is left over for the end.
    fn convert_all(&self, todo: &[Work<'_>], shared: &Shared) -> Result<Parts> {
        let mut order: Vec<usize> = (0..todo.len()).collect();
        order.sort_by_key(|&index| std::cmp::Reverse(todo[index].bytes()));
        let next = AtomicUsize::new(0);
        let work = |_| {
            let (mut parts, mut failure) = (Parts::new(), None);
            while !self.failed.load(Ordering::Relaxed) {
                let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) else {
                    break;
                };
                let outcome = match todo[index] {
                    Work::Part(table, part) => self.convert_file(shared, table, part),
                    Work::Stream(stream) => self.convert_stream(shared, stream),
                };
                match outcome {
                    Ok(done) => parts.extend(done),
                    Err(error) => {
                        self.failed.store(true, Ordering::Relaxed);
                        failure = Some((index, error));
                    }
                }
            }
            (parts, failure)
        };
        // Threads that no file is left for take over columns of the others.
        let files = rayon::current_num_threads().min(self.conduct.parts);
        let outcomes: Vec<_> = (0..files).into_par_iter().map(work).collect();
        let mut parts = Parts::new();
        let mut failures = Vec::new();
        for (mut done, failure) in outcomes {
            parts.append(&mut done);
            failures.extend(failure);
        }
        // The failure that is first in the plan, whichever thread was first. Parts that stopped because
        // another one failed don't count.
        let first = failures
            .into_iter()
            .min_by_key(|(index, error)| match error.kind() {
                ErrorKind::Stopped(0) => usize::MAX,
                _ => *index,
            });
        first.map_or(Ok(parts), |(_, error)| Err(error))
    }

    /// The parts that a derived table lacks, each with the part that it is made of.
    fn underived<'a>(
        &self,
        parts: &'a Parts,
    ) -> Vec<(&'static Derived, (usize, u32), &'a PartFacts)> {
        let derived = self.plan.derived.iter().flat_map(|&derived| {
            let ranks = (self.rank_of(derived.table.name), self.rank_of(derived.from));
            let (Some(rank), Some(from)) = ranks else {
                return Vec::new();
            };
            let others = parts.range((from, 0)..=(from, u32::MAX));
            let lacks = others.filter(|((_, number), other)| {
                let known = parts.get(&(rank, *number));
                known.is_none_or(|known| known.source.sha256 != other.output.sha256)
            });
            lacks
                .map(|((_, number), other)| (derived, (rank, *number), other))
                .collect()
        });
        derived.collect()
    }

    /// Makes what is derived of parts that are committed.
    fn derive_all(&self, shared: &Shared, parts: &Parts) -> Result<Parts> {
        let todo = self.underived(parts).into_par_iter();
        let done = todo.map(|(derived, key, other)| {
            self.go_on()?;
            let input = inside(self.lake.root(), &other.output.path)?;
            let (_, place) = other.output.path.split_once('/').unwrap_or_default();
            let path = format!("{}/{place}", derived.table.name);
            let staging = self.lake.stage(&path)?;
            let go_on = || self.go_on();
            let encoding = self.plan.encoding;
            let (made, staging) = derive(derived, &input, encoding, staging, &go_on)
                .map_err(|error| error.or_at(self.lake.root().join(&path)))?;
            let staged = staging.close()?;
            self.with_journal(shared, |_| Ok(()))?;
            let facts = PartFacts {
                file_number: key.1,
                source: other.output.clone(),
                of: other.of,
                rows_in: made.rows,
                rows_out: made.rows,
                rows_rejected: 0,
                sentinels_mapped: 0,
                time_min: None,
                time_max: None,
                left_out: Some(made.left_out),
                output: self.lake.commit(staged)?.into_facts(),
                rejects: None,
            };
            self.finish(shared, derived.table.name, &facts)?;
            Ok((key, facts))
        });
        done.collect()
    }

    /// Converts a file that is a part.
    fn convert_file(&self, shared: &Shared, table: usize, part: &PartPlan) -> Result<Parts> {
        let layout = &self.plan.tables[table].layout;
        let path = self.plan.source.join(&part.source);
        self.go_on()?;
        let mut source = self.open(&path)?;
        let mut text = Text::new(&mut source, layout, None);
        text.next_part()?;
        let mut ticks = Ticks::new(self);
        let done = self.stage(table, part, &shown(&path), &mut text, &mut ticks)?;
        let fingerprint = source.fingerprint();
        if let Some(expected) = &part.sha256 {
            check_sha256(&path, expected, &fingerprint.sha256)?;
        }
        ticks.read_up_to(fingerprint.bytes);
        let facts = self.commit(shared, table, part, fingerprint, done)?;
        Ok(Parts::from([(self.key(table, part.file_number), facts)]))
    }

    /// Converts a file that is cut into parts, those that stay left out.
    fn convert_stream(&self, shared: &Shared, stream: &StreamPlan) -> Result<Parts> {
        let path = self.plan.source.join(&stream.source);
        self.go_on()?;
        if let Some(expected) = &stream.sha256 {
            // Its first parts are committed before its last byte is read.
            check_sha256(&path, expected, &self.digest(&path)?)?;
        }
        let mut source = self.open(&path)?;
        let mut cutting = Cutting {
            stream,
            parts: Parts::new(),
            counts: BTreeMap::new(),
            ticks: Ticks::new(self),
        };
        let mut ended = true;
        if source.is_archive() {
            while let Some(member) = source.next_member()? {
                let path = shown(&path).join(&member.path);
                let Some(table) = self.plan.table_of(stream, &member) else {
                    if member.path.ends_with('/') {
                        continue;
                    }
                    (self.watch)(Event::Warning(format!(
                        "{} is skipped: it is not a table of {}",
                        path.display(),
                        self.plan.trace.name
                    )));
                    continue;
                };
                if cutting.counts.contains_key(&table) {
                    let reason = "a second member of one table";
                    let name = self.plan.tables[table].layout.table.name;
                    return Err(Error::new(ErrorKind::Misfit, reason)
                        .at(path)
                        .field(name)
                        .hint("make an archive of what belongs together"));
                }
                ended &= self.cut(shared, &mut cutting, table, &path, &mut source)?;
            }
            if cutting.counts.is_empty() {
                let names = stream
                    .tables
                    .iter()
                    .map(|&table| self.plan.tables[table].layout.table);
                let names: Vec<String> = names.map(|table| format!("{}.csv", table.name)).collect();
                let reason = format!("holds no {}", names.join(", "));
                return Err(Error::new(ErrorKind::Misfit, reason)
                    .at(path)
                    .hint("if it holds archives, unpack it and name their directory"));
            }
        } else {
            for &table in &stream.tables {
                ended &= self.cut(shared, &mut cutting, table, &shown(&path), &mut source)?;
            }
        }
        let Cutting {
            mut parts,
            counts,
            mut ticks,
            ..
        } = cutting;
        if ended {
            let whole = source.fingerprint();
            ticks.read_up_to(whole.bytes);
            for (table, count) in counts {
                let rank = self.plan.tables[table].rank;
                for (_, facts) in parts.range_mut((rank, 0)..=(rank, u32::MAX)) {
                    facts.source.bytes = whole.bytes;
                    facts.source.sha256.clone_from(&whole.sha256);
                    facts.of = Some(count);
                }
            }
        }
        Ok(parts)
    }

    /// Converts the text of a table part by part; false where no more of it was wanted.
    fn cut(
        &self,
        shared: &Shared,
        cutting: &mut Cutting<'_>,
        table: usize,
        path: &Path,
        source: &mut Source,
    ) -> Result<bool> {
        let Cutting {
            stream,
            parts,
            counts,
            ticks,
        } = cutting;
        let layout = &self.plan.tables[table].layout;
        let mut text = Text::new(source, layout, Some(stream.part_rows));
        let mut number = 0;
        while text.next_part()? {
            let key = self.key(table, number);
            if let Some(facts) = shared.kept.get(&key) {
                text.pass_part(&mut |position| ticks.tick(position))?;
                parts.insert(key, facts.clone());
            } else if self.plan.selects(number) {
                let part = self.plan.cut(stream, table, number);
                let done = self.stage(table, &part, path, &mut text, ticks)?;
                let facts = self.commit(shared, table, &part, text.fingerprint(), done)?;
                parts.insert(key, facts);
            } else {
                text.pass_part(&mut |position| ticks.tick(position))?;
            }
            number += 1;
            counts.insert(table, number);
            let selected = self.plan.selected.as_ref();
            if selected.is_some_and(|selected| !selected.goes_on(number)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Converts one part into staged files; `path` is for people.
    fn stage(
        &self,
        table: usize,
        part: &PartPlan,
        path: &Path,
        text: &mut Text<'_>,
        ticks: &mut Ticks<'_>,
    ) -> Result<Done> {
        let TablePlan { layout, schema, .. } = &self.plan.tables[table];
        (self.watch)(Event::Started {
            table: layout.table.name,
            file_number: part.file_number,
        });
        let mut rejects: Option<BufWriter<Staging>> = None;
        let (converted, staging) = convert_part(
            text,
            layout,
            schema,
            self.plan.encoding,
            self.lake.stage(&part.output)?,
            &mut |bad_row| match self.plan.on_bad_row {
                OnBadRow::Fail => Err(bad_row.to_error(path, layout)),
                OnBadRow::Reject => {
                    if rejects.is_none() {
                        self.doubt(table, path, bad_row);
                    }
                    self.count_rejects(1).map_err(|error| error.at(path))?;
                    let file = match rejects.take() {
                        Some(file) => file,
                        None => BufWriter::new(self.lake.stage(&part.rejects)?),
                    };
                    let written = rejects.insert(file).write_all(&bad_row.to_json()?);
                    written.map_err(|error| self.rejects_failed(part, error))
                }
            },
            &mut |position| ticks.tick(position),
        )
        .map_err(|error| match error.kind() {
            ErrorKind::Failed => error.or_at(self.lake.root().join(&part.output)),
            _ => error,
        })?;
        let rejects = match rejects.map(BufWriter::into_inner) {
            Some(Ok(rejects)) => Some(rejects.close()?),
            Some(Err(error)) => return Err(self.rejects_failed(part, error.into_error())),
            None => None,
        };
        tracing::debug!(
            source = part.source,
            rows_in = converted.rows_in,
            rows_rejected = converted.rows_rejected,
            "staged"
        );
        Ok(Done {
            converted,
            output: staging.close()?,
            rejects,
        })
    }

    /// Warns that a file is hardly one of its table, for the first such file of a table.
    fn doubt(&self, table: usize, path: &Path, bad_row: &BadRow<'_>) {
        let Some(doubt) = bad_row.doubt(&self.plan.tables[table].layout) else {
            return;
        };
        let mut doubted = self.doubted.lock().unwrap_or_else(PoisonError::into_inner);
        if doubted.insert(table) {
            let path = escape(path.as_os_str().as_encoded_bytes(), usize::MAX);
            (self.watch)(Event::Warning(format!("{path}: {doubt}")));
        }
    }

    fn rejects_failed(&self, part: &PartPlan, error: io::Error) -> Error {
        Error::io("write", &self.lake.root().join(&part.rejects), error)
    }

    /// Counts rejected rows, and ends the run when there are too many.
    fn count_rejects(&self, rows: u64) -> Result<()> {
        let before = self.rejected.fetch_add(rows, Ordering::Relaxed);
        let rejected = before.saturating_add(rows);
        match self.conduct.max_rejects {
            Some(most) if rejected > most => Err(Error::new(
                ErrorKind::Misfit,
                format!("more than {most} rows are rejected"),
            )
            .hint("look at the first one without --on-bad-row, or raise --max-rejects")),
            _ => Ok(()),
        }
    }

    /// Puts a staged part under its name and notes it. The first one takes the manifest away.
    fn commit(
        &self,
        shared: &Shared,
        table: usize,
        part: &PartPlan,
        fingerprint: Fingerprint,
        done: Done,
    ) -> Result<PartFacts> {
        let table = self.plan.tables[table].layout.table.name;
        let Done {
            converted,
            output,
            rejects,
        } = done;
        self.with_journal(shared, |_| Ok(()))?;
        let rejects = match rejects {
            Some(rejects) => Some(self.lake.commit(rejects)?.into_facts()),
            None => None,
        };
        let output = self.lake.commit(output)?.into_facts();
        let facts = PartFacts {
            file_number: part.file_number,
            source: FileFacts {
                path: part.source.clone(),
                bytes: fingerprint.bytes,
                sha256: fingerprint.sha256,
            },
            of: None,
            left_out: None,
            rows_in: converted.rows_in,
            rows_out: converted.rows_out,
            rows_rejected: converted.rows_rejected,
            sentinels_mapped: converted.sentinels_mapped,
            time_min: converted.time.map(|(min, _)| min),
            time_max: converted.time.map(|(_, max)| max),
            output,
            rejects,
        };
        self.finish(shared, table, &facts)?;
        Ok(facts)
    }

    /// Notes a part that is committed, and tells of it.
    fn finish(&self, shared: &Shared, table: &'static str, facts: &PartFacts) -> Result<()> {
        self.count_in_manifest(facts)?;
        self.with_journal(shared, |journal| journal.note(table, facts))?;
        tracing::debug!(output = facts.output.path, "committed");
        (self.watch)(Event::Finished {
            table,
            file_number: facts.file_number,
            rows: facts.rows_out,
            rejected: facts.rows_rejected,
            bytes_out: facts.output.bytes,
        });
        Ok(())
    }

    /// Does something with the journal, which is begun when it is first needed.
    fn with_journal(
        &self,
        shared: &Shared,
        work: impl FnOnce(&mut Journal) -> Result<()>,
    ) -> Result<()> {
        // A thread that panicked while it held the journal has not torn it: lines are whole.
        let journal = shared.journal.lock();
        let mut journal = journal.unwrap_or_else(PoisonError::into_inner);
        let begun = match journal.take() {
            Some(begun) => begun,
            None => {
                let lines = shared.kept.iter().filter_map(|((rank, _), facts)| {
                    Some((self.table(*rank)?.name.to_owned(), facts.clone()))
                });
                self.lake
                    .begin(&self.plan.origin, &lines.collect::<Vec<_>>())?
            }
        };
        work(journal.insert(begun))
    }

    /// Holds the counts of a manifest against the footers on the disk.
    fn check_footers(&self, manifest: &Manifest) -> Result<()> {
        for (table, part) in manifest.parts() {
            let path = inside(self.lake.root(), &part.output.path)?;
            let rows = LakeFile::open(&path, self.plan.encoding.format())?.rows(&path)?;
            if rows != part.rows_out {
                let reason = format!(
                    "its footer says {rows} rows, but {} were counted",
                    part.rows_out
                );
                return Err(Error::new(ErrorKind::Failed, reason)
                    .at(path)
                    .field(table)
                    .hint("remove the file and run the same command again"));
            }
        }
        Ok(())
    }

    fn assemble(&self, parts: Parts) -> Manifest {
        let mut tables: Vec<TableFacts> = Vec::new();
        for ((rank, _), part) in parts {
            let Some(table) = self.table(rank) else {
                continue;
            };
            if tables.last().is_none_or(|last| last.name != table.name) {
                let schema = tracelake_schema::arrow::arrow_schema(table);
                tables.push(TableFacts {
                    name: table.name.to_owned(),
                    schema_fingerprint: tracelake_schema::arrow::fingerprint(&schema),
                    rows: 0,
                    parts: Vec::new(),
                });
            }
            if let Some(table) = tables.last_mut() {
                table.rows = table.rows.saturating_add(part.rows_out);
                table.parts.push(part);
            }
        }
        Manifest {
            origin: self.plan.origin.clone(),
            tables,
        }
    }

    /// Fails once a signal arrived or another part failed.
    fn go_on(&self) -> Result<()> {
        (self.interrupt)()
    }

    /// Opens a source whose reading a signal ends.
    fn open(&self, path: &Location) -> Result<Source> {
        let mut source = Source::open(path)?;
        source.interrupt_with(Arc::clone(&self.interrupt));
        Ok(source)
    }

    /// The SHA-256 of a file.
    fn digest(&self, path: &Location) -> Result<String> {
        let whole = BTreeSet::from([u64::MAX]);
        let found = source::fingerprints(path, &whole, Some(Arc::clone(&self.interrupt)))?;
        let [found] = <[Fingerprint; 1]>::try_from(found).expect("one fingerprint for one length");
        Ok(found.sha256)
    }
}

/// A location as people see it.
fn shown(location: &Location) -> PathBuf {
    location.into()
}

/// What fails once a signal arrived, whose number is then in `stop`, or a part failed.
fn interrupt(stop: Arc<AtomicUsize>, failed: Arc<AtomicBool>) -> Interrupt {
    Arc::new(move || match stop.load(Ordering::Relaxed) {
        0 if failed.load(Ordering::Relaxed) => Err(stopped(0)),
        0 => Ok(()),
        signal => Err(stopped(signal)),
    })
}

/// The end of work that a signal asked for, or, with 0, the failure of another part.
fn stopped(signal: usize) -> Error {
    let signal = i32::try_from(signal).unwrap_or_default();
    Error::new(ErrorKind::Stopped(signal), "stopped")
        .hint("finished parts are kept; run the same command again to resume")
}
