//! Sources at URLs: a lake made from one equals a lake made from disk, whatever the server does.

mod answers;
mod clustered;
mod dead;
mod emulators;
mod faults;
mod floods;
mod lakes;
mod messages;
mod overlap;
mod secrets;
mod states;
mod stops;
pub(crate) mod trust;

use std::path::Path;
use std::process::Command;

use tracelake_testkit::{Run, ended};
pub(crate) use tracelake_testkit::{plain, with_stores};

/// Runs `tracelake convert` with this environment.
fn convert(mut command: Command, source: &str, out: &Path, arguments: &[&str]) -> Run {
    let output = command
        .args(["convert", source])
        .arg(out)
        .args(arguments)
        .output();
    ended(output.unwrap())
}
