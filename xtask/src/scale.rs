//! `cargo xtask scale`: what a whole trace takes, from the rate per core that was measured.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

const INPUT: &str = "xtask/scale.toml";
const RATES: &str = "docs/internals/growth.md";
const PAGE: &str = "docs/many-machines.md";

/// The lines of the page between which the tables are.
const BEGIN: &str = "<!-- begin: cargo xtask scale -->\n";
const END: &str = "<!-- end: cargo xtask scale -->\n";

#[derive(Deserialize)]
struct Model {
    compute: Compute,
    store: Vec<Store>,
    requests: Requests,
    shards: Shards,
    trace: Vec<TraceFigures>,
}

#[derive(Deserialize)]
struct Compute {
    core_hour: f64,
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
struct Requests {
    read_bytes: f64,
    write_bytes: f64,
    per_file: f64,
    per_part: f64,
}

#[derive(Deserialize)]
struct Shards {
    threads: f64,
}

#[derive(Deserialize)]
struct TraceFigures {
    name: String,
    source_gb: f64,
    files: f64,
    billion_rows: Option<f64>,
    /// The length of a row, if the number of rows is unknown: in rows of the first trace.
    length_of_a_row: Option<f64>,
    /// The CPU time of a row, in rows of the table whose rate was measured.
    cpu_of_a_row: f64,
    lake_of_source: f64,
}

/// The cost of a trace.
struct Cost {
    billion_rows: f64,
    core_hours: f64,
    lake_gb: f64,
    gets: f64,
    puts: f64,
}

/// The memory of a run beside its threads, and of each thread, in GB: see `run::parts_within`.
const MEMORY_GB: f64 = 0.128;

/// Prints the tables, and writes them into the page.
pub(crate) fn scale(root: &Path) -> Result<()> {
    let tables = tables(root)?;
    let path = root.join(PAGE);
    let page = fs::read_to_string(&path).with_context(|| PAGE.to_owned())?;
    fs::write(&path, with_tables(&page, &tables)?)?;
    println!("{tables}");
    Ok(())
}

/// The page with these tables.
fn with_tables(page: &str, tables: &str) -> Result<String> {
    let begun = page.split_once(BEGIN);
    let around = begun.and_then(|(head, rest)| Some((head, rest.split_once(END)?.1)));
    let (head, tail) = around.with_context(|| format!("{PAGE} has no place for the tables"))?;
    Ok(format!("{head}{BEGIN}{tables}{END}{tail}"))
}

/// The seconds that one core takes for a million rows, from the longest file of the page.
fn seconds_per_million_rows(growth: &str) -> Result<f64> {
    let (_, section) = growth
        .split_once("## As a file grows")
        .with_context(|| format!("{RATES} doesn't say how long files take"))?;
    let rows = section.lines().skip_while(|line| !line.starts_with('|'));
    let rows = rows.take_while(|line| line.starts_with('|'));
    let cell = rows.last().and_then(|row| row.split('|').nth(2));
    let word = cell.and_then(|cell| cell.split_whitespace().next());
    let median = word.with_context(|| format!("{RATES} has no rate on one thread"))?;
    median.parse().with_context(|| format!("{RATES}: {median}"))
}

fn tables(root: &Path) -> Result<String> {
    let read = |name: &str| fs::read_to_string(root.join(name)).with_context(|| name.to_owned());
    let model: Model = toml::from_str(&read(INPUT)?).with_context(|| INPUT.to_owned())?;
    let rate = seconds_per_million_rows(&read(RATES)?)?;
    let first = model.trace.first().context("no trace")?;
    let first_rows = first.billion_rows.context("the rows of the first trace")?;
    let mut text = format!(
        "A core takes {rate:.3} s for a million rows of `task_usage` ([growth.md](internals/growth.md)).\n\n\
         | | download | rows | core hours | a core reads | shards for one hour | their memory | lake | reads | writes |\n\
         |---|---|---|---|---|---|---|---|---|---|\n"
    );
    let costs: Vec<Cost> = model
        .trace
        .iter()
        .map(|trace| cost(&model.requests, trace, rate, first.source_gb / first_rows))
        .collect();
    for (trace, cost) in model.trace.iter().zip(&costs) {
        let shards = (cost.core_hours / model.shards.threads).ceil().max(1.0);
        let memory = shards * MEMORY_GB * (1.0 + model.shards.threads);
        writeln!(
            text,
            "| {} | {:.0} GB | {:.1} billion | {:.1} | {:.0} MB/s | {shards:.0} of {:.0} threads | {memory:.1} GB | \
             {:.0} GB | {} | {} |",
            trace.name,
            trace.source_gb,
            cost.billion_rows,
            cost.core_hours,
            trace.source_gb * 1_000.0 / (cost.core_hours * 3_600.0),
            model.shards.threads,
            cost.lake_gb,
            thousands(cost.gets),
            thousands(cost.puts),
        )?;
    }
    text += "\nIn US dollars, with the prices in `xtask/scale.toml`:\n\n\
             | | store | processors | reads | writes | lake for a month | download to elsewhere |\n\
             |---|---|---|---|---|---|---|\n";
    for (trace, cost) in model.trace.iter().zip(&costs) {
        for store in &model.store {
            writeln!(
                text,
                "| {} | {} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} |",
                trace.name,
                store.name,
                cost.core_hours * model.compute.core_hour,
                cost.gets / 1_000.0 * store.get_per_1000,
                cost.puts / 1_000.0 * store.put_per_1000,
                cost.lake_gb * store.gb_month,
                trace.source_gb * store.gb_out,
            )?;
        }
    }
    Ok(text)
}

/// The cost of a trace; a row of the first trace has `gb_per_billion` GB for a billion of them.
fn cost(requests: &Requests, trace: &TraceFigures, rate: f64, gb_per_billion: f64) -> Cost {
    let length = trace.length_of_a_row.unwrap_or(1.0);
    let by_length = trace.source_gb / (gb_per_billion * length);
    let billion_rows = trace.billion_rows.unwrap_or(by_length);
    let lake_gb = trace.source_gb * trace.lake_of_source;
    Cost {
        billion_rows,
        core_hours: billion_rows * 1_000.0 * rate * trace.cpu_of_a_row / 3_600.0,
        lake_gb,
        gets: trace.source_gb * 1e9 / requests.read_bytes + trace.files * requests.per_file,
        puts: lake_gb * 1e9 / requests.write_bytes + trace.files * requests.per_part,
    }
}

/// A number of requests with its unit.
fn thousands(requests: f64) -> String {
    format!("{:.0} thousand", requests / 1_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_figures_of_the_command() {
        let root = crate::root().unwrap();
        let page = fs::read_to_string(root.join(PAGE)).unwrap();
        let fresh = with_tables(&page, &tables(&root).unwrap()).unwrap();
        assert!(page == fresh, "run `cargo xtask scale`");
    }

    #[test]
    fn the_rate_is_that_of_the_longest_file() {
        let page = "## As a file grows\n\n| rows | s |\n|---|---|\n| 1 | 9 (8 to 10) | 2 |\n\
                    | 2 | 1.5 (1 to 2) | 3 |\n\n| other | 7 |\n";
        assert!((seconds_per_million_rows(page).unwrap() - 1.5).abs() < 1e-9);
        assert!(seconds_per_million_rows("").is_err());
    }
}
