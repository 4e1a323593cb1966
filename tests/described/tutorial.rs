//! The tutorial of docs/describe-a-trace.md, followed word for word.

use std::fs;
#[cfg(unix)]
use std::path::Path;
use std::process::Command;

use tracelake_testkit::{Scratch, bzip2, manifest, read_output, shared, value_text};

/// The blocks of a language in a page.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let start = format!("```{language}\n");
    let blocks = page.split(&start[..]).skip(1);
    blocks
        .map(|rest| rest.split("```").next().unwrap())
        .collect()
}

/// Runs commands of a page in a directory.
#[cfg(unix)]
fn follow(place: &Path, commands: &str) {
    let program = Path::new(env!("CARGO_BIN_EXE_tracelake"));
    let programs = program.parent().unwrap().to_owned();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    for command in commands.lines() {
        let ended = Command::new("sh")
            .args(["-c", command])
            .current_dir(place)
            .env("PATH", &path)
            .output();
        let ended = ended.unwrap();
        let errors = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(ended.status.success(), "{command}: {errors}");
    }
}

#[cfg(unix)]
fn page() -> String {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/describe-a-trace.md"
    );
    fs::read_to_string(path).unwrap()
}

#[cfg(unix)]
#[test]
fn the_tutorial_works_word_for_word() {
    let scratch = Scratch::new();
    let place = scratch.path();
    let page = page();
    let tutorial = page.split("\n### What can be drafted").next().unwrap();
    fs::create_dir(place.join("bikes")).unwrap();
    fs::write(place.join("bikes/trips.csv"), blocks(tutorial, "csv")[0]).unwrap();
    let commands = blocks(tutorial, "sh");
    let follow = |commands: &str| follow(place, commands);
    follow(commands[0]);
    // The draft converts as it is, and has the kinds of the description that the page ends with.
    follow("tracelake convert bikes drafted --trace trips.toml");
    follow("tracelake verify drafted --source bikes");
    let kinds = |text: &str| -> Vec<String> {
        let lines = text
            .lines()
            .filter(|line| line.starts_with("kind") || line.starts_with("zone"));
        lines
            .map(|line| line.split("  #").next().unwrap().to_owned())
            .collect()
    };
    let drafted = fs::read_to_string(place.join("trips.toml")).unwrap();
    let described = blocks(tutorial, "toml")[0];
    assert_eq!(kinds(&drafted), kinds(described));
    assert!(drafted.contains("# guess"), "{drafted}");
    fs::write(place.join("trips.toml"), described).unwrap();
    assert_eq!(commands.len(), 2);
    follow(commands[1]);
    let short = blocks(tutorial, "toml")[1];
    assert!(
        short.lines().filter(|line| !line.is_empty()).count() <= 8,
        "{short}"
    );
    fs::write(place.join("short.toml"), short).unwrap();
    follow("tracelake convert bikes short-lake --trace short.toml");
    follow("tracelake verify short-lake --source bikes");
    follow("tracelake release short-lake");
    let lake = manifest(&place.join("bikes-lake"));
    assert_eq!(
        (&lake["trace"], &lake["tables"][0]["rows"]),
        (&"city-bikes-2024".into(), &3.into())
    );
}

/// A published trace that isn't built in, by at most fifteen commands; the values are those of the published rows.
#[cfg(unix)]
#[test]
#[cfg_attr(not(published_data), ignore = "needs ../shared/data")]
fn a_published_trace_is_drafted_and_corrected() {
    let scratch = Scratch::new();
    let place = scratch.path();
    let name = "azurefunctions-accesses-2020.csv";
    let text = fs::read(shared("next/azure-functions-blob-2020").join(name)).unwrap();
    fs::write(place.join(format!("{name}.bz2")), bzip2(&text)).unwrap();
    let page = page();
    let section = page.split("\n### A published trace").nth(1).unwrap();
    let commands = blocks(section, "sh")[0];
    assert!(commands.lines().count() <= 15);
    follow(place, commands);
    let lake = place.join("accesses");
    let facts = manifest(&lake)["tables"][0].clone();
    let output = facts["parts"][0]["output"]["path"].as_str().unwrap();
    let rows = read_output(&lake.join(output));
    let text = String::from_utf8(text).unwrap();
    assert_eq!(rows.num_rows(), text.lines().count() - 1);
    for (at, line) in text.lines().skip(1).enumerate() {
        let columns = rows.columns().iter();
        let found: Vec<String> = columns.map(|column| value_text(column, at)).collect();
        let expected: Vec<String> = line
            .split(',')
            .map(|field| match field {
                "True" | "False" => field.to_lowercase(),
                _ => field.trim_end_matches(".0").to_owned(),
            })
            .collect();
        assert_eq!(found, expected);
    }
}
