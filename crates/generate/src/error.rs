//! What can go wrong while generating.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why a synthetic trace could not be made.
#[derive(Debug)]
pub enum Error {
    /// The options ask for something that is not possible.
    Options(String),
    /// The trace has a table or a column that the simulated cluster has nothing for.
    Unsupported(String),
    /// The output directory holds something already.
    NotEmpty(PathBuf),
    /// Reading or writing failed.
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was being done with it, as in `cannot create`.
        doing: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
}

impl Error {
    /// Wraps what the system said with what was being done.
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
