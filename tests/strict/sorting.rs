//! Row groups that are declared to be sorted.

use std::cmp::Ordering;

use super::Result;
use super::chunk::Chunk;
use super::page::DataPage;
use super::schema::Leaf;
use super::thrift::Struct;

/// A column by which the rows of a row group are sorted.
struct Key {
    is_descending: bool,
    nulls_first: bool,
    column: usize,
}

/// Checks that the rows of a row group are in the order that its footer declares, if it does.
pub(super) fn check(group: &Struct, chunks: &[Chunk<'_>], leaves: &[Leaf]) -> Result<()> {
    let declared = group.structs("sorting_columns");
    let mut keys = Vec::new();
    let mut stored = Vec::new();
    for said in declared {
        let column = usize::try_from(said.integer("column_idx").unwrap_or(-1)).ok();
        let column = column.filter(|&column| column < chunks.len());
        let column = column.ok_or("sorted by a column that doesn't exist")?;
        if leaves[column].max_repetition > 0 {
            return Err("sorted by a list".to_owned());
        }
        stored.push(chunks[column].stored()?);
        keys.push(Key {
            is_descending: said.boolean("descending") == Some(true),
            nulls_first: said.boolean("nulls_first") == Some(true),
            column,
        });
    }
    let mut columns = Vec::new();
    for (key, stored) in keys.iter().zip(&stored) {
        let pages = chunks[key.column].decode(stored)?;
        columns.push(
            pages
                .iter()
                .flat_map(|page| rows(page, &leaves[key.column]))
                .collect(),
        );
    }
    let columns: Vec<Vec<Option<&[u8]>>> = columns;
    let count = columns.first().map_or(0, Vec::len);
    for row in 1..count {
        let mut order = Ordering::Equal;
        for (key, values) in keys.iter().zip(&columns) {
            let (before, after) = (values[row - 1], values[row]);
            order = order.then_with(|| key.compare(&leaves[key.column], before, after));
        }
        if order == Ordering::Greater {
            return Err(format!("row {row} is not sorted"));
        }
    }
    Ok(())
}

/// The values of a column that is in no list, row by row.
fn rows<'p>(page: &DataPage<'p>, leaf: &Leaf) -> Vec<Option<&'p [u8]>> {
    let mut values = page.values.iter().copied();
    if leaf.max_definition == 0 {
        return values.map(Some).collect();
    }
    let value = |&level: &u32| (level == leaf.max_definition).then(|| values.next())?;
    page.definition_levels.iter().map(value).collect()
}

impl Key {
    fn compare(&self, leaf: &Leaf, a: Option<&[u8]>, b: Option<&[u8]>) -> Ordering {
        match (a, b) {
            (Some(a), Some(b)) => {
                let order = leaf.physical.compare(a, b);
                if self.is_descending {
                    order.reverse()
                } else {
                    order
                }
            }
            (None, None) => Ordering::Equal,
            (a, _) if a.is_none() == self.nulls_first => Ordering::Less,
            _ => Ordering::Greater,
        }
    }
}
