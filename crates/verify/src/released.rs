//! The files of a release against what would be written again.

use std::collections::{BTreeMap, BTreeSet};

use tracelake_core::Context;
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_lake::manifest::Manifest;
use tracelake_lake::{
    CROISSANT, PUBLISHER, STALE, SUMS, delta_logs, existing_delta_logs, file_facts, is_stale,
    named_by, release_day, release_sums,
};
use tracelake_location::Location;
use tracelake_schema::Trace;
use tracelake_schema::calendar::is_day;

use super::finding::corrupt;
use crate::release_files::{Given, release_files, sums};

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
    let listed: BTreeMap<&str, &str> = named_by(&found).collect();
    let unnamed = logs.iter().filter(|path| !listed.contains_key(&path[..]));
    let reason = format!("{SUMS} doesn't name it");
    let mut findings: Vec<Error> = unnamed.map(|path| unlisted(path, &reason)).collect();
    let date = release_day(root)?.filter(|date| is_day(date));
    let mut given = Given::read(context, root, date)?;
    if is_stale(root, given.manifest.sha256)? == Some(true) {
        context.warn(STALE);
        return Ok(findings);
    }
    let mut logs = delta_logs(manifest).into_iter();
    given.has_delta_logs = logs.any(|path| listed.contains_key(&path[..]));
    let publisher = Digest::of(&given.publisher).to_string();
    let is_filled_in = listed
        .get(PUBLISHER)
        .is_some_and(|sha256| *sha256 != publisher);
    // Another version has other words for the same lake; there the checksums alone can be compared.
    let again = match manifest.origin.version == env!("CARGO_PKG_VERSION") && !is_filled_in {
        true => Some(release_files(trace, manifest, &given)?),
        false => None,
    };
    let files = again.iter().flat_map(|release| &release.files);
    let expected: BTreeMap<&str, Digest> = files
        .map(|(path, bytes)| (&**path, Digest::of(bytes)))
        .collect();
    let mut written = Vec::new();
    let paths: BTreeSet<&str> = listed.keys().chain(expected.keys()).copied().collect();
    for path in paths {
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
        let sha256 = file.sha256.to_string();
        if again.is_some() && expected.get(path) != Some(&file.sha256) {
            let finding = corrupt("is not what release writes for this lake");
            let finding = finding.at(root.join(path));
            findings.push(finding.hint("move it away, and run release again"));
        } else if again.is_none() && listed.get(path) != Some(&&*sha256) {
            let finding = corrupt("was changed since the release").at(root.join(path));
            findings.push(match path {
                PUBLISHER => finding.hint("run release again, and the card says what it says"),
                _ => finding.hint("move it away, and run release again"),
            });
        }
        written.push((path, sha256));
    }
    if findings.is_empty() && found != sums(manifest, &given.manifest, written.into_iter()) {
        let finding = corrupt("does not name the files of this lake with their digests");
        findings.push(finding.at(root.join(SUMS)).hint(AGAIN));
    }
    Ok(findings)
}
