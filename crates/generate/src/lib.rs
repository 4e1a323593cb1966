//! Deterministic synthetic cluster traces in the published formats.
//!
//! [`generate`] simulates a cluster of machines, jobs and tasks in windows of 300 seconds and writes all
//! tables of a trace in parallel, with the file names, fields and marginal distributions of the published
//! trace. Traces whose rows are grouped instead of ordered by time come from a simulated fleet: machine by
//! machine, container by container and job by job. Simple rows, such as those of requests, are drawn on their own, see
//! `rows.rs`. The catalog maps columns to quantities of the
//! simulation; this crate knows no trace.
//!
//! The bytes depend only on the trace, the options and the versions of this crate, its compressor and its writer of
//! Parquet, on every platform. `docs/synthetic.md` compares the rows with real ones.

mod cluster;
mod draw;
mod file;
mod fleet;
mod fleet_rows;
mod format;
mod job;
mod job_rows;
mod layout;
mod machine;
mod machine_rows;
mod number;
mod options;
mod parquet_file;
mod parquet_leaf;
mod profile;
mod random;
mod row;
mod rows;
mod scheduler;
mod table;
mod usage;
mod usage_rows;

use std::path::Path;
use std::thread;

use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::options::SourceForm;
use tracelake_schema::{Trace, simulated_trace_names};

use crate::cluster::{BEGIN, Cluster, Shares, WINDOW};
use crate::file::{FileFact, parts_of, write_table};
use crate::fleet::Fleet;
use crate::number::split;
pub use crate::options::Options;
use crate::table::{Stopped, TableWriters};

/// The generated files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Whether files of a run that ended before its time were replaced.
    pub replaced: bool,
    /// The tables in the order of the trace.
    pub tables: Vec<TableSummary>,
}

/// The generated files of one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSummary {
    /// The name of its directory.
    pub name: String,
    /// Its files.
    pub parts: u32,
    /// Its rows over all parts.
    pub rows: u64,
    /// The bytes of its files, compressed.
    pub bytes: u64,
}

/// The most rows of the largest table, 500 times those of the largest published one. Numbers that are made of it, and
/// times, stay far below 2^63.
const MOST_ROWS: u64 = 1_000_000_000_000;

/// Generates a trace into the new or empty directory `out`.
///
/// ```
/// use tracelake_core::Context;
/// use tracelake_generate::{Options, generate};
///
/// // A trace whose rows can be made.
/// let mut traces = tracelake_schema::TRACES.iter();
/// let trace = traces.find(|trace| trace.tables.iter().all(|table| !table.synthetic.is_empty())).unwrap();
/// let mut options = Options::default();
/// (options.parts, options.rows) = (2, 1_000);
/// # let out = std::env::temp_dir().join(format!("tracelake-generate-{}", std::process::id()));
/// let context = Context::new().with_events(|event| println!("{event:?}"));
/// generate(&context, trace, &out, &options)?;
/// assert!(out.join(tracelake_schema::SYNTHETIC).is_file());
/// # std::fs::remove_dir_all(out)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Reports [`Event::Generated`](tracelake_core::event::Event::Generated) with the rows of a part so far, now and then and
/// at the end of every part, always from the calling thread.
///
/// A directory that a run left unfinished, however it ended, is taken by the next run with the same
/// trace and options: it writes every file anew, and [`Summary::replaced`] says so.
///
/// # Errors
/// [`ErrorKind::Usage`] if the options ask for something impossible, no simulation makes the trace, or none of its tables
/// is published in the form that is asked for, and
/// [`ErrorKind::Refused`] if `out` holds something, or a run with other options left it unfinished, before anything is
/// written; [`ErrorKind::Failed`] if reading or writing fails, and [`ErrorKind::Stopped`] once the context is cancelled:
/// what was written so far stays.
///
/// # Memory
/// A few hundred bytes for each task that runs at a time, which are at most 148,000, and a few
/// megabytes for each table, whatever the number of rows; as Parquet also 65,536 rows of each, about 100 MB in all.
pub fn generate(
    context: &Context,
    trace: &Trace,
    out: &Path,
    options: &Options,
) -> Result<Summary> {
    let plan = Plan::new(options)?;
    let mut tables = trace.tables.iter();
    let is_drawn = tables.all(|table| table.synthetic == rows::ROWS);
    let simulated = (!is_drawn).then(|| TableWriters::of(context, trace, options.seed));
    let simulated = simulated.transpose()?;
    check_form(trace, options.form)?;
    let replaced = layout::prepare(trace, out, options)?;
    let Some((mut tables, inboxes)) = simulated else {
        let facts = rows::write(context, trace, out, options)?;
        if context.is_cancelled() {
            return Err(unfinished(out, context));
        }
        return summary(trace, out, options, replaced, &facts);
    };
    let facts = thread::scope(|scope| {
        let writers: Vec<_> = inboxes
            .into_iter()
            .map(|(table, inbox)| {
                scope.spawn(move || write_table(out, trace, &table, options, &inbox))
            })
            .collect();
        let simulated = simulate(trace, options, plan, &mut tables);
        // A thread ends when its writer is dropped. The first one that failed has the reason.
        drop(tables);
        let mut facts: Vec<FileFact> = Vec::new();
        for writer in writers {
            facts.extend(
                writer
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?,
            );
        }
        // No writer failed, so the context is cancelled; whatever stopped the rows, they aren't complete.
        simulated.map_err(|Stopped| unfinished(out, context))?;
        Ok(facts)
    })?;
    summary(trace, out, options, replaced, &facts)
}

/// Writes what describes the files, and sums them up.
fn summary(
    trace: &Trace,
    out: &Path,
    options: &Options,
    replaced: bool,
    facts: &[FileFact],
) -> Result<Summary> {
    layout::describe(trace, out, options, facts)?;
    layout::finish(out)?;
    let summaries = trace.tables.iter().map(|table| {
        let own = || facts.iter().filter(|fact| fact.table == table.name);
        TableSummary {
            name: table.name.clone(),
            parts: parts_of(table, options.parts),
            rows: own().map(|fact| fact.rows).sum(),
            bytes: own().map(|fact| fact.bytes).sum(),
        }
    });
    Ok(Summary {
        replaced,
        tables: summaries.collect(),
    })
}

/// Refuses Parquet if the trace has no table that is published so.
fn check_form(trace: &Trace, form: SourceForm) -> Result<()> {
    let is_published = |trace: &Trace| trace.tables.iter().any(|table| table.parquet);
    if form == SourceForm::Json || is_published(trace) {
        return Ok(());
    }
    let simulated = simulated_trace_names().filter_map(tracelake_schema::trace);
    let names: Vec<&str> = simulated
        .filter(|trace| is_published(trace))
        .map(|trace| trace.name.as_str())
        .collect();
    let reason = format!("no table of {} is published as Parquet", trace.name);
    let hint = format!(
        "leave the form out, or generate a trace that has one: {}",
        names.join(", ")
    );
    Err(Error::new(ErrorKind::Usage, reason).hint(hint))
}

/// The error of a run that was stopped.
fn unfinished(out: &Path, context: &Context) -> Error {
    let kind = context
        .check()
        .map_or_else(|stopped| stopped.kind(), |()| ErrorKind::Failed);
    Error::new(kind, "stopped before it was finished")
        .at(out)
        .hint("run the same command again to replace it")
}

/// Simulates a cluster, part by part and window by window, or a fleet.
fn simulate(
    trace: &Trace,
    options: &Options,
    plan: Plan,
    tables: &mut TableWriters,
) -> std::result::Result<(), Stopped> {
    if tables.container_samples.is_open() {
        Fleet::new(options.rows, options.seed).write(tables)?;
        return tables.end_whole();
    }
    let mut cluster = Cluster::new(plan.live, options.seed, Shares::of(trace));
    cluster.before(tables)?;
    for part in 0..u64::from(options.parts) {
        let rows = plan.rows_of(part);
        for window in 0..plan.windows {
            let from = BEGIN + (part * plan.windows + window) * WINDOW;
            let budget = split(rows, plan.windows, window);
            cluster.step((from, budget, window == 0), tables)?;
        }
        if part + 1 == u64::from(options.parts) {
            cluster.after(tables)?;
        }
        tables.end_part()?;
    }
    tables.end_whole()
}

/// The duration and size of the cluster that gives the requested rows.
#[derive(Debug, Clone, Copy)]
struct Plan {
    rows: u64,
    parts: u64,
    /// Windows in a part.
    windows: u64,
    /// Rows in a window, which is the number of tasks that run at a time.
    live: u64,
}

impl Plan {
    /// A published part covers 83 minutes, which is 16 windows.
    const WINDOWS: u64 = 16;
    /// The fewest tasks that run at a time; the part gets shorter instead.
    const FEWEST: u64 = 64;
    /// The tasks that run at a time in the published cluster; the part gets longer instead.
    const MOST: u64 = 148_000;

    fn new(options: &Options) -> Result<Self> {
        let (parts, rows) = (u64::from(options.parts), options.rows);
        if !(1..=99_999).contains(&parts) {
            let reason = format!("parts: {parts} is not from 1 to 99999");
            return Err(Error::new(ErrorKind::Usage, reason));
        }
        if rows < parts {
            let reason = format!("rows: {rows} is less than one for each part");
            return Err(Error::new(ErrorKind::Usage, reason));
        }
        if rows > MOST_ROWS {
            let reason = format!("rows: {rows} is more than {MOST_ROWS}");
            return Err(Error::new(ErrorKind::Usage, reason));
        }
        let per_part = rows / parts;
        let live = (per_part / Self::WINDOWS).clamp(Self::FEWEST, Self::MOST);
        let windows = (per_part / live).max(1);
        Ok(Self {
            rows,
            parts,
            windows,
            live: per_part.div_ceil(windows),
        })
    }

    fn rows_of(self, part: u64) -> u64 {
        split(self.rows, self.parts, part)
    }
}

#[cfg(test)]
mod tests {
    use tracelake_core::digest::Digest;
    use tracelake_schema::TRACES;

    use super::*;

    #[test]
    fn rows_have_bounds() {
        let plan = |rows| {
            let plan = Plan::new(&Options {
                rows,
                ..Options::default()
            });
            plan.map_err(|error| error.to_string())
        };
        assert!(plan(2).is_ok() && plan(MOST_ROWS).is_ok());
        assert!(plan(1).unwrap_err().contains("less than one for each part"));
        for rows in [MOST_ROWS + 1, u64::MAX] {
            assert!(
                plan(rows)
                    .unwrap_err()
                    .contains("is more than 1000000000000")
            );
        }
    }

    /// Of each trace that can be generated, the SHA-256 of its `SHA256SUM`, which has the digest of each file. People cite
    /// a seed, so a trace changes only on purpose, and `cargo xtask golden --update` follows.
    const TRACES_OF_SEED_7: &[&str] = &[
        "8196b59246f6aaf5e68f59ca7ad72c5bac7913aed7da92b72461e30dac544d73",
        "ca81d7bd9861818c8734145765b81c8d1e751b0c57cc27c66edd6f43dac04fd2",
        "ae1b9e7c6eeede1a8eb6f8cc9a787880ab41765b0af0f941a21f211281763d73",
        "f1382dfb4a2b91f928661000d6cb001d37e5ca68075eca68a07414f25e594f74",
        "416f4c0eb9ac2cd03abac37434c725c37564954b8eafaf13bed6471ef2efb079",
        "9f166061c7d38653f75447b52f074f854c07abc951d653301af13f93874720e6",
        "57d1c1476c178977d76b29e5ab8404a737de8ddd57e07329630fde23a7aaf8ac",
        "dbfcee0e1e0f4cc7bb2ab347db616d4f9936cf87bd647c27ed7a72e1d594b8b7",
        "cf987be8d34e9a0b2270fe4292c8f59922a0347519f9e3bdb083754978ca8e75",
        "3297ff84cd4944ace455316351ad3057598661d9a1116b6fd64b02e796f52672",
        "8b586f0e813b704336dcd13ec7b2a57952048b9d17ea4de79150397b825083fc",
        "4160f32119e196c627d7e32f9d3550da017986f870de53ca6a7acf1454064a9e",
        "c2a074db0b187ff4330921d22fdecb2808d6ec6401717d07c547332d2b8528d4",
    ];

    #[test]
    fn a_seed_is_a_trace_for_good() {
        let options = Options {
            parts: 2,
            rows: 3_000,
            seed: 7,
            form: SourceForm::Json,
        };
        let is_simulated = |trace: &&'static std::sync::Arc<Trace>| {
            trace.tables.iter().all(|table| !table.synthetic.is_empty())
        };
        let digests = TRACES.iter().filter(is_simulated).map(|trace| {
            let out = tempfile::tempdir().unwrap();
            generate(&Context::new(), trace, out.path(), &options).unwrap();
            let sums = std::fs::read(out.path().join("SHA256SUM")).unwrap();
            Digest::of(&sums).to_string()
        });
        assert_eq!(digests.collect::<Vec<_>>(), TRACES_OF_SEED_7);
    }
}
