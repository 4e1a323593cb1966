//! Finds the files of a source, by table and file number.

pub mod checksums;
mod hints;
mod names;
pub mod schema_csv;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::part_key::{CellName, PartKey, listed};
use tracelake_lake::store::HOME;
use tracelake_location::pieces::{piece_of, pieces};
use tracelake_location::{Entry, Listing, Location, LocationKind};
use tracelake_schema::{Files, SYNTHETIC, Trace};
use tracelake_source::ARCHIVES;

use names::{FileName, cell_of, is_table, stem_table, table_of};
pub(crate) use names::{archive_of, described_sha256};

/// The files found in a source.
#[derive(Debug)]
pub struct FoundSource {
    /// The directory that paths are relative to.
    pub root: Location,
    /// The tables with at least one file, by name.
    pub tables: Vec<FoundTable>,
    /// Archives that may hold any table of a trace, and the trace if their name has it.
    pub archives: Vec<(FoundFile, Option<&'static Trace>)>,
    /// Whether there is a `schema.csv` in the root.
    pub schema_csv: bool,
    /// The files named `SHA256SUM`: in the root, or in the directories of cells.
    pub checksums: Vec<String>,
    /// Whether the root holds the directories of cells, so that paths of parts begin with one of these.
    pub holds_cells: bool,
    /// Likely files of tables that aren't read.
    pub skipped: Vec<Skipped>,
    /// Whether the source is a single file, which is taken alone.
    pub alone: bool,
    /// Whether `tracelake generate` made the source.
    pub synthetic: bool,
}

impl FoundSource {
    fn new(root: Location) -> Self {
        Self {
            root,
            tables: Vec::new(),
            archives: Vec::new(),
            schema_csv: false,
            checksums: Vec::new(),
            holds_cells: false,
            skipped: Vec::new(),
            alone: false,
            synthetic: false,
        }
    }

    /// The first file found, with the source's path before it; the source where there is none.
    pub(crate) fn first_path(&self) -> Location {
        let parts = self.tables.iter().flat_map(|table| &table.parts);
        let mut files = parts
            .map(|part| &part.file)
            .chain(self.archives.iter().map(|(file, _)| file));
        files
            .next()
            .map_or_else(|| self.root.clone(), |file| self.root.join(&file.path))
    }
}

/// A file or directory that isn't read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its path, relative to the root.
    pub path: String,
    /// Why, and what to do about it.
    pub why: String,
}

/// The files of one table.
#[derive(Debug)]
pub struct FoundTable {
    /// Its name; `None` when neither a directory nor a file name has it.
    pub name: Option<String>,
    /// How its files are named.
    pub files: Files,
    /// The files, by cell, file number and path.
    pub parts: Vec<FoundPart>,
}

impl FoundTable {
    /// Its file numbers for people, such as `parts 0-2, 7`.
    pub(crate) fn numbers(&self) -> String {
        let mut keys: Vec<PartKey> = self.parts.iter().map(|part| part.key).collect();
        keys.dedup();
        let s = if keys.len() == 1 { "" } else { "s" };
        format!("part{s} {}", listed(&keys))
    }
}

/// One input file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// Its path, relative to the root, with forward slashes.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// The store's ETag of its content, if it has one.
    pub etag: Option<String>,
}

/// One input file of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPart {
    /// The file.
    pub file: FoundFile,
    /// Its cell, if a directory names one, and its file number, from 0; 0 for a table in one file.
    pub key: PartKey,
    /// How many parts its name says that there are, if it does.
    pub total: Option<u32>,
}

impl FoundPart {
    /// The number after that of the last part, where the first part has the number `first`.
    #[must_use]
    pub fn end(&self, first: u32) -> u32 {
        let after = self.key.file_number.saturating_add(1);
        self.total
            .map_or(after.max(first), |total| total.saturating_add(first))
    }

    /// How many parts there are at least.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.total.unwrap_or(self.key.file_number.saturating_add(1))
    }
}

/// The names in a source that are ours.
pub(crate) const SCHEMA_CSV: &str = "schema.csv";
pub(crate) const CHECKSUMS: &str = "SHA256SUM";

/// Looks at a source: a directory laid out as published, one that holds such directories of several
/// cells, one table's directory, or one file. It knows the names of `trace`'s tables, or, without one, of
/// every trace's.
///
/// Nothing outside the source is read: a symbolic link that points out of it is refused. In a bucket,
/// what the names of objects start with is a directory; on a web server, its `SHA256SUM` lists the files.
///
/// # Errors
/// When it doesn't exist, has no file of any table, or can't be read.
pub fn discover(source: &Location, trace: Option<&'static Trace>) -> Result<FoundSource> {
    let mut found = files(source, trace)?;
    let near = near(source, found.alone);
    if !found.holds_cells {
        let cell = near.iter().find_map(|directory| cell_of(directory, trace));
        let parts = found.tables.iter_mut().flat_map(|table| &mut table.parts);
        parts.for_each(|part| part.key.cell = cell);
    }
    let mark = |directory: &Location| directory.join(SYNTHETIC).is_file();
    found.synthetic |= near.iter().any(mark);
    Ok(found)
}

/// The directory of a trace or of its cell, as far as it can be seen from a source that may be one table
/// or one file of it: the source and its parent, of a file also the one above that. Without links.
fn near(source: &Location, is_file: bool) -> Vec<Location> {
    let whole = match source {
        Location::Disk(path) => Location::Disk(fs::canonicalize(path).unwrap_or_default()),
        Location::Url(_) => source.clone(),
    };
    let directories = std::iter::successors(Some(whole), Location::parent);
    directories.skip(usize::from(is_file)).take(2).collect()
}

/// The files of a source.
fn files(source: &Location, trace: Option<&'static Trace>) -> Result<FoundSource> {
    let kind = source.kind().map_err(|error| error.or_at(source))?;
    let Some(kind) = kind else {
        return Err(missing(source));
    };
    // Without symbolic links.
    let root = match source {
        Location::Disk(path) => {
            let whole = fs::canonicalize(path);
            Location::Disk(whole.map_err(|error| Error::io("open", path, error))?)
        }
        Location::Url(_) => source.clone(),
    };
    match kind {
        LocationKind::Directory => {}
        LocationKind::File { bytes } => return one_file(source, &root, bytes, trace),
        LocationKind::Other => return one_file(source, &root, 0, trace),
    }
    let listing = Listing::of(source)?;
    let entries = listing.entries("")?;
    let is_lake = |entry: &Entry| entry.name == HOME && entry.kind == LocationKind::Directory;
    if entries.iter().any(is_lake) {
        return Err(
            Error::new(ErrorKind::Failed, "this is a lake, not a source")
                .at(source)
                .hint("name the source first and the lake second: tracelake convert SRC OUT"),
        );
    }
    let mut search = Search {
        source,
        listing,
        table: table_of(&root, trace),
        root: root.as_path().map(Path::to_owned).unwrap_or_default(),
        trace,
        found: FoundSource::new(source.clone()),
    };
    search.take_all(None, entries)?;
    let mut found = search.found;
    skip_nameless(&mut found);
    if found.tables.is_empty() && found.archives.is_empty() {
        let is_source = |directory: &Location| {
            let entries = Listing::of(directory).and_then(|listing| listing.entries(""));
            entries
                .unwrap_or_default()
                .iter()
                .any(|Entry { name, .. }| {
                    is_table(name, trace) || FileName::of(name, trace).is_some()
                })
        };
        let hint = hints::nothing_found(source, &found.skipped, &is_source);
        let known = trace.map_or("any known trace", |trace| trace.name);
        let reason = format!("no table of {known} is here");
        return Err(Error::new(ErrorKind::Failed, reason).at(source).hint(hint));
    }
    found.tables.sort_by(|a, b| a.name.cmp(&b.name));
    for table in &mut found.tables {
        table
            .parts
            .sort_by(|a, b| (a.key, &a.file.path).cmp(&(b.key, &b.file.path)));
    }
    Ok(found)
}

/// Whether a directory looks like a source: it has something that [`discover`] would read.
#[must_use]
pub fn is_source(location: &Location) -> bool {
    discover(location, None).is_ok()
}

/// Refuses a lake that would be inside its source, where the next run would look for tables.
///
/// # Errors
/// [`ErrorKind::Refused`] when `out` is in the directory `source`; when a path can't be resolved.
pub fn refuse_inside(source: &Location, out: &Location) -> Result<()> {
    let refused = || {
        Error::new(ErrorKind::Refused, "OUT is inside SRC")
            .at(out)
            .hint("name a directory for the lake that is outside the source")
    };
    let out = match (source, out) {
        (Location::Disk(_), Location::Disk(out)) => out,
        (Location::Url(source), Location::Url(out)) => {
            return match source.holds(out) {
                true => Err(refused()),
                false => Ok(()),
            };
        }
        _ => return Ok(()),
    };
    let Some(source) = source.as_path().filter(|source| source.is_dir()) else {
        return Ok(());
    };
    let resolve = |path: &Path| {
        let whole = std::path::absolute(path).and_then(|whole| {
            let existing = whole.ancestors().find(|ancestor| ancestor.exists());
            fs::canonicalize(existing.unwrap_or(&whole))
        });
        whole.map_err(|error| Error::io("open", path, error))
    };
    // A source may be a lake's parent by way of directories that don't exist yet.
    let (root, whole) = (resolve(source)?, resolve(out)?);
    let is_new_beside = whole == root && !out.exists();
    if !(whole.starts_with(&root) && whole != root || is_new_beside) {
        return Ok(());
    }
    Err(refused())
}

/// The error for a source that isn't there.
fn missing(source: &Location) -> Error {
    let (reason, hint) = match source {
        Location::Disk(_) => (
            "there is no such file or directory",
            "check the path: SRC is the directory or file that was downloaded, or a URL",
        ),
        Location::Url(_) => (
            "there is no such object, and none below it",
            "check the URL; tracelake schema TRACE prints where a trace is published",
        ),
    };
    Error::new(ErrorKind::Failed, reason)
        .at(source)
        .hint(hint)
        .because(std::io::Error::from(std::io::ErrorKind::NotFound))
}

/// Skips parts that no directory gives a table, where there are tables beside them.
fn skip_nameless(found: &mut FoundSource) {
    let named = found.tables.iter().any(|table| table.name.is_some());
    if !named && found.archives.is_empty() {
        return;
    }
    let tables = std::mem::take(&mut found.tables);
    let (named, nameless): (Vec<_>, Vec<_>) =
        tables.into_iter().partition(|table| table.name.is_some());
    found.tables = named;
    let parts = nameless.into_iter().flat_map(|table| table.parts);
    found.skipped.extend(parts.map(|part| Skipped {
        path: part.file.path,
        why: "it is not in the directory of a table".to_owned(),
    }));
}

/// A single file; its name, or that of its directory, says which table it is of.
fn one_file(
    source: &Location,
    whole: &Location,
    bytes: u64,
    trace: Option<&'static Trace>,
) -> Result<FoundSource> {
    let Some(name) = source.name() else {
        return Err(Error::new(ErrorKind::Usage, "the file's name is not UTF-8")
            .at(source)
            .hint("rename it"));
    };
    let root = match source.parent() {
        Some(parent) if parent.as_path() != Some(Path::new("")) => parent,
        _ => Location::Disk(PathBuf::from(".")),
    };
    let mut found = FoundSource {
        alone: true,
        ..FoundSource::new(root)
    };
    let file = FoundFile {
        path: name.to_owned(),
        bytes,
        etag: source.etag()?,
    };
    let directory = whole.parent().and_then(|parent| table_of(&parent, trace));
    let (table, files, number, total) = match FileName::of(name, trace) {
        Some(FileName::Archive(trace)) => {
            found.archives.push((file, Some(trace)));
            return Ok(found);
        }
        Some(FileName::Part { number, total }) => (directory, Files::Parts, number, Some(total)),
        Some(FileName::Shard { table, number }) => (Some(table), Files::Shards, number, None),
        Some(FileName::Named {
            table,
            number,
            total,
        }) => (Some(table), Files::Named, number, total),
        Some(FileName::Ambiguous(reason)) => return Err(ambiguous(source, reason)),
        Some(FileName::Whole { table }) => (Some(table), Files::Whole, 0, None),
        Some(FileName::Only { table, files }) => (Some(table), files, 0, Some(1)),
        None if ARCHIVES.iter().any(|ending| name.ends_with(ending)) => {
            found.archives.push((file, None));
            return Ok(found);
        }
        // A file with any other name is the only part.
        None => (
            directory.or_else(|| stem_table(name, trace)),
            Files::Parts,
            0,
            Some(1),
        ),
    };
    found.tables.push(FoundTable {
        name: table,
        files,
        parts: vec![FoundPart {
            file,
            key: number.into(),
            total,
        }],
    });
    Ok(found)
}

/// A directory that is being looked through.
struct Search<'a> {
    source: &'a Location,
    listing: Listing,
    /// On disk, the same without links.
    root: PathBuf,
    /// The table that the source is named after, if it is one table's directory.
    table: Option<String>,
    trace: Option<&'static Trace>,
    found: FoundSource,
}

impl Search<'_> {
    /// Takes what is in the source itself, or in the directory of a cell in it.
    fn take_all(&mut self, cell: Option<(CellName, &str)>, entries: Vec<Entry>) -> Result<()> {
        let directory = cell.map_or_else(String::new, |(_, directory)| format!("{directory}/"));
        for entry in self.join_pieces(&directory, entries)? {
            match cell {
                None => self.take_one(None, entry.name.clone(), &entry)?,
                Some((cell, directory)) => {
                    let path = format!("{directory}/{}", entry.name);
                    self.take_one(Some(cell), path, &entry)?;
                }
            }
        }
        Ok(())
    }

    fn take_one(&mut self, cell: Option<CellName>, path: String, entry: &Entry) -> Result<()> {
        let Entry { name, kind, .. } = entry;
        let below = cell_of(&self.source.join(&path), self.trace);
        if is_table(name, self.trace) && *kind == LocationKind::Directory {
            self.stay_inside(&path)?;
            let files = self.listing.entries(&path)?;
            for file in self.join_pieces(&format!("{path}/"), files)? {
                self.take(format!("{path}/{}", file.name), cell, &file, Some(name))?;
            }
        } else if let (None, LocationKind::Directory, Some(cell)) = (cell, kind, below) {
            self.stay_inside(&path)?;
            self.found.holds_cells = true;
            self.found.synthetic |= self.source.join(&path).join(SYNTHETIC).is_file();
            let entries = self.listing.entries(&path)?;
            self.take_all(Some((cell, &path)), entries)?;
        } else if name == SCHEMA_CSV && cell.is_none() {
            self.stay_inside(&path)?;
            self.found.schema_csv = true;
        } else if name == CHECKSUMS {
            self.stay_inside(&path)?;
            self.found.checksums.push(path);
        } else if FileName::of(name, self.trace).is_some() || self.table.is_some() {
            let table = self.table.clone();
            self.take(path, cell, entry, table.as_deref())?;
        } else if is_table(name, None) || FileName::of(name, None).is_some() {
            self.skip(path, hints::why_elsewhere());
        } else if let Some(why) = hints::why_data(&self.source.join(&path), entry) {
            self.skip(path, why);
        }
        Ok(())
    }

    /// Puts the whole file in place of its pieces, where names say that there are pieces; on disk alone.
    ///
    /// # Errors
    /// When a piece is missing between others, or the whole file is there, too.
    fn join_pieces(&self, directory: &str, entries: Vec<Entry>) -> Result<Vec<Entry>> {
        if self.source.as_path().is_none() {
            return Ok(entries);
        }
        let is_known = |name: &str| FileName::of(name, self.trace).is_some();
        let piece = |entry: &Entry| {
            let (whole, number) = piece_of(&entry.name).filter(|(whole, _)| is_known(whole))?;
            let LocationKind::File { bytes } = entry.kind else {
                return None;
            };
            Some((whole.to_owned(), number, bytes))
        };
        let mut found: BTreeMap<String, Vec<(u32, u64)>> = BTreeMap::new();
        let mut joined = Vec::with_capacity(entries.len());
        for entry in entries {
            match piece(&entry) {
                Some((whole, number, bytes)) => {
                    found.entry(whole).or_default().push((number, bytes))
                }
                None => joined.push(entry),
            }
        }
        for (name, mut pieces) in found {
            pieces.sort_unstable();
            let place = self.source.join(&format!("{directory}{name}"));
            let wrong = |reason: String, hint: &str| {
                Err(Error::new(ErrorKind::Failed, reason).at(&place).hint(hint))
            };
            if joined.iter().any(|entry| entry.name == name) {
                return wrong(
                    "is here whole and in pieces".to_owned(),
                    "move one of them away",
                );
            }
            let gap = (0..)
                .zip(&pieces)
                .find(|(expected, (number, _))| expected != number);
            if let Some((missing, _)) = gap {
                let reason = format!(
                    "piece {} of it is missing, and later ones are here",
                    missing + 1
                );
                return wrong(reason, "download the missing piece");
            }
            let bytes = pieces.iter().map(|(_, bytes)| *bytes);
            joined.push(Entry {
                name,
                kind: LocationKind::File {
                    bytes: bytes.fold(0, u64::saturating_add),
                },
                etag: None,
            });
        }
        Ok(joined)
    }

    /// Refuses a name on disk that is a link out of the source.
    fn stay_inside(&self, path: &str) -> Result<()> {
        match self.source {
            Location::Disk(source) if fs::symlink_metadata(source.join(path)).is_err() => {
                let pieces = pieces(&source.join(path));
                pieces
                    .iter()
                    .try_for_each(|piece| stay_inside(&self.root, piece))
            }
            Location::Disk(source) => stay_inside(&self.root, &source.join(path)),
            Location::Url(_) => Ok(()),
        }
    }

    fn skip(&mut self, path: String, why: String) {
        self.found.skipped.push(Skipped { path, why });
    }

    /// Takes one name as a file of a table or as an archive, or skips it; `directory` is the table that
    /// its directory is named after.
    fn take(
        &mut self,
        path: String,
        cell: Option<CellName>,
        entry: &Entry,
        directory: Option<&str>,
    ) -> Result<()> {
        let name = path.rsplit('/').next().unwrap_or(&path);
        let directory = directory.map(str::to_owned);
        // A table's directory holds files of that table.
        let fits = |table: &String| {
            directory
                .as_ref()
                .is_none_or(|directory| directory == table)
        };
        let (table, files, number, total) = match FileName::of(name, self.trace) {
            Some(FileName::Part { number, total }) => {
                (directory, Files::Parts, number, Some(total))
            }
            Some(FileName::Shard { table, number }) if fits(&table) => {
                (Some(table), Files::Shards, number, None)
            }
            Some(FileName::Named {
                table,
                number,
                total,
            }) if fits(&table) => (Some(table), Files::Named, number, total),
            Some(FileName::Ambiguous(reason)) => {
                return Err(ambiguous(&self.source.join(&path), reason));
            }
            Some(FileName::Whole { table }) if fits(&table) => (Some(table), Files::Whole, 0, None),
            Some(FileName::Only { table, files }) if fits(&table) => {
                (Some(table), files, 0, Some(1))
            }
            Some(FileName::Archive(trace)) => {
                let file = self.file(path, entry)?;
                self.found.archives.push((file, Some(trace)));
                return Ok(());
            }
            Some(_) => {
                self.skip(path, hints::why_elsewhere());
                return Ok(());
            }
            None => {
                let why = hints::why_skipped(self.source, &path, directory.as_deref());
                self.skip(path, why);
                return Ok(());
            }
        };
        let part = FoundPart {
            file: self.file(path, entry)?,
            key: PartKey {
                cell,
                file_number: number,
            },
            total,
        };
        let tables = &mut self.found.tables;
        match tables
            .iter_mut()
            .find(|known| known.name == table && known.files == files)
        {
            Some(known) => known.parts.push(part),
            None => tables.push(FoundTable {
                name: table,
                files,
                parts: vec![part],
            }),
        }
        Ok(())
    }

    fn file(&self, path: String, entry: &Entry) -> Result<FoundFile> {
        self.stay_inside(&path)?;
        let LocationKind::File { bytes } = entry.kind else {
            let reason = "has the name of a table's file, but is not a file";
            return Err(Error::new(ErrorKind::Failed, reason)
                .at(self.source.join(&path))
                .hint("move it away"));
        };
        let etag = entry.etag.clone();
        Ok(FoundFile { path, bytes, etag })
    }
}

/// The error for a name that the patterns of a description take apart in several ways.
fn ambiguous(path: &Location, reason: String) -> Error {
    Error::new(ErrorKind::Failed, reason)
        .at(path)
        .hint("make the names in the description differ more, or move the file away")
}

/// Refuses a symbolic link that points out of the source.
fn stay_inside(root: &Path, path: &Path) -> Result<()> {
    let whole = fs::canonicalize(path).map_err(|error| Error::io("open", path, error))?;
    if whole.starts_with(root) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Refused,
        "a symbolic link that points out of the source",
    )
    .at(path)
    .hint("name the directory that it points to, or put the file itself here"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_taken_alone_and_a_directory_whole() {
        let directory = tempfile::tempdir().unwrap();
        let table = directory.path().join("job_events");
        fs::create_dir(&table).unwrap();
        for name in [
            "part-00001-of-00003.csv.gz",
            "part-00000-of-00003.csv.gz",
            "notes.txt",
        ] {
            fs::write(table.join(name), "x").unwrap();
        }
        let found = discover(&directory.path().into(), None).unwrap();
        assert_eq!(
            found.tables[0]
                .parts
                .iter()
                .map(|p| p.key.file_number)
                .collect::<Vec<_>>(),
            [0, 1]
        );
        assert_eq!(found.skipped[0].path, "job_events/notes.txt");
        let found = discover(&Location::from(&table), None).unwrap();
        assert_eq!(found.tables[0].name.as_deref(), Some("job_events"));
        let found = discover(&table.join("part-00001-of-00003.csv.gz").into(), None).unwrap();
        assert_eq!((found.tables[0].parts.len(), found.alone), (1, true));
        assert_eq!(found.tables[0].name.as_deref(), Some("job_events"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_the_source_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let table = directory.path().join("source/job_events");
        fs::create_dir_all(&table).unwrap();
        let outside = directory.path().join("outside");
        fs::write(&outside, "x").unwrap();
        std::os::unix::fs::symlink(&outside, table.join("part-00000-of-00001.csv.gz")).unwrap();
        let error = discover(&directory.path().join("source").into(), None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
    }
}
