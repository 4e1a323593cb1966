//! docs/exit-codes.md shows what the program prints: each line of its samples is made here, with the
//! exit code that it stands under.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tracelake_core::ErrorKind;
use tracelake_core::origin::ENCODING;

use tracelake_testkit::{
    Run, Score, committed_sample, copy, ended, ensure, good_line, good_row, gzip, manifest,
    program, seal, write_manifest,
};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/exit-codes.md");

#[test]
fn the_table_has_every_kind_with_its_code() {
    let page = fs::read_to_string(PAGE).unwrap();
    let kinds = [
        ErrorKind::Failed,
        ErrorKind::Usage,
        ErrorKind::Misfit,
        ErrorKind::Corrupt,
        ErrorKind::Refused,
    ];
    let rows = kinds.map(|kind| format!("\n| {} | `{kind:?}` | ", kind.exit_code()));
    let [interrupted, terminated] = [2, 15].map(|signal| ErrorKind::Stopped(signal).exit_code());
    let stopped = format!("\n| {interrupted}, {terminated} | `Stopped` | ");
    for row in rows.into_iter().chain([stopped]) {
        assert!(page.contains(&row), "{row}");
    }
}

/// A part of the sample that most cases break.
const PART: &str = "job_events/part-00001-of-00002.csv.gz";

/// A part that is alone in its table.
const ALONE: &str = "machine_events/part-00000-of-00001.csv.gz";

/// An empty directory with the sample in it as `s`; the program runs there, so that paths are short.
struct Stage(tempfile::TempDir);

impl Stage {
    fn new() -> Self {
        let stage = Self(tempfile::tempdir().unwrap());
        stage.copy("s");
        stage
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.path(path)).unwrap();
    }

    /// A copy of the sample.
    fn copy(&self, name: &str) {
        copy(&committed_sample(), &self.path(name));
    }

    /// A copy whose `PART` has another text.
    fn with_text(&self, name: &str, text: &str) {
        self.copy(name);
        self.write(&format!("{name}/{PART}"), gzip(text.as_bytes()));
    }

    /// Changes the bytes of a file.
    fn change(&self, path: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let path = self.path(path);
        let mut bytes = fs::read(&path).unwrap();
        change(&mut bytes);
        fs::write(path, bytes).unwrap();
    }

    /// Changes the text of a file.
    fn change_text(&self, path: &str, change: impl FnOnce(&str) -> String) {
        self.change(path, |bytes| {
            *bytes = change(str::from_utf8(bytes).unwrap()).into()
        });
    }

    /// A copy whose `PART` has bad rows.
    fn bad(&self) {
        self.with_text("bad", &bad_text());
    }

    fn run(&self, arguments: &str) -> Run {
        let mut program = program();
        program.current_dir(self.0.path());
        ended(program.args(arguments.split(' ')).output().unwrap())
    }

    /// The sample as a lake.
    fn lake(&self, name: &str) {
        self.run(&format!("convert s {name}")).well();
    }

    /// The sample as if it were published, and a lake of it.
    fn published(&self, arguments: &str) {
        self.remove("s/SYNTHETIC.txt");
        let run = self.run(&format!("convert s lake{arguments}"));
        assert!([0, 3].contains(&run.code), "{}", run.stderr);
    }

    fn change_manifest(&self, change: impl FnOnce(&mut Value)) {
        let mut json = manifest(&self.path("lake"));
        change(&mut json);
        write_manifest(&self.path("lake"), &json);
    }
}

/// Three rows that are no rows among good ones.
fn bad_text() -> String {
    let good = good_row("job_events");
    format!("{good}\n{good}\n12x,,1,0,,,,\n{good}\n12x,,1,0,,,,\n12x,,1,0,,,,\n")
}

/// An output whose file is longer than it was.
fn lengthen(stage: &Stage) {
    let path = "dam/task_usage/file_number=0/part-00000-of-00002.parquet";
    stage.change(path, |bytes| bytes.push(0));
}

/// An exit code, and what ends with it: its name, and how it comes about.
type Case = (i32, &'static str, fn(&Stage) -> Run);

/// Exit codes of commands that need only the sample; the command is the name of the case.
const COMMANDS: &[(i32, &str)] = &[
    (1, "convert nosuch lake"),
    (1, "convert s lake --tables job_events --parts 5"),
    (2, "convert s lake --tables jobs"),
    (2, "convert s lake --max-rejects 2"),
    (2, "convert s lake --part-rows 5"),
    (2, "convert s lake --parts 2-1"),
    (2, "generate google-2011-v2.1 new --parts 5 --rows 3"),
    (6, "convert s s/lake"),
    (6, "generate google-2011-v2.1 s"),
    (2, "check lake"),
];

const CASES: &[Case] = &[
    (1, "a part that is missing", |stage| {
        stage.copy("mis");
        stage.remove("mis/job_events/part-00000-of-00002.csv.gz");
        stage.run("convert mis lake")
    }),
    (1, "a part that is there twice", |stage| {
        stage.copy("dup");
        stage.write("dup/job_events/part-00000-of-00002.csv", "");
        stage.run("convert dup lake")
    }),
    (1, "a number past the total", |stage| {
        stage.copy("num");
        let to = stage.path("num/job_events/part-00007-of-00002.csv.gz");
        fs::rename(stage.path(&format!("num/{PART}")), to).unwrap();
        stage.run("convert num lake")
    }),
    (1, "an archive of a trace without archives", |stage| {
        stage.write("full/job_events.zip", "PK\x03\x04");
        stage.run("convert full lake")
    }),
    (1, "a directory without a trace", |stage| {
        stage.write("full/thesis.tex", "");
        stage.run("inspect full")
    }),
    (1, "a lake as the source", |stage| {
        stage.lake("lake");
        stage.run("convert lake s")
    }),
    (3, "bad rows that are set aside", |stage| {
        stage.bad();
        stage.run("convert bad lake --on-bad-row reject --checksums none")
    }),
    (4, "a bad row", |stage| {
        stage.bad();
        stage.run("convert bad lake")
    }),
    (4, "a header", |stage| {
        let header =
            "time,missing info,job ID,event type,user,scheduling class,job name,logical job name";
        stage.with_text("hdr", &format!("{header}\n{}\n", good_row("job_events")));
        stage.run("convert hdr lake")
    }),
    (4, "rows of something else", |stage| {
        stage.with_text("oth", &"2011-05-01,b,c,d,e,f,g,h\n".repeat(500));
        stage.run("convert oth lake")
    }),
    (4, "more rejects than allowed", |stage| {
        stage.bad();
        stage.run("convert bad lake --on-bad-row reject --max-rejects 2 --threads 1")
    }),
    (4, "rows of another version", |stage| {
        let row = "600000000,871000000,3418309,0,607347096,0.03772,0.02167,0.02628,0.004463,0.004501,\
                   0.03772,0.1,0.001,0.2,0.3,0.4,0.5,1,0.1";
        let part = "v2/task_usage/part-00000-of-00001.csv.gz";
        stage.write(part, gzip(format!("{row}\n").as_bytes()));
        stage.run("convert v2 lake --trace google-2011-v2.1")
    }),
    (4, "a schema.csv of another table", |stage| {
        stage.copy("sc");
        stage.change_text("sc/schema.csv", |text| {
            text.replace(",machine ID,", ",machine number,")
        });
        stage.run("convert sc lake --trace google-2011-v2.1 --checksums none")
    }),
    (5, "a gzip stream that is cut", |stage| {
        stage.copy("cor");
        stage.change(&format!("cor/{PART}"), |bytes| bytes.truncate(1500));
        stage.run("convert cor lake")
    }),
    (5, "plain text in the place of gzip", |stage| {
        stage.copy("plain");
        stage.write(&format!("plain/{PART}"), good_row("job_events"));
        stage.run("convert plain lake")
    }),
    (5, "a wrong CRC", |stage| {
        stage.copy("crc");
        stage.write(&format!("crc/{ALONE}"), {
            let mut bytes = gzip(good_line("machine_events").as_bytes());
            let crc = bytes.len() - 8;
            bytes[crc] ^= 1;
            bytes
        });
        stage.run("convert crc lake")
    }),
    (5, "a wrong checksum", |stage| {
        stage.copy("sum");
        stage.change_text("sum/SHA256SUM", |text| {
            let mut lines = text.lines();
            let line = lines.find(|line| line.contains("machine_events"));
            let line = line.unwrap();
            text.replace(line, &format!("0000{}", &line[4..]))
        });
        stage.run("convert sum lake")
    }),
    (6, "a directory with something else", |stage| {
        stage.write("full/thesis.tex", "");
        stage.run("convert s full")
    }),
    (6, "a lake in use", |stage| {
        stage.lake("lake");
        let lock = fs::File::open(stage.path("lake/_tracelake/work")).unwrap();
        lock.lock().unwrap();
        stage.run("convert s lake")
    }),
    (6, "another compression", |stage| {
        stage.lake("lake");
        stage.run("convert s lake --compression snappy")
    }),
    (6, "a source that changed", |stage| {
        stage.copy("chg");
        stage.run("convert chg lake").well();
        stage.write(&format!("chg/{ALONE}"), gzip(b""));
        stage.run("convert chg lake --checksums none")
    }),
    (6, "a commit of one shard of three", |stage| {
        stage.run("convert s lake --shard 1/3").well();
        stage.run("commit lake")
    }),
    (6, "a commit beside a foreign file", |stage| {
        stage.run("convert s lake --shard 0/1").well();
        stage.write("lake/job_events/notes.txt", "");
        stage.run("commit lake")
    }),
    (6, "a commit of a lake by a later version", |stage| {
        stage.run("convert s lake --shard 0/1").well();
        stage.change_text("lake/_tracelake/lake.json", |text| {
            let own = format!("\"encoding\": {ENCODING}");
            seal(&text.replace(&own, "\"encoding\": 1000"))
        });
        stage.run("commit lake")
    }),
    (6, "a commit of a run that failed", |stage| {
        stage.bad();
        stage.run("convert bad lake --threads 1 --checksums none");
        stage.run("commit lake")
    }),
    (0, "a lake that is right", |stage| {
        stage.lake("lake");
        stage.run("verify lake --source s")
    }),
    (5, "a lake with a stray and a damaged file", |stage| {
        stage.lake("dam");
        stage.write(
            "dam/job_events/file_number=0/part-00009-of-00002.parquet",
            "",
        );
        lengthen(stage);
        stage.run("verify dam")
    }),
    (5, "a lake without one of its files", |stage| {
        stage.lake("dam");
        stage.remove("dam/machine_events/file_number=0/part-00000-of-00001.parquet");
        stage.run("verify dam")
    }),
    (6, "something else that is verified", |stage| {
        stage.write("full/thesis.tex", "");
        stage.run("verify full")
    }),
    (5, "a release with another README", |stage| {
        stage.lake("lake");
        stage.run("release lake").exits(0);
        stage.change("lake/README.md", |bytes| bytes.push(b'\n'));
        stage.run("verify lake")
    }),
    (5, "a release whose form was filled in", |stage| {
        stage.lake("lake");
        stage.run("release lake").exits(0);
        stage.change("lake/_tracelake/release.toml", |bytes| bytes.push(b'\n'));
        stage.run("verify lake")
    }),
    (2, "a digest that is none", |stage| {
        stage.lake("lake");
        stage.run("verify lake --digest beef")
    }),
    (2, "a release on no day", |stage| {
        stage.lake("lake");
        stage.run("release lake --date 2026-02-30")
    }),
    (2, "a release with another key in its form", |stage| {
        stage.lake("lake");
        stage.write("lake/_tracelake/release.toml", "[rai]\nbiases = 'none'\n");
        stage.run("release lake")
    }),
    (5, "a release of a damaged lake", |stage| {
        stage.lake("dam");
        lengthen(stage);
        stage.run("release dam")
    }),
    (6, "a release of one table", |stage| {
        stage.published(" --tables job_events");
        stage.run("release lake")
    }),
    (6, "a release with rejects", |stage| {
        stage.bad();
        stage.run("convert bad lake --on-bad-row reject --checksums none");
        stage.run("release lake")
    }),
    (6, "a release of a lake by a later version", |stage| {
        stage.lake("lake");
        stage.change_manifest(|json| json["encoding"] = 1000.into());
        stage.run("release lake")
    }),
    (6, "a release over a README that was changed", |stage| {
        stage.lake("lake");
        stage.run("release lake").exits(0);
        stage.change("lake/README.md", |bytes| bytes.push(b'\n'));
        stage.run("release lake")
    }),
    (6, "a release over a file of somebody else", |stage| {
        stage.lake("lake");
        stage.write("lake/SHA256SUMS", "of somebody else\n");
        stage.run("release lake")
    }),
    (2, "Delta logs of a lake that can have none", |stage| {
        stage.run("convert s flat --layout flat").exits(0);
        stage.run("release flat --delta")
    }),
    (2, "a release since a lake of another trace", |stage| {
        stage.lake("lake");
        stage.run("generate alibaba-2018 trace --rows 100").exits(0);
        stage.run("convert trace other").exits(0);
        stage.run("release lake --since other")
    }),
];

/// A line without what may differ: how long it took, and the sizes of Parquet files.
fn lasting(line: &str) -> String {
    let took = line
        .rsplit_once(", ")
        .filter(|(_, took)| took.ends_with(" s"));
    let line = took.map_or(line, |(line, _)| line);
    if !line.contains(".parquet: has ") {
        return line.to_owned();
    }
    line.chars().filter(|char| !char.is_ascii_digit()).collect()
}

/// The lines of the samples, each with the exit code of the heading that it stands under, if that has
/// one.
fn samples() -> Vec<(Option<i32>, String)> {
    let page = fs::read_to_string(Path::new(PAGE)).unwrap();
    let (mut code, mut is_sample) = (None, false);
    let mut samples = Vec::new();
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("**") {
            code = rest
                .split(['*', ','])
                .next()
                .and_then(|code| code.parse().ok());
        } else if line.starts_with("## ") {
            code = None;
        } else if line.starts_with("```") {
            is_sample = line == "```text";
        } else if is_sample {
            samples.push((code, lasting(line)));
        }
    }
    samples
}

#[test]
fn the_page_shows_what_is_printed() {
    let mut score = Score::new("samples of exit-codes.md");
    let mut printed: BTreeSet<(i32, String)> = BTreeSet::new();
    let runs = COMMANDS
        .iter()
        .map(|&(code, command)| (code, command, Stage::new().run(command)));
    let others = CASES
        .iter()
        .map(|&(code, name, case)| (code, name, case(&Stage::new())));
    for (code, name, run) in runs.chain(others) {
        let outcome = ensure(run.code == code, || {
            format!("exit {}: {}", run.code, run.stderr)
        });
        score.count(name, outcome);
        printed.extend(run.stderr.lines().map(|line| (run.code, lasting(line))));
    }
    for (code, sample) in samples() {
        // Messages about signals belong to other tests.
        let is_signal = sample.contains("error: stopped;");
        let mut same = printed.iter().filter(|(_, line)| *line == sample);
        let found = is_signal || same.any(|(own, _)| code.is_none_or(|code| code == *own));
        let is_near = |line: &&(i32, String)| line.1.split(':').nth(2) == sample.split(':').nth(2);
        score.count(
            &sample,
            ensure(found, || {
                let near: Vec<_> = printed.iter().filter(is_near).collect();
                format!("is never printed; near: {near:#?}")
            }),
        );
    }
    score.close();
}
