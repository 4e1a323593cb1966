//! Rows that cannot be converted: every one ends a strict run at its place.

use crate::cli::refusal::{Refusal, refused};
use tracelake_testkit::{Scratch, byte_of, good_line, good_row, row_with, table};

/// Every value that a field may not have: table, column, value, and how the message shows it.
pub(crate) const VALUES: &[(&str, &str, &[u8], &str)] = &[
    // Integers are what C prints for %d, and nothing else.
    ("job_events", "time", b"+5", "'+5'"),
    ("job_events", "time", b" 5", "' 5'"),
    ("job_events", "time", b"5 ", "'5 '"),
    ("job_events", "time", b"0x1F", "'0x1F'"),
    ("job_events", "time", b"5.0", "'5.0'"),
    ("job_events", "time", b"1e3", "'1e3'"),
    ("job_events", "time", b"-", "'-'"),
    ("job_events", "time", b"1_000", "'1_000'"),
    ("job_events", "time", b"none", "'none'"),
    ("job_events", "time", b"\xd9\xa3", "'\u{663}'"),
    ("job_events", "time", b"", "mandatory"),
    (
        "job_events",
        "time",
        b"9223372036854775808",
        "out of the range of a signed 64-bit",
    ),
    (
        "job_events",
        "time",
        b"-9223372036854775809",
        "out of the range of a signed 64-bit",
    ),
    (
        "job_events",
        "time",
        b"18446744073709551614",
        "'18446744073709551614'",
    ),
    (
        "job_events",
        "time",
        b"18446744073709551616",
        "'18446744073709551616'",
    ),
    (
        "job_events",
        "time",
        b"018446744073709551615",
        "'018446744073709551615'",
    ),
    (
        "job_events",
        "job_id",
        b"18446744073709551615",
        "'18446744073709551615'",
    ),
    (
        "task_events",
        "machine_id",
        b"18446744073709551615",
        "out of the range of a signed 64-bit",
    ),
    ("task_usage", "task_index", b"", "mandatory"),
    ("machine_events", "machine_id", b"x", "'x'"),
    // Codes are integers of 32 bits; one without a name is kept, one that does not fit is not.
    (
        "job_events",
        "event_type",
        b"2147483648",
        "out of the range of a signed 32-bit",
    ),
    (
        "job_events",
        "event_type",
        b"-2147483649",
        "out of the range of a signed 32-bit",
    ),
    ("job_events", "event_type", b"SUBMIT", "'SUBMIT'"),
    ("task_constraints", "comparison_operator", b"", "mandatory"),
    ("task_events", "scheduling_class", b"1.0", "'1.0'"),
    // Floats are what C prints for %g of a finite number.
    ("task_usage", "cpu_rate", b"nan", "'nan'"),
    ("task_usage", "cpu_rate", b"NaN", "'NaN'"),
    ("task_usage", "cpu_rate", b"-nan", "'-nan'"),
    ("task_usage", "cpu_rate", b"inf", "'inf'"),
    ("task_usage", "cpu_rate", b"-inf", "'-inf'"),
    ("task_usage", "cpu_rate", b"Infinity", "'Infinity'"),
    (
        "task_usage",
        "cpu_rate",
        b"1e999",
        "beyond the range of a 64-bit float: '1e999'",
    ),
    (
        "task_usage",
        "cpu_rate",
        b"-1e999",
        "beyond the range of a 64-bit float",
    ),
    ("task_usage", "cpu_rate", b"+1", "'+1'"),
    ("task_usage", "cpu_rate", b" 0.5", "' 0.5'"),
    ("task_usage", "cpu_rate", b"0x1p3", "'0x1p3'"),
    ("task_usage", "cpu_rate", b".", "'.'"),
    ("task_usage", "cpu_rate", b"1e", "'1e'"),
    ("task_usage", "sampled_cpu_usage", b"1 ", "'1 '"),
    // Booleans are one digit.
    ("task_events", "different_machines_restriction", b"2", "'2'"),
    (
        "task_events",
        "different_machines_restriction",
        b"true",
        "'true'",
    ),
    (
        "task_events",
        "different_machines_restriction",
        b"01",
        "'01'",
    ),
    (
        "task_events",
        "different_machines_restriction",
        b" 1",
        "' 1'",
    ),
    ("machine_attributes", "attribute_deleted", b"", "mandatory"),
    // Text: no quotes, no control characters, and UTF-8.
    ("job_events", "user", b"\"quoted\"", "'\"quoted\"'"),
    ("job_events", "user", b"a\"b", "quote"),
    ("job_events", "user", b"\"\"", "quote"),
    ("job_events", "user", b"a\0b", r"'a\u{0}b'"),
    ("job_events", "user", b"a\rb", r"'a\rb'"),
    ("job_events", "user", b"a\tb", r"'a\tb'"),
    ("job_events", "user", b"\x1b[31m", r"'\u{1b}[31m'"),
    ("job_events", "user", b"a\x7f", r"'a\u{7f}'"),
    ("job_events", "user", b"a\xffb", r"'a\xffb'"),
    ("job_events", "user", b"\xc3", r"'\xc3'"),
    ("job_events", "user", b"\xed\xa0\x80", r"'\xed\xa0\x80'"),
    ("machine_attributes", "attribute_name", b"", "mandatory"),
];

#[test]
fn a_bad_value_is_named_with_its_place() {
    for &(name, column, value, shown) in VALUES {
        let table = table(name);
        let good = good_row(name).as_bytes();
        let bad = row_with(table, column, value);
        let scratch = Scratch::new();
        scratch.only(name, &[good, good, &bad, good, b""].join(&b"\n"[..]));
        let place = format!(
            "part-00000-of-00001.csv.gz:3:{}: {name}.{column}: ",
            byte_of(table, column)
        );
        let refusal = Refusal {
            arguments: &[],
            code: 4,
            says: &[&place, shown],
        };
        refused(&format!("{name}.{column} {value:?}"), &scratch, &refusal);
    }
}

/// Rows of the wrong shape: the text of a file of job events, the line, and the reason.
#[test]
fn a_bad_shape_is_named_with_its_line() {
    let good = good_row("job_events");
    let cases: &[(&str, String, u64, &str)] = &[
        ("too few fields", format!("{good}\n0,,1\n"), 2, "'0,,1'"),
        (
            "one field",
            format!("{good}\n5\n"),
            2,
            "1 field where the table has 8",
        ),
        (
            "too many fields",
            format!("{good},\n"),
            1,
            "9 fields where the table has 8",
        ),
        (
            "a cut last row",
            format!("{good}\n{}", &good[..9]),
            2,
            "where the table has 8",
        ),
        (
            "a blank line",
            format!("{good}\n\n{good}\n"),
            2,
            "a blank line",
        ),
        (
            "a blank first line",
            format!("\n{good}\n"),
            1,
            "a blank line",
        ),
        (
            "a blank last line",
            format!("{good}\n\n"),
            2,
            "a blank line",
        ),
        (
            "a blank line of CRLF",
            format!("{good}\r\n\r\n"),
            2,
            "a blank line",
        ),
        (
            "CRLF among LF",
            format!("{good}\n{good}\r\n"),
            2,
            "line ending",
        ),
        (
            "LF among CRLF",
            format!("{good}\r\n{good}\n{good}\r\n"),
            2,
            "line ending",
        ),
        ("two carriage returns", format!("{good}\r\r\n"), 1, r"\r'"),
        (
            "a header",
            format!("time,missing info,{good}\n"),
            1,
            "10 fields",
        ),
        (
            "blanks for commas",
            format!("{}\n", good.replace(',', " ")),
            1,
            "1 field",
        ),
        (
            "a quoted comma",
            format!("{}\n", good.replace("usr=", "\"u,v\"")),
            1,
            "9 fields",
        ),
    ];
    for (name, text, line, reason) in cases {
        let scratch = Scratch::new();
        scratch.only("job_events", text.as_bytes());
        let place = format!("job_events/part-00000-of-00001.csv.gz:{line}:");
        let refusal = Refusal {
            arguments: &[],
            code: 4,
            says: &[&place, ": job_events", reason],
        };
        refused(name, &scratch, &refusal);
    }
}

#[test]
fn a_long_value_is_cut_in_the_message() {
    let scratch = Scratch::new();
    let bad = row_with(table("job_events"), "time", &[b'x'; 5000]);
    scratch.only("job_events", &[&bad[..], b"\n"].concat());
    let run = scratch.convert(&[]);
    assert_eq!(run.code, 4);
    assert!(run.message().len() < 600, "{}", run.message().len());
    run.says("(5000 bytes)");
}

#[test]
fn a_line_without_end_is_refused() {
    let scratch = Scratch::new();
    scratch.only("job_events", &vec![b'1'; 9 << 20]);
    let refusal = Refusal {
        arguments: &[],
        code: 4,
        says: &[
            "job_events/part-00000-of-00001.csv.gz: ",
            "a line longer than",
        ],
    };
    refused("an endless line", &scratch, &refusal);
}

/// The first bad row of the file is named, wherever the chunks are cut.
#[test]
fn the_first_bad_row_deep_in_a_file_is_named() {
    let good = good_row("job_events");
    let mut text = format!("{good}\n").repeat(40_000);
    text += "5,bad\n7,worse\n";
    text += &format!("{good}\n").repeat(10);
    let scratch = Scratch::new();
    scratch.only("job_events", text.as_bytes());
    let refusal = Refusal {
        arguments: &["--threads", "2"],
        code: 4,
        says: &[
            "part-00000-of-00001.csv.gz:40001:1: job_events: ",
            "'5,bad'",
        ],
    };
    refused("deep", &scratch, &refusal);
}

/// Of several bad parts the first in the order of the plan is reported, whatever finished first.
#[test]
fn of_several_bad_parts_the_first_is_told() {
    let scratch = Scratch::new();
    let good = good_line("job_events");
    scratch.part(
        "job_events",
        0,
        2,
        format!("{}x\n", good.repeat(20_000)).as_bytes(),
    );
    scratch.part("job_events", 1, 2, b"y\n");
    for threads in ["1", "2"] {
        let run = scratch.convert(&["--threads", threads]);
        assert_eq!(run.code, 4);
        run.message();
        assert!(!scratch.out().exists());
    }
}
