//! A derived table against the table that it is made of, which is read and split by other means than
//! those that made it.

use std::path::Path;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use csv::ByteRecord;
use tracelake_schema::{Derived, Rule};

use super::{AGAIN, corrupt, verify_file};
use crate::error::Result;
use crate::lake_file::LakeFile;
use crate::manifest::PartFacts;
use crate::output::Format;

/// A row of edges: job, task, number, and the number that it waits for.
type Edge = (Option<String>, Option<String>, i64, i64);

/// Compares every value of a part of a derived table with the file of the lake that it is made of.
pub(super) fn verify_derived(
    root: &Path,
    derived: &'static Derived,
    part: &PartFacts,
    output: &Path,
    (lake, format): (LakeFile, Format),
) -> Result<u64> {
    let Rule::Dag = derived.rule;
    let source = verify_file(root, &part.source)?;
    let wrong = |reason: &str| {
        let reason = format!("{reason}, {} read again", part.source.path);
        corrupt(reason)
            .at(output)
            .field(derived.table.name)
            .hint(AGAIN)
    };
    let mut made = Batches::open(lake)
        .ok_or_else(|| wrong("cannot be compared with"))?
        .flat_map(|batch| edges(&batch));
    let others =
        Batches::open(LakeFile::open(&source, format)?).ok_or_else(|| wrong("cannot be read:"))?;
    let (mut compared, mut left_out) = (0, 0);
    for batch in others {
        let (jobs, names) = (text(&batch, "job_name"), text(&batch, "task_name"));
        for (job, name) in jobs.into_iter().zip(names) {
            let numbers = name.as_deref().and_then(numbers);
            let Some((number, waits)) = numbers.as_ref().and_then(|all| all.split_first()) else {
                left_out += 1;
                continue;
            };
            for waits_for in waits {
                let expected = (job.clone(), name.clone(), *number, *waits_for);
                if made.next() != Some(expected) {
                    let row = compared + 1;
                    return Err(wrong(&format!("row {row} is not what follows from")));
                }
                compared += 1;
            }
        }
    }
    if made.next().is_some() {
        return Err(wrong("has more rows than follow from"));
    }
    if Some(left_out) != part.left_out {
        return Err(wrong("the manifest miscounts what is left out of"));
    }
    Ok(compared * derived.table.columns.len() as u64)
}

/// Batches up to the first that cannot be read: what is missing then is found missing.
struct Batches(crate::lake_file::Batches);

impl Batches {
    fn open(lake: LakeFile) -> Option<Self> {
        lake.batches(None).ok().map(Self)
    }
}

impl Iterator for Batches {
    type Item = RecordBatch;

    fn next(&mut self) -> Option<RecordBatch> {
        self.0.next()?.ok()
    }
}

fn text(batch: &RecordBatch, name: &str) -> Vec<Option<String>> {
    let texts = batch.column_by_name(name);
    let texts = texts.and_then(|column| column.as_string_opt::<i32>());
    let texts = texts.into_iter().flat_map(|texts| texts.iter());
    texts.map(|text| text.map(str::to_owned)).collect()
}

fn edges(batch: &RecordBatch) -> Vec<Edge> {
    let integers = |name: &str| {
        let column = batch.column_by_name(name);
        let column = column.and_then(|column| column.as_primitive_opt::<Int64Type>());
        column
            .map(|column| column.values().to_vec())
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

/// The numbers in a name, which the csv crate parts at their underscores; without the last one where
/// the name has 50 bytes, after which names are cut.
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
    let fields = record.iter().take(record.len() - cut);
    let number = |field: &[u8]| {
        let text = str::from_utf8(field).ok()?;
        // The standard library takes signs, which names do not have.
        text.parse()
            .ok()
            .filter(|_| text.starts_with(char::is_numeric))
    };
    let numbers: Option<Vec<i64>> = fields.map(number).collect();
    numbers.filter(|numbers| start > 0 && !numbers.is_empty())
}
