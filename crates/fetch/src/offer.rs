//! Where the files of each table are published, or why they can't be fetched. No server is asked.

use std::sync::Arc;

use tracelake_convert::discover::published_file;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_location::Location;
use tracelake_schema::{PublishedAt, Table, Trace};

/// A table, and where its files are.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The table.
    pub table: Arc<Table>,
    /// Where its files are: one place, or one for each cell. Empty if they can't be fetched.
    pub places: Vec<Place>,
    /// Why they can't be fetched, if they can't.
    pub why_not: Option<String>,
}

/// A bucket or a directory on a web server with files of a table.
#[derive(Debug, Clone)]
pub struct Place {
    /// The bucket or the directory.
    pub root: Location,
    /// The cell whose files are there, for a table that is published by cell.
    pub cell: Option<String>,
    /// How the files there are known.
    pub files: FileList,
}

/// How the files in a place are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileList {
    /// The bucket is listed.
    Listed {
        /// Whether the description says that there is a `SHA256SUM`.
        has_sums: bool,
    },
    /// A web server's `SHA256SUM` lists them, if there is one; else they have these names.
    Named {
        /// Whether the description says that there is a `SHA256SUM`.
        has_sums: bool,
        /// The names by the description; empty if it doesn't say how many there are.
        names: Vec<String>,
    },
}

/// Where the files of each table of a trace are, in its order.
///
/// # Errors
/// [`ErrorKind::Usage`] if a URL of the description is malformed.
pub fn offers(trace: &Arc<Trace>) -> Result<Vec<Offer>> {
    let tables = trace.tables.iter();
    tables.map(|table| offer(trace, table)).collect()
}

/// Where the files of a table are: in the locations that name it, or else in those that name no table.
fn offer(trace: &Arc<Trace>, table: &Arc<Table>) -> Result<Offer> {
    let named = |location: &&PublishedAt| location.tables.contains(&table.name);
    let mut locations: Vec<&PublishedAt> = trace.locations.iter().filter(named).collect();
    if locations.is_empty() {
        let all = trace.locations.iter();
        locations.extend(all.filter(|location| location.tables.is_empty()));
    }
    let mut places: Vec<Place> = Vec::new();
    let fetched = locations.iter().filter(|one| one.not_fetched.is_none());
    for location in fetched {
        let place = place(trace, table, location)?;
        // The first location of a cell is the one to use.
        if places.iter().all(|known| known.cell != place.cell) {
            places.push(place);
        }
    }
    let mut reasons = locations.iter().filter_map(|one| one.not_fetched.clone());
    let why_not = places.is_empty().then(|| {
        let unknown = || "The description has no [[trace.location]] for it.".to_owned();
        reasons.next().unwrap_or_else(unknown)
    });
    Ok(Offer {
        table: Arc::clone(table),
        places,
        why_not,
    })
}

fn place(trace: &Arc<Trace>, table: &Table, location: &PublishedAt) -> Result<Place> {
    let has_sums = location.sha256sum;
    let place: Location = location.url.parse()?;
    let Location::Url(url) = &place else {
        return Err(Error::new(ErrorKind::Usage, "is not a URL").at(place));
    };
    let directory = place.name_or_bucket().unwrap_or_default();
    let cells = trace.cells_of(table);
    let cell = cells.and_then(|cells| cells.of_directory(directory));
    let cell = cell.map(str::to_owned);
    if url.is_bucket() {
        return Ok(Place {
            root: place,
            cell,
            files: FileList::Listed { has_sums },
        });
    }
    let is_file = place.name().filter(|name| {
        let file = published_file(name, trace);
        file.is_some_and(|file| file.table.is_none_or(|of| of == table.name))
    });
    let (root, names) = match (is_file, place.parent()) {
        (Some(name), Some(parent)) => (parent, vec![name.to_owned()]),
        _ => (place.clone(), names(trace, table, cell.as_deref())),
    };
    Ok(Place {
        root,
        cell,
        files: FileList::Named { has_sums, names },
    })
}

/// The names of a table's files by the description: its archive, the archive of all tables, or its own files.
fn names(trace: &Trace, table: &Table, cell: Option<&str>) -> Vec<String> {
    let archive = |of: Option<&String>| {
        let mut archives = trace.archives.iter();
        archives.find(|archive| archive.table.as_ref() == of)
    };
    let archive = archive(Some(&table.name)).or_else(|| archive(None));
    match archive.and_then(|archive| archive.names.first()) {
        Some(name) => vec![name.clone()],
        None => table.file_names(cell).unwrap_or_default(),
    }
}
