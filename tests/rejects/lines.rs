//! Lines that are no rows: in a strict run the place and a hint, else a line of the rejects file.

use crate::rejects::account::{account, rejects};
use tracelake_testkit::{Run, Score, Scratch, ensure, good_line, good_row, table, trace};

/// A fault in a file of job events: the text, the first bad line and its byte of the field, the strict
/// message, and how many lines are bad.
struct Fault {
    name: &'static str,
    text: Vec<u8>,
    line: usize,
    at: usize,
    says: &'static str,
    bad: usize,
}

fn utf16(text: &str, big: bool) -> Vec<u8> {
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    let bytes = |unit: u16| {
        if big {
            unit.to_be_bytes()
        } else {
            unit.to_le_bytes()
        }
    };
    units.flat_map(bytes).collect()
}

const HEADER: &str = "time,missing info,job ID,event type,user name,scheduling class,job name,\
                      logical job name";

fn faults() -> Vec<Fault> {
    let g = good_row("job_events");
    let task = good_row("task_events");
    let join = |lines: &[&str]| format!("{}\n", lines.join("\n")).into_bytes();
    let crlf = |lines: &[&str]| format!("{}\r\n", lines.join("\r\n")).into_bytes();
    let odd = |delimiter: &str| format!("{0}\n{0}\n", g.replace(',', delimiter)).into_bytes();
    let value = |bytes: &[u8]| {
        let (before, after) = g.split_once("usr=").unwrap();
        [
            format!("{g}\n{before}").as_bytes(),
            bytes,
            format!("{after}\n{g}\n").as_bytes(),
        ]
        .concat()
    };
    let fault = |name, text, line, at, says, bad| Fault {
        name,
        text,
        line,
        at,
        says,
        bad,
    };
    vec![
        fault(
            "CRLF among LF",
            format!("{g}\n{g}\r\n{g}\n").into(),
            2,
            1,
            "a line ending unlike",
            1,
        ),
        fault(
            "LF among CRLF",
            format!("{g}\r\n{g}\n{g}\r\n").into(),
            2,
            1,
            "a line ending unlike",
            1,
        ),
        fault(
            "a cut last row",
            format!("{g}\n{}", &g[..20]).into(),
            2,
            1,
            "6 fields",
            1,
        ),
        fault(
            "a last row cut in a number",
            format!("{g}\n60").into(),
            2,
            1,
            "1 field where",
            1,
        ),
        fault(
            "too few fields",
            join(&[g, "600,,1", g]),
            2,
            1,
            "3 fields where the table has 8",
            1,
        ),
        fault(
            "too many fields",
            join(&[g, &format!("{g},x"), g]),
            2,
            1,
            "9 fields where",
            1,
        ),
        fault(
            "a header at the top",
            join(&[HEADER, g, g]),
            1,
            1,
            "remove the line",
            1,
        ),
        fault(
            "a header in the middle",
            join(&[g, g, HEADER, g]),
            3,
            1,
            "remove the line",
            1,
        ),
        fault(
            "a header of CRLF",
            crlf(&[HEADER, g]),
            1,
            1,
            "remove the line",
            1,
        ),
        fault(
            "a blank first line",
            join(&["", g]),
            1,
            1,
            "a blank line",
            1,
        ),
        fault(
            "a blank line in the middle",
            join(&[g, "", g]),
            2,
            1,
            "a blank line",
            1,
        ),
        fault("a blank last line", join(&[g, ""]), 2, 1, "a blank line", 1),
        fault(
            "blank lines of CRLF",
            crlf(&[g, "", "", g]),
            2,
            1,
            "a blank line",
            2,
        ),
        fault(
            "a line of a blank",
            join(&[g, " ", g]),
            2,
            1,
            "1 field where",
            1,
        ),
        fault(
            "a byte order mark",
            format!("\u{feff}{g}\n{g}\n").into(),
            1,
            1,
            "byte order mark",
            1,
        ),
        fault(
            "UTF-16LE",
            utf16(&format!("{g}\n{g}\n"), false),
            1,
            1,
            "UTF-16",
            3,
        ),
        fault(
            "UTF-16BE",
            utf16(&format!("{g}\n{g}\n"), true),
            1,
            1,
            "UTF-16",
            2,
        ),
        fault("a NUL in a text", value(b"u\0r"), 2, 16, "(byte 0x00)", 1),
        fault(
            "a line of NUL",
            format!("{g}\n\0\0\0\n{g}\n").into(),
            2,
            1,
            "binary data",
            1,
        ),
        fault(
            "invalid UTF-8",
            value(b"u\xffr"),
            2,
            16,
            "not UTF-8 (byte 0xff)",
            1,
        ),
        fault(
            "a cut UTF-8 character",
            value(b"u\xe2\x82"),
            2,
            16,
            "not UTF-8 (byte 0xe2)",
            1,
        ),
        fault(
            "Latin-1",
            value(b"M\xfcller"),
            2,
            16,
            "not UTF-8 (byte 0xfc)",
            1,
        ),
        fault(
            "an overlong character",
            value(b"\xc0\xaf"),
            2,
            16,
            "not UTF-8 (byte 0xc0)",
            1,
        ),
        fault("a carriage return", value(b"u\rr"), 2, 16, "(byte 0x0d)", 1),
        fault("a quoted field", value(b"\"u\""), 2, 16, "quote", 1),
        fault(
            "a quoted comma",
            value(b"\"u,v\""),
            2,
            1,
            "9 fields where",
            1,
        ),
        fault(
            "a quoted newline",
            value(b"\"u\nv\""),
            2,
            1,
            "5 fields where",
            2,
        ),
        fault("semicolons", odd(";"), 1, 1, "separated by ';'", 2),
        fault("tabs", odd("\t"), 1, 1, r"separated by '\t'", 2),
        fault("bars", odd("|"), 1, 1, "separated by '|'", 2),
        fault("blanks", odd(" "), 1, 1, "separated by ' '", 2),
        fault(
            "another table's rows",
            join(&[task, task]),
            1,
            1,
            "task_events has 13 fields",
            2,
        ),
    ]
}

/// Texts accepted as they are.
fn accepted() -> Vec<(&'static str, Vec<u8>)> {
    let g = good_row("job_events");
    vec![
        ("LF", format!("{g}\n{g}\n").into()),
        ("no final newline", format!("{g}\n{g}").into()),
        ("CRLF", format!("{g}\r\n{g}\r\n").into()),
        ("CRLF, no final one", format!("{g}\r\n{g}").into()),
        ("CRLF, half a final one", format!("{g}\r\n{g}\r").into()),
        ("nothing", Vec::new()),
        ("one row", g.into()),
    ]
}

const TABLE: &str = "job_events";

fn strict(fault: &Fault, run: &Run) -> Result<(), String> {
    let place = format!(
        "{TABLE}/part-00000-of-00001.csv.gz:{}:{}: ",
        fault.line, fault.at
    );
    let message = run.message();
    ensure(
        run.code == 4 && message.contains(&place) && message.contains(fault.says),
        || format!("exit {}: {message}", run.code),
    )
}

#[test]
fn every_fault_of_a_line_is_placed_and_kept() {
    let mut score = Score::new("faults of lines");
    for fault in faults() {
        let scratch = Scratch::new();
        scratch.only(TABLE, &fault.text);
        // A file without a good first row doesn't show its trace.
        let name = ["--trace", &trace().name];
        let run = scratch.convert(&name);
        score.count(
            &format!("{}, strict", fault.name),
            strict(&fault, &run)
                .and_then(|()| ensure(!scratch.out().exists(), || "OUT was made".to_owned())),
        );
        let run = scratch.convert(&[&name[..], &["--on-bad-row", "reject"]].concat());
        let outcome = (|| {
            ensure(run.code == 3, || {
                format!("exit {}: {}", run.code, run.stderr)
            })?;
            let (_, bad) = account(&fault.text, &scratch.out(), table(TABLE), (0, 1))?;
            ensure(bad == fault.bad, || format!("{bad} lines are bad"))?;
            let first = &rejects(&scratch.out(), TABLE, 0, 1)[0];
            ensure(first.line == fault.line, || format!("line {}", first.line))
        })();
        score.count(&format!("{}, rejecting", fault.name), outcome);
    }
    for (name, text) in accepted() {
        for more in [&[][..], &["--on-bad-row", "reject"]] {
            let scratch = Scratch::new();
            scratch.only(TABLE, &text);
            let run = scratch.convert(&[&["--trace", &trace().name], more].concat());
            let outcome = ensure(run.code == 0, || run.stderr.clone())
                .and_then(|()| account(&text, &scratch.out(), table(TABLE), (0, 1)))
                .and_then(|(_, bad)| ensure(bad == 0, || format!("{bad} lines are bad")));
            score.count(name, outcome);
        }
    }
    score.close();
}

/// A line past the limit ends the run in both modes: it is no row, and may be without end.
#[test]
fn a_line_past_the_limit_ends_the_run() {
    let good = good_row(TABLE);
    for more in [&[][..], &["--on-bad-row", "reject"]] {
        for (length, code) in [((1 << 20) - 60, 0), ((1 << 20) + 1, 4)] {
            let scratch = Scratch::new();
            let text = format!("{good}\n{}\n", good.replace("usr=", &"u".repeat(length)));
            scratch.only(TABLE, text.as_bytes());
            let run = scratch.convert(more);
            assert_eq!(run.code, code, "{}", run.stderr);
            if code == 4 {
                let message = run.message();
                assert!(
                    message.contains("a line longer than 1048576 bytes"),
                    "{message}"
                );
                assert!(
                    message.contains("part-00000-of-00001.csv.gz: "),
                    "{message}"
                );
            }
        }
    }
}

/// A file in the directory of another table is refused, whichever two they are.
#[test]
fn a_file_of_another_table_is_refused() {
    let mut score = Score::new("files of another table");
    for ours in &trace().tables {
        for theirs in trace()
            .tables
            .iter()
            .filter(|theirs| theirs.name != ours.name)
        {
            let scratch = Scratch::new();
            scratch.only(&ours.name, good_line(&theirs.name).as_bytes());
            let run = scratch.convert(&["--trace", &trace().name]);
            let names =
                run.message().contains(&*theirs.name) || ours.fields.len() == theirs.fields.len();
            let outcome = ensure(run.code == 4 && names, || {
                format!("{}: {}", run.code, run.stderr)
            });
            score.count(&format!("{} in {}", theirs.name, ours.name), outcome);
        }
    }
    score.close();
}

/// Every seventh row of every table is broken: the law holds per part and in total.
#[test]
fn the_counting_law_holds_for_every_table() {
    let mut score = Score::new("parts checked against the counting law");
    let scratch = Scratch::new();
    let mut texts = Vec::new();
    for table in &trace().tables {
        let total = table.parts.min(3);
        for number in 0..total {
            let rows = tracelake_testkit::rows::sample(table, number, 900);
            let rows = rows.lines().enumerate().map(|(row, line)| match row % 7 {
                3 => format!("{line},\n"),
                5 if row % 2 == 0 => format!("x{line}\n"),
                _ => format!("{line}\n"),
            });
            let text: String = rows.collect();
            scratch.part(&table.name, number, total, text.as_bytes());
            texts.push((table, number, total, text));
        }
    }
    scratch.convert(&["--on-bad-row", "reject"]).exits(3);
    let mut all = 0;
    for (table, number, total, text) in texts {
        let outcome = account(text.as_bytes(), &scratch.out(), table, (number, total));
        all += outcome.as_ref().map_or(0, |(_, bad)| *bad);
        score.count(&format!("{} {number}", table.name), outcome.map(|_| ()));
    }
    // The limit is for the whole lake, whichever run rejected the rows.
    for (most, code) in [(all - 1, 4), (all, 3)] {
        let again =
            scratch.convert(&["--on-bad-row", "reject", "--max-rejects", &most.to_string()]);
        assert_eq!(again.code, code, "{}", again.stderr);
        let out = scratch.path().join(most.to_string());
        let arguments = ["--on-bad-row", "reject", "--max-rejects", &most.to_string()];
        tracelake_testkit::convert(&scratch.src(), &out, &arguments).exits(code);
    }
    score.close();
}

/// The limit is that of a line without its ending, whichever ending it is.
#[test]
fn a_line_of_one_mebibyte_is_read_with_either_ending() {
    const MIB: usize = 1 << 20;
    for ending in ["\n", "\r\n"] {
        for (length, code) in [(MIB, 0), (MIB + 1, 4)] {
            let scratch = Scratch::new();
            let row = good_row("job_events");
            let filler = "u".repeat(length - (row.len() - "usr=".len()));
            let row = row.replace("usr=", &filler);
            assert_eq!(row.len(), length);
            scratch.only("job_events", format!("{row}{ending}").as_bytes());
            let run = scratch.convert(&[]);
            assert_eq!(run.code, code, "{length} {ending:?}: {}", run.stderr);
        }
    }
}
