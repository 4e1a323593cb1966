//! Buckets, cells, pieces of archives, and files of two forms.

use std::collections::BTreeMap;

use super::{MOON, Station, below, damaged, moon, sums};
use tracelake_schema::TRACES;
use tracelake_testkit::server::{Answer, Asked, Server};
use tracelake_testkit::{Scratch, ended, generate, gzip, sha256, tree, with_stores};

/// A bucket that everybody may read is listed, and read without credentials.
#[test]
fn a_bucket_of_the_catalog_is_listed_and_read_unsigned() {
    let trace = TRACES.iter().find(|trace| {
        let urls = trace.locations.iter().map(|location| &location.url);
        trace.cells.is_none() && trace.in_parts() && { urls }.any(|url| url.starts_with("gs://"))
    });
    let trace = trace.unwrap();
    let scratch = Scratch::new();
    let made = scratch.path().join("made");
    generate(&trace.name, &made, &["--parts", "3", "--rows", "300"]);
    let url = trace
        .locations
        .iter()
        .find(|it| it.url.starts_with("gs://"));
    let bucket = url.unwrap().url.trim_start_matches("gs://");
    let server = Server::of(&made, &format!("{bucket}/"), |_| Answer::Well);
    let download = scratch.path().join("download");
    let mut command = with_stores(&server.url());
    command
        .env_remove("GOOGLE_SKIP_SIGNATURE")
        .env("GOOGLE_BEARER_TOKEN", "secret");
    command.args(["fetch", &trace.name]).arg(&download);
    let run = ended(command.output().unwrap());
    run.exits(0);
    let is_signed = |asked: &Asked| asked.headers.contains_key("authorization");
    assert!(!server.asked().iter().any(is_signed));
    let (mut fetched, mut expected) = (tree(&download).unwrap(), tree(&made).unwrap());
    for files in [&mut fetched, &mut expected] {
        files.retain(|name, bytes| {
            bytes.is_some() && !["README", "SHA256SUM", "SYNTHETIC.txt"].contains(&&name[..])
        });
    }
    assert!(
        fetched == expected,
        "{:?} {:?}",
        fetched.keys(),
        expected.keys()
    );
}

/// Two cells, each in its directory; both forms of its table.
const CELLS: &str = r#"
family = "fleet"
[[trace]]
name = "fleet-1"
[[trace.location]]
url = "s3://bucket/fleet_a"
doc = "Cell a."
[[trace.location]]
url = "s3://bucket/fleet_b"
doc = "Cell b."
[trace.cells]
names = ["a", "b"]
directory = "fleet_{cell}"
doc = "A site."
[[table]]
name = "jobs"
files = "shards"
syntax = "json"
parquet = true
[table.columns]
id = "integer"
"#;

#[test]
fn cells_have_directories_and_one_form_is_fetched() {
    let mut files = BTreeMap::new();
    for cell in ["a", "b"] {
        for shard in 0..2 {
            let name =
                |ending: &str| format!("bucket/fleet_{cell}/jobs-00000000000{shard}.{ending}.gz");
            files.insert(name("json"), gzip(b"{\"id\":1}\n"));
            files.insert(name("parquet"), b"PAR1".to_vec());
        }
    }
    let server = Server::start(files, |_| Answer::Well);
    for (options, expected) in [
        (
            &[][..],
            &[
                "fleet_a/jobs-000000000000.json.gz",
                "fleet_a/jobs-000000000001.json.gz",
                "fleet_b/jobs-000000000000.json.gz",
                "fleet_b/jobs-000000000001.json.gz",
            ][..],
        ),
        (
            &["--cell", "b", "--parts", "1"],
            &["fleet_b/jobs-000000000001.json.gz"],
        ),
        (
            &["--cell", "a", "--source-form", "parquet"],
            &[
                "fleet_a/jobs-000000000000.parquet.gz",
                "fleet_a/jobs-000000000001.parquet.gz",
            ],
        ),
    ] {
        let station = Station::new(&server, CELLS);
        let mut command = station.command(with_stores(&server.url()), options);
        ended(command.output().unwrap()).exits(0);
        assert_eq!(station.names(), expected, "{options:?}");
        if options.is_empty() {
            super::converts(&station, &station.dir(), &[]);
        }
    }
    let station = Station::new(&server, CELLS);
    let mut command = station.command(with_stores(&server.url()), &["--cell", "c"]);
    ended(command.output().unwrap()).refuses(2, "has no cell 'c'; it has a, b");
}

/// A table of which the bucket has no file.
#[test]
fn a_table_without_files_is_left_out() {
    let text = MOON.replace("SERVER/moon", "s3://bucket/moon");
    let files = below("bucket/moon", &moon());
    let has_no_crater = |name: &String| !name.ends_with("craters.csv.gz");
    let files = files
        .into_iter()
        .filter(|(name, _)| has_no_crater(name))
        .collect();
    let server = Server::start(files, |_| Answer::Well);
    let station = Station::new(&server, &text);
    let fetch = |options: &[&str]| {
        let mut command = station.command(with_stores(&server.url()), options);
        ended(command.output().unwrap())
    };
    let run = fetch(&[]);
    run.exits(0);
    run.prints("warning: craters is left out: no file of it is at s3://bucket/moon");
    assert_eq!(station.names().len(), 3);
    fetch(&["--tables", "craters"]).refuses(1, "craters can't be fetched: no file of it is at");
}

/// An archive in pieces: each is fetched, and all of them in a row have the published digest.
#[test]
fn pieces_of_an_archive_are_checked_as_a_whole() {
    let whole = moon()["craters.csv.gz"].clone();
    let (first, second) = whole.split_at(whole.len() / 2);
    let archive = format!(
        "[[trace.archive]]\ntable = \"craters\"\nnames = [\"craters.tar.gz\"]\nsha256 = \"{}\"\nsize = \"1K\"\n\
         [[table]]\nname = \"jobs\"",
        sha256(&whole)
    );
    let description = MOON.replace("[[table]]\nname = \"jobs\"", &archive);
    for (second, code) in [(second.to_vec(), 0), (damaged(second), 5)] {
        let mut files = BTreeMap::new();
        files.insert("craters.tar.gz.partaa".to_owned(), first.to_vec());
        files.insert("craters.tar.gz.partab".to_owned(), second);
        let mut served = below("moon", &files);
        served.insert("moon/SHA256SUM".to_owned(), sums(&files).into_bytes());
        let server = Server::start(served, |_| Answer::Well);
        let station = Station::new(&server, &description);
        let run = station.fetch(&["--tables", "craters"]);
        assert_eq!(run.code, code, "{}", run.stderr);
        files.insert("SHA256SUM".to_owned(), sums(&files).into_bytes());
        assert!(station.files() == files, "{:?}", station.names());
    }
}
