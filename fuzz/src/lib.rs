//! What several targets need: a directory in memory, and options in front of the input proper.

use std::path::Path;

use tempfile::TempDir;

/// A directory that goes away when dropped; in memory where the system offers that.
#[must_use]
pub fn directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    let builder = || {
        let mut builder = tempfile::Builder::new();
        builder.prefix("tracelake-fuzz-");
        builder
    };
    if memory.is_dir() {
        if let Ok(directory) = builder().tempdir_in(memory) {
            return directory;
        }
    }
    builder()
        .tempdir()
        .expect("a directory for temporary files")
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
