//! Descriptions of traces: TOML files, read into the types of this crate.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};

use crate::digest::hex;
use crate::{Description, Trace, trace_names};
use fault::Fault;
use spec::FamilySpec;
pub(crate) use words::is_identifier;

mod column;
mod family;
mod fault;
mod files;
mod lists;
mod looks;
#[cfg(test)]
mod mutated;
mod queries;
mod sample;
mod spec;
mod table;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_forms;
mod words;

pub use column::{ADDED_COLUMNS, MOST_COLUMNS};
pub use fault::DescriptionError;
pub use table::MOST_PARTS;
pub use words::{is_printable, snake_case};

/// The most bytes of a description: 1 MiB.
pub const MAX_BYTES: usize = 1 << 20;

/// The most descriptions that a process interns. Each stays in memory until the process ends.
pub const MAX_DESCRIPTIONS: usize = 64;

type Interned = BTreeMap<String, Result<&'static [Trace], DescriptionError>>;

/// The descriptions that were interned, by the SHA-256 of their bytes, with those that turned out wrong.
static INTERNED: Mutex<Interned> = Mutex::new(BTreeMap::new());

/// Reads a description once in a process: the same bytes give the same traces, the versions of one data
/// set in the order of the file.
///
/// # Errors
/// If the text is no description, with the line and what is expected there; if it is larger than
/// [`MAX_BYTES`]; or if [`MAX_DESCRIPTIONS`] others were read before.
///
/// # Memory
/// Up to about 20 times the text, until the process ends; a text that is not TOML, or has an unknown key, keeps
/// nothing.
///
/// # Example
///
/// ```
/// let error = tracelake_schema::description::intern("family = 1969").unwrap_err();
/// assert_eq!(error.line(), Some(1));
/// ```
pub fn intern(text: &str) -> Result<&'static [Trace], DescriptionError> {
    // Nothing is kept before it is known that the text has the keys of a description.
    let spec = read(text)?;
    let digest = sha256(text);
    let mut interned = INTERNED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = interned.get(&digest) {
        return known.clone();
    }
    if interned.len() >= MAX_DESCRIPTIONS {
        let reason = format!(
            "the process has read {MAX_DESCRIPTIONS} descriptions, the most: start it again"
        );
        return Err(Fault::new(reason).of(text));
    }
    let description = Arc::new(Description {
        sha256: digest.clone(),
        text: text.to_owned(),
    });
    let traces = family::traces(&spec, Some(&description))
        .map(|traces| &*traces.leak())
        .map_err(|fault| fault.of(text));
    interned.insert(digest, traces.clone());
    traces
}

/// Reads a description as [`intern`] does, for a new lake. A lake that was made before keeps the name of its trace even
/// if a later program has a built-in trace of that name.
///
/// # Errors
/// As [`intern`]; if a trace has the name of a built-in one.
pub fn intern_new(text: &str) -> Result<&'static [Trace], DescriptionError> {
    let spec = read(text)?;
    let known = |name: &str| trace_names().any(|known| known == name);
    if let Some(taken) = spec.trace.iter().find(|trace| known(&trace.name)) {
        let reason = "name: a built-in trace has this name; choose another one";
        let fault = Fault::new(reason).within_named(&taken.name);
        return Err(fault.of(text));
    }
    intern(text)
}

/// The SHA-256 by which a description is known, in lower-case hexadecimal.
#[must_use]
pub fn sha256(text: &str) -> String {
    hex(&Sha256::digest(text))
}

/// Finds a trace of a description that was interned, by the description's SHA-256 and the trace's name.
#[must_use]
pub fn interned(sha256: &str, name: &str) -> Option<&'static Trace> {
    let interned = INTERNED.lock().unwrap_or_else(PoisonError::into_inner);
    let traces = interned.get(sha256)?.as_ref().ok()?;
    traces.iter().find(|trace| trace.name == name)
}

/// Whether a condition holds for a trace of a description that was interned.
pub(crate) fn any_interned(holds: impl Fn(&'static Trace) -> bool) -> bool {
    let interned = INTERNED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut traces = interned.values().flatten().copied().flatten();
    traces.any(holds)
}

/// Reads a description that is part of the program.
pub(crate) fn parse(text: &str) -> Result<Vec<Trace>, DescriptionError> {
    family::traces(&read(text)?, None).map_err(|fault| fault.of(text))
}

fn read(text: &str) -> Result<FamilySpec, DescriptionError> {
    if text.len() > MAX_BYTES {
        let reason = format!(
            "a description has at most {MAX_BYTES} bytes, not {}",
            text.len()
        );
        return Err(Fault::new(reason).of(text));
    }
    toml::from_str(text).map_err(|error| DescriptionError::of_toml(&error, text))
}
