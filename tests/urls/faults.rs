//! Servers that fail, cut a body short, send a wrong length, or change a file.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{convert, plain, with_stores};
use tracelake_testkit::server::{Answer, Asked, Server, status};
use tracelake_testkit::{
    Score, Scratch, assert_same_tree, committed_sample, ended, ensure, good_line, good_row, tree,
    zstd,
};

/// A source with a file of several blocks, and the lake made from it on disk; made once.
fn large() -> &'static Scratch {
    static LARGE: OnceLock<Scratch> = OnceLock::new();
    LARGE.get_or_init(|| {
        let scratch = Scratch::new();
        let rows: Vec<String> = (0..150_000_u64)
            .map(|number| good_row("job_events").replacen("600", &number.to_string(), 1))
            .collect();
        let text = rows.join("\n") + "\n";
        assert!(text.len() > 5 << 20, "one block and no more");
        scratch.file("job_events/part-00000-of-00001.csv", text.as_bytes());
        let text = good_line("machine_events");
        let path = "machine_events/part-00000-of-00001.csv.zst";
        scratch.file(path, &zstd(text.as_bytes()));
        scratch.convert_well(&[]);
        scratch
    })
}

type Rule = fn(&Asked) -> Answer;

const LARGE: &str = "job_events/part-00000-of-00001.csv";

/// Converts the large source from a server with this rule.
fn converted(rule: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Result<(), String> {
    let source = large();
    let server = Server::of(&source.src(), "bucket/trace/", rule);
    let scratch = Scratch::new();
    let run = convert(
        with_stores(&server.url()),
        "s3://bucket/trace",
        &scratch.out(),
        &[],
    );
    ensure(run.code == 0, || run.stderr.clone())?;
    ensure(tree(&scratch.out()) == tree(&source.out()), || {
        "the lake is not the one made from disk".to_owned()
    })
}

fn is_data(asked: &Asked) -> bool {
    asked.path.ends_with(LARGE)
}

#[test]
fn a_lake_is_the_same_from_disk_from_a_bucket_and_from_the_web() {
    let scratch = Scratch::new();
    let disk = scratch.path().join("disk");
    let source = committed_sample();
    convert(plain(), source.to_str().unwrap(), &disk, &[]).well();
    let server = Server::of(&source, "bucket/a b/", |_| Answer::Well);
    let from = server.url();
    let web = format!("{from}/bucket/a%20b");
    for (name, url) in [
        ("s3", "s3://bucket/a b"),
        ("gs", "gs://bucket/a b/"),
        ("web", web.as_str()),
    ] {
        let out = scratch.path().join(name);
        let run = convert(with_stores(&from), url, &out, &[]);
        assert_eq!(run.code, 0, "{name}: {}", run.stderr);
        assert_same_tree(&tree(&out), &tree(&disk), name);
        let verified = with_stores(&from)
            .args(["verify", out.to_str().unwrap(), "--source", url])
            .output();
        let verified = ended(verified.unwrap());
        assert_eq!(verified.code, 0, "{name}: {}", verified.stderr);
        let inspected = with_stores(&from).args(["inspect", url]).output();
        let inspected = ended(inspected.unwrap());
        assert_eq!(inspected.code, 0, "{name}: {}", inspected.stderr);
        inspected.shows("task_usage");
        // One file, and the directory of a table.
        for one in ["job_events/part-00001-of-00002.csv.gz", "job_events"] {
            let alone = scratch.path().join(format!("{name}-alone"));
            let url = format!("{}/{one}", url.trim_end_matches('/'));
            if name == "web" && one == "job_events" {
                continue;
            }
            let run = convert(with_stores(&from), &url, &alone, &["--allow-missing"]);
            assert_eq!(run.code, 0, "{url}: {}", run.stderr);
            let disk = scratch.path().join("disk-alone");
            let source = source.join(one);
            let source = source.to_str().unwrap();
            convert(plain(), source, &disk, &["--allow-missing"]).well();
            assert_same_tree(&tree(&alone), &tree(&disk), &url);
            fs::remove_dir_all(alone).unwrap();
            fs::remove_dir_all(disk).unwrap();
        }
    }
}

#[test]
fn a_finished_lake_on_a_web_server_is_read() {
    let scratch = Scratch::new();
    let lake = scratch.out();
    let source = committed_sample();
    convert(plain(), source.to_str().unwrap(), &lake, &[]).well();
    let server = Server::of(&lake, "bucket/year=2011/a lake/", |_| Answer::Well);
    let web = format!("{}/bucket/year=2011/a%20lake", server.url());
    let of = |arguments: &[&str]| ended(plain().args(arguments).output().unwrap());
    let shown = of(&["schema", &web]);
    assert_eq!(
        (shown.code, &shown.stdout),
        (0, &of(&["schema", lake.to_str().unwrap()]).stdout),
        "{}",
        shown.stderr
    );
    let source = source.to_str().unwrap();
    for (arguments, says) in [
        (&["convert", source, &web][..], "can't hold a lake"),
        (&["convert", "--dry-run", source, &web], "can't list"),
        (&["commit", &web], "can't hold a lake"),
        (&["release", &web], "can't hold a lake"),
        (&["verify", &web], "can't list the files of a lake"),
    ] {
        let run = of(arguments);
        assert_eq!(run.code, 2, "{arguments:?}: {}", run.stderr);
        assert!(
            run.message().contains(says),
            "{arguments:?}: {}",
            run.stderr
        );
    }
}

#[test]
fn what_a_server_gets_over_changes_nothing() {
    let mut score = Score::new("servers with faults");
    let busy = |status: u16| {
        move |asked: &Asked| match asked.before % 2 {
            0 => Answer::Status(status, vec![("Retry-After", "0".to_owned())], String::new()),
            _ => Answer::Well,
        }
    };
    score.count("500 to every other request", converted(busy(500)));
    score.count("503 to every other request", converted(busy(503)));
    score.count("429 to every other request", converted(busy(429)));
    for most in [0, 1, 1000, 262_143, 1 << 20] {
        let cut = move |asked: &Asked| match is_data(asked) && asked.before % 3 == 1 {
            true => Answer::Cut(most),
            false => Answer::Well,
        };
        score.count(&format!("cut after {most} bytes"), converted(cut));
    }
    // Each connection gives a little, all the way.
    let crumbs = |asked: &Asked| match is_data(asked) {
        true => Answer::Cut(100_000),
        false => Answer::Well,
    };
    score.count("every answer cut", converted(crumbs));
    for by in [-1, -70_000, 1, 70_000] {
        let off = move |asked: &Asked| match is_data(asked) && asked.before % 2 == 1 {
            true => Answer::Off(by),
            false => Answer::Well,
        };
        score.count(&format!("a length that is off by {by}"), converted(off));
    }
    score.count(
        "a weak tag",
        converted(|_| Answer::Tag("W/\"1\"".to_owned())),
    );
    score.close();
}

#[test]
fn a_web_server_without_ranges_or_tags_is_read_whole() {
    let source = large();
    let scratch = Scratch::new();
    let disk = scratch.path().join("disk");
    let path = source.src().join(LARGE);
    convert(plain(), path.to_str().unwrap(), &disk, &[]).well();
    let mut score = Score::new("simple web servers");
    let rules: [(&str, Rule); 4] = [
        ("no ranges", |_| Answer::Whole),
        ("no tag", |_| Answer::Tag(String::new())),
        ("no ranges, cut", |asked| match asked.before {
            1 | 2 => Answer::WholeCut(3_000_000),
            3 => Answer::WholeCut(1_000_000),
            _ => Answer::Whole,
        }),
        ("no ranges, cut at once", |asked| match asked.before {
            1..4 => Answer::WholeCut(0),
            _ => Answer::Whole,
        }),
    ];
    for (name, rule) in rules {
        let server = Server::of(&source.src(), "", rule);
        let out = scratch.path().join(name);
        let url = format!("{}/{LARGE}", server.url());
        let run = convert(plain(), &url, &out, &[]);
        let outcome = ensure(run.code == 0, || run.stderr.clone())
            .and_then(|()| ensure(tree(&out) == tree(&disk), || "another lake".to_owned()));
        score.count(name, outcome);
    }
    score.close();
}

#[test]
fn an_object_that_changes_while_it_is_read_fails() {
    let mut score = Score::new("objects that change");
    let rules: [(&str, Rule); 4] = [
        ("another tag", |asked| match asked.before {
            0..3 => Answer::Well,
            _ => Answer::Tag("\"2\"".to_owned()),
        }),
        ("another weak tag", |asked| match asked.before {
            0..3 => Answer::Tag("W/\"1\"".to_owned()),
            _ => Answer::Tag("W/\"2\"".to_owned()),
        }),
        ("the tag is gone", |asked| match asked.before {
            0..3 => Answer::Tag("W/\"1\"".to_owned()),
            _ => Answer::Tag(String::new()),
        }),
        ("the object is gone", |asked| match asked.before {
            0..3 => Answer::Well,
            _ => status(404),
        }),
    ];
    for (name, rule) in rules {
        let source = large();
        let server = Server::of(&source.src(), "bucket/trace/", move |asked| {
            match is_data(asked) {
                true => rule(asked),
                false => Answer::Well,
            }
        });
        let scratch = Scratch::new();
        let out = scratch.out();
        let arguments = ["--tables", "job_events"];
        let run = convert(
            with_stores(&server.url()),
            "s3://bucket/trace",
            &out,
            &arguments,
        );
        let expected = "s3://bucket/trace/job_events/part-00000-of-00001.csv: \
                        changed while it was read; ";
        let outcome = ensure(run.code == 1, || {
            format!("exit {}: {}", run.code, run.stderr)
        })
        .and_then(|()| ensure(run.stderr.contains(expected), || run.stderr.clone()))
        .and_then(|()| ensure(!out.exists(), || "OUT is there".to_owned()));
        score.count(name, outcome);
    }
    score.close();
}

#[test]
fn an_object_that_is_replaced_after_its_last_byte_is_not_committed() {
    let source = committed_sample();
    let mut score = Score::new("objects that are replaced before their output is visible");
    type Replaced = fn() -> Answer;
    let rules: [(&str, Replaced); 2] = [
        ("another tag", || Answer::Tag("\"2\"".to_owned())),
        ("the object is gone", || status(404)),
    ];
    for (name, replaced) in rules {
        for out in ["disk", "s3://bucket/lake"] {
            // Its bytes come with the range that begins the reading.
            let is_read = AtomicBool::new(false);
            let server = Server::of(&source, "bucket/trace/", move |asked| {
                if asked.path.contains("job_events/") && asked.method == "GET" {
                    match asked.range() {
                        Some((0, 1)) if is_read.load(Ordering::Relaxed) => return replaced(),
                        Some((0, end)) if end > 1000 => is_read.store(true, Ordering::Relaxed),
                        _ => {}
                    }
                }
                Answer::Well
            });
            let scratch = Scratch::new();
            let path = scratch.path().join("lake");
            let out = if out == "disk" { &path } else { Path::new(out) };
            let arguments = ["--tables", "job_events", "--parts", "0", "--threads", "1"];
            let run = convert(
                with_stores(&server.url()),
                "s3://bucket/trace",
                out,
                &arguments,
            );
            let expected = "s3://bucket/trace/job_events/part-00000-of-00002.csv.gz: \
                            changed while it was read; ";
            let outcome = ensure(run.code == 1, || {
                format!("exit {}: {}", run.code, run.stderr)
            })
            .and_then(|()| ensure(run.stderr.contains(expected), || run.stderr.clone()))
            .and_then(|()| ensure(!path.exists(), || "OUT is there".to_owned()))
            .and_then(|()| {
                let left = server.objects("bucket/lake/");
                let is_identity = |name: &String| name == "_tracelake/lake.json";
                ensure(left.keys().all(is_identity), || {
                    format!("{:?} is left", left.keys())
                })
            })
            .and_then(|()| ensure(server.uploads() == 0, || "an upload is left".to_owned()));
            score.count(&format!("{name}, {}", out.display()), outcome);
        }
    }
    score.close();
}

#[test]
fn what_never_works_ends() {
    let source = large();
    let server = Server::of(&source.src(), "bucket/trace/", |asked| {
        match is_data(asked) && asked.before > 0 {
            true => Answer::Cut(0),
            false => Answer::Well,
        }
    });
    let scratch = Scratch::new();
    convert(
        with_stores(&server.url()),
        "s3://bucket/trace",
        &scratch.out(),
        &["--tables", "job_events"],
    )
    .refuses(1, "the connection was cut");
    assert!(!scratch.out().exists());
}
