use std::sync::Arc;

use tracelake_schema::TRACES;

use super::*;

/// The digests are those of `md5sum`.
#[test]
fn the_hash_is_the_start_of_the_md5() {
    assert_eq!(Sample::hash(b""), 0xd41d_8cd9);
    assert_eq!(Sample::hash(b"0"), 0xcfcd_2084);
    assert_eq!(Sample::hash(b"-1"), 0x6bb6_1e3b);
}

#[test]
fn samples_that_are_refused() {
    for text in [
        "",
        "1",
        "0/0",
        "16/16",
        "17/16",
        "-1/16",
        "0/1000001",
        "a/b",
        "0/16/2",
        "+0/16",
        "0x1/16",
        "0/99999999999",
    ] {
        assert!(text.parse::<Sample>().is_err(), "{text}");
    }
    assert_eq!(
        "999999/1000000".parse::<Sample>().unwrap().to_string(),
        "999999/1000000"
    );
}

#[test]
fn ranges_of_time() {
    let parse = |text: &str| text.parse::<TimeRange>();
    for text in [
        "",
        "5",
        "..",
        "5..5",
        "6..5",
        "2d..1h",
        "1h..60m",
        "1x..2x",
        "h..2h",
        "1.5h..2h",
        "0..9223372036854775808",
        "999999999d..2d",
        "2011-13-01..",
        "2011-05-02T24:00..",
        "2011-05-02..2011-05-02",
        "2011-05-02T13:30+02:00..",
        "2011-5-2..",
        "2011-05-02T13..",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
    assert_eq!(parse("-5..10").unwrap().bounds(7), Ok((-5, Some(10))));
    assert_eq!(parse("-1h..1s500ms").unwrap().to_string(), "-1h..1500ms");
    assert_eq!(
        parse("-1h..1500ms").unwrap().bounds(1_000),
        Ok((-3_600_000, Some(1_500)))
    );
    assert!(parse("0..1500ms").unwrap().bounds(1).is_err());
    assert!(parse("7200..1h").unwrap().bounds(1).is_err());
    assert!(!parse("0..1h").unwrap().has_units());
    assert_eq!(parse("5..").unwrap().bounds(7), Ok((5, None)));
    assert_eq!(
        parse("..2h").unwrap().bounds(1),
        Ok((i64::MIN, Some(7_200)))
    );
    for text in ["5..", "..2h", "-1d.."] {
        assert_eq!(parse(text).unwrap().to_string(), text);
    }
}

#[test]
fn names_of_columns() {
    let names: ColumnNames = "a.b,c".parse().unwrap();
    let pairs: Vec<_> = names.pairs().collect();
    assert_eq!(pairs, [(Some("a"), "b"), (None, "c")]);
    assert_eq!(names.to_string(), "a.b,c");
    for text in ["", "a,", ".b", "a.", "a.b.c"] {
        assert!(text.parse::<ColumnNames>().is_err(), "{text}");
    }
}

#[test]
fn ranges_between_dates() {
    let parse = |text: &str| text.parse::<TimeRange>().unwrap();
    // 2023-11-16 00:00:00 UTC.
    let day = 1_700_092_800;
    for (text, from, to) in [
        ("2023-11-16..2023-11-17", Some(0), Some(86_400)),
        (
            "2023-11-16T13:30..2023-11-16 13:30:05Z",
            Some(48_600),
            Some(48_605),
        ),
        ("2023-11-15T23:59:59..", Some(-1), None),
        ("..2023-11-17", None, Some(86_400)),
        ("1h..2023-11-17", Some(3_600), Some(86_400)),
    ] {
        let range = parse(text);
        assert!(range.has_dates(), "{text}");
        let bounds = range.since(day).bounds(1);
        assert_eq!(bounds, Ok((from.unwrap_or(i64::MIN), to)), "{text}");
    }
    assert_eq!(parse("2023-11-16..").to_string(), "2023-11-16T00:00:00..");
    let of_1970 = parse("2023-11-16..").since(0).in_units(1_000).unwrap();
    assert_eq!(of_1970.to_string(), "1700092800000..");
}

#[test]
fn a_range_is_shown_as_it_is_typed() {
    let of_dates = |trace: &&'static Arc<Trace>| {
        let mut tables = trace.tables.iter();
        tables.any(|table| {
            table
                .time
                .is_some_and(|time| matches!(table.columns[time].kind, Kind::DateTime(_)))
        })
    };
    let (dates, numbers): (Vec<&Arc<Trace>>, Vec<&Arc<Trace>>) = TRACES.iter().partition(of_dates);
    let shown = |trace: &Trace, text: &str| {
        text.parse::<TimeRange>()
            .unwrap()
            .as_typed(trace)
            .to_string()
    };
    // Times that are date-times are counted from 1970.
    let trace = dates
        .iter()
        .find(|trace| trace.epoch.is_none_or(|epoch| epoch == 0))
        .unwrap();
    let range = shown(trace, "1700159400000000..1700159400500000");
    assert_eq!(range, "2023-11-16T18:30:00..2023-11-16T18:30:00.5");
    assert_eq!(shown(trace, "..1h"), "..1h");
    assert!(!numbers.is_empty());
    for trace in numbers {
        assert_eq!(shown(trace, "600000000.."), "600000000..");
    }
}
