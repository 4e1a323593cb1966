//! What a lake was made by and from, and with which options: its identity.

use serde::{Deserialize, Serialize};

use crate::options::{Codec, Format, Layout, OnBadRow};

/// Defines the content of a file that has the fields of an [`Origin`] next to its own.
///
/// serde can read such a file by itself (`flatten`), but keeps unknown fields in memory while it does, so
/// a hostile file could fill it. What is defined here skips them.
macro_rules! with_origin {
    (
        $(#[$doc:meta])*
        pub struct $content:ident {
            $(#[$origin_doc:meta])*
            pub origin: Origin,
            $($(#[$attribute:meta])* pub $field:ident: $type:ty,)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(from = "Fields")]
        pub struct $content {
            $(#[$origin_doc])*
            #[serde(flatten)]
            pub origin: $crate::origin::Origin,
            $($(#[$attribute])* pub $field: $type,)+
        }

        #[derive(serde::Deserialize)]
        struct Fields {
            tool: String,
            version: String,
            trace: String,
            #[serde(default)]
            synthetic: bool,
            options: $crate::origin::Settings,
            $($(#[$attribute])* $field: $type,)+
        }

        impl From<Fields> for $content {
            fn from(fields: Fields) -> Self {
                Self {
                    origin: $crate::origin::Origin {
                        tool: fields.tool,
                        version: fields.version,
                        trace: fields.trace,
                        synthetic: fields.synthetic,
                        options: fields.options,
                    },
                    $($field: fields.$field,)+
                }
            }
        }
    };
}

pub(crate) use with_origin;

/// What two runs must have in common to work on the same lake.
///
/// ```
/// use tracelake_convert::options::{Codec, Format, Layout, OnBadRow};
/// use tracelake_convert::origin::{Origin, Settings};
///
/// let settings = |compression| Settings {
///     layout: Layout::Hive,
///     format: Format::Parquet,
///     compression,
///     on_bad_row: OnBadRow::Fail,
///     part_rows: None,
/// };
/// let then = Origin::new("a-trace", settings(Codec::Zstd(3)));
/// let now = Origin::new("a-trace", settings(Codec::Snappy));
/// assert_eq!(then.difference(&now).unwrap(), "compression was zstd:3 and is now snappy");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// `tracelake`.
    pub tool: String,
    /// Its version.
    pub version: String,
    /// The name of the trace.
    pub trace: String,
    /// Whether `tracelake generate` made the source.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub synthetic: bool,
    /// The options that decide the bytes of the outputs.
    pub options: Settings,
}

/// The options that decide the bytes of the outputs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// How the files of the lake are laid out.
    pub layout: Layout,
    /// The format of the outputs.
    pub format: Format,
    /// How they are compressed.
    pub compression: Codec,
    /// What was to be done with a row that can't be converted.
    pub on_bad_row: OnBadRow,
    /// The rows of each part of a table published in one file; `None` if the trace has no such table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_rows: Option<u64>,
}

impl Origin {
    /// This version of tracelake, converting a published trace.
    #[must_use]
    pub fn new(trace: &str, options: Settings) -> Self {
        Self {
            tool: "tracelake".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            trace: trace.to_owned(),
            synthetic: false,
            options,
        }
    }

    /// Describes the first difference to the origin of another run: `compression was zstd:3 and is
    /// now snappy`.
    #[must_use]
    pub fn difference(&self, now: &Self) -> Option<String> {
        self.named()
            .into_iter()
            .zip(now.named())
            .find(|((_, then), (_, now))| then != now)
            .map(|((name, then), (_, now))| format!("{name} was {then} and is now {now}"))
    }

    /// This origin with the policy under which rows were rejected.
    #[must_use]
    pub fn rejecting(&self) -> Self {
        let mut origin = self.clone();
        origin.options.on_bad_row = OnBadRow::Reject;
        origin
    }

    /// The same, but for what to do with a bad row: a part without rejected rows has the same bytes under
    /// either policy.
    #[must_use]
    pub fn difference_but_policy(&self, now: &Self) -> Option<String> {
        let mut then = self.clone();
        then.options.on_bad_row = now.options.on_bad_row;
        then.difference(now)
    }

    /// Every field with its name. A new field doesn't compile until it is listed here.
    fn named(&self) -> [(&'static str, String); 9] {
        let Self {
            tool,
            version,
            trace,
            synthetic,
            options,
        } = self;
        let Settings {
            layout,
            format,
            compression,
            on_bad_row,
            part_rows,
        } = options;
        let rows = part_rows.map_or_else(|| "none".to_owned(), |rows| rows.to_string());
        let source = if *synthetic { "synthetic" } else { "published" };
        [
            ("part-rows", rows),
            ("tool", tool.clone()),
            ("version", version.clone()),
            ("trace", trace.clone()),
            ("source", source.to_owned()),
            ("layout", layout.to_string()),
            ("format", format.to_string()),
            ("compression", compression.to_string()),
            ("on-bad-row", on_bad_row.to_string()),
        ]
    }
}
