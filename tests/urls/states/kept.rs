//! Releases beside runs that add to the lake.

use super::held::Holding;
use super::{
    JOBS, OTHERS, PREFIX, RELEASE, after, lake, recorded, released, same, store, tracelake,
};
use tracelake_testkit::server::Asked;
use tracelake_testkit::{Score, ensure};

/// A release that ends after any write is taken up by the next one, and disturbs no run.
#[test]
fn a_release_that_ends_after_any_write_is_taken_up() {
    let mut score = Score::one_in(5, "releases that end after each of their writes");
    let whole = released();
    let grown = after(&whole, &[(OTHERS, &[])]);
    for (what, before, expected) in [
        ("release", lake(JOBS), &whole),
        ("release again", whole.clone(), &whole),
        (
            "release after an addition",
            grown.clone(),
            &after(&grown, &[("", RELEASE)]),
        ),
    ] {
        for most in 0.. {
            if !score.is_due() {
                continue;
            }
            let (_, rule) = recorded(most);
            let server = store(&before, rule);
            let run = tracelake(&server, "", RELEASE);
            let left = server.objects(PREFIX);
            let resumed = || {
                // Runs neither mind the files of a release nor change them.
                let adds: &[(&str, &[&str])] = &[("", &[])];
                let mut added = after(&left, adds);
                for name in left.keys().filter(|name| !lake("").contains_key(*name)) {
                    ensure(added.get(name) == left.get(name), || {
                        format!("{name} changed")
                    })?;
                    added.remove(name);
                }
                same(&added, &lake(""))?;
                same(&after(&left, &[("", RELEASE)]), expected)
            };
            score.count(&format!("{what}, {most} writes"), resumed());
            if run.code != 1 {
                assert!(run.code == 0, "{what}: {}", run.stderr);
                break;
            }
        }
    }
    score.close();
}

/// Whether the card of a release is put.
fn puts_card(asked: &Asked) -> bool {
    asked.method == "PUT" && asked.path.ends_with("/README.md")
}

#[test]
fn a_release_of_a_lake_that_changes_says_so() {
    let adds: &[(&str, &[&str])] = &[(OTHERS, &[])];
    let holding = Holding::new(&lake(JOBS), puts_card);
    let run = holding.around("", RELEASE, adds).unwrap();
    assert_eq!(run.code, 6, "{}", run.stderr);
    run.prints("changed while it was released");
    let left = holding.server.objects(PREFIX);
    same(
        &after(&left, &[("", RELEASE)]),
        &after(&lake(""), &[("", RELEASE)]),
    )
    .unwrap();
}
