//! Parts that an earlier run has converted without checksums, compared with the list later.

use std::fs;

use tracelake_testkit::{
    Score, Scratch, ensure, plain_whole_tables, rows, run, sha256, table, tree,
};

/// A source of one file with this text, and a list that has the digest of another one.
fn source(name: &str, text: &str) -> (Scratch, String) {
    let scratch = Scratch::new();
    scratch.file(name, text.as_bytes());
    let list = scratch.path().join("list");
    let line = format!(
        "{}  {name}\n",
        sha256(text.replacen('1', "2", 1).as_bytes())
    );
    fs::write(&list, line).unwrap();
    (scratch, list.to_str().unwrap().to_owned())
}

#[test]
fn a_kept_part_is_compared_with_the_list() {
    let whole = plain_whole_tables().next().unwrap();
    let cut_name = format!("{}.csv", whole.name);
    let cut = rows::sample(whole, 0, 60_000);
    let part = rows::sample(table("job_events"), 0, 20);
    let part_name = "job_events/part-00000-of-00001.csv";
    let shard = ["--shard", "0/1"];
    let rows = ["--part-rows", "20000"];
    let first = [&rows[..], &["--parts", "0"]].concat();
    let sharded = [&rows[..], &shard].concat();
    let mut score = Score::new("kept parts that the list doesn't know");
    for (what, name, text, before, commits, again) in [
        ("a part", part_name, &part, &[][..], false, &[][..]),
        ("a part of a shard", part_name, &part, &shard, false, &shard),
        (
            "a shard after the commit",
            part_name,
            &part,
            &shard,
            true,
            &shard,
        ),
        ("a file that is cut", &cut_name, &cut, &rows, false, &rows),
        (
            "the beginning of one",
            &cut_name,
            &cut,
            &first,
            false,
            &first,
        ),
        (
            "one that is cut by a shard",
            &cut_name,
            &cut,
            &sharded,
            true,
            &sharded,
        ),
    ] {
        let (scratch, list) = source(name, text);
        scratch.convert_well(&[before, &["--checksums", "none"]].concat());
        if commits {
            run(["commit", scratch.out().to_str().unwrap()]).well();
        }
        let lake = tree(&scratch.out());
        let listed = scratch.convert(&[again, &["--checksums", &list]].concat());
        let outcome = ensure(listed.code == 5, || {
            format!("exit {}: {}", listed.code, listed.stderr)
        });
        let outcome = outcome.and_then(|()| {
            ensure(listed.message().contains("has SHA-256"), || {
                listed.stderr.clone()
            })?;
            ensure(tree(&scratch.out()) == lake, || {
                "the lake has changed".to_owned()
            })?;
            // A list that has the file changes nothing.
            let line = format!("{}  {name}\n", sha256(text.as_bytes()));
            fs::write(&list, line).unwrap();
            let right = scratch.convert(&[again, &["--checksums", &list]].concat());
            ensure(right.code == 0, || right.stderr.clone())
        });
        score.count(what, outcome);
    }
    score.close();
}
