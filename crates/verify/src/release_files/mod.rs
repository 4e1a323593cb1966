//! The files of a release as bytes: checksums, and descriptions for people and catalogs. They depend on the manifest, the
//! catalog, what the publisher of the lake says, and a day, so `verify` can make them again.

mod citation;
mod completeness;
mod croissant;
mod data_package;
mod delta;
mod given;
mod limits;
mod making;
mod publisher;
mod rai;
mod readme;
mod released_lake;
mod ro_crate;
mod selection;

use serde::Serialize;
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_lake::manifest::{FileFacts, Manifest};
use tracelake_lake::{
    CARD, CITATION, CROISSANT, DATA_PACKAGE, DESCRIPTION, IDENTITY, PUBLISHER, RO_CRATE, ZENODO,
    sums_line,
};
use tracelake_schema::Trace;

pub(crate) use completeness::{Completeness, Gap, TableGap, completeness};
pub use completeness::{is_far_short, parts_alone};
pub(crate) use given::Given;
use released_lake::ReleasedLake;

/// The files of a release.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ReleaseFiles {
    /// The text of `SHA256SUMS`.
    pub sums: String,
    /// The other files: paths relative to the lake, which may be in folders, and bytes.
    pub files: Vec<(String, Vec<u8>)>,
    /// Statements that NeurIPS requires and the publisher of the lake hasn't made: keys of [`PUBLISHER`].
    pub lacking: Vec<&'static str>,
}

/// Makes the files of a release.
///
/// # Errors
/// [`ErrorKind::Corrupt`] if the manifest has a string or a path that tracelake never writes.
pub(crate) fn release_files(
    trace: &Trace,
    manifest: &Manifest,
    given: &Given,
) -> Result<ReleaseFiles> {
    let lake = ReleasedLake::new(trace, manifest, given)?;
    let mut files = vec![
        (CARD, readme::readme(&lake).into_bytes()),
        (CROISSANT, pretty(&croissant::croissant(&lake))?),
        (DATA_PACKAGE, pretty(&data_package::data_package(&lake))?),
        (PUBLISHER, given.publisher.clone()),
        (ZENODO, pretty(&citation::zenodo(&lake))?),
    ];
    files.extend(citation::citation(&lake).map(|text| (CITATION, text.into_bytes())));
    let mut files: Vec<(String, Vec<u8>)> = files
        .into_iter()
        .map(|(path, bytes)| (path.to_owned(), bytes))
        .collect();
    if given.has_delta_logs {
        files.extend(delta::delta_logs(&lake, &given.manifest));
    }
    // Without a day, a crate is none.
    if let Some(date) = lake.date() {
        let text = pretty(&ro_crate::ro_crate(&lake, date, &files))?;
        files.push((RO_CRATE.to_owned(), text));
    }
    let written = files
        .iter()
        .map(|(path, bytes)| (&**path, Digest::of(bytes).to_string()));
    let sums = sums(manifest, &given.manifest, written);
    let lacking = rai::lacking(&rai::statements(&lake));
    Ok(ReleaseFiles {
        sums,
        files,
        lacking,
    })
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

/// JSON over several lines. A page that shows it must not take a text for HTML.
fn pretty(value: &impl Serialize) -> Result<Vec<u8>> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Error::new(ErrorKind::Failed, error.to_string()))?;
    Ok((text.replace('<', "\\u003c") + "\n").into_bytes())
}

#[cfg(test)]
mod tests;
