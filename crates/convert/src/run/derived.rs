//! Derived tables: what is derived from each part that is made.

use std::sync::Arc;

use rayon::prelude::*;
use tracelake_core::error::Result;
use tracelake_lake::manifest::PartFacts;
use tracelake_lake::{Goal, MadePart, PartName, Parts, inside, is_derived_from, parts_of};
use tracelake_schema::Derived;

use super::step::Run;
use crate::derive::derive;
use crate::plan::Plan;

impl Run<'_> {
    /// Makes what is derived of parts that are done.
    pub(super) fn derive_all(&self, parts: &Parts) -> Result<Parts> {
        let todo = underived(self.plan, self.goal, parts).into_par_iter();
        let done = todo.map(|(derived, from)| {
            self.context.check()?;
            let other = &parts[&from];
            let root = self.working.root();
            let input = inside(root, &other.output.path)?;
            let (_, place) = other.output.path.split_once('/').unwrap_or_default();
            let path = format!("{}/{place}", derived.table.name);
            let staging = self.working.stage(&path)?;
            let output = self.plan.output;
            let (made, staging) = derive(&self.context, &derived, &input, output, staging)
                .map_err(|error| error.or_at(root.join(&path)))?;
            let staged = staging.close()?;
            let output = staged.facts().clone();
            let mut facts = PartFacts::new(from.key, other.output.clone(), output);
            facts.of = other.of;
            (facts.rows_in, facts.rows_out) = (made.rows, made.rows);
            facts.rows_not_derived = Some(made.rows_not_derived);
            let name = PartName::new(&derived.table.name, from.key);
            let made = MadePart {
                name,
                facts,
                tag: None,
                is_cut: true,
                files: vec![staged],
            };
            let mut committed = self.commit(vec![made])?;
            committed.pop().expect("as many results as parts")
        });
        done.collect()
    }
}

/// The parts that a derived table lacks, each with the part that it is made of.
pub(super) fn underived(
    plan: &Plan,
    goal: &Goal<'_>,
    parts: &Parts,
) -> Vec<(Arc<Derived>, PartName)> {
    let assignment = goal.plan.assignment();
    let shard = goal.shard.unwrap_or(0);
    let derived = plan.derived.iter().flat_map(|derived| {
        let lacks = parts_of(parts, &derived.from).filter(|(key, other)| {
            let name = PartName::new(&derived.table.name, *key);
            let is_mine = assignment.shard_of(&name.table, name.key) == Some(shard);
            let known = parts.get(&name);
            is_mine && known.is_none_or(|known| !is_derived_from(known, other))
        });
        let lacks: Vec<_> = lacks
            .map(|(key, _)| {
                let from = PartName::new(&derived.from, key);
                (Arc::clone(derived), from)
            })
            .collect();
        lacks
    });
    derived.collect()
}
