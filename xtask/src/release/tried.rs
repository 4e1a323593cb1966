//! The files of a release, installed where nothing else is and tried with the README's main job.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::made::{Release, name};
use crate::python::read_me;
use crate::workspace::{PIP, cargo, copy, make, read, run, venv, with_extension, write};

const SAMPLE: &str = "tests/sample";

/// Keeps the README's promise about a program: it converts the sample, and verifies the lake.
fn tried(release: &Release, what: &str, program: impl Fn() -> Command) -> Result<()> {
    let lake = release.tried.join(format!("{what}-lake"));
    converts(program, &release.root.join(SAMPLE), &lake)
}

fn converts(program: impl Fn() -> Command, sample: &Path, lake: &Path) -> Result<()> {
    run(program().arg("--version"))?;
    let mut convert = program();
    convert.args(["convert", "--progress", "none"]);
    run(convert.args([sample, lake]))?;
    run(program()
        .arg("verify")
        .arg(lake)
        .arg("--source")
        .arg(sample))
}

/// The crates as a registry would give them: unpacked, with nothing of the workspace around them, and each built
/// against the packages of the others.
pub(super) fn cargo_install(release: &Release) -> Result<()> {
    let folder = release.tried.join("cargo");
    make(&folder)?;
    let mut names = Vec::new();
    for package in with_extension(&release.files.join("crates"), "crate")? {
        let mut tar = Command::new("tar");
        tar.args(["--extract", "--gzip", "--file"]).arg(&package);
        run(tar.arg("--directory").arg(&folder))?;
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
    write(&folder.join("Cargo.toml"), manifest)?;
    copy(&release.root.join("Cargo.lock"), &folder.join("Cargo.lock"))?;
    let installed = release.tried.join("cargo-installed");
    // The development profile is enough: the program of the release was built before.
    let cargo = |task: &str| {
        let mut cargo = cargo(&folder);
        cargo.env("CARGO_TARGET_DIR", release.builds());
        cargo.args([task, "--quiet", "--offline"]);
        cargo
    };
    run(cargo("build").arg("--workspace"))?;
    let mut install = cargo("install");
    install.args(["--debug", "--no-track", "--path"]);
    install.arg(folder.join(format!("tracelake{suffix}")));
    run(install.arg("--root").arg(&installed))?;
    let program = || Command::new(installed.join("bin/tracelake"));
    tried(release, "cargo", program)
}

/// A root directory with the program and the sample, and no library, no shell and no other process.
pub(super) fn container(release: &Release) -> Result<()> {
    let containerfile = read(&release.files, "container/Containerfile")?;
    let copied = containerfile
        .lines()
        .find_map(|line| line.strip_prefix("COPY tracelake "));
    let inside = copied.context("the Containerfile doesn't copy the program")?;
    let root = release.tried.join("root");
    copy(
        &release.files.join("container/tracelake"),
        &root.join(inside.trim_start_matches('/')),
    )?;
    copy(&release.root.join(SAMPLE), &root.join("data/sample"))?;
    make(&root.join("tmp"))?;
    let program = || {
        let mut unshare = Command::new("unshare");
        unshare.args(["--user", "--map-root-user", "--pid", "--fork"]);
        unshare.arg("--kill-child");
        unshare.arg(format!("--root={}", root.display()));
        unshare.arg(inside);
        unshare
    };
    converts(program, Path::new("/data/sample"), Path::new("/data/lake"))
}

/// The wheel alone in an environment, and through uvx.
pub(super) fn wheel(release: &Release) -> Result<()> {
    let wheel = release.wheel()?;
    installed_by_pip(release, &wheel, "wheel")?;
    let uvx = || {
        let mut uvx = Command::new(&release.python);
        uvx.args(["-m", "uv", "tool", "run", "--no-cache", "--offline"]);
        uvx.arg("--from").arg(&wheel).arg("tracelake");
        uvx.env("UV_TOOL_DIR", release.tried.join("uvx"));
        uvx
    };
    tried(release, "uvx", uvx)
}

pub(super) fn sdist(release: &Release) -> Result<()> {
    installed_by_pip(release, &release.sdist()?, "sdist")
}

/// Installs a file of the package in a separate environment, then runs the README's first Python block, and its
/// program.
fn installed_by_pip(release: &Release, package: &Path, what: &str) -> Result<()> {
    let folder = release.tried.join(format!("{what}-environment"));
    let python = venv("python3", &folder, &[])?;
    let mut pip = Command::new(&python);
    pip.args(PIP).arg(package);
    pip.env("CARGO_TARGET_DIR", release.builds());
    run(pip.env("RUSTFLAGS", release.remapped()?))?;
    read_me(&release.root, &python)?;
    let program = || Command::new(folder.join("bin/tracelake"));
    tried(release, what, program)
}
