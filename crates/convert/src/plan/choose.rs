//! The tables and parts of a source that are wanted and found.

use tracelake_core::Context;
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::field_order::FieldOrder;
use tracelake_core::words::several;
use tracelake_schema::{Files, Trace};

use super::archives::{may_hold, missing_members};
use super::cells;
use super::checksums::{is_in_zip, listed_sha256};
use super::parts::plan_table;
use super::recognised::Recognised;
use super::request::Request;
use super::tables::{PartPlan, StreamPlan, TablePlan};
use crate::discover::checksums::Checksums;
use crate::discover::{FoundFile, FoundSource, FoundTable};

/// The selected parts of a source.
#[derive(Default)]
pub(super) struct Chosen {
    pub(super) tables: Vec<TablePlan>,
    pub(super) streams: Vec<StreamPlan>,
    pub(super) absent: Vec<String>,
}

/// Chooses the tables and parts that are wanted and found.
pub(super) fn choose(
    context: &Context,
    request: &Request,
    source: &Recognised,
    checksums: Option<&Checksums>,
    warnings: &mut Vec<String>,
) -> Result<Chosen> {
    let Recognised {
        found,
        schema_csv,
        trace,
        ..
    } = source;
    let mut chosen = Chosen::default();
    let mut archived: Vec<Vec<String>> = vec![Vec::new(); found.archives.len()];
    for table in &trace.tables {
        if !request.wants(&table.name) {
            continue;
        }
        match source.of(table) {
            Some(here) if here.files == Files::Whole => {
                let file = the_only(found, here)?;
                let tables = vec![table.name.clone()];
                let planned = stream(request, trace, file, tables, checksums);
                chosen.streams.push(planned);
                let order = FieldOrder::built_in(table, &trace.name);
                chosen.tables.push(TablePlan::whole(order));
            }
            Some(here) => {
                let order = match schema_csv {
                    Some(schema_csv) => schema_csv.order(table)?,
                    None => FieldOrder::built_in(table, &trace.name),
                };
                chosen.absent.extend(cells::lacking(found, here));
                let planned = plan_table(request, (found, trace), here, order, checksums)?;
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
                tables.push(table.name.clone());
                let order = FieldOrder::built_in(table, &trace.name);
                chosen.tables.push(TablePlan::whole(order));
            }
        }
    }
    if let Some(accept) = &request.settings.accept {
        for table in &mut chosen.tables {
            table.order.accept = accept.clone();
        }
    }
    for ((file, _), tables) in found.archives.iter().zip(archived) {
        // Nothing is wanted of an archive whose tables aren't selected.
        if !tables.is_empty() {
            let planned = chosen.tables.iter_mut();
            let held = planned.filter(|table| tables.contains(&table.order.table.name));
            missing_members(context, request, found, file, held.collect())?;
            chosen
                .streams
                .push(stream(request, trace, file, tables, checksums));
        }
    }
    Ok(chosen)
}

impl Chosen {
    /// A warning when the checksums don't list all files.
    pub(super) fn unlisted(&self, zips: &[(String, Digest)]) -> Option<String> {
        let parts = self.tables.iter().flat_map(|table| &table.parts);
        let is_listed = |part: &&PartPlan| zips.iter().any(|(zip, _)| is_in_zip(&part.source, zip));
        let of_parts = parts
            .filter(|part| !is_listed(part))
            .map(|part| &part.sha256);
        let of_streams = self.streams.iter().map(|stream| &stream.sha256);
        let digests = of_parts.chain(of_streams);
        let unlisted = digests.filter(|digest| digest.is_none()).count() as u64;
        (unlisted > 0).then(|| {
            format!(
                "{} not listed in the checksums, so not checked",
                several(unlisted, "file")
            )
        })
    }
}

pub(super) fn nothing_selected(request: &Request, source: &Recognised) -> Error {
    let tables = source.found.tables.iter().filter_map(|table| {
        let name = table.name.as_deref().filter(|name| request.wants(name))?;
        Some(format!("{name} has {}", table.numbers()))
    });
    let tables: Vec<String> = tables.collect();
    Error::new(ErrorKind::Failed, "no part is selected")
        .at(&request.source)
        .hint(format!("change --parts: {}", tables.join("; ")))
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
    trace: &Trace,
    file: &FoundFile,
    tables: Vec<String>,
    checksums: Option<&Checksums>,
) -> StreamPlan {
    StreamPlan {
        source: file.path.clone(),
        bytes: file.bytes,
        sha256: listed_sha256(request, trace, checksums, ("", &file.path)),
        tables,
        part_rows: request.part_rows(),
    }
}

impl TablePlan {
    /// A table whose parts are known when its file is read.
    fn whole(order: FieldOrder) -> Self {
        Self {
            is_parquet: false,
            order,
            parts: Vec::new(),
            missing: Vec::new(),
            notes: Vec::new(),
        }
    }
}
