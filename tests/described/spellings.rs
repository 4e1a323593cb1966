//! Spellings of values that a description adds, in every syntax: the same values, and the same mistakes.

use std::fs;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, RecordBatch};

use tracelake_testkit::{Scratch, convert, manifest, read_arrow, read_output, shared, verify_well};

use super::describe;
use super::language::{converted, first_output, misfit, one_table};

/// A syntax, the name of its file, what is before the rows, and the three values of a row of it.
struct Form {
    syntax: &'static str,
    file: &'static str,
    header: &'static str,
    row: fn([&str; 3]) -> String,
}

const FORMS: [Form; 4] = [
    Form {
        syntax: "csv",
        file: "readings.csv",
        header: "",
        row: |values| values.join(",") + "\n",
    },
    Form {
        syntax: "quoted-csv",
        file: "readings.csv",
        header: "on,count,load\n",
        row: |values| format!("\"{}\",{},\"{}\"\n", values[0], values[1], values[2]),
    },
    Form {
        syntax: "json",
        file: "readings.json",
        header: "",
        row: |[on, count, load]| {
            format!("{{\"load\":\"{load}\",\"on\":\"{on}\",\"count\":\"{count}\"}}\n")
        },
    },
    // A word without quotes that JSON has, or a number, is a spelling, too.
    Form {
        syntax: "json",
        file: "readings.json",
        header: "",
        row: |values| {
            let [on, count, load] = values.map(|text| match text.parse::<f64>() {
                Ok(number) if number.is_finite() => text.to_owned(),
                _ => format!("\"{}\"", text.escape_unicode())
                    .replace("\\u{", "\\u00")
                    .replace('}', ""),
            });
            format!("{{\"count\" : {count}, \"on\":{on},\"load\": {load} }}\n")
        },
    },
];

const WORDS: &str =
    "kind = \"boolean\"\nwords = { true = [\"True\", \"yes\"], false = [\"False\", \"no\"] }";

impl Form {
    fn description(&self) -> String {
        let table = format!(
            "files = \"whole\"\nsyntax = \"{}\"\ntime = \"count\"\nnull = [\"NA\"]",
            self.syntax
        );
        let columns = [
            ("on", WORDS),
            ("count", "kind = \"integer\"\nintegral_floats = true"),
            ("load", "kind = \"float\"\nnull = [\"NaN\", \"-1\"]"),
        ];
        one_table(&table, &columns)
    }

    fn source(&self, rows: &[[&str; 3]]) -> Scratch {
        let scratch = Scratch::new();
        let rows = rows.iter().map(|row| (self.row)(*row));
        let text = self.header.to_owned() + &rows.collect::<String>();
        scratch.file(self.file, text.as_bytes());
        scratch
    }
}

const ROWS: [[&str; 3]; 5] = [
    ["True", "5.0", "0.5"],
    ["no", "-7", "NaN"],
    ["NA", "8.00", "-1"],
    ["yes", "NA", "1"],
    ["False", "18", "-1.0"],
];

fn check(rows: &RecordBatch) {
    let on = rows.column(0).as_boolean().iter();
    let count = rows.column(1).as_primitive::<Int64Type>().iter();
    let load = rows.column(2).as_primitive::<Float64Type>().iter();
    let expected = [Some(true), Some(false), None, Some(true), Some(false)];
    assert_eq!(on.collect::<Vec<_>>(), expected);
    let expected = [Some(5), Some(-7), Some(8), None, Some(18)];
    assert_eq!(count.collect::<Vec<_>>(), expected);
    let expected = [Some(0.5), None, None, Some(1.0), Some(-1.0)];
    assert_eq!(load.collect::<Vec<_>>(), expected);
}

#[test]
fn values_are_spelled_as_described() {
    for form in &FORMS {
        let scratch = form.source(&ROWS);
        converted(&scratch, &form.description());
        check(&read_output(&first_output(&scratch)));
        let arrow = manifest(&scratch.path().join("arrow"));
        let path = arrow["tables"][0]["parts"][0]["output"]["path"]
            .as_str()
            .unwrap();
        check(&read_arrow(&scratch.path().join("arrow").join(path))[0]);
        let part = &manifest(&scratch.out())["tables"][0]["parts"][0];
        // What is described isn't counted.
        assert_eq!(part.get("nulls_accepted"), None);
        assert_eq!(part.get("integral_floats_accepted"), None);
        assert_eq!(
            (&part["time_min"], &part["time_max"]),
            (&(-7).into(), &18.into())
        );
    }
}

/// Rows are chosen by the values, however these are spelled.
#[test]
fn rows_are_selected_by_values_of_any_spelling() {
    for form in &FORMS {
        let scratch = form.source(&ROWS);
        let file = describe(&scratch, "weather.toml", &form.description());
        let trace = ["--trace", file.to_str().unwrap(), "--time", "5..9"];
        scratch.convert_well(&trace);
        scratch.verify().well();
        let part = &manifest(&scratch.out())["tables"][0]["parts"][0];
        assert_eq!(
            (&part["rows_out"], &part["rows_not_selected"]),
            (&2.into(), &3.into())
        );
    }
}

#[test]
fn other_spellings_are_bad_rows() {
    for form in &FORMS {
        let no_word = "readings.on: none of the described words for true and false";
        let no_integer = "readings.count: not an integer in decimal digits";
        for (row, message) in [
            (["TRUE", "1", "1"], no_word),
            (["NaN", "1", "1"], no_word),
            (["no", "5.5", "1"], no_integer),
            (["no", "-", "1"], no_integer),
            (["no", "1", "NA"], "readings.load: not a decimal number"),
        ] {
            let scratch = form.source(&[ROWS[0], row]);
            let run = misfit(&scratch, &form.description());
            let line = 2 + form.header.lines().count();
            run.refuses(4, &format!("{}:{line}:", form.file));
            run.says(message);
            let file = describe(&scratch, "weather.toml", &form.description());
            let trace = ["--trace", file.to_str().unwrap(), "--on-bad-row", "reject"];
            let out = scratch.path().join("rejecting");
            convert(&scratch.src(), &out, &trace).exits(3);
            verify_well(&out, &scratch.src());
        }
    }
}

#[test]
fn a_message_names_the_key_for_words() {
    let scratch = Scratch::new();
    scratch.file("readings.csv", b"1\nTrue\n");
    let run = misfit(
        &scratch,
        &one_table("files = \"whole\"", &[("on", "kind = \"boolean\"")]),
    );
    run.refuses(4, "readings.csv:2:1: readings.on: neither 0 nor 1: 'True'");
    run.says("write words = { true = [\"True\"] } for its column in the description");
}

/// Ids above 2^63 keep their digits, by themselves and in lists, and rows are sampled by them.
#[test]
fn unsigned_ids_are_texts_of_their_digits() {
    let table = |syntax: &str| {
        format!(
            "files = \"whole\"\nsyntax = \"{syntax}\"\nsample_keys.id = \"id\"\nsample_by = \"id\""
        )
    };
    let numbers = "kind = \"text\"\nnumbers = true";
    let list = format!(
        "kind = \"list\"\nfield = [{{ {} }}]",
        numbers.replace('\n', ", ")
    );
    let columns = [("id", numbers), ("ids", list.as_str())];
    for (syntax, file, rows) in [
        (
            "json",
            "readings.json",
            "{\"id\":18446744073709551615,\"ids\":[9223372036854775808, 1, \"2\"]}\n\
             {\"ids\":[],\"id\":\"7\"}\n{\"id\":1.50}\n",
        ),
        (
            "quoted-csv",
            "readings.csv",
            "id,ids\n18446744073709551615,\"[9223372036854775808, 1, '2']\"\n7,[]\n1.50,\n",
        ),
    ] {
        let scratch = Scratch::new();
        scratch.file(file, rows.as_bytes());
        let description = one_table(&table(syntax), &columns);
        converted(&scratch, &description);
        let read = read_output(&first_output(&scratch));
        let ids: Vec<_> = read.column(0).as_string::<i32>().iter().flatten().collect();
        assert_eq!(ids, ["18446744073709551615", "7", "1.50"]);
        let first = read.column(1).as_list::<i32>().value(0);
        let items: Vec<_> = first.as_string::<i32>().iter().flatten().collect();
        assert_eq!(items, ["9223372036854775808", "1", "2"]);
        let file = describe(&scratch, "weather.toml", &description);
        let mut rows = 0;
        for class in ["0/2", "1/2"] {
            let out = scratch.path().join(class.replace('/', "of"));
            let trace = ["--trace", file.to_str().unwrap(), "--sample", class];
            convert(&scratch.src(), &out, &trace).well();
            verify_well(&out, &scratch.src());
            rows += manifest(&out)["tables"][0]["rows"].as_u64().unwrap();
        }
        assert_eq!(rows, 3);
    }
    let scratch = Scratch::new();
    scratch.file("readings.json", b"{\"id\":true}\n");
    let run = misfit(&scratch, &one_table(&table("json"), &columns));
    run.refuses(4, "readings.json:1:7: readings.id: not a string");
}

#[test]
#[cfg_attr(not(published_data), ignore = "needs ../shared/data")]
fn real_ids_in_lists_are_texts_of_their_digits() {
    let name = "conversation_trace.jsonl";
    let text = fs::read_to_string(shared(&format!("next/mooncake/{name}"))).unwrap();
    let scratch = Scratch::new();
    scratch.file(name, text.as_bytes());
    let description = format!(
        "family = \"mooncake\"\n[[table]]\nname = \"requests\"\nfile = \"{name}\"\nsyntax = \"json\"\n\
         time = \"timestamp\"\n[table.columns]\ntimestamp = \"integer\"\ninput_length = \"integer\"\n\
         output_length = \"integer\"\nhash_ids = {{ kind = \"list\", field = [{{ kind = \"text\", numbers = true }}] }}\n"
    );
    converted(&scratch, &description);
    let read = read_output(&first_output(&scratch));
    let lists = read.column(3).as_list::<i32>();
    assert_eq!(read.num_rows(), text.lines().count());
    for (row, line) in text.lines().enumerate() {
        let ids = line.split_once("\"hash_ids\": [").unwrap().1;
        let ids = ids.trim_end_matches("]}").split(", ");
        let found = lists.value(row);
        let found = found.as_string::<i32>();
        assert!(
            found.iter().flatten().eq(ids.filter(|id| !id.is_empty())),
            "{line}"
        );
    }
}

/// Real rows that pandas wrote: booleans as words, and whole numbers as floats.
#[test]
#[cfg_attr(not(published_data), ignore = "needs ../shared/data")]
fn real_rows_of_pandas_are_read() {
    let name = "azurefunctions-accesses-2020.csv";
    let text =
        fs::read_to_string(shared(&format!("next/azure-functions-blob-2020/{name}"))).unwrap();
    let scratch = Scratch::new();
    scratch.file(name, text.as_bytes());
    let integer = "kind = \"integer\"";
    let pandas = "kind = \"boolean\"\nwords = { true = [\"True\"], false = [\"False\"] }";
    let columns = [
        ("Timestamp", integer),
        ("AnonRegion", "kind = \"text\""),
        ("AnonUserId", integer),
        ("AnonAppName", "kind = \"text\""),
        ("AnonFunctionInvocationId", integer),
        ("AnonBlobName", "kind = \"text\""),
        ("BlobType", "kind = \"text\""),
        ("AnonBlobETag", "kind = \"text\""),
        ("BlobBytes", "kind = \"integer\"\nintegral_floats = true"),
        ("Read", pandas),
        ("Write", pandas),
    ];
    let table = format!("files = \"whole\"\nnames = [\"{name}\"]\n[table.csv]\nheader = true");
    converted(&scratch, &one_table(&table, &columns));
    let found = read_output(&first_output(&scratch));
    let rows: Vec<Vec<&str>> = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect())
        .collect();
    assert_eq!(found.num_rows(), rows.len());
    let bytes = found.column(8).as_primitive::<Int64Type>();
    let [read, write] = [9, 10].map(|at| found.column(at).as_boolean());
    for (row, fields) in rows.iter().enumerate() {
        let whole = fields[8].strip_suffix(".0").unwrap_or_default();
        let value = bytes.is_valid(row).then(|| bytes.value(row).to_string());
        assert_eq!(value.unwrap_or_default(), whole);
        for (column, field) in [(read, fields[9]), (write, fields[10])] {
            assert_eq!(column.value(row), field == "True");
        }
    }
}
