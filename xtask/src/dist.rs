//! Releases of the program: man pages, shell completions, and the checks before a release.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::dependencies;
use crate::workspace::{cargo, empty, output, program, read, run, target, write};

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
    pages_of(&program(root, &[])?, &folder)?;
    Ok(folder)
}

/// Writes the man pages and shell completions of a program to the folders `man` and `completions` of a folder.
pub(crate) fn pages_of(program: &Path, folder: &Path) -> Result<()> {
    // Pages of commands that no longer exist must not be released.
    for kind in ["man", "completions"] {
        empty(&folder.join(kind))?;
    }
    let page = |path: &str, arguments: &[&str]| {
        let page = output(Command::new(program).args(arguments))?;
        write(&folder.join(path), &page)?;
        anyhow::Ok(page)
    };
    let main = page("man/tracelake.1", &["man"])?;
    for name in documented(&main) {
        page(&format!("man/tracelake-{name}.1"), &["man", name])?;
    }
    for (shell, file) in SHELLS {
        page(&format!("completions/{file}"), &["completions", shell])?;
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

/// Checks that the versions agree, with a tag as well if one is given, that the dependencies are allowed, and that every
/// crate that is published can be packaged. It needs the packages of all platforms, as `cargo fetch` leaves them.
pub(crate) fn check(root: &Path, tag: Option<&str>) -> Result<()> {
    let wrong = versions_of(root, tag)?;
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    dependencies::check(root)?;
    // Other checks build the crates; this one only makes their packages.
    let mut package = cargo(root);
    package.args(["package", "--workspace", "--locked", "--allow-dirty"]);
    package.args(["--offline", "--no-verify", "--quiet"]);
    for unpublished in ["xtask", "tracelake-python", "tracelake-testkit"] {
        package.args(["--exclude", unpublished]);
    }
    run(&mut package)
}

/// The version of the workspace.
pub(crate) fn version(root: &Path) -> Result<String> {
    let manifest = toml::from_str(&read(root, "Cargo.toml")?)?;
    version_of(&manifest).map(str::to_owned)
}

fn version_of(manifest: &toml::Table) -> Result<&str> {
    let version = &manifest["workspace"]["package"]["version"];
    version.as_str().context("Cargo.toml has no version")
}

/// The places of the workspace where the version differs.
fn versions_of(root: &Path, tag: Option<&str>) -> Result<Vec<String>> {
    let [manifest, changelog, readme] =
        ["Cargo.toml", "CHANGELOG.md", "README.md"].map(|name| read(root, name));
    versions([&manifest?, &changelog?, &readme?], tag)
}

/// The places where the version differs, as messages.
fn versions([manifest, changelog, readme]: [&str; 3], tag: Option<&str>) -> Result<Vec<String>> {
    let manifest: toml::Table = toml::from_str(manifest).context("Cargo.toml")?;
    let version = version_of(&manifest)?;
    let dependencies = manifest["workspace"]["dependencies"].as_table();
    let mut wrong = Vec::new();
    for (name, dependency) in dependencies.into_iter().flatten() {
        let named = dependency.get("version").and_then(toml::Value::as_str);
        if dependency.get("path").is_some() && named != Some(version) {
            let named = named.unwrap_or("none");
            wrong.push(format!(
                "Cargo.toml: {name} has version {named}, not {version}"
            ));
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
    if tag.strip_prefix('v') != Some(version) {
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

    const FILES: [&str; 3] = [
        "[workspace.package]\nversion = \"1.2.3\"\n[workspace.dependencies]\n\
         ours = { path = \"ours\", version = \"1.2.3\" }\ntheirs = \"1.2\"\n",
        "# Log\n\n## [Unreleased]\n\n## [1.2.3] - 2026-01-31\n",
        "**Status:** version 1.2.3.\n",
    ];

    #[test]
    fn the_commands_are_found_in_a_man_page() {
        let page =
            ".SH SUBCOMMANDS\n.TP\ntracelake\\-convert(1)\nConvert\n.TP\ntracelake\\-man(1)\n";
        assert_eq!(documented(page), ["convert", "man"]);
    }

    /// `cargo binstall` asks for the archive that the workflow packs, and looks for the program where it is in it.
    #[test]
    fn the_archives_are_where_binstall_looks() {
        let root = crate::workspace::root().unwrap();
        let manifest = read(&root, "crates/tracelake/Cargo.toml").unwrap();
        let manifest: toml::Table = toml::from_str(&manifest).unwrap();
        let said = &manifest["package"]["metadata"]["binstall"];
        let filled = |key: &str| {
            let template = said[key].as_str().unwrap();
            let values = [
                ("{ name }", "tracelake"),
                ("{ version }", "1.2.3"),
                ("{ target }", "TARGET"),
                ("{ bin }{ binary-ext }", "tracelake"),
                ("{ archive-suffix }", ".tar.gz"),
            ];
            let mut text = template.to_owned();
            for (name, value) in values {
                text = text.replace(name, value);
            }
            text
        };
        let workflow = read(&root, ".github/workflows/release.yml").unwrap();
        let name = r#"name="tracelake-${GITHUB_REF_NAME//\//-}-$TARGET""#;
        assert!(workflow.contains(name));
        assert!(workflow.contains(r#"--file "$name.tar.gz" "$name""#));
        assert!(workflow.contains(r#"a "$name.zip" "$name""#));
        let packed = "tracelake-v1.2.3-TARGET";
        let url = format!("{{ repo }}/releases/download/v1.2.3/{packed}.tar.gz");
        assert_eq!(filled("pkg-url"), url);
        assert_eq!(filled("bin-dir"), format!("{packed}/tracelake"));
        let windows = &said["overrides"]["x86_64-pc-windows-msvc"]["pkg-fmt"];
        assert_eq!((&said["pkg-fmt"], windows), (&"tgz".into(), &"zip".into()));
    }

    #[test]
    fn the_versions_of_the_workspace_agree() {
        let root = crate::workspace::root().unwrap();
        assert_eq!(versions_of(&root, None).unwrap(), [""; 0]);
    }

    #[test]
    fn a_version_that_was_forgotten_is_named() {
        assert_eq!(versions(FILES, Some("v1.2.3")).unwrap(), [""; 0]);
        let wrong = versions(FILES, Some("1.2.3")).unwrap();
        assert_eq!(wrong, ["the tag is 1.2.3, not v1.2.3"]);
        for (from, to, says) in [
            (
                ", version = \"1.2.3\"",
                ", version = \"1.2.2\"",
                "Cargo.toml: ours has version 1.2.2, not 1.2.3",
            ),
            (
                ", version = \"1.2.3\"",
                "",
                "Cargo.toml: ours has version none, not 1.2.3",
            ),
            (
                "**Status:** version 1.2.3.",
                "",
                "README.md: its status does not name version 1.2.3",
            ),
            (
                " - 2026-01-31",
                "",
                "CHANGELOG.md: there is no section [1.2.3] with a date",
            ),
            (
                "[Unreleased]",
                "",
                "CHANGELOG.md: there is no section [Unreleased]",
            ),
        ] {
            let changed = FILES.map(|text| text.replace(from, to));
            let changed = [&changed[0][..], &changed[1], &changed[2]];
            assert_eq!(versions(changed, Some("v1.2.3")).unwrap(), [says]);
        }
    }
}
