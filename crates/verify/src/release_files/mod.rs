//! The files of a release as bytes: checksums, dataset card, Croissant, data package and Delta logs. They depend
//! on the manifest and the catalog alone, so `verify` can make them again.

mod completeness;
mod croissant;
mod data_package;
mod delta;
mod readme;
mod released_lake;
mod selection;

use serde_json::Value;
use tracelake_core::digest::Digest;
use tracelake_core::error::Result;
use tracelake_lake::manifest::{FileFacts, Manifest};
use tracelake_lake::{CARD, CROISSANT, DATA_PACKAGE, DESCRIPTION, IDENTITY, sums_line};
use tracelake_schema::Trace;

pub(crate) use completeness::{Completeness, Gap, TableGap, completeness};
pub use completeness::{is_far_short, parts_alone};
use released_lake::ReleasedLake;

/// The files of a release.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ReleaseFiles {
    /// The text of `SHA256SUMS`.
    pub sums: String,
    /// The other files: paths relative to the lake, which may be in folders, and bytes.
    pub files: Vec<(String, Vec<u8>)>,
}

/// The tables of a release that have Delta logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeltaLogs {
    /// No table.
    None,
    /// Every table.
    All,
}

/// Makes the files of a release; `manifest_file` is the manifest on the disk.
///
/// # Errors
/// [`ErrorKind::Corrupt`] if the manifest has a string or a path that tracelake never writes.
pub(crate) fn release_files(
    trace: &Trace,
    manifest: &Manifest,
    manifest_file: &FileFacts,
    delta_logs: DeltaLogs,
) -> Result<ReleaseFiles> {
    let lake = ReleasedLake::new(trace, manifest)?;
    let files = [
        (CARD, readme::readme(&lake).into_bytes()),
        (CROISSANT, pretty(&croissant::croissant(&lake))),
        (DATA_PACKAGE, pretty(&data_package::data_package(&lake))),
    ];
    let mut files = Vec::from(files.map(|(path, bytes)| (path.to_owned(), bytes)));
    if delta_logs == DeltaLogs::All {
        files.extend(delta::delta_logs(&lake, manifest_file));
    }
    let written = files
        .iter()
        .map(|(path, bytes)| (&**path, Digest::of(bytes).to_string()));
    let sums = sums(manifest, manifest_file, written);
    Ok(ReleaseFiles { sums, files })
}

/// The text of `SHA256SUMS`, sorted by path: outputs, rejects, manifest, identity, the description of a trace that isn't
/// built in, and `written`, which are the other files of the release with their digests.
pub(crate) fn sums<'a>(
    manifest: &'a Manifest,
    manifest_file: &'a FileFacts,
    written: impl Iterator<Item = (&'a str, String)>,
) -> String {
    let files = manifest.files().chain([manifest_file]);
    let recorded = files.map(|file| (&file.path[..], file.sha256.to_string()));
    let digest = manifest.origin.description.iter();
    let description = digest.map(|sha256| (DESCRIPTION, sha256.clone()));
    let identity = [(IDENTITY, manifest.lake.to_string())];
    let others = description.chain(identity).chain(written);
    let mut digests: Vec<(&str, String)> = recorded.chain(others).collect();
    digests.sort();
    let lines = digests
        .iter()
        .map(|(path, sha256)| sums_line(sha256, path) + "\n");
    lines.collect()
}

fn pretty(value: &Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
}

#[cfg(test)]
mod tests;
