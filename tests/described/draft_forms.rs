//! Drafts of JSON, of quoted CSV, of directories and of archives convert what they were drafted from.

use std::fs;
use std::path::Path;

use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};
use tracelake_testkit::{
    Run, Score, Scratch, convert, ensure, finished_lake, gzip, manifest, read_output, run, shared,
    value_text, verify_well,
};

use super::archives::zip;
use crate::streams::tar_gz;

fn draft(sample: &Path) -> Run {
    run(["schema".as_ref(), "--new".as_ref(), sample.as_os_str()])
}

/// Drafts a sample and converts a source with the draft, as it is.
fn drafted(scratch: &Scratch, sample: &Path, source: &Path, options: &[&str]) -> (String, Run) {
    let run = draft(sample);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let description = scratch.path().join("draft.toml");
    fs::write(&description, &run.stdout).unwrap();
    let trace = ["--trace", description.to_str().unwrap()];
    let converted = convert(source, &scratch.out(), &[&trace, options].concat());
    (run.stdout, converted)
}

/// The rows of a table of a lake, part by part.
fn rows_of(out: &Path, table: &str) -> Vec<RecordBatch> {
    let manifest = manifest(out);
    let tables = manifest["tables"].as_array().unwrap();
    let table = tables.iter().find(|facts| facts["name"] == table).unwrap();
    let parts = table["parts"].as_array().unwrap().iter();
    parts
        .map(|part| read_output(&out.join(part["output"]["path"].as_str().unwrap())))
        .collect()
}

/// A value of JSON as a column of this type has it.
fn as_text(kind: &DataType, value: Option<&Value>) -> String {
    match (kind, value) {
        (_, None | Some(Value::Null)) => "NULL".to_owned(),
        (DataType::List(item), Some(Value::Array(values))) => {
            let texts = values
                .iter()
                .map(|value| as_text(item.data_type(), Some(value)));
            format!("[{}]", texts.collect::<Vec<_>>().join(", "))
        }
        (DataType::Struct(fields), Some(Value::Object(object))) => {
            // The names of fields are those of the object, in lower case.
            let texts = fields.iter().map(|field| {
                let mut members = object.iter();
                let value = members.find(|(name, _)| name.to_lowercase() == *field.name());
                let value = value.map(|(_, value)| value);
                format!("{}: {}", field.name(), as_text(field.data_type(), value))
            });
            format!("{{{}}}", texts.collect::<Vec<_>>().join(", "))
        }
        (DataType::Float64, Some(Value::Number(number))) => {
            format!("{:?}", number.as_f64().unwrap())
        }
        (DataType::Float64, Some(Value::String(text))) => {
            format!("{:?}", text.parse::<f64>().unwrap())
        }
        (DataType::Int64, Some(Value::Number(number))) => {
            let text = number.to_string();
            text.strip_suffix(".0").unwrap_or(&text).to_owned()
        }
        (DataType::Timestamp(..), Some(Value::String(text))) => text.replacen(' ', "T", 1),
        (_, Some(Value::String(text))) => text.clone(),
        (_, Some(value)) => value.to_string(),
    }
}

/// Whether the rows of a lake of one table are these objects.
fn has_rows(out: &Path, table: &str, rows: &[Value]) -> Result<(), String> {
    let batches = rows_of(out, table);
    let found: usize = batches.iter().map(RecordBatch::num_rows).sum();
    ensure(found == rows.len(), || {
        format!("{found} rows, not {}", rows.len())
    })?;
    let mut rows = rows.iter();
    for batch in &batches {
        for (at, row) in (0..batch.num_rows()).zip(&mut rows) {
            for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
                let mut members = row.as_object().unwrap().iter();
                let value = members.find(|(name, _)| name.to_lowercase() == *field.name());
                let expected = as_text(field.data_type(), value.map(|(_, value)| value));
                let found = value_text(column, at);
                ensure(found == expected, || {
                    format!("{}: {found}, not {expected}", field.name())
                })?;
            }
        }
    }
    Ok(())
}

fn lines(rows: &[Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

/// A value of one of the kinds of JSON that a column can have.
fn value(kind: usize, number: u32) -> Value {
    match kind {
        0 => json!(i64::from(number) - 5),
        1 => json!(f64::from(number % 1_000) / 8.0),
        2 => json!(number.is_multiple_of(2)),
        3 => json!(["new york", "", "é\"\n", "\\N", "x{y}"][number as usize % 5]),
        4 => json!(format!("2024-05-{:02} 08:00:00", 1 + number % 28)),
        5 => json!(
            (0..number % 4)
                .map(|item| value(number as usize % 2, item))
                .collect::<Vec<_>>()
        ),
        6 => json!({"a": value(0, number), "B": value(3, number)}),
        7 => json!({"inner": [value(6, number), value(6, number / 2)]}),
        8 if number.is_multiple_of(3) => json!("18446744073709551616"),
        8 => json!(number),
        9 => json!(f64::from(number % 100)),
        10 => json!(number.to_string()),
        _ => Value::Null,
    }
}

#[test]
fn json_of_any_kind_is_drafted() {
    let mut score = Score::one_in(5, "drafts of JSON");
    let mut runner = TestRunner::deterministic();
    let column = (0..12_usize, 0..4_u32);
    let strategy = (
        prop::collection::vec(column, 1..6),
        prop::collection::vec(prop::collection::vec(any::<u32>(), 6), 1..9),
        0..3_usize,
    );
    for number in 0..200 {
        let (columns, numbers, form) = strategy.new_tree(&mut runner).unwrap().current();
        if !score.is_due() {
            continue;
        }
        let mut rows: Vec<Value> = Vec::new();
        for row in &numbers {
            let mut object = Map::new();
            for (at, (kind, absent)) in columns.iter().enumerate() {
                if row[at] % 5 >= *absent {
                    // A list has items of one kind in all rows.
                    let of = if *kind == 5 { row[at] & !1 } else { row[at] };
                    object.insert(format!("Column_{at}"), value(*kind, of));
                }
            }
            rows.push(object.into());
        }
        if rows
            .iter()
            .all(|row| row.as_object().unwrap().values().all(Value::is_null))
        {
            continue;
        }
        let text = match form {
            0 => lines(&rows),
            1 => Value::from(rows.clone()).to_string(),
            _ => serde_json::to_string_pretty(&rows).unwrap() + "\n",
        };
        let scratch = Scratch::new();
        scratch.file("made_up.json", text.as_bytes());
        let sample = scratch.src().join("made_up.json");
        let (draft, converted) = drafted(&scratch, &sample, &scratch.src(), &[]);
        let outcome = ensure(converted.code == 0, || converted.stderr.clone()).and_then(|()| {
            verify_well(&scratch.out(), &scratch.src());
            has_rows(&scratch.out(), "made_up", &rows)
        });
        let outcome = outcome.map_err(|why| format!("{why}\n{text}\n{draft}"));
        score.count(&format!("sample {number}"), outcome);
    }
    score.close();
}

/// `json.dump` writes a list as one line of any length.
#[test]
fn an_array_may_be_one_long_line() {
    let rows: Vec<Value> = (0..60_000)
        .map(|number| json!({"id": number, "name": "größe", "size": {"cpu": 0.5}}))
        .collect();
    let text = Value::from(rows.clone()).to_string();
    assert!(text.len() > 2 << 20);
    let scratch = Scratch::new();
    scratch.file("boxes.json.gz", &gzip(text.as_bytes()));
    let sample = scratch.src().join("boxes.json.gz");
    let (draft, converted) = drafted(&scratch, &sample, &scratch.src(), &["--part-rows", "25000"]);
    assert!(draft.contains("array = true"), "{draft}");
    converted.well();
    verify_well(&scratch.out(), &scratch.src());
    has_rows(&scratch.out(), "boxes", &rows).unwrap();
    assert_eq!(rows_of(&scratch.out(), "boxes").len(), 3);

    // Faults are named with the place in the line.
    let scratch = Scratch::new();
    let cut = &text[..text.len() - 1];
    let description = scratch.path().join("draft.toml");
    fs::write(&description, &draft).unwrap();
    let trace = ["--trace", description.to_str().unwrap()];
    for (bytes, says) in [
        (
            cut.to_owned(),
            "boxes.json:2:1: boxes: the array has no end".to_owned(),
        ),
        (
            format!("{text} x"),
            format!(
                "boxes.json:1:{}: boxes: there is more after",
                text.len() + 2
            ),
        ),
        (
            format!("{cut},{{\"id\":\"x\"}}]"),
            "boxes.id: not an integer in decimal digits: '\"x\"'".to_owned(),
        ),
        (
            format!("{cut},{{\"id\":\"{}\"}}]", "x".repeat(2 << 20)),
            "a record longer than".to_owned(),
        ),
    ] {
        fs::create_dir_all(scratch.src()).unwrap();
        scratch.file("boxes.json", bytes.as_bytes());
        convert(&scratch.src(), &scratch.out(), &trace).refuses(4, &says);
    }
}

#[test]
fn json_that_a_lake_cannot_have_is_named() {
    for (text, code, says) in [
        (
            "{\n  \"a\": 1\n}\n",
            4,
            "is no object of JSON a line, and no array of objects",
        ),
        ("[{}, {}]", 4, "has no row with a value"),
        ("{\"a\":{}}\n", 4, "has no row with a value"),
        (
            "{\"a\":1}\n{\"a\":true}\n",
            0,
            "# guess: line 2 has a boolean in 'a', and an earlier row has a number",
        ),
        ("{\"a\":1}\n\n{\"a\":2}\n", 0, "# guess: line 2 is blank."),
        (
            "{\"a\":1}\n{\"a\":2\n",
            0,
            "# guess: line 2 is no object of JSON.",
        ),
        (
            "{\"a\":1,\"b\":{}}\n",
            0,
            "extra = \"ignore\"  # guess: what is left out",
        ),
        (
            "{\"a\\u0007\":1,\"b\":2}\n",
            0,
            "# guess: a name that can't be printed is left out.",
        ),
        (
            "\u{feff}{\"a\":1}\n",
            0,
            "# guess: the file begins with a byte order mark: pass --accept bom.",
        ),
        (
            "{\"a\":\"\",\"b\":\"5\"}\n",
            0,
            "name = \"a\"\ncontent = \"a\"\nkind = \"text\"",
        ),
    ] {
        let scratch = Scratch::new();
        scratch.file("sample.json", text.as_bytes());
        let drafted = draft(&scratch.src().join("sample.json"));
        assert_eq!(drafted.code, code, "{text}: {}", drafted.stderr);
        let shown = drafted.stdout.clone() + &drafted.stderr;
        assert!(shown.contains(says), "{text}: {shown}");
    }
    let deep = format!("{}1{}", "{\"a\":".repeat(20), "}".repeat(20));
    let scratch = Scratch::new();
    scratch.file("sample.json", deep.as_bytes());
    let drafted = draft(&scratch.src().join("sample.json"));
    drafted.refuses(4, "more than 16 deep in one another");
}

/// Fields with quotes, commas and line feeds, written by the csv crate.
#[test]
fn quoted_csv_is_drafted() {
    let mut score = Score::one_in(5, "drafts of quoted CSV");
    let mut runner = TestRunner::deterministic();
    let strategy = (
        prop::collection::vec(0..8_usize, 1..6),
        prop::collection::vec(prop::collection::vec(any::<u32>(), 6), 1..9),
        any::<bool>(),
    );
    for number in 0..200 {
        let (kinds, numbers, cr_lf) = strategy.new_tree(&mut runner).unwrap().current();
        if !score.is_due() {
            continue;
        }
        let field = |kind: usize, number: u32| match kind {
            0 => number.to_string(),
            1 => format!("{}.5", number % 100),
            2 => ["a,b", "say \"hi\"", "two\nlines", "", "NA"][number as usize % 5].to_owned(),
            3 => format!("2024-05-{:02} 08:00:00", 1 + number % 28),
            4 => ["NA", "5", ""][number as usize % 3].to_owned(),
            5 => ["True", "False"][number as usize % 2].to_owned(),
            6 => format!("{:05}", number % 1_000),
            _ => format!(" {} ", number % 100),
        };
        let ending = match cr_lf {
            true => csv::Terminator::CRLF,
            false => csv::Terminator::Any(b'\n'),
        };
        let mut writer = csv::WriterBuilder::new()
            .terminator(ending)
            .delimiter(b",;\t|"[number % 4])
            .quote_style(csv::QuoteStyle::Always)
            .from_writer(Vec::new());
        let names: Vec<String> = (0..kinds.len()).map(|at| format!("Column {at}")).collect();
        writer.write_record(&names).unwrap();
        let mut rows = Vec::new();
        for row in &numbers {
            let fields: Vec<String> = kinds
                .iter()
                .zip(row)
                .map(|(kind, number)| field(*kind, *number))
                .collect();
            writer.write_record(&fields).unwrap();
            rows.push(fields);
        }
        let text = writer.into_inner().unwrap();
        let scratch = Scratch::new();
        scratch.file("made_up.csv", &text);
        let sample = scratch.src().join("made_up.csv");
        let (draft, converted) = drafted(&scratch, &sample, &scratch.src(), &[]);
        let outcome = ensure(converted.code == 0, || converted.stderr.clone()).and_then(|()| {
            verify_well(&scratch.out(), &scratch.src());
            let batch = &rows_of(&scratch.out(), "made_up")[0];
            ensure(batch.num_rows() == rows.len(), || "other rows".to_owned())?;
            for (at, fields) in rows.iter().enumerate() {
                for (column, field) in batch.columns().iter().zip(fields) {
                    let found = value_text(column, at);
                    let is_text = *column.data_type() == DataType::Utf8;
                    let is_null = field.is_empty() || !is_text && field == "NA";
                    let expected = match column.data_type() {
                        _ if is_null => "NULL".to_owned(),
                        DataType::Timestamp(..) => field.replacen(' ', "T", 1),
                        _ => field.clone(),
                    };
                    ensure(found == expected, || format!("{field:?} became {found}"))?;
                }
            }
            Ok(())
        });
        let text = String::from_utf8_lossy(&text);
        let outcome = outcome.map_err(|why| format!("{why}\n{text}\n{draft}"));
        score.count(&format!("sample {number}"), outcome);
    }
    score.close();
}

#[test]
fn quoted_csv_that_stops_convert_is_named() {
    for (text, code, says) in [
        ("\"5\",\"6\"\n\"7\",\"8\"\n", 4, "has quotes and no header"),
        (
            "name,\"city\"\nbob,paris\n",
            0,
            "# guess: line 1 is taken for the header",
        ),
        (
            "a,b\n1,\"x\n",
            0,
            "# guess: line 2 has a quote without an end.",
        ),
        (
            "a,b\n1,\"x\"\n2,y\"z\n",
            0,
            "# guess: line 3 has a quote in a field that isn't quoted",
        ),
        (
            "a,b\n1,\"x\"\n2,\"y\",3\n",
            0,
            "# guess: line 3 has 3 fields, and the header 2.",
        ),
        ("a,b\n1,\"x\"\n\n2,y\n", 0, "# guess: line 3 is blank."),
        (
            "a,b\r\n1,\"x\"\n2,y\r\n",
            0,
            "# guess: line 2 doesn't end as the first line does",
        ),
    ] {
        let scratch = Scratch::new();
        scratch.file("sample.csv", text.as_bytes());
        let sample = scratch.src().join("sample.csv");
        let run = draft(&sample);
        assert_eq!(run.code, code, "{text}: {}", run.stderr);
        let shown = run.stdout.clone() + &run.stderr;
        assert!(shown.contains(says), "{text}: {shown}");
        let Some(line) = says.strip_prefix("# guess: line ") else {
            continue;
        };
        let (line, _) = line.split_once(' ').unwrap();
        let (_, converted) = drafted(&scratch, &sample, &scratch.src(), &[]);
        match line {
            "1" => converted.well(),
            line => converted.refuses(4, &format!("sample.csv:{line}:")),
        }
    }
}

/// A directory's files, the names and captures that the draft has, and the tables with the numbers of their parts and
/// the values of the columns that captures give.
struct Layout {
    files: &'static [&'static str],
    says: &'static [&'static str],
    tables: &'static [(&'static str, &'static [u64])],
}

/// Different columns for each table, which the name of the file begins with.
fn text_of(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap();
    match name {
        _ if name.ends_with("jsonl") || name.ends_with("json") => {
            "{\"x\":1,\"y\":\"a\"}\n".to_owned()
        }
        _ if name.starts_with("README") => "Read me.\nThese are files.\n".to_owned(),
        _ if name.starts_with('b') => "id,size\n1,0.5\n2,7\n".to_owned(),
        _ => "id,name\n1,x\n2,y\n".to_owned(),
    }
}

const LAYOUTS: [Layout; 11] = [
    // No day of the calendar, and no value.
    Layout {
        files: &["a-20230230.csv", "a-20230231.csv"],
        says: &["names = [\"a-{a}.csv\"]"],
        tables: &[("a", &[0, 1])],
    },
    Layout {
        files: &["k=/x.csv", "k=1/x.csv", "b.csv"],
        says: &["# guess: 2 files with 2 rows are left out: a value in their names is empty."],
        tables: &[("b", &[0])],
    },
    Layout {
        files: &[
            "a.csv",
            "b.csv",
            "c.jsonl",
            "README.md",
            ".hidden.csv",
            "notes/README",
        ],
        says: &[
            "names = [\"a.csv\"]",
            "names = [\"c.jsonl\"]",
            "# guess: README.md is left out: it doesn't look like a table.",
        ],
        tables: &[("a", &[0]), ("b", &[0]), ("c", &[0])],
    },
    Layout {
        files: &["a_0.csv", "a_1.csv", "a_2.csv.gz", "b-1.csv", "b-2.csv"],
        says: &[
            "names = [\"a_{n}.csv\"]",
            "names = [\"b-{n}.csv\"]\nfirst = 1\n",
        ],
        tables: &[("a", &[0, 1, 2]), ("b", &[1, 2])],
    },
    Layout {
        files: &[
            "jobs/part-00000-of-00002.csv.gz",
            "jobs/part-00001-of-00002.csv.gz",
        ],
        says: &["names = [\"jobs/part-{n}-of-{total}.csv\"]"],
        tables: &[("jobs", &[0, 1])],
    },
    Layout {
        files: &["a-2023-11-16.csv", "a-2023-11-17.csv"],
        says: &["names = [\"a-{date}.csv\"]"],
        tables: &[("a", &[19677, 19678])],
    },
    Layout {
        files: &[
            "a/day=0/hour=00/x.csv",
            "a/day=0/hour=01/x.csv",
            "a/day=1/hour=00/x.csv",
            "a/day=1/hour=01/x.csv",
        ],
        says: &[
            "names = [\"a/day={day}/hour={hour}/x.csv\"]",
            "day = \"0..1\"\nhour = \"00..01\"",
            "capture = \"hour\"",
        ],
        tables: &[("x", &[0, 1, 2, 3])],
    },
    Layout {
        files: &[
            "vm_region=east us/unit=IO PS.csv",
            "vm_region=west/unit=MiB.csv",
        ],
        says: &["names = [\"vm_region={vm_region}/unit={unit}.csv\"]\nsparse = true\nparts = 2\n"],
        tables: &[("unit", &[0, 3])],
    },
    Layout {
        files: &["Earth/log.csv", "Venus/log.csv", "Venus/b.csv"],
        says: &[
            "names = [\"{directory}/log.csv\"]",
            "directory = [\"Earth\", \"Venus\"]",
            "names = [\"Venus/b.csv\"]",
        ],
        tables: &[("b", &[0]), ("log", &[0, 1])],
    },
    Layout {
        files: &["a_3.csv", "a_7.csv"],
        says: &["names = [\"a_{a}.csv\"]", "a = [\"3\", \"7\"]"],
        tables: &[("a", &[0, 1])],
    },
    Layout {
        files: &["1700000000.csv", "1700003600.csv"],
        says: &["number = [\"1700000000\", \"1700003600\"]"],
        tables: &[("table", &[0, 1])],
    },
];

/// The tables of a lake, with the file numbers of their parts.
fn tables_of(out: &Path) -> Vec<(String, Vec<u64>)> {
    let manifest = manifest(out);
    let tables = manifest["tables"].as_array().unwrap().iter().map(|table| {
        let parts = table["parts"].as_array().unwrap().iter();
        let mut numbers: Vec<u64> = parts
            .map(|part| part["file_number"].as_u64().unwrap())
            .collect();
        numbers.sort_unstable();
        (table["name"].as_str().unwrap().to_owned(), numbers)
    });
    let mut tables: Vec<(String, Vec<u64>)> = tables.collect();
    tables.sort();
    tables
}

#[track_caller]
fn is_right(scratch: &Scratch, draft: &str, converted: &Run, layout: &Layout) {
    assert_eq!(converted.code, 0, "{}\n{draft}", converted.stderr);
    for line in layout.says {
        assert!(draft.contains(line), "{line}\n{draft}");
    }
    let expected: Vec<(String, Vec<u64>)> = layout
        .tables
        .iter()
        .map(|(name, numbers)| ((*name).to_owned(), numbers.to_vec()))
        .collect();
    assert_eq!(tables_of(&scratch.out()), expected, "{draft}");
}

#[test]
fn a_directory_has_a_table_for_each_pattern_of_names() {
    for layout in &LAYOUTS {
        let scratch = Scratch::new();
        for file in layout.files {
            let text = text_of(file);
            let bytes = match file.ends_with(".gz") {
                true => gzip(text.as_bytes()),
                false => text.into_bytes(),
            };
            scratch.file(file, &bytes);
        }
        let (draft, converted) = drafted(&scratch, &scratch.src(), &scratch.src(), &[]);
        is_right(&scratch, &draft, &converted, layout);
        verify_well(&scratch.out(), &scratch.src());
    }
}

/// The values of captures are columns.
#[test]
fn captures_are_columns() {
    let scratch = Scratch::new();
    for (region, unit) in [("east us", "IOPS"), ("west", "IOPS")] {
        scratch.file(
            &format!("region={region}/day=03/unit={unit}.csv"),
            b"id,size\n1,0.5\n",
        );
    }
    let (draft, converted) = drafted(&scratch, &scratch.src(), &scratch.src(), &[]);
    converted.well();
    let rows = rows_of(&scratch.out(), "unit");
    let values: Vec<Vec<String>> = rows
        .iter()
        .map(|batch| {
            batch
                .columns()
                .iter()
                .map(|column| value_text(column, 0))
                .collect()
        })
        .collect();
    assert_eq!(
        values,
        [["1", "0.5", "east us"], ["1", "0.5", "west"]],
        "{draft}"
    );
}

#[test]
fn an_archive_has_a_table_for_each_pattern_of_names() {
    // Dates and values that don't occur with every other aren't read from archives.
    let layouts = LAYOUTS
        .iter()
        .enumerate()
        .filter(|(at, _)| ![5, 7].contains(at));
    for (at, layout) in layouts {
        let texts: Vec<String> = layout.files.iter().map(|file| text_of(file)).collect();
        let members: Vec<(&str, &str)> = layout
            .files
            .iter()
            .zip(&texts)
            .map(|(file, text)| (file.trim_end_matches(".gz"), &**text))
            .collect();
        for (name, bytes) in [("all.tar.gz", tar_gz(&members)), ("all.zip", zip(&members))] {
            let scratch = Scratch::new();
            scratch.file(name, &bytes);
            let archive = scratch.src().join(name);
            let (draft, converted) = drafted(&scratch, &archive, &archive, &[]);
            assert!(
                draft.contains(&format!("names = [\"{name}\"]")),
                "{at}: {draft}"
            );
            is_right(&scratch, &draft, &converted, layout);
        }
    }
}

/// Links that lead in circles have no end.
#[cfg(unix)]
#[test]
fn circles_of_links_are_left() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.src()).unwrap();
    for name in ["x", "y", "z"] {
        std::os::unix::fs::symlink(".", scratch.src().join(name)).unwrap();
    }
    draft(&scratch.src()).refuses(4, "has more than 100000 files and directories");
}

#[test]
fn what_has_no_table_is_refused() {
    let scratch = Scratch::new();
    scratch.file("README.md", b"Read me.\n");
    draft(&scratch.src()).refuses(4, "has no file of a table");
    scratch.file("notes.tar", &tar_gz(&[("README", "Read me.\n")]));
    draft(&scratch.src().join("notes.tar")).refuses(4, "has no file of a table");
    scratch.file("notes.bin", &tar_gz(&[("a.csv", "a,b\n1,2\n")]));
    draft(&scratch.src().join("notes.bin")).refuses(4, "is an archive without the name of one");
    draft(&scratch.src().join("absent")).exits(1);
    draft(finished_lake()).refuses(4, "is a lake, which has a description");
    scratch.file("a{b}/c.csv", b"a,b\n1,2\n");
    scratch.file("SHA256SUM", b"");
    let drafted = draft(&scratch.src());
    drafted.refuses(4, "has no file of a table");
    scratch.file("d.csv", b"a,b\n1,2\n");
    let drafted = draft(&scratch.src());
    drafted.shows("# guess: a{b}/c.csv is left out: a description can't have its name.");
    assert!(!drafted.stdout.contains("SHA256SUM"));
}

/// Heads of published files of JSON and of quoted CSV: every row is read, and `verify` reads the same.
#[test]
#[cfg_attr(not(published_data), ignore = "needs ../shared/data")]
fn heads_of_published_json_and_quoted_csv_are_drafted() {
    let mut found = Vec::new();
    super::drafts::heads(&shared(""), &mut found, &|name| {
        name.ends_with(".json") || name.ends_with(".jsonl") || name.ends_with(".csv")
    });
    let mut score = Score::new("drafts of published JSON and quoted CSV");
    for path in found {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        if !text.contains('"') {
            continue;
        }
        let scratch = Scratch::new();
        scratch.file(name, text.as_bytes());
        let sample = scratch.src().join(name);
        let (draft, converted) = drafted(&scratch, &sample, &scratch.src(), &[]);
        let outcome = ensure(converted.code == 0, || {
            format!("{}\n{draft}", converted.stderr)
        });
        if outcome.is_ok() {
            verify_well(&scratch.out(), &scratch.src());
        }
        score.count(
            path.strip_prefix(shared("")).unwrap().to_str().unwrap(),
            outcome,
        );
    }
    score.close();
}
