//! Which table and which trace a source holds, judged by names and by the first rows.

use std::collections::BTreeSet;
use std::sync::Arc;

use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result, escape};
use tracelake_core::options::did_you_mean;
use tracelake_core::words::{first_few, several};
use tracelake_location::{Location, RandomAccess};
use tracelake_schema::{Files, Separator, Syntax, TRACES, Table, Trace, uncompressed};
use tracelake_source::Magic;

use crate::bad_row::ARRAY;
use crate::discover::schema_csv::SchemaCsv;
use crate::discover::{FoundPart, FoundSource, FoundTable, archive_of, draft_it};
use crate::fit::{Fit, Head, Level, exported_table, fit};
use crate::lake_file::{Writer, read_footer, source_damaged};

use super::Request;

/// Names the tables whose directory and file names say nothing: the one that `--tables` names, or the one that the first
/// rows fit.
///
/// # Errors
/// [`ErrorKind::Usage`] when only the number of fields fits, or several tables do: then the user has to name the trace.
/// [`ErrorKind::Failed`] when no table fits.
pub(super) fn name_tables(
    context: &Context,
    request: &Request,
    found: &mut FoundSource,
) -> Result<()> {
    let root = found.root.clone();
    for table in found.tables.iter_mut().filter(|table| table.name.is_none()) {
        table.name = Some(match &request.tables[..] {
            [name] if request.trace.is_none() && TRACES.with_table(name).next().is_none() => {
                return Err(unknown_table(name));
            }
            [name] => name.clone(),
            _ => table_of_rows(context, request, &root, table)?,
        });
    }
    Ok(())
}

fn table_of_rows(
    context: &Context,
    request: &Request,
    root: &Location,
    found: &FoundTable,
) -> Result<String> {
    if found.is_parquet {
        return table_of_columns(request, root, found);
    }
    let Some((file, head)) = head_of(context, root, found)? else {
        let reason = "the file has no row to recognise its table by";
        return Err(Error::new(ErrorKind::Failed, reason)
            .at(&request.source)
            .hint("name the table with --tables, or put the file into a directory of its name"));
    };
    if let Some(magic) = Magic::of(head.first()) {
        let reason = format!("it looks like {}", magic.is);
        return Err(Error::new(ErrorKind::Failed, reason)
            .at(&request.source)
            .hint(magic.remedy));
    }
    // Every description is looked at from here on.
    TRACES.parse(context.threads());
    if let Some(table) = exported_table(head.first()) {
        return Err(not_published_so(table, &request.source));
    }
    let traces: Vec<&Arc<Trace>> = match &request.trace {
        Some(trace) => vec![trace],
        None => TRACES.iter().collect(),
    };
    let candidates = Candidates::of(traces, &head);
    match &request.trace {
        None => {
            let name = candidates.sure().map(str::to_owned);
            name.ok_or_else(|| candidates.ask(None, &file, &head))
        }
        Some(asked) => {
            let is_built_in = asked.description.is_none();
            let others = if is_built_in {
                TRACES.iter().collect()
            } else {
                Vec::new()
            };
            candidates.only_of(asked, &Candidates::of(others, &head), &file, &head)
        }
    }
}

/// The table that has the columns of a Parquet file, and no others.
fn table_of_columns(request: &Request, root: &Location, found: &FoundTable) -> Result<String> {
    let file = found.parts.first().map(|part| root.join(&part.file.path));
    let file = file.unwrap_or_else(|| request.source.clone());
    let opened = read_footer(RandomAccess::open(&file)?, Writer::Any);
    let (_, footer) = opened.map_err(|error| source_damaged(&file, error))?;
    let schema = footer.metadata().file_metadata().schema_descr();
    let columns = schema.root_schema().get_fields().iter();
    let columns: BTreeSet<&str> = columns.map(|field| field.name()).collect();
    let has_columns = |table: &&Arc<Table>| {
        let fields = table
            .fields
            .iter()
            .map(|&index| &*table.columns[index].content);
        table.is_published_as_parquet() && fields.collect::<BTreeSet<_>>() == columns
    };
    let traces: Vec<&Arc<Trace>> = match &request.trace {
        Some(trace) => vec![trace],
        None => TRACES.iter().collect(),
    };
    let tables = traces.into_iter().flat_map(|trace| &trace.tables);
    let names: BTreeSet<&str> = tables
        .filter(has_columns)
        .map(|table| &*table.name)
        .collect();
    let mut names = names.into_iter();
    match (names.next(), names.next()) {
        (Some(name), None) => Ok(name.to_owned()),
        _ => {
            let columns: Vec<&str> = columns.into_iter().collect();
            let shown = first_few(&columns, |name| escape(name.as_bytes(), 80));
            let reason =
                format!("it looks like Parquet, and no known table has its columns: {shown}");
            let hint = draft_it(&file);
            Err(Error::new(ErrorKind::Failed, reason).at(file).hint(hint))
        }
    }
}

/// The tables that a file may be of, by its number of fields at least, the best one first.
struct Candidates<'a>(Vec<Candidate<'a>>);

struct Candidate<'a> {
    trace: &'a Trace,
    table: &'a Table,
    fit: Fit,
}

impl Candidate<'_> {
    fn name(&self) -> String {
        format!("{} of {}", self.table.name, self.trace.name)
    }
}

impl<'a> Candidates<'a> {
    fn of(traces: Vec<&'a Arc<Trace>>, head: &Head) -> Self {
        let tables = traces
            .into_iter()
            .flat_map(|trace| trace.tables.iter().map(move |table| (trace, table)));
        let fits = tables.map(|(trace, table)| Candidate {
            trace,
            table,
            fit: fit(table, head, None),
        });
        let mut candidates: Vec<_> = fits.filter(|one| one.fit.level >= Level::Fields).collect();
        candidates.sort_by_key(|one| std::cmp::Reverse(one.fit.rank()));
        Self(candidates)
    }

    /// The best one, and all that fit about as well, as tables of several versions do.
    fn best(&self) -> &[Candidate<'a>] {
        let Some(best) = self.0.first() else {
            return &[];
        };
        let worse = self
            .0
            .iter()
            .position(|other| best.fit.is_better_than(&other.fit));
        &self.0[..worse.unwrap_or(self.0.len())]
    }

    /// The table that the file is of without a doubt: it may be one of several traces.
    fn sure(&self) -> Option<&'a str> {
        let best = self.best();
        let name = &best.first()?.table.name;
        let is_sure = best.iter().all(|one| one.table.name == *name) && best[0].fit.is_enough();
        is_sure.then_some(name)
    }

    /// The table of a file whose trace was named: values needn't prove it, unless they prove that it's another one.
    fn only_of(
        &self,
        asked: &Arc<Trace>,
        all: &Self,
        file: &Location,
        head: &Head,
    ) -> Result<String> {
        let fits_other = || {
            let other = all.best().first().filter(|_| all.sure().is_some());
            other.filter(|other| {
                self.0
                    .first()
                    .is_none_or(|own| own.fit.rank() < other.fit.rank())
            })
        };
        if let Some(other) = fits_other() {
            let reason = format!(
                "its first rows fit no table of {}, and {}",
                asked.name,
                other.name()
            );
            return Err(Error::new(ErrorKind::Failed, reason)
                .at(file)
                .hint(format!("pass --trace {}", other.trace.name)));
        }
        let names: BTreeSet<&str> = self.best().iter().map(|one| &*one.table.name).collect();
        match (self.0.first(), names.len()) {
            (Some(best), 1) => Ok(best.table.name.clone()),
            _ => Err(self.ask(Some(asked), file, head)),
        }
    }

    /// The error for a file that could be of a table, or of none.
    fn ask(&self, asked: Option<&Arc<Trace>>, file: &Location, head: &Head) -> Error {
        let Some(first) = self.0.first() else {
            return none_fits(asked, file, head);
        };
        let best = named(self.best());
        let rows = match head.lines() {
            1 => "its only row fits".to_owned(),
            lines => format!("its first {} fit", several(lines as u64, "row")),
        };
        let reason = match &first.fit.misfit {
            Some(misfit) if head.is_json() => {
                format!(
                    "it has the names of {}, and others: {misfit}",
                    named(&self.0)
                )
            }
            Some(misfit) => format!(
                "it has {}, like {}, and not such values: {misfit}",
                several(first.table.width() as u64, "field"),
                named(&self.0),
            ),
            None if first.fit.is_enough() => format!("{rows} {best}"),
            None => format!("{rows} {best}, which is too little to tell"),
        };
        let trace = first.trace;
        let of_trace = self.0.iter().filter(|one| one.trace == trace);
        let tables: BTreeSet<&str> = of_trace.map(|one| &*one.table.name).collect();
        let table = match tables.len() {
            1 => String::new(),
            _ => format!(" --tables {}", first.table.name),
        };
        Error::new(ErrorKind::Usage, reason).at(file).hint(format!(
            "if it is {}, pass --trace {}{table}; if it is of another trace, {}",
            first.name(),
            trace.name,
            draft_it(file)
        ))
    }
}

/// The names of tables, each with its trace, the best one first; of many, the first ones. Of versions of one data set,
/// whose tables have the same fields, the first one is named.
fn named(candidates: &[Candidate]) -> String {
    const NAMED: usize = 3;
    let mut seen = BTreeSet::new();
    let tables = candidates.iter();
    let tables = tables.filter(|one| seen.insert((&*one.table.name, &one.trace.family)));
    let names: Vec<String> = tables.map(Candidate::name).collect();
    match names.len().saturating_sub(NAMED) as u64 {
        0 => names.join(" and "),
        more => format!(
            "{} and {}",
            names[..NAMED].join(", "),
            several(more, "other table")
        ),
    }
}

/// The error for a table that no known trace has.
fn unknown_table(name: &str) -> Error {
    let reason = format!(
        "no known trace has a table '{}'",
        escape(name.as_bytes(), 80)
    );
    let meant = did_you_mean(name, TRACES.table_names());
    Error::new(ErrorKind::Usage, reason).hint(format!(
        "{meant}tracelake schema lists the traces and their tables"
    ))
}

/// The error for a file that has the fields of no table: of the trace that was named, or else of no known one.
fn none_fits(asked: Option<&Arc<Trace>>, file: &Location, head: &Head) -> Error {
    let none = asked.map_or_else(
        || "no known table".to_owned(),
        |trace| format!("no table of {}", trace.name),
    );
    if head.is_json_array() {
        let hint = format!("this looks like {ARRAY}");
        return Error::new(ErrorKind::Failed, format!("{none} begins so"))
            .at(file)
            .hint(hint);
    }
    let count = |separator: u8| Separator::Byte(separator).fields(head.first()).count() as u64;
    let other = [b';', b'\t', b'|']
        .into_iter()
        .find(|&other| count(b',') == 1 && count(other) > 1);
    let reason = match other {
        _ if head.is_json() => format!("{none} has the names of its first row"),
        Some(other) => format!(
            "{none} has {} separated by '{}'",
            several(count(other), "field"),
            escape(&[other], 1)
        ),
        None => format!("{none} has {}", several(count(b','), "field")),
    };
    let hint = match asked {
        None => format!("{}; or name its trace with --trace", draft_it(file)),
        Some(_) => {
            "if it is damaged, name its table with --tables; if it is of another trace, leave --trace out"
                .to_owned()
        }
    };
    Error::new(ErrorKind::Failed, reason).at(file).hint(hint)
}

/// Finds the trace that has all tables found, and whose tables fit the first rows best.
///
/// Of several versions of one data set that fit equally well, this takes the first of the catalog.
///
/// # Errors
/// When no trace has these tables, or several data sets do; the error lists them.
pub(super) fn recognise(
    context: &Context,
    found: &FoundSource,
    schema_csv: Option<&SchemaCsv>,
) -> Result<&'static Arc<Trace>> {
    let fits = |trace: &&'static Arc<Trace>| has_tables(trace, found) && has_archives(trace, found);
    let first = found.tables.first().and_then(|table| table.name.as_deref());
    let mut candidates: Vec<&'static Arc<Trace>> = match first {
        Some(table) => TRACES.with_table(table).filter(fits).collect(),
        None => TRACES.iter().filter(fits).collect(),
    };
    let paths = found.tables.iter().flat_map(|table| &table.parts);
    for path in paths.map(|part| &*part.file.path) {
        // Tables of two traces may have one name, and an archive is published by one of them.
        let name = path.rsplit('/').next().unwrap_or(path);
        let publishes = |trace: &&'static Arc<Trace>| archive_of(trace, name).is_some();
        if candidates.iter().any(&publishes) {
            candidates.retain(&publishes);
        }
    }
    if candidates.is_empty() {
        if let Some((table, file)) = export_as_part(found) {
            return Err(not_published_so(table, &file));
        }
        return Err(Error::new(
            ErrorKind::Failed,
            "no one trace has all the tables found here",
        )
        .at(&found.root)
        .hint("name the trace with --trace; tracelake schema lists them"));
    }
    let mut fits_syntax = true;
    for table in &found.tables {
        let Some(name) = table.name.as_deref() else {
            continue;
        };
        let shape = |trace: &&'static Arc<Trace>| {
            let table = trace.table(name);
            table.map(|table| (table.syntax, &table.fields))
        };
        let one = candidates.first().and_then(shape);
        if !found.alone && candidates.iter().all(|trace| shape(trace) == one) {
            continue;
        }
        // The columns of a Parquet file are checked by their names and types when it is opened.
        let head = match table.is_parquet {
            true => None,
            false => head_of(context, &found.root, table)?,
        };
        let Some((_, head)) = head else { continue };
        let listed = schema_csv
            .map(|schema_csv| schema_csv.fields(name))
            .filter(|&fields| fields > 0);
        let weighed = candidates
            .iter()
            .filter_map(|&trace| Some((trace, fit(trace.table(name)?, &head, listed))));
        let weighed: Vec<(&'static Arc<Trace>, Fit)> = weighed.collect();
        let best = weighed.iter().map(|(_, fit)| fit);
        let Some(best) = best.max_by_key(|fit| fit.rank()) else {
            continue;
        };
        let kept = weighed.iter().filter(|(_, fit)| !best.is_better_than(fit));
        candidates = kept.map(|&(trace, _)| trace).collect();
        fits_syntax &= best.level > Level::Nothing;
    }
    if families(&candidates).len() > 1 {
        // The name of the file decides where its rows don't.
        let named = |trace: &&'static Arc<Trace>| {
            found.tables.iter().all(|table| {
                let known = table.in_trace(trace);
                known.is_some_and(|known| known.files == table.files)
            })
        };
        if candidates.iter().any(&named) {
            candidates.retain(|trace| named(trace));
        }
    }
    match families(&candidates)[..] {
        [_] if fits_syntax || !found.alone || is_named_for(candidates[0], found) => {
            Ok(candidates[0])
        }
        [_] => Err(wrong_syntax(candidates[0], found)),
        _ => {
            let names: Vec<&str> = candidates.iter().map(|trace| &*trace.name).collect();
            let names = names.join(" or ");
            let reason = match found.tables.is_empty() {
                true => "its name is not that of a known archive".to_owned(),
                false => format!("could be of {names}"),
            };
            Err(Error::new(ErrorKind::Usage, reason)
                .at(found.first_path())
                .hint(format!("name the trace with --trace: {names}")))
        }
    }
}

fn has_tables(trace: &Trace, found: &FoundSource) -> bool {
    let has = |table: &FoundTable| {
        let Some(known) = table.in_trace(trace) else {
            return false;
        };
        let is_named = |part: &FoundPart| {
            let path = found.whole(&part.file.path);
            !known.naming.claims(&path).is_empty()
        };
        let fits = match table.files {
            // Another trace may have a table with the same name.
            Files::Named => known.files == Files::Named && table.parts.iter().all(is_named),
            files => found.alone || known.files == files,
        };
        fits && (!table.is_parquet || known.is_published_as_parquet())
    };
    found.tables.iter().all(has)
}

fn has_archives(trace: &Trace, found: &FoundSource) -> bool {
    found.archives.iter().all(|(_, of)| match of {
        Some(of) => of.name == trace.name,
        None => !trace.archives.is_empty(),
    })
}

/// Whether the single file has the extension that the trace gives its table.
fn is_named_for(trace: &Trace, found: &FoundSource) -> bool {
    let fits = |table: &FoundTable| {
        let known = table.in_trace(trace);
        let extension = known.map_or("", |known| known.syntax.extension());
        let path = table.parts.first().map_or("", |part| &part.file.path);
        uncompressed(path)
            .strip_suffix(extension)
            .is_some_and(|stem| stem.ends_with('.'))
    };
    found.tables.iter().all(fits)
}

fn wrong_syntax(trace: &Trace, found: &FoundSource) -> Error {
    let first = found.tables.first();
    match first.and_then(|table| table.in_trace(trace)) {
        Some(table) => not_published_so(table, &found.first_path()),
        None => Error::new(ErrorKind::Misfit, format!("not a file of {}", trace.name))
            .at(found.first_path()),
    }
}

/// The error for a file in another syntax than the one that its table is published in.
fn not_published_so(table: &Table, file: &Location) -> Error {
    let name = &table.name;
    let (published, files) = match table.syntax {
        Syntax::Json => ("JSON lines", format!("{name}-*.json.gz")),
        Syntax::QuotedCsv => ("CSV with a header", format!("{name}.csv")),
        Syntax::Csv => ("CSV without a header", "files".to_owned()),
        Syntax::Parquet => ("Parquet", "files".to_owned()),
    };
    let reason = format!("{name} is published as {published}, and this file is not that");
    Error::new(ErrorKind::Misfit, reason)
        .at(file)
        .line(1, None)
        .hint(format!(
            "convert the published {files}; an export in another format can't be read"
        ))
}

/// A table that is published as JSON lines alone, and the file in its directory that is named like a part of
/// a table in CSV.
fn export_as_part(found: &FoundSource) -> Option<(&'static Arc<Table>, Location)> {
    found.tables.iter().find_map(|table| {
        let name = table.name.as_deref()?;
        let known: Vec<&Arc<Table>> = TRACES
            .with_table(name)
            .filter_map(|trace| trace.table(name))
            .collect();
        let is_export =
            table.files == Files::Parts && known.iter().all(|table| table.syntax == Syntax::Json);
        let part = table.parts.first().filter(|_| is_export)?;
        Some((*known.first()?, found.root.join(&part.file.path)))
    })
}

/// The data sets that traces are versions of.
fn families(traces: &[&'static Arc<Trace>]) -> Vec<&'static str> {
    let families: BTreeSet<&str> = traces.iter().map(|trace| &*trace.family).collect();
    families.into_iter().collect()
}

/// The first file of a table that has a row, and its first rows.
fn head_of(
    context: &Context,
    root: &Location,
    table: &FoundTable,
) -> Result<Option<(Location, Head)>> {
    for part in &table.parts {
        let file = root.join(&part.file.path);
        if let Some(head) = Head::read(context, file.clone())? {
            return Ok(Some((file, head)));
        }
    }
    Ok(None)
}
