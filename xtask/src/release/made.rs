//! The files of a release.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use tracelake_testkit::sha256;

use crate::dist;
use crate::files::{self, CONTAINER};
use crate::workspace::{
    cargo, copy, empty, environment, make, output, read, run, target, tree, with_extension, write,
};

const REQUIREMENTS: &str = "xtask/release/requirements.txt";

/// The tool that lists the crates of a program, pinned.
const CYCLONEDX: &str = "cargo-cyclonedx@0.5.9";

/// Checks such a list against the schema of CycloneDX.
const VALIDATE: &str = "\
import pathlib, sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
wrong = JsonStrictValidator(SchemaVersion.V1_5).validate_str(pathlib.Path(sys.argv[1]).read_text())
sys.exit(str(wrong) if wrong else 0)";

/// The artefacts to build, and where they go.
pub(super) struct Release {
    pub(super) root: PathBuf,
    pub(super) version: String,
    /// The triple of this machine's compiler.
    host: String,
    /// An interpreter with what builds the Python package.
    pub(super) python: PathBuf,
    /// The published files.
    pub(super) files: PathBuf,
    /// Where it is tried.
    pub(super) tried: PathBuf,
}

impl Release {
    pub(super) fn begin(root: &Path) -> Result<Self> {
        let [files, tried] =
            ["release-files", "release-tried"].map(|folder| target(root).join(folder));
        empty(&files)?;
        empty(&tried)?;
        let about = output(Command::new("rustc").arg("-vV"))?;
        let host = about.lines().find_map(|line| line.strip_prefix("host: "));
        Ok(Self {
            root: root.to_owned(),
            version: dist::version(root)?,
            host: host.context("rustc doesn't name its host")?.to_owned(),
            python: environment(root, "release-tools", &[REQUIREMENTS])?,
            files,
            tried,
        })
    }

    /// The packages of the crates. They are built where they are tried: cargo would keep what it unpacks to verify them,
    /// and take it for the next packages of the same version.
    pub(super) fn crates(&self) -> Result<()> {
        dist::check(&self.root, None)?;
        for package in with_extension(&target(&self.root).join("package"), "crate")? {
            copy(&package, &self.files.join("crates").join(name(&package)?))?;
        }
        Ok(())
    }

    /// The program, for any Linux: with musl if its standard library is installed, and otherwise with a C library that
    /// is linked in.
    pub(super) fn program(&self) -> Result<()> {
        let triple = self.program_target()?;
        let mut flags = self.remapped()?;
        if triple.ends_with("-gnu") {
            flags += " -C target-feature=+crt-static";
        }
        let mut cargo = cargo(&self.root);
        cargo.args(["build", "--release", "--locked", "--quiet"]);
        cargo.args(["--package", "tracelake", "--bin", "tracelake"]);
        cargo.args(["--target", &triple]).env("RUSTFLAGS", flags);
        run(cargo.env("CARGO_TARGET_DIR", self.builds()))?;
        let program = self.builds().join(&triple).join("release/tracelake");
        let folder = format!("tracelake-v{}-{triple}", self.version);
        let packed = self.tried.join(&folder);
        copy(&program, &packed.join("tracelake"))?;
        dist::pages_of(&program, &packed)?;
        for file in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
            copy(&self.root.join(file), &packed.join(file))?;
        }
        let mut tar = Command::new("tar");
        tar.args(["--create", "--gzip", "--sort=name", "--mtime=@0"]);
        tar.args(["--owner=0", "--group=0", "--numeric-owner", "--file"]);
        tar.arg(self.files.join(format!("{folder}.tar.gz")));
        run(tar.arg("--directory").arg(&self.tried).arg(&folder))?;
        let container = self.files.join("container");
        copy(&program, &container.join("tracelake"))?;
        copy(&self.root.join(CONTAINER), &container.join("Containerfile"))
    }

    fn program_target(&self) -> Result<String> {
        let musl = self.host.replace("-gnu", "-musl");
        let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
        let libraries = Path::new(sysroot.trim()).join("lib/rustlib");
        Ok(match libraries.join(&musl).exists() {
            true => musl,
            false => self.host.clone(),
        })
    }

    /// The wheel for this system, and the sdist for all others.
    pub(super) fn python(&self) -> Result<()> {
        let here = self.root.join("crates/python");
        let build = ["build", "--release", "--locked", "--quiet", "--interpreter"];
        for arguments in [&build[..], &["sdist"]] {
            let mut maturin = Command::new(&self.python);
            maturin.args(["-m", "maturin"]).args(arguments);
            if arguments[0] == "build" {
                maturin.arg(&self.python);
            }
            maturin.arg("--out").arg(&self.files).current_dir(&here);
            maturin.env("RUSTFLAGS", self.remapped()?);
            run(maturin.env("CARGO_TARGET_DIR", self.builds()))?;
        }
        let mut check = Command::new(&self.python);
        check.arg(here.join("tests/wheel.py")).arg(&self.files);
        run(&mut check).context("the wheel isn't ready to be published")
    }

    /// Lists of the crates in the program and in the wheel.
    pub(super) fn sboms(&self) -> Result<()> {
        let tools = target(&self.root).join("tools");
        let mut install = cargo(&self.root);
        install.args(["install", "--quiet", "--locked", "--debug", CYCLONEDX]);
        install.arg("--root").arg(&tools);
        run(install.env("CARGO_TARGET_DIR", tools.join("build")))?;
        // It writes a list into the folder of every crate, with the paths of this machine.
        let file = format!("tracelake-{}", self.version);
        let mut list = Command::new(tools.join("bin/cargo-cyclonedx"));
        list.args(["cyclonedx", "--format", "json", "--spec-version", "1.5"]);
        list.args(["--features", "tracelake-python/extension"]);
        list.args(["--target", &self.host, "--override-filename", &file]);
        run(list.current_dir(&self.root))?;
        let root = self.root.display().to_string();
        let crates = self.root.join("crates");
        for (folder, what) in [("tracelake", "program"), ("python", "wheel")] {
            let listed = read(&crates.join(folder), &format!("{file}.json"))?;
            let path = self.files.join(format!("{file}-{what}.cdx.json"));
            write(&path, listed.replace(&root, "/tracelake"))?;
            let mut validate = Command::new(&self.python);
            run(validate.args(["-c", VALIDATE]).arg(path))?;
        }
        for folder in crates.read_dir()? {
            fs::remove_file(folder?.path().join(format!("{file}.json")))?;
        }
        Ok(fs::remove_file(
            self.root.join(format!("xtask/{file}.json")),
        )?)
    }

    pub(super) fn recipes(&self) -> Result<()> {
        let sdist = self.sdist()?;
        let digest = sha256(&fs::read(&sdist)?);
        let sdist = name(&sdist)?;
        let recipe = files::conda(&self.root, &self.version, &sdist, &digest)?;
        make(&self.files.join("conda"))?;
        write(&self.files.join("conda/recipe.yaml"), recipe)?;
        make(&self.files.join("homebrew"))?;
        let formula = files::formula(&self.root, &sdist, &digest)?;
        write(&self.files.join("homebrew/tracelake.rb"), formula)
    }

    pub(super) fn checksums(&self) -> Result<()> {
        let files = tree(&self.files).into_iter();
        let lines: String = files
            .map(|(name, bytes)| format!("{}  {name}\n", sha256(&bytes)))
            .collect();
        write(&self.files.join("SHA256SUMS"), lines)
    }

    pub(super) fn sdist(&self) -> Result<PathBuf> {
        let mut archives = with_extension(&self.files, "gz")?;
        archives.retain(|path| name(path).is_ok_and(|name| !name.contains("-v")));
        only(archives)
    }

    pub(super) fn wheel(&self) -> Result<PathBuf> {
        only(with_extension(&self.files, "whl")?)
    }

    /// A separate build directory, because its flags differ from those of other builds.
    pub(super) fn builds(&self) -> PathBuf {
        target(&self.root).join("release-builds")
    }

    /// Flags that keep the paths of this machine out of messages.
    pub(super) fn remapped(&self) -> Result<String> {
        let home = std::env::home_dir().context("no home directory")?;
        let [root, home] = [&self.root, &home].map(|path| path.display().to_string());
        Ok(format!(
            "--remap-path-prefix={root}=tracelake --remap-path-prefix={home}=home"
        ))
    }
}

/// The name of a file.
pub(super) fn name(path: &Path) -> Result<String> {
    let name = path.file_name().and_then(OsStr::to_str);
    Ok(name.context("a path with a name")?.to_owned())
}

fn only(mut paths: Vec<PathBuf>) -> Result<PathBuf> {
    match (paths.pop(), paths.is_empty()) {
        (Some(path), true) => Ok(path),
        (path, _) => bail!("one file is expected, but there are {path:?} and {paths:?}"),
    }
}
