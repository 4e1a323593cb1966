//! The texts in archives, found by the tar and the zip crate.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use flate2::bufread::{DeflateDecoder, GzDecoder};
use tracelake_core::Context;
use tracelake_core::error::Result;
use tracelake_location::{Location, RandomAccess, Reader};
use tracelake_schema::{Files, Table};
use tracelake_source::ARCHIVES;
use zip::{CompressionMethod, ZipArchive};

/// The longest extension header in bytes, as convert has it.
const LONGEST_EXTENSION: u64 = 1 << 20;

/// The text of a member of an archive.
pub(super) struct Member {
    /// Its path in the archive.
    pub(super) path: String,
    pub(super) text: Box<dyn Read + Send>,
}

/// The member of an archive that is wanted.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    table: &'static Table,
    /// The number of the part that the member is, in an archive of parts.
    number: Option<u32>,
}

impl Wanted {
    /// The text of a table: named after it, or, where the archive itself has the name of a part, any.
    pub(super) fn text(table: &'static Table) -> Self {
        let number = None;
        Self { table, number }
    }

    /// The part with this number.
    pub(super) fn part(table: &'static Table, number: u32) -> Self {
        let number = Some(number);
        Self { table, number }
    }

    fn is(self, path: &str) -> bool {
        let Self { table, number } = self;
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_text = name
            .rsplit_once('.')
            .is_some_and(|(_, extension)| extension == table.syntax.extension());
        match (table.files, number) {
            (Files::Named, None) => is_text && !name.starts_with("._"),
            (Files::Named, Some(number)) => {
                let claims = table.naming.claims(name);
                !name.ends_with(".gz") && matches!(&claims[..], [one] if one.number == number)
            }
            _ => {
                let mut names = table.naming.patterns.iter();
                name == format!("{}.{}", table.name, table.syntax.extension())
                    || names.any(|pattern| pattern.text == name)
            }
        }
    }
}

/// Whether a file is an archive, by its name.
pub(super) fn is_archive(path: &Location) -> bool {
    let name = path.name().unwrap_or_default().to_lowercase();
    ARCHIVES.iter().any(|ending| name.ends_with(ending))
}

/// Opens the wanted member of an archive; `None` if it isn't there.
pub(super) fn open(
    context: &Context,
    path: &Location,
    wanted: Wanted,
) -> Result<io::Result<Option<Member>>> {
    let name = path.name().unwrap_or_default().to_lowercase();
    if name.ends_with(".zip") {
        return Ok(of_zip(RandomAccess::open(path)?, wanted));
    }
    if let Err(error) = check_extensions(decoded(context, path)?, wanted) {
        return Ok(Err(error));
    }
    let (path_within, before, size) = match of_tar(decoded(context, path)?, wanted) {
        Ok(Some(found)) => found,
        Ok(None) => return Ok(Ok(None)),
        Err(error) => return Ok(Err(error)),
    };
    let mut text = decoded(context, path)?;
    let skipped = io::copy(&mut text.by_ref().take(before), &mut io::sink());
    Ok(skipped.map(|_| {
        Some(Member {
            path: path_within,
            text: Box::new(text.take(size)),
        })
    }))
}

/// The wanted member of a zip archive.
fn of_zip(file: RandomAccess, wanted: Wanted) -> io::Result<Option<Member>> {
    let mut zip = ZipArchive::new(BufReader::new(file))?;
    for index in 0..zip.len() {
        let Some(name) = zip.name_for_index(index).transpose()? else {
            continue;
        };
        if !wanted.is(&name) {
            continue;
        }
        let path = name.into_owned();
        let member = zip.by_index_raw(index)?;
        let (size, method) = (member.compressed_size(), member.compression());
        let start = member.data_start();
        drop(member);
        let start = start.ok_or_else(|| io::Error::other("the zip crate finds no data"))?;
        let mut file = zip.into_inner();
        file.seek(SeekFrom::Start(start))?;
        let packed = file.take(size);
        let text: Box<dyn Read + Send> = match method {
            CompressionMethod::Stored => Box::new(packed),
            CompressionMethod::Deflated => Box::new(DeflateDecoder::new(packed)),
            other => return Err(io::Error::other(format!("is compressed by {other}"))),
        };
        return Ok(Some(Member { path, text }));
    }
    Ok(None)
}

/// Refuses an archive with a long extension header before the wanted member, as convert does: the tar crate would read
/// all of it into memory.
fn check_extensions(archive: Box<dyn Read + Send>, wanted: Wanted) -> io::Result<()> {
    for entry in tar::Archive::new(archive).entries()?.raw(true) {
        let entry = entry?;
        let kind = entry.header().entry_type();
        let is_extension = kind.is_pax_local_extensions()
            || kind.is_pax_global_extensions()
            || kind.is_gnu_longname()
            || kind.is_gnu_longlink();
        if is_extension && entry.size() > LONGEST_EXTENSION {
            let reason = format!("an extension header of more than {LONGEST_EXTENSION} bytes");
            return Err(io::Error::other(reason));
        }
        if kind.is_file() && wanted.is(&entry.path()?.to_string_lossy()) {
            break;
        }
    }
    Ok(())
}

/// The path of the wanted member in a tar archive, where its text starts, and its size.
fn of_tar(archive: Box<dyn Read + Send>, wanted: Wanted) -> io::Result<Option<(String, u64, u64)>> {
    for entry in tar::Archive::new(archive).entries()? {
        let entry = entry?;
        let path = entry.path()?.to_string_lossy().into_owned();
        if entry.header().entry_type().is_file() && wanted.is(&path) {
            return Ok(Some((path, entry.raw_file_position(), entry.size())));
        }
    }
    Ok(None)
}

/// The bytes of a file, inflated if its name says so.
pub(super) fn decoded(context: &Context, path: &Location) -> Result<Box<dyn Read + Send>> {
    let file = Cancellable {
        context: context.clone(),
        file: path.open()?,
    };
    let file = BufReader::with_capacity(1 << 17, file);
    let name = path.name().unwrap_or_default();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_gzip = extension.eq_ignore_ascii_case("gz") || extension.eq_ignore_ascii_case("tgz");
    Ok(if is_gzip {
        Box::new(Members {
            member: Some(GzDecoder::new(file)),
        })
    } else {
        Box::new(file)
    })
}

/// A file whose reading ends once the context is cancelled.
struct Cancellable {
    context: Context,
    file: Reader,
}

impl Read for Cancellable {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let checked = self.context.check();
        let read = checked.and_then(|()| self.file.read_some(&self.context, into));
        read.map_err(io::Error::other)
    }
}

/// All members of a gzip file by flate2, up to the end or to NUL padding.
struct Members<R> {
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(into)?;
            if read > 0 || into.is_empty() {
                return Ok(read);
            }
            let next = member.get_mut().fill_buf()?.first().copied();
            self.member = match (self.member.take(), next) {
                (Some(ended), Some(first)) if first != 0 => {
                    Some(GzDecoder::new(ended.into_inner()))
                }
                _ => None,
            };
        }
        Ok(0)
    }
}
