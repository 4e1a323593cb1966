//! Lines that are rows, lines that are not, and the two readers of one line.

mod both_readers;

use proptest::prelude::*;
use tracelake_core::fault::Fault;
use tracelake_testkit::every_kind::{SPELLED, TABLE};

use super::row;
use crate::cell::{Cell, Row};
use crate::reject::Reject;
use crate::samples::{described, object};

fn read(line: &str) -> Result<Row, Reject> {
    row(line.as_bytes(), &(&TABLE.columns).into())
}

#[track_caller]
fn bad(line: &str) -> (String, String, Fault) {
    described(read(line).unwrap_err(), line.as_bytes())
}

#[test]
fn values_may_be_strings_or_numbers() {
    let line = r#" {"user":"a\u00e9\n","time":"18446744073709551615","event":"-3","share":"1e-5",
        "usage":{"memory":0.1},"done":false,"after":["1",2],
        "rules":[{"relation":null,"name":""}],"since":"2024-02-29T23:59:58\u005a"} "#;
    let row = read(line).unwrap();
    assert_eq!(row.others.sentinels, 1);
    let rule = Cell::Struct(vec![Cell::Text(String::new()), Cell::Null]);
    assert_eq!(
        row.cells,
        [
            Cell::Integer(i64::MAX),
            Cell::Code(-3),
            Cell::Float(1e-5),
            Cell::Boolean(false),
            Cell::Text("aé\n".to_owned()),
            Cell::Struct(vec![Cell::Null, Cell::Float(0.1)]),
            Cell::List(vec![rule]),
            Cell::List(vec![Cell::Integer(1), Cell::Integer(2)]),
            Cell::Text("2024-02-29T23:59:58Z".to_owned()),
        ]
    );
    let row = read(r#"{"time":0,"usage":null}"#).unwrap();
    assert_eq!(row.cells[0], Cell::Integer(0));
    assert!(row.cells[1..].iter().all(|cell| *cell == Cell::Null));
}

#[test]
fn a_text_may_be_a_number_as_it_is_spelled() {
    let spelled = |line: &str| row(line.as_bytes(), &(&SPELLED.columns).into());
    for number in ["18446744073709551615", "-0", "1.50", "1e400", "7"] {
        let line = format!(r#"{{"time":1,"user":{number},"rules":[{{"name":{number}}}]}}"#);
        let cells = spelled(&line).unwrap().cells;
        assert_eq!(cells[4], Cell::Text(number.to_owned()));
        let rule = vec![Cell::Text(number.to_owned()), Cell::Null];
        assert_eq!(cells[6], Cell::List(vec![Cell::Struct(rule)]));
        assert_eq!(bad(&line).2, Fault::NotText);
    }
    for other in ["true", "[1]", "{}"] {
        let line = format!(r#"{{"time":1,"user":{other}}}"#);
        assert_eq!(spelled(&line).unwrap_err().fault, Fault::NotText);
    }
}

#[test]
fn a_fault_names_its_column_and_its_place() {
    let cases = [
        ("time", r#"{"time":%}"#, "1.0", Fault::NotInteger),
        ("time", r#"{"time":%}"#, "1e3", Fault::NotInteger),
        ("time", r#"{"time":%}"#, "\"+5\"", Fault::NotInteger),
        ("time", r#"{"time":%}"#, "\" 5\"", Fault::NotInteger),
        ("time", r#"{"time":%}"#, "\"\"", Fault::NotInteger),
        ("time", r#"{"time":%}"#, "true", Fault::NotInteger),
        ("time", r#"{"time":%}"#, "[1]", Fault::NotInteger),
        ("time", r#"{"time":%}"#, "null", Fault::Absent),
        (
            "time",
            r#"{"time":%}"#,
            "9223372036854775808",
            Fault::OutOfRange { bits: 64 },
        ),
        (
            "event",
            r#"{"time":1,"event":%}"#,
            "2147483648",
            Fault::OutOfRange { bits: 32 },
        ),
        (
            "share",
            r#"{"share":%,"time":1}"#,
            "\"NaN\"",
            Fault::NotNumber,
        ),
        (
            "share",
            r#"{"share":%,"time":1}"#,
            "\"-Infinity\"",
            Fault::NotNumber,
        ),
        ("share", r#"{"share":%,"time":1}"#, "1e999", Fault::Overflow),
        ("share", r#"{"share":%,"time":1}"#, "{}", Fault::NotNumber),
        ("done", r#"{"done":%,"time":1}"#, "1", Fault::NotTruth),
        (
            "done",
            r#"{"done":%,"time":1}"#,
            "\"true\"",
            Fault::NotTruth,
        ),
        ("user", r#"{"user":%,"time":1}"#, "1", Fault::NotText),
        (
            "user",
            r#"{"user":%,"time":1}"#,
            "\"\\ud800\"",
            Fault::NotText,
        ),
        ("usage", r#"{"usage":%,"time":1}"#, "[]", Fault::NotStruct),
        (
            "usage",
            r#"{"usage":%,"time":1}"#,
            "\"{}\"",
            Fault::NotStruct,
        ),
        (
            "usage",
            r#"{"usage":{%:1},"time":1}"#,
            "\"gpus\"",
            Fault::UnknownKey,
        ),
        (
            "usage.cpus",
            r#"{"usage":{"cpus":%}}"#,
            "\"x\"",
            Fault::NotNumber,
        ),
        (
            "usage",
            r#"{"usage":{"cpus":1,%:2}}"#,
            "\"cpus\"",
            Fault::DoubleKey,
        ),
        ("rules", r#"{"rules":%,"time":1}"#, "{}", Fault::NotList),
        (
            "rules[1].name",
            r#"{"rules":[{"name":""},%],"time":1}"#,
            "{}",
            Fault::Absent,
        ),
        (
            "rules[0]",
            r#"{"rules":[%],"time":1}"#,
            "null",
            Fault::Absent,
        ),
        (
            "after[2]",
            r#"{"after":[1,2,%],"time":1}"#,
            "\"x\"",
            Fault::NotInteger,
        ),
        (
            "since",
            r#"{"since":%,"time":1}"#,
            "20240229",
            Fault::NotDateTime,
        ),
        (
            "since",
            r#"{"since":%,"time":1}"#,
            "\"2023-02-29 00:00:00Z\"",
            Fault::NotDateTime,
        ),
        (
            "since",
            r#"{"since":%,"time":1}"#,
            "\"2024-02-29 00:00:00\"",
            Fault::NoZone,
        ),
        (
            "since",
            r#"{"since":%,"time":1}"#,
            "\"2024-02-29 00:00:00.0000001Z\"",
            Fault::BeyondMicroseconds,
        ),
        ("", r#"{"time":1,%:2}"#, "\"x\"", Fault::UnknownKey),
        ("", r#"{"time":1,%:2}"#, "\"\\u0074ime\"", Fault::DoubleKey),
        ("time", "%", "{}", Fault::Absent),
        ("", "%", "[]", Fault::NotStruct),
        ("", "%", "5", Fault::NotStruct),
        ("", r#"{"time":1}%"#, "x", Fault::NotJson),
        ("", r#"{"time":%}"#, "01}", Fault::NotJson),
    ];
    for (path, pattern, field, fault) in cases {
        let line = pattern.replace('%', field);
        let (found, shown, why) = bad(&line);
        assert_eq!((found.as_str(), why), (path, fault), "{line}");
        if fault != Fault::NotJson {
            assert_eq!(shown, field, "{line}");
        }
    }
    let broken = row(b"{\"time\":1,\"user\":\"\xff\"}", &(&TABLE.columns).into()).unwrap_err();
    assert_eq!(broken.fault, Fault::NotUtf8 { byte: 0xff });
    assert_eq!(broken.field().start, 18);
}

#[test]
fn no_depth_takes_the_stack() {
    for (open, close) in [("[", "]"), ("{\"usage\":", "}")] {
        let deep = open.repeat(100_000) + "1" + &close.repeat(100_000);
        for line in [
            deep.clone(),
            format!("{{\"time\":{deep}}}"),
            open.repeat(100_000),
        ] {
            assert!(read(&line).is_err());
        }
    }
}

#[test]
fn every_cut_of_a_line_is_a_fault() {
    let line = r#"{"time":"1","usage":{"cpus":1.5},"rules":[{"name":"é"}],"user":"\u00e9"}"#;
    assert!(read(line).is_ok());
    for end in 0..line.len() {
        assert!(
            row(&line.as_bytes()[..end], &(&TABLE.columns).into()).is_err(),
            "{end}"
        );
    }
}

proptest! {
    #[test]
    fn any_row_comes_back((cells, json) in object(&TABLE.columns, None)) {
        let row = read(&json.to_string()).unwrap();
        prop_assert_eq!(&row.cells, &cells);
        // NaN is not among them, but there are two zeros.
        prop_assert_eq!(format!("{:?}", row.cells), format!("{cells:?}"));
    }

    #[test]
    fn any_text_is_a_row_or_a_fault(line in any::<Vec<u8>>()) {
        if let Err(reject) = row(&line, &(&TABLE.columns).into()) {
            prop_assert!(line.get(reject.field()).is_some());
        }
    }
}
