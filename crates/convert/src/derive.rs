//! Tables that are made of other tables of a lake: what the names of tasks say of their order.

use std::io::Write;

use arrow_array::{Array, RecordBatch, StringArray, cast::AsArray};
use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::options::Format;
use tracelake_encode::arrow_file::ArrowFile;
use tracelake_encode::cell::{Cell, Row};
use tracelake_encode::output::{BlockBuilder, OutputFile, OutputSettings, RowOrder, RowSource};
use tracelake_encode::parquet_file::ParquetFile;
use tracelake_encode::row_fields::RowTexts;
use tracelake_encode::value::OtherSpellings;
use tracelake_location::Location;
use tracelake_schema::{Derived, Rule};

use crate::lake_file::{BatchIterator, LakeFile};

/// The outcome for the rows of the other table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Made {
    /// Rows that were made.
    pub rows: u64,
    /// Rows of the other table that make none here, because they say nothing of that kind.
    pub rows_not_derived: u64,
}

/// Makes the rows of a derived table of one file of the other table, and writes them to `out`.
///
/// # Errors
/// When the file is not one of the other table, those of the output, and once the context is cancelled.
///
/// # Memory
/// The row group being encoded; not the size of the file.
pub(crate) fn derive<W: Write + Send>(
    context: &Context,
    derived: &Derived,
    input: &Location,
    output: OutputSettings,
    out: W,
) -> Result<(Made, W)> {
    match output.format() {
        Format::Parquet => derive_as::<ParquetFile<W>, W>(context, derived, input, output, out),
        Format::Arrow => derive_as::<ArrowFile<W>, W>(context, derived, input, output, out),
    }
}

fn derive_as<F: OutputFile<W>, W: Write + Send>(
    context: &Context,
    derived: &Derived,
    input: &Location,
    output: OutputSettings,
    out: W,
) -> Result<(Made, W)> {
    let table = &derived.table;
    let mut file = F::create(out, table, output, RowOrder::Published)?;
    let mut builder = file.builder(RowSource::Rows(table), output);
    let mut rows_not_derived = 0;
    for batch in open(derived, input, output.format())? {
        context.check()?;
        let batch = batch.map_err(|error| unreadable(input, &error.to_string()))?;
        let rows = match derived.rule {
            Rule::Dag => edges(derived, &batch, &mut rows_not_derived),
        };
        let made = rows.ok_or_else(|| unreadable(input, "not the columns of its table"))?;
        while builder.is_full(made.len())
            && let Some(full) = builder.finish()?
        {
            file.write(full)?;
        }
        let mut texts = RowTexts::new(&derived.table.columns);
        made.iter().for_each(|row| texts.push(row));
        let faulty = builder.push_rows(&texts.text, &texts.rows)?;
        debug_assert!(faulty.is_empty(), "a value can be read from its own text");
    }
    while let Some(last) = builder.finish()? {
        file.write(last)?;
    }
    let made = Made {
        rows: builder.pushed(),
        rows_not_derived,
    };
    Ok((made, file.finish()?))
}

/// Reads the columns of a file that the derived table also has.
fn open(derived: &Derived, input: &Location, format: Format) -> Result<BatchIterator> {
    let of_table = derived.table.columns.iter();
    let columns: Vec<&str> = of_table.map(|column| &*column.name).collect();
    LakeFile::open(input, format)?
        .batches(Some(&columns))
        .map_err(|error| unreadable(input, &error.to_string()))
}

fn unreadable(input: &Location, reason: &str) -> Error {
    Error::new(ErrorKind::Failed, format!("cannot be read again: {reason}"))
        .at(input)
        .hint("remove the file and run the same command again")
}

/// Where the values of a column of a derived table come from.
enum ColumnSource<'a> {
    Copied(&'a StringArray),
    Number,
    Waits,
}

/// One row for each task that a task waits for.
fn edges(derived: &Derived, batch: &RecordBatch, rows_not_derived: &mut u64) -> Option<Vec<Row>> {
    let text = |name: &str| batch.column_by_name(name)?.as_string_opt::<i32>();
    let names = text("task_name")?;
    let sources = derived
        .table
        .columns
        .iter()
        .map(|column| match &*column.name {
            "task_number" => Some(ColumnSource::Number),
            "depends_on" => Some(ColumnSource::Waits),
            name => text(name).map(ColumnSource::Copied),
        });
    let sources: Vec<ColumnSource<'_>> = sources.collect::<Option<_>>()?;
    let mut rows = Vec::new();
    for row in 0..batch.num_rows() {
        let name = names.is_valid(row).then(|| names.value(row));
        let Some((number, waits)) = name.and_then(task) else {
            *rows_not_derived += 1;
            continue;
        };
        rows.extend(waits.into_iter().map(|waits_for| {
            let cell = |source: &ColumnSource<'_>| match source {
                ColumnSource::Copied(texts) if texts.is_valid(row) => {
                    Cell::Text(texts.value(row).to_owned())
                }
                ColumnSource::Copied(_) => Cell::Null,
                ColumnSource::Number => Cell::Integer(number),
                ColumnSource::Waits => Cell::Integer(waits_for),
            };
            Row {
                cells: sources.iter().map(cell).collect(),
                others: OtherSpellings::default(),
            }
        }));
    }
    Some(rows)
}

/// The published length of a name in bytes; longer ones are cut off.
const LONGEST: usize = 50;

/// The number of a task and those that it waits for; `None` where the name is of another form. Of a
/// name that may have been cut the last number is left out: it may be the start of a longer one. A last
/// part such as `Stg4` isn't a task.
fn task(name: &str) -> Option<(i64, Vec<i64>)> {
    let text = name.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    if text.len() == name.len() {
        return None;
    }
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut words: Vec<&str> = text.split('_').collect();
    if name.len() >= LONGEST && words.len() > 1 {
        words.pop();
    }
    let stage = words.last().and_then(|last| last.strip_prefix("Stg"));
    if stage.is_some_and(is_number) {
        words.pop();
    }
    let number = |text: &&str| is_number(text).then(|| text.parse().ok()).flatten();
    let numbers: Vec<i64> = words.iter().map(number).collect::<Option<_>>()?;
    let (&first, waits) = numbers.split_first()?;
    Some((first, waits.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 2.3 of the document has these.
    #[test]
    fn names_tell_what_a_task_waits_for() {
        for (name, number, waits) in [
            ("M1", 1, &[][..]),
            ("M2_1", 2, &[1]),
            ("M3_1", 3, &[1]),
            ("R4_2", 4, &[2]),
            ("M5_3_4", 5, &[3, 4]),
            ("MR12_11", 12, &[11]),
            // Thread 136 of the publisher's repository has these.
            ("J10_7_9_Stg4", 10, &[7, 9]),
            ("M7_Stg3", 7, &[]),
            ("R2_1_Stg8", 2, &[1]),
        ] {
            assert_eq!(task(name), Some((number, waits.to_vec())), "{name}");
        }
    }

    #[test]
    fn other_names_are_no_part_of_a_dag() {
        for name in [
            "",
            "M",
            "1",
            "1_2",
            "M_1",
            "M1_",
            "M1__2",
            "M1_x",
            "M1_2x",
            "M-1",
            "M1_+2",
            "MergeTask",
            "M_Stg4",
            "M1Stg4",
            "M1_Stg",
            "M1_stg4",
            "M1_Stg4_",
            "M1_Stg4_2",
            "M1_Stg4_Stg5",
            "M1_Stg4x",
            "task_Nzg3ODAwNDgzMTAwNTc2NTQ2Mw==",
            "M99999999999999999999",
        ] {
            assert_eq!(task(name), None, "{name}");
        }
    }

    #[test]
    fn a_number_that_may_be_cut_is_left_out() {
        let name = "J28_4_5_6_7_8_10_11_12_14_15_16_17_19_20_22_23_24_";
        assert_eq!(name.len(), LONGEST);
        let (number, waits) = task(name).unwrap();
        assert_eq!((number, waits.len(), waits.last()), (28, 17, Some(&24)));
        let name = "J91_52_54_56_58_60_61_63_65_67_69_71_73_75_77_79_8";
        assert_eq!(task(name).unwrap().1.last(), Some(&79));
        let short = &name[..LONGEST - 1];
        assert_eq!(task(&short[..short.len() - 1]).unwrap().1.last(), Some(&79));
        for stage in ["_", "_S", "_St", "_Stg", "_Stg1", "_Stg12"] {
            let width = LONGEST - stage.len();
            let name = format!("{:0<width$}{stage}", "M7_2_");
            assert_eq!(task(&name), Some((7, vec![2, 0])), "{name}");
        }
    }
}
