//! What an earlier run finished: validated against the disk and the source, and kept or done again.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::{Parts, Run};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Event;
use crate::manifest::{FileFacts, PartFacts};
use crate::plan::PartPlan;
use crate::source;
use crate::store::{Progress, inside};

impl Run<'_> {
    /// Validates the parts that an earlier run finished and returns those that stay.
    pub(super) fn keep(&self, progress: &Progress) -> Result<Parts> {
        // A part that was done twice is in the journal twice; the later line is the true one.
        let finished: Parts = progress
            .parts
            .iter()
            .filter_map(|(table, facts)| {
                Some(((self.rank_of(table)?, facts.file_number), facts.clone()))
            })
            .collect();
        let planned: BTreeMap<(usize, u32), &PartPlan> = self
            .plan
            .parts()
            .map(|(table, part)| ((self.plan.tables[table].rank, part.file_number), part))
            .collect();
        let kept = finished.into_par_iter().map(|(key, facts)| {
            self.go_on()?;
            let mut files = std::iter::once(&facts.output).chain(&facts.rejects);
            let whole = files.try_fold(true, |whole, file| Ok(whole && self.is_whole(file)?))?;
            let table = self.plan.trace.tables[key.0].name;
            match planned.get(&key) {
                Some(part) => self.same_source(table, part, &facts)?,
                None if !whole => {
                    return Err(
                        Error::new(ErrorKind::Failed, "is damaged, but not selected")
                            .at(self.lake.root().join(&facts.output.path))
                            .hint("select it with --tables and --parts to convert it again"),
                    );
                }
                None => {}
            }
            if !whole {
                let path = &facts.output.path;
                (self.watch)(Event::Warning(format!(
                    "{path} is damaged and is converted again"
                )));
                return Ok(None);
            }
            if planned.contains_key(&key) {
                let (file_number, rows) = (facts.file_number, facts.rows_out);
                (self.watch)(Event::Kept {
                    table,
                    file_number,
                    rows,
                    bytes: facts.source.bytes,
                });
            }
            Ok(Some((key, facts)))
        });
        Ok(kept
            .collect::<Result<Vec<_>>>()?
            .into_iter()
            .flatten()
            .collect())
    }

    /// Whether an output is there with the bytes that it was committed with.
    fn is_whole(&self, output: &FileFacts) -> Result<bool> {
        let path = inside(self.lake.root(), &output.path)?;
        if !path
            .metadata()
            .is_ok_and(|found| found.is_file() && found.len() == output.bytes)
        {
            return Ok(false);
        }
        Ok(source::fingerprint(&path)?.sha256 == output.sha256)
    }

    /// Refuses to keep a part whose source is another one now.
    fn same_source(&self, table: &'static str, part: &PartPlan, facts: &PartFacts) -> Result<()> {
        let path = self.plan.source.join(&part.source);
        let now = source::fingerprint(&path)?;
        if now.sha256 == facts.source.sha256 {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Refused,
            "is not the file that the lake was made from",
        )
        .at(path)
        .field(table)
        .hint("put the old file back, name another directory, or pass --overwrite"))
    }
}
