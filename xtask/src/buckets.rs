//! Servers of others that speak the protocols of S3 and Azure, for the tests `urls::emulators`: moto from
//! PyPI, Azurite from npm. The tests start them on loopback, and stop them.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::readers::{environment, run, target};
use crate::rig::cargo;

pub(crate) const MOTO: &str = "tests/urls/emulators/requirements.txt";

/// The Azure server, pinned.
const AZURITE: &str = "azurite@3.35.0";

/// The installed packages, so that a second run has nothing to do; the build script watches it.
const STAMP: &str = "installed.txt";

/// Installs the servers that this machine can run. Then it runs the tests that need them, unless `install`
/// is all that was asked for; those without a server are ignored, and say so.
pub(crate) fn buckets(root: &Path, install: bool) -> Result<()> {
    match starts("python3") {
        true => {
            environment(root, "buckets/moto", &[MOTO])?;
        }
        false => println!("moto is skipped: there is no python3"),
    }
    match starts("node") && starts("npm") {
        true => azurite(root)?,
        false => println!("Azurite is skipped: there is no node, or no npm"),
    }
    if install {
        return Ok(());
    }
    let tests = [
        "test",
        "--package",
        "tracelake",
        "--test",
        "e2e",
        "--",
        "urls::emulators",
    ];
    run(cargo().args(tests).current_dir(root))
}

fn azurite(root: &Path) -> Result<()> {
    let folder = target(root).join("buckets/azurite");
    let stamp = folder.join(STAMP);
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == AZURITE) {
        return Ok(());
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let install = [
        "install",
        "--no-audit",
        "--no-fund",
        "--no-package-lock",
        "--loglevel",
        "error",
    ];
    run(Command::new("npm")
        .args(install)
        .arg("--prefix")
        .arg(&folder)
        .arg(AZURITE))?;
    fs::write(&stamp, AZURITE).with_context(|| format!("cannot write {}", stamp.display()))
}

/// Whether there is such a program.
fn starts(program: &str) -> bool {
    let mut command = Command::new(program);
    command
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
