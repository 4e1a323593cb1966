//! Tells the tests which data and programs this machine has, so that the test runner reports a test
//! that needs an absent one as ignored, with the reason.
//!
//! The library and the program don't depend on anything found here. Outside of the workspace, such
//! as in a package from the registry, there are no tests and nothing is looked for.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Whether a resource exists, given the root of the workspace.
type Exists = fn(&Path) -> bool;

/// Each `cfg` that a test may ask for, and how to find out whether it holds.
const RESOURCES: [(&str, Exists); 12] = [
    // Rows of the published traces, in ../shared/data beside the workspace.
    ("published_data", |root| {
        watched(&root.join("../shared/data"))
    }),
    // Test suites of other projects, in ../shared/suites beside the workspace.
    ("suites", |root| watched(&root.join("../shared/suites"))),
    // DuckDB, Polars, pandas and mlcroissant: `cargo xtask readers`.
    ("readers", |root| has_module(root, "duckdb")),
    // Readers of Delta, DuckLake and Iceberg, and minisign: `cargo xtask readers`.
    ("catalogs", |root| {
        runs(
            task_folder(root, "readers-catalogs").join("bin/python"),
            &["-c", "import deltalake, minisign"],
        )
    }),
    // PySpark: `cargo xtask readers --spark`.
    ("spark", |root| has_module(root, "pyspark")),
    // aiperf, which replays requests to language models: `cargo xtask readers --aiperf`.
    ("aiperf", |root| {
        runs(
            task_folder(root, "readers-aiperf").join("bin/aiperf"),
            &["--version"],
        )
    }),
    // Servers that speak the protocols of S3 and Azure: `cargo xtask buckets`.
    ("moto", |root| {
        runs(
            task_folder(root, "buckets/moto").join("bin/moto_server"),
            &["--help"],
        )
    }),
    ("azurite", |root| {
        let folder = task_folder(root, "buckets/azurite");
        runs(
            folder.join("node_modules/.bin/azurite-blob"),
            &["--version"],
        )
    }),
    // strace, if it is allowed to trace.
    ("strace", |_| {
        runs("strace", &["-qq", "-o", "/dev/null", "true"])
    }),
    // Namespaces of processes, as containers have them, if they may be made.
    ("process_namespaces", |_| {
        let namespace = [
            "--user",
            "--map-root-user",
            "--pid",
            "--fork",
            "--mount-proc",
        ];
        runs(
            "unshare",
            &[&namespace[..], &["--kill-child", "true"]].concat(),
        )
    }),
    // A C compiler, for the library that is preloaded into the program to record its calls. Only glibc's
    // programs call functions that a library can replace.
    ("preload", |_| {
        env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|libc| libc == "gnu")
            && runs("cc", &["--version"])
    }),
    // The checksum program of GNU coreutils.
    ("sha256sum", |_| runs("sha256sum", &["--version"])),
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=TRACELAKE_PYTHON");
    let manifest = env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it for build scripts");
    let root = Path::new(&manifest).join("../..");
    let in_workspace = root.join("tests/main.rs").exists();
    for (name, is_here) in RESOURCES {
        println!("cargo::rustc-check-cfg=cfg({name})");
        if in_workspace && is_here(&root) {
            println!("cargo::rustc-cfg={name}");
        }
    }
}

/// Whether a path exists. If it does, its removal runs this script again; cargo can't wait for a
/// path to appear without rebuilding every time, so a test notices that.
fn watched(path: &Path) -> bool {
    let exists = path.exists();
    if exists {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    exists
}

/// Whether the interpreter of TRACELAKE_PYTHON, or else the environment that `cargo xtask readers`
/// makes in the build directory, has a module.
fn has_module(root: &Path, module: &str) -> bool {
    let look =
        format!("import importlib.util as u, sys; sys.exit(u.find_spec('{module}') is None)");
    if let Some(python) = env::var_os("TRACELAKE_PYTHON") {
        return runs(python, &["-c", &look]);
    }
    runs(
        task_folder(root, "readers").join("bin/python"),
        &["-c", &look],
    )
}

/// A folder in the build directory that a task installs something into. This script runs again once the
/// task has done so.
fn task_folder(root: &Path, name: &str) -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let folder = target.join(name);
    // The task writes this file last. Until then the directory is watched, which has to exist for
    // that.
    let installed = folder.join("installed.txt");
    let watched = if installed.exists() || fs::create_dir_all(&folder).is_err() {
        &installed
    } else {
        &folder
    };
    println!("cargo::rerun-if-changed={}", watched.display());
    folder
}

/// Whether a program can be started and ends well.
fn runs(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> bool {
    let status = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}
