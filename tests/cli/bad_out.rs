//! Places where no lake can be made: each is refused and left as it was.

use std::fs::{self, File};
use std::path::Path;

use tracelake_testkit::{Scratch, assert_same_tree, convert, copy, finished_lake, tree};

fn source() -> Scratch {
    let scratch = Scratch::new();
    scratch.good("job_events");
    scratch
}

/// Converts, and compares everything in the scratch directory with what was there before.
#[track_caller]
fn refused(scratch: &Scratch, out: &Path, arguments: &[&str], code: i32, says: &[&str]) {
    let before = tree(scratch.path());
    let run = convert(&scratch.src(), out, arguments);
    assert_eq!(run.code, code, "{}", run.stderr);
    assert_eq!(run.stdout, "");
    says.iter().for_each(|says| run.says(says));
    assert_same_tree(&tree(scratch.path()), &before, &run.stderr);
}

/// An obstacle to a lake, and words of the message; the file that holds the lake stays open as long as the run.
type Case = (fn(&Path) -> Option<File>, &'static str);

const CASES: &[Case] = &[
    (
        |out| {
            fs::create_dir(out).unwrap();
            fs::write(out.join("thesis.tex"), "x").unwrap();
            None
        },
        "something else",
    ),
    (
        |out| {
            fs::write(out, "x").unwrap();
            None
        },
        "not a directory",
    ),
    (
        |out| {
            copy(finished_lake(), out);
            let lock = File::create(out.join("_tracelake/work")).unwrap();
            lock.lock().unwrap();
            Some(lock)
        },
        "another tracelake",
    ),
];

#[test]
fn what_is_in_the_way_or_in_use_stays() {
    for (make, says) in CASES {
        for arguments in [&[][..], &["--overwrite"]] {
            let scratch = source();
            let _held = make(&scratch.out());
            refused(
                &scratch,
                &scratch.out(),
                arguments,
                6,
                &["out: ", says, "; "],
            );
        }
    }
}

#[test]
fn the_source_itself_and_its_tables() {
    for arguments in [&[][..], &["--overwrite"]] {
        let scratch = source();
        refused(&scratch, &scratch.src(), arguments, 6, &["src: "]);
        let table = scratch.src().join("job_events");
        refused(&scratch, &table, arguments, 6, &["src/job_events: "]);
    }
}

#[test]
fn below_a_file() {
    let scratch = source();
    fs::write(scratch.path().join("file"), "x").unwrap();
    let out = scratch.path().join("file/lake");
    refused(&scratch, &out, &[], 6, &["/file: ", "not a directory"]);
}

#[cfg(target_os = "linux")]
#[test]
fn where_nothing_can_be_made() {
    // No user, not even root, can make a directory there.
    let out = Path::new("/proc/tracelake/lake");
    let says = ["/proc/tracelake: ", "cannot make", "; "];
    refused(&source(), out, &[], 1, &says);
}

/// A finished lake in which the directory of a table is a link that leads out of it.
#[cfg(unix)]
fn linked() -> Scratch {
    let scratch = source();
    scratch.convert_well(&[]);
    let elsewhere = scratch.path().join("elsewhere");
    fs::rename(scratch.out().join("job_events"), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, scratch.out().join("job_events")).unwrap();
    scratch
}

#[cfg(unix)]
#[test]
fn a_lake_with_a_link_that_leads_out_is_not_replaced() {
    for arguments in [&[][..], &["--overwrite"]] {
        let scratch = linked();
        let says = ["out/job_events: ", "symbolic link"];
        refused(&scratch, &scratch.out(), arguments, 6, &says);
    }
}

/// A file is where the directory of a table has to be made: that is no lake, and stays as it is.
#[test]
fn a_file_in_the_way_of_a_table() {
    let scratch = source();
    fs::create_dir_all(scratch.out().join("_tracelake")).unwrap();
    fs::write(scratch.out().join("job_events"), "x").unwrap();
    let run = convert(&scratch.src(), &scratch.out(), &[]);
    assert_eq!(run.code, 6, "{}", run.stderr);
    let message = run.message();
    assert!(
        message.contains("the directory holds something else"),
        "{message}"
    );
    assert_eq!(fs::read(scratch.out().join("job_events")).unwrap(), b"x");
    assert!(!scratch.out().join("_tracelake/manifest.json").exists());
}
