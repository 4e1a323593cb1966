//! What a run would find in OUT, without changing anything there.

use std::collections::BTreeSet;
use std::path::Path;

use super::{Conduct, Run};
use crate::error::{Error, ErrorKind, Result};
use crate::plan::Plan;
use crate::store::{Lake, Progress};

/// What a lake has before a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The parts that an earlier run finished: table and file number. They aren't validated yet.
    pub finished: BTreeSet<(String, u32)>,
}

impl Found {
    /// Whether a part of a table is finished.
    #[must_use]
    pub fn has(&self, table: &str, file_number: u32) -> bool {
        self.finished.contains(&(table.to_owned(), file_number))
    }
}

/// Looks at OUT as [`super::convert`] would, and changes nothing.
///
/// # Errors
/// Whatever [`super::convert`] would refuse before its work begins.
pub fn look(plan: &Plan, out: &Path, conduct: Conduct<'_>) -> Result<Found> {
    let progress = match Lake::peek(out)? {
        None => Progress::default(),
        Some(lake) => {
            let progress = match conduct.overwrite {
                true => Progress::default(),
                false => lake.progress()?,
            };
            let run = Run::new(plan, &lake, conduct, &|_| {});
            run.refuse(&progress)?;
            progress
        }
    };
    let finished = progress.parts.iter();
    let finished: BTreeSet<(String, u32)> = finished
        .map(|(table, facts)| (table.clone(), facts.file_number))
        .collect();
    check_derived(plan, &finished)?;
    Ok(Found { finished })
}

/// Refuses to derive a table from one that is neither in the plan nor in the lake.
pub(super) fn check_derived(plan: &Plan, finished: &BTreeSet<(String, u32)>) -> Result<()> {
    for derived in &plan.derived {
        let is_planned = plan
            .tables
            .iter()
            .any(|table| table.layout.table.name == derived.from);
        let is_finished = finished.iter().any(|(table, _)| table == derived.from);
        if !is_planned && !is_finished {
            let reason = format!(
                "{} is derived from {}, which is neither selected nor in the lake",
                derived.table.name, derived.from
            );
            return Err(Error::new(ErrorKind::Usage, reason).hint(format!(
                "select {} too, or leave --derive out",
                derived.from
            )));
        }
    }
    Ok(())
}
