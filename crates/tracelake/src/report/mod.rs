//! Everything that reaches a person, on stderr or stdout: progress, summaries, tables.

mod changes;
mod clustered;
mod exported;
mod inventory;
mod logged;
mod offers;
mod progress;
mod summary;
mod verdict;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use indicatif::{HumanBytes, HumanDuration};
use terminal_size::terminal_size_of;
use tracelake_convert::plan::{PartPlan, Plan, Shard, StreamPlan, sum};
use tracelake_convert::run::Room;
use tracelake_core::error::{Error, escape};
use tracelake_core::part_key::listed;
use tracelake_core::words::{group_digits, several};
use tracelake_generate::Summary;
use tracelake_lake::PartName;
use tracelake_lake::plan_file::PlanFile;
use tracelake_location::Location;

pub(crate) use changes::changes_text;
pub(crate) use clustered::{cluster_text, clustered};
pub(crate) use exported::exported;
pub(crate) use inventory::{inventory_json, inventory_text};
pub(crate) use logged::{LogWriter, LoggedWarnings};
pub(crate) use offers::{fetched, offers_text};
pub(crate) use progress::{FETCH, PlannedWork, Reporter, json_error};
pub(crate) use summary::{committed, forgotten, print_conversion_summary};
pub(crate) use verdict::{released, say_verdict, verdict_json, verified};

/// Writes one line to stderr. If stderr is closed, the line is lost.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Writes data to stdout.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    unless_closed(written)
}

/// The outcome of writing to stdout. It is no failure if the reader stops reading.
pub(crate) fn unless_closed(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

pub(crate) fn error(error: &Error) {
    say(&format!("tracelake: error: {error}"));
}

/// Prints what was generated on stderr.
pub(crate) fn generated(made: &Summary, elapsed: Duration) {
    let mut rows = vec![
        ["table", "parts", "rows", "bytes"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for table in &made.tables {
        rows.push(vec![
            table.name.to_owned(),
            group_digits(u64::from(table.parts)),
            group_digits(table.rows),
            HumanBytes(table.bytes).to_string(),
        ]);
    }
    say(&aligned(&rows, Stream::Err));
    if made.replaced {
        say("replaced what an unfinished run had left here");
    }
    say(&format!("{:.1} s", elapsed.as_secs_f64()));
}

/// Where a text goes.
#[derive(Clone, Copy)]
pub(crate) enum Stream {
    Out,
    Err,
}

impl Stream {
    /// How many letters a line of its terminal has; `None` if it isn't one.
    pub(crate) fn columns(self) -> Option<usize> {
        let size = match self {
            Self::Out => terminal_size_of(io::stdout()),
            Self::Err => terminal_size_of(io::stderr()),
        };
        size.map(|(width, _)| width.0.into())
            .filter(|&columns| columns > 0)
    }
}

/// A table, with its headings in the first row, for where it goes: columns with two spaces between, the first to the
/// left and the others to the right; or, if that is too wide for the terminal, a line for each cell.
fn aligned(rows: &[Vec<String>], to: Stream) -> String {
    let table = in_columns(rows);
    let widest = table.lines().map(|line| line.chars().count()).max();
    match to.columns().filter(|columns| widest > Some(*columns)) {
        Some(_) => in_lines(rows),
        None => table,
    }
}

/// Each row as its first cell and, below it, the others with their headings.
fn in_lines(rows: &[Vec<String>]) -> String {
    let Some((heads, rows)) = rows.split_first() else {
        return String::new();
    };
    let longest = heads
        .iter()
        .map(|head| head.chars().count())
        .max()
        .unwrap_or(0);
    let lines = rows.iter().flat_map(|row| {
        let cells = heads.iter().zip(row).skip(1);
        let cells = cells.map(move |(head, cell)| format!("  {head:longest$}  {cell}"));
        row.first().cloned().into_iter().chain(cells)
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn in_columns(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..columns)
        .map(|column| width(column).unwrap_or(0))
        .collect();
    let lines = rows.iter().map(|row| {
        let cells = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, &width))| {
                if column == 0 {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                }
            });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Text from a file, escaped so that it can't disturb a terminal.
fn shown(text: &str) -> String {
    escape(text.as_bytes(), usize::MAX)
}

/// A size, if it is known: the list of a web server has none.
fn size(bytes: Option<u64>) -> String {
    bytes.map_or_else(
        || "unknown size".to_owned(),
        |bytes| HumanBytes(bytes).to_string(),
    )
}

fn shown_path(path: &Location) -> String {
    escape(
        PathBuf::from(path).as_os_str().as_encoded_bytes(),
        usize::MAX,
    )
}

/// The output of `--dry-run`.
pub(crate) fn plan_text(
    plan: &Plan,
    done: &BTreeSet<PartName>,
    shared: Option<(&PlanFile, Shard)>,
) -> String {
    let shards = shared.map(|(file, _)| file.assignment());
    let shard_of = |table: &str, key| {
        let shard = shards
            .as_ref()
            .and_then(|shards| shards.shard_of(table, key));
        shard.map_or_else(String::new, |shard| format!("  (shard {shard})"))
    };
    let mut text = format!("{} as {}\n", shown_path(&plan.source), plan.trace.name);
    for table in plan.tables.iter().filter(|table| !table.parts.is_empty()) {
        let bytes = sum(table.parts.iter().map(|part| part.bytes));
        let name = &table.order.table.name;
        let is_done = |part: &&PartPlan| done.contains(&PartName::new(name, part.key));
        let finished = table.parts.iter().filter(is_done).count() as u64;
        text += &format!(
            "{name}: {}, {}, fields as in {}",
            several(table.parts.len() as u64, "part"),
            size(bytes),
            table.order.origin
        );
        if finished > 0 {
            text += &format!(", {} done", group_digits(finished));
        }
        if !table.missing.is_empty() {
            text += &format!(", missing {}", listed(&table.missing));
        }
        text.push('\n');
        for part in &table.parts {
            let state = if is_done(&part) { "  (done)" } else { "" };
            let shard = shard_of(name, part.key);
            text += &format!(
                "  {} -> {}{shard}{state}\n",
                shown(&part.source),
                part.output()
            );
        }
    }
    for stream in &plan.streams {
        text += &stream_text(plan, stream, done);
        let shard = shards
            .as_ref()
            .and_then(|shards| shards.shard_of_stream(&stream.source));
        if let Some(shard) = shard {
            text += &format!("  (one file is the work of one shard: shard {shard})\n");
        }
    }
    for derived in &plan.derived {
        text += &format!("{}: derived from {}\n", derived.table.name, derived.from);
    }
    for note in plan.notes() {
        text += &format!("{note}\n");
    }
    if !plan.absent.is_empty() {
        text += &format!("not in the source: {}\n", plan.absent.join(", "));
    }
    if let Some((file, own)) = shared {
        for shard in 0..file.shards.min(SHARDS_SHOWN) {
            let (files, bytes) = file.share(shard);
            let this_one = if shard == own.index { ", this one" } else { "" };
            text += &format!(
                "shard {shard} of {}: {}, {}{this_one}\n",
                file.shards,
                several(files, "file"),
                size(bytes)
            );
        }
    }
    text
}

/// The cost of the work: disk, memory and time.
pub(crate) fn room_text(room: &Room, threads: usize) -> String {
    let Some(estimate) = room.estimate else {
        return "no estimate: a server doesn't say how large its files are\n".to_owned();
    };
    let range = |(low, high): (String, String)| format!("{low} to {high}");
    let (low, high) = estimate.bytes;
    let disk = range((HumanBytes(low).to_string(), HumanBytes(high).to_string()));
    let free = room
        .free
        .map_or_else(String::new, |free| format!(" ({} free)", HumanBytes(free)));
    let (low, high) = estimate.seconds;
    let time = |seconds| HumanDuration(Duration::from_secs(seconds)).to_string();
    format!(
        "estimate: {disk} on disk{free}, at most {} of memory, {} on {}\n",
        HumanBytes(room.memory),
        range((time(low), time(high))),
        several(threads as u64, "thread")
    )
}

/// How many shards a plan sums up.
const SHARDS_SHOWN: u32 = 10_000;

/// A file that is cut into parts: what becomes of it, and how much of that is done.
fn stream_text(plan: &Plan, stream: &StreamPlan, done: &BTreeSet<PartName>) -> String {
    let mut text = format!(
        "{}: {}, cut after every {}\n",
        shown(&stream.source),
        size(stream.bytes),
        several(stream.part_rows, "row")
    );
    for table in plan.tables_of(stream) {
        let name = &table.order.table.name;
        let finished = done.iter().filter(|done| *done.table == **name);
        let done = match finished.count() as u64 {
            0 => String::new(),
            done => format!("  ({} done)", several(done, "part")),
        };
        let [first, second] = [0, 1].map(|number| plan.cut(stream, table, number).output());
        text += &format!("  {name} -> {first}, {second}, …{done}\n");
    }
    text
}

/// JSON in which nothing can disturb a terminal: what isn't printable is in a string, where JSON has
/// another spelling for it.
fn safe(json: &str) -> String {
    let safe = json.chars().map(|character| match character {
        '\n' => "\n".to_owned(),
        plain if shown(plain.encode_utf8(&mut [0; 4])).chars().eq([plain]) => plain.to_string(),
        other => format!("\\u{:04x}", u32::from(other)),
    });
    safe.collect()
}
