//! Looks through the directories of a source.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::part_key::{CellName, PartKey};
use tracelake_location::pieces::{piece_of, pieces};
use tracelake_location::{Entry, Listing, Location, LocationKind};
use tracelake_schema::{SYNTHETIC, Trace};
use tracelake_source::zipped_files;

use super::names::{FileName, cell_of, is_table, leads_to_files};
use super::{CHECKSUMS, FoundFile, FoundPart, FoundSource, FoundTable, SCHEMA_CSV, Skipped, hints};

/// How deep below a directory that isn't read files are looked for.
const DEEPEST: u32 = 3;

/// How many directories are looked into for files that aren't read: on disk, and in a bucket.
const MOST_ON_DISK: u32 = 1_000;
const MOST_IN_BUCKET: u32 = 10;

/// A directory that is being looked through.
pub(super) struct Search<'a> {
    pub(super) source: &'a Location,
    pub(super) listing: Listing,
    /// On disk, the same without links.
    pub(super) root: PathBuf,
    /// The table that the source is named after, if it is one table's directory.
    pub(super) table: Option<String>,
    pub(super) trace: Option<&'a Arc<Trace>>,
    pub(super) found: FoundSource,
    /// How many directories that aren't read were looked into.
    pub(super) looked_into: u32,
    /// Whether what is taken is in a zip archive, where there are no links.
    pub(super) is_in_zip: bool,
}

impl Search<'_> {
    /// Takes what is in the source itself, or in the directory of a cell in it.
    pub(super) fn take_all(
        &mut self,
        cell: Option<(CellName, &str)>,
        entries: Vec<Entry>,
    ) -> Result<()> {
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
                let file_path = format!("{path}/{}", file.name);
                match file.kind {
                    LocationKind::Directory if self.leads_to_files(&file_path) => {
                        self.take_below(cell, file_path)?;
                    }
                    kind => self.take(file_path, cell, kind, Some(name))?,
                }
            }
        } else if *kind == LocationKind::Directory && self.leads_to_files(&path) {
            self.take_below(cell, path)?;
        } else if let (None, LocationKind::Directory, Some(cell)) = (cell, kind, below) {
            self.stay_inside(&path)?;
            self.found.holds_cells = true;
            self.found.synthetic |= self.source.join(&path).join(SYNTHETIC).is_file()?;
            let entries = self.listing.entries(&path)?;
            self.take_all(Some((cell, &path)), entries)?;
        } else if name == SCHEMA_CSV && cell.is_none() {
            self.stay_inside(&path)?;
            self.found.schema_csv = true;
        } else if name == CHECKSUMS {
            self.stay_inside(&path)?;
            self.found.checksums.push(path);
        } else if FileName::of(&self.found.whole(&path), self.trace).is_some()
            || self.table.is_some()
        {
            let table = self.table.clone();
            self.take(path, cell, *kind, table.as_deref())?;
        } else if is_table(name, None) || FileName::of(name, None).is_some() {
            self.skip(path, hints::why_elsewhere(name));
        } else if *kind == LocationKind::Directory {
            if let Some(held) = self.file_in(&path, DEEPEST) {
                let why = hints::why_directory(name, &held);
                self.skip(path, why);
            }
        } else if let Some(why) = hints::why_data(&self.source.join(&path), name, self.trace) {
            self.skip(path, why);
        }
        Ok(())
    }

    /// Takes the files in and below a directory whose name is in those of files.
    fn take_below(&mut self, cell: Option<CellName>, path: String) -> Result<()> {
        self.stay_inside(&path)?;
        for entry in self.listing.entries(&path)? {
            let entry_path = format!("{path}/{}", entry.name);
            match entry.kind {
                LocationKind::Directory if self.leads_to_files(&entry_path) => {
                    self.take_below(cell, entry_path)?;
                }
                kind => self.take(entry_path, cell, kind, None)?,
            }
        }
        Ok(())
    }

    fn leads_to_files(&self, path: &str) -> bool {
        leads_to_files(&self.found.whole(path), self.trace)
    }

    /// Takes the files of tables in a zip archive.
    pub(super) fn take_zipped(&mut self, archive: &str, cell: Option<CellName>) -> Result<()> {
        self.found.zips.push(archive.to_owned());
        for file in zipped_files(&self.source.join(archive))? {
            let path = format!("{archive}/{}", file.path);
            let kind = LocationKind::File {
                bytes: Some(file.bytes),
            };
            self.is_in_zip = true;
            self.take(path, cell, kind, None)?;
        }
        self.is_in_zip = false;
        Ok(())
    }

    /// Finds a file of a published form in or below a directory that isn't read, and returns its path from there. Stops
    /// after a fixed number of directories, because in a bucket each one is a request.
    fn file_in(&mut self, path: &str, depth: u32) -> Option<String> {
        let most = if self.source.as_path().is_some() {
            MOST_ON_DISK
        } else {
            MOST_IN_BUCKET
        };
        if self.looked_into >= most || self.stay_inside(path).is_err() {
            return None;
        }
        self.looked_into += 1;
        let entries = self.listing.entries(path).ok()?;
        let is_file = |entry: &&Entry| {
            let name = piece_of(&entry.name).map_or(&entry.name[..], |(whole, _)| whole);
            let is_published = |trace| FileName::of(name, trace).is_some();
            entry.kind != LocationKind::Directory
                && (is_published(None) || is_published(self.trace))
        };
        if let Some(file) = entries.iter().find(is_file) {
            return Some(file.name.clone());
        }
        let is_directory = |entry: &&Entry| entry.kind == LocationKind::Directory;
        let mut below = entries.iter().filter(is_directory).filter(|_| depth > 0);
        below.find_map(|entry| {
            let held = self.file_in(&format!("{path}/{}", entry.name), depth - 1)?;
            Some(format!("{}/{held}", entry.name))
        })
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
            let LocationKind::File { bytes: Some(bytes) } = entry.kind else {
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
            let wrong = |reason: String, hint: &'static str| {
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
                    bytes: Some(bytes.fold(0, u64::saturating_add)),
                },
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
        kind: LocationKind,
        directory: Option<&str>,
    ) -> Result<()> {
        let name = path.rsplit('/').next().unwrap_or(&path);
        let named = match FileName::of(&self.found.whole(&path), self.trace) {
            Some(FileName::Ambiguous(reason)) => {
                return Err(ambiguous(&self.source.join(&path), reason));
            }
            Some(FileName::Archive(trace)) => {
                let file = self.file(path, kind)?;
                self.found.archives.push((file, Some(trace)));
                return Ok(());
            }
            Some(FileName::ParquetZip) => {
                let archive = self.file(path, kind)?;
                return self.take_zipped(&archive.path, cell);
            }
            // A Parquet file beside a source may be anyone's, unless its name is a publisher's.
            Some(FileName::File(named)) if !(named.is_only && named.is_parquet) => named,
            _ => {
                let why = hints::why_skipped(self.source, &path, directory, self.trace);
                self.skip(path, why);
                return Ok(());
            }
        };
        // A table's directory holds files of that table.
        let table = named.table.or_else(|| directory.map(str::to_owned));
        if directory.is_some() && table.as_deref() != directory {
            let why = hints::why_elsewhere(name);
            self.skip(path, why);
            return Ok(());
        }
        let part = FoundPart {
            file: self.file(path, kind)?,
            key: PartKey {
                cell,
                file_number: named.number,
            },
            total: named.total,
        };
        let tables = &mut self.found.tables;
        match tables.iter_mut().find(|known| {
            known.name == table
                && known.files == named.files
                && known.is_parquet == named.is_parquet
        }) {
            Some(known) => known.parts.push(part),
            None => tables.push(FoundTable {
                name: table,
                files: named.files,
                is_parquet: named.is_parquet,
                parts: vec![part],
            }),
        }
        Ok(())
    }

    fn file(&self, path: String, kind: LocationKind) -> Result<FoundFile> {
        if !self.is_in_zip {
            self.stay_inside(&path)?;
        }
        let LocationKind::File { bytes } = kind else {
            let reason = "has the name of a table's file, but is not a file";
            return Err(Error::new(ErrorKind::Failed, reason)
                .at(self.source.join(&path))
                .hint("move it away"));
        };
        Ok(FoundFile { path, bytes })
    }
}

/// The error for a name that the patterns of a description take apart in several ways.
pub(super) fn ambiguous(path: &Location, reason: String) -> Error {
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
