//! `cargo xtask release --dry-run`: everything that a release publishes, made on this machine and tried where nothing
//! else is installed. The workflow makes the same for all systems.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tracelake_testkit::sha256;

use crate::dist;
use crate::files::{self, CONTAINER};
use crate::readers::{environment, run, target};

mod sbom;
mod tried;

const REQUIREMENTS: &str = "xtask/release/requirements.txt";

/// The folder with the files of the release, and the one in which they are tried, in the build directory.
const FILES: &str = "release-files";
const TRIED: &str = "release-tried";

/// The artefacts to build, and where they go.
struct Release<'a> {
    root: &'a Path,
    version: String,
    /// The triple of this machine's compiler.
    host: String,
    /// An interpreter with what builds the Python package.
    python: PathBuf,
    /// The published files.
    files: PathBuf,
    /// Where it is tried.
    tried: PathBuf,
}

/// Makes and tries everything, and returns the folder with the files.
pub(crate) fn dry_run(root: &Path) -> Result<PathBuf> {
    let release = Release::begin(root)?;
    release.step(
        "the versions agree, and the crates are packed",
        Release::crates,
    )?;
    release.step("the program, static", Release::program)?;
    release.step("the wheel and the sdist", Release::python)?;
    release.step("what is in them", Release::sboms)?;
    release.step("the recipe for conda", Release::conda)?;
    release.step("checksums", Release::checksums)?;
    release.step("cargo install, from the packages", tried::cargo_install)?;
    release.step("the program alone, as in the container", tried::container)?;
    release.step("pip install and uvx, from the wheel", tried::wheel)?;
    release.step("pip install, from the sdist", tried::sdist)?;
    Ok(release.files)
}

impl<'a> Release<'a> {
    fn begin(root: &'a Path) -> Result<Self> {
        let folders = [FILES, TRIED].map(|name| target(root).join(name));
        for folder in &folders {
            if folder.exists() {
                fs::remove_dir_all(folder)
                    .with_context(|| format!("cannot remove {}", folder.display()))?;
            }
            make(folder)?;
        }
        let [files, tried] = folders;
        let rustc = Command::new("rustc")
            .arg("-vV")
            .output()
            .context("cannot start rustc")?;
        let about = String::from_utf8(rustc.stdout)?;
        let host = about.lines().find_map(|line| line.strip_prefix("host: "));
        Ok(Self {
            root,
            version: dist::version(root)?,
            host: host.context("rustc doesn't name its host")?.to_owned(),
            python: environment(root, "release-tools", &[REQUIREMENTS])?,
            files,
            tried,
        })
    }

    fn step(&self, what: &str, work: impl FnOnce(&Self) -> Result<()>) -> Result<()> {
        println!("== {what}");
        work(self).with_context(|| what.to_owned())
    }

    /// The packages of the crates. They are built where they are tried: cargo would keep what it unpacks to verify them,
    /// and take it for the next packages of the same version.
    fn crates(&self) -> Result<()> {
        dist::check(self.root, None)?;
        for package in with_extension(&target(self.root).join("package"), "crate")? {
            copy(&package, &self.files.join("crates").join(name(&package)?))?;
        }
        Ok(())
    }

    /// The program, for any Linux: with musl if its standard library is installed, and otherwise with a C library that
    /// is linked in.
    fn program(&self) -> Result<()> {
        let mut cargo = dist::cargo(self.root);
        cargo.args([
            "build",
            "--release",
            "--locked",
            "--quiet",
            "--package",
            "tracelake",
            "--bin",
            "tracelake",
        ]);
        let target_name = self.program_target()?;
        cargo.args(["--target", &target_name]);
        if target_name.ends_with("-gnu") {
            cargo.env(
                "RUSTFLAGS",
                format!("-C target-feature=+crt-static {}", self.remapped()?),
            );
        } else {
            cargo.env("RUSTFLAGS", self.remapped()?);
        }
        run(cargo.env("CARGO_TARGET_DIR", self.builds()))?;
        let program = self.builds().join(&target_name).join("release/tracelake");
        let folder = format!("tracelake-v{}-{target_name}", self.version);
        let packed = self.tried.join(&folder);
        copy(&program, &packed.join("tracelake"))?;
        dist::pages_of(&program, &packed.join("pages"))?;
        for page in ["man", "completions"] {
            fs::rename(packed.join("pages").join(page), packed.join(page))?;
        }
        fs::remove_dir(packed.join("pages"))?;
        for file in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
            copy(&self.root.join(file), &packed.join(file))?;
        }
        let archive = self.files.join(format!("{folder}.tar.gz"));
        run(Command::new("tar")
            .args([
                "--create",
                "--gzip",
                "--sort=name",
                "--owner=0",
                "--group=0",
                "--numeric-owner",
            ])
            .args(["--mtime=@0", "--file"])
            .arg(archive)
            .arg("--directory")
            .arg(&self.tried)
            .arg(&folder))?;
        let container = self.files.join("container");
        copy(&program, &container.join("tracelake"))?;
        copy(&self.root.join(CONTAINER), &container.join("Containerfile"))
    }

    fn program_target(&self) -> Result<String> {
        let musl = self.host.replace("-gnu", "-musl");
        let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output();
        let sysroot = String::from_utf8(sysroot.context("cannot start rustc")?.stdout)?;
        let has_musl = Path::new(sysroot.trim())
            .join("lib/rustlib")
            .join(&musl)
            .exists();
        Ok(if has_musl { musl } else { self.host.clone() })
    }

    /// The wheel for this system, and the sdist for all others.
    fn python(&self) -> Result<()> {
        let here = self.root.join("crates/python");
        for arguments in [
            &["build", "--release", "--locked", "--quiet", "--interpreter"][..],
            &["sdist"],
        ] {
            let mut maturin = Command::new(&self.python);
            maturin.args(["-m", "maturin"]).args(arguments);
            if arguments[0] == "build" {
                maturin.arg(&self.python);
            }
            maturin.arg("--out").arg(&self.files);
            maturin.env("RUSTFLAGS", self.remapped()?);
            run(maturin
                .env("CARGO_TARGET_DIR", self.builds())
                .current_dir(&here))?;
        }
        let checked = Command::new(&self.python)
            .arg(here.join("tests/wheel.py"))
            .arg(&self.files)
            .status()?;
        ensure!(checked.success(), "the wheel isn't ready to be published");
        Ok(())
    }

    /// Lists of the crates in the program and in the wheel.
    fn sboms(&self) -> Result<()> {
        let metadata = sbom::Metadata::of(self.root, &self.host)?;
        for (package, file) in [("tracelake", "program"), ("tracelake-python", "wheel")] {
            let path = self
                .files
                .join(format!("tracelake-{}-{file}.cdx.json", self.version));
            fs::write(&path, metadata.components(package)?)
                .with_context(|| format!("cannot write {}", path.display()))?;
            run(Command::new(&self.python)
                .args(["-c", sbom::VALIDATE])
                .arg(path))?;
        }
        Ok(())
    }

    fn conda(&self) -> Result<()> {
        let sdist = only(&self.files, "gz", |name| !name.contains("-v"))?;
        let digest = sha256(&fs::read(&sdist)?);
        let recipe = files::conda(self.root, &self.version, &name(&sdist)?, &digest)?;
        make(&self.files.join("conda"))?;
        Ok(fs::write(self.files.join("conda/recipe.yaml"), recipe)?)
    }

    fn checksums(&self) -> Result<()> {
        let mut lines = String::new();
        let mut paths = Vec::new();
        all(&self.files, &mut paths)?;
        paths.sort();
        for path in paths {
            let name = path.strip_prefix(&self.files)?.display();
            lines.push_str(&format!("{}  {name}\n", sha256(&fs::read(&path)?)));
        }
        Ok(fs::write(self.files.join("SHA256SUMS"), lines)?)
    }

    /// A separate build directory, because its flags differ from those of other builds.
    fn builds(&self) -> PathBuf {
        target(self.root).join("release-builds")
    }

    /// Flags that keep the paths of this machine out of messages.
    fn remapped(&self) -> Result<String> {
        let home = std::env::home_dir().context("no home directory")?;
        let [root, home] = [self.root, &home].map(|path| path.display().to_string());
        Ok(format!(
            "--remap-path-prefix={root}=tracelake --remap-path-prefix={home}=home"
        ))
    }
}

fn make(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

/// Copies a file, and makes its folder.
fn copy(from: &Path, to: &Path) -> Result<()> {
    make(to.parent().context("a file in a folder")?)?;
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}

fn name(path: &Path) -> Result<String> {
    let name = path.file_name().and_then(OsStr::to_str);
    Ok(name.context("a path with a name")?.to_owned())
}

/// The files of a folder with an extension, sorted.
fn with_extension(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    Ok(paths)
}

/// The only such file whose name passes.
fn only(folder: &Path, extension: &str, passes: impl Fn(&str) -> bool) -> Result<PathBuf> {
    let mut paths = with_extension(folder, extension)?;
    paths.retain(|path| name(path).is_ok_and(|name| passes(&name)));
    let [path] = &paths[..] else {
        anyhow::bail!(
            "{} .{extension} files in {}, not one",
            paths.len(),
            folder.display()
        );
    };
    Ok(path.clone())
}

/// Every file below a folder.
fn all(folder: &Path, into: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            all(&path, into)?;
        } else {
            into.push(path);
        }
    }
    Ok(())
}
