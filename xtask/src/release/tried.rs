//! The files of a release, installed where nothing else is and tried with the README's main job.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{Release, copy, make, name, only, with_extension};
use crate::dist;
use crate::readers::{PIP, run};

/// Keeps the README's promise about the program: it converts the sample, and verifies the lake.
fn converts_the_sample(program: impl Fn() -> Command, sample: &str, lake: &str) -> Result<()> {
    run(program().arg("--version"))?;
    run(program().args(["convert", sample, lake, "--progress", "none"]))?;
    run(program().args(["verify", lake, "--source", sample]))
}

/// The crates as a registry would give them: unpacked, with nothing of the workspace around them, and each built
/// against the packages of the others.
pub(super) fn cargo_install(release: &Release<'_>) -> Result<()> {
    let folder = release.tried.join("cargo");
    let mut names = Vec::new();
    for package in with_extension(&release.files.join("crates"), "crate")? {
        make(&folder)?;
        run(Command::new("tar")
            .args(["--extract", "--gzip", "--file"])
            .arg(&package)
            .arg("--directory")
            .arg(&folder))?;
        names.push(name(&package)?.trim_end_matches(".crate").to_owned());
    }
    let suffix = format!("-{}", release.version);
    let patches = names.iter().map(|name| {
        let published = name.trim_end_matches(&suffix);
        format!("{published} = {{ path = \"{name}\" }}\n")
    });
    let manifest = format!(
        "[workspace]\nresolver = \"3\"\nmembers = {names:?}\n\n[patch.crates-io]\n{}",
        patches.collect::<String>()
    );
    fs::write(folder.join("Cargo.toml"), manifest)?;
    copy(&release.root.join("Cargo.lock"), &folder.join("Cargo.lock"))?;
    let installed = release.tried.join("cargo-installed");
    // The development profile is enough: the program of the release was built before.
    let cargo = || {
        let mut cargo = dist::cargo(&folder);
        cargo.env("CARGO_TARGET_DIR", release.builds());
        cargo
    };
    run(cargo().args(["build", "--workspace", "--quiet", "--offline"]))?;
    run(cargo()
        .args([
            "install",
            "--debug",
            "--quiet",
            "--offline",
            "--no-track",
            "--path",
        ])
        .arg(folder.join(format!("tracelake{suffix}")))
        .arg("--root")
        .arg(&installed))?;
    let program = || Command::new(installed.join("bin/tracelake"));
    let lake = release.tried.join("cargo-lake");
    let sample = release.root.join("tests/sample");
    converts_the_sample(program, path(&sample)?, path(&lake)?)
}

/// A root directory with the program and the sample, and no library, no shell and no other process.
pub(super) fn container(release: &Release<'_>) -> Result<()> {
    let containerfile = fs::read_to_string(release.files.join("container/Containerfile"))?;
    let copied = containerfile
        .lines()
        .find_map(|line| line.strip_prefix("COPY tracelake "));
    let inside = copied.context("the Containerfile doesn't copy the program")?;
    let root = release.tried.join("root");
    copy(
        &release.files.join("container/tracelake"),
        &root.join(inside.trim_start_matches('/')),
    )?;
    copy_all(
        &release.root.join("tests/sample"),
        &root.join("data/sample"),
    )?;
    make(&root.join("tmp"))?;
    let program = || {
        let mut unshare = Command::new("unshare");
        unshare.args([
            "--user",
            "--map-root-user",
            "--pid",
            "--fork",
            "--kill-child",
        ]);
        unshare
            .arg(format!("--root={}", root.display()))
            .arg(inside);
        unshare
    };
    converts_the_sample(program, "/data/sample", "/data/lake")
}

/// The wheel alone in an environment, and through uvx.
pub(super) fn wheel(release: &Release<'_>) -> Result<()> {
    let wheel = only(&release.files, "whl", |_| true)?;
    installed_by_pip(release, &wheel, "wheel")?;
    let uvx = || {
        let mut uvx = Command::new(&release.python);
        uvx.args([
            "-m",
            "uv",
            "tool",
            "run",
            "--no-cache",
            "--offline",
            "--from",
        ]);
        uvx.arg(&wheel).arg("tracelake");
        uvx.env("UV_TOOL_DIR", release.tried.join("uvx"));
        uvx
    };
    let lake = release.tried.join("uvx-lake");
    let sample = release.root.join("tests/sample");
    converts_the_sample(uvx, path(&sample)?, path(&lake)?)
}

pub(super) fn sdist(release: &Release<'_>) -> Result<()> {
    let sdist = only(&release.files, "gz", |name| !name.contains("-v"))?;
    installed_by_pip(release, &sdist, "sdist")
}

/// Installs a file of the package in a separate environment, then runs the README's first Python block, and its
/// program.
fn installed_by_pip(release: &Release<'_>, package: &Path, what: &str) -> Result<()> {
    let folder = release.tried.join(format!("{what}-environment"));
    run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    let python = folder.join("bin/python");
    run(Command::new(&python)
        .args(PIP)
        .arg(package)
        .env("CARGO_TARGET_DIR", release.builds())
        .env("RUSTFLAGS", release.remapped()?))?;
    run(Command::new(&python)
        .arg(release.root.join("crates/python/tests/empty.py"))
        .arg(release.root.join("README.md")))?;
    let program = || Command::new(folder.join("bin/tracelake"));
    let lake = release.tried.join(format!("{what}-lake"));
    let sample = release.root.join("tests/sample");
    converts_the_sample(program, path(&sample)?, path(&lake)?)
}

fn path(path: &Path) -> Result<&str> {
    path.to_str().context("a path of UTF-8")
}

fn copy_all(from: &Path, to: &Path) -> Result<()> {
    let mut paths = Vec::new();
    super::all(from, &mut paths)?;
    ensure!(!paths.is_empty(), "{} is empty", from.display());
    for path in paths {
        copy(&path, &to.join(path.strip_prefix(from)?))?;
    }
    Ok(())
}
