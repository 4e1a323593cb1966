//! The files of a release, at the top of a lake.
//!
//! [`SUMS`] is written before the other files and removed after them, so whatever is there of a
//! release is named in it with its digest: a file of this name that is somebody else's is known as
//! such and never touched, and a release that is not whole does not pass `sha256sum --check`.

use std::fs;

use sha2::{Digest, Sha256};

use super::bucket;
use super::disk::{read_if_there, remove_file, sync_directory};
use super::{HOME, Lake, MANIFEST};
use crate::error::{Error, ErrorKind, Result};
use crate::location::Location;
use crate::manifest::FileFacts;
use crate::seal::hex;
use crate::source::fingerprint;

/// The digests of all files of a released lake, as `sha256sum` writes them.
pub const SUMS: &str = "SHA256SUMS";
/// The dataset card.
pub const CARD: &str = "README.md";
/// The description as ML Commons Croissant.
pub const CROISSANT: &str = "croissant.json";
/// The description as a data package.
pub const DATA_PACKAGE: &str = "datapackage.json";

/// The files of a release beside [`SUMS`].
pub const RELEASE: [&str; 3] = [CARD, CROISSANT, DATA_PACKAGE];

/// A line of [`SUMS`]. Paths of a lake have no letter that `sha256sum` would escape.
#[must_use]
pub fn sums_line(sha256: &str, path: &str) -> String {
    format!("{sha256}  {path}")
}

/// The path, size and digest of the manifest on the disk.
///
/// # Errors
/// When it cannot be read.
pub fn manifest_facts(root: &Location) -> Result<FileFacts> {
    file_facts(root, &format!("{HOME}/{MANIFEST}"))
}

/// The path, size and digest of a file of a lake on the disk.
///
/// # Errors
/// When it cannot be read.
pub fn file_facts(root: &Location, path: &str) -> Result<FileFacts> {
    let found = fingerprint(root.join(path))?;
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
    let path = root.join(SUMS);
    let bytes = match &path {
        Location::Disk(path) if !fs::symlink_metadata(path).is_ok_and(|found| found.is_file()) => {
            None
        }
        Location::Disk(path) => read_if_there(path)?,
        Location::Url(_) => bucket::read_if_there(&path)?,
    };
    let Some(bytes) = bytes else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let manifest = format!("{HOME}/{MANIFEST}");
    let named = |path: &str| {
        let end = sums_line("", path);
        text.lines().any(|line| line.ends_with(&end))
    };
    let ours = RELEASE.into_iter().chain([&manifest[..]]).all(named);
    Ok(ours.then_some(text))
}

impl Lake {
    /// Puts the files of a release into the lake, in place of those of an earlier one.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] when a file of such a name is not of a release; when the disk fails,
    /// and then [`SUMS`] names what is not there.
    pub fn put_release(&self, sums: &str, files: &[(&str, Vec<u8>)]) -> Result<()> {
        self.withdraw_release()?;
        let files = files.iter().map(|(name, bytes)| (*name, &bytes[..]));
        let files: Vec<(&str, &[u8])> = files.collect();
        let all = || std::iter::once((SUMS, sums.as_bytes())).chain(files.iter().copied());
        for (name, bytes) in all() {
            let path = self.root().join(name);
            let other = || Ok(fingerprint(&path)?.sha256 != hex(&Sha256::digest(bytes)));
            if path.is_there()? && other()? {
                return Err(Error::new(ErrorKind::Refused, "is not of a release")
                    .at(path)
                    .hint("move it away, then run the same command again"));
            }
        }
        for (name, bytes) in all() {
            self.write_whole(name, bytes)?;
        }
        if self.root().as_path().is_some() {
            self.clear_staging()?;
            sync_directory(&self.home(""))?;
        }
        Ok(())
    }

    /// Removes the files of a release, because the lake that they describe is about to change.
    ///
    /// # Errors
    /// As [`Lake::release_files`]; when the disk fails.
    pub(super) fn withdraw_release(&self) -> Result<()> {
        let files = self.release_files()?;
        if let Location::Url(root) = self.root() {
            return files
                .iter()
                .try_for_each(|file| root.remove_all(&[(*file).to_owned()]));
        }
        for file in &files {
            remove_file(&self.directory().join(file))?;
        }
        if files.is_empty() {
            return Ok(());
        }
        sync_directory(self.directory())
    }

    /// The existing files of a release, [`SUMS`] last; none where there is no release.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] when one of them was changed since: somebody's work would be lost.
    pub fn release_files(&self) -> Result<Vec<&'static str>> {
        let Some(sums) = release_sums(self.root())? else {
            return Ok(Vec::new());
        };
        let mut files = Vec::new();
        for name in RELEASE {
            let path = self.root().join(name);
            if !path.is_there()? {
                continue;
            }
            let line = sums_line(&fingerprint(&path)?.sha256, name);
            if !sums.lines().any(|one| one == line) {
                return Err(
                    Error::new(ErrorKind::Refused, "was changed since the release")
                        .at(path)
                        .hint("move it away, then run the same command again"),
                );
            }
            files.push(name);
        }
        files.push(SUMS);
        Ok(files)
    }
}
