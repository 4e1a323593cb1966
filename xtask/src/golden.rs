//! `cargo xtask golden`: compares lakes of fixed inputs with earlier ones, and those of two builds.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tracelake_schema::TRACES;

use crate::readers::target;
use crate::rig::{FORMATS, Score, Scratch, build_with, cargo, difference, text, tree};

/// Makes the test write the differences instead of failing.
const UPDATE: &str = "TRACELAKE_GOLDEN_UPDATE";

const SAMPLE: &str = "tests/sample";

/// Rows of the largest generated table.
const ROWS: &str = "20000";

/// Runs the test `golden`, and compares two builds if `builds` is set.
pub(crate) fn golden(root: &Path, update: bool, builds: bool) -> Result<()> {
    let mut test = cargo();
    test.args(["test", "--quiet", "--package", "tracelake"]);
    test.args(["--test", "e2e", "golden::"]).current_dir(root);
    // The differences are of interest, not where the test noticed them.
    test.env("RUST_BACKTRACE", "0");
    if update {
        test.env(UPDATE, "1");
    }
    let ended = test.status().context("cannot start cargo")?;
    ensure!(ended.success(), "the test golden ended with {ended}");
    if builds {
        compare_builds(root)?;
    }
    Ok(())
}

/// Builds the program as it is tested, here, and as it is released, from a copy of the workspace in
/// another directory; both make the same traces and the same lakes.
fn compare_builds(root: &Path) -> Result<()> {
    let scratch = Scratch::new("golden")?;
    let copy = scratch.join("workspace");
    copy_workspace(root, &copy)?;
    // The build of the copy is kept, so that a second run is quick.
    let elsewhere = target(root).join("elsewhere");
    let target_dir = elsewhere.to_str().context("the path is not UTF-8")?;
    let tested = build_with(root, &["--locked"], "--bin", "tracelake")?;
    let options = ["--locked", "--release", "--target-dir", target_dir];
    let released = build_with(&copy, &options, "--bin", "tracelake")?;
    ensure!(
        fs::read(&tested)? != fs::read(&released)?,
        "both builds are the same program"
    );
    let mut score = Score::default();
    let out = |what: &str| scratch.join(what);
    let sample = root.join(SAMPLE);
    let lakes = (out("sample-tested"), out("sample-released"));
    convert(&tested, &sample, &lakes.0)?;
    convert(&released, &copy.join(SAMPLE), &lakes.1)?;
    score.count(SAMPLE, same(&lakes.0, &lakes.1));
    for trace in TRACES {
        if trace.tables.iter().any(|table| table.synthetic.is_empty()) {
            println!("{} cannot be generated", trace.name);
            continue;
        }
        let mut made = Vec::new();
        for (program, who) in [(&tested, "tested"), (&released, "released")] {
            let source = out(&format!("{}-{who}-source", trace.name));
            let lake = out(&format!("{}-{who}-lake", trace.name));
            let mut generate = Command::new(program);
            generate.args(["generate", trace.name]).arg(&source);
            well(generate.args(["--rows", ROWS]))?;
            convert(program, &source, &lake)?;
            made.push((source, lake));
        }
        score.count(
            &format!("{}: source", trace.name),
            same(&made[0].0, &made[1].0),
        );
        score.count(
            &format!("{}: lake", trace.name),
            same(&made[0].1, &made[1].1),
        );
    }
    score.close("builds")
}

/// Converts a source into a lake of each format.
fn convert(program: &Path, source: &Path, lakes: &Path) -> Result<()> {
    fs::create_dir_all(lakes)?;
    for format in FORMATS {
        let mut convert = Command::new(program);
        convert.arg("convert").arg(source).arg(lakes.join(format));
        well(convert.args(["--format", format]))?;
    }
    Ok(())
}

/// Runs a command and expects success.
fn well(command: &mut Command) -> Result<()> {
    let ended = command.output()?;
    ensure!(ended.status.success(), "{command:?}: {}", text(&ended));
    Ok(())
}

/// Whether two directories hold the same files with the same bytes.
fn same(one: &Path, other: &Path) -> Result<()> {
    let (files, others) = (tree(one)?, tree(other)?);
    let path = difference(&files, &others);
    ensure!(path.is_none(), "{path:?} differs");
    ensure!(!files.is_empty(), "there is nothing");
    Ok(())
}

/// Copies the files that git tracks or would add, as they are now.
fn copy_workspace(root: &Path, to: &Path) -> Result<()> {
    let mut list = Command::new("git");
    list.args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]);
    let listed = list.current_dir(root).output().context("needs git")?;
    ensure!(listed.status.success(), "git ls-files: {}", text(&listed));
    for path in String::from_utf8_lossy(&listed.stdout).split_terminator('\0') {
        let (from, to) = (root.join(path), to.join(path));
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        // A file may be listed and yet be deleted in the work tree.
        if from.exists() {
            fs::copy(&from, &to).with_context(|| format!("copy {path}"))?;
        }
    }
    Ok(())
}
