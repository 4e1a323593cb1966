//! What is there: the files of a source, by table and file number.

pub mod checksums;
pub mod schema_csv;

use std::fs;
use std::path::{Path, PathBuf};

use tracelake_schema::{Files, SYNTHETIC, TRACES, Table, Trace};

use crate::directory;
use crate::error::{Error, ErrorKind, Result};
use crate::source::ARCHIVES;

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
    /// Names that could be those of a table's files, but are not.
    pub passed_over: Vec<String>,
    /// Whether the source is a single file, which is taken alone.
    pub alone: bool,
    /// Whether `tracelake generate` made the source.
    pub synthetic: bool,
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

/// Looks at a source: a directory laid out as published, one table's directory, or one file. Names are
/// those of `trace`, or of any trace.
///
/// Nothing outside of it is read: a symbolic link that leads out is refused.
///
/// # Errors
/// When it is not there, holds no file of any table, or cannot be read.
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
    let metadata = fs::metadata(source).map_err(|error| {
        Error::io("open the source", source, error).hint("name the downloaded trace's directory")
    })?;
    let root = fs::canonicalize(source).map_err(|error| Error::io("open", source, error))?;
    if !metadata.is_dir() {
        return one_file(source, &root, metadata.len(), trace);
    }
    let here = table_of(&root, trace);
    let mut search = Search {
        source,
        root,
        trace,
        found: Found {
            root: source.to_owned(),
            ..Found::default()
        },
    };
    for name in list(source)? {
        let path = source.join(&name);
        if is_table(&name, trace) && path.is_dir() {
            stay_inside(&search.root, &path)?;
            for file in list(&path)? {
                search.take(format!("{name}/{file}"), Some(&name))?;
            }
        } else if name == SCHEMA_CSV {
            stay_inside(&search.root, &path)?;
            search.found.schema_csv = true;
        } else if name == CHECKSUMS {
            stay_inside(&search.root, &path)?;
            search.found.checksums = true;
        } else if FileName::of(&name, trace).is_some() {
            search.take(name, here.as_deref())?;
        }
    }
    let mut found = search.found;
    // Parts of no table that lie beside tables belong to none of them.
    let named = found.tables.iter().any(|table| table.name.is_some());
    if named || !found.archives.is_empty() {
        let (named, nameless) = std::mem::take(&mut found.tables)
            .into_iter()
            .partition(|table| table.name.is_some());
        found.tables = named;
        let nameless: Vec<FoundTable> = nameless;
        let parts = nameless.into_iter().flat_map(|table| table.parts);
        found.passed_over.extend(parts.map(|part| part.file.path));
    }
    if found.tables.is_empty() && found.archives.is_empty() {
        let example = "job_events with files such as part-00000-of-00500.csv.gz";
        return Err(
            Error::new(ErrorKind::Failed, "no table of any known trace is here")
                .at(source)
                .hint(format!(
                    "expected directories such as {example}, or files that are named after tables"
                )),
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

/// A single file; its name tells the table, or that of its directory.
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
        None if ARCHIVES.iter().any(|ending| name.ends_with(ending)) => {
            found.archives.push((file, None));
            return Ok(found);
        }
        // Under a name of its own it is the only part.
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
    trace: Option<&'static Trace>,
    found: Found,
}

impl Search<'_> {
    /// Files one name as a file of a table, an archive, or as passed over; `directory` is the table that
    /// its directory is named after.
    fn take(&mut self, path: String, directory: Option<&str>) -> Result<()> {
        let name = path.rsplit('/').next().unwrap_or(&path);
        let directory = directory.map(str::to_owned);
        let known = FileName::of(name, self.trace);
        // In a table's directory lie files of this table.
        let fits = |table: &String| {
            directory
                .as_ref()
                .is_none_or(|directory| directory == table)
        };
        let (table, files, number, total) = match known {
            Some(FileName::Part { number, total }) => {
                (directory, Files::Parts, number, Some(total))
            }
            Some(FileName::Shard { table, number }) if fits(&table) => {
                (Some(table), Files::Shards, number, None)
            }
            Some(FileName::Whole { table }) if fits(&table) => (Some(table), Files::Whole, 0, None),
            Some(FileName::Archive(trace)) => {
                let file = self.file(path)?;
                self.found.archives.push((file, Some(trace)));
                return Ok(());
            }
            _ => {
                self.found.passed_over.push(path);
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

/// What the name of a file says.
#[derive(Debug, PartialEq)]
enum FileName {
    /// `part-00017-of-00500.csv.gz`: of a table whose directory it lies in.
    Part { number: u32, total: u32 },
    /// `<table>-000000000017.json.gz`.
    Shard { table: String, number: u32 },
    /// `<table>.csv.gz`, `<table>.tar.gz`.
    Whole { table: String },
    /// An archive of all tables.
    Archive(&'static Trace),
}

impl FileName {
    fn of(name: &str, trace: Option<&'static Trace>) -> Option<Self> {
        if let Some((number, total)) = part_name(name) {
            return Some(Self::Part { number, total });
        }
        let archive = |stem: &str| {
            let ending = name.strip_prefix(stem).filter(|_| !stem.is_empty());
            ending.is_some_and(|ending| ARCHIVES.contains(&ending))
        };
        if let Some(trace) = traces(trace).find(|trace| archive(trace.archive)) {
            return Some(Self::Archive(trace));
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

/// The table that a file is named after, although files of the table are named otherwise.
fn stem_table(name: &str, trace: Option<&'static Trace>) -> Option<String> {
    let (stem, _) = name.split_once('.')?;
    is_table(stem, trace).then(|| stem.to_owned())
}

/// Refuses what a symbolic link takes out of the source.
fn stay_inside(root: &Path, path: &Path) -> Result<()> {
    let whole = fs::canonicalize(path).map_err(|error| Error::io("open", path, error))?;
    if whole.starts_with(root) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Refused,
        "a symbolic link that leads out of the source",
    )
    .at(path)
    .hint("name the directory that it leads to, or put the file itself here"))
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
        assert_eq!(found.passed_over, ["job_events/notes.txt"]);
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
