//! Hints about unread files and directories: what each seems to be, and what to do.

use tracelake_core::words::several;
use tracelake_location::{Entry, Listing, Location, LocationKind};
use tracelake_schema::{Files, Syntax, TRACES, Table};
use tracelake_source::{Magic, read_start};

use super::Skipped;
use crate::bad_row::exported_table;

/// A kind of file whose name ends in `ending`, and what to do about it.
struct Ending {
    ending: &'static str,
    is: &'static str,
    remedy: &'static str,
}

const UNPACK: &str = "unpack it first";
const REGZIP: &str = "decompress it, then compress it with gzip";
const FINISH: &str = "finish the download";

/// Endings of files that people have beside a trace, or in place of one. The first that fits holds.
const ENDINGS: &[Ending] = &[
    ending(".zip", "a zip archive", UNPACK),
    ending(".7z", "a 7z archive", UNPACK),
    ending(".rar", "a RAR archive", UNPACK),
    ending(".xz", "xz", REGZIP),
    ending(".zst", "zstd", REGZIP),
    ending(".bz2", "bzip2", REGZIP),
    ending(
        ".parquet.gz",
        "one of the publisher's Parquet shards",
        "tracelake reads the JSON shards: download the files that end in .json.gz",
    ),
    ending(
        ".parquet",
        "Parquet",
        "tracelake reads the published CSV or JSON files: download those",
    ),
    ending(".xlsx", "a spreadsheet", "use the published file"),
    ending(".crdownload", "a download that hasn't finished", FINISH),
    ending(".aria2", "a download that hasn't finished", FINISH),
    ending(".part", "a download that hasn't finished", FINISH),
    ending(".partial", "a download that hasn't finished", FINISH),
];

/// Endings of names that may well be a table's data.
const DATA: &[&str] = &[".csv", ".json", ".gz", ".tar", ".tgz"];

const fn ending(ending: &'static str, is: &'static str, remedy: &'static str) -> Ending {
    Ending { ending, is, remedy }
}

/// Why a name at the top of a source is worth a warning when it isn't read; `None` for names that
/// don't look like data.
pub(super) fn why_data(path: &Location, entry: &Entry) -> Option<String> {
    let name = &entry.name;
    if entry.kind == LocationKind::Directory {
        return misnamed_directory(name);
    }
    let lower = name.to_ascii_lowercase();
    let is_data = DATA.iter().any(|ending| lower.ends_with(ending));
    what_it_is(path, &lower, None).or_else(|| is_data.then(|| format!("{NOT_A_PART}; {ALONE}")))
}

/// Why a name in the directory of `table` is not read.
pub(super) fn why_skipped(root: &Location, path: &str, table: Option<&str>) -> String {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    what_it_is(&root.join(path), &name, table).unwrap_or_else(|| {
        let is_data = DATA.iter().any(|ending| name.ends_with(ending));
        match table.filter(|_| is_data) {
            Some(table) => {
                let expected = part_names(table).join(" or ");
                format!("{NOT_A_PART}, such as {expected}: rename it; {ALONE}")
            }
            None => NOT_A_PART.to_owned(),
        }
    })
}

/// The name of the first file of a table, in each trace that has such a table.
fn part_names(table: &str) -> Vec<String> {
    let traces = TRACES.with_table(table);
    let names = traces.filter_map(|trace| trace.table(table)).map(|table| {
        let extension = table.syntax.extension();
        match table.files {
            Files::Parts => format!("part-00000-of-{:05}.{extension}.gz", table.parts),
            Files::Shards => format!("{}-000000000000.{extension}.gz", table.name),
            Files::Named => table
                .naming
                .patterns
                .first()
                .map_or("", |one| one.text)
                .to_owned(),
            Files::Whole | Files::Derived => format!("{}.{extension}.gz", table.name),
        }
    });
    let mut names: Vec<String> = names.collect();
    names.dedup();
    names
}

/// Why a file of one table is not read in the directory of another, or beside other tables.
pub(super) fn why_elsewhere() -> String {
    "it is a file of another table, or of no known table".to_owned()
}

const NOT_A_PART: &str = "its name is not that of a table's file";

const ALONE: &str = "to convert it alone, name the file itself";

/// Says what a file is, judged by its name or its first bytes; `directory` is the table that its directory is named
/// after.
fn what_it_is(file: &Location, lower: &str, directory: Option<&str>) -> Option<String> {
    let known = ENDINGS.iter().find(|known| lower.ends_with(known.ending));
    if let Some(known) = known {
        return Some(format!("it looks like {}; {}", known.is, known.remedy));
    }
    // A link may point out of the source, where nothing is read; and a bucket may hold a great many
    // objects, none of which is read for a guess.
    let path = file.as_path()?;
    if !path.symlink_metadata().is_ok_and(|found| found.is_file()) {
        return None;
    }
    let start = read_start(file)?;
    if let Some(magic) = Magic::of(&start) {
        return Some(magic.advice());
    }
    if let Some(table) = table_of_header(&start) {
        let extension = table.syntax.extension();
        let name = table.name;
        return Some(format!(
            "it looks like {name} under another name; rename it to {name}.{extension}"
        ));
    }
    let is_text = lower.ends_with(".csv");
    let by_header = is_text.then(|| exported_table(&start)).flatten();
    let table = match by_header {
        Some(table) => table.name,
        None => named_export(lower, directory)?,
    };
    Some(format!(
        "it looks like {table} exported as CSV; tracelake reads the published JSON lines: \
         download {table}-*.json.gz"
    ))
}

/// The table of quoted CSV whose header a file starts with.
fn table_of_header(start: &[u8]) -> Option<&'static Table> {
    let line = start.split(|&byte| byte == b'\n').next()?;
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut tables = TRACES.iter().flat_map(|trace| trace.tables);
    tables.find(|table| {
        let names = table
            .fields
            .iter()
            .map(|&index| table.columns[index].content);
        let names: Vec<&str> = names.collect();
        table.syntax == Syntax::QuotedCsv && names.join(",").as_bytes() == line
    })
}

/// The table of JSON lines that a CSV file is named after, or that its directory is.
fn named_export(lower: &str, directory: Option<&str>) -> Option<&'static str> {
    let stem = lower
        .strip_suffix(".gz")
        .unwrap_or(lower)
        .strip_suffix(".csv")?;
    let is_named = |name: &str| {
        let rest = stem.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_', '.']))
    };
    let tables = || TRACES.iter().flat_map(|trace| trace.tables);
    let in_directory = |table: &Table| {
        let mut others = tables().filter(|other| other.name == table.name);
        directory == Some(table.name) && others.all(|other| other.syntax == Syntax::Json)
    };
    let mut json = tables().filter(|table| table.syntax == Syntax::Json);
    let table = json.find(|table| is_named(table.name) || in_directory(table));
    table.map(|table| table.name)
}

/// Why a directory isn't read whose name is nearly that of a table, such as `job_event`.
fn misnamed_directory(name: &str) -> Option<String> {
    let plain = |name: &str| {
        let letters = name.chars().filter(char::is_ascii_alphanumeric);
        let plain = letters.collect::<String>().to_ascii_lowercase();
        plain.trim_end_matches('s').to_owned()
    };
    let table = TRACES
        .table_names()
        .find(|table| plain(table) == plain(name))?;
    (table != name)
        .then(|| format!("no table has this name; if it holds {table}, rename it to {table}"))
}

/// How many skipped files the error names beside the first.
const NAMED: usize = 10;

/// Says what to do if no table was found in a directory: the first hint that applies.
pub(super) fn nothing_found(
    source: &Location,
    skipped: &[Skipped],
    is_source: &dyn Fn(&Location) -> bool,
) -> String {
    if let Some((Skipped { path, why }, others)) = skipped.split_first() {
        let named: Vec<&str> = others.iter().take(NAMED).map(|one| &one.path[..]).collect();
        let others = match (&named[..], others.len().saturating_sub(NAMED) as u64) {
            ([], _) => String::new(),
            (named, 0) => format!("; so are {}", named.join(", ")),
            (named, more) => format!(
                "; so are {} and {}",
                named.join(", "),
                several(more, "more file")
            ),
        };
        return format!("{path} is skipped: {why}{others}");
    }
    let entries = Listing::of(source).and_then(|listing| listing.entries(""));
    let below = entries
        .unwrap_or_default()
        .into_iter()
        .filter(|entry| entry.kind == LocationKind::Directory)
        .map(|entry| source.join(&entry.name));
    // Each is a request, in a bucket.
    let most = if source.as_path().is_some() { 100 } else { 10 };
    match below.take(most).find(is_source) {
        Some(below) => format!("there are tables in {below}: name that directory"),
        None => "expected directories such as job_events with files such as \
                 part-00000-of-00500.csv.gz, or files that are named after tables"
            .to_owned(),
    }
}
