//! `cargo xtask scale`: what a whole trace takes, from the rate per core that was measured and from requests that are
//! counted here, with the code of `convert` and `commit` on a bucket in memory.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use tracelake_schema::render::group_digits;
use tracelake_testkit::requests::{CountedLake, Requests};

const INPUT: &str = "xtask/scale.toml";
const RATES: &str = "docs/internals/comparison.md";
const PAGE: &str = "docs/many-machines.md";

/// A place of the page for what this command writes, by the lines around it.
struct Place {
    begin: &'static str,
    end: &'static str,
}

const COUNTS: Place = Place {
    begin: "<!-- begin: counted by cargo xtask scale -->\n",
    end: "<!-- end: counted by cargo xtask scale -->\n",
};
const BY_SHARDS: Place = Place {
    begin: "<!-- begin: shards counted by cargo xtask scale -->\n",
    end: "<!-- end: shards counted by cargo xtask scale -->\n",
};
const TABLES: Place = Place {
    begin: "<!-- begin: cargo xtask scale -->\n",
    end: "<!-- end: cargo xtask scale -->\n",
};

#[derive(Deserialize)]
struct Model {
    prices: Prices,
    store: Vec<Store>,
    lake: Vec<Lake>,
    by_shards: ByShards,
    transfer: Transfer,
    shards: Shards,
    trace: Vec<TraceFigures>,
}

#[derive(Deserialize)]
struct Prices {
    date: String,
    core_hour: f64,
}

/// A lake whose requests are counted.
#[derive(Deserialize)]
struct Lake {
    parts: u64,
    shards: u32,
}

/// A lake whose requests are counted for several numbers of shards.
#[derive(Deserialize)]
struct ByShards {
    parts: u64,
    shards: Vec<u32>,
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
struct Transfer {
    read_bytes: f64,
    write_bytes: f64,
}

#[derive(Deserialize)]
struct Shards {
    threads: f64,
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

/// The steps of a lake whose requests are counted.
const CONVERT: &str = "convert";
const RESTART: &str = "each shard again";
const COMMIT: &str = "commit";
const AGAIN: &str = "convert again";

/// A row of the table of counts.
#[derive(Debug, Clone, PartialEq)]
struct Counted {
    parts: u64,
    shards: u64,
    step: String,
    requests: Requests,
}

/// Counts, prints the tables, and writes them into the page.
pub(crate) fn scale(root: &Path) -> Result<()> {
    let model = model(root)?;
    let mut counted = Vec::new();
    for lake in &model.lake {
        counted.append(&mut count(lake)?);
    }
    let counts = counts(&counted)?;
    let by_shards = by_shards(&model.by_shards)?;
    let path = root.join(PAGE);
    let page = fs::read_to_string(&path).with_context(|| PAGE.to_owned())?;
    let page = COUNTS.with(&page, &counts)?;
    let page = BY_SHARDS.with(&page, &by_shards)?;
    let tables = tables(root, &model, &page)?;
    fs::write(&path, TABLES.with(&page, &tables)?)?;
    println!("{counts}\n{by_shards}\n{tables}");
    Ok(())
}

/// The table of requests by the number of shards: those of all shards and of the commit.
fn by_shards(lakes: &ByShards) -> Result<String> {
    let mut text = "| parts | shards | requests | for each part | MB read |\n\
                    |---|---|---|---|---|\n"
        .to_owned();
    let parts = lakes.parts;
    for &shards in &lakes.shards {
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

/// Makes a lake in memory, and counts the requests of each step.
fn count(lake: &Lake) -> Result<Vec<Counted>> {
    let made = CountedLake::new(lake.parts);
    let mut counted = Vec::new();
    let mut end = |step: &str| {
        counted.push(Counted {
            parts: lake.parts,
            shards: lake.shards.into(),
            step: step.to_owned(),
            requests: made.bucket.take(),
        });
    };
    made.convert_shards(lake.shards)?;
    end(CONVERT);
    made.convert_shards(lake.shards)?;
    end(RESTART);
    let done = made.commit()?;
    end(COMMIT);
    ensure!(done.manifest.parts().count() as u64 == lake.parts);
    made.convert(None)?;
    end(AGAIN);
    Ok(counted)
}

/// The table of counts.
fn counts(counted: &[Counted]) -> Result<String> {
    let mut text = "\
        | parts | shards | step | reads | pages listed | writes | removals | MB read | MB written |\n\
        |---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for Counted {
        parts,
        shards,
        step,
        requests,
    } in counted
    {
        let numbers = [
            requests.reads,
            requests.lists,
            requests.writes,
            requests.removals,
        ];
        let [reads, lists, writes, removals] = numbers.map(group_digits);
        let [read, written] = [requests.bytes_read, requests.bytes_written]
            .map(|bytes| group_digits(bytes.div_ceil(1_000_000)));
        writeln!(
            text,
            "| {} | {shards} | {step} | {reads} | {lists} | {writes} | {removals} | {read} | {written} |",
            group_digits(*parts),
        )?;
    }
    Ok(text)
}

/// The counts of the page, without bytes.
fn read_counts(page: &str) -> Result<Vec<Counted>> {
    let (_, table, _) = COUNTS.split(page)?;
    let rows = table.lines().skip(2).map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let number = |cell: usize| -> Result<u64> {
            let text = cells.get(cell).context("a row lacks cells")?;
            text.replace(',', "")
                .parse()
                .with_context(|| row.to_owned())
        };
        Ok(Counted {
            parts: number(1)?,
            shards: number(2)?,
            step: cells.get(3).context("a row lacks cells")?.to_string(),
            requests: Requests {
                reads: number(4)?,
                lists: number(5)?,
                writes: number(6)?,
                removals: number(7)?,
                ..Requests::default()
            },
        })
    });
    rows.collect()
}

impl Place {
    /// The page before this place, the text there, and the page after it.
    fn split<'a>(&self, page: &'a str) -> Result<(&'a str, &'a str, &'a str)> {
        let around = || {
            let (head, rest) = page.split_once(self.begin)?;
            let (text, tail) = rest.split_once(self.end)?;
            Some((head, text, tail))
        };
        around().with_context(|| format!("{PAGE} has no place for the tables"))
    }

    /// The page with this text here.
    fn with(&self, page: &str, text: &str) -> Result<String> {
        let (head, _, tail) = self.split(page)?;
        let Self { begin, end } = self;
        Ok(format!("{head}{begin}{text}{end}{tail}"))
    }
}

fn read(root: &Path, name: &str) -> Result<String> {
    fs::read_to_string(root.join(name)).with_context(|| name.to_owned())
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
    let rows = section
        .lines()
        .skip_while(|line| !is_row(line))
        .take_while(is_row);
    let cell = rows.last().and_then(|row| row.split('|').nth(2));
    let word = cell.and_then(|cell| cell.split_whitespace().next());
    let median = word.with_context(|| format!("{RATES} has no rate on one thread"))?;
    median.parse().with_context(|| format!("{RATES}: {median}"))
}

/// The tables of costs, from the counts of the page.
fn tables(root: &Path, model: &Model, page: &str) -> Result<String> {
    let rate = seconds_per_million_rows(&read(root, RATES)?)?;
    let counted = read_counts(page)?;
    let first = model.trace.first().context("no trace")?;
    let first_rows = first.billion_rows.context("the rows of the first trace")?;
    let mut text = format!(
        "A core takes {rate:.3} s for a million rows of `task_usage` ([measured](internals/comparison.md#as-a-file-grows)).\n\n\
         | | download | rows | core hours | a core reads | shards for one hour | their memory | lake | reads | writes |\n\
         |---|---|---|---|---|---|---|---|---|---|\n"
    );
    let costs = model.trace.iter().map(|trace| {
        let of_files = counted.iter().filter(|row| row.parts == trace.files);
        let mut requests = Requests::default();
        for row in of_files.filter(|row| row.step == CONVERT || row.step == COMMIT) {
            requests += row.requests;
        }
        ensure!(
            requests.reads > 0,
            "{INPUT} counts no lake of {} parts",
            trace.files
        );
        Ok(cost(
            model,
            trace,
            requests,
            rate,
            first.source_gb / first_rows,
        ))
    });
    let costs: Vec<Cost> = costs.collect::<Result<_>>()?;
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
    write!(
        text,
        "\nIn US dollars, with the prices in `xtask/scale.toml`, which are of {}:\n\n",
        model.prices.date
    )?;
    text += "| | store | processors | reads | writes | lake for a month | download to elsewhere |\n\
             |---|---|---|---|---|---|---|\n";
    for (trace, cost) in model.trace.iter().zip(&costs) {
        for store in &model.store {
            writeln!(
                text,
                "| {} | {} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} |",
                trace.name,
                store.name,
                cost.core_hours * model.prices.core_hour,
                cost.gets / 1_000.0 * store.get_per_1000,
                cost.puts / 1_000.0 * store.put_per_1000,
                cost.lake_gb * store.gb_month,
                trace.source_gb * store.gb_out,
            )?;
        }
    }
    Ok(text)
}

/// The cost of a trace with these requests of small files; a row of the first trace has `gb_per_billion` GB for a billion
/// of them.
fn cost(
    model: &Model,
    trace: &TraceFigures,
    requests: Requests,
    rate: f64,
    gb_per_billion: f64,
) -> Cost {
    let length = trace.length_of_a_row.unwrap_or(1.0);
    let by_length = trace.source_gb / (gb_per_billion * length);
    let billion_rows = trace.billion_rows.unwrap_or(by_length);
    let lake_gb = trace.source_gb * trace.lake_of_source;
    let Transfer {
        read_bytes,
        write_bytes,
    } = model.transfer;
    // Of an output in several pieces, the beginning of the upload is a request, too. Stores price a page of a listing as
    // a write, and removals not at all.
    let writes = requests.writes + requests.lists + trace.files;
    Cost {
        billion_rows,
        core_hours: billion_rows * 1_000.0 * rate * trace.cpu_of_a_row / 3_600.0,
        lake_gb,
        gets: trace.source_gb * 1e9 / read_bytes + requests.reads as f64,
        puts: lake_gb * 1e9 / write_bytes + writes as f64,
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
        let page = read(&root, PAGE).unwrap();
        let tables = tables(&root, &model(&root).unwrap(), &page).unwrap();
        assert!(
            page == TABLES.with(&page, &tables).unwrap(),
            "run `cargo xtask scale`"
        );
    }

    #[test]
    fn counts_are_read_back() {
        let mut counted = count(&Lake {
            parts: 8,
            shards: 2,
        })
        .unwrap();
        let Place { begin, end } = COUNTS;
        let page = format!("{begin}{}{end}", counts(&counted).unwrap());
        for row in &mut counted {
            (row.requests.bytes_read, row.requests.bytes_written) = (0, 0);
        }
        assert_eq!(read_counts(&page).unwrap(), counted);
        assert_eq!(group_digits(1_234_567), "1,234,567");
    }

    /// The bound in object-stores.md, which the test `requests` of the crate testkit checks for few parts.
    #[test]
    fn the_counts_of_the_page_keep_to_the_bound() {
        let page = read(&crate::root().unwrap(), PAGE).unwrap();
        let counted = read_counts(&page).unwrap();
        for convert in counted.iter().filter(|row| row.step == CONVERT) {
            let mut same = counted.iter().filter(|row| row.parts == convert.parts);
            let commit = same.find(|row| row.step == COMMIT).unwrap();
            let (parts, shards) = (convert.parts, convert.shards);
            let most = 8 * parts + (11 + 3 * (parts / 1_000)) * (shards + 4);
            assert!(
                convert.requests.all() + commit.requests.all() <= most,
                "{parts} parts"
            );
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
