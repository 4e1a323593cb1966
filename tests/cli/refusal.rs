//! Properties of every refusal, checked in one place.

use std::fs;

use tracelake_testkit::{Scratch, assert_same_tree, copy, finished_lake, tree};

/// How a refusal looks.
pub(crate) struct Refusal<'a> {
    pub(crate) arguments: &'a [&'a str],
    pub(crate) code: i32,
    /// The message has all of these.
    pub(crate) says: &'a [&'a str],
}

/// Converts into an OUT that is absent, one that is empty, and one that holds a finished lake which
/// may be replaced: each time the same refusal in one line, and OUT as it was.
#[track_caller]
pub(crate) fn refused(name: &str, scratch: &Scratch, refusal: &Refusal<'_>) {
    for before in ["absent", "empty", "finished"] {
        let out = scratch.out();
        let mut arguments = refusal.arguments.to_vec();
        match before {
            "absent" => {}
            "empty" => fs::create_dir(&out).unwrap(),
            _ => {
                copy(finished_lake(), &out);
                arguments.push("--overwrite");
            }
        }
        let source = tree(&scratch.src());
        let was = tree(&out);
        let run = scratch.convert(&arguments);
        let what = format!("{name}, OUT {before}: {}", run.stderr);
        assert_eq!(run.code, refusal.code, "{what}");
        assert_eq!(run.stdout, "", "{what}");
        let message = run.message();
        for says in refusal.says {
            assert!(message.contains(says), "{what}: lacks {says:?}");
        }
        // A message that says what to do has it after a semicolon; rows say where to look.
        let place = message.split(": ").next().unwrap();
        let line_given = place
            .rsplit(':')
            .next()
            .is_some_and(|n| n.parse::<u64>().is_ok());
        assert!(
            line_given || message.contains("; "),
            "{what}: says not what to do"
        );
        assert_same_tree(&tree(&out), &was, &what);
        assert_same_tree(&tree(&scratch.src()), &source, &what);
    }
    fs::remove_dir_all(scratch.out()).unwrap();
}
