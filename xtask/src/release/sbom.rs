//! The contents of a program: every crate of its build, as CycloneDX.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::dist;

/// Checks a list against the schema of CycloneDX.
pub(super) const VALIDATE: &str = "\
import pathlib, sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(pathlib.Path(sys.argv[1]).read_text())
sys.exit(str(wrong) if wrong else 0)";

/// Cargo's metadata of the workspace and its dependencies.
#[derive(Deserialize)]
pub(super) struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
    #[serde(skip)]
    checksums: BTreeMap<(String, String), String>,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    kind: Option<String>,
}

/// The packages of a lock file; those of the workspace have no checksum.
#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

impl Metadata {
    pub(super) fn of(root: &Path, platform: &str) -> Result<Self> {
        let arguments = ["metadata", "--locked", "--format-version", "1"];
        let features = ["--features", "tracelake-python/extension"];
        let output = dist::cargo(root)
            .args(arguments)
            .args(features)
            .args(["--filter-platform", platform])
            .output()
            .context("cannot start cargo")?;
        ensure!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let mut metadata: Self = serde_json::from_slice(&output.stdout)?;
        let lock = fs::read_to_string(root.join("Cargo.lock")).context("cannot read Cargo.lock")?;
        let lock: Lock = toml::from_str(&lock)?;
        let of = |locked: Locked| Some(((locked.name, locked.version), locked.checksum?));
        metadata.checksums = lock.package.into_iter().filter_map(of).collect();
        Ok(metadata)
    }

    /// The crates that a crate of the workspace is built from, itself included, as a document of CycloneDX.
    pub(super) fn components(&self, name: &str) -> Result<String> {
        let is_ours = |package: &&Package| {
            package.name == name && !self.checksums.contains_key(&key(package))
        };
        let root = self
            .packages
            .iter()
            .find(is_ours)
            .with_context(|| format!("no crate {name}"))?;
        let ids = self.reachable(&root.id);
        let mut packages: Vec<&Package> = self
            .packages
            .iter()
            .filter(|package| ids.contains(package.id.as_str()))
            .collect();
        packages.sort_by_key(|package| key(package));
        ensure!(packages.len() > 20, "the crates of {name} were not found");
        let others = packages.iter().filter(|package| package.id != root.id);
        let document = json!({
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "version": 1,
            "metadata": { "component": self.component(root, "application") },
            "components": others.map(|package| self.component(package, "library")).collect::<Vec<_>>(),
        });
        Ok(serde_json::to_string_pretty(&document)? + "\n")
    }

    /// The packages that are built for a package, tests apart.
    fn reachable(&self, root: &str) -> BTreeSet<&str> {
        let nodes: BTreeMap<&str, &Node> = self
            .resolve
            .nodes
            .iter()
            .map(|node| (node.id.as_str(), node))
            .collect();
        let (mut found, mut next) = (BTreeSet::new(), vec![root]);
        while let Some((id, node)) = next.pop().and_then(|id| nodes.get_key_value(id)) {
            if found.insert(*id) {
                let built = node.deps.iter().filter(|dependency| {
                    let kinds = &dependency.dep_kinds;
                    kinds.iter().any(|kind| kind.kind.as_deref() != Some("dev"))
                });
                next.extend(built.map(|dependency| dependency.pkg.as_str()));
            }
        }
        found
    }

    fn component(&self, package: &Package, kind: &str) -> Value {
        let (name, version) = (&package.name, &package.version);
        let reference = format!("pkg:cargo/{name}@{version}");
        let mut component = json!({
            "type": kind, "bom-ref": reference, "name": name, "version": version, "purl": reference,
        });
        if let Some(license) = &package.license {
            // The old form of a choice.
            let expression = license.replace('/', " OR ");
            component["licenses"] = json!([{ "expression": expression }]);
        }
        if let Some(checksum) = self.checksums.get(&key(package)) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
        }
        component
    }
}

fn key(package: &Package) -> (String, String) {
    (package.name.clone(), package.version.clone())
}
