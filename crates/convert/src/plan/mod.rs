//! Found × catalog × options → [`Plan`]: plain data that `--dry-run` prints and a run carries out.

mod request;

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use arrow::datatypes::SchemaRef;
use tracelake_schema::{Derived, Files, Kind, Syntax, TRACES, Table, Trace};

use crate::discover::checksums::Checksums;
use crate::discover::schema_csv::SchemaCsv;
use crate::discover::{self, Found, FoundFile, FoundPart, FoundTable};
use crate::error::{Error, ErrorKind, Result, escape};
use crate::layout::Layout;
use crate::manifest::REJECTS;
use crate::manifest::{Origin, Settings};
use crate::sheet::Codec;
use crate::source::{self, Chunk, Source};
use crate::value;

pub use request::{ChecksumSource, OnBadRow, PART_ROWS, PartSet, Partitions, Request};

/// File numbers as people write them: `0-174, 178-499`.
struct Ranges<'a>(&'a [u32]);

impl fmt::Display for Ranges<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.0.chunk_by(|a, b| a + 1 == *b);
        for (index, run) in runs.enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            match run {
                [] => {}
                [one] => write!(f, "{comma}{one}")?,
                [first, .., last] => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

/// What will be done: every input, every output, nothing left to decide.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The directory that source paths are relative to.
    pub source: PathBuf,
    /// The trace.
    pub trace: &'static Trace,
    /// What decides the bytes of the outputs.
    pub origin: Origin,
    /// How column chunks are compressed.
    pub codec: Codec,
    /// What a bad row leads to.
    pub on_bad_row: OnBadRow,
    /// Where the outputs of a table lie.
    pub partitions: Partitions,
    /// The file numbers to convert; `None` for all.
    pub selected: Option<PartSet>,
    /// The tables to convert, in the order of the trace.
    pub tables: Vec<TablePlan>,
    /// Files that are cut into parts, or hold several tables.
    pub streams: Vec<StreamPlan>,
    /// What is derived from tables of the lake.
    pub derived: Vec<&'static Derived>,
    /// Tables of the trace that are not there, in its order.
    pub absent: Vec<&'static str>,
    /// What people should know before the work begins.
    pub warnings: Vec<String>,
}

/// One table to convert.
#[derive(Debug, Clone)]
pub struct TablePlan {
    /// Its place in the trace, from 0.
    pub rank: usize,
    /// Which field of its files is which column.
    pub layout: Layout,
    /// Its Arrow schema.
    pub schema: SchemaRef,
    /// The parts that are files, by file number; those of a stream are known when it is read.
    pub parts: Vec<PartPlan>,
    /// File numbers that are not there.
    pub missing: Vec<u32>,
}

/// One file that is cut into parts while it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamPlan {
    /// The input, relative to [`Plan::source`].
    pub source: String,
    /// The size of the input.
    pub bytes: u64,
    /// The SHA-256 that the publisher names for it.
    pub sha256: Option<String>,
    /// What it holds: indices in [`Plan::tables`]. Of an archive of all tables, what it may hold.
    pub tables: Vec<usize>,
    /// Lines of a table in a part, the last one of which has the rest.
    pub part_rows: u64,
}

/// One part to convert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartPlan {
    /// Its file number.
    pub file_number: u32,
    /// The input, relative to [`Plan::source`].
    pub source: String,
    /// The size of the input.
    pub bytes: u64,
    /// The SHA-256 that the publisher names for it.
    pub sha256: Option<String>,
    /// The output, relative to the lake.
    pub output: String,
    /// The file of its rejects, relative to the lake.
    pub rejects: String,
}

impl Plan {
    /// The parts of all tables with the index of their table, in order.
    pub fn parts(&self) -> impl Iterator<Item = (usize, &PartPlan)> {
        self.tables
            .iter()
            .enumerate()
            .flat_map(|(index, table)| table.parts.iter().map(move |part| (index, part)))
    }

    /// The size of all inputs.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let parts = self.parts().map(|(_, part)| part.bytes);
        parts
            .chain(self.streams.iter().map(|stream| stream.bytes))
            .sum()
    }

    /// Whether a part is to be converted.
    #[must_use]
    pub fn selects(&self, number: u32) -> bool {
        self.selected
            .as_ref()
            .is_none_or(|parts| parts.contains(number))
    }

    /// The stream that holds a table, if one does.
    #[must_use]
    pub fn stream_of(&self, table: usize) -> Option<&StreamPlan> {
        self.streams
            .iter()
            .find(|stream| stream.tables.contains(&table))
    }

    /// A part that a stream is cut into; `table` is an index in [`Plan::tables`].
    #[must_use]
    pub fn cut(&self, stream: &StreamPlan, table: usize, file_number: u32) -> PartPlan {
        let file = FoundFile {
            path: stream.source.clone(),
            bytes: stream.bytes,
        };
        let part = FoundPart {
            file,
            number: file_number,
            total: None,
        };
        part_plan(
            self.partitions,
            self.tables[table].layout.table,
            &part,
            None,
        )
    }
}

/// The names that a table's directory can have, in a lake of any trace.
#[must_use]
pub fn table_names() -> BTreeSet<&'static str> {
    let tables = TRACES.iter().flat_map(|trace| trace.all_tables());
    tables.map(|table| table.name).collect()
}

/// Decides what to do.
///
/// # Errors
/// When the source is not a trace, is not whole (unless that is allowed), or is not what was
/// asked for; nothing is written.
pub fn plan(request: &Request) -> Result<Plan> {
    let mut found = discover::discover(&request.source, request.trace)?;
    let schema_csv = match found.schema_csv {
        true => Some(SchemaCsv::read(&found.root.join(discover::SCHEMA_CSV))?),
        false => None,
    };
    name_tables(request, &mut found)?;
    let trace = match request.trace {
        Some(trace) => trace,
        None => recognise(&found, schema_csv.as_ref())?,
    };
    if let Some(schema_csv) = &schema_csv {
        schema_csv.check(trace)?;
    }
    if found.alone {
        // Its name need not be one that the publisher gave it.
        for table in &mut found.tables {
            let known = table.name.as_deref().and_then(|name| trace.table(name));
            table.files = known.map_or(table.files, |known| known.files);
        }
    }
    fit_archives(&found, trace)?;
    for name in &request.tables {
        if trace.table(name).is_none() {
            return Err(unknown_table(name, trace));
        }
        let here = found
            .tables
            .iter()
            .any(|table| table.name.as_ref() == Some(name));
        if !here && found.archives.is_empty() {
            return Err(Error::new(
                ErrorKind::Failed,
                format!("there is no part of table {name}"),
            )
            .at(&request.source)
            .hint("leave it out of --tables, or download it"));
        }
    }
    let derived = derived(request, trace)?;
    let checksums = read_checksums(request, &found)?;
    let mut warnings: Vec<String> = found
        .passed_over
        .iter()
        .map(|path| {
            format!(
                "{} is passed over: not the name of a part",
                escape(path.as_bytes(), 200)
            )
        })
        .collect();
    let mut tables: Vec<TablePlan> = Vec::new();
    let mut streams = Vec::new();
    let mut absent = Vec::new();
    let mut archived = Vec::new();
    for (rank, table) in trace.tables.iter().enumerate() {
        let wanted =
            request.tables.is_empty() || request.tables.iter().any(|name| name == table.name);
        let here = found
            .tables
            .iter()
            .find(|found| found.name.as_deref() == Some(table.name) && found.files == table.files);
        match here {
            Some(here) if wanted && here.files == Files::Whole => {
                let layout = Layout::built_in(table, trace.name);
                let file = the_only(&found, here)?;
                streams.push(stream(
                    request,
                    file,
                    vec![tables.len()],
                    checksums.as_ref(),
                ));
                tables.push(TablePlan::whole(rank, layout));
            }
            Some(here) if wanted => {
                let layout = match &schema_csv {
                    Some(schema_csv) => schema_csv.layout(table)?,
                    None => Layout::built_in(table, trace.name),
                };
                let planned = plan_table(request, &found, here, rank, layout, checksums.as_ref())?;
                if planned.parts.is_empty() {
                    warnings.push(format!("{} has no part that is selected", table.name));
                } else {
                    tables.push(planned);
                }
            }
            None if wanted && table.files == Files::Whole && !found.archives.is_empty() => {
                archived.push(tables.len());
                tables.push(TablePlan::whole(rank, Layout::built_in(table, trace.name)));
            }
            None if wanted => absent.push(table.name),
            _ => {}
        }
    }
    for (file, _) in &found.archives {
        streams.push(stream(request, file, archived.clone(), checksums.as_ref()));
    }
    if tables.is_empty() {
        return Err(Error::new(ErrorKind::Failed, "no part is selected")
            .at(&request.source)
            .hint("see which there are with: tracelake inspect SRC"));
    }
    let parts = tables.iter().flat_map(|table| &table.parts);
    let digests = parts.map(|part| &part.sha256);
    let digests = digests.chain(streams.iter().map(|stream| &stream.sha256));
    let unlisted = digests.filter(|digest| digest.is_none()).count();
    if checksums.is_some() && unlisted > 0 {
        warnings.push(format!(
            "not in the checksums, so not checked: {unlisted} of the files"
        ));
    }
    let options = Settings {
        layout: request.partitions.name().to_owned(),
        format: "parquet".to_owned(),
        compression: request.codec.to_string(),
        on_bad_row: request.on_bad_row.name().to_owned(),
        part_rows: trace
            .tables
            .iter()
            .any(|table| table.files == Files::Whole)
            .then_some(request.part_rows),
    };
    tracing::debug!(
        trace = trace.name,
        tables = tables.len(),
        absent = absent.len(),
        schema_csv = schema_csv.is_some(),
        checksums = checksums.is_some(),
        "planned"
    );
    Ok(Plan {
        source: found.root,
        trace,
        origin: Origin {
            synthetic: found.synthetic,
            ..Origin::new(trace.name, options)
        },
        codec: request.codec,
        on_bad_row: request.on_bad_row,
        partitions: request.partitions,
        selected: request.parts.clone(),
        tables,
        streams,
        derived,
        absent,
        warnings,
    })
}

/// What is to be derived.
fn derived(request: &Request, trace: &'static Trace) -> Result<Vec<&'static Derived>> {
    let wanted = request.derive.iter().map(|rule| {
        let mut known = trace.derived.iter();
        known.find(|derived| derived.rule == *rule).ok_or_else(|| {
            let name = rule.name();
            let reason = format!("nothing of {} is derived by '{name}'", trace.name);
            Error::new(ErrorKind::Usage, reason).hint("leave --derive out")
        })
    });
    wanted.collect()
}

/// An archive of all tables belongs to the trace, and no table may lie beside it a second time.
fn fit_archives(found: &Found, trace: &Trace) -> Result<()> {
    let Some((archive, _)) = found.archives.first() else {
        return Ok(());
    };
    let wrong = |reason: String, hint: &str| {
        Err(Error::new(ErrorKind::Failed, reason)
            .at(found.root.join(&archive.path))
            .hint(hint))
    };
    if !trace.tables.iter().any(|table| table.files == Files::Whole) {
        return wrong(
            format!("{} is not published in archives", trace.name),
            "unpack it, or name the trace with --trace",
        );
    }
    if let Some((other, _)) = found.archives.get(1) {
        return wrong(
            format!("may hold the same tables as {}", other.path),
            "move one of them away",
        );
    }
    let whole = found
        .tables
        .iter()
        .find(|table| table.files == Files::Whole);
    match whole.and_then(|table| table.parts.first()) {
        Some(part) => wrong(
            format!("may hold the table of {} too", part.file.path),
            "move one of them away",
        ),
        None => Ok(()),
    }
}

/// The file of a table that is published in one.
fn the_only<'a>(found: &Found, here: &'a FoundTable) -> Result<&'a FoundFile> {
    match &here.parts[..] {
        [one] => Ok(&one.file),
        [one, other, ..] => Err(Error::new(
            ErrorKind::Failed,
            format!("holds the same table as {}", one.file.path),
        )
        .at(found.root.join(&other.file.path))
        .hint("move one of them away")),
        [] => Err(Error::new(ErrorKind::Failed, "a table without a file").at(&found.root)),
    }
}

fn stream(
    request: &Request,
    file: &FoundFile,
    tables: Vec<usize>,
    checksums: Option<&Checksums>,
) -> StreamPlan {
    let listed = checksums.and_then(|sums| sums.of("", &file.path));
    StreamPlan {
        source: file.path.clone(),
        bytes: file.bytes,
        sha256: listed.map(str::to_owned),
        tables,
        part_rows: request.part_rows,
    }
}

impl TablePlan {
    /// A table whose parts are known when its file is read.
    fn whole(rank: usize, layout: Layout) -> Self {
        Self {
            rank,
            schema: tracelake_schema::arrow::arrow_schema(layout.table),
            layout,
            parts: Vec::new(),
            missing: Vec::new(),
        }
    }
}

/// Reads the checksums that apply, and holds `schema.csv` against them, since it decides so much.
fn read_checksums(request: &Request, found: &Found) -> Result<Option<Checksums>> {
    let path = match &request.checksums {
        ChecksumSource::None => return Ok(None),
        ChecksumSource::Auto if !found.checksums => return Ok(None),
        ChecksumSource::Auto => found.root.join(discover::CHECKSUMS),
        ChecksumSource::File(path) => path.clone(),
    };
    let checksums = Checksums::read(&path)?;
    if let Some(expected) = checksums
        .of("", discover::SCHEMA_CSV)
        .filter(|_| found.schema_csv)
    {
        let schema_csv = found.root.join(discover::SCHEMA_CSV);
        check_sha256(
            &schema_csv,
            expected,
            &source::fingerprint(&schema_csv)?.sha256,
        )?;
    }
    Ok(Some(checksums))
}

/// Holds the digest of a source file against the one that its publisher names.
///
/// # Errors
/// [`ErrorKind::Corrupt`] when they differ.
pub fn check_sha256(path: &Path, expected: &str, found: &str) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Corrupt,
        format!("has SHA-256 {found}, but the checksums say {expected}"),
    )
    .at(path)
    .hint("download it again, or pass --checksums none to go on without"))
}

fn plan_table(
    request: &Request,
    found: &Found,
    here: &FoundTable,
    rank: usize,
    layout: Layout,
    checksums: Option<&Checksums>,
) -> Result<TablePlan> {
    let table = layout.table;
    let selected = |number| {
        request
            .parts
            .as_ref()
            .is_none_or(|parts| parts.contains(number))
    };
    let mut missing = Vec::new();
    if !found.alone {
        check_numbers(request, found, table, here)?;
        let total = here.parts.iter().map(FoundPart::total).max().unwrap_or(0);
        let there = |number| here.parts.iter().any(|part| part.number == number);
        missing = (0..total)
            .filter(|&number| selected(number) && !there(number))
            .collect();
        if !missing.is_empty() && !request.allow_missing {
            let reason = format!(
                "{} of {total} parts are missing: {}",
                missing.len(),
                Ranges(&missing)
            );
            return Err(Error::new(ErrorKind::Failed, reason)
                .at(&request.source)
                .field(table.name)
                .hint("download them, or pass --allow-missing to convert what is there"));
        }
    }
    let parts = here
        .parts
        .iter()
        .filter(|part| selected(part.number))
        .map(|part| {
            let listed = checksums.and_then(|sums| sums.of(table.name, &part.file.path));
            part_plan(request.partitions, table, part, listed)
        });
    let parts = parts.collect();
    let schema = tracelake_schema::arrow::arrow_schema(table);
    Ok(TablePlan {
        rank,
        layout,
        schema,
        parts,
        missing,
    })
}

fn part_plan(
    partitions: Partitions,
    table: &Table,
    part: &FoundPart,
    sha256: Option<&str>,
) -> PartPlan {
    PartPlan {
        file_number: part.number,
        source: part.file.path.clone(),
        bytes: part.file.bytes,
        sha256: sha256.map(str::to_owned),
        output: output_path(partitions, table, part),
        rejects: format!("{REJECTS}/{}/{}.ndjson", table.name, output_stem(part)),
    }
}

/// Two files of one number would become the same output; a number past the total is a mistake; two
/// totals mean that two downloads were mixed.
fn check_numbers(request: &Request, found: &Found, table: &Table, here: &FoundTable) -> Result<()> {
    let wrong = |part: &FoundPart, reason: String, hint: &str| {
        Err(Error::new(ErrorKind::Failed, reason)
            .at(found.root.join(&part.file.path))
            .field(table.name)
            .hint(hint))
    };
    for pair in here.parts.windows(2) {
        if pair[0].number == pair[1].number {
            let reason = format!("has the same file number as {}", pair[0].file.path);
            return wrong(&pair[1], reason, "move one of them away");
        }
    }
    for part in &here.parts {
        if part.number >= part.total() {
            let reason = format!("file number {} is not below {}", part.number, part.total());
            return wrong(part, reason, "rename it, or move it away");
        }
        let first = &here.parts[0];
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

fn output_stem(part: &FoundPart) -> String {
    match part.total {
        Some(total) => format!("part-{:05}-of-{total:05}", part.number),
        None => format!("part-{:05}", part.number),
    }
}

fn output_path(partitions: Partitions, table: &Table, part: &FoundPart) -> String {
    let name = format!("{}.parquet", output_stem(part));
    match partitions {
        Partitions::Hive => format!("{}/file_number={}/{name}", table.name, part.number),
        Partitions::Flat => format!("{}/{name}", table.name),
    }
}

fn unknown_table(name: &str, trace: &Trace) -> Error {
    let names: Vec<&str> = trace.tables.iter().map(|table| table.name).collect();
    let name = escape(name.as_bytes(), 80);
    Error::new(
        ErrorKind::Usage,
        format!("{} has no table '{name}'", trace.name),
    )
    .hint(format!("it has {}", names.join(", ")))
}

/// Gives a table to files of which neither the directory nor the name tells: the one that
/// `--tables` names, or the only one that has so many fields.
fn name_tables(request: &Request, found: &mut Found) -> Result<()> {
    let root = found.root.clone();
    for table in found.tables.iter_mut().filter(|table| table.name.is_none()) {
        if let [name] = &request.tables[..] {
            table.name = Some(name.clone());
            continue;
        }
        let row = first_row(&root, table)?;
        let fields = row.as_deref().map(count_fields);
        let traces = TRACES.iter().filter(|_| request.trace.is_none());
        let mut candidates: Vec<&Table> = traces
            .chain(request.trace)
            .flat_map(|trace| trace.tables)
            .filter(|table| table.syntax == Syntax::Csv && Some(table.fields.len()) == fields)
            .collect();
        candidates.sort_by_key(|candidate| candidate.name);
        candidates.dedup_by_key(|candidate| candidate.name);
        if candidates.len() > 1 {
            let fits = |table: &&Table| row.as_deref().is_some_and(|row| fits(table, row));
            let fitting: Vec<&Table> = candidates.iter().copied().filter(fits).collect();
            if !fitting.is_empty() {
                candidates = fitting;
            }
        }
        let names: Vec<&str> = candidates.iter().map(|candidate| candidate.name).collect();
        let reason = match (&candidates[..], fields) {
            ([only], _) => {
                table.name = Some(only.name.to_owned());
                continue;
            }
            (_, None) => "the file has no rows that tell its table".to_owned(),
            ([], Some(fields)) => format!("no known table has {fields} fields"),
            (_, Some(fields)) => format!("{} have {fields} fields", names.join(" and ")),
        };
        return Err(Error::new(ErrorKind::Failed, reason)
            .at(&request.source)
            .hint("name the table with --tables, or put the file into a directory of its name"));
    }
    Ok(())
}

/// Finds the trace: the one that has all tables found, each with the number of fields that
/// `schema.csv` or its first row has. Of several the first of the catalog.
fn recognise(found: &Found, schema_csv: Option<&SchemaCsv>) -> Result<&'static Trace> {
    let has = |trace: &&Trace, table: &FoundTable| {
        let known = table.name.as_deref().and_then(|name| trace.table(name));
        known.is_some_and(|known| found.alone || known.files == table.files)
    };
    let candidates: Vec<&'static Trace> = TRACES
        .iter()
        .filter(|trace| found.tables.iter().all(|table| has(trace, table)))
        .filter(|trace| {
            let mut archives = found.archives.iter();
            archives.all(|(_, of)| match of {
                Some(of) => of.name == trace.name,
                None => !trace.archive.is_empty(),
            })
        })
        .collect();
    let Some(&first) = candidates.first() else {
        return Err(
            Error::new(ErrorKind::Failed, "the tables here belong to no one trace")
                .at(&found.root)
                .hint("name the trace with --trace; tracelake schema lists them"),
        );
    };
    let mut fitting = candidates;
    for table in &found.tables {
        let Some(name) = table.name.as_deref() else {
            continue;
        };
        let fields_of = |trace: &&'static Trace| trace.table(name).map(|table| table.fields.len());
        let Some(one) = fitting.first().map(fields_of) else {
            break;
        };
        if fitting.iter().all(|trace| fields_of(trace) == one) {
            continue;
        }
        let fields = match schema_csv.map(|schema_csv| schema_csv.fields(name)) {
            Some(fields) if fields > 0 => Some(fields),
            _ => first_row(&found.root, table)?.as_deref().map(count_fields),
        };
        fitting.retain(|trace| fields.is_none() || fields_of(trace) == fields);
    }
    // Where no version fits, the rows themselves will say what is wrong with them.
    Ok(fitting.first().copied().unwrap_or(first))
}

/// The first row of a table's first part that has one.
fn first_row(root: &Path, table: &FoundTable) -> Result<Option<Vec<u8>>> {
    for part in &table.parts {
        let mut source = Source::open(&root.join(&part.file.path))?;
        let mut chunk = Chunk::default();
        if !source.is_archive() && source.next_chunk(&mut chunk)? {
            let line = chunk.lines().split(|&byte| byte == b'\n').next();
            return Ok(line.map(<[u8]>::to_vec));
        }
    }
    Ok(None)
}

fn count_fields(row: &[u8]) -> usize {
    1 + row.iter().filter(|&&byte| byte == b',').count()
}

/// Whether a row of as many fields as the table has could be one of it.
fn fits(table: &Table, row: &[u8]) -> bool {
    let row = row.strip_suffix(b"\r").unwrap_or(row);
    let mut fields = table.fields.iter().zip(row.split(|&byte| byte == b','));
    fields.all(|(&index, field)| {
        let column = &table.columns[index];
        match column.kind {
            _ if field.is_empty() => !column.mandatory,
            Kind::Integer => value::integer(field).is_ok(),
            Kind::Code => value::code(field).is_ok(),
            Kind::Float => value::float(field).is_ok(),
            Kind::Boolean => value::boolean(field).is_ok(),
            Kind::Text | Kind::Struct | Kind::List => value::text(field).is_ok(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_numbers_are_written_short() {
        assert_eq!(Ranges(&[0, 1, 2, 5, 7, 8]).to_string(), "0-2, 5, 7-8");
    }
}
