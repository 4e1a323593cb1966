//! `cargo xtask bench` makes an input, runs the program and its peers in turn, and writes the figures into
//! docs/internals/benchmarks.md; `cargo xtask growth` runs the program on more and more input, and writes them into
//! docs/internals/comparison.md. `cargo xtask bench --only reading` prints what reading the program's files takes,
//! against those of others, and `--only formats` what JSON lines, tables in one file and small parts take. If real parts
//! are next to the checkout, in `../shared/data`, the peers run on them as well. `xtask/bench/bench.py` measures, because
//! the peers are Python packages; it refuses to compare if the rounds differ too much.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::available_parallelism;

use anyhow::{Context, Result, ensure};
use tracelake_schema::arrow::data_type;
use tracelake_schema::{Column, Kind, Syntax, TRACES, Trace};

use crate::readers::{environment, target};
use crate::rig::{build, published_in_parts, text};

/// A page to write, and the measurement for it.
#[derive(Clone, Copy)]
pub(crate) enum Page {
    /// The program and its peers in turn.
    Peers,
    /// The program alone as its input grows.
    Growth,
    /// The part of [`Page::Peers`] that reads the files; it is only printed.
    Reading,
    /// The part that converts JSON lines, tables in one file, and small parts; it is only printed.
    Formats,
}

impl Page {
    /// The page that is written into.
    fn path(self) -> Option<&'static str> {
        match self {
            Self::Peers => Some("docs/internals/benchmarks.md"),
            Self::Growth => Some("docs/internals/comparison.md"),
            Self::Reading | Self::Formats => None,
        }
    }

    /// The command that writes it, and its name in `bench.py`.
    fn names(self) -> [&'static str; 2] {
        match self {
            Self::Peers => ["bench", "peers"],
            Self::Formats => ["bench --only formats", "formats"],
            Self::Growth => ["growth", "growth"],
            Self::Reading => ["bench --only reading", "reading"],
        }
    }

    /// How to read its figures.
    fn how_to_read(self) -> &'static str {
        match self {
            Self::Peers => {
                "The versions are pinned in `xtask/bench/requirements.txt`. In each round every system runs \
                 three times, and its median counts; a ratio is taken within its round and given as the \
                 median of the rounds, with the lowest and the highest. A ratio above 1 means that the other \
                 takes more than tracelake does. Every system gets the columns' types and writes zstd and row \
                 groups of about a million rows on all threads. tracelake also digests its input and its \
                 output and syncs every file to the disk, which the others do not. Real parts are repeated \
                 under new numbers, so only their times are compared. See [design.md](../design.md) for what \
                 was tried to be faster still, and [comparison.md](comparison.md#how-cost-grows) for larger input."
            }
            // Its part says so itself.
            Self::Reading | Self::Formats => "",
            Self::Growth => {
                "Figures are medians, with the lowest and the highest. Cost is linear if the figures of a \
                 column stay the same from row to row. CPU time is that of all threads."
            }
        }
    }
}

/// Real parts of a table of a family, next to the checkout: the table, and what follows the family's
/// name in the path of their folder.
const REAL: [(&str, &str); 2] = [
    ("task_events", "-task-events/task_events"),
    ("job_events", "/job_events"),
];

/// Measures what a page needs, with the program at `program` or else one that it builds, prints it, and
/// writes it into the page if there is one.
pub(crate) fn bench(
    root: &Path,
    page: Page,
    rows: u64,
    rounds: u32,
    program: Option<PathBuf>,
) -> Result<()> {
    let [command, name] = page.names();
    let program = match program {
        Some(program) => program,
        None => build(root, "--bin", "tracelake")?,
    };
    let inflate = match page {
        Page::Reading | Page::Formats => PathBuf::new(),
        Page::Peers | Page::Growth => build(root, "--example", "inflate")?,
    };
    let python = environment(root, "bench", &["xtask/bench/requirements.txt"])?;
    let folder = target(root).join("bench-data");
    let source = source(root, &program, rows)?;
    let trace = published_in_parts()?;
    let scratch = folder.join("scratch");
    fs::create_dir_all(&scratch)?;
    let tables: Vec<String> = trace
        .tables
        .iter()
        .map(|table| {
            let columns = table.columns.iter();
            let described = columns.map(|c| format!("[\"{}\", \"{}\"]", c.name, data_type(c)));
            format!(
                "\"{}\": [{}]",
                table.name,
                described.collect::<Vec<_>>().join(", ")
            )
        })
        .collect();
    let threads = available_parallelism()?.get();
    let largest = trace.tables.last().context("a trace has tables")?.name;
    let large = source.join(largest).join("part-00000-of-00002.csv.gz");
    let task = format!(
        "{{\"page\": {name:?}, \"program\": {program:?}, \"inflate\": {inflate:?}, \"source\": {source:?}, \
         \"large\": {large:?}, \"scratch\": {scratch:?}, \"rounds\": {rounds}, \
         \"threads\": {threads}, \"trace\": {:?}, \"rows\": {rows}, \"tables\": {{{}}}, \
         \"real\": {{{}}}, \"formats\": [{}]}}",
        trace.name,
        tables.join(", "),
        real_parts(root, trace.family)?.join(", "),
        formats(root, &program, page, rows)?.join(", ")
    );
    let mut script = Command::new(&python);
    script.arg(root.join("xtask/bench/bench.py"));
    let mut started = script
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    started
        .stdin
        .take()
        .context("no stdin")?
        .write_all(task.as_bytes())?;
    let measured = started.wait_with_output()?;
    ensure!(
        measured.status.success(),
        "nothing is compared; the reason is above"
    );
    let body = String::from_utf8(measured.stdout)?;
    let text = format!(
        "Made by `cargo xtask {command} --rows {rows} --rounds {rounds}` on a machine with {threads} \
         processors ({}) and {} GiB of memory. {}\n\n{body}",
        processor()?,
        memory()?,
        page.how_to_read(),
    );
    if let Some(path) = page.path() {
        let path = root.join(path);
        let written = between_markers(&fs::read_to_string(&path)?, command, &text)?;
        fs::write(&path, written)?;
    }
    println!("{text}");
    fs::remove_dir_all(&scratch)?;
    Ok(())
}

/// The page with this text between the markers of a command.
fn between_markers(page: &str, command: &str, text: &str) -> Result<String> {
    let [begin, end] =
        ["begin", "end"].map(|which| format!("<!-- {which}: cargo xtask {command} -->\n"));
    let around = || {
        let (head, rest) = page.split_once(&begin)?;
        Some((head, rest.split_once(&end)?.1))
    };
    let (head, tail) = around().with_context(|| format!("the page lacks {begin}"))?;
    Ok(format!("{head}{begin}\n{}\n\n{end}{tail}", text.trim_end()))
}

/// A source in two parts, with this many rows of the largest table.
pub(crate) fn source(root: &Path, program: &Path, rows: u64) -> Result<PathBuf> {
    generated(root, program, published_in_parts()?, rows)
}

/// A source of a trace in two parts, with this many rows of its largest table.
pub(crate) fn generated(root: &Path, program: &Path, trace: &Trace, rows: u64) -> Result<PathBuf> {
    let name = match trace.in_parts() {
        true => rows.to_string(),
        false => format!("{}-{rows}", trace.name),
    };
    let source = target(root).join("bench-data").join(name);
    // The input is a function of its rows, so that of an earlier run is as good.
    if !source.join("SHA256SUM").exists() {
        let made = Command::new(program)
            .args(["generate", trace.name])
            .arg(&source)
            .args(["--parts", "2", "--rows", &rows.to_string()])
            .output()?;
        ensure!(made.status.success(), "generate: {}", text(&made));
    }
    Ok(source)
}

/// The traces whose tables aren't CSV in parts, as JSON: one with JSON lines, and one with a table in one file.
fn formats(root: &Path, program: &Path, page: Page, rows: u64) -> Result<Vec<String>> {
    if !matches!(page, Page::Peers | Page::Formats) {
        return Ok(Vec::new());
    }
    let can_be_made = |trace: &&&Trace| {
        let mut tables = trace.tables.iter();
        tables.all(|table| !table.synthetic.is_empty())
    };
    let is_json = |trace: &&Trace| {
        let mut tables = trace.tables.iter();
        tables.any(|table| table.syntax == Syntax::Json)
    };
    let made = || TRACES.iter().filter(|trace| can_be_made(&trace));
    let json = made().find(is_json).context("a trace of JSON lines")?;
    let in_one_file = made()
        .find(|trace| !trace.archives.is_empty())
        .context("a trace in archives")?;
    let traces = [json, in_one_file].into_iter().map(|trace| {
        let source = generated(root, program, trace, rows / 4)?;
        let tables = trace
            .tables
            .iter()
            .filter(|table| table.syntax != Syntax::QuotedCsv);
        let members = tables.map(|table| {
            let columns = table
                .columns
                .iter()
                .map(|column| format!("[{:?}, {}]", column.name, peer_type(column)));
            format!(
                "{:?}: [{}]",
                table.name,
                columns.collect::<Vec<_>>().join(", ")
            )
        });
        Ok(format!(
            "{{\"trace\": {:?}, \"source\": {source:?}, \"tables\": {{{}}}}}",
            trace.name,
            members.collect::<Vec<_>>().join(", ")
        ))
    });
    traces.collect()
}

/// The type of a column as the peers get it, as JSON.
fn peer_type(column: &Column) -> String {
    match (column.kind, column.fields) {
        (Kind::List, [item, ..]) => format!("{{\"list\": {}}}", peer_type(item)),
        (Kind::Struct, fields) => {
            let members = fields
                .iter()
                .map(|field| format!("[{:?}, {}]", field.name, peer_type(field)));
            format!(
                "{{\"struct\": [{}]}}",
                members.collect::<Vec<_>>().join(", ")
            )
        }
        _ => format!("\"{}\"", data_type(column)),
    }
}

/// The existing files of each table of [`REAL`], as members of a JSON object.
fn real_parts(root: &Path, family: &str) -> Result<Vec<String>> {
    let mut tables = Vec::new();
    for (table, folder) in REAL {
        let folder = format!("../shared/data/{family}{folder}");
        let Ok(entries) = fs::read_dir(root.join(&folder)) else {
            println!("no real parts of {table}: {folder} is not there");
            continue;
        };
        let mut paths = entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<Vec<_>, _>>()?;
        paths.sort();
        tables.push(format!("{table:?}: {paths:?}"));
    }
    Ok(tables)
}

/// The model of the machine's processors.
fn processor() -> Result<String> {
    let text = fs::read_to_string("/proc/cpuinfo").context("needs Linux to know the processor")?;
    let model = text
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .unwrap_or("model unknown");
    Ok(model.trim_start_matches([' ', '\t', ':']).to_owned())
}

/// The machine's memory in GiB, rounded.
fn memory() -> Result<u64> {
    let text = fs::read_to_string("/proc/meminfo").context("needs Linux to know the memory")?;
    let line = text.lines().next().unwrap_or_default();
    let kib: u64 = line.split_whitespace().nth(1).unwrap_or_default().parse()?;
    Ok((kib + (1 << 19)) >> 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_have_markers() {
        let root = crate::root().unwrap();
        for page in [Page::Peers, Page::Growth] {
            let text = fs::read_to_string(root.join(page.path().unwrap())).unwrap();
            let written = between_markers(&text, page.names()[0], "measured").unwrap();
            let (before, after) = written.split_once("measured\n").unwrap();
            assert!(text.starts_with(&format!("{before}Made by")) && text.ends_with(after));
        }
    }
}
