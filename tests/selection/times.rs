//! Ranges of time with dates and open ends.

use std::path::Path;

use tracelake_testkit::{Scratch, convert, gzip, manifest, trace, verify_well};

use super::rows;
use crate::described::language::one_table;

/// Machine events at these times, which are the only thing that differs.
fn machines(times: &[i64]) -> Scratch {
    let scratch = Scratch::new();
    let rows: String = times
        .iter()
        .map(|time| format!("{time},5,0,abc,0.5,0.25\n"))
        .collect();
    let part = "machine_events/part-00000-of-00001.csv.gz";
    scratch.file(part, &gzip(rows.as_bytes()));
    scratch
}

/// The times that a lake has.
fn times(out: &Path) -> Vec<String> {
    let rows = rows(out).into_values().flatten();
    let time = |row: String| row.split('|').next().unwrap().to_owned();
    rows.map(time).collect()
}

/// 2011-05-01 22:50:00 UTC is time 0, as the publisher's page implies.
#[test]
fn dates_count_from_time_0() {
    let (start, day) = (4_200_000_000, 86_400_000_000);
    let all = [
        0,
        600_000_000,
        start - 1,
        start,
        start + day - 1,
        start + day,
        i64::MAX,
    ];
    for (range, selected) in [
        ("2011-05-02..2011-05-03", &all[3..5]),
        ("2011-05-02T00:00..", &all[3..6]),
        ("..2011-05-03", &all[1..5]),
        ("..10m", &[]),
        ("4200s..2011-05-02T00:00:00.000001Z", &all[3..4]),
    ] {
        let scratch = machines(&all);
        let made = scratch.convert(&["--time", range]);
        assert_eq!(made.code, 0, "{range}: {}", made.stderr);
        let special = selected.iter().chain([&0, &i64::MAX]);
        let mut expected: Vec<i64> = special.copied().collect();
        expected.sort_unstable();
        let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
        assert_eq!(times(&scratch.out()), expected, "{range}");
        verify_well(&scratch.out(), &scratch.src());
    }
}

/// Two ways to write a range give the same lake.
#[test]
fn a_range_is_recorded_in_the_unit_of_the_trace() {
    for (range, recorded) in [
        ("2011-05-02..", "4200000000.."),
        ("..70m", "..4200000000"),
        ("2011-05-02..2d", "4200000000..172800000000"),
    ] {
        let scratch = machines(&[4_200_000_000]);
        scratch.convert_well(&["--time", range]);
        let options = &manifest(&scratch.out())["options"];
        assert_eq!(options["time"], recorded, "{range}");
        scratch.convert_well(&["--time", recorded]);
    }
}

#[test]
fn only_special_times_are_named() {
    let named = "machine_events: no row in 3600000000..7200000000, only rows with special times";
    for (times, is_named) in [(&[0, 0][..], true), (&[0, 3_600_000_000], false)] {
        let scratch = machines(times);
        let made = scratch.convert(&["--time", "1h..2h"]);
        assert_eq!(made.code, 0, "{}", made.stderr);
        assert_eq!(made.stderr.contains(named), is_named, "{}", made.stderr);
    }
}

#[test]
fn a_range_outside_of_the_trace_is_answered_with_its_own() {
    let scratch = machines(&[0]);
    let made = scratch.convert(&["--time", "30d..31d"]);
    assert_eq!(made.code, 2, "{}", made.stderr);
    let own = "its times are from 0s (2011-05-01 22:50:00) to 2506200s (2011-05-30 23:00:00)";
    assert!(made.message().ends_with(own), "{}", made.message());
    made.says(&trace().name);
    assert!(!scratch.out().exists());
}

/// A trace with date-times needs no time 0, and one with neither takes no dates.
#[test]
fn dates_need_a_calendar() {
    let date_time = "kind = \"date-time\"\nzone = \"none\"";
    let seconds = "kind = \"integer\"\nunit = \"seconds since spring\"";
    for (kind, text, code) in [
        (date_time, "2023-11-16 18:17:03\n2023-11-17 00:00:00\n", 0),
        (seconds, "1\n2\n", 2),
    ] {
        let scratch = Scratch::new();
        scratch.file("readings.csv", text.as_bytes());
        let table = "files = \"whole\"\ntime = \"t\"";
        let description = scratch.path().join("weather.toml");
        std::fs::write(&description, one_table(table, &[("t", kind)])).unwrap();
        let range = "2023-11-17..";
        let options = ["--trace", description.to_str().unwrap(), "--time", range];
        let made = convert(&scratch.src(), &scratch.out(), &options);
        assert_eq!(made.code, code, "{}", made.stderr);
        match code {
            0 => assert_eq!(times(&scratch.out()).len(), 1),
            _ => assert!(
                made.message()
                    .ends_with("count from time 0, such as 1d..2d"),
                "{}",
                made.message()
            ),
        }
    }
}
