//! What can be typed, and the help.

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
