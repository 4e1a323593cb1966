//! `cargo xtask golden`: compares lakes of fixed inputs with earlier ones, and those of two builds.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tracelake_testkit::{Score, Scratch};

use crate::workspace::{
    FORMATS, can_be_generated, cargo, copy, difference, generate, make, output, program, run,
    target, tree,
};

/// Makes the test write the differences instead of failing.
const UPDATE: &str = "TRACELAKE_GOLDEN_UPDATE";

const SAMPLE: &str = "tests/sample";

/// Runs the test `golden`, and compares two builds if `builds` is set.
pub(crate) fn golden(root: &Path, update: bool, builds: bool) -> Result<()> {
    let mut test = cargo(root);
    test.args(["test", "--quiet", "--package", "tracelake"]);
    test.args(["--test", "e2e", "golden::"]);
    // The differences are of interest, not where the test noticed them.
    test.env("RUST_BACKTRACE", "0");
    if update {
        test.env(UPDATE, "1");
    }
    run(&mut test)?;
    if builds {
        compare_builds(root)?;
    }
    Ok(())
}

/// Builds the program as it is tested, here, and as it is released, from a copy of the workspace in
/// another directory; both make the same traces and the same lakes.
fn compare_builds(root: &Path) -> Result<()> {
    let scratch = Scratch::new();
    let copied = scratch.path().join("workspace");
    copy_workspace(root, &copied)?;
    // The build of the copy is kept, so that a second run is quick.
    let elsewhere = target(root).join("elsewhere");
    let target_dir = elsewhere.to_str().context("the path is not UTF-8")?;
    let tested = program(root, &[])?;
    let released = program(&copied, &["--release", "--target-dir", target_dir])?;
    ensure!(
        fs::read(&tested)? != fs::read(&released)?,
        "both builds are the same program"
    );
    let builds = [("tested", &tested, root), ("released", &released, &copied)];
    let mut score = Score::new("builds");
    let out = |what: &str, who: &str| scratch.path().join(format!("{what}-{who}"));
    for (who, program, sources) in builds {
        convert(program, &sources.join(SAMPLE), &out(SAMPLE, who))?;
    }
    score.count(
        SAMPLE,
        same(&out(SAMPLE, "tested"), &out(SAMPLE, "released")),
    );
    for trace in can_be_generated() {
        let [source, lake] = ["source", "lake"].map(|what| format!("{} {what}", trace.name));
        for (who, program, _) in builds {
            generate(program, trace, &out(&source, who), &["--rows", "20000"])?;
            convert(program, &out(&source, who), &out(&lake, who))?;
        }
        for what in [&source, &lake] {
            score.count(what, same(&out(what, "tested"), &out(what, "released")));
        }
    }
    score.close();
    Ok(())
}

/// Converts a source into a lake of each format.
fn convert(program: &Path, source: &Path, lakes: &Path) -> Result<()> {
    make(lakes)?;
    for format in FORMATS {
        let mut convert = Command::new(program);
        convert.arg("convert").arg(source).arg(lakes.join(format));
        output(convert.args(["--format", format]))?;
    }
    Ok(())
}

/// Whether two directories hold the same files with the same bytes.
fn same(one: &Path, other: &Path) -> std::result::Result<(), String> {
    let (files, others) = (tree(one), tree(other));
    match difference(&files, &others) {
        Some(path) => Err(format!("{path} differs")),
        None if files.is_empty() => Err("there is nothing".to_owned()),
        None => Ok(()),
    }
}

/// Copies the files that git tracks or would add, as they are now.
fn copy_workspace(root: &Path, to: &Path) -> Result<()> {
    let mut list = Command::new("git");
    list.args(["ls-files", "-z", "--cached", "--others"]);
    let listed = output(list.arg("--exclude-standard").current_dir(root))?;
    for path in listed.split_terminator('\0') {
        // A file may be listed and yet be deleted in the work tree.
        if root.join(path).exists() {
            copy(&root.join(path), &to.join(path))?;
        }
    }
    Ok(())
}
