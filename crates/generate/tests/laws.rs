//! Laws that hold for every generated trace, checked on the files.
#![allow(clippy::panic, reason = "a broken law ends its test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex};

use flate2::read::MultiGzDecoder;
use tracelake_core::event::Event;
use tracelake_core::{Context, ErrorKind};
use tracelake_generate::{Options, Summary, generate};
use tracelake_schema::{TRACES, Table, Trace};

const SUBMIT: u64 = 0;
const SCHEDULE: u64 = 1;
const UPDATE_PENDING: u64 = 7;
const UPDATE_RUNNING: u64 = 8;
const AFTER: u64 = i64::MAX.cast_unsigned();
const BEGIN: u64 = 600_000_000;
const WINDOW: u64 = 300_000_000;

fn trace() -> &'static Trace {
    let trace = TRACES.iter().find(|trace| trace.in_parts());
    trace.expect("a trace in parts")
}

fn made(options: Options) -> (tempfile::TempDir, Summary) {
    let directory = tempfile::tempdir().expect("a directory");
    let summary = generate(&Context::new(), trace(), directory.path(), &options).expect("a trace");
    (directory, summary)
}

/// The rows of one table, with its quantities as names of the fields.
struct Rows {
    table: &'static Table,
    rows: Vec<(u64, Vec<String>)>,
}

impl Rows {
    fn read(out: &Path, stream: &str) -> Self {
        let mut tables = trace().tables.iter();
        let table = tables
            .find(|table| table.synthetic == stream)
            .expect("the stream");
        let mut files: Vec<_> = fs::read_dir(out.join(&*table.name))
            .expect("a directory")
            .map(|entry| entry.expect("an entry").path())
            .collect();
        files.sort();
        let mut rows = Vec::new();
        for (part, path) in (0..).zip(&files) {
            let mut text = String::new();
            let file = File::open(path).expect("a file");
            MultiGzDecoder::new(file)
                .read_to_string(&mut text)
                .expect("gzip");
            assert!(text.ends_with('\n'));
            for line in text.lines() {
                let fields: Vec<String> = line.split(',').map(str::to_owned).collect();
                assert_eq!(fields.len(), table.fields.len(), "{line}");
                rows.push((part, fields));
            }
        }
        Self { table, rows }
    }

    fn field(&self, quantity: &str) -> usize {
        let of = |&column: &usize| self.table.columns[column].synthetic == quantity;
        self.table.fields.iter().position(of).expect("the quantity")
    }

    /// The integers of some fields of all rows; an empty field is `u64::MAX`.
    fn integers<const N: usize>(&self, quantities: [&str; N]) -> Vec<[u64; N]> {
        let fields = quantities.map(|quantity| self.field(quantity));
        let read = |text: &str| {
            if text.is_empty() {
                u64::MAX
            } else {
                text.parse().expect(text)
            }
        };
        self.rows
            .iter()
            .map(|(_, row)| fields.map(|field| read(&row[field])))
            .collect()
    }
}

const NONE: u64 = u64::MAX;
/// Enough rows for everything to happen.
fn small() -> Options {
    options(3, 30_000, 5)
}

fn options(parts: u32, rows: u64, seed: u64) -> Options {
    let mut options = Options::default();
    (options.parts, options.rows, options.seed) = (parts, rows, seed);
    options
}

#[test]
fn the_same_options_give_the_same_bytes() {
    let sums = |options| {
        let (out, _) = made(options);
        fs::read_to_string(out.path().join("SHA256SUM")).expect("sums")
    };
    assert_eq!(sums(options(2, 3000, 1)), sums(options(2, 3000, 1)));
    assert_ne!(sums(options(2, 3000, 1)), sums(options(2, 3000, 2)));
}

#[test]
fn every_table_has_rows_in_every_part() {
    for (parts, rows) in [(1, 1000), (2, 1000), (3, 30_001)] {
        let (out, summary) = made(options(parts, rows, 1));
        for (table, made) in trace().tables.iter().zip(&summary.tables) {
            let read = Rows::read(out.path(), &table.synthetic);
            assert_eq!(u64::try_from(read.rows.len()), Ok(made.rows));
            assert_eq!(made.parts, if table.parts > 1 { parts } else { 1 });
            let filled: BTreeSet<u64> = read.rows.iter().map(|row| row.0).collect();
            if table.synthetic != "task constraints" || rows > 10_000 {
                assert_eq!(
                    u32::try_from(filled.len()),
                    Ok(made.parts),
                    "{}",
                    table.name
                );
            }
            if table.synthetic == "task usage" {
                assert_eq!(made.rows, rows);
            }
        }
    }
}

#[test]
fn tiny_traces_can_be_made() {
    for (parts, rows) in [(1, 1), (2, 2), (7, 50), (1, 64)] {
        let (_out, summary) = made(options(parts, rows, 3));
        assert!(summary.tables.iter().any(|table| table.rows == rows));
    }
}

#[test]
fn parts_share_their_ranges_of_time() {
    let (out, _) = made(small());
    let usage = Rows::read(out.path(), "task usage");
    let starts = usage.integers(["usage.start"]);
    let mut windows = BTreeMap::new();
    for ((part, _), [start]) in usage.rows.iter().zip(&starts) {
        windows
            .entry(*part)
            .or_insert_with(BTreeSet::new)
            .insert((start - BEGIN) / WINDOW);
    }
    let first: Vec<u64> = windows
        .values()
        .filter_map(|windows| windows.first().copied())
        .collect();
    assert!(
        windows
            .values()
            .all(|windows| windows.len() == windows_of(&first))
    );
    for table in &trace().tables {
        let rows = Rows::read(out.path(), &table.synthetic);
        let time = rows.field(if table.synthetic == "task usage" {
            "usage.start"
        } else {
            "event.time"
        });
        let mut last = 0;
        for (part, row) in &rows.rows {
            let at: u64 = row[time].parse().expect("a time");
            assert!(last <= at, "{}: {last} before {at}", table.name);
            last = at;
            assert!(at == 0 || at >= BEGIN, "{}: {at}", table.name);
            if table.parts > 1 && at != 0 && at != AFTER {
                let window = (at - BEGIN) / WINDOW;
                let owner = first.iter().rposition(|&first| first <= window);
                assert_eq!(
                    owner.map(u64::try_from),
                    Some(Ok(*part)),
                    "{}: {at}",
                    table.name
                );
            }
        }
    }
}

fn windows_of(first: &[u64]) -> usize {
    usize::try_from(first[1] - first[0]).expect("a few")
}

/// The runs of every task: machine, begin, end.
type Runs = BTreeMap<(u64, u64), Vec<(u64, u64, u64)>>;

/// Follows every task through the state diagram.
fn runs(out: &Path) -> Runs {
    #[derive(Clone, Copy, PartialEq, Debug)]
    enum State {
        Out,
        Pending,
        Running(u64, u64),
    }
    let mut states = BTreeMap::new();
    let mut runs = Runs::new();
    let rows = Rows::read(out, "task events");
    let fields = [
        "event.time",
        "job.id",
        "task.index",
        "event.type",
        "event.machine",
    ];
    for [time, job, index, kind, machine] in rows.integers(fields) {
        let state = states.entry((job, index)).or_insert(State::Out);
        *state = match (*state, kind) {
            (State::Out, SUBMIT) => State::Pending,
            (State::Pending, SCHEDULE) => State::Running(machine, time),
            (State::Pending, UPDATE_PENDING) => State::Pending,
            (State::Pending, 3 | 5) => {
                assert_eq!(machine, NONE);
                State::Out
            }
            (State::Running(on, since), UPDATE_RUNNING) => {
                assert_eq!(on, machine);
                State::Running(on, since)
            }
            (State::Running(on, since), 2..=6) => {
                assert_eq!(on, machine);
                runs.entry((job, index))
                    .or_default()
                    .push((on, since, time));
                State::Out
            }
            (state, kind) => panic!("{job}/{index}: {kind} at {time} while {state:?}"),
        };
        match kind {
            SCHEDULE => assert_ne!(machine, NONE),
            SUBMIT if time == 0 => {}
            SUBMIT | UPDATE_PENDING => assert_eq!(machine, NONE),
            _ => {}
        }
    }
    for (task, state) in states {
        if let State::Running(on, since) = state {
            runs.entry(task).or_default().push((on, since, NONE));
        }
    }
    runs
}

#[test]
fn tasks_follow_the_state_diagram_and_usage_follows_tasks() {
    let (out, _) = made(small());
    let runs = runs(out.path());
    let mut partial = 0;
    let usage = Rows::read(out.path(), "task usage");
    let fields = [
        "usage.start",
        "usage.end",
        "job.id",
        "task.index",
        "task.machine",
    ];
    let rows = usage.integers(fields);
    for &[start, end, job, index, machine] in &rows {
        assert!(start < end && end - start <= WINDOW);
        assert_eq!(
            (start - BEGIN) / WINDOW,
            (end - 1 - BEGIN) / WINDOW,
            "one window"
        );
        let ran = runs[&(job, index)]
            .iter()
            .any(|&(on, from, to)| on == machine && from <= start && end <= to);
        assert!(
            ran,
            "{job}/{index} on {machine} at {start}: {:?}",
            runs[&(job, index)]
        );
        partial += u64::from(end - start < WINDOW);
    }
    assert!(
        partial > 100,
        "{partial} of {} rows are shorter than a window",
        rows.len()
    );
    let ordered = |row: &[u64; 5]| (row[0], row[2], row[3]);
    assert!(rows.is_sorted_by_key(ordered), "by start, job and task");
}

#[test]
fn jobs_agree_with_their_tasks() {
    let (out, _) = made(small());
    let mut tasks: BTreeMap<u64, Vec<[u64; 2]>> = BTreeMap::new();
    let rows = Rows::read(out.path(), "task events");
    for [time, job, kind] in rows.integers(["event.time", "job.id", "event.type"]) {
        tasks.entry(job).or_default().push([time, kind]);
    }
    let mut jobs: BTreeMap<u64, Vec<[u64; 2]>> = BTreeMap::new();
    let rows = Rows::read(out.path(), "job events");
    for [time, job, kind] in rows.integers(["event.time", "job.id", "event.type"]) {
        jobs.entry(job).or_default().push([time, kind]);
    }
    assert_eq!(
        jobs.keys().collect::<Vec<_>>(),
        tasks.keys().collect::<Vec<_>>()
    );
    for (job, events) in jobs {
        let of_tasks = &tasks[&job];
        let first = |kind| {
            of_tasks
                .iter()
                .find(|event| event[1] == kind)
                .map(|event| event[0])
        };
        assert_eq!(events[0], [of_tasks[0][0], SUBMIT], "{job}");
        let scheduled = events
            .iter()
            .find(|event| event[1] == SCHEDULE)
            .map(|event| event[0]);
        assert_eq!(scheduled, first(SCHEDULE), "{job}: {events:?}");
        for (position, &[time, kind]) in events.iter().enumerate() {
            if (2..=6).contains(&kind) {
                assert_eq!(position, events.len() - 1, "{job}: nothing after the end");
                assert!(of_tasks.iter().all(|task| task[0] <= time), "{job}: {time}");
            }
        }
    }
}

#[test]
fn machines_are_up_when_tasks_run() {
    let (out, _) = made(small());
    let mut away: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    let rows = Rows::read(out.path(), "machine events");
    for [time, machine, kind] in rows.integers(["event.time", "machine.id", "event.type"]) {
        let periods = away.entry(machine).or_insert_with(|| vec![(0, NONE)]);
        match kind {
            0 => periods.last_mut().expect("a period").1 = time,
            1 => periods.push((time, NONE)),
            _ => {}
        }
    }
    let mut apart = BTreeMap::new();
    for ((job, _), runs) in runs(out.path()) {
        for (machine, from, to) in runs {
            let free = |&(down, up): &(u64, u64)| up <= from || to <= down;
            assert!(
                away[&machine].iter().all(free),
                "{machine} from {from} to {to}"
            );
            apart
                .entry((job, machine))
                .or_insert_with(Vec::new)
                .push((from, to));
        }
    }
    let rows = Rows::read(out.path(), "task events");
    let restricted: BTreeSet<u64> = rows
        .integers(["job.id", "job.different_machines"])
        .iter()
        .filter(|row| row[1] == 1)
        .map(|row| row[0])
        .collect();
    assert!(!restricted.is_empty());
    for ((job, machine), mut runs) in apart {
        runs.sort_unstable();
        if restricted.contains(&job) {
            assert!(
                runs.windows(2).all(|pair| pair[0].1 <= pair[1].0),
                "{job} on {machine}"
            );
        }
    }
}

#[test]
fn constraints_belong_to_an_event() {
    let (out, _) = made(small());
    let rows = Rows::read(out.path(), "task events");
    let events: BTreeSet<_> = rows
        .integers(["event.time", "job.id", "task.index", "event.type"])
        .into_iter()
        .filter(|row| [SUBMIT, UPDATE_PENDING, UPDATE_RUNNING].contains(&row[3]))
        .map(|row| [row[0], row[1], row[2]])
        .collect();
    let rows = Rows::read(out.path(), "task constraints");
    for row in rows.integers(["event.time", "job.id", "task.index"]) {
        assert!(events.contains(&row), "{row:?}");
    }
}

#[test]
fn times_outside_the_trace_occur() {
    let (out, _) = made(small());
    for stream in ["job events", "task events"] {
        let rows = Rows::read(out.path(), stream);
        let times = rows.integers(["event.time"]);
        assert!(times.iter().any(|row| row[0] == 0));
        assert!(times.iter().any(|row| row[0] == AFTER));
    }
    let rows = Rows::read(out.path(), "task events");
    let request = [
        "event.missing",
        "task.cpu_request",
        "task.memory_request",
        "task.disk_request",
    ];
    let fields = request.map(|quantity| rows.field(quantity));
    for (_, row) in &rows.rows {
        let [missing, request @ ..] = fields.map(|field| row[field].as_str());
        assert_eq!(request.map(str::is_empty), [missing == "2"; 3]);
    }
}

#[test]
fn what_lies_around_the_tables_fits_them() {
    let (out, summary) = made(options(2, 2000, 1));
    let sums = fs::read_to_string(out.path().join("SHA256SUM")).expect("sums");
    let parts: u32 = summary.tables.iter().map(|table| table.parts).sum();
    assert_eq!(u32::try_from(sums.lines().count()), Ok(parts + 1));
    for line in sums.lines() {
        let (sum, path) = line.split_once("  ").expect("two fields");
        assert_eq!(sum.len(), 64);
        assert!(out.path().join(path).is_file(), "{path}");
    }
    let readme = fs::read_to_string(out.path().join("README")).expect("a README");
    assert!(readme.starts_with("Synthetic"));
    for entry in fs::read_dir(out.path()).expect("a directory") {
        let path = entry.expect("an entry").path();
        let inside = fs::read_dir(&path)
            .into_iter()
            .flatten()
            .map(|entry| entry.expect("one").path());
        for path in inside.chain([path.clone()]) {
            assert_ne!(
                path.extension().and_then(|extension| extension.to_str()),
                Some("tmp")
            );
        }
    }
    let header = fs::read(
        out.path()
            .join(sums.lines().next().expect("a line")[66..].trim_end()),
    )
    .expect("a file");
    assert_eq!(header[3..8], [0; 5], "no name, no time");

    let again = generate(&Context::new(), trace(), out.path(), &Options::default());
    assert_eq!(again.unwrap_err().kind(), ErrorKind::Refused);
}

#[test]
fn what_the_cluster_does_not_know_is_an_error() {
    let original = trace();
    let mut tables = original.tables.to_vec();
    let mut columns = tables[0].columns.to_vec();
    Arc::make_mut(&mut columns[0]).synthetic = "job.colour".to_owned();
    Arc::make_mut(&mut tables[0]).columns = columns.into();
    let colour: &'static Trace = Box::leak(Box::new(Trace {
        tables,
        ..original.clone()
    }));
    let mut tables = original.tables.to_vec();
    Arc::make_mut(&mut tables[1]).synthetic = "weather".to_owned();
    let weather: &'static Trace = Box::leak(Box::new(Trace {
        tables,
        ..original.clone()
    }));
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("out");
    for (trace, word) in [(colour, "job.colour"), (weather, "weather")] {
        let error = generate(&Context::new(), trace, &out, &Options::default()).expect_err(word);
        let text = error.to_string();
        assert!(
            text.contains(word) && text.contains("cannot be generated"),
            "{text}"
        );
        assert!(!out.exists(), "nothing was written");
    }
    for options in [options(0, 100_000, 1), options(2, 1, 1)] {
        let error = generate(&Context::new(), original, &out, &options).expect_err("options");
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    }
}

#[test]
fn progress_is_reported_for_every_part() {
    let directory = tempfile::tempdir().expect("a directory");
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let noted = Arc::clone(&seen);
    let context = Context::new().with_events(move |event| {
        if let Event::Generated { table, part, .. } = event {
            noted.lock().expect("no panic").insert((table, part));
        }
    });
    generate(&context, trace(), directory.path(), &options(2, 1000, 1)).expect("a trace");
    let expected: u32 = trace()
        .tables
        .iter()
        .map(|it| if it.parts > 1 { 2 } else { 1 })
        .sum();
    assert_eq!(
        u32::try_from(seen.lock().expect("no panic").len()),
        Ok(expected)
    );
}

#[test]
fn a_cancelled_context_stops_the_simulation_and_the_next_run_replaces_what_is_left() {
    let directory = tempfile::tempdir().expect("a directory");
    let context = Context::new();
    let listener = context.clone();
    let context = context.with_events(move |_| listener.cancel());
    let options = Options::default();
    let error = generate(&context, trace(), directory.path(), &options).expect_err("stopped");
    assert_eq!(error.kind(), ErrorKind::Stopped(2));
    assert_eq!(error.place().path.as_deref(), Some(directory.path()));
    let again = generate(&Context::new(), trace(), directory.path(), &options);
    assert!(again.expect("a trace").replaced);
}
