//! Tasks of the workspace: `cargo xtask gen` makes docs from `schemas/*.toml`.
#![expect(
    clippy::print_stdout,
    reason = "a program for people who work on the project"
)]

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use bench::Page;
use clap::{Args, Parser, Subcommand};
use readers::Extra;

mod bench;
mod buckets;
mod dist;
mod docs;
mod faults;
mod files;
mod r#gen;
mod golden;
mod kill;
mod latency;
mod mutants;
mod phases;
mod python;
mod races;
mod readers;
mod reading;
mod release;
mod rig;
mod scale;
#[cfg(test)]
mod tidy;

#[derive(Parser)]
#[command(about = "Tasks of the tracelake workspace")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Generate the data dictionary from schemas/*.toml, the page of promises, and the Python options
    Gen {
        /// Write nothing; fail and name the files that are stale
        #[arg(long)]
        check: bool,
    },
    /// Install the readers that the tests compare with, into target/readers
    Readers {
        /// Install Spark too; it is large and needs Java 17
        #[arg(long)]
        spark: bool,
        /// Read lakes of every trace with every reader, Spark 3.5 and 4 as well, and write
        /// their mistakes into docs/internals/comparison.md
        #[arg(long, conflicts_with = "spark")]
        matrix: bool,
    },
    /// Install the S3 and Azure servers of others into target/buckets, and run the tests that need them
    Buckets {
        /// Only install them
        #[arg(long)]
        install: bool,
    },
    /// Build the Python wheel, and run its tests, type checks and examples
    Python,
    /// Convert fixed inputs and compare every count, range, sum and digest with tests/golden
    Golden {
        /// Write the differences to tests/golden, for review
        #[arg(long)]
        update: bool,
        /// Then build in two profiles and directories, and compare their lakes byte for byte
        #[arg(long)]
        builds: bool,
    },
    /// Time the program against its peers on synthetic input, and write the figures into docs/internals/benchmarks.md
    Bench {
        #[command(flatten)]
        size: Size,
        /// Measure and print only this part, and write nothing
        #[arg(long, value_parser = ["reading", "formats"])]
        only: Option<String>,
        /// Measure this program, such as an earlier version, instead of building one
        #[arg(long, value_name = "PATH", requires = "only")]
        program: Option<PathBuf>,
    },
    /// Time the program as its input grows, and write the figures into docs/internals/comparison.md
    Growth(Size),
    /// Print where the program spends its CPU time on one thread, by phase; needs Linux's perf
    Phases {
        /// Rows of the largest table
        #[arg(long, default_value_t = 4_800_000)]
        rows: u64,
        /// Name of the trace [default: the one published in parts]
        #[arg(long)]
        trace: Option<String>,
        /// Name of the table [default: the last one of the trace]
        #[arg(long)]
        table: Option<String>,
    },
    /// Compare the CPU time of reading from a web server with that of reading from disk
    Reading(Size),
    /// Compare the throughput from bucket to bucket with and without a wait at each request
    Latency {
        /// Rounds; each runs once with and once without the wait
        #[arg(long, default_value_t = 3)]
        rounds: u32,
    },
    /// Write the man pages and shell completions of the program into target/dist
    Dist {
        /// Write nothing; check that the versions agree and that every crate can be packaged
        #[arg(long)]
        check: bool,
        /// The tag of a release, which must match the version
        #[arg(long, requires = "check")]
        tag: Option<String>,
    },
    /// Make a site of the docs in target/docs/site, and check its links, its pictures and the outputs that it shows
    Docs {
        /// Write the pictures and the outputs into the pages
        #[arg(long)]
        write: bool,
    },
    /// Check recipes, forms, workflows, the citation and releases of lakes with schemas and checkers of others
    Files,
    /// Make everything that a release publishes, and try it where nothing else is installed
    Release {
        /// Publish nothing. Required: the workflow publishes
        #[arg(long, required = true)]
        dry_run: bool,
    },
    /// Calculate what whole traces take, and write it into docs/many-machines.md
    Scale,
    /// Make every system call fail in turn and compare what is left with an undisturbed run
    Faults {
        /// Only with the lake on disk, or only with the lake in a bucket
        #[arg(long, value_parser = rig::PLACES)]
        only: Option<String>,
    },
    /// Kill runs at many moments and compare what is left with an undisturbed run
    Kill {
        /// How many runs of each format
        #[arg(long, default_value_t = 200)]
        moments: u32,
        /// Only with lakes on disk, or only with lakes in a bucket
        #[arg(long, value_parser = rig::PLACES)]
        only: Option<String>,
    },
    /// Change the code in small ways, and list the changes that no unit test notices; needs cargo-mutants
    Mutants {
        /// Only these files, or only the sample of all others
        #[arg(long, value_parser = mutants::NAMES)]
        only: Option<String>,
        /// The share of the mutants to try, K of N from 0: all of them take days
        #[arg(long, value_name = "K/N", default_value = "0/1")]
        shard: mutants::Share,
        /// Selects the sample of the crates that aren't tried whole
        #[arg(long, default_value_t = 7)]
        seed: u32,
    },
    /// Let several writers work on one prefix of a bucket in moto, disturb them, and check the lakes
    Races {
        /// How many races
        #[arg(long, default_value_t = 1_000)]
        runs: u64,
        /// The seed of the first race; each other one has the next number
        #[arg(long, default_value_t = 0)]
        seed: u64,
    },
}

#[derive(Args)]
struct Size {
    /// Rows of the largest table, in two parts
    #[arg(long, default_value_t = 4_800_000)]
    rows: u64,
    /// Rounds; everything runs once in each
    #[arg(long, default_value_t = 5)]
    rounds: u32,
}

fn main() -> Result<()> {
    let root = root()?;
    match Arguments::parse().task {
        Task::Bench {
            size,
            only,
            program,
        } => {
            let page = match only.as_deref() {
                None => Page::Peers,
                Some("formats") => Page::Formats,
                Some(_) => Page::Reading,
            };
            bench::bench(&root, page, size.rows, size.rounds, program)?;
        }
        Task::Growth(size) => bench::bench(&root, Page::Growth, size.rows, size.rounds, None)?,
        Task::Phases { rows, trace, table } => {
            phases::phases(&root, trace.as_deref(), table.as_deref(), rows)?;
        }
        Task::Reading(size) => reading::reading(&root, size.rows, size.rounds)?,
        Task::Latency { rounds } => latency::latency(&root, rounds)?,
        Task::Golden { update, builds } => golden::golden(&root, update, builds)?,
        Task::Dist { check: true, tag } => dist::check(&root, tag.as_deref())?,
        Task::Dist { check: false, .. } => {
            let folder = dist::pages(&root)?;
            println!("the pages are in {}", folder.display());
        }
        Task::Docs { write } => {
            docs::outputs(&root, write)?;
            let folder = docs::site(&root)?;
            println!("the site is in {}", folder.display());
        }
        Task::Files => files::check(&root)?,
        Task::Release { .. } => {
            let folder = release::dry_run(&root)?;
            println!("the files of the release are in {}", folder.display());
        }
        Task::Buckets { install } => buckets::buckets(&root, install)?,
        Task::Python => python::check(&root)?,
        Task::Faults { only } => faults::faults(&root, only.as_deref())?,
        Task::Scale => scale::scale(&root)?,
        Task::Kill { moments, only } => kill::kill(&root, moments, only.as_deref())?,
        Task::Mutants { only, shard, seed } => {
            mutants::mutants(&root, only.as_deref(), shard, seed)?;
        }
        Task::Races { runs, seed } => races::races(&root, runs, seed)?,
        Task::Readers { matrix: true, .. } => readers::matrix(&root)?,
        Task::Readers { spark, .. } => {
            let extra = if spark { Extra::Spark } else { Extra::None };
            let python = readers::install(&root, extra)?;
            println!("the readers are in {}", python.display());
        }
        Task::Gen { check: false } => {
            for path in r#gen::write(&root)? {
                println!("wrote {}", path.display());
            }
        }
        Task::Gen { check: true } => {
            let stale = r#gen::stale(&root)?;
            let names: Vec<_> = stale
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            ensure!(
                stale.is_empty(),
                "stale, run `cargo xtask gen`: {}",
                names.join(", ")
            );
        }
    }
    Ok(())
}

/// The root of the workspace: the folder above this crate.
fn root() -> Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent()
        .map(Path::to_path_buf)
        .context("the crate has no folder above it")
}
