//! Wide rows: columns of a file that are one list of the lake.

use std::fs;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, RecordBatch};

use tracelake_testkit::{Scratch, read_arrow, read_output, run, shared};

use super::describe;
use super::language::{converted, first_output, misfit};

/// Rows of the durations of Azure's functions of 2019, and of the minutes of their invocations.
const AZURE: &str = r#"
family = "azure-functions"
[[table]]
name = "durations"
file = "function_durations_percentiles.anon.d01.csv"
csv.header = true
[table.columns]
HashOwner = "text"
HashApp = "text"
HashFunction = "text"
Average = "float"
Count = "integer"
Minimum = "float"
Maximum = "float"
percentiles = { kind = "list", columns = ["percentile_Average_0", "percentile_Average_1", "percentile_Average_25", "percentile_Average_50", "percentile_Average_75", "percentile_Average_99", "percentile_Average_100"], field = [{ kind = "float", unit = "ms" }] }
"#;

/// The items of a list of integers in a row; NULL is -1.
fn integers(read: &RecordBatch, name: &str, row: usize) -> Option<Vec<i64>> {
    let lists = read.column_by_name(name).unwrap().as_list::<i32>();
    let items = (!lists.is_null(row)).then(|| lists.value(row))?;
    let items = items.as_primitive::<Int64Type>();
    Some(items.iter().map(|item| item.unwrap_or(-1)).collect())
}

#[test]
#[cfg_attr(not(published_data), ignore = "needs ../shared/data")]
fn percentiles_of_real_rows_are_a_list() {
    let name = "function_durations_percentiles.anon.d01.csv";
    let text = fs::read_to_string(shared(&format!("next/azure-functions-2019/{name}"))).unwrap();
    for description in [
        AZURE.to_owned(),
        AZURE.replace("true\n", "\"by-name\"\n"),
        AZURE.replace("csv.header = true", "syntax = \"quoted-csv\""),
    ] {
        let scratch = Scratch::new();
        scratch.file(name, text.as_bytes());
        converted(&scratch, &description);
        let read = read_output(&first_output(&scratch));
        let lists = read.column_by_name("percentiles").unwrap();
        let lists = lists.as_list::<i32>();
        for (row, line) in text.lines().skip(1).enumerate() {
            let expected = line
                .split(',')
                .skip(7)
                .map(|text| text.parse::<f64>().unwrap());
            let found = lists.value(row);
            let found = found.as_primitive::<Float64Type>();
            assert_eq!(found.values().to_vec(), expected.collect::<Vec<_>>());
        }
        assert_eq!(read.num_rows(), text.lines().count() - 1);
    }
}

/// A table of a name and a run of columns.
fn minutes(syntax: &str, csv: &str, keys: &str, item: &str) -> String {
    format!(
        "family = \"weather\"\n[[table]]\nname = \"readings\"\nfile = \"readings.csv\"\nsyntax = \"{syntax}\"\n{csv}\n\
         [table.columns]\nname = \"text\"\nminutes = {{ kind = \"list\"{keys}, field = [{{ kind = \"integer\"{item} }}] }}\n\
         last = \"integer\"\n"
    )
}

const BY_NAME: &str = "csv.header = \"by-name\"";

/// A day of minutes in 2,000 rows: more than a chunk, a page and a dictionary hold.
#[test]
fn a_day_of_minutes_is_a_list_in_every_form() {
    let value = |row: usize, minute: usize| match (row * 31 + minute * 7) % 11 {
        0 => -1,
        1 => i64::try_from(row * 1440 + minute).unwrap(),
        more => i64::try_from(more).unwrap(),
    };
    let order: Vec<usize> = (0..1440).map(|at| at * 7 % 1440).collect();
    let in_order: Vec<usize> = (0..1440).collect();
    for (syntax, csv, places, rows) in [
        ("csv", "csv.header = true", &in_order, 2000),
        ("csv", "", &in_order, 20),
        ("csv", BY_NAME, &order, 300),
        ("csv", "csv.separator = \", \"", &in_order, 20),
        ("quoted-csv", "", &in_order, 300),
        ("quoted-csv", BY_NAME, &order, 20),
    ] {
        let line = |name: &str, of: &dyn Fn(usize) -> String, last: &str| {
            let fields: Vec<String> = places.iter().map(|at| of(*at)).collect();
            let comma = if csv.contains(", ") { ", " } else { "," };
            [name, &fields.join(comma), last].join(comma) + "\n"
        };
        let mut text = match csv.contains("header") || syntax == "quoted-csv" {
            true => line("name", &|at| (at + 1).to_string(), "last"),
            false => String::new(),
        };
        for row in 0..rows {
            let field = |at| match value(row, at) {
                -1 => String::new(),
                value => value.to_string(),
            };
            text += &line("x", &field, &row.to_string());
        }
        let scratch = Scratch::new();
        scratch.file("readings.csv", text.as_bytes());
        converted(
            &scratch,
            &minutes(syntax, csv, ", columns = \"1..1440\"", ""),
        );
        let parquet = first_output(&scratch);
        let arrow = scratch
            .path()
            .join("arrow")
            .join(parquet.strip_prefix(scratch.out()).unwrap());
        let batches = read_arrow(&arrow.with_extension("arrow"));
        let arrow_rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        let read = read_output(&parquet);
        assert_eq!((read.num_rows(), arrow_rows), (rows, rows));
        for read in [&read, &batches[0]] {
            for row in (0..read.num_rows()).step_by(97) {
                let expected = (0..1440).map(|minute| value(row, minute));
                let found = integers(read, "minutes", row);
                assert_eq!(found, Some(expected.collect()), "{syntax} {csv}");
            }
        }
        let last = read.column_by_name("last").unwrap();
        let last = last.as_primitive::<Int64Type>().value(rows - 1);
        assert_eq!(last, i64::try_from(rows).unwrap() - 1);
    }
}

/// Each mistake in an item rejects its row, and all others stay: what is left is verified with the rejects.
#[test]
fn a_bad_item_rejects_its_row() {
    let rows = "name,08,09,10,last\na,1,2,3,0\nb,x,2,y,0\nc,,NA,5.0,0\nd,1,2,3,z\ne,,2,,0\nf,1,2\ng,1,NULL,3,9\n";
    for (syntax, csv, text) in [
        ("csv", "csv.header = true", rows.to_owned()),
        ("csv", BY_NAME, rows.to_owned()),
        ("quoted-csv", BY_NAME, rows.to_owned()),
        ("csv", "", rows.split_once('\n').unwrap().1.to_owned()),
    ] {
        for (item, kept) in [
            (
                ", null = [\"NA\"], integral_floats = true",
                &["a", "c", "e", "g"][..],
            ),
            (", null = [\"NA\"]", &["a", "e", "g"]),
            (", mandatory = true", &["a"]),
        ] {
            let scratch = Scratch::new();
            scratch.file("readings.csv", text.as_bytes());
            let description = minutes(syntax, csv, ", columns = \"08..10\"", item);
            let required = "[table.columns]\nname";
            let description = match item.contains("mandatory") {
                true => description.replacen(
                    required,
                    &format!("required = \"Always.\"\n{required}"),
                    1,
                ),
                false => description,
            };
            let refused = misfit(&scratch, &description);
            assert_eq!(refused.code, 4, "{}", refused.stderr);
            refused.says("readings.minutes[0]: not an integer in decimal digits: 'x'");
            let file = describe(&scratch, "weather.toml", &description);
            for format in ["parquet", "arrow"] {
                let arguments = ["--trace", file.to_str().unwrap(), "--on-bad-row", "reject"];
                let more = ["--accept", "null=NULL", "--format", format];
                scratch.convert(&[arguments, more].concat()).exits(3);
                let output = first_output(&scratch);
                let read = match format {
                    "arrow" => read_arrow(&output).remove(0),
                    _ => read_output(&output),
                };
                let names = read.column_by_name("name").unwrap().as_string::<i32>();
                let names: Vec<&str> = names.iter().flatten().collect();
                assert_eq!(names, kept, "{syntax} {csv} {item} {format}");
                if let Some(row) = names.iter().position(|name| *name == "g") {
                    assert_eq!(integers(&read, "minutes", row), Some(vec![1, -1, 3]));
                }
                let verified = scratch.verify();
                assert_eq!(
                    verified.code, 0,
                    "{syntax} {csv} {item} {format}: {}",
                    verified.stderr
                );
                fs::remove_dir_all(scratch.out()).unwrap();
            }
        }
    }
}

#[test]
fn a_header_lacks_all_of_a_run_or_nothing() {
    let scratch = Scratch::new();
    scratch.file("readings.csv", b"last,name\n5,a\n");
    let keys = ", columns = \"1..3\", may_be_absent = true";
    converted(&scratch, &minutes("csv", BY_NAME, keys, ""));
    let read = read_output(&first_output(&scratch));
    assert_eq!(integers(&read, "minutes", 0), None);
    for (keys, header) in [
        (keys, "1,name,3,last"),
        (", columns = \"1..3\"", "1,name,3,last"),
    ] {
        let scratch = Scratch::new();
        scratch.file("readings.csv", format!("{header}\n1,a,2,5\n").as_bytes());
        let refused = misfit(&scratch, &minutes("csv", BY_NAME, keys, ""));
        assert_eq!(refused.code, 4);
        refused.says("the header lacks the column '2'");
    }
    let scratch = Scratch::new();
    scratch.file("readings.csv", b"name,1,3,2,last\na,1,2,3,5\n");
    misfit(
        &scratch,
        &minutes("csv", "csv.header = true", ", columns = \"1..3\"", ""),
    )
    .says("the header has '3' as column 3, not '2'");
}

/// A lake of some columns has all of a run, or nothing of it.
#[test]
fn runs_are_columns_of_a_selection() {
    let scratch = Scratch::new();
    scratch.file("readings.csv", b"a,1,2,5\nb,3,4,6\n");
    let description = minutes("csv", "time = \"last\"", ", columns = \"1..2\"", "");
    let file = describe(&scratch, "weather.toml", &description);
    let trace = [
        "--trace",
        file.to_str().unwrap(),
        "--time",
        "6..",
        "--columns",
        "readings.minutes",
    ];
    scratch.convert(&trace).well();
    let read = read_output(&first_output(&scratch));
    assert_eq!(
        (read.num_columns(), integers(&read, "minutes", 0)),
        (1, Some(vec![3, 4]))
    );
    scratch.verify().well();
    let printed = run(["schema", file.to_str().unwrap(), "readings"]);
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    let says = "fields 2 to 3, published as \"1\" to \"2\"";
    assert!(printed.stdout.contains(says), "{}", printed.stdout);
    assert!(printed.stdout.contains("field 4, published as \"last\""));
}
