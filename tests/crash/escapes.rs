//! Bytes of strangers in messages: whatever a value, a name or a manifest holds, what reaches the
//! terminal is printable text.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use serde_json::Value;

use tracelake_testkit::{
    Run, Score, Scratch, convert, copy, ensure, finished_lake, good_row, manifest, row_with, run,
    table, write_manifest,
};

/// Bytes that a terminal would obey, or that would make a line read as another.
const HOSTILE: &[&[u8]] = &[
    b"\x1b[31mred\x1b[0m",
    b"\x1b]0;title\x07",
    b"\x1b]52;c;aGk=\x07",
    b"a\rtracelake: error: b",
    b"a\nb",
    b"\x08\x08\x08",
    b"\0",
    b"\x7f",
    b"\xc2\x9b31m",
    b"\x9b31m",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    "\u{202e}txt.exe".as_bytes(),
    "\u{2066}x\u{2069}".as_bytes(),
    "\u{feff}".as_bytes(),
];

/// Whether what was said can be shown on any terminal.
fn tame(run: &Run) -> Result<(), String> {
    for text in [&run.stderr, &run.stdout] {
        let wild = text.chars().find(|&c| {
            (c.is_control() && c != '\n')
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
                || matches!(c, '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fffd}')
        });
        ensure(wild.is_none(), || format!("{wild:?} in {text:?}"))?;
    }
    ensure(!run.stderr.contains("panicked"), || run.stderr.clone())
}

/// One line of error, and every line of what was said begins as the program's lines do.
fn one_error(run: &Run, codes: &[i32]) -> Result<(), String> {
    tame(run)?;
    ensure(codes.contains(&run.code), || {
        format!("exit {}: {}", run.code, run.stderr)
    })?;
    let errors = run
        .stderr
        .lines()
        .filter(|l| l.starts_with("tracelake: error: "));
    let others = run
        .stderr
        .lines()
        .find(|l| !l.starts_with("tracelake: error: ") && !l.starts_with("warning: "));
    ensure(errors.count() == 1 && others.is_none(), || {
        format!("said {:?}", run.stderr)
    })
}

#[test]
fn values_are_escaped() {
    let mut score = Score::one_in(3, "hostile values");
    let columns = [
        ("job_events", "time"),
        ("job_events", "user"),
        ("job_events", "event_type"),
        ("task_usage", "cpu_rate"),
        ("task_events", "different_machines_restriction"),
    ];
    for (name, column) in columns {
        for hostile in HOSTILE {
            if !score.is_due() {
                continue;
            }
            let row = row_with(table(name), column, hostile);
            let scratch = Scratch::new();
            scratch.only(name, &[&row[..], b"\n"].concat());
            let what = format!("{name}.{column} {}", hostile.escape_ascii());
            // Text that only looks odd is text.
            let fails = scratch.convert(&[]);
            let outcome = match fails.code {
                0 => ensure(name == "job_events" && column == "user", || {
                    "accepted".to_owned()
                }),
                _ => one_error(&fails, &[4]),
            };
            score.count(&what, outcome);
            let out = scratch.path().join("rejecting");
            let rejects = convert(&scratch.src(), &out, &["--on-bad-row", "reject"]);
            score.count(&format!("{what}, rejected"), tame(&rejects));
            let row = [hostile, &b",1,2\n"[..]].concat();
            scratch.only(name, &row);
            let out = scratch.path().join("another");
            let shape = convert(&scratch.src(), &out, &[]);
            score.count(&format!("{what}, as a row"), one_error(&shape, &[4]));
        }
    }
    score.close();
}

#[test]
fn names_of_files_are_escaped() {
    let mut score = Score::new("hostile names of files");
    for hostile in HOSTILE.iter().filter(|bytes| !bytes.contains(&0)) {
        let what = hostile.escape_ascii().to_string();
        let hostile = OsStr::from_bytes(hostile);
        let bad = format!("{}\nbad\n", good_row("job_events"));
        // Beside the parts: skipped with a warning.
        let scratch = Scratch::new();
        scratch.only("job_events", good_row("job_events").as_bytes());
        fs::write(scratch.src().join("job_events").join(hostile), "").unwrap();
        let mut name = OsStr::new("part-00000-of-00001").to_owned();
        name.push(hostile);
        fs::write(scratch.src().join("job_events").join(name), "").unwrap();
        let (src, out) = (scratch.src(), scratch.out());
        for arguments in [
            [OsStr::new("convert"), src.as_os_str(), out.as_os_str()],
            [OsStr::new("inspect"), src.as_os_str(), OsStr::new("--json")],
        ] {
            score.count(
                &format!("{what} beside, {:?}", arguments[0]),
                tame(&run(arguments)),
            );
        }
        // As the source's and the lake's own name.
        let scratch = Scratch::new();
        scratch.only("job_events", bad.as_bytes());
        let (src, out) = (
            scratch.path().join(hostile),
            scratch.path().join("x").join(hostile),
        );
        fs::rename(scratch.src(), &src).unwrap();
        score.count(
            &format!("{what} is SRC"),
            one_error(&convert(&src, &out, &[]), &[4]),
        );
        let rejects = convert(
            &src,
            &out,
            &["--on-bad-row", "reject", "--progress", "none"],
        );
        score.count(&format!("{what} is OUT"), tame(&rejects));
        let other = convert(
            &src,
            &out,
            &["--compression", "none", "--on-bad-row", "reject"],
        );
        score.count(&format!("{what}, refused"), one_error(&other, &[6]));
        for command in ["verify", "inspect"] {
            let looked = run([OsStr::new(command), out.as_os_str()]);
            score.count(&format!("{what}, {command}"), tame(&looked));
        }
    }
    score.close();
}

/// A file that is named alone may have any name that a manifest can hold.
#[test]
fn a_source_file_with_control_characters_in_its_name_is_refused() {
    let mut score = Score::new("hostile names of a file that is named alone");
    for name in ["a\nb", "\x1b[31m", "a\u{9b}b", "a b", "é", "a'b$"] {
        let scratch = Scratch::new();
        scratch.good("job_events");
        let part = scratch.src().join("job_events/part-00000-of-00001.csv.gz");
        let named = scratch.path().join(format!("{name}.csv.gz"));
        fs::rename(part, &named).unwrap();
        let said = convert(
            &named,
            &scratch.out(),
            &["--trace", "google-2011-v2.1", "--tables", "job_events"],
        );
        let outcome = match name.chars().any(char::is_control) {
            true => one_error(&said, &[4])
                .and_then(|()| tame(&said))
                .and_then(|()| ensure(!scratch.out().exists(), || "OUT was made".to_owned())),
            false => ensure(said.code == 0, || said.stderr.clone()).and_then(|()| {
                let verified = run([std::path::Path::new("verify"), &scratch.out()]);
                ensure(verified.code == 0, || verified.stderr.clone())
            }),
        };
        score.count(&name.escape_debug().to_string(), outcome);
    }
    score.close();
}

/// The summary and the plan name SRC, which was typed, but perhaps not read.
#[test]
fn the_name_of_the_source_is_escaped_in_the_summary() {
    let mut score = Score::new("hostile names in the summary");
    for hostile in HOSTILE.iter().filter(|bytes| !bytes.contains(&0)) {
        let scratch = Scratch::new();
        scratch.only("job_events", good_row("job_events").as_bytes());
        let src = scratch.path().join(OsStr::from_bytes(hostile));
        fs::rename(scratch.src(), &src).unwrap();
        for more in [&["--dry-run"][..], &["--progress", "plain"]] {
            let said = convert(&src, &scratch.out(), more);
            score.count(&hostile.escape_ascii().to_string(), tame(&said));
        }
    }
    score.close();
}

/// Strings of a manifest that come into messages.
const STRINGS: &[&str] = &[
    "/tool",
    "/version",
    "/trace",
    "/options/layout",
    "/options/compression",
    "/tables/0/name",
    "/tables/0/schema_fingerprint",
    "/tables/0/parts/0/source/path",
    "/tables/0/parts/0/source/sha256",
    "/tables/0/parts/0/output/path",
    "/tables/0/parts/0/output/sha256",
];

#[test]
fn strings_of_a_manifest_are_escaped() {
    let mut score = Score::one_in(7, "hostile strings of a manifest");
    let source = Scratch::new();
    for name in ["job_events", "machine_events"] {
        source.good(name);
    }
    for pointer in STRINGS {
        for hostile in HOSTILE
            .iter()
            .filter_map(|bytes| std::str::from_utf8(bytes).ok())
        {
            let out = source.path().join("hostile");
            copy(finished_lake(), &out);
            let mut json = manifest(&out);
            *json.pointer_mut(pointer).unwrap() = Value::from(hostile);
            let what = format!("{pointer} is {}", hostile.escape_default());
            let (lake, src) = (out.to_str().unwrap(), source.src());
            let src = src.to_str().unwrap();
            for rows in [1, 2] {
                // With counts that do not fit, the part or the table is named.
                json["tables"][0]["parts"][0]["rows_in"] = Value::from(rows);
                write_manifest(&out, &json);
                for arguments in [
                    &["verify", lake][..],
                    &["verify", lake, "--source", src],
                    &["inspect", lake],
                    &["inspect", lake, "--json"],
                    &["convert", src, lake],
                ] {
                    if score.is_due() {
                        score.count(&format!("{what}, {}", arguments[0]), tame(&run(arguments)));
                    }
                }
            }
            fs::remove_dir_all(&out).unwrap();
        }
    }
    score.close();
}

const HEADER: &str = "file pattern,field number,content,format,mandatory\n";

/// Contents of a `schema.csv`: its text and the exit code.
fn schemas() -> Vec<(String, Vec<u8>, i32)> {
    let mut schemas = Vec::new();
    for hostile in HOSTILE {
        let shown = hostile.escape_ascii();
        let mut push = |what: &str, row: &[&[u8]]| {
            let text = [HEADER.as_bytes(), &row.concat(), b"\n"].concat();
            schemas.push((format!("{what} {shown}"), text, 4));
        };
        let pattern = &b"job_events/part-?????-of-?????.csv.gz"[..];
        push("pattern", &[hostile, b",1,time,INTEGER,YES"]);
        push("table", &[hostile, b"/x,1,time,INTEGER,YES"]);
        push("number", &[pattern, b",", hostile, b",time,INTEGER,YES"]);
        push("content", &[pattern, b",1,", hostile, b",INTEGER,YES"]);
        push("format", &[pattern, b",1,time,", hostile, b",YES"]);
        push("mandatory", &[pattern, b",1,time,INTEGER,", hostile]);
    }
    let mut push = |what: &str, text: Vec<u8>| schemas.push((what.to_owned(), text, 4));
    let row = |pattern: &str| format!("{HEADER}{pattern},1,time,INTEGER,YES\n").into_bytes();
    push("a pattern that leads out", row("../outside/part-*"));
    push("an absolute pattern", row("/etc/part-*"));
    push("a pattern with a NUL", row("job\0events/part-*"));
    push("a huge pattern", row(&"x".repeat(300_000)));
    push(
        "a huge table",
        row(&format!("{}/part-*", "x".repeat(300_000))),
    );
    push("no newline in a megabyte", vec![b'x'; 1 << 20]);
    push("a megabyte of commas", vec![b','; 1 << 20]);
    push("a megabyte of newlines", vec![b'\n'; 1 << 20]);
    push("a megabyte of quotes", vec![b'"'; 1 << 20]);
    push("nothing", Vec::new());
    push("the header alone", HEADER.into());
    push(
        "an open quote",
        format!("{HEADER}\"job_events").into_bytes(),
    );
    push("a web page", b"<!DOCTYPE html>\n<html></html>\n".to_vec());
    schemas
}

#[test]
fn a_hostile_schema_csv_is_refused_in_one_line() {
    let mut score = Score::new("hostile schema.csv");
    for (what, text, code) in schemas() {
        let scratch = Scratch::new();
        scratch.good("job_events");
        scratch.file("schema.csv", &text);
        let run = scratch.convert(&[]);
        let outcome = one_error(&run, &[code]).and_then(|()| {
            ensure(run.message().contains("schema.csv"), || run.stderr.clone())?;
            ensure(run.stderr.len() < 2000, || {
                format!("{} bytes said", run.stderr.len())
            })?;
            ensure(!scratch.out().exists(), || "OUT was made".to_owned())
        });
        score.count(&what, outcome);
    }
    score.close();
}

#[test]
fn hostile_checksums_are_refused_in_one_line() {
    let mut score = Score::new("hostile SHA256SUM");
    let digest = "ab".repeat(32);
    let mut lists: Vec<(String, Vec<u8>, i32)> = Vec::new();
    for hostile in HOSTILE {
        let shown = hostile.escape_ascii().to_string();
        lists.push((format!("a line {shown}"), [hostile, &b"\n"[..]].concat(), 5));
        // A name that is not in the source is none of ours.
        if !hostile.contains(&b'\n') {
            let line = [digest.as_bytes(), b"  ", hostile, b"\n"].concat();
            lists.push((format!("a name {shown}"), line, 0));
        }
    }
    let part = "job_events/part-00000-of-00001.csv.gz";
    for (what, text, code) in [
        ("a digest too short", format!("abcd  {part}\n"), 5),
        ("a digest too long", format!("{digest}ab  {part}\n"), 5),
        ("no digest", format!("  {part}\n"), 5),
        ("a web page", "<!DOCTYPE html>\n".to_owned(), 5),
        ("a megabyte of one line", "x".repeat(1 << 20), 5),
        ("17 MiB", format!("{digest}  x\n").repeat(17 << 14), 5),
        ("another digest", format!("{digest}  {part}\n"), 5),
        (
            "another digest under a path that leads back",
            format!("{digest}  x/../{part}\n"),
            0,
        ),
        ("a megabyte of newlines", "\n".repeat(1 << 20), 0),
    ] {
        lists.push((what.to_owned(), text.into_bytes(), code));
    }
    for (what, text, code) in lists {
        let scratch = Scratch::new();
        scratch.good("job_events");
        scratch.file("SHA256SUM", &text);
        let run = scratch.convert(&[]);
        let outcome = if code == 0 {
            tame(&run).and_then(|()| ensure(run.code == 0, || run.stderr.clone()))
        } else {
            one_error(&run, &[code]).and_then(|()| {
                ensure(run.stderr.len() < 2000, || {
                    format!("{} bytes said", run.stderr.len())
                })
            })
        };
        score.count(&what, outcome);
    }
    score.close();
}
