//! Found × catalog × options → [`Plan`]: plain data that `--dry-run` prints and a run carries out.

mod cells;
mod estimate;
mod parts;
mod ratios;
mod recognise;
mod request;
mod selection;
mod shards;
mod table_index;

use std::collections::BTreeSet;

use arrow_schema::SchemaRef;
use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result, escape};
use tracelake_core::field_order::FieldOrder;
use tracelake_core::origin::Origin;
use tracelake_core::part_key::PartKey;
use tracelake_core::settings::{PART_ROWS, Settings};
use tracelake_core::words::several;
use tracelake_encode::output::Encoding;
use tracelake_lake::manifest::is_relative;
use tracelake_location::Location;
use tracelake_schema::{Derived, Files, TRACES, Table, Trace};
use tracelake_source as source;
use tracelake_source::Member;

use crate::discover::checksums::Checksums;
use crate::discover::schema_csv::SchemaCsv;
use crate::discover::{self, FoundFile, FoundPart, FoundSource, FoundTable};

use parts::{part_plan, plan_table};
use selection::Selection;

pub use estimate::{Estimate, SourceSize};
pub use request::{ChecksumSource, PartSet, Request};
pub use shards::Shard;
pub use table_index::TableIndex;

/// The most parts that the names of a table's files may speak of; published tables have up to 500. A
/// name alone must not decide how much memory a plan takes.
pub const PARTS_LIMIT: u32 = 1_000_000;

/// The work to do: every input, every output, nothing left to decide.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Plan {
    /// The directory that source paths are relative to.
    pub source: Location,
    /// The trace.
    pub trace: &'static Trace,
    /// Settings that decide the outputs' bytes, such as their layout and the policy on bad rows.
    pub origin: Origin,
    /// The format of the output files, and how they are compressed.
    pub encoding: Encoding,
    /// The file numbers to convert; `None` for all.
    pub selected: Option<PartSet>,
    /// The tables to convert, in the order of the trace.
    pub tables: Vec<TablePlan>,
    /// Files that are cut into parts, or hold several tables.
    pub streams: Vec<StreamPlan>,
    /// The tables to derive from tables of the lake.
    pub derived: Vec<&'static Derived>,
    /// Tables of the trace that are not there, in its order; `jobs of cell b` if only one cell lacks it.
    pub absent: Vec<String>,
    /// Warnings for people to read before the work begins.
    pub warnings: Vec<String>,
}

/// One table to convert.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TablePlan {
    /// Its place in the trace.
    pub rank: TableIndex,
    /// Which field of its files is which column.
    pub order: FieldOrder,
    /// Its Arrow schema.
    pub schema: SchemaRef,
    /// The parts that are files, in order; those of a stream are known when it is read.
    pub parts: Vec<PartPlan>,
    /// Parts that are not there.
    pub missing: Vec<PartKey>,
}

/// One file that is cut into parts while it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamPlan {
    /// The input, relative to [`Plan::source`].
    pub source: String,
    /// The size of the input.
    pub bytes: u64,
    /// The ETag of the input in its store, if it has one.
    pub etag: Option<String>,
    /// The SHA-256 that the publisher names for it.
    pub sha256: Option<String>,
    /// The tables it holds, in order. For an archive of all tables, those it may hold.
    pub tables: Vec<TableIndex>,
    /// Lines of a table in a part, the last one of which has the rest.
    pub part_rows: u64,
}

/// One part to convert.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartPlan {
    /// Its cell and its file number.
    pub key: PartKey,
    /// The input, relative to [`Plan::source`].
    pub source: String,
    /// The input as the lake records it: relative to the directory of its cell, so that cells can be
    /// converted together or one after the other.
    pub recorded: String,
    /// The size of the input.
    pub bytes: u64,
    /// The ETag of the input in its store, if it has one.
    pub etag: Option<String>,
    /// The SHA-256 that the publisher names for it.
    pub sha256: Option<String>,
    /// The output, relative to the lake.
    pub output: String,
    /// The file of its rejects, relative to the lake.
    pub rejects: String,
}

impl Plan {
    /// The parts of all tables, each with its table, in order.
    pub fn parts(&self) -> impl Iterator<Item = (&TablePlan, &PartPlan)> {
        let tables = self.tables.iter();
        tables.flat_map(|table| table.parts.iter().map(move |part| (table, part)))
    }

    /// The size of all inputs.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let parts = self.parts().map(|(_, part)| part.bytes);
        let sizes = parts.chain(self.streams.iter().map(|stream| stream.bytes));
        sizes.fold(0, u64::saturating_add)
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
    pub fn stream_of(&self, table: TableIndex) -> Option<&StreamPlan> {
        self.streams
            .iter()
            .find(|stream| stream.tables.contains(&table))
    }

    /// The tables that a stream holds or may hold, in order.
    pub fn tables_of(&self, stream: &StreamPlan) -> impl Iterator<Item = &TablePlan> {
        let tables = self.tables.iter();
        tables.filter(|table| stream.tables.contains(&table.rank))
    }

    /// The table whose text a member of an archive is, and the number of the part if its name says it.
    #[must_use]
    pub(crate) fn table_of(
        &self,
        stream: &StreamPlan,
        member: &Member,
    ) -> Option<(&TablePlan, Option<u32>)> {
        let mut tables = self.tables_of(stream).filter(|_| member.is_file);
        tables.find_map(|plan| {
            let number = number_of_member(plan.order.table, &member.path)?;
            Some((plan, number))
        })
    }

    /// A part that a stream is cut into.
    #[must_use]
    pub fn cut(&self, stream: &StreamPlan, table: &TablePlan, file_number: u32) -> PartPlan {
        let file = FoundFile {
            path: stream.source.clone(),
            bytes: stream.bytes,
            etag: stream.etag.clone(),
        };
        let part = FoundPart {
            file,
            key: file_number.into(),
            total: None,
        };
        let place = (self.origin.options.layout, self.encoding.format());
        let recorded = &stream.source;
        part_plan(place, table.order.table, &part, recorded, None)
    }
}

/// The number of the part of a table that a member of an archive is, `None` within if the table is in one file; `None` if
/// it isn't of the table. The path of a member says nothing but its last name.
#[must_use]
pub fn number_of_member(table: &Table, path: &str) -> Option<Option<u32>> {
    let name = path.rsplit('/').next()?;
    match table.files {
        // What is compressed or packed once more isn't a text.
        Files::Named if name.ends_with(".gz") || name.ends_with(".zip") => None,
        Files::Named => match &table.naming.claims(name)[..] {
            [claim] => Some(Some(claim.number)),
            _ => None,
        },
        _ => {
            let rest = name.strip_prefix(table.name);
            let extension = rest.and_then(|rest| rest.strip_prefix('.'));
            let mut names = table.naming.patterns.iter();
            let is_text = extension == Some(table.syntax.extension())
                || names.any(|pattern| pattern.text == name);
            is_text.then_some(None)
        }
    }
}

/// The names that a table's directory can have, in a lake of this trace or of any built-in one.
#[must_use]
pub fn table_names(trace: Option<&'static Trace>) -> BTreeSet<&'static str> {
    let tables = trace.into_iter().flat_map(Trace::all_tables);
    let own = tables.map(|table| table.name);
    TRACES.table_names().chain(own).collect()
}

/// Decides what to do. Nothing is written.
///
/// ```
/// use std::path::Path;
///
/// use tracelake_convert::plan::{Request, plan};
/// use tracelake_core::Context;
///
/// # let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/sample");
/// let plan = plan(&Context::new(), &Request::new(Path::new(sample)))?;
/// for (table, part) in plan.parts() {
///     println!("{}: {} to {}", table.order.table.name, part.source, part.output);
/// }
/// assert!(plan.bytes() > 0);
/// # Ok::<(), tracelake_core::Error>(())
/// ```
///
/// # Errors
/// When the source is not a trace, is not whole (unless that is allowed), or is not what was
/// asked for; nothing is written.
pub fn plan(context: &Context, request: &Request) -> Result<Plan> {
    let request = &Request {
        source: request.source.within(context),
        ..request.clone()
    };
    plan_as_asked(context, request).map_err(|error| hint_fitting_trace(context, error, request))
}

/// Says which trace fits the source if another one was asked for.
fn hint_fitting_trace(context: &Context, error: Error, request: &Request) -> Error {
    let Some(asked) = request.trace else {
        return error;
    };
    // An error of the disk or of a server has a cause. It says nothing about the trace.
    if std::error::Error::source(&error).is_some() {
        return error;
    }
    let any = Request {
        trace: None,
        tables: Vec::new(),
        ..request.clone()
    };
    match Recognised::read(context, &any) {
        Ok(Recognised { trace, .. }) if trace.family != asked.family => error.hint(format!(
            "this looks like {}: leave --trace out, or pass --trace {0}",
            trace.name
        )),
        _ => error,
    }
}

fn plan_as_asked(context: &Context, request: &Request) -> Result<Plan> {
    let encoding = Encoding::of(&request.settings)?;
    let source = Recognised::read(context, request)?;
    let trace = source.trace;
    fit_archives(&source.found, trace)?;
    check_tables(request, &source)?;
    let mut settings = settings(request, encoding, trace)?;
    let selection = Selection::of(request, &source)?;
    selection.note(&mut settings);
    let derived = derived(request, selection.trace)?;
    selection.check_derived(&derived)?;
    let checksums = read_checksums(context, request, &source.found)?;
    let mut warnings = skipped(&source.found);
    let mut chosen = choose(request, &source, checksums.as_ref(), &mut warnings)?;
    if chosen.tables.is_empty() {
        return Err(nothing_selected(request, &source));
    }
    if checksums.is_some() {
        warnings.extend(chosen.unlisted());
    }
    for table in &mut chosen.tables {
        selection.apply(table)?;
    }
    tracing::debug!(
        trace = trace.name,
        tables = chosen.tables.len(),
        absent = chosen.absent.len(),
        schema_csv = source.schema_csv.is_some(),
        checksums = checksums.is_some(),
        "planned"
    );
    let plan = Plan {
        origin: Origin {
            synthetic: source.found.synthetic,
            ..Origin::of(trace, settings)
        },
        source: source.found.root,
        trace: selection.trace,
        encoding,
        selected: request.parts.clone(),
        tables: chosen.tables,
        streams: chosen.streams,
        derived,
        absent: chosen.absent,
        warnings,
    };
    check_names(&plan)?;
    Ok(plan)
}

/// Refuses a source file whose name can't be in a manifest.
fn check_names(plan: &Plan) -> Result<()> {
    let parts = plan.parts().map(|(_, part)| &part.source);
    let mut names = parts.chain(plan.streams.iter().map(|stream| &stream.source));
    match names.find(|name| !is_relative(name)) {
        None => Ok(()),
        Some(name) => Err(
            Error::new(ErrorKind::Misfit, "has a control character in its name")
                .at(plan.source.join(name))
                .hint("rename it"),
        ),
    }
}

/// A source whose trace is known.
struct Recognised {
    found: FoundSource,
    schema_csv: Option<SchemaCsv>,
    trace: &'static Trace,
}

impl Recognised {
    fn read(context: &Context, request: &Request) -> Result<Self> {
        let mut found = discover::discover(&request.source, request.trace)?;
        let schema_csv = match found.schema_csv {
            true => Some(SchemaCsv::read(&found.root.join(discover::SCHEMA_CSV))?),
            false => None,
        };
        recognise::name_tables(context, request, &mut found)?;
        let trace = match request.trace {
            Some(trace) => trace,
            None => recognise::recognise(context, &found, schema_csv.as_ref())?,
        };
        if let Some(schema_csv) = &schema_csv {
            schema_csv.check(trace)?;
        }
        if found.alone {
            // Its name need not be the publisher's.
            for table in &mut found.tables {
                let known = table.name.as_deref().and_then(|name| trace.table(name));
                table.files = known.map_or(table.files, |known| known.files);
            }
        }
        cells::give_cells(request, &mut found, trace)?;
        Ok(Self {
            found,
            schema_csv,
            trace,
        })
    }

    /// The files found for a table.
    fn of(&self, table: &Table) -> Option<&FoundTable> {
        let mut tables = self.found.tables.iter();
        tables.find(|found| found.name.as_deref() == Some(table.name) && found.files == table.files)
    }
}

/// Refuses tables that the trace or the source doesn't have.
fn check_tables(request: &Request, source: &Recognised) -> Result<()> {
    let Recognised { found, trace, .. } = source;
    for name in &request.tables {
        if trace.table(name).is_none() {
            return Err(unknown_table(name, trace));
        }
        let mut tables = found.tables.iter();
        let is_found = tables.any(|table| table.name.as_ref() == Some(name));
        if !is_found && found.archives.is_empty() {
            let reason = format!("there is no part of table {name}");
            return Err(Error::new(ErrorKind::Failed, reason)
                .at(&request.source)
                .hint("leave it out of --tables, or download it"));
        }
    }
    Ok(())
}

/// The settings as a lake of this trace records them.
fn settings(request: &Request, encoding: Encoding, trace: &Trace) -> Result<Settings> {
    let mut settings = request.settings.clone();
    settings.row_group_rows = encoding.row_group_rows();
    let is_cut = trace.tables.iter().any(|table| table.files == Files::Whole);
    if !is_cut && settings.part_rows.is_some() {
        let reason = format!("no table of {} is cut into parts", trace.name);
        return Err(Error::new(ErrorKind::Usage, reason).hint("leave --part-rows out"));
    }
    settings.part_rows = is_cut.then_some(part_rows(request));
    Ok(settings)
}

fn part_rows(request: &Request) -> u64 {
    request.settings.part_rows.unwrap_or(PART_ROWS)
}

/// How many skipped files are named one by one.
const NAMED: usize = 20;

/// A warning for each file that is skipped; of very many, for the first ones.
fn skipped(found: &FoundSource) -> Vec<String> {
    let named = found.skipped.iter().take(NAMED);
    let warnings = named.map(|skipped| {
        let path = escape(skipped.path.as_bytes(), 200);
        format!("{path} is skipped: {}", skipped.why)
    });
    let more = found.skipped.len().saturating_sub(NAMED) as u64;
    let more = (more > 0).then(|| format!("{} more skipped", several(more, "file")));
    warnings.chain(more).collect()
}

/// The selected parts of a source.
#[derive(Default)]
struct Chosen {
    tables: Vec<TablePlan>,
    streams: Vec<StreamPlan>,
    absent: Vec<String>,
}

/// Chooses the tables and parts that are wanted and found.
fn choose(
    request: &Request,
    source: &Recognised,
    checksums: Option<&Checksums>,
    warnings: &mut Vec<String>,
) -> Result<Chosen> {
    let Recognised {
        found,
        schema_csv,
        trace,
    } = source;
    let mut chosen = Chosen::default();
    let mut archived: Vec<Vec<TableIndex>> = vec![Vec::new(); found.archives.len()];
    for (rank, table) in TableIndex::published(trace) {
        let is_wanted =
            request.tables.is_empty() || request.tables.iter().any(|name| name == table.name);
        if !is_wanted {
            continue;
        }
        match source.of(table) {
            Some(here) if here.files == Files::Whole => {
                let file = the_only(found, here)?;
                chosen
                    .streams
                    .push(stream(request, trace, file, vec![rank], checksums));
                let order = FieldOrder::built_in(table, trace.name);
                chosen.tables.push(TablePlan::whole(rank, order));
            }
            Some(here) => {
                let order = match schema_csv {
                    Some(schema_csv) => schema_csv.order(table)?,
                    None => FieldOrder::built_in(table, trace.name),
                };
                chosen.absent.extend(cells::lacking(found, here));
                let planned = plan_table(request, (found, trace), here, rank, order, checksums)?;
                if planned.parts.is_empty() {
                    warnings.push(format!(
                        "{} has none of the selected parts; it has {}",
                        table.name,
                        here.numbers()
                    ));
                } else {
                    chosen.tables.push(planned);
                }
            }
            None => {
                let mut archives = found.archives.iter().zip(&mut archived);
                let holding = archives.find(|((file, _), _)| may_hold(trace, file, table));
                let Some((_, tables)) = holding else {
                    chosen.absent.push(table.name.to_owned());
                    continue;
                };
                tables.push(rank);
                let order = FieldOrder::built_in(table, trace.name);
                chosen.tables.push(TablePlan::whole(rank, order));
            }
        }
    }
    let accept = request.settings.accept.unwrap_or_default();
    for table in &mut chosen.tables {
        table.order.accept = accept;
    }
    for ((file, _), tables) in found.archives.iter().zip(archived) {
        // Nothing is wanted of an archive whose tables aren't selected.
        if !tables.is_empty() {
            chosen
                .streams
                .push(stream(request, trace, file, tables, checksums));
        }
    }
    Ok(chosen)
}

impl Chosen {
    /// A warning when the checksums don't list all files.
    fn unlisted(&self) -> Option<String> {
        let parts = self.tables.iter().flat_map(|table| &table.parts);
        let digests = parts.map(|part| &part.sha256);
        let digests = digests.chain(self.streams.iter().map(|stream| &stream.sha256));
        let unlisted = digests.filter(|digest| digest.is_none()).count() as u64;
        (unlisted > 0).then(|| {
            format!(
                "{} not listed in the checksums, so not checked",
                several(unlisted, "file")
            )
        })
    }
}

fn nothing_selected(request: &Request, source: &Recognised) -> Error {
    let is_wanted =
        |name: &str| request.tables.is_empty() || request.tables.iter().any(|n| n == name);
    let tables = source.found.tables.iter().filter_map(|table| {
        let name = table.name.as_deref().filter(|name| is_wanted(name))?;
        Some(format!("{name} has {}", table.numbers()))
    });
    let tables: Vec<String> = tables.collect();
    Error::new(ErrorKind::Failed, "no part is selected")
        .at(&request.source)
        .hint(format!("change --parts: {}", tables.join("; ")))
}

/// The derivations to make.
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

/// An archive belongs to the trace, and no table may be beside it a second time.
fn fit_archives(found: &FoundSource, trace: &'static Trace) -> Result<()> {
    let Some((first, _)) = found.archives.first() else {
        return Ok(());
    };
    let wrong = |archive: &FoundFile, reason: String, hint: &str| {
        Err(Error::new(ErrorKind::Failed, reason)
            .at(found.root.join(&archive.path))
            .hint(hint))
    };
    if !trace.tables.iter().any(is_archived) {
        return wrong(
            first,
            format!("{} is not published in archives", trace.name),
            "unpack it, or name the trace with --trace",
        );
    }
    for table in trace.tables {
        let archives = found.archives.iter().map(|(file, _)| file);
        let mut holding = archives.filter(|file| may_hold(trace, file, table));
        let Some(archive) = holding.next() else {
            continue;
        };
        if let Some(other) = holding.next() {
            return wrong(
                archive,
                format!("may hold the same tables as {}", other.path),
                "move one of them away",
            );
        }
        let mut tables = found.tables.iter();
        let beside = tables.find(|found| found.name.as_deref() == Some(table.name));
        if let Some(part) = beside.and_then(|found| found.parts.first()) {
            return wrong(
                archive,
                format!("may hold the table of {} too", part.file.path),
                "move one of them away",
            );
        }
    }
    Ok(())
}

/// Whether archives can hold a table: one whose texts are known by their names alone.
fn is_archived(table: &Table) -> bool {
    matches!(table.files, Files::Whole | Files::Named)
}

/// Whether an archive may hold a table: the one that its name says, or any.
fn may_hold(trace: &'static Trace, archive: &FoundFile, table: &Table) -> bool {
    let name = archive.path.rsplit('/').next().unwrap_or(&archive.path);
    let known = discover::archive_of(trace, name).and_then(|known| known.table);
    is_archived(table) && known.is_none_or(|known| known == table.name)
}

/// The file of a table that is published in one.
fn the_only<'a>(found: &FoundSource, here: &'a FoundTable) -> Result<&'a FoundFile> {
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
    trace: &'static Trace,
    file: &FoundFile,
    tables: Vec<TableIndex>,
    checksums: Option<&Checksums>,
) -> StreamPlan {
    let listed = checksums.and_then(|sums| sums.of("", &file.path));
    let listed = listed.or_else(|| described_sha256(request, trace, &file.path));
    StreamPlan {
        source: file.path.clone(),
        bytes: file.bytes,
        etag: file.etag.clone(),
        sha256: listed.map(str::to_owned),
        tables,
        part_rows: part_rows(request),
    }
}

/// The SHA-256 that the description of the trace gives for a file, unless digests aren't wanted.
fn described_sha256(request: &Request, trace: &'static Trace, path: &str) -> Option<&'static str> {
    let is_wanted = !matches!(request.checksums, ChecksumSource::None);
    let known = || discover::described_sha256(trace, path);
    is_wanted.then(known).flatten()
}

impl TablePlan {
    /// A table whose parts are known when its file is read.
    fn whole(rank: TableIndex, order: FieldOrder) -> Self {
        Self {
            rank,
            schema: tracelake_schema::arrow::arrow_schema(order.table),
            order,
            parts: Vec::new(),
            missing: Vec::new(),
        }
    }
}

/// Reads the checksums that apply, and compares `schema.csv` with them, since it decides the columns.
fn read_checksums(
    context: &Context,
    request: &Request,
    found: &FoundSource,
) -> Result<Option<Checksums>> {
    let checksums = match &request.checksums {
        ChecksumSource::None => return Ok(None),
        ChecksumSource::Auto if found.checksums.is_empty() => return Ok(None),
        ChecksumSource::Auto => {
            let mut checksums = Checksums::default();
            for path in &found.checksums {
                let directory = path.strip_suffix(discover::CHECKSUMS);
                let directory = directory.expect("checksums are found by their name");
                checksums.add(directory, &found.root.join(path))?;
            }
            checksums
        }
        ChecksumSource::File(path) => Checksums::read(path)?,
    };
    if let Some(expected) = checksums
        .of("", discover::SCHEMA_CSV)
        .filter(|_| found.schema_csv)
    {
        let schema_csv = found.root.join(discover::SCHEMA_CSV);
        check_sha256(
            &schema_csv,
            expected,
            &source::fingerprint(context, &schema_csv)?.sha256,
        )?;
    }
    Ok(Some(checksums))
}

/// Compares the digest of a source file with the one that its publisher names.
///
/// # Errors
/// [`ErrorKind::Corrupt`] when they differ.
pub fn check_sha256(path: &Location, expected: &str, found: &str) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Corrupt,
        format!("has SHA-256 {found}, but the checksums say {expected}"),
    )
    .at(path)
    .hint("download it again, or pass --checksums none to skip this check"))
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
