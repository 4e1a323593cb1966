//! The identity of a lake: what it was made by and from, and with which options.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Read;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tracelake_schema::Trace;

use crate::clustered::Clustered;
use crate::error::{Error, ErrorKind, Result, escape};
use crate::options::OnBadRow;
use crate::settings::Settings;

/// Defines the content of a file that has the fields of an [`Origin`] next to its own.
///
/// serde can read such a file by itself (`flatten`), but keeps unknown fields in memory while it does, so
/// a hostile file could fill it. What is defined here skips them.
#[macro_export]
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
            #[serde(default = "::tracelake_core::origin::first")]
            format: u32,
            #[serde(default = "::tracelake_core::origin::first")]
            encoding: u32,
            trace: String,
            #[serde(default)]
            description: Option<String>,
            #[serde(default)]
            synthetic: bool,
            options: $crate::settings::Settings,
            #[serde(default)]
            clustered: Option<$crate::clustered::Clustered>,
            $($(#[$attribute])* $field: $type,)+
        }

        impl From<Fields> for $content {
            fn from(fields: Fields) -> Self {
                Self {
                    origin: $crate::origin::Origin {
                        tool: fields.tool,
                        version: fields.version,
                        format: fields.format,
                        encoding: fields.encoding,
                        trace: fields.trace,
                        description: fields.description,
                        synthetic: fields.synthetic,
                        options: fields.options,
                        clustered: fields.clustered,
                        described: Default::default(),
                    },
                    $($field: fields.$field,)+
                }
            }
        }
    };
}

/// The format of the files in a lake's home. Raised when one of their fields changes its meaning; a program refuses files
/// of another format.
pub const FORMAT: u32 = 2;

/// The encoding of the bytes of outputs. Raised when the same rows and options give other bytes than before, and
/// compared in place of the program's version: a lake may be finished by any version with the same encoding. That of
/// a trace adds the revision of its descriptions, see [`encoding_of`].
pub const ENCODING: u32 = 4;

/// The encoding of the outputs of a built-in trace: [`ENCODING`] and the revision of the trace's descriptions, both of
/// which only ever rise. Other descriptions have a digest, which says more than a revision.
#[must_use]
pub fn encoding_of(trace: &str) -> u32 {
    ENCODING + tracelake_schema::trace(trace).map_or(0, |trace| trace.revision)
}

/// The format and the encoding of files that were written before they were recorded.
pub fn first() -> u32 {
    1
}

/// The properties that two runs must share to work on the same lake.
///
/// ```
/// use tracelake_core::options::Codec;
/// use tracelake_core::origin::Origin;
/// use tracelake_core::settings::Settings;
///
/// let then = Origin::new("a-trace", Settings::default());
/// let mut now = then.clone();
/// now.options.compression = Codec::Snappy;
/// assert_eq!(then.differences(&now), ["compression was zstd:3 and is now snappy"]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// `tracelake`.
    pub tool: String,
    /// The version of the program that began it. Versions with the same encoding work on the same lakes.
    pub version: String,
    /// See [`FORMAT`].
    #[serde(default = "first")]
    pub format: u32,
    /// See [`encoding_of`].
    #[serde(default = "first")]
    pub encoding: u32,
    /// The name of the trace.
    pub trace: String,
    /// The SHA-256 of the description of the trace, of which the lake has a copy; `None` if the trace is built in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether `tracelake generate` made the source.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub synthetic: bool,
    /// The options that decide the bytes of the outputs.
    pub options: Settings,
    /// How the lake was clustered, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clustered: Option<Clustered>,
    /// The trace of the description.
    #[serde(skip)]
    pub described: Described,
}

/// The trace of a description, with all columns, if it was read. Origins with the same digest have the same one.
#[derive(Clone, Default)]
pub struct Described(Option<Arc<Trace>>);

impl PartialEq for Described {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Described {}

impl fmt::Debug for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.is_some().fmt(f)
    }
}

impl Origin {
    /// This version of tracelake, converting a published trace that is built in.
    #[must_use]
    pub fn new(trace: &str, options: Settings) -> Self {
        Self {
            tool: "tracelake".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            format: FORMAT,
            encoding: encoding_of(trace),
            trace: trace.to_owned(),
            description: None,
            synthetic: false,
            options,
            clustered: None,
            described: Described::default(),
        }
    }

    /// This version of tracelake, converting this trace.
    #[must_use]
    pub fn of(trace: &Arc<Trace>, options: Settings) -> Self {
        let mut origin = Self::new(&trace.name, options);
        if let Some(description) = &trace.description {
            origin.encoding = ENCODING;
            origin.description = Some(description.sha256.clone());
            origin.know(trace);
        }
        origin
    }

    /// Keeps a trace that was read, if it is the one of the description that this names.
    pub fn know(&mut self, trace: &Arc<Trace>) {
        let description = trace.description.as_ref().map(|it| &it.sha256);
        if self.trace == trace.name
            && description.is_some()
            && description == self.description.as_ref()
        {
            self.described = Described(Some(Arc::clone(trace.whole.as_ref().unwrap_or(trace))));
        }
    }

    /// The trace, with the columns that the lake has, if it is built in or its description was read.
    #[must_use]
    pub fn find_trace(&self) -> Option<Arc<Trace>> {
        let trace = match &self.description {
            None => tracelake_schema::trace(&self.trace),
            Some(_) => self.described.0.as_ref(),
        };
        Some(match &self.options.columns {
            Some(columns) => trace?.with_columns(columns.with_tables()),
            None => Arc::clone(trace?),
        })
    }

    /// Describes each difference to the origin of another run: `compression was zstd:3 and is now snappy`, or `the lake
    /// holds all rows; this run asks for --sample 0/4`. The policy for bad rows is none: a part without rejected rows has
    /// the same bytes under either policy.
    #[must_use]
    pub fn differences(&self, now: &Self) -> Vec<String> {
        let clustered = Clustered::differences(self.clustered.as_ref(), now.clustered.as_ref());
        let (then, now) = (self.fields(), now.fields());
        let value = |fields: &BTreeMap<String, String>, name: &str| match fields.get(name) {
            None if name == "description" => Some("that of a built-in trace".to_owned()),
            value => value.cloned(),
        };
        let mut names: BTreeSet<&String> = then.keys().chain(now.keys()).collect();
        if then.get("trace") != now.get("trace") {
            // It follows from the trace.
            names.retain(|name| *name != "encoding");
        }
        let differences = names.into_iter().filter_map(|name| {
            Some(match (value(&then, name), value(&now, name)) {
                (then, now) if then == now => return None,
                (Some(then), Some(now)) => format!("{name} was {then} and is now {now}"),
                (Some(then), None) => {
                    format!("the lake was made with --{name} {then}; this run doesn't ask for it")
                }
                (None, now) => {
                    let holds = match &name[..] {
                        "sample" | "time" => "holds all rows".to_owned(),
                        "columns" => "holds all columns".to_owned(),
                        _ => format!("was made without --{name}"),
                    };
                    let asked = now.unwrap_or_default();
                    format!("the lake {holds}; this run asks for --{name} {asked}")
                }
            })
        });
        differences.chain(clustered).collect()
    }

    /// This origin with the policy for bad rows of a lake that has some, or none.
    #[must_use]
    pub fn with_rejects(&self, has_rejects: bool) -> Self {
        let mut origin = self.clone();
        origin.options.on_bad_row = match has_rejects {
            true => OnBadRow::Reject,
            false => OnBadRow::Fail,
        };
        origin
    }

    /// The error if another program wrote this.
    ///
    /// # Errors
    /// [`ErrorKind::Refused`] if its format isn't this program's.
    pub fn check_format(&self) -> Result<()> {
        check_format(self.format, &self.version)
    }

    /// Every field that must agree, with its name. A new field doesn't compile until it is listed here.
    fn fields(&self) -> BTreeMap<String, String> {
        let Self {
            tool,
            version: _,
            format: _,
            described: _,
            encoding,
            trace,
            description,
            synthetic,
            options,
            // Compared by itself.
            clustered: _,
        } = self;
        let source = if *synthetic { "synthetic" } else { "published" };
        let identity = [
            ("tool", tool.clone()),
            ("trace", trace.clone()),
            ("source", source.to_owned()),
            ("encoding", encoding.to_string()),
        ];
        let identity = identity.map(|(name, value)| (name.to_owned(), value));
        let of_description = description
            .clone()
            .map(|sha256| ("description".to_owned(), sha256));
        let mut fields: BTreeMap<String, String> = identity.into_iter().collect();
        fields.extend(of_description);
        fields.extend(options.named());
        fields.remove("on-bad-row");
        fields
    }
}

/// The version of the program that wrote a file, and the file's format. Other fields are ignored.
#[derive(Deserialize)]
struct WrittenBy {
    #[serde(default)]
    version: String,
    #[serde(default = "first")]
    format: u32,
}

/// Explains why a file whose digest is right can't be read: by its format, if a later program wrote it.
pub fn unreadable(what: &str, json: impl Read, error: serde_json::Error) -> Error {
    let written_by = serde_json::from_reader::<_, WrittenBy>(json).ok();
    let newer = written_by.and_then(|by| check_format(by.format, &by.version).err());
    newer.unwrap_or_else(|| {
        Error::new(ErrorKind::Refused, format!("not {what}: {error}")).because(error)
    })
}

/// Checks the format of a file.
///
/// # Errors
/// [`ErrorKind::Refused`] if it isn't that of this program.
pub fn check_format(format: u32, version: &str) -> Result<()> {
    let hint = match format.cmp(&FORMAT) {
        Ordering::Equal => return Ok(()),
        Ordering::Greater => "use that version or a later one",
        Ordering::Less => "convert again, into another directory or with --overwrite",
    };
    let shown = escape(version.as_bytes(), 40);
    let reason =
        format!("tracelake {shown} wrote it, in format {format}; this program reads {FORMAT}");
    Err(Error::new(ErrorKind::Refused, reason).hint(hint))
}
