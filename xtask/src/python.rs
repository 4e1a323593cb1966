//! The Python package: its wheel, tested in a separate environment and in an empty one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::readers::{PIP, REQUIREMENTS, environment, run, target};

pub(crate) const CRATE: &str = "crates/python";
const TOOLS: &str = "crates/python/requirements.txt";
const LOWEST: &str = "crates/python/requirements-lowest.txt";
const SPARK: &str = "crates/python/requirements-spark.txt";

/// The interpreters that the wheel is for; those that the machine doesn't have are left out.
const INTERPRETERS: [&str; 5] = [
    "python3.10",
    "python3.11",
    "python3.12",
    "python3.13",
    "python3.14",
];

/// An environment with the package and with what it is tested with.
pub(crate) struct Installed {
    /// Its interpreter.
    pub(crate) python: PathBuf,
    wheel: PathBuf,
}

/// Builds the wheel with the development profile and installs it.
pub(crate) fn installed(root: &Path) -> Result<Installed> {
    let python = environment(root, "python", &[REQUIREMENTS, TOOLS])?;
    let wheel = build(root, &python)?;
    install(&python, &wheel)?;
    Ok(Installed { python, wheel })
}

/// Builds the wheel with the development profile and runs every check of the package.
pub(crate) fn check(root: &Path) -> Result<()> {
    let Installed { python, wheel } = installed(root)?;
    let here = root.join(CRATE);
    let pytest = [
        "-m",
        "pytest",
        "--quiet",
        "-p",
        "no:cacheprovider",
        // One process a processor; the tests of a file share what they made.
        "--numprocesses",
        "auto",
        "--dist",
        "loadfile",
        "--ignore",
        "tests/test_spark.py",
        "--ignore",
        "tests/test_spark_read.py",
    ];
    run(Command::new(&python).args(pytest).current_dir(&here))?;
    let mypy = ["-m", "mypy", "--strict", "-p", "tracelake"];
    run(Command::new(&python).args(mypy).current_dir(&here))?;
    let pyright = ["-m", "pyright", "--pythonpath"];
    run(Command::new(&python)
        .args(pyright)
        .arg(&python)
        .current_dir(&here))?;
    on_the_lowest_versions(root, &wheel)?;
    in_an_empty_environment(root, &wheel)?;
    without_installing(root, &python, &wheel)?;
    on_spark(root, &wheel)
}

/// Builds the wheel and returns its path.
fn build(root: &Path, python: &Path) -> Result<PathBuf> {
    let folder = target(root).join("wheels");
    // The one that is built now must be the only one.
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    let maturin = ["-m", "maturin", "build", "--quiet", "--locked", "--out"];
    let mut command = Command::new(python);
    command.args(maturin).arg(&folder).arg("--interpreter");
    run(command.arg(python).current_dir(root.join(CRATE)))?;
    let wheel = fs::read_dir(&folder)
        .with_context(|| format!("cannot read {}", folder.display()))?
        .next()
        .context("maturin built no wheel")?;
    Ok(wheel?.path())
}

fn install(python: &Path, wheel: &Path) -> Result<()> {
    // The wheel has no dependency, and its version need not be another one than last time.
    let again = ["--no-deps", "--force-reinstall"];
    run(Command::new(python).args(PIP).args(again).arg(wheel))
}

/// The tests of the engines, with the lowest versions that the extras allow.
fn on_the_lowest_versions(root: &Path, wheel: &Path) -> Result<()> {
    let python = environment(root, "python-lowest", &[LOWEST])?;
    install(&python, wheel)?;
    let pytest = ["-m", "pytest", "--quiet", "-p", "no:cacheprovider"];
    let tests = [
        "interfaces",
        "tables",
        "duckdb",
        "arrow",
        "reader",
        "queries",
    ]
    .map(|name| format!("tests/test_{name}.py"));
    run(Command::new(&python)
        .args(pytest)
        .args(tests)
        .current_dir(root.join(CRATE)))
}

/// The wheel alone is enough for the first Python block of the README, in every interpreter.
fn in_an_empty_environment(root: &Path, wheel: &Path) -> Result<()> {
    let folder = target(root).join("python-empty");
    for interpreter in ["python3"].into_iter().chain(INTERPRETERS) {
        if !is_there(interpreter) {
            println!("{interpreter} isn't installed, so the wheel isn't tested with it");
            continue;
        }
        run(Command::new(interpreter)
            .args(["-m", "venv", "--clear"])
            .arg(&folder))?;
        let python = folder.join("bin/python");
        install(&python, wheel)?;
        run(Command::new(&python)
            .arg(root.join(CRATE).join("tests/empty.py"))
            .arg(root.join("README.md")))?;
    }
    Ok(())
}

/// Whether an interpreter answers.
fn is_there(interpreter: &str) -> bool {
    let version = Command::new(interpreter).arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

/// `uvx tracelake` and `pipx run tracelake`, as if this wheel were the published one.
fn without_installing(root: &Path, python: &Path, wheel: &Path) -> Result<()> {
    let folder = target(root).join("python-tools");
    let uvx = ["uv", "tool", "run", "--no-cache", "--offline", "--from"];
    let pipx = ["pipx", "run", "--no-cache", "--spec"];
    for tool in [&uvx[..], &pipx[..]] {
        run(Command::new(python)
            .arg("-m")
            .args(tool)
            .arg(wheel)
            .args(["tracelake", "--version"])
            .env("UV_TOOL_DIR", folder.join("uv"))
            .env("PIPX_HOME", folder.join("pipx")))?;
    }
    Ok(())
}

/// A Spark cluster whose interpreters have no tracelake: the driver finds the wheel's content on its
/// path, and sends it.
fn on_spark(root: &Path, wheel: &Path) -> Result<()> {
    let python = environment(root, "python-spark", &[SPARK])?;
    let content = target(root).join("python-spark-wheel");
    run(Command::new(&python)
        .args(PIP)
        .args(["--no-deps", "--upgrade", "--target"])
        .arg(&content)
        .arg(wheel))?;
    let pytest = [
        "-m",
        "pytest",
        "--quiet",
        "-rs",
        "-p",
        "no:cacheprovider",
        "tests/test_spark.py",
        "tests/test_spark_read.py",
    ];
    run(Command::new(&python)
        .args(pytest)
        .env("PYTHONPATH", content)
        .current_dir(root.join(CRATE)))
}
