//! Prints how close a synthetic trace is to published rows, as a table in Markdown.
//!
//! `cargo run -p tracelake-generate --example closeness -- DIRECTORY...`, where a directory has
//! published rows as `<table>.csv` or `<table>/part-*.csv.gz`.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tracelake_core::Context;
use tracelake_generate::{Options, generate};
use tracelake_schema::{TRACES, Table, Trace};
use tracelake_testkit::shape;

fn main() -> ExitCode {
    let directories: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let has = |directory: &Path, table: &Table| {
        directory.join(format!("{}.csv", table.name)).is_file()
            || directory.join(&*table.name).is_dir()
    };
    let published = |trace: &&'static std::sync::Arc<Trace>| {
        let any = |directory: &PathBuf| trace.tables.iter().any(|table| has(directory, table));
        trace.in_parts() && directories.iter().any(any)
    };
    let Some(trace) = TRACES.iter().find(published) else {
        println!("usage: closeness DIRECTORY...; none has a table of a known trace");
        return ExitCode::from(2);
    };
    let generated = env::temp_dir().join(format!("closeness-{}", std::process::id()));
    if let Err(error) = generate(&Context::new(), trace, &generated, &Options::default()) {
        println!("{error}");
        return ExitCode::FAILURE;
    }
    println!("| column | empty | zero | median | p90 | distinct |");
    println!("|---|---|---|---|---|---|");
    for directory in &directories {
        for pair in shape::compare(trace, directory, &generated) {
            let column = &pair.table.columns[pair.column].name;
            let (real, made) = (pair.real, pair.synthetic);
            println!(
                "| {}.{column} | {} | {} | {} | {} | {} / {} |",
                pair.table.name,
                shares(real.empty, made.empty),
                shares(real.zero, made.zero),
                values(real.median, made.median),
                values(real.p90, made.p90),
                real.distinct,
                made.distinct,
            );
        }
    }
    // The rows are of no use to anyone; failing to remove them is no failure.
    let _ = fs::remove_dir_all(&generated);
    ExitCode::SUCCESS
}

fn shares(real: f64, made: f64) -> String {
    if real == 0.0 && made == 0.0 {
        return String::new();
    }
    format!("{:.1} / {:.1} %", real * 100.0, made * 100.0)
}

fn values(real: f64, made: f64) -> String {
    if real.is_nan() {
        String::new()
    } else {
        format!("{} / {}", value(real), value(made))
    }
}

fn value(value: f64) -> String {
    if (0.001..100_000.0).contains(&value.abs()) {
        format!("{value:.4}")
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned()
    } else {
        format!("{value:.2e}")
    }
}
