//! A source whose trace is known, and whether it has what was asked for.

use std::sync::Arc;

use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::options::unknown_table;
use tracelake_schema::{Table, Trace};

use super::{Request, cells, recognise};
use crate::discover::schema_csv::SchemaCsv;
use crate::discover::{self, FoundSource, FoundTable};

/// A source whose trace is known.
pub(super) struct Recognised {
    pub(super) found: FoundSource,
    pub(super) schema_csv: Option<SchemaCsv>,
    pub(super) trace: Arc<Trace>,
}

impl Recognised {
    pub(super) fn read(context: &Context, request: &Request) -> Result<Self> {
        let mut found = discover::discover(&request.source, request.trace.as_ref())?;
        // Other traces have files of this name, which mean something else.
        let is_ours = request.trace.as_ref().is_none_or(|trace| trace.in_parts());
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
                let known = table.name.as_deref().and_then(|name| trace.table(name));
                table.files = known.map_or(table.files, |known| known.files);
            }
        }
        cells::give_cells(request, &mut found, &trace)?;
        Ok(Self {
            found,
            schema_csv,
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
