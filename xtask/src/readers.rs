//! Python environments with other people's readers, for the test `readers` and for the reader matrix,
//! which is a section of `docs/internals/comparison.md`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::workspace::{
    READERS, can_be_generated, empty, environment, generate, make, program, run, target,
};

const SPARK: &str = "tests/readers/requirements-spark.txt";
const SPARK_3: &str = "tests/readers/requirements-spark-3.5.txt";
const CATALOGS: &str = "tests/readers/requirements-catalogs.txt";
const AIPERF: &str = "tests/readers/requirements-aiperf.txt";
const MATRIX: &str = "tests/readers/requirements-matrix.txt";
const SCRIPT: &str = "tests/readers/matrix.py";
const PAGE: &str = "docs/internals/comparison.md";

/// The environments of the matrix: their folders, what is installed, and the readers that run there.
const ENVIRONMENTS: [(&str, &[&str], &[&str]); 3] = [
    (
        "readers-matrix",
        &[READERS, MATRIX],
        &[
            "duckdb",
            "polars",
            "pyarrow",
            "pandas",
            "chdb",
            "datafusion",
            "ibis",
            "datasets",
            "dask",
            "ray",
            "fastparquet",
        ],
    ),
    ("readers-spark-3.5", &[SPARK_3], &["spark", "spark-rows"]),
    ("readers-spark", &[SPARK], &["spark", "spark-rows"]),
];

/// Makes the environment of the readers, or brings it up to date, and returns its interpreter. The test looks for it
/// there. Spark is several hundred megabytes, and wants Java; aiperf is larger.
pub(crate) fn install(root: &Path, with_spark: bool, with_aiperf: bool) -> Result<PathBuf> {
    if with_aiperf {
        environment(root, "readers-aiperf", &[AIPERF])?;
    }
    environment(root, "readers-catalogs", &[CATALOGS])?;
    match with_spark {
        false => environment(root, "readers", &[READERS]),
        true => environment(root, "readers", &[READERS, SPARK]),
    }
}

/// Reads lakes of every trace in both layouts with every reader, and writes what they found into the page.
pub(crate) fn matrix(root: &Path) -> Result<()> {
    let work = target(root).join("readers-lakes");
    empty(&work)?;
    let lakes = work.join("lakes");
    make(&lakes)?;
    make_lakes(root, &work, &lakes)?;
    let plan = work.join("plan.json");
    let script = |python: &Path| {
        let mut script = Command::new(python);
        script.arg(root.join(SCRIPT));
        script
    };
    let mut writer = None;
    let mut answers = Vec::new();
    for (folder, requirements, readers) in ENVIRONMENTS {
        let python = environment(root, folder, requirements)?;
        if writer.is_none() {
            run(script(&python).arg("plan").args([&lakes, &plan]))?;
            writer = Some(python.clone());
        }
        for reader in readers {
            let answer = work.join(format!("{folder}-{reader}.json"));
            let file = fs::File::create(&answer)
                .with_context(|| format!("cannot make {}", answer.display()))?;
            let mut read = script(&python);
            run(read.args(["read", reader]).arg(&plan).stdout(file))?;
            answers.push(answer);
        }
    }
    let mut write = script(&writer.context("there is no environment")?);
    run(write
        .arg("write")
        .args([&plan, &root.join(PAGE)])
        .args(answers))
}

/// A lake of each trace in each layout.
fn make_lakes(root: &Path, work: &Path, lakes: &Path) -> Result<()> {
    let program = program(root, &[])?;
    for trace in can_be_generated() {
        let source = work.join(&trace.name);
        generate(&program, trace, &source, &["--rows", "2000"])?;
        for layout in ["hive", "flat"] {
            let lake = lakes.join(format!("{}-{layout}", trace.name));
            let options = ["convert", "--progress", "none", "--layout", layout];
            run(Command::new(&program).args(options).args([&source, &lake]))?;
        }
    }
    Ok(())
}
