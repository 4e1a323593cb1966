//! Another `--on-bad-row` on the same OUT: a part without rejected rows has the same bytes either way.

use std::fs;

use tracelake_testkit::{Scratch, assert_same_tree, convert, good_line, output_path, tree};

const REJECT: &[&str] = &["--on-bad-row", "reject", "--threads", "1"];
const FAIL: &[&str] = &["--threads", "1"];

/// Three parts, of which one has a bad row; the largest comes first, so a part is done before it fails.
fn one_bad_part() -> Scratch {
    let scratch = Scratch::new();
    for number in 0..3_usize {
        let good = good_line("job_events").repeat(9 - number);
        let bad = if number == 1 { "bad\n" } else { "" };
        let number = u32::try_from(number).unwrap();
        scratch.file(
            &format!("job_events/part-{number:05}-of-00003.csv"),
            (good + bad).as_bytes(),
        );
    }
    scratch
}

#[test]
fn a_run_that_failed_continues_with_reject() {
    let scratch = one_bad_part();
    scratch.convert(FAIL).exits(4);
    let finished = scratch.out().join(output_path("job_events", 0, 3));
    let before = fs::metadata(&finished).unwrap().modified().unwrap();
    let rejected = scratch.convert(REJECT);
    assert_eq!(rejected.code, 3, "{}", rejected.stderr);
    let after = fs::metadata(&finished).unwrap().modified().unwrap();
    assert_eq!(before, after, "a finished part was made again");
    let from_the_start = scratch.path().join("from-the-start");
    convert(&scratch.src(), &from_the_start, REJECT).exits(3);
    assert_same_tree(&tree(&scratch.out()), &tree(&from_the_start), "reject");
    // Back again there is no way: rows were rejected.
    scratch
        .convert(FAIL)
        .refuses(6, "part 1 has 1 rejected row; pass --on-bad-row reject");
    assert_same_tree(&tree(&scratch.out()), &tree(&from_the_start), "refused");
}

#[test]
fn a_lake_without_rejected_rows_takes_either_policy() {
    let scratch = one_bad_part();
    let bad = scratch.src().join("job_events/part-00001-of-00003.csv");
    fs::write(bad, good_line("job_events")).unwrap();
    let [strict, lenient] = [FAIL, REJECT].map(|policy| {
        let out = scratch.path().join(policy.len().to_string());
        convert(&scratch.src(), &out, policy).well();
        tree(&out)
    });
    for (policy, expected) in [(FAIL, &strict), (REJECT, &lenient), (FAIL, &strict)] {
        scratch.convert_well(policy);
        assert_same_tree(&tree(&scratch.out()), expected, policy[1]);
    }
}
