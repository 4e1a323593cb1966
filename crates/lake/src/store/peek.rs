//! A lake looked at without changing it: what `--dry-run` and `inspect` need.

use std::fs::{self, TryLockError};
use std::sync::Mutex;

use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_location::Location;
use tracelake_location::directory;

use super::bucket;
use super::disk::{Access, refuse_symlink};
use super::{HOME, LOCK, Lake, busy, something_else};

impl Lake {
    /// Opens the lake at `root` without changing anything; `None` where there is no lake yet.
    ///
    /// # Errors
    /// As [`Lake::open`]: [`ErrorKind::Refused`] when `root` is something else or another process
    /// works on it.
    pub fn peek(location: &Location) -> Result<Option<Self>> {
        let Some(root) = location.as_path() else {
            return match bucket::look(location)? {
                true => Self::in_bucket(location).map(Some),
                false => Ok(None),
            };
        };
        if !root.exists() {
            return Ok(None);
        }
        if !root.is_dir() {
            return Err(Error::new(ErrorKind::Failed, "is not a directory")
                .at(root)
                .hint("name an empty or new directory for the lake"));
        }
        if fs::symlink_metadata(root.join(HOME)).is_err() {
            let names = directory::names(root).map_err(|error| Error::io("list", root, error))?;
            return match names.is_empty() {
                true => Ok(None),
                false => Err(something_else(location)),
            };
        }
        let path = root.join(HOME).join(LOCK);
        refuse_symlink(&path)?;
        let lock = match fs::File::open(&path) {
            Ok(file) => {
                match file.try_lock_shared() {
                    Ok(()) => {}
                    Err(TryLockError::WouldBlock) => return Err(busy(location)),
                    Err(TryLockError::Error(error)) => return Err(Error::io("lock", &path, error)),
                }
                Some(file)
            }
            Err(_) => None,
        };
        Ok(Some(Self {
            root: location.clone(),
            own_plan: Mutex::default(),
            lock,
            access: Access::Shared,
            created_dirs: Vec::new(),
            left_behind: 0,
            staging: Mutex::default(),
            synced: Mutex::default(),
        }))
    }
}
