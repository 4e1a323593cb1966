//! Parses the names of files and directories: the table, the file number, the cell.

use std::sync::Arc;

use tracelake_core::digest::Digest;
use tracelake_core::part_key::CellName;
use tracelake_location::Location;
use tracelake_schema::{Archive, Files, Syntax, TRACES, Table, Trace, cell_name, uncompressed};
use tracelake_source::ARCHIVES;

/// The file in a source that lists the columns of its tables.
pub const SCHEMA_CSV: &str = "schema.csv";

/// The file in a source that lists the SHA-256 of its files.
pub const CHECKSUMS: &str = "SHA256SUM";

/// The extension of Parquet files. Google's are also named as if they were compressed with gzip.
const PARQUET: &str = "parquet";

/// Whether a file of any name says that it is Parquet.
pub(super) fn is_parquet(name: &str) -> bool {
    let stem = uncompressed(name).rsplit_once('.');
    stem.is_some_and(|(_, extension)| extension == PARQUET)
}

/// The meaning of a file's name.
#[derive(Debug, PartialEq)]
pub(super) enum FileName {
    /// A file of one table.
    File(NamedFile),
    /// A name that patterns take apart in several ways; why that is so.
    Ambiguous(String),
    /// An archive of all tables.
    Archive(Arc<Trace>),
    /// A zip archive of Parquet files, which are parts.
    ParquetZip,
}

/// A file of one table, as its name says.
#[derive(Debug, PartialEq)]
pub(super) struct NamedFile {
    /// `None` for the table that its directory is named after.
    pub(super) table: Option<String>,
    pub(super) files: Files,
    /// 0 for a file with all rows of its table.
    pub(super) number: u32,
    /// How many files the table has, if the name says it.
    pub(super) total: Option<u32>,
    pub(super) is_parquet: bool,
    /// Whether it is the only part of a table that is published in parts or shards.
    pub(super) is_only: bool,
}

impl NamedFile {
    /// `<table>.csv.gz`, `<table>.tar.gz`, of a table that is published so.
    fn whole(table: &Table) -> Self {
        Self {
            table: Some(table.name.clone()),
            files: Files::Whole,
            number: 0,
            total: None,
            is_parquet: false,
            is_only: false,
        }
    }
}

impl FileName {
    /// Of the directories in `path`, only those count that patterns name.
    pub(super) fn of(path: &str, trace: Option<&Arc<Trace>>) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        if let Some(named) = named(path, trace) {
            return Some(named);
        }
        if let Some((number, total)) = part_name(name) {
            return Some(Self::File(NamedFile {
                table: None,
                files: Files::Parts,
                number,
                total: Some(total),
                is_parquet: false,
                is_only: false,
            }));
        }
        for trace in traces(name, trace) {
            if let Some(archive) = archive_of(trace, name) {
                let table = archive.table.as_ref().and_then(|name| trace.table(name));
                return Some(match table.filter(|table| table.files != Files::Named) {
                    None if trace.tables.iter().any(|table| of_archive(archive, table)) => {
                        Self::ParquetZip
                    }
                    None => Self::Archive(Arc::clone(trace)),
                    Some(table) => Self::File(NamedFile::whole(table)),
                });
            }
        }
        let mut tables = tables(name, trace);
        let file = tables.find_map(|table| {
            let rest = name.strip_prefix(&*table.name)?;
            let extension = table.syntax.extension();
            let ends_in = |rest: &str, extension: &str| {
                uncompressed(rest).strip_prefix('.') == Some(extension)
            };
            let of_text = |rest: &str| ends_in(rest, extension);
            let of_parquet = |rest: &str| table.is_published_as_parquet() && ends_in(rest, PARQUET);
            let whole = NamedFile::whole(table);
            match table.files {
                Files::Whole if of_text(rest) || is_archive_ending(rest, extension) => Some(whole),
                Files::Parts | Files::Shards if of_text(rest) || of_parquet(rest) => {
                    Some(NamedFile {
                        files: table.files,
                        total: Some(1),
                        is_parquet: of_parquet(rest),
                        is_only: true,
                        ..whole
                    })
                }
                Files::Shards => {
                    let rest = rest.strip_prefix('-')?;
                    let (text, _) = rest.split_once('.')?;
                    let number = digits(text)?;
                    let rest = &rest[text.len()..];
                    (of_text(rest) || of_parquet(rest)).then_some(NamedFile {
                        files: table.files,
                        number,
                        is_parquet: of_parquet(rest),
                        ..whole
                    })
                }
                _ => None,
            }
        });
        file.map(Self::File)
    }
}

/// A published file, as its path says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedFile {
    /// The table; `None` for an archive of all tables.
    pub table: Option<String>,
    /// The number of the part; `None` for a file with all rows of its table, and for an archive.
    pub number: Option<u32>,
    /// Whether it is the Parquet form of a table that is also published in another form.
    pub is_second_form: bool,
}

/// The meaning of the path of a published file, below where its trace is published; `None` if it is none of a table's.
///
/// ```
/// use tracelake_convert::discover::published_file;
/// use tracelake_schema::TRACES;
///
/// let mut traces = TRACES.iter();
/// let trace = traces.find(|trace| trace.in_parts()).unwrap();
/// let path = format!("{}/part-00017-of-00500.csv.gz", trace.tables[0].name);
/// assert_eq!(published_file(&path, trace).unwrap().number, Some(17));
/// assert_eq!(published_file("README", trace), None);
/// ```
#[must_use]
pub fn published_file(path: &str, trace: &Arc<Trace>) -> Option<PublishedFile> {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let of_directory = || trace.table(directory.rsplit('/').next().unwrap_or_default());
    let (table, number, is_parquet) = match FileName::of(path, Some(trace))? {
        // No published file has such a name.
        FileName::File(NamedFile { is_only: true, .. }) | FileName::Ambiguous(_) => return None,
        FileName::File(file) => {
            let table = match file.table {
                Some(table) => table,
                None => of_directory()?.name.clone(),
            };
            let number = (file.files != Files::Whole).then_some(file.number);
            (Some(table), number, file.is_parquet)
        }
        FileName::Archive(_) | FileName::ParquetZip => {
            (archive_of(trace, name)?.table.clone(), None, false)
        }
    };
    let of_two_forms = table
        .as_ref()
        .and_then(|table| trace.table(table))
        .is_some_and(|table| table.parquet);
    Some(PublishedFile {
        table,
        number,
        is_second_form: is_parquet && of_two_forms,
    })
}

/// The published archive of a trace that a file of this name is.
pub(crate) fn archive_of<'a>(trace: &'a Trace, name: &str) -> Option<&'a Archive> {
    let mut archives = trace.archives.iter();
    archives.find(|archive| {
        archive.names.iter().any(|known| {
            let stem = ARCHIVES
                .iter()
                .find_map(|ending| known.strip_suffix(ending));
            let ending = name.strip_prefix(stem.unwrap_or(known));
            ending.is_some_and(|ending| ARCHIVES.contains(&ending))
        })
    })
}

/// The SHA-256 that a description gives for a file of this name; `None` for a built-in trace, whose archives are also
/// made anew, by `generate` and by users.
pub(crate) fn described_sha256(trace: &Trace, path: &str) -> Option<Digest> {
    trace.description.as_ref()?;
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut archives = trace.archives.iter();
    let archive = archives.find(|archive| archive.names.iter().any(|known| *known == name))?;
    archive.sha256.as_ref()?.parse().ok()
}

/// Whether an archive of one text has this ending after the name of its table: `.tar.gz`, or `.csv.zip`.
fn is_archive_ending(ending: &str, extension: &str) -> bool {
    let text = ending
        .strip_suffix(".zip")
        .and_then(|text| text.strip_prefix('.'));
    ARCHIVES.contains(&ending) || text == Some(extension)
}

/// The meaning of a path by the patterns of tables.
fn named(path: &str, trace: Option<&Arc<Trace>>) -> Option<FileName> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut found: Option<FileName> = None;
    let mut first = "";
    for table in tables(path, trace).filter(|table| !table.naming.patterns.is_empty()) {
        let claims = match table.files {
            Files::Named => table.naming.claims(path),
            Files::Whole if is_other_name(table, name) => Vec::new(),
            _ => continue,
        };
        let meaning = match &claims[..] {
            [] if table.files == Files::Whole => NamedFile::whole(table),
            [] => continue,
            [claim] => NamedFile {
                files: table.files,
                number: claim.number,
                total: claim.total,
                is_parquet: table.syntax == Syntax::Parquet,
                ..NamedFile::whole(table)
            },
            [..] => {
                let reason = format!("its name fits the names of {} in several ways", table.name);
                return Some(FileName::Ambiguous(reason));
            }
        };
        if found.is_some() && trace.is_some() {
            let reason = format!("its name fits the tables {first} and {}", table.name);
            return Some(FileName::Ambiguous(reason));
        }
        if found.is_none() {
            (found, first) = (Some(FileName::File(meaning)), &table.name);
        }
    }
    found
}

/// Whether a name is one of those that a table in one file is also known by.
fn is_other_name(table: &Table, name: &str) -> bool {
    let plain = |name: &str| {
        let archive = ARCHIVES.iter().find_map(|ending| name.strip_suffix(ending));
        archive.map_or_else(
            || uncompressed(name).to_owned(),
            |stem| format!("{stem}.tar"),
        )
    };
    let mut names = table.naming.patterns.iter();
    names.any(|pattern| plain(&pattern.text) == plain(name))
}

/// Whether a directory can hold files of a table below it, by the directories in the names of files.
pub(super) fn leads_to_files(path: &str, trace: Option<&Arc<Trace>>) -> bool {
    tables(path, trace).any(|table| table.naming.leads_to(path))
}

/// Whether an archive holds a table of Parquet files.
fn of_archive(archive: &Archive, table: &Table) -> bool {
    let is_of = archive.table.as_ref().is_none_or(|of| *of == table.name);
    table.syntax == Syntax::Parquet && is_of
}

/// The trace, or without one those that a file or directory with this path can be of.
fn traces<'a>(
    path: &'a str,
    trace: Option<&'a Arc<Trace>>,
) -> impl Iterator<Item = &'a Arc<Trace>> {
    let traces: Vec<&Arc<Trace>> = match trace {
        Some(trace) => vec![trace],
        None => TRACES.of_file(path).collect(),
    };
    traces.into_iter()
}

fn tables<'a>(
    path: &'a str,
    trace: Option<&'a Arc<Trace>>,
) -> impl Iterator<Item = &'a Arc<Table>> {
    traces(path, trace).flat_map(|trace| &trace.tables)
}

pub(super) fn is_table(name: &str, trace: Option<&Arc<Trace>>) -> bool {
    tables(name, trace).any(|table| table.name == name)
}

/// The file number and the number of parts in a name such as `part-00017-of-00500.csv.gz`.
fn part_name(name: &str) -> Option<(u32, u32)> {
    let stem = uncompressed(name).strip_suffix(".csv")?;
    let (number, total) = stem.strip_prefix("part-")?.split_once("-of-")?;
    Some((digits(number)?, digits(total)?))
}

/// A number of digits and nothing else.
fn digits(text: &str) -> Option<u32> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// The built-in traces that have a table, or a file, of this name; parts are named alike in all of them.
pub(super) fn traces_of(name: &str) -> Vec<&'static str> {
    let is_of = |trace: &&Arc<Trace>| {
        let file = FileName::of(name, Some(*trace));
        let is_part = |file| matches!(file, FileName::File(NamedFile { table: None, .. }));
        file.is_some_and(|file| !is_part(file)) || is_table(name, Some(*trace))
    };
    let traces = TRACES.of_file(name).filter(is_of);
    traces.map(|trace| &*trace.name).collect()
}

/// The table that a directory is named after.
pub(super) fn table_of(directory: &Location, trace: Option<&Arc<Trace>>) -> Option<String> {
    let name = directory.name()?;
    is_table(name, trace).then(|| name.to_owned())
}

/// The table that a file is named after, although the publisher names the table's files otherwise.
pub(super) fn stem_table(name: &str, trace: Option<&Arc<Trace>>) -> Option<String> {
    let (stem, _) = name.split_once('.')?;
    is_table(stem, trace).then(|| stem.to_owned())
}

/// The cell that a directory is named after.
pub(super) fn cell_of(directory: &Location, trace: Option<&Arc<Trace>>) -> Option<CellName> {
    let name = directory.name_or_bucket()?;
    let mut cells = traces(name, trace).filter_map(|trace| trace.cells.as_ref());
    cells.find_map(|cells| cell_name(cells.of_directory(name)?).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_names() {
        assert_eq!(part_name("part-00017-of-00500.csv.gz"), Some((17, 500)));
        assert_eq!(part_name("part-00000-of-00001.csv"), Some((0, 1)));
        assert_eq!(part_name("part-00000-of-00001.csv.zst"), Some((0, 1)));
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
    fn archives_of_one_text_end_in_its_extension() {
        for ending in [".tar.gz", ".tar.xz", ".zip", ".csv.zip"] {
            assert!(is_archive_ending(ending, "csv"), "{ending}");
        }
        for ending in [".json.zip", "csv.zip", ".csv.gz", ""] {
            assert!(!is_archive_ending(ending, "csv"), "{ending}");
        }
    }
}
