//! Descriptions of traces: TOML files, read into the types of this crate.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::digest::hex;
use crate::{Description, Trace};
use fault::Fault;
use spec::FamilySpec;

mod column;
mod column_spec;
mod family;
mod fault;
mod files;
#[cfg(test)]
mod json_schema;
mod lists;
mod looks;
mod queries;
mod sample;
mod short;
mod short_columns;
mod spec;
mod spelling;
mod table;
#[cfg(test)]
mod tests;
mod words;

pub use column::{ADDED_COLUMNS, MOST_COLUMNS, MOST_DEPTH};
pub use family::UNKNOWN;
pub use fault::DescriptionError;
pub use files::{MOST_CAPTURES, MOST_NAMES, MOST_PARTS};
pub use words::{is_printable, snake_case};

/// The most bytes of a description: 1 MiB.
pub const MAX_BYTES: usize = 1 << 20;

/// The JSON Schema of a description, by which editors complete and check it.
///
/// ```
/// use tracelake_schema::description::JSON_SCHEMA;
/// assert!(JSON_SCHEMA.contains("\"family\""));
/// ```
pub const JSON_SCHEMA: &str = include_str!("../description.schema.json");

/// Reads a description: the versions of one data set, in the order of the file.
///
/// # Errors
/// If the text is no description, with the line and what is expected there; if it is larger than [`MAX_BYTES`].
///
/// # Memory
/// Up to about 20 times the text.
///
/// # Example
///
/// ```
/// let error = tracelake_schema::description::read("family = 1969").unwrap_err();
/// assert_eq!(error.line(), Some(1));
/// ```
pub fn read(text: &str) -> Result<Vec<Arc<Trace>>, DescriptionError> {
    let spec = spec_of(text)?;
    let description = Arc::new(Description {
        sha256: sha256(text),
        text: text.to_owned(),
    });
    family::traces(&spec, Some(&description)).map_err(|fault| fault.of(text))
}

/// Reads a description as [`read`] does, of traces whose names aren't taken.
pub(crate) fn read_named(
    text: &str,
    is_taken: impl Fn(&str) -> bool,
) -> Result<Vec<Arc<Trace>>, DescriptionError> {
    let spec = spec_of(text)?;
    if let Some(taken) = spec.trace.iter().find(|trace| is_taken(&trace.name)) {
        let reason = "name: a built-in trace has this name; choose another one";
        let fault = Fault::new(reason).within_named(&taken.name);
        return Err(fault.of(text));
    }
    read(text)
}

/// The SHA-256 by which a description is known, in lower-case hexadecimal.
#[must_use]
pub fn sha256(text: &str) -> String {
    hex(&Sha256::digest(text))
}

/// Reads a description that is part of the program.
pub(crate) fn parse(text: &str) -> Result<Vec<Arc<Trace>>, DescriptionError> {
    family::traces(&spec_of(text)?, None).map_err(|fault| fault.of(text))
}

fn spec_of(text: &str) -> Result<FamilySpec, DescriptionError> {
    if text.len() > MAX_BYTES {
        let reason = format!(
            "a description has at most {MAX_BYTES} bytes, not {}",
            text.len()
        );
        return Err(Fault::new(reason).of(text));
    }
    let spec: FamilySpec =
        toml::from_str(text).map_err(|error| DescriptionError::of_toml(&error, text))?;
    spec.in_full().map_err(|fault| fault.of(text))
}
