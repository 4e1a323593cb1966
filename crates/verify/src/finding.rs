//! What a verification finds.

use tracelake_core::error::{Error, ErrorKind};

/// The error for something that is wrong with a lake.
pub(super) fn corrupt(reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, reason)
}
