//! A part that is a Parquet file.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::field_order::FieldOrder;
use tracelake_core::options::Accepted;
use tracelake_encode::output::BlockBuilder;
use tracelake_encode::parquet_rows::{ParquetRows, RowChunk, RowReject};
use tracelake_location::Location;
use tracelake_source::{Fingerprint, WholeFile};

use super::blocks::{Blocks, Converted};
use super::read_progress::ReadProgress;
use crate::bad_row::{BadRow, BadShare, Place};
use crate::lake_file::{CheckedFile, Writer, read_footer, source_damaged};

/// A Parquet file of a table, to be converted.
pub struct ParquetPart {
    location: Location,
    rows: ParquetRows<CheckedFile>,
    /// How many rows the footer says that there are.
    total: u64,
    fingerprint: Fingerprint,
    tag: Option<String>,
}

impl ParquetPart {
    /// Opens a file and digests all of it; one that isn't on a disk is copied to `scratch` first.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if it isn't Parquet or damaged, [`ErrorKind::Misfit`] if it isn't of the table; when it
    /// can't be read.
    pub fn open(
        context: &Context,
        location: &Location,
        order: &FieldOrder,
        scratch: &Path,
    ) -> Result<Self> {
        let whole = WholeFile::open(context, location, scratch)?;
        let opened = read_footer(whole.file, Writer::Any);
        let (file, footer) = opened.map_err(|error| source_damaged(location, error))?;
        let footer = Arc::clone(footer.metadata());
        let total = rows_of(&footer).ok_or_else(|| {
            let reason = "is damaged: its row groups don't have as many rows as its footer says";
            Error::new(ErrorKind::Corrupt, reason).at(location)
        })?;
        let (rows, warnings) =
            ParquetRows::new(file, footer, order).map_err(|error| error.or_at(location))?;
        for warning in warnings {
            context.warn(format!("{location}: {warning}"));
        }
        Ok(Self {
            location: location.clone(),
            rows,
            total,
            fingerprint: whole.fingerprint,
            tag: whole.tag,
        })
    }

    /// The size and the digest of the file.
    #[must_use]
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    /// The tag that its server gives it.
    #[must_use]
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    pub(super) fn blocks<'a, B: BlockBuilder>(
        &'a mut self,
        order: &'a FieldOrder,
        builder: B,
        on_bad_row: &'a mut (dyn FnMut(&BadRow<'_>) -> Result<()> + Send),
        progress: &'a mut ReadProgress,
    ) -> ParquetBlocks<'a, B> {
        ParquetBlocks {
            part: self,
            has_rules: !order.rules.is_empty(),
            builder,
            next: None,
            is_begun: false,
            counts: Counts::default(),
            on_bad_row,
            progress,
        }
    }

    fn next_chunk(&mut self) -> Result<Option<RowChunk>> {
        let chunk = self.rows.next_chunk();
        chunk.map_err(|error| source_damaged(&self.location, error))
    }

    /// How many bytes of the file the rows so far stand for.
    fn position(&self) -> u64 {
        let (bytes, rows) = (
            u128::from(self.fingerprint.bytes),
            u128::from(self.rows.position()),
        );
        let position = (bytes * rows).checked_div(self.total.into());
        position
            .and_then(|position| u64::try_from(position).ok())
            .unwrap_or_default()
    }
}

/// The rows of a file, if its row groups have together as many as the footer says.
fn rows_of(footer: &parquet::file::metadata::ParquetMetaData) -> Option<u64> {
    let mut groups = footer
        .row_groups()
        .iter()
        .map(|group| u64::try_from(group.num_rows()).ok());
    let sum = groups.try_fold(0_u64, |sum, rows| sum.checked_add(rows?))?;
    (u64::try_from(footer.file_metadata().num_rows()).ok()? == sum).then_some(sum)
}

/// The rows of a Parquet file as blocks of an output. The next rows are read while these are encoded.
pub(super) struct ParquetBlocks<'a, B> {
    part: &'a mut ParquetPart,
    has_rules: bool,
    builder: B,
    /// Rows that were read and not encoded.
    next: Option<RowChunk>,
    is_begun: bool,
    counts: Counts,
    on_bad_row: &'a mut (dyn FnMut(&BadRow<'_>) -> Result<()> + Send),
    progress: &'a mut ReadProgress,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    rows: u64,
    rejected: u64,
    not_selected: u64,
}

impl<B: BlockBuilder> Blocks<B::Block> for ParquetBlocks<'_, B> {
    fn fill(&mut self) -> Result<Option<B::Block>> {
        if !std::mem::replace(&mut self.is_begun, true) {
            self.next = self.part.next_chunk()?;
        }
        while let Some(chunk) = self
            .next
            .take_if(|next| !self.builder.is_full(next.rows.len()))
        {
            let Self { part, builder, .. } = self;
            let (read, pushed) =
                rayon::join(|| part.next_chunk(), || builder.push_typed(&chunk.rows));
            pushed?;
            self.report(&chunk)?;
            self.next = read?;
            self.progress.advance(self.part.position())?;
        }
        self.builder.finish()
    }

    fn converted(&self) -> Converted {
        let others = self.builder.others();
        Converted {
            rows_in: self.counts.rows,
            rows_out: self.builder.pushed(),
            rows_rejected: self.counts.rejected,
            rows_not_selected: self.has_rules.then_some(self.counts.not_selected),
            sentinels_mapped: others.sentinels,
            accepted: Accepted {
                integral_floats: others.integral_floats,
                ..Accepted::default()
            },
            time: self.builder.time(),
        }
    }
}

impl<B> ParquetBlocks<'_, B> {
    /// Counts the rows of a chunk, and reports the bad ones.
    fn report(&mut self, chunk: &RowChunk) -> Result<()> {
        let first_chunk = (self.counts.rows == 0).then(|| BadShare {
            bad: chunk.rejects.len() as u64,
            rows: chunk.count(),
        });
        self.counts.rows += chunk.count();
        self.counts.not_selected += chunk.not_selected;
        for reject in &chunk.rejects {
            (self.on_bad_row)(&bad_row(reject, first_chunk))?;
            self.counts.rejected += 1;
        }
        Ok(())
    }
}

fn bad_row(reject: &RowReject, first_chunk: Option<BadShare>) -> BadRow<'_> {
    BadRow {
        place: Place::Row {
            row_group: reject.row_group,
            row: reject.row,
        },
        raw: Cow::Borrowed(&reject.raw),
        value: Cow::Borrowed(&reject.value),
        column: Some(Arc::clone(&reject.column)),
        inner: Cow::Borrowed(&reject.inner),
        fault: reject.fault,
        first_chunk,
    }
}

#[cfg(test)]
mod tests;
