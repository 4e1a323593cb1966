//! The files of a clustered lake: what the sums of their rows can't see. Each row is in the file of its key's class, and
//! the rows of a file are in the order that it declares.

use std::cmp::Ordering;

use arrow_array::{Array, RecordBatch};
use tracelake_core::Context;
use tracelake_core::clustered::Clustered;
use tracelake_core::error::Result;
use tracelake_core::options::Format;
use tracelake_core::selection::Sample;
use tracelake_lake::manifest::PartFacts;
use tracelake_schema::{Kind, Table, Trace};

use super::finding::corrupt;
use super::output::Output;
use super::scalar::{Scalar, scalar};
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
                    compare(scalar(one, *at), scalar(other, row))
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
    match scalar(array, row) {
        Some(Scalar::Integer(value)) => value.to_string(),
        Some(Scalar::Text(text)) => text.to_owned(),
        _ => String::new(),
    }
}

/// Compares two values of a column, NULL first.
fn compare(one: Option<Scalar<'_>>, other: Option<Scalar<'_>>) -> Ordering {
    match (one, other) {
        (Some(Scalar::Float(one)), Some(Scalar::Float(other))) => one.total_cmp(&other),
        (one, other) => one.partial_cmp(&other).unwrap_or(Ordering::Equal),
    }
}
