//! `_tracelake/lake.json`: what a lake is. It is put once, before anything else, and never changes.

use std::sync::Arc;

use tracelake_core::digest::Digest;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::origin::{Origin, unreadable};
use tracelake_core::seal;
use tracelake_core::with_origin;
use tracelake_location::Location;
use tracelake_schema::Trace;
use tracelake_schema::description::{self, MAX_BYTES};

use crate::backend::Backend;
use crate::{IDENTITY, REPLACES};

/// The largest identity, in bytes: the description of a trace, each byte of which may be escaped, and the rest.
pub(crate) const MOST_BYTES: u64 = 6 * MAX_BYTES as u64 + (64 << 10);

with_origin! {
    /// The facts that all runs on a lake have in common: the trace, and everything that decides bytes.
    pub struct Identity {
        /// The trace, the encoding and the options. The policy for bad rows isn't part of it.
        pub origin: Origin,
        /// Whether the lake is partitioned by cell.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub cells: bool,
        /// The description of a trace that isn't built in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub toml: Option<String>,
    }
}

impl Identity {
    /// The identity of a lake of this origin.
    #[must_use]
    pub fn new(origin: &Origin, cells: bool) -> Self {
        let trace = origin.find_trace();
        let description = trace.as_ref().and_then(|trace| trace.description.as_ref());
        Self {
            origin: origin.with_rejects(false),
            cells,
            toml: description.map(|description| description.text.to_owned()),
        }
    }

    /// The bytes of the file.
    pub(crate) fn to_json(&self) -> Result<Vec<u8>> {
        let mut json = Vec::new();
        let written = seal::write_document(&mut json, self);
        written.map_err(|error| Error::disk("write", error))?;
        Ok(json)
    }

    /// Reads the identity, and makes the trace known.
    pub(crate) fn read(json: &[u8]) -> Result<Self> {
        let corrupt = |reason: &str| Error::new(ErrorKind::Corrupt, reason);
        if !seal::is_whole(json) {
            return Err(corrupt(
                "is damaged: its content doesn't match the digest at its end",
            ));
        }
        let mut identity: Self = serde_json::from_slice(json)
            .map_err(|error| unreadable("the identity of a lake", json, error))?;
        identity.origin.check_format()?;
        let Some(named) = &identity.origin.description else {
            return Ok(identity);
        };
        let text = identity.toml.as_deref().unwrap_or_default();
        if seal::sha256(text.as_bytes()) != *named {
            return Err(corrupt("has another description than the one it names"));
        }
        let traces = description::read(text).map_err(|error| {
            Error::new(ErrorKind::Refused, error.to_string())
                .hint("use the version of tracelake that made the lake")
                .because(error)
        })?;
        let mut traces = traces.iter();
        let trace = traces.find(|trace| trace.name == identity.origin.trace);
        let trace = trace.ok_or_else(|| corrupt("describes another trace than the lake's"))?;
        identity.origin.know(trace);
        Ok(identity)
    }

    /// The trace of the lake, with the columns that it has.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if this program doesn't know it.
    pub fn trace(&self) -> Result<Arc<Trace>> {
        self.origin.find_trace().ok_or_else(|| {
            Error::new(ErrorKind::Refused, "a lake of a trace that isn't known")
                .hint("use the version of tracelake that made it")
        })
    }

    /// Each difference to what another run would make.
    pub(crate) fn differences(&self, now: &Self) -> Vec<String> {
        let mut differences = self.origin.differences(&now.origin);
        match (self.cells, now.cells) {
            (true, false) => {
                differences.push("it is partitioned by cell, and the source names none".to_owned())
            }
            (false, true) => {
                differences.push("it has no cells, and the source names one".to_owned())
            }
            _ => {}
        }
        differences
    }
}

/// An identity and the digest of its file.
#[derive(Debug, Clone)]
pub(crate) struct FoundIdentity {
    pub(crate) identity: Identity,
    pub(crate) sha256: Digest,
    /// The bytes of its file.
    pub(crate) json: Vec<u8>,
}

/// Reads the identity of a lake; `None` if there is none.
pub(crate) fn find(backend: &dyn Backend) -> Result<Option<FoundIdentity>> {
    let found = backend.get(IDENTITY, MOST_BYTES).map_err(|error| {
        // What a store refuses first, it refuses of the whole lake.
        match backend.is_disk() || error.kind() != ErrorKind::Failed {
            true => error,
            false => error.at(backend.root()),
        }
    })?;
    let Some(found) = found else {
        return Ok(None);
    };
    let place = || Location::join(backend.root(), IDENTITY);
    let identity = Identity::read(&found.bytes).map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::Corrupt => format!("restore it, or use {}", elsewhere(backend)),
            _ => {
                let other = elsewhere(backend);
                format!("use the version of tracelake that made the lake, or {other}")
            }
        };
        error.at(place()).or_hint(hint)
    })?;
    let sha256 = found.version.sha256;
    Ok(Some(FoundIdentity {
        identity,
        sha256,
        json: found.bytes,
    }))
}

/// How to get another lake, for a hint.
pub(crate) fn elsewhere(backend: &dyn Backend) -> &'static str {
    if !backend.is_disk() {
        // Nothing is ever overwritten in a bucket.
        return "a new prefix";
    }
    let mark = backend.look_up(&[REPLACES.to_owned()]);
    match mark.is_ok_and(|found| !found.is_empty()) {
        true => {
            "another directory; an --overwrite that didn't end has left this one: end it with its options, or remove it"
        }
        false => "another directory or --overwrite",
    }
}
