//! Found × catalog × options → [`Plan`]: plain data that `--dry-run` prints and a run carries out.

mod archives;
mod cells;
mod checksums;
mod choose;
mod estimate;
mod parts;
mod recognise;
mod recognised;
mod request;
mod selection;
mod shards;
mod tables;

use std::borrow::Cow;
use std::sync::Arc;

use tracelake_core::Context;
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result, escape};
use tracelake_core::field_order::FieldOrder;
use tracelake_core::options::SourceForm;
use tracelake_core::origin::Origin;
use tracelake_core::part_key::PartKey;
use tracelake_core::settings::Settings;
use tracelake_core::words::several;
use tracelake_encode::output::OutputSettings;
use tracelake_lake::manifest::is_relative;
use tracelake_location::Location;
use tracelake_schema::{Derived, Files, TRACES, Trace};
use tracelake_source::Member;

use crate::discover::FoundSource;

use archives::fit_archives;
use checksums::{is_in_zip, listed_zips, read_checksums};
use choose::{choose, nothing_selected};
use recognised::{Recognised, check_tables};
use selection::Selection;

pub use archives::number_of_member;
pub use checksums::check_sha256;
pub use estimate::{Estimate, Packed, SourceSize};
pub use request::{ChecksumSource, PartSet, Request};
pub use selection::time_bounds;
pub(crate) use selection::unknown_key;
pub use shards::Shard;
pub use tables::{PARTS_LIMIT, PartPlan, StreamPlan, TablePlan};

/// The work to do: every input, every output, nothing left to decide.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Plan {
    /// The directory that source paths are relative to.
    pub source: Location,
    /// Its path without links.
    pub above: String,
    /// The trace.
    pub trace: Arc<Trace>,
    /// Settings that decide the outputs' bytes, such as their layout and the policy on bad rows.
    pub origin: Origin,
    /// The format of the output files, and how they are compressed.
    pub output: OutputSettings,
    /// The file numbers to convert; `None` for all.
    pub selected: Option<PartSet>,
    /// The tables to convert, in the order of the trace.
    pub tables: Vec<TablePlan>,
    /// Files that are cut into parts, or hold several tables.
    pub streams: Vec<StreamPlan>,
    /// Zip archives of parts whose digest is listed, and that digest.
    pub zips: Vec<(String, Digest)>,
    /// The tables to derive from tables of the lake.
    pub derived: Vec<Arc<Derived>>,
    /// Tables of the trace that are not there, in its order; `jobs of cell b` if only one cell lacks it.
    pub absent: Vec<String>,
    /// Warnings for people to read before the work begins.
    pub warnings: Vec<String>,
}

impl Plan {
    /// Notes for people on numbers of parts that the lake doesn't show.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        let notes = self.tables.iter().flat_map(|table| &table.notes);
        notes.map(String::as_str)
    }

    /// The order of the fields in a file of a table, with the values that its path gives to columns.
    ///
    /// # Errors
    /// [`ErrorKind::Misfit`] if it isn't a path of the table's.
    pub fn order_of<'a>(&self, table: &'a TablePlan, source: &str) -> Result<Cow<'a, FieldOrder>> {
        table.order.of_file(&format!("{}/{source}", self.above))
    }

    /// The parts of all tables, each with its table, in order.
    pub fn parts(&self) -> impl Iterator<Item = (&TablePlan, &PartPlan)> {
        let tables = self.tables.iter();
        tables.flat_map(|table| table.parts.iter().map(move |part| (table, part)))
    }

    /// The first part in a zip archive.
    #[must_use]
    pub fn first_in(&self, zip: &str) -> Option<(&TablePlan, &PartPlan)> {
        self.parts().find(|(_, part)| is_in_zip(&part.source, zip))
    }

    /// The size of all inputs; `None` if that of one isn't known.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        let parts = self.parts().map(|(_, part)| part.bytes);
        sum(parts.chain(self.streams.iter().map(|stream| stream.bytes)))
    }

    /// Whether a part is to be converted.
    #[must_use]
    pub fn selects(&self, number: u32) -> bool {
        self.selected
            .as_ref()
            .is_none_or(|parts| parts.contains(number))
    }

    /// The stream that holds the table of this name, if one does.
    #[must_use]
    pub fn stream_of(&self, table: &str) -> Option<&StreamPlan> {
        let mut streams = self.streams.iter();
        streams.find(|stream| stream.tables.iter().any(|name| name == table))
    }

    /// The tables that a stream holds or may hold, in order.
    pub fn tables_of(&self, stream: &StreamPlan) -> impl Iterator<Item = &TablePlan> {
        let tables = self.tables.iter();
        tables.filter(|table| stream.tables.contains(&table.order.table.name))
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
            let number = number_of_member(&plan.order.table, &member.path)?;
            Some((plan, number))
        })
    }

    /// A part that a stream is cut into.
    #[must_use]
    pub fn cut(&self, stream: &StreamPlan, table: &TablePlan, file_number: u32) -> PartPlan {
        PartPlan {
            source: stream.source.clone(),
            bytes: stream.bytes,
            ..self.cut_of(&table.order.table.name, file_number.into())
        }
    }

    /// A part that a file is cut into, which isn't named.
    fn cut_of(&self, table: &str, key: PartKey) -> PartPlan {
        let layout = self.origin.options.layout;
        PartPlan::new(key, table, layout, self.output.format())
    }
}

/// The sum of sizes; `None` if one isn't known.
#[must_use]
pub fn sum(sizes: impl IntoIterator<Item = Option<u64>>) -> Option<u64> {
    let mut sizes = sizes.into_iter();
    sizes.try_fold(0_u64, |sum, size| Some(sum.saturating_add(size?)))
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
///     println!("{}: {} to {}", table.order.table.name, part.source, part.output());
/// }
/// assert!(plan.bytes() > Some(0));
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
    // An error of the disk or of a server has a cause. It says nothing about the trace.
    if std::error::Error::source(&error).is_some() {
        return error;
    }
    match fitting_trace(context, request) {
        Some(name) => error.hint(format!(
            "this looks like {name}: leave --trace out, or pass --trace {name}"
        )),
        None => error,
    }
}

/// The name of the trace that a source seems to be of, if that is another data set than the one that is asked for.
#[must_use]
pub fn fitting_trace(context: &Context, request: &Request) -> Option<String> {
    // Nothing is known of the files of a description that isn't part of the program.
    let asked = request
        .trace
        .as_ref()
        .filter(|asked| asked.description.is_none())?;
    let any = Request {
        trace: None,
        tables: Vec::new(),
        ..request.clone()
    };
    let found = Recognised::read(context, &any).ok()?;
    (found.trace.family != asked.family).then(|| found.trace.name.clone())
}

fn plan_as_asked(context: &Context, request: &Request) -> Result<Plan> {
    let output = OutputSettings::of(&request.settings)?;
    let source = Recognised::read(context, request)?;
    let trace = &source.trace;
    fit_archives(&source.found, trace)?;
    check_tables(request, &source)?;
    let mut settings = settings(request, output, trace)?;
    // Lakes of JSON don't say so: they are as they were before there was another form.
    settings.source_form = source.form.filter(|form| *form == SourceForm::Parquet);
    let selection = Selection::of(request, &source)?;
    selection.note(&mut settings);
    let derived = derived(request, &selection.trace)?;
    selection.check_derived(&derived)?;
    let checksums = read_checksums(context, request, &source.found)?;
    let zips = listed_zips(request, &source, checksums.as_ref());
    let mut warnings = skipped(&source.found);
    let mut chosen = choose(context, request, &source, checksums.as_ref(), &mut warnings)?;
    if chosen.tables.is_empty() {
        return Err(nothing_selected(request, &source));
    }
    if checksums.is_some() {
        warnings.extend(chosen.unlisted(&zips));
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
        above: source.found.above,
        source: source.found.root,
        trace: selection.trace,
        output,
        selected: request.parts.clone(),
        tables: chosen.tables,
        streams: chosen.streams,
        zips,
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

/// The settings as a lake of this trace records them.
fn settings(request: &Request, output: OutputSettings, trace: &Trace) -> Result<Settings> {
    let mut settings = request.settings.clone();
    settings.row_group_rows = output.row_group_rows();
    let is_cut = trace.tables.iter().any(|table| table.files == Files::Whole);
    if !is_cut && settings.part_rows.is_some() {
        let reason = format!("no table of {} is cut into parts", trace.name);
        return Err(Error::new(ErrorKind::Usage, reason).hint("leave --part-rows out"));
    }
    settings.part_rows = is_cut.then_some(request.part_rows());
    Ok(settings)
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
    let more = (more > 0).then(|| format!("{} skipped", several(more, "more file")));
    warnings.chain(more).collect()
}

/// The derivations to make.
fn derived(request: &Request, trace: &Trace) -> Result<Vec<Arc<Derived>>> {
    let wanted = request.derive.iter().map(|rule| {
        let mut known = trace.derived.iter();
        known.find(|derived| derived.rule == *rule).ok_or_else(|| {
            let name = rule.name();
            let derives =
                |trace: &&'static Arc<Trace>| trace.derived.iter().any(|one| one.rule == *rule);
            let names: Vec<&str> = TRACES
                .iter()
                .filter(derives)
                .map(|trace| &*trace.name)
                .collect();
            let reason = format!("--derive {name} works only for {}", names.join(" and "));
            let hint = format!("leave --derive out: this is {}", trace.name);
            Error::new(ErrorKind::Usage, reason).hint(hint)
        })
    });
    wanted.map(|found| found.cloned()).collect()
}

#[cfg(test)]
mod tests;
