//! The files to fetch: what the servers list, of the tables, cells and parts that are asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tracelake_convert::discover::checksums::Checksums;
use tracelake_convert::discover::{CHECKSUMS, PublishedFile, SCHEMA_CSV, published_file};
use tracelake_convert::plan::PartSet;
use tracelake_core::Context;
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::options::{SourceForm, unknown_table};
use tracelake_lake::manifest::is_relative;
use tracelake_location::pieces::piece_of;
use tracelake_location::{Location, Url};
use tracelake_schema::{Table, Trace};

use crate::offer::{FileList, Offer, Place, offers};

/// A request to fetch files of a trace.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Request {
    /// The trace.
    pub trace: Arc<Trace>,
    /// The tables; empty for all that can be fetched.
    pub tables: Vec<String>,
    /// The parts with these numbers; `None` for all. A file with all rows of a table is fetched in any case.
    pub parts: Option<PartSet>,
    /// The cell; `None` for all.
    pub cell: Option<String>,
    /// The form of a table that is published in two.
    pub form: SourceForm,
}

impl Request {
    /// Everything that can be fetched of a trace.
    #[must_use]
    pub fn new(trace: Arc<Trace>) -> Self {
        Self {
            trace,
            tables: Vec::new(),
            parts: None,
            cell: None,
            form: SourceForm::Json,
        }
    }
}

/// A published file.
#[derive(Debug, Clone)]
pub struct RemoteFile {
    /// The bucket or directory that it is in.
    pub(crate) root: Url,
    /// Its path there.
    pub(crate) name: String,
    /// Its path on disk, below the directory that is fetched to.
    pub path: String,
    /// Its size, if a listing or the publisher says it.
    pub bytes: Option<u64>,
    /// Its published digest.
    pub sha256: Option<Digest>,
    /// If it is a piece of a file: the path of the whole file, and the published digest of that.
    pub(crate) whole: Option<(String, Option<Digest>)>,
}

impl RemoteFile {
    /// Its URL.
    #[must_use]
    pub fn url(&self) -> Location {
        Location::Url(self.root.join(&self.name))
    }
}

/// The files to fetch.
#[derive(Debug, Clone)]
pub struct FetchPlan {
    /// The files, in the order of the tables.
    pub files: Vec<RemoteFile>,
    /// Tables that are left out because they can't be fetched, and why.
    pub left_out: Vec<(String, String)>,
}

/// Lists the files to fetch. Buckets are listed, and the `SHA256SUM` of a directory on a web server is read.
///
/// # Errors
/// [`ErrorKind::Usage`] for a table, cell or parts that the trace doesn't have; if nothing that is asked for can be
/// fetched; if a server doesn't answer.
pub fn plan(context: &Context, request: &Request) -> Result<FetchPlan> {
    let trace = &request.trace;
    let known = |name: &&String| trace.table(name).is_none();
    if let Some(unknown) = request.tables.iter().find(known) {
        return Err(unknown_table(unknown, trace));
    }
    check_cell(request)?;
    let is_wanted =
        |offer: &Offer| request.tables.is_empty() || request.tables.contains(&offer.table.name);
    let mut offers = offers(trace)?;
    offers.retain(is_wanted);
    let mut listings = Listings {
        context,
        found: BTreeMap::new(),
    };
    let mut plan = FetchPlan {
        files: Vec::new(),
        left_out: Vec::new(),
    };
    let mut paths = BTreeSet::new();
    for offer in &offers {
        if let Some(why_not) = &offer.why_not {
            plan.left_out
                .push((offer.table.name.clone(), why_not.clone()));
            continue;
        }
        let is_of_cell = |place: &&Place| {
            request.cell.is_none() || place.cell.is_none() || request.cell == place.cell
        };
        for place in offer.places.iter().filter(is_of_cell) {
            let listing = listings.of(place)?;
            let files = listing.files_of(request, &offer.table, place)?;
            if files.is_empty() && request.parts.is_none() {
                let why = format!("no file of it is at {}", place.root);
                plan.left_out.push((offer.table.name.clone(), why));
            }
            let new = files
                .into_iter()
                .filter(|file| paths.insert(file.path.clone()));
            plan.files.extend(new);
        }
    }
    if let Some((table, why)) = plan.left_out.first()
        && (plan.files.is_empty() || !request.tables.is_empty())
    {
        let reason = format!("{table} can't be fetched: {}", why.trim_end_matches('.'));
        let hint = "tracelake fetch --list says what can be";
        return Err(Error::new(ErrorKind::Failed, reason).hint(hint));
    }
    match plan.files.is_empty() {
        true => Err(no_part(&offers)),
        false => Ok(plan),
    }
}

/// Refuses a cell that the trace doesn't have.
fn check_cell(request: &Request) -> Result<()> {
    let (Some(cell), trace) = (&request.cell, &request.trace) else {
        return Ok(());
    };
    let (reason, hint) = match &trace.cells {
        None => (
            format!("{} isn't published by cell", trace.name),
            "leave --cell out".to_owned(),
        ),
        Some(cells) if cells.find(cell).is_none() => (
            format!("{} has no cell '{cell}'", trace.name),
            format!("it has {}", cells.names.join(", ")),
        ),
        Some(_) => return Ok(()),
    };
    Err(Error::new(ErrorKind::Usage, reason).hint(hint))
}

/// The error if no part has a number that is asked for.
fn no_part(offers: &[Offer]) -> Error {
    let names: Vec<&str> = offers.iter().map(|offer| &*offer.table.name).collect();
    let reason = format!("no part has one of these numbers: {}", names.join(", "));
    let hint = "tracelake fetch --list says how many files each table has";
    Error::new(ErrorKind::Usage, reason).hint(hint)
}

/// The contents of the places that were looked at so far, by their URLs.
struct Listings<'a> {
    context: &'a Context,
    found: BTreeMap<String, Listing>,
}

/// The contents of a place.
struct Listing {
    root: Url,
    /// The paths there, each with its size if that is listed; `None` if nothing lists them.
    paths: Option<Vec<(String, Option<u64>)>>,
    sums: Option<Checksums>,
}

impl Listings<'_> {
    fn of(&mut self, place: &Place) -> Result<&Listing> {
        let key = place.root.to_string();
        if !self.found.contains_key(&key) {
            let listing = self.list(place)?;
            self.found.insert(key.clone(), listing);
        }
        Ok(&self.found[&key])
    }

    fn list(&self, place: &Place) -> Result<Listing> {
        let root = place.root.within(self.context);
        let Location::Url(url) = &root else {
            return Err(Error::new(ErrorKind::Usage, "is not a URL").at(&root));
        };
        let sums_place = root.join(CHECKSUMS);
        let (paths, has_sums, is_promised) = match &place.files {
            FileList::Listed { has_sums } => {
                let listed = url.list_all()?.into_iter();
                let paths: Vec<_> = listed.map(|file| (file.path, Some(file.bytes))).collect();
                let has_sums_file = paths.iter().any(|(path, _)| path == CHECKSUMS);
                (Some(paths), has_sums_file, *has_sums)
            }
            FileList::Named { has_sums, .. } => {
                let found = *has_sums || sums_place.is_file()?;
                (None, found, *has_sums)
            }
        };
        if is_promised && !has_sums {
            let reason = "is not there, although the description says so";
            return Err(Error::new(ErrorKind::Failed, reason)
                .at(&sums_place)
                .hint("check the URL in the description"));
        }
        let sums = has_sums.then(|| Checksums::read(&sums_place)).transpose();
        let sums = sums.map_err(|error| error.hint("it is not what its name says"))?;
        let listed = sums.as_ref().map(|sums| {
            let paths = sums.iter().map(|(path, _)| (path.to_owned(), None));
            paths.collect()
        });
        Ok(Listing {
            root: url.clone(),
            paths: paths.or(listed),
            sums,
        })
    }
}

impl Listing {
    /// The files of a table that are asked for, and `schema.csv`.
    fn files_of(&self, request: &Request, table: &Table, place: &Place) -> Result<Vec<RemoteFile>> {
        let named;
        let paths = match (&self.paths, &place.files) {
            (Some(paths), _) => paths,
            (None, FileList::Named { names, .. }) if !names.is_empty() => {
                named = names.iter().map(|name| (name.clone(), None)).collect();
                &named
            }
            (None, _) => {
                let reason = format!(
                    "the description doesn't say how many files {} has, and no SHA256SUM lists them",
                    table.name
                );
                return Err(Error::new(ErrorKind::Failed, reason)
                    .at(&place.root)
                    .hint("add parts to the table in the description"));
            }
        };
        let mut found: Vec<(Option<u32>, RemoteFile)> = Vec::new();
        for (path, bytes) in paths {
            if let Some((number, file)) = self.file(request, table, place, path, *bytes) {
                found.push((number, file));
            }
        }
        found.sort_by(|(a, one), (b, other)| (a, &one.path).cmp(&(b, &other.path)));
        let has_schema = paths.iter().find(|(path, _)| path == SCHEMA_CSV);
        let schema = has_schema
            .filter(|_| !found.is_empty())
            .map(|(path, bytes)| RemoteFile {
                root: self.root.clone(),
                name: path.clone(),
                path: path.clone(),
                bytes: *bytes,
                sha256: self.sum_of(path),
                whole: None,
            });
        let files = found.into_iter().map(|(_, file)| file);
        Ok(schema.into_iter().chain(files).collect())
    }

    /// The file of a path, if it is of the table, and asked for; and its number.
    fn file(
        &self,
        request: &Request,
        table: &Table,
        place: &Place,
        path: &str,
        bytes: Option<u64>,
    ) -> Option<(Option<u32>, RemoteFile)> {
        let trace = &request.trace;
        let cells = trace.cells_of(table);
        // The directory of a cell, of a place that has several.
        let below = path.split_once('/').filter(|_| place.cell.is_none());
        let below = below.and_then(|(first, rest)| Some((cells?.of_directory(first)?, rest)));
        let cell = below.map(|(cell, _)| cell).or(place.cell.as_deref());
        let in_cell = below.map_or(path, |(_, rest)| rest);
        let whole = piece_of(in_cell).map(|(whole, _)| whole);
        let PublishedFile {
            table: of,
            number,
            is_second_form,
        } = published_file(whole.unwrap_or(in_cell), trace)?;
        let is_of_form = !table.parquet || is_second_form == (request.form == SourceForm::Parquet);
        let is_of_cell =
            request.cell.is_none() || cells.is_none() || cell == request.cell.as_deref();
        let parts = request.parts.as_ref();
        let is_of_part = number.is_none_or(|it| parts.is_none_or(|parts| parts.contains(it)));
        let is_of_table = of.is_none_or(|of| of == table.name);
        if !(is_of_table && is_of_form && is_of_cell && is_of_part && is_relative(in_cell)) {
            return None;
        }
        let directory = cells
            .zip(cell)
            .map(|(cells, cell)| cells.directory_of(cell));
        let on_disk = |path: &str| match &directory {
            Some(directory) => format!("{directory}/{path}"),
            None => path.to_owned(),
        };
        let file = RemoteFile {
            root: self.root.clone(),
            name: path.to_owned(),
            path: on_disk(in_cell),
            bytes: bytes.or_else(|| archive_bytes(trace, in_cell)),
            sha256: self.sum_of(path).or_else(|| archive_sum(trace, in_cell)),
            whole: whole.map(|whole| (on_disk(whole), archive_sum(trace, whole))),
        };
        Some((number, file))
    }

    /// The digest that is listed beside the files.
    fn sum_of(&self, path: &str) -> Option<Digest> {
        self.sums.as_ref()?.exactly(path)
    }
}

/// The archive that was published under this name.
fn archive<'a>(trace: &'a Trace, path: &str) -> Option<&'a tracelake_schema::Archive> {
    let file = path.rsplit('/').next();
    let mut archives = trace.archives.iter();
    archives.find(|archive| archive.names.first().map(String::as_str) == file)
}

/// The published digest of an archive.
fn archive_sum(trace: &Trace, path: &str) -> Option<Digest> {
    archive(trace, path)?.sha256.as_ref()?.parse().ok()
}

/// The size of an archive, if the publisher gives every digit of it.
fn archive_bytes(trace: &Trace, path: &str) -> Option<u64> {
    let size = &archive(trace, path)?.size;
    size.contains(',')
        .then(|| size.replace(',', "").parse().ok())?
}
