//! What the published cluster traces are made of.
//!
//! A [`Trace`] is one published data set in one version, a [`Table`] one of its tables, a [`Column`]
//! one of its columns. [`TRACES`] holds all of them as constant data; [`arrow`] says what a table is
//! in Arrow, [`render`] describes it for people and for databases. Nothing here reads a file.
//!
//! # Adding a trace
//!
//! Write one file in `schemas/`, run `cargo xtask gen`, commit what it made. A trace whose columns
//! are of the known [`Kind`]s needs no code: everything else takes its names from [`TRACES`].
//!
//! # Example
//!
//! ```
//! use tracelake_schema::TRACES;
//!
//! for table in TRACES[0].tables {
//!     println!("{}: {}", table.name, table.summary);
//! }
//! ```

pub mod arrow;
mod catalog;
mod model;
pub mod render;

pub use catalog::TRACES;
pub use model::{
    Archive, CellShards, Code, Column, Confidence, Derived, Files, Kind, Obfuscation, Published,
    Range, Reference, Rule, Sentinel, Syntax, Table, Trace,
};

/// The file that marks a directory as a synthetic trace: `tracelake generate` writes it, and
/// `tracelake convert` records it in the manifest.
pub const SYNTHETIC: &str = "SYNTHETIC.txt";

/// Finds a trace by its name.
///
/// # Example
///
/// ```
/// use tracelake_schema::{TRACES, trace};
///
/// assert_eq!(trace(TRACES[0].name), Some(&TRACES[0]));
/// assert_eq!(trace("no such trace"), None);
/// ```
#[must_use]
pub fn trace(name: &str) -> Option<&'static Trace> {
    TRACES.iter().find(|trace| trace.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_field_is_a_column_and_none_is_there_twice() {
        for table in TRACES.iter().flat_map(|trace| trace.tables) {
            let fields: BTreeSet<usize> = table.fields.iter().copied().collect();
            assert_eq!(fields.len(), table.fields.len(), "{}", table.name);
            assert!(
                fields.iter().all(|index| *index < table.columns.len()),
                "{}",
                table.name
            );
        }
    }
}
