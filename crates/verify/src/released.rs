//! The files of a release against what would be written again.

use std::collections::{BTreeMap, BTreeSet};

use tracelake_core::Context;
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_lake::manifest::Manifest;
use tracelake_lake::{
    CROISSANT, STALE, SUMS, delta_logs, existing_delta_logs, file_facts, is_stale, manifest_facts,
    named_by, release_sums,
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
    let unlisted = |path: &str, reason: &str| corrupt(reason).at(root.join(path)).hint(AGAIN);
    let Some(found) = release_sums(root)? else {
        let mut paths = logs;
        if root.join(CROISSANT).is_there()? {
            paths.push(CROISSANT.to_owned());
        }
        let reason = format!("there is no {SUMS} that names it");
        return Ok(paths.iter().map(|path| unlisted(path, &reason)).collect());
    };
    let named: BTreeSet<&str> = named_by(&found).map(|(path, _)| path).collect();
    let unnamed = logs.iter().filter(|path| !named.contains(&path[..]));
    let reason = format!("{SUMS} doesn't name it");
    let mut findings: Vec<Error> = unnamed.map(|path| unlisted(path, &reason)).collect();
    let manifest_file = manifest_facts(context, root)?;
    if is_stale(root, manifest_file.sha256)? == Some(true) {
        context.warn(STALE);
        return Ok(findings);
    }
    let logs = delta_logs(manifest);
    let logs = match logs.iter().any(|path| named.contains(&path[..])) {
        true => DeltaLogs::All,
        false => DeltaLogs::None,
    };
    // Another version has other words for the same lake; there the checksums alone can be compared.
    let again = if manifest.origin.version == env!("CARGO_PKG_VERSION") {
        Some(release_files(trace, manifest, &manifest_file, logs)?)
    } else {
        None
    };
    let mut expected: BTreeMap<&str, Option<Digest>> =
        named.into_iter().map(|path| (path, None)).collect();
    for (path, bytes) in again.iter().flat_map(|release| &release.files) {
        expected.insert(path, Some(Digest::of(bytes)));
    }
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
