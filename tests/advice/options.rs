//! Options that don't go together, names that don't exist, and descriptions that aren't there.

use std::fs;

use tracelake_testkit::Scratch;

use super::{Advice, CONVERT, advice, change, good, retype};
use crate::described::language::one_table;

fn machine(scratch: &Scratch) {
    scratch.file("machine_meta.csv", b"m_1,0,219,17,96,100,USING\n");
}

/// A described table without a time and without keys.
fn plants(scratch: &Scratch) {
    let text = one_table("files = \"whole\"", &[("plant", "kind = \"integer\"")]);
    fs::write(scratch.path().join("weather.toml"), text).unwrap();
    scratch.file("readings.csv", b"1\n");
}

/// A described trace whose tables count time in seconds and in microseconds.
fn two_clocks(scratch: &Scratch) {
    let table = |unit: &str| {
        let column = format!("kind = \"integer\"\nunit = \"{unit} since noon\"");
        one_table("files = \"whole\"\ntime = \"time\"", &[("time", &column)])
    };
    let second = table("microseconds").replace("\"readings\"", "\"steps\"");
    let (_, second) = second.split_once("[[table]]").unwrap();
    let text = format!("{}[[table]]{second}", table("seconds"));
    fs::write(scratch.path().join("weather.toml"), text).unwrap();
    scratch.file("readings.csv", b"1\n");
    scratch.file("steps.csv", b"1\n");
}

fn two_versions(scratch: &Scratch) {
    let text = one_table("files = \"whole\"", &[("plant", "kind = \"integer\"")]);
    let second =
        "[[trace]]\nname = \"weather-2\"\ntitle = \"Weather\"\ndocument = \"A letter\"\n[[table]]";
    fs::write(
        scratch.path().join("weather.toml"),
        text.replacen("[[table]]", second, 1),
    )
    .unwrap();
    scratch.file("readings.csv", b"1\n");
}

pub(super) const ADVICE: &[Advice] = &[
    // Names.
    retype(
        "did you mean job_events? it has job_events",
        good,
        "convert SRC OUT --tables job_event",
        "convert SRC OUT --tables job_events",
    ),
    retype(
        "did you mean job_events? it has job_events",
        |_| {},
        "schema google-2011-v2.1 job_event",
        "schema google-2011-v2.1 job_events",
    ),
    retype(
        " or machine_events? tracelake schema lists the traces and their tables",
        |s| s.file("x.csv", b"1,2\n"),
        "convert SRC/x.csv OUT --tables machine_event",
        "convert SRC/x.csv OUT --tables machine_events",
    ),
    retype(
        "did you mean google-2011-v2.1",
        |_| {},
        "schema google-2011-v21",
        "schema google-2011-v2.1",
    ),
    retype(
        "a description file ends in .toml",
        |_| {},
        "schema weather",
        "schema",
    ),
    retype(
        "did you mean cpus? it has",
        machines,
        "convert SRC OUT --columns machine_events.cpu",
        "convert SRC OUT --columns machine_events.cpus",
    ),
    retype(
        "did you mean machine? its keys are",
        machines,
        "convert SRC OUT --sample 0/2 --sample-by machines",
        "convert SRC OUT --sample 0/2 --sample-by machine",
    ),
    retype(
        "write job_events.user, or name one table with --tables",
        |s| {
            good(s);
            machines(s);
        },
        "convert SRC OUT --columns user",
        "convert SRC OUT --columns user --tables job_events",
    ),
    retype(
        "`tracelake --help` lists the commands",
        |_| {},
        "man weather",
        "man convert",
    ),
    // Selections.
    retype(
        "leave --sample out",
        plants,
        "convert SRC OUT --trace DIR/weather.toml --sample 0/2",
        "convert SRC OUT --trace DIR/weather.toml",
    ),
    retype(
        "leave --time out",
        plants,
        "convert SRC OUT --trace DIR/weather.toml --time 1h..2h",
        "convert SRC OUT --trace DIR/weather.toml",
    ),
    retype(
        "write FROM..TO in the trace's unit, as 1h30m..2d or as dates",
        machine,
        "convert SRC OUT --time 1ms..2s",
        "convert SRC OUT --time 1s..2s",
    ),
    retype(
        "write durations, such as 1h30m..2d",
        two_clocks,
        "convert SRC OUT --trace DIR/weather.toml --time 1..2",
        "convert SRC OUT --trace DIR/weather.toml --time 1s..2s",
    ),
    retype(
        "write a class and the number of classes, such as 0/16",
        good,
        "convert SRC OUT --sample 4",
        "convert SRC OUT --sample 0/16",
    ),
    retype(
        "add it to --columns, or leave --derive out",
        batch,
        "convert SRC OUT --derive dag --columns batch_task.job_name",
        "convert SRC OUT --columns batch_task.job_name",
    ),
    retype(
        "leave --derive out: this is google-2011-v2.1",
        good,
        "convert SRC OUT --derive dag",
        CONVERT,
    ),
    retype(
        "select batch_task too, or leave --derive out",
        |s| {
            batch(s);
            machine(s);
        },
        "convert SRC OUT --derive dag --tables machine_meta",
        "convert SRC OUT --tables machine_meta",
    ),
    // How it's written.
    retype(
        "leave --part-rows out",
        good,
        "convert SRC OUT --part-rows 9",
        CONVERT,
    ),
    retype(
        "pass --compression zstd, zstd:LEVEL or none",
        good,
        "convert SRC OUT --format arrow --compression snappy",
        "convert SRC OUT --format arrow",
    ),
    retype(
        "leave --row-group-rows out",
        good,
        "convert SRC OUT --format arrow --row-group-rows 65536",
        "convert SRC OUT --format arrow",
    ),
    retype(
        "pass 65536 to 1048576 rows",
        good,
        "convert SRC OUT --row-group-rows 1",
        "convert SRC OUT --row-group-rows 65536",
    ),
    retype(
        "expected a whole number from 1 to 1024",
        good,
        "convert SRC OUT --threads 0",
        "convert SRC OUT --threads 1",
    ),
    retype(
        "leave --max-rejects out",
        good,
        "convert SRC OUT --max-rejects 3",
        CONVERT,
    ),
    retype(
        "look at the first one without --on-bad-row, or raise --max-rejects",
        |s| s.only("job_events", b"x,,1,0,,2,,\ny,,1,0,,2,,\n"),
        "convert SRC OUT --on-bad-row reject --max-rejects 1",
        "convert SRC OUT --on-bad-row reject --max-rejects 2",
    ),
    // Descriptions.
    retype(
        "name a TOML file; tracelake schema lists the built-in traces",
        good,
        "convert SRC OUT --trace DIR/no.toml",
        CONVERT,
    ),
    retype(
        "name a description of a trace",
        |s| {
            good(s);
            fs::write(s.path().join("bad.toml"), b"\xff").unwrap();
        },
        "convert SRC OUT --trace DIR/bad.toml",
        CONVERT,
    ),
    retype(
        "name one of them: ",
        two_versions,
        "convert SRC OUT --trace DIR/weather.toml",
        "convert SRC OUT --trace DIR/weather.toml#weather-2",
    ),
    retype(
        "it has weather-1, weather-2",
        two_versions,
        "convert SRC OUT --trace DIR/weather.toml#weather-3",
        "convert SRC OUT --trace DIR/weather.toml#weather-2",
    ),
    change(
        "name a file with rows of CSV, JSON or Parquet",
        |s| s.file("README", b"Read me.\n"),
        "schema --new SRC",
        |s| s.file("x.csv", b"4,a\n"),
    ),
    retype(
        "name a file with some rows",
        |s| {
            s.file("x.csv", b"");
            s.file("y.csv", b"4,a\n");
        },
        "schema --new SRC/x.csv",
        "schema --new SRC/y.csv",
    ),
    change(
        "convert it to UTF-8",
        |s| s.file("x.csv", b"4,\xff\n"),
        "schema --new SRC/x.csv",
        |s| s.file("x.csv", b"4,a\n"),
    ),
    // Generating.
    retype(
        "generate into a new directory",
        good,
        "generate google-2011-v2.1 SRC",
        "generate google-2011-v2.1 DIR/new --rows 100",
    ),
    advice(
        "convert published files",
        |_| {},
        "generate azure-vm-2017 DIR/new",
        machine,
        CONVERT,
    ),
    retype(
        "name a directory",
        |_| {},
        "generate google-2011-v2.1 s3://bucket/x",
        "generate google-2011-v2.1 DIR/new --rows 100",
    ),
];

fn machines(scratch: &Scratch) {
    scratch.good("machine_events");
}

fn batch(scratch: &Scratch) {
    scratch.file("batch_task.csv", b"M1,1,j_1,1,Terminated,1,2,50,0.2\n");
}
