//! The Python package: its wheel, tested in a separate environment and in an empty one.

use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context, Result};

use crate::workspace::{
    PIP, READERS, empty, environment, is_installed, run, target, venv, with_extension,
};

pub(crate) const CRATE: &str = "crates/python";
const TOOLS: &str = "crates/python/requirements.txt";
const LOWEST: &str = "crates/python/requirements-lowest.txt";
const SPARK: &str = "crates/python/requirements-spark.txt";

/// The interpreters that the wheel is for; those that the machine doesn't have are left out.
const INTERPRETERS: [&str; 6] = [
    "python3",
    "python3.10",
    "python3.11",
    "python3.12",
    "python3.13",
    "python3.14",
];

const ON_SPARK: [&str; 2] = ["tests/test_spark.py", "tests/test_spark_read.py"];

/// The tests of the engines.
const OF_ENGINES: [&str; 6] = [
    "tests/test_interfaces.py",
    "tests/test_tables.py",
    "tests/test_duckdb.py",
    "tests/test_arrow.py",
    "tests/test_reader.py",
    "tests/test_queries.py",
];

/// An environment with the package and with what it is tested with.
pub(crate) struct Installed {
    /// Its interpreter.
    pub(crate) python: PathBuf,
    wheel: PathBuf,
}

/// Builds the wheel with the development profile and installs it.
pub(crate) fn installed(root: &Path) -> Result<Installed> {
    let python = environment(root, "python", &[READERS, TOOLS])?;
    let folder = target(root).join("wheels");
    // The one that is built now must be the only one.
    empty(&folder)?;
    let mut maturin = Command::new(&python);
    maturin.args(["-m", "maturin", "build", "--quiet", "--locked"]);
    maturin.arg("--interpreter").arg(&python);
    maturin.arg("--out").arg(&folder);
    run(maturin.current_dir(root.join(CRATE)))?;
    let wheels = with_extension(&folder, "whl")?.into_iter();
    let wheel = wheels.last().context("maturin built no wheel")?;
    install(&python, &wheel)?;
    Ok(Installed { python, wheel })
}

/// Builds the wheel with the development profile and runs every check of the package.
pub(crate) fn check(root: &Path) -> Result<()> {
    let Installed { python, wheel } = installed(root)?;
    let module = |python: &Path, arguments: &[&str]| {
        let mut command = Command::new(python);
        command.arg("-m").args(arguments);
        command.current_dir(root.join(CRATE));
        command
    };
    let pytest = |python: &Path| module(python, &["pytest", "--quiet", "-p", "no:cacheprovider"]);
    let here = || {
        let mut tests = pytest(&python);
        // One process a processor; the tests of a file share what they made.
        tests.args(["--numprocesses", "auto", "--dist", "loadfile"]);
        run(tests.args(ON_SPARK.map(|test| format!("--ignore={test}"))))
    };
    let types = || {
        let mut mypy = module(&python, &["mypy", "--strict", "-p", "tracelake"]);
        run(&mut mypy)?;
        run(module(&python, &["pyright", "--pythonpath"]).arg(&python))
    };
    let elsewhere = || {
        let lowest = environment(root, "python-lowest", &[LOWEST])?;
        install(&lowest, &wheel)?;
        run(pytest(&lowest).args(OF_ENGINES))?;
        in_an_empty_environment(root, &wheel)?;
        without_installing(root, &python, &wheel)
    };
    let on_spark = || {
        // A Spark cluster whose interpreters have no tracelake: the driver finds the wheel's content on its path, and
        // sends it.
        let spark = environment(root, "python-spark", &[SPARK])?;
        let content = target(root).join("python-spark-wheel");
        run(Command::new(&spark)
            .args(PIP)
            .args(["--no-deps", "--upgrade", "--target"])
            .arg(&content)
            .arg(&wheel))?;
        let mut tests = pytest(&spark);
        run(tests.arg("-rs").args(ON_SPARK).env("PYTHONPATH", content))
    };
    // Spark mostly waits for itself, and the checkers of types use one core each.
    thread::scope(|scope| {
        let others = [
            scope.spawn(on_spark),
            scope.spawn(types),
            scope.spawn(elsewhere),
        ];
        let here = here();
        let others = others.map(|one| one.join().unwrap_or_else(|panic| resume_unwind(panic)));
        others.into_iter().chain([here]).collect()
    })
}

fn install(python: &Path, wheel: &Path) -> Result<()> {
    // The wheel has no dependency, and its version need not be another one than last time.
    let again = ["--no-deps", "--force-reinstall"];
    run(Command::new(python).args(PIP).args(again).arg(wheel))
}

/// The wheel alone is enough for the first Python block of the README, in every interpreter.
fn in_an_empty_environment(root: &Path, wheel: &Path) -> Result<()> {
    let folder = target(root).join("python-empty");
    for interpreter in INTERPRETERS {
        if !is_installed(interpreter) {
            println!("{interpreter} isn't installed, so the wheel isn't tested with it");
            continue;
        }
        let python = venv(interpreter, &folder, &["--clear"])?;
        install(&python, wheel)?;
        read_me(root, &python)?;
    }
    Ok(())
}

/// Runs the first Python block of the README.
pub(crate) fn read_me(root: &Path, python: &Path) -> Result<()> {
    let mut script = Command::new(python);
    script.arg(root.join(CRATE).join("tests/empty.py"));
    run(script.arg(root.join("README.md")))
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
