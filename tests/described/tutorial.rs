//! The tutorial of docs/describe-a-trace.md, followed word for word.

use std::fs;
use std::process::Command;

use tracelake_testkit::{Scratch, manifest};

/// The blocks of a language in a page.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let start = format!("```{language}\n");
    let blocks = page.split(&start[..]).skip(1);
    blocks
        .map(|rest| rest.split("```").next().unwrap())
        .collect()
}

#[cfg(unix)]
#[test]
fn the_tutorial_works_word_for_word() {
    let scratch = Scratch::new();
    let place = scratch.path();
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/describe-a-trace.md"
    );
    let page = fs::read_to_string(path).unwrap();
    let tutorial = page.split("\n## How a description is used").next().unwrap();
    fs::create_dir(place.join("bikes")).unwrap();
    fs::write(place.join("bikes/trips.csv"), blocks(tutorial, "csv")[0]).unwrap();
    let commands = blocks(tutorial, "sh");
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_tracelake"));
    let programs = program.parent().unwrap().to_owned();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let follow = |commands: &str| {
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
    };
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
