//! What can be typed, and the help.

#![cfg(test)]

use super::*;
use clap::CommandFactory;

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn sizes_have_units_and_are_enough() {
    let sizes = [
        ("256000000", 256_000_000),
        ("256MB", 256_000_000),
        ("1GB", 1_000_000_000),
        ("512MiB", 512 << 20),
        ("2GiB", 2 << 30),
        ("300000kB", 300_000_000),
        ("1G", 1_000_000_000),
        ("300M", 300_000_000),
        ("1g", 1_000_000_000),
        ("1 GB", 1_000_000_000),
        ("1T", 1_000_000_000_000),
    ];
    for (text, bytes) in sizes {
        assert_eq!(size(text), Ok(bytes), "{text}");
    }
    for bad in [
        "",
        "MB",
        "-1GB",
        "+1GB",
        "1.5GB",
        "1XB",
        "G1",
        "99999999999GiB",
    ] {
        assert!(size(bad).unwrap_err().starts_with("expected"), "{bad:?}");
    }
    for small in ["0", "255MB", "100MiB", "1k"] {
        assert!(size(small).unwrap_err().contains("256MB"), "{small:?}");
    }
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
