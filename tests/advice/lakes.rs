//! Lakes: what isn't one, what was made with other options, what was changed, and what isn't complete.

use std::fs;

use tracelake_testkit::{Scratch, convert, unfinish};

use super::{Advice, CONVERT, advice, change, good, retype};

fn lake(scratch: &Scratch) {
    good(scratch);
    convert(&scratch.src(), &scratch.out(), &[]).well();
}

const IDENTITY: &str = "_tracelake/lake.json";

const OUTPUT: &str = "job_events/file_number=0/part-00000-of-00001.parquet";

const RELEASE: &str = "release OUT --allow-missing";

fn released(scratch: &Scratch) {
    lake(scratch);
    tracelake_testkit::run([
        "release",
        scratch.out().to_str().unwrap(),
        "--allow-missing",
    ])
    .well();
}

fn again(scratch: &Scratch) {
    convert(&scratch.src(), &scratch.out(), &[]).well();
}

pub(super) const ADVICE: &[Advice] = &[
    // What isn't a lake.
    advice(
        "there is nothing here; check the path",
        good,
        "verify OUT",
        again,
        "verify OUT",
    ),
    retype(
        "name a lake of the same columns",
        |s| {
            lake(s);
            let narrow = ["--tables", "job_events", "--columns", "time"];
            convert(&s.src(), &s.path().join("other"), &narrow).well();
        },
        "verify OUT --source DIR/other",
        "verify OUT --source OUT",
    ),
    retype(
        "name a lake of the same trace",
        |s| {
            lake(s);
            let source = s.path().join("source");
            tracelake_testkit::generate("alibaba-2018", &source, &["--rows", "100"]);
            convert(&source, &s.path().join("other"), &[]).well();
        },
        "verify OUT --source DIR/other",
        "verify OUT --source OUT",
    ),
    retype(
        "name the directory of the lake",
        lake,
        "verify OUT/_tracelake/manifest.json",
        "verify OUT",
    ),
    change(
        "make a lake of it first: tracelake convert",
        good,
        "verify SRC",
        |s| {
            again(s);
            fs::remove_dir_all(s.src()).unwrap();
            fs::rename(s.out(), s.src()).unwrap();
        },
    ),
    change(
        "read it with pyarrow or Polars, or convert it without --format arrow",
        |s| {
            good(s);
            convert(&s.src(), &s.out(), &["--format", "arrow"]).well();
        },
        "schema OUT --as duckdb",
        |s| convert(&s.src(), &s.out(), &["--overwrite"]).well(),
    ),
    // Other options.
    retype(
        "use the same ones",
        lake,
        "convert SRC OUT --compression none",
        CONVERT,
    ),
    retype(
        "the lake holds all rows; this run asks for --sample 0/4",
        lake,
        "convert SRC OUT --sample 0/4",
        CONVERT,
    ),
    // What was changed.
    advice(
        "run convert again to restore it",
        |s| {
            lake(s);
            fs::write(s.out().join(OUTPUT), b"x").unwrap();
        },
        "verify OUT",
        again,
        "verify OUT",
    ),
    change(
        "move it out of the lake",
        |s| {
            lake(s);
            fs::write(s.out().join("job_events/x.parquet"), b"x").unwrap();
        },
        "verify OUT",
        |s| fs::remove_file(s.out().join("job_events/x.parquet")).unwrap(),
    ),
    change(
        "restore it from a copy of the lake",
        |s| {
            lake(s);
            let copy = s.path().join("lake.json");
            fs::rename(s.out().join(IDENTITY), copy).unwrap();
            // That of another lake.
            let other = s.path().join("other");
            convert(&s.src(), &other, &["--compression", "none"]).well();
            fs::rename(other.join(IDENTITY), s.out().join(IDENTITY)).unwrap();
        },
        "verify OUT",
        |s| fs::rename(s.path().join("lake.json"), s.out().join(IDENTITY)).unwrap(),
    ),
    advice(
        "run release again to restore it",
        |s| {
            released(s);
            fs::remove_file(s.out().join("README.md")).unwrap();
        },
        "verify OUT",
        |s| {
            tracelake_testkit::run(["release", s.out().to_str().unwrap(), "--allow-missing"]);
        },
        "verify OUT",
    ),
    // The source.
    change(
        "the lake was made from google-2011-v2.1, and this looks like alibaba-2018: name the source of the lake",
        |s| {
            lake(s);
            fs::remove_dir_all(s.src()).unwrap();
            s.file("machine_meta.csv", b"m_1,0,219,17,96,100,USING\n");
        },
        "verify OUT --source SRC",
        |s| {
            fs::remove_dir_all(s.src()).unwrap();
            good(s);
        },
    ),
    change(
        "pass the directory that the lake was made from",
        |s| {
            lake(s);
            fs::remove_dir_all(s.src()).unwrap();
            s.only("machine_events", b"0,5,0,plat=,0.5,0.2493\n");
        },
        "verify OUT --source SRC",
        |s| {
            fs::remove_dir_all(s.src()).unwrap();
            good(s);
        },
    ),
    change(
        "name the directory of a cell of the lake, such as clusterdata_2019_a, or one that holds several",
        |s| {
            cell_a(s);
            fs::rename(
                s.src().join("clusterdata_2019_a"),
                s.src().join("clusterdata_2019_b"),
            )
            .unwrap();
        },
        "verify OUT --source SRC",
        |s| {
            fs::rename(
                s.src().join("clusterdata_2019_b"),
                s.src().join("clusterdata_2019_a"),
            )
            .unwrap()
        },
    ),
    // Runs that don't go together.
    advice(
        "name the cell with --cell, or use another directory or --overwrite",
        |s| {
            cell_a(s);
            fs::rename(
                s.src().join("clusterdata_2019_a"),
                s.src().join("downloads"),
            )
            .unwrap();
        },
        "convert SRC/downloads OUT",
        |_| {},
        "convert SRC/downloads OUT --cell a",
    ),
    change(
        "move it away: readers would take it for data",
        |s| {
            lake(s);
            fs::write(s.out().join("job_events/x.parquet"), b"x").unwrap();
        },
        CONVERT,
        |s| fs::remove_file(s.out().join("job_events/x.parquet")).unwrap(),
    ),
    advice(
        "run convert until it succeeds",
        |s| {
            lake(s);
            unfinish(&s.out());
        },
        RELEASE,
        again,
        RELEASE,
    ),
    retype(
        "leave --delta out, or convert again into another directory",
        |s| {
            good(s);
            convert(&s.src(), &s.out(), &["--layout", "flat"]).well();
        },
        "release OUT --allow-missing --delta",
        RELEASE,
    ),
    retype(
        "convert them too, or pass --allow-missing, and the card says so",
        cell_a,
        "release OUT",
        RELEASE,
    ),
    advice(
        "move it away, and run release again",
        |s| {
            released(s);
            let card = s.out().join("README.md");
            let text = fs::read(&card).unwrap();
            fs::write(card, [&text[..], b"More.\n"].concat()).unwrap();
        },
        "verify OUT",
        |s| {
            fs::remove_file(s.out().join("README.md")).unwrap();
            let lake = s.out();
            tracelake_testkit::run(["release", lake.to_str().unwrap(), "--allow-missing"]).well();
        },
        "verify OUT",
    ),
    advice(
        "run release again, and the card says what it says",
        |s| {
            released(s);
            fs::write(s.out().join("_tracelake/release.toml"), "").unwrap();
        },
        "verify OUT",
        |s| {
            let lake = s.out();
            tracelake_testkit::run(["release", lake.to_str().unwrap(), "--allow-missing"]).well();
        },
        "verify OUT",
    ),
    retype(
        "write it as 2026-06-01",
        lake,
        "release OUT --allow-missing --date 1.6.2026",
        "release OUT --allow-missing --date 2026-06-01",
    ),
    retype(
        "tracelake inspect prints that of a lake",
        lake,
        "verify OUT --digest beef",
        "verify OUT",
    ),
    retype(
        "it is another lake, or one that has changed: get the one that has this digest",
        lake,
        "verify OUT --digest e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "verify OUT",
    ),
    // What isn't complete.
    retype(
        "convert the rest too, or pass --allow-missing, and the card says so",
        lake,
        "release OUT",
        RELEASE,
    ),
    retype(
        "fix them, or pass --allow-rejects, and the card says so",
        |s| {
            s.only("job_events", b"x,,1,0,,2,,\n");
            assert_eq!(
                convert(&s.src(), &s.out(), &["--on-bad-row", "reject"]).code,
                3
            );
        },
        RELEASE,
        "release OUT --allow-missing --allow-rejects",
    ),
];

/// A lake of one cell.
fn cell_a(scratch: &Scratch) {
    let shard = tracelake_testkit::gzip(b"{\"time\":\"0\"}\n");
    scratch.file(
        "clusterdata_2019_a/machine_events-000000000000.json.gz",
        &shard,
    );
    let source = scratch.src().join("clusterdata_2019_a");
    convert(&source, &scratch.out(), &[]).well();
}
