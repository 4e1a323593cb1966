//! The findings of a verification.

use std::io;
use std::path::PathBuf;

use tracelake_core::error::{Error, ErrorKind};
use tracelake_location::from_read;

/// The error for something that is wrong with a lake.
pub(super) fn corrupt(reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, reason)
}

/// Wraps an error of the system or the decompressor about a source. Only the first is a failure to read;
/// the second is a finding.
pub(super) fn failed(path: impl Into<PathBuf>, error: io::Error) -> Error {
    let is_server = error.get_ref().is_some_and(|error| error.is::<Error>());
    match error.raw_os_error() {
        None if !is_server => corrupt(format!("cannot be read: {error}")).at(path),
        _ => from_read(error).at(path),
    }
}
