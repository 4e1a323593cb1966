//! Derived tables: what is derived from each part that is committed.

use rayon::prelude::*;
use tracelake_core::error::Result;
use tracelake_lake::manifest::PartFacts;
use tracelake_lake::store::inside;
use tracelake_schema::Derived;

use super::{Parts, Run, Shared, TablePart, parts_of};
use crate::derive::derive;
use crate::plan::TableIndex;

impl Run<'_> {
    /// The parts that a derived table lacks, each with the part that it is made of.
    pub(super) fn underived<'a>(
        &self,
        parts: &'a Parts,
    ) -> Vec<(&'static Derived, TablePart, &'a PartFacts)> {
        let derived = self.plan.derived.iter().flat_map(|&derived| {
            let index_of = |table| {
                let index = TableIndex::of(self.plan.trace, table);
                index.expect("what is derived, and from what, are tables of the trace")
            };
            let (index, from) = (index_of(derived.table.name), index_of(derived.from));
            let lacks = parts_of(parts, from).filter(move |(key, other)| {
                let known = parts.get(&(index, *key));
                known.is_none_or(|known| !is_derived_from(known, other))
            });
            lacks.map(move |(key, other)| (derived, (index, key), other))
        });
        derived.collect()
    }

    /// Makes what is derived of parts that are committed.
    pub(super) fn derive_all(&self, shared: &Shared, parts: &Parts) -> Result<Parts> {
        let todo = self.underived(parts).into_par_iter();
        let done = todo.map(|(derived, key, other)| {
            self.context.check()?;
            let input = inside(self.lake.root(), &other.output.path)?;
            let (_, place) = other.output.path.split_once('/').unwrap_or_default();
            let path = format!("{}/{place}", derived.table.name);
            let staging = self.lake.stage(&path)?;
            let encoding = self.plan.encoding;
            let (made, staging) = derive(&self.context, derived, &input, encoding, staging)
                .map_err(|error| error.or_at(self.lake.root().join(&path)))?;
            let staged = staging.close()?;
            self.with_journal(shared, |_| Ok(()))?;
            let committed = self.lake.commit(staged)?;
            let etags = committed.etag().into_iter().collect();
            let output = committed.into_facts();
            let mut facts = PartFacts::new(other.key(), other.output.clone(), output);
            facts.of = other.of;
            (facts.rows_in, facts.rows_out) = (made.rows, made.rows);
            facts.rows_not_derived = Some(made.rows_not_derived);
            self.finish(shared, derived.table.name, &facts, etags)?;
            Ok((key, facts))
        });
        done.collect()
    }
}

/// Whether a derived part was made from another one, and says as much about the file of that one.
pub(super) fn is_derived_from(derived: &PartFacts, other: &PartFacts) -> bool {
    derived.source.sha256 == other.output.sha256 && derived.of == other.of
}
