//! The files of a release against what would be written again.

use tracelake_core::Context;
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_lake::manifest::Manifest;
use tracelake_lake::{
    CROISSANT, RELEASE, STALE, SUMS, file_facts, is_stale, manifest_facts, release_sums,
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
    let mut findings = Vec::new();
    let mut written = Vec::new();
    for name in RELEASE {
        let file = match file_facts(context, root, name) {
            Ok(file) => file,
            Err(error) => {
                let error = match root.join(name).is_file()? {
                    true => error,
                    false => error.of_kind(ErrorKind::Corrupt),
                };
                findings.push(error.hint(AGAIN));
                continue;
            }
        };
        let files = again.iter().flat_map(|release| &release.files);
        let mut expected = files.filter(|(other, _)| *other == name);
        if expected.any(|(_, bytes)| Digest::of(bytes) != file.sha256) {
            let finding = corrupt("is not what release writes for this lake");
            let finding = finding.at(root.join(name));
            findings.push(finding.hint("move it away, and run release again"));
        }
        written.push((name, file.sha256.to_string()));
    }
    if findings.is_empty() && found != sums(manifest, &manifest_file, written.into_iter()) {
        let finding = corrupt("does not name the files of this lake with their digests");
        findings.push(finding.at(root.join(SUMS)).hint(AGAIN));
    }
    Ok(findings)
}
