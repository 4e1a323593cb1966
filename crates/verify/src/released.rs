//! The files of a release against what would be written again.

use tracelake_core::Context;
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_lake::manifest::Manifest;
use tracelake_lake::{
    CROISSANT, RELEASE, STALE, SUMS, delta_logs, existing_delta_logs, file_facts, is_stale,
    manifest_facts, names, release_sums,
};
use tracelake_location::Location;
use tracelake_schema::Trace;

use super::finding::corrupt;
use crate::release_files::{DeltaLogs, release_files, sums};

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
    let logs = existing_delta_logs(root, manifest)?;
    let unlisted = |path: &str, reason: String| corrupt(reason).at(root.join(path)).hint(AGAIN);
    let Some(found) = release_sums(root)? else {
        let mut paths = logs;
        if root.join(CROISSANT).is_there()? {
            paths.push(CROISSANT.to_owned());
        }
        let paths = paths.iter();
        let reason = || format!("there is no {SUMS} that names it");
        return Ok(paths.map(|path| unlisted(path, reason())).collect());
    };
    let others = logs.iter().filter(|path| !names(&found, path));
    let mut findings: Vec<Error> = others
        .map(|path| unlisted(path, format!("{SUMS} doesn't name it")))
        .collect();
    let manifest_file = manifest_facts(context, root)?;
    if is_stale(root, manifest_file.sha256)? == Some(true) {
        context.warn(STALE);
        return Ok(findings);
    }
    let mut logs = delta_logs(manifest);
    let made = match logs.iter().any(|path| names(&found, path)) {
        true => DeltaLogs::All,
        false => {
            logs.clear();
            DeltaLogs::None
        }
    };
    // Another version has other words for the same lake; there the checksums alone can be compared.
    let again = if manifest.origin.version == env!("CARGO_PKG_VERSION") {
        Some(release_files(trace, manifest, &manifest_file, made)?)
    } else {
        None
    };
    let mut written = Vec::new();
    for name in RELEASE.into_iter().chain(logs.iter().map(String::as_str)) {
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
