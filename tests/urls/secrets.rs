//! Secrets that are planted where they may be read, and looked for wherever they must not be.

use super::{plain, with_stores};
use tracelake_testkit::server::{Answer, Server, refusal, status};
use tracelake_testkit::{Run, Score, Scratch, committed_sample, ended, ensure, run, tree};

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

    // Failures don't reveal it either.
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

    run(["release", s3, "--allow-missing", "--allow-rejects"]).well();
    for lake in [&out, &web] {
        for (name, bytes) in tree(lake).unwrap() {
            let text = String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned();
            for secret in ["K7MDENG", "127.0.0.1", "://bucket"] {
                assert!(!text.contains(secret), "{name} holds {secret}");
            }
        }
    }
}

/// A server that sends every request on to this URL.
fn sent_on(to: String) -> Server {
    Server::start(Default::default(), move |_| {
        Answer::Status(302, vec![("Location", to.clone())], String::new())
    })
}

#[test]
fn the_target_of_a_redirect_gets_no_secret() {
    let file = "job_events/part-00001-of-00002.csv.gz";
    let target = Server::of(&committed_sample(), "", |_| Answer::Well);
    let first = sent_on(format!("{}/{file}", target.url()));
    let user = format!("http://user:{}@", SECRET.replace('/', "%2F"));
    let user = first.url().replace("http://", &user);
    let scratch = Scratch::new();
    let out = scratch.out();
    let url = format!("{user}/a.csv.gz?X-Amz-Signature={SECRET}");
    let run = silent(plain(), &["convert", &url, out.to_str().unwrap()]);
    assert!(!first.asked().is_empty());
    assert!(
        first
            .asked()
            .iter()
            .all(|asked| asked.headers.contains_key("authorization"))
    );
    let asked = target.asked();
    assert!(!asked.is_empty(), "{}", run.stderr);
    for asked in asked {
        let sent = format!("{asked:?}");
        assert!(!sent.contains("K7MDENG"), "{sent}");
        for header in ["referer", "authorization"] {
            assert!(!asked.headers.contains_key(header), "{sent}");
        }
    }
}

#[test]
fn a_signed_request_is_not_sent_on_to_another_host() {
    let target = Server::of(&committed_sample(), "bucket/", |_| Answer::Well);
    let first = sent_on(format!("{}/bucket/", target.url()));
    let mut command = with_stores(&first.url());
    command.env("AWS_SESSION_TOKEN", SECRET);
    let run = silent(command, &["inspect", "s3://bucket/a"]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(!first.asked().is_empty());
    assert_eq!(target.asked().len(), 0, "{}", run.stderr);
}

#[test]
fn a_wrong_argument_is_repeated_without_its_secret() {
    let with_user = format!("https://user:{SECRET}@host/a");
    let with_query = format!("https://host/a?X-Amz-Signature={SECRET}&X-Amz-Expires=60");
    for url in [
        with_user.clone(),
        with_query,
        format!("https://host/a#access_token={SECRET}"),
        format!("https://user:{}@host", SECRET.replace('/', "%2F")),
        format!("https%3A%2F%2Fuser%3A{SECRET}%40host"),
        format!(" https://user:{SECRET}@host\u{1b}[31m"),
        format!("X-Amz-Signature={SECRET}"),
        format!("sig={SECRET}&token={SECRET}"),
        format!("user:{SECRET}@host"),
    ] {
        let (option, unknown) = (format!("--source={url}"), format!("--unknown={url}"));
        let (url, option, unknown) = (url.as_str(), option.as_str(), unknown.as_str());
        for arguments in [
            vec!["convert", "a", "b", url],
            vec![url],
            vec!["convert", "a", "b", "--parts", url],
            vec!["convert", "a", "b", "--threads", url],
            vec!["convert", "a", "b", "--tables", url],
            vec!["convert", "a", "b", "--trace", url],
            vec!["convert", "a", "b", "--cell", url],
            vec!["convert", "a", "b", "--shard", url],
            vec!["convert", "a", "b", "--derive", url],
            vec!["convert", "a", "b", "--sample", url],
            vec!["convert", "a", "b", "--time", url],
            vec!["convert", "a", "b", "--accept", url],
            vec!["convert", "a", "b", "--memory", url],
            vec!["convert", "a", "b", "--compression", url],
            vec!["convert", "a", "b", "--progress", url],
            vec!["convert", "a", "b", unknown],
            vec!["convert", "a", "b", "--progress", "json", unknown],
            vec!["convert", option, "a", "b"],
            vec!["schema", url],
            vec!["schema", "google-2011-v2.1", url],
            vec!["generate", url, "a"],
            vec!["man", url],
            vec!["completions", url],
        ] {
            let refused = silent(plain(), &arguments);
            assert_eq!(refused.code, 2, "{arguments:?}: {}", refused.stderr);
        }
    }
    let refused = silent(plain(), &["generate", "google-2011-v2.1", &with_user]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
}

/// The ways to see what the program logs; each level has the lines of those before it.
const LEVELS: &[&str] = &["", "error", "warn", "info", "debug", "trace"];

/// Runs the program, and looks for the secret in what it says and in what is in these directories.
fn look(
    command: impl Fn() -> std::process::Command,
    arguments: &[&str],
    levels: &[&str],
    places: &[&std::path::Path],
) -> Result<(), String> {
    for level in levels {
        let output = command().env("RUST_LOG", level).args(arguments).output();
        let run = ended(output.unwrap());
        let said = format!("{}{}", run.stdout, run.stderr);
        let leak = said.lines().find(|line| line.contains("K7MDENG"));
        ensure(leak.is_none(), || format!("{level}: {leak:?}"))?;
        ensure(run.code >= 0 && !said.contains("panicked"), || said)?;
    }
    for place in places {
        for (name, bytes) in tree(place).unwrap_or_default() {
            let text = String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned();
            let is_clean = !text.contains("K7MDENG") && !name.contains("K7MDENG");
            ensure(is_clean, || format!("{name} has it"))?;
        }
    }
    Ok(())
}

#[test]
fn no_command_shows_a_secret_of_its_arguments_at_any_level() {
    let server = Server::of(&committed_sample(), "trace/", |_| Answer::Well);
    let host = server.url().replace("http://", "");
    let url = |path: &str| format!("http://user:wJalr%2FK7MDENG@{host}/trace{path}?sig=K7MDENG");
    let (trace, file) = (url(""), url("/job_events/part-00001-of-00002.csv.gz"));
    let (sums, toml) = (url("/SHA256SUM"), url("/trace.toml"));
    let scratch = Scratch::new();
    let sample = committed_sample();
    let (local, out) = (sample.to_str().unwrap(), scratch.out());
    let out = out.to_str().unwrap();
    run(["convert", local, out]).exits(0);
    let new = scratch.path().join("new");
    let new = new.to_str().unwrap();
    let name = &tracelake_testkit::trace().name;
    let cases: &[&[&str]] = &[
        &["convert", &file, new],
        &["convert", &file, new, "--progress", "json"],
        &["convert", &file, new, "--dry-run"],
        &["convert", &file, new, "--shard", "0/2"],
        &["convert", &trace, new],
        &["convert", local, new, "--checksums", &sums],
        &["convert", local, new, "--trace", &toml],
        &["convert", local, &trace],
        &[
            "convert",
            local,
            new,
            "--sample",
            "0/2",
            "--sample-by",
            &trace,
        ],
        &[
            "convert",
            local,
            new,
            "--sample",
            "0/2",
            "--sample-by",
            "user:K7MDENG@host",
        ],
        &["convert", local, new, "--columns", "user:K7MDENG@host"],
        &["convert", local, new, "--columns", &trace],
        &["convert", local, new, "--tables", &trace],
        &["convert", local, new, "--cell", &trace],
        &["commit", &trace],
        &["verify", &trace],
        &["verify", &trace, "--json"],
        &["verify", out, "--source", &trace],
        &["verify", out, "--source", &file],
        &["release", &trace],
        &["inspect", &trace],
        &["inspect", &trace, "--json"],
        &["inspect", &trace, "--trace", &toml],
        &["schema", &toml],
        &["schema", name, &trace],
        &["schema", "--new", &file],
        &["generate", name, &trace],
        &["generate", &trace, new],
        &["man", &trace],
        &["completions", &trace],
        &["check", &trace],
        &["report", &trace, "-o", &file],
        &["derive", &trace, &file, "--tables", &trace],
        &[&trace],
    ];
    let mut score = Score::new("commands that get a secret");
    for piece in ["user:K7MDENG@host", "user%3AK7MDENG%40host", "sig=K7MDENG"] {
        for arguments in [
            &["convert", piece, new][..],
            &["convert", local, piece],
            &["convert", local, new, "--checksums", piece],
            &["commit", piece],
            &["verify", out, "--source", piece],
            &["release", piece],
            &["inspect", piece],
            &["schema", "--new", piece],
            &["generate", name, piece],
        ] {
            let looked = look(plain, arguments, &[""], &[]);
            score.count(&arguments.join(" "), looked);
        }
    }
    for arguments in cases {
        // All that any level shows is shown by the last one; one command tries them all.
        let levels = match *arguments == cases[0] {
            true => LEVELS,
            false => &["", "trace"],
        };
        let places = [scratch.path()];
        let looked = look(plain, arguments, levels, &places);
        score.count(&arguments.join(" "), looked);
        let _ = std::fs::remove_dir_all(new);
    }
    score.close();
}

#[test]
fn no_level_shows_a_secret_of_the_environment() {
    let source = committed_sample();
    let server = Server::of(&source, "bucket/trace/", |_| Answer::Well);
    let refuses = Server::start(Default::default(), |_| refusal(403, "AccessDenied"));
    let mut score = Score::one_in(5, "variables that hold a secret");
    let names: [(&str, &[&str]); 3] = [
        (
            "s3://bucket/trace",
            &[
                "AWS_ENDPOINT_URL",
                "AWS_ENDPOINT_URL_S3",
                "AWS_ENDPOINT_URL_STS",
                "AWS_ENDPOINT",
                "AWS_METADATA_ENDPOINT",
                "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                "AWS_CONTAINER_AUTHORIZATION_TOKEN",
                "AWS_ACCESS_KEY_ID",
                "AWS_SECRET_ACCESS_KEY",
                "AWS_SESSION_TOKEN",
                "AWS_REGION",
                "AWS_DEFAULT_REGION",
                "AWS_WEB_IDENTITY_TOKEN_FILE",
            ],
        ),
        (
            "gs://bucket/trace",
            &[
                "GOOGLE_BASE_URL",
                "STORAGE_EMULATOR_HOST",
                "GOOGLE_BEARER_TOKEN",
                "GOOGLE_SERVICE_ACCOUNT_KEY",
            ],
        ),
        (
            "az://bucket/trace",
            &[
                "AZURE_STORAGE_ENDPOINT",
                "AZURE_ENDPOINT",
                "AZURE_STORAGE_ACCOUNT_NAME",
                "AZURE_STORAGE_ACCOUNT_KEY",
                "AZURE_STORAGE_SAS_KEY",
                "AZURE_STORAGE_TOKEN",
                "IDENTITY_ENDPOINT",
            ],
        ),
    ];
    for (url, names) in names {
        for name in names {
            for (kind, server) in [("answers", &server), ("refuses", &refuses)] {
                let address = server.url();
                let host = address.strip_prefix("http://").unwrap();
                for value in [
                    format!("http://user:wJalr%2FK7MDENG@{host}"),
                    format!("http://K7MDENG@{host}/bucket?sig=K7MDENG"),
                    "wJalrXUtnFEMI/K7MDENG".to_owned(),
                    "user:K7MDENG@host".to_owned(),
                ] {
                    if !score.is_due() {
                        continue;
                    }
                    let command = || {
                        let mut command = with_stores(&address);
                        command
                            .env("AZURE_STORAGE_ACCOUNT_NAME", "tests")
                            .env("AZURE_STORAGE_ENDPOINT", &address)
                            .env("AWS_METADATA_ENDPOINT", &address)
                            .env(name, &value);
                        command
                    };
                    let looked = look(command, &["inspect", url], &["trace"], &[]);
                    score.count(&format!("{name}={value}, {kind}"), looked);
                }
            }
        }
    }
    score.close();
}

#[test]
fn no_level_shows_a_secret_of_a_redirect() {
    let source = committed_sample();
    let target = Server::of(&source, "", |_| Answer::Well);
    let file = "job_events/part-00001-of-00002.csv.gz";
    let mut score = Score::new("redirects that hold a secret");
    for to in [
        format!("{}/{file}?sig=K7MDENG", target.url()),
        format!("{}/{file}", target.url()).replace("//", "//user:K7MDENG@"),
        format!("{}/{file}", target.url()).replace("//", "//K7MDENG@"),
        format!("/{file}?code=K7MDENG"),
        "http://user:K7MDENG@127.0.0.1:1/a?b=K7MDENG".to_owned(),
        "http://user:K7MDENG@[::bad/a".to_owned(),
        "ftp://user:K7MDENG@host/a".to_owned(),
    ] {
        let first = sent_on(to.clone());
        for url in [
            format!("{}/{file}", first.url()),
            "s3://bucket/a".to_owned(),
        ] {
            let command = || with_stores(&first.url());
            let looked = look(command, &["inspect", &url], &["", "trace"], &[]);
            score.count(&format!("{to}, {url}"), looked);
        }
    }
    score.close();
}

#[test]
fn an_environment_that_no_store_can_be_made_from_is_an_error_and_no_panic() {
    let scratch = Scratch::new();
    let token = scratch.path().join("token");
    std::fs::write(&token, format!("{SECRET}\n")).unwrap();
    let server = Server::start(Default::default(), |_| status(403));
    let url = server.url();
    let endpoint = url.as_str();
    let secret = format!("{SECRET}\n");
    let cases: &[(&[(&str, &str)], &str)] = &[
        (
            &[("AWS_ENDPOINT_URL", "ht!tp://host")],
            "AWS_ENDPOINT_URL is not the URL",
        ),
        (
            &[
                ("AWS_ENDPOINT_URL", endpoint),
                ("AWS_CONTAINER_CREDENTIALS_FULL_URI", endpoint),
                (
                    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
                    token.to_str().unwrap(),
                ),
            ],
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE names a file with a line end",
        ),
        (
            &[
                ("AWS_ENDPOINT_URL", endpoint),
                ("AWS_ACCESS_KEY_ID", "tests"),
                ("AWS_SECRET_ACCESS_KEY", "tests"),
                ("AWS_SESSION_TOKEN", &secret),
            ],
            "AWS_SESSION_TOKEN has a line end",
        ),
    ];
    for (variables, said) in cases {
        let mut command = plain();
        command.envs(variables.iter().copied());
        let run = silent(command, &["inspect", "s3://bucket/a"]);
        assert_eq!(run.code, 1, "{}", run.stderr);
        run.prints(said);
        assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    }
    // A portal may answer for the metadata service.
    let portal = Server::start(Default::default(), |_| {
        Answer::Status(200, Vec::new(), "<html>\n</html>\n".to_owned())
    });
    let mut command = plain();
    command.env("AWS_ENDPOINT_URL", &url);
    command.env("AWS_METADATA_ENDPOINT", portal.url());
    let run = silent(command, &["inspect", "s3://bucket/a"]);
    assert!(!portal.asked().is_empty());
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
}
