//! Claims of the manifest and of rejects files that only the source can tell: their digests are right.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::described::describe;
use crate::described::language::{CODES, one_table};
use crate::verify::patient::Patient;
use tracelake_testkit::{
    Run, Score, Scratch, committed_sample, ensure, manifest, run, sha256, write_manifest,
};

/// Exit 5, one finding, and a message that says all of this.
#[track_caller]
fn found(run: &Run, says: &[&str]) {
    assert_eq!(run.code, 5, "{}", run.stderr);
    run.prints(": 1 wrong");
    for said in says {
        assert!(run.stderr.contains(said), "not {said}: {}", run.stderr);
    }
}

#[test]
fn another_size_of_a_source_is_found() {
    let patient = Patient::new("job_events,machine_events");
    let pointer = "/tables/0/parts/1/source/bytes";
    let bytes = patient.healthy.pointer(pointer).unwrap().as_u64().unwrap();
    for wrong in [bytes - 1, bytes + 1, 0, u64::MAX] {
        let mut json = patient.healthy.clone();
        *json.pointer_mut(pointer).unwrap() = Value::from(wrong);
        patient.write_manifest(&json);
        patient.verify().well();
        found(
            &patient.verify_source(),
            &[
                "part-00001-of-00002.csv.gz: job_events: ",
                &format!("has {bytes} bytes, as its digest says, but the manifest says {wrong}"),
            ],
        );
    }
}

#[test]
fn a_source_that_is_synthetic_is_not_called_published() {
    let patient = Patient::new("machine_events");
    let mut json = patient.healthy.clone();
    assert_eq!(json["synthetic"], true);
    json.as_object_mut().unwrap().remove("synthetic");
    patient.write_manifest(&json);
    patient.verify().well();
    let says = [
        "_tracelake/manifest.json: ",
        "says that the source was published, but SYNTHETIC.txt says that tracelake generate made it",
    ];
    found(&patient.verify_source(), &says);
    // So does a table, or a file, of such a source.
    let mut part = committed_sample().join("machine_events");
    for _ in 0..2 {
        let run = run([
            "verify".into(),
            patient.lake(),
            "--source".into(),
            part.clone(),
        ]);
        found(&run, &says);
        part.push("part-00000-of-00001.csv.gz");
    }
}

/// Rows with faults in each syntax, and how many rejects they make.
struct Rows {
    syntax: &'static str,
    columns: &'static [(&'static str, &'static str)],
    text: &'static [u8],
    rejects: usize,
}

const KINDS: &[(&str, &str)] = &[
    ("number", "kind = \"integer\"\nmandatory = true"),
    ("code", "kind = \"code\"\ncodes = \"mood\""),
    ("float", "kind = \"float\""),
    ("truth", "kind = \"boolean\""),
    ("text", "kind = \"text\""),
    ("local", "kind = \"date-time\"\nzone = \"none\""),
    ("utc", "kind = \"date-time\"\nzone = \"published\""),
];

const NESTED: &[(&str, &str)] = &[
    ("number", "kind = \"integer\"\nmandatory = true"),
    ("text", "kind = \"text\""),
    (
        "usage",
        "kind = \"struct\"\n[[table.column.field]]\nname = \"cpus\"\ncontent = \"cpus\"\nformat = \"ANY\"\n\
         obfuscation = \"unchanged\"\ndoc = \"A value.\"\nkind = \"float\"\nmandatory = true",
    ),
    (
        "after",
        "kind = \"list\"\n[[table.column.field]]\nname = \"item\"\ncontent = \"item\"\nformat = \"ANY\"\n\
         obfuscation = \"unchanged\"\ndoc = \"A value.\"\nkind = \"integer\"\nmandatory = true",
    ),
];

const ROWS: [Rows; 4] = [
    Rows {
        syntax: "csv",
        columns: KINDS,
        text: b"\xef\xbb\xbf1,,,,,,\n\
            ,,,,,,\n\
            +5,,,,,,\n\
            9223372036854775808,,,,,,\n\
            1,2147483648,,,,,\n\
            1,x,,,,,\n\
            1,,nan,,,,\n\
            1,,1e999,,,,\n\
            1,,,2,,,\n\
            1,,,,u\"r,,\n\
            1,,,,u\x01\",,\n\
            1,,,,u\xffr,,\n\
            1,,,,,2023-11-16,\n\
            1,,,,,2023-11-16 18:17:03Z,\n\
            1,,,,,2023-11-16 18:17:03.1234567,\n\
            1,,,,,2023-11-16 18:17:03.12x,\n\
            1,,,,,,2023-11-16 18:17:03\n\
            1,,,,,,2023-11-16 18:17:03.5+25:00\n\
            1,,,,,,2023-11-16 18:17:03.1234567+08:00\n\
            x,y,,,,,\n\
            \n\
            1,2\n\
            1,1,0.5,1,text,2023-11-16 18:17:03,2023-11-16 18:17:03Z\n\
            1,,,,,,\r\n\
            1,1,1,1,1",
        rejects: 24,
    },
    Rows {
        syntax: "csv",
        columns: &[
            ("number", "kind = \"integer\""),
            ("text", "kind = \"text\""),
        ],
        text: b"1,a\r\n2,b\n\r\n3\r\nx,c\r\ny,d\r",
        rejects: 5,
    },
    Rows {
        syntax: "quoted-csv",
        columns: NESTED,
        text: b"number,text,usage,after\n\
            1,\"a\nb\",{'cpus': 0.5},[1 2]\n\
            x,,,\n\
            ,,,\n\
            1,\"a\"b,,\n\
            1,\"a\nb\x02\",,\n\
            1,,{'cpus': 'x'},\n\
            1,,{'cpus': None},\n\
            1,,{'gpus': 1},\n\
            1,,5,\n\
            1,,,[1 x]\n\
            1,,,[1 2\n\
            1,,,[1 ... 2]\n\
            1,,,\"[1, 9223372036854775808]\"\n\
            1,,,5\n\
            \n\
            1,2\n\
            1,,,\r\n\
            1,\"open",
        rejects: 17,
    },
    Rows {
        syntax: "json",
        columns: NESTED,
        text: b"{\"number\":1,\"text\":\"a\",\"usage\":{\"cpus\":0.5},\"after\":[1,\"2\"]}\n\
            {\"number\":\"x\"}\n\
            {\"number\":1.5}\n\
            {\"number\":9223372036854775808}\n\
            {\"number\":null}\n\
            {\"text\":\"a\"}\n\
            {\"number\":1,\"text\":5}\n\
            {\"number\":1,\"other\":5}\n\
            {\"number\":1,\"number\":1}\n\
            {\"number\":1,\"usage\":{\"cpus\":\"nan\"}}\n\
            {\"number\":1,\"usage\":{\"cpus\":1e999}}\n\
            {\"number\":1,\"usage\":{}}\n\
            {\"number\":1,\"usage\":{\"gpus\":1}}\n\
            {\"number\":1,\"usage\":[]}\n\
            {\"number\":1,\"after\":{}}\n\
            {\"number\":1,\"after\":[1,true]}\n\
            {\"number\":1,\"after\":[null]}\n\
            {\"number\":1\n\
            5\n\
            \n\
            {\"number\":1,\"text\":\"\xff\"}\n\
            {\"number\":1}\r\n",
        rejects: 21,
    },
];

impl Rows {
    /// A lake of the rows.
    fn lake(&self) -> Scratch {
        let scratch = Scratch::new();
        let name = if self.syntax == "json" {
            "readings.json"
        } else {
            "readings.csv"
        };
        scratch.file(name, self.text);
        let mandatory = self
            .columns
            .iter()
            .any(|(_, column)| column.contains("mandatory"));
        let required = mandatory.then_some("required = \"Every reading has a number.\"");
        let table = format!(
            "files = \"whole\"\nsyntax = \"{}\"\n{}",
            self.syntax,
            required.unwrap_or_default()
        );
        let mut description = one_table(&table, self.columns);
        if self
            .columns
            .iter()
            .any(|(_, column)| column.contains("codes"))
        {
            description += CODES;
        }
        let description = describe(&scratch, "weather.toml", &description);
        let trace = ["--trace", description.to_str().unwrap()];
        scratch
            .convert(&[&trace[..], &["--on-bad-row", "reject"]].concat())
            .exits(3);
        scratch
    }
}

/// The rejects of a lake of one part, as a path and its lines.
fn rejects(scratch: &Scratch) -> (PathBuf, Vec<Value>) {
    let facts = &manifest(&scratch.out())["tables"][0]["parts"][0]["rejects"];
    let path = scratch.out().join(facts["path"].as_str().unwrap());
    let text = fs::read_to_string(&path).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    (path, lines.collect())
}

/// Writes the rejects of a lake of one part, and a manifest that says that they are right.
fn put_rejects(scratch: &Scratch, lines: &[Value]) {
    let mut json = manifest(&scratch.out());
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let facts = &mut json["tables"][0]["parts"][0]["rejects"];
    let path = scratch.out().join(facts["path"].as_str().unwrap());
    facts["bytes"] = Value::from(text.len());
    facts["sha256"] = Value::from(sha256(text.as_bytes()));
    fs::write(path, text).unwrap();
    write_manifest(&scratch.out(), &json);
}

#[test]
fn every_fault_of_a_rejected_row_is_found_again() {
    for rows in &ROWS {
        let scratch = rows.lake();
        let (_, lines) = rejects(&scratch);
        assert_eq!(lines.len(), rows.rejects, "{}: {lines:#?}", rows.syntax);
        let run = scratch.verify();
        assert_eq!(run.code, 0, "{}: {}", rows.syntax, run.stderr);
    }
}

/// Each reason is replaced by each other one of the file, by one that convert never gives, and by another value.
#[test]
fn another_reason_of_a_rejected_row_is_found() {
    let mut score = Score::one_in(7, "changed lines of rejects files");
    for rows in &ROWS {
        let scratch = rows.lake();
        let (path, lines) = rejects(&scratch);
        let name = path.file_name().unwrap().to_str().unwrap();
        for at in 0..lines.len() {
            let is_read = is_read_again(&lines[at]);
            let mut others: Vec<Value> = Vec::new();
            let mut other = |key: &str, value: Value| {
                let mut changed = lines[at].clone();
                changed[key] = value;
                others.push(changed);
            };
            let reason = lines[at]["reason"].as_str().unwrap();
            other("reason", json!("because"));
            other("reason", json!(format!("{reason} ")));
            other("byte", json!(lines[at]["byte"].as_u64().unwrap() + 1));
            if let Some((fault, _)) = reason.split_once(": '") {
                other("reason", json!(format!("{fault}: 'elsewhere'")));
            }
            if is_read {
                other("column", json!("nothing"));
                for line in &lines {
                    if text_of(line) != text_of(&lines[at]) {
                        other("reason", line["reason"].clone());
                    }
                }
            }
            for changed in others {
                if !score.is_due() {
                    continue;
                }
                let mut all = lines.clone();
                all[at] = changed.clone();
                put_rejects(&scratch, &all);
                let run = scratch.verify();
                let line = format!("{name}:{}: readings: says ", at + 1);
                let is_found = run.code == 5 && run.stderr.contains(&line);
                let outcome = ensure(is_found && run.stderr.contains(": 1 wrong"), || {
                    format!("exit {}: {}", run.code, run.stderr)
                });
                let what = format!("{}: {changed} for {}", rows.syntax, lines[at]);
                score.count(&what, outcome);
            }
        }
    }
    score.close();
}

/// A reason without the value.
fn text_of(line: &Value) -> &str {
    let reason = line["reason"].as_str().unwrap();
    reason.split_once(": '").map_or(reason, |(fault, _)| fault)
}

/// Whether `verify` reads the value of a rejected row by itself, so that any other fault contradicts it. Of other rows,
/// it knows the forms of reasons.
fn is_read_again(line: &Value) -> bool {
    let of_syntax = [
        "not JSON",
        "not what Python prints",
        "values are left out",
        "an unknown name",
        "a name that occurs twice",
        "a quote where none belongs",
        "a quoted field that does not end",
        "not UTF-8",
        "not named values in braces: '[",
        "not a list in brackets: '{",
    ];
    let reason = line["reason"].as_str().unwrap();
    // A line that is no object.
    let is_no_row = reason.starts_with("not named values") && line["column"].is_null();
    line["raw_base64"].is_null()
        && !is_no_row
        && !of_syntax.iter().any(|text| reason.starts_with(text))
}

#[test]
fn a_good_row_is_not_rejected() {
    let scratch = Scratch::new();
    scratch.file("readings.csv", b"1\nx\n");
    let description = one_table("files = \"whole\"", &[("number", "kind = \"integer\"")]);
    let description = describe(&scratch, "weather.toml", &description);
    let trace = ["--trace", description.to_str().unwrap()];
    let reject = ["--on-bad-row", "reject"];
    scratch.convert(&[&trace[..], &reject].concat()).exits(3);
    scratch.verify().well();
    // The row becomes a good one, and every digest with it.
    scratch.file("readings.csv", b"1\n2\n");
    let mut json = manifest(&scratch.out());
    json["tables"][0]["parts"][0]["source"]["sha256"] = Value::from(sha256(b"1\n2\n"));
    write_manifest(&scratch.out(), &json);
    let (_, mut lines) = rejects(&scratch);
    lines[0]["raw"] = json!("2");
    put_rejects(&scratch, &lines);
    found(
        &scratch.verify(),
        &[
            ".ndjson:1: readings: says of line 2 of the source ",
            "'number: not an integer in decimal digits: 'x'', but nothing is wrong with it",
        ],
    );
}
