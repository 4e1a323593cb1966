//! Hints about unread files and directories: what each seems to be, and what to do.

use std::sync::Arc;

use tracelake_core::words::{first_few, for_shell, several};
use tracelake_location::Location;
use tracelake_schema::{Files, Syntax, TRACES, Table, Trace, uncompressed};
use tracelake_source::{Magic, read_start};

use super::Skipped;
use super::names::{FileName, traces_of};
use crate::fit::exported_table;

const UNPACK: &str = "unpack it first";
const UNFINISHED: &str = "a download that hasn't finished";
const FINISH: &str = "finish the download";

/// Endings of files that people have beside a trace, or in place of one; what each is, and what to do about it. The first
/// that fits holds.
const ENDINGS: &[(&str, &str, &str)] = &[
    (".zip", "a zip archive", UNPACK),
    (".7z", "a 7z archive", UNPACK),
    (".rar", "a RAR archive", UNPACK),
    (
        ".parquet",
        "Parquet",
        "no known table has a file of this name",
    ),
    (".xlsx", "a spreadsheet", "use the published file"),
    (".crdownload", UNFINISHED, FINISH),
    (".aria2", UNFINISHED, FINISH),
    (".part", UNFINISHED, FINISH),
    (".partial", UNFINISHED, FINISH),
    // What `fetch` knows of such a file.
    (".partial.json", UNFINISHED, FINISH),
    (".gstmp", UNFINISHED, FINISH),
];

/// Endings of names that may well be a table's data.
const DATA: &[&str] = &[".csv", ".json", ".tar", ".tgz"];

fn is_data(lower: &str) -> bool {
    uncompressed(lower) != lower || DATA.iter().any(|ending| lower.ends_with(ending))
}

/// Why a file at the top of a source is worth a warning when it isn't read; `None` for names that don't look like data.
pub(super) fn why_data(path: &Location, name: &str, trace: Option<&Arc<Trace>>) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    what_it_is(path, &lower, None, trace)
        .or_else(|| is_data(&lower).then(|| format!("{NOT_A_PART}; {ALONE}")))
}

/// Why a name in the directory of `table` is not read.
pub(super) fn why_skipped(
    root: &Location,
    path: &str,
    table: Option<&str>,
    trace: Option<&Arc<Trace>>,
) -> String {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    what_it_is(&root.join(path), &name, table, trace).unwrap_or_else(|| {
        match table.filter(|_| is_data(&name)) {
            Some(table) => {
                let expected = part_names(table, trace).join(" or ");
                format!("{NOT_A_PART}, such as {expected}: rename it; {ALONE}")
            }
            None => NOT_A_PART.to_owned(),
        }
    })
}

/// The name of the first file of a table: of the trace, or of each trace that has such a table.
fn part_names(table: &str, trace: Option<&Arc<Trace>>) -> Vec<String> {
    let traces: Vec<&Arc<Trace>> = match trace {
        Some(trace) => vec![trace],
        None => TRACES.with_table(table).collect(),
    };
    let tables = traces.into_iter().filter_map(|trace| trace.table(table));
    let mut names: Vec<String> = tables.map(|table| first_name(table)).collect();
    names.dedup();
    names
}

/// The name of a table's first file.
fn first_name(table: &Table) -> String {
    let extension = table.syntax.extension();
    match table.files {
        Files::Parts => format!("part-00000-of-{:05}.{extension}.gz", table.parts),
        Files::Shards => format!("{}-000000000000.{extension}.gz", table.name),
        Files::Named => {
            let name = table.naming.name_of(0, table.parts.max(1));
            name.unwrap_or_default()
        }
        Files::Whole | Files::Derived => format!("{}.{extension}.gz", table.name),
    }
}

/// Why a file with the name of another table's isn't read.
pub(super) fn why_elsewhere(name: &str) -> String {
    match &traces_of(name)[..] {
        [] => "it has the name of another table's file".to_owned(),
        traces => format!("it has a name of {}", traces.join(" and ")),
    }
}

const NOT_A_PART: &str = "its name is not that of a table's file";

const ALONE: &str = "to convert it alone, name the file itself";

/// The name of a file whose second download has this one: that of `x.csv.gz.1`, `x.csv.1.gz` and `x (1).csv.gz`.
fn first_download(name: &str) -> Option<String> {
    let is_number = |text: &str| {
        (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let stem = uncompressed(name);
    let ending = &name[stem.len()..];
    if let Some((first, _)) = stem.rsplit_once('.').filter(|(_, last)| is_number(last)) {
        return Some(format!("{first}{ending}"));
    }
    let (before, rest) = stem.split_once(" (")?;
    let (_, after) = rest
        .split_once(')')
        .filter(|(number, _)| is_number(number))?;
    Some(format!("{before}{after}{ending}"))
}

/// Says what a file is, judged by its name or its first bytes; `directory` is the table that its directory is named
/// after.
fn what_it_is(
    file: &Location,
    lower: &str,
    directory: Option<&str>,
    trace: Option<&Arc<Trace>>,
) -> Option<String> {
    let known = ENDINGS.iter().find(|(ending, ..)| lower.ends_with(ending));
    if let Some((_, is, remedy)) = known {
        return Some(format!("it looks like {is}; {remedy}"));
    }
    let first = first_download(lower);
    if let Some(first) = first.filter(|first| FileName::of(first, trace).is_some()) {
        return Some(format!(
            "it looks like a repeated download of {first}; keep the one that is whole under that name"
        ));
    }
    if lower.starts_with("._") {
        return Some(
            "it looks like what macOS leaves beside a copied or unfinished download; remove it"
                .to_owned(),
        );
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
    // Of a trace of the user's own, the catalog says nothing.
    if trace.is_some_and(|trace| trace.description.is_some()) {
        return None;
    }
    if let Some(table) = table_of_header(&start) {
        let extension = table.syntax.extension();
        let name = &table.name;
        return Some(format!(
            "it looks like {name} under another name; rename it to {name}.{extension}"
        ));
    }
    let is_text = lower.ends_with(".csv");
    let by_header = is_text.then(|| exported_table(&start)).flatten();
    let table = match by_header {
        Some(table) => &table.name,
        None => named_export(lower, directory)?,
    };
    Some(format!(
        "it looks like {table} exported as CSV; tracelake reads the published JSON lines: \
         download {table}-*.json.gz"
    ))
}

/// The table of quoted CSV whose header a file starts with.
fn table_of_header(start: &[u8]) -> Option<&'static Arc<Table>> {
    let line = start.split(|&byte| byte == b'\n').next()?;
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let first = line.split(|&byte| byte == b',').next()?;
    let first = std::str::from_utf8(first).ok()?;
    let mut tables = TRACES.with_text(first).flat_map(|trace| &trace.tables);
    tables.find(|table| {
        let names = table
            .fields
            .iter()
            .map(|&index| &*table.columns[index].content);
        let names: Vec<&str> = names.collect();
        table.syntax == Syntax::QuotedCsv && names.join(",").as_bytes() == line
    })
}

/// The table of JSON lines that a CSV file is named after, or that its directory is.
fn named_export(lower: &str, directory: Option<&str>) -> Option<&'static str> {
    let stem = uncompressed(lower).strip_suffix(".csv")?;
    let is_named = |name: &str| {
        let rest = stem.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_', '.']))
    };
    let tables = || TRACES.iter().flat_map(|trace| &trace.tables);
    let in_directory = |table: &Table| {
        let mut others = tables().filter(|other| other.name == table.name);
        directory == Some(&table.name) && others.all(|other| other.syntax == Syntax::Json)
    };
    let mut json = tables().filter(|table| table.syntax == Syntax::Json);
    let table = json.find(|table| is_named(&table.name) || in_directory(table));
    table.map(|table| &*table.name)
}

/// Why a directory isn't read that holds a file of a published form, whose path in it is `held`.
pub(super) fn why_directory(name: &str, held: &str) -> String {
    if let Some((directories, _)) = held.rsplit_once('/') {
        let (above, last) = directories.rsplit_once('/').unwrap_or(("", directories));
        let source = match TRACES.table_names().any(|table| table == last) {
            true if above.is_empty() => name.to_owned(),
            true => format!("{name}/{above}"),
            false => format!("{name}/{directories}"),
        };
        return format!("it holds {held}; to convert it, name {source} as SRC");
    }
    let plain = |name: &str| {
        let letters = name.chars().filter(char::is_ascii_alphanumeric);
        let plain = letters.collect::<String>().to_ascii_lowercase();
        plain.trim_end_matches('s').to_owned()
    };
    let found = plain(name);
    let tables = TRACES
        .table_names()
        .filter(|table| found.contains(&plain(table)));
    let likely = tables.max_by_key(|table| table.len());
    let new_name = likely.map_or_else(
        || "the name of its table".to_owned(),
        |table| format!("{table}, if it is that table"),
    );
    format!(
        "it holds {held}, and no table has its name; rename it to {new_name}, or name it as SRC"
    )
}

/// How many skipped files the error names beside the first.
const NAMED: usize = 10;

/// Says what to do if no table was found in a directory.
pub(super) fn nothing_found(
    source: &Location,
    skipped: &[Skipped],
    trace: Option<&Arc<Trace>>,
) -> String {
    let Some((Skipped { path, why }, others)) = skipped.split_first() else {
        return match trace {
            Some(trace) => {
                let file = |table: &Arc<Table>| match table.files {
                    Files::Parts => format!("{}/{}", table.name, first_name(table)),
                    _ => first_name(table),
                };
                format!("expected files such as {}", first_few(&trace.tables, file))
            }
            None => "expected the directories and files of a published trace, with their published names; \
                     tracelake schema lists the traces"
                .to_owned(),
        };
    };
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
    let lower = path.to_ascii_lowercase();
    let can_be_drafted =
        trace.is_none() && (lower.ends_with(".csv") || lower.ends_with(".parquet"));
    let draft = match can_be_drafted {
        true => format!(
            "; if no known trace has it, {}",
            draft_it(&source.join(path))
        ),
        false => String::new(),
    };
    format!("{path} is skipped: {why}{others}{draft}")
}

/// How to describe the trace of a file.
pub(crate) fn draft_it(file: &Location) -> String {
    format!(
        "describe it: tracelake schema --new {} > my-trace.toml",
        for_shell(file)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_names_its_table() {
        let tables = TRACES.iter().flat_map(|trace| &trace.tables);
        let quoted: Vec<_> = tables
            .filter(|table| table.syntax == Syntax::QuotedCsv)
            .collect();
        assert!(!quoted.is_empty());
        for table in quoted {
            let fields = table.fields.iter();
            let names: Vec<&str> = fields.map(|&at| &*table.columns[at].content).collect();
            let header = names.join(",");
            // Versions of a data set have tables with the same columns.
            for end in ["", "\n1,2", "\r\n1,2"] {
                let found = table_of_header(format!("{header}{end}").as_bytes()).unwrap();
                assert_eq!(found.name, table.name);
            }
            assert!(table_of_header(format!("{header},more\n").as_bytes()).is_none());
        }
        assert!(table_of_header(b"Synthetic data in the format of a trace\n").is_none());
    }

    #[test]
    fn repeated_downloads_have_a_number() {
        for (name, first) in [
            ("a.csv.gz.1", Some("a.csv.gz")),
            ("a.csv.1.gz", Some("a.csv.gz")),
            ("a (1).csv.zst", Some("a.csv.zst")),
            ("a.csv (12).gz", Some("a.csv.gz")),
            ("a.csv.gz", None),
            ("a-1.csv.gz", None),
            ("a.2011.gz", None),
            ("a (x).gz", None),
            ("1", None),
        ] {
            assert_eq!(first_download(name).as_deref(), first, "{name}");
        }
    }
}
