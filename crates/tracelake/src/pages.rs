//! Man pages and shell completions, made from the definition of the command line.

use clap_complete::Shell;

/// The completions of a command for a shell.
pub(crate) fn completions(mut command: clap::Command, shell: Shell) -> String {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    text(script)
}

/// The man page of a command, or that of one of its subcommands; `None` if it has no such
/// subcommand.
pub(crate) fn man(command: clap::Command, subcommand: Option<&str>) -> Option<String> {
    // `tracelake help` needs no page.
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let documented = match subcommand {
        Some(name) => command.find_subcommand(name)?.clone(),
        None => command,
    };
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(documented).render(&mut page);
    rendered.expect("writing to memory can't fail");
    Some(text(page))
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("help texts are strings")
}
