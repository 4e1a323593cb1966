//! The workspace: its folders, its programs and the Python environments in its build directory.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::{env, fs};

use anyhow::{Context, Result, ensure};
use tracelake_schema::{TRACES, Trace};

/// The packages that a test, the readers or the Python package compare with.
pub(crate) const READERS: &str = "tests/readers/requirements.txt";

/// The file of an environment that lists what is installed, so that a second run has nothing to do.
pub(crate) const STAMP: &str = "installed.txt";

/// The arguments of pip for every installation.
/// Modules are compiled when they are first imported: most never are.
pub(crate) const PIP: [&str; 6] = [
    "-m",
    "pip",
    "install",
    "--quiet",
    "--no-compile",
    "--disable-pip-version-check",
];

/// The root of the workspace: the folder above this crate.
pub(crate) fn root() -> Result<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent()
        .map(Path::to_path_buf)
        .context("the crate has no folder above it")
}

/// The build directory.
pub(crate) fn target(root: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// Reads a text file of the workspace.
pub(crate) fn read(root: &Path, name: &str) -> Result<String> {
    fs::read_to_string(root.join(name)).with_context(|| format!("cannot read {name}"))
}

/// Runs a command, which has to end well.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot start {command:?}"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}

/// Runs a command, which has to end well, and returns what it printed.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .with_context(|| format!("cannot start {command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", said(&output));
    Ok(String::from_utf8(output.stdout)?)
}

/// How a command ended, and what it wrote to stderr.
pub(crate) fn said(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    format!("{}: {}", output.status, stderr.trim())
}

/// Whether there is such a program.
pub(crate) fn is_installed(program: &str) -> bool {
    let version = Command::new(program).arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

/// Cargo in the workspace, without the variables that cargo sets for this task: some build scripts look at them, and
/// would run again after every task.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&name);
        }
    }
    cargo.current_dir(root);
    cargo
}

/// Builds the program with these options of `cargo build`, and returns its path.
pub(crate) fn program(root: &Path, options: &[&str]) -> Result<PathBuf> {
    build(root, options, "--bin", "tracelake")
}

/// Builds a program or an example of the workspace, and returns its path; `kind` is `--bin` or `--example`.
pub(crate) fn build(root: &Path, options: &[&str], kind: &str, name: &str) -> Result<PathBuf> {
    let mut build = cargo(root);
    build.args(["build", "--quiet", "--locked"]).args(options);
    build.args([kind, name, "--message-format", "json-render-diagnostics"]);
    let messages = output(&mut build)?;
    let (named, marker) = (format!("\"name\":\"{name}\""), "\"executable\":\"");
    let path = messages
        .lines()
        .filter(|line| line.contains(&named))
        .find_map(|line| line.split(marker).nth(1)?.split('"').next());
    Ok(path
        .context("cargo does not say where the program is")?
        .into())
}

/// Makes a Python environment, and returns its interpreter.
pub(crate) fn venv(interpreter: &str, folder: &Path, options: &[&str]) -> Result<PathBuf> {
    let mut venv = Command::new(interpreter);
    run(venv.args(["-m", "venv"]).args(options).arg(folder))
        .context("needs python3 with venv and pip; Debian has them in python3-venv")?;
    Ok(folder.join("bin/python"))
}

/// Makes a Python environment in the build directory with what the requirements files pin, or brings it up to date, and
/// returns its interpreter.
pub(crate) fn environment(root: &Path, folder: &str, requirements: &[&str]) -> Result<PathBuf> {
    let folder = target(root).join(folder);
    let python = folder.join("bin/python");
    let mut wanted = Vec::new();
    for file in requirements {
        let text = read(root, file)?;
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        wanted.extend(lines.map(str::to_owned));
    }
    let stamp = folder.join(STAMP);
    let installed = fs::read_to_string(&stamp).unwrap_or_default();
    let is_installed = |line: &String| installed.lines().any(|other| other == line);
    if python.exists() && wanted.iter().all(is_installed) {
        return Ok(python);
    }
    venv("python3", &folder, &[])?;
    let mut pip = Command::new(&python);
    pip.args(PIP).current_dir(root);
    for file in requirements {
        pip.args(["--requirement", file]);
    }
    run(&mut pip)?;
    // Packages installed before under the same pins stay there.
    wanted.extend(installed.lines().map(str::to_owned));
    wanted.sort();
    wanted.dedup();
    write(&stamp, wanted.join("\n"))?;
    Ok(python)
}

/// Removes everything in a folder, or makes it.
pub(crate) fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    make(folder)
}

/// Makes a folder.
pub(crate) fn make(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

/// Writes a file.
pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}

/// Copies a file, or a folder with all that is in it.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    if from.is_dir() {
        for path in entries(from)? {
            copy(&path, &to.join(path.file_name().unwrap_or_default()))?;
        }
        return Ok(());
    }
    make(to.parent().context("a file in a folder")?)?;
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}

/// The entries of a folder, sorted.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = folder.read_dir();
    let entries = entries.with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    paths.sort();
    Ok(paths)
}

/// The files of a folder with an extension, sorted.
pub(crate) fn with_extension(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut paths = entries(folder)?;
    paths.retain(|path| path.extension() == Some(OsStr::new(extension)));
    Ok(paths)
}

/// Files by their paths in a folder.
pub(crate) type Tree = BTreeMap<String, Vec<u8>>;

/// Reads every file below a folder; nothing where there is no folder.
pub(crate) fn tree(folder: &Path) -> Tree {
    let found = tracelake_testkit::tree(folder).unwrap_or_default();
    let files = found
        .into_iter()
        .filter_map(|(name, bytes)| Some((name, bytes?)));
    files.collect()
}

/// The first file that is not in both, or not the same in both.
pub(crate) fn difference<'a>(one: &'a Tree, other: &'a Tree) -> Option<&'a str> {
    let mut names = one.keys().chain(other.keys());
    names
        .find(|name| one.get(*name) != other.get(*name))
        .map(String::as_str)
}

/// The formats of lakes.
pub(crate) const FORMATS: [&str; 2] = ["parquet", "arrow"];

/// The built-in traces that can be generated.
pub(crate) fn can_be_generated() -> impl Iterator<Item = &'static Arc<Trace>> {
    let can_be_made =
        |trace: &&'static Arc<Trace>| trace.tables.iter().all(|table| !table.synthetic.is_empty());
    TRACES.iter().filter(can_be_made)
}

/// Generates the source of a trace.
pub(crate) fn generate(
    program: &Path,
    trace: &Trace,
    source: &Path,
    options: &[&str],
) -> Result<()> {
    let mut generate = Command::new(program);
    generate.args(["generate", &trace.name]).arg(source);
    output(generate.args(options)).map(drop)
}

/// The page before a place between two comments, the text there, and the page after it.
pub(crate) fn split_at_place<'a>(
    page: &'a str,
    place: &str,
) -> Result<(&'a str, &'a str, &'a str)> {
    let [begin, end] = ["begin", "end"].map(|what| format!("<!-- {what}: {place} -->\n"));
    let around = || {
        let (head, rest) = page.split_once(&begin)?;
        let (text, _) = rest.split_once(&end)?;
        let before = head.len() + begin.len();
        Some((&page[..before], text, &page[before + text.len()..]))
    };
    around().with_context(|| format!("the page has no place for what is {place}"))
}

/// The page with this text in a place.
pub(crate) fn with_place(page: &str, place: &str, text: &str) -> Result<String> {
    let (head, _, tail) = split_at_place(page, place)?;
    Ok([head, text, tail].concat())
}
