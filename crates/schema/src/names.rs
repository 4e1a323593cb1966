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

/// A name that a cell can have, of whatever trace. It may become the name of a directory.
///
/// # Errors
/// The reason, if no cell can have this name, or the process keeps too many others.
///
/// # Memory
/// The name, until the process ends; of at most 65,536 names.
///
/// # Example
///
/// ```
/// assert_eq!(tracelake_schema::cell_name("a"), Ok("a"));
/// assert_eq!(tracelake_schema::cell_name("../a"), Err("not the name of a cell"));
/// ```
pub fn cell_name(name: &str) -> Result<&'static str, &'static str> {
    let mut names = CELL_NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    kept(&mut names, name)
}

fn kept(names: &mut BTreeSet<&'static str>, name: &str) -> Result<&'static str, &'static str> {
    if let Some(known) = names.get(name) {
        return Ok(known);
    }
    if !is_identifier(name) {
        return Err("not the name of a cell");
    }
    if names.len() >= MAX_CELL_NAMES {
        return Err("a process keeps at most 65,536 names of cells: start another one");
    }
    let name = Box::leak(name.into());
    names.insert(name);
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_keeps_too_many_names_says_so() {
        let mut names = BTreeSet::new();
        for number in 0..MAX_CELL_NAMES {
            assert!(kept(&mut names, &format!("cell_{number}")).is_ok());
        }
        assert_eq!(kept(&mut names, "cell_0"), Ok("cell_0"));
        assert!(kept(&mut names, "a").unwrap_err().contains("65,536"));
        assert!(
            kept(&mut names, "../a")
                .unwrap_err()
                .starts_with("not the name")
        );
    }
}
