//! Python environments with other people's readers, for the test `readers` and for the reader matrix,
//! which is a section of `docs/internals/comparison.md`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tracelake_schema::{TRACES, Trace};

/// The readers, pinned.
pub(crate) const REQUIREMENTS: &str = "tests/readers/requirements.txt";
const SPARK: &str = "tests/readers/requirements-spark.txt";
const SPARK_3: &str = "tests/readers/requirements-spark-3.5.txt";
const MATRIX: &str = "tests/readers/requirements-matrix.txt";
const SCRIPT: &str = "tests/readers/matrix.py";
const PAGE: &str = "docs/internals/comparison.md";

/// The environments of the matrix: their folders, what is installed, and the readers that run there.
const ENVIRONMENTS: [(&str, &[&str], &[&str]); 3] = [
    (
        "readers-matrix",
        &[REQUIREMENTS, MATRIX],
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

/// Rows of the largest table of each lake of the matrix.
const ROWS: &str = "2000";

/// The name of the environment in the build directory; the test looks for it there.
const FOLDER: &str = "readers";

/// The installed packages, so that a second run has nothing to do.
const STAMP: &str = "installed.txt";

/// Makes the environment of the readers, or brings it up to date, and returns its interpreter.
pub(crate) fn install(root: &Path, extra: Extra) -> Result<PathBuf> {
    match extra {
        Extra::None => environment(root, FOLDER, &[REQUIREMENTS]),
        Extra::Spark => environment(root, FOLDER, &[REQUIREMENTS, SPARK]),
    }
}

/// Reads lakes of every trace in both layouts with every reader, and writes what they found into the page.
pub(crate) fn matrix(root: &Path) -> Result<()> {
    let work = target(root).join("readers-lakes");
    if work.exists() {
        fs::remove_dir_all(&work).with_context(|| format!("cannot remove {}", work.display()))?;
    }
    let lakes = work.join("lakes");
    fs::create_dir_all(&lakes).with_context(|| format!("cannot make {}", lakes.display()))?;
    make_lakes(root, &work, &lakes)?;
    let script = root.join(SCRIPT);
    let plan = work.join("plan.json");
    let mut writer = None;
    let mut answers = Vec::new();
    for (folder, requirements, readers) in ENVIRONMENTS {
        let python = environment(root, folder, requirements)?;
        if writer.is_none() {
            run(Command::new(&python)
                .arg(&script)
                .arg("plan")
                .args([&lakes, &plan]))?;
            writer = Some(python.clone());
        }
        for reader in readers {
            let answer = work.join(format!("{folder}-{reader}.json"));
            let file = fs::File::create(&answer)
                .with_context(|| format!("cannot make {}", answer.display()))?;
            run(Command::new(&python)
                .arg(&script)
                .args(["read", reader])
                .arg(&plan)
                .stdout(file))?;
            answers.push(answer);
        }
    }
    let python = writer.context("there is no environment")?;
    run(Command::new(python)
        .arg(&script)
        .arg("write")
        .args([&plan, &root.join(PAGE)])
        .args(answers))
}

/// A lake of each trace in each layout.
fn make_lakes(root: &Path, work: &Path, lakes: &Path) -> Result<()> {
    let program = program(root)?;
    for trace in generated() {
        let source = work.join(trace.name);
        run(Command::new(&program)
            .args(["generate", trace.name, "--rows", ROWS])
            .arg(&source))?;
        for layout in ["hive", "flat"] {
            let lake = lakes.join(format!("{}-{layout}", trace.name));
            let options = ["convert", "--progress", "none", "--layout", layout];
            run(Command::new(&program).args(options).args([&source, &lake]))?;
        }
    }
    Ok(())
}

/// Builds the program and returns its path.
pub(crate) fn program(root: &Path) -> Result<PathBuf> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--locked", "--bin", "tracelake"]);
    run(cargo.current_dir(root))?;
    Ok(target(root).join("debug/tracelake"))
}

/// The built-in traces that can be generated.
pub(crate) fn generated() -> impl Iterator<Item = &'static Trace> {
    let can_be_made = |trace: &&Trace| trace.tables.iter().all(|table| !table.synthetic.is_empty());
    TRACES.iter().filter(can_be_made)
}

/// The arguments of pip for every installation.
pub(crate) const PIP: [&str; 5] = [
    "-m",
    "pip",
    "install",
    "--quiet",
    "--disable-pip-version-check",
];

/// Makes a Python environment in the build directory with what the requirements files pin, or
/// brings it up to date, and returns its interpreter.
pub(crate) fn environment(root: &Path, folder: &str, requirements: &[&str]) -> Result<PathBuf> {
    let folder = target(root).join(folder);
    let python = folder.join("bin/python");
    let files: Vec<PathBuf> = requirements.iter().map(|file| root.join(file)).collect();
    let mut wanted = Vec::new();
    for file in &files {
        let text =
            fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        wanted.extend(
            text.lines()
                .filter(|line| !line.starts_with('#'))
                .map(str::to_owned),
        );
    }
    let stamp = folder.join(STAMP);
    let installed = fs::read_to_string(&stamp).unwrap_or_default();
    let there = |line: &String| installed.lines().any(|other| other == line);
    if python.exists() && wanted.iter().all(there) {
        return Ok(python);
    }
    run(Command::new("python3").args(["-m", "venv"]).arg(&folder))
        .context("needs python3 with venv and pip; Debian has them in python3-venv")?;
    let mut pip = Command::new(&python);
    pip.args(PIP);
    for file in &files {
        pip.arg("--requirement").arg(file);
    }
    run(&mut pip)?;
    // Packages installed before under the same pins stay there.
    wanted.extend(installed.lines().map(str::to_owned));
    wanted.sort();
    wanted.dedup();
    fs::write(&stamp, wanted.join("\n"))
        .with_context(|| format!("cannot write {}", stamp.display()))?;
    Ok(python)
}

/// The packages to install beside the readers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Extra {
    /// Nothing.
    None,
    /// Spark: several hundred megabytes, and it wants Java.
    Spark,
}

/// The build directory of the workspace.
pub(crate) fn target(root: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// Runs a command, which has to end well.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot start {command:?}"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}
