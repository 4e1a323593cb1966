//! Writes the man pages and shell completions of `tracelake` into a directory; `cargo xtask dist`
//! runs it.
//!
//! ```sh
//! cargo run -p tracelake-convert --example pages -- DIRECTORY
//! ```

use std::fs;
use std::io;
use std::path::Path;

use clap::ValueEnum;
use clap_complete::Shell;

/// The name of the program.
const NAME: &str = "tracelake";

fn main() -> io::Result<()> {
    let directory = std::env::args_os().nth(1);
    let directory = directory.ok_or_else(|| io::Error::other("name a directory"))?;
    write(Path::new(&directory))
}

/// Writes `man/*.1`, a page for the program and for each command, and `completions/*`, a file for
/// each shell.
fn write(directory: &Path) -> io::Result<()> {
    let [man, completions] = ["man", "completions"].map(|name| directory.join(name));
    for directory in [&man, &completions] {
        fs::create_dir_all(directory)?;
    }
    // A man page can be searched for `tracelake help`, but nobody looks for a page on it.
    let command = tracelake_convert::program::command().disable_help_subcommand(true);
    clap_mangen::generate_to(command.clone(), &man)?;
    for shell in Shell::value_variants() {
        clap_complete::generate_to(*shell, &mut command.clone(), NAME, &completions)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let names = fs::read_dir(directory).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn every_command_has_a_page_and_is_completed_in_every_shell() {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path()).unwrap();
        let command = tracelake_convert::program::command();
        let commands: Vec<&str> = command
            .get_subcommands()
            .map(|one| one.get_name())
            .collect();
        assert!(
            commands.contains(&"convert") && commands.contains(&"release"),
            "{commands:?}"
        );

        let man = directory.path().join("man");
        let mut pages: Vec<String> = commands
            .iter()
            .map(|one| format!("{NAME}-{one}.1"))
            .collect();
        pages.push(format!("{NAME}.1"));
        pages.sort();
        assert_eq!(names(&man), pages);
        let whole = fs::read_to_string(man.join(format!("{NAME}.1"))).unwrap();
        for (name, page) in commands.iter().zip(command.get_subcommands()) {
            assert!(
                whole.contains(&format!("{NAME}\\-{name}(1)")),
                "{name}: {whole}"
            );
            let text = fs::read_to_string(man.join(format!("{NAME}-{name}.1"))).unwrap();
            for option in page.get_arguments().filter_map(|one| one.get_long()) {
                let option = option.replace('-', "\\-");
                assert!(
                    text.contains(&format!("\\-\\-{option}")),
                    "{name}: --{option}"
                );
            }
        }

        let completions = directory.path().join("completions");
        assert_eq!(names(&completions).len(), Shell::value_variants().len());
        for file in names(&completions) {
            let text = fs::read_to_string(completions.join(&file)).unwrap();
            for name in &commands {
                assert!(text.contains(name), "{file}: {name}");
            }
        }
    }
}
