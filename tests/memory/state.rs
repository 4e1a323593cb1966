//! The memory that parts take while they wait, and that what others wrote into a lake may take.

use std::path::Path;
use std::process::Command;

use tracelake::{Context, Dataset, Request, RunOptions, plan};
use tracelake_schema::Table;
use tracelake_testkit::server::{Answer, Server};
use tracelake_testkit::{Scratch, gzip, manifest, plain_whole_tables, program, rows};

use super::{MIB, allocated_by, alone, beside_others, peak_of, peak_of_any, write_parts};

/// The bytes of a part that waits for the end of its file: on a disk, and in a bucket.
pub(super) const WAITING_BOUNDS: [u64; 2] = [2_500, 5_000];

/// The first table of the catalog that is published in one file of plain fields.
fn whole_table() -> &'static Table {
    plain_whole_tables().next().unwrap()
}

fn with_store(server: &Server) -> Command {
    let mut program = program();
    program
        .env("AWS_ENDPOINT_URL", server.url())
        .env("AWS_ACCESS_KEY_ID", "tests")
        .env("AWS_SECRET_ACCESS_KEY", "tests");
    program
}

/// The parts of a file that is cut wait for its end: on a disk and in a bucket, none of their bytes is in memory.
#[test]
#[cfg_attr(not(feature = "urls"), ignore = "needs the feature urls")]
fn a_part_that_waits_takes_little() {
    let _alone = alone();
    let table = whole_table();
    let (few, many) = (300, 1_500);
    let [small, large] = [few, many].map(|parts: usize| {
        let scratch = Scratch::new();
        // Each row is a part.
        let text = rows::sample(table, 0, parts);
        scratch.file(&format!("{}.csv.gz", table.name), &gzip(text.as_bytes()));
        let server = Server::start(Default::default(), |_| Answer::Well);
        let disk = allocated_by(|| {
            let context = Context::new().with_threads(1);
            let mut request = Request::new(scratch.src());
            request.settings.part_rows = Some(1);
            let plan = plan(&context, &request)?;
            Dataset::at(&context, scratch.out()).convert(&plan, RunOptions::default())
        });
        let listed = manifest(&scratch.out())["tables"][0]["parts"].clone();
        assert_eq!(listed.as_array().unwrap().len(), parts);
        // The server of this process holds what is stored, so another process converts.
        let mut command = with_store(&server);
        command
            .arg("convert")
            .args([scratch.src().as_path(), Path::new("s3://bucket/lake")])
            .args(["--part-rows", "1", "--threads", "1"]);
        let bucket = peak_of(command);
        [disk, bucket]
    });
    for (index, place) in ["a disk", "a bucket"].into_iter().enumerate() {
        let each = large[index].saturating_sub(small[index]) / (many - few) as u64;
        assert!(
            each <= WAITING_BOUNDS[index],
            "{place}: {each} bytes a part"
        );
    }
}

/// The memory that a commit may take for what is in a lake, beside its parts.
const STATE: u64 = 64 * MIB;

/// Facts have limits, each and all at once.
#[test]
#[cfg_attr(not(feature = "urls"), ignore = "needs the feature urls")]
fn facts_that_others_wrote_take_little() {
    let _beside = beside_others();
    let scratch = Scratch::new();
    write_parts(&scratch, "job_events", 1);
    let server = Server::start(Default::default(), |_| Answer::Well);
    let mut shard = with_store(&server);
    shard
        .arg("convert")
        .arg(scratch.src())
        .args(["s3://bucket/lake", "--shard", "0/1"]);
    peak_of(shard);
    let committed = |facts: usize| {
        let mut objects = server.objects("bucket/");
        objects.extend((0..facts).map(|number| {
            let name = format!("lake/_tracelake/facts/job_events/{:05}.json", number + 1);
            (name, vec![b'x'; 16 << 20])
        }));
        let named = objects
            .into_iter()
            .map(|(name, bytes)| (format!("bucket/{name}"), bytes));
        let server = Server::start(named.collect(), |_| Answer::Well);
        let mut commit = with_store(&server);
        commit.args(["commit", "s3://bucket/lake"]);
        peak_of_any(commit).0
    };
    let (usual, hostile) = (committed(0), committed(16));
    assert!(hostile <= usual + STATE, "{usual}, then {hostile}");
}
