//! Tests of the accepted arguments and of the help.

#![cfg(test)]

use super::*;
use clap::CommandFactory;

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn help_fits_its_width_and_has_examples() {
    for width in [60, 80, 100] {
        let mut cli = Cli::command().term_width(width);
        cli.build();
        for command in cli.get_subcommands_mut() {
            let help = command.clone().term_width(width).render_help().to_string();
            let long = help
                .lines()
                .find(|line| line.chars().count() > width.max(100));
            assert_eq!(long, None, "{} at {width}", command.get_name());
        }
    }
    let mut cli = Cli::command();
    cli.build();
    let convert = cli
        .find_subcommand_mut("convert")
        .unwrap()
        .render_help()
        .to_string();
    for group in [
        "Examples:",
        "Input:",
        "Output:",
        "Bad rows:",
        "Performance and progress:",
    ] {
        assert!(convert.contains(group), "{group}");
    }
}

/// The page on bytes names every option that decides them.
#[test]
fn options_that_decide_bytes_are_documented() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/internals/reproducibility.md"
    );
    let page = std::fs::read_to_string(path).unwrap();
    let settings = Settings::augment_args(clap::Command::new("settings"));
    for option in settings.get_arguments() {
        let name = format!("`--{}`", option.get_long().unwrap());
        assert!(page.contains(&name), "{name}");
    }
}

/// Defaults that the help can only say in words are those of the code.
#[test]
fn defaults_in_the_help_are_those_of_the_code() {
    use tracelake_core::settings::{PART_ROWS, ROW_GROUP_ROWS, ROW_GROUP_ROWS_RANGE};

    let settings = Settings::augment_args(clap::Command::new("settings"));
    let help = |name| {
        let mut options = settings.get_arguments();
        let option = options.find(|option| option.get_id() == name).unwrap();
        option.get_help().unwrap().to_string()
    };
    assert!(help("part_rows").ends_with(&format!("[default: {PART_ROWS}]")));
    let fewest = ROW_GROUP_ROWS_RANGE.start();
    let says = format!("from {fewest} [default: {ROW_GROUP_ROWS}]");
    assert!(help("row_group_rows").ends_with(&says));
}
