//! The bytes of a file of a lake against the manifest.

use tracelake_core::Context;
use tracelake_core::error::{ErrorKind, Result};
use tracelake_lake::inside;
use tracelake_lake::manifest::FileFacts;
use tracelake_location::Location;
use tracelake_source as source;

use super::finding::corrupt;

/// The hint for a file of the lake that isn't what was committed.
pub(super) const AGAIN: &str = "run convert again to restore it";

/// The hint for a manifest that no run would write.
pub(super) const OTHER_LAKE: &str =
    "the manifest was changed: take the original, or convert into another directory";

/// Checks that a file has the bytes it was committed with.
pub(super) fn verify_file(
    context: &Context,
    root: &Location,
    facts: &FileFacts,
) -> Result<Location> {
    let path = inside(root, &facts.path)?;
    let found = source::fingerprint(context, &path).map_err(|error| {
        if error.is_unanswered() {
            return error;
        }
        // A file that is missing is damage; one that exists and can't be read is a failure.
        let error = error.hint(AGAIN);
        match path.is_file() {
            Ok(false) => error.of_kind(ErrorKind::Corrupt),
            _ => error,
        }
    })?;
    if found.bytes != facts.bytes {
        let reason = format!(
            "has {} bytes, but the manifest says {}",
            found.bytes, facts.bytes
        );
        return Err(corrupt(reason).at(path).hint(AGAIN));
    }
    if found.sha256 != facts.sha256 {
        let reason = format!(
            "has SHA-256 {}, but the manifest says {}",
            found.sha256, facts.sha256
        );
        return Err(corrupt(reason).at(path).hint(AGAIN));
    }
    Ok(path)
}
