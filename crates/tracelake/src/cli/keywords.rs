//! The options of a command as plain data, for front ends in other languages.

use clap::{Arg, ArgAction, CommandFactory};

use super::Cli;

/// An option of a command: enough to make it a keyword argument of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Keyword {
    /// The name as it is typed, without `--`: `on-bad-row`.
    pub name: String,
    /// How the value is called in the help, such as `N` or `FILE|none`; `None` for a switch, which has no value.
    pub value: Option<String>,
    /// The only values that it takes; empty if it isn't a choice.
    pub choices: Vec<String>,
    /// Whether it takes several values.
    pub is_list: bool,
    /// The default, if the help shows one as it is typed.
    pub default: Option<String>,
    /// The help in one line.
    pub help: String,
}

/// The options of a command, in the order of its help; empty if there is no such command.
///
/// ```
/// let options = tracelake::program::keywords("convert");
/// let layout = options.iter().find(|option| option.name == "layout").unwrap();
/// assert_eq!(layout.choices, ["hive", "flat"]);
/// assert_eq!(layout.default.as_deref(), Some("hive"));
/// ```
#[must_use]
pub fn keywords(command: &str) -> Vec<Keyword> {
    let cli = Cli::command();
    let found = cli.find_subcommand(command);
    let options = found.into_iter().flat_map(clap::Command::get_opts);
    options.filter_map(keyword).collect()
}

fn keyword(option: &Arg) -> Option<Keyword> {
    let name = option.get_long()?.to_owned();
    let is_switch = matches!(option.get_action(), ArgAction::SetTrue);
    let value = option.get_value_names().and_then(<[_]>::first);
    let possible = option.get_possible_values();
    let choices = possible.iter().map(|choice| choice.get_name().to_owned());
    let default = option.get_default_values().first();
    Some(Keyword {
        name,
        value: value.filter(|_| !is_switch).map(ToString::to_string),
        choices: choices.filter(|_| !is_switch).collect(),
        is_list: option.get_value_delimiter().is_some(),
        default: default
            .filter(|_| !is_switch)
            .map(|value| value.to_string_lossy().into_owned()),
        help: option.get_help()?.to_string(),
    })
}
