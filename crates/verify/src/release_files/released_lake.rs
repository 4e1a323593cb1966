//! A lake as the files of a release describe it.

use serde_json::{Value, json};
use tracelake_core::error::{Error, ErrorKind, Result, escape};
use tracelake_core::options::{Format, Layout};
use tracelake_core::origin::Origin;
use tracelake_core::settings::Settings;
use tracelake_lake::manifest::{Manifest, REJECTS, TableFacts};
use tracelake_schema::description::UNKNOWN;
use tracelake_schema::{Creator, Kind, Table, Trace, Zone};

use super::completeness::{Completeness, completeness};
use super::given::Given;
use super::publisher::Publisher;

/// The names that descriptions give to the values of a kind of column.
pub(super) struct TypeNames {
    /// The type of schema.org, unless values have parts with types of their own.
    pub(super) croissant: Option<&'static str>,
    /// The type of a table schema.
    pub(super) data_package: &'static str,
    /// How pandas spells NULL in such a column, if it is another value than in Python: readers of data packages read
    /// Parquet with pandas.
    pub(super) null_in_pandas: Option<&'static str>,
}

impl TypeNames {
    pub(super) fn of(kind: Kind) -> Self {
        let (croissant, data_package, null_in_pandas) = match kind {
            Kind::Integer | Kind::Code => (Some("sc:Integer"), "integer", Some("nan")),
            Kind::Float => (Some("sc:Float"), "number", Some("nan")),
            Kind::Boolean => (Some("sc:Boolean"), "boolean", None),
            Kind::Text => (Some("sc:Text"), "string", None),
            Kind::DateTime(Zone::Published | Zone::None) => {
                (Some("sc:DateTime"), "datetime", Some("NaT"))
            }
            Kind::Struct => (None, "object", None),
            // pandas makes arrays of NumPy of lists, which are no arrays to readers.
            Kind::List => (None, "any", None),
        };
        Self {
            croissant,
            data_package,
            null_in_pandas,
        }
    }
}

/// The columns of the primary key, if each is known to have a value in every row.
pub(super) fn proven_key(table: &Table) -> Option<&[String]> {
    let mut columns = table.primary_key.iter().map(|name| table.column(name));
    let is_proven = columns.all(|column| column.is_some_and(|(_, column)| column.mandatory));
    (is_proven && !table.primary_key.is_empty()).then_some(&table.primary_key)
}

/// A lake of a known trace whose files are all where tracelake writes them.
pub(super) struct ReleasedLake<'a> {
    pub(super) trace: &'a Trace,
    pub(super) manifest: &'a Manifest,
    pub(super) tables: Vec<(&'a Table, &'a TableFacts)>,
    pub(super) completeness: Completeness,
    pub(super) given: &'a Given,
    /// The statements of the lake's publisher.
    pub(super) publisher: Publisher,
}

impl<'a> ReleasedLake<'a> {
    pub(super) fn new(trace: &'a Trace, manifest: &'a Manifest, given: &'a Given) -> Result<Self> {
        check_origin(&manifest.origin)?;
        let Settings { layout, format, .. } = manifest.origin.options;
        let suffix = format!(".{format}");
        let mut tables = Vec::new();
        for facts in &manifest.tables {
            let table = trace
                .table(&facts.name)
                .ok_or_else(|| misplaced(&facts.name))?;
            for part in &facts.parts {
                let (output, rejects) = (&part.output.path, part.rejects.as_ref());
                let folder = part.key().folder(&table.name, layout);
                check_place(output, &folder, &suffix)?;
                if let Some(rejects) = rejects {
                    let folder = format!("{REJECTS}/{}", table.name);
                    let folder = part.key().folder(&folder, Layout::Flat);
                    check_place(&rejects.path, &folder, ".ndjson")?;
                }
            }
            tables.push((&**table, facts));
        }
        Ok(Self {
            trace,
            manifest,
            tables,
            completeness: completeness(trace, manifest),
            given,
            publisher: Publisher::read(&given.publisher)?,
        })
    }

    /// The format of the outputs.
    pub(super) fn format(&self) -> Format {
        self.manifest.origin.options.format
    }

    /// A pattern of all outputs of a table.
    pub(super) fn pattern(&self, table: &Table) -> String {
        let Settings { layout, format, .. } = self.manifest.origin.options;
        let has_cells = self.manifest.parts().any(|(_, part)| part.cell.is_some());
        let cell = if has_cells { "*/" } else { "" };
        match layout {
            Layout::Hive => format!("{}/{cell}*/*.{format}", table.name),
            Layout::Flat => format!("{}/{cell}*.{format}", table.name),
        }
    }

    /// The cells of the lake: `, cells a, b`; nothing if it has none.
    pub(super) fn cells(&self) -> String {
        let cells: Vec<&str> = self.manifest.cells().into_iter().flatten().collect();
        match cells.len() {
            0 => String::new(),
            1 => format!(", cell {}", cells.concat()),
            _ => format!(", cells {}", cells.join(", ")),
        }
    }

    /// The name of the lake: the SHA-256 of its manifest.
    pub(super) fn digest(&self) -> String {
        format!("sha256:{}", self.given.manifest.sha256)
    }

    /// The day of the release, or else that of the trace; `None` if neither is known.
    pub(super) fn date(&self) -> Option<&str> {
        let published = self.trace.published.as_deref();
        let published = published.filter(|_| !self.is_synthetic());
        self.given.date.as_deref().or(published)
    }

    /// How to cite the trace. Synthetic rows aren't anybody's.
    pub(super) fn citation(&self) -> Option<&str> {
        known(&self.trace.citation).filter(|_| !self.is_synthetic())
    }

    /// How to cite the lake.
    pub(super) fn cite_as(&self) -> String {
        let Origin { tool, version, .. } = &self.manifest.origin;
        match self.citation() {
            Some(citation) => citation.to_owned(),
            None => format!(
                "{}, made by {tool} {version}, {}",
                self.title(),
                self.digest()
            ),
        }
    }

    /// The page of the licence of the rows, or else its name, or that there is none.
    pub(super) fn licence(&self) -> String {
        let licence = &self.trace.licence;
        match self.is_synthetic() {
            true => "Synthetic data, of which no licence is stated.".to_owned(),
            false => licence_page(licence).unwrap_or_else(|| licence.clone()),
        }
    }

    /// The creators of the rows; none for synthetic data.
    pub(super) fn creators(&self) -> &[Creator] {
        match self.is_synthetic() {
            true => &[],
            false => &self.trace.creators,
        }
    }

    /// The publisher's page about the trace, if it has an address.
    pub(super) fn page(&self) -> Option<&str> {
        let page = self.trace.url.as_deref().filter(|_| !self.is_synthetic())?;
        ["https://", "http://"]
            .iter()
            .any(|start| page.starts_with(start))
            .then_some(page)
    }

    pub(super) fn keywords(&self) -> Vec<&str> {
        let mut keywords = vec!["cluster trace", &self.trace.family];
        keywords.extend(self.is_synthetic().then_some("synthetic"));
        keywords
    }

    /// The tables that have rows of the publisher's making, and what it says of them.
    pub(super) fn synthesised(&self) -> impl Iterator<Item = (&str, &str)> {
        let tables = self.tables.iter();
        tables.filter_map(|(table, _)| Some((&*table.name, table.synthesised.as_deref()?)))
    }

    /// The conversion, in a few words.
    pub(super) fn made_by(&self) -> String {
        let Origin { tool, version, .. } = &self.manifest.origin;
        format!("Conversion by {tool} {version}")
    }

    pub(super) fn rows(&self) -> u64 {
        let rows = self.tables.iter().map(|(_, facts)| facts.rows);
        rows.fold(0, u64::saturating_add)
    }

    /// Whether the lake has only some of the rows or columns of the trace.
    pub(super) fn is_selection(&self) -> bool {
        self.manifest.origin.options.is_selection()
    }

    /// The trace and its tables, without the selection.
    pub(super) fn content(&self) -> String {
        let Completeness {
            cells,
            gaps,
            unknown,
            rejected,
        } = &self.completeness;
        let Origin { tool, version, .. } = &self.manifest.origin;
        let format = self.format().title();
        if self.is_synthetic() {
            return format!(
                "Synthetic data in the format of {}, converted to {format} by {tool} {version}. No row \
                 comes from a real cluster.",
                self.trace.name
            );
        }
        let is_whole = gaps.is_empty() && cells.is_empty() && !self.is_selection();
        let incomplete = match (is_whole, unknown.is_empty(), rejected) {
            (false, _, _) => " This is not the whole trace.",
            (true, false, _) => " It is not known whether this is the whole trace.",
            (true, true, 0) => "",
            (true, true, _) => " Some rows are missing.",
        };
        format!(
            "{}{}, converted to {format} by {tool} {version}.{incomplete}",
            self.trace.title,
            self.cells()
        )
    }

    pub(super) fn is_synthetic(&self) -> bool {
        self.manifest.origin.synthetic
    }

    /// The trace's title; a synthetic lake doesn't have it for itself.
    pub(super) fn title(&self) -> String {
        if self.is_synthetic() {
            format!("Synthetic data in the format of {}", self.trace.name)
        } else {
            self.trace.title.to_owned()
        }
    }
}

/// The MIME type of outputs of this format, as it is registered.
pub(super) fn media_type(format: Format) -> &'static str {
    match format {
        Format::Parquet => "application/vnd.apache.parquet",
        Format::Arrow => "application/vnd.apache.arrow.file",
    }
}

/// A text of the description, unless it only says that it is unknown.
pub(super) fn known(text: &str) -> Option<&str> {
    Some(text).filter(|text| *text != UNKNOWN)
}

/// A creator, as schema.org has it.
pub(super) fn person_or_organisation(creator: &Creator) -> Value {
    match &creator.given {
        Some(given) => json!({
            "@type": "Person",
            "name": creator.to_string(),
            "givenName": given,
            "familyName": creator.name,
        }),
        None => json!({"@type": "Organization", "name": creator.name}),
    }
}

/// Refuses strings that tracelake never writes: they would reach the card and the JSON files, and
/// a page that shows them might take them for HTML. Options are names that are known.
fn check_origin(origin: &Origin) -> Result<()> {
    let Origin {
        tool,
        version,
        format: _,
        encoding: _,
        trace,
        description,
        synthetic: _,
        options: _,
        clustered,
        described: _,
    } = origin;
    let key = clustered.as_ref().and_then(|how| how.by.as_ref());
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-+_.:".contains(&byte);
    let texts = [tool, version, trace].into_iter();
    for text in texts.chain(description).chain(key) {
        if text.is_empty() || !text.bytes().all(plain) {
            let shown = escape(text.as_bytes(), 80);
            let reason = format!("the manifest says '{shown}', which tracelake never writes");
            return Err(Error::new(ErrorKind::Corrupt, reason)
                .hint("convert the trace again, into a new directory"));
        }
    }
    Ok(())
}

/// Refuses a path that isn't a plain name in `folder`: the card's pattern wouldn't match it, and it
/// could break a line of the checksums.
fn check_place(path: &str, folder: &str, suffix: &str) -> Result<()> {
    let name = path
        .strip_prefix(folder)
        .and_then(|rest| rest.strip_prefix('/'));
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    match name {
        Some(name) if name.ends_with(suffix) && name.bytes().all(plain) => Ok(()),
        _ => Err(misplaced(path)),
    }
}

fn misplaced(path: &str) -> Error {
    let shown = escape(path.as_bytes(), 80);
    let reason = format!("the manifest names '{shown}', which is not where a lake has its files");
    Error::new(ErrorKind::Corrupt, reason)
        .hint("the manifest was changed: take the original, or convert into another directory")
}

/// The address of a licence that SPDX knows; `None` for a licence in other words.
pub(super) fn licence_page(licence: &str) -> Option<String> {
    spdx(licence).then(|| format!("https://spdx.org/licenses/{licence}.html"))
}

/// Whether a licence is one name of SPDX's list.
pub(super) fn spdx(licence: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.+".contains(&byte);
    licence.bytes().all(plain) && !licence.starts_with("LicenseRef-")
}
