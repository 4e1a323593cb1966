//! `release`: the files it writes, when it writes nothing, and how they go when the lake changes.

mod catalogs;
mod delta;
mod described;
mod publisher;
mod refused;
mod since;
mod stale;
mod synthetic;

use std::ffi::OsStr;
use std::path::Path;

use tracelake_testkit::{RELEASE_FILES as FILES, Run, Scratch, run};

/// Runs `tracelake release`.
fn release(out: &Path, arguments: &[&str]) -> Run {
    let fixed = [OsStr::new("release"), out.as_os_str()];
    run(fixed.into_iter().chain(arguments.iter().map(OsStr::new)))
}

/// A lake of some tables with one part each, which is far from the whole trace.
fn small(tables: &[&str]) -> Scratch {
    let scratch = Scratch::new();
    for table in tables {
        scratch.good(table);
    }
    scratch.convert_well(&[]);
    scratch
}

/// Like [`small`], released.
fn released(tables: &[&str]) -> Scratch {
    let scratch = small(tables);
    release(&scratch.out(), &["--allow-missing"]).well();
    scratch
}

/// The existing files of a release.
fn there(out: &Path) -> Vec<&'static str> {
    let files = FILES.into_iter();
    files.filter(|name| out.join(name).exists()).collect()
}
