//! The requests of a lake in the form that replay tools read: JSON lines, as Mooncake's traces have them.

mod batch;
mod lines;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use tempfile::Builder;
use tracelake_convert::lake_files::LakeFiles;
use tracelake_convert::plan::time_bounds;
use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result, escape};
use tracelake_core::selection::TimeRange;
use tracelake_core::words::first_few;
use tracelake_lake::manifest::{Manifest, PartFacts};
use tracelake_location::Location;
use tracelake_schema::{Column, Requests, TRACES, Table, Trace};

use crate::{known_trace, manifest_of};
use batch::{Blocks, RequestBatch};
use lines::Lines;

/// The most services that are remembered to be named.
const MOST_SERVICES: usize = 100;

/// The requests to export.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ExportOptions {
    /// The range of time in which the requests arrived; by default all.
    pub time: Option<TimeRange>,
    /// The service of the requests; by default all.
    pub service: Option<String>,
    /// Leaves out requests without tokens of the input or of the output.
    pub drop_empty: bool,
}

/// The outcome of an export.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exported {
    /// The requests in the file.
    pub requests: u64,
    /// The requests without tokens of the input or of the output, in the file or left out.
    pub empty: u64,
    /// The requests without an arrival, which have no line.
    pub without_arrival: u64,
    /// The tokens in a block of `hash_ids`, if the trace has blocks.
    pub block_size: Option<u32>,
    /// How many clocks the requests in the file have: one, or one for each service.
    pub clocks: u64,
}

/// Writes requests in the order of their arrival, one JSON object a line.
///
/// `timestamp` is in milliseconds from the first request in the file; `input_length` and `output_length` are tokens. Where
/// the trace has them, `hash_ids` are the blocks of the input and `session_id` is the conversation. A file that is there
/// is replaced once the new one is complete. Equal lakes give equal bytes.
///
/// # Errors
/// [`ErrorKind::Usage`] if the trace has no requests to language models, the lake lacks their columns or the service, or the
/// file can't be where it is asked for; [`ErrorKind::Refused`] if there is no finished lake; [`ErrorKind::Misfit`] if a
/// value has no place in this form; [`ErrorKind::Corrupt`] if the lake is damaged; if the disk fails;
/// [`ErrorKind::Stopped`] once the context is cancelled.
///
/// # Memory
/// 64 MiB of lines, which are sorted in a file without a name next to the new one, and a batch of the lake.
pub fn export(
    context: &Context,
    root: &Location,
    file: &Path,
    options: &ExportOptions,
) -> Result<Exported> {
    let root = &root.within(context);
    let manifest = manifest_of(root)?;
    let trace = known_trace(root, &manifest)?;
    let directory = directory_of(file, root)?;
    let asked = Asked::of(&trace, options)?;
    let source = Source {
        context,
        files: LakeFiles::new(context, root, manifest.origin.options.format, directory),
        parts: asked.parts(&manifest)?,
        asked: &asked,
    };
    let mut export = Export {
        blocks: source.blocks()?,
        asked: &asked,
        lines: Lines::new(directory)?,
        exported: Exported::default(),
        has_service: false,
        others: BTreeSet::new(),
    };
    export.exported.block_size = asked.requests.block_size;
    export.exported.clocks = export.blocks.clocks();
    source.for_each(|rows, row| export.add(rows, row))?;
    export.check_service()?;
    write(context, export.lines, file, directory)?;
    Ok(export.exported)
}

/// The requests of a trace that are asked for.
struct Asked<'a> {
    options: &'a ExportOptions,
    table: Arc<Table>,
    requests: Requests,
    time: Arc<Column>,
    /// The first microsecond, and the one after the last.
    range: (i64, Option<i64>),
}

impl<'a> Asked<'a> {
    fn of(trace: &Trace, options: &'a ExportOptions) -> Result<Self> {
        let table_of = |trace: &Trace| {
            let mut tables = trace.tables.iter();
            tables.find_map(|table| {
                let time = Arc::clone(&table.columns[table.time?]);
                Some((Arc::clone(table), table.requests.clone()?, time))
            })
        };
        let Some((table, requests, time)) = table_of(trace) else {
            let whole = trace.whole.as_deref().and_then(table_of);
            return Err(match whole {
                Some((table, requests, time)) => lacks_columns(&table, &requests, &time),
                None => no_requests(trace),
            });
        };
        if options.service.is_some() && requests.service.is_none() {
            let reason = format!("--service: the requests of {} have no service", trace.name);
            return Err(Error::new(ErrorKind::Usage, reason).hint("leave --service out"));
        }
        let range = match options.time {
            Some(range) => {
                let (from, to) = time_bounds(range, trace, &time)?;
                let micros = 1_000_000 / time.units_per_second();
                let micros = |units: i64| units.saturating_mul(micros);
                (micros(from), to.map(micros))
            }
            None => (i64::MIN, None),
        };
        Ok(Self {
            options,
            table,
            requests,
            time,
            range,
        })
    }

    /// The parts of the table.
    fn parts<'m>(&self, manifest: &'m Manifest) -> Result<Vec<&'m PartFacts>> {
        let facts = manifest.tables.iter();
        let facts = facts.filter(|facts| facts.name == self.table.name);
        let parts: Vec<&PartFacts> = facts.flat_map(|facts| &facts.parts).collect();
        if parts.is_empty() {
            let reason = format!("the lake has no part of {}", self.table.name);
            return Err(Error::new(ErrorKind::Usage, reason)
                .hint("convert the files of that table into it, too"));
        }
        Ok(parts)
    }

    fn selects(&self, arrival: i64) -> bool {
        let (from, to) = self.range;
        from <= arrival && to.is_none_or(|to| arrival < to)
    }
}

/// The rows of the table.
struct Source<'a> {
    context: &'a Context,
    files: LakeFiles<'a>,
    parts: Vec<&'a PartFacts>,
    asked: &'a Asked<'a>,
}

impl Source<'_> {
    /// Gives each row to `take`, in the order of the parts.
    fn for_each(&self, mut take: impl FnMut(&RequestBatch<'_>, usize) -> Result<()>) -> Result<()> {
        let Asked {
            table,
            requests,
            time,
            ..
        } = self.asked;
        for part in &self.parts {
            let mut number = 0;
            for batch in self.files.rows(table, part, 0)? {
                self.context.check()?;
                let batch = self.files.batch(part, batch)?;
                let rows = RequestBatch::of(&batch, requests, time);
                let rows = rows.ok_or_else(|| self.files.other_columns(part))?;
                for row in 0..batch.num_rows() {
                    number += 1;
                    take(&rows, row).map_err(|error| match error.kind() {
                        ErrorKind::Misfit => error.at(&*part.output.path).line(number, None),
                        _ => error,
                    })?;
                }
            }
        }
        Ok(())
    }

    /// How blocks are numbered. Where services have clocks of their own, they have numbers of their own, too.
    fn blocks(&self) -> Result<Blocks> {
        let mut services = BTreeSet::new();
        if self.asked.table.has_clocks() && self.asked.options.service.is_none() {
            self.for_each(|rows, row| {
                services.extend(rows.service(row).map(Cow::into_owned));
                Ok(())
            })?;
        }
        Ok(Blocks::of(services))
    }
}

/// An export at work.
struct Export<'a> {
    asked: &'a Asked<'a>,
    blocks: Blocks,
    lines: Lines<'a>,
    exported: Exported,
    /// Whether a request is of the service that is asked for.
    has_service: bool,
    /// Other services.
    others: BTreeSet<String>,
}

impl Export<'_> {
    /// Adds the line of a request, if it is asked for.
    fn add(&mut self, rows: &RequestBatch<'_>, row: usize) -> Result<()> {
        let options = self.asked.options;
        if let Some(service) = &options.service {
            let found = rows.service(row);
            if found.as_deref() != Some(service) {
                if self.others.len() < MOST_SERVICES {
                    self.others.extend(found.map(Cow::into_owned));
                }
                return Ok(());
            }
            self.has_service = true;
        }
        let Some(arrival) = rows.arrival(row)? else {
            self.exported.without_arrival += u64::from(options.time.is_none());
            return Ok(());
        };
        if !self.asked.selects(arrival) {
            return Ok(());
        }
        let is_empty = rows.is_empty(row);
        self.exported.empty += u64::from(is_empty);
        if !(is_empty && options.drop_empty) {
            self.exported.requests += 1;
            let blocks = &self.blocks;
            self.lines
                .push(arrival, |text| rows.write(row, blocks, text))?;
        }
        Ok(())
    }

    /// Refuses a service that the lake doesn't have.
    fn check_service(&self) -> Result<()> {
        let asked = self.asked.options.service.as_deref();
        let Some(service) = asked.filter(|_| !self.has_service && !self.others.is_empty()) else {
            return Ok(());
        };
        let shown = escape(service.as_bytes(), 80);
        let services = first_few(&self.others, |name| escape(name.as_bytes(), 80));
        let reason = format!("--service: no request of the lake is of '{shown}'");
        Err(Error::new(ErrorKind::Usage, reason).hint(format!("it has {services}")))
    }
}

fn no_requests(trace: &Trace) -> Error {
    let has_some = |trace: &&Arc<Trace>| trace.tables.iter().any(|table| table.requests.is_some());
    let families: BTreeSet<&str> = TRACES
        .iter()
        .filter(has_some)
        .map(|trace| &*trace.family)
        .collect();
    let families: Vec<&str> = families.into_iter().collect();
    let reason = format!("{} has no requests to language models", trace.name);
    Error::new(ErrorKind::Usage, reason).hint(format!("these traces have: {}", families.join(", ")))
}

fn lacks_columns(table: &Table, requests: &Requests, time: &Column) -> Error {
    let needed: Vec<&str> = requests.columns().chain([&*time.name]).collect();
    Error::new(
        ErrorKind::Usage,
        "the lake lacks columns that the export needs",
    )
    .field(&*table.name)
    .hint(format!(
        "convert the source with all columns, or with {}",
        needed.join(", ")
    ))
}

/// The directory of the new file.
fn directory_of<'a>(file: &'a Path, root: &Location) -> Result<&'a Path> {
    let refuse = |reason: &str, hint: &'static str| {
        Err(Error::new(ErrorKind::Usage, reason).at(file).hint(hint))
    };
    if file.is_dir() || file.file_name().is_none() {
        return refuse(
            "a directory, not a file",
            "name a file, such as requests.jsonl",
        );
    }
    // The new file takes the place of a name, and not of what a link or a device stands for.
    if fs::symlink_metadata(file).is_ok_and(|found| !found.is_file()) {
        return refuse(
            "a link or a device, not a file",
            "name a file, such as requests.jsonl",
        );
    }
    let directory = file.parent().filter(|path| !path.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    let Ok(real) = directory.canonicalize() else {
        return refuse("its directory doesn't exist", "make the directory first");
    };
    let lake = root.as_path().and_then(|path| path.canonicalize().ok());
    if lake.is_some_and(|lake| real.starts_with(lake)) {
        return refuse(
            "within the lake, which has the lake's own files alone",
            "choose a file outside of it",
        );
    }
    Ok(directory)
}

/// Writes the lines in their order; the file has its name when it is complete.
fn write(context: &Context, lines: Lines<'_>, file: &Path, directory: &Path) -> Result<()> {
    let failed = |error| Error::disk("write", error).at(file);
    let mut builder = Builder::new();
    builder.prefix(".tracelake-export-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let made = builder.tempfile_in(directory).map_err(failed)?;
    let mut out = BufWriter::with_capacity(1 << 20, made.as_file());
    let mut first = None;
    let put = |arrival: i64, text: &[u8]| {
        let first = *first.get_or_insert(arrival);
        let micros = arrival.abs_diff(first);
        write!(out, "{{\"timestamp\":{}", micros / 1000)?;
        match micros % 1000 {
            0 => {}
            rest => {
                let digits = format!("{rest:03}");
                write!(out, ".{}", digits.trim_end_matches('0'))?;
            }
        }
        out.write_all(text)?;
        out.write_all(b"}\n")
    };
    lines.for_each(context, put, failed)?;
    out.flush().map_err(failed)?;
    drop(out);
    made.as_file().sync_all().map_err(failed)?;
    let persisted = made.persist(file);
    persisted.map_err(|error| failed(error.error))?;
    Ok(())
}
