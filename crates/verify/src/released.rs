//! The files of a release against what would be written again.

use std::collections::BTreeMap;

use tracelake_core::Context;
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_lake::manifest::Manifest;
use tracelake_lake::{
    CROISSANT, STALE, SUMS, file_facts, is_stale, manifest_facts, named_by, release_sums,
};
use tracelake_location::Location;
use tracelake_schema::Trace;

use super::finding::corrupt;
use crate::release_files::{release_files, sums};

/// The hint for a file of a release that has changed.
const AGAIN: &str = "run release again to restore it";

/// Finds what is wrong with the release of a lake; nothing where there is none.
///
/// # Errors
/// When the manifest cannot be described, or the disk fails.
pub(super) fn verify_release(
    context: &Context,
    root: &Location,
    trace: &Trace,
    manifest: &Manifest,
) -> Result<Vec<Error>> {
    let Some(found) = release_sums(root)? else {
        let path = root.join(CROISSANT);
        if path.is_there()? {
            let finding = corrupt(format!("there is no {SUMS} that names it"));
            return Ok(vec![finding.at(path).hint(AGAIN)]);
        }
        return Ok(Vec::new());
    };
    let manifest_file = manifest_facts(context, root)?;
    if is_stale(root, manifest_file.sha256)? == Some(true) {
        context.warn(STALE);
        return Ok(Vec::new());
    }
    // Another version has other words for the same lake; there the checksums alone can be compared.
    let again = if manifest.origin.version == env!("CARGO_PKG_VERSION") {
        Some(release_files(trace, manifest, &manifest_file)?)
    } else {
        None
    };
    let mut expected: BTreeMap<&str, Option<Digest>> =
        named_by(&found).map(|(path, _)| (path, None)).collect();
    for (path, bytes) in again.iter().flat_map(|release| &release.files) {
        expected.insert(path, Some(Digest::of(bytes)));
    }
    let mut findings = Vec::new();
    let mut written = Vec::new();
    for (path, digest) in expected {
        let file = match file_facts(context, root, path) {
            Ok(file) => file,
            Err(error) => {
                let error = match root.join(path).is_file()? {
                    true => error,
                    false => error.of_kind(ErrorKind::Corrupt),
                };
                findings.push(error.hint(AGAIN));
                continue;
            }
        };
        if again.is_some() && digest != Some(file.sha256) {
            let finding = corrupt("is not what release writes for this lake");
            let finding = finding.at(root.join(path));
            findings.push(finding.hint("move it away, and run release again"));
        }
        written.push((path, file.sha256.to_string()));
    }
    if findings.is_empty() && found != sums(manifest, &manifest_file, written.into_iter()) {
        let finding = corrupt("does not name the files of this lake with their digests");
        findings.push(finding.at(root.join(SUMS)).hint(AGAIN));
    }
    Ok(findings)
}
