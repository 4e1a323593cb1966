//! Names that become parts of paths and queries.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// The most letters of a name that becomes part of a path or a query.
pub(crate) const MAX_NAME: usize = 100;

/// Whether a name needs no quotes in SQL, nor in a path.
pub(crate) fn is_identifier(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    name.starts_with(|letter: char| letter.is_ascii_lowercase())
        && name.len() <= MAX_NAME
        && name.bytes().all(plain)
}

/// The most names of cells that a process keeps.
const MAX_CELL_NAMES: usize = 1 << 16;

/// The names that were asked for.
static CELL_NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// A name that a cell can have, of whatever trace; `None` for another text. It may become the name of a directory.
///
/// # Memory
/// The name, until the process ends; of at most 65,536 names.
///
/// # Example
///
/// ```
/// assert_eq!(tracelake_schema::cell_name("a"), Some("a"));
/// assert_eq!(tracelake_schema::cell_name("../a"), None);
/// ```
#[must_use]
pub fn cell_name(name: &str) -> Option<&'static str> {
    let mut names = CELL_NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return Some(known);
    }
    if names.len() >= MAX_CELL_NAMES {
        return None;
    }
    let name: &str = is_identifier(name).then(|| Box::leak(name.into()))?;
    names.insert(name);
    Some(name)
}
