//! Tables that are published as Parquet only, in directories that say the day and the hour, and in zip archives of these.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use serde_json::Value;
use tracelake_testkit::{Run, Scratch, manifest, read_output, run, sha256, tree};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

const DESCRIPTION: &str = r#"
family = "fleet"
licence = "LicenseRef-Unknown"
citation = "A test."

[[trace]]
name = "fleet-1"
title = "A fleet"
document = "a test"

[[trace.archive]]
names = ["fleet_pod_hourly.zip"]
table = "pods"
size = "1K"

[[table]]
name = "pods"
summary = "One row for each pod in an hour."
files = "named"
syntax = "parquet"
names = ["fleet_pod_hourly/day={day}/hour={hour}/part-000.parquet"]
entity = ["pod"]

[table.captures]
day = "0..40"
hour = "00..23"

[[table.column]]
name = "day"
content = "day"
kind = "integer"
capture = "day"
format = "X"
obfuscation = "unchanged"
doc = "The day."

[[table.column]]
name = "hour"
content = "hour"
kind = "text"
capture = "hour"
format = "X"
obfuscation = "unchanged"
doc = "The hour."

[[table.column]]
name = "pod"
content = "pod_id"
kind = "text"
format = "X"
obfuscation = "hashed"
doc = "The pod."

[[table.column]]
name = "delay"
content = "delay_sec"
kind = "integer"
format = "X"
obfuscation = "unchanged"
doc = "A delay."

[[table.column]]
name = "ready"
content = "ready"
kind = "boolean"
format = "X"
obfuscation = "unchanged"
doc = "Whether it is ready."

[[table.column]]
name = "load"
content = "load"
kind = "float"
format = "X"
obfuscation = "unchanged"
doc = "Its load."
"#;

/// Days and hours that have a file.
const HOURS: [(u32, u32); 3] = [(1, 22), (1, 23), (2, 0)];

fn path_of((day, hour): (u32, u32)) -> String {
    format!("fleet_pod_hourly/day={day}/hour={hour:02}/part-000.parquet")
}

/// The file number that an hour has, whatever other files there are.
fn number((day, hour): (u32, u32)) -> u32 {
    day * 24 + hour
}

fn rows((day, hour): (u32, u32)) -> RecordBatch {
    let rows = 500 + i64::from(number((day, hour)));
    let pods = (0..rows).map(|row| (row % 7 > 0).then(|| format!("pod {}", row % 90)));
    let delays = (0..rows).map(|row| (row % 5 > 0).then_some(row * i64::from(hour)));
    let ready = (0..rows).map(|row| (row % 3 > 0).then_some(row % 2 == 0));
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let loads = (0..rows).map(|row| Some(row as f64 / 8.0));
    RecordBatch::try_from_iter([
        ("pod_id", Arc::new(StringArray::from_iter(pods)) as _),
        ("delay_sec", Arc::new(Int64Array::from_iter(delays)) as _),
        ("ready", Arc::new(BooleanArray::from_iter(ready)) as _),
        ("load", Arc::new(Float64Array::from_iter(loads)) as _),
    ])
    .unwrap()
}

struct Fleet {
    scratch: Scratch,
    description: String,
}

impl Fleet {
    fn new() -> Self {
        let scratch = Scratch::new();
        let description = scratch.path().join("fleet.toml");
        fs::write(&description, DESCRIPTION).unwrap();
        let description = description.to_str().unwrap().to_owned();
        Self {
            scratch,
            description,
        }
    }

    /// The files in their directories.
    fn directory(&self) -> PathBuf {
        let source = self.scratch.path().join("a source [1] day=7");
        for hour in HOURS {
            let path = source.join(path_of(hour));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let rows = rows(hour);
            let mut writer =
                ArrowWriter::try_new(File::create(path).unwrap(), rows.schema(), None).unwrap();
            writer.write(&rows).unwrap();
            writer.close().unwrap();
        }
        source
    }

    /// An archive of the files below a directory, alone in another one.
    fn zip(&self, name: &str, method: CompressionMethod) -> PathBuf {
        let files = self.directory();
        let source = self.scratch.path().join(name);
        fs::create_dir_all(&source).unwrap();
        let options = SimpleFileOptions::default().compression_method(method);
        let out = File::create(source.join("fleet_pod_hourly.zip")).unwrap();
        let mut zip = ZipWriter::new(out);
        zip.add_directory("fleet_pod_hourly/", options).unwrap();
        zip.start_file("fleet_pod_hourly/README.md", options)
            .unwrap();
        zip.write_all(b"about").unwrap();
        for hour in HOURS {
            zip.start_file(path_of(hour), options).unwrap();
            let bytes = fs::read(files.join(path_of(hour))).unwrap();
            zip.write_all(&bytes).unwrap();
        }
        zip.finish().unwrap();
        source
    }

    fn convert(&self, source: &Path, out: &str, arguments: &[&str]) -> (Run, PathBuf) {
        let out = self.scratch.path().join(out);
        let mut all = vec!["convert", source.to_str().unwrap(), out.to_str().unwrap()];
        all.extend(["--trace", &self.description]);
        all.extend(arguments);
        (run(all), out)
    }

    /// Converts a source and compares the lake with it.
    fn lake(&self, source: &Path, out: &str) -> PathBuf {
        let (converted, out) = self.convert(source, out, &[]);
        converted.well();
        let [lake, source] = [&out, source].map(|path| path.to_str().unwrap().to_owned());
        run(["verify", &lake, "--source", &source]).well();
        out
    }
}

fn output(lake: &Path, hour: (u32, u32)) -> PathBuf {
    lake.join(format!(
        "pods/file_number={}/part-{:05}.parquet",
        number(hour),
        number(hour)
    ))
}

/// The outputs of a lake and their bytes.
fn outputs(lake: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let found = tree(lake).unwrap_or_default().into_iter();
    let outputs = found.filter(|(path, _)| path.ends_with(".parquet"));
    outputs
        .filter_map(|(path, bytes)| Some((path.into(), bytes?)))
        .collect()
}

#[test]
fn directories_number_files_and_are_columns() {
    let fleet = Fleet::new();
    let lake = fleet.lake(&fleet.directory(), "lake");
    for hour in HOURS {
        let found = read_output(&output(&lake, hour));
        let published = rows(hour);
        assert_eq!(found.num_rows(), published.num_rows());
        let days = found.column_by_name("day").unwrap();
        let mut days = days.as_primitive::<Int64Type>().iter();
        assert!(days.all(|day| day == Some(hour.0.into())));
        let hours = found.column_by_name("hour").unwrap().as_string::<i32>();
        let written = format!("{:02}", hour.1);
        assert!(hours.iter().all(|hour| hour == Some(&*written)));
        for (name, content) in [
            ("pod", "pod_id"),
            ("delay", "delay_sec"),
            ("ready", "ready"),
        ] {
            let one = found.column_by_name(name).unwrap();
            assert_eq!(one, published.column_by_name(content).unwrap(), "{name}");
        }
    }
}

#[test]
fn a_zip_archive_gives_the_outputs_of_its_directories() {
    let fleet = Fleet::new();
    let expected = outputs(&fleet.lake(&fleet.directory(), "lake"));
    assert_eq!(expected.len(), HOURS.len());
    for (name, method) in [
        ("stored", CompressionMethod::Stored),
        ("deflated", CompressionMethod::Deflated),
    ] {
        let source = fleet.zip(name, method);
        let lake = fleet.lake(&source, &format!("lake of {name}"));
        assert_eq!(outputs(&lake), expected, "{name}");
        // The archive itself as SRC.
        let archive = source.join("fleet_pod_hourly.zip");
        let lake = fleet.lake(&archive, &format!("lake of the archive {name}"));
        assert_eq!(outputs(&lake), expected, "{name}");
        let paths = |lake: &Path| -> Vec<Value> {
            let manifest = manifest(lake);
            let parts = manifest["tables"][0]["parts"].as_array().unwrap().clone();
            parts
                .iter()
                .map(|part| part["source"]["path"].clone())
                .collect()
        };
        let inside =
            HOURS.map(|hour| Value::from(format!("fleet_pod_hourly.zip/{}", path_of(hour))));
        assert_eq!(paths(&lake), inside);
    }
}

#[test]
fn a_partial_download_gives_the_same_numbers() {
    let fleet = Fleet::new();
    let source = fleet.directory();
    let whole = fleet.lake(&source, "whole");
    let days = source.join("fleet_pod_hourly");
    let one = fleet.lake(&days, "table");
    assert_eq!(outputs(&one), outputs(&whole));
    let day = fleet.lake(&days.join("day=2"), "day");
    let bytes = |lake: &Path| fs::read(output(lake, (2, 0))).unwrap();
    assert_eq!(bytes(&day), bytes(&whole));
    assert_eq!(outputs(&day).len(), 1);
    let file = source.join(path_of((2, 0)));
    let alone = fleet.lake(&file, "file");
    assert_eq!(bytes(&alone), bytes(&whole));
}

#[test]
fn an_hour_that_lacks_is_named() {
    let fleet = Fleet::new();
    let source = fleet.directory();
    fs::remove_dir_all(source.join("fleet_pod_hourly/day=1/hour=23")).unwrap();
    let (refused, _) = fleet.convert(&source, "lake", &[]);
    let message = refused.stderr.clone();
    assert_eq!(refused.code, 1, "{message}");
    assert!(message.contains(&path_of((1, 23))), "{message}");
    let (converted, lake) = fleet.convert(&source, "lake", &["--allow-missing"]);
    converted.well();
    assert_eq!(outputs(&lake).len(), 2);
}

#[test]
fn directories_of_no_possible_hour_are_skipped() {
    let fleet = Fleet::new();
    let source = fleet.directory();
    let days = source.join("fleet_pod_hourly");
    fs::rename(days.join("day=2"), days.join("day=41")).unwrap();
    let (converted, lake) = fleet.convert(&source, "lake", &[]);
    converted.well();
    let shown = &converted.stderr;
    assert!(shown.contains("day=41"), "{shown}");
    assert_eq!(outputs(&lake).len(), 2);
}

#[test]
fn archives_that_are_damaged_or_lie_are_refused() {
    let fleet = Fleet::new();
    let expected = outputs(&fleet.lake(&fleet.directory(), "lake"));
    for (name, method) in [
        ("stored", CompressionMethod::Stored),
        ("deflated", CompressionMethod::Deflated),
    ] {
        let source = fleet.zip(name, method);
        let archive = source.join("fleet_pod_hourly.zip");
        let whole = fs::read(&archive).unwrap();
        let bytes_of = |text: &str| text.as_bytes().to_vec();
        let place = |wanted: &[u8], last: bool| {
            let mut found = whole.windows(wanted.len());
            match last {
                true => found.rposition(|window| window == wanted).unwrap(),
                false => found.position(|window| window == wanted).unwrap(),
            }
        };
        let file = bytes_of(&path_of((1, 22)));
        let (data, entry) = (place(&file, false) + file.len(), place(&file, true));
        // In the middle of the data; the checksum and the unpacked size in the directory, which stand 30 and 22 bytes
        // before the name; and the signatures of the directory and of its end.
        for at in [
            data + 200,
            entry - 30,
            entry - 22,
            entry - 46,
            whole.len() - 22,
        ] {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            fs::write(&archive, changed).unwrap();
            let (refused, lake) = fleet.convert(&source, "refused", &[]);
            let message = refused.stderr.clone();
            assert_eq!(refused.code, 5, "{message}");
            assert!(message.contains("fleet_pod_hourly.zip"), "{at}: {message}");
            assert!(!output(&lake, (1, 22)).exists(), "{at}: {message}");
            let _ = fs::remove_dir_all(lake);
        }
        // A lie about what nothing depends on may be believed, if the rows are right.
        for at in (entry - 46..whole.len()).step_by(7) {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            fs::write(&archive, changed).unwrap();
            let (run, lake) = fleet.convert(&source, "lied", &["--allow-missing"]);
            let wrong = outputs(&lake)
                .into_iter()
                .filter(|output| !expected.contains(output));
            assert_eq!(wrong.count(), 0, "{at}");
            assert!([0, 1, 5].contains(&run.code), "{at}: {}", run.stderr);
            let _ = fs::remove_dir_all(lake);
        }
        for cut in [0, 10, whole.len() / 2, whole.len() - 1] {
            fs::write(&archive, &whole[..cut]).unwrap();
            let (refused, _) = fleet.convert(&source, "refused", &[]);
            let message = refused.stderr.clone();
            assert_eq!(refused.code, 5, "{message}");
            assert!(message.contains("fleet_pod_hourly.zip"), "{cut}: {message}");
        }
    }
}

#[test]
fn paths_out_of_an_archive_are_refused() {
    let fleet = Fleet::new();
    let source = fleet.scratch.path().join("zip");
    fs::create_dir(&source).unwrap();
    let outside = "../fleet_pod_hourly/day=1/hour=22/part-000.parquet";
    let mut zip = ZipWriter::new(File::create(source.join("fleet_pod_hourly.zip")).unwrap());
    zip.start_file(outside, SimpleFileOptions::default())
        .unwrap();
    zip.write_all(b"PAR1").unwrap();
    zip.finish().unwrap();
    let (refused, lake) = fleet.convert(&source, "lake", &[]);
    let message = refused.stderr.clone();
    assert_eq!(refused.code, 5, "{message}");
    assert!(message.contains("leads out of it"), "{message}");
    assert!(!lake.exists());
}

#[test]
fn a_file_that_unpacks_to_far_more_is_refused() {
    let fleet = Fleet::new();
    let source = fleet.scratch.path().join("zip");
    fs::create_dir(&source).unwrap();
    let mut zip = ZipWriter::new(File::create(source.join("fleet_pod_hourly.zip")).unwrap());
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    zip.start_file(path_of((1, 22)), options).unwrap();
    for _ in 0..64 {
        zip.write_all(&vec![0; 1 << 20]).unwrap();
    }
    zip.finish().unwrap();
    let (refused, _) = fleet.convert(&source, "lake", &[]);
    let message = refused.stderr.clone();
    assert_eq!(refused.code, 5, "{message}");
    assert!(message.contains("100 times its size"), "{message}");
    assert!(message.contains("hour=22"), "{message}");
}

#[test]
fn a_listed_archive_is_compared_before_anything_is_converted() {
    let fleet = Fleet::new();
    let source = fleet.zip("listed", CompressionMethod::Stored);
    let archive = source.join("fleet_pod_hourly.zip");
    let sums = |digest: &str| {
        fs::write(
            source.join("SHA256SUM"),
            format!("{digest}  fleet_pod_hourly.zip\n"),
        )
        .unwrap();
    };
    sums(&"0".repeat(64));
    let (refused, lake) = fleet.convert(&source, "lake", &[]);
    let message = refused.stderr.clone();
    assert_eq!(refused.code, 5, "{message}");
    assert!(message.contains("fleet_pod_hourly.zip"), "{message}");
    assert!(!output(&lake, (1, 22)).exists());
    sums(&sha256(&fs::read(&archive).unwrap()));
    let (converted, _) = fleet.convert(&source, "lake", &[]);
    converted.well();
    let shown = &converted.stderr;
    assert!(!shown.contains("not listed"), "{shown}");
}

#[test]
fn shards_share_an_archive() {
    let fleet = Fleet::new();
    let source = fleet.zip("shared", CompressionMethod::Deflated);
    let whole = fleet.lake(&source, "whole");
    for shard in ["1/2", "0/2"] {
        let (converted, _) = fleet.convert(&source, "lake", &["--shard", shard]);
        converted.well();
    }
    let lake = fleet.scratch.path().join("lake");
    run(["commit", lake.to_str().unwrap()]).well();
    assert_eq!(outputs(&lake), outputs(&whole));
}

#[test]
#[cfg(all(unix, feature = "urls"))]
fn a_bucket_gives_the_same_outputs() {
    use tracelake_testkit::server::{Answer, Server};
    use tracelake_testkit::{ended, with_stores};

    let fleet = Fleet::new();
    let expected = outputs(&fleet.lake(&fleet.directory(), "lake"));
    for source in [
        fleet.directory(),
        fleet.zip("stored", CompressionMethod::Stored),
        fleet.zip("deflated", CompressionMethod::Deflated),
    ] {
        let name = source.file_name().unwrap().to_str().unwrap().to_owned();
        let server = Server::of(&source, "bucket/trace/", |_| Answer::Well);
        let run = |arguments: &[&str]| {
            let output = with_stores(&server.url()).args(arguments).output();
            ended(output.unwrap())
        };
        let out = fleet.scratch.path().join(format!("{name} from a bucket"));
        let (from, to) = ("s3://bucket/trace", out.to_str().unwrap());
        run(&["convert", from, to, "--trace", &fleet.description]).well();
        assert_eq!(outputs(&out), expected, "{name}");
        run(&["verify", to, "--source", from]).well();
        let staged = fs::read_dir(out.join("_tracelake")).unwrap();
        let mut staged = staged.map(|entry| entry.unwrap().file_name());
        assert!(!staged.any(|name| name == "staging"), "{name}");
    }
}

#[test]
fn readings_of_an_archive_and_of_its_files_say_the_same() {
    let fleet = Fleet::new();
    let (source, zip) = (
        fleet.directory(),
        fleet.zip("zip", CompressionMethod::Stored),
    );
    let inspect = |source: &Path| {
        let shown = run([
            "inspect",
            source.to_str().unwrap(),
            "--trace",
            &fleet.description,
            "--json",
        ]);
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        serde_json::from_str::<Value>(&shown.stdout).unwrap()
    };
    let (files, archive) = (inspect(&source), inspect(&zip));
    assert_eq!(files["tables"], archive["tables"]);
    assert_eq!(files["tables"][0]["parts"], HOURS.len());
    let (shown, lake) = fleet.convert(&zip, "lake", &["--dry-run"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(!lake.exists());
}
