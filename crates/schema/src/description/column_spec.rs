//! The columns of a description, as it states them.

use serde::Deserialize;

use super::fault::Name;
use crate::{Obfuscation, Zone};

/// The values of a capture, or the names of columns.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a list of values, or a range such as \"00..23\""
)]
pub(super) enum ValuesSpec {
    Values(Vec<String>),
    Range(String),
}

/// Spellings of true and false, beside those of the syntax.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WordsSpec {
    /// Spellings of true.
    #[serde(rename = "true", default)]
    pub(super) yes: Vec<String>,
    /// Spellings of false.
    #[serde(rename = "false", default)]
    pub(super) no: Vec<String>,
}

#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct ColumnSpec {
    /// Its name in the lake; empty until it is made of `content`.
    #[serde(default)]
    pub(super) name: Name,
    /// The publisher's name, which a header has.
    pub(super) content: Option<Name>,
    /// Other names that a header has in its place.
    #[serde(default)]
    pub(super) also: Vec<String>,
    /// How a field is read.
    #[cfg_attr(test, schemars(schema_with = "super::words::kinds"))]
    pub(super) kind: String,
    /// The publisher's name for the format.
    pub(super) format: Option<String>,
    /// Whether NULL makes a bad row.
    #[serde(default)]
    pub(super) mandatory: bool,
    /// The unit of its values.
    pub(super) unit: Option<String>,
    /// Of a date-time: `published` or `none`.
    pub(super) zone: Option<Zone>,
    /// Whether `5.0` is an integer.
    #[serde(default)]
    pub(super) integral_floats: bool,
    /// Whether a text may be a number.
    #[serde(default)]
    pub(super) numbers: bool,
    /// Spellings of true and false.
    pub(super) words: Option<WordsSpec>,
    /// Spellings of NULL in this column, in place of those of the table.
    pub(super) null: Option<Vec<String>>,
    /// The capture of the file's name that is the value.
    pub(super) capture: Option<String>,
    /// The parts of a struct, or the one item of a list.
    #[serde(default)]
    pub(super) field: Vec<ColumnSpec>,
    /// The columns of the file that are the items of a list.
    pub(super) columns: Option<ValuesSpec>,
    /// The publisher's change to its values.
    #[serde(default)]
    pub(super) obfuscation: Obfuscation,
    /// The name of a list in `codes`.
    pub(super) codes: Option<String>,
    /// The name of a list in `sentinels`.
    pub(super) sentinels: Option<String>,
    /// The name of a list in `ranges`.
    pub(super) ranges: Option<String>,
    /// Values that mark a measurement as not valid.
    #[serde(default)]
    pub(super) invalid: Vec<i64>,
    /// Patterns of its texts.
    #[serde(default)]
    pub(super) looks_like: Vec<String>,
    /// The smallest and the largest number.
    pub(super) within: Option<(f64, f64)>,
    /// The number that all integers are multiples of.
    pub(super) multiple_of: Option<i64>,
    /// Whether a header may lack the column.
    #[serde(default)]
    pub(super) may_be_absent: bool,
    /// The versions whose files do not have the column.
    #[serde(default)]
    pub(super) absent_in: Vec<String>,
    /// Its meaning.
    pub(super) doc: Option<String>,
    #[serde(default)]
    pub(super) synthetic: String,
    #[serde(default)]
    pub(super) empty: f64,
}

impl ColumnSpec {
    /// A column of which nothing is known but its kind.
    pub(super) fn of_kind(kind: String) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }
}
