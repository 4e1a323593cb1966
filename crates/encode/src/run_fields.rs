//! Fields of plain CSV that are the items of a list. Pure.

use std::sync::Arc;

use tracelake_core::fault::Fault;
use tracelake_core::field_order::FieldOrder;
use tracelake_core::options::Accept;
use tracelake_schema::Column;

use crate::levels::Levels;
use crate::nodes::Node;
use crate::row_fields::{LeafFields, offset};
use crate::split::Records;
use crate::value::{OtherSpellings, Spelled};

/// Where the items of a list are in a record.
pub(crate) struct RunSource {
    /// The position of each item; none if the file lacks the columns, and the list is NULL.
    positions: Vec<usize>,
    /// The level of NULL in place of the list.
    null_level: u8,
    /// The item and its levels.
    item: Node,
    /// Spellings that are accepted, and counted.
    accept: Accept,
}

impl RunSource {
    /// The run that is a column of the table; `None` if the column is no list.
    pub(crate) fn new(order: &FieldOrder, column: usize, list: &Node) -> Option<Self> {
        Some(Self {
            positions: positions(order, column),
            null_level: list.null_level(),
            item: list.fields.first()?.clone(),
            accept: order.accept.clone(),
        })
    }

    /// The fields of the records of a chunk.
    pub(crate) fn fields(&self, chunk: &[u8], records: &Records) -> RunFields<'_> {
        let column = &self.item.column;
        let mut run = RunFields {
            leaf: LeafFields::new(self.item.levels),
            ends: Vec::with_capacity(records.len()),
            accept: &self.accept,
            nulls: Vec::new(),
            empty: Vec::new(),
        };
        for record in 0..records.len() {
            for (item, &position) in self.positions.iter().enumerate() {
                let (start, end) = records.field(record, position);
                let text = &chunk[start..end];
                let repetition = if item == 0 {
                    0
                } else {
                    self.item.levels.repetition
                };
                if !text.is_empty() && !self.accept.is_null_in(column, text) {
                    run.leaf.push((offset(start), offset(end)), repetition);
                    continue;
                }
                run.leaf.levels.push(self.item.null_level(), repetition);
                if self.accept.is_null(text) {
                    run.nulls.push(record);
                }
                if column.mandatory {
                    run.empty.push((record, position));
                }
            }
            if self.positions.is_empty() {
                run.leaf.levels.push(self.null_level, 0);
            }
            run.leaf.levels.end_row(record + 1);
            run.ends.push(run.leaf.levels.values());
        }
        run
    }

    /// Adds the faults of a run, each with its record and its position there. `found` are those of its values.
    pub(crate) fn add_faults(
        &self,
        run: &RunFields<'_>,
        found: &[(usize, Fault)],
        faults: &mut Vec<(usize, usize, Fault)>,
    ) {
        let empty = run.empty.iter();
        faults.extend(empty.map(|&(record, position)| (record, position, Fault::Empty)));
        let levels = &run.leaf.levels;
        let mut entries = (0..).zip(levels.iter());
        let mut next = 0;
        for &(value, fault) in found {
            let mut values = entries
                .by_ref()
                .filter(|(_, (level, _))| levels.is_value(*level));
            if let Some((entry, _)) = values.nth(value - next) {
                let items = self.positions.len();
                faults.push((entry / items, self.positions[entry % items], fault));
            }
            next = value + 1;
        }
    }
}

/// The positions in a record of the items of a list.
pub(crate) fn positions(order: &FieldOrder, column: usize) -> Vec<usize> {
    let fields = order.fields.iter().enumerate();
    let of_column = fields.filter(|(_, field)| field.index == Some(column));
    let mut items: Vec<(u32, usize)> = of_column
        .filter_map(|(position, field)| Some((field.item?, position)))
        .collect();
    // A header may have them in another order.
    items.sort_unstable();
    items.into_iter().map(|(_, position)| position).collect()
}

/// The texts of the items of a list in the records of a chunk.
///
/// # Memory
/// 10 bytes for each field.
#[derive(Debug)]
pub(crate) struct RunFields<'a> {
    pub(crate) leaf: LeafFields,
    /// How many values there are up to the end of each record.
    ends: Vec<usize>,
    pub(crate) accept: &'a Accept,
    /// The record of each field that is NULL on request.
    nulls: Vec<usize>,
    /// The record and the position of each field that may not be empty.
    empty: Vec<(usize, usize)>,
}

impl RunFields<'_> {
    /// The values of some records.
    pub(crate) fn values(&self, records: std::ops::Range<usize>) -> std::ops::Range<usize> {
        let end = |records: usize| records.checked_sub(1).map_or(0, |last| self.ends[last]);
        end(records.start)..end(records.end)
    }

    /// The levels without some records, which are in order, and the values of these.
    pub(crate) fn without(&self, faulty: &[usize]) -> (Levels, Vec<usize>) {
        let mut is_kept = vec![true; self.ends.len()];
        for &record in faulty {
            is_kept[record] = false;
        }
        let mut levels = self.leaf.levels.clone();
        levels.retain(&is_kept);
        let values = faulty
            .iter()
            .flat_map(|&record| self.values(record..record + 1));
        (levels, values.collect())
    }

    /// How many values of the other records are NULL on request.
    pub(crate) fn others(&self, faulty: &[usize]) -> OtherSpellings {
        let mut others = OtherSpellings::default();
        for record in &self.nulls {
            if faulty.binary_search(record).is_err() {
                others.count(Spelled::AsNull);
            }
        }
        others
    }
}

/// The texts of all items of a list, record by record, as [`FieldOffsets`](crate::split::FieldOffsets) has them.
pub(crate) fn offsets(positions: &[usize], records: &Records) -> Vec<u32> {
    let fields = (0..records.len()).flat_map(|record| {
        positions
            .iter()
            .map(move |position| records.field(record, *position))
    });
    let offsets = fields.flat_map(|(start, end)| [offset(start).wrapping_sub(1), offset(end)]);
    offsets.collect()
}

/// The column of the items of a list.
pub(crate) fn item(column: &Column) -> &Arc<Column> {
    let mut fields = column.fields.iter();
    fields
        .next()
        .expect("a description gives every list an item")
}
