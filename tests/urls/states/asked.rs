//! A shard asks the store for the facts of its parts by name, and lists no more than the directories of tables that are cut.

use std::collections::BTreeSet;

use super::{FACTS, Objects, PREFIX, store};
use crate::urls::with_stores;
use tracelake_testkit::server::{Answer, Asked, Server};
use tracelake_testkit::{Run, Scratch, ended, generate};

/// A source of tables in one file each, from which another one is derived.
fn cut_source(scratch: &Scratch) -> String {
    let src = scratch.path().join("alibaba");
    generate("alibaba-2018", &src, &["--rows", "3000"]);
    src.to_str().unwrap().to_owned()
}

fn converted(server: &Server, src: &str, options: &[&str]) -> Run {
    let mut command = with_stores(&server.url());
    command.args(["convert", src, super::OUT]).args(options);
    ended(command.output().unwrap())
}

fn convert(server: &Server, src: &str, options: &[&str]) -> Run {
    let run = converted(server, src, options);
    assert_eq!(run.code, 0, "{options:?}: {}", run.stderr);
    run
}

/// The names of facts that were asked for, and how many listings.
fn facts_and_lists(asked: &[Asked]) -> (Vec<String>, usize) {
    let facts = asked.iter().filter(|asked| asked.method == "GET");
    let facts = facts.filter_map(|asked| asked.path.strip_prefix(PREFIX)?.strip_prefix(FACTS));
    let lists = asked
        .iter()
        .filter(|asked| asked.query.contains("list-type"));
    (facts.map(str::to_owned).collect(), lists.count())
}

/// The requests of a second run of shard 0 of 2, which has nothing to do; and the facts that the first one has noted.
fn again(before: &Objects, src: &str, options: &[&str]) -> (Vec<Asked>, BTreeSet<String>) {
    let server = store(before, |_| Answer::Well);
    let [first, second] = ["0/2", "1/2"].map(|shard| [&["--shard", shard][..], options].concat());
    let noted = |server: &Server| -> BTreeSet<String> {
        let objects = server.objects(PREFIX).into_keys();
        objects
            .filter_map(|name| Some(name.strip_prefix(FACTS)?.to_owned()))
            .collect()
    };
    let earlier = noted(&server);
    convert(&server, src, &first);
    let own: BTreeSet<String> = noted(&server).difference(&earlier).cloned().collect();
    convert(&server, src, &second);
    assert!(
        noted(&server).len() > earlier.len() + own.len(),
        "the other shard has no parts"
    );
    let begun = server.asked().len();
    convert(&server, src, &first).prints("0 parts converted");
    (server.asked().split_off(begun), own)
}

#[test]
fn a_shard_asks_for_the_facts_of_its_own_parts_by_name() {
    let scratch = Scratch::new();
    let cut = cut_source(&scratch);
    let part_rows = ["--part-rows", "100"];
    let derive = [&part_rows[..], &["--derive", "dag"]].concat();
    let tasks = [&part_rows[..], &["--tables", "batch_task"]].concat();
    let server = store(&Objects::new(), |_| Answer::Well);
    convert(&server, &cut, &tasks);
    let finished = server.objects(PREFIX);
    let grown = [
        &part_rows[..],
        &["--tables", "machine_meta", "--derive", "dag"],
    ]
    .concat();
    let nothing = Objects::new();
    let cases = [
        (&nothing, super::source(), &[][..]),
        (&nothing, &cut[..], &derive[..]),
        (&finished, &cut[..], &grown[..]),
    ];
    for (before, src, options) in cases {
        let (asked, own) = again(before, src, options);
        let (facts, lists) = facts_and_lists(&asked);
        let once: BTreeSet<String> = facts.iter().cloned().collect();
        assert_eq!(once.len(), facts.len(), "{options:?} asks twice: {facts:?}");
        assert!(
            own.is_subset(&once),
            "{options:?} asks for {once:?}, not {own:?}"
        );
        // Plans, and for each table of a file that is cut its outputs and its facts.
        let tables: BTreeSet<&str> = own
            .iter()
            .filter_map(|name| Some(name.split_once('/')?.0))
            .collect();
        assert!(
            lists <= 1 + 2 * (tables.len() + 6),
            "{options:?}: {lists} listings"
        );
        let outputs = asked
            .iter()
            .filter(|asked| asked.path.ends_with(".parquet"));
        let whole = outputs.filter(|asked| asked.range() != Some((0, 1)));
        let whole: Vec<_> = whole.map(|asked| &asked.path).collect();
        assert!(whole.is_empty(), "{options:?} reads outputs: {whole:?}");
    }
}

#[test]
fn a_shard_puts_no_plan_for_a_table_that_it_cannot_derive() {
    let scratch = Scratch::new();
    let cut = cut_source(&scratch);
    let options = [
        "--part-rows",
        "100",
        "--tables",
        "machine_meta",
        "--derive",
        "dag",
        "--shard",
        "0/2",
    ];
    let server = store(&Objects::new(), |_| Answer::Well);
    let run = converted(&server, &cut, &options);
    assert_eq!(run.code, 2, "{}", run.stderr);
    let says = "is derived from batch_task, which is neither selected nor in the lake";
    run.prints(says);
    assert_eq!(server.objects(PREFIX), Objects::new());
}
