//! Sources that are not what they should be: each ends the run before OUT is touched.

use std::fs;

use crate::cli::refusal::{Refusal, refused};
use tracelake_testkit::{Scratch, convert, good_row, gzip, table};

struct Case {
    name: &'static str,
    source: fn(&Scratch),
    arguments: &'static [&'static str],
    code: i32,
    says: &'static [&'static str],
}

fn jobs() -> Vec<u8> {
    format!("{}\n", good_row("job_events")).into_bytes()
}

fn part(scratch: &Scratch, bytes: &[u8]) {
    scratch.file("job_events/part-00000-of-00001.csv.gz", bytes);
}

/// The published schema of the trace's own tables, from the catalog.
pub(crate) fn schema_csv() -> String {
    let mut text = "file pattern,field number,content,format,mandatory\n".to_owned();
    for table in tracelake_testkit::trace().tables.iter() {
        for (number, &index) in (1..).zip(&table.fields) {
            let column = &table.columns[index];
            let mandatory = if column.mandatory { "YES" } else { "NO" };
            let (name, content, format) = (&*table.name, &*column.content, &*column.format);
            text += &format!(
                "{name}/part-?????-of-?????.csv.gz,{number},{content},{format},{mandatory}\n"
            );
        }
    }
    text
}

const JOBS: &str = "job_events/part-00000-of-00001.csv.gz: ";

const CASES: &[Case] = &[
    Case {
        name: "missing",
        source: |s| fs::remove_dir(s.src()).unwrap(),
        arguments: &[],
        code: 1,
        says: &["src: "],
    },
    Case {
        name: "empty",
        source: |_| {},
        arguments: &[],
        code: 1,
        says: &["src: ", "no table"],
    },
    Case {
        name: "nothing but other files",
        source: |s| s.file("README.md", b"x"),
        arguments: &[],
        code: 1,
        says: &["src: ", "no table"],
    },
    Case {
        name: "unknown table",
        source: |s| s.only("job_events", &jobs()),
        arguments: &["--tables", "job_event"],
        code: 2,
        says: &["'job_event'", "task_usage"],
    },
    Case {
        name: "a table that is not there",
        source: |s| s.only("job_events", &jobs()),
        arguments: &["--tables", "task_usage"],
        code: 1,
        says: &["src: ", "task_usage", "--tables"],
    },
    Case {
        name: "parts that are not there",
        source: |s| s.only("job_events", &jobs()),
        arguments: &["--parts", "7-9"],
        code: 1,
        says: &["src: ", "no part is selected"],
    },
    Case {
        name: "version 2 rows under the schema.csv of 2.1",
        source: |s| {
            s.file("schema.csv", schema_csv().as_bytes());
            let row = good_row("task_usage").rsplit_once(',').unwrap().0;
            s.only("task_usage", format!("{row}\n").as_bytes());
        },
        arguments: &[],
        code: 4,
        says: &[
            "task_usage/part-00000-of-00001.csv.gz:1:1: task_usage: 19 fields",
            "20",
            "; ",
        ],
    },
    Case {
        name: "version 2.1 rows as version 2",
        source: |s| s.good("task_usage"),
        arguments: &["--trace", "google-2011-v2"],
        code: 4,
        says: &[
            "task_usage/part-00000-of-00001.csv.gz:1:1: task_usage: 20 fields",
            "google-2011-v2.1 has 20",
        ],
    },
    Case {
        name: "plain text named .gz",
        source: |s| part(s, &jobs()),
        arguments: &[],
        code: 5,
        says: &[JOBS, "plain text"],
    },
    Case {
        name: "a web page",
        source: |s| part(s, b"<!DOCTYPE html><html><body>404</body></html>"),
        arguments: &[],
        code: 5,
        says: &[JOBS, "web page"],
    },
    Case {
        name: "XML of a bucket that is gone",
        source: |s| part(s, b"<?xml version='1.0' encoding='UTF-8'?><Error></Error>"),
        arguments: &[],
        code: 5,
        says: &[JOBS, "web page"],
    },
    Case {
        name: "no bytes at all",
        source: |s| part(s, b""),
        arguments: &[],
        code: 5,
        says: &[JOBS, "empty"],
    },
    Case {
        name: "another compression",
        source: |s| part(s, b"\x28\xb5\x2f\xfd\x00\x00\x00"),
        arguments: &[],
        code: 5,
        says: &[JOBS, "zstd"],
    },
    Case {
        name: "a wrong CRC",
        source: |s| {
            let mut bytes = gzip(&jobs());
            let crc = bytes.len() - 8;
            bytes[crc] ^= 1;
            part(s, &bytes);
        },
        arguments: &[],
        code: 5,
        says: &[JOBS, "CRC"],
    },
    Case {
        name: "a wrong length",
        source: |s| {
            let mut bytes = gzip(&jobs());
            let length = bytes.len() - 4;
            bytes[length] ^= 1;
            part(s, &bytes);
        },
        arguments: &[],
        code: 5,
        says: &[JOBS, "length"],
    },
    Case {
        name: "a wrong CRC in the second member",
        source: |s| {
            let mut bytes = [gzip(&jobs()), gzip(&jobs())].concat();
            let crc = bytes.len() - 5;
            bytes[crc] ^= 0x80;
            part(s, &bytes);
        },
        arguments: &[],
        code: 5,
        says: &[JOBS, "CRC", "member 2"],
    },
    Case {
        name: "trailing garbage",
        source: |s| part(s, &[&gzip(&jobs())[..], b"garbage"].concat()),
        arguments: &[],
        code: 5,
        says: &[JOBS, "after member 1"],
    },
    Case {
        name: "garbage after the padding",
        source: |s| part(s, &[&gzip(&jobs())[..], &[0; 600], b"x"].concat()),
        arguments: &[],
        code: 5,
        says: &[JOBS, "after member 1"],
    },
    Case {
        name: "missing parts",
        source: |s| {
            for number in [0, 3, 4] {
                s.part("job_events", number, 7, &jobs());
            }
        },
        arguments: &[],
        code: 1,
        says: &["src: ", "job_events: 4 of 7", "1-2, 5-6", "--allow-missing"],
    },
    Case {
        name: "missing among the selected parts",
        source: |s| s.part("job_events", 0, 3, &jobs()),
        arguments: &["--parts", "0-1"],
        code: 1,
        says: &["job_events: 1 of", "missing: 1", "--allow-missing"],
    },
    Case {
        name: "a part twice",
        source: |s| {
            s.only("job_events", &jobs());
            s.file("job_events/part-00000-of-00001.csv", &jobs());
        },
        arguments: &["--allow-missing"],
        code: 1,
        says: &[
            "job_events/part-00000-of-00001.csv",
            "same file number",
            "job_events",
        ],
    },
    Case {
        name: "mixed totals",
        source: |s| {
            s.part("job_events", 0, 2, &jobs());
            s.part("job_events", 1, 3, &jobs());
        },
        arguments: &[],
        code: 1,
        says: &[
            "part-00001-of-00003.csv.gz: ",
            "job_events/part-00000-of-00002.csv.gz",
        ],
    },
    Case {
        name: "a number past the total",
        source: |s| s.part("job_events", 3, 3, &jobs()),
        arguments: &["--allow-missing"],
        code: 1,
        says: &["part-00003-of-00003.csv.gz: ", "3 is not below 3"],
    },
    Case {
        name: "a directory with the name of a part",
        source: |s| {
            fs::create_dir_all(s.src().join("job_events/part-00000-of-00001.csv.gz")).unwrap()
        },
        arguments: &[],
        code: 1,
        says: &[JOBS, "not a file"],
    },
    Case {
        name: "an unknown field",
        source: |s| {
            with_schema(s, |text| {
                text.replace("logical job name", "lyrical job name")
            })
        },
        arguments: &[],
        code: 4,
        says: &["schema.csv:9: ", "'lyrical job name'"],
    },
    Case {
        name: "an unknown table in schema.csv",
        source: |s| with_schema(s, |text| text.replace("task_usage/", "task_abuse/")),
        arguments: &[],
        code: 4,
        says: &["schema.csv:", "'task_abuse'"],
    },
    Case {
        name: "a mandatory field is lacking",
        source: |s| {
            with_schema(s, |text| {
                let text = text.replace(
                    "job_events/part-?????-of-?????.csv.gz,4,event type,INTEGER,YES\n",
                    "",
                );
                (5..9).fold(text, |text, number| {
                    let (from, to) = (
                        format!("job_events/part-?????-of-?????.csv.gz,{number},"),
                        format!("job_events/part-?????-of-?????.csv.gz,{},", number - 1),
                    );
                    text.replace(&from, &to)
                })
            });
        },
        arguments: &[],
        code: 4,
        says: &["schema.csv: job_events: ", "'event type'"],
    },
    Case {
        name: "a field twice",
        source: |s| {
            with_schema(s, |text| {
                text.replacen("user,STRING_HASH", "job name,STRING_HASH", 1)
            })
        },
        arguments: &[],
        code: 4,
        says: &["schema.csv:", "'job name'", "twice"],
    },
    Case {
        name: "a gap in the field numbers",
        source: |s| with_schema(s, |text| text.replacen(",8,logical", ",9,logical", 1)),
        arguments: &[],
        code: 4,
        says: &["schema.csv:9: ", "number 9 where 8"],
    },
    Case {
        name: "a field number twice",
        source: |s| with_schema(s, |text| text.replacen(",8,logical", ",7,logical", 1)),
        arguments: &[],
        code: 4,
        says: &["schema.csv:9: ", "number 7 where 8"],
    },
    Case {
        name: "another format",
        source: |s| with_schema(s, |text| text.replacen("1,time,INTEGER", "1,time,FLOAT", 1)),
        arguments: &[],
        code: 4,
        says: &["schema.csv:2: ", "'FLOAT'", "INTEGER"],
    },
    Case {
        name: "a schema.csv without its header",
        source: |s| with_schema(s, |text| text.split_once('\n').unwrap().1.to_owned()),
        arguments: &[],
        code: 4,
        says: &["schema.csv:1: ", "header"],
    },
    Case {
        name: "an empty schema.csv",
        source: |s| with_schema(s, |_| String::new()),
        arguments: &[],
        code: 4,
        says: &["schema.csv"],
    },
    Case {
        name: "a field that schema.csv makes mandatory",
        source: |s| {
            with_schema(s, |text| {
                text.replacen("5,user,STRING_HASH,NO", "5,user,STRING_HASH,YES", 1)
            });
            s.only(
                "job_events",
                &tracelake_testkit::row_with(table("job_events"), "user", b""),
            );
        },
        arguments: &[],
        code: 4,
        says: &[
            "part-00000-of-00001.csv.gz:1:",
            "job_events.user",
            "mandatory",
        ],
    },
    Case {
        name: "a wrong checksum",
        source: |s| {
            s.only("job_events", &jobs());
            s.file(
                "SHA256SUM",
                format!(
                    "{}  job_events/part-00000-of-00001.csv.gz\n",
                    "0".repeat(64)
                )
                .as_bytes(),
            );
        },
        arguments: &[],
        code: 5,
        says: &[JOBS, "SHA-256", "--checksums none"],
    },
    Case {
        name: "a wrong checksum of schema.csv",
        source: |s| {
            with_schema(s, str::to_owned);
            s.file(
                "SHA256SUM",
                format!("{}  schema.csv\n", "0".repeat(64)).as_bytes(),
            );
        },
        arguments: &[],
        code: 5,
        says: &["schema.csv: ", "SHA-256"],
    },
    Case {
        name: "checksums that are a web page",
        source: |s| {
            s.only("job_events", &jobs());
            s.file("SHA256SUM", b"<html>");
        },
        arguments: &[],
        code: 5,
        says: &["SHA256SUM:1: ", "--checksums none"],
    },
];

fn with_schema(scratch: &Scratch, change: impl Fn(&str) -> String) {
    let text = schema_csv();
    let changed = change(&text);
    scratch.file("schema.csv", changed.as_bytes());
    scratch.only("job_events", &jobs());
}

#[test]
fn a_bad_source_is_refused_in_one_line() {
    for case in CASES {
        let scratch = Scratch::new();
        (case.source)(&scratch);
        if case.name == "missing" {
            let run = scratch.convert(case.arguments);
            assert_eq!(
                (run.code, &run.stdout[..]),
                (case.code, ""),
                "{}",
                run.stderr
            );
            assert!(run.message().contains("src: ") && run.message().contains("; "));
            assert!(!scratch.out().exists());
            continue;
        }
        let Case {
            arguments,
            code,
            says,
            ..
        } = *case;
        refused(
            case.name,
            &scratch,
            &Refusal {
                arguments,
                code,
                says,
            },
        );
    }
}

#[test]
fn a_checksum_file_that_is_not_there_is_told() {
    let scratch = Scratch::new();
    scratch.only("job_events", &jobs());
    let run = scratch.convert(&["--checksums", "no/such/file"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(
        run.message().starts_with("no/such/file: "),
        "{}",
        run.message()
    );
    assert!(!scratch.out().exists());
}

/// A download that ended early, wherever it did.
#[test]
fn a_cut_gzip_is_corrupt() {
    let text = jobs().repeat(200);
    let bytes = gzip(&text);
    let length = bytes.len();
    for cut in [
        1,
        2,
        9,
        10,
        11,
        length / 2,
        length - 9,
        length - 8,
        length - 4,
        length - 1,
    ] {
        let scratch = Scratch::new();
        part(&scratch, &bytes[..cut]);
        let refusal = Refusal {
            arguments: &[],
            code: 5,
            says: &[JOBS, "; download"],
        };
        refused(&format!("cut at {cut}"), &scratch, &refusal);
    }
}

/// Threads read ahead of the bad row, and find that the file is cut.
#[test]
fn the_first_thing_that_is_wrong_is_named_with_any_number_of_threads() {
    // Some 16 chunks, with a bad row three chunks before the end.
    let (good, bad_row) = (60_000, 50_000);
    let mut text = jobs().repeat(good);
    text.insert(jobs().len() * bad_row, b'x');
    let bytes = gzip(&text);
    let scratch = Scratch::new();
    part(&scratch, &bytes[..bytes.len() - 9]);
    for threads in ["1", "2", "8"] {
        let run = convert(&scratch.src(), &scratch.out(), &["--threads", threads]);
        assert_eq!(run.code, 4, "{threads}: {}", run.stderr);
        let place = format!(
            "{}:{}:1: job_events.time",
            JOBS.trim_end_matches(": "),
            bad_row + 1
        );
        assert!(
            run.message().contains(&place),
            "{threads}: {}",
            run.message()
        );
    }
}

#[test]
fn a_source_that_is_one_broken_file_is_refused() {
    let scratch = Scratch::new();
    part(&scratch, b"garbage\x01\x02\x03");
    let file = scratch.src().join("job_events/part-00000-of-00001.csv.gz");
    convert(&file, &scratch.out(), &[]).refuses(5, JOBS);
    assert!(!scratch.out().exists());
}
