//! Every Parquet file of lakes of generated, of published and of made-up rows.

use std::fmt::Write;
use std::path::Path;

use tracelake_schema::{Files, TRACES, Trace};

use super::check;
use super::seen::Seen;
use tracelake_testkit::nested::{JSON, convert_text, row};
use tracelake_testkit::{
    Score, Scratch, convert, ensure, generate, gzip, heads, run, shared, tree,
};

/// The files of some lakes.
struct Lakes {
    score: Score,
    seen: Seen,
}

impl Lakes {
    fn new(score: Score) -> Self {
        let seen = Seen::default();
        Self { score, seen }
    }

    /// Converts a source with some options and checks each Parquet file, if that is due.
    #[track_caller]
    fn convert(&mut self, source: &Path, options: &[&str]) {
        if !self.score.is_due() {
            return;
        }
        let scratch = Scratch::new();
        convert(source, &scratch.out(), options).well();
        self.check_all(&scratch.out(), options);
    }

    /// Clusters a lake of a source in some way and checks each Parquet file, if that is due.
    #[track_caller]
    fn cluster(&mut self, source: &Path, way: &[&str]) {
        if !self.score.is_due() {
            return;
        }
        let scratch = Scratch::new();
        let lake = scratch.path().join("lake");
        convert(source, &lake, &["--allow-missing"]).well();
        let out = scratch.out();
        let paths = [&lake, &out].map(|path| path.to_str().unwrap());
        run(["cluster"].iter().chain(&paths).chain(way)).well();
        self.check_all(&out, way);
    }

    #[track_caller]
    fn check_all(&mut self, lake: &Path, options: &[&str]) {
        for (path, bytes) in tree(lake).unwrap() {
            if let Some(bytes) = bytes.filter(|_| path.ends_with(".parquet")) {
                self.check(&format!("{path} {options:?}"), &bytes);
            }
        }
    }

    fn check(&mut self, name: &str, file: &[u8]) {
        let before = self.seen.findings.len();
        check(file, &mut self.seen);
        let found = &self.seen.findings[before..];
        let outcome = ensure(found.is_empty(), || found.join("\n  "));
        self.score.count(name, outcome);
    }

    /// Fails if a file is wrong; returns what the files had.
    #[track_caller]
    fn close(self) -> Seen {
        self.score.close();
        assert!(self.seen.values > 0);
        self.seen
    }
}

/// Generates a trace, if it can be.
fn generated(trace: &Trace) -> Option<Scratch> {
    if trace.tables.iter().any(|table| table.synthetic.is_empty()) {
        return None;
    }
    let scratch = Scratch::new();
    let size = ["--parts", "2", "--rows", "8000"];
    generate(&trace.name, &scratch.src(), &size);
    Some(scratch)
}

#[test]
fn files_of_generated_rows_are_right() {
    let mut lakes = Lakes::new(Score::one_in(
        5,
        "Parquet files of generated rows, checked strictly",
    ));
    for trace in TRACES {
        let Some(scratch) = generated(trace) else {
            continue;
        };
        let mut ways: Vec<&[&str]> = vec![
            &[],
            &["--layout", "flat", "--compression", "snappy"],
            &["--compression", "none"],
        ];
        if trace.tables.iter().any(|table| table.files == Files::Whole) {
            ways.push(&["--part-rows", "3000"]);
        }
        for options in ways {
            let options = [&["--trace", &trace.name], options].concat();
            lakes.convert(&scratch.src(), &options);
        }
    }
    let seen = lakes.close();
    assert!(seen.bloom_filters > 0);
}

#[test]
#[cfg_attr(not(published_data), ignore = "needs ../shared/data")]
fn files_of_published_rows_are_right() {
    let mut lakes = Lakes::new(Score::new(
        "Parquet files of published rows, checked strictly",
    ));
    for name in [
        "google-2011",
        "google-2011-task-events",
        "alibaba-2018",
        "alibaba-2018-head",
    ] {
        lakes.convert(&shared(name), &["--allow-missing"]);
    }
    lakes.convert(&heads().src(), &["--allow-missing"]);
    let borg = Scratch::new();
    let bytes = |name: &str| std::fs::read(shared("borg-2019").join(name)).unwrap();
    borg.file(
        "borg_traces_data.csv",
        &bytes("borg_traces_data-60-records.csv"),
    );
    let line = gzip(&bytes("instance_usage-1-row.json"));
    borg.file("instance_usage-000000000000.json.gz", &line);
    lakes.convert(&borg.src(), &["--allow-missing"]);
    lakes.close();
}

/// Rows that bring a column to several pages.
const ROWS: usize = 140_000;

/// Rows of the first pages, in which things are otherwise than after them.
const FIRST_ROWS: usize = 80_000;

#[test]
fn files_of_rare_rows_are_right() {
    let mut lakes = Lakes::new(Score::new("Parquet files of rare rows, checked strictly"));
    let scratch = Scratch::new();
    let (mut jobs, mut machines, mut attributes) = (String::new(), String::new(), String::new());
    for at in 0..ROWS {
        // A page of NULLs, and names that outgrow the dictionary.
        let (user, name) = match at < FIRST_ROWS {
            true => (String::new(), format!("{:0>40}", at % 50)),
            false => (format!("{}=", at % 7), format!("{at:0>40}")),
        };
        writeln!(jobs, "{at},,{},0,{user},2,{name},", at % 1000).unwrap();
        // Both zeros, and a page whose floats are in the middle of those of the one before.
        let cpus = match at < FIRST_ROWS {
            true => ["-0.0", "0", "-1", "1"][at % 4],
            false => ["-0.0", "0", "0.5", "0.25"][at % 4],
        };
        writeln!(machines, "{at},5,0,plat=,{cpus},0.2493").unwrap();
    }
    // Row groups end early, and bounds would have to be cut within a character.
    let long = "é".repeat(1 << 17);
    for at in 0..300 {
        writeln!(attributes, "{at},5,attr=,{at:0>5}{long},0").unwrap();
    }
    scratch.only("job_events", jobs.as_bytes());
    scratch.only("machine_events", machines.as_bytes());
    scratch.only("machine_attributes", attributes.as_bytes());
    scratch.only("task_constraints", b"");
    lakes.convert(&scratch.src(), &["--allow-missing"]);
    lakes.convert(
        &scratch.src(),
        &["--allow-missing", "--compression", "none"],
    );
    // As many NULLs as rows in a list, some or all of its values.
    let borg = Scratch::new();
    for (number, value) in [(0, r#""value":"v","#), (1, "")] {
        let constraint =
            format!(r#"[{{{value}"name":"a","relation":"0"}},{{"name":"b","relation":"0"}}]"#);
        let line = format!("{{\"time\":\"0\",\"type\":\"0\",\"constraint\":{constraint}}}\n");
        let name = format!("instance_events-{number:012}.json.gz");
        borg.file(&name, &gzip(line.repeat(10).as_bytes()));
    }
    lakes.convert(&borg.src(), &["--allow-missing"]);
    let mut nested = String::new();
    for at in 0..ROWS {
        match at % 3 {
            0 => nested += "{\"usage\":null,\"time\":\"1\",\"user\":null,\"after\":[]}\n",
            _ => nested += &row(&JSON, at),
        }
    }
    let part = convert_text(nested.as_bytes(), &JSON).unwrap();
    lakes.check("structs and lists", &part.parquet);
    let seen = lakes.close();
    let have = [seen.null_pages, seen.mixed_chunks, seen.empty_files];
    assert!(have.into_iter().all(|have| have > 0), "{seen:?}");
    assert!(seen.row_groups > seen.files - seen.empty_files, "{seen:?}");
    assert!(seen.cut_bounds > 0, "{seen:?}");
}

#[test]
fn clustered_lakes() {
    let mut lakes = Lakes::new(Score::one_in(5, "files of clustered lakes"));
    for trace in TRACES {
        let Some(scratch) = generated(trace) else {
            continue;
        };
        for key in trace.sample_keys.iter() {
            lakes.cluster(&scratch.src(), &["--by", &key.name, "--files", "3"]);
        }
        lakes.cluster(&scratch.src(), &["--compact", "--files", "3"]);
    }
    lakes.close();
}
