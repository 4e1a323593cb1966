//! Lakes of a version before manifests named an encoding, and before plans and journals had digests. The README
//! beside them says how they were made.

use std::path::{Path, PathBuf};

use tracelake_core::origin::encoding_of;

use tracelake_testkit::{Run, Scratch, assert_same_tree, convert, copy, run, tree};

/// The encoding of lakes that name none.
const UNNAMED: u32 = 1;

/// Each finished lake with its source, its trace and its table.
const FINISHED: [(&str, &str, &str, &str); 2] = [
    (
        "google-finished",
        "google",
        "google-2011-v2.1",
        "machine_events",
    ),
    (
        "alibaba-finished",
        "alibaba",
        "alibaba-2018",
        "machine_meta",
    ),
];

/// A lake or a source of then.
fn of_then(name: &str) -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    tests.join("older").join(name)
}

/// A copy of a lake of then.
fn copied(name: &str) -> Scratch {
    let scratch = Scratch::new();
    copy(&of_then(name), &scratch.out());
    scratch
}

/// Expects the lake that this version makes of a source of then.
#[track_caller]
fn same_as_fresh(lake: &Scratch, source: &str) {
    let fresh = Scratch::new();
    convert(&of_then(source), &fresh.out(), &[]).well();
    assert_same_tree(&tree(&lake.out()), &tree(&fresh.out()), source);
    let (out, source) = (lake.out(), of_then(source));
    let verified = [
        "verify",
        out.to_str().unwrap(),
        "--source",
        source.to_str().unwrap(),
    ];
    assert_eq!(run(verified).code, 0);
}

#[track_caller]
fn refused(run: &Run, says: &str) {
    assert_eq!(run.code, 6, "{}", run.stderr);
    assert!(run.message().contains(says), "{}", run.message());
}

#[test]
fn a_finished_lake_is_verified_and_shown() {
    for (name, source, ..) in FINISHED {
        let lake = copied(name);
        let (out, source) = (lake.out(), of_then(source));
        let (out, source) = (out.to_str().unwrap(), source.to_str().unwrap());
        let before = tree(&lake.out());
        for command in [
            &["verify", out][..],
            &["verify", out, "--source", source],
            &["inspect", out],
        ] {
            let run = run(command);
            assert_eq!(run.code, 0, "{command:?}: {}", run.stderr);
        }
        assert_same_tree(&tree(&lake.out()), &before, name);
    }
}

/// This version makes other bytes, so it doesn't add them to a lake of then.
#[test]
fn a_finished_lake_is_refused_by_a_version_with_another_encoding() {
    for (name, source, trace, table) in FINISHED {
        let lake = copied(name);
        let before = tree(&lake.out());
        let now = encoding_of(trace);
        let add: [&[&str]; 3] = [&[], &["--tables", table], &["--shard", "0/2"]];
        for options in add {
            let run = convert(&of_then(source), &lake.out(), options);
            refused(&run, &format!("encoding was {UNNAMED} and is now {now}"));
            refused(&run, "use the version of tracelake that made it");
            assert_same_tree(&tree(&lake.out()), &before, name);
        }
        convert(&of_then(source), &lake.out(), &["--overwrite"]).well();
        same_as_fresh(&lake, source);
    }
}

/// Lines without a digest aren't believed, so the parts are made again.
#[test]
fn an_unfinished_lake_is_completed() {
    let lake = copied("google-unfinished");
    let run = convert(&of_then("google"), &lake.out(), &[]);
    run.well();
    assert!(run.stderr.contains("converted again"), "{}", run.stderr);
    same_as_fresh(&lake, "google");
}

#[test]
fn a_plan_without_a_digest_is_refused_until_it_is_taken_over() {
    let shards = [["--shard", "0/2"], ["--shard", "1/2"]];
    for by_shards in [false, true] {
        let lake = copied("google-shard");
        let (out, source) = (lake.out(), of_then("google"));
        let before = tree(&out);
        for arguments in [&[][..], &["--dry-run"], &shards[0], &shards[1]] {
            let says = "run convert again with --take-over";
            refused(&convert(&source, &out, arguments), says);
            assert_same_tree(&tree(&out), &before, says);
        }
        let dry = convert(&source, &out, &["--dry-run", "--take-over"]);
        assert_eq!(dry.code, 0, "{}", dry.stderr);
        assert_same_tree(&tree(&out), &before, "--dry-run");
        if by_shards {
            convert(&source, &out, &[&shards[0][..], &["--take-over"]].concat()).well();
            convert(&source, &out, &shards[1]).well();
            run(["commit", out.to_str().unwrap()]).well();
        } else {
            convert(&source, &out, &["--take-over"]).well();
        }
        same_as_fresh(&lake, "google");
    }
}
