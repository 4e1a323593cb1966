//! Lakes that agree with their manifest and not with their source: only `verify --source` can tell.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    UInt32Array,
};
use arrow_select::take::{take, take_record_batch};
use parquet::arrow::ArrowWriter;
use tracelake_core::words::group_digits;
use tracelake_schema::Kind;

use crate::verify::patient::Patient;
use tracelake_testkit::{Run, Score, ensure, read_output, trace};

/// The column with another value in one row: `None` is NULL.
fn with(array: &ArrayRef, kind: Kind, row: usize, change: Change) -> ArrayRef {
    macro_rules! rebuilt {
        ($old:expr, $made:ty, $other:expr, $new:expr) => {{
            let old = $old;
            let values = old
                .iter()
                .enumerate()
                .map(|(at, value)| match (at == row, change) {
                    (false, _) => value,
                    (true, Change::Null) => None,
                    (true, Change::Other) => value.map($other),
                    (true, Change::Value) => Some($new),
                });
            Arc::new(values.collect::<$made>())
        }};
    }
    match kind {
        Kind::DateTime(_) => unreachable!("the lake has no date-times"),
        Kind::Integer => {
            rebuilt!(
                array.as_primitive::<Int64Type>(),
                Int64Array,
                |v: i64| v ^ 1,
                7
            )
        }
        Kind::Code => rebuilt!(
            array.as_primitive::<Int32Type>(),
            Int32Array,
            |v: i32| v ^ 1,
            7
        ),
        Kind::Float => rebuilt!(
            array.as_primitive::<Float64Type>(),
            Float64Array,
            |v: f64| f64::from_bits(v.to_bits() ^ 1),
            0.0
        ),
        Kind::Boolean => rebuilt!(array.as_boolean(), BooleanArray, |v: bool| !v, false),
        Kind::Text | Kind::Struct | Kind::List => {
            let old = array.as_string::<i32>();
            let values = old.iter().enumerate().map(|(at, value)| {
                let value = value.map(str::to_owned);
                match (at == row, change) {
                    (false, _) => value,
                    (true, Change::Null) => None,
                    (true, Change::Other) => value.map(|text| format!("{text}=")),
                    (true, Change::Value) => Some("x".to_owned()),
                }
            });
            Arc::new(values.collect::<StringArray>())
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Change {
    /// A value becomes another one, as near as can be.
    Other,
    /// A value becomes NULL.
    Null,
    /// NULL becomes a value.
    Value,
}

fn parquet(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

/// The rows in another order or number.
fn rows(batch: &RecordBatch, order: &[usize]) -> RecordBatch {
    let order: Vec<u32> = order
        .iter()
        .map(|&row| u32::try_from(row).unwrap())
        .collect();
    take_record_batch(batch, &UInt32Array::from(order)).unwrap()
}

/// Exit 5, and one finding that says all of this.
fn found(run: &Run, says: &[&str]) -> Result<(), String> {
    let finding = run
        .stderr
        .lines()
        .find(|line| line.starts_with("tracelake: error: "));
    let finding = finding.unwrap_or_default();
    let right = run.code == 5 && says.iter().all(|said| finding.contains(said));
    ensure(right && run.stderr.contains(": 1 wrong"), || {
        format!("exit {}, not {says:?}: {}", run.code, run.stderr)
    })
}

/// The rows at which a column can be changed in this way: the first, one in the middle, the last.
fn places(array: &ArrayRef, change: Change) -> Vec<usize> {
    let null = matches!(change, Change::Value);
    let places: Vec<usize> = (0..array.len())
        .filter(|&row| array.is_null(row) == null)
        .collect();
    let mut chosen: Vec<usize> = [0, places.len() / 2, places.len().saturating_sub(1)]
        .iter()
        .filter_map(|&at| places.get(at).copied())
        .collect();
    chosen.dedup();
    chosen
}

#[test]
fn verify_with_a_source_finds_every_mutation() {
    let mut score = Score::one_in(7, "mutations that only the source can tell");
    for table in &trace().tables {
        // The last part alone: what the others hold changes nothing.
        let whole = Patient::new(&table.name);
        let parts = whole.healthy["tables"][0]["parts"].as_array().unwrap();
        let last = (parts.len() - 1).to_string();
        let patient = Patient::with(&table.name, &["--parts", &last]);
        assert_eq!(patient.verify_source().code, 0);
        let pointer = "/tables/0/parts/0";
        let path = patient.healthy["tables"][0]["parts"][0]["output"]["path"].as_str();
        let path = path.unwrap();
        let batch = read_output(&patient.lake().join(path));
        let count = batch.num_rows();
        let mut attempt = |what: &str, forged: &RecordBatch, says: &[&str]| {
            if !score.is_due() {
                return;
            }
            patient.forge(pointer, &parquet(forged), forged);
            let unseen = patient.verify();
            let outcome = ensure(unseen.code == 0, || {
                format!("no forgery: {}", unseen.stderr)
            })
            .and_then(|()| found(&patient.verify_source(), says));
            score.count(&format!("{}: {what}", table.name), outcome);
            patient.heal();
        };
        for (index, column) in table.columns.iter().enumerate() {
            for change in [Change::Other, Change::Null, Change::Value] {
                if column.mandatory && !matches!(change, Change::Other) {
                    continue;
                }
                for row in places(batch.column(index), change) {
                    let mut columns = batch.columns().to_vec();
                    columns[index] = with(&columns[index], column.kind, row, change);
                    let forged = RecordBatch::try_new(batch.schema(), columns).unwrap();
                    let field = format!(".csv.gz:{}: {}.{}: ", row + 1, table.name, column.name);
                    attempt(
                        &format!("{change:?} at {row} of {}", column.name),
                        &forged,
                        &[&field],
                    );
                }
            }
        }
        let all: Vec<usize> = (0..count).collect();
        let row = |at: usize| rows(&batch, &[at]);
        for at in [0, count / 2, count - 2] {
            // The next row that is another one.
            let Some(other) = (at + 1..count).find(|&other| row(other) != row(at)) else {
                continue;
            };
            let mut swapped = all.clone();
            swapped.swap(at, other);
            let line = format!(".csv.gz:{}: {}.", at + 1, table.name);
            attempt(
                &format!("rows {at} and {other} swapped"),
                &rows(&batch, &swapped),
                &[&line],
            );
            let mut dropped = all.clone();
            dropped.remove(at);
            attempt(
                &format!("row {at} dropped"),
                &rows(&batch, &dropped),
                &[&table.name],
            );
            let mut doubled = all.clone();
            doubled.insert(at, at);
            attempt(
                &format!("row {at} doubled"),
                &rows(&batch, &doubled),
                &[&table.name],
            );
        }
        let number = |rows: usize| group_digits(rows as u64);
        let short = format!(
            "{}: has {} rows, but its source more",
            table.name,
            number(count - 1)
        );
        attempt(
            "the last row dropped",
            &rows(&batch, &all[..count - 1]),
            &[&short],
        );
        let mut longer = all.clone();
        longer.push(count - 1);
        let long = format!(
            "{}: has {} rows, but its source {}",
            table.name,
            number(count + 1),
            number(count)
        );
        attempt("the last row doubled", &rows(&batch, &longer), &[&long]);
        attempt(
            "no row",
            &rows(&batch, &[]),
            &["has 0 rows, but its source more"],
        );
        // Columns of one kind that change their places keep the schema and change the values.
        let swaps = (1..table.columns.len()).filter(|&at| {
            let (one, two) = (&table.columns[at - 1], &table.columns[at]);
            one.kind == two.kind
                && one.mandatory == two.mandatory
                && batch.column(at - 1) != batch.column(at)
        });
        for at in swaps {
            let mut columns = batch.columns().to_vec();
            columns.swap(at - 1, at);
            let forged = RecordBatch::try_new(batch.schema(), columns).unwrap();
            attempt(
                &format!("columns {} and {at} swapped", at - 1),
                &forged,
                &[&table.name],
            );
        }
        // One value shifted down a column, as a reader with an error off by one would.
        let shifted: Vec<u32> = (0..count)
            .map(|row| u32::try_from((row + 1) % count).unwrap())
            .collect();
        for (index, column) in table.columns.iter().enumerate() {
            let moved = take(
                batch.column(index),
                &UInt32Array::from(shifted.clone()),
                None,
            )
            .unwrap();
            if &moved == batch.column(index) {
                continue;
            }
            let mut columns = batch.columns().to_vec();
            columns[index] = moved;
            let forged = RecordBatch::try_new(batch.schema(), columns).unwrap();
            let field = format!("{}.{}: ", table.name, column.name);
            attempt(&format!("{} shifted", column.name), &forged, &[&field]);
        }
    }
    score.close();
}
