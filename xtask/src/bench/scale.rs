//! Requests, time and cost of a whole trace, from the rate per core that was measured and from requests that are
//! counted here, with the code of `convert` and `commit` on a bucket in memory.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use tracelake_schema::render::group_digits;
use tracelake_testkit::requests::{CountedLake, Requests};

use crate::workspace::{read, split_at_place, with_place, write};

const INPUT: &str = "xtask/scale.toml";
const RATES: &str = "docs/internals/comparison.md";
const PAGE: &str = "docs/many-machines.md";

/// The places of the page for what this command writes, by what their comments say.
const COUNTS: &str = "counted by cargo xtask bench --only scale";
const BY_SHARDS: &str = "shards counted by cargo xtask bench --only scale";
const COSTS: &str = "cargo xtask bench --only scale";

#[derive(Deserialize)]
struct Model {
    date: String,
    core_hour: f64,
    read_bytes: f64,
    write_bytes: f64,
    threads: f64,
    store: Vec<Store>,
    lake: Vec<Lake>,
    by_shards: Vec<Lake>,
    trace: Vec<TraceFigures>,
}

/// A lake whose requests are counted.
#[derive(Deserialize)]
struct Lake {
    parts: u64,
    shards: u32,
}

#[derive(Deserialize)]
struct Store {
    name: String,
    get_per_1000: f64,
    put_per_1000: f64,
    gb_month: f64,
    gb_out: f64,
}

#[derive(Deserialize)]
struct TraceFigures {
    name: String,
    source_gb: f64,
    files: u64,
    billion_rows: Option<f64>,
    /// The length of a row, if the number of rows is unknown: in rows of the first trace.
    length_of_a_row: Option<f64>,
    /// The CPU time of a row, in rows of the table whose rate was measured.
    cpu_of_a_row: f64,
    lake_of_source: f64,
}

/// The memory of a run beside its threads, and of each thread, in GB: see `run::parts_within`.
const MEMORY_GB: f64 = 0.128;

/// The steps of a lake that a trace pays for.
const CONVERT: &str = "convert";
const COMMIT: &str = "commit";

/// Counts, prints the tables, and writes them into the page.
pub(super) fn scale(root: &Path) -> Result<()> {
    let model = model(root)?;
    let counts = counts(&model.lake)?;
    let by_shards = by_shards(&model.by_shards)?;
    let page = with_place(&read(root, PAGE)?, COUNTS, &counts)?;
    let page = with_place(&page, BY_SHARDS, &by_shards)?;
    let costs = costs(root, &model, &page)?;
    println!("{counts}\n{by_shards}\n{costs}");
    write(&root.join(PAGE), with_place(&page, COSTS, &costs)?)
}

/// The table of requests by the number of shards: those of all shards and of the commit.
fn by_shards(lakes: &[Lake]) -> Result<String> {
    let mut text = "| parts | shards | requests | for each part | MB read |\n\
                    |---|---|---|---|---|\n"
        .to_owned();
    for &Lake { parts, shards } in lakes {
        let made = CountedLake::new(parts);
        made.convert_shards(shards)?;
        made.commit()?;
        let requests = made.bucket.take();
        writeln!(
            text,
            "| {} | {shards} | {} | {:.1} | {:.1} |",
            group_digits(parts),
            group_digits(requests.all()),
            requests.all() as f64 / parts as f64,
            requests.bytes_read as f64 / 1e6,
        )?;
    }
    Ok(text)
}

/// The table of requests by step, of lakes that are made in memory.
fn counts(lakes: &[Lake]) -> Result<String> {
    let mut text = "\
        | parts | shards | step | reads | pages listed | writes | removals | MB read | MB written |\n\
        |---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for &Lake { parts, shards } in lakes {
        let made = CountedLake::new(parts);
        let mut end = |step: &str| {
            let Requests {
                reads,
                lists,
                writes,
                removals,
                bytes_read,
                bytes_written,
            } = made.bucket.take();
            let megabytes = [bytes_read, bytes_written].map(|bytes| bytes.div_ceil(1_000_000));
            let numbers = [&[reads, lists, writes, removals][..], &megabytes].concat();
            let cells: Vec<String> = numbers.into_iter().map(group_digits).collect();
            let (parts, cells) = (group_digits(parts), cells.join(" | "));
            text += &format!("| {parts} | {shards} | {step} | {cells} |\n");
        };
        made.convert_shards(shards)?;
        end(CONVERT);
        made.convert_shards(shards)?;
        end("each shard again");
        let done = made.commit()?;
        end(COMMIT);
        ensure!(done.manifest.parts().count() as u64 == parts);
        made.convert(None)?;
        end("convert again");
    }
    Ok(text)
}

/// The parts and shards of each lake of the page, with its requests until it is committed.
fn read_counts(page: &str) -> Result<Vec<(u64, u64, Requests)>> {
    let (_, table, _) = split_at_place(page, COUNTS)?;
    let mut lakes: Vec<(u64, u64, Requests)> = Vec::new();
    for row in table.lines().skip(2) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let number = |cell: usize| -> Result<u64> {
            let text = cells.get(cell).context("a row lacks cells")?;
            let number = text.replace(',', "").parse();
            number.with_context(|| row.to_owned())
        };
        let requests = Requests {
            reads: number(4)?,
            lists: number(5)?,
            writes: number(6)?,
            removals: number(7)?,
            ..Requests::default()
        };
        match (cells[3], lakes.last_mut()) {
            (CONVERT, _) => lakes.push((number(1)?, number(2)?, requests)),
            (COMMIT, Some((.., all))) => *all += requests,
            _ => {}
        }
    }
    Ok(lakes)
}

fn model(root: &Path) -> Result<Model> {
    toml::from_str(&read(root, INPUT)?).with_context(|| INPUT.to_owned())
}

/// The seconds that one core takes for a million rows, from the longest file of the page.
fn seconds_per_million_rows(growth: &str) -> Result<f64> {
    let (_, section) = growth
        .split_once("## As a file grows")
        .with_context(|| format!("{RATES} doesn't say how long files take"))?;
    let is_row = |line: &&str| line.starts_with('|');
    let rows = section.lines().skip_while(|line| !is_row(line));
    let last = rows.take_while(is_row).last();
    let cell = last.and_then(|row| row.split('|').nth(2));
    let word = cell.and_then(|cell| cell.split_whitespace().next());
    let median = word.with_context(|| format!("{RATES} has no rate on one thread"))?;
    median.parse().with_context(|| format!("{RATES}: {median}"))
}

/// The tables of costs, from the counts of the page.
fn costs(root: &Path, model: &Model, page: &str) -> Result<String> {
    let rate = seconds_per_million_rows(&read(root, RATES)?)?;
    let counted = read_counts(page)?;
    let first = model.trace.first().context("no trace")?;
    let first_rows = first.billion_rows.context("the rows of the first trace")?;
    let gb_per_billion = first.source_gb / first_rows;
    let threads = model.threads;
    let mut text = format!(
        "A core takes {rate:.3} s for a million rows of `task_usage` ([measured](internals/comparison.md#as-a-file-grows)).\n\n\
         | | download | rows | core hours | a core reads | shards for one hour | their memory | lake | reads | writes |\n\
         |---|---|---|---|---|---|---|---|---|---|\n"
    );
    let mut in_dollars = format!(
        "\nIn US dollars, with the prices in `xtask/scale.toml`, which are of {}:\n\n\
         | | store | processors | reads | writes | lake for a month | download to elsewhere |\n\
         |---|---|---|---|---|---|---|\n",
        model.date
    );
    for trace in &model.trace {
        let lake = counted.iter().find(|(parts, ..)| *parts == trace.files);
        let (.., requests) =
            lake.with_context(|| format!("{INPUT} counts no lake of {} parts", trace.files))?;
        let length = trace.length_of_a_row.unwrap_or(1.0);
        let by_length = trace.source_gb / (gb_per_billion * length);
        let rows = trace.billion_rows.unwrap_or(by_length);
        let hours = rows * 1_000.0 * rate * trace.cpu_of_a_row / 3_600.0;
        let lake_gb = trace.source_gb * trace.lake_of_source;
        // Of an output in several pieces, the beginning of the upload is a request, too. Stores price a page of a listing
        // as a write, and removals not at all.
        let small = requests.writes + requests.lists + trace.files;
        let gets = trace.source_gb * 1e9 / model.read_bytes + requests.reads as f64;
        let puts = lake_gb * 1e9 / model.write_bytes + small as f64;
        let shards = (hours / threads).ceil().max(1.0);
        writeln!(
            text,
            "| {} | {:.0} GB | {rows:.1} billion | {hours:.1} | {:.0} MB/s | {shards:.0} of {threads:.0} threads | \
             {:.1} GB | {lake_gb:.0} GB | {:.0} thousand | {:.0} thousand |",
            trace.name,
            trace.source_gb,
            trace.source_gb * 1_000.0 / (hours * 3_600.0),
            shards * MEMORY_GB * (1.0 + threads),
            gets / 1_000.0,
            puts / 1_000.0,
        )?;
        for store in &model.store {
            writeln!(
                in_dollars,
                "| {} | {} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} |",
                trace.name,
                store.name,
                hours * model.core_hour,
                gets / 1_000.0 * store.get_per_1000,
                puts / 1_000.0 * store.put_per_1000,
                lake_gb * store.gb_month,
                trace.source_gb * store.gb_out,
            )?;
        }
    }
    Ok(text + &in_dollars)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::root;

    #[test]
    fn the_page_has_the_figures_of_the_command() {
        let root = root().unwrap();
        let page = read(&root, PAGE).unwrap();
        let costs = costs(&root, &model(&root).unwrap(), &page).unwrap();
        assert!(
            page == with_place(&page, COSTS, &costs).unwrap(),
            "run `cargo xtask bench --only scale`"
        );
    }

    #[test]
    fn counts_are_read_back() {
        let (parts, shards) = (8, 2);
        let text = counts(&[Lake { parts, shards }]).unwrap();
        let page = format!("<!-- begin: {COUNTS} -->\n<!-- end: {COUNTS} -->\n");
        let page = with_place(&page, COUNTS, &text).unwrap();
        let made = CountedLake::new(parts);
        made.convert_shards(shards).unwrap();
        let mut all = made.bucket.take();
        made.convert_shards(shards).unwrap();
        made.bucket.take();
        made.commit().unwrap();
        all += made.bucket.take();
        (all.bytes_read, all.bytes_written) = (0, 0);
        assert_eq!(read_counts(&page).unwrap(), [(parts, shards.into(), all)]);
    }

    /// The bound in object-stores.md, which the test `requests` of the crate testkit checks for few parts.
    #[test]
    fn the_counts_of_the_page_keep_to_the_bound() {
        let page = read(&root().unwrap(), PAGE).unwrap();
        for (parts, shards, requests) in read_counts(&page).unwrap() {
            let most = 8 * parts + (11 + 3 * (parts / 1_000)) * (shards + 4);
            assert!(requests.all() <= most, "{parts} parts");
        }
    }

    #[test]
    fn the_rate_is_that_of_the_longest_file() {
        let page = "## As a file grows\n\n| rows | s |\n|---|---|\n| 1 | 9 (8 to 10) | 2 |\n\
                    | 2 | 1.5 (1 to 2) | 3 |\n\n| other | 7 |\n";
        assert!((seconds_per_million_rows(page).unwrap() - 1.5).abs() < 1e-9);
        assert!(seconds_per_million_rows("").is_err());
    }
}
