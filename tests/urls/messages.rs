//! URLs and stores that can't be read: the exit code, the URL, the reason and what to do.

use super::{convert, plain, with_stores};
use tracelake_testkit::server::{Answer, Asked, Server, refusal, status};
use tracelake_testkit::{Score, Scratch, committed_sample, ensure};

/// A URL, the exit code, and what the message says.
type Case = (&'static str, i32, &'static [&'static str]);

fn says(url: &str, code: i32, said: &[&str], command: std::process::Command) -> Result<(), String> {
    let scratch = Scratch::new();
    let out = scratch.out();
    let run = convert(command, url, &out, &[]);
    ensure(run.code == code, || {
        format!("exit {}: {}", run.code, run.stderr)
    })?;
    let lines = run.stderr.lines().count();
    ensure(lines == 1, || format!("{lines} lines: {}", run.stderr))?;
    for words in said {
        ensure(run.stderr.contains(words), || {
            format!("{words:?} is not in {}", run.stderr)
        })?;
    }
    ensure(!out.exists(), || "OUT is there".to_owned())
}

#[test]
fn malformed_urls_are_usage_errors() {
    const CASES: &[Case] = &[
        (
            "ftp://host/a",
            2,
            &["ftp://host/a: ", "is not a kind of URL", "use s3://"],
        ),
        (
            "htps://host/a",
            2,
            &["htps://host/a: ", "is not a kind of URL"],
        ),
        ("s3://", 2, &["names no bucket", "s3://BUCKET/PATH"]),
        (
            "s3:/bucket/a",
            2,
            &["is not a URL", "a URL starts with s3://"],
        ),
        ("gs:bucket/a", 2, &["a URL starts with gs://"]),
        ("s3://bucket//a", 2, &["has an empty name"]),
        (
            "s3://bucket/a?versionId=1",
            2,
            &["s3://bucket/a?…: ", "has a query"],
        ),
        ("https://host:port/a", 2, &["names no host"]),
        (
            "az://a@b/c",
            2,
            &["names no account", "abfss://CONTAINER@ACCOUNT"],
        ),
    ];
    let mut score = Score::new("malformed URLs");
    for &(url, code, said) in CASES {
        score.count(url, says(url, code, said, plain()));
    }
    score.close();
}

#[test]
fn refusals_say_what_to_do() {
    let mut score = Score::new("stores that refuse");
    type Rule = fn(&Asked) -> Answer;
    let cases: &[(&str, Rule, &str, &[&str])] = &[
        (
            "a bucket that doesn't exist",
            |_| refusal(404, "NoSuchBucket"),
            "s3://bucket/a",
            &["s3://bucket/a: there is no such bucket", "check its name"],
        ),
        (
            "an object that doesn't exist",
            |_| Answer::Well,
            "s3://bucket/a",
            &[
                "s3://bucket/a: there is no such object, and none below it",
                "check the URL",
            ],
        ),
        (
            "forbidden",
            |_| refusal(403, "AccessDenied"),
            "s3://bucket/a",
            &[
                "forbidden with these credentials",
                "AccessDenied",
                "AWS_ACCESS_KEY_ID",
            ],
        ),
        (
            "forbidden without credentials",
            |_| refusal(403, "AccessDenied"),
            "gs://bucket/a",
            &[
                "forbidden without credentials",
                "set GOOGLE_APPLICATION_CREDENTIALS",
            ],
        ),
        (
            "wrong credentials",
            |_| refusal(403, "SignatureDoesNotMatch"),
            "s3://bucket/a",
            &["the credentials are wrong", "SignatureDoesNotMatch"],
        ),
        (
            "another region, named by a header",
            |_| {
                let region = ("x-amz-bucket-region", "eu-west-3".to_owned());
                Answer::Status(301, vec![region], String::new())
            },
            "s3://bucket/a",
            &[
                "the bucket is in another region",
                "set AWS_REGION=eu-west-3",
            ],
        ),
        (
            "another region, named by the error",
            |_| {
                let body = "<Error><Code>AuthorizationHeaderMalformed</Code>\
                            <Region>eu-west-3</Region></Error>";
                Answer::Status(400, Vec::new(), body.to_owned())
            },
            "s3://bucket/a",
            &[
                "the bucket is in another region",
                "set AWS_REGION=eu-west-3",
            ],
        ),
        (
            "another region, not named",
            |_| refusal(400, "IllegalLocationConstraintException"),
            "s3://bucket/a",
            &["set AWS_REGION to the region of the bucket"],
        ),
        (
            "a bad request",
            |_| status(400),
            "s3://bucket/a",
            &["s3://bucket/a: cannot list: the server refuses: status 400"],
        ),
        (
            "an Azure container without an account",
            |_| Answer::Well,
            "az://container/a",
            &[
                "az://container/a: the storage account is not known",
                "AZURE_STORAGE_ACCOUNT_NAME",
            ],
        ),
        (
            "an empty bucket",
            |_| Answer::Well,
            "s3://bucket",
            &["s3://bucket: no table of any known trace is here"],
        ),
    ];
    for (name, rule, url, said) in cases {
        let server = Server::start(Default::default(), *rule);
        score.count(name, says(url, 1, said, with_stores(&server.url())));
    }
    score.close();
}

#[test]
fn web_servers_that_do_not_have_it() {
    let server = Server::of(&committed_sample(), "trace/", |asked| {
        match asked.path.starts_with("secret") {
            true => status(403),
            false => Answer::Well,
        }
    });
    let url = server.url();
    let mut score = Score::new("web servers that don't have it");
    for (path, said) in [
        (
            "trace/job_events/part-00009-of-00010.csv.gz",
            "there is no such object",
        ),
        ("nothing/", "no SHA256SUM"),
        ("nothing", "there is no such object"),
        ("secret.csv.gz", "forbidden without credentials: status 403"),
    ] {
        let url = format!("{url}/{path}");
        score.count(path, says(&url, 1, &[said], plain()));
    }
    drop(server);
    let url = format!("{url}/a.csv.gz");
    score.count(
        "nobody listens",
        says(&url, 1, &["cannot read: ", "check the network"], plain()),
    );
    score.close();
}

#[test]
fn without_credentials_the_metadata_service_gets_a_moment_and_then_nothing_is_signed() {
    let silent = Server::start(Default::default(), |_| Answer::Silent);
    let source = committed_sample();
    let server = Server::of(&source, "bucket/trace/", |_| Answer::Well);
    let mut command = plain();
    command
        .env("AWS_ENDPOINT_URL", server.url())
        .env("AWS_METADATA_ENDPOINT", silent.url());
    let scratch = Scratch::new();
    convert(command, "s3://bucket/trace", &scratch.out(), &[]).well();
    assert!(!silent.asked().is_empty());
    let mut asked = server.asked().into_iter();
    assert!(asked.all(|asked| !asked.headers.contains_key("authorization")));
}

#[test]
fn a_published_bucket_is_read_unsigned_and_no_metadata_service_is_asked() {
    let trace = tracelake_testkit::trace();
    let mut locations = trace.locations.iter();
    let location = locations.find(|one| one.url.starts_with("gs://")).unwrap();
    let bucket = location.url.strip_prefix("gs://").unwrap();
    let server = Server::of(&committed_sample(), &format!("{bucket}/"), |_| Answer::Well);
    let mut command = plain();
    // Credentials that would fail, if they were read.
    command
        .env("GOOGLE_BASE_URL", server.url())
        .env("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere.json");
    let scratch = Scratch::new();
    convert(command, &location.url, &scratch.out(), &[]).well();
    let mut asked = server.asked().into_iter();
    assert!(asked.all(|asked| !asked.headers.contains_key("authorization")));
}
