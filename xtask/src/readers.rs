//! A Python environment with other people's readers, which the test `readers` holds the lake against.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

const REQUIREMENTS: &str = "tests/readers/requirements.txt";
const SPARK: &str = "tests/readers/requirements-spark.txt";

/// The name of the environment in the build directory; the test looks for it there.
const FOLDER: &str = "readers";

/// What was installed, so that a second run has nothing to do.
const STAMP: &str = "installed.txt";

/// Makes the environment of the readers, or brings it up to date, and returns its interpreter.
pub(crate) fn install(root: &Path, extra: Extra) -> Result<PathBuf> {
    match extra {
        Extra::None => environment(root, FOLDER, &[REQUIREMENTS]),
        Extra::Spark => environment(root, FOLDER, &[REQUIREMENTS, SPARK]),
    }
}

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
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]);
    for file in &files {
        pip.arg("--requirement").arg(file);
    }
    run(&mut pip)?;
    // What was there before under the same pins stays there.
    wanted.extend(installed.lines().map(str::to_owned));
    wanted.sort();
    wanted.dedup();
    fs::write(&stamp, wanted.join("\n"))
        .with_context(|| format!("cannot write {}", stamp.display()))?;
    Ok(python)
}

/// What to install beside the readers.
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
