//! Amends the footer that the Parquet crate writes into every file.
//!
//! The crate says of all floats that they are in the total order of IEEE 754, which many readers don't know: they
//! ignore the bounds then. It is changed to the order of the type, which they know. And the crate says of all
//! row groups that they are sorted, or of none. Field numbers are those of the format's `parquet.thrift`.

use std::ops::Range;

use crate::thrift::{DEEPEST, LIST, STRUCT, Thrift};

/// In the footer: the row groups, and the order of each column.
const ROW_GROUPS: i64 = 4;
const COLUMN_ORDERS: i64 = 7;

/// In a row group: the columns by which it is sorted.
const SORTING_COLUMNS: i64 = 4;

/// The first byte of a column order: a field that is an empty struct, whose number says which order it is.
const TYPE_ORDER: u8 = 1 << 4 | STRUCT;
const TOTAL_ORDER: u8 = 2 << 4 | STRUCT;

/// The length of the footer, and the magic number.
const TRAILER: usize = 8;

/// Changes the end of a file: floats are in the order of their type, and row groups that aren't sorted don't say that
/// they are. `is_sorted` is asked by their number. `None` if `end` isn't the end of a Parquet file.
pub(crate) fn amend(end: &mut Vec<u8>, is_sorted: &[bool]) -> Option<()> {
    let (before, trailer) = end.split_last_chunk::<TRAILER>()?;
    let [a, b, c, d, magic @ ..] = *trailer;
    let length = usize::try_from(u32::from_le_bytes([a, b, c, d])).ok()?;
    if magic != *b"PAR1" {
        return None;
    }
    let start = before.len().checked_sub(length)?;
    let mut footer = before[start..].to_vec();
    for at in total_orders(&footer)? {
        footer[at] = TYPE_ORDER;
    }
    let sortings = sortings(&footer)?;
    for (sorting, _) in sortings
        .into_iter()
        .zip(is_sorted)
        .rev()
        .filter(|(_, sorted)| !**sorted)
    {
        // The number of the next field counts from the one before.
        *footer.get_mut(sorting.end)? += 1 << 4;
        footer.drain(sorting);
    }
    let length = u32::try_from(footer.len()).ok()?;
    end.truncate(start);
    end.extend(footer);
    end.extend(length.to_le_bytes());
    end.extend(magic);
    Some(())
}

/// Where column orders are the total order.
fn total_orders(footer: &[u8]) -> Option<Vec<usize>> {
    let mut found = Vec::new();
    Thrift(footer).each_struct(&[COLUMN_ORDERS], &mut |reader| {
        if reader.0.first() == Some(&TOTAL_ORDER) {
            found.push(footer.len() - reader.0.len());
        }
        reader.skip(STRUCT, DEEPEST)
    })?;
    Some(found)
}

/// Where the row groups say by which columns they are sorted.
fn sortings(footer: &[u8]) -> Option<Vec<Range<usize>>> {
    let mut found = Vec::new();
    Thrift(footer).each_struct(&[ROW_GROUPS], &mut |row_group| {
        row_group.each_field(|reader, id, kind| {
            // The head of the field is the byte before.
            let start = footer.len() - reader.0.len() - 1;
            reader.skip(kind, DEEPEST)?;
            if (id, kind) == (SORTING_COLUMNS, LIST) {
                found.push(start..footer.len() - reader.0.len());
            }
            Some(())
        })
    })?;
    Some(found)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use parquet::basic::ColumnOrder;
    use parquet::data_type::{DoubleType, Int64Type};
    use parquet::file::metadata::SortingColumn;
    use parquet::file::properties::WriterProperties;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::*;

    /// A file of three row groups, as the crate writes it.
    fn file() -> Vec<u8> {
        let schema = "message m { required int64 a; required double b; optional double c; }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let time = SortingColumn {
            column_idx: 0,
            descending: false,
            nulls_first: false,
        };
        let properties = WriterProperties::builder().set_sorting_columns(Some(vec![time]));
        let mut out = Vec::new();
        let mut writer =
            SerializedFileWriter::new(&mut out, schema, properties.build().into()).unwrap();
        for group in 0..3 {
            let mut row_group = writer.next_row_group().unwrap();
            let mut column = row_group.next_column().unwrap().unwrap();
            let numbers = column.typed::<Int64Type>();
            numbers.write_batch(&[group, 7], None, None).unwrap();
            column.close().unwrap();
            for levels in [None, Some(&[1, 1][..])] {
                let mut column = row_group.next_column().unwrap().unwrap();
                let floats = column.typed::<DoubleType>();
                floats.write_batch(&[0.5, 2.5], levels, None).unwrap();
                column.close().unwrap();
            }
            row_group.close().unwrap();
        }
        writer.close().unwrap();
        out
    }

    #[test]
    fn floats_are_ordered_by_their_type_and_sorted_row_groups_say_so() {
        for is_sorted in [
            [true; 3],
            [false; 3],
            [true, false, true],
            [false, true, false],
        ] {
            let mut amended = file();
            amend(&mut amended, &is_sorted).unwrap();
            let reader = SerializedFileReader::new(Bytes::from(amended)).unwrap();
            let (before, now) = (
                SerializedFileReader::new(Bytes::from(file())).unwrap(),
                reader,
            );
            let orders = now.metadata().file_metadata().column_orders().unwrap();
            let of_type = |order: &ColumnOrder| matches!(order, ColumnOrder::TYPE_DEFINED_ORDER(_));
            assert!(orders.iter().all(of_type), "{orders:?}");
            let orders = before.metadata().file_metadata().column_orders().unwrap();
            assert!(!orders.iter().all(of_type), "the crate has changed");
            let groups = before
                .metadata()
                .row_groups()
                .iter()
                .zip(now.metadata().row_groups());
            for ((before, now), is_sorted) in groups.zip(is_sorted) {
                assert_eq!(now.sorting_columns().is_some(), is_sorted);
                let without_change = now
                    .clone()
                    .into_builder()
                    .set_sorting_columns(before.sorting_columns().cloned())
                    .build();
                // All else is as it was.
                assert_eq!(&without_change.unwrap(), before);
            }
            assert_eq!(now.get_row_iter(None).unwrap().count(), 6);
        }
    }

    #[test]
    fn what_is_no_file_is_not_amended() {
        let whole = file();
        for length in 0..whole.len() {
            // Without its start, only the footer has to be there.
            assert_eq!(amend(&mut whole[..length].to_vec(), &[]), None);
        }
    }
}
