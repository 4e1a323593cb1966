//! The traces whose descriptions are part of the program, parsed when they are asked for.

use std::iter::FlatMap;
use std::ops::Index;
use std::slice::Iter;
use std::sync::OnceLock;

use crate::Trace;
use crate::description;

/// Every trace that is built in, family by family in the order of their names, the current version of each
/// first.
///
/// Iterating parses one description after the other, each once in a process; [`trace`] parses one alone.
///
/// # Example
///
/// ```
/// let names: Vec<&str> = tracelake_schema::TRACES.iter().map(|trace| trace.name).collect();
/// assert_eq!(names[0], tracelake_schema::TRACES[0].name);
/// ```
pub static TRACES: Traces = Traces(());

// `EMBEDDED`: the files in `schemas/`.
include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The type of [`TRACES`].
#[derive(Debug, Clone, Copy)]
pub struct Traces(());

type OfFamily = fn(&'static Embedded) -> Iter<'static, Trace>;

/// An iterator over [`TRACES`].
#[derive(Debug, Clone)]
pub struct TracesIter(FlatMap<Iter<'static, Embedded>, Iter<'static, Trace>, OfFamily>);

/// A description that is part of the program.
#[derive(Debug)]
struct Embedded {
    family: &'static str,
    names: &'static [&'static str],
    text: &'static str,
    traces: OnceLock<&'static [Trace]>,
}

impl Embedded {
    const fn new(family: &'static str, names: &'static [&'static str], text: &'static str) -> Self {
        let traces = OnceLock::new();
        Self {
            family,
            names,
            text,
            traces,
        }
    }

    /// The versions of the data set.
    ///
    /// # Panics
    /// If the description is wrong, which a test rules out.
    fn traces(&self) -> &'static [Trace] {
        let parse = || {
            let traces = description::parse(self.text);
            traces.unwrap_or_else(|error| unreachable!("{}.toml: {error}", self.family))
        };
        self.traces.get_or_init(parse)
    }
}

impl Traces {
    /// The traces in their order.
    #[must_use]
    pub fn iter(self) -> TracesIter {
        let of_family: OfFamily = |embedded| embedded.traces().iter();
        TracesIter(EMBEDDED.iter().flat_map(of_family))
    }
}

impl Iterator for TracesIter {
    type Item = &'static Trace;

    fn next(&mut self) -> Option<&'static Trace> {
        self.0.next()
    }
}

impl DoubleEndedIterator for TracesIter {
    fn next_back(&mut self) -> Option<&'static Trace> {
        self.0.next_back()
    }
}

impl IntoIterator for Traces {
    type Item = &'static Trace;
    type IntoIter = TracesIter;

    fn into_iter(self) -> TracesIter {
        self.iter()
    }
}

impl Index<usize> for Traces {
    type Output = Trace;

    /// # Panics
    /// If there are not as many traces.
    fn index(&self, index: usize) -> &Trace {
        self.iter().nth(index).expect("an index of a trace")
    }
}

/// Finds a built-in trace by its name.
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
    let mut families = EMBEDDED.iter();
    let family = families.find(|family| family.names.contains(&name))?;
    family.traces().iter().find(|trace| trace.name == name)
}

/// The names of [`TRACES`], in their order. Nothing is parsed.
pub fn trace_names() -> impl Iterator<Item = &'static str> + Clone {
    EMBEDDED.iter().flat_map(|family| family.names).copied()
}

/// The name of a trace for examples in help texts: the current version of the last data set. Nothing is parsed.
#[must_use]
pub fn example_name() -> &'static str {
    let family = EMBEDDED.last();
    family.map_or("TRACE", |family| family.names[0])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_embedded_description_is_right_and_named_after_its_family() {
        for embedded in &EMBEDDED {
            let traces = description::parse(embedded.text);
            let traces = traces.unwrap_or_else(|error| panic!("{}.toml: {error}", embedded.family));
            assert!(traces.iter().all(|trace| trace.family == embedded.family));
            let names: Vec<&str> = traces.iter().map(|trace| trace.name).collect();
            assert_eq!(names, embedded.names);
        }
        let names: BTreeSet<&str> = TRACES.iter().map(|trace| trace.name).collect();
        assert_eq!(names.len(), TRACES.iter().count(), "a name occurs twice");
    }

    #[test]
    fn a_trace_is_the_same_object_whenever_it_is_asked_for() {
        for one in TRACES {
            assert!(std::ptr::eq(trace(one.name).unwrap(), one));
        }
    }

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
