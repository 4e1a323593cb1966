//! Lists a directory: on disk, below a prefix of a bucket, or by the `SHA256SUM` of a web server's
//! directory.

use std::collections::BTreeSet;
use std::fs;

use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};

use super::entry::{Entry, LocationKind, SUMS};
use super::{Location, Url, objects};
use crate::directory;

/// The largest list that is read, in bytes: a hundred thousand lines. A trace has about two thousand.
pub const SUMS_LIMIT: u64 = 16 << 20;

/// A directory whose names can be listed.
#[derive(Debug)]
pub struct Listing {
    root: Location,
    /// Of a web server, the paths of all files.
    files: Option<BTreeSet<String>>,
}

impl Listing {
    /// Prepares to list what is in `root`.
    ///
    /// # Errors
    /// If `root` is a web server's directory without a `SHA256SUM`, or that file can't be read.
    pub fn of(root: &Location) -> Result<Self> {
        let files = match root {
            Location::Url(url) if url.is_web() => Some(files_on_web(root)?),
            _ => None,
        };
        Ok(Self {
            root: root.clone(),
            files,
        })
    }

    /// The names in a directory, sorted; its path is relative to the root, and empty for the root itself.
    /// Names that aren't UTF-8 are left out.
    ///
    /// # Errors
    /// If it can't be listed.
    pub fn entries(&self, path: &str) -> Result<Vec<Entry>> {
        let here = match path {
            "" => self.root.clone(),
            path => self.root.join(path),
        };
        let mut entries = match (&here, &self.files) {
            (Location::Disk(directory), _) => {
                let names = directory::names(directory)
                    .map_err(|error| Error::io("list", directory, error))?;
                let texts = names.into_iter().filter_map(|name| name.into_string().ok());
                let entry = |name: String| {
                    let kind = match fs::metadata(directory.join(&name)) {
                        Ok(found) if found.is_dir() => LocationKind::Directory,
                        Ok(found) if found.is_file() => LocationKind::File { bytes: found.len() },
                        _ => LocationKind::Other,
                    };
                    let etag = None;
                    Entry { name, kind, etag }
                };
                texts.map(entry).collect()
            }
            (Location::Url(url), None) => objects::list(url)?,
            (Location::Url(url), Some(files)) => web_entries(url, files, path)?,
        };
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }
}

/// The paths that a web server's `SHA256SUM` lists.
fn files_on_web(root: &Location) -> Result<BTreeSet<String>> {
    let sums = root.join(SUMS);
    if !matches!(sums.kind()?, Some(LocationKind::File { .. })) {
        let reason =
            "there is no file of this name, and no SHA256SUM that would make it a directory";
        return Err(Error::new(ErrorKind::Failed, reason).at(root).hint(
            "check the URL; a web server's directory needs a SHA256SUM that lists its files",
        ));
    }
    let bytes = sums.read_small(SUMS_LIMIT)?;
    let text = String::from_utf8_lossy(&bytes);
    let paths = text.lines().filter_map(checksum_line).map(|(_, path)| path);
    // A list comes from strangers: what leads out of the directory isn't in it.
    let is_inside = |path: &&str| !path.split('/').any(|name| matches!(name, "" | "." | ".."));
    let own = [SUMS, "schema.csv"].into_iter();
    let all = paths.filter(is_inside).chain(own);
    Ok(all.map(str::to_owned).collect())
}

/// Lists a web server's directory: listed files that exist, and the directories of listed files.
fn web_entries(url: &Url, files: &BTreeSet<String>, path: &str) -> Result<Vec<Entry>> {
    let prefix = match path {
        "" => String::new(),
        path => format!("{path}/"),
    };
    let below = files.iter().filter_map(|file| file.strip_prefix(&prefix));
    let (mut names, mut directories) = (Vec::new(), BTreeSet::new());
    for below in below {
        match below.split_once('/') {
            None => names.push(below.to_owned()),
            Some((directory, _)) => {
                directories.insert(directory.to_owned());
            }
        }
    }
    let sizes = objects::sizes(names.iter().map(|name| url.join(name)).collect())?;
    let files = names.into_iter().zip(sizes).filter_map(|(name, bytes)| {
        let kind = LocationKind::File { bytes: bytes? };
        let etag = None;
        Some(Entry { name, kind, etag })
    });
    let directory = |name| Entry {
        name,
        kind: LocationKind::Directory,
        etag: None,
    };
    Ok(files
        .chain(directories.into_iter().map(directory))
        .collect())
}

/// The digest and the path of a line as `sha256sum` writes it: 64 hexadecimal digits, two spaces (or a
/// space and `*`), and a path.
#[must_use]
pub fn checksum_line(line: &str) -> Option<(Digest, &str)> {
    let (digest, path) = line.split_at_checked(64)?;
    let path = path
        .strip_prefix("  ")
        .or_else(|| path.strip_prefix(" *"))?;
    Some((
        digest.to_ascii_lowercase().parse().ok()?,
        path.strip_prefix("./").unwrap_or(path),
    ))
}
