//! The files of a clustered lake: what the sums of their rows can't see. Each row is in the file of its key's class, and
//! the rows of a file are in the order that it declares.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use tracelake_core::Context;
use tracelake_core::clustered::Clustered;
use tracelake_core::error::Result;
use tracelake_core::options::Format;
use tracelake_core::selection::Sample;
use tracelake_lake::manifest::PartFacts;
use tracelake_schema::{Kind, Table, Trace};

use super::finding::corrupt;
use super::output::Output;
use super::statistics::{Sorting, check_statistics};

/// Checks a file of a clustered lake. Tables that were copied or cut have no order to check.
///
/// # Errors
/// Names the first row that isn't where it should be; once the context is cancelled.
///
/// # Memory
/// Two batches of rows.
pub(super) fn check_file(
    context: &Context,
    trace: &Trace,
    table: &Table,
    how: &Clustered,
    part: &PartFacts,
    output: Output,
) -> Result<()> {
    let key = how.by.as_ref().and_then(|key| trace.key_index(key, table));
    let (Some(key), Some(files)) = (key, how.files) else {
        return check_bounds(context, &output, Sorting::ByTime);
    };
    let order = order(table, key);
    let names: Vec<&str> = order.iter().map(|&at| &*table.columns[at].name).collect();
    check_bounds(context, &output, Sorting::By(&names))?;
    let path = output.path.clone();
    let mut last: Option<(RecordBatch, usize)> = None;
    let mut number = 0_u64;
    for batch in output.batches()? {
        context.check()?;
        let batch = batch?;
        for row in 0..batch.num_rows() {
            number += 1;
            let wrong = |reason: String| {
                let name = &table.columns[key].name;
                corrupt(format!("row {number}: {reason}"))
                    .at(&path)
                    .field(&**name)
                    .hint("cluster again, into another directory or with --overwrite")
            };
            let class = Sample::hash(canonical(batch.column(key), row).as_bytes()) % files.max(1);
            if class != part.file_number {
                return Err(wrong(format!(
                    "its key is of class {class}, and the file is number {}",
                    part.file_number
                )));
            }
            if let Some((before, at)) = &last {
                let columns = order.iter().map(|&column| {
                    let [one, other] = [before, &batch].map(|batch| batch.column(column));
                    compare(one, *at, other, row)
                });
                if columns.fold(Ordering::Equal, Ordering::then) == Ordering::Greater {
                    let by = names.join(", ");
                    return Err(wrong(format!("it comes before the row above it, by {by}")));
                }
            }
            last = Some((batch.clone(), row));
        }
    }
    Ok(())
}

fn check_bounds(context: &Context, output: &Output, sorting: Sorting<'_>) -> Result<()> {
    match output.format {
        Format::Parquet => check_statistics(context, &output.path, sorting),
        Format::Arrow => Ok(()),
    }
}

/// The columns that order the rows: the key, the others of what a row is about, and the time.
fn order(table: &Table, key: usize) -> Vec<usize> {
    let entity = table.entity.iter().filter_map(|name| table.column(name));
    let others = entity.map(|(index, _)| index).chain(table.time);
    let mut order = vec![key];
    for index in others {
        let kind = table.columns[index].kind;
        if kind != Kind::Struct && kind != Kind::List && !order.contains(&index) {
            order.push(index);
        }
    }
    order
}

/// The canonical text of a key.
fn canonical(array: &dyn Array, row: usize) -> String {
    if array.is_null(row) {
        return String::new();
    }
    match array.data_type() {
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).to_string(),
        DataType::Utf8 => array.as_string::<i32>().value(row).to_owned(),
        _ => String::new(),
    }
}

/// Compares two values of a column, NULL first.
fn compare(one: &dyn Array, at: usize, other: &dyn Array, row: usize) -> Ordering {
    match (one.is_null(at), other.is_null(row)) {
        (true, true) => return Ordering::Equal,
        (true, false) => return Ordering::Less,
        (false, true) => return Ordering::Greater,
        (false, false) => {}
    }
    macro_rules! values {
        ($kind:ty) => {
            [
                one.as_primitive::<$kind>().value(at),
                other.as_primitive::<$kind>().value(row),
            ]
        };
    }
    match one.data_type() {
        DataType::Int64 => {
            let [one, other] = values!(Int64Type);
            one.cmp(&other)
        }
        DataType::Int32 => {
            let [one, other] = values!(Int32Type);
            one.cmp(&other)
        }
        DataType::Timestamp(..) => {
            let [one, other] = values!(TimestampMicrosecondType);
            one.cmp(&other)
        }
        DataType::Float64 => {
            let [one, other] = values!(Float64Type);
            one.total_cmp(&other)
        }
        DataType::Boolean => one
            .as_boolean()
            .value(at)
            .cmp(&other.as_boolean().value(row)),
        DataType::Utf8 => one
            .as_string::<i32>()
            .value(at)
            .cmp(other.as_string::<i32>().value(row)),
        _ => Ordering::Equal,
    }
}
