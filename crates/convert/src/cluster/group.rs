//! The files of one table, or of one cell of it.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::event::Event;
use tracelake_encode::output::RowOrder;
use tracelake_encode::packed_rows::RowPacker;
use tracelake_lake::manifest::PartFacts;
use tracelake_lake::{MadePart, PartName, Parts, Staged, Working};

use super::copy::{copy_part, copy_rejects};
use super::memory::Memory;
use super::plan::{ClusterPlan, Group, Way};
use super::read::CutChunks;
use super::write::{Chunks, SortedChunks, write_rows};
use crate::lake_files::LakeFiles;
use crate::plan::PartPlan;
use crate::run::{finish_part, first_failure};
use crate::sorting::{Merge, Row, Run, Sorter, reduce};

/// How many times their size in files rows take in memory, as a rule; if they take more, they become several runs.
const MOST_UNPACKED: u64 = 20;

/// The least memory in which rows are sorted, in bytes.
const LEAST_BUFFER: u64 = 1 << 20;

/// The plan and the resources that all files are made with.
pub(super) struct Making<'a> {
    /// Cancelled by a signal, and by a file that failed.
    pub(super) context: Context,
    pub(super) plan: &'a ClusterPlan,
    pub(super) working: &'a Working,
    /// The files that were done before.
    pub(super) kept: &'a Parts,
    pub(super) memory: Memory,
    /// The directory of rows that are sorted.
    pub(super) scratch: &'a Path,
}

/// Makes the files of a group that aren't done. Returns their facts.
pub(super) fn make_group(making: &Making<'_>, group: &Group) -> Result<Parts> {
    let files = LakeFiles::new(
        &making.context,
        &making.plan.lake,
        making.plan.output.format(),
        making.scratch,
    );
    let is_done = |output: &&PartPlan| making.kept.contains_key(&group.name(output));
    let todo: Vec<&PartPlan> = group
        .outputs
        .iter()
        .filter(|output| !is_done(output))
        .collect();
    let made = match &group.way {
        Way::Copied => copy_group(making, group, &files)?,
        _ if todo.is_empty() => Parts::new(),
        Way::Sorted(order) => sort_group(making, group, order, &files, &todo)?,
        Way::Cut => {
            let cut = |output: &&PartPlan| {
                let [from, to] = [0, 1].map(|next| row_of(group, output.key.file_number + next));
                let inputs = &group.inputs;
                let mut chunks = CutChunks::new(&files, &group.table, inputs, from, to - from);
                let order = RowOrder::Published;
                let rows = (to - from, &mut chunks as &mut dyn Chunks);
                let made = make_file(making, group, output, order, &files, rows)?;
                making.read(group.bytes() / group.outputs.len().max(1) as u64);
                Ok(made)
            };
            in_parallel(making, making.memory.writers, &todo, cut)?
        }
    };
    check_rows(making, group, &made)?;
    Ok(made)
}

/// The first row of a file that is cut.
fn row_of(group: &Group, file: u32) -> u64 {
    let files = group.outputs.len().max(1) as u128;
    let row = u128::from(group.rows()) * u128::from(file) / files;
    u64::try_from(row).unwrap_or(u64::MAX)
}

/// Compares the rows of all files of a group with those of the lake.
fn check_rows(making: &Making<'_>, group: &Group, made: &Parts) -> Result<()> {
    let of_group = |(name, _): &(&PartName, &PartFacts)| {
        *name.table == *group.table.name && name.key.cell == group.cell
    };
    let rows = |parts: &Parts| -> u64 {
        let rows = parts.iter().filter(of_group).map(|(_, part)| part.rows_out);
        rows.sum()
    };
    let (rows, expected) = (rows(made) + rows(making.kept), group.rows());
    if rows == expected {
        return Ok(());
    }
    let reason = format!("{rows} rows were written, and the lake has {expected}");
    Err(Error::new(ErrorKind::Failed, reason)
        .at(&making.plan.lake)
        .field(&*group.table.name))
}

impl Making<'_> {
    /// Reports that more bytes of the lake were read.
    fn read(&self, bytes: u64) {
        self.context.emit(Event::Read { bytes });
    }

    fn start(&self, name: &PartName) {
        self.context.emit(Event::Started {
            table: name.table.to_string(),
            part: name.key,
        });
    }

    /// Commits a file, and reads its footer back.
    fn commit(&self, made: MadePart) -> Result<(PartName, PartFacts)> {
        let name = made.name.clone();
        let mut committed = self.working.commit(vec![made])?;
        let facts = committed
            .pop()
            .unwrap_or_else(|| Err(Error::new(ErrorKind::Failed, "nothing was committed")))?;
        let format = self.plan.output.format();
        finish_part(&self.context, self.working.root(), format, &name, &facts)?;
        Ok((name, facts))
    }
}

/// Makes some things, this many at a time; the first one in their order that fails is the error.
fn in_parallel<T: Sync>(
    making: &Making<'_>,
    at_once: usize,
    todo: &[T],
    make: impl Fn(&T) -> Result<(PartName, PartFacts)> + Sync,
) -> Result<Parts> {
    let next = AtomicUsize::new(0);
    let workers = (0..at_once.min(todo.len())).into_par_iter().map(|_| {
        let mut made = Parts::new();
        let mut failed = None;
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(thing) = todo.get(index) else { break };
            match making.context.check().and_then(|()| make(thing)) {
                Ok((name, facts)) => drop(made.insert(name, facts)),
                Err(error) => {
                    making.context.fail();
                    failed = Some((index, error));
                    break;
                }
            }
        }
        (made, failed)
    });
    let finished: Vec<_> = workers.collect();
    let (made, failures): (Vec<Parts>, Vec<_>) = finished.into_iter().unzip();
    first_failure(failures.into_iter().flatten())?;
    Ok(made.into_iter().flatten().collect())
}

fn copy_group(making: &Making<'_>, group: &Group, files: &LakeFiles<'_>) -> Result<Parts> {
    let is_done = |part: &&PartFacts| {
        let name = PartName::new(&group.table.name, part.key());
        making.kept.contains_key(&name)
    };
    let todo: Vec<&PartFacts> = group.inputs.iter().filter(|part| !is_done(part)).collect();
    in_parallel(making, rayon::current_num_threads(), &todo, |part| {
        let name = PartName::new(&group.table.name, part.key());
        making.start(&name);
        let made = copy_part(files, making.working, name, part, &making.plan.source)?;
        making.read(part.output.bytes);
        making.commit(made)
    })
}

/// How many classes the keys of a group have: that of its files.
fn classes(group: &Group) -> u32 {
    let files = u32::try_from(group.outputs.len());
    files.unwrap_or(u32::MAX).max(1)
}

/// Sorts the rows of a group, and writes the files that aren't done.
fn sort_group(
    making: &Making<'_>,
    group: &Group,
    order: &[usize],
    files: &LakeFiles<'_>,
    todo: &[&PartPlan],
) -> Result<Parts> {
    let mut is_wanted = vec![false; group.outputs.len()];
    for output in todo {
        if let Ok(index) = usize::try_from(output.key.file_number) {
            is_wanted[index] = true;
        }
    }
    let next = AtomicUsize::new(0);
    let readers = making.memory.readers.min(group.inputs.len()).max(1);
    let sorted = making.memory.sorted / readers * making.memory.readers;
    // A small table needs no more.
    let most = group
        .bytes()
        .saturating_mul(MOST_UNPACKED)
        .max(LEAST_BUFFER);
    let sorted = sorted.min(usize::try_from(most).unwrap_or(usize::MAX));
    let workers = (0..readers)
        .into_par_iter()
        .map(|_| sort_files(making, group, order, files, &is_wanted, (&next, sorted)));
    let finished: Vec<Result<(Vec<Run>, Vec<u64>)>> = workers.collect();
    let mut runs = Vec::new();
    let mut counts = vec![0_u64; group.outputs.len()];
    let mut failures = Vec::new();
    for (index, finished) in finished.into_iter().enumerate() {
        match finished {
            Ok((mut more, counted)) => {
                runs.append(&mut more);
                let sums = counts.iter_mut().zip(counted);
                sums.for_each(|(sum, count)| *sum += count);
            }
            Err(error) => failures.push((index, error)),
        }
    }
    first_failure(failures)?;
    let runs = reduce(
        &making.context,
        runs,
        making.memory.runs,
        classes(group),
        making.scratch,
    )?;
    let key = group.table.columns[order[0]].kind;
    in_parallel(making, making.memory.writers, todo, |output| {
        let merge = Merge::open(&runs, output.key.file_number)?;
        let mut chunks = SortedChunks::new(merge, key);
        let class = usize::try_from(output.key.file_number).ok();
        let rows = class.and_then(|class| counts.get(class)).copied();
        let rows = (rows.unwrap_or_default(), &mut chunks as &mut dyn Chunks);
        make_file(making, group, output, RowOrder::By(order), files, rows)
    })
}

/// Sorts files of a group, the `next` one after the other, in this many bytes of memory. Returns the runs, and how many
/// rows of each class are in them.
fn sort_files(
    making: &Making<'_>,
    group: &Group,
    order: &[usize],
    files: &LakeFiles<'_>,
    is_wanted: &[bool],
    (next, bytes): (&AtomicUsize, usize),
) -> Result<(Vec<Run>, Vec<u64>)> {
    let classes = classes(group);
    let mut packer = RowPacker::new(&group.table, order);
    let mut sorter = Sorter::new(making.scratch, bytes, classes)?;
    let mut counts = vec![0; is_wanted.len()];
    let (mut place, mut values) = (Vec::new(), Vec::new());
    let mut add = |part: &PartFacts, number: u32| {
        let mut before = 0_u64;
        for batch in files.rows(&group.table, part, 0)? {
            making.context.check()?;
            let batch = files.batch(part, batch)?;
            let mut rows = packer
                .batch(&batch)
                .ok_or_else(|| files.other_columns(part))?;
            for row in 0..batch.num_rows() {
                let class = rows.hash(row) % classes;
                let index = usize::try_from(class).unwrap_or(usize::MAX);
                if is_wanted.get(index) != Some(&true) {
                    continue;
                }
                counts[index] += 1;
                place.clear();
                values.clear();
                place.extend_from_slice(&class.to_be_bytes());
                rows.push_place(row, &mut place);
                // So that no two rows have the same place, whatever was sorted together.
                place.extend_from_slice(&number.to_be_bytes());
                place.extend_from_slice(&(before + row as u64).to_be_bytes());
                rows.push_values(row, &mut values);
                sorter.push(Row {
                    place: &place,
                    values: &values,
                })?;
            }
            before += batch.num_rows() as u64;
        }
        Ok(())
    };
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let Some(part) = group.inputs.get(index) else {
            break;
        };
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        add(part, number).inspect_err(|_| making.context.fail())?;
        making.read(part.output.bytes);
    }
    Ok((sorter.finish()?, counts))
}

/// Makes and commits a file of these rows, whose number is known.
fn make_file(
    making: &Making<'_>,
    group: &Group,
    output: &PartPlan,
    order: RowOrder<'_>,
    files: &LakeFiles<'_>,
    (rows, chunks): (u64, &mut dyn Chunks),
) -> Result<(PartName, PartFacts)> {
    let name = group.name(output);
    making.start(&name);
    let working = making.working;
    let path = output.output();
    let staging = working.stage(&path)?;
    let settings = making.plan.output;
    let context = &making.context;
    let (written, staging) = write_rows(context, &group.table, settings, order, chunks, staging)
        .map_err(|error| match error.kind() {
            ErrorKind::Failed => error.or_at(working.root().join(&path)),
            _ => error,
        })?;
    if written.rows != rows {
        let reason = format!("{} rows were written, and {rows} were read", written.rows);
        return Err(Error::new(ErrorKind::Failed, reason).at(working.root().join(&path)));
    }
    let staged = staging.close()?;
    let source = making.plan.source.clone();
    let mut facts = PartFacts::new(name.key, source, staged.facts().clone());
    (facts.rows_in, facts.rows_out) = (written.rows, written.rows);
    (facts.time_min, facts.time_max) = written.time.unzip();
    if group.is_whole {
        facts.of = u32::try_from(group.outputs.len()).ok();
    }
    let is_first = output.key.file_number == 0;
    let rejects = match is_first {
        true => copy_rejects(files, working, &group.inputs, &output.rejects())?,
        false => None,
    };
    add_counts(&mut facts, &group.inputs, is_first);
    facts.rejects = rejects.as_ref().map(|file| Box::new(file.facts().clone()));
    let files: Vec<Staged> = rejects.into_iter().chain([staged]).collect();
    making.commit(MadePart {
        name,
        facts,
        tag: None,
        is_cut: false,
        files,
    })
}

/// Adds to the first file of a table what its manifest counts beside the rows, so that the sums of the table stay as they
/// were: nothing says in which file such a row would be.
fn add_counts(facts: &mut PartFacts, inputs: &[PartFacts], is_first: bool) {
    if inputs.iter().any(|part| part.rows_not_selected.is_some()) {
        facts.rows_not_selected = Some(0);
    }
    if inputs.iter().any(|part| part.rows_not_derived.is_some()) {
        facts.rows_not_derived = Some(0);
    }
    for part in inputs.iter().filter(|_| is_first) {
        facts.rows_in = facts
            .rows_in
            .saturating_add(part.rows_in - part.rows_out.min(part.rows_in));
        facts.rows_rejected = facts.rows_rejected.saturating_add(part.rows_rejected);
        if let Some(rows) = &mut facts.rows_not_selected {
            *rows = rows.saturating_add(part.rows_not_selected.unwrap_or(0));
        }
        if let Some(rows) = &mut facts.rows_not_derived {
            *rows = rows.saturating_add(part.rows_not_derived.unwrap_or(0));
        }
        facts.sentinels_mapped = facts.sentinels_mapped.saturating_add(part.sentinels_mapped);
        let accepted = facts.accepted().and(part.accepted());
        facts.set_accepted(accepted);
    }
}
