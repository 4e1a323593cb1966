//! The bounds that old readers of Parquet use. The format replaced `min` and `max` in the statistics
//! by `min_value` and `max_value`; files have both, and the Parquet crate reads only the new ones. So
//! the footer is read here as Thrift's compact protocol, far enough to compare the two.

use crate::lake_file::thrift::{BINARY, DEEPEST, Thrift};

/// Field numbers of the format: the row groups of a footer, their columns, the metadata of a column,
/// and the statistics in it.
const STATISTICS: [i64; 4] = [4, 1, 3, 12];

/// Field numbers of the old and the new spelling of a bound.
const BOUNDS: [(i64, i64); 2] = [(1, 5), (2, 6)];

/// Whether every old bound in a footer equals the new one; `None` if the footer can't be read.
pub(super) fn old_bounds_are_right(footer: &[u8]) -> Option<bool> {
    let mut right = true;
    Thrift(footer).each_struct(&STATISTICS, &mut |statistics| {
        let mut fields = [None; 7];
        statistics.each_field(|reader, id, kind| {
            if kind == BINARY && (1..7).contains(&id) {
                fields[usize::try_from(id).ok()?] = Some(reader.binary()?);
                return Some(());
            }
            reader.skip(kind, DEEPEST)
        })?;
        for (old, new) in BOUNDS {
            let [old, new] =
                [old, new].map(|id| usize::try_from(id).ok().and_then(|id| fields[id]));
            right &= old.is_none() || old == new;
        }
        Some(())
    })?;
    Some(right)
}
