//! The texts in archives, found by the tar and the zip crate.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flate2::bufread::DeflateDecoder;
use tracelake_core::Context;
use tracelake_core::error::Result;
use tracelake_location::{Location, RandomAccess};
use tracelake_schema::{Files, Table, uncompressed};
use tracelake_source::is_archive_name;
use zip::{CompressionMethod, ZipArchive};

use super::finding::failed;
use super::unpacked::{decoded, unpacked};

/// The longest extension header in bytes, as convert has it.
const LONGEST_EXTENSION: u64 = 1 << 20;

/// The text of a member of an archive.
pub(super) struct Member {
    /// Its path in the archive.
    pub(super) path: String,
    pub(super) text: Box<dyn Read + Send>,
}

/// The numbers of the parts that a path in an archive names; `None` if it isn't wanted.
type Wanted<'a> = &'a dyn Fn(&str) -> Option<u32>;

/// Whether a path in an archive is the text of a table: named after it, or, where the archive itself has the name of a
/// part, any.
fn is_text(table: &Table, path: &str) -> bool {
    let name = uncompressed(path.rsplit('/').next().unwrap_or(path));
    let extension = table.syntax.extension();
    if table.files == Files::Named {
        let ending = name.rsplit_once('.').map(|(_, ending)| ending);
        return ending == Some(extension) && !name.starts_with("._");
    }
    let mut names = table.naming.patterns.iter();
    name == format!("{}.{extension}", table.name)
        || names.any(|pattern| uncompressed(&pattern.text) == name)
}

/// The number of the part of a table that a path in an archive of parts is.
fn number_of(table: &Table, path: &str) -> Option<u32> {
    match &table.naming.claims(path)[..] {
        [one] if !is_archive_name(path) => Some(one.number),
        _ => None,
    }
}

/// The form of a file, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Tar,
    Zip,
}

/// Opens a file: what it is, and its bytes, decompressed.
pub(super) fn form(context: &Context, path: &Location) -> Result<(Form, Box<dyn Read + Send>)> {
    let mut block = Vec::new();
    let mut decoded = decoded(context, path)?;
    let read = decoded.by_ref().take(512).read_to_end(&mut block);
    read.map_err(|error| failed(path, error))?;
    let name = path.name().unwrap_or_default().to_lowercase();
    let form = match &block[..] {
        [b'P', b'K', 3 | 5, 4 | 6, ..] => Form::Zip,
        _ if is_header(&block) => Form::Tar,
        _ if name.ends_with(".zip") => Form::Zip,
        // An empty archive has no header.
        _ if is_archive_name(&name) => Form::Tar,
        _ => Form::Text,
    };
    Ok((form, Box::new(io::Cursor::new(block).chain(decoded))))
}

/// Whether a block is a header of tar, whose checksum counts itself as blanks.
fn is_header(block: &[u8]) -> bool {
    if block.len() != 512 || !block.contains(&0) {
        return false;
    }
    let counted = block[..148].iter().chain(&[b' '; 8]).chain(&block[156..]);
    let (plain, signed) = counted.fold((0_i64, 0_i64), |(plain, signed), &byte| {
        (
            plain + i64::from(byte),
            signed + i64::from(byte.cast_signed()),
        )
    });
    let said = tar::Header::from_byte_slice(block).cksum();
    said.is_ok_and(|said| [plain, signed].contains(&i64::from(said)))
}

/// Opens the text of a table in an archive; `None` if it isn't there.
pub(super) fn open(
    context: &Context,
    path: &Location,
    table: &Table,
    form: Form,
) -> Result<io::Result<Option<Member>>> {
    let wanted = |path: &str| is_text(table, path).then_some(0);
    if form == Form::Zip {
        return Ok(of_zip(RandomAccess::open(path)?, &wanted, 0));
    }
    let found = Tar::open(context, path, &wanted, Some(1))?;
    Ok(match found {
        Ok(mut tar) => tar.member(0)?,
        Err(error) => Err(error),
    })
}

/// An archive of parts of a table.
pub(super) enum Parts {
    Zip(Location, Arc<Table>),
    Tar(Tar),
}

impl Parts {
    pub(super) fn open(
        context: &Context,
        path: &Location,
        table: &Arc<Table>,
    ) -> Result<io::Result<Self>> {
        if form(context, path)?.0 == Form::Zip {
            return Ok(Ok(Self::Zip(path.clone(), Arc::clone(table))));
        }
        let wanted = |path: &str| number_of(table, path);
        let tar = Tar::open(context, path, &wanted, None)?;
        Ok(tar.map(Self::Tar))
    }

    /// The part with a number; `None` if it isn't there.
    pub(super) fn part(&mut self, number: u32) -> Result<io::Result<Option<Member>>> {
        match self {
            Self::Zip(path, table) => {
                let wanted = |path: &str| number_of(table, path);
                Ok(of_zip(RandomAccess::open(path)?, &wanted, number))
            }
            Self::Tar(tar) => tar.member(number),
        }
    }
}

/// A tar archive whose members were found. Its bytes are read on from the last member that was opened, so they are read
/// once if members are opened in their order.
pub(super) struct Tar {
    context: Context,
    path: Location,
    /// The members that are wanted, by the numbers of parts: path, where the text starts, and its size.
    members: BTreeMap<u32, (String, u64, u64)>,
    /// `None` before the first member.
    bytes: Option<Arc<Mutex<TarBytes>>>,
}

impl Tar {
    /// Finds the members that are wanted, or the first ones; of several with one number, the first counts.
    fn open(
        context: &Context,
        path: &Location,
        wanted: Wanted<'_>,
        most: Option<usize>,
    ) -> Result<io::Result<Self>> {
        if let Err(error) = check_extensions(decoded(context, path)?, wanted, most) {
            return Ok(Err(error));
        }
        let members = members_of_tar(decoded(context, path)?, wanted, most);
        Ok(members.map(|members| Self {
            context: context.clone(),
            path: path.clone(),
            members,
            bytes: None,
        }))
    }

    fn member(&mut self, number: u32) -> Result<io::Result<Option<Member>>> {
        let Some((path, start, size)) = self.members.get(&number).cloned() else {
            return Ok(Ok(None));
        };
        let is_after = |bytes: &Arc<Mutex<TarBytes>>| locked(bytes).at <= start;
        let bytes = match self.bytes.take().filter(is_after) {
            Some(bytes) => bytes,
            None => Arc::new(Mutex::new(TarBytes {
                bytes: decoded(&self.context, &self.path)?,
                at: 0,
            })),
        };
        let mut text = TarText {
            bytes: Arc::clone(&bytes),
            left: start - locked(&bytes).at,
        };
        self.bytes = Some(bytes);
        let skipped = io::copy(&mut text, &mut io::sink());
        text.left = size;
        let text = skipped.and_then(|_| unpacked(BufReader::new(text)));
        Ok(text.map(|text| Some(Member { path, text })))
    }
}

/// The bytes of a tar archive, and how many of them were read.
struct TarBytes {
    bytes: Box<dyn Read + Send>,
    at: u64,
}

fn locked(bytes: &Mutex<TarBytes>) -> MutexGuard<'_, TarBytes> {
    bytes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The next bytes of a tar archive.
struct TarText {
    bytes: Arc<Mutex<TarBytes>>,
    left: u64,
}

impl Read for TarText {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut bytes = locked(&self.bytes);
        let read = bytes.bytes.by_ref().take(self.left).read(into)?;
        bytes.at += read as u64;
        self.left -= read as u64;
        Ok(read)
    }
}

/// The member of a zip archive that is wanted and has this number.
fn of_zip(file: RandomAccess, wanted: Wanted<'_>, number: u32) -> io::Result<Option<Member>> {
    let mut zip = ZipArchive::new(BufReader::new(file))?;
    for index in 0..zip.len() {
        let Some(name) = zip.name_for_index(index).transpose()? else {
            continue;
        };
        let path = name.replace('\\', "/");
        if wanted(&path) != Some(number) {
            continue;
        }
        let member = zip.by_index_raw(index)?;
        let (size, method) = (member.compressed_size(), member.compression());
        let data_start = member.data_start();
        drop(member);
        let start = data_start.ok_or_else(|| io::Error::other("the zip crate finds no data"))?;
        let mut file = zip.into_inner();
        file.seek(SeekFrom::Start(start))?;
        let packed = file.take(size);
        let text: Box<dyn Read + Send> = match method {
            CompressionMethod::Stored => Box::new(packed),
            CompressionMethod::Deflated => Box::new(DeflateDecoder::new(packed)),
            other => return Err(io::Error::other(format!("is compressed by {other}"))),
        };
        let text = unpacked(BufReader::new(text))?;
        return Ok(Some(Member { path, text }));
    }
    Ok(None)
}

/// Refuses an archive with a long extension header before the last wanted member, as convert does: the tar crate would
/// read all of it into memory.
fn check_extensions(
    archive: Box<dyn Read + Send>,
    wanted: Wanted<'_>,
    most: Option<usize>,
) -> io::Result<()> {
    let mut found = 0;
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
        let is_wanted = kind.is_file() && wanted(&entry.path()?.to_string_lossy()).is_some();
        found += usize::from(is_wanted);
        if Some(found) == most {
            break;
        }
    }
    Ok(())
}

/// The wanted members of a tar archive: path, where the text starts, and its size.
fn members_of_tar(
    archive: Box<dyn Read + Send>,
    wanted: Wanted<'_>,
    most: Option<usize>,
) -> io::Result<BTreeMap<u32, (String, u64, u64)>> {
    let mut members = BTreeMap::new();
    for entry in tar::Archive::new(archive).entries()? {
        let entry = entry?;
        let path = entry.path()?.to_string_lossy().into_owned();
        let number = wanted(&path).filter(|_| entry.header().entry_type().is_file());
        if let Some(number) = number {
            let found = (path, entry.raw_file_position(), entry.size());
            members.entry(number).or_insert(found);
        }
        if Some(members.len()) == most {
            break;
        }
    }
    Ok(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_a_tar_archive_are_read_on() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("parts.tar");
        let mut archive = tar::Builder::new(Vec::new());
        for name in ["2.csv", "1.csv", "notes.txt", "3.csv", "1.csv"] {
            let mut header = tar::Header::new_gnu();
            header.set_size(name.len() as u64);
            header.set_cksum();
            archive
                .append_data(&mut header, name, name.as_bytes())
                .unwrap();
        }
        std::fs::write(&path, archive.into_inner().unwrap()).unwrap();
        let number = |path: &str| path.strip_suffix(".csv")?.parse().ok();
        let path = Location::from(path.as_path());
        let mut tar = Tar::open(&Context::new(), &path, &number, None)
            .unwrap()
            .unwrap();
        let mut read = |number: u32| {
            let mut text = String::new();
            let member = tar.member(number).unwrap().unwrap();
            let length = member.map(|mut member| member.text.read_to_string(&mut text).unwrap());
            (
                length.map(|_| text),
                Arc::clone(tar.bytes.as_ref().unwrap()),
            )
        };
        let (two, bytes) = read(2);
        assert_eq!(two.as_deref(), Some("2.csv"));
        let (one, same) = read(1);
        assert_eq!(one.as_deref(), Some("1.csv"));
        assert!(Arc::ptr_eq(&bytes, &same));
        let (three, same) = read(3);
        assert_eq!(three.as_deref(), Some("3.csv"));
        assert!(Arc::ptr_eq(&bytes, &same));
        assert_eq!(read(4).0, None);
        // What is before needs the archive from its start.
        let (two, other) = read(2);
        assert_eq!(two.as_deref(), Some("2.csv"));
        assert!(!Arc::ptr_eq(&bytes, &other));
    }
}
