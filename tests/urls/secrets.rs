//! Secrets that are planted where they may be read, and looked for wherever they must not be.

use super::server::{Answer, Server, refusal, status};
use super::{plain, with_stores};
use crate::support::{Run, Scratch, committed_sample, ended, run, tree};

/// A secret of AWS may hold a slash.
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG";

/// Runs the program with everything logged, and expects the secret nowhere.
#[track_caller]
fn silent(mut command: std::process::Command, arguments: &[&str]) -> Run {
    command.env("RUST_LOG", "trace");
    let ended = ended(command.args(arguments).output().unwrap());
    let said = format!("{}{}", ended.stdout, ended.stderr);
    for secret in [SECRET, "K7MDENG", "wJalrXUtnFEMI"] {
        if let Some(line) = said.lines().find(|line| line.contains(secret)) {
            panic!("{arguments:?}: {line}");
        }
    }
    ended
}

#[test]
fn a_secret_is_in_no_message_log_or_file() {
    let scratch = Scratch::new();
    let out = scratch.path().join("s3");
    let source = committed_sample();
    let server = Server::of(&source, "bucket/", |_| Answer::Well);
    let with_secret = |url: &str| {
        let mut command = with_stores(url);
        command.env("AWS_SECRET_ACCESS_KEY", SECRET);
        command.env("AWS_SESSION_TOKEN", SECRET);
        command
    };
    let s3 = out.to_str().unwrap();
    let done = silent(with_secret(&server.url()), &["convert", "s3://bucket", s3]);
    assert_eq!(done.code, 0, "{}", done.stderr);

    let web = scratch.path().join("web");
    let file = "job_events/part-00001-of-00002.csv.gz";
    let user = server
        .url()
        .replace("http://", "http://user:wJalrXUtnFEMI%2FK7MDENG@");
    let url = format!("{user}/bucket/{file}?sig=wJalrXUtnFEMI%2FK7MDENG");
    let path = web.to_str().unwrap();
    let done = silent(plain(), &["convert", &url, path, "--progress", "json"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let asked = server.asked();
    let last = asked.last().unwrap();
    assert!(last.query.contains("sig=wJal"), "the query was not sent");
    let sent = last.headers.get("authorization");
    assert!(
        sent.is_some_and(|sent| sent.starts_with("Basic ")),
        "{sent:?}"
    );

    // What fails, fails in silence about it.
    for rule in [
        (|_| status(500)) as fn(&_) -> _,
        |_| refusal(403, "AccessDenied"),
        |_| Answer::Cut(0),
    ] {
        let server = Server::of(&source, "bucket/", rule);
        let user = server
            .url()
            .replace("http://", &format!("http://user:{SECRET}@"));
        let url = format!("{user}/bucket/{file}?sig={SECRET}");
        let failed = silent(plain(), &["inspect", &url]);
        assert_ne!(failed.code, 0);
    }
    for url in [
        format!("s3://AKIA:{SECRET}@bucket/a"),
        format!("gs://AKIA:{SECRET}@bucket/a"),
        format!("az://c:{SECRET}@a.dfs.core.windows.net/a"),
        format!("az://container/a?sig={SECRET}"),
        format!("ftp://user:{SECRET}@host/a"),
        format!("s3:/AKIA:{SECRET}@bucket/a"),
    ] {
        let refused = silent(plain(), &["convert", &url, "nowhere"]);
        assert_eq!(refused.code, 2, "{}", refused.stderr);
    }

    let released = run(["release", s3, "--allow-missing", "--allow-rejects"]);
    assert_eq!(released.code, 0, "{}", released.stderr);
    for lake in [&out, &web] {
        for (name, bytes) in tree(lake).unwrap() {
            let text = String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned();
            for secret in ["K7MDENG", "127.0.0.1", "://bucket"] {
                assert!(!text.contains(secret), "{name} holds {secret}");
            }
        }
    }
}
