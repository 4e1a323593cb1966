//! The setting that targets share: a trace, a directory, a context, and options from the input.

use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use tracelake_core::Context;
use tracelake_schema::{TRACES, Trace};

/// The trace that targets convert: the first of the catalog that is published in parts alone.
#[must_use]
pub fn trace() -> &'static Arc<Trace> {
    let mut traces = TRACES.iter();
    traces
        .find(|trace| trace.in_parts())
        .expect("a trace in parts")
}

/// A directory that goes away when dropped; in memory where the system offers that.
#[must_use]
pub fn directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    let builder = || {
        let mut builder = tempfile::Builder::new();
        builder.prefix("tracelake-fuzz-");
        builder
    };
    if memory.is_dir()
        && let Ok(directory) = builder().tempdir_in(memory)
    {
        return directory;
    }
    builder()
        .tempdir()
        .expect("a directory for temporary files")
}

/// A context of one thread, so that an input does the same each time.
pub(crate) fn context() -> Context {
    Context::new().with_threads(1)
}

/// The first `N` bytes, which choose what is done, and the rest, which it is done to. Options that
/// are not there are 0, so a short input is one as well.
#[must_use]
pub fn options<const N: usize>(data: &[u8]) -> ([u8; N], &[u8]) {
    let mut options = [0; N];
    let there = data.len().min(N);
    options[..there].copy_from_slice(&data[..there]);
    (options, &data[there..])
}
