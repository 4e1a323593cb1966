//! Outputs that no facts name: found, refused or removed.

use std::collections::BTreeSet;

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::part_key::{CELL, FILE_NUMBER};
use tracelake_core::words::{for_shell, several};
use tracelake_location::Location;

use super::Lake;
use super::backend::{Backend, backend};
use super::outputs::{LakeDirectory, ends_in, is_output};
use crate::manifest::{Manifest, REJECTS};

/// The list of outputs that are being removed, in the home of the lake.
pub(super) const STRAYS: &str = "_tracelake/strays.txt";

/// The outputs and rejects files of these tables that are in a lake, whether a manifest names them or not.
///
/// # Errors
/// When the disk or the store fails; [`ErrorKind::Refused`] for a symbolic link.
pub fn files(root: &Location, tables: &BTreeSet<&str>) -> Result<Vec<String>> {
    files_in(&*backend(root), tables, |_| true)
}

/// The files of these tables that are wanted, sorted.
fn files_in(
    backend: &dyn Backend,
    tables: &BTreeSet<&str>,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Vec<String>> {
    let outputs = tables.iter().map(|&table| table.to_owned());
    let rejects = tables.iter().map(|table| format!("{REJECTS}/{table}"));
    let directories: Vec<String> = outputs.chain(rejects).collect();
    let mut files = Vec::new();
    backend.list(&directories, &mut |listed| {
        let (directory, name) = listed.path.rsplit_once('/').unwrap_or_default();
        if name.starts_with(CELL) || name.starts_with(FILE_NUMBER) {
            // A link in the place of a directory.
            backend.inside(&listed.path)?;
        }
        let is_here = LakeDirectory::of(directory).is_some_and(|place| {
            let is_part = name.starts_with("part-") && ends_in(name, place.suffixes);
            tables.contains(place.table) && is_part
        });
        if is_here && is_wanted(&listed.path) {
            files.push(listed.path);
        }
        Ok(())
    })?;
    files.sort_unstable();
    Ok(files)
}

/// The files in the directories of these tables that no plan can have named, at any depth.
///
/// # Errors
/// When the disk or the store fails; [`ErrorKind::Refused`] for a symbolic link.
pub fn foreign_files(root: &Location, tables: &BTreeSet<&str>) -> Result<Vec<String>> {
    let directories: Vec<String> = tables.iter().map(|&table| table.to_owned()).collect();
    let mut files = Vec::new();
    backend(root).list(&directories, &mut |listed| {
        if !is_output(&listed.path) {
            files.push(listed.path);
        }
        Ok(())
    })?;
    files.sort_unstable();
    Ok(files)
}

impl Lake {
    /// The outputs of `tables` that a manifest doesn't name.
    pub(super) fn unnamed(
        &self,
        manifest: &Manifest,
        tables: &BTreeSet<&str>,
    ) -> Result<Vec<String>> {
        let named = named(manifest);
        files_in(&*self.backend, tables, |file| {
            !named.contains(file) && is_output(file)
        })
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
        match self.is_alone() {
            true => self.remove_strays(manifest, &strays)?,
            false => self.backend.remove(&strays)?,
        }
        Ok(strays)
    }

    /// Removes outputs that a manifest doesn't name for good: after a power cut, they don't come back beside it.
    /// They are listed while this is done, so that the run after a kill knows of those that are gone already.
    pub(super) fn remove_strays(&self, manifest: &Manifest, strays: &[String]) -> Result<()> {
        let list = self.backend.read(STRAYS)?;
        let bytes = list.map(|(bytes, _)| bytes).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let named = named(manifest);
        let left = text
            .lines()
            .filter(|stray| is_output(stray) && !named.contains(stray))
            .map(str::to_owned);
        let removed: BTreeSet<String> = strays.iter().cloned().chain(left).collect();
        if removed.is_empty() {
            return Ok(());
        }
        let lines: String = removed.iter().map(|stray| format!("{stray}\n")).collect();
        self.write_whole(STRAYS, lines.as_bytes())?;
        self.backend
            .remove(&removed.into_iter().collect::<Vec<_>>())
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
    let first = strays.iter().take(UNNAMED_SHOWN);
    let shown: Vec<&str> = first.map(String::as_str).collect();
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
