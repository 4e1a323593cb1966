//! The output of `tracelake schema`, for a trace or for a lake.

use tracelake_convert::given_trace::given_trace;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::options::Format;
use tracelake_lake::manifest::Manifest;
use tracelake_lake::read_manifest;
use tracelake_location::Location;
use tracelake_schema::render::{self, LakeFile};
use tracelake_schema::{Table, Trace};

use crate::cli::{SchemaArgs, SchemaForm};
use crate::report::Stream;

/// The text that the arguments ask for.
///
/// # Errors
/// [`ErrorKind::Usage`] for a trace or a table that there isn't, and as [`read_manifest`] for a lake.
pub(crate) fn text(args: &SchemaArgs) -> Result<String> {
    let Some(root) = args.lake()? else {
        let trace = args.trace.as_deref().map(given_trace).transpose()?;
        return Ok(match trace {
            None => render::overview(width()),
            Some(trace) => {
                let table = args.table_of(&trace)?;
                match args.form {
                    SchemaForm::Duckdb => render::duckdb(&trace, table),
                    SchemaForm::Spark => render::spark(&trace, table),
                    form => of_trace(form, &trace, table),
                }
            }
        });
    };
    let manifest = read_manifest(&root)?;
    let trace = &*manifest.origin.find_trace().ok_or_else(|| {
        let reason = format!("this program doesn't know {}", manifest.origin.trace);
        Error::new(ErrorKind::Refused, reason).at(&root)
    })?;
    let table = args.table_of(trace)?;
    Ok(match args.form {
        SchemaForm::Duckdb => {
            render::duckdb_of_lake(trace, &files(&root, &manifest, trace, table)?)
        }
        SchemaForm::Spark => render::spark_of_lake(trace, &files(&root, &manifest, trace, table)?),
        form => of_trace(form, trace, table),
    })
}

/// The width of lines: of the terminal that shows them, if it is narrow.
fn width() -> usize {
    let columns = Stream::Out.columns();
    columns.map_or(render::WIDTH, |columns| columns.min(render::WIDTH))
}

/// The forms that are the same for a trace and for its lakes.
fn of_trace(form: SchemaForm, trace: &Trace, table: Option<&Table>) -> String {
    match form {
        SchemaForm::Json => render::json(trace, table),
        SchemaForm::Markdown => render::markdown(trace, table),
        SchemaForm::Checks => render::checks(trace, table),
        _ => render::text(trace, table, width()),
    }
}

/// The tables of a lake, or one of them, with the files that the manifest names.
///
/// # Errors
/// [`ErrorKind::Usage`] for a lake of Arrow files, and for a table that it lacks.
fn files<'a>(
    root: &Location,
    manifest: &Manifest,
    trace: &'a Trace,
    only: Option<&Table>,
) -> Result<Vec<(&'a Table, Vec<LakeFile>)>> {
    let usage = |reason: String| Error::new(ErrorKind::Usage, reason).at(root);
    if manifest.origin.options.format != Format::Parquet {
        return Err(
            usage("the lake has Arrow files, which SQL doesn't read".to_owned())
                .hint("read it with pyarrow or Polars, or convert it without --format arrow"),
        );
    }
    let root = match root {
        Location::Disk(path) => Location::Disk(
            std::path::absolute(path).map_err(|error| Error::io("find", path, error))?,
        ),
        url @ Location::Url(_) => url.clone(),
    };
    let mut found = Vec::new();
    for facts in &manifest.tables {
        let table = trace.table(&facts.name);
        let Some(table) = table.filter(|table| only.is_none_or(|only| only.name == table.name))
        else {
            continue;
        };
        let files = facts.parts.iter().map(|part| LakeFile {
            path: root.join(&part.output.path).to_string(),
            file_number: part.file_number,
            cell: part.cell,
        });
        found.push((&**table, files.collect()));
    }
    match only.filter(|_| found.is_empty()) {
        Some(table) => Err(usage(format!("the lake has no table {}", table.name))
            .hint("tracelake inspect lists its tables")),
        None => Ok(found),
    }
}
