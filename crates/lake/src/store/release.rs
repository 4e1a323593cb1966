//! The files of a release, at the top of a lake.
//!
//! [`SUMS`] is written last and removed first, so a lake that has it has everything that it names. While the other
//! files are written or removed, a copy of it is in the lake's home, so whatever is there of a release is named in
//! one of the two with its digest: a file of this name that isn't of a release is known as such and never touched.

use std::fmt::Display;

use tracelake_core::Context;
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_location::Location;
use tracelake_source::fingerprint;

use super::backend::{Backend, backend};
use super::{Lake, MANIFEST};
use crate::manifest::FileFacts;

/// The digests of all files of a released lake, as `sha256sum` writes them.
pub const SUMS: &str = "SHA256SUMS";
/// The dataset card.
pub const CARD: &str = "README.md";
/// The description as ML Commons Croissant.
pub const CROISSANT: &str = "croissant.json";
/// The description as a data package.
pub const DATA_PACKAGE: &str = "datapackage.json";

/// The copy of [`SUMS`] while the other files are written or removed.
const PENDING: &str = "_tracelake/SHA256SUMS";

/// The files of a release beside [`SUMS`].
pub const RELEASE: [&str; 3] = [CARD, CROISSANT, DATA_PACKAGE];

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

/// The digests in a file of the lake; `None` if there is no such file, or it isn't of a release.
fn sums_at(backend: &dyn Backend, name: &str) -> Result<Option<String>> {
    let Some(bytes) = read_file(backend, name)? else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let named = |path: &str| {
        let end = sums_line("", path);
        text.lines().any(|line| line.ends_with(&end))
    };
    let ours = RELEASE.into_iter().chain([MANIFEST]).all(named);
    Ok(ours.then_some(text))
}

/// The bytes of a file; `None` if there is nothing, or something else than a file.
fn read_file(backend: &dyn Backend, name: &str) -> Result<Option<Vec<u8>>> {
    match backend.read(name) {
        Err(error) if error.kind() == ErrorKind::Refused => Ok(None),
        read => Ok(read?.map(|(bytes, _)| bytes)),
    }
}

impl Lake {
    /// Puts the files of a release of the manifest with this digest into the lake, in place of those of an earlier
    /// one.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] when a file of such a name is not of a release, or, in a bucket, when the lake changes
    /// at the same time; when the disk fails.
    pub fn put_release(
        &self,
        sums: &str,
        files: &[(&str, Vec<u8>)],
        manifest: Digest,
    ) -> Result<()> {
        self.withdraw_release()?;
        let all = || {
            std::iter::once((SUMS, sums.as_bytes()))
                .chain(files.iter().map(|(name, bytes)| (*name, &bytes[..])))
        };
        for (name, bytes) in all() {
            let path = self.root().join(name);
            if path.is_there()? && self.read_file(name)?.as_deref() != Some(bytes) {
                return Err(Error::new(ErrorKind::Refused, "is not of a release")
                    .at(path)
                    .hint("move it away, then run the same command again"));
            }
        }
        self.write_whole(PENDING, sums.as_bytes())?;
        for (name, bytes) in files {
            self.write_whole(name, bytes)?;
        }
        self.write_whole(SUMS, sums.as_bytes())?;
        let now = self.read_file(MANIFEST)?;
        if now.is_none_or(|bytes| Digest::of(&bytes) != manifest) {
            // A run has added to the lake, and has missed this release.
            self.withdraw_release()?;
            let reason = "the lake changed while it was released";
            return Err(Error::new(ErrorKind::Refused, reason)
                .at(self.root())
                .hint("once no other run works on it, run the same command again"));
        }
        self.remove_release_files(&[PENDING])?;
        self.backend.clear_staging().map(drop)
    }

    /// Removes the files of a release, because the lake that they describe is about to change.
    ///
    /// # Errors
    /// As [`Lake::check_release`]; when the disk fails.
    pub(super) fn withdraw_release(&self) -> Result<()> {
        let sums = self.sums()?;
        let [whole, pending] = &sums;
        if whole.is_none() && pending.is_none() {
            return Ok(());
        }
        let files = self.files_in(&sums)?;
        if let Some(whole) = whole {
            self.write_whole(PENDING, whole.as_bytes())?;
            self.remove_release_files(&[SUMS])?;
        }
        self.remove_release_files(&files)?;
        self.remove_release_files(&[PENDING])
    }

    fn remove_release_files(&self, names: &[&str]) -> Result<()> {
        let paths = names.iter().map(|&name| name.to_owned());
        self.backend.remove(&paths.collect::<Vec<_>>())
    }

    fn read_file(&self, name: &str) -> Result<Option<Vec<u8>>> {
        read_file(&*self.backend, name)
    }

    /// The digests of a release, and those of one that is being written or removed.
    fn sums(&self) -> Result<[Option<String>; 2]> {
        let backend = &*self.backend;
        Ok([sums_at(backend, SUMS)?, sums_at(backend, PENDING)?])
    }

    /// Checks that the files of a release, if there is one, are as they were written.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] when one of them was changed since, so that work would be lost.
    pub fn check_release(&self) -> Result<()> {
        self.files_in(&self.sums()?).map(|_| ())
    }

    /// The existing files beside [`SUMS`] that one of these names; none where there are no digests.
    fn files_in(&self, sums: &[Option<String>]) -> Result<Vec<&'static str>> {
        let mut files = Vec::new();
        if sums.iter().all(Option::is_none) {
            return Ok(files);
        }
        for name in RELEASE {
            let Some(bytes) = self.read_file(name)? else {
                continue;
            };
            let line = sums_line(Digest::of(&bytes), name);
            let mut named = sums.iter().flatten().flat_map(|sums| sums.lines());
            if !named.any(|one| one == line) {
                return Err(
                    Error::new(ErrorKind::Refused, "was changed since the release")
                        .at(self.root().join(name))
                        .hint("move it away, then run the same command again"),
                );
            }
            files.push(name);
        }
        Ok(files)
    }
}
