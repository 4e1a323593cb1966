//! Row groups that are declared to be sorted.

use std::cmp::Ordering;

use parquet::file::metadata::SortingColumn;

use super::Result;
use super::chunk::Chunk;
use super::page::DataPage;
use super::schema::{self, Leaf};

/// Checks that the rows of a row group are in the order of these columns.
pub(super) fn check(keys: &[SortingColumn], chunks: &[Chunk<'_>], leaves: &[Leaf]) -> Result<()> {
    let mut stored = Vec::new();
    for key in keys {
        let column = usize::try_from(key.column_idx).ok();
        let column = column.filter(|&column| column < chunks.len());
        let column = column.ok_or("sorted by a column that doesn't exist")?;
        if leaves[column].max_repetition > 0 {
            return Err("sorted by a list".to_owned());
        }
        stored.push((column, chunks[column].stored()?));
    }
    let mut columns: Vec<(&Leaf, Vec<Option<&[u8]>>)> = Vec::new();
    for (column, stored) in &stored {
        let (pages, leaf) = (chunks[*column].decode(stored)?, &leaves[*column]);
        columns.push((
            leaf,
            pages.iter().flat_map(|page| rows(page, leaf)).collect(),
        ));
    }
    let count = columns.first().map_or(0, |(_, values)| values.len());
    for row in 1..count {
        let mut order = Ordering::Equal;
        for (key, (leaf, values)) in keys.iter().zip(&columns) {
            order = order.then_with(|| compare(key, leaf, values[row - 1], values[row]));
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

fn compare(key: &SortingColumn, leaf: &Leaf, a: Option<&[u8]>, b: Option<&[u8]>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) if key.descending => schema::compare(leaf.physical, b, a),
        (Some(a), Some(b)) => schema::compare(leaf.physical, a, b),
        (None, None) => Ordering::Equal,
        (a, _) if a.is_none() == key.nulls_first => Ordering::Less,
        _ => Ordering::Greater,
    }
}
