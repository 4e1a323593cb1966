//! Lakes of described traces in buckets.

use std::collections::BTreeMap;

use tracelake_testkit::server::{Answer, Server};
use tracelake_testkit::{LOCKS, Run, Scratch, ended, tree, with_stores};

use super::{GARDEN, two_gardens};

fn run(server: &Server, arguments: &[&str]) -> Run {
    ended(with_stores(&server.url()).args(arguments).output().unwrap())
}

#[track_caller]
fn well(server: &Server, arguments: &[&str]) {
    let run = run(server, arguments);
    assert_eq!(run.code, 0, "{arguments:?}: {}", run.stderr);
}

#[test]
fn a_bucket_has_the_description_too() {
    let scratch = Scratch::new();
    let (trace, other) = &two_gardens(&scratch);
    scratch.convert_well(&["--trace", trace]);
    let mut expected = tree(&scratch.out()).unwrap();
    expected.retain(|name, bytes| bytes.is_some() && !LOCKS.contains(&&name[..]));
    let server = Server::of(&scratch.src(), "bucket/trace/", |_| Answer::Well);
    let (source, out) = ("s3://bucket/trace", "s3://bucket/lake");
    let same_at = |prefix: &str, what: &str| {
        let found = server.objects(prefix).into_iter();
        // Those of committed parts stay in a bucket.
        let found = found.filter(|(name, _)| !name.starts_with("_tracelake/facts/"));
        let found: BTreeMap<_, _> = found.map(|(name, bytes)| (name, Some(bytes))).collect();
        assert!(found == expected, "{what}: {:?}", found.keys());
    };
    let same = |what: &str| same_at("bucket/lake/", what);
    well(&server, &["convert", source, out, "--trace", trace]);
    same("one run");
    well(&server, &["convert", source, out, "--trace", trace]);
    same("again");
    run(&server, &["convert", source, out, "--trace", other]).refuses(6, "description was ");
    same("after a refusal");
    for command in ["inspect", "verify"] {
        well(&server, &[command, out]);
    }
    // Two shards, which a commit that knows no file puts together.
    let shards = "s3://bucket/shards";
    well(
        &server,
        &[
            "convert", source, shards, "--trace", trace, "--shard", "0/2",
        ],
    );
    run(
        &server,
        &[
            "convert", source, shards, "--trace", other, "--shard", "1/2",
        ],
    )
    .exits(6);
    well(
        &server,
        &[
            "convert", source, shards, "--trace", trace, "--shard", "1/2",
        ],
    );
    well(&server, &["inspect", shards]);
    well(&server, &["commit", shards]);
    same_at("bucket/shards/", "shards");
    // The copy in a lake describes its source as well as the file did.
    let copy = "s3://bucket/lake/_tracelake/trace.toml";
    well(
        &server,
        &["convert", source, "s3://bucket/again", "--trace", copy],
    );
    same_at("bucket/again/", "by the copy");
}

#[test]
fn a_lake_of_another_description_is_refused() {
    let scratch = Scratch::new();
    let (trace, other) = &two_gardens(&scratch);
    let server = Server::of(&scratch.src(), "bucket/trace/", |_| Answer::Well);
    let (source, out) = ("s3://bucket/trace", "s3://bucket/lake");
    well(
        &server,
        &["convert", source, out, "--trace", trace, "--shard", "0/2"],
    );
    // As with any other option that decides bytes.
    let refused = run(&server, &["convert", source, out, "--trace", other]);
    assert_eq!(refused.code, 6, "{}", refused.stderr);
    let says = "description was ";
    refused.says(says);
    well(&server, &["convert", source, out, "--trace", trace]);
    well(&server, &["verify", out]);
    let kept = server.objects("bucket/lake/_tracelake/");
    assert_eq!(kept["trace.toml"], GARDEN.as_bytes());
}
