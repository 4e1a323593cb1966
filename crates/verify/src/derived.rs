//! Checks a derived table against the table it is derived from, with separate code.

use arrow_array::types::Int64Type;
use arrow_array::{RecordBatch, cast::AsArray};
use csv::ByteRecord;
use tracelake_core::Context;
use tracelake_core::error::Result;
use tracelake_core::words::several;
use tracelake_lake::manifest::PartFacts;
use tracelake_location::Location;
use tracelake_schema::{Derived, Rule};

use super::file::verify_file;
use super::finding::corrupt;
use super::output::Output;

/// A dependency: job, task, the task's number, and the number of the task it waits for.
type Edge = (Option<String>, Option<String>, i64, i64);

/// Compares every value of a part of a derived table with the file of the lake it is derived from.
pub(super) fn verify_derived(
    context: &Context,
    root: &Location,
    derived: &Derived,
    part: &PartFacts,
    output: Output,
) -> Result<u64> {
    let Rule::Dag = derived.rule;
    let input = Output::open(&verify_file(context, root, &part.source)?, output.format)?;
    let path = output.path.clone();
    let wrong = |reason: String| {
        Err(corrupt(reason)
            .at(&path)
            .field(&*derived.table.name)
            .hint("convert into another directory, or again with --overwrite"))
    };
    let from = &part.source.path;
    let mut failed = None;
    // A batch that can't be read ends the rows. Its error is reported, not the rows that are missing.
    let batches = output
        .batches()?
        .map_while(|batch| batch.map_err(|error| failed = Some(error)).ok());
    let mut found = batches.flat_map(|batch| edges(&batch));
    let (mut compared, mut rows_not_derived) = (0, 0);
    let mut difference = None;
    'rows: for batch in input.batches()? {
        context.check()?;
        let batch = batch?;
        let (jobs, names) = (text(&batch, "job_name"), text(&batch, "task_name"));
        for (job, name) in jobs.into_iter().zip(names) {
            let spelled = name.as_deref().and_then(numbers);
            let Some((number, waits)) = spelled.as_ref().and_then(|all| all.split_first()) else {
                rows_not_derived += 1;
                continue;
            };
            for waits_for in waits {
                let expected = (job.clone(), name.clone(), *number, *waits_for);
                compared += 1;
                if found.next() != Some(expected) {
                    difference = Some(format!("row {compared} doesn't follow from {from}"));
                    break 'rows;
                }
            }
        }
    }
    if difference.is_none() && found.next().is_some() {
        difference = Some(format!("has more rows than follow from {from}"));
    }
    drop(found);
    if let Some(error) = failed {
        return Err(error);
    }
    if let Some(difference) = difference {
        return wrong(difference);
    }
    if Some(rows_not_derived) != part.rows_not_derived {
        return wrong(format!(
            "without dependencies: {} of {from}, and the manifest says {}",
            several(rows_not_derived, "row"),
            part.rows_not_derived.unwrap_or_default()
        ));
    }
    Ok(compared * derived.table.columns.len() as u64)
}

fn text(batch: &RecordBatch, name: &str) -> Vec<Option<String>> {
    let column = batch.column_by_name(name);
    let strings = column.and_then(|column| column.as_string_opt::<i32>());
    let texts = strings.into_iter().flat_map(|strings| strings.iter());
    texts.map(|text| text.map(str::to_owned)).collect()
}

fn edges(batch: &RecordBatch) -> Vec<Edge> {
    let integers = |name: &str| {
        let column = batch.column_by_name(name);
        let integers = column.and_then(|column| column.as_primitive_opt::<Int64Type>());
        integers
            .map(|integers| integers.values().to_vec())
            .unwrap_or_default()
    };
    let texts = text(batch, "job_name")
        .into_iter()
        .zip(text(batch, "task_name"));
    let numbers = integers("task_number")
        .into_iter()
        .zip(integers("depends_on"));
    let edges = texts.zip(numbers);
    edges
        .map(|((job, task), (number, waits))| (job, task, number, waits))
        .collect()
}

/// The numbers in a task name, split at underscores by the csv crate. A name of 50 bytes was cut off by
/// the publisher, so its last number is left out. A stage at the end, such as `Stg4`, is no number.
fn numbers(name: &str) -> Option<Vec<i64>> {
    let start = name.find(|letter: char| !letter.is_ascii_alphabetic())?;
    let mut record = ByteRecord::new();
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .delimiter(b'_')
        .quoting(false)
        .from_reader(&name.as_bytes()[start..]);
    reader.read_byte_record(&mut record).ok()?;
    let cut = usize::from(name.len() >= 50 && record.len() > 1);
    let is_stage = |field: &[u8]| {
        let digits = field.strip_prefix(b"Stg");
        digits.is_some_and(|digits| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
    };
    let mut left = record.len() - cut;
    left -= usize::from(left > 0 && record.get(left - 1).is_some_and(is_stage));
    let fields = record.iter().take(left);
    let number = |field: &[u8]| {
        let text = str::from_utf8(field).ok()?;
        // The standard library accepts signs, which task names don't have.
        text.parse()
            .ok()
            .filter(|_| text.starts_with(char::is_numeric))
    };
    let numbers: Option<Vec<i64>> = fields.map(number).collect();
    numbers.filter(|numbers| start > 0 && !numbers.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tasks_have_numbers() {
        for (name, expected) in [
            ("M1", Some(vec![1])),
            ("R2_1", Some(vec![2, 1])),
            ("J5_3_4_Stg4", Some(vec![5, 3, 4])),
            ("R2_1_Stg", None),
            ("R2_+1", None),
            ("5_3", None),
            ("task_abc", None),
            ("M", None),
        ] {
            assert_eq!(numbers(name), expected, "{name}");
        }
        // The last number of a name of 50 bytes may be cut.
        for (start, sevens) in [("J12", 23), ("J123", 22)] {
            let found = numbers(&(start.to_owned() + &"_7".repeat(23))).unwrap();
            assert_eq!(found[1..], vec![7; sevens]);
        }
    }
}
