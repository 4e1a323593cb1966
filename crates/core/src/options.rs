//! Options whose values have names: the same type from the command line to the manifest.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tracelake_schema::{Column, Trace, trace_names};

use crate::error::{Error, ErrorKind, escape};
use crate::words::several;

/// How similar a known name is to one that was mistyped, at least; from 0 to 1.
const SIMILAR: f64 = 0.85;

/// Finds the trace with this name.
///
/// # Errors
/// [`ErrorKind::Usage`] if there is none; the error has the known names, the similar ones first.
pub fn find_trace(name: &str) -> Result<&'static Arc<Trace>, Error> {
    tracelake_schema::trace(name).ok_or_else(|| {
        let names = trace_names();
        let meant = did_you_mean(name, names.clone());
        let known: Vec<&str> = names.collect();
        let reason = format!("there is no trace '{}'", escape(name.as_bytes(), 80));
        Error::new(ErrorKind::Usage, reason).hint(format!(
            "{meant}the known traces are {}; a description file ends in .toml",
            known.join(", ")
        ))
    })
}

/// The error for a table that a trace doesn't have: it has the known names, the similar ones first.
#[must_use]
pub fn unknown_table(name: &str, trace: &Trace) -> Error {
    let names = || trace.all_tables().map(|table| &*table.name);
    let shown = escape(name.as_bytes(), 80);
    let reason = format!("{} has no table '{shown}'", trace.name);
    let known: Vec<&str> = names().collect();
    let meant = did_you_mean(name, names());
    Error::new(ErrorKind::Usage, reason).hint(format!("{meant}it has {}", known.join(", ")))
}

/// The known names that are similar to one that was mistyped, as a question; nothing if there is none.
///
/// ```
/// use tracelake_core::options::did_you_mean;
///
/// let known = ["job_events", "task_usage"];
/// assert_eq!(did_you_mean("job_event", known.into_iter()), "did you mean job_events? ");
/// assert_eq!(did_you_mean("weather", known.into_iter()), "");
/// ```
#[must_use]
pub fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let lower = name.to_ascii_lowercase();
    let mut similar: Vec<&str> = Vec::new();
    for name in known.filter(|known| strsim::jaro_winkler(known, &lower) >= SIMILAR) {
        if !similar.contains(&name) {
            similar.push(name);
        }
    }
    match &similar[..] {
        [] => String::new(),
        similar => format!("did you mean {}? ", similar.join(" or ")),
    }
}

/// Writes an option to JSON by its name, and refuses a name that isn't known.
macro_rules! by_name_in_json {
    ($option:ident, $what:literal) => {
        impl Serialize for $option {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $option {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = String::deserialize(deserializer)?;
                name.parse().map_err(|expected| {
                    let shown = escape(name.as_bytes(), 80);
                    let reason = format!("unknown {} '{shown}', {expected}", $what);
                    serde::de::Error::custom(reason)
                })
            }
        }
    };
}

/// Makes an option of an enum: each variant has one name, on the command line, in messages and in the
/// manifest.
macro_rules! option {
    ($(#[$doc:meta])* $option:ident, $what:literal {
        $($(#[$variant_doc:meta])* $variant:ident = $name:literal,)+
    }) => {
        tracelake_schema::words! {
            $(#[$doc])*
            pub enum $option {
                $($(#[$variant_doc])* $variant = $name,)+
            }
        }

        impl Default for $option {
            /// The first value.
            fn default() -> Self {
                Self::ALL[0]
            }
        }

        #[cfg(feature = "clap")]
        impl clap::ValueEnum for $option {
            fn value_variants<'a>() -> &'a [Self] {
                Self::ALL
            }

            fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
                Some(clap::builder::PossibleValue::new(self.name()))
            }
        }

        impl fmt::Display for $option {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $option {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($name => Ok(Self::$variant),)+
                    _ => Err(format!("expected {}", [$($name),+].join(" or "))),
                }
            }
        }

        by_name_in_json!($option, $what);
    };
}

option! {
    /// How the files of a lake are laid out.
    ///
    /// ```
    /// use tracelake_core::options::Layout;
    ///
    /// assert_eq!("flat".parse(), Ok(Layout::Flat));
    /// assert_eq!(Layout::Hive.to_string(), "hive");
    /// ```
    Layout, "layout" {
        /// `task_usage/file_number=17/part-00017-of-00500.parquet`.
        Hive = "hive",
        /// `task_usage/part-00017-of-00500.parquet`.
        Flat = "flat",
    }
}

option! {
    /// The policy for a row that can't be converted.
    OnBadRow, "on-bad-row" {
        /// Stop the run.
        Fail = "fail",
        /// Write it to the part's rejects file.
        Reject = "reject",
    }
}

option! {
    /// The format of output files. Its name is also the extension of the files.
    Format, "format" {
        /// Parquet.
        Parquet = "parquet",
        /// Arrow IPC files, also known as Feather version 2.
        Arrow = "arrow",
    }
}

option! {
    /// The form of a source whose tables are published in two. Its name is also the extension of the files.
    SourceForm, "source-form" {
        /// JSON lines.
        Json = "json",
        /// Parquet.
        Parquet = "parquet",
    }
}

impl Format {
    /// The format in prose.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Parquet => "Parquet",
            Self::Arrow => "Arrow",
        }
    }
}

/// Forms of files that aren't as published, but are read all the same, as `--accept` names them: `header`, `index`,
/// `bom`, `integral-floats` and `null=TEXT`.
///
/// ```
/// use tracelake_core::options::Accept;
///
/// let accept: Accept = "integral-floats,null=NaN".parse()?;
/// assert!(accept.integral_floats && accept.is_null(b"NaN") && !accept.header);
/// assert_eq!(accept.to_string(), "integral-floats,null=NaN");
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Accept {
    /// A first line with the published names of the columns, in files that have none.
    pub header: bool,
    /// A first column that has no name and holds the number of the row.
    pub index: bool,
    /// A byte order mark at the start of a file.
    pub bom: bool,
    /// Integers spelled as `5.0`.
    pub integral_floats: bool,
    /// Fields that are NULL although they aren't empty, ascending.
    nulls: Vec<String>,
}

impl Accept {
    /// Whether some text is accepted as NULL.
    #[must_use]
    pub fn has_nulls(&self) -> bool {
        !self.nulls.is_empty()
    }

    /// Whether a field of a column may be NULL although it isn't empty: as described, or on request.
    #[must_use]
    pub fn has_nulls_in(&self, column: &Column) -> bool {
        self.has_nulls() || !column.spelling.nulls.is_empty()
    }

    /// Whether a field of a column is NULL although it isn't empty: as described, or on request.
    #[inline]
    #[must_use]
    pub fn is_null_in(&self, column: &Column, field: &[u8]) -> bool {
        column.spelling.is_null(field) || self.is_null(field)
    }

    /// Whether a field with this text is NULL on request.
    #[inline]
    #[must_use]
    pub fn is_null(&self, field: &[u8]) -> bool {
        self.nulls.iter().any(|null| null.as_bytes() == field)
    }
}

/// How much of a part was accepted although it isn't as published.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Accepted {
    /// First lines that are a header: 0 or 1.
    pub headers: u64,
    /// First columns that are an index: 0 or 1.
    pub indexes: u64,
    /// Byte order marks: 0 or 1.
    pub boms: u64,
    /// Integers that are spelled `5.0`.
    pub integral_floats: u64,
    /// Fields that are NULL although they aren't empty.
    pub nulls: u64,
}

impl Accepted {
    /// Adds the counts of another part.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            headers: self.headers.saturating_add(other.headers),
            indexes: self.indexes.saturating_add(other.indexes),
            boms: self.boms.saturating_add(other.boms),
            integral_floats: self.integral_floats.saturating_add(other.integral_floats),
            nulls: self.nulls.saturating_add(other.nulls),
        }
    }

    /// The counts that aren't 0, in words.
    ///
    /// ```
    /// use tracelake_core::options::Accepted;
    ///
    /// let accepted = Accepted { headers: 1, nulls: 2, ..Accepted::default() };
    /// assert_eq!(Vec::from_iter(accepted.in_words()), ["1 header", "2 fields as NULL"]);
    /// ```
    pub fn in_words(&self) -> impl Iterator<Item = String> {
        let counts = [
            (self.headers, "header", ""),
            (self.indexes, "index column", ""),
            (self.boms, "byte order mark", ""),
            (self.integral_floats, "integer", " spelled as floats"),
            (self.nulls, "field", " as NULL"),
        ];
        let counts = counts.into_iter().filter(|(count, ..)| *count > 0);
        counts.map(|(count, noun, rest)| several(count, noun) + rest)
    }
}

/// Spellings of NULL by other programs. Drafts recognise them where all other values of a column are numbers or
/// date-times.
pub const NULLS: [&str; 7] = ["\\N", "NULL", "null", "NA", "N/A", "None", "-"];

/// The most texts that are NULL on request, and the most bytes of each.
const MOST_NULLS: usize = 16;
const NULL_BYTES: usize = 64;

fn is_null_text(text: &str) -> bool {
    !text.is_empty() && text.len() <= NULL_BYTES && !text.contains(char::is_control)
}

/// A form of files by its name, and where it is noted.
type Form = (&'static str, fn(&mut Accept) -> &mut bool);

const FORMS: [Form; 4] = [
    ("header", |accept| &mut accept.header),
    ("index", |accept| &mut accept.index),
    ("bom", |accept| &mut accept.bom),
    ("integral-floats", |accept| &mut accept.integral_floats),
];

/// The name before a text that is NULL.
const NULL: &str = "null=";

impl fmt::Display for Accept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut accept = self.clone();
        let named = FORMS.iter().filter(|(_, form)| *form(&mut accept));
        let named = named.map(|(name, _)| (*name).to_owned());
        let nulls = self.nulls.iter().map(|text| format!("{NULL}{text}"));
        let names: Vec<String> = named.chain(nulls).collect();
        f.write_str(&names.join(","))
    }
}

impl FromStr for Accept {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (mut accept, mut nulls) = (Self::default(), BTreeSet::new());
        for name in text.split(',') {
            let name = name.trim();
            if let Some((_, form)) = FORMS.iter().find(|(known, _)| *known == name) {
                *form(&mut accept) = true;
                continue;
            }
            match name.strip_prefix(NULL) {
                Some(null) if is_null_text(null) => {
                    nulls.insert(null.to_owned());
                }
                Some(_) => {
                    return Err(format!(
                        "expected a text of at most {NULL_BYTES} bytes without control characters after {NULL}"
                    ));
                }
                None => {
                    let names = "header, index, bom, integral-floats, null=TEXT";
                    return Err(format!("expected {names}, or several with commas"));
                }
            }
        }
        if nulls.len() > MOST_NULLS {
            return Err(format!("expected at most {MOST_NULLS} texts of NULL"));
        }
        accept.nulls = nulls.into_iter().collect();
        Ok(accept)
    }
}

by_name_in_json!(Accept, "accept");

/// How the data in output files are compressed.
///
/// ```
/// use tracelake_core::options::Codec;
///
/// assert_eq!("zstd".parse(), Ok(Codec::Zstd(3)));
/// assert_eq!(Codec::Zstd(9).to_string(), "zstd:9");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// zstd at a level from 1 to 22; a conversion with another one panics.
    Zstd(u8),
    /// Snappy, for readers that lack zstd.
    Snappy,
    /// Not at all.
    None,
}

impl Codec {
    /// zstd at its own default level.
    pub const DEFAULT: Self = Self::Zstd(Self::DEFAULT_LEVEL);

    /// zstd's default level.
    pub const DEFAULT_LEVEL: u8 = 3;
}

impl Default for Codec {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zstd(level) => write!(f, "zstd:{level}"),
            Self::Snappy => write!(f, "snappy"),
            Self::None => write!(f, "none"),
        }
    }
}

impl FromStr for Codec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let level = match text {
            "zstd" => return Ok(Self::DEFAULT),
            "snappy" => return Ok(Self::Snappy),
            "none" => return Ok(Self::None),
            _ => text
                .strip_prefix("zstd:")
                .and_then(|level| level.parse().ok()),
        };
        match level {
            Some(level @ 1..=22) => Ok(Self::Zstd(level)),
            _ => Err("expected zstd, zstd:LEVEL with a level from 1 to 22, snappy or none".into()),
        }
    }
}

by_name_in_json!(Codec, "compression");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_one_name_everywhere() {
        for layout in Layout::ALL {
            assert_eq!(layout.name().parse(), Ok(*layout));
            assert_eq!(layout.to_string(), layout.name());
            let json = serde_json::to_string(layout).unwrap();
            assert_eq!(json, format!("\"{layout}\""));
            assert_eq!(serde_json::from_str::<Layout>(&json).unwrap(), *layout);
        }
        assert_eq!(
            "heap".parse::<Layout>(),
            Err("expected hive or flat".into())
        );
        assert_eq!(OnBadRow::ALL.len(), 2);
    }

    #[test]
    fn codecs_are_written_as_they_are_read() {
        for text in ["zstd:1", "zstd:22", "snappy", "none"] {
            let codec = text.parse::<Codec>().unwrap();
            assert_eq!(codec.to_string(), text);
            let json = serde_json::to_string(&codec).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<Codec>(&json).unwrap(), codec);
        }
        for text in ["zstd:0", "zstd:23", "zstd:", "lz4", "", "ZSTD"] {
            assert!(text.parse::<Codec>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_unknown_name_in_json_is_shown_in_full_and_harmless() {
        let says = |json| {
            serde_json::from_str::<Format>(json)
                .unwrap_err()
                .to_string()
        };
        let unknown = says(r#""o\u001brc""#);
        let right = r"unknown format 'o\u{1b}rc', expected parquet or arrow";
        assert!(unknown.starts_with(right), "{unknown}");
        assert!(says(&format!("\"{}\"", "x".repeat(1000))).len() < 200);
    }

    #[test]
    fn deviations_are_accepted_by_name() {
        for text in [
            "header",
            "index",
            "bom",
            "integral-floats",
            "null=NaN",
            r"header,index,bom,integral-floats,null=NULL,null=\N",
        ] {
            assert_eq!(text.parse::<Accept>().unwrap().to_string(), text);
        }
        let both: Accept = "integral-floats, header".parse().unwrap();
        assert!(both.header && both.integral_floats && !both.has_nulls());
        let nulls: Accept = "null=NaN,null=-,null=NaN".parse().unwrap();
        assert!(nulls.is_null(b"-") && nulls.is_null(b"NaN") && !nulls.is_null(b""));
        assert_eq!(nulls.to_string(), "null=-,null=NaN");
        let long = format!("null={}", "x".repeat(65));
        let many: Vec<String> = (0..17).map(|number| format!("null={number}")).collect();
        for text in [
            "",
            "header,",
            "footer",
            "null",
            "null=",
            "null=a\u{1b}b",
            &long,
            &many.join(","),
        ] {
            assert!(text.parse::<Accept>().is_err(), "{text}");
        }
    }
}
