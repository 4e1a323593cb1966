//! Which cell the files of a source are of: by the names of directories, or as asked.

use std::collections::BTreeSet;

use tracelake_core::error::{Error, ErrorKind, Result, escape};
use tracelake_core::part_key::{CellName, of_cell};
use tracelake_schema::{Cells, Files, Trace, cell_name};

use super::Request;
use crate::discover::{FoundPart, FoundSource, FoundTable};

/// Gives each part the cell that it is of. The parts of a source have a cell each, or none has one.
///
/// # Errors
/// [`ErrorKind::Usage`] when the cell that is asked for can't be that of the source;
/// [`ErrorKind::Failed`] when only some of the parts have a cell.
pub(super) fn give_cells(request: &Request, found: &mut FoundSource, trace: &Trace) -> Result<()> {
    let asked = match &request.cell {
        None => None,
        Some(name) => Some(known_cell(name, trace)?),
    };
    let Some(cells) = &trace.cells else {
        // The directory has the name of another trace's cell.
        set_cell(found, None);
        return Ok(());
    };
    let has_cell = |part: &FoundPart| part.key.cell.is_some();
    let is_by_cell = |table: &FoundTable| table.files != Files::Whole;
    let mut by_cell = found.tables.iter().filter(|table| is_by_cell(table));
    if asked.is_none() && !by_cell.any(|table| table.parts.iter().any(has_cell)) {
        set_cell(found, None);
        return Ok(());
    }
    let why = "it is not published by cell; convert it into a separate lake";
    found.skip(|table| !is_by_cell(table), why);
    if let Some(asked) = asked {
        choose(request, found, cells, asked)?;
    }
    let mut without = found.tables.iter().flat_map(|table| &table.parts);
    if let Some(part) = without.find(|part| !has_cell(part)) {
        let reason = "is of no cell, and other files are in the directories of cells";
        return Err(Error::new(ErrorKind::Failed, reason)
            .at(found.root.join(&part.file.path))
            .hint("move it into the directory of its cell, or name one cell's directory as SRC"));
    }
    Ok(())
}

/// The cells that lack a table which others in the source have, each as `jobs of cell b`.
pub(super) fn lacking(found: &FoundSource, table: &FoundTable) -> Vec<String> {
    let cells = |table: &FoundTable| -> BTreeSet<Option<CellName>> {
        table.parts.iter().map(|part| part.key.cell).collect()
    };
    let own = cells(table);
    let all: BTreeSet<_> = found.tables.iter().flat_map(cells).collect();
    let name = table
        .name
        .as_deref()
        .expect("a table is looked up by its name");
    all.difference(&own)
        .map(|cell| format!("{name}{}", of_cell(*cell)))
        .collect()
}

fn parts(found: &mut FoundSource) -> impl Iterator<Item = &mut FoundPart> {
    found.tables.iter_mut().flat_map(|table| &mut table.parts)
}

/// Gives all parts one cell or none, whatever directories are named after.
fn set_cell(found: &mut FoundSource, cell: Option<CellName>) {
    parts(found).for_each(|part| part.key.cell = cell);
    found.holds_cells = false;
}

/// The cell of a name that was typed.
fn known_cell(name: &str, trace: &Trace) -> Result<CellName> {
    let Some(cells) = &trace.cells else {
        let reason = format!("{} is not published by cell", trace.name);
        return Err(Error::new(ErrorKind::Usage, reason).hint("leave --cell out"));
    };
    let known = cells.find(name).ok_or_else(|| {
        let name = escape(name.as_bytes(), 80);
        let reason = format!("{} has no cell '{name}'", trace.name);
        let known = format!("its cells are {}", cells.names.join(", "));
        Error::new(ErrorKind::Usage, reason).hint(known)
    })?;
    cell_name(known).map_err(|reason| Error::new(ErrorKind::Usage, reason))
}

/// Makes the parts those of one cell: of directories of several cells, this takes one.
fn choose(
    request: &Request,
    found: &mut FoundSource,
    cells: &Cells,
    asked: CellName,
) -> Result<()> {
    let usage = |reason: String, hint: String| {
        Err(Error::new(ErrorKind::Usage, reason)
            .at(&request.source)
            .hint(hint))
    };
    if found.tables.is_empty() {
        let reason = "no file here is published by cell".to_owned();
        return usage(reason, "leave --cell out".to_owned());
    }
    let named: BTreeSet<&str> = parts(found).filter_map(|part| part.key.cell).collect();
    if named.is_empty() {
        set_cell(found, Some(asked));
        return Ok(());
    }
    if !named.contains(asked) {
        let names = named.into_iter().collect::<Vec<_>>().join(", ");
        return usage(
            format!("is of cell {names}, and --cell says {asked}"),
            format!(
                "leave --cell out, or name the directory of cell {asked}, such as {}",
                cells.directory_of(asked)
            ),
        );
    }
    for table in &mut found.tables {
        table.parts.retain(|part| part.key.cell == Some(asked));
    }
    found.tables.retain(|table| !table.parts.is_empty());
    Ok(())
}
