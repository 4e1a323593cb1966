//! Servers of others that speak the protocols of S3 and Azure, for the tests `urls::emulators`: moto from
//! PyPI, Azurite from npm. The tests start them on loopback, and stop them.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::workspace::{STAMP, cargo, environment, is_installed, make, run, target, write};

const MOTO: &str = "tests/urls/emulators/requirements.txt";

/// The Azure server, pinned.
const AZURITE: &str = "azurite@3.35.0";

/// Installs the servers that this machine can run. Then it runs the tests that need them, unless `install`
/// is all that was asked for; those without a server are ignored, and say so.
pub(crate) fn buckets(root: &Path, install: bool) -> Result<()> {
    match is_installed("python3") {
        true => {
            environment(root, "buckets/moto", &[MOTO])?;
        }
        false => println!("moto is skipped: there is no python3"),
    }
    match is_installed("node") && is_installed("npm") {
        true => azurite(root)?,
        false => println!("Azurite is skipped: there is no node, or no npm"),
    }
    if install {
        return Ok(());
    }
    let mut test = cargo(root);
    test.args(["test", "--package", "tracelake", "--test", "e2e"]);
    run(test.args(["--", "urls::emulators"]))
}

fn azurite(root: &Path) -> Result<()> {
    let folder = target(root).join("buckets/azurite");
    // The build script of the tests watches it.
    let stamp = folder.join(STAMP);
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == AZURITE) {
        return Ok(());
    }
    make(&folder)?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--no-package-lock"]);
    npm.args(["--loglevel", "error", "--prefix"]).arg(&folder);
    run(npm.arg(AZURITE))?;
    write(&stamp, AZURITE)
}
