//! Lists a directory: on disk, below a prefix of a bucket, or by the `SHA256SUM` of a web server's
//! directory.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};

use crate::disk;
use crate::entry::{Entry, LocationKind, SUMS};
use crate::location::Location;
use crate::url::stays_inside;

/// The largest list that is read, in bytes: more than a hundred thousand lines. A trace has about two thousand.
pub const SUMS_LIMIT: u64 = 16 << 20;

/// The file with the order of columns, which a list of files may leave out.
const SCHEMA_CSV: &str = "schema.csv";

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
            Location::Url(url) if !url.is_bucket() => Some(files_on_web(root)?),
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
                let names =
                    disk::names(directory).map_err(|error| Error::io("list", directory, error))?;
                let texts = names.into_iter().filter_map(|name| name.into_string().ok());
                let entry = |name: String| {
                    let kind = here.join(&name).kind().ok().flatten();
                    let kind = kind.unwrap_or(LocationKind::Other);
                    Entry { name, kind }
                };
                texts.map(entry).collect()
            }
            (Location::Url(url), None) => url.entries()?,
            (Location::Url(_), Some(files)) => web_entries(files, path),
        };
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }
}

/// The paths that a web server's `SHA256SUM` lists.
fn files_on_web(root: &Location) -> Result<BTreeSet<String>> {
    let sums = root.join(SUMS);
    if !sums.is_there()? {
        let reason =
            "there is no file of this name, and no SHA256SUM that would make it a directory";
        return Err(Error::new(ErrorKind::Failed, reason).at(root).hint(
            "check the URL; a web server's directory needs a SHA256SUM that lists its files",
        ));
    }
    let bytes = sums.read_small(SUMS_LIMIT)?;
    let lines = bytes
        .split(|&byte| byte == b'\n')
        .map(String::from_utf8_lossy);
    let path = |line: Cow<'_, str>| {
        let (_, path) = checksum_line(line.trim_end_matches('\r'))?;
        // A list comes from strangers: what leads out of the directory isn't in it.
        stays_inside(path).then(|| path.to_owned())
    };
    let mut files: BTreeSet<String> = lines.filter_map(path).collect();
    files.insert(SUMS.to_owned());
    if !files.contains(SCHEMA_CSV) && root.join(SCHEMA_CSV).is_file()? {
        files.insert(SCHEMA_CSV.to_owned());
    }
    Ok(files)
}

/// Lists a web server's directory: listed files, and the directories of listed files. The server isn't asked whether it
/// has them, nor how large they are: a list may have a hundred thousand.
fn web_entries(files: &BTreeSet<String>, path: &str) -> Vec<Entry> {
    let prefix = match path {
        "" => String::new(),
        path => format!("{path}/"),
    };
    let below = files.range(prefix.clone()..);
    let below = below.map_while(|file| file.strip_prefix(&prefix));
    let mut entries = BTreeMap::new();
    for below in below {
        let (name, kind) = match below.split_once('/') {
            None => (below, LocationKind::File { bytes: None }),
            Some((directory, _)) => (directory, LocationKind::Directory),
        };
        entries.entry(name).or_insert(kind);
    }
    let entry = |(name, kind): (&str, LocationKind)| Entry {
        name: name.to_owned(),
        kind,
    };
    entries.into_iter().map(entry).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_files_are_taken_to_be_there() {
        let files = ["SHA256SUM", "a-b", "a/1.csv", "a/2.csv", "a/b/3.csv", "b"];
        let files: BTreeSet<String> = files.map(str::to_owned).into();
        let names = |path: &str| {
            let entries = web_entries(&files, path).into_iter();
            let shown = entries.map(|entry| match entry.kind {
                LocationKind::Directory => format!("{}/", entry.name),
                _ => entry.name,
            });
            shown.collect::<Vec<_>>()
        };
        assert_eq!(names(""), ["SHA256SUM", "a/", "a-b", "b"]);
        assert_eq!(names("a"), ["1.csv", "2.csv", "b/"]);
        assert_eq!(names("c"), [""; 0]);
    }
}
