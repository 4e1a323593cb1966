//! What is there: the files of a source, by table and file number.

pub mod checksums;
mod hints;
pub mod schema_csv;

use std::fs;
use std::path::{Path, PathBuf};

use tracelake_schema::{Archive, Files, SYNTHETIC, TRACES, Table, Trace};

use crate::directory;
use crate::error::{Error, ErrorKind, Result};
use crate::source::ARCHIVES;
use crate::store::HOME;
use crate::words;

/// What was found in a source.
#[derive(Debug, Default)]
pub struct Found {
    /// The directory that paths are relative to.
    pub root: PathBuf,
    /// The tables with at least one file, by name.
    pub tables: Vec<FoundTable>,
    /// Archives that may hold any table of a trace, and the trace if their name tells.
    pub archives: Vec<(FoundFile, Option<&'static Trace>)>,
    /// Whether there is a `schema.csv` in the root.
    pub schema_csv: bool,
    /// Whether there is a `SHA256SUM` in the root.
    pub checksums: bool,
    /// What could be a table's file, and isn't read.
    pub skipped: Vec<Skipped>,
    /// Whether the source is a single file, which is taken alone.
    pub alone: bool,
    /// Whether `tracelake generate` made the source.
    pub synthetic: bool,
}

impl Found {
    /// The first file found, with the source's path before it; the source where there is none.
    pub(crate) fn first_path(&self) -> PathBuf {
        let parts = self.tables.iter().flat_map(|table| &table.parts);
        let mut files = parts
            .map(|part| &part.file)
            .chain(self.archives.iter().map(|(file, _)| file));
        files
            .next()
            .map_or_else(|| self.root.clone(), |file| self.root.join(&file.path))
    }
}

/// A file or directory that isn't read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its path, relative to the root.
    pub path: String,
    /// Why, and what to do about it.
    pub why: String,
}

/// The files of one table.
#[derive(Debug)]
pub struct FoundTable {
    /// Its name; `None` when neither a directory nor a file name tells.
    pub name: Option<String>,
    /// How its files are named.
    pub files: Files,
    /// The files, by file number, then by path.
    pub parts: Vec<FoundPart>,
}

impl FoundTable {
    /// Its file numbers for people, such as `parts 0-2, 7`.
    pub(crate) fn numbers(&self) -> String {
        let mut numbers: Vec<u32> = self.parts.iter().map(|part| part.number).collect();
        numbers.dedup();
        let s = if numbers.len() == 1 { "" } else { "s" };
        format!("part{s} {}", words::numbers(&numbers))
    }
}

/// One input file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// Its path, relative to the root, with forward slashes.
    pub path: String,
    /// Its size.
    pub bytes: u64,
}

/// One input file of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPart {
    /// The file.
    pub file: FoundFile,
    /// Its file number, from 0; 0 for a table in one file.
    pub number: u32,
    /// How many parts its name says that there are, if it does.
    pub total: Option<u32>,
}

impl FoundPart {
    /// How many parts there are at least.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.total.unwrap_or(self.number.saturating_add(1))
    }
}

/// The names in a source that are ours.
pub(crate) const SCHEMA_CSV: &str = "schema.csv";
pub(crate) const CHECKSUMS: &str = "SHA256SUM";

/// Looks at a source: a directory laid out as published, one table's directory, or one file. It knows
/// the names of `trace`'s tables, or, without one, of every trace's.
///
/// Nothing outside the source is read: a symbolic link that points out of it is refused.
///
/// # Errors
/// When it doesn't exist, has no file of any table, or can't be read.
pub fn discover(source: &Path, trace: Option<&'static Trace>) -> Result<Found> {
    let mut found = files(source, trace)?;
    found.synthetic = is_synthetic(source);
    Ok(found)
}

/// Whether a source, or the trace that it is one table or one file of, has the mark of a synthetic one.
fn is_synthetic(source: &Path) -> bool {
    let whole = fs::canonicalize(source).unwrap_or_default();
    let mut directories = whole.ancestors().take(3).enumerate();
    directories.any(|(above, directory)| {
        // Of a directory its parent is asked as well, of a file the one above that, too.
        let is_near = above < 2 || whole.is_file();
        is_near && directory.join(SYNTHETIC).is_file()
    })
}

/// The files of a source.
fn files(source: &Path, trace: Option<&'static Trace>) -> Result<Found> {
    let metadata = fs::metadata(source).map_err(|error| cannot_open(source, error))?;
    let root = fs::canonicalize(source).map_err(|error| Error::io("open", source, error))?;
    if !metadata.is_dir() {
        return one_file(source, &root, metadata.len(), trace);
    }
    if source.join(HOME).is_dir() {
        return Err(
            Error::new(ErrorKind::Failed, "this is a lake, not a source")
                .at(source)
                .hint("name the source first and the lake second: tracelake convert SRC OUT"),
        );
    }
    let mut search = Search {
        source,
        directory: table_of(&root, trace),
        root,
        trace,
        found: Found {
            root: source.to_owned(),
            ..Found::default()
        },
    };
    for name in list(source)? {
        search.take_top(name)?;
    }
    let mut found = search.found;
    skip_nameless(&mut found);
    if found.tables.is_empty() && found.archives.is_empty() {
        let is_source = |path: &Path| {
            let names = list(path).unwrap_or_default();
            names
                .iter()
                .any(|name| is_table(name, trace) || FileName::of(name, trace).is_some())
        };
        let hint = hints::nothing_found(source, &found.skipped, &is_source);
        return Err(
            Error::new(ErrorKind::Failed, "no table of any known trace is here")
                .at(source)
                .hint(hint),
        );
    }
    found.tables.sort_by(|a, b| a.name.cmp(&b.name));
    for table in &mut found.tables {
        table
            .parts
            .sort_by(|a, b| (a.number, &a.file.path).cmp(&(b.number, &b.file.path)));
    }
    Ok(found)
}

/// Whether a directory looks like a source: it has something that [`discover`] would read.
#[must_use]
pub fn is_source(path: &Path) -> bool {
    discover(path, None).is_ok()
}

/// Refuses a lake that would be inside its source, where the next run would look for tables.
///
/// # Errors
/// [`ErrorKind::Refused`] when `out` is in the directory `source`; when a path can't be resolved.
pub fn refuse_inside(source: &Path, out: &Path) -> Result<()> {
    if !source.is_dir() {
        return Ok(());
    }
    let resolve = |path: &Path| {
        let whole = std::path::absolute(path).and_then(|whole| {
            let existing = whole.ancestors().find(|ancestor| ancestor.exists());
            fs::canonicalize(existing.unwrap_or(&whole))
        });
        whole.map_err(|error| Error::io("open", path, error))
    };
    // A source may be a lake's parent by way of directories that don't exist yet.
    let (root, whole) = (resolve(source)?, resolve(out)?);
    let is_new_beside = whole == root && !out.exists();
    if !(whole.starts_with(&root) && whole != root || is_new_beside) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Refused, "OUT is inside SRC")
        .at(out)
        .hint("name a directory for the lake that is outside the source"))
}

fn cannot_open(source: &Path, error: std::io::Error) -> Error {
    if error.kind() != std::io::ErrorKind::NotFound {
        return Error::io("open the source", source, error);
    }
    let hint = match source.to_str() {
        Some(url) if url.contains("://") => "download it, and name the directory",
        _ => "check the path: SRC is the directory or file that was downloaded",
    };
    Error::new(ErrorKind::Failed, "there is no such file or directory")
        .at(source)
        .hint(hint)
        .because(error)
}

/// Skips parts that no directory gives a table, where there are tables beside them.
fn skip_nameless(found: &mut Found) {
    let named = found.tables.iter().any(|table| table.name.is_some());
    if !named && found.archives.is_empty() {
        return;
    }
    let tables = std::mem::take(&mut found.tables);
    let (named, nameless): (Vec<_>, Vec<_>) =
        tables.into_iter().partition(|table| table.name.is_some());
    found.tables = named;
    let parts = nameless.into_iter().flat_map(|table| table.parts);
    found.skipped.extend(parts.map(|part| Skipped {
        path: part.file.path,
        why: "it is not in the directory of a table".to_owned(),
    }));
}

/// A single file; its name, or that of its directory, says which table it is of.
fn one_file(
    source: &Path,
    whole: &Path,
    bytes: u64,
    trace: Option<&'static Trace>,
) -> Result<Found> {
    let name = source.file_name().and_then(|name| name.to_str());
    let Some(name) = name else {
        return Err(Error::new(ErrorKind::Usage, "the file's name is not UTF-8")
            .at(source)
            .hint("rename it"));
    };
    let parent = source.parent().map(Path::to_owned).unwrap_or_default();
    let root = if parent.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        parent
    };
    let mut found = Found {
        root,
        alone: true,
        ..Found::default()
    };
    let file = FoundFile {
        path: name.to_owned(),
        bytes,
    };
    let directory = whole.parent().and_then(|parent| table_of(parent, trace));
    let (table, files, number, total) = match FileName::of(name, trace) {
        Some(FileName::Archive(trace)) => {
            found.archives.push((file, Some(trace)));
            return Ok(found);
        }
        Some(FileName::Part { number, total }) => (directory, Files::Parts, number, Some(total)),
        Some(FileName::Shard { table, number }) => (Some(table), Files::Shards, number, None),
        Some(FileName::Whole { table }) => (Some(table), Files::Whole, 0, None),
        Some(FileName::Only { table, files }) => (Some(table), files, 0, Some(1)),
        None if ARCHIVES.iter().any(|ending| name.ends_with(ending)) => {
            found.archives.push((file, None));
            return Ok(found);
        }
        // A file with a name of its own is the only part.
        None => (
            directory.or_else(|| stem_table(name, trace)),
            Files::Parts,
            0,
            Some(1),
        ),
    };
    found.tables.push(FoundTable {
        name: table,
        files,
        parts: vec![FoundPart {
            file,
            number,
            total,
        }],
    });
    Ok(found)
}

/// A directory that is being looked through.
struct Search<'a> {
    source: &'a Path,
    /// The same without links.
    root: PathBuf,
    /// The table that the source is named after, if it is one table's directory.
    directory: Option<String>,
    trace: Option<&'static Trace>,
    found: Found,
}

impl Search<'_> {
    /// Takes one name of the source itself.
    fn take_top(&mut self, name: String) -> Result<()> {
        let path = self.source.join(&name);
        if is_table(&name, self.trace) && path.is_dir() {
            stay_inside(&self.root, &path)?;
            for file in list(&path)? {
                self.take(format!("{name}/{file}"), Some(&name))?;
            }
        } else if name == SCHEMA_CSV {
            stay_inside(&self.root, &path)?;
            self.found.schema_csv = true;
        } else if name == CHECKSUMS {
            stay_inside(&self.root, &path)?;
            self.found.checksums = true;
        } else if FileName::of(&name, self.trace).is_some() || self.directory.is_some() {
            let directory = self.directory.clone();
            self.take(name, directory.as_deref())?;
        } else if is_table(&name, None) || FileName::of(&name, None).is_some() {
            self.skip(name, hints::why_elsewhere());
        } else if let Some(why) = hints::why_data(self.source, &name) {
            self.skip(name, why);
        }
        Ok(())
    }

    fn skip(&mut self, path: String, why: String) {
        self.found.skipped.push(Skipped { path, why });
    }

    /// Takes one name as a file of a table or as an archive, or skips it; `directory` is the table that
    /// its directory is named after.
    fn take(&mut self, path: String, directory: Option<&str>) -> Result<()> {
        let name = path.rsplit('/').next().unwrap_or(&path);
        let directory = directory.map(str::to_owned);
        // A table's directory holds files of that table.
        let fits = |table: &String| {
            directory
                .as_ref()
                .is_none_or(|directory| directory == table)
        };
        let (table, files, number, total) = match FileName::of(name, self.trace) {
            Some(FileName::Part { number, total }) => {
                (directory, Files::Parts, number, Some(total))
            }
            Some(FileName::Shard { table, number }) if fits(&table) => {
                (Some(table), Files::Shards, number, None)
            }
            Some(FileName::Whole { table }) if fits(&table) => (Some(table), Files::Whole, 0, None),
            Some(FileName::Only { table, files }) if fits(&table) => {
                (Some(table), files, 0, Some(1))
            }
            Some(FileName::Archive(trace)) => {
                let file = self.file(path)?;
                self.found.archives.push((file, Some(trace)));
                return Ok(());
            }
            Some(_) => {
                self.skip(path, hints::why_elsewhere());
                return Ok(());
            }
            None => {
                let why = hints::why_skipped(self.source, &path);
                self.skip(path, why);
                return Ok(());
            }
        };
        let part = FoundPart {
            file: self.file(path)?,
            number,
            total,
        };
        let tables = &mut self.found.tables;
        match tables
            .iter_mut()
            .find(|known| known.name == table && known.files == files)
        {
            Some(known) => known.parts.push(part),
            None => tables.push(FoundTable {
                name: table,
                files,
                parts: vec![part],
            }),
        }
        Ok(())
    }

    fn file(&self, path: String) -> Result<FoundFile> {
        let place = self.source.join(&path);
        stay_inside(&self.root, &place)?;
        let metadata = fs::metadata(&place).map_err(|error| Error::io("open", &place, error))?;
        if !metadata.is_file() {
            let reason = "has the name of a table's file, but is not a file";
            return Err(Error::new(ErrorKind::Failed, reason)
                .at(place)
                .hint("move it away"));
        }
        Ok(FoundFile {
            path,
            bytes: metadata.len(),
        })
    }
}

/// What a file's name says about it.
#[derive(Debug, PartialEq)]
enum FileName {
    /// `part-00017-of-00500.csv.gz`, of the table that its directory is named after.
    Part { number: u32, total: u32 },
    /// `<table>-000000000017.json.gz`.
    Shard { table: String, number: u32 },
    /// `<table>.csv.gz`, `<table>.tar.gz`, of a table that is published so.
    Whole { table: String },
    /// `<table>.csv.gz`, of a table that is published in parts or shards: its only part.
    Only { table: String, files: Files },
    /// An archive of all tables.
    Archive(&'static Trace),
}

impl FileName {
    fn of(name: &str, trace: Option<&'static Trace>) -> Option<Self> {
        if let Some((number, total)) = part_name(name) {
            return Some(Self::Part { number, total });
        }
        let known_as = |archive: &&Archive| {
            archive.names.iter().any(|known| {
                let stem = known.strip_suffix(".tar.gz").unwrap_or(known);
                let ending = name.strip_prefix(stem);
                ending.is_some_and(|ending| ARCHIVES.contains(&ending))
            })
        };
        for trace in traces(trace) {
            if let Some(archive) = trace.archives.iter().find(known_as) {
                return Some(match archive.table {
                    None => Self::Archive(trace),
                    Some(table) => Self::Whole {
                        table: table.to_owned(),
                    },
                });
            }
        }
        tables(trace).find_map(|table| {
            let rest = name.strip_prefix(table.name)?;
            let extension = table.syntax.extension();
            let of_text = |rest: &str| {
                let rest = rest
                    .strip_prefix('.')
                    .and_then(|rest| rest.strip_prefix(extension));
                matches!(rest, Some("" | ".gz"))
            };
            let name = table.name.to_owned();
            match table.files {
                Files::Whole if of_text(rest) || ARCHIVES.contains(&rest) => {
                    Some(Self::Whole { table: name })
                }
                Files::Parts | Files::Shards if of_text(rest) => Some(Self::Only {
                    table: name,
                    files: table.files,
                }),
                Files::Shards => {
                    let rest = rest.strip_prefix('-')?;
                    let (number, _) = rest.split_once('.')?;
                    let file_number = digits(number)?;
                    of_text(&rest[number.len()..]).then_some(Self::Shard {
                        table: name,
                        number: file_number,
                    })
                }
                _ => None,
            }
        })
    }
}

fn traces(trace: Option<&'static Trace>) -> impl Iterator<Item = &'static Trace> {
    let all = if trace.is_none() { TRACES } else { &[] };
    trace.into_iter().chain(all)
}

fn tables(trace: Option<&'static Trace>) -> impl Iterator<Item = &'static Table> {
    traces(trace).flat_map(|trace| trace.tables)
}

fn is_table(name: &str, trace: Option<&'static Trace>) -> bool {
    tables(trace).any(|table| table.name == name)
}

/// The file number and the number of parts in a name such as `part-00017-of-00500.csv.gz`.
fn part_name(name: &str) -> Option<(u32, u32)> {
    let stem = name
        .strip_suffix(".csv.gz")
        .or_else(|| name.strip_suffix(".csv"))?;
    let (number, total) = stem.strip_prefix("part-")?.split_once("-of-")?;
    Some((digits(number)?, digits(total)?))
}

/// A number of digits and nothing else.
fn digits(text: &str) -> Option<u32> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// The table that a directory is named after.
fn table_of(directory: &Path, trace: Option<&'static Trace>) -> Option<String> {
    let name = directory.file_name()?.to_str()?;
    is_table(name, trace).then(|| name.to_owned())
}

/// The table that a file is named after, although the publisher names the table's files otherwise.
fn stem_table(name: &str, trace: Option<&'static Trace>) -> Option<String> {
    let (stem, _) = name.split_once('.')?;
    is_table(stem, trace).then(|| stem.to_owned())
}

/// Refuses a symbolic link that points out of the source.
fn stay_inside(root: &Path, path: &Path) -> Result<()> {
    let whole = fs::canonicalize(path).map_err(|error| Error::io("open", path, error))?;
    if whole.starts_with(root) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Refused,
        "a symbolic link that points out of the source",
    )
    .at(path)
    .hint("name the directory that it points to, or put the file itself here"))
}

/// The names in a directory, sorted; those that are not UTF-8 cannot be ours.
fn list(path: &Path) -> Result<Vec<String>> {
    let names = directory::names(path).map_err(|error| Error::io("list", path, error))?;
    Ok(names
        .into_iter()
        .filter_map(|name| name.into_string().ok())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_names() {
        assert_eq!(part_name("part-00017-of-00500.csv.gz"), Some((17, 500)));
        assert_eq!(part_name("part-00000-of-00001.csv"), Some((0, 1)));
        for other in [
            "part-00017-of-00500.csv.gz.part",
            "part--of-1.csv",
            "part-+1-of-2.csv.gz",
            "part-99999999999-of-1.csv.gz",
            "x.csv.gz",
            "part-1-of-2.parquet",
        ] {
            assert_eq!(part_name(other), None, "{other}");
        }
    }

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
        let found = discover(directory.path(), None).unwrap();
        assert_eq!(
            found.tables[0]
                .parts
                .iter()
                .map(|p| p.number)
                .collect::<Vec<_>>(),
            [0, 1]
        );
        assert_eq!(found.skipped[0].path, "job_events/notes.txt");
        let found = discover(&table, None).unwrap();
        assert_eq!(found.tables[0].name.as_deref(), Some("job_events"));
        let found = discover(&table.join("part-00001-of-00003.csv.gz"), None).unwrap();
        assert_eq!((found.tables[0].parts.len(), found.alone), (1, true));
        assert_eq!(found.tables[0].name.as_deref(), Some("job_events"));
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
        let error = discover(&directory.path().join("source"), None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
    }
}
