//! Files named by the day: `{date}`.

use tracelake_testkit::{Run, Scratch, convert, manifest, verify_well};

use super::describe;
use super::language::one_table;

fn description() -> String {
    let table = "files = \"named\"\nnames = [\"usage_{date}.csv\"]";
    let columns = [
        ("x", "kind = \"integer\""),
        ("day", "kind = \"text\"\ncapture = \"date\""),
    ];
    one_table(table, &columns)
}

/// Converts files of these names, each with its text.
fn converted(scratch: &Scratch, files: &[(&str, &str)], options: &[&str]) -> Run {
    let description = describe(scratch, "weather.toml", &description());
    for (name, text) in files {
        scratch.file(name, text.as_bytes());
    }
    let trace = ["--trace", description.to_str().unwrap()];
    convert(&scratch.src(), &scratch.out(), &[&trace, options].concat())
}

/// The file numbers of the lake and the days in its column.
fn parts(scratch: &Scratch) -> Vec<(u64, u64)> {
    let manifest = manifest(&scratch.out());
    let parts = manifest["tables"][0]["parts"].as_array().unwrap();
    let number = |part: &serde_json::Value, name: &str| part[name].as_u64().unwrap();
    parts
        .iter()
        .map(|part| (number(part, "file_number"), number(part, "rows_out")))
        .collect()
}

#[test]
fn parts_are_in_the_order_of_their_days() {
    let scratch = Scratch::new();
    let files = [
        ("usage_2024-03-01.csv", "3\n"),
        ("usage_20240229.csv", "2\n2\n"),
        ("usage_2024_02_28.csv", "1\n"),
    ];
    converted(&scratch, &files, &[]).well();
    // 2024-02-28 is 19,781 days after 1970-01-01, as `date -d 2024-02-28 +%s` says.
    assert_eq!(parts(&scratch), [(19_781, 1), (19_782, 2), (19_783, 1)]);
    verify_well(&scratch.out(), &scratch.src());
}

#[test]
fn a_day_without_a_file_is_missing() {
    let scratch = Scratch::new();
    let files = [
        ("usage_2024-02-28.csv", "1\n"),
        ("usage_2024-03-01.csv", "3\n"),
    ];
    let refused = converted(&scratch, &files, &[]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    let says = "1 of 3 files are missing: usage_2024-02-29.csv";
    refused.says(says);
    converted(&scratch, &[], &["--allow-missing"]).well();
    assert_eq!(parts(&scratch), [(19_781, 1), (19_783, 1)]);
}

#[test]
fn what_is_no_day_is_no_part() {
    let scratch = Scratch::new();
    let files = [
        ("usage_2023-02-28.csv", "1\n"),
        ("usage_2023-02-29.csv", "2\n"),
    ];
    let made = converted(&scratch, &files, &[]);
    made.well();
    assert_eq!(parts(&scratch).len(), 1);
    let other = "usage_2023-02-29.csv";
    made.prints(other);
}

#[test]
fn a_day_stands_alone() {
    let scratch = Scratch::new();
    scratch.file("usage_2023-02-28.csv", b"1\n");
    for names in [
        "names = [\"a_{date}_{n}.csv\"]",
        "names = [\"a_{date}.csv\", \"b_{date}.csv\"]",
        "names = [\"a_{date}.csv\"]\nfirst = 1",
        "names = [\"a_{date}.csv\"]\nparts = 5",
        "names = [\"a_{date}{n}.csv\"]",
    ] {
        let text = one_table(
            &format!("files = \"named\"\n{names}"),
            &[("x", "kind = \"integer\"")],
        );
        let description = describe(&scratch, "weather.toml", &text);
        let trace = ["--trace", description.to_str().unwrap()];
        let refused = convert(&scratch.src(), &scratch.out(), &trace);
        assert_eq!(refused.code, 2, "{names}: {}", refused.stderr);
    }
}
