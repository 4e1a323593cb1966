//! The descriptors of stdin, stdout and stderr, which a caller may have closed.

use std::io;

/// Opens descriptors 0 to 2 on `/dev/null` where they are closed. Otherwise the next files that are opened get their
/// numbers, and what is said on stderr goes into one of them. The standard library does so for a Rust program alone.
///
/// # Errors
/// If `/dev/null` can't be opened.
#[cfg(unix)]
pub fn open() -> io::Result<()> {
    use std::fs::File;
    use std::os::fd::{AsFd, AsRawFd, IntoRawFd};

    let is_open = |stream: &dyn AsFd| stream.as_fd().try_clone_to_owned().is_ok();
    while ![&io::stdin() as &dyn AsFd, &io::stdout(), &io::stderr()]
        .into_iter()
        .all(is_open)
    {
        let null = File::options().read(true).write(true).open("/dev/null")?;
        // It has the lowest number that is free.
        if null.as_raw_fd() > 2 {
            break;
        }
        let _ = null.into_raw_fd();
    }
    Ok(())
}

/// Elsewhere a number isn't given again.
///
/// # Errors
/// Never.
#[cfg(not(unix))]
pub fn open() -> io::Result<()> {
    Ok(())
}
