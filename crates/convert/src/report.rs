//! Everything that reaches a person: events as a bar, as lines or as JSON lines, and tables.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::error::{Error, escape};
use crate::event::Event;
use crate::inspect::Inventory;
use crate::manifest::{Manifest, REJECTS};
use crate::plan::{PartPlan, Plan, StreamPlan};
use crate::run::{Found, Outcome};
use crate::store::{RELEASE, SUMS};
use crate::verify::Verdict;
use crate::words::{Runs, count, several};
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use serde_json::json;
use tracelake_generate::Summary;
use tracelake_schema::{Files, Published, Trace};

use crate::cli::ProgressArg;

/// Shows what happens on stderr.
pub(crate) struct Reporter {
    asked: ProgressArg,
    how: How,
    begun: Instant,
    /// Keeps lines of several threads apart.
    lines: Mutex<()>,
}

enum How {
    Bar(ProgressBar),
    Plain,
    Json,
    Quiet,
}

impl Reporter {
    /// Prepares for work on so many bytes.
    pub(crate) fn new(progress: ProgressArg, bytes: u64) -> Self {
        let how = match progress {
            ProgressArg::Auto if io::stderr().is_terminal() => How::Bar(bar(bytes)),
            ProgressArg::Auto | ProgressArg::None => How::Quiet,
            ProgressArg::Plain => How::Plain,
            ProgressArg::Json => How::Json,
        };
        Self {
            asked: progress,
            how,
            begun: Instant::now(),
            lines: Mutex::new(()),
        }
    }

    /// Prepares for generating, of which nobody knows the bytes beforehand.
    pub(crate) fn generating() -> Self {
        let reporter = Self::new(ProgressArg::Auto, 0);
        if let How::Bar(bar) = &reporter.how {
            let style = ProgressStyle::with_template("{spinner} {elapsed} {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        }
        reporter
    }

    /// Shows how far generating has come.
    pub(crate) fn generated(&self, table: &str, part: u32, rows: u64) {
        if let How::Bar(bar) = &self.how {
            bar.set_message(format!("{table} {part}: {} rows", count(rows)));
        }
    }

    /// Shows one event.
    pub(crate) fn show(&self, event: Event) {
        if let Event::Warning(text) = &event
            && !matches!(self.how, How::Json)
        {
            return self.line(&format!("warning: {}", shown(text)));
        }
        match &self.how {
            How::Bar(bar) => advance(bar, &event),
            How::Plain => {
                if let Some(text) = plain(&event) {
                    self.line(&text);
                }
            }
            How::Json => self.line(&json_line(&event)),
            How::Quiet => {}
        }
    }

    /// Ends the bar; what comes next on stderr stands on lines of its own.
    pub(crate) fn finish(&self) {
        if let How::Bar(bar) = &self.how {
            bar.finish_and_clear();
        }
    }

    /// Tells what a run led to.
    pub(crate) fn close(&self, plan: &Plan, outcome: &Outcome) {
        match self.how {
            How::Quiet if self.asked == ProgressArg::None => {}
            How::Json => {
                let tables = outcome.manifest.tables.iter();
                let tables = tables.map(|table| {
                    let rejected: u64 = table.parts.iter().map(|part| part.rows_rejected).sum();
                    let known = plan.trace.table(&table.name);
                    let published = known.and_then(|known| known.published);
                    json!({
                        "name": table.name, "parts": table.parts.len(),
                        "rows": table.rows, "rejected": rejected,
                        "published_rows": published.map(|published| published.rows),
                        "more_than_published":
                            known.and_then(|known| table.more_than_published(known))
                    })
                });
                let done = json!({
                    "event": "done", "trace": plan.trace.name, "converted": outcome.converted,
                    "tables": tables.collect::<Vec<_>>(), "seconds": self.elapsed().as_secs_f64()
                });
                self.line(&done.to_string());
            }
            _ => summary(plan, outcome, self.elapsed()),
        }
    }

    /// Reports what a verification found.
    pub(crate) fn verified(&self, verdict: &Verdict, with_source: bool) {
        if !matches!(self.how, How::Json) {
            return self::verdict(verdict, with_source, self.elapsed());
        }
        for finding in &verdict.findings {
            let mut line = finding_json(finding);
            line["event"] = "finding".into();
            self.line(&safe(&line.to_string()));
        }
        let done = json!({
            "event": "done", "parts": verdict.parts, "rows": verdict.manifest.rows(),
            "rejected": verdict.manifest.rows_rejected(), "values_compared": verdict.values,
            "not_converted": verdict.not_converted, "wrong": verdict.findings.len(),
            "seconds": self.elapsed().as_secs_f64()
        });
        self.line(&done.to_string());
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    fn line(&self, text: &str) {
        if let How::Bar(bar) = &self.how {
            return bar.suspend(|| say(text));
        }
        let _guard = self.lines.lock();
        say(text);
    }
}

/// One line for people. Nobody is left to tell when stderr is closed.
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

/// The outcome of writing to stdout, where a reader that stops reading is not a failure.
pub(crate) fn unless_closed(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

pub(crate) fn error(error: &Error) {
    say(&format!("tracelake: error: {error}"));
}

fn bar(bytes: u64) -> ProgressBar {
    let bar = ProgressBar::new(bytes);
    let template = "{wide_bar} {percent:>3}% {binary_bytes_per_sec}, {eta} left  {msg}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn advance(bar: &ProgressBar, event: &Event) {
    match event {
        Event::Started { table, file_number } => bar.set_message(format!("{table} {file_number}")),
        Event::Read { bytes } | Event::Kept { bytes, .. } => bar.inc(*bytes),
        Event::Finished { .. } | Event::Verified { .. } | Event::Warning(_) => {}
    }
}

fn plain(event: &Event) -> Option<String> {
    match event {
        Event::Finished {
            table,
            file_number,
            rows,
            rejected,
            bytes_out,
        } => {
            let rejected = match rejected {
                0 => String::new(),
                rejected => format!(", {} rejected", count(*rejected)),
            };
            let bytes = HumanBytes(*bytes_out);
            Some(format!(
                "{table} {file_number}: {} rows{rejected}, {bytes}",
                count(*rows)
            ))
        }
        Event::Kept {
            table,
            file_number,
            rows,
            ..
        } => Some(format!(
            "{table} {file_number}: {} rows, kept",
            count(*rows)
        )),
        Event::Verified {
            table,
            file_number,
            rows,
        } => Some(format!(
            "{table} {file_number}: {} rows, right",
            count(*rows)
        )),
        _ => None,
    }
}

fn json_line(event: &Event) -> String {
    let value = match event {
        Event::Started { table, file_number } => {
            json!({"event": "started", "table": table, "file_number": file_number})
        }
        Event::Read { bytes } => json!({"event": "read", "bytes": bytes}),
        Event::Finished {
            table,
            file_number,
            rows,
            rejected,
            bytes_out,
        } => json!({
            "event": "finished", "table": table, "file_number": file_number,
            "rows": rows, "rejected": rejected, "bytes_out": bytes_out
        }),
        Event::Kept {
            table,
            file_number,
            rows,
            bytes,
        } => json!({
            "event": "kept", "table": table, "file_number": file_number,
            "rows": rows, "bytes": bytes
        }),
        Event::Verified {
            table,
            file_number,
            rows,
        } => json!({
            "event": "verified", "table": table, "file_number": file_number, "rows": rows
        }),
        Event::Warning(text) => json!({"event": "warning", "text": text}),
    };
    value.to_string()
}

/// What a run led to, on stderr.
fn summary(plan: &Plan, outcome: &Outcome, elapsed: Duration) {
    let Outcome {
        manifest,
        converted,
    } = outcome;
    let mut rows = vec![
        ["table", "parts", "rows", "in", "out", "ratio"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let (mut parts, mut all, mut written) = (0, 0, 0);
    let mut read = BTreeMap::new();
    for table in &manifest.tables {
        // The parts of one file have it in common.
        let sources: BTreeMap<&str, u64> = table
            .parts
            .iter()
            .map(|part| (&part.source.path[..], part.source.bytes))
            .collect();
        let bytes_in: u64 = sources.values().sum();
        let bytes_out: u64 = table.parts.iter().map(|part| part.output.bytes).sum();
        rows.push(summary_row(
            &table.name,
            table.parts.len(),
            table.rows,
            bytes_in,
            bytes_out,
        ));
        parts += table.parts.len();
        all += table.rows;
        read.extend(sources);
        written += bytes_out;
    }
    let read = read.values().sum();
    rows.push(summary_row("total", parts, all, read, written));
    say(&aligned(&rows));
    for table in &plan.tables {
        // What an earlier run converted is in the lake, wherever its source has gone.
        let name = table.layout.table.name;
        let there = |number| {
            let mut parts = manifest.parts();
            parts.any(|(table, part)| table == name && part.file_number == number)
        };
        let missing = table
            .missing
            .iter()
            .filter(|&&number| !there(number))
            .count();
        if missing > 0 {
            say(&format!(
                "{name}: {} missing",
                several(missing as u64, "part")
            ));
        }
    }
    if !plan.absent.is_empty() {
        say(&format!("not in the source: {}", plan.absent.join(", ")));
    }
    let mapped: u64 = manifest
        .parts()
        .map(|(_, part)| part.sentinels_mapped)
        .sum();
    if mapped > 0 {
        say(&format!(
            "mapped to their sentinel: {}",
            several(mapped, "out-of-range time")
        ));
    }
    for table in &manifest.tables {
        let left_out = table.parts.iter().filter_map(|part| part.left_out);
        let left_out = left_out.fold(0, u64::saturating_add);
        if left_out > 0 {
            say(&format!(
                "{}: {} of the table that it is made of left out",
                table.name,
                several(left_out, "row")
            ));
        }
    }
    let rejected: u64 = manifest.parts().map(|(_, part)| part.rows_rejected).sum();
    if rejected > 0 {
        say(&format!(
            "{} rejected, listed in {REJECTS}",
            several(rejected, "row")
        ));
    }
    against_published(plan.trace, manifest);
    let kept = match parts.saturating_sub(*converted) {
        0 => String::new(),
        kept => format!(", {kept} kept from before"),
    };
    say(&format!(
        "{} as {}: {} converted{kept}, {:.1} s",
        escape(plan.source.as_os_str().as_encoded_bytes(), usize::MAX),
        plan.trace.name,
        several(*converted as u64, "part"),
        elapsed.as_secs_f64()
    ));
}

/// How the rows of each table that is whole compare with the published count, on stderr.
fn against_published(trace: &Trace, manifest: &Manifest) {
    if manifest.origin.synthetic {
        return say("synthetic: tracelake generate made the source");
    }
    for facts in &manifest.tables {
        let Some(table) = trace
            .table(&facts.name)
            .filter(|table| facts.is_whole(table) && table.files != Files::Derived)
        else {
            continue;
        };
        let more = facts.more_than_published(table);
        say(&format!(
            "{}: {} read{}",
            table.name,
            several(facts.rows_in(), "row"),
            compared(table.published, more)
        ));
    }
}

/// How many rows more than published there are, in words.
fn compared(published: Option<Published>, more: Option<i64>) -> String {
    let Some((published, more)) = published.zip(more) else {
        return ", no published count".to_owned();
    };
    if more == 0 {
        return ", matches the published count".to_owned();
    }
    format!(
        "; the published count is {} ({}), this differs from it by {}{}",
        count(published.rows),
        published.confidence.name(),
        if more < 0 { "-" } else { "" },
        count(more.unsigned_abs())
    )
}

/// What was generated, on stderr.
pub(crate) fn generated(made: &Summary, elapsed: Duration) {
    let mut rows = vec![
        ["table", "parts", "rows", "bytes"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for table in &made.tables {
        rows.push(vec![
            table.name.to_owned(),
            count(u64::from(table.parts)),
            count(table.rows),
            HumanBytes(table.bytes).to_string(),
        ]);
    }
    say(&aligned(&rows));
    say(&format!("{:.1} s", elapsed.as_secs_f64()));
}

fn summary_row(name: &str, parts: usize, rows: u64, read: u64, written: u64) -> Vec<String> {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let ratio = if written == 0 {
        0.0
    } else {
        read as f64 / written as f64
    };
    vec![
        name.to_owned(),
        count(parts as u64),
        count(rows),
        HumanBytes(read).to_string(),
        HumanBytes(written).to_string(),
        format!("{ratio:.2}"),
    ]
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

/// Text from a file or of a name, so that it cannot disturb a terminal.
fn shown(text: &str) -> String {
    escape(text.as_bytes(), usize::MAX)
}

/// What `--dry-run` prints.
pub(crate) fn plan_text(plan: &Plan, found: &Found) -> String {
    let source = plan.source.as_os_str().as_encoded_bytes();
    let mut text = format!("{} as {}\n", escape(source, usize::MAX), plan.trace.name);
    for table in plan.tables.iter().filter(|table| !table.parts.is_empty()) {
        let bytes = table.parts.iter().map(|part| part.bytes).sum();
        let name = table.layout.table.name;
        let is_done = |part: &&PartPlan| found.has(name, part.file_number);
        let done = table.parts.iter().filter(is_done).count() as u64;
        text += &format!(
            "{name}: {}, {}, fields as in {}",
            several(table.parts.len() as u64, "part"),
            HumanBytes(bytes),
            table.layout.origin
        );
        if done > 0 {
            text += &format!(", {} done", count(done));
        }
        if !table.missing.is_empty() {
            text += &format!(", missing {}", Runs(&table.missing));
        }
        text.push('\n');
        for part in &table.parts {
            let state = if is_done(&part) { "  (done)" } else { "" };
            text += &format!("  {} -> {}{state}\n", shown(&part.source), part.output);
        }
    }
    for stream in &plan.streams {
        text += &stream_text(plan, stream, found);
    }
    for derived in &plan.derived {
        text += &format!("{}: derived from {}\n", derived.table.name, derived.from);
    }
    if !plan.absent.is_empty() {
        text += &format!("not in the source: {}\n", plan.absent.join(", "));
    }
    text
}

/// A file that is cut into parts: what becomes of it, and how much of that is done.
fn stream_text(plan: &Plan, stream: &StreamPlan, found: &Found) -> String {
    let mut text = format!(
        "{}: {}, cut after every {}\n",
        shown(&stream.source),
        HumanBytes(stream.bytes),
        several(stream.part_rows, "row")
    );
    for &table in &stream.tables {
        let name = plan.tables[table].layout.table.name;
        let done = found.finished.iter().filter(|(table, _)| table == name);
        let done = match done.count() as u64 {
            0 => String::new(),
            done => format!("  ({} done)", several(done, "part")),
        };
        let [first, second] = [0, 1].map(|number| plan.cut(stream, table, number).output);
        text += &format!("  {name} -> {first}, {second}, …{done}\n");
    }
    text
}

/// How much of a list of missing parts `inspect` shows, in bytes; `--json` has all of it.
const MISSING_SHOWN: usize = 200;

/// What `inspect` prints.
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
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let time = |time: Option<i64>| {
        or_dash(time.map(|time| match time {
            i64::MAX => "after".to_owned(),
            time => time.to_string(),
        }))
    };
    for table in &inventory.tables {
        rows.push(vec![
            shown(&table.name),
            count(table.parts as u64),
            count(table.missing.len() as u64),
            or_dash(table.rows.map(count)),
            or_dash(table.rejected.map(count)),
            HumanBytes(table.bytes).to_string(),
            time(table.time_min),
            time(table.time_max),
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
    let mut text = format!(
        "{state}{synthetic}{} of {}\n{}\n",
        inventory.what,
        shown(&inventory.trace),
        aligned(&rows)
    );
    let left = match inventory.finished {
        Some(false) => "left",
        _ => "missing",
    };
    for table in inventory
        .tables
        .iter()
        .filter(|table| !table.missing.is_empty())
    {
        let numbers = several(table.missing.len() as u64, "part");
        let runs = Runs(&table.missing).to_string();
        let runs = escape(runs.as_bytes(), MISSING_SHOWN);
        text += &format!("{}: {numbers} {left}: {runs}\n", shown(&table.name));
    }
    if !inventory.absent.is_empty() {
        let absent = inventory.absent.join(", ");
        text += &format!("not in the {}: {absent}\n", inventory.what);
    }
    if inventory.finished == Some(false) {
        text += "run the same convert command again to finish it\n";
    }
    text
}

/// What `inspect --json` prints: JSON that cannot disturb a terminal either.
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

/// What `verify --json` prints.
pub(crate) fn verdict_json(verdict: &Verdict) -> String {
    let findings: Vec<serde_json::Value> = verdict.findings.iter().map(finding_json).collect();
    let json = json!({
        "trace": verdict.manifest.origin.trace,
        "synthetic": verdict.manifest.origin.synthetic,
        "parts": verdict.parts,
        "rows": verdict.manifest.rows(),
        "rows_rejected": verdict.manifest.rows_rejected(),
        "values_compared": verdict.values,
        "not_converted": verdict.not_converted,
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

/// What a release led to, on stderr, after its verification.
pub(crate) fn released(verdict: &Verdict) {
    if verdict.findings.is_empty() {
        say(&format!("written: {SUMS}, {}", RELEASE.join(", ")));
    } else {
        say("not released");
    }
}

/// What a verification found, on stderr; the findings first.
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
    if let Some(trace) = tracelake_schema::trace(&verdict.manifest.origin.trace) {
        against_published(trace, &verdict.manifest);
    }
    let rejected = match verdict.manifest.rows_rejected() {
        0 => String::new(),
        rejected => format!(", {} rejected", several(rejected, "row")),
    };
    let values = if with_source {
        format!(
            ", {} values compared with the source",
            count(verdict.values)
        )
    } else {
        String::new()
    };
    let wrong = verdict.findings.len();
    say(&format!(
        "{}, {}{rejected}{values}: {} wrong, {:.1} s",
        several(verdict.parts as u64, "part"),
        several(verdict.manifest.rows(), "row"),
        wrong,
        elapsed.as_secs_f64()
    ));
}

#[cfg(test)]
mod tests {
    use tracelake_schema::Confidence;

    use super::*;

    #[test]
    fn counts_are_compared_in_words() {
        let published = Some(Published {
            rows: 37_780,
            confidence: Confidence::Reported,
            source: "somebody",
        });
        let words = |more| compared(published, more);
        assert_eq!(compared(None, None), ", no published count");
        assert_eq!(words(Some(0)), ", matches the published count");
        let start = "; the published count is 37,780 (reported), this differs from it by ";
        assert_eq!(words(Some(1)), format!("{start}1"));
        assert_eq!(words(Some(-37_000)), format!("{start}-37,000"));
    }
}
