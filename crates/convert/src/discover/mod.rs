//! Finds the files of a source, by table and file number.

pub mod checksums;
mod found;
mod hints;
mod names;
pub mod schema_csv;
mod search;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_lake::HOME;
use tracelake_location::{Entry, Listing, Location, LocationKind};
use tracelake_schema::{Files, SYNTHETIC, Trace};
use tracelake_source::is_archive_name;

use names::{FileName, NamedFile, cell_of, stem_table, table_of, traces_of};
use search::{Search, ambiguous};

pub use found::{FoundFile, FoundPart, FoundSource, FoundTable, Skipped};
pub(crate) use hints::draft_it;
pub use names::{CHECKSUMS, PublishedFile, SCHEMA_CSV, published_file};
pub(crate) use names::{archive_of, described_sha256};

/// Looks at a source: a directory laid out as published, one that holds such directories of several
/// cells, one table's directory, or one file. It knows the names of `trace`'s tables, or, without one, of
/// every trace's.
///
/// Nothing outside the source is read: a symbolic link that points out of it is refused. In a bucket,
/// what the names of objects start with is a directory; on a web server, its `SHA256SUM` lists the files.
///
/// # Errors
/// When it doesn't exist, has no file of any table, or can't be read.
pub fn discover(source: &Location, trace: Option<&Arc<Trace>>) -> Result<FoundSource> {
    let mut found = files(source, trace)?;
    let near = near(source, found.alone);
    if !found.holds_cells {
        let mut directories = near.iter().take(2);
        let cell = directories.find_map(|directory| cell_of(directory, trace));
        let parts = found.tables.iter_mut().flat_map(|table| &mut table.parts);
        parts.for_each(|part| part.key.cell = cell);
    }
    for directory in of_trace(&near, trace) {
        found.synthetic = found.synthetic || directory.join(SYNTHETIC).is_file()?;
    }
    Ok(found)
}

/// A source and the directories above it, of a file those above that: as many as a trace can have of them, which are a
/// table, its cell and the trace. Without links.
fn near(source: &Location, is_file: bool) -> Vec<Location> {
    let whole = match source {
        Location::Disk(path) => Location::Disk(fs::canonicalize(path).unwrap_or_default()),
        Location::Url(_) => source.clone(),
    };
    let directories = std::iter::successors(Some(whole), Location::parent);
    directories.skip(usize::from(is_file)).take(3).collect()
}

/// Picks the directories that are of the trace: the one above counts if a directory is of one table or of one cell.
fn of_trace<'a>(near: &'a [Location], trace: Option<&Arc<Trace>>) -> &'a [Location] {
    let is_part = |directory: &Location| {
        table_of(directory, trace).is_some() || cell_of(directory, trace).is_some()
    };
    let whole = near.iter().position(|directory| !is_part(directory));
    &near[..whole.map_or(near.len(), |whole| whole + 1)]
}

/// The files of a source.
fn files(source: &Location, trace: Option<&Arc<Trace>>) -> Result<FoundSource> {
    let kind = source.kind().map_err(|error| error.or_at(source))?;
    let Some(kind) = kind else {
        return Err(missing(source));
    };
    // Without symbolic links.
    let root = match source {
        Location::Disk(path) => {
            let whole = fs::canonicalize(path);
            Location::Disk(whole.map_err(|error| Error::io("open", path, error))?)
        }
        Location::Url(_) => source.clone(),
    };
    match kind {
        LocationKind::Directory => {}
        LocationKind::File { bytes } => return one_file(source, &root, bytes, trace),
        LocationKind::Other => return one_file(source, &root, None, trace),
    }
    let listing = Listing::of(source)?;
    let entries = listing.entries("")?;
    let is_lake = |entry: &Entry| entry.name == HOME && entry.kind == LocationKind::Directory;
    if entries.iter().any(is_lake) {
        return Err(
            Error::new(ErrorKind::Failed, "this is a lake, not a source")
                .at(source)
                .hint("name the source first and the lake second: tracelake convert SRC OUT"),
        );
    }
    let mut search = Search {
        source,
        listing,
        table: table_of(&root, trace),
        root: root.as_path().map(Path::to_owned).unwrap_or_default(),
        trace,
        found: FoundSource::new(source.clone(), &root),
        looked_into: 0,
        is_in_zip: false,
    };
    search.take_all(None, entries)?;
    let mut found = search.found;
    // Parts that no directory gives a table, where there are tables beside them.
    let is_named = |table: &FoundTable| table.name.is_some();
    if found.tables.iter().any(is_named) || !found.archives.is_empty() {
        let why = "it is not in the directory of a table";
        found.skip(|table| !is_named(table), why);
    }
    complete(found, source, trace)
}

/// Sorts what was found.
///
/// # Errors
/// If that is nothing.
fn complete(
    mut found: FoundSource,
    source: &Location,
    trace: Option<&Arc<Trace>>,
) -> Result<FoundSource> {
    if found.tables.is_empty() && found.archives.is_empty() {
        let hint = hints::nothing_found(source, &found.skipped, trace);
        let known = trace.map_or("any known trace", |trace| &trace.name);
        let reason = format!("no table of {known} is here");
        return Err(Error::new(ErrorKind::Failed, reason).at(source).hint(hint));
    }
    found.tables.sort_by(|a, b| a.name.cmp(&b.name));
    for table in &mut found.tables {
        table
            .parts
            .sort_by(|a, b| (a.key, &a.file.path).cmp(&(b.key, &b.file.path)));
    }
    Ok(found)
}

/// Whether a directory looks like a source: it has something that [`discover`] would read.
#[must_use]
pub fn is_source(location: &Location) -> bool {
    discover(location, None).is_ok()
}

/// Refuses a lake that would be inside its source, where the next run would look for tables.
///
/// # Errors
/// [`ErrorKind::Refused`] when `out` is in the directory `source`; when a path can't be resolved.
pub fn refuse_inside(source: &Location, out: &Location) -> Result<()> {
    let refused = || {
        Error::new(ErrorKind::Refused, "OUT is inside SRC")
            .at(out)
            .hint("name a directory for the lake that is outside the source")
    };
    let out = match (source, out) {
        (Location::Disk(_), Location::Disk(out)) => out,
        (Location::Url(source), Location::Url(out)) => {
            return match source.holds(out) {
                true => Err(refused()),
                false => Ok(()),
            };
        }
        _ => return Ok(()),
    };
    let Some(source) = source.as_path().filter(|source| source.is_dir()) else {
        return Ok(());
    };
    let resolve = |path: &Path| {
        let whole = std::path::absolute(path).and_then(|whole| {
            let existing = whole.ancestors().find(|ancestor| ancestor.exists());
            fs::canonicalize(existing.unwrap_or(&whole))
        });
        whole.map_err(|error| Error::io("open", path, error))
    };
    let (root, whole) = (resolve(source)?, resolve(out)?);
    match depth(&whole, |directory| is_same(directory, &root)) {
        None => Ok(()),
        Some(0) if out.exists() => Ok(()),
        // A source may be a lake's parent by way of directories that don't exist yet.
        Some(_) => Err(refused()),
    }
}

/// How many levels a directory is below the source; `None` if it isn't in there.
fn depth(directory: &Path, is_source: impl Fn(&Path) -> bool) -> Option<usize> {
    directory.ancestors().position(is_source)
}

/// Whether two paths are of one directory. On a disk that ignores the case of letters, they may be spelled in two ways.
#[cfg(unix)]
fn is_same(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |path: &Path| {
        let found = fs::metadata(path).ok()?;
        Some((found.dev(), found.ino()))
    };
    one == other || id(one).is_some_and(|one| id(other) == Some(one))
}

/// Whether two paths are of one directory: elsewhere, resolving a path gives the name that the disk has.
#[cfg(not(unix))]
fn is_same(one: &Path, other: &Path) -> bool {
    one == other
}

/// The error for a source that isn't there.
fn missing(source: &Location) -> Error {
    let (reason, hint) = match source {
        Location::Disk(_) => (
            "there is no such file or directory",
            "check the path: SRC is the directory or file that was downloaded, or a URL",
        ),
        Location::Url(_) => (
            "there is no such object, and none below it",
            "check the URL; tracelake schema TRACE prints where a trace is published",
        ),
    };
    Error::new(ErrorKind::Failed, reason)
        .at(source)
        .hint(hint)
        .because(std::io::Error::from(std::io::ErrorKind::NotFound))
}

/// A single file; its name, or that of its directory, says which table it is of.
fn one_file(
    source: &Location,
    whole: &Location,
    bytes: Option<u64>,
    trace: Option<&Arc<Trace>>,
) -> Result<FoundSource> {
    let Some(name) = source.name() else {
        return Err(Error::new(ErrorKind::Usage, "the file's name is not UTF-8")
            .at(source)
            .hint("rename it"));
    };
    let root = match source.parent() {
        Some(parent) if parent.as_path() != Some(Path::new("")) => parent,
        _ => Location::Disk(PathBuf::from(".")),
    };
    let above = whole.parent().unwrap_or_else(|| root.clone());
    let mut found = FoundSource {
        alone: true,
        ..FoundSource::new(root.clone(), &above)
    };
    let file = FoundFile {
        path: name.to_owned(),
        bytes,
    };
    let directory = whole.parent().and_then(|parent| table_of(&parent, trace));
    let named = match FileName::of(&found.whole(name), trace) {
        Some(FileName::ParquetZip) => {
            found.alone = false;
            let mut search = Search {
                source: &root,
                listing: Listing::of(&root)?,
                table: None,
                root: PathBuf::new(),
                trace,
                found,
                looked_into: 0,
                is_in_zip: true,
            };
            search.take_zipped(name, None)?;
            return complete(search.found, source, trace);
        }
        Some(FileName::Archive(trace)) => {
            found.archives.push((file, Some(trace)));
            return Ok(found);
        }
        Some(FileName::Ambiguous(reason)) => return Err(ambiguous(source, reason)),
        Some(FileName::File(named)) => NamedFile {
            table: named.table.or(directory),
            ..named
        },
        None if is_archive_name(name) => {
            found.archives.push((file, None));
            return Ok(found);
        }
        None if is_of_another(name, trace) => {
            let reason = format!("it has a name of {}", traces_of(name).join(" or "));
            return Err(Error::new(ErrorKind::Failed, reason).at(source));
        }
        // A file with any other name is the only part.
        None => NamedFile {
            table: directory.or_else(|| stem_table(name, trace)),
            files: Files::Parts,
            number: 0,
            total: Some(1),
            is_parquet: names::is_parquet(name),
            is_only: true,
        },
    };
    found.tables.push(FoundTable {
        name: named.table,
        files: named.files,
        is_parquet: named.is_parquet,
        parts: vec![FoundPart {
            file,
            key: named.number.into(),
            total: named.total,
        }],
    });
    Ok(found)
}

/// Whether a file has a name of another built-in trace than the one that was asked for.
fn is_of_another(name: &str, trace: Option<&Arc<Trace>>) -> bool {
    let is_built_in = trace.is_some_and(|trace| trace.description.is_none());
    is_built_in && stem_table(name, trace).is_none() && !traces_of(name).is_empty()
}

#[cfg(test)]
mod tests {
    use tracelake_schema::TRACES;

    use super::*;

    #[test]
    fn a_file_is_taken_alone_and_a_directory_whole() {
        let directory = tempfile::tempdir().unwrap();
        let table = directory.path().join("job_events");
        fs::create_dir(&table).unwrap();
        for name in [
            "part-00001-of-00003.csv.gz",
            "part-00000-of-00003.csv.gz",
            "notes.txt",
        ] {
            fs::write(table.join(name), "x").unwrap();
        }
        let found = discover(&directory.path().into(), None).unwrap();
        assert_eq!(
            found.tables[0]
                .parts
                .iter()
                .map(|p| p.key.file_number)
                .collect::<Vec<_>>(),
            [0, 1]
        );
        assert_eq!(found.skipped[0].path, "job_events/notes.txt");
        let found = discover(&Location::from(&table), None).unwrap();
        assert_eq!(found.tables[0].name.as_deref(), Some("job_events"));
        let found = discover(&table.join("part-00001-of-00003.csv.gz").into(), None).unwrap();
        assert_eq!((found.tables[0].parts.len(), found.alone), (1, true));
        assert_eq!(found.tables[0].name.as_deref(), Some("job_events"));
    }

    #[test]
    fn a_mark_counts_for_the_tables_and_cells_below_it() {
        let mut traces = TRACES.iter();
        let (trace, cells) = traces
            .find_map(|trace| Some((trace, trace.cells.as_ref()?)))
            .unwrap();
        let (table, cell) = (&*trace.tables[0].name, cells.directory_of(&cells.names[0]));
        for (source, is_file, expected) in [
            ("/data/trace".to_owned(), false, "/data/trace"),
            (format!("/data/trace/{table}"), false, "/data/trace"),
            (format!("/data/trace/{cell}"), false, "/data/trace"),
            (format!("/data/trace/{cell}/{table}"), false, "/data/trace"),
            (format!("/data/trace/{table}/rows"), true, "/data/trace"),
            ("/data/trace/rows".to_owned(), true, "/data/trace"),
            (
                "/data/trace/other/rows".to_owned(),
                true,
                "/data/trace/other",
            ),
        ] {
            let above = std::iter::successors(Some(Location::from(Path::new(&source))), |below| {
                below.parent()
            });
            let near: Vec<Location> = above.skip(usize::from(is_file)).take(3).collect();
            let highest = of_trace(&near, Some(trace)).last().unwrap();
            assert_eq!(highest.as_path(), Some(Path::new(expected)), "{source}");
        }
    }

    #[test]
    fn a_directory_is_below_the_source_in_any_spelling() {
        let ignoring_case = |source: &'static str| {
            move |path: &Path| path.to_str().unwrap().eq_ignore_ascii_case(source)
        };
        let depth = |path: &str, source| depth(Path::new(path), ignoring_case(source));
        assert_eq!(depth("/data/Trace/lake/new", "/data/trace"), Some(2));
        assert_eq!(depth("/data/TRACE", "/data/trace"), Some(0));
        assert_eq!(depth("/data/trace-lake", "/data/trace"), None);
        let directory = tempfile::tempdir().unwrap();
        let other = directory.path().join(".");
        assert!(is_same(directory.path(), &other));
        assert!(!is_same(directory.path(), &directory.path().join("new")));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_the_source_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let table = directory.path().join("source/job_events");
        fs::create_dir_all(&table).unwrap();
        let outside = directory.path().join("outside");
        fs::write(&outside, "x").unwrap();
        std::os::unix::fs::symlink(&outside, table.join("part-00000-of-00001.csv.gz")).unwrap();
        let error = discover(&directory.path().join("source").into(), None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
    }
}
