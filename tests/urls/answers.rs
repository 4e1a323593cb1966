//! Answers that are unusual, which are read, and answers that can't be used, whose reason is reported.

use super::{convert, plain, with_stores};
use tracelake_testkit::server::{Answer, Asked, Server, status};
use tracelake_testkit::{
    Score, Scratch, assert_same_tree, committed_sample, ended, ensure, good_line, tree,
};

type Rule = fn(&Asked) -> Answer;

const FILE: &str = "job_events/part-00000-of-00001.csv";

/// A file of several blocks, and the lake that is made from it alone.
fn alone(rows: usize) -> Scratch {
    let scratch = Scratch::new();
    let text = good_line("job_events").repeat(rows);
    scratch.file(FILE, text.as_bytes());
    let path = scratch.src().join(FILE);
    convert(plain(), path.to_str().unwrap(), &scratch.out(), &[]).well();
    scratch
}

#[test]
fn answers_without_a_length_are_read() {
    let source = alone(100_000);
    let size = std::fs::metadata(source.src().join(FILE)).unwrap().len();
    assert!(size > 3 << 20, "not several blocks");
    let rules: [(&str, Rule); 5] = [
        ("chunks", |_| Answer::Chunked(false)),
        ("chunks of ranges", |_| Answer::Chunked(true)),
        ("chunks, cut", |asked| match asked.before % 3 {
            1 => Answer::ChunkedCut(3_000_000),
            2 => Answer::ChunkedCut(1_000_000),
            _ => Answer::Chunked(false),
        }),
        ("chunks, cut at once", |asked| match asked.before % 3 {
            1 => Answer::ChunkedCut(0),
            _ => Answer::Chunked(false),
        }),
        ("a range is refused, whatever it is", |asked| {
            match asked.range() {
                Some(_) => status(416),
                None => Answer::Well,
            }
        }),
    ];
    let mut score = Score::new("unusual answers");
    for (name, rule) in rules {
        let server = Server::of(&source.src(), "", rule);
        let out = source.path().join(name);
        let url = format!("{}/{FILE}", server.url());
        let run = convert(plain(), &url, &out, &[]);
        let outcome = ensure(run.code == 0, || run.stderr.clone())
            .and_then(|()| ensure(tree(&out) == tree(&source.out()), || "another lake".into()));
        score.count(name, outcome);
    }
    score.close();
}

#[test]
fn an_empty_file_is_empty_with_ranges_and_without() {
    let source = alone(0);
    let rules: [(&str, Rule); 3] = [
        ("web", |_| Answer::Well),
        ("s3", |_| Answer::Well),
        ("web", |_| Answer::Chunked(false)),
    ];
    for (from, rule) in rules {
        let server = Server::of(&source.src(), "bucket/", rule);
        let url = match from {
            "web" => format!("{}/bucket/{FILE}", server.url()),
            _ => format!("s3://bucket/{FILE}"),
        };
        let scratch = Scratch::new();
        let run = convert(with_stores(&server.url()), &url, &scratch.out(), &[]);
        assert_eq!(run.code, 0, "{url}: {}", run.stderr);
        assert_same_tree(&tree(&scratch.out()), &tree(&source.out()), &url);
    }
}

#[test]
fn why_a_web_directory_cannot_be_read_is_reported() {
    fn circle(asked: &Asked) -> Answer {
        let here = format!("/{}", asked.path);
        Answer::Status(302, vec![("Location", here)], String::new())
    }
    fn ranges(range: &str) -> Answer {
        Answer::Status(
            206,
            vec![("Content-Range", range.to_owned())],
            "x".to_owned(),
        )
    }
    let cases: &[(&str, Rule, &[&str])] = &[
        (
            "a circle",
            circle,
            &["redirected more than 10 times", "check the URL"],
        ),
        (
            "a wrong range",
            |_| ranges("bytes 5-18446744073709551615/18446744073709551615"),
            &["Content-Range that can't be used: 'bytes 5-18446744073709551615/"],
        ),
        (
            "a range without a total",
            |_| ranges("bytes 0-0/*"),
            &[
                "Content-Range that can't be used: 'bytes 0-0/*'",
                "download the file",
            ],
        ),
        (
            "another range",
            |_| ranges("bytes 5-5/10"),
            &["cannot read: Requested 0..1, got 5..6"],
        ),
        (
            "an encoding",
            |_| Answer::With("Content-Encoding", "gzip"),
            &["(Content-Encoding: gzip)", "download the file"],
        ),
        (
            "an end that is not known",
            |_| Answer::Endless,
            &["the server doesn't say where the file ends"],
        ),
        (
            "forbidden",
            |_| status(403),
            &["forbidden without credentials: status 403"],
        ),
    ];
    let mut score = Score::new("web directories that can't be read");
    for (name, rule, said) in cases {
        let rule = *rule;
        // The list is what fails; the URL itself is no file.
        let files = [("trace/SHA256SUM".to_owned(), Vec::new())];
        let server = Server::start(files.into(), move |asked| {
            match asked.path == "trace/SHA256SUM" {
                true => rule(asked),
                false => Answer::Well,
            }
        });
        for end in ["", "/"] {
            let url = format!("{}/trace{end}", server.url());
            let scratch = Scratch::new();
            let run = convert(plain(), &url, &scratch.out(), &[]);
            let outcome = ensure(run.code == 1, || format!("exit {}", run.code));
            let outcome = said.iter().fold(outcome, |outcome, words| {
                outcome.and_then(|()| ensure(run.stderr.contains(words), || run.stderr.clone()))
            });
            let place = "/trace/SHA256SUM: ";
            let outcome =
                outcome.and_then(|()| ensure(run.stderr.contains(place), || run.stderr.clone()));
            score.count(&format!("{name}{end}"), outcome);
        }
    }
    score.close();
}

#[test]
fn a_key_that_is_no_path_is_named_and_the_others_are_read() {
    let source = committed_sample();
    let disk = Scratch::new();
    convert(plain(), source.to_str().unwrap(), &disk.out(), &[]).well();
    for scheme in ["s3", "gs"] {
        let named = ["job_events//", "job_events/../"];
        let others = ["/job_events/a", "../a.csv.gz"];
        let mut files = Server::of(&source, "bucket/trace/", |_| Answer::Well).objects("");
        for key in named
            .iter()
            .map(|key| format!("{key}x"))
            .chain(others.map(str::to_owned))
        {
            files.insert(format!("bucket/trace/{key}"), b"x".to_vec());
        }
        let server = Server::start(files, |_| Answer::Well);
        let scratch = Scratch::new();
        let url = format!("{scheme}://bucket/trace");
        let run = convert(with_stores(&server.url()), &url, &scratch.out(), &[]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        for key in named {
            assert!(run.stderr.contains(key), "{key}: {}", run.stderr);
        }
        assert_same_tree(&tree(&scratch.out()), &tree(&disk.out()), scheme);
    }
}

#[test]
fn a_profile_without_keys_names_how_to_export_it() {
    let server = Server::start(Default::default(), |_| status(403));
    let run = |arguments: [&str; 3]| {
        let mut command = plain();
        command
            .env("AWS_ENDPOINT_URL", server.url())
            .env("AWS_METADATA_ENDPOINT", server.url())
            .env("AWS_PROFILE", "mine")
            .args(arguments);
        ended(command.output().unwrap())
    };
    let scratch = Scratch::new();
    let source = committed_sample();
    let source = source.to_str().unwrap();
    for arguments in [
        [
            "convert",
            "s3://bucket/trace",
            scratch.out().to_str().unwrap(),
        ],
        ["convert", source, "s3://bucket/lake"],
    ] {
        let run = run(arguments);
        assert_eq!(run.code, 1, "{}", run.stderr);
        let words = "profiles aren't read; run: eval \"$(aws configure export-credentials";
        run.prints(words);
    }
}
