//! A source whose trace is known, and whether it has what was asked for.

use std::sync::Arc;

use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::options::{SourceForm, unknown_table};
use tracelake_schema::{Files, Table, Trace};

use super::{Request, cells, recognise};
use crate::discover::schema_csv::SchemaCsv;
use crate::discover::{self, FoundSource, FoundTable};

/// A source whose trace is known.
pub(super) struct Recognised {
    pub(super) found: FoundSource,
    pub(super) schema_csv: Option<SchemaCsv>,
    /// The form of the tables that are published in two.
    pub(super) form: Option<SourceForm>,
    pub(super) trace: Arc<Trace>,
}

impl Recognised {
    pub(super) fn read(context: &Context, request: &Request) -> Result<Self> {
        let mut found = discover::discover(&request.source, request.trace.as_ref())?;
        // Other traces have files of this name, which mean something else.
        let mut here = found.tables.iter();
        let is_ours = match &request.trace {
            Some(trace) => trace.in_parts(),
            None => here.any(|table| table.files == Files::Parts),
        };
        found.schema_csv &= is_ours;
        let schema_csv = match found.schema_csv {
            true => Some(SchemaCsv::read(&found.root.join(discover::SCHEMA_CSV))?),
            false => None,
        };
        recognise::name_tables(context, request, &mut found)?;
        let trace = match &request.trace {
            Some(trace) => Arc::clone(trace),
            None => Arc::clone(recognise::recognise(context, &found, schema_csv.as_ref())?),
        };
        if let Some(schema_csv) = &schema_csv {
            schema_csv.check(&trace)?;
        }
        if found.alone {
            // Its name need not be the publisher's.
            for table in &mut found.tables {
                let known = table.in_trace(&trace);
                table.files = known.map_or(table.files, |known| known.files);
            }
        }
        let form = settle_form(request, &mut found, &trace)?;
        cells::give_cells(request, &mut found, &trace)?;
        Ok(Self {
            found,
            schema_csv,
            form,
            trace,
        })
    }

    /// The files found for a table.
    pub(super) fn of(&self, table: &Table) -> Option<&FoundTable> {
        let mut tables = self.found.tables.iter();
        tables
            .find(|found| found.name.as_deref() == Some(&table.name) && found.files == table.files)
    }
}

/// Leaves the files of one form, where tables are published in two. Its file numbers mean other rows in each, so a lake
/// has one of them.
fn settle_form(
    request: &Request,
    found: &mut FoundSource,
    trace: &Trace,
) -> Result<Option<SourceForm>> {
    let form_of = |table: &FoundTable| {
        let known = table.in_trace(trace)?;
        let is_wanted = known.parquet && request.wants(&known.name);
        is_wanted.then_some(match table.is_parquet {
            true => SourceForm::Parquet,
            false => SourceForm::Json,
        })
    };
    let file_of = |form| {
        let mut tables = found.tables.iter();
        let part = tables
            .find(|table| form_of(table) == Some(form))?
            .parts
            .first();
        part.map(|part| part.file.path.clone())
    };
    let (json, parquet) = (file_of(SourceForm::Json), file_of(SourceForm::Parquet));
    match (request.settings.source_form, json, parquet) {
        (None, Some(json), Some(parquet)) => {
            let reason = format!("holds tables in two forms, such as {json} and {parquet}");
            Err(Error::new(ErrorKind::Usage, reason)
                .at(&request.source)
                .hint("pass --source-form json or --source-form parquet"))
        }
        (Some(form), json, parquet) => {
            let is_here = match form {
                SourceForm::Json => json.is_some(),
                SourceForm::Parquet => parquet.is_some(),
            };
            if !is_here {
                let reason = format!("has no table of {} as {form}", trace.name);
                return Err(Error::new(ErrorKind::Failed, reason)
                    .at(&request.source)
                    .hint("leave --source-form out, or download these files"));
            }
            let tables = std::mem::take(&mut found.tables).into_iter();
            found.tables = tables
                .filter(|table| form_of(table).is_none_or(|of| of == form))
                .collect();
            Ok(Some(form))
        }
        (None, Some(_), None) => Ok(Some(SourceForm::Json)),
        (None, None, Some(_)) => Ok(Some(SourceForm::Parquet)),
        (None, None, None) => Ok(None),
    }
}

/// Refuses tables that the trace or the source doesn't have.
pub(super) fn check_tables(request: &Request, source: &Recognised) -> Result<()> {
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
