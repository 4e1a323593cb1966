//! Errors while generating.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why generating a trace failed.
#[derive(Debug)]
pub enum Error {
    /// The options ask for something impossible.
    Options(String),
    /// The trace has a table or a column that the simulation doesn't provide.
    Unsupported(String),
    /// The output directory isn't empty.
    NotEmpty(PathBuf),
    /// A run with other options left the output directory unfinished.
    Unfinished(PathBuf),
    /// The caller asked for a stop; the output directory is unfinished.
    Stopped(PathBuf),
    /// Reading or writing failed.
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The failed operation, as in `cannot create`.
        doing: &'static str,
        /// The error of the system.
        source: std::io::Error,
    },
}

impl Error {
    /// Adds the path and what was being done to an error of the system.
    pub(crate) fn io(path: &Path, doing: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io {
            path: path.to_path_buf(),
            doing,
            source,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Options(reason) | Self::Unsupported(reason) => out.write_str(reason),
            Self::NotEmpty(path) => {
                write!(
                    out,
                    "{}: not empty; generate into a new directory",
                    path.display()
                )
            }
            Self::Unfinished(path) => write!(
                out,
                "{}: a run with other options stopped here; repeat its options, or remove the directory",
                path.display()
            ),
            Self::Stopped(path) => write!(
                out,
                "{}: stopped before it was finished; run the same command again to replace it",
                path.display()
            ),
            Self::Io {
                path,
                doing,
                source,
            } => {
                write!(out, "{}: {doing}: {source}", path.display())
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
