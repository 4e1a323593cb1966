//! The traces whose descriptions are part of the program, parsed when they are asked for.

use std::iter::FlatMap;
use std::ops::Index;
use std::slice::Iter;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;

use crate::Trace;
use crate::description::{self, DescriptionError};

/// Every trace that is built in, family by family in the order of their names, the current version of each
/// first.
///
/// Iterating parses one description after the other, each once in a process; [`trace`] parses one alone.
///
/// # Example
///
/// ```
/// let names: Vec<&str> = tracelake_schema::TRACES.iter().map(|trace| &*trace.name).collect();
/// assert_eq!(names[0], tracelake_schema::TRACES[0].name);
/// ```
pub static TRACES: Traces = Traces(());

// `EMBEDDED`: the files in `schemas/`.
include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The type of [`TRACES`].
#[derive(Debug, Clone, Copy)]
pub struct Traces(());

type OfFamily = fn(&'static Embedded) -> Iter<'static, Arc<Trace>>;

/// An iterator over [`TRACES`].
#[derive(Debug, Clone)]
pub struct TracesIter(FlatMap<Iter<'static, Embedded>, Iter<'static, Arc<Trace>>, OfFamily>);

/// A description that is part of the program.
#[derive(Debug)]
struct Embedded {
    family: &'static str,
    names: Names,
    text: &'static str,
    traces: OnceLock<Vec<Arc<Trace>>>,
}

/// The names in a description, known without parsing it.
#[derive(Debug)]
struct Names {
    traces: &'static [&'static str],
    /// The tables, derived ones included.
    tables: &'static [&'static str],
    cells: &'static [&'static str],
    /// The beginnings of the names of files, archives and directories of cells.
    files: &'static [&'static str],
    /// The beginnings of the first directories in names of files that have some.
    directories: &'static [&'static str],
    /// Where it is published.
    urls: &'static [&'static str],
    /// Whether each table has a simulation.
    is_simulated: bool,
}

impl Embedded {
    const fn new(family: &'static str, names: Names, text: &'static str) -> Self {
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
    fn traces(&'static self) -> &'static [Arc<Trace>] {
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

    /// Parses all descriptions, side by side on this number of threads, for a loop that looks at all of them.
    ///
    /// # Example
    ///
    /// ```
    /// tracelake_schema::TRACES.parse(2);
    /// ```
    pub fn parse(self, threads: usize) {
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(embedded) = EMBEDDED.get(next.fetch_add(1, Ordering::Relaxed)) {
                embedded.traces();
            }
        };
        thread::scope(|scope| {
            for _ in 1..threads.min(EMBEDDED.len()) {
                // Without another thread, this one parses all.
                let _ = thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
    }

    /// The traces that a file or directory with this path can be of, and maybe others. Only descriptions with names
    /// that begin so are parsed.
    ///
    /// # Example
    ///
    /// ```
    /// use tracelake_schema::TRACES;
    ///
    /// let table = &TRACES[0].tables[0];
    /// let file = table.naming.name_of(0, table.parts).unwrap();
    /// assert!(TRACES.of_file(&file).any(|trace| trace == &TRACES[0]));
    /// assert_eq!(TRACES.of_file("notes.txt").count(), 0);
    /// ```
    pub fn of_file(self, path: &str) -> impl Iterator<Item = &'static Arc<Trace>> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let begins = |start: &&str| name.starts_with(start);
        let is_below = |start: &&str| path.split('/').any(|name| name.starts_with(start));
        let may_be = move |embedded: &&Embedded| {
            let Names {
                tables,
                files,
                directories,
                ..
            } = &embedded.names;
            tables.iter().chain(*files).any(begins) || directories.iter().any(is_below)
        };
        let families = EMBEDDED.iter().filter(may_be);
        families.flat_map(|embedded| embedded.traces())
    }

    /// The traces with a table of this name, which may be a derived one. The other descriptions aren't parsed.
    pub fn with_table(self, name: &str) -> impl Iterator<Item = &'static Arc<Trace>> {
        let has_table = move |embedded: &&Embedded| embedded.names.tables.contains(&name);
        let families = EMBEDDED.iter().filter(has_table);
        families.flat_map(|embedded| embedded.traces())
    }

    /// The traces whose description has this text anywhere. The other descriptions aren't parsed.
    ///
    /// # Example
    ///
    /// ```
    /// use tracelake_schema::TRACES;
    ///
    /// assert!(TRACES.with_text(&TRACES[0].tables[0].name).any(|trace| trace == &TRACES[0]));
    /// assert_eq!(TRACES.with_text("Lorem ipsum").count(), 0);
    /// ```
    pub fn with_text(self, text: &str) -> impl Iterator<Item = &'static Arc<Trace>> {
        let families = EMBEDDED.iter();
        let families = families.filter(move |embedded| embedded.text.contains(text));
        families.flat_map(|embedded| embedded.traces())
    }

    /// The names of all tables, those of derived ones, too. Nothing is parsed.
    pub fn table_names(self) -> impl Iterator<Item = &'static str> {
        EMBEDDED
            .iter()
            .flat_map(|family| family.names.tables)
            .copied()
    }

    /// Whether a trace has a cell of this name. Nothing is parsed.
    #[must_use]
    pub fn has_cell(self, name: &str) -> bool {
        let mut families = EMBEDDED.iter();
        families.any(|family| family.names.cells.contains(&name))
    }

    /// The URLs of the buckets and directories that traces are published in. Nothing is parsed.
    pub fn urls(self) -> impl Iterator<Item = &'static str> {
        EMBEDDED
            .iter()
            .flat_map(|family| family.names.urls)
            .copied()
    }
}

impl Iterator for TracesIter {
    type Item = &'static Arc<Trace>;

    fn next(&mut self) -> Option<&'static Arc<Trace>> {
        self.0.next()
    }
}

impl DoubleEndedIterator for TracesIter {
    fn next_back(&mut self) -> Option<&'static Arc<Trace>> {
        self.0.next_back()
    }
}

impl IntoIterator for Traces {
    type Item = &'static Arc<Trace>;
    type IntoIter = TracesIter;

    fn into_iter(self) -> TracesIter {
        self.iter()
    }
}

impl Index<usize> for Traces {
    type Output = Arc<Trace>;

    /// # Panics
    /// If there are not as many traces.
    fn index(&self, index: usize) -> &Arc<Trace> {
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
/// assert_eq!(trace(&TRACES[0].name), Some(&TRACES[0]));
/// assert_eq!(trace("no such trace"), None);
/// ```
#[must_use]
pub fn trace(name: &str) -> Option<&'static Arc<Trace>> {
    let mut families = EMBEDDED.iter();
    let family = families.find(|family| family.names.traces.contains(&name))?;
    family.traces().iter().find(|trace| trace.name == name)
}

/// Reads a description as [`description::read`] does, for a new lake. A lake that was made before keeps the name of its
/// trace even if a later program has a built-in trace of that name.
///
/// # Errors
/// The errors of [`description::read`]; if a trace has the name of a built-in one.
pub fn read_new(text: &str) -> Result<Vec<Arc<Trace>>, DescriptionError> {
    description::read_named(text, |name| trace_names().any(|known| known == name))
}

/// The names of [`TRACES`], in their order. Nothing is parsed.
pub fn trace_names() -> impl Iterator<Item = &'static str> + Clone {
    EMBEDDED
        .iter()
        .flat_map(|family| family.names.traces)
        .copied()
}

/// The names of the traces that can be generated: those with a simulation for each table. Nothing is parsed.
pub fn simulated_trace_names() -> impl Iterator<Item = &'static str> {
    let families = EMBEDDED.iter().filter(|family| family.names.is_simulated);
    families.flat_map(|family| family.names.traces).copied()
}

/// The name of a trace for examples in help texts: the current version of the last data set. Nothing is parsed.
#[must_use]
pub fn example_name() -> &'static str {
    let family = EMBEDDED.last();
    family.map_or("TRACE", |family| family.names.traces[0])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_embedded_description_is_right_and_named_after_its_family() {
        for embedded in &EMBEDDED {
            let traces = description::parse(embedded.text)
                .unwrap_or_else(|error| panic!("{}.toml: {error}", embedded.family));
            assert!(traces.iter().all(|trace| trace.family == embedded.family));
        }
        let names: BTreeSet<&str> = TRACES.iter().map(|trace| &*trace.name).collect();
        assert_eq!(names.len(), TRACES.iter().count(), "a name occurs twice");
    }

    /// The names that are known without parsing are those that the parser finds.
    #[test]
    fn the_names_of_each_description_are_listed() {
        for embedded in &EMBEDDED {
            let (names, traces) = (&embedded.names, embedded.traces());
            let found: Vec<&str> = traces.iter().map(|trace| &*trace.name).collect();
            assert_eq!(names.traces, found);
            let sorted = |names: &mut dyn Iterator<Item = &'static str>| -> BTreeSet<&str> {
                names.collect()
            };
            let tables = &mut traces
                .iter()
                .flat_map(|trace| trace.all_tables())
                .map(|it| &*it.name);
            assert_eq!(sorted(&mut names.tables.iter().copied()), sorted(tables));
            let cells = traces.iter().filter_map(|trace| trace.cells.as_ref());
            let cell_names = &mut cells.flat_map(|cells| &cells.names).map(String::as_str);
            assert_eq!(sorted(&mut names.cells.iter().copied()), sorted(cell_names));
            let locations = traces.iter().flat_map(|trace| &trace.locations);
            let mut tables = traces.iter().flat_map(|trace| &trace.tables);
            let is_simulated = tables.all(|table| !table.synthetic.is_empty());
            assert_eq!(names.is_simulated, is_simulated);
            let urls = &mut locations.map(|location| &*location.url);
            assert_eq!(sorted(&mut names.urls.iter().copied()), sorted(urls));
            for trace in traces {
                let archives = trace.archives.iter().flat_map(|archive| &archive.names);
                let namings = trace.tables.iter().map(|table| &table.naming);
                let patterns = namings.flat_map(|it| it.patterns.iter().chain(&it.also));
                let starts = patterns.map(|pattern| pattern.text.split('{').next().unwrap());
                let cells = trace.cells.as_ref().map(|cells| &*cells.directory);
                let cells = cells.map(|cells| cells.split('{').next().unwrap());
                let firsts = trace
                    .tables
                    .iter()
                    .filter_map(|table| table.naming.name_of(table.naming.first, table.parts));
                let firsts: Vec<String> = firsts.collect();
                let files = archives.chain(&firsts).map(String::as_str);
                let starts = starts.chain(cells).filter(|start| !start.is_empty());
                for file in files.chain(starts) {
                    let of_file = TRACES.of_file(file);
                    assert!(of_file.into_iter().any(|of| of == trace), "{file}");
                }
            }
            // Any file would be one of the trace.
            assert!(
                !names
                    .files
                    .iter()
                    .chain(names.directories)
                    .any(|start| start.is_empty())
            );
        }
    }

    #[test]
    fn a_trace_is_the_same_object_whenever_it_is_asked_for() {
        for one in TRACES {
            assert!(Arc::ptr_eq(trace(&one.name).unwrap(), one));
        }
    }

    #[test]
    fn queries_of_another_lake_read_tables_of_its_trace() {
        let tables = TRACES.iter().flat_map(|trace| trace.query_tables.iter());
        let mut found = 0;
        for with in tables.filter_map(|table| table.with.as_ref()) {
            let mut family = TRACES.iter().filter(|trace| trace.family == with.family);
            let has_all =
                |trace: &Arc<Trace>| with.tables.iter().all(|name| trace.table(name).is_some());
            assert!(!with.tables.is_empty() && family.any(has_all), "{with:?}");
            found += 1;
        }
        assert!(found > 0);
    }

    #[test]
    fn every_field_is_a_column_and_none_is_there_twice() {
        for table in TRACES.iter().flat_map(|trace| &trace.tables) {
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
