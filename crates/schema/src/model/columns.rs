//! The columns of a table.

use std::sync::Arc;

use serde::Deserialize;

use super::run::Run;
use super::words::words;
use crate::Looks;

/// One column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// The name in the lake, by convention the snake case of `content`.
    pub name: String,
    /// The publisher's own name, as `schema.csv` has it in its column `content`.
    pub content: String,
    /// How a field is read.
    pub kind: Kind,
    /// The publisher's name for the format, as `schema.csv` has it in its column `format`; may be empty.
    pub format: String,
    /// Whether an empty field makes a bad row; otherwise it is NULL. [`Table::required`](super::Table::required) says why a
    /// column is mandatory. A column that some version of the family lacks never is.
    pub mandatory: bool,
    /// The unit of the values, if they have one.
    pub unit: Option<String>,
    /// The fields of a [`Kind::Struct`], or the single item of a [`Kind::List`]; otherwise empty.
    pub fields: Vec<Arc<Column>>,
    /// The publisher's change to the values.
    pub obfuscation: Obfuscation,
    /// The named values of a [`Kind::Code`]. Values without a name are kept, too.
    pub codes: Arc<[Code]>,
    /// Special values, which don't mean what they say.
    pub sentinels: Arc<[Sentinel]>,
    /// Names for the values between certain bounds. The ranges ascend and don't overlap; values
    /// between two of them have no name.
    pub ranges: Arc<[Range]>,
    /// Values with which the publisher marks invalid measurements. The lake keeps them unchanged;
    /// views show them as NULL.
    pub invalid: Vec<i64>,
    /// The meaning of the column.
    pub doc: String,
    /// Where its values are found and how they may be spelled, where that is special.
    pub spelling: Spelling,
    /// Patterns and bounds of its published values.
    pub looks: Looks,
    /// How a synthetic trace fills the column: the name of a quantity of the simulated cluster.
    pub synthetic: String,
    /// The share of synthetic rows in which an optional column is empty, from 0 to 1.
    pub empty: f64,
}

impl Column {
    /// An optional column of which nothing is known but its name, which is also the publisher's, and its kind.
    #[must_use]
    pub fn plain(name: &str, kind: Kind) -> Self {
        Self {
            name: name.to_owned(),
            content: name.to_owned(),
            kind,
            format: String::new(),
            mandatory: false,
            unit: None,
            fields: Vec::new(),
            obfuscation: Obfuscation::Unchanged,
            codes: Arc::default(),
            sentinels: Arc::default(),
            ranges: Arc::default(),
            invalid: Vec::new(),
            doc: String::new(),
            spelling: Spelling::default(),
            looks: Looks::UNKNOWN,
            synthetic: String::new(),
            empty: 0.0,
        }
    }

    /// The meaning of the column, with its unit, as one text.
    #[must_use]
    pub fn comment(&self) -> String {
        match &self.unit {
            Some(unit) => format!("{} Unit: {unit}.", self.doc),
            None => self.doc.clone(),
        }
    }

    /// The number of units per second if the column is a point in time, otherwise `None`. The unit of
    /// a point in time says what it counts from, such as `seconds since the trace began`.
    #[must_use]
    pub fn time_units(&self) -> Option<i64> {
        match self.unit.as_deref()?.split_once(" since ")?.0 {
            "microseconds" => Some(1_000_000),
            "milliseconds" => Some(1_000),
            "seconds" => Some(1),
            _ => None,
        }
    }

    /// How many units of the column a second has, as its values have them: microseconds of date-times; 1 if nothing says it.
    #[must_use]
    pub fn units_per_second(&self) -> i64 {
        match self.kind {
            Kind::DateTime(_) => 1_000_000,
            Kind::Integer
            | Kind::Float
            | Kind::Boolean
            | Kind::Text
            | Kind::Code
            | Kind::Struct
            | Kind::List => self.time_units().unwrap_or(1),
        }
    }

    /// Whether a text may hold an integer: whether the publisher's format is `…_OR_INTEGER`.
    #[must_use]
    pub fn may_be_integer(&self) -> bool {
        self.kind == Kind::Text && self.format.ends_with("_OR_INTEGER")
    }
}

words! {
    /// How a field is read, and its Arrow type.
    pub enum Kind {
        /// Decimal digits with an optional minus, `Int64`.
        Integer = "integer",
        /// The output of C's `%g`, `Float64`, correctly rounded.
        Float = "float",
        /// `0` or `1`, `Boolean`.
        Boolean = "boolean",
        /// UTF-8, `Utf8`.
        Text = "text",
        /// An integer with named values, `Int32`.
        Code = "code",
        /// A date and a time of day in microseconds, `Timestamp`.
        DateTime(Zone) = "date-time",
        /// Several named values, `Struct`.
        Struct = "struct",
        /// Any number of values of one kind, `List`.
        List = "list",
    }
}

words! {
    /// Whether date-times have a zone.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Zone {
        /// Each value ends with `Z` or an offset such as `+08:00`; the lake has it in UTC.
        Published = "published",
        /// No value has a zone, and the lake's timestamps have none.
        None = "none",
    }
}

/// Where the values of a column are found and how they may be spelled, beside what [`Kind`] says. By default in a field of
/// the file, of which only the empty one is NULL.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spelling {
    /// Spellings of NULL beside the empty field.
    pub nulls: Arc<[String]>,
    /// Whether an integer may be spelled `5.0`.
    pub integral_floats: bool,
    /// Whether a text may be a number without quotes, in a syntax that has quotes.
    pub numbers: bool,
    /// Spellings of true and false beside those of the syntax.
    pub words: Arc<[(String, bool)]>,
    /// Names of zones that a date-time may end with, and their offsets from UTC in minutes.
    pub zones: Arc<[(String, i64)]>,
    /// The columns of a file that are the items of this list; otherwise, it is one field.
    pub run: Option<Run>,
    /// Other names that the header of a file may have in place of [`Column::content`].
    pub also: Arc<[String]>,
    /// Whether the header of a file may lack the column, which is then NULL in all of its rows.
    pub may_be_absent: bool,
    /// The capture of the file's name that is the value of the column in all of its rows; the file has no such field.
    pub capture: Option<String>,
}

impl Spelling {
    /// Whether a field that isn't empty is a spelling of NULL.
    #[inline]
    #[must_use]
    pub fn is_null(&self, field: &[u8]) -> bool {
        self.nulls.iter().any(|null| null.as_bytes() == field)
    }

    /// The value that a field spells as one of the described words.
    #[must_use]
    pub fn truth(&self, field: &[u8]) -> Option<bool> {
        let mut words = self.words.iter();
        words.find_map(|(word, value)| (word.as_bytes() == field).then_some(*value))
    }
}

words! {
    /// A publisher's change to the values of a column before publishing them.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    #[derive(Deserialize, Default)]
    #[serde(rename_all = "kebab-case")]
    pub enum Obfuscation {
        /// Nothing.
        #[default]
        Unchanged = "unchanged",
        /// Each value is replaced by an opaque keyed hash.
        Hashed = "hashed",
        /// Each value is replaced by its rank among all values.
        Ordered = "ordered",
        /// Each value is divided by the largest one in the trace.
        Rescaled = "rescaled",
        /// Hashed where there are many values, ordered where there are few.
        HashedOrOrdered = "hashed-or-ordered",
    }
}

/// A named value of a code.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Code {
    /// The value in the file and in the lake.
    pub value: i32,
    /// The publisher's name for it, or ours where the publisher gave none.
    pub name: String,
    /// Its meaning.
    pub doc: String,
}

/// A range of values with a name.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// The first value.
    pub from: i64,
    /// The last value; `None` if the range has no end.
    pub to: Option<i64>,
    /// The publisher's name for it.
    pub name: String,
    /// Its meaning.
    pub doc: String,
}

/// A value with a special meaning.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sentinel {
    /// The value in the lake.
    pub value: i64,
    /// Its name.
    pub name: String,
    /// Another number that files contain for it, if any; it is mapped to `value` and counted.
    pub also: Option<String>,
    /// Its meaning.
    pub doc: String,
}

/// A count of the rows in all published parts of a table.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The rows.
    pub rows: u64,
    /// How reliable the count is.
    pub confidence: Confidence,
    /// Who counted.
    pub source: String,
    /// The versions that a description says it doesn't hold for; none in a trace, which has only counts that hold.
    #[serde(default)]
    pub not_of: Vec<String>,
}

words! {
    /// How reliable a published count is, the most reliable first.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Confidence {
        /// The publisher says so.
        Publisher = "publisher",
        /// Counted in the published files by this project.
        Measured = "measured",
        /// Another reader of the files says so.
        Reported = "reported",
    }
}
