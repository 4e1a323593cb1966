//! A file of a lake on a disk that isn't visible yet: written, synced, then renamed or linked to its name.

use std::io::{self, ErrorKind as Io, Write};
use std::path::PathBuf;

use tracelake_core::error::{Error, Result};

use super::directories::Directories;
use super::system::Written;
use super::waits::TRIALS;
use super::{NewNames, Unfinished};
use crate::rules::{Rule, holds};

/// A staged file.
#[derive(Debug)]
pub(super) struct StagedFile {
    directories: Directories,
    /// The path that it will have in the lake.
    target: String,
    /// Where it is, unless it was renamed.
    staged: Option<PathBuf>,
    /// Gone once it is synced.
    file: Option<Box<dyn Written>>,
}

impl StagedFile {
    pub(super) fn create(directories: &Directories, path: &str) -> Result<Self> {
        let staged = directories.staging()?.join(path.replace('/', "-"));
        let file = directories.system.create(&staged);
        let file = file.map_err(|error| Error::io("make", &staged, error))?;
        Ok(Self {
            directories: directories.clone(),
            target: path.to_owned(),
            staged: Some(staged),
            file: Some(file),
        })
    }

    /// Stages a small file, synced.
    pub(super) fn of_bytes(directories: &Directories, path: &str, bytes: &[u8]) -> Result<Self> {
        let mut file = Self::create(directories, path)?;
        let written = file.write_all(bytes);
        written.map_err(|error| Error::disk("write", error).at(directories.root.join(path)))?;
        file.close()?;
        Ok(file)
    }

    /// Gives a staged file its name, unless the name is taken.
    pub(super) fn link(self, names: &mut NewNames) -> Result<bool> {
        let directories = self.directories.clone();
        let target = directories.place(&self.target)?;
        let Some(staged) = &self.staged else {
            return Ok(false);
        };
        directories.make_above(&target, names)?;
        let mut linked = directories.system.link(staged, &target);
        for _ in 0..TRIALS {
            if !matches!(&linked, Err(error) if error.kind() == Io::NotFound) {
                break;
            }
            // Its directory went with the last file in it, which another run has just removed.
            directories.forget_above(&target, names);
            directories.make_above(&target, names)?;
            linked = directories.system.link(staged, &target);
        }
        match linked {
            Ok(()) => {
                names.files.insert(target);
                Ok(true)
            }
            Err(error) if error.kind() == Io::AlreadyExists => {
                // Who linked it may not have synced its name yet.
                names.files.insert(target);
                Ok(false)
            }
            Err(error) if error.kind() == Io::NotFound => Err(Error::io("link to", &target, error)),
            // A file system without links.
            Err(_) => {
                let _lock = directories.lock()?;
                if directories.existing(&self.target)?.is_some() {
                    names.files.insert(target);
                    return Ok(false);
                }
                Box::new(self).show(names)?;
                Ok(true)
            }
        }
    }
}

impl Write for StagedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.file {
            Some(file) => file.write(bytes),
            None => Err(Io::NotConnected.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), |file| file.flush())
    }
}

impl Unfinished for StagedFile {
    fn close(&mut self) -> Result<()> {
        let Some(mut file) = self.file.take() else {
            return Ok(());
        };
        let target = self.directories.root.join(&self.target);
        if !holds(Rule::BytesBeforeName) {
            return Ok(());
        }
        file.sync()
            .map_err(|error| Error::io("fsync", &target, error))
    }

    /// A closed file isn't open any more.
    fn set_aside(&mut self) -> Result<()> {
        self.close()
    }

    fn show(mut self: Box<Self>, names: &mut NewNames) -> Result<()> {
        self.close()?;
        let target = self.directories.place(&self.target)?;
        self.directories.make_above(&target, names)?;
        if let Some(staged) = &self.staged {
            let renamed = self.directories.system.rename(staged, &target);
            renamed.map_err(|error| Error::io("rename to", &target, error))?;
        }
        self.staged = None;
        names.files.insert(target);
        Ok(())
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        self.file = None;
        if let Some(staged) = self.staged.take() {
            let _ = self.directories.system.remove_file(&staged);
        }
    }
}
