//! Everything that reaches a person, on stderr or stdout: progress, summaries, tables.

mod logged;
mod progress;
mod summary;

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use indicatif::{HumanBytes, HumanDuration};
use serde_json::json;
use tracelake_convert::plan::{PartPlan, Plan, Shard, StreamPlan};
use tracelake_convert::run::{FinishedParts, Room};
use tracelake_core::error::{Error, escape};
use tracelake_core::part_key::{listed, of_cell};
use tracelake_core::words::{group_digits, numbers, several};
use tracelake_generate::Summary;
use tracelake_lake::plan_file::PlanFile;
use tracelake_lake::store::{RELEASE, SUMS};
use tracelake_location::Location;
use tracelake_verify::Verdict;
use tracelake_verify::inspect::{Inventory, ShardInventory, TableInventory};

pub(crate) use logged::LoggedWarnings;
pub(crate) use progress::{PlannedWork, Reporter, json_error};
pub(crate) use summary::{committed, print_conversion_summary};

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
    say(&aligned(&rows));
    if made.replaced {
        say("replaced what an unfinished run had left here");
    }
    say(&format!("{:.1} s", elapsed.as_secs_f64()));
}

/// Columns with two spaces between; the first to the left, the others to the right.
fn aligned(rows: &[Vec<String>]) -> String {
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

fn shown_path(path: &Location) -> String {
    escape(
        PathBuf::from(path).as_os_str().as_encoded_bytes(),
        usize::MAX,
    )
}

/// The output of `--dry-run`.
pub(crate) fn plan_text(
    plan: &Plan,
    found: &FinishedParts,
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
        let sizes = table.parts.iter().map(|part| part.bytes);
        let bytes = sizes.fold(0, u64::saturating_add);
        let name = table.order.table.name;
        let is_done = |part: &&PartPlan| found.has(name, part.key);
        let done = table.parts.iter().filter(is_done).count() as u64;
        text += &format!(
            "{name}: {}, {}, fields as in {}",
            several(table.parts.len() as u64, "part"),
            HumanBytes(bytes),
            table.order.origin
        );
        if done > 0 {
            text += &format!(", {} done", group_digits(done));
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
        text += &stream_text(plan, stream, found);
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
                HumanBytes(bytes)
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
fn stream_text(plan: &Plan, stream: &StreamPlan, found: &FinishedParts) -> String {
    let mut text = format!(
        "{}: {}, cut after every {}\n",
        shown(&stream.source),
        HumanBytes(stream.bytes),
        several(stream.part_rows, "row")
    );
    for table in plan.tables_of(stream) {
        let name = table.order.table.name;
        let finished = found.finished.iter().filter(|(table, _)| table == name);
        let done = match finished.count() as u64 {
            0 => String::new(),
            done => format!("  ({} done)", several(done, "part")),
        };
        let [first, second] = [0, 1].map(|number| plan.cut(stream, table, number).output());
        text += &format!("  {name} -> {first}, {second}, …{done}\n");
    }
    text
}

/// The output of `inspect`.
pub(crate) fn inventory_text(inventory: &Inventory) -> String {
    let header = [
        "table",
        "parts",
        "missing",
        "rows",
        "rejected",
        "bytes",
        "time from",
        "to",
    ];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    let name = |table: &TableInventory| shown(&table.name) + &of_cell(table.cell);
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let time = |table: &TableInventory, time: Option<i64>| {
        let unit = table.time_unit.map(|unit| match unit {
            "microseconds" => " µs",
            "seconds" => " s",
            other => other,
        });
        or_dash(time.map(|time| match time {
            i64::MAX => "after".to_owned(),
            time => format!("{time}{}", unit.unwrap_or_default()),
        }))
    };
    for table in &inventory.tables {
        rows.push(vec![
            name(table),
            group_digits(table.parts as u64),
            group_digits(table.missing.len() as u64),
            or_dash(table.rows.map(group_digits)),
            or_dash(table.rejected.map(group_digits)),
            HumanBytes(table.bytes).to_string(),
            time(table, table.time_min),
            time(table, table.time_max),
        ]);
    }
    let state = match inventory.finished {
        Some(false) => "unfinished ",
        _ => "",
    };
    let synthetic = if inventory.synthetic {
        "synthetic "
    } else {
        ""
    };
    let parts = |number: usize| several(number as u64, "part");
    let mut text = format!(
        "{state}{synthetic}{} of {}\n{}\n",
        inventory.what,
        shown(&inventory.trace),
        aligned(&rows)
    );
    if !inventory.selection.is_empty() {
        let selected = inventory.selection.iter();
        let options: Vec<String> = selected
            .map(|(name, value)| format!("--{name} {}", shown(value)))
            .collect();
        let by_table = inventory
            .tables
            .iter()
            .filter_map(|table| table.not_selected);
        let left_out = by_table.fold(0, u64::saturating_add);
        text += &format!(
            "selected by {}: {} not selected\n",
            options.join(" "),
            several(left_out, "row")
        );
    }
    for table in inventory
        .tables
        .iter()
        .filter(|table| !table.missing.is_empty())
    {
        let missing = table.missing.len();
        let counted = match (table.asked, &inventory.shards) {
            (Some(asked), _) => {
                format!("{} of {} left", group_digits(missing as u64), parts(asked))
            }
            (None, Some(_)) => format!("{} left", parts(missing)),
            (None, None) => format!("{} missing", parts(missing)),
        };
        text += &format!("{}: {counted}: {}\n", name(table), numbers(&table.missing));
    }
    if !inventory.absent.is_empty() {
        let absent = inventory.absent.join(", ");
        text += &format!("not in the {}: {absent}\n", inventory.what);
    }
    match inventory.shards.as_deref() {
        // A run without shards.
        Some([one]) => {
            for file in &one.files_left {
                text += &format!("{}: not read to its end\n", shown(file));
            }
        }
        shards => {
            let listed = shards.into_iter().flatten();
            text += &listed.map(shard_text).collect::<String>();
        }
    }
    match (inventory.shards.as_deref(), inventory.finished) {
        (Some([one]), _) if !one.is_done() => {
            text += "run the same convert command again to finish it\n";
        }
        (Some(shards), _) if shards.iter().all(ShardInventory::is_done) => {
            text += "run tracelake commit on it to finish it\n";
        }
        (Some(_), _) => {
            text += "run the shards that have something left, then tracelake commit\n";
        }
        (None, Some(false)) => text += "run the same convert command again to finish it\n",
        (None, _) => {}
    }
    text
}

/// How far a shard is.
fn shard_text(shard: &ShardInventory) -> String {
    let files = several(shard.files, "file");
    let head = format!(
        "shard {}: {files}, {}",
        shard.shard,
        HumanBytes(shard.bytes)
    );
    if shard.is_done() {
        return format!("{head}, done\n");
    }
    let parts = match shard.parts_left as u64 {
        0 => String::new(),
        parts => format!(", {} left", several(parts, "part")),
    };
    let names = shard.files_left.iter();
    let files = names.map(|file| format!(", {} left", shown(file)));
    format!("{head}{parts}{}\n", files.collect::<String>())
}

/// The output of `inspect --json`: JSON that cannot disturb a terminal either.
pub(crate) fn inventory_json(inventory: &Inventory) -> Result<String, serde_json::Error> {
    let json = serde_json::to_string_pretty(inventory)?;
    Ok(safe(&json) + "\n")
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

/// The output of `verify --json`.
pub(crate) fn verdict_json(verdict: &Verdict) -> String {
    let findings: Vec<serde_json::Value> = verdict.findings.iter().map(finding_json).collect();
    let json = json!({
        "trace": verdict.manifest.origin.trace,
        "synthetic": verdict.manifest.origin.synthetic,
        "parts": verdict.parts,
        "rows": verdict.manifest.rows(),
        "rows_rejected": verdict.manifest.rows_rejected(),
        "rows_not_selected": verdict.manifest.rows_not_selected().unwrap_or(0),
        "values_compared": verdict.values,
        "not_converted": verdict.not_converted,
        "not_compared": verdict.not_compared,
        "findings": findings,
    });
    safe(&format!("{json:#}\n"))
}

fn finding_json(finding: &Error) -> serde_json::Value {
    let place = finding.place();
    json!({
        "path": place.path.as_ref().map(|path| path.to_string_lossy()),
        "line": place.line,
        "column": place.column,
        "field": place.field,
        "message": finding.to_string(),
    })
}

/// Reports what a verification found.
pub(crate) fn verified(reporter: &Reporter, verdict: &Verdict, with_source: bool) {
    if !reporter.is_json() {
        return self::verdict(verdict, with_source, reporter.elapsed());
    }
    for finding in &verdict.findings {
        let mut line = finding_json(finding);
        line["event"] = "finding".into();
        reporter.json(&line);
    }
    reporter.json(&json!({
        "event": "done", "parts": verdict.parts, "rows": verdict.manifest.rows(),
        "rejected": verdict.manifest.rows_rejected(),
        "not_selected": verdict.manifest.rows_not_selected().unwrap_or(0), "values_compared": verdict.values,
        "not_converted": verdict.not_converted, "not_compared": verdict.not_compared, "wrong": verdict.findings.len(),
        "seconds": reporter.elapsed().as_secs_f64()
    }));
}

/// Says on stderr whether a lake was released, after its verification.
pub(crate) fn released(verdict: &Verdict) {
    if verdict.findings.is_empty() {
        say(&format!("written: {SUMS}, {}", RELEASE.join(", ")));
    } else {
        say("not released");
    }
}

/// Says on stderr what a verification found, the findings first.
pub(crate) fn verdict(verdict: &Verdict, with_source: bool, elapsed: Duration) {
    for finding in &verdict.findings {
        error(finding);
    }
    if verdict.not_converted > 0 {
        say(&format!(
            "not in the lake: {} of the source",
            several(verdict.not_converted as u64, "part")
        ));
    }
    if verdict.not_compared > 0 {
        say(&format!(
            "not compared with a source: {} of other cells",
            several(verdict.not_compared as u64, "part")
        ));
    }
    if let Some(trace) = verdict.manifest.origin.find_trace() {
        summary::against_published(trace, &verdict.manifest);
    }
    let rejected = match verdict.manifest.rows_rejected() {
        0 => String::new(),
        rejected => format!(", {} rejected", several(rejected, "row")),
    };
    let not_selected = match verdict.manifest.rows_not_selected() {
        None => String::new(),
        Some(rows) => format!(", {} not selected", several(rows, "row")),
    };
    let values = if with_source {
        format!(
            ", {} values compared with the source",
            group_digits(verdict.values)
        )
    } else {
        String::new()
    };
    let wrong = verdict.findings.len();
    say(&format!(
        "{}, {}{rejected}{not_selected}{values}: {} wrong, {:.1} s",
        several(verdict.parts as u64, "part"),
        several(verdict.manifest.rows(), "row"),
        wrong,
        elapsed.as_secs_f64()
    ));
}
