//! The door: a lake of a described trace carries its description, and works without the file.

use std::fs;

use tracelake_testkit::{
    Scratch, assert_same_tree, convert, manifest, read_output, run, sha256, tree,
};

use super::{GARDEN, describe, garden, two_gardens};

#[test]
fn a_lake_works_without_the_file_that_described_it() {
    let scratch = Scratch::new();
    let file = garden(&scratch);
    let trace = file.to_str().unwrap();
    scratch.convert_well(&["--trace", trace]);
    let out = scratch.out();
    let kept = fs::read(out.join("_tracelake/trace.toml")).unwrap();
    assert_eq!(kept, GARDEN.as_bytes());
    assert_eq!(manifest(&out)["description"], sha256(GARDEN.as_bytes()));
    assert_eq!(manifest(&out)["trace"], "garden-1");
    let rain = read_output(&out.join("rain/file_number=0/part-00000-of-00002.parquet"));
    assert_eq!((rain.num_rows(), rain.num_columns()), (2, 2));

    let schema = run(["schema", trace, "rain"]);
    assert_eq!(schema.code, 0, "{}", schema.stderr);
    schema.shows("How much fell.");
    fs::remove_file(&file).unwrap();
    let lake = out.to_str().unwrap();
    let source = scratch.src();
    for arguments in [
        &["inspect", lake][..],
        &["verify", lake],
        &["verify", lake, "--source", source.to_str().unwrap()],
        &["release", lake],
        &["verify", lake],
    ] {
        let run = run(arguments);
        assert_eq!(run.code, 0, "{arguments:?}: {}", run.stderr);
    }
    let sums = fs::read_to_string(out.join("SHA256SUMS")).unwrap();
    let line = format!("{}  _tracelake/trace.toml\n", sha256(GARDEN.as_bytes()));
    assert!(sums.contains(&line), "{sums}");
}

#[test]
fn a_copy_of_the_description_that_was_changed_is_not_used() {
    let scratch = Scratch::new();
    let file = garden(&scratch);
    let trace = file.to_str().unwrap();
    scratch.convert_well(&["--trace", trace]);
    let before = tree(&scratch.out());
    let kept = scratch.out().join("_tracelake/trace.toml");
    let lake = scratch.out();
    let lake = lake.to_str().unwrap();
    let changed = GARDEN.replace("rose", "weed").replace("plant.", "weed.");
    // It is a copy: the lake's identity has the text that counts.
    for text in [Some(&changed[..]), None] {
        match text {
            Some(text) => fs::write(&kept, text).unwrap(),
            None => fs::remove_file(&kept).unwrap(),
        }
        for command in ["inspect", "verify"] {
            let run = run([command, lake]);
            assert_eq!(run.code, 0, "{command}: {}", run.stderr);
            assert!(!run.stdout.contains("weed"), "{}", run.stdout);
        }
    }
    // The run that has the description puts it back.
    scratch.convert_well(&["--trace", trace]);
    assert_same_tree(&tree(&scratch.out()), &before, "put back");
}

#[test]
fn another_description_is_another_lake() {
    let scratch = Scratch::new();
    let (trace, other) = &two_gardens(&scratch);
    scratch.convert_well(&["--trace", trace, "--tables", "plants"]);
    let before = tree(&scratch.out());
    let refused = scratch.convert(&["--trace", other]);
    refused.refuses(6, "description was ");
    assert_same_tree(&tree(&scratch.out()), &before, "refused");
    scratch.convert_well(&["--trace", trace]);
    // With --overwrite, it is that of the new lake, or none.
    scratch.convert_well(&["--trace", other, "--overwrite"]);
    let kept = scratch.out().join("_tracelake/trace.toml");
    assert_eq!(
        fs::read_to_string(&kept).unwrap(),
        fs::read_to_string(other).unwrap()
    );
    let published = tracelake_testkit::committed_sample();
    convert(&published, &scratch.out(), &["--overwrite"]).well();
    assert!(!kept.exists());
    assert_eq!(
        manifest(&scratch.out())["description"],
        serde_json::Value::Null
    );
}

#[cfg(unix)]
#[test]
fn shards_with_different_descriptions_refuse_each_other() {
    let scratch = Scratch::new();
    let (trace, other) = &two_gardens(&scratch);
    scratch.convert_well(&["--trace", trace, "--shard", "0/2"]);
    scratch
        .convert(&["--trace", other, "--shard", "1/2"])
        .refuses(6, "description was ");
    scratch.convert_well(&["--trace", trace, "--shard", "1/2"]);
    fs::remove_file(trace).unwrap();
    let lake = scratch.out();
    for command in ["inspect", "commit", "verify"] {
        let run = run([command, lake.to_str().unwrap()]);
        assert_eq!(run.code, 0, "{command}: {}", run.stderr);
    }
    let whole = scratch.path().join("whole");
    let file = describe(&scratch, "garden.toml", GARDEN);
    convert(&scratch.src(), &whole, &["--trace", file.to_str().unwrap()]).well();
    assert_same_tree(&tree(&lake), &tree(&whole), "shards and one run");
}

#[test]
fn mistakes_have_their_file_line_key_and_what_is_allowed() {
    let scratch = Scratch::new();
    garden(&scratch);
    let builtin = &tracelake_schema::TRACES[0].name;
    let line_of = |piece: &str| {
        let before = &GARDEN[..GARDEN.find(piece).unwrap()];
        1 + before.matches('\n').count()
    };
    for (text, line, says) in [
        (
            GARDEN.replace("kind = \"float\"", "kind = \"double\""),
            line_of("kind = \"float\"") - 2,
            "rain: litres: kind \"double\" is not one of integer, float",
        ),
        (
            GARDEN.replace("parts = 2", "parts = \"two\""),
            line_of("parts = 2"),
            "`parts = \"two\"`: invalid type",
        ),
        (
            GARDEN.replace("garden-1", builtin),
            line_of("garden-1"),
            builtin,
        ),
        (
            GARDEN.replace("name = \"rain\"", "name = \"../rain\""),
            line_of("name = \"rain\""),
            "garden-1: ../rain: \"../rain\" is not made of a-z",
        ),
        ("family = ".to_owned(), 1, "`family =`: "),
    ] {
        let file = describe(&scratch, "wrong.toml", &text);
        for arguments in [
            vec!["schema".to_owned(), file.display().to_string()],
            vec![
                "convert".to_owned(),
                scratch.src().display().to_string(),
                scratch.out().display().to_string(),
                "--trace".to_owned(),
                file.display().to_string(),
            ],
        ] {
            let run = run(&arguments);
            assert_eq!(run.code, 2, "{}", run.stderr);
            let start = format!("{}:{line}: {says}", file.display());
            assert!(
                run.message().starts_with(&start),
                "{start}: {}",
                run.message()
            );
        }
    }
    assert!(!scratch.out().exists());
    let taken = describe(&scratch, "taken.toml", &GARDEN.replace("garden-1", builtin));
    run(["schema", taken.to_str().unwrap()]).says("a built-in trace has this name");
    for (file, says) in [
        ("no/such.toml", "there is no such description of a trace"),
        (scratch.src().to_str().unwrap(), ""),
    ] {
        let run = run(["schema", file]);
        assert!([1, 2].contains(&run.code), "{}", run.stderr);
        run.says(says);
    }
}

#[test]
fn one_of_several_versions_is_named_after_the_file() {
    let scratch = Scratch::new();
    garden(&scratch);
    let second = "[[trace]]\nname = \"garden-2\"\ntitle = \"B\"\ndocument = \"C\"\n[[table]]";
    let text = GARDEN.replacen("[[table]]", second, 1);
    let file = describe(&scratch, "two.toml", &text);
    let file = file.to_str().unwrap();
    let refused = scratch.convert(&["--trace", file]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    let says =
        format!("describes several traces: garden-1, garden-2; name one of them: {file}#garden-1");
    assert!(refused.message().ends_with(&says), "{}", refused.message());
    let unknown = scratch.convert(&["--trace", &format!("{file}#garden-3")]);
    assert_eq!(unknown.code, 2, "{}", unknown.stderr);
    scratch.convert_well(&["--trace", &format!("{file}#garden-2")]);
    assert_eq!(manifest(&scratch.out())["trace"], "garden-2");
    run(["verify", scratch.out().to_str().unwrap()]).well();
}

#[test]
fn the_widest_table_is_converted_and_read_back() {
    let scratch = Scratch::new();
    let width = tracelake_schema::description::MOST_COLUMNS;
    let row = vec!["1"; width].join(",");
    scratch.file("wide.csv", format!("{row}\n").as_bytes());
    let column = |number: usize| {
        format!(
            "[[table.column]]\nname = \"c{number}\"\ncontent = \"c{number}\"\nkind = \"integer\"\nformat = \"I\"\n\
             obfuscation = \"unchanged\"\ndoc = \"d\"\n"
        )
    };
    let head = "family = \"wide\"\nlicence = \"CC0-1.0\"\ncitation = \"nobody\"\n[[trace]]\nname = \"wide-1\"\n\
                title = \"Wide\"\ndocument = \"a letter\"\n[[table]]\nname = \"wide\"\nsummary = \"wide\"\n\
                files = \"whole\"\n";
    let text = head.to_owned() + &(0..width).map(column).collect::<String>();
    let file = describe(&scratch, "wide.toml", &text);
    scratch.convert_well(&["--trace", file.to_str().unwrap()]);
    let (out, source) = (scratch.out(), scratch.src());
    run([
        "verify".as_ref(),
        out.as_os_str(),
        "--source".as_ref(),
        source.as_os_str(),
    ])
    .well();
}
