//! The description language on files, as the program follows it.

use std::fs;
use std::path::Path;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

use crate::streams::tar;
use tracelake_testkit::{
    Run, Scratch, convert, gzip, manifest, read_output, run, shared, verify_well,
};

use super::describe;

/// Names of codes, for the end of a description with `codes = "mood"`.
pub(crate) const CODES: &str = "[[codes.mood]]\nvalue = 1\nname = \"GLAD\"\ndoc = \"Glad.\"\n";

/// A description of one table, `readings`, with these lines in its table and these columns.
pub(crate) fn one_table(table: &str, columns: &[(&str, &str)]) -> String {
    let columns: String = columns
        .iter()
        .map(|(content, more)| {
            let name: String = content
                .chars()
                .map(|letter| {
                    if letter.is_ascii_alphanumeric() {
                        letter
                    } else {
                        '_'
                    }
                })
                .collect();
            let name = name.to_lowercase();
            format!(
                "[[table.column]]\nname = \"{name}\"\ncontent = \"{content}\"\nformat = \"ANY\"\n\
                 obfuscation = \"unchanged\"\ndoc = \"A value.\"\n{more}\n"
            )
        })
        .collect();
    format!(
        "family = \"weather\"\nlicence = \"CC0-1.0\"\ncitation = \"Us\"\n[[trace]]\nname = \"weather-1\"\n\
         title = \"Weather\"\ndocument = \"A letter\"\n[[table]]\nname = \"readings\"\nsummary = \"Readings.\"\n\
         {table}\n{columns}"
    )
}

/// Converts the source by this description in both formats, and verifies both lakes against it.
#[track_caller]
pub(super) fn converted(scratch: &Scratch, description: &str) {
    let file = describe(scratch, "weather.toml", description);
    let trace = ["--trace", file.to_str().unwrap()];
    for (out, format) in [("out", "parquet"), ("arrow", "arrow")] {
        let out = scratch.path().join(out);
        let arguments = [&trace[..], &["--format", format]].concat();
        convert(&scratch.src(), &out, &arguments).well();
        verified(scratch, &out);
    }
}

/// Verifies a lake against the source.
#[track_caller]
fn verified(scratch: &Scratch, lake: &Path) {
    let source = scratch.src();
    let run = run([
        "verify",
        lake.to_str().unwrap(),
        "--source",
        source.to_str().unwrap(),
    ]);
    assert_eq!(run.code, 0, "{}: {}", lake.display(), run.stderr);
}

/// Converts the source by a description that doesn't fit it.
pub(super) fn misfit(scratch: &Scratch, description: &str) -> Run {
    let file = describe(scratch, "weather.toml", description);
    scratch.convert(&["--trace", file.to_str().unwrap()])
}

pub(super) const INTEGER: &str = "kind = \"integer\"";
pub(super) const TEXT: &str = "kind = \"text\"";

#[test]
fn parts_are_numbered_as_published() {
    let scratch = Scratch::new();
    let table = "files = \"named\"\nnames = [\"readings-file-{n}-of-{total}.csv.gz\"]\nfirst = 1";
    let description = one_table(table, &[("time", INTEGER)]);
    scratch.file("readings-file-1-of-3.csv.gz", &gzip(b"1\n"));
    scratch.file("readings-file-3-of-3.csv", b"3\n33\n");
    let missing = misfit(&scratch, &description);
    missing.refuses(1, "1 of 3 parts are missing: 2");
    scratch.file("readings-file-2-of-3.csv.gz", &gzip(b"2\n"));
    converted(&scratch, &description);
    let parts = &manifest(&scratch.out())["tables"][0]["parts"];
    let numbers: Vec<u64> = (0..3)
        .map(|at| parts[at]["file_number"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, [1, 2, 3]);
    let last = scratch
        .out()
        .join("readings/file_number=3/part-00003-of-00003.parquet");
    assert_eq!(read_output(&last).num_rows(), 2);
    run(["release", scratch.out().to_str().unwrap()]).well();
    scratch.file("readings-file-0-of-3.csv", b"0\n");
    misfit(&scratch, &description).says("file number 0 is not from 1 to 3");
}

#[test]
fn a_message_names_no_more_than_a_few_of_the_missing_files() {
    let scratch = Scratch::new();
    let values: Vec<String> = (0..1000).map(|at| format!("\"v{at:03}\"")).collect();
    let table = format!(
        "files = \"named\"\nnames = [\"x-{{a}}-{{b}}.csv\"]\n[table.captures]\na = [{0}]\nb = [{0}]",
        values.join(",")
    );
    scratch.file("x-v000-v000.csv", b"1\n");
    let missing = misfit(&scratch, &one_table(&table, &[("time", INTEGER)]));
    assert_eq!(missing.code, 1, "{}", missing.stderr);
    let says = "999999 of 1000000 files are missing: x-v000-v001.csv, x-v000-v002.csv,";
    missing.says(says);
    let says = "x-v000-v020.csv, and 999,979 more; download them";
    missing.says(says);
}

/// Of some captures, not all values were published with all others.
#[test]
fn sparse_captures_are_counted() {
    let scratch = Scratch::new();
    let table = "files = \"named\"\nnames = [\"at={where}/sky={sky}.csv\"]\nsparse = true\nparts = 3\n[table.captures]\n\
                 where = [\"north\", \"south\"]\nsky = [\"blue\", \"grey\", \"red\"]";
    let columns = [
        ("time", INTEGER),
        ("where", "kind = \"text\"\ncapture = \"where\""),
        ("sky", "kind = \"text\"\ncapture = \"sky\""),
    ];
    let description = one_table(table, &columns);
    scratch.file("at=north/sky=grey.csv", b"1\n");
    scratch.file("at=south/sky=red.csv", b"2\n");
    misfit(&scratch, &description).refuses(
        1,
        "1 of 3 files are missing; their names don't say which; download them, or pass --allow-missing",
    );
    let file = describe(&scratch, "weather.toml", &description);
    let trace = ["--trace", file.to_str().unwrap(), "--allow-missing"];
    let some = scratch.convert(&trace);
    some.well();
    some.prints("1 of 3 files are missing");
    scratch.file("at=south/sky=blue.csv", b"3\n");
    converted(&scratch, &description);
    let parts = &manifest(&scratch.out())["tables"][0]["parts"];
    let numbers = [0, 1, 2].map(|at| parts[at]["file_number"].as_u64().unwrap());
    assert_eq!(numbers, [1, 3, 5]);
    scratch.verify().well();
    run(["release", scratch.out().to_str().unwrap()]).well();
    let archive = "[[trace.archive]]\nnames = [\"all.zip\"]\nsize = \"1\"\n[[table]]";
    let archived = description.replacen("[[table]]", archive, 1);
    misfit(&scratch, &archived).refuses(2, "a table that is sparse has files");
}

#[test]
fn captures_become_columns() {
    let scratch = Scratch::new();
    let table = "files = \"named\"\nnames = [\"readings_{where}.csv\"]\n[table.captures]\n\
                 where = [\"north\", \"south\"]";
    let columns = [
        ("time", INTEGER),
        ("where", "kind = \"text\"\ncapture = \"where\""),
    ];
    scratch.file("readings_north.csv", b"1\n2\n");
    let missing = misfit(&scratch, &one_table(table, &columns));
    missing.refuses(1, "1 of 2 files are missing: readings_south.csv;");
    scratch.file("readings_south.csv", b"3\n");
    converted(&scratch, &one_table(table, &columns));
    for (number, place, rows) in [(0, "north", 2), (1, "south", 1)] {
        let path = format!("readings/file_number={number}/part-0000{number}-of-00002.parquet");
        let read = read_output(&scratch.out().join(path));
        let places = read.column(1).as_string::<i32>();
        assert_eq!((read.num_rows(), places.value(0)), (rows, place));
    }
    // Read alone, the file's name still says it.
    fs::rename(
        scratch.src().join("readings_south.csv"),
        scratch.src().join("elsewhere.csv"),
    )
    .unwrap();
    let file = scratch.path().join("weather.toml");
    convert(
        &scratch.src().join("elsewhere.csv"),
        &scratch.path().join("alone"),
        &["--trace", file.to_str().unwrap(), "--tables", "readings"],
    )
    .refuses(4, "name it readings_{where}.csv");
}

#[test]
fn a_header_has_to_be_the_published_one() {
    let scratch = Scratch::new();
    let table = "files = \"whole\"\n[table.csv]\nheader = true";
    let description = one_table(table, &[("Day of Year", INTEGER), ("sky", TEXT)]);
    for (text, says) in [
        (
            &b"Day of Year,clouds\n1,blue\n"[..],
            "1:13: readings: the header has 'clouds' as column 2, not 'sky'",
        ),
        (b"Day of Year\n1\n", "the header lacks the column 'sky'"),
        (
            b"Day of Year,sky,wind\n1,blue,2\n",
            "the header has 'wind' as column 3, one too many",
        ),
        (
            b"\xef\xbb\xbfDay of Year,sky\n1,blue\n",
            "starts with a byte order mark",
        ),
        (b"1,blue\n", "the header has '1' as column 1"),
        (b"", "there is no header"),
    ] {
        scratch.file("readings.csv", text);
        let run = misfit(&scratch, &description);
        assert_eq!(run.code, 4, "{}", run.stderr);
        assert!(run.message().contains(says), "{says}: {}", run.message());
    }
    scratch.file("readings.csv", b"Day of Year,sky\r\n1,blue\r\nx,grey\r\n");
    misfit(&scratch, &description).says("readings.csv:3:1: ");
    scratch.file("readings.csv", b"Day of Year,sky\r\n1,blue\r\n2,");
    converted_without_end(&scratch, &description);
}

/// A last line without its end is read only if it is complete.
#[track_caller]
fn converted_without_end(scratch: &Scratch, description: &str) {
    scratch.file("readings.csv", b"Day of Year,sky\r\n1,blue\r\n2,grey");
    converted(scratch, description);
    let out = scratch.out().join("readings/file_number=0");
    let file = fs::read_dir(out).unwrap().next().unwrap().unwrap().path();
    let read = read_output(&file);
    assert_eq!(read.schema().field(0).name(), "day_of_year");
    assert_eq!(read.column(1).as_string::<i32>().value(1), "grey");
}

#[test]
fn separators_comments_nulls_and_integers_as_floats() {
    let scratch = Scratch::new();
    let table = "files = \"whole\"\n[table.csv]\nseparator = \";\"\ncomment = \"#\"\nnull = [\"\\\\N\", \"NA\"]";
    let floats = "kind = \"integer\"\nintegral_floats = true";
    let columns = [("day", floats), ("sky", TEXT), ("wind", "kind = \"float\"")];
    let description = one_table(table, &columns);
    scratch.file(
        "readings.csv",
        b"# readings\n1.0;blue, clear;NA\n#2.0;x;1\n\\N;\\N;0.5\n3;;\n",
    );
    converted(&scratch, &description);
    let read = read_output(&first_output(&scratch));
    let days = read.column(0).as_primitive::<Int64Type>();
    assert_eq!(
        (days.value(0), days.is_null(1), days.value(2)),
        (1, true, 3)
    );
    let skies = read.column(1).as_string::<i32>();
    assert_eq!(
        (skies.value(0), skies.is_null(1), skies.is_null(2)),
        ("blue, clear", true, true)
    );
    assert!(read.column(2).is_null(0) && read.column(2).is_null(2));
    scratch.file("readings.csv", b"# readings\n1.0;blue;1\n1.5;grey;1\n");
    let bad = misfit(&scratch, &description);
    // The lake has other rows by now.
    assert!([4, 6].contains(&bad.code), "{}", bad.stderr);
    let file = scratch.path().join("weather.toml");
    let out = scratch.path().join("rejects");
    let arguments = ["--trace", file.to_str().unwrap(), "--on-bad-row", "reject"];
    convert(&scratch.src(), &out, &arguments).exits(3);
    verify_well(&out, &scratch.src());
    let entry = fs::read_dir(out.join("_tracelake/rejects/readings"))
        .unwrap()
        .next();
    let rejects = fs::read_to_string(entry.unwrap().unwrap().path()).unwrap();
    assert!(
        rejects.starts_with("{\"line\":3,\"byte\":22,\"column\":\"day\""),
        "{rejects}"
    );
}

pub(super) fn first_output(scratch: &Scratch) -> std::path::PathBuf {
    let manifest = manifest(&scratch.out());
    let path = manifest["tables"][0]["parts"][0]["output"]["path"]
        .as_str()
        .unwrap();
    scratch.out().join(path)
}

#[test]
fn a_time_may_be_a_float() {
    let scratch = Scratch::new();
    let table = "files = \"whole\"\ntime = \"time\"";
    scratch.file("readings.csv", b"2.5\n-0.5\n9.25\n");
    converted(&scratch, &one_table(table, &[("time", "kind = \"float\"")]));
    let part = &manifest(&scratch.out())["tables"][0]["parts"][0];
    assert_eq!(
        (part["time_min"].as_i64(), part["time_max"].as_i64()),
        (Some(-1), Some(10))
    );
}

#[test]
fn names_that_fit_twice_and_sources_that_fit_nothing() {
    let scratch = Scratch::new();
    let table = "files = \"named\"\nnames = [\"{a}{b}.csv\"]\n[table.captures]\na = [\"x\", \"xy\"]\n\
                 b = [\"yz\", \"z\"]";
    let description = one_table(table, &[("time", INTEGER)]);
    scratch.file("xyz.csv", b"1\n");
    misfit(&scratch, &description).refuses(
        1,
        "xyz.csv: its name fits the names of readings in several ways",
    );
    fs::remove_file(scratch.src().join("xyz.csv")).unwrap();
    scratch.file("station_readings-file-1-of-125.csv.gz", &gzip(b"1\n"));
    scratch.file("other.csv", b"1\n");
    let nothing = misfit(&scratch, &description);
    assert_eq!(nothing.code, 1, "{}", nothing.stderr);
    let message = nothing.message();
    assert!(
        message.contains("no table of weather-1 is here"),
        "{message}"
    );
    assert!(
        message.contains("other.csv") && message.contains("station_readings-file-1-of-125.csv.gz"),
        "{message}"
    );
    let two = "\n[[table]]\nname = \"again\"\nsummary = \"s\"\nfiles = \"named\"\nnames = [\"o{n}.csv\"]\n\
               [[table.column]]\nname = \"a\"\ncontent = \"a\"\nformat = \"A\"\nobfuscation = \"unchanged\"\n\
               doc = \"a\"\nkind = \"text\"\n";
    let table = "files = \"named\"\nnames = [\"o{n}.csv\"]";
    let description = one_table(table, &[("time", INTEGER)]) + two;
    scratch.file("o1.csv", b"1\n");
    misfit(&scratch, &description).says("o1.csv: its name fits the tables readings and again");
}

/// Real rows of published traces, by descriptions of their forms.
#[test]
#[cfg_attr(not(published_data), ignore = "needs ../shared/data")]
fn real_rows_of_other_traces_are_read() {
    let scratch = Scratch::new();
    let table = "files = \"named\"\nnames = [\"AzureLLMInferenceTrace_{kind}.csv\"]\ntime = \"timestamp\"\n\
                 [table.captures]\nkind = [\"code\", \"conv\"]\n[table.csv]\nheader = true";
    let columns = [
        ("TIMESTAMP", "kind = \"date-time\"\nzone = \"none\""),
        ("ContextTokens", INTEGER),
        ("GeneratedTokens", INTEGER),
        ("kind", "kind = \"text\"\ncapture = \"kind\""),
    ];
    let text = fs::read(shared(
        "next/azure-llm-2023/AzureLLMInferenceTrace_code.csv",
    ))
    .unwrap();
    scratch.file("AzureLLMInferenceTrace_code.csv", &text);
    let file = describe(&scratch, "azure.toml", &one_table(table, &columns));
    scratch.convert_well(&["--trace", file.to_str().unwrap(), "--allow-missing"]);
    let rows = text
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .count() as u64
        - 1;
    assert_eq!(manifest(&scratch.out())["tables"][0]["rows"], rows);
    let source = scratch.src();
    run([
        "verify",
        scratch.out().to_str().unwrap(),
        "--source",
        source.to_str().unwrap(),
    ])
    .well();
}

#[test]
fn an_archive_in_pieces_is_the_archive() {
    let table = "files = \"whole\"\nnames = [\"all-readings.tar.gz\", \"data.csv\"]";
    let description = one_table(table, &[("time", INTEGER), ("sky", TEXT)]);
    let text: String = (0..5_000)
        .map(|row| format!("{row},sky {}\n", row * 7919 % 977))
        .collect();
    let archive = gzip(&tar(&[("folder/data.csv", text.as_bytes())]));
    let (one, two) = (Scratch::new(), Scratch::new());
    one.file("all-readings.tar.gz", &archive);
    for (piece, bytes) in ["aa", "ab", "ac", "ad"]
        .iter()
        .zip(archive.chunks((archive.len() - 1) / 3))
    {
        two.file(&format!("all-readings.tar.gz.part{piece}"), bytes);
    }
    converted(&one, &description);
    converted(&two, &description);
    let tree = |scratch: &Scratch| tracelake_testkit::tree(&scratch.out());
    tracelake_testkit::assert_same_tree(&tree(&two), &tree(&one), "in pieces");
    assert_eq!(manifest(&two.out())["tables"][0]["rows"], 5_000);
    fs::remove_file(two.src().join("all-readings.tar.gz.partab")).unwrap();
    misfit(&two, &description).refuses(1, "piece 2 of it is missing");
    two.file("all-readings.tar.gz", &archive);
    fs::remove_file(two.src().join("all-readings.tar.gz.partac")).unwrap();
    fs::remove_file(two.src().join("all-readings.tar.gz.partad")).unwrap();
    misfit(&two, &description).says("is here whole and in pieces");
}

#[test]
fn fields_can_be_separated_by_blanks() {
    let scratch = Scratch::new();
    let table =
        "files = \"whole\"\n[table.csv]\nseparator = \"blanks\"\ncomment = \";\"\nnull = [\"-1\"]";
    let columns = [
        ("job", INTEGER),
        ("user", TEXT),
        ("wait", "kind = \"float\""),
    ];
    let description = one_table(table, &columns);
    scratch.file(
        "readings.csv",
        b"; SWF\n  1   anna   0.5\n2\tbo \t -1 \n;\n 3 -1 7\n",
    );
    converted(&scratch, &description);
    let read = read_output(
        &scratch
            .out()
            .join("readings/file_number=0/part-00000.parquet"),
    );
    let users = read.column(1).as_string::<i32>();
    assert_eq!((users.value(0), users.value(1)), ("anna", "bo"));
    assert!(users.is_null(2) && read.column(2).is_null(1));
    for (rows, message) in [
        (" 1 \"a b\" 2\n", "readings: 4 fields where the table has 3"),
        ("1 a\n", "readings: 2 fields where the table has 3"),
        ("1 a 2\n\n", "2:1"),
        ("  x a 2\n", ":1:3: readings.job: not an integer"),
        ("1 a\"b 2\n", "readings.user"),
    ] {
        let scratch = Scratch::new();
        scratch.file("readings.csv", rows.as_bytes());
        let run = misfit(&scratch, &description);
        assert_eq!(run.code, 4, "{}", run.stderr);
        assert!(
            run.message().contains(message),
            "{message}: {}",
            run.message()
        );
    }
    // What is rejected is found in the source by `verify`.
    scratch.file(
        "readings.csv",
        b"  1   anna   0.5\n  x  bo  1\n 3 c\n 4 d 5\n",
    );
    let file = describe(&scratch, "weather.toml", &description);
    let out = scratch.path().join("rejecting");
    let trace = ["--trace", file.to_str().unwrap(), "--on-bad-row", "reject"];
    convert(&scratch.src(), &out, &trace).exits(3);
    verified(&scratch, &out);
}
