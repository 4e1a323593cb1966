//! Single files in a zip archive, found by the directory at its end: each can be read without the others. Their paths are
//! those that they have once the archive is unpacked, below the archive's own.

use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use crc32fast::Hasher;
use sha2::{Digest as _, Sha256};
use tracelake_core::Context;
use tracelake_core::error::{Error, ErrorKind, Result, escape};
use tracelake_core::words::group_digits;
use tracelake_location::{Location, RandomAccess, free_bytes, from_read};
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use super::Fingerprint;
use super::raw::READ;

/// The most bytes that a byte of a compressed file may unpack to. Parquet is compressed by itself, so compressing it
/// again hardly makes it smaller.
pub(super) const MOST_UNPACKED: u64 = 100;

/// Bytes that are read at once of the directory of an archive; in a bucket, each time is a request.
const DIRECTORY_READ: usize = 1 << 20;

/// The error for a file that unpacks to far more than it has bytes.
pub(super) fn too_large() -> Error {
    let reason = format!("unpacks to more than {MOST_UNPACKED} times its size");
    Error::new(ErrorKind::Corrupt, reason).hint("this is no table of a trace; download it again")
}

/// A file in a zip archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZippedFile {
    /// Its path in the archive, with slashes.
    pub path: String,
    /// Its size once it is unpacked.
    pub bytes: u64,
}

/// A zip archive whose directory was read.
struct Zipped {
    location: Location,
    archive: ZipArchive<BufReader<RandomAccess>>,
}

/// Lists the files in a zip archive, in the order of its directory.
///
/// # Errors
/// [`ErrorKind::Corrupt`] if it isn't a zip archive, or the path of a file leads out of it; when it can't be read.
///
/// # Memory
/// The directory of the archive.
pub fn zipped_files(location: &Location) -> Result<Vec<ZippedFile>> {
    let mut zipped = Zipped::open(location)?;
    let mut files = Vec::new();
    for index in 0..zipped.archive.len() {
        let member = zipped.archive.by_index_raw(index);
        let member = member.map_err(|error| broken(error, location))?;
        let name = member.name().map_err(|error| broken(error, location))?;
        let path = name.replace('\\', "/");
        if member.is_dir() || path.ends_with('/') {
            continue;
        }
        let is_name = |name: &str| !name.is_empty() && name != "." && name != "..";
        if !path.split('/').all(is_name) {
            let path = escape(path.as_bytes(), 200);
            let reason = format!("has a file with the path {path}, which leads out of it");
            return Err(Error::new(ErrorKind::Corrupt, reason)
                .at(location)
                .hint("it was made to do harm, or is damaged: download it again"));
        }
        files.push(ZippedFile {
            path,
            bytes: member.size(),
        });
    }
    Ok(files)
}

/// The archive and the path in it of a file whose path goes through a zip archive.
pub(super) fn in_zip(location: &Location) -> Result<Option<(Location, String)>> {
    let mut names = Vec::new();
    let mut inner = location.clone();
    while let (Some(name), Some(outer)) = (inner.name().map(str::to_owned), inner.parent()) {
        names.push(name);
        let is_zip = |name: &str| name.to_ascii_lowercase().ends_with(".zip");
        if outer.name().is_some_and(is_zip) && outer.is_file()? {
            names.reverse();
            return Ok(Some((outer, names.join("/"))));
        }
        inner = outer;
    }
    Ok(None)
}

/// Opens a file in a zip archive. One that is stored in an archive on a disk is read where it is; any other is unpacked
/// into a file without a name in `scratch`. Its checksum and size are compared with those in the directory of the
/// archive first.
pub(super) fn open(
    context: &Context,
    archive: &Location,
    path: &str,
    scratch: &Path,
) -> Result<(RandomAccess, Fingerprint)> {
    let mut zipped = Zipped::open(archive)?;
    let location = archive.join(path);
    let file = zipped.file(context, path, scratch);
    file.map_err(|error| error.or_at(location))
}

impl Zipped {
    fn open(location: &Location) -> Result<Self> {
        let file = RandomAccess::open(location)?;
        let file = BufReader::with_capacity(DIRECTORY_READ, file);
        let archive = ZipArchive::new(file).map_err(|error| broken(error, location))?;
        Ok(Self {
            location: location.clone(),
            archive,
        })
    }

    /// The place of a file in the directory.
    fn index_of(&self, path: &str) -> Option<usize> {
        let mut indices = 0..self.archive.len();
        indices.find(|index| {
            let name = self.archive.name_for_index(*index);
            name.and_then(std::result::Result::ok)
                .is_some_and(|name| name.replace('\\', "/") == path)
        })
    }

    fn file(
        &mut self,
        context: &Context,
        path: &str,
        scratch: &Path,
    ) -> Result<(RandomAccess, Fingerprint)> {
        let location = &self.location;
        let broken = |error| broken(error, location);
        let Some(index) = self.index_of(path) else {
            let reason = "isn't in the archive any more";
            return Err(Error::new(ErrorKind::Failed, reason).hint("run the same command again"));
        };
        let member = self.archive.by_index_raw(index).map_err(broken)?;
        let said = Said {
            crc: member.crc32(),
            bytes: member.size(),
        };
        let (packed, method) = (member.compressed_size(), member.compression());
        let (start, is_encrypted) = (member.data_start(), member.encrypted());
        let (header, name) = (member.header_start(), member.name_raw().to_owned());
        drop(member);
        if is_encrypted {
            let reason = "is encrypted";
            let error = Error::new(ErrorKind::Corrupt, reason);
            return Err(error.hint("unpack the archive with its password"));
        }
        check_name(location, header, &name)?;
        if method == CompressionMethod::Stored && packed != said.bytes {
            let reason = "has two sizes in the directory of its archive";
            return Err(Error::new(ErrorKind::Corrupt, reason).hint("download the archive again"));
        }
        if said.bytes > (packed + READ as u64).saturating_mul(MOST_UNPACKED) {
            return Err(too_large());
        }
        if let (CompressionMethod::Stored, Some(start), Location::Disk(disk)) =
            (method, start, location)
        {
            let end = start.saturating_add(said.bytes);
            let file = RandomAccess::open_range(disk, start..end)?;
            let mut bytes = file.try_clone().map_err(from_read)?;
            let fingerprint = said.digest(context, &mut bytes, |_| Ok(()))?;
            return Ok((file, fingerprint));
        }
        check_room(scratch, said.bytes)?;
        let full = |error| Error::disk("write", error).at(scratch);
        let mut out = tempfile::tempfile_in(scratch).map_err(full)?;
        let mut bytes = self.archive.by_index(index).map_err(broken)?;
        let fingerprint = said.digest(context, &mut bytes, |bytes| {
            out.write_all(bytes).map_err(full)
        })?;
        Ok((out.into(), fingerprint))
    }
}

/// Bytes before the name in the header of a file (4.3.7 of PKWARE's APPNOTE).
const BEFORE_NAME: u64 = 30;

/// Compares the name in the directory of an archive with the one in the header of the file: whose bytes these are is said
/// by nothing else.
fn check_name(archive: &Location, header: u64, name: &[u8]) -> Result<()> {
    let file = RandomAccess::open(archive)?;
    match file.read_at(header.saturating_add(BEFORE_NAME), name.len()) {
        Ok(written) if written == name => return Ok(()),
        Err(error) if !is_of_archive(&error) => return Err(from_read(error)),
        _ => {}
    }
    let reason = "has another name in the directory of its archive";
    Err(Error::new(ErrorKind::Corrupt, reason).hint("download the archive again"))
}

/// The checksum and the size of a file, as the directory of its archive has them.
#[derive(Debug, Clone, Copy)]
struct Said {
    crc: u32,
    bytes: u64,
}

impl Said {
    /// Digests a file while `each` takes its bytes.
    fn digest(
        self,
        context: &Context,
        file: &mut dyn Read,
        mut each: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<Fingerprint> {
        let damaged = |reason: String| {
            let error = Error::new(ErrorKind::Corrupt, reason);
            Err(error.hint("download the archive again"))
        };
        let (mut crc, mut sha256, mut bytes) = (Hasher::new(), Sha256::new(), 0);
        let mut buffer = vec![0; READ];
        loop {
            context.check()?;
            let read = match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if is_of_archive(&error) => {
                    return damaged(format!("is damaged: {error}"));
                }
                Err(error) => return Err(from_read(error)),
            };
            bytes += read as u64;
            if bytes > self.bytes {
                break;
            }
            crc.update(&buffer[..read]);
            sha256.update(&buffer[..read]);
            each(&buffer[..read])?;
        }
        if bytes != self.bytes {
            let said = group_digits(self.bytes);
            return damaged(format!(
                "doesn't have the {said} bytes that its archive says"
            ));
        }
        if crc.finalize() != self.crc {
            return damaged("doesn't have the checksum that its archive says".to_owned());
        }
        Ok(Fingerprint {
            bytes,
            sha256: sha256.into(),
        })
    }
}

/// Whether an error is about the bytes of an archive, and not about its disk.
fn is_of_archive(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        error.kind(),
        Kind::InvalidData | Kind::InvalidInput | Kind::UnexpectedEof
    )
}

/// Refuses to unpack a file into a directory whose disk has no room for it.
pub(super) fn check_room(scratch: &Path, bytes: u64) -> Result<()> {
    match free_bytes(scratch) {
        Some(free) if free < bytes => {
            let (free, bytes) = (group_digits(free), group_digits(bytes));
            let reason =
                format!("has {free} bytes free, and a file of {bytes} is unpacked into it");
            Err(Error::new(ErrorKind::Failed, reason)
                .at(scratch)
                .hint("free some, or unpack the archive elsewhere and convert its files"))
        }
        _ => Ok(()),
    }
}

fn broken(error: ZipError, location: &Location) -> Error {
    let (reason, hint) = match error {
        ZipError::Io(error) if !is_of_archive(&error) => return from_read(error).at(location),
        ZipError::CompressionMethodNotSupported(method) => (
            format!(
                "is compressed by {}, not deflate",
                CompressionMethod::name_from_u16(method)
            ),
            "unpack the archive, or make it with deflate",
        ),
        error => (
            format!("is damaged, or no zip archive: {error}"),
            "download it again; an archive in several pieces has to be joined first",
        ),
    };
    Error::new(ErrorKind::Corrupt, reason)
        .at(location)
        .hint(hint)
}
