//! A finished lake, for readers.

use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_lake::manifest::{Manifest, TableFacts};
use tracelake_lake::read_manifest;
use tracelake_location::Location;

/// A finished lake: its manifest, and where its files are. Made by [`open`].
#[derive(Debug, Clone)]
pub struct OpenLake {
    root: Location,
    manifest: Manifest,
}

/// Opens a finished lake by reading its manifest. No data file is read.
///
/// ```
/// use tracelake::{Context, ErrorKind};
///
/// let nothing = std::env::temp_dir().join("tracelake-no-such-lake");
/// let error = tracelake::open(&Context::new(), &nothing.as_path().into()).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Refused);
/// ```
///
/// # Errors
/// [`ErrorKind::Refused`] if `root` isn't a finished lake; [`ErrorKind::Corrupt`] if its manifest is damaged; if it
/// can't be read.
///
/// # Memory
/// The manifest, about 1 KB a part.
pub fn open(context: &Context, root: &Location) -> Result<OpenLake> {
    let manifest = read_manifest(&root.within(context))?;
    Ok(OpenLake {
        root: root.clone(),
        manifest,
    })
}

impl OpenLake {
    /// The manifest.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The facts of a table: its rows, parts and schema fingerprint.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if the lake has no such table; the hint has the names of those it has.
    pub fn table(&self, name: &str) -> Result<&TableFacts> {
        let mut tables = self.manifest.tables.iter();
        tables.find(|table| table.name == name).ok_or_else(|| {
            let tables = self.manifest.tables.iter();
            let names: Vec<&str> = tables.map(|table| &table.name[..]).collect();
            let error = Error::new(ErrorKind::Usage, format!("the lake has no table {name:?}"));
            error.at(&self.root).hint(match &names[..] {
                [] => "it has no tables".to_owned(),
                names => format!("it has {}", names.join(", ")),
            })
        })
    }

    /// The files of a table, in the order of the manifest. Nothing else in the table's directory is part of the lake.
    ///
    /// # Errors
    /// See [`OpenLake::table`].
    pub fn files(&self, table: &str) -> Result<Vec<Location>> {
        let parts = self.table(table)?.parts.iter();
        Ok(parts
            .map(|part| self.root.join(&part.output.path))
            .collect())
    }
}
