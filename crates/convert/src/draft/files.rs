//! Drafts of the tables of a directory or an archive.

use std::collections::{BTreeMap, BTreeSet};

use tracelake_core::Context;
use tracelake_core::error::{ErrorKind, Result, escape};
use tracelake_core::words::several;
use tracelake_lake::HOME;
use tracelake_location::{Listing, Location, LocationKind};
use tracelake_schema::uncompressed;
use tracelake_source::{Source, is_archive_name, zipped_files};

use super::description::{self, Files, Table, found, misfit};
use super::paths::{self, Path};
use super::{parquet, text};
use crate::discover::{CHECKSUMS, SCHEMA_CSV};

/// The most files and directories that are looked at, directories in one another, and tables.
const MOST_FILES: usize = 100_000;
const MOST_DIRECTORIES: usize = 16;
const MOST_TABLES: usize = 100;

/// The most files that are named because they are left out.
const MOST_LEFT_OUT: usize = 20;

/// Endings of the names of tables.
const TABLES: [&str; 6] = [".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet"];

/// Whether a file of this name is beside tables: what programs hide, and what `convert` reads of a source.
fn is_beside(name: &str) -> bool {
    name.starts_with('.') || [SCHEMA_CSV, CHECKSUMS].contains(&name)
}

/// Files whose paths have the same shape, with the table that the first of them has.
struct Group {
    table: Table,
    paths: Vec<Path>,
}

/// The tables of a directory or an archive.
#[derive(Default)]
struct Groups {
    groups: BTreeMap<Path, Option<Group>>,
    left_out: Vec<String>,
    seen: usize,
}

impl Groups {
    /// Adds a file, and drafts its table if it is the first one of its shape.
    fn add(&mut self, path: &str, draft: impl FnOnce() -> Result<Table>) -> Result<()> {
        self.count()?;
        if !path.split('/').all(|name| found(name).is_some()) {
            self.leave_out(path, "a description can't have its name");
            return Ok(());
        }
        let name = uncompressed(path);
        let cut = Path::of(name);
        let shape = cut.shape();
        if let Some(group) = self.groups.get_mut(&shape) {
            if let Some(group) = group {
                group.paths.push(cut);
            }
            return Ok(());
        }
        if self.groups.values().flatten().count() == MOST_TABLES {
            let reason = format!("has files of more than {MOST_TABLES} tables");
            return Err(misfit(&reason, "name a directory with fewer"));
        }
        let lower = name.to_ascii_lowercase();
        let is_table = TABLES.iter().any(|ending| lower.ends_with(ending));
        let group = match draft() {
            // Prose has one column.
            Ok(table) if is_table || table.columns.len() > 1 => Some(Group {
                table,
                paths: vec![cut],
            }),
            Ok(_) => {
                self.leave_out(path, "it doesn't look like a table");
                None
            }
            Err(error) if error.kind() == ErrorKind::Misfit => {
                self.leave_out(path, error.reason());
                None
            }
            Err(error) => return Err(error),
        };
        self.groups.insert(shape, group);
        Ok(())
    }

    /// Counts a file or a directory that is looked at.
    fn count(&mut self) -> Result<()> {
        self.seen += 1;
        if self.seen <= MOST_FILES {
            return Ok(());
        }
        let reason = format!("has more than {MOST_FILES} files and directories");
        let hint = "name a file of one table, or a directory with fewer";
        Err(misfit(&reason, hint))
    }

    fn leave_out(&mut self, path: &str, why: &str) {
        let path = escape(path.as_bytes(), 200);
        self.left_out.push(format!("{path} is left out: {why}."));
    }

    /// The description of the tables.
    fn describe(self, source: &str, archive: Option<u64>) -> Result<String> {
        let Self {
            groups,
            mut left_out,
            ..
        } = self;
        let mut tables: Vec<(Files, Table)> = Vec::new();
        let mut taken = BTreeSet::new();
        for Group { table, paths } in merged(groups.into_values().flatten()) {
            let is_cut = table.syntax != Some("parquet");
            match paths::files(&paths, is_cut, archive.is_some()) {
                Ok(mut files) => {
                    files.name = description::free(files.name, &taken);
                    taken.insert(files.name.clone());
                    tables.push((files, table));
                }
                Err(why) => {
                    let files = several(paths.len() as u64, "file");
                    left_out.push(format!("{files} with {} are left out: {why}.", table.from));
                }
            }
        }
        if tables.is_empty() {
            let error = misfit(
                "has no file of a table",
                "name a file with rows of CSV, JSON or Parquet",
            );
            return Err(error);
        }
        let more = left_out.len().saturating_sub(MOST_LEFT_OUT);
        left_out.truncate(MOST_LEFT_OUT);
        if more > 0 {
            left_out.push(format!(
                "{} are left out, too.",
                several(more as u64, "more file")
            ));
        }
        tables[0].0.notes.extend(left_out);
        description::text(source, archive, &tables)
    }
}

/// Joins groups that differ in the directory of their files and have the same published names of columns.
fn merged(groups: impl Iterator<Item = Group>) -> Vec<Group> {
    let mut merged: Vec<(Option<Path>, Group)> = Vec::new();
    let names = |group: &Group| -> Vec<String> {
        let columns = group.table.columns.iter();
        columns.map(|column| column.content.clone()).collect()
    };
    for group in groups {
        let elsewhere = group.paths[0].in_any_directory().map(|path| path.shape());
        let is_alike = |(shape, other): &&mut (Option<Path>, Group)| {
            group.table.is_named
                && other.table.is_named
                && group.table.syntax == other.table.syntax
                && elsewhere.is_some()
                && *shape == elsewhere
                && names(other) == names(&group)
        };
        match merged.iter_mut().find(is_alike) {
            Some((_, other)) => other.paths.extend(group.paths),
            None => merged.push((elsewhere, group)),
        }
    }
    let several_directories = merged.into_iter().map(|(_, mut group)| {
        let shapes: BTreeSet<Path> = group.paths.iter().map(Path::shape).collect();
        if shapes.len() > 1 {
            let paths = group.paths.iter().filter_map(Path::in_any_directory);
            group.paths = paths.collect();
        }
        group
    });
    several_directories.collect()
}

/// The description of the tables in a directory.
pub(super) fn of_directory(context: &Context, directory: &Location) -> Result<String> {
    let listing = Listing::of(directory)?;
    let mut groups = Groups::default();
    let mut open = vec![String::new()];
    while let Some(path) = open.pop() {
        context.check()?;
        // Links may lead in a circle.
        groups.count()?;
        for entry in listing.entries(&path)? {
            let path = match &path[..] {
                "" => entry.name.clone(),
                path => format!("{path}/{}", entry.name),
            };
            let is_deep = path.matches('/').count() >= MOST_DIRECTORIES;
            match entry.kind {
                _ if is_beside(&entry.name) => {}
                LocationKind::Directory if entry.name == HOME => {
                    let hint = "tracelake schema LAKE shows its tables";
                    return Err(misfit("is a lake, which has a description", hint));
                }
                LocationKind::Directory if !is_deep => open.push(path),
                LocationKind::File { .. } => {
                    let file = directory.join(&path);
                    groups.add(&path, || of_one(context, &file))?;
                }
                LocationKind::Directory | LocationKind::Other => {}
            }
        }
    }
    groups.describe(directory.name().unwrap_or_default(), None)
}

/// The table of a file in a directory.
fn of_one(context: &Context, file: &Location) -> Result<Table> {
    if parquet::is_parquet(file) {
        return parquet::table(context, file);
    }
    let mut source = Source::open(context, file)?;
    match source.is_archive()? {
        true => Err(misfit(
            "it is an archive, whose tables a draft of itself has",
            "",
        )),
        false => text::table(&mut source),
    }
}

/// The description of the tables in an archive.
pub(super) fn of_archive(context: &Context, mut source: Source) -> Result<String> {
    let archive = source.location().clone();
    let Some(name) = archive
        .name()
        .and_then(found)
        .filter(|name| is_archive_name(name))
    else {
        let hint = "rename it to what it is, such as TRACE.tar.gz or TRACE.zip";
        return Err(misfit("is an archive without the name of one", hint));
    };
    let mut groups = Groups::default();
    // Parquet is read in zip archives alone, where each file can be found.
    let is_zip = name.to_ascii_lowercase().ends_with(".zip");
    let zipped = match is_zip {
        true => zipped_files(&archive)?,
        false => Vec::new(),
    };
    let is_parquet_name = |path: &str| path.to_ascii_lowercase().ends_with(".parquet");
    for file in zipped.iter().filter(|file| is_parquet_name(&file.path)) {
        groups.add(&file.path, || {
            parquet::table(context, &archive.join(&file.path))
        })?;
    }
    while let Some(member) = source.next_member()? {
        let last = member.path.rsplit('/').next().unwrap_or_default();
        if !member.is_file || is_beside(last) || is_zip && is_parquet_name(&member.path) {
            continue;
        }
        let path = member.path.trim_start_matches("./");
        groups.add(path, || text::table(&mut source))?;
    }
    let bytes = match archive.kind()? {
        Some(LocationKind::File { bytes }) => bytes.unwrap_or_default(),
        _ => 0,
    };
    groups.describe(name, Some(bytes))
}
