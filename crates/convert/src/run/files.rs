//! One part: from its text to staged files, to files under their names, to facts.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result, escape};
use tracelake_core::event::Event;
use tracelake_core::field_order::FieldOrder;
use tracelake_core::options::{Format, OnBadRow};
use tracelake_lake::manifest::{FileFacts, PartFacts};
use tracelake_lake::{MadePart, PartName, Staged, Staging, inside};
use tracelake_location::Location;
use tracelake_source::{Fingerprint, Source};

use super::step::Run;
use crate::bad_row::BadRow;
use crate::lake_file::LakeFile;
use crate::part::{
    Beginning, Converted, ParquetPart, PartRows, ReadProgress, TableText, convert_part,
    enter_member, leave_member,
};
use crate::plan::{PartPlan, TablePlan, check_sha256};

/// The files of a part, which are not on the disk yet.
pub(super) struct Written {
    converted: Converted,
    output: Staging,
    rejects: Option<Staging>,
}

/// A part that is converted, and what was read of its file.
pub(super) struct StagedPart {
    name: PartName,
    /// How many parts the table has as published, if this file alone is the source.
    in_all: Option<u32>,
    /// Its file, as the lake records it.
    source: FileFacts,
    /// The file, if its server wasn't asked yet whether it is still the one that was read.
    unconfirmed: Option<Source>,
    written: Written,
}

/// A part that waits to be committed.
pub(super) enum WaitingPart {
    /// Made from a whole file; not synced yet.
    Staged(Box<StagedPart>),
    /// Made from a file that is cut into parts and was checked to its end; synced.
    Synced(MadePart),
}

impl WaitingPart {
    fn sync(self) -> Result<MadePart> {
        match self {
            Self::Staged(part) => part.sync(),
            Self::Synced(part) => Ok(part),
        }
    }
}

impl StagedPart {
    /// Syncs its files.
    fn sync(self) -> Result<MadePart> {
        // The output must have been made from what is at SRC now.
        let tag = match &self.unconfirmed {
            Some(source) => source.confirm()?,
            None => None,
        };
        let mut made = self.written.sync(self.name, self.source, Staging::close)?;
        made.facts.in_all = self.in_all;
        made.tag = tag;
        Ok(made)
    }
}

impl Written {
    /// Makes sure that the files of a part are on the disk, each by `close`.
    pub(super) fn sync(
        self,
        name: PartName,
        source: FileFacts,
        close: fn(Staging) -> Result<Staged>,
    ) -> Result<MadePart> {
        let Self {
            converted,
            output,
            rejects,
        } = self;
        let rejects = rejects.map(close).transpose()?;
        let output = close(output)?;
        let mut facts = PartFacts::new(name.key, source, output.facts().clone());
        facts.rows_in = converted.rows_in;
        facts.rows_out = converted.rows_out;
        facts.rows_rejected = converted.rows_rejected;
        facts.rows_not_selected = converted.rows_not_selected;
        facts.sentinels_mapped = converted.sentinels_mapped;
        facts.set_accepted(converted.accepted);
        facts.time_min = converted.time.map(|(min, _)| min);
        facts.time_max = converted.time.map(|(_, max)| max);
        facts.rejects = (rejects.as_ref()).map(|rejects| Box::new(rejects.facts().clone()));
        Ok(MadePart {
            name,
            facts,
            tag: None,
            is_cut: false,
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
        if table.is_parquet {
            return self.convert_parquet(table, part, &path);
        }
        let mut source = match opened {
            Some(source) => source,
            None => Source::open(&self.context, &path)?,
        };
        let order = self.plan.order_of(table, &part.source)?;
        enter_member(&mut source, &order.table)?;
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
            PartRows::Text(&mut text),
            &mut progress,
        )?;
        leave_member(&mut source, &order.table)?;
        let fingerprint = source.fingerprint();
        if let Some(expected) = part.sha256 {
            check_sha256(&path, expected, fingerprint.sha256)?;
        }
        progress.report(fingerprint.bytes);
        source.warn_of_zeros();
        let staged = StagedPart {
            in_all: part.in_all,
            name: PartName::new(&table.order.table.name, part.key),
            source: recorded(part, fingerprint),
            // On disk there is nothing to confirm, and the buffers of a file needn't wait for the disk.
            unconfirmed: path.as_path().is_none().then_some(source),
            written,
        };
        Ok(WaitingPart::Staged(Box::new(staged)))
    }

    /// Converts a Parquet file that is a part. All of it was digested before.
    fn convert_parquet(
        &self,
        table: &TablePlan,
        part: &PartPlan,
        path: &Location,
    ) -> Result<WaitingPart> {
        let order = self.plan.order_of(table, &part.source)?;
        let scratch = self.working.scratch()?;
        let mut file = ParquetPart::open(&self.context, path, &order, &scratch)?;
        let fingerprint = file.fingerprint().clone();
        if let Some(expected) = part.sha256 {
            check_sha256(path, expected, fingerprint.sha256)?;
        }
        let mut progress = ReadProgress::new(&self.context);
        let written = self.stage(
            (table, &order),
            part,
            &PathBuf::from(path),
            PartRows::Parquet(&mut file),
            &mut progress,
        )?;
        progress.report(fingerprint.bytes);
        let name = PartName::new(&table.order.table.name, part.key);
        let source = recorded(part, fingerprint);
        let mut made = written.sync(name, source, Staging::close)?;
        made.facts.in_all = part.in_all;
        made.tag = file.tag().map(str::to_owned);
        Ok(WaitingPart::Synced(made))
    }

    /// Converts one part into staged files; `path` is for people.
    pub(super) fn stage(
        &self,
        (table, order): (&TablePlan, &FieldOrder),
        part: &PartPlan,
        path: &Path,
        rows: PartRows<'_, '_>,
        progress: &mut ReadProgress,
    ) -> Result<Written> {
        self.context.emit(Event::Started {
            table: order.table.name.clone(),
            part: part.key,
        });
        let mut rejects: Option<BufWriter<Staging>> = None;
        let (converted, output) = convert_part(
            rows,
            order,
            self.plan.output,
            self.working.stage(&part.output())?,
            &mut |bad_row| match self.plan.origin.options.on_bad_row {
                OnBadRow::Fail => Err(bad_row.to_error(path, order)),
                OnBadRow::Reject => {
                    if rejects.is_none() {
                        self.wrong_file_warning(table, path, bad_row);
                    }
                    self.count_rejects(1).map_err(|error| error.at(path))?;
                    let file = match rejects.take() {
                        Some(file) => file,
                        None => BufWriter::new(self.working.stage(&part.rejects())?),
                    };
                    let written = rejects.insert(file).write_all(&bad_row.to_json()?);
                    written.map_err(|error| self.rejects_failed(part, error))
                }
            },
            progress,
        )
        .map_err(|error| match error.kind() {
            ErrorKind::Failed => error.or_at(self.working.root().join(&part.output())),
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

    /// Warns that a file probably belongs to another table, once for each table.
    fn wrong_file_warning(&self, table: &TablePlan, path: &Path, bad_row: &BadRow<'_>) {
        let Some(doubt) = bad_row.wrong_file_warning(&table.order) else {
            return;
        };
        let mut doubted = self.doubted.lock().unwrap_or_else(PoisonError::into_inner);
        if doubted.insert(table.order.table.name.clone()) {
            let path = escape(path.as_os_str().as_encoded_bytes(), usize::MAX);
            self.context.warn(format!("{path}: {doubt}"));
        }
    }

    fn rejects_failed(&self, part: &PartPlan, error: io::Error) -> Error {
        Error::disk("write", error).at(self.working.root().join(&part.rejects()))
    }

    /// Syncs parts and commits them. Returns the facts of each, or why it isn't committed.
    ///
    /// # Errors
    /// When none of them is.
    pub(super) fn commit_all(
        &self,
        parts: Vec<WaitingPart>,
    ) -> Result<Vec<Result<(PartName, PartFacts)>>> {
        let mut made = Vec::new();
        let synced: Vec<Result<()>> = parts
            .into_iter()
            .map(|part| part.sync().map(|part| made.push(part)))
            .collect();
        let mut committed = self.commit(made)?.into_iter();
        let each = synced.into_iter().map(|synced| {
            synced.and_then(|()| committed.next().expect("as many results as parts"))
        });
        Ok(each.collect())
    }

    /// Commits parts whose bytes are kept: reads their footers back, and reports them.
    pub(super) fn commit(
        &self,
        parts: Vec<MadePart>,
    ) -> Result<Vec<Result<(PartName, PartFacts)>>> {
        let names: Vec<PartName> = parts.iter().map(|part| part.name.clone()).collect();
        let committed = names.into_iter().zip(self.working.commit(parts)?);
        let each = committed.map(|(name, facts)| {
            let facts = facts?;
            let format = self.plan.output.format();
            finish_part(&self.context, self.working.root(), format, &name, &facts)?;
            Ok((name, facts))
        });
        Ok(each.collect())
    }
}

/// Reads the footer of a part back that was committed, and reports it.
pub(crate) fn finish_part(
    context: &Context,
    root: &Location,
    format: Format,
    name: &PartName,
    facts: &PartFacts,
) -> Result<()> {
    steady(|| check_footer(root, format, &name.table, facts))?;
    tracing::debug!(output = facts.output.path, "committed");
    context.emit(Event::Finished {
        table: name.table.to_string(),
        part: name.key,
        rows: facts.rows_out,
        rejected: facts.rows_rejected,
        bytes_out: facts.output.bytes,
    });
    Ok(())
}

/// How many times an output is read that other workers replace by equal bytes at the same time.
const READINGS: usize = 8;

/// Reads an output, and again if another worker has replaced it by equal bytes while it was read.
fn steady<T>(read: impl Fn() -> Result<T>) -> Result<T> {
    for _ in 1..READINGS {
        match read() {
            Err(error) if error.is_replacement() => {}
            done => return done,
        }
    }
    read()
}

/// Reads the footer of a part back, and compares its row count with what was counted.
fn check_footer(root: &Location, format: Format, table: &str, part: &PartFacts) -> Result<()> {
    let path = inside(root, &part.output.path)?;
    let rows = LakeFile::rows_at_end(&path, format, part.output.bytes)?;
    if rows == part.rows_out {
        return Ok(());
    }
    let reason = format!(
        "its footer says {rows} rows, but {} were counted",
        part.rows_out
    );
    Err(Error::new(ErrorKind::Failed, reason)
        .at(path)
        .field(table)
        .hint("remove the file and run the same command again"))
}

/// The file of a part as the lake records it.
pub(super) fn recorded(part: &PartPlan, read: Fingerprint) -> FileFacts {
    FileFacts {
        path: part.recorded().to_owned(),
        bytes: read.bytes,
        sha256: read.sha256,
    }
}
