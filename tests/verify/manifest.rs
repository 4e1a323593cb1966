//! A manifest protects itself: every reader notices a flipped bit.

use std::ffi::OsStr;
use std::fs;

use crate::verify::patient::Patient;
use tracelake_testkit::{Score, committed_sample, convert, ensure, run, tree};

const MANIFEST: &str = "_tracelake/manifest.json";

#[test]
fn every_reader_notices_a_flipped_bit() {
    let patient = Patient::new("machine_events");
    let path = patient.lake().join(MANIFEST);
    let whole = fs::read(&path).unwrap();
    let right = tree(&patient.lake());
    let mut score = Score::new("flipped bits of a manifest");
    let lake = patient.lake();
    // The unit test of `manifest` flips every bit; here each command meets some of them.
    for at in (0..whole.len()).step_by(29) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        for command in ["verify", "inspect", "release"] {
            fs::write(&path, &bytes).unwrap();
            let run = run([OsStr::new(command), lake.as_os_str()]);
            let says = "the manifest is damaged";
            let outcome = ensure(run.code == 5 && run.stderr.contains(says), || {
                format!("exit {}: {}", run.code, run.stderr)
            });
            score.count(&format!("byte {at}, {command}"), outcome);
        }
        let run = convert(&committed_sample(), &lake, &["--tables", "machine_events"]);
        let outcome = ensure(run.code == 0 && run.stderr.contains("warning: "), || {
            format!("exit {}: {}", run.code, run.stderr)
        });
        let outcome =
            outcome.and_then(|()| ensure(tree(&lake) == right, || "another lake".to_owned()));
        score.count(&format!("byte {at}, convert"), outcome);
    }
    score.close();
}

#[test]
fn a_manifest_without_a_digest_is_refused() {
    let patient = Patient::new("machine_events");
    let json = serde_json::to_vec_pretty(&patient.healthy).unwrap();
    fs::write(patient.lake().join(MANIFEST), json).unwrap();
    let run = patient.verify();
    run.refuses(5, "the manifest is damaged");
    assert!(
        run.message()
            .ends_with("run convert again, for all parts of the lake, to write it again")
    );
}
