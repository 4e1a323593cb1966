//! The rows of a lake: those of whole files to be sorted, and those of some files in their order.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::options::Format;
use tracelake_encode::packed_rows::RowPacker;
use tracelake_lake::inside;
use tracelake_lake::manifest::{FileFacts, PartFacts};
use tracelake_location::{Location, RandomAccess};
use tracelake_schema::Table;
use tracelake_schema::arrow::{arrow_schema, fingerprint};
use tracelake_source::{WholeFile, fingerprint as digest};

use super::write::{Chunk, Chunks};
use crate::lake_file::{BatchIterator, LakeFile};

/// The files of a lake, which are read only if they are what its manifest says.
pub(super) struct LakeFiles<'a> {
    pub(super) context: &'a Context,
    pub(super) lake: &'a Location,
    pub(super) format: Format,
    /// A directory for copies of files that aren't on a disk.
    pub(super) scratch: &'a Path,
    /// The paths of files that were digested.
    pub(super) digested: Mutex<BTreeSet<String>>,
}

impl LakeFiles<'_> {
    /// The place of a file whose bytes are those of the manifest.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if they aren't.
    pub(super) fn check(&self, facts: &FileFacts) -> Result<Location> {
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
    pub(super) fn rows(&self, table: &Table, part: &PartFacts, from: u64) -> Result<BatchIterator> {
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
    pub(super) fn batch(
        &self,
        part: &PartFacts,
        read: std::result::Result<RecordBatch, ArrowError>,
    ) -> Result<RecordBatch> {
        read.map_err(|error| unreadable(&self.lake.join(&part.output.path), &error))
    }

    /// The error for a batch whose columns aren't those of the table.
    pub(super) fn other_columns(&self, part: &PartFacts) -> Error {
        Error::new(ErrorKind::Corrupt, "has other columns than its table")
            .at(self.lake.join(&part.output.path))
            .hint(self.verify())
    }
}

fn unreadable(path: &Location, error: &ArrowError) -> Error {
    Error::new(ErrorKind::Corrupt, format!("cannot be read: {error}")).at(path)
}

/// Some rows of a table, in their order.
pub(super) struct CutChunks<'a> {
    files: &'a LakeFiles<'a>,
    table: Arc<Table>,
    packer: RowPacker,
    /// The parts that are left.
    parts: &'a [PartFacts],
    /// Rows to skip in the first of them.
    skipped: u64,
    /// Rows that are left.
    left: u64,
    batches: Option<BatchIterator>,
    batch: RecordBatch,
    next: usize,
}

impl<'a> CutChunks<'a> {
    /// `rows` rows of some parts, after the first `skipped`.
    pub(super) fn new(
        files: &'a LakeFiles<'a>,
        table: &Arc<Table>,
        mut parts: &'a [PartFacts],
        mut skipped: u64,
        rows: u64,
    ) -> Self {
        while let Some((first, rest)) = parts.split_first()
            && first.rows_out <= skipped
        {
            skipped -= first.rows_out;
            parts = rest;
        }
        Self {
            files,
            table: Arc::clone(table),
            packer: RowPacker::new(table, &[]),
            parts,
            skipped,
            left: rows,
            batches: None,
            batch: RecordBatch::new_empty(arrow_schema(table)),
            next: 0,
        }
    }

    /// Makes sure that there is a row at hand; false at the end.
    fn fill(&mut self) -> Result<bool> {
        while self.next == self.batch.num_rows() {
            let Some((part, rest)) = self.parts.split_first() else {
                return Ok(false);
            };
            let batches = match &mut self.batches {
                Some(batches) => batches,
                None => {
                    let opened = self.files.rows(&self.table, part, self.skipped)?;
                    self.skipped = 0;
                    self.batches.insert(opened)
                }
            };
            match batches.next() {
                Some(batch) => (self.batch, self.next) = (self.files.batch(part, batch)?, 0),
                None => (self.batches, self.parts) = (None, rest),
            }
        }
        Ok(true)
    }
}

impl Chunks for CutChunks<'_> {
    fn next_chunk(&mut self) -> Result<Chunk> {
        let mut chunk = Chunk::default();
        let mut values = Vec::new();
        while self.left > 0 && self.fill()? {
            let part = self.parts.first();
            let Some(rows) = self.packer.batch(&self.batch) else {
                return Err(part.map_or_else(
                    || Error::new(ErrorKind::Failed, "a batch of no file"),
                    |part| self.files.other_columns(part),
                ));
            };
            while self.left > 0 && self.next < self.batch.num_rows() {
                values.clear();
                rows.push_values(self.next, &mut values);
                if !chunk.push(&values) {
                    return Ok(chunk);
                }
                self.next += 1;
                self.left -= 1;
            }
        }
        Ok(chunk)
    }
}
