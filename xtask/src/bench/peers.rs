//! The program and its peers in turn. If real parts are next to the checkout, in `../shared/data`, the peers run on them
//! as well. `xtask/bench/bench.py` measures, because the peers are Python packages; it refuses to compare if the rounds
//! differ too much.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::available_parallelism;

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};
use tracelake_schema::arrow::data_type;
use tracelake_schema::{Column, Kind, Syntax, Trace};
use tracelake_testkit::trace;

use super::input::{generated, largest};
use crate::workspace::{
    build, can_be_generated, empty, entries, environment, read, target, with_place, write,
};

/// The measurement of the program and its peers in turn; others are parts of it, or of the program alone.
pub(super) const PEERS: &str = "peers";

/// The measurement of every form of input, which also draws the README's chart.
const FORMATS: &str = "formats";

/// The measurements that are written, and not only printed: the page, and how to read the figures.
const PAGES: [(&str, [&str; 2]); 4] = [
    (
        PEERS,
        [
            "docs/internals/benchmarks.md",
            "The versions are pinned in `xtask/bench/requirements.txt`. In each round every system runs \
             three times, and its median counts; a ratio is taken within its round and given as the \
             median of the rounds, with the lowest and the highest. A ratio above 1 means that the other \
             takes more than tracelake does. Every system gets the columns' types and writes zstd and row \
             groups of about a million rows on all threads. tracelake also digests its input and its \
             output and syncs every file to the disk, which the others do not. Real parts are repeated \
             under new numbers, so only their times are compared. See [what was tried](#what-was-tried) \
             to be faster still, and [comparison.md](comparison.md#how-cost-grows) for larger input.",
        ],
    ),
    (
        FORMATS,
        [
            "docs/internals/benchmarks.md",
            "Systems and their settings are those of the comparison above.",
        ],
    ),
    (
        "growth",
        [
            "docs/internals/comparison.md",
            "Figures are medians, with the lowest and the highest. Cost is linear if the figures of a \
             column stay the same from row to row. CPU time is that of all threads.",
        ],
    ),
    (
        "clustered",
        [
            "docs/internals/comparison.md",
            "Figures are medians; work on more than 20 million rows is done once.",
        ],
    ),
];

/// The chart of the README.
const CHART: &str = "docs/pictures/wall-time.svg";

/// Real parts of a table of a family, next to the checkout: the table, and what follows the family's
/// name in the path of their folder.
const REAL: [(&str, &str); 2] = [
    ("task_events", "-task-events/task_events"),
    ("job_events", "/job_events"),
];

/// Takes a measurement of a program, prints what it found, and writes it if it is a page.
pub(super) fn measure(
    root: &Path,
    name: &str,
    program: &Path,
    rows: u64,
    rounds: u32,
) -> Result<()> {
    let inflate = match name {
        PEERS => build(root, &["--release"], "--example", "inflate")?,
        _ => PathBuf::new(),
    };
    let python = environment(root, "bench", &["xtask/bench/requirements.txt"])?;
    let trace = trace();
    let source = generated(root, program, trace, (2, rows), None)?;
    let scratch = target(root).join("bench-data/scratch");
    empty(&scratch)?;
    let tables = trace.tables.iter().map(|table| {
        let columns = table.columns.iter();
        let typed = columns.map(|column| json!([column.name, data_type(column).to_string()]));
        json!([table.name, typed.collect::<Vec<_>>()])
    });
    let threads = available_parallelism()?.get();
    let large = source.join(largest(trace)?);
    let task = json!({
        "page": name,
        "program": program,
        "inflate": inflate,
        "source": source,
        "large": large.join("part-00000-of-00002.csv.gz"),
        "scratch": scratch,
        "rounds": rounds,
        "threads": threads,
        "trace": trace.name,
        "rows": rows,
        "tables": tables.collect::<Vec<_>>(),
        "real": real_parts(root, &trace.family)?,
        "formats": formats(root, program, name, rows)?,
        "first_rows": first_rows(root, trace)?,
        "chart": root.join(CHART),
        "made": format!("{}, {}", command(name), machine()?),
    });
    let mut script = Command::new(&python);
    script.arg(root.join("xtask/bench/bench.py"));
    script.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut started = script.spawn()?;
    let mut stdin = started.stdin.take().context("no stdin")?;
    stdin.write_all(task.to_string().as_bytes())?;
    drop(stdin);
    let measured = started.wait_with_output()?;
    ensure!(
        measured.status.success(),
        "nothing is compared; the reason is above"
    );
    let body = String::from_utf8(measured.stdout)?;
    let command = command(name);
    let made = format!(
        "Made by `{command} --rows {rows} --rounds {rounds}` on a machine with {}.",
        machine()?
    );
    let text = match PAGES.iter().find(|(page, _)| *page == name) {
        None => format!("{made}\n\n{body}"),
        Some((_, [path, how_to_read])) => {
            let text = format!("\n{made} {how_to_read}\n\n{}\n\n", body.trim());
            let page = with_place(&read(root, path)?, &command, &text)?;
            write(&root.join(path), &page)?;
            text
        }
    };
    println!("{text}");
    Ok(fs::remove_dir_all(&scratch)?)
}

/// The traces whose tables aren't CSV in parts: one with JSON lines, and one with a table in one file.
fn formats(root: &Path, program: &Path, name: &str, rows: u64) -> Result<Vec<Value>> {
    if name != FORMATS {
        return Ok(Vec::new());
    }
    let json = can_be_generated().find(|trace| {
        let mut tables = trace.tables.iter();
        tables.any(|table| table.syntax == Syntax::Json)
    });
    let in_one_file = can_be_generated().find(|trace| !trace.archives.is_empty());
    let traces = [
        json.context("a trace of JSON lines")?,
        in_one_file.context("a trace in archives")?,
    ];
    let traces = traces.into_iter().map(|trace| {
        let tables = trace.tables.iter();
        let tables = tables.filter(|table| table.syntax != Syntax::QuotedCsv);
        let typed = tables.map(|table| {
            let columns = table.columns.iter();
            let typed = columns.map(|column| json!([column.name, peer_type(column)]));
            (table.name.to_owned(), typed.collect())
        });
        let source = generated(root, program, trace, (2, rows / 4), None)?;
        let has_parquet = trace.tables.iter().any(|table| table.parquet);
        let parquet = has_parquet
            .then(|| generated(root, program, trace, (2, rows / 4), Some("parquet")))
            .transpose()?;
        let tables: Map<String, Value> = typed.collect();
        Ok(json!({
            "trace": trace.name, "source": source, "parquet": parquet, "tables": tables
        }))
    });
    traces.collect()
}

/// The type of a column as the peers get it.
fn peer_type(column: &Column) -> Value {
    match (column.kind, &column.fields[..]) {
        (Kind::List, [item, ..]) => json!({ "list": peer_type(item) }),
        (Kind::Struct, fields) => {
            let fields = fields.iter();
            let typed = fields.map(|field| json!([field.name, peer_type(field)]));
            json!({ "struct": typed.collect::<Vec<_>>() })
        }
        _ => json!(data_type(column).to_string()),
    }
}

/// Each table of [`REAL`] that is there, with its files.
fn real_parts(root: &Path, family: &str) -> Result<Vec<Value>> {
    let mut tables = Vec::new();
    for (table, folder) in REAL {
        let folder = root.join(format!("../shared/data/{family}{folder}"));
        match folder.exists() {
            true => tables.push(json!([table, entries(&folder)?])),
            false => println!(
                "no real parts of {table}: {} is not there",
                folder.display()
            ),
        }
    }
    Ok(tables)
}

/// The first rows of the largest table as they are published, if they are next to the checkout.
fn first_rows(root: &Path, trace: &Trace) -> Result<Option<PathBuf>> {
    let name = format!(
        "../shared/data/{}-heads/{}.csv",
        trace.family,
        largest(trace)?
    );
    Ok(Some(root.join(name)).filter(|path| path.exists()))
}

/// The size of the machine.
fn machine() -> Result<String> {
    let (threads, processor, memory) = (available_parallelism()?, processor()?, memory()?);
    Ok(format!(
        "{threads} processors ({processor}) and {memory} GiB of memory"
    ))
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

/// The command that takes a measurement, which the markers of its page name.
fn command(name: &str) -> String {
    match name {
        PEERS => "cargo xtask bench".to_owned(),
        _ => format!("cargo xtask bench --only {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::{root, split_at_place};

    #[test]
    fn the_pages_have_markers() {
        for (name, [path, _]) in PAGES {
            let page = read(&root().unwrap(), path).unwrap();
            assert!(
                split_at_place(&page, &command(name))
                    .unwrap()
                    .1
                    .contains("Made by")
            );
        }
    }

    /// Each bar is labelled with the figure that the page has for the same input, system and number of threads.
    #[test]
    fn the_chart_has_the_figures_of_its_page() {
        let root = root().unwrap();
        let (page, chart) = (
            read(&root, PAGES[1].1[0]).unwrap(),
            read(&root, CHART).unwrap(),
        );
        let (_, section, _) = split_at_place(&page, &command(FORMATS)).unwrap();
        let texts = chart.split("<text").skip(2).map(|text| {
            let (_, text) = text.split_once('>').unwrap();
            text.split_once('<').unwrap().0
        });
        let mut texts = texts.collect::<Vec<_>>().into_iter();
        let made = texts.next_back().unwrap();
        assert!(section.contains(made.split(", ").next().unwrap()), "{made}");
        let mut compared = 0;
        while let Some(title) = texts.next() {
            let (_, input) = title.split_once(": ").unwrap();
            // The last line of an input is that of all threads; another table has fewer cells.
            let mut lines = section
                .lines()
                .rev()
                .map(|line| line.split(" | ").collect::<Vec<_>>());
            let of_input = |cells: &Vec<&str>| cells.len() == 8 && cells[0] == format!("| {input}");
            let cells = lines.find(of_input).unwrap_or_else(|| panic!("no {input}"));
            assert_eq!(texts.next(), Some("tracelake"));
            assert_eq!(texts.next().unwrap(), format!("1 ({} s)", cells[2]));
            for system in ["Polars", "DuckDB", "pyarrow"] {
                assert_eq!(texts.next(), Some(system));
                let figure = format!("{system} {}", texts.next().unwrap());
                let ratios = cells.last().unwrap().trim_end_matches([' ', '|']);
                assert!(
                    ratios.split(", ").any(|one| one == figure),
                    "{input}: {figure}"
                );
                compared += 1;
            }
        }
        assert_eq!(compared, 12);
    }
}
