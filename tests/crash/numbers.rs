//! Numbers in the names of files: none of them decides how much memory a run takes.

use crate::crash::child::measured;
use crate::support::{Score, Scratch, ensure, good_row, program};

#[test]
fn a_name_with_a_huge_number_is_refused_or_costs_nothing() {
    let mut score = Score::new("huge numbers in names");
    let row = format!("{}\n", good_row("job_events"));
    for (name, arguments, code) in [
        ("part-00000-of-4294967295.csv", &[][..], 1),
        ("part-00000-of-4294967295.csv", &["--allow-missing"], 1),
        ("part-00000-of-500000000.csv", &["--allow-missing"], 1),
        ("part-4294967294-of-4294967295.csv", &["--allow-missing"], 1),
        ("part-00000-of-1000000.csv", &["--allow-missing"], 0),
        ("part-00000-of-1000000.csv", &["--parts", "0"], 0),
        ("part-00000-of-1000000.csv", &[], 1),
    ] {
        let scratch = Scratch::new();
        scratch.file(&format!("job_events/{name}"), row.as_bytes());
        let mut command = program();
        command.arg("convert").args([scratch.src(), scratch.out()]);
        command.args(arguments);
        let (run, peak) = measured(command);
        let outcome = ensure(run.code == code, || {
            format!("exit {}: {}", run.code, run.stderr)
        });
        let outcome = outcome
            .and_then(|()| ensure(run.stderr.len() < 2000, || "says too much".to_owned()))
            .and_then(|()| ensure(peak < 256 << 20, || format!("{} MiB", peak >> 20)));
        score.count(&format!("{name} {arguments:?}"), outcome);
    }
    score.close();
}
