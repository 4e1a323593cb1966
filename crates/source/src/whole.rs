//! A file that has to be read at any place, such as Parquet, whose footer comes last.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use tracelake_core::Context;
use tracelake_core::error::{Error, Result};
use tracelake_location::{Location, RandomAccess};

use super::container::{HEAD, Layers};
use super::decode::Format;
use super::fingerprint;
use super::raw::{Fingerprint, READ, Raw, at};
use super::zipped::{self, MOST_UNPACKED, too_large};

/// A file that can be read at any place.
#[derive(Debug)]
pub struct WholeFile {
    /// Its bytes, unpacked if it is compressed.
    pub file: RandomAccess,
    /// The size and the digest of the file as it was published.
    pub fingerprint: Fingerprint,
    /// The tag that its server gives it.
    pub tag: Option<String>,
}

impl WholeFile {
    /// Opens a file and digests all of it; the path of one in a zip archive goes through the archive. One that is
    /// compressed, whatever its name says, is unpacked into a file without a name in `scratch`; so is one of a server,
    /// because its columns are far apart, and each page of each of them would be a request.
    ///
    /// # Errors
    /// [`Corrupt`](tracelake_core::ErrorKind::Corrupt) for a broken file, and for one that unpacks to more than a hundred
    /// times its size; when the file can't be read or `scratch` is full.
    pub fn open(context: &Context, location: &Location, scratch: &Path) -> Result<Self> {
        if let Some((archive, path)) = zipped::in_zip(location)? {
            let (file, fingerprint) = zipped::open(context, &archive, &path, scratch)?;
            return Ok(Self {
                file,
                fingerprint,
                tag: None,
            });
        }
        let mut head = Vec::new();
        let reader = location.open()?.take(HEAD as u64);
        let read = { reader }.read_to_end(&mut head);
        read.map_err(|error| tracelake_location::from_read(error).at(location))?;
        if Format::of(&head).is_none() && location.as_path().is_some() {
            let file = RandomAccess::open(location)?;
            return Ok(Self {
                file,
                fingerprint: fingerprint(context, location)?,
                tag: None,
            });
        }
        let mut layers = Layers::new(Raw::open(context, location)?);
        let recognised = layers.recognise("");
        recognised.map_err(|error| at(error, location))?;
        let file = copy(&mut layers, scratch, location)?;
        let raw = layers.top().raw();
        Ok(Self {
            file: file.into(),
            fingerprint: raw.fingerprint(),
            tag: raw.confirm().map_err(|error| at(error, location))?,
        })
    }
}

/// Copies what is decoded into a file without a name, which is gone once it is closed.
fn copy(layers: &mut Layers, scratch: &Path, location: &Location) -> Result<File> {
    let failed = |error| Error::disk("write", error).at(scratch);
    let mut file = tempfile::tempfile_in(scratch).map_err(failed)?;
    let mut buffer = vec![0; READ];
    let mut copied = 0_u64;
    loop {
        let read = layers.top_mut().read(&mut buffer);
        let read = read.map_err(|error| at(error, location))?;
        if read == 0 {
            return Ok(file);
        }
        copied += read as u64;
        if copied > (layers.top().raw().bytes + READ as u64).saturating_mul(MOST_UNPACKED) {
            return Err(too_large().at(location));
        }
        file.write_all(&buffer[..read]).map_err(failed)?;
    }
}
