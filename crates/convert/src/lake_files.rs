//! The files of a lake that is read again: only if they are what its manifest says.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::options::Format;
use tracelake_lake::inside;
use tracelake_lake::manifest::{FileFacts, PartFacts};
use tracelake_location::{Location, RandomAccess};
use tracelake_schema::Table;
use tracelake_schema::arrow::{arrow_schema, fingerprint};
use tracelake_source::{WholeFile, fingerprint as digest};

use crate::lake_file::{BatchIterator, LakeFile};

/// The files of a lake, which are read only if they are what its manifest says.
pub struct LakeFiles<'a> {
    pub(crate) context: &'a Context,
    lake: &'a Location,
    format: Format,
    /// A directory for copies of files that aren't on a disk.
    scratch: &'a Path,
    /// The paths of files that were digested.
    digested: Mutex<BTreeSet<String>>,
}

impl<'a> LakeFiles<'a> {
    /// The files of a lake in this format; those that aren't on a disk are copied to nameless files in `scratch`.
    #[must_use]
    pub fn new(
        context: &'a Context,
        lake: &'a Location,
        format: Format,
        scratch: &'a Path,
    ) -> Self {
        Self {
            context,
            lake,
            format,
            scratch,
            digested: Mutex::default(),
        }
    }

    /// The place of a file whose bytes are those of the manifest.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if they aren't.
    pub(crate) fn check(&self, facts: &FileFacts) -> Result<Location> {
        let path = inside(self.lake, &facts.path)?;
        let found = digest(self.context, &path).map_err(|error| self.missing(&path, error))?;
        self.compare(&path, facts, (found.bytes, found.sha256))?;
        Ok(path)
    }

    fn missing(&self, path: &Location, error: Error) -> Error {
        // A server may have other reasons.
        match path.as_path().is_some_and(|path| !path.exists()) {
            true => error.of_kind(ErrorKind::Corrupt).hint(self.verify()),
            false => error,
        }
    }

    fn verify(&self) -> String {
        let lake = tracelake_core::words::for_shell(self.lake);
        format!(
            "the lake is damaged: tracelake verify {lake} names what is, and converting again restores it"
        )
    }

    fn compare(
        &self,
        path: &Location,
        facts: &FileFacts,
        found: (u64, tracelake_core::digest::Digest),
    ) -> Result<()> {
        if found == (facts.bytes, facts.sha256) {
            return Ok(());
        }
        let reason = "isn't the file that the manifest of the lake names";
        Err(Error::new(ErrorKind::Corrupt, reason)
            .at(path)
            .hint(self.verify()))
    }

    /// Opens the rows of a part from some row on.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if its file isn't the one that the manifest names; if it can't be read.
    pub fn rows(&self, table: &Table, part: &PartFacts, from: u64) -> Result<BatchIterator> {
        let facts = &part.output;
        let path = inside(self.lake, &facts.path)?;
        let known = || self.digested.lock().unwrap_or_else(PoisonError::into_inner);
        let file = if known().contains(&facts.path) {
            RandomAccess::open(&path)?
        } else {
            let whole = WholeFile::open(self.context, &path, self.scratch);
            let whole = whole.map_err(|error| self.missing(&path, error))?;
            self.compare(
                &path,
                facts,
                (whole.fingerprint.bytes, whole.fingerprint.sha256),
            )?;
            known().insert(facts.path.clone());
            whole.file
        };
        let file = LakeFile::of(file, &path, self.format)?;
        let rows = file.rows(&path)?;
        if rows != part.rows_out || fingerprint(file.schema()) != fingerprint(&arrow_schema(table))
        {
            let reason = "has other rows or columns than the manifest of the lake says";
            return Err(Error::new(ErrorKind::Corrupt, reason)
                .at(path)
                .hint(self.verify()));
        }
        file.batches_after(from)
            .map_err(|error| unreadable(&path, &error))
    }

    /// A batch that was read of a part.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if it couldn't be read.
    pub fn batch(
        &self,
        part: &PartFacts,
        read: std::result::Result<RecordBatch, ArrowError>,
    ) -> Result<RecordBatch> {
        read.map_err(|error| unreadable(&self.lake.join(&part.output.path), &error))
    }

    /// The error for a batch whose columns aren't those of the table.
    #[must_use]
    pub fn other_columns(&self, part: &PartFacts) -> Error {
        Error::new(ErrorKind::Corrupt, "has other columns than its table")
            .at(self.lake.join(&part.output.path))
            .hint(self.verify())
    }
}

fn unreadable(path: &Location, error: &ArrowError) -> Error {
    Error::new(ErrorKind::Corrupt, format!("cannot be read: {error}")).at(path)
}
