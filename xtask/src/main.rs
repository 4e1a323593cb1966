//! Tasks of the workspace: `cargo xtask gen` makes docs from `schemas/*.toml`.
#![expect(
    clippy::print_stdout,
    reason = "a program for people who work on the project"
)]

mod bench;
mod buckets;
mod dependencies;
mod dist;
mod docs;
mod files;
mod r#gen;
mod golden;
mod lines;
mod python;
mod readers;
mod release;
#[cfg(test)]
mod tidy;
mod torture;
mod workspace;

use anyhow::Result;
use clap::{Parser, Subcommand};

use workspace::root;

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
        /// Install aiperf too, which replays requests to language models; it takes more than a gigabyte
        #[arg(long)]
        aiperf: bool,
        /// Read lakes of every trace with every reader, Spark 3.5 and 4 as well, and write what they find into
        /// docs/internals/comparison.md
        #[arg(long, conflicts_with_all = ["spark", "aiperf"])]
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
    Bench(bench::Options),
    /// Disturb runs, and compare what is left with an undisturbed lake
    Torture(torture::Options),
    /// Count the lines of Rust of each crate, in all and as they are shipped
    Lines,
    /// Write the man pages and shell completions of the program into target/dist
    Dist {
        /// Write nothing; check that the versions agree, that every crate can be packaged, and the licences and the
        /// registry of all dependencies, on any platform
        #[arg(long)]
        check: bool,
        /// The tag of a release, which must match the version
        #[arg(long, requires = "check")]
        tag: Option<String>,
    },
    /// Make a site of the docs in target/docs/site, and check its links
    Docs {
        /// Write the pictures and the outputs into the pages first; `cargo xtask python` checks them
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
}

fn main() -> Result<()> {
    let root = root()?;
    match Arguments::parse().task {
        Task::Gen { check } => r#gen::generate(&root, check)?,
        Task::Readers { matrix: true, .. } => readers::matrix(&root)?,
        Task::Readers { spark, aiperf, .. } => {
            let python = readers::install(&root, spark, aiperf)?;
            println!("the readers are in {}", python.display());
        }
        Task::Buckets { install } => buckets::buckets(&root, install)?,
        Task::Python => python::check(&root)?,
        Task::Golden { update, builds } => golden::golden(&root, update, builds)?,
        Task::Bench(options) => bench::bench(&root, &options)?,
        Task::Torture(options) => torture::torture(&root, &options)?,
        Task::Lines => lines::lines(&root)?,
        Task::Dist { check: true, tag } => dist::check(&root, tag.as_deref())?,
        Task::Dist { check: false, .. } => {
            let folder = dist::pages(&root)?;
            println!("the pages are in {}", folder.display());
        }
        Task::Docs { write } => {
            if write {
                docs::write_outputs(&root)?;
            }
            let folder = docs::site(&root)?;
            println!("the site is in {}", folder.display());
        }
        Task::Files => files::check(&root)?,
        Task::Release { .. } => {
            let folder = release::dry_run(&root)?;
            println!("the files of the release are in {}", folder.display());
        }
    }
    Ok(())
}
