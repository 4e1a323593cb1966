//! Files of one table whose headers differ: columns are found by their names.

use std::fs;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

use tracelake_testkit::{Scratch, manifest, read_output, shared};

use super::language::{converted, misfit};

/// The releases of BurstGPT: the third has two columns more.
const BURSTGPT: &str = r#"
family = "burstgpt"
[[table]]
name = "requests"
files = "named"
names = ["BurstGPT_{n}.csv"]
first = 1
csv = { header = "by-name" }
[table.columns]
Timestamp = { kind = "integer", integral_floats = true }
"Session ID" = { kind = "text", may_be_absent = true }
"Elapsed time" = { kind = "integer", may_be_absent = true }
Model = "text"
"Request tokens" = "integer"
"Response tokens" = "integer"
"Total tokens" = "integer"
"Log Type" = "text"
"#;

/// The values of a column in a part, as texts; NULL is empty.
fn values(scratch: &Scratch, part: usize, name: &str) -> Vec<String> {
    let path = &manifest(&scratch.out())["tables"][0]["parts"][part]["output"]["path"];
    let read = read_output(&scratch.out().join(path.as_str().unwrap()));
    let column = read.column_by_name(name).unwrap();
    let value = |row: usize| match column.as_string_opt::<i32>() {
        _ if column.is_null(row) => String::new(),
        Some(texts) => texts.value(row).to_owned(),
        None => column.as_primitive::<Int64Type>().value(row).to_string(),
    };
    (0..column.len()).map(value).collect()
}

/// The values below a name of a file of plain CSV, read by its places.
fn below(text: &str, name: &str) -> Vec<String> {
    let mut lines = text.lines();
    let at = lines.next().unwrap().split(',').position(|it| it == name);
    let values = lines.map(|line| at.map_or("", |at| line.split(',').nth(at).unwrap()));
    values
        .map(|it| it.trim_end_matches(".0").to_owned())
        .collect()
}

/// The rows without some fields, as releases have them that lack these columns, in this order.
fn with_fields(text: &str, fields: &[usize]) -> String {
    let lines = text.lines().map(|line| {
        let all: Vec<&str> = line.split(',').collect();
        let kept: Vec<&str> = fields.iter().map(|at| all[*at]).collect();
        kept.join(",") + "\n"
    });
    lines.collect()
}

#[test]
#[cfg_attr(not(published_data), ignore = "needs ../shared/data")]
fn releases_of_real_rows_have_more_and_fewer_columns() {
    let third = fs::read_to_string(shared("next/burstgpt/BurstGPT_3.csv")).unwrap();
    let files = [
        with_fields(&third, &[0, 3, 4, 5, 6, 7]),
        with_fields(&third, &[7, 0, 6, 5, 4, 3]),
        third,
    ];
    for syntax in ["csv", "quoted-csv"] {
        let scratch = Scratch::new();
        for (number, text) in (1..).zip(&files) {
            scratch.file(&format!("BurstGPT_{number}.csv"), text.as_bytes());
        }
        let table = format!("name = \"requests\"\nsyntax = \"{syntax}\"");
        converted(&scratch, &BURSTGPT.replace("name = \"requests\"", &table));
        for (part, text) in files.iter().enumerate() {
            for (name, content) in [
                ("timestamp", "Timestamp"),
                ("session_id", "Session ID"),
                ("elapsed_time", "Elapsed time"),
                ("model", "Model"),
                ("request_tokens", "Request tokens"),
                ("total_tokens", "Total tokens"),
                ("log_type", "Log Type"),
            ] {
                let found = values(&scratch, part, name);
                assert_eq!(found, below(text, content), "{syntax} {part} {name}");
            }
        }
    }
}

/// Two columns in any order, one of which may be absent.
fn weather(syntax: &str, csv: &str) -> String {
    format!(
        "family = \"weather\"\n[[table]]\nname = \"readings\"\nfile = \"readings.csv\"\nsyntax = \"{syntax}\"\n\
         time = \"time\"\ncsv = {{ header = \"by-name\"{csv} }}\n\
         [table.columns]\ntime = \"integer\"\nsky = {{ kind = \"text\", may_be_absent = true }}\n"
    )
}

#[test]
fn a_column_is_found_by_one_of_its_names() {
    let text = weather("csv", "").replace(
        "kind = \"text\"",
        "kind = \"text\", also = [\"clouds\", \"\"]",
    );
    for header in ["time,clouds", "time,", "time,sky"] {
        let scratch = Scratch::new();
        scratch.file("readings.csv", format!("{header}\n1,blue\n").as_bytes());
        converted(&scratch, &text);
        assert_eq!(values(&scratch, 0, "sky"), ["blue"], "{header}");
    }
    let scratch = Scratch::new();
    scratch.file("readings.csv", b"clouds,time,sky\nwhite,1,blue\n");
    misfit(&scratch, &text).says("the header has 'sky' twice");
}

#[test]
fn columns_are_found_by_their_names() {
    let ignoring = ", extra = \"ignore\"";
    for (csv, text, sky) in [
        ("", "sky,time\nblue,1\ngrey,2\n", ["blue", "grey"]),
        ("", "time\n1\n2\n", ["", ""]),
        (
            ignoring,
            "moon,time,sky,\nfull,1,blue,x\nnew,2,grey,\n",
            ["blue", "grey"],
        ),
        (ignoring, "moon,time,moon\n,1,\n,2,\n", ["", ""]),
    ] {
        for syntax in ["csv", "quoted-csv"] {
            let scratch = Scratch::new();
            scratch.file("readings.csv", text.as_bytes());
            converted(&scratch, &weather(syntax, csv));
            assert_eq!(values(&scratch, 0, "time"), ["1", "2"], "{syntax} {text}");
            assert_eq!(values(&scratch, 0, "sky"), sky, "{syntax} {text}");
        }
    }
    let scratch = Scratch::new();
    scratch.file(
        "readings.csv",
        "\u{feff}# made\n#\nsky;time\nblue;1\n".as_bytes(),
    );
    let csv = ", bom = true, comment = \"#\", separator = \";\"";
    converted(&scratch, &weather("csv", csv));
    assert_eq!(values(&scratch, 0, "sky"), ["blue"]);
}

#[test]
fn a_header_that_does_not_fit_is_explained() {
    let ignoring = ", extra = \"ignore\"";
    for syntax in ["csv", "quoted-csv"] {
        for (csv, text, says) in [
            (
                "",
                "sky\nblue\n",
                "the header lacks the column 'time'; take the published file; if it never had time, \
              write may_be_absent = true for time in the description",
            ),
            (
                "",
                "time,sky,moon\n1,x,y\n",
                "the header has 'moon' as column 3, which the description doesn't have; \
              describe the column, or write extra = \"ignore\"",
            ),
            ("", "time,sky,time\n1,x,2\n", "the header has 'time' twice"),
            (
                ignoring,
                "time,sky,time\n1,x,2\n",
                "the header has 'time' twice",
            ),
            (
                ignoring,
                "moon,sun\n1,x\n",
                "the first line has to be the published header, which is time, sky",
            ),
            ("", "", "there is no header"),
        ] {
            let scratch = Scratch::new();
            scratch.file("readings.csv", text.as_bytes());
            let refused = misfit(&scratch, &weather(syntax, csv));
            assert_eq!(refused.code, 4, "{text}: {}", refused.stderr);
            refused.says("readings.csv");
            refused.says(says);
        }
    }
    let scratch = Scratch::new();
    scratch.file("readings.csv", b"# made\ntime,sun\n1,2\n");
    misfit(&scratch, &weather("csv", ", comment = \"#\""))
        .says("readings.csv:2: readings: the header has 'sun'");
}

/// A column that a rule selects rows by is where the header says, or NULL.
#[test]
fn rows_are_selected_and_rejected_by_their_own_header() {
    let scratch = Scratch::new();
    scratch.file(
        "readings.csv",
        b"moon,sky,time\nx,blue,7\ny,\"grey,8\nz,grey,9\nz,grey,x\n",
    );
    let file = super::describe(
        &scratch,
        "weather.toml",
        &weather("csv", ", extra = \"ignore\""),
    );
    let trace = [
        "--trace",
        file.to_str().unwrap(),
        "--time",
        "8..20",
        "--on-bad-row",
        "reject",
    ];
    scratch.convert(&trace).exits(3);
    assert_eq!(values(&scratch, 0, "time"), ["9"]);
    scratch.verify().well();
    let indexed = Scratch::new();
    indexed.file("readings.csv", b",sky,time\n0,blue,7\n1,grey,8\n");
    let file = super::describe(&indexed, "weather.toml", &weather("csv", ""));
    indexed
        .convert(&["--trace", file.to_str().unwrap(), "--accept", "index"])
        .well();
    assert_eq!(values(&indexed, 0, "sky"), ["blue", "grey"]);
    indexed.verify().well();
}

/// A byte order mark before a header is refused as one, and not as a name that the description lacks.
#[test]
fn a_byte_order_mark_before_a_header_by_name_is_refused_as_one() {
    for syntax in ["csv", "quoted-csv"] {
        let scratch = Scratch::new();
        scratch.file("readings.csv", b"\xef\xbb\xbfmoon,sky,time\nx,blue,7\n");
        let refused = misfit(&scratch, &weather(syntax, ", extra = \"ignore\""));
        assert_eq!(refused.code, 4, "{}", refused.stderr);
        refused.says("pass --accept bom");
    }
}
