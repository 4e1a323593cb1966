//! The requests of a lake in the form that replay tools read: JSON lines, as Mooncake's traces have them.

mod batch;
mod lines;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use tempfile::Builder;
use tracelake_convert::lake_file::LakeFile;
use tracelake_convert::plan::time_bounds;
use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result, escape};
use tracelake_core::selection::TimeRange;
use tracelake_core::words::first_few;
use tracelake_lake::manifest::{Manifest, PartFacts};
use tracelake_location::Location;
use tracelake_schema::{Column, Kind, Requests, TRACES, Table, Trace};

use crate::finding::corrupt;
use crate::{known_trace, manifest_of};
use batch::{Blocks, RequestBatch, micros_of};
use lines::Lines;

/// The most services that are remembered to be named.
const MOST_SERVICES: usize = 100;

/// The requests to export.
#[derive(Debug, Clone, Default)]
pub struct ExportOptions {
    /// Those that arrived in this range of time; by default all.
    pub time: Option<TimeRange>,
    /// Those of this service; by default of all.
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
    /// How many parts with clocks of their own are in the file together.
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
    let mut export = Export {
        asked: Asked::of(&trace, options)?,
        lines: Lines::new(directory)?,
        exported: Exported::default(),
        has_service: false,
        services: BTreeSet::new(),
    };
    export.read(context, root, &manifest)?;
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
                let micros = |units: i64| units.saturating_mul(micros_of(&time));
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

    /// The columns that are read.
    fn columns(&self) -> Vec<&str> {
        self.requests.columns().chain([&*self.time.name]).collect()
    }

    /// Whether each part has a clock of its own: files of services do, unless times are dates.
    fn has_clocks(&self) -> bool {
        let service = self.requests.service.as_deref();
        let column = service.and_then(|name| self.table.column(name));
        column.is_some_and(|(_, column)| column.spelling.capture.is_some())
            && !matches!(self.time.kind, Kind::DateTime(_))
    }

    /// The service of all rows of a part, if the name of its file says it.
    fn service_of(&self, part: &PartFacts) -> Option<String> {
        let (_, column) = self.table.column(self.requests.service.as_ref()?)?;
        let capture = column.spelling.capture.as_ref()?;
        self.table.captured(&part.source.path, capture)
    }

    fn selects(&self, arrival: i64) -> bool {
        let (from, to) = self.range;
        from <= arrival && to.is_none_or(|to| arrival < to)
    }
}

/// An export at work.
struct Export<'a> {
    asked: Asked<'a>,
    lines: Lines<'a>,
    exported: Exported,
    /// Whether a request is of the service that is asked for.
    has_service: bool,
    /// Services that weren't asked for.
    services: BTreeSet<String>,
}

impl Export<'_> {
    fn read(&mut self, context: &Context, root: &Location, manifest: &Manifest) -> Result<()> {
        let facts = manifest.tables.iter();
        let facts = facts.filter(|facts| facts.name == self.asked.table.name);
        let mut parts: Vec<&PartFacts> = facts.flat_map(|facts| &facts.parts).collect();
        if parts.is_empty() {
            let reason = format!("the lake has no part of {}", self.asked.table.name);
            return Err(Error::new(ErrorKind::Usage, reason)
                .hint("convert the files of that table into it, too"));
        }
        if let Some(service) = &self.asked.options.service {
            parts.retain(|part| match self.asked.service_of(part) {
                Some(other) if other != *service => !self.services.insert(other),
                _ => true,
            });
        }
        let clocks = if self.asked.has_clocks() {
            parts.len()
        } else {
            1
        };
        self.exported.clocks = clocks as u64;
        self.exported.block_size = self.asked.requests.block_size;
        for (number, part) in parts.into_iter().enumerate() {
            let blocks = Blocks {
                clock: (number % clocks) as u64,
                clocks: clocks as u64,
            };
            let path = root.join(&part.output.path);
            let file = LakeFile::open(&path, manifest.origin.options.format)?;
            self.read_file(context, file, blocks)
                .map_err(|error| error.or_at(&path))?;
        }
        Ok(())
    }

    fn read_file(&mut self, context: &Context, file: LakeFile, blocks: Blocks) -> Result<()> {
        let unreadable = |error| corrupt(format!("cannot be read: {error}"));
        let batches = file.batches(Some(&self.asked.columns()));
        let mut before = 0;
        for batch in batches.map_err(unreadable)? {
            context.check()?;
            let batch = batch.map_err(unreadable)?;
            let rows = RequestBatch::of(&batch, &self.asked.requests, &self.asked.time)?;
            for row in 0..batch.num_rows() {
                let number = before + row as u64 + 1;
                let added = self.add(&rows, row, blocks);
                added.map_err(|error| match error.kind() {
                    ErrorKind::Misfit => error.line(number, None),
                    _ => error,
                })?;
            }
            before += batch.num_rows() as u64;
        }
        Ok(())
    }

    /// Adds the line of a request, if it is asked for.
    fn add(&mut self, rows: &RequestBatch<'_>, row: usize, blocks: Blocks) -> Result<()> {
        let options = self.asked.options;
        if let Some(service) = &options.service {
            let found = rows.service(row);
            if found.as_deref() != Some(service) {
                if self.services.len() < MOST_SERVICES {
                    self.services.extend(found.map(Cow::into_owned));
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
            self.lines
                .push(arrival, |text| rows.write(row, blocks, text))?;
        }
        Ok(())
    }

    /// Refuses a service that the lake doesn't have.
    fn check_service(&self) -> Result<()> {
        let asked = self.asked.options.service.as_deref();
        let Some(service) = asked.filter(|_| !self.has_service && !self.services.is_empty()) else {
            return Ok(());
        };
        let shown = escape(service.as_bytes(), 80);
        let services = first_few(&self.services, |name| escape(name.as_bytes(), 80));
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
        "convert the source with all columns, or at least with {}",
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
