//! The plain twin: the csv crate and the standard library's parsers. It is slow, short, and shares
//! nothing with the program but the catalog.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, StringArray};
use flate2::read::MultiGzDecoder;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tracelake_schema::{Column, Kind, Table, arrow::arrow_schema};

use tracelake_testkit::{
    Scratch, committed_sample, convert, heads, manifest, output_path, read_output, shared, trace,
    tries_all,
};

/// The spelling of 2^63 - 1 that some published files are reported to have.
const OTHER_SENTINEL: &str = "18446744073709551615";

/// The columns of a table, from the text of one of its files.
fn plain(table: &Table, text: &[u8]) -> Vec<ArrayRef> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .quoting(false)
        .flexible(false)
        .from_reader(text);
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.unwrap()).collect();
    let column = |(index, column): (usize, &Arc<Column>)| {
        let position = table.fields.iter().position(|&field| field == index);
        let fields: Vec<Option<&str>> = rows
            .iter()
            .map(|row| {
                position
                    .map(|position| &row[position])
                    .filter(|field| !field.is_empty())
            })
            .collect();
        array(column, &fields)
    };
    table.columns.iter().enumerate().map(column).collect()
}

fn array(column: &Column, fields: &[Option<&str>]) -> ArrayRef {
    let fields = fields.iter().copied();
    let integer = |text: &str| match text {
        OTHER_SENTINEL => i64::MAX,
        text => text.parse().unwrap(),
    };
    match column.kind {
        Kind::DateTime(_) => unreachable!("the twin has no date-times"),
        Kind::Integer => Arc::new(fields.map(|f| f.map(integer)).collect::<Int64Array>()),
        Kind::Code => Arc::new(
            fields
                .map(|f| f.map(|f| f.parse().unwrap()))
                .collect::<Int32Array>(),
        ),
        Kind::Float => Arc::new(
            fields
                .map(|f| f.map(|f| f.parse().unwrap()))
                .collect::<Float64Array>(),
        ),
        Kind::Boolean => Arc::new(
            fields
                .map(|f| f.map(|f| f == "1"))
                .collect::<BooleanArray>(),
        ),
        Kind::Text | Kind::Struct | Kind::List => Arc::new(fields.collect::<StringArray>()),
    }
}

/// Compares every part that a manifest names with its source.
#[track_caller]
fn assert_equal(source: &Path, out: &Path) -> usize {
    let mut rows = 0;
    let manifest = manifest(out);
    let trace = tracelake_schema::trace(manifest["trace"].as_str().unwrap()).unwrap();
    for facts in manifest["tables"].as_array().unwrap() {
        let table = trace.table(facts["name"].as_str().unwrap()).unwrap();
        for part in facts["parts"].as_array().unwrap() {
            let path = part["source"]["path"].as_str().unwrap();
            let mut text = Vec::new();
            let file = fs::File::open(source.join(path)).unwrap();
            MultiGzDecoder::new(file).read_to_end(&mut text).unwrap();
            let lake = read_output(&out.join(part["output"]["path"].as_str().unwrap()));
            // Comments travel with the fields; the file itself has more keys, for other readers.
            assert!(
                lake.schema().fields() == arrow_schema(table).fields(),
                "{path}: fields"
            );
            let plain = plain(table, &text);
            for (column, (found, expected)) in
                table.columns.iter().zip(lake.columns().iter().zip(&plain))
            {
                assert!(found == expected, "{path}: {} differs", column.name);
            }
            assert_eq!(part["rows_in"].as_u64(), Some(lake.num_rows() as u64));
            assert_eq!(part["rows_out"], part["rows_in"]);
            rows += lake.num_rows();
        }
    }
    rows
}

#[test]
#[cfg_attr(not(published_data), ignore = "needs ../shared/data")]
fn published_data_equals_its_plain_reading() {
    let source = shared("google-2011");
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("lake");
    convert(&source, &out, &["--allow-missing"]).well();
    assert_eq!(assert_equal(&source, &out), 37_780 + 4_196 + 4_711 + 3_829);
    let manifest = manifest(&out);
    let found: Vec<(u64, u64)> = manifest["tables"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|table| table["parts"].as_array().unwrap())
        .map(|part| {
            (
                part["file_number"].as_u64().unwrap(),
                part["rows_out"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [(175, 4_196), (176, 4_711), (177, 3_829), (0, 37_780)]
    );
}

#[test]
#[cfg_attr(not(published_data), ignore = "needs ../shared/data")]
fn published_heads_equal_their_plain_reading() {
    let scratch = heads();
    scratch.convert_well(&["--allow-missing"]);
    assert_eq!(assert_equal(&scratch.src(), &scratch.out()), 1800);
    let trace = manifest(&scratch.out())["trace"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(trace.starts_with("google-2011-v2"), "{trace}");
}

#[test]
fn the_committed_sample_equals_its_plain_reading() {
    let source = committed_sample();
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("lake");
    convert(&source, &out, &[]).well();
    let tables = manifest(&out)["tables"].as_array().unwrap().len();
    assert_eq!(tables, trace().tables.len());
    assert!(assert_equal(&source, &out) > 0);
}

#[test]
fn a_sample_of_every_table_equals_its_plain_reading() {
    let scratch = Scratch::with_sample(2, 700);
    scratch.convert_well(&[]);
    assert_eq!(assert_equal(&scratch.src(), &scratch.out()), 700 * 10);
}

/// A field that is not empty and means a value of the column's kind, in every way to write one.
fn field(column: &'static Column) -> BoxedStrategy<String> {
    let sentinels = column
        .sentinels
        .iter()
        .filter_map(|sentinel| sentinel.also.clone());
    let sentinels: Vec<String> = sentinels.collect();
    let filled = match column.kind {
        Kind::DateTime(_) => Just(String::new()).boxed(),
        Kind::Integer => {
            let plain = prop_oneof![
                any::<i64>().prop_map(|value| value.to_string()),
                any::<u32>().prop_map(|value| value.to_string()),
                "-?[0-9]{1,17}",
                "0{0,30}[0-9]{1,18}",
                Just(i64::MAX.to_string()),
                Just(i64::MIN.to_string()),
            ];
            if sentinels.is_empty() {
                plain.boxed()
            } else {
                prop_oneof![9 => plain, 1 => prop::sample::select(sentinels)].boxed()
            }
        }
        Kind::Code => prop_oneof![
            any::<i32>().prop_map(|value| value.to_string()),
            "[0-8]",
            "-?0{0,12}[0-9]{1,9}"
        ]
        .boxed(),
        Kind::Float => prop_oneof![
            any::<f64>()
                .prop_filter("infinite and NaN have no digits", |value| value.is_finite())
                .prop_map(|value| format!("{value:e}")),
            any::<f32>()
                .prop_filter("infinite and NaN have no digits", |value| value.is_finite())
                .prop_map(|value| format!("{value}")),
            "-?[0-9]{1,3}",
            "-?0\\.[0-9]{1,20}",
            "[0-9]\\.[0-9]{1,3}e[-+][0-9]{2}",
            "[0-9]{1,25}e-[0-9]{1,3}",
        ]
        .boxed(),
        Kind::Boolean => "[01]".boxed(),
        Kind::Text | Kind::Struct | Kind::List => prop_oneof![
            "[A-Za-z0-9+/]{43}=",
            "[1-9][0-9]?",
            "[^\\p{Cc},\"]{1,12}",
            "[ -!#-+\\--~]{1,200}",
        ]
        .boxed(),
    };
    if column.mandatory {
        filled
    } else {
        prop_oneof![3 => filled, 1 => Just(String::new())].boxed()
    }
}

fn rows(table: &'static Table) -> BoxedStrategy<Vec<Vec<String>>> {
    let row: Vec<_> = table
        .fields
        .iter()
        .map(|&index| field(&table.columns[index]))
        .collect();
    prop::collection::vec(row, 0..40).boxed()
}

/// Any text that the format allows, for every table; they have every kind of column among them.
#[test]
fn any_table_equals_its_plain_reading() {
    let config = ProptestConfig {
        cases: if tries_all() { 25 } else { 10 },
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    for table in &trace().tables {
        let cases = (rows(table), any::<bool>(), any::<bool>());
        TestRunner::new(config.clone())
            .run(&cases, |(rows, crlf, cut)| {
                let ending = if crlf { "\r\n" } else { "\n" };
                let mut text = String::new();
                for row in &rows {
                    text += &(row.join(",") + ending);
                }
                if cut && !crlf {
                    text.pop();
                }
                let scratch = Scratch::new();
                scratch.only(&table.name, text.as_bytes());
                let trace = &trace().name;
                let run = scratch.convert(&["--trace", trace, "--threads", "1"]);
                prop_assert_eq!(run.code, 0, "{}\n{}", run.stderr, text);
                prop_assert_eq!(assert_equal(&scratch.src(), &scratch.out()), rows.len());
                let manifest = manifest(&scratch.out());
                let mapped = text.matches(OTHER_SENTINEL).count();
                let counted = &manifest["tables"][0]["parts"][0]["sentinels_mapped"];
                prop_assert_eq!(counted.as_u64(), Some(mapped as u64));
                prop_assert!(scratch.out().join(output_path(&table.name, 0, 1)).exists());
                Ok(())
            })
            .unwrap();
    }
}
