//! Lakes and sources that were made to break their verifier.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::streams::archives::{raw_tar, table_and_text};
use crate::verify::patient::Patient;
use tracelake_testkit::{
    Run, Score, Scratch, committed_sample, ended, ensure, gzip, manifest, program, seal, sha256,
    write_manifest,
};

/// Runs `tracelake verify` with at most `kib` KiB of address space.
fn within(kib: u64, lake: &Path, source: Option<&Path>) -> Run {
    let program = program();
    let mut command = Command::new("sh");
    let limited = format!("ulimit -v {kib}; exec \"$0\" \"$@\"");
    command
        .args(["-c", &limited])
        .arg(program.get_program())
        .args(program.get_args())
        .arg("verify")
        .arg(lake);
    if let Some(source) = source {
        command.arg("--source").arg(source);
    }
    // Each arena of the C library reserves address space, used or not.
    command.env("MALLOC_ARENA_MAX", "1");
    ended(command.output().unwrap())
}

/// A lake whose files ask for 2 GiB in a few bytes: a page of a Parquet file, a column of an Arrow file.
#[test]
fn a_forged_size_takes_no_memory() {
    const KIB: u64 = 700_000;
    let mut score = Score::new("forged sizes");
    let patient = Patient::new("job_events");
    let pointer = "/tables/0/parts/0";
    let path = patient.healthy.pointer(pointer).unwrap()["output"]["path"].clone();
    let whole = fs::read(patient.lake().join(path.as_str().unwrap())).unwrap();
    // The first page is after the four bytes of magic: its kind, and its size without compression.
    assert_eq!((whole[4], whole[6]), (0x15, 0x15));
    let size = 7 + whole[7..].iter().position(|byte| *byte < 128).unwrap() + 1;
    let forged = b"\xfe\xff\xff\xff\x0f";
    // As many bytes of the page are left out, so that everything else stays where it is.
    let longer = forged.len() - (size - 7);
    let (kept, rest) = (&whole[size..size + 30], &whole[size + 30 + longer..]);
    let forged = [&whole[..7], forged, kept, rest].concat();
    patient.forge_bytes(pointer, &forged);
    let run = within(KIB, &patient.lake(), Some(&committed_sample()));
    let says = "has 2147483647 bytes, its column chunk";
    score.count(
        "page",
        ensure(run.code == 5 && run.stderr.contains(says), || {
            format!("exit {}: {}", run.code, run.stderr)
        }),
    );

    let patient = Patient::with("job_events", &["--format", "arrow"]);
    let path = patient.healthy.pointer(pointer).unwrap()["output"]["path"].clone();
    let whole = fs::read(patient.lake().join(path.as_str().unwrap())).unwrap();
    // A compressed buffer begins with its size and then the magic number of zstd.
    let magic = b"\x28\xb5\x2f\xfd";
    let buffer = whole.windows(4).position(|bytes| bytes == magic).unwrap() - 8;
    let mut forged = whole;
    forged[buffer..buffer + 8].copy_from_slice(&i64::from(i32::MAX).to_le_bytes());
    patient.forge_bytes(pointer, &forged);
    for source in [None, Some(committed_sample())] {
        let run = within(KIB, &patient.lake(), source.as_deref());
        let outcome = ensure(
            run.code == 5 && run.stderr.contains("bytes; at most 67108864 are read"),
            || format!("exit {}: {}", run.code, run.stderr),
        );
        score.count(&format!("buffer, {source:?}"), outcome);
    }
    score.close();
}

/// A Parquet file whose digest was computed again after every tenth byte was changed, one at a time.
#[test]
fn a_mutated_parquet_file_is_a_finding_and_no_crash() {
    let patient = Patient::new("machine_events,job_events");
    let parts = patient.healthy["tables"].as_array().unwrap();
    let table = parts
        .iter()
        .position(|table| table["name"] == "machine_events")
        .unwrap();
    let pointer = format!("/tables/{table}/parts/0");
    let path = patient.healthy.pointer(&pointer).unwrap()["output"]["path"].clone();
    let whole = fs::read(patient.lake().join(path.as_str().unwrap())).unwrap();
    let mut score = Score::one_in(5, "mutated Parquet files with a right digest");
    // The pages, and then the footer, where a mutation breaks more.
    let pages = (4..whole.len() - 3000).step_by(whole.len() / 40);
    for at in pages.chain((whole.len() - 3000..whole.len()).step_by(17)) {
        if !score.is_due() {
            continue;
        }
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        patient.forge_bytes(&pointer, &bytes);
        for run in [patient.verify(), patient.verify_source()] {
            let calm = !run.stderr.contains("panicked") && !run.stderr.contains("RUST_BACKTRACE");
            let counted = run
                .stderr
                .lines()
                .last()
                .unwrap_or_default()
                .contains(" wrong, ");
            let outcome = ensure([0, 5].contains(&run.code) && calm && counted, || {
                format!("exit {}: {}", run.code, run.stderr)
            });
            score.count(&format!("byte {at}"), outcome);
        }
    }
    score.close();
}

#[test]
fn memory_is_bounded_whatever_a_lake_or_a_source_holds() {
    const KIB: u64 = 700_000;
    let mut score = Score::new("lakes and sources made to fill the memory");
    let scratch = Scratch::new();
    scratch.good("job_events");
    scratch.convert_well(&[]);
    let (out, healthy) = (scratch.out(), manifest(&scratch.out()));
    let finding = |run: Run, says: &str| {
        ensure(run.code == 5 && run.stderr.contains(says), || {
            format!("exit {}: {}", run.code, run.stderr)
        })
    };

    // A rejects file of one huge line, which takes no room on the disk.
    let path = "_tracelake/rejects/job_events/part-00000-of-00001.ndjson";
    fs::create_dir_all(out.join(path).parent().unwrap()).unwrap();
    let file = File::create(out.join(path)).unwrap();
    let size: u64 = 800 << 20;
    file.set_len(size).unwrap();
    let mut digest = Sha256::new();
    let zeros = vec![0; 1 << 20];
    (0..size >> 20).for_each(|_| digest.update(&zeros));
    let digest: String = digest
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let mut json = healthy.clone();
    let part = &mut json["tables"][0]["parts"][0];
    part["rejects"] = serde_json::json!({"path": path, "bytes": size, "sha256": digest});
    part["rows_rejected"] = Value::from(1);
    part["rows_in"] = Value::from(2);
    write_manifest(&out, &json);
    let source = scratch.src();
    score.count(
        "rejects",
        ensure(within(KIB, &out, None).code == 0, || "code".into()),
    );
    score.count(
        "rejects, read",
        finding(
            within(KIB, &out, Some(&source)),
            "not a line of a rejects file",
        ),
    );
    fs::remove_dir_all(out.join("_tracelake/rejects")).unwrap();

    // A source that inflates to one huge line.
    let mut bomb = GzEncoder::new(Vec::new(), Compression::fast());
    (0..800).for_each(|_| bomb.write_all(&zeros).unwrap());
    let bomb = bomb.finish().unwrap();
    scratch.file("job_events/part-00000-of-00001.csv.gz", &bomb);
    let mut json = healthy.clone();
    let facts = &mut json["tables"][0]["parts"][0]["source"];
    facts["bytes"] = Value::from(bomb.len());
    facts["sha256"] = Value::from(sha256(&bomb));
    write_manifest(&out, &json);
    score.count(
        "source",
        finding(
            within(KIB, &out, Some(&source)),
            "a row of more than 1048576 bytes",
        ),
    );

    // A source that is an archive with one huge extension header.
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::GNULongName);
    header.set_size(size);
    header.set_cksum();
    let mut bomb = GzEncoder::new(Vec::new(), Compression::fast());
    bomb.write_all(header.as_bytes()).unwrap();
    (0..size >> 20).for_each(|_| bomb.write_all(&zeros).unwrap());
    let bomb = bomb.finish().unwrap();
    let archived = Scratch::new();
    let (table, text) = table_and_text();
    let name = format!("{table}.tar.gz");
    let honest = raw_tar(&[(&format!("{table}.csv"), text.as_bytes())]);
    archived.file(&name, &gzip(&honest));
    archived.convert_well(&[]);
    archived.file(&name, &bomb);
    let mut json = manifest(&archived.out());
    let facts = &mut json["tables"][0]["parts"][0]["source"];
    facts["bytes"] = Value::from(bomb.len());
    facts["sha256"] = Value::from(sha256(&bomb));
    write_manifest(&archived.out(), &json);
    score.count(
        "archive",
        finding(
            within(KIB, &archived.out(), Some(&archived.src())),
            "an extension header of more than 1048576 bytes",
        ),
    );

    // A manifest that is nearly all unknown fields.
    let mut text = serde_json::to_string_pretty(&healthy).unwrap();
    let more = format!("{{\n  \"more\": [{}0],", "0,".repeat(32 << 20));
    text.replace_range(..1, &more);
    fs::write(out.join("_tracelake/manifest.json"), seal(&text)).unwrap();
    let run = within(KIB, &out, None);
    score.count("manifest", ensure(run.code == 0, || run.stderr));
    score.close();
}
