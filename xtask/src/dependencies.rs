//! The licences, the registry and the versions of everything that `Cargo.lock` names, on any platform.
//! `cargo deny check licenses bans sources` finds the same with the same file, but takes minutes to build.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use spdx::{Expression, LicenseReq, Licensee};

use crate::workspace::{output, read};

/// The file that says what is allowed.
const RULES: &str = "deny.toml";

#[derive(Deserialize)]
struct Rules {
    licenses: Licences,
    bans: Bans,
}

#[derive(Deserialize)]
struct Licences {
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Banned>,
}

#[derive(Deserialize)]
struct Banned {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    /// Where it comes from; `None` for a crate of the workspace.
    source: Option<String>,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    req: String,
    path: Option<String>,
}

/// Checks every package, without a network.
pub(crate) fn check(root: &Path) -> Result<()> {
    let rules: Rules = toml::from_str(&read(root, RULES)?).context(RULES)?;
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--all-features"]);
    cargo.args(["--locked", "--offline"]);
    let found = output(cargo.current_dir(root))?;
    let metadata: Metadata = serde_json::from_str(&found).context("what cargo says")?;
    let wrong = wrong(&rules, &metadata.packages)?;
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{} packages follow {RULES}", metadata.packages.len());
    Ok(())
}

/// Finds what the rules don't allow.
fn wrong(rules: &Rules, packages: &[Package]) -> Result<Vec<String>> {
    let allowed = rules.licenses.allow.iter();
    let allowed: Vec<Licensee> = allowed
        .map(|licence| Licensee::parse(licence).with_context(|| licence.clone()))
        .collect::<Result<_>>()?;
    let mut wrong = Vec::new();
    for package in packages {
        let Package { name, version, .. } = package;
        let is_allowed = |asked: &LicenseReq| allowed.iter().any(|one| one.satisfies(asked));
        let licence = package.license.as_deref().unwrap_or("none");
        // Older packages have a slash for OR.
        let expression = Expression::parse(&licence.replace('/', " OR "));
        if !expression.is_ok_and(|licence| licence.evaluate(is_allowed)) {
            wrong.push(format!("{name} {version}: its licence is {licence}"));
        }
        if let Some(banned) = rules.bans.deny.iter().find(|banned| banned.name == *name) {
            wrong.push(format!("{name} {version}: {}", banned.reason));
        }
        match &package.source {
            // A wildcard would let a build change by itself.
            None => wrong.extend(
                package
                    .dependencies
                    .iter()
                    .filter(|dependency| dependency.req == "*" && dependency.path.is_none())
                    .map(|any| format!("{name}: any version of {}", any.name)),
            ),
            Some(source) if source.starts_with("registry+") => {}
            Some(source) => wrong.push(format!("{name} {version}: it comes from {source}")),
        }
    }
    Ok(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_allowed_is_named() {
        let rules = r#"
            licenses.allow = ["MIT"]
            bans.deny = [{ crate = "twice", reason = "there is one" }]"#;
        let packages = serde_json::json!([
            { "name": "well", "version": "1.0.0", "license": "MIT/Apache-2.0", "source": "registry+a", "dependencies": [] },
            { "name": "copyleft", "version": "1.0.0", "license": "GPL-3.0-only", "source": "registry+a", "dependencies": [] },
            { "name": "both", "version": "1.0.0", "license": "MIT AND ISC", "source": "registry+a", "dependencies": [] },
            { "name": "unknown", "version": "1.0.0", "license": null, "source": "registry+a", "dependencies": [] },
            { "name": "twice", "version": "2.0.0", "license": "MIT", "source": "git+b", "dependencies": [] },
            { "name": "ours", "version": "0.1.0", "license": "MIT", "source": null, "dependencies": [
                { "name": "any", "req": "*", "path": null },
                { "name": "sister", "req": "*", "path": "crates/sister" },
            ] },
        ]);
        let packages: Vec<Package> = serde_json::from_value(packages).unwrap();
        let found = wrong(&toml::from_str(rules).unwrap(), &packages).unwrap();
        let expected = [
            "copyleft 1.0.0: its licence is GPL-3.0-only",
            "both 1.0.0: its licence is MIT AND ISC",
            "unknown 1.0.0: its licence is none",
            "twice 2.0.0: there is one",
            "twice 2.0.0: it comes from git+b",
            "ours: any version of any",
        ];
        assert_eq!(found, expected);
    }
}
