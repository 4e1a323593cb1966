//! Lakes in buckets that are clustered, from a disk or a bucket and to either.

use std::fs;

use super::lakes::on_disk;
use super::with_stores;
use tracelake_testkit::server::{Answer, Server, status};
use tracelake_testkit::{Run, Scratch, committed_sample, convert, ended};

fn run(server: &Server, arguments: &[&str]) -> Run {
    ended(with_stores(&server.url()).args(arguments).output().unwrap())
}

#[test]
fn a_clustered_lake_in_a_bucket_has_the_bytes_of_one_on_disk() {
    let scratch = Scratch::new();
    let disk = scratch.path().join("disk");
    convert(&committed_sample(), &disk, &[]).well();
    let server = Server::of(&disk, "bucket/other/", |_| Answer::Well);
    let disk = disk.to_str().unwrap();
    for way in [
        &["--by", "job", "--files", "3"][..],
        &["--compact", "--files", "3"],
    ] {
        let expected = scratch.path().join("expected");
        let cluster = |from: &str, to: &str| {
            run(&server, &[&["cluster", from, to][..], way].concat()).exits(0);
        };
        cluster(disk, expected.to_str().unwrap());
        let expected_files = on_disk(&expected);
        for (from, name) in [(disk, "from-disk"), ("s3://bucket/other", "from-bucket")] {
            let out = format!("s3://bucket/{name}-{}", way[0]);
            cluster(from, &out);
            let mut found = server.objects(&format!("bucket/{name}-{}/", way[0]));
            found.retain(|name, _| !name.starts_with("_tracelake/facts/"));
            assert_eq!(
                found.keys().collect::<Vec<_>>(),
                expected_files.keys().collect::<Vec<_>>()
            );
            assert!(found == expected_files, "an object has other bytes");
            assert_eq!(server.uploads(), 0);
            // Nothing to do.
            cluster(from, &out);
            run(&server, &["verify", &out, "--source", from]).exits(0);
        }
        let here = scratch.path().join("here");
        cluster("s3://bucket/other", here.to_str().unwrap());
        assert!(on_disk(&here) == expected_files);
        fs::remove_dir_all(here).unwrap();
        fs::remove_dir_all(expected).unwrap();
    }
    let arguments = [
        "cluster",
        disk,
        "s3://bucket/new",
        "--by",
        "job",
        "--overwrite",
    ];
    run(&server, &arguments).refuses(2, "a new prefix");
    let arguments = [
        "cluster",
        "s3://bucket/other",
        "s3://bucket/other/in",
        "--by",
        "job",
    ];
    run(&server, &arguments).refuses(6, "OUT is inside SRC");
}

#[test]
fn a_store_that_fails_ends_it_and_the_next_run_goes_on() {
    let scratch = Scratch::new();
    let disk = scratch.path().join("disk");
    convert(&committed_sample(), &disk, &[]).well();
    let server = Server::of(&disk, "bucket/other/", |asked| {
        let is_usage = asked.method == "GET" && asked.path.contains("task_usage");
        match is_usage {
            true => status(403),
            false => Answer::Well,
        }
    });
    let out = scratch.path().join("out");
    let arguments = [
        "cluster",
        "s3://bucket/other",
        out.to_str().unwrap(),
        "--by",
        "job",
    ];
    let failed = run(&server, &arguments);
    failed.exits(1);
    assert!(failed.stderr.contains("task_usage"), "{}", failed.stderr);
    assert!(!out.join("_tracelake/manifest.json").exists());
    let server = Server::of(&disk, "bucket/other/", |_| Answer::Well);
    run(&server, &arguments).exits(0);
}
