//! The commit protocol in a bucket as tables: for each state of a lake, the exit code of each command, what its message
//! says, and the objects that it leaves. Facts stay in a bucket, so they aren't compared.

mod asked;
mod held;
mod kept;
mod outputs;
mod steps;
mod table;
mod together;
mod undisturbed;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};

use super::{convert, plain, with_stores};
use tracelake_testkit::server::{Answer, Asked, Server};
use tracelake_testkit::{Run, Scratch, ended, ensure, rows, table as table_of};

/// Objects by their name in the lake.
type Objects = BTreeMap<String, Vec<u8>>;

const OUT: &str = "s3://bucket/lake";
const PREFIX: &str = "bucket/lake/";
const MANIFEST: &str = "_tracelake/manifest.json";
const PLANS: &str = "_tracelake/plans/";
const FACTS: &str = "_tracelake/facts/";

/// Tables of the source, as `--tables` takes them; each has its own directory.
const JOBS: &str = "job_events";
const MACHINES: &str = "machine_events";
const OTHERS: &str = "machine_events,task_usage";

/// A source of three tables, two of which have two parts.
fn source() -> &'static str {
    static SOURCE: OnceLock<(Scratch, String)> = OnceLock::new();
    let (_, path) = SOURCE.get_or_init(|| {
        let scratch = Scratch::new();
        for (name, parts) in [(JOBS, 2), (MACHINES, 1), ("task_usage", 2)] {
            for part in 0..parts {
                let text = rows::sample(table_of(name), part, 20);
                scratch.part(name, part, parts, text.as_bytes());
            }
        }
        let path = scratch.src().to_str().unwrap().to_owned();
        (scratch, path)
    });
    path
}

/// The lake of these tables (all if empty) as one undisturbed run makes it on disk.
fn lake(tables: &str) -> Objects {
    let scratch = Scratch::new();
    convert(plain(), source(), &scratch.out(), &of(tables)).well();
    super::lakes::on_disk(&scratch.out())
}

/// The arguments that select tables.
fn of(tables: &str) -> Vec<&str> {
    match tables {
        "" => vec![],
        tables => vec!["--tables", tables],
    }
}

/// A store with this state.
fn store(state: &Objects, rule: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Server {
    let named = state.iter();
    let files = named.map(|(name, bytes)| (format!("{PREFIX}{name}"), bytes.clone()));
    Server::start(files.collect(), rule)
}

/// `convert` for these tables, or the command that the first argument names, on the lake.
fn command(server: &Server, tables: &str, arguments: &[&str]) -> Command {
    let mut command = with_stores(&server.url());
    match arguments.split_first() {
        Some((name @ (&"commit" | &"release"), more)) => command.args([name, OUT]).args(more),
        _ => command
            .args(["convert", source(), OUT])
            .args(of(tables))
            .args(arguments),
    };
    command
}

/// Runs such a command.
fn tracelake(server: &Server, tables: &str, arguments: &[&str]) -> Run {
    ended(command(server, tables, arguments).output().unwrap())
}

/// The objects after commands on a bucket in this state; each has to end well.
fn after(state: &Objects, commands: &[(&str, &[&str])]) -> Objects {
    let server = store(state, |_| Answer::Well);
    for (tables, arguments) in commands {
        let run = tracelake(&server, tables, arguments);
        assert_eq!(run.code, 0, "{tables} {arguments:?}: {}", run.stderr);
    }
    server.objects(PREFIX)
}

const RELEASE: &[&str] = &["release", "--allow-missing"];

/// The lake of one table, released.
fn released() -> Objects {
    after(&lake(JOBS), &[("", RELEASE)])
}

/// A write that a store got.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Write {
    Put(String),
    Removed(String),
}

/// The writes of a request, by names in the lake; an upload counts when it is completed.
fn writes(asked: &Asked) -> Vec<Write> {
    let name = |path: &str| path.strip_prefix(PREFIX).map(str::to_owned);
    let (is_part, is_upload) = (
        asked.query.contains("partNumber="),
        asked.query.contains("uploadId="),
    );
    match &asked.method[..] {
        "PUT" if !is_part => name(&asked.path).into_iter().map(Write::Put).collect(),
        "POST" if is_upload => name(&asked.path).into_iter().map(Write::Put).collect(),
        "POST" if asked.query.contains("delete") => {
            let body = String::from_utf8(asked.body.clone()).unwrap();
            let keys = body.split("<Key>").skip(1);
            let keys = keys.map(|rest| rest.split_once("</Key>").unwrap().0);
            let names = keys.filter_map(|key| name(&format!("bucket/{key}")));
            names.map(Write::Removed).collect()
        }
        "DELETE" if !is_upload => name(&asked.path).into_iter().map(Write::Removed).collect(),
        _ => Vec::new(),
    }
}

/// A rule that records the writes it lets pass, and refuses every request after the first `most` of them.
fn recorded(
    most: usize,
) -> (
    Arc<Mutex<Vec<Write>>>,
    impl Fn(&Asked) -> Answer + Send + Sync + 'static,
) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&log);
    let rule = move |asked: &Asked| {
        let mut seen = seen.lock().unwrap();
        let new = writes(asked);
        let is_over = seen.len() >= most;
        match is_over && (!new.is_empty() || asked.method != "GET") {
            true => tracelake_testkit::server::refusal(403, "AccessDenied"),
            false => {
                seen.extend(new);
                Answer::Well
            }
        }
    };
    (log, rule)
}

/// The names that are in one of two sets of objects, or differ.
fn difference(found: &Objects, expected: &Objects) -> BTreeSet<String> {
    let names = found.keys().chain(expected.keys());
    let differs =
        |name: &&String| !name.starts_with(FACTS) && found.get(*name) != expected.get(*name);
    names.filter(differs).cloned().collect()
}

/// Expects these objects and nothing else but facts.
fn same(found: &Objects, expected: &Objects) -> Result<(), String> {
    let differs = difference(found, expected);
    ensure(differs.is_empty(), || format!("differs: {differs:?}"))
}

/// The plans, the facts and the identity of a state, and nothing else of it.
fn plan_of(state: &Objects) -> Objects {
    let mut plan = state.clone();
    plan.retain(|name, _| name.starts_with("_tracelake/") && name != MANIFEST);
    plan
}

/// Both; the second one's objects replace those of the first.
fn union(one: &Objects, other: &Objects) -> Objects {
    let mut both = one.clone();
    both.extend(other.clone());
    both
}

/// Whether a state has a plan.
fn has_plan(state: &Objects) -> bool {
    state.keys().any(|name| name.starts_with(PLANS))
}
