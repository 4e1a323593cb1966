//! Derived tables: what is derived from each part that is made.

use rayon::prelude::*;
use tracelake_core::error::Result;
use tracelake_lake::manifest::PartFacts;
use tracelake_lake::{MadePart, PartName, Parts, inside};

use super::{Run, underived};
use crate::derive::derive;

impl Run<'_> {
    /// Makes what is derived of parts that are done.
    pub(super) fn derive_all(&self, parts: &Parts) -> Result<Parts> {
        let todo = underived(self.plan, self.asked, parts).into_par_iter();
        let done = todo.map(|(derived, from)| {
            self.context.check()?;
            let other = &parts[&from];
            let root = self.working.root();
            let input = inside(root, &other.output.path)?;
            let (_, place) = other.output.path.split_once('/').unwrap_or_default();
            let path = format!("{}/{place}", derived.table.name);
            let staging = self.working.stage(&path)?;
            let encoding = self.plan.encoding;
            let (made, staging) = derive(&self.context, derived, &input, encoding, staging)
                .map_err(|error| error.or_at(root.join(&path)))?;
            let staged = staging.close()?;
            let output = staged.facts().clone();
            let mut facts = PartFacts::new(from.key, other.output.clone(), output);
            facts.of = other.of;
            (facts.rows_in, facts.rows_out) = (made.rows, made.rows);
            facts.rows_not_derived = Some(made.rows_not_derived);
            let name = PartName {
                table: derived.table.name,
                key: from.key,
            };
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
