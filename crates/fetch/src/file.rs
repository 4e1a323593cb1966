//! One file: kept if it is finished, resumed where it was interrupted, checked, and only then given its name.

use std::fs;
use std::path::Path;

use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result};
use tracelake_core::event::Event;
use tracelake_location::{Location, Reader, Version};

use crate::check::{Checked, check, wrong_size};
use crate::partial::{self, Partial};
use crate::plan::RemoteFile;
use crate::room::Room;

/// Bytes per write to the disk.
const WRITE: usize = 128 << 10;

/// How often a file is begun that changes while it is read.
const ATTEMPTS: u32 = 3;

/// The outcome of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Done {
    pub(crate) bytes: u64,
    pub(crate) checked: Checked,
    /// Whether it was there before.
    pub(crate) is_kept: bool,
}

/// Fetches a file into a directory, unless it is there.
///
/// # Errors
/// [`ErrorKind::Corrupt`] if it isn't what was published; if the server or the disk fails.
pub(crate) fn fetch_file(
    context: &Context,
    directory: &Path,
    room: &Room<'_>,
    file: &RemoteFile,
) -> Result<Done> {
    let path = directory.join(&file.path);
    if fs::symlink_metadata(&path).is_ok() {
        let checked = checked(context, &path, file).map_err(|error| match error.kind() {
            ErrorKind::Corrupt => error.hint("remove it, and run the same command again"),
            _ => error,
        })?;
        partial::clear(&path)?;
        let bytes = fs::metadata(&path).map_or(0, |found| found.len());
        return Ok(Done {
            bytes,
            checked: match checked {
                // No server was asked for it.
                Checked::Size if file.bytes.is_none() => Checked::Nothing,
                checked => checked,
            },
            is_kept: true,
        });
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|error| Error::io("create", parent, error))?;
    }
    let mut partial = Partial::open(&path)?;
    let mut attempt = 1;
    while let Err(error) = download(context, room, file, &mut partial) {
        if !error.is_replacement() || attempt == ATTEMPTS {
            return Err(error);
        }
        partial.forget()?;
        attempt += 1;
    }
    let checked = match checked(context, partial.path(), file) {
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            partial.forget()?;
            return Err(error.hint("run the same command again, which fetches it anew"));
        }
        checked => checked?,
    };
    let bytes = partial.len()?;
    partial.finish()?;
    Ok(Done {
        bytes,
        checked,
        is_kept: false,
    })
}

fn checked(context: &Context, path: &Path, file: &RemoteFile) -> Result<Checked> {
    check(context, path, file.bytes, file.sha256, file.whole.is_some())
}

/// Downloads what an unfinished file doesn't have yet; all of it if the server has another file now.
fn download(
    context: &Context,
    room: &Room<'_>,
    file: &RemoteFile,
    partial: &mut Partial,
) -> Result<()> {
    let url = file.url().within(context);
    let (mut reader, version, start) = open(context, &url, partial)?;
    match start {
        0 => partial.begin(&url.to_string(), &version)?,
        _ => {
            partial.resume()?;
            context.emit(Event::Read { bytes: start });
        }
    }
    if let (Some(found), Some(published)) = (version.bytes, file.bytes)
        && found != published
    {
        partial.forget()?;
        return Err(wrong_size(found, published).at(&url).hint(
            "the file at the server has changed: check the description, or fetch it by hand",
        ));
    }
    let left = version.bytes.unwrap_or(start).saturating_sub(start);
    let mut reserved = room.reserve(left)?;
    let mut buffer = vec![0; WRITE];
    loop {
        match reader.read_some(context, &mut buffer)? {
            0 => return Ok(()),
            read => {
                partial.write(&buffer[..read])?;
                reserved.written(read as u64);
                context.emit(Event::Read { bytes: read as u64 });
            }
        }
    }
}

/// Opens a file at the server, after the bytes of the same version that the unfinished file has.
fn open(context: &Context, url: &Location, partial: &Partial) -> Result<(Reader, Version, u64)> {
    if let Some(known) = partial.version_of(&url.to_string()) {
        let start = partial.len()?;
        let mut reader = url.open_from(start)?;
        let version = version(context, &mut reader)?;
        if known.is_same(&version) && version.bytes.is_some_and(|bytes| start <= bytes) {
            return Ok((reader, version, start));
        }
    }
    let mut reader = url.open()?;
    let version = version(context, &mut reader)?;
    Ok((reader, version, 0))
}

fn version(context: &Context, reader: &mut Reader) -> Result<Version> {
    Ok(reader.version(context)?.unwrap_or_default())
}
