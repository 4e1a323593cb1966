//! Files named by the day: `{date}`.

use tracelake_testkit::{Scratch, convert, manifest, verify_well};

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
    let description = describe(&scratch, "weather.toml", &description());
    scratch.file("usage_2024-03-01.csv", b"3\n");
    scratch.file("usage_20240229.csv", b"2\n2\n");
    scratch.file("usage_2024_02_28.csv", b"1\n");
    let trace = ["--trace", description.to_str().unwrap()];
    let made = convert(&scratch.src(), &scratch.out(), &trace);
    assert_eq!(made.code, 0, "{}", made.stderr);
    // 2024-02-28 is 19,781 days after 1970-01-01, as `date -d 2024-02-28 +%s` says.
    assert_eq!(parts(&scratch), [(19_781, 1), (19_782, 2), (19_783, 1)]);
    verify_well(&scratch.out(), &scratch.src());
}

#[test]
fn a_day_without_a_file_is_missing() {
    let scratch = Scratch::new();
    let description = describe(&scratch, "weather.toml", &description());
    scratch.file("usage_2024-02-28.csv", b"1\n");
    scratch.file("usage_2024-03-01.csv", b"3\n");
    let trace = ["--trace", description.to_str().unwrap()];
    let refused = convert(&scratch.src(), &scratch.out(), &trace);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    let says = "1 of 3 files are missing: usage_2024-02-29.csv";
    assert!(refused.message().contains(says), "{}", refused.message());
    let allowed = [&trace[..], &["--allow-missing"]].concat();
    let made = convert(&scratch.src(), &scratch.out(), &allowed);
    assert_eq!(made.code, 0, "{}", made.stderr);
    assert_eq!(parts(&scratch), [(19_781, 1), (19_783, 1)]);
}

#[test]
fn what_is_no_day_is_no_part() {
    let scratch = Scratch::new();
    let description = describe(&scratch, "weather.toml", &description());
    scratch.file("usage_2023-02-28.csv", b"1\n");
    scratch.file("usage_2023-02-29.csv", b"2\n");
    let trace = ["--trace", description.to_str().unwrap()];
    let made = convert(&scratch.src(), &scratch.out(), &trace);
    assert_eq!(made.code, 0, "{}", made.stderr);
    assert_eq!(parts(&scratch).len(), 1);
    assert!(
        made.stderr.contains("usage_2023-02-29.csv"),
        "{}",
        made.stderr
    );
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
