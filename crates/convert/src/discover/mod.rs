//! What is there: the files of a source, by table and file number.

pub mod checksums;
pub mod schema_csv;

use std::fs;
use std::path::{Path, PathBuf};

use tracelake_schema::TRACES;

use crate::directory;
use crate::error::{Error, ErrorKind, Result};

/// What was found in a source.
#[derive(Debug, Default)]
pub struct Found {
    /// The directory that paths are relative to.
    pub root: PathBuf,
    /// The tables with at least one part, by name.
    pub tables: Vec<FoundTable>,
    /// Whether there is a `schema.csv` in the root.
    pub schema_csv: bool,
    /// Whether there is a `SHA256SUM` in the root.
    pub checksums: bool,
    /// Names in a table's directory that are not parts.
    pub passed_over: Vec<String>,
    /// Whether the source is a single file, which is taken alone.
    pub alone: bool,
}

/// The parts of one table.
#[derive(Debug)]
pub struct FoundTable {
    /// Its name; `None` when neither a directory nor a file name tells.
    pub name: Option<String>,
    /// Its parts, by file number, then by path.
    pub parts: Vec<FoundPart>,
}

/// One input file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPart {
    /// Its path, relative to the root, with forward slashes.
    pub path: String,
    /// Its file number, from 0.
    pub number: u32,
    /// How many parts its name says that there are.
    pub total: u32,
    /// Its size.
    pub bytes: u64,
}

/// The names in a source that are ours.
pub(crate) const SCHEMA_CSV: &str = "schema.csv";
pub(crate) const CHECKSUMS: &str = "SHA256SUM";

/// Looks at a source: a directory laid out as published, one table's directory, or one file.
///
/// Nothing outside of it is read: a symbolic link that leads out is refused.
///
/// # Errors
/// When it is not there, holds no part of any table, or cannot be read.
pub fn discover(source: &Path) -> Result<Found> {
    let metadata = fs::metadata(source).map_err(|error| {
        Error::io("open the source", source, error).hint("name the downloaded trace's directory")
    })?;
    if !metadata.is_dir() {
        return one_file(source, metadata.len());
    }
    let root = fs::canonicalize(source).map_err(|error| Error::io("open", source, error))?;
    let mut found = Found {
        root: source.to_owned(),
        ..Found::default()
    };
    let mut here = FoundTable {
        name: None,
        parts: Vec::new(),
    };
    for name in list(source)? {
        let path = source.join(&name);
        let is_table = TRACES.iter().any(|trace| trace.table(&name).is_some());
        if is_table && path.is_dir() {
            stay_inside(&root, &path)?;
            let mut table = FoundTable {
                name: Some(name.clone()),
                parts: Vec::new(),
            };
            for part in list(&path)? {
                take(
                    &root,
                    source,
                    &format!("{name}/{part}"),
                    &mut table,
                    &mut found.passed_over,
                )?;
            }
            if !table.parts.is_empty() {
                found.tables.push(table);
            }
        } else if name == SCHEMA_CSV {
            stay_inside(&root, &path)?;
            found.schema_csv = true;
        } else if name == CHECKSUMS {
            stay_inside(&root, &path)?;
            found.checksums = true;
        } else if part_name(&name).is_some() {
            take(&root, source, &name, &mut here, &mut found.passed_over)?;
        }
    }
    if found.tables.is_empty() && !here.parts.is_empty() {
        here.name = table_of(&root);
        found.tables.push(here);
    } else {
        found
            .passed_over
            .extend(here.parts.into_iter().map(|part| part.path));
    }
    if found.tables.is_empty() {
        return Err(Error::new(ErrorKind::Failed, "no table of any known trace is here")
            .at(source)
            .hint("expected directories such as job_events with files such as part-00000-of-00500.csv.gz"));
    }
    for table in &mut found.tables {
        table
            .parts
            .sort_by(|a, b| (a.number, &a.path).cmp(&(b.number, &b.path)));
    }
    Ok(found)
}

/// A single file; its directory's name tells the table, if it is one.
fn one_file(source: &Path, bytes: u64) -> Result<Found> {
    let whole = fs::canonicalize(source).map_err(|error| Error::io("open", source, error))?;
    let name = source
        .file_name()
        .and_then(|name| name.to_str())
        .ok_or_else(|| {
            Error::new(ErrorKind::Usage, "the file's name is not UTF-8")
                .at(source)
                .hint("rename it")
        })?;
    let (number, total) = part_name(name).unwrap_or((0, 1));
    let part = FoundPart {
        path: name.to_owned(),
        number,
        total,
        bytes,
    };
    let parent = source.parent().map(Path::to_owned).unwrap_or_default();
    let root = if parent.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        parent
    };
    let table = FoundTable {
        name: whole.parent().and_then(table_of),
        parts: vec![part],
    };
    Ok(Found {
        root,
        tables: vec![table],
        alone: true,
        ..Found::default()
    })
}

/// Files one name in a table's directory as a part, or as passed over.
fn take(
    root: &Path,
    source: &Path,
    path: &str,
    table: &mut FoundTable,
    passed_over: &mut Vec<String>,
) -> Result<()> {
    let place = source.join(path);
    let Some((number, total)) = part_name(path.rsplit('/').next().unwrap_or(path)) else {
        passed_over.push(path.to_owned());
        return Ok(());
    };
    stay_inside(root, &place)?;
    let metadata = fs::metadata(&place).map_err(|error| Error::io("open", &place, error))?;
    if !metadata.is_file() {
        return Err(Error::new(
            ErrorKind::Failed,
            "has the name of a part, but is not a file",
        )
        .at(place)
        .hint("move it away"));
    }
    let bytes = metadata.len();
    table.parts.push(FoundPart {
        path: path.to_owned(),
        number,
        total,
        bytes,
    });
    Ok(())
}

/// The file number and the number of parts in a name such as `part-00017-of-00500.csv.gz`.
fn part_name(name: &str) -> Option<(u32, u32)> {
    let stem = name
        .strip_suffix(".csv.gz")
        .or_else(|| name.strip_suffix(".csv"))?;
    let (number, total) = stem.strip_prefix("part-")?.split_once("-of-")?;
    let digits = |text: &str| {
        let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| text.parse().ok()).flatten()
    };
    Some((digits(number)?, digits(total)?))
}

/// The table that a directory is named after.
fn table_of(directory: &Path) -> Option<String> {
    let name = directory.file_name()?.to_str()?;
    TRACES
        .iter()
        .any(|trace| trace.table(name).is_some())
        .then(|| name.to_owned())
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
        let found = discover(directory.path()).unwrap();
        assert_eq!(
            found.tables[0]
                .parts
                .iter()
                .map(|p| p.number)
                .collect::<Vec<_>>(),
            [0, 1]
        );
        assert_eq!(found.passed_over, ["job_events/notes.txt"]);
        let found = discover(&table).unwrap();
        assert_eq!(found.tables[0].name.as_deref(), Some("job_events"));
        let found = discover(&table.join("part-00001-of-00003.csv.gz")).unwrap();
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
        let error = discover(&directory.path().join("source")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
    }
}
