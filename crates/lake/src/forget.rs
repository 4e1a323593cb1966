//! Gives up what isn't committed. Nothing else removes facts of parts that aren't in the manifest, so it needs the lake for
//! itself alone.

use std::collections::BTreeSet;

use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::part_key::PartKey;
use tracelake_location::Location;

use crate::backend::{Hold, paths_of};
use crate::facts;
use crate::look::refuse_damaged;
use crate::look::{FoundManifest, Lake, Look};
use crate::outputs::part_of;
use crate::parts::PartName;
use crate::publish::read_plans;
use crate::rules::{Rule, holds};
use crate::session::open_lake;
use crate::{DESCRIPTION, FACTS, IDENTITY, PLANS};

/// The uncommitted parts to forget: those of these tables, numbers and cell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Forget {
    /// The tables; all if there are none.
    pub tables: Vec<String>,
    /// The file numbers, as ranges; all if absent.
    pub parts: Option<Vec<(u32, u32)>>,
    /// The cell; all if absent.
    pub cell: Option<String>,
}

/// The result of forgetting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forgotten {
    /// The parts.
    pub parts: BTreeSet<PartName>,
    /// Whether nothing is left of the lake.
    pub is_empty: bool,
}

impl Forget {
    fn is_all(&self) -> bool {
        *self == Self::default()
    }

    fn selects_table(&self, table: &str) -> bool {
        self.tables.is_empty() || self.tables.iter().any(|name| name == table)
    }

    fn selects(&self, name: &PartName) -> bool {
        let number = name.key.file_number;
        let in_range = |parts: &Vec<(u32, u32)>| {
            parts
                .iter()
                .any(|(first, last)| (*first..=*last).contains(&number))
        };
        self.selects_table(&name.table)
            && self.parts.as_ref().is_none_or(in_range)
            && self
                .cell
                .as_deref()
                .is_none_or(|cell| name.key.cell == Some(cell))
    }

    /// Removes the uncommitted outputs of parts, then their facts, then the plans that ask for them, and the identity last
    /// if nothing is left. Facts of committed parts go too.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`](tracelake_core::ErrorKind::Refused) where there is no lake, another process works on it, or its
    /// manifest is damaged; when the disk or the store fails.
    pub fn carry_out(&self, context: &Context, out: &Location) -> Result<Forgotten> {
        self.of(&Lake::at(&out.within(context)))
    }

    pub(crate) fn of(&self, lake: &Lake) -> Result<Forgotten> {
        let (mut session, identity) = open_lake(lake, Hold::Alone)?;
        let out = lake.root();
        let backend = &*lake.backend;
        let trace = identity.identity.trace().map_err(|error| error.at(out))?;
        let is_known = |name: &&String| trace.all_tables().any(|table| table.name == **name);
        if let Some(name) = self.tables.iter().find(|name| !is_known(name)) {
            let known: Vec<&str> = trace.all_tables().map(|table| &*table.name).collect();
            let reason = format!("{} has no table {name}", trace.name);
            return Err(Error::new(ErrorKind::Usage, reason)
                .hint(format!("its tables are {}", known.join(", "))));
        }
        let look = Look::whole(backend, &trace, identity.sha256, &|_| false)?;
        refuse_damaged(lake, &look.manifest)?;
        let committed = look.manifest.parts(&trace);
        let forgotten: BTreeSet<PartName> = look
            .named
            .iter()
            .filter(|name| !committed.contains_key(*name) && self.selects(name))
            .cloned()
            .collect();
        let names: BTreeSet<(&str, PartKey)> = forgotten
            .iter()
            .map(|name| (&*name.table, name.key))
            .collect();
        let is_forgotten = |path: &&String| part_of(path).is_some_and(|name| names.contains(&name));
        let outputs: Vec<String> = look.outputs.keys().filter(is_forgotten).cloned().collect();
        if holds(Rule::OutputsRemovedFirst) {
            backend.remove(&outputs)?;
        }
        let mut paths = look.facts.clone();
        paths.retain(|path| match facts::part_of(&trace, path) {
            Some(name) => committed.contains_key(&name) || forgotten.contains(&name),
            // Of tables that archives don't have, and what is no facts of this lake.
            None => {
                self.is_all()
                    || self
                        .tables
                        .iter()
                        .any(|table| path.starts_with(&format!("{FACTS}/{table}/")))
            }
        });
        backend.remove(&paths)?;
        if !holds(Rule::OutputsRemovedFirst) {
            backend.remove(&outputs)?;
        }
        let plans = match self.is_all() {
            // A damaged one too.
            true => paths_of(backend.list(PLANS)?),
            false => {
                let asks = |plan: &crate::plan_file::PlanFile| {
                    let assignment = plan.assignment();
                    let mut names = forgotten.iter();
                    names.any(|name| assignment.shard_of(&name.table, name.key).is_some())
                };
                let plans = read_plans(backend)?.into_iter();
                plans
                    .filter(|(_, plan)| asks(plan))
                    .map(|(path, _)| path)
                    .collect()
            }
        };
        backend.remove(&plans)?;
        let is_empty = matches!(look.manifest, FoundManifest::None)
            && outputs.len() == look.outputs.len()
            && paths.len() == look.facts.len()
            && backend.list(PLANS)?.is_empty();
        if is_empty {
            backend.remove(&[DESCRIPTION.to_owned()])?;
            backend.remove(&[IDENTITY.to_owned()])?;
        }
        session.leave(None)?;
        Ok(Forgotten {
            parts: forgotten,
            is_empty,
        })
    }
}
