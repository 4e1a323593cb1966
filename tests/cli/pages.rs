//! `tracelake man` and `tracelake completions`.

use std::collections::BTreeSet;

use tracelake_testkit::run;

fn printed(arguments: &[&str]) -> String {
    let run = run(arguments);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{arguments:?}");
    run.stdout
}

/// The commands that `--help` lists.
fn commands() -> Vec<String> {
    let help = printed(&["--help"]);
    let listed = help.split("Commands:").nth(1).unwrap();
    let lines = listed
        .lines()
        .take_while(|line| !line.starts_with("Options:"));
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.retain(|name| !name.is_empty() && name != "help");
    assert!(
        names.iter().any(|name| name == "convert") && names.len() >= 8,
        "{names:?}"
    );
    names
}

/// The long options that the help of a command lists.
fn options(command: &str) -> BTreeSet<String> {
    let help = printed(&[command, "--help"]);
    let words = help.lines().filter_map(|line| {
        let line = line.trim_start();
        let line = line.strip_prefix("-h, ").unwrap_or(line);
        line.strip_prefix("--")?.split([' ', '=', ',']).next()
    });
    words.map(str::to_owned).collect()
}

#[test]
fn every_command_has_a_man_page_that_explains_every_option() {
    let overview = printed(&["man"]);
    for name in commands() {
        assert!(
            overview.contains(&format!("tracelake\\-{name}(1)")),
            "{name}"
        );
        let page = printed(&["man", &name]);
        assert!(page.contains(&format!(".TH tracelake-{name} 1")), "{page}");
        let options = options(&name);
        assert!(options.contains("help"), "{name}: {options:?}");
        for option in options {
            let shown = format!("\\-\\-{}", option.replace('-', "\\-"));
            assert!(page.contains(&shown), "{name}: {shown}");
        }
    }
    run(["man", "no-such-command"]).refuses(2, "there is no command \"no-such-command\"");
}

#[test]
fn every_shell_completes_every_command() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = printed(&["completions", shell]);
        for name in commands() {
            assert!(script.contains(&name), "{shell}: {name}");
            for option in options(&name) {
                // fish has the name of an option without its hyphens.
                assert!(script.contains(&option), "{shell}: {name} --{option}");
            }
        }
    }
    run(["completions", "cmd"]).exits(2);
}
