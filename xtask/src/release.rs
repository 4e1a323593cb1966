//! `cargo xtask release --dry-run`: everything that a release publishes, made on this machine and tried where nothing
//! else is installed. The workflow makes the same for all systems.

mod made;
mod tried;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use made::Release;

/// A step of a release, and what it does.
type Step = (&'static str, fn(&Release) -> Result<()>);

const STEPS: &[Step] = &[
    (
        "the versions agree, and the crates are packed",
        Release::crates,
    ),
    ("the program, static", Release::program),
    ("the wheel and the sdist", Release::python),
    ("what is in them", Release::sboms),
    ("the recipes for conda and Homebrew", Release::recipes),
    ("checksums", Release::checksums),
    ("cargo install, from the packages", tried::cargo_install),
    ("the program alone, as in the container", tried::container),
    ("pip install and uvx, from the wheel", tried::wheel),
    ("pip install, from the sdist", tried::sdist),
];

/// Makes and tries everything, and returns the folder with the files.
pub(crate) fn dry_run(root: &Path) -> Result<PathBuf> {
    let release = Release::begin(root)?;
    for (what, step) in STEPS {
        println!("== {what}");
        step(&release).context(*what)?;
    }
    Ok(release.files)
}
