//! Progress: a bar on a terminal, a line per part, or JSON lines.
//!
//! The JSON lines are part of the interface; `docs/exit-codes.md` describes each.

use std::io::{self, IsTerminal};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::{Value, json};
use tracelake_convert::plan::Shard;
use tracelake_core::error::Error;
use tracelake_core::event::Event;
use tracelake_core::words::{group_digits, several};

use super::{say, shown};
use crate::cli::ProgressArg;

/// The time between two pictures of a bar.
const REDRAW: Duration = Duration::from_millis(200);

/// The time between two JSON lines about bytes read, at least.
const BETWEEN: Duration = Duration::from_millis(500);

/// JSON lines about parts: this many at once, and [`PART_LINES_PER_SECOND`] in the long run. Small parts are
/// done faster than people can read, and each line counts those before it.
const PART_LINES_AT_ONCE: u64 = 100;
const PART_LINES_PER_SECOND: u64 = 4;

/// The command whose work is counted in files.
pub(crate) const FETCH: &str = "fetch";

/// Shows on stderr what happens; one for each command.
pub(crate) struct Reporter {
    how: How,
    begun: Instant,
    planned: OnceLock<PlannedWork>,
    tally: Mutex<Tally>,
}

enum How {
    /// A bar, which appears with the work.
    Terminal(OnceLock<ProgressBar>),
    Plain,
    Json,
    /// Warnings, errors and the summary only.
    Quiet,
    /// Warnings and errors only.
    Silent,
}

/// The planned work, as far as it is known beforehand.
#[derive(Debug, Clone, Default)]
pub(crate) struct PlannedWork {
    /// The command, such as `convert`.
    pub(crate) command: &'static str,
    /// The parts; `None` where a file is cut into parts while it is read.
    pub(crate) parts: Option<u64>,
    /// The size of all sources, in bytes; `None` if that of one isn't known.
    pub(crate) bytes: Option<u64>,
    /// The shard that is converted.
    pub(crate) shard: Option<Shard>,
}

/// How much is done.
#[derive(Default)]
struct Tally {
    bytes: u64,
    parts: u64,
    /// Bytes that are in no JSON line yet.
    unreported: u64,
    /// When bytes were last in a JSON line.
    reported: Option<Instant>,
    /// JSON lines about parts so far.
    part_lines: u64,
}

impl Tally {
    /// Counts an event. The size of all sources, `most`, is never exceeded, although a file of which parts were kept may
    /// be read again.
    fn count(&mut self, event: &Event, most: Option<u64>) {
        let (bytes, parts) = match event {
            Event::Read { bytes } => (*bytes, 0),
            Event::Kept { bytes, .. } => (*bytes, 1),
            Event::Fetched {
                kept: true, bytes, ..
            } => (*bytes, 1),
            Event::Finished { .. } | Event::Verified { .. } | Event::Fetched { .. } => (0, 1),
            _ => (0, 0),
        };
        let most = most.unwrap_or(u64::MAX);
        self.bytes = self.bytes.saturating_add(bytes).min(most);
        self.parts += parts;
    }
}

/// Progress of a run.
#[derive(Serialize)]
struct Far {
    seconds: f64,
    parts_done: u64,
    parts: Option<u64>,
    bytes_done: u64,
    bytes_total: Option<u64>,
}

/// A JSON line about an event.
#[derive(Serialize)]
struct EventLine<'a> {
    #[serde(flatten)]
    event: &'a Event,
    #[serde(flatten)]
    far: Option<Far>,
}

impl Reporter {
    /// Prepares for work that isn't known yet.
    pub(crate) fn new(progress: ProgressArg) -> Self {
        let how = match progress {
            ProgressArg::Auto if io::stderr().is_terminal() => How::Terminal(OnceLock::new()),
            ProgressArg::Auto => How::Quiet,
            ProgressArg::None => How::Silent,
            ProgressArg::Plain => How::Plain,
            ProgressArg::Json => How::Json,
        };
        Self {
            how,
            begun: Instant::now(),
            planned: OnceLock::new(),
            tally: Mutex::default(),
        }
    }

    /// Shows warnings and errors only.
    pub(crate) fn silent() -> Self {
        Self::new(ProgressArg::None)
    }

    /// Begins the work.
    pub(crate) fn start(&self, planned: PlannedWork) {
        let planned = self.planned.get_or_init(|| planned);
        match &self.how {
            How::Terminal(shown) => drop(shown.set(bar(planned))),
            How::Json => say_json(&json!({
                "event": "start", "command": planned.command, "parts": planned.parts, "bytes_total": planned.bytes,
                "shard": planned.shard.map(|shard| shard.index), "shards": planned.shard.map(|shard| shard.of),
            })),
            How::Plain | How::Quiet | How::Silent => {}
        }
    }

    /// The planned work; none before it is known.
    fn planned(&self) -> &PlannedWork {
        const NONE: &PlannedWork = &PlannedWork {
            command: "",
            parts: None,
            bytes: Some(0),
            shard: None,
        };
        self.planned.get().unwrap_or(NONE)
    }

    /// The bar, once the work has begun.
    fn bar(&self) -> Option<&ProgressBar> {
        match &self.how {
            How::Terminal(bar) => bar.get(),
            _ => None,
        }
    }

    /// The shard that is converted.
    pub(crate) fn shard(&self) -> Option<Shard> {
        self.planned().shard
    }

    /// Prepares for generating, whose bytes aren't known beforehand.
    pub(crate) fn generating() -> Self {
        let reporter = Self::new(ProgressArg::Auto);
        if let How::Terminal(shown) = &reporter.how {
            let bar = ProgressBar::new_spinner();
            bar.set_style(style("{spinner} {elapsed} {msg}"));
            bar.enable_steady_tick(REDRAW);
            drop(shown.set(bar));
        }
        reporter
    }

    /// Shows one event; from any thread.
    pub(crate) fn show(&self, event: Event) {
        if let Event::Warning(text) = &event {
            return self.warn(text);
        }
        match &self.how {
            How::Terminal(bar) => {
                if let Some(bar) = bar.get() {
                    self.advance(bar, &event);
                }
            }
            How::Plain => {
                if let Some(text) = plain(&event) {
                    self.line(&text);
                }
            }
            How::Json => self.report(&event),
            How::Quiet | How::Silent => {}
        }
    }

    fn warn(&self, text: &str) {
        match self.bar() {
            Some(bar) => bar.suspend(|| warning(text, false)),
            None => warning(text, self.is_json()),
        }
    }

    /// Shows an error, after whatever is left to say of the work.
    pub(crate) fn error(&self, error: &Error) {
        self.finish();
        let How::Json = self.how else {
            return super::error(error);
        };
        say_json(&error_line(error));
    }

    /// Ends the bar, or the JSON lines about progress.
    pub(crate) fn finish(&self) {
        match &self.how {
            How::Terminal(bar) => {
                if let Some(bar) = bar.get() {
                    bar.finish_and_clear();
                }
            }
            How::Json => {
                let mut tally = self.tally();
                if tally.unreported > 0 {
                    self.report_bytes(&mut tally);
                }
            }
            _ => {}
        }
    }

    /// Whether the end of the work is reported in words.
    pub(crate) fn is_for_people(&self) -> bool {
        !matches!(self.how, How::Json | How::Silent)
    }

    /// Whether it is reported in JSON.
    pub(crate) fn is_json(&self) -> bool {
        matches!(self.how, How::Json)
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn advance(&self, bar: &ProgressBar, event: &Event) {
        if let Event::Generated { table, part, rows } = event {
            return bar.set_message(format!("{table} {part}: {}", several(*rows, "row")));
        }
        let mut tally = self.tally();
        tally.count(event, self.planned().bytes);
        bar.set_position(tally.bytes);
        bar.set_message(self.planned().far(tally.parts));
        if let Event::Kept { .. } | Event::Fetched { kept: true, .. } = event {
            // Kept parts say nothing about the speed of the rest.
            bar.reset_eta();
        }
    }

    fn report(&self, event: &Event) {
        let mut tally = self.tally();
        tally.count(event, self.planned().bytes);
        if let Event::Read { bytes } = event {
            tally.unreported += bytes;
            let last = tally.reported;
            if last.is_none_or(|last| last.elapsed() >= BETWEEN) {
                self.report_bytes(&mut tally);
            }
            return;
        }
        let most = PART_LINES_AT_ONCE + PART_LINES_PER_SECOND * self.elapsed().as_secs();
        if tally.part_lines >= most {
            return;
        }
        tally.part_lines += 1;
        let far = match event {
            Event::Started { .. } => None,
            _ => Some(self.far(&tally)),
        };
        say_json(&EventLine { event, far });
    }

    fn report_bytes(&self, tally: &mut Tally) {
        tally.reported = Some(Instant::now());
        let bytes = std::mem::take(&mut tally.unreported);
        let far = Some(self.far(tally));
        let event = &Event::Read { bytes };
        say_json(&EventLine { event, far });
    }

    fn far(&self, tally: &Tally) -> Far {
        Far {
            seconds: self.elapsed().as_secs_f64(),
            parts_done: tally.parts,
            parts: self.planned().parts,
            bytes_done: tally.bytes,
            bytes_total: self.planned().bytes,
        }
    }

    fn line(&self, text: &str) {
        match self.bar() {
            Some(bar) => bar.suspend(|| say(text)),
            None => say(text),
        }
    }
}

/// An error as a JSON line, where no [`Reporter`] is left or none was made.
pub(crate) fn json_error(error: &Error) {
    say_json(&error_line(error));
}

/// A warning, where no [`Reporter`] can be asked.
pub(super) fn warning(text: &str, in_json: bool) {
    match in_json {
        true => say_json(&json!({"event": "warning", "text": text})),
        false => say(&format!("warning: {}", shown(text))),
    }
}

fn error_line(error: &Error) -> Value {
    let (kind, place) = (error.kind(), error.place());
    json!({
        "event": "error", "kind": kind.name(), "exit_code": kind.exit_code(),
        "path": place.path.as_ref().map(|path| path.to_string_lossy()),
        "line": place.line, "column": place.column, "field": place.field, "text": error.to_string(),
    })
}

/// Writes a JSON line to stderr.
pub(super) fn say_json(line: &impl Serialize) {
    let json = serde_json::to_string(line).expect("lines hold names, numbers and texts");
    say(&super::safe(&json));
}

/// Everything but the bar has a fixed width, so that the bar doesn't jump. Where the end isn't known, there is no bar.
fn bar(planned: &PlannedWork) -> ProgressBar {
    let bar = match planned.bytes {
        Some(bytes) => {
            let width = planned.far(planned.parts.unwrap_or(0)).len();
            let template = format!(
                "{{wide_bar}} {{percent:>3}}%  {{msg:>{width}}}  {{binary_bytes_per_sec:>12}}  {{eta:>3}} left"
            );
            ProgressBar::new(bytes).with_style(style(&template).progress_chars("=> "))
        }
        None => {
            let template = "{spinner} {elapsed}  {msg}  {binary_bytes}  {binary_bytes_per_sec}";
            ProgressBar::new_spinner().with_style(style(template))
        }
    };
    bar.set_message(planned.far(0));
    bar.enable_steady_tick(REDRAW);
    bar
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates here are well-formed")
}

impl PlannedWork {
    /// `3 of 10 parts`, or `3 parts` if their final number isn't known.
    fn far(&self, done: u64) -> String {
        let noun = if self.command == FETCH {
            "file"
        } else {
            "part"
        };
        match self.parts {
            Some(all) => format!("{} of {}", group_digits(done), several(all, noun)),
            None => several(done, noun),
        }
    }
}

fn plain(event: &Event) -> Option<String> {
    match event {
        Event::Finished {
            table,
            part,
            rows,
            rejected,
            bytes_out,
        } => {
            let without = match rejected {
                0 => String::new(),
                rejected => format!(", {} rejected", group_digits(*rejected)),
            };
            let (with, bytes) = (several(*rows, "row"), HumanBytes(*bytes_out));
            Some(format!("{table} {part}: {with}{without}, {bytes}"))
        }
        Event::Kept {
            table, part, rows, ..
        } => Some(format!("{table} {part}: {}, kept", several(*rows, "row"))),
        Event::Fetched { path, bytes, kept } => {
            let kept = if *kept { ", kept" } else { "" };
            Some(format!("{}: {}{kept}", shown(path), HumanBytes(*bytes)))
        }
        Event::Verified { table, part, rows } => {
            Some(format!("{table} {part}: {}, right", several(*rows, "row")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_counted_in_words() {
        let planned = |command, parts| PlannedWork {
            command,
            parts,
            ..PlannedWork::default()
        };
        assert_eq!(planned("", Some(1_000)).far(3), "3 of 1,000 parts");
        assert_eq!(planned("", Some(1)).far(0), "0 of 1 part");
        assert_eq!(planned("", None).far(1), "1 part");
        assert_eq!(planned(FETCH, Some(2)).far(1), "1 of 2 files");
    }

    #[test]
    fn no_more_is_done_than_there_is() {
        let mut tally = Tally::default();
        for _ in 0..3 {
            tally.count(&Event::Read { bytes: 4 }, Some(10));
        }
        assert_eq!(tally.bytes, 10);
    }
}
