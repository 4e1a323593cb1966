//! `cargo xtask files`: recipes, forms, workflows and the descriptions of released lakes, which programs of others read,
//! checked with schemas and checkers of others. All of them come with their packages, and none asks a network.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tracelake_schema::SYNTHETIC;

use crate::readers::{environment, generated, program, run, target};

const REQUIREMENTS: &str = "xtask/files/requirements.txt";

/// The name of a schema, and the files that must follow it.
const SCHEMAS: [(&str, &[&str]); 4] = [
    ("citation-file-format", &["CITATION.cff"]),
    (
        "github-workflows",
        &[".github/workflows/ci.yml", ".github/workflows/release.yml"],
    ),
    (
        "github-issue-forms",
        &[
            ".github/ISSUE_TEMPLATE/bug.yml",
            ".github/ISSUE_TEMPLATE/idea.yml",
        ],
    ),
    (
        "github-issue-config",
        &[".github/ISSUE_TEMPLATE/config.yml"],
    ),
];

/// The recipe of the container, and of the package for conda.
pub(crate) const CONTAINER: &str = "packaging/Containerfile";
const CONDA: &str = "packaging/conda/recipe.yaml";

/// Parses the recipe with the builder of conda-forge.
const PARSE_RECIPE: &str = "\
import pathlib, sys
from rattler_build import Stage0Recipe
Stage0Recipe.from_yaml(pathlib.Path(sys.argv[1]).read_text())";

/// Checks every such file.
pub(crate) fn check(root: &Path) -> Result<()> {
    let python = tools(root)?;
    let bin = python.parent().context("an interpreter in a folder")?;
    let tool = |name: &str| {
        let mut command = Command::new(bin.join(name));
        command.current_dir(root);
        command
    };
    for (schema, files) in SCHEMAS {
        run(tool("check-jsonschema")
            .args(["--builtin-schema", &format!("vendor.{schema}")])
            .args(files))?;
    }
    run(tool("kubernetes-validate")
        .arg("--strict")
        .args(kubernetes(root)?))?;
    run(tool("zizmor").args(["--offline", "--no-progress", "--quiet", ".github"]))?;
    run(tool("hadolint").arg(CONTAINER))?;
    let recipe = target(root).join("files-tools/recipe.yaml");
    let zeros = "0".repeat(64);
    fs::write(
        &recipe,
        conda(root, "0.0.0", "tracelake-0.0.0.tar.gz", &zeros)?,
    )
    .with_context(|| format!("cannot write {}", recipe.display()))?;
    run(tool("python").args(["-c", PARSE_RECIPE]).arg(recipe))?;
    releases(root, bin)
}

/// Checks the descriptions in small released lakes of each trace that can be generated: of a synthetic one, and of one
/// that is described as published, with its licence and its authors.
fn releases(root: &Path, bin: &Path) -> Result<()> {
    let work = target(root).join("files-lakes");
    if work.exists() {
        fs::remove_dir_all(&work).with_context(|| format!("cannot remove {}", work.display()))?;
    }
    let program = program(root)?;
    let tracelake = |arguments: &[&str], paths: &[&Path]| {
        run(Command::new(&program).args(arguments).args(paths))
    };
    for trace in generated() {
        let folder = work.join(trace.name);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let source = folder.join("source");
        tracelake(&["generate", trace.name, "--rows", "2000"], &[&source])?;
        for name in ["synthetic", "published"] {
            let lake = folder.join(name);
            let convert = ["convert", "--progress", "none", "--allow-missing"];
            tracelake(&convert, &[&source, &lake])?;
            tracelake(&["release", "--allow-missing"], &[&lake])?;
            for validate in [
                &["frictionless", "validate", "datapackage.json"][..],
                &["mlcroissant", "validate", "--jsonld", "croissant.json"],
            ] {
                let mut command = Command::new(bin.join(validate[0]));
                run(command.args(&validate[1..]).current_dir(&lake))?;
            }
            let mark = source.join(SYNTHETIC);
            if mark.exists() {
                fs::remove_file(&mark)
                    .with_context(|| format!("cannot remove {}", mark.display()))?;
            }
        }
    }
    Ok(())
}

/// The recipe for conda with the version, the place and the digest of an sdist.
pub(crate) fn conda(root: &Path, version: &str, source: &str, sha256: &str) -> Result<String> {
    let recipe =
        fs::read_to_string(root.join(CONDA)).with_context(|| format!("cannot read {CONDA}"))?;
    let fields = [
        ("version", "VERSION", version),
        ("url", "SOURCE", source),
        ("sha256", "SHA256", sha256),
    ];
    fields
        .into_iter()
        .try_fold(recipe, |recipe, (field, placeholder, value)| {
            let line = format!("  {field}: {placeholder}\n");
            ensure!(
                recipe.contains(&line),
                "{CONDA} has no line `{}`",
                line.trim()
            );
            Ok(recipe.replace(&line, &format!("  {field}: {value}\n")))
        })
}

/// The interpreter of the environment with the checkers.
pub(crate) fn tools(root: &Path) -> Result<PathBuf> {
    environment(root, "files-tools", &[REQUIREMENTS])
}

/// The recipes for Kubernetes.
fn kubernetes(root: &Path) -> Result<Vec<PathBuf>> {
    let folder = root.join("docs/recipes");
    let entries = folder.read_dir().context("cannot read docs/recipes")?;
    let paths = entries.map(|entry| Ok(entry?.path()));
    let mut paths: Vec<PathBuf> = paths.collect::<Result<_>>()?;
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "yaml")
    });
    paths.sort();
    ensure!(paths.len() >= 4, "the recipes were not found");
    Ok(paths)
}
