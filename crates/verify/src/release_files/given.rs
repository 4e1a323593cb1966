//! Input that the files of a release follow from.

use tracelake_core::Context;
use tracelake_core::error::Result;
use tracelake_lake::manifest::FileFacts;
use tracelake_lake::{IDENTITY, PUBLISHER, file_facts, manifest_facts, publisher_file};
use tracelake_location::Location;

use super::publisher::Publisher;

/// Input that the files of a release follow from, beside the manifest and the catalog.
#[derive(Debug)]
pub(crate) struct Given {
    /// The manifest on the disk.
    pub manifest: FileFacts,
    /// The identity on the disk.
    pub identity: FileFacts,
    /// The statements of the lake's publisher: the bytes of [`PUBLISHER`].
    pub publisher: Vec<u8>,
    /// The day of the release, where it was asked for.
    pub date: Option<String>,
    /// Whether each table has a Delta log.
    pub has_delta_logs: bool,
}

impl Given {
    /// Reads what is there of a lake, and checks that the publisher's file is of its template. Where the publisher has no
    /// file yet, it is the template.
    ///
    /// # Errors
    /// When a file can't be read, or that of the publisher is too large; an error of usage, with its line and column, if
    /// it isn't of its template.
    pub(crate) fn read(context: &Context, root: &Location, date: Option<String>) -> Result<Self> {
        let publisher = publisher_file(root)?;
        Publisher::read(&publisher).map_err(|error| error.at(root.join(PUBLISHER)))?;
        Ok(Self {
            manifest: manifest_facts(context, root)?,
            identity: file_facts(context, root, IDENTITY)?,
            publisher,
            date,
            has_delta_logs: false,
        })
    }
}
