//! The files of a release, at the top of a lake, and the Delta logs in the directories of its tables.
//!
//! While they are written, a copy of the next [`SUMS`] is in the lake's home. So whatever is there of a release is named
//! with its digest in one of the two, and a file of such a name that isn't of a release, or was edited, is known as such
//! and never replaced.

use std::collections::BTreeSet;
use std::fmt::Display;

use serde::Deserialize;
use tracelake_core::Context;
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_location::Location;
use tracelake_source::fingerprint;

use crate::MANIFEST;
use crate::backend::waits::TRIALS;
use crate::backend::{Backend, Hold, Stored, backend, paths_of};
use crate::conditional::refused;
use crate::look::Lake;
use crate::manifest::{self, FileFacts, Manifest};
use crate::outputs::{delta_logs, is_delta_log};
use crate::session::Session;

/// The digests of all files of a released lake, as `sha256sum` writes them.
pub const SUMS: &str = "SHA256SUMS";
/// The dataset card.
pub const CARD: &str = "README.md";
/// The description as ML Commons Croissant.
pub const CROISSANT: &str = "croissant.json";
/// The description as a data package.
pub const DATA_PACKAGE: &str = "datapackage.json";

/// The description as RO-Crate.
pub const RO_CRATE: &str = "ro-crate-metadata.json";
/// How to cite the lake.
pub const CITATION: &str = "CITATION.cff";
/// The metadata that Zenodo shows for an upload.
pub const ZENODO: &str = ".zenodo.json";
/// The statements of the lake's publisher. A release writes the file once, and never replaces it.
pub const PUBLISHER: &str = "_tracelake/release.toml";
/// [`PUBLISHER`] as a release writes it: nothing is filled in.
pub const TEMPLATE: &str = include_str!("release.toml");

/// The copy of the next [`SUMS`] while the files are written.
const PENDING: &str = "_tracelake/SHA256SUMS";

/// The files that every release has beside [`SUMS`].
const ALWAYS: [&str; 3] = [CARD, CROISSANT, DATA_PACKAGE];

/// The files at the top of a lake that a release may have beside [`SUMS`].
pub const RELEASE: [&str; 6] = [CARD, CROISSANT, DATA_PACKAGE, RO_CRATE, CITATION, ZENODO];

/// Whether a path, relative to the lake, is one that a release writes, now or once; [`SUMS`] is none.
#[must_use]
pub fn is_of_releases(path: &str) -> bool {
    RELEASE.contains(&path) || path == PUBLISHER || is_delta_log(path)
}

/// The paths of a release that the text of [`SUMS`] names, with their digests, in its order.
pub fn named_by(sums: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = sums.lines().filter_map(|line| line.split_once("  "));
    lines.filter_map(|(sha256, path)| is_of_releases(path).then_some((path, sha256)))
}

/// A line of [`SUMS`]. Paths of a lake have no letter that `sha256sum` would escape.
#[must_use]
pub fn sums_line(sha256: impl Display, path: &str) -> String {
    format!("{sha256}  {path}")
}

/// The path, size and digest of the manifest on the disk.
///
/// # Errors
/// When it cannot be read.
pub fn manifest_facts(context: &Context, root: &Location) -> Result<FileFacts> {
    file_facts(context, root, MANIFEST)
}

/// The path, size and digest of a file of a lake on the disk.
///
/// # Errors
/// When it cannot be read.
pub fn file_facts(context: &Context, root: &Location, path: &str) -> Result<FileFacts> {
    let found = fingerprint(context, root.join(path))?;
    Ok(FileFacts {
        path: path.to_owned(),
        bytes: found.bytes,
        sha256: found.sha256,
    })
}

/// The text of [`SUMS`] where a release is there; `None` where a file of this name is not ours.
///
/// # Errors
/// When it cannot be read.
pub fn release_sums(root: &Location) -> Result<Option<String>> {
    sums_at(&*backend(root), SUMS)
}

/// The Delta logs that are there, of those that a release of this lake can have.
///
/// # Errors
/// When the disk or the store fails.
pub fn existing_delta_logs(root: &Location, manifest: &Manifest) -> Result<Vec<String>> {
    let found = backend(root).look_up(&delta_logs(manifest))?;
    Ok(paths_of(found))
}

/// The digests in a file of the lake; `None` if there is no such file, or it isn't of a release.
fn sums_at(backend: &dyn Backend, name: &str) -> Result<Option<String>> {
    let Some(found) = read_file(backend, name)? else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&found.bytes).into_owned();
    let named = |path: &str| {
        let end = sums_line("", path);
        text.lines().any(|line| line.ends_with(&end))
    };
    let ours = ALWAYS.into_iter().chain([MANIFEST]).all(named);
    Ok(ours.then_some(text))
}

/// The largest file of a release that is read, in bytes: the list of all files of a lake.
const MOST_BYTES: u64 = 256 << 20;

/// The largest file of the publisher, in bytes.
const MOST_OF_PUBLISHER: u64 = 64 << 10;

/// The bytes of [`PUBLISHER`]; those of [`TEMPLATE`] if there is no such file.
///
/// # Errors
/// [`ErrorKind::Corrupt`] if it is larger than 64 KiB; when it can't be read.
pub fn publisher_file(root: &Location) -> Result<Vec<u8>> {
    let found = backend(root).get(PUBLISHER, MOST_OF_PUBLISHER)?;
    Ok(found.map_or_else(|| TEMPLATE.as_bytes().to_vec(), |found| found.bytes))
}

/// The day in the [`CROISSANT`] of a release, whatever it is; `None` if there is none.
///
/// # Errors
/// When it can't be read.
pub fn release_day(root: &Location) -> Result<Option<String>> {
    #[derive(Deserialize)]
    struct Dated {
        #[serde(rename = "datePublished")]
        date: Option<String>,
    }
    let found = read_file(&*backend(root), CROISSANT)?;
    let dated = found.and_then(|found| serde_json::from_slice(&found.bytes).ok());
    Ok(dated.and_then(|dated: Dated| dated.date))
}

/// A file; `None` if there is nothing, or something else than a file.
fn read_file(backend: &dyn Backend, name: &str) -> Result<Option<Stored>> {
    match backend.get(name, MOST_BYTES) {
        Err(error) if error.kind() == ErrorKind::Refused => Ok(None),
        read => read,
    }
}

/// A lake that is being released.
#[derive(Debug)]
pub struct Releasing(Session);

impl Releasing {
    /// Begins to release the lake at `root`, beside runs that add to it.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] when another process has it alone; when the disk fails.
    pub fn begin(context: &Context, root: &Location) -> Result<Self> {
        let lake = Lake::at(&root.within(context));
        Session::begin(&lake, Hold::Shared).map(Self)
    }

    /// Puts the files of a release of the manifest with this digest into the lake, in place of those of an earlier one:
    /// paths relative to the lake, which may be in folders, and bytes. A file of the earlier one that isn't among them is
    /// removed.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] when a file of such a name is not of a release, or was edited; when a run has changed the
    /// lake; when the disk or the store fails.
    pub fn put(mut self, sums: &str, files: &[(String, Vec<u8>)], manifest: Digest) -> Result<()> {
        put(&self.0.lake, sums, files, manifest)?;
        self.0.leave(None)
    }
}

fn put(lake: &Lake, sums: &str, files: &[(String, Vec<u8>)], manifest: Digest) -> Result<()> {
    let (backend, root) = (&*lake.backend, lake.root());
    let known = [sums_at(backend, SUMS)?, sums_at(backend, PENDING)?];
    for (path, bytes) in files {
        if let Some(found) = backend.get(path, MOST_BYTES)?
            && found.bytes != *bytes
        {
            check_of_release(root, &known, path, &found)?;
        }
    }
    if backend.get(SUMS, MOST_BYTES)?.is_some() && known[0].is_none() {
        return Err(not_ours(root, SUMS, "is not of a release"));
    }
    let named = known.iter().flatten().flat_map(|sums| named_by(sums));
    let mut gone: BTreeSet<&str> = named.map(|(path, _)| path).collect();
    for (path, _) in files {
        gone.remove(&**path);
    }
    let mut removed = Vec::new();
    for path in gone {
        if let Some(found) = backend.get(path, MOST_BYTES)? {
            check_of_release(root, &known, path, &found)?;
            removed.push(path.to_owned());
        }
    }
    replace(backend, PENDING, sums.as_bytes())?;
    for (path, bytes) in files {
        replace(backend, path, bytes)?;
    }
    // While the old list is there, which names them.
    backend.remove(&removed)?;
    replace(backend, SUMS, sums.as_bytes())?;
    let now = read_file(backend, MANIFEST)?;
    if now.is_none_or(|found| found.version.sha256 != manifest) {
        let reason = "the lake changed while it was released";
        return Err(Error::new(ErrorKind::Refused, reason)
            .at(root)
            .hint("once no other run works on it, run the same command again"));
    }
    backend.remove(&[PENDING.to_owned()])
}

/// Refuses a file whose digest no release names.
fn check_of_release(
    root: &Location,
    known: &[Option<String>],
    path: &str,
    found: &Stored,
) -> Result<()> {
    let line = sums_line(found.version.sha256, path);
    let mut lines = known.iter().flatten().flat_map(|sums| sums.lines());
    if lines.any(|one| one == line) {
        return Ok(());
    }
    let reason = match known.iter().any(Option::is_some) {
        true => "was changed since the release",
        false => "is not of a release",
    };
    Err(not_ours(root, path, reason))
}

fn not_ours(root: &Location, name: &str, reason: &str) -> Error {
    Error::new(ErrorKind::Refused, reason)
        .at(root.join(name))
        .hint("move it away, then run the same command again")
}

/// Puts a file in the place of what has its name.
fn replace(backend: &dyn Backend, path: &str, bytes: &[u8]) -> Result<()> {
    for _ in 0..TRIALS {
        let is_put = match backend.get(path, MOST_BYTES)? {
            Some(found) if found.bytes == bytes => {
                backend.keep_names(&[path.to_owned()])?;
                true
            }
            Some(found) => backend.swap(path, &found.version, bytes.to_vec())?,
            None => {
                let put = backend.put_if_absent(vec![(path.to_owned(), bytes.to_vec())])?;
                put.into_iter().next().unwrap_or(Ok(true))?
            }
        };
        if is_put {
            return Ok(());
        }
    }
    Err(refused(backend, path))
}

/// Whether the files of a release describe another manifest than the one with this digest; `None` if there is no release.
///
/// # Errors
/// When they cannot be read.
pub fn is_stale(root: &Location, manifest: Digest) -> Result<Option<bool>> {
    Ok(release_sums(root)?.map(|sums| is_of_another(&sums, manifest)))
}

fn is_of_another(sums: &str, manifest: Digest) -> bool {
    let line = sums_line(manifest, MANIFEST);
    !sums.lines().any(|one| one == line)
}

/// The warning about a release of an older manifest.
pub const STALE: &str = "the files of the release describe an older manifest: run release again before you publish the lake";

/// Says so after a commit.
pub(crate) fn warn_of_stale(context: &Context, backend: &dyn Backend) -> Result<()> {
    if let Some(sums) = sums_at(backend, SUMS)?
        && let Some(found) = backend.get(MANIFEST, manifest::MOST_BYTES)?
        && is_of_another(&sums, found.version.sha256)
    {
        context.warn(STALE);
    }
    Ok(())
}
