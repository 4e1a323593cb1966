//! The files of a source, as the parts of a lake were made from them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use tracelake_convert::plan::{PartPlan, Plan};
use tracelake_core::Context;
use tracelake_core::error::{Result, escape};
use tracelake_core::field_order::FieldOrder;
use tracelake_core::part_key::{CellName, PartKey};
use tracelake_lake::manifest::{Manifest, PartFacts};
use tracelake_location::Location;
use tracelake_schema::{Files, Syntax, Table};
use tracelake_source as source;
use tracelake_source::{Fingerprint, WholeFile};

use super::archive;
use super::finding::corrupt;
use super::text::SourceText;

/// The files of a source, found by table, cell and file number.
pub(super) struct Sources<'a> {
    plan: &'a Plan,
    parts: BTreeMap<(&'a str, PartKey), &'a PartPlan>,
    cells: BTreeSet<Option<CellName>>,
}

impl<'a> Sources<'a> {
    pub(super) fn new(plan: &'a Plan, manifest: &Manifest) -> Self {
        let one_cell = |cells: BTreeSet<Option<CellName>>| match cells.len() {
            1 => cells.first().copied(),
            _ => None,
        };
        let of_source = one_cell(plan.parts().map(|(_, part)| part.key.cell).collect());
        // A source whose name doesn't say its cell is of the only one in the lake. A lake may also have
        // been made without cells, before the directory was named after one.
        let only = match (of_source, one_cell(manifest.cells())) {
            (Some(None), lake) | (Some(Some(_)), lake @ Some(None)) => lake,
            _ => None,
        };
        let parts = plan.parts().map(|(planned, part)| {
            let table = &planned.order.table;
            let cell = only.unwrap_or(part.key.cell);
            let file_number = part.key.file_number;
            ((&*table.name, PartKey { cell, file_number }), part)
        });
        let by_key: BTreeMap<_, _> = parts.collect();
        let cells = by_key.keys().map(|(_, key)| key.cell).collect();
        Self {
            plan,
            parts: by_key,
            cells,
        }
    }

    /// Whether the source is of the part's cell. Parts of no cell are of any source.
    pub(super) fn has_cell(&self, part: &PartFacts) -> bool {
        part.cell.is_none() || self.cells.contains(&part.cell)
    }

    /// How many parts, and files that are cut into parts, a lake lacks.
    pub(super) fn not_converted(&self, manifest: &Manifest) -> usize {
        let parts = manifest.parts();
        let converted: BTreeSet<_> = parts.map(|(table, part)| (table, part.key())).collect();
        let tables: BTreeSet<&str> = converted.iter().map(|(table, _)| *table).collect();
        let lacking = self.parts.keys().filter(|part| !converted.contains(*part));
        let streams = self.plan.streams.iter().filter(|stream| {
            let mut planned = self.plan.tables_of(stream);
            !planned.any(|table| tables.contains(&*table.order.table.name))
        });
        lacking.count() + streams.count()
    }
}

/// The order of the JSON lines that a Parquet file is compared as.
fn as_json(mut order: FieldOrder) -> FieldOrder {
    for table in [&mut order.table, &mut order.whole] {
        Arc::make_mut(table).syntax = Syntax::Json;
    }
    order
}

/// A source file that is being compared with the parts made from it, in their order.
pub(super) struct SourceFile {
    pub(super) context: Context,
    pub(super) order: FieldOrder,
    pub(super) path: Location,
    /// Whether it is cut into parts.
    pub(super) is_cut: bool,
    /// Whether it is Parquet.
    pub(super) is_parquet: bool,
    /// Whether it is an archive of parts.
    pub(super) holds_parts: bool,
    /// One for each length that a part was made of.
    pub(super) fingerprints: BTreeMap<u64, Fingerprint>,
    /// Rows in a part, if it is cut.
    pub(super) part_rows: Option<u64>,
    /// `None` before the first part.
    pub(super) text: Option<SourceText>,
    /// An archive of parts, after the first of them.
    pub(super) archive: Option<archive::Parts>,
}

impl SourceFile {
    /// Finds the source of `parts`, which are of one table.
    pub(super) fn find(
        context: &Context,
        sources: &Sources<'_>,
        manifest: &Manifest,
        table: &Table,
        parts: &[&PartFacts],
    ) -> Result<Self> {
        let plan = sources.plan;
        let first = parts
            .first()
            .expect("parts of one source are at least one part");
        let mut tables = plan.tables.iter();
        let planned = tables.find(|planned| planned.order.table.name == table.name);
        let stream = planned.and_then(|planned| plan.stream_of(&planned.order.table.name));
        let part = sources.parts.get(&(&table.name, first.key()));
        let source = part
            .map(|part| &part.source)
            .or(stream.map(|stream| &stream.source));
        let Some((planned, source)) = planned.zip(source) else {
            let path = escape(first.source.path.as_bytes(), 200);
            return Err(corrupt(format!("its source {path} is missing"))
                .at(&first.output.path)
                .field(&*table.name)
                .hint("pass the directory that the lake was made from"));
        };
        let path = plan.source.join(source);
        let is_cut = stream.is_some();
        let holds_parts = is_cut && table.files == Files::Named;
        let order = match holds_parts {
            // The names of its members have the captures.
            true => planned.order.clone(),
            false => plan.order_of(planned, source)?.into_owned(),
        };
        let order = match planned.is_parquet {
            true => as_json(order),
            false => order,
        };
        let lengths = parts.iter().map(|part| part.digested(is_cut));
        let fingerprints = match planned.is_parquet {
            true => {
                let whole = WholeFile::open(context, &path, &std::env::temp_dir())?;
                let all = lengths.map(|length| (length, whole.fingerprint.clone()));
                all.collect()
            }
            false => source::fingerprints(context, &path, &lengths.collect())?,
        };
        Ok(Self {
            context: context.clone(),
            fingerprints,
            order,
            path,
            is_cut,
            is_parquet: planned.is_parquet,
            holds_parts,
            part_rows: stream
                .filter(|_| !holds_parts)
                .and(manifest.origin.options.part_rows),
            text: None,
            archive: None,
        })
    }

    /// The rows of a part, counted from 0; the last part has all that are left.
    pub(super) fn rows(&self, part: &PartFacts) -> Range<u64> {
        let Some(rows) = self.part_rows else {
            return 0..u64::MAX;
        };
        let number = u64::from(part.file_number);
        let start = number.saturating_mul(rows);
        let is_last = part.of.is_some_and(|of| number + 1 == u64::from(of));
        let end = if is_last {
            u64::MAX
        } else {
            start.saturating_add(rows)
        };
        start..end
    }
}
