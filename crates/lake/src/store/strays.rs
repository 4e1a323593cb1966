//! Outputs that no facts name: found, refused or removed.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::PathBuf;

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::words::{for_shell, several};
use tracelake_location::Location;

use super::disk::{inside_directory, read_if_there, remove_file, sync_directory};
use super::outputs::is_output;
use super::{Lake, bucket, disk};
use crate::manifest::Manifest;

/// The list of outputs that are being removed, in the home of the lake.
const STRAYS: &str = "strays.txt";

/// The outputs and rejects files of these tables that are in a lake, whether a manifest names them or not.
///
/// # Errors
/// When the disk or the store fails.
pub fn files(root: &Location, tables: &BTreeSet<&str>) -> Result<Vec<String>> {
    match root {
        Location::Disk(root) => disk::files(root, tables),
        Location::Url(root) => bucket::files(root, tables),
    }
}

/// The files in the directories of these tables that no plan can have named, at any depth.
///
/// # Errors
/// When the disk or the store fails; [`ErrorKind::Refused`] for a symbolic link.
pub fn foreign_files(root: &Location, tables: &BTreeSet<&str>) -> Result<Vec<String>> {
    match root {
        Location::Disk(root) => disk::foreign_files(root, tables),
        Location::Url(root) => bucket::foreign_files(root, tables),
    }
}

impl Lake {
    /// The outputs of `tables` that a manifest doesn't name.
    pub(super) fn unnamed(
        &self,
        manifest: &Manifest,
        tables: &BTreeSet<&str>,
    ) -> Result<Vec<String>> {
        let named = named(manifest);
        let mut strays = files(&self.root, tables)?;
        strays.retain(|file| !named.contains(file.as_str()) && is_output(file));
        Ok(strays)
    }

    /// Removes the outputs of `tables` that the manifest of a finished lake doesn't name, and returns them.
    ///
    /// # Errors
    /// When the disk or the store fails.
    pub fn remove_unnamed(
        &self,
        manifest: &Manifest,
        tables: &BTreeSet<&str>,
    ) -> Result<Vec<String>> {
        let strays = self.unnamed(manifest, tables)?;
        match &self.root {
            Location::Url(root) => root.remove_all(&strays)?,
            Location::Disk(_) => self.remove_strays(manifest, &strays)?,
        }
        Ok(strays)
    }

    /// Removes outputs that a manifest doesn't name for good: after a power cut, they don't come back beside it.
    /// They are listed while this is done, so that the run after a kill knows of those that are gone already.
    pub(super) fn remove_strays(&self, manifest: &Manifest, strays: &[String]) -> Result<()> {
        let list = self.home(STRAYS);
        let listed = read_if_there(&list)?.unwrap_or_default();
        let listed = String::from_utf8_lossy(&listed);
        let named = named(manifest);
        let left = listed
            .lines()
            .filter(|stray| is_output(stray) && !named.contains(stray));
        let strays: BTreeSet<&str> = strays.iter().map(String::as_str).chain(left).collect();
        if strays.is_empty() {
            return Ok(());
        }
        let lines: String = strays.iter().map(|stray| format!("{stray}\n")).collect();
        fs::write(&list, lines).map_err(|error| Error::io("write", &list, error))?;
        let mut changed = BTreeSet::new();
        for stray in strays {
            changed.insert(self.remove_stray(stray)?);
        }
        let mut changed = changed.iter().filter(|directory| directory.is_dir());
        changed.try_for_each(|directory| sync_directory(directory))
    }

    /// Removes an output, and returns the directory that has changed.
    fn remove_stray(&self, stray: &str) -> Result<PathBuf> {
        let root = self.directory();
        let mut removed = inside_directory(root, stray)?;
        remove_file(&removed)?;
        // A directory goes with its last file; where others have put something, it stays.
        while removed.pop() && removed != root {
            match fs::remove_dir(&removed) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => break,
                _ => {}
            }
        }
        Ok(removed)
    }

    /// Removes the list of outputs that were removed.
    pub(super) fn forget_strays(&self) -> Result<()> {
        remove_file(&self.home(STRAYS))
    }
}

/// The files that a manifest names.
fn named(manifest: &Manifest) -> BTreeSet<&str> {
    manifest.files().map(|file| file.path.as_str()).collect()
}

/// How many unnamed outputs an error names.
const UNNAMED_SHOWN: usize = 5;

/// The error for outputs that no facts name, of which there are some.
pub(super) fn unnamed_outputs(root: &Location, strays: &[String]) -> Error {
    let shown = strays.iter().take(UNNAMED_SHOWN).map(String::as_str);
    let shown: Vec<&str> = shown.collect();
    let more = match strays.len().saturating_sub(UNNAMED_SHOWN) as u64 {
        0 => String::new(),
        more => format!(" and {}", several(more, "more file")),
    };
    let reason = format!("outputs that no run recorded: {}{more}", shown.join(", "));
    let root_in_shell = for_shell(root);
    Error::new(ErrorKind::Refused, reason).at(root).hint(format!(
        "move them away, or finish with tracelake commit {root_in_shell} --remove-unnamed, which removes them"
    ))
}
