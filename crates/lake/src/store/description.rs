//! The description of a lake's trace, `_tracelake/trace.toml`, unless the trace is built in.
//!
//! Manifest, plan and journals name its digest, so a copy that was changed is never used.

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::origin::Origin;
use tracelake_core::seal::sha256;
use tracelake_schema::description::{MAX_BYTES, intern};

use super::Lake;
use super::backend::Backend;

/// The path of the copy, relative to the lake.
pub const DESCRIPTION_PATH: &str = "_tracelake/trace.toml";

/// Reads the description that an origin names, so that [`Origin::find_trace`] finds its trace.
///
/// # Errors
/// [`ErrorKind::Corrupt`] if it is missing or has another digest; [`ErrorKind::Refused`] if this version can't read it.
pub(super) fn read_description(backend: &dyn Backend, origin: &Origin) -> Result<()> {
    let Some(named) = &origin.description else {
        return Ok(());
    };
    let place = backend.root().join(DESCRIPTION_PATH);
    let corrupt = |reason: String| {
        Error::new(ErrorKind::Corrupt, reason)
            .at(&place)
            .hint("run convert again with the description that the lake was made by")
    };
    let Some((bytes, _)) = backend.read(DESCRIPTION_PATH)? else {
        let reason = "the description of the lake's trace is missing";
        return Err(corrupt(reason.to_owned()));
    };
    let found = sha256(&bytes);
    if found != *named {
        return Err(corrupt(format!(
            "has SHA-256 {found}, but the lake was made by a description with SHA-256 {named}"
        )));
    }
    let text = String::from_utf8(bytes)
        .map_err(|_| corrupt(format!("is not UTF-8, or larger than {MAX_BYTES} bytes")))?;
    let traces = intern(&text).map_err(|error| {
        Error::new(ErrorKind::Refused, error.to_string())
            .at(&place)
            .hint("use the version of tracelake that made the lake")
            .because(error)
    })?;
    if traces.iter().any(|trace| trace.name == origin.trace) {
        return Ok(());
    }
    Err(corrupt(
        "describes another trace than the lake's".to_owned(),
    ))
}

/// Reads the description as [`read_description`] does, unless the process has it already: a run that was given it puts
/// a missing copy back.
pub(super) fn know_description(backend: &dyn Backend, origin: &Origin) -> Result<()> {
    match origin.find_trace() {
        Some(_) => Ok(()),
        None => read_description(backend, origin),
    }
}

impl Lake {
    /// Puts the description of the lake's trace where it isn't yet; of a built-in trace, removes one that an earlier
    /// lake has left.
    ///
    /// # Errors
    /// If the disk or the store fails.
    pub fn put_description(&self, origin: &Origin) -> Result<()> {
        let given = origin.find_trace().and_then(|trace| trace.description);
        let Some(description) = given else {
            return match &origin.description {
                None if self.is_alone() => self.backend.remove(&[DESCRIPTION_PATH.to_owned()]),
                _ => Ok(()),
            };
        };
        let found = self.backend.read(DESCRIPTION_PATH)?.map(|(bytes, _)| bytes);
        if found.as_deref() == Some(description.text.as_bytes()) {
            return Ok(());
        }
        self.write_whole(DESCRIPTION_PATH, description.text.as_bytes())
    }
}
