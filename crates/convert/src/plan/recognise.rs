//! Which table and which trace a source holds, judged by file names and by the first row.

use std::collections::BTreeSet;

use serde_json::Value;
use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::field_order::FieldOrder;
use tracelake_encode::value;
use tracelake_location::Location;
use tracelake_schema::{Files, Kind, Separator, Syntax, TRACES, Table, Trace};
use tracelake_source::{Chunk, Magic, Source};

use crate::bad_row::exported_table;
use crate::discover::schema_csv::SchemaCsv;
use crate::discover::{FoundSource, FoundTable};

use super::Request;

/// Names the tables whose directory and file names say nothing: the one that `--tables` names, or
/// the only one that the first row fits.
///
/// # Errors
/// When no table fits, or several do; the error lists them.
pub(super) fn name_tables(
    context: &Context,
    request: &Request,
    found: &mut FoundSource,
) -> Result<()> {
    let root = found.root.clone();
    for table in found.tables.iter_mut().filter(|table| table.name.is_none()) {
        if let [name] = &request.tables[..] {
            table.name = Some(name.clone());
            continue;
        }
        table.name = Some(table_of_first_row(context, request, &root, table)?.to_owned());
    }
    Ok(())
}

fn table_of_first_row(
    context: &Context,
    request: &Request,
    root: &Location,
    table: &FoundTable,
) -> Result<&'static str> {
    let failed = |reason: String| {
        Error::new(ErrorKind::Failed, reason)
            .at(&request.source)
            .hint("name the table with --tables, or put the file into a directory of its name")
    };
    let Some(row) = first_row(context, root, table)? else {
        return Err(failed(
            "the file has no row to recognise its table by".to_owned(),
        ));
    };
    if let Some(magic) = Magic::of(&row) {
        return Err(failed(format!("it looks like {}", magic.is)).hint(magic.remedy));
    }
    if let Some(table) = exported_table(&row) {
        return Err(not_published_so(table, &request.source));
    }
    let traces = match request.trace {
        Some(trace) => vec![trace],
        None => TRACES.iter().collect(),
    };
    let fits: Vec<(Fit, &str)> = traces
        .into_iter()
        .flat_map(|trace| trace.tables)
        .map(|table| (fit(table, &row, None), table.name))
        .filter(|(fit, _)| *fit >= Fit::Fields)
        .collect();
    let best = fits.iter().map(|(fit, _)| *fit).max();
    // With a description file, a built-in table that fits better doesn't matter.
    if let Some(asked) = request.trace.filter(|asked| asked.description.is_none()) {
        let all = TRACES.iter().flat_map(|trace| trace.tables);
        if all.map(|table| fit(table, &row, None)).max() > best {
            let reason = format!("its first row fits no table of {}", asked.name);
            return Err(failed(reason));
        }
    }
    let best_fits: BTreeSet<&'static str> = fits
        .iter()
        .filter(|(fit, _)| Some(*fit) == best)
        .map(|(_, name)| *name)
        .collect();
    let names: Vec<&str> = best_fits.into_iter().collect();
    match names[..] {
        [only] => Ok(only),
        [] if is_json(&row) => Err(failed(
            "no known table has the names of its first row".to_owned(),
        )),
        [] => Err(failed(format!(
            "no known table has {}",
            tracelake_core::words::several(
                count_fields(&row, Separator::Byte(b',')) as u64,
                "field"
            )
        ))),
        _ => Err(failed(format!(
            "its first row fits {}",
            names.join(" and ")
        ))),
    }
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
) -> Result<&'static Trace> {
    let fits = |trace: &&'static Trace| has_tables(trace, found) && has_archives(trace, found);
    let first = found.tables.first().and_then(|table| table.name.as_deref());
    let mut candidates: Vec<&'static Trace> = match first {
        Some(table) => TRACES.with_table(table).filter(fits).collect(),
        None => TRACES.iter().filter(fits).collect(),
    };
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
        let shape = |trace: &&'static Trace| {
            let table = trace.table(name);
            table.map(|table| (table.syntax, table.fields))
        };
        let one = candidates.first().and_then(shape);
        if !found.alone && candidates.iter().all(|trace| shape(trace) == one) {
            continue;
        }
        let Some(row) = first_row(context, &found.root, table)? else {
            continue;
        };
        let listed = schema_csv
            .map(|schema_csv| schema_csv.fields(name))
            .filter(|&fields| fields > 0);
        let fit_of = |trace: &&'static Trace| {
            let table = trace.table(name);
            table.map_or(Fit::Nothing, |table| fit(table, &row, listed))
        };
        let best = candidates.iter().map(fit_of).max().unwrap_or(Fit::Nothing);
        candidates.retain(|trace| fit_of(trace) == best);
        fits_syntax &= best > Fit::Nothing;
    }
    if families(&candidates).len() > 1 {
        // The name of the file decides where its rows don't.
        let named = |trace: &&'static Trace| {
            found
                .tables
                .iter()
                .all(|table| files_of(trace, table) == Some(table.files))
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
            let names: Vec<&str> = candidates.iter().map(|trace| trace.name).collect();
            let reason = format!("could be of {}", names.join(" or "));
            Err(Error::new(ErrorKind::Failed, reason)
                .at(found.first_path())
                .hint("name the trace with --trace"))
        }
    }
}

fn has_tables(trace: &Trace, found: &FoundSource) -> bool {
    let has = |table: &FoundTable| match files_of(trace, table) {
        Some(_) if table.files == Files::Named => has_names(trace, table),
        Some(files) => found.alone || files == table.files,
        None => false,
    };
    found.tables.iter().all(has)
}

/// Whether the files of a table that was found by their names have names of this trace's table: another trace may have
/// a table with the same name.
fn has_names(trace: &Trace, found: &FoundTable) -> bool {
    let known = found.name.as_deref().and_then(|name| trace.table(name));
    let named = known.filter(|table| table.files == Files::Named);
    named.is_some_and(|table| {
        found.parts.iter().all(|part| {
            let path = &part.file.path;
            let name = path.rsplit_once('/').map_or(&path[..], |(_, name)| name);
            !table.naming.claims(name).is_empty()
        })
    })
}

fn has_archives(trace: &Trace, found: &FoundSource) -> bool {
    found.archives.iter().all(|(_, of)| match of {
        Some(of) => of.name == trace.name,
        None => !trace.archives.is_empty(),
    })
}

/// How the trace names the files of a table that was found.
fn files_of(trace: &Trace, table: &FoundTable) -> Option<Files> {
    let known = table.name.as_deref().and_then(|name| trace.table(name));
    known.map(|known| known.files)
}

/// Whether the single file has the extension that the trace gives its table.
fn is_named_for(trace: &Trace, found: &FoundSource) -> bool {
    let fits = |table: &FoundTable| {
        let known = table.name.as_deref().and_then(|name| trace.table(name));
        let extension = known.map_or("", |known| known.syntax.extension());
        let path = table.parts.first().map_or("", |part| &part.file.path);
        let path = path.strip_suffix(".gz").unwrap_or(path);
        path.strip_suffix(extension)
            .is_some_and(|stem| stem.ends_with('.'))
    };
    found.tables.iter().all(fits)
}

fn wrong_syntax(trace: &Trace, found: &FoundSource) -> Error {
    let name = found.tables.first().and_then(|table| table.name.as_deref());
    match name.and_then(|name| trace.table(name)) {
        Some(table) => not_published_so(table, &found.first_path()),
        None => Error::new(ErrorKind::Misfit, format!("not a file of {}", trace.name))
            .at(found.first_path()),
    }
}

/// The error for a file in another syntax than the one that its table is published in.
fn not_published_so(table: &Table, file: &Location) -> Error {
    let name = table.name;
    let (published, files) = match table.syntax {
        Syntax::Json => ("JSON lines", format!("{name}-*.json.gz")),
        Syntax::QuotedCsv => ("CSV with a header", format!("{name}.csv")),
        Syntax::Csv => ("CSV without a header", "files".to_owned()),
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
fn export_as_part(found: &FoundSource) -> Option<(&'static Table, Location)> {
    found.tables.iter().find_map(|table| {
        let name = table.name.as_deref()?;
        let known: Vec<&Table> = TRACES
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
fn families(traces: &[&'static Trace]) -> Vec<&'static str> {
    let families: BTreeSet<&str> = traces.iter().map(|trace| trace.family).collect();
    families.into_iter().collect()
}

/// How well a row fits a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// It is written in another syntax.
    Nothing,
    /// It has the table's syntax.
    Syntax,
    /// It has the table's fields as well: as many, or, where they have names, the same names.
    Fields,
    /// Its values can be values of the table's columns as well.
    Values,
}

/// How well a row fits a table; `listed` is the number of fields that `schema.csv` gives the table.
fn fit(table: &'static Table, row: &[u8], listed: Option<usize>) -> Fit {
    match table.syntax {
        Syntax::Json => match serde_json::from_slice::<Value>(row) {
            Ok(Value::Object(object)) => {
                match object.keys().all(|name| table.column(name).is_some()) {
                    true => Fit::Values,
                    false => Fit::Syntax,
                }
            }
            _ if is_json(row) => Fit::Syntax,
            _ => Fit::Nothing,
        },
        Syntax::QuotedCsv => {
            let fields = table.fields.iter();
            let names: Vec<&str> = fields.map(|&index| table.columns[index].content).collect();
            match row == names.join(",").as_bytes() {
                true => Fit::Values,
                false => Fit::Nothing,
            }
        }
        Syntax::Csv if is_json(row) => Fit::Nothing,
        Syntax::Csv if table.csv.header => {
            if FieldOrder::built_in(table, "").is_header(row) {
                Fit::Values
            } else {
                Fit::Syntax
            }
        }
        Syntax::Csv => match listed {
            Some(fields) if fields == table.fields.len() => Fit::Fields,
            Some(_) => Fit::Syntax,
            None if count_fields(row, table.csv.separator) != table.fields.len() => Fit::Syntax,
            None if has_values(table, row) => Fit::Values,
            None => Fit::Fields,
        },
    }
}

fn is_json(row: &[u8]) -> bool {
    row.trim_ascii_start().starts_with(b"{")
}

fn count_fields(row: &[u8], separator: Separator) -> usize {
    separator.fields(row).count()
}

/// Whether each field of a row can be a value of its column.
fn has_values(table: &Table, row: &[u8]) -> bool {
    let ranges = table.csv.separator.fields(row);
    let mut fields = table.fields.iter().zip(ranges.map(|range| &row[range]));
    fields.all(|(&index, field)| {
        let column = &table.columns[index];
        match column.kind {
            _ if field.is_empty() => !column.mandatory,
            _ if column
                .spelling
                .nulls
                .iter()
                .any(|null| null.as_bytes() == field) =>
            {
                true
            }
            Kind::Integer if column.spelling.integral_floats => value::integral(field).is_ok(),
            Kind::Integer => value::integer(field).is_ok(),
            Kind::DateTime(zone) => value::date_time(field, zone).is_ok(),
            Kind::Code => value::code(field).is_ok(),
            Kind::Float => value::float(field).is_ok(),
            Kind::Boolean => value::boolean(field).is_ok(),
            Kind::Text | Kind::Struct | Kind::List => value::text(field).is_ok(),
        }
    })
}

/// The first row of a table's first part that has one, without its line ending.
fn first_row(context: &Context, root: &Location, table: &FoundTable) -> Result<Option<Vec<u8>>> {
    for part in &table.parts {
        let mut source = Source::open(context, root.join(&part.file.path))?;
        let mut chunk = Chunk::default();
        if !source.is_archive() && source.next_chunk(&mut chunk)? {
            let line = chunk.lines().split(|&byte| byte == b'\n').next();
            return Ok(line.map(|line| line.strip_suffix(b"\r").unwrap_or(line).to_vec()));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_fits_the_table_whose_names_it_has() {
        let table = |syntax: Syntax| {
            let mut tables = TRACES.iter().flat_map(|trace| trace.tables);
            tables.find(|table| table.syntax == syntax).unwrap()
        };
        let json = table(Syntax::Json);
        let row = |name: &str| format!("{{\"{name}\":1}}");
        let known = row(json.columns[0].name);
        let rows = [
            (&known[..], Fit::Values),
            (&row("weather"), Fit::Syntax),
            ("{\"time\":", Fit::Syntax),
            ("1,2,3", Fit::Nothing),
        ];
        for (row, expected) in rows {
            assert_eq!(fit(json, row.as_bytes(), None), expected, "{row}");
        }
        let plain = table(Syntax::Csv);
        let fields = plain.fields.len();
        assert_eq!(fit(plain, known.as_bytes(), Some(fields)), Fit::Nothing);
        assert_eq!(fit(plain, b"1,2", Some(fields)), Fit::Fields);
        assert_eq!(fit(plain, b"1,2", Some(fields + 1)), Fit::Syntax);
    }
}
