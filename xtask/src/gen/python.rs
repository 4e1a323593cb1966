//! The options of `tracelake convert` as keyword arguments of the Python package.

use anyhow::{Context, Result};
use tracelake::program::{Keyword, keywords};

/// Where they are written.
pub(super) const PATH: &str = "crates/python/python/tracelake/_convert_options.py";

/// Options that functions have in another form, or not at all.
const LEFT_OUT: [&str; 3] = ["dry-run", "progress", "shard"];

/// The types of values, by their names in the help: what Python takes besides `None`, and the function of
/// `_options.py` that turns it into text.
const TYPES: [(&str, &str, &str); 13] = [
    ("COLUMNS", "str | Iterable[str]", "names"),
    ("FROM..TO", "str", "text"),
    ("I/N", "str", "text"),
    ("KEY", "str", "text"),
    ("CODEC", "str", "text"),
    ("FILE|none", "StrPath", "path"),
    ("FORMS", "str", "text"),
    ("N", "int", "integer"),
    ("NAME", "str", "text"),
    ("NAME|FILE", "str", "text"),
    ("NUMBERS", "str | int | Iterable[int]", "part_numbers"),
    ("SIZE", "str | int", "size"),
    ("", "bool", "switch"),
];

/// The module: a typed dictionary for type checkers, and a table for the package.
pub(super) fn source() -> Result<String> {
    let mut fields = String::new();
    let mut table = String::new();
    for option in keywords("convert") {
        if LEFT_OUT.contains(&&*option.name) {
            continue;
        }
        let (kind, argument) = types(&option)?;
        let name = option.name.replace('-', "_");
        let (kind, default) = match (&option.value, &option.default) {
            (None, _) => (kind, "False".to_owned()),
            (_, None) => (kind + " | None", "None".to_owned()),
            (_, Some(default)) => (kind, format!("\"{default}\"")),
        };
        fields += &format!("    {name}: {kind}\n    \"\"\"{}\"\"\"\n", option.help);
        table += &format!("    \"{name}\": (\"{argument}\", {default}),\n");
    }
    Ok(format!(
        "\"\"\"The options of ``tracelake convert`` as keyword arguments.\n\n\
         Generated from the command line by `cargo xtask gen`; do not edit.\n\"\"\"\n\n\
         from __future__ import annotations\n\n\
         from collections.abc import Iterable\n\
         from typing import Literal, TypedDict\n\n\
         from ._paths import StrPath\n\n\n\
         class ConvertOptions(TypedDict, total=False):\n{fields}\n\n\
         #: The options by their names: how a value is written on the command line, and the default.\n\
         OPTIONS: dict[str, tuple[str, str | bool | None]] = {{\n{table}}}\n"
    ))
}

/// The Python types of an option's argument, and how it is written.
fn types(option: &Keyword) -> Result<(String, &'static str)> {
    if !option.choices.is_empty() {
        let choices = option.choices.iter().map(|choice| format!("\"{choice}\""));
        let choices: Vec<String> = choices.collect();
        return Ok((format!("Literal[{}]", choices.join(", ")), "text"));
    }
    if option.is_list {
        return Ok(("str | Iterable[str]".to_owned(), "names"));
    }
    let value = option.value.as_deref().unwrap_or_default();
    let known = TYPES.iter().find(|(name, ..)| *name == value);
    let &(_, kind, argument) =
        known.with_context(|| format!("--{} takes {value}: add it to TYPES", option.name))?;
    Ok((kind.to_owned(), argument))
}
