//! Releases of the program: man pages, shell completions, and the checks before a release.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::readers::{run, target};
use crate::rig::{build_with, text};

/// The shells, each with the name that it expects of the file of completions.
const SHELLS: [(&str, &str); 5] = [
    ("bash", "tracelake.bash"),
    ("elvish", "tracelake.elv"),
    ("fish", "tracelake.fish"),
    ("powershell", "_tracelake.ps1"),
    ("zsh", "_tracelake"),
];

/// Writes the man pages and shell completions to the build directory, and returns their folder.
pub(crate) fn pages(root: &Path) -> Result<PathBuf> {
    let folder = target(root).join("dist");
    let program = build_with(root, &["--locked"], "--bin", "tracelake")?;
    pages_of(&program, &folder)?;
    Ok(folder)
}

/// Writes the man pages and shell completions of a program to a folder, which has nothing else afterwards.
pub(crate) fn pages_of(program: &Path, folder: &Path) -> Result<()> {
    // Pages of commands that no longer exist must not be released.
    if folder.exists() {
        fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    let write = |path: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output()?;
        ensure!(output.status.success(), "{arguments:?}: {}", text(&output));
        let path = folder.join(path);
        fs::create_dir_all(path.parent().context("a path in a folder")?)?;
        fs::write(&path, &output.stdout)
            .with_context(|| format!("cannot write {}", path.display()))?;
        anyhow::Ok(String::from_utf8(output.stdout)?)
    };
    let page = write("man/tracelake.1", &["man"])?;
    for name in documented(&page) {
        write(&format!("man/tracelake-{name}.1"), &["man", name])?;
    }
    for (shell, file) in SHELLS {
        write(&format!("completions/{file}"), &["completions", shell])?;
    }
    Ok(())
}

/// The commands that the man page of the program refers to, as `tracelake\-convert(1)`.
fn documented(page: &str) -> Vec<&str> {
    let names = page.lines().filter_map(|line| {
        let name = line.strip_prefix("tracelake\\-")?;
        name.strip_suffix("(1)")
    });
    names.collect()
}

/// Checks that the versions agree, with a tag as well if one is given, and that every crate that is
/// published can be packaged.
pub(crate) fn check(root: &Path, tag: Option<&str>) -> Result<()> {
    let read = |name: &str| {
        fs::read_to_string(root.join(name)).with_context(|| format!("cannot read {name}"))
    };
    let wrong = versions(
        &read("Cargo.toml")?,
        &read("CHANGELOG.md")?,
        &read("README.md")?,
        tag,
    )?;
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Other checks build the crates; this one only makes their packages.
    run(package(root).args(["--offline", "--no-verify", "--quiet"]))
}

/// The command that makes the packages of all published crates, in the order of their dependencies.
pub(crate) fn package(root: &Path) -> Command {
    let mut cargo = cargo(root);
    cargo.args(["package", "--workspace", "--locked", "--allow-dirty"]);
    for unpublished in ["xtask", "tracelake-python", "tracelake-testkit"] {
        cargo.args(["--exclude", unpublished]);
    }
    cargo
}

/// The version of the workspace.
pub(crate) fn version(root: &Path) -> Result<String> {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).context("cannot read Cargo.toml")?;
    let CargoToml { workspace } = toml::from_str(&manifest).context("Cargo.toml")?;
    Ok(workspace.package.version)
}

/// Cargo as it was started, in the workspace.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root);
    cargo
}

/// The parts of the workspace's manifest that name a version.
#[derive(Deserialize)]
struct CargoToml {
    workspace: Workspace,
}

#[derive(Deserialize)]
struct Workspace {
    package: Package,
    dependencies: toml::Table,
}

#[derive(Deserialize)]
struct Package {
    version: String,
}

/// The places where the version differs, as messages.
fn versions(
    manifest: &str,
    changelog: &str,
    readme: &str,
    tag: Option<&str>,
) -> Result<Vec<String>> {
    let CargoToml { workspace } = toml::from_str(manifest).context("Cargo.toml")?;
    let version = workspace.package.version;
    let mut wrong = Vec::new();
    for (name, dependency) in &workspace.dependencies {
        let Some(table) = dependency
            .as_table()
            .filter(|table| table.contains_key("path"))
        else {
            continue;
        };
        match table.get("version").and_then(toml::Value::as_str) {
            Some(named) if named == version => {}
            named => wrong.push(format!(
                "Cargo.toml: {name} has version {}, not {version}",
                named.unwrap_or("none")
            )),
        }
    }
    if !readme.contains(&format!("version {version}")) {
        wrong.push(format!(
            "README.md: its status does not name version {version}"
        ));
    }
    if !changelog.contains("\n## [Unreleased]\n") {
        wrong.push("CHANGELOG.md: there is no section [Unreleased]".to_owned());
    }
    let Some(tag) = tag else {
        return Ok(wrong);
    };
    if tag.strip_prefix('v') != Some(&version) {
        wrong.push(format!("the tag is {tag}, not v{version}"));
    }
    if !changelog.contains(&format!("\n## [{version}] - ")) {
        wrong.push(format!(
            "CHANGELOG.md: there is no section [{version}] with a date"
        ));
    }
    Ok(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[workspace.package]\nversion = \"1.2.3\"\n[workspace.dependencies]\n\
                            ours = { path = \"ours\", version = \"1.2.3\" }\ntheirs = \"1.2\"\n";
    const CHANGELOG: &str = "# Log\n\n## [Unreleased]\n\n## [1.2.3] - 2026-01-31\n";
    const README: &str = "**Status:** version 1.2.3.\n";

    #[test]
    fn the_commands_are_found_in_a_man_page() {
        let page =
            ".SH SUBCOMMANDS\n.TP\ntracelake\\-convert(1)\nConvert\n.TP\ntracelake\\-man(1)\n";
        assert_eq!(documented(page), ["convert", "man"]);
    }

    #[test]
    fn the_versions_of_the_workspace_agree() {
        let root = crate::root().unwrap();
        let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
        let wrong = versions(
            &read("Cargo.toml"),
            &read("CHANGELOG.md"),
            &read("README.md"),
            None,
        );
        assert_eq!(wrong.unwrap(), [""; 0]);
    }

    #[test]
    fn a_version_that_was_forgotten_is_named() {
        let tag = Some("v1.2.3");
        assert_eq!(versions(MANIFEST, CHANGELOG, README, tag).unwrap(), [""; 0]);
        let says = |manifest: &str, changelog: &str, readme: &str, tag: &str| {
            versions(manifest, changelog, readme, Some(tag))
                .unwrap()
                .join("; ")
        };
        let old = MANIFEST.replace(
            "path = \"ours\", version = \"1.2.3\"",
            "path = \"ours\", version = \"1.2.2\"",
        );
        assert_eq!(
            says(&old, CHANGELOG, README, "v1.2.3"),
            "Cargo.toml: ours has version 1.2.2, not 1.2.3"
        );
        let none = MANIFEST.replace(", version = \"1.2.3\" }", " }");
        assert_eq!(
            says(&none, CHANGELOG, README, "v1.2.3"),
            "Cargo.toml: ours has version none, not 1.2.3"
        );
        assert_eq!(
            says(MANIFEST, CHANGELOG, "", "v1.2.3"),
            "README.md: its status does not name version 1.2.3"
        );
        assert_eq!(
            says(MANIFEST, CHANGELOG, README, "1.2.3"),
            "the tag is 1.2.3, not v1.2.3"
        );
        let undated = "# Log\n\n## [Unreleased]\n";
        assert_eq!(
            says(MANIFEST, undated, README, "v1.2.3"),
            "CHANGELOG.md: there is no section [1.2.3] with a date"
        );
        assert_eq!(
            says(MANIFEST, "\n## [1.2.3] - x", README, "v1.2.3"),
            "CHANGELOG.md: there is no section [Unreleased]"
        );
    }
}
