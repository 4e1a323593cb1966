//! Committed parts stay, whatever else runs on the lake or fails on it.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use super::held::Holding;
use super::{
    JOBS, MACHINES, MANIFEST, OUT, Objects, PREFIX, RELEASE, after, lake, same, store, tracelake,
};
use crate::crash::child::HANGS;
use tracelake_testkit::server::{Answer, Asked, Server};
use tracelake_testkit::{Scratch, ended, gzip, rows, table, with_stores};

/// The paths of the outputs that the manifest of a state names; none without one.
fn named(state: &Objects) -> BTreeSet<String> {
    let Some(json) = state.get(MANIFEST) else {
        return BTreeSet::new();
    };
    let manifest: serde_json::Value = serde_json::from_slice(json).unwrap();
    let tables = manifest["tables"].as_array().unwrap().iter();
    let parts = tables.flat_map(|table| table["parts"].as_array().unwrap());
    let paths = parts.map(|part| part["output"]["path"].as_str().unwrap().to_owned());
    paths.collect()
}

/// A finished lake stays finished, whatever a run finds that it can't do.
#[test]
fn a_run_that_finds_a_missing_output_withdraws_nothing() {
    let whole = lake(JOBS);
    let mut state = whole.clone();
    let lost = named(&whole).pop_first().unwrap();
    state.remove(&lost).unwrap();
    let server = store(&state, |_| Answer::Well);
    let run = tracelake(&server, MACHINES, &[]);
    let left = server.objects(PREFIX);
    assert!(
        named(&left).is_superset(&named(&whole)),
        "exit {}: {}, and the manifest names {:?}",
        run.code,
        run.stderr,
        named(&left)
    );
    // Nor does it block the runs that can.
    tracelake(&server, JOBS, &[]).exits(0);
    assert_eq!(server.objects(PREFIX)[&lost], whole[&lost]);
}

/// A run that asks for the strict policy doesn't end with rejected rows.
#[test]
fn a_run_that_fails_on_bad_rows_refuses_parts_with_rejected_rows() {
    let source = Scratch::new();
    for part in 0..2 {
        let mut text = rows::sample(table(JOBS), part, 20);
        if part == 0 {
            text.push_str("bad\n");
        }
        let name = format!("{JOBS}/part-0000{part}-of-00002.csv.gz");
        source.file(&name, &gzip(text.as_bytes()));
    }
    let server = Server::start(Default::default(), |_| Answer::Well);
    let convert = |more: &[&str]| {
        let mut command = with_stores(&server.url());
        command.arg("convert").arg(source.src()).arg(OUT);
        ended(command.args(more).output().unwrap())
    };
    let reject = ["--on-bad-row", "reject"];
    let codes = ["0/2", "1/2"].map(|shard| {
        let shard = ["--shard", shard];
        convert(&[&shard[..], &reject].concat()).code
    });
    assert!(codes.contains(&3), "{codes:?}");
    let run = convert(&[]);
    assert_eq!(run.code, 6, "{}", run.stderr);
    assert!(
        run.message().contains("part 0 has 1 rejected row") || run.message().contains("part 0 has"),
        "{}",
        run.stderr
    );
}

/// Whether the card of a release is put.
fn puts_card(asked: &Asked) -> bool {
    asked.method == "PUT" && asked.path.ends_with("/README.md")
}

/// A store may carry a put out that its sender didn't live to see. What it wrote is still of a release.
#[test]
fn a_release_that_was_killed_during_a_put_doesnt_stop_the_next_one() {
    let adds: &[(&str, &[&str])] = &[(MACHINES, &[])];
    let holding = Holding::new(&lake(JOBS), puts_card);
    holding.killed_around("", RELEASE, adds).unwrap();
    let objects = || holding.server.objects(PREFIX);
    let begun = Instant::now();
    while !objects().contains_key("README.md") && begun.elapsed() < HANGS {
        thread::sleep(Duration::from_millis(5));
    }
    tracelake(&holding.server, "", RELEASE).exits(0);
    let mut expected = after(&lake(JOBS), &[adds[0], ("", RELEASE)]);
    expected.remove("_tracelake/SHA256SUMS");
    same(&objects(), &expected).unwrap();
}
