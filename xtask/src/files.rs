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

/// Validates the descriptions in released lakes.
const RELEASED: &str = "xtask/files/released.py";

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

/// The recipes of the container, of the package for conda, and of that for Homebrew.
pub(crate) const CONTAINER: &str = "packaging/Containerfile";
const CONDA: &str = "packaging/conda/recipe.yaml";
const FORMULA: &str = "packaging/homebrew/tracelake.rb";

/// Parses the recipe with the builder of conda-forge.
const PARSE_RECIPE: &str = "\
import pathlib, sys
from rattler_build import Stage0Recipe
Stage0Recipe.from_yaml(pathlib.Path(sys.argv[1]).read_text())";

/// Parses the formula as Ruby: Homebrew itself comes in no package.
const PARSE_FORMULA: &str = "\
import pathlib, sys, tree_sitter, tree_sitter_ruby
parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_ruby.language()))
sys.exit(parser.parse(pathlib.Path(sys.argv[1]).read_bytes()).root_node.has_error)";

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
    let recipe = target(root).join("files-tools/tracelake.rb");
    write(&recipe, formula(root, "tracelake-0.0.0.tar.gz", &zeros)?)?;
    run(tool("python").args(["-c", PARSE_FORMULA]).arg(recipe))?;
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
    let mut lakes = Vec::new();
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
            lakes.push(lake);
            let mark = source.join(SYNTHETIC);
            if mark.exists() {
                fs::remove_file(&mark)
                    .with_context(|| format!("cannot remove {}", mark.display()))?;
            }
        }
    }
    let mut validate = Command::new(bin.join("python"));
    run(validate.arg(root.join(RELEASED)).args(lakes))
}

/// The recipe for conda with the version, the place and the digest of an sdist.
pub(crate) fn conda(root: &Path, version: &str, source: &str, sha256: &str) -> Result<String> {
    let values = [
        ("version: VERSION", version),
        ("url: SOURCE", source),
        ("sha256: SHA256", sha256),
    ];
    filled(root, CONDA, &values)
}

/// The formula for Homebrew with the place and the digest of an sdist.
pub(crate) fn formula(root: &Path, source: &str, sha256: &str) -> Result<String> {
    let [source, sha256] = [source, sha256].map(|value| format!("\"{value}\""));
    let values = [
        ("url \"SOURCE\"", &source[..]),
        ("sha256 \"SHA256\"", &sha256),
    ];
    filled(root, FORMULA, &values)
}

/// A file with values in place of the last word of some of its lines.
fn filled(root: &Path, file: &str, values: &[(&str, &str)]) -> Result<String> {
    let mut text = read(root, file)?;
    for (line, value) in values {
        let placeholder = format!(" {line}\n");
        ensure!(text.contains(&placeholder), "{file} lacks {line}");
        let (name, _) = line.rsplit_once(' ').context("a name and a word")?;
        text = text.replace(&placeholder, &format!(" {name} {value}\n"));
    }
    Ok(text)
}
