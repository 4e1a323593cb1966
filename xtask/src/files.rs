//! `cargo xtask files`: recipes, forms, workflows and the descriptions of released lakes, which programs of others read,
//! checked with schemas and checkers of others. All of them come with their packages, and none asks a network.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tracelake_schema::SYNTHETIC;

use crate::workspace::{
    can_be_generated, empty, environment, generate, make, program, read, run, target,
    with_extension, write,
};

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
    let python = environment(root, "files-tools", &[REQUIREMENTS])?;
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
        .args(with_extension(&root.join("docs/recipes"), "yaml")?))?;
    run(tool("zizmor").args(["--offline", "--no-progress", "--quiet", ".github"]))?;
    run(tool("hadolint").arg(CONTAINER))?;
    let recipe = target(root).join("files-tools/recipe.yaml");
    let zeros = "0".repeat(64);
    let filled = conda(root, "0.0.0", "tracelake-0.0.0.tar.gz", &zeros)?;
    write(&recipe, filled)?;
    run(tool("python").args(["-c", PARSE_RECIPE]).arg(recipe))?;
    releases(root, bin)
}

/// Checks the descriptions in small released lakes of each trace that can be generated: of a synthetic one, and of one
/// that is described as published, with its licence and its authors.
fn releases(root: &Path, bin: &Path) -> Result<()> {
    let work = target(root).join("files-lakes");
    empty(&work)?;
    let program = program(root, &[])?;
    let tracelake = |arguments: &[&str], paths: &[&Path]| {
        run(Command::new(&program).args(arguments).args(paths))
    };
    for trace in can_be_generated() {
        let folder = work.join(&trace.name);
        make(&folder)?;
        let source = folder.join("source");
        generate(&program, trace, &source, &["--rows", "2000"])?;
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
    let mut recipe = read(root, CONDA)?;
    for (placeholder, value) in [
        ("version: VERSION\n", version),
        ("url: SOURCE\n", source),
        ("sha256: SHA256\n", sha256),
    ] {
        let field = placeholder.split(' ').next().unwrap_or_default();
        ensure!(recipe.contains(placeholder), "{CONDA} lacks {placeholder}");
        recipe = recipe.replace(placeholder, &format!("{field} {value}\n"));
    }
    Ok(recipe)
}
