//! Whether a file on disk is what was published.

use std::fs;
use std::path::Path;

use tracelake_core::Context;
use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::words::group_digits;
use tracelake_location::Location;
use tracelake_source::{decompress, fingerprint};

/// How a file was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Checked {
    /// Its SHA-256 is the published one.
    Digest,
    /// No digest is published; it is compressed in this format, whose own checks hold to the end.
    Format(&'static str),
    /// No digest is published, and its format has no checks: it has the size that was published, or announced by its
    /// server.
    Size,
    /// It was there before, its format has no checks, and neither digest nor size are published.
    Nothing,
}

/// Checks a file by its published size and digest, or by the checks of its compression where no digest is published.
///
/// # Errors
/// [`ErrorKind::Corrupt`] if it isn't what was published; if it can't be read.
pub(crate) fn check(
    context: &Context,
    path: &Path,
    bytes: Option<u64>,
    sha256: Option<Digest>,
    is_piece: bool,
) -> Result<Checked> {
    let found = fs::metadata(path).map_err(|error| Error::io("open", path, error))?;
    if !found.is_file() {
        let reason = "has the name of a published file, but is not a file";
        return Err(Error::new(ErrorKind::Failed, reason)
            .at(path)
            .hint("move it away"));
    }
    if let Some(bytes) = bytes.filter(|bytes| *bytes != found.len()) {
        return Err(wrong_size(found.len(), bytes).at(path));
    }
    let location = Location::from(path);
    match sha256 {
        Some(published) => check_digest(context, &location, published),
        // A piece of a compressed file ends anywhere.
        None if is_piece => Ok(Checked::Size),
        None => Ok(match decompress(context, &location)? {
            Some(format) => Checked::Format(format),
            None => Checked::Size,
        }),
    }
}

/// Checks a file, or its pieces in a row, by the published digest.
pub(crate) fn check_digest(
    context: &Context,
    location: &Location,
    published: Digest,
) -> Result<Checked> {
    let found = fingerprint(context, location)?.sha256;
    if found == published {
        return Ok(Checked::Digest);
    }
    let reason = format!("its SHA-256 is {found}, and the published one {published}");
    Err(Error::new(ErrorKind::Corrupt, reason).at(location))
}

/// The error for a file of another size than the published one.
pub(crate) fn wrong_size(found: u64, published: u64) -> Error {
    let reason = format!(
        "it has {} bytes, and the published file {}",
        group_digits(found),
        group_digits(published)
    );
    Error::new(ErrorKind::Corrupt, reason)
}
