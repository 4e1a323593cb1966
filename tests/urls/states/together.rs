//! Two runs on one lake in a bucket at once, one of which may be killed.

use super::*;
use crate::shards::together::pairs;

#[test]
fn two_runs_at_once_make_one_lake_in_a_bucket() {
    pairs(
        "two runs at once in a bucket",
        || store(&Objects::new(), |_| Answer::Well),
        |server, tables| command(server, &known(tables), &[]),
        |server, pair| {
            let scratch = Scratch::new();
            for tables in pair {
                convert(plain(), source(), &scratch.out(), &of(&known(tables))).well();
            }
            let expected = super::super::lakes::on_disk(&scratch.out());
            let mut found = server.objects(PREFIX);
            found.retain(|name, _| !name.starts_with(FACTS));
            ensure(found == expected, || {
                let names: Vec<&String> = found.keys().collect();
                format!("another lake than that of one run: {names:?}")
            })
        },
    );
}

/// The tables of these that the source has.
fn known(tables: &str) -> String {
    let has = [JOBS, MACHINES, "task_usage"];
    let tables = tables.split(',').filter(|table| has.contains(table));
    tables.collect::<Vec<_>>().join(",")
}
