//! The program, run as a process.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// The outcome of a run of the program.
#[derive(Debug)]
pub struct Run {
    /// The exit code; -1 if a signal ended it.
    pub code: i32,
    /// Everything on stdout.
    pub stdout: String,
    /// Everything on stderr.
    pub stderr: String,
}

impl Run {
    /// Expects success, and nothing on stdout, which is for data.
    #[track_caller]
    pub fn well(&self) {
        self.exits(0);
        assert_eq!(self.stdout, "");
    }

    /// Expects an exit code.
    #[track_caller]
    pub fn exits(&self, code: i32) {
        assert_eq!(self.code, code, "{}", self.stderr);
    }

    /// Expects an exit code, and words in the error message.
    #[track_caller]
    pub fn refuses(&self, code: i32, says: &str) {
        self.exits(code);
        self.says(says);
    }

    /// Expects words in the error message.
    #[track_caller]
    pub fn says(&self, words: &str) {
        assert!(self.message().contains(words), "{}", self.message());
    }

    /// Expects words on stderr.
    #[track_caller]
    pub fn prints(&self, words: &str) {
        assert!(self.stderr.contains(words), "{}", self.stderr);
    }

    /// Expects words on stdout.
    #[track_caller]
    pub fn shows(&self, words: &str) {
        assert!(self.stdout.contains(words), "{}", self.stdout);
    }

    /// The error message: the only line that isn't a warning.
    #[track_caller]
    pub fn message(&self) -> &str {
        let lines: Vec<&str> = self
            .stderr
            .lines()
            .filter(|line| !line.starts_with("warning: "))
            .collect();
        let [line] = lines[..] else {
            panic!("expected one line:\n{}", self.stderr);
        };
        line.strip_prefix("tracelake: error: ")
            .unwrap_or_else(|| panic!("{line}"))
    }
}

/// The program, ready for arguments. The environment of the tests doesn't change what it prints, nor
/// whether it obeys signals: tests that a shell runs in the background inherit that SIGINT is ignored.
pub fn program() -> Command {
    let program = std::env::var("CARGO_BIN_EXE_tracelake").expect("cargo test sets it");
    let mut command = if is_sigint_ignored() {
        let mut env = Command::new("env");
        env.args(["--default-signal=INT", &program]);
        env
    } else {
        Command::new(program)
    };
    command.env_remove("RUST_LOG");
    command
}

/// Linux shows it in /proc; elsewhere it counts as not running.
fn is_sigint_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let digits = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = digits.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // The lowest bit is signal 1, and SIGINT is 2.
    mask.is_some_and(|mask| mask & 0b10 != 0)
}

/// Runs the program.
pub fn run<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Run {
    ended(program().args(arguments).output().unwrap())
}

/// The outcome of a finished process.
pub fn ended(output: Output) -> Run {
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs `tracelake convert`.
pub fn convert(source: &Path, out: &Path, arguments: &[&str]) -> Run {
    let fixed = [OsStr::new("convert"), source.as_os_str(), out.as_os_str()];
    run(fixed.into_iter().chain(arguments.iter().map(OsStr::new)))
}

/// Runs `tracelake generate`, which must go well.
#[track_caller]
pub fn generate(trace: &str, out: &Path, options: &[&str]) {
    let fixed = ["generate".as_ref(), trace.as_ref(), out.as_os_str()];
    run(fixed.into_iter().chain(options.iter().map(OsStr::new))).exits(0);
}

/// Verifies a lake against its source, which must go well.
#[track_caller]
pub fn verify_well(out: &Path, source: &Path) {
    run(["verify".as_ref(), out, "--source".as_ref(), source]).exits(0);
}

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
pub fn plain() -> Command {
    let mut command = program();
    for (variable, _) in std::env::vars_os() {
        let name = variable.to_string_lossy();
        let of_stores = ["AWS_", "GOOGLE_", "AZURE_"];
        if of_stores.iter().any(|start| name.starts_with(start)) {
            command.env_remove(&variable);
        }
    }
    for name in ELSEWHERE {
        command.env_remove(name);
    }
    command
}

/// The program with this server as S3 and as Google's store, and with credentials for S3.
pub fn with_stores(url: &str) -> Command {
    let mut command = plain();
    command
        .env("AWS_ENDPOINT_URL", url)
        .env("AWS_ACCESS_KEY_ID", "tests")
        .env("AWS_SECRET_ACCESS_KEY", "tests")
        .env("GOOGLE_BASE_URL", url)
        .env("GOOGLE_SKIP_SIGNATURE", "true");
    command
}
