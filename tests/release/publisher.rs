//! The file that the publisher of a lake fills in: it is never replaced, reaches the card and Croissant, and can't
//! break them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::release::{release, released, small};
use tracelake_testkit::{Scratch, assert_same_tree, run, tree};

const FORM: &str = "_tracelake/release.toml";

/// The keys that NeurIPS requires and nothing but a publisher knows.
const ASKED: [&str; 4] = [
    "data_biases",
    "personal_sensitive_information",
    "data_use_cases",
    "data_social_impact",
];

fn form(scratch: &Scratch) -> PathBuf {
    scratch.out().join(FORM)
}

fn croissant(scratch: &Scratch) -> Value {
    serde_json::from_slice(&fs::read(scratch.out().join("croissant.json")).unwrap()).unwrap()
}

fn verify(scratch: &Scratch) -> tracelake_testkit::Run {
    run([Path::new("verify"), &scratch.out()])
}

#[test]
fn a_form_is_written_once_and_asks_for_what_is_lacking() {
    let scratch = small(&["machine_events"]);
    let first = release(&scratch.out(), &["--allow-missing"]);
    first.well();
    let lacking = ASKED.join(", ");
    let warning = format!("{FORM} lacks what only you know, and NeurIPS requires: {lacking};");
    first.prints(&warning);
    let card = fs::read_to_string(scratch.out().join("README.md")).unwrap();
    let said = "says nothing about: data biases, personal sensitive information, data use cases, data social impact.";
    assert!(card.contains(said), "{card}");
    for key in ASKED {
        assert!(
            fs::read_to_string(form(&scratch))
                .unwrap()
                .contains(&format!("\n{key} = \"\"\n"))
        );
    }
    let empty = tree(&scratch.out());
    let filled: String = ASKED
        .iter()
        .map(|key| format!("{key} = \"One <b> of $5,\\nand \\\"two\\\": {key}\"\n"))
        .collect();
    let text = format!("url = \"https://example.org/lake\"\n[rai]\n{filled}");
    fs::write(form(&scratch), &text).unwrap();
    let changed = verify(&scratch);
    assert_eq!(changed.code, 5);
    changed.prints(&format!(
        "{FORM}: was changed since the release; run release again"
    ));
    let again = release(&scratch.out(), &["--allow-missing"]);
    again.well();
    assert!(!again.stderr.contains("lacks"), "{}", again.stderr);
    assert_eq!(fs::read_to_string(form(&scratch)).unwrap(), text);
    verify(&scratch).well();
    let card = fs::read_to_string(scratch.out().join("README.md")).unwrap();
    assert!(!card.contains("says nothing about"), "{card}");
    assert!(
        card.contains("**Biases.** One &lt;b> of \\$5, and \"two\": data_biases\n"),
        "{card}"
    );
    let described = croissant(&scratch);
    assert_eq!(described["url"], "https://example.org/lake");
    let biases = "One <b> of $5, and \"two\": data_biases";
    assert_eq!(described["rai:dataBiases"], biases);
    let json = fs::read_to_string(scratch.out().join("croissant.json")).unwrap();
    assert!(!json.contains('<'), "a page could take it for HTML");
    // The empty form gives the first release again.
    fs::remove_file(form(&scratch)).unwrap();
    release(&scratch.out(), &["--allow-missing"]).well();
    assert_same_tree(&tree(&scratch.out()), &empty, "an empty form");
}

#[test]
fn a_mistake_in_the_form_has_a_place_and_changes_nothing() {
    let scratch = released(&["machine_events"]);
    for (text, says) in [
        ("[rai]\ndata_bias = ''\n", ":2:1: unknown field `data_bias`"),
        ("url = 5\n", ":1:7: invalid type"),
        (
            "[rai]\ndata_biases = \"\\u001b[31m\"\n",
            ":2:15: a text has letters that aren't printed",
        ),
        ("url = \"javascript:alert(1)\"\n", ":1:7: not an address"),
        ("url = \n", ":1:7: "),
    ] {
        fs::write(form(&scratch), text).unwrap();
        let before = tree(&scratch.out());
        let refused = release(&scratch.out(), &["--allow-missing"]);
        assert_eq!(refused.code, 2, "{text}: {}", refused.stderr);
        refused.says(&format!("{FORM}{says}"));
        assert_same_tree(&tree(&scratch.out()), &before, text);
        let found = verify(&scratch);
        assert_eq!(found.code, 5, "{text}: {}", found.stderr);
        found.prints(&format!("{FORM}{says}"));
    }
    fs::write(form(&scratch), b"# \xff").unwrap();
    release(&scratch.out(), &["--allow-missing"]).refuses(2, &format!("{FORM}:1:3: not UTF-8"));
    let large = "# A comment.\n".repeat(6_000);
    fs::write(form(&scratch), large).unwrap();
    release(&scratch.out(), &["--allow-missing"]).refuses(5, "is larger than 65536 bytes");
    assert_eq!(verify(&scratch).code, 5);
}

/// A new lake in place of the old one takes over what was filled in, and nothing if nothing was.
#[test]
fn an_overwritten_lake_keeps_what_was_filled_in() {
    let scratch = released(&["machine_events"]);
    let overwrite = ["--overwrite", "--compression", "snappy"];
    let empty = scratch.convert(&overwrite);
    empty.well();
    assert!(!empty.stderr.contains(FORM), "{}", empty.stderr);
    assert!(!form(&scratch).exists());
    let fresh = tree(&scratch.out());
    let text = "[rai]\ndata_biases = \"One cluster.\"\n";
    fs::write(form(&scratch), text).unwrap();
    let kept = scratch.convert(&overwrite);
    kept.well();
    kept.prints(&format!(
        "{FORM} stays as it was filled in for the old lake"
    ));
    assert_eq!(fs::read_to_string(form(&scratch)).unwrap(), text);
    fs::remove_file(form(&scratch)).unwrap();
    assert_same_tree(&tree(&scratch.out()), &fresh, "but for the form");
}

/// Runs and clean-ups leave it alone.
#[test]
fn a_form_stays() {
    let scratch = released(&["machine_events"]);
    let text = "[rai]\ndata_biases = \"One cluster.\"\n";
    fs::write(form(&scratch), text).unwrap();
    scratch.good("job_events");
    scratch.convert_well(&[]);
    for command in ["--forget", "--remove-unnamed"] {
        run(["commit", scratch.out().to_str().unwrap(), command]).well();
    }
    assert_eq!(fs::read_to_string(form(&scratch)).unwrap(), text);
    release(&scratch.out(), &["--allow-missing"]).well();
    verify(&scratch).well();
    assert_eq!(croissant(&scratch)["rai:dataBiases"], "One cluster.");
}
