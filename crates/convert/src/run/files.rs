//! One part: from its text to staged files, to files under their names, to facts.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use tracelake_core::error::{Error, ErrorKind, Result, escape};
use tracelake_core::event::Event;
use tracelake_core::field_order::FieldOrder;
use tracelake_core::options::OnBadRow;
use tracelake_lake::manifest::{FileFacts, PartFacts};
use tracelake_lake::store::{Committed, Journal, Staged, Staging};
use tracelake_source::{Fingerprint, Source};

use super::recheck::{check_footer, steady};
use super::{Run, Shared, TablePart};
use crate::bad_row::BadRow;
use crate::part::{
    Beginning, Converted, ReadProgress, TableText, convert_part, enter_member, leave_member,
};
use crate::plan::{PartPlan, TableIndex, TablePlan, check_sha256};

/// The files of a part, which are not on the disk yet.
pub(super) struct Written {
    converted: Converted,
    output: Staging,
    rejects: Option<Staging>,
}

/// A part that is converted, and what was read of its file.
pub(super) struct StagedPart {
    key: TablePart,
    /// How many parts the table has as published, if this file alone is the source.
    in_all: Option<u32>,
    /// Its file, as the lake records it.
    source: FileFacts,
    /// The file, if its server wasn't asked yet whether it is still the one that was read.
    unconfirmed: Option<Source>,
    written: Written,
}

/// A part whose bytes are on the disk, but whose files don't have their names.
pub(super) struct SyncedPart {
    pub(super) table: TableIndex,
    pub(super) facts: PartFacts,
    /// The output last.
    files: Vec<Staged>,
}

/// A part that waits to be committed.
pub(super) enum WaitingPart {
    /// Made from a whole file; not synced yet.
    Staged(Box<StagedPart>),
    /// Made from a file that is cut into parts and was checked to its end; synced.
    Synced(SyncedPart),
}

impl WaitingPart {
    pub(super) fn key(&self) -> TablePart {
        match self {
            Self::Staged(part) => part.key,
            Self::Synced(part) => (part.table, part.facts.key()),
        }
    }

    fn sync(self) -> Result<SyncedPart> {
        match self {
            Self::Staged(part) => part.sync(),
            Self::Synced(part) => Ok(part),
        }
    }
}

impl StagedPart {
    /// Syncs its files.
    fn sync(self) -> Result<SyncedPart> {
        // The output must have been made from what is at SRC now.
        if let Some(source) = &self.unconfirmed {
            source.confirm()?;
        }
        let mut synced = SyncedPart::new(self.key, self.source, self.written, Staging::close)?;
        synced.facts.in_all = self.in_all;
        Ok(synced)
    }
}

impl SyncedPart {
    /// Makes sure that the files of a part are on the disk, each by `close`.
    pub(super) fn new(
        (table, key): TablePart,
        source: FileFacts,
        written: Written,
        close: fn(Staging) -> Result<Staged>,
    ) -> Result<Self> {
        let Written {
            converted,
            output,
            rejects,
        } = written;
        let rejects = rejects.map(close).transpose()?;
        let output = close(output)?;
        let mut facts = PartFacts::new(key, source, output.facts().clone());
        facts.rows_in = converted.rows_in;
        facts.rows_out = converted.rows_out;
        facts.rows_rejected = converted.rows_rejected;
        facts.rows_not_selected = converted.rows_not_selected;
        facts.sentinels_mapped = converted.sentinels_mapped;
        facts.set_accepted(converted.accepted);
        facts.time_min = converted.time.map(|(min, _)| min);
        facts.time_max = converted.time.map(|(_, max)| max);
        facts.rejects = (rejects.as_ref()).map(|rejects| Box::new(rejects.facts().clone()));
        Ok(Self {
            table,
            facts,
            files: rejects.into_iter().chain([output]).collect(),
        })
    }
}

impl Run<'_> {
    /// Converts a file that is a part, and opens it unless it is `opened`.
    pub(super) fn convert_file(
        &self,
        table: &TablePlan,
        part: &PartPlan,
        opened: Option<Source>,
    ) -> Result<WaitingPart> {
        let path = self.plan.source.join(&part.source);
        self.context.check()?;
        let mut source = match opened {
            Some(source) => source,
            None => self.open(&path)?,
        };
        let order = table.order.of_file(&part.source)?;
        enter_member(&mut source, order.table)?;
        let beginning = Beginning::of(&mut source, order)?;
        let order = &beginning.order;
        let text_location = PathBuf::from(source.text_location());
        let mut text = TableText::new(&mut source, &beginning, None);
        text.next_part()?;
        let mut progress = ReadProgress::new(&self.context);
        let written = self.stage(
            (table, order),
            part,
            &text_location,
            &mut text,
            &mut progress,
        )?;
        leave_member(&mut source, order.table)?;
        let fingerprint = source.fingerprint();
        if let Some(expected) = part.sha256 {
            check_sha256(&path, expected, fingerprint.sha256)?;
        }
        progress.report(fingerprint.bytes);
        source.warn_of_zeros();
        let staged = StagedPart {
            in_all: part.in_all,
            key: (table.index, part.key),
            source: recorded(part, fingerprint),
            // On disk there is nothing to confirm, and the buffers of a file needn't wait for the disk.
            unconfirmed: path.as_path().is_none().then_some(source),
            written,
        };
        Ok(WaitingPart::Staged(Box::new(staged)))
    }

    /// Converts one part into staged files; `path` is for people.
    pub(super) fn stage(
        &self,
        (table, order): (&TablePlan, &FieldOrder),
        part: &PartPlan,
        path: &Path,
        text: &mut TableText<'_>,
        progress: &mut ReadProgress,
    ) -> Result<Written> {
        let schema = &table.schema;
        self.context.emit(Event::Started {
            table: order.table.name,
            part: part.key,
        });
        let mut rejects: Option<BufWriter<Staging>> = None;
        let (converted, output) = convert_part(
            text,
            order,
            schema,
            self.plan.encoding,
            self.lake.stage(&part.output())?,
            &mut |bad_row| match self.plan.origin.options.on_bad_row {
                OnBadRow::Fail => Err(bad_row.to_error(path, order)),
                OnBadRow::Reject => {
                    if rejects.is_none() {
                        self.wrong_file_warning(table, path, bad_row);
                    }
                    self.count_rejects(1).map_err(|error| error.at(path))?;
                    let file = match rejects.take() {
                        Some(file) => file,
                        None => BufWriter::new(self.lake.stage(&part.rejects())?),
                    };
                    let written = rejects.insert(file).write_all(&bad_row.to_json()?);
                    written.map_err(|error| self.rejects_failed(part, error))
                }
            },
            progress,
        )
        .map_err(|error| match error.kind() {
            ErrorKind::Failed => error.or_at(self.lake.root().join(&part.output())),
            _ => error,
        })?;
        let rejects = match rejects.map(BufWriter::into_inner) {
            Some(Ok(rejects)) => Some(rejects),
            Some(Err(error)) => return Err(self.rejects_failed(part, error.into_error())),
            None => None,
        };
        tracing::debug!(
            source = part.source,
            rows_in = converted.rows_in,
            rows_rejected = converted.rows_rejected,
            "staged"
        );
        Ok(Written {
            converted,
            output,
            rejects,
        })
    }

    /// Warns that a file is hardly one of its table, for the first such file of a table.
    fn wrong_file_warning(&self, table: &TablePlan, path: &Path, bad_row: &BadRow<'_>) {
        let Some(doubt) = bad_row.wrong_file_warning(&table.order) else {
            return;
        };
        let mut doubted = self.doubted.lock().unwrap_or_else(PoisonError::into_inner);
        if doubted.insert(table.index) {
            let path = escape(path.as_os_str().as_encoded_bytes(), usize::MAX);
            self.context.warn(format!("{path}: {doubt}"));
        }
    }

    fn rejects_failed(&self, part: &PartPlan, error: io::Error) -> Error {
        Error::disk("write", error).at(self.lake.root().join(&part.rejects()))
    }

    /// Puts parts on the disk and under their names, and notes them: first the bytes of all of them, then their names.
    /// The first one takes the manifest away. Returns the facts of each, or why it isn't committed.
    ///
    /// # Errors
    /// When none of them is.
    pub(super) fn commit_all(
        &self,
        shared: &Shared,
        parts: Vec<WaitingPart>,
    ) -> Result<Vec<Result<PartFacts>>> {
        let mut files = Vec::new();
        let mut synced = Vec::new();
        for part in parts {
            synced.push(part.sync().map(|part| {
                let count = part.files.len();
                files.extend(part.files);
                (part.table, part.facts, count)
            }));
        }
        if !files.is_empty() {
            self.with_journal(shared, |_| Ok(()))?;
        }
        let mut committed = self.lake.commit_all(files)?.into_iter();
        let parts = synced.into_iter().map(|part| {
            let (table, facts, count) = part?;
            let files: Vec<_> = committed.by_ref().take(count).collect();
            let files: Vec<Committed> = files.into_iter().collect::<Result<_>>()?;
            let etags = files.iter().filter_map(Committed::etag).collect();
            self.finish(shared, table.table(self.plan.trace).name, &facts, etags)?;
            Ok(facts)
        });
        Ok(parts.collect())
    }

    /// Notes a part that is committed, once its footer has been read back, and reports it.
    pub(super) fn finish(
        &self,
        shared: &Shared,
        table: &'static str,
        facts: &PartFacts,
        etags: BTreeMap<String, String>,
    ) -> Result<()> {
        self.count_in_manifest(facts)?;
        let (root, format) = (self.lake.root(), self.plan.encoding.format());
        steady(|| check_footer(root, format, table, facts))?;
        self.with_journal(shared, |journal| journal.note(table, facts, etags))?;
        tracing::debug!(output = facts.output.path, "committed");
        self.context.emit(Event::Finished {
            table,
            part: facts.key(),
            rows: facts.rows_out,
            rejected: facts.rows_rejected,
            bytes_out: facts.output.bytes,
        });
        Ok(())
    }

    /// Starts the journal of this process. One that has the lake alone lists the parts that stay, so that
    /// the manifest and all other facts can go.
    fn begin(&self, shared: &Shared) -> Result<Journal> {
        let origin = &self.plan.origin;
        if !self.lake.is_alone() {
            return self.lake.join_in(origin);
        }
        if !shared.continues {
            self.lake.remove_plan()?;
        }
        let name = |index: &TableIndex| index.table(self.plan.trace).name;
        let kept = (shared.kept.iter()).map(|((index, _), facts)| (name(index), facts));
        let asked = self.plan.to_file(1, self.run_options.max_rejects);
        self.lake.begin(origin, Some(&asked), kept)
    }

    /// Does something with the journal, which is begun when it is first needed.
    pub(super) fn with_journal(
        &self,
        shared: &Shared,
        work: impl FnOnce(&Journal) -> Result<()>,
    ) -> Result<()> {
        let journal = shared.journal.lock();
        let mut journal = journal.unwrap_or_else(PoisonError::into_inner);
        let begun = match &*journal {
            Some(begun) => Arc::clone(begun),
            None => Arc::clone(journal.insert(Arc::new(self.begin(shared)?))),
        };
        // In a bucket, other threads note their parts at the same time.
        drop(journal);
        work(&begun)
    }
}

/// The file of a part as the lake records it.
pub(super) fn recorded(part: &PartPlan, read: Fingerprint) -> FileFacts {
    FileFacts {
        path: part.recorded().to_owned(),
        bytes: read.bytes,
        sha256: read.sha256,
    }
}
