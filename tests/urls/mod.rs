//! Sources at URLs: a lake made from one equals a lake made from disk, whatever the server does.

mod answers;
mod emulators;
mod faults;
mod lakes;
mod messages;
mod secrets;
pub(crate) mod server;
mod states;
mod stops;
mod trust;

use std::path::Path;
use std::process::Command;

use crate::support::{Run, ended, program};

/// Variables that would lead a test away from its server.
const ELSEWHERE: &[&str] = &[
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "HOME",
    "SERVICE_ACCOUNT",
    "STORAGE_EMULATOR_HOST",
];

/// The program in an environment that says nothing of stores.
fn plain() -> Command {
    let mut command = program();
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let is_store = ["AWS_", "GOOGLE_", "AZURE_"];
        if is_store.iter().any(|start| name.starts_with(start)) {
            command.env_remove(name);
        }
    }
    for name in ELSEWHERE {
        command.env_remove(name);
    }
    command
}

/// The program with this server as S3 and as Google's store, and with credentials for S3.
pub(crate) fn with_stores(url: &str) -> Command {
    let mut command = plain();
    command
        .env("AWS_ENDPOINT_URL", url)
        .env("AWS_ACCESS_KEY_ID", "tests")
        .env("AWS_SECRET_ACCESS_KEY", "tests")
        .env("GOOGLE_BASE_URL", url)
        .env("GOOGLE_SKIP_SIGNATURE", "true");
    command
}

/// Runs `tracelake convert` with this environment.
fn convert(mut command: Command, source: &str, out: &Path, arguments: &[&str]) -> Run {
    let output = command
        .args(["convert", source])
        .arg(out)
        .args(arguments)
        .output();
    ended(output.unwrap())
}
