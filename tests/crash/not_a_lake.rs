//! Directories that only look like a lake: every command leaves them as they are.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::crash::child::within_time;
use tracelake_testkit::{Score, Scratch, copy, ensure, finished_lake, good_line, tree};

/// Makes a directory beside another one, which has what a lake has and more.
type Make = fn(out: &Path, outside: &Path);

fn link(to: &Path, from: &Path) {
    fs::create_dir_all(from.parent().unwrap()).unwrap();
    symlink(to, from).unwrap();
}

fn write(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "precious").unwrap();
}

const DIRECTORIES: &[(&str, Make)] = &[
    ("its home is a link to another one", |out, outside| {
        link(&outside.join("_tracelake"), &out.join("_tracelake"));
    }),
    (
        "its home is a link, and its tables are there",
        |out, outside| {
            copy(finished_lake(), out);
            fs::remove_dir_all(out.join("_tracelake")).unwrap();
            link(&outside.join("_tracelake"), &out.join("_tracelake"));
        },
    ),
    ("its home is a link to nothing", |out, outside| {
        link(&outside.join("nothing"), &out.join("_tracelake"));
    }),
    ("staging is a link", |out, outside| {
        copy(finished_lake(), out);
        let staging = outside.join("_tracelake/staging");
        link(&staging, &out.join("_tracelake/staging"));
    }),
    ("other files are beside an empty home", |out, _| {
        fs::create_dir_all(out.join("_tracelake")).unwrap();
        write(&out.join("thesis.tex"));
    }),
    ("other files are beside staged ones", |out, _| {
        write(&out.join("_tracelake/staging/0/file"));
        write(&out.join("thesis.tex"));
    }),
    ("its home holds something else", |out, _| {
        write(&out.join("_tracelake/staging/0/file"));
        write(&out.join("_tracelake/notes.txt"));
    }),
];

/// The paths of everything in a directory; links aren't followed.
fn names(directory: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(directory).unwrap();
    let each = entries.flat_map(|entry| {
        let path = entry.unwrap().path();
        let below = match path.symlink_metadata().unwrap().is_dir() {
            true => names(&path),
            false => BTreeSet::new(),
        };
        below.into_iter().chain([path])
    });
    each.collect()
}

const COMMANDS: &[&[&str]] = &[
    &["commit", "OUT"],
    &["commit", "OUT", "--remove-unnamed"],
    &["convert", "SRC", "OUT"],
    &["convert", "SRC", "OUT", "--dry-run"],
    &["convert", "SRC", "OUT", "--overwrite"],
    &["convert", "SRC", "OUT", "--shard", "0/1"],
    &["release", "OUT", "--allow-missing"],
    &["verify", "OUT"],
    &["inspect", "OUT"],
];

#[test]
fn what_is_no_lake_stays_as_it_is() {
    let scratch = Scratch::new();
    let row = good_line("job_events");
    scratch.only("job_events", row.as_bytes());
    let outside = scratch.path().join("outside");
    copy(finished_lake(), &outside);
    write(&outside.join("_tracelake/staging/0/file"));
    let out = scratch.out();
    let mut score = Score::new("commands on what is no lake");
    for (what, make) in DIRECTORIES {
        for command in COMMANDS {
            make(&out, &outside);
            let before = (names(&out), tree(&outside));
            let (src, lake) = (scratch.src(), out.clone());
            let arguments = command.iter().map(|argument| match *argument {
                "SRC" => src.to_str().unwrap(),
                "OUT" => lake.to_str().unwrap(),
                word => word,
            });
            let run = within_time(&arguments.collect::<Vec<_>>());
            let is_changed = (names(&out), tree(&outside)) != before;
            // Only a command that removes staged files sees that they are elsewhere.
            let reads = ["verify", "inspect", "--dry-run"];
            let looks = reads.iter().any(|word| command.contains(word));
            let expected: &[i32] = match looks {
                true => &[0, 1, 5, 6],
                false => &[6],
            };
            let outcome = ensure(!is_changed, || "something has changed".to_owned());
            let outcome = outcome.and_then(|()| {
                ensure(expected.contains(&run.code), || {
                    format!("exit {}: {}", run.code, run.stderr)
                })
            });
            score.count(&format!("{what}: {command:?}"), outcome);
            fs::remove_dir_all(&out).unwrap();
        }
    }
    score.close();
}

/// Without a lake there is nothing to commit, and what was staged may be of a run that is about to begin.
#[test]
fn a_commit_without_a_lake_removes_nothing() {
    let scratch = Scratch::new();
    let out = scratch.out();
    write(&out.join("_tracelake/staging/0/file"));
    let before = tree(&out);
    for more in [&[][..], &["--remove-unnamed"]] {
        within_time(&[&["commit", out.to_str().unwrap()], more].concat()).refuses(6, "not a lake");
        assert_eq!(tree(&out), before);
    }
}
