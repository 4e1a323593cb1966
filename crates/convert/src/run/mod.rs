//! A plan carried out: parts over threads, resume, cancel, and what a bad row leads to.

mod keep;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::error::{Error, ErrorKind, Result};
use crate::event::{Event, Watcher};
use crate::manifest::{FileFacts, Manifest, PartFacts, TableFacts};
use crate::part::{Converted, convert_part};
use crate::plan::{OnBadRow, PartPlan, Plan, TablePlan, check_sha256, table_names};
use crate::sheet::footer_rows;
use crate::store::{Journal, Lake, Progress, Staged, Staging, files, inside, read_manifest};

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
    /// Asked often: the number of the signal that wants the run to stop, or 0.
    pub stop: &'a AtomicUsize,
}

/// What a run takes beside its parts, in bytes.
const MEMORY: u64 = 128_000_000;

/// What one part takes at most, in bytes: a row group being encoded, with the dictionaries of its
/// columns and what looks values up in them.
const PART_MEMORY: u64 = 128_000_000;

/// How many parts may be converted at a time within so many bytes of memory; `None` where there is
/// not enough for one.
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
    watch: Watcher<'_>,
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
    let run = Run {
        plan,
        lake: &lake,
        conduct,
        rejected: AtomicU64::new(0),
        watch,
    };
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
    watch: Watcher<'a>,
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
        self.same_origin(&progress)?;
        self.nothing_unknown(&progress)?;
        self.nothing_leads_out()?;
        let mut parts = self.keep(&progress)?;
        let rejected = parts.values().map(|part| part.rows_rejected);
        self.count_rejects(rejected.fold(0, u64::saturating_add))?;
        let todo: Vec<(usize, &PartPlan)> = self
            .plan
            .parts()
            .filter(|(table, part)| {
                !parts.contains_key(&(self.plan.tables[*table].rank, part.file_number))
            })
            .collect();
        let resumed = progress.complete && todo.is_empty();
        if !resumed {
            // A release that somebody changed is refused now, and not after the first part.
            self.lake.release_files()?;
            let done = self.convert_all(&todo, &parts)?;
            parts.extend(done);
        }
        let manifest = self.assemble(parts);
        // A manifest that says something else than what is there is written anew.
        if !resumed || read_manifest(self.lake.root())? != manifest {
            self.check_footers(&manifest)?;
            self.lake.publish(&manifest, &table_names())?;
            tracing::debug!(tables = manifest.tables.len(), "published");
        }
        Ok(Outcome {
            manifest,
            converted: todo.len(),
        })
    }

    /// Refuses to mix a lake with what other options would make.
    fn same_origin(&self, progress: &Progress) -> Result<()> {
        let then = progress.origin.as_ref();
        match then.and_then(|then| then.difference(&self.plan.origin)) {
            None => Ok(()),
            Some(difference) => {
                let reason = format!("the lake was made with other options: {difference}");
                Err(Error::new(ErrorKind::Refused, reason)
                    .at(self.lake.root())
                    .hint("use the same ones, another directory, or --overwrite"))
            }
        }
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
        let files = files(self.lake.root(), &table_names())?;
        match files.iter().find(|file| !planned.contains(file.as_str())) {
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

    /// The place of a table in the trace.
    fn rank_of(&self, table: &str) -> Option<usize> {
        self.plan
            .trace
            .tables
            .iter()
            .position(|known| known.name == table)
    }

    /// Converts parts side by side, the largest first so that none is left over for the end.
    fn convert_all(&self, todo: &[(usize, &PartPlan)], kept: &Parts) -> Result<Parts> {
        let mut order: Vec<usize> = (0..todo.len()).collect();
        order.sort_by_key(|&index| std::cmp::Reverse(todo[index].1.bytes));
        let journal = Mutex::new(None);
        let next = AtomicUsize::new(0);
        let failed = AtomicBool::new(false);
        let work = |_| {
            let mut done = Vec::new();
            while !failed.load(Ordering::Relaxed) {
                let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) else {
                    break;
                };
                let (table, part) = todo[index];
                let outcome = self.stage(table, part, &failed).and_then(|done| {
                    let facts = self.commit(&journal, kept, table, part, done)?;
                    Ok(((self.plan.tables[table].rank, part.file_number), facts))
                });
                failed.fetch_or(outcome.is_err(), Ordering::Relaxed);
                done.push((index, outcome));
            }
            done
        };
        // Threads that no part is left for take over columns of the others.
        let parts = rayon::current_num_threads().min(self.conduct.parts);
        let mut outcomes: Vec<_> = (0..parts).into_par_iter().flat_map_iter(work).collect();
        // The error that stands first in the plan, whichever thread was first; those that stopped
        // because of another one are not told.
        outcomes.sort_by_key(|(index, outcome)| match outcome {
            Err(error) if error.kind() == ErrorKind::Stopped(0) => usize::MAX,
            _ => *index,
        });
        let mut parts = Parts::new();
        let mut first = None;
        for (_, outcome) in outcomes {
            match outcome {
                Ok((key, facts)) => {
                    parts.insert(key, facts);
                }
                Err(error) => first = first.or(Some(error)),
            }
        }
        first.map_or(Ok(parts), Err)
    }

    /// Converts one part into staged files.
    fn stage(&self, table: usize, part: &PartPlan, failed: &AtomicBool) -> Result<Done> {
        let TablePlan { layout, schema, .. } = &self.plan.tables[table];
        let path = self.plan.source.join(&part.source);
        self.go_on()?;
        (self.watch)(Event::Started {
            table: layout.table.name,
            file_number: part.file_number,
        });
        let mut read = 0;
        let mut rejects: Option<BufWriter<Staging>> = None;
        let (converted, staging) = convert_part(
            &path,
            layout,
            schema,
            self.plan.codec,
            self.lake.stage(&part.output)?,
            &mut |bad_row| match self.plan.on_bad_row {
                OnBadRow::Fail => Err(bad_row.to_error(&path, layout)),
                OnBadRow::Reject => {
                    self.count_rejects(1).map_err(|error| error.at(&path))?;
                    let file = match rejects.take() {
                        Some(file) => file,
                        None => BufWriter::new(self.lake.stage(&part.rejects)?),
                    };
                    let written = rejects.insert(file).write_all(&bad_row.to_json()?);
                    written.map_err(|error| self.rejects_failed(part, error))
                }
            },
            &mut |position| {
                (self.watch)(Event::Read {
                    bytes: position - read,
                });
                read = position;
                if failed.load(Ordering::Relaxed) {
                    Err(stopped(0))
                } else {
                    self.go_on()
                }
            },
        )
        .map_err(|error| match error.kind() {
            ErrorKind::Failed => error.or_at(self.lake.root().join(&part.output)),
            _ => error,
        })?;
        if let Some(expected) = &part.sha256 {
            check_sha256(&path, expected, &converted.source.sha256)?;
        }
        (self.watch)(Event::Read {
            bytes: converted.source.bytes - read,
        });
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
        journal: &Mutex<Option<Journal>>,
        kept: &Parts,
        table: usize,
        part: &PartPlan,
        done: Done,
    ) -> Result<PartFacts> {
        let table = self.plan.tables[table].layout.table.name;
        let Done {
            converted,
            output,
            rejects,
        } = done;
        self.with_journal(journal, kept, |_| Ok(()))?;
        let rejects = match rejects {
            Some(rejects) => Some(self.lake.commit(rejects)?.into_facts()),
            None => None,
        };
        let output = self.lake.commit(output)?.into_facts();
        let facts = PartFacts {
            file_number: part.file_number,
            source: FileFacts {
                path: part.source.clone(),
                bytes: converted.source.bytes,
                sha256: converted.source.sha256,
            },
            rows_in: converted.rows_in,
            rows_out: converted.rows_out,
            rows_rejected: converted.rows_rejected,
            sentinels_mapped: converted.sentinels_mapped,
            time_min: converted.time.map(|(min, _)| min),
            time_max: converted.time.map(|(_, max)| max),
            output,
            rejects,
        };
        self.with_journal(journal, kept, |journal| journal.note(table, &facts))?;
        tracing::debug!(output = facts.output.path, "committed");
        (self.watch)(Event::Finished {
            table,
            file_number: facts.file_number,
            rows: facts.rows_out,
            rejected: facts.rows_rejected,
            bytes_out: facts.output.bytes,
        });
        Ok(facts)
    }

    /// Does something with the journal, which is begun when it is first needed.
    fn with_journal(
        &self,
        journal: &Mutex<Option<Journal>>,
        kept: &Parts,
        work: impl FnOnce(&mut Journal) -> Result<()>,
    ) -> Result<()> {
        // A thread that panicked while it held the journal has not torn it: lines are whole.
        let mut journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = match journal.take() {
            Some(begun) => begun,
            None => {
                let lines = kept.iter().map(|((rank, _), facts)| {
                    (self.plan.trace.tables[*rank].name.to_owned(), facts.clone())
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
            let rows = footer_rows(&path)?;
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
            let table = &self.plan.trace.tables[rank];
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

    /// Stops where a signal asks for it.
    fn go_on(&self) -> Result<()> {
        match self.conduct.stop.load(Ordering::Relaxed) {
            0 => Ok(()),
            signal => Err(stopped(signal)),
        }
    }
}

/// The end of work that a signal asked for, or, with 0, the failure of another part.
fn stopped(signal: usize) -> Error {
    let signal = i32::try_from(signal).unwrap_or_default();
    Error::new(ErrorKind::Stopped(signal), "stopped")
        .hint("finished parts are kept; run the same command again to go on")
}
