//! Writes files: names, containers, gzip on one thread per table, a temporary name until a file is
//! complete, and its digest.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;

use flate2::{Compression, GzBuilder, write::GzEncoder};
use sha2::{Digest, Sha256};
use tracelake_core::error::{Error, Result};
use tracelake_schema::{Files, Table, Trace};

use crate::options::Options;
use crate::parquet_file::ParquetFile;

/// A message to a table's thread.
pub(crate) enum Message {
    /// Lines that belong to the current part.
    Lines(Vec<u8>),
    /// The current part is complete; the next lines belong to the next one.
    EndOfPart {
        /// Its rows.
        rows: u64,
    },
}

/// A file that was written.
#[derive(Debug)]
pub(crate) struct FileFact {
    pub(crate) table: String,
    /// Relative to the output directory, with `/`.
    pub(crate) path: String,
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
}

/// How many files a table has when the trace has `parts` parts.
pub(crate) fn parts_of(table: &Table, parts: u32) -> u32 {
    match table.files {
        Files::Parts if table.parts <= 1 => 1,
        Files::Named => table.naming.count().unwrap_or(parts),
        Files::Parts | Files::Shards => parts,
        // Derived tables aren't published, so none gets here.
        Files::Whole | Files::Derived => 1,
    }
}

/// Writes the parts of a table from the messages it receives, until the sender is dropped.
pub(crate) fn write_table(
    out: &Path,
    trace: &Trace,
    table: &Table,
    options: &Options,
    inbox: &Receiver<Message>,
) -> Result<Vec<FileFact>> {
    let mut facts = Vec::new();
    for part in 0..parts_of(table, options.parts) {
        let path = path(trace, table, part, options);
        let mut file = match options.is_parquet(table) {
            true => Container::parquet(out, table, &path)?,
            false => Container::create(out, trace, table, &path)?,
        };
        loop {
            match inbox.recv() {
                Ok(Message::Lines(lines)) => file.write(&lines)?,
                Ok(Message::EndOfPart { rows }) => {
                    let (bytes, sha256) = file.finish()?;
                    facts.push(FileFact {
                        table: table.name.clone(),
                        path,
                        rows,
                        bytes,
                        sha256,
                    });
                    break;
                }
                // Another table failed, so this part keeps its temporary name.
                Err(_) => return Ok(facts),
            }
        }
    }
    Ok(facts)
}

/// The published name of a file, with `/`.
fn path(trace: &Trace, table: &Table, part: u32, options: &Options) -> String {
    let (name, parts) = (&*table.name, options.parts);
    let extension = match options.is_parquet(table) {
        true => options.form.name(),
        false => table.syntax.extension(),
    };
    match table.files {
        Files::Parts => format!("{name}/{}", part_name(part, parts_of(table, parts))),
        Files::Shards => format!("{name}-{part:012}.{extension}.gz"),
        Files::Named => {
            let named = table.naming.name_of(part, parts_of(table, parts));
            named.unwrap_or_else(|| format!("{name}-{part}.{extension}"))
        }
        Files::Whole | Files::Derived if trace.archives.is_empty() => {
            let named = table.naming.name_of(0, 1);
            named.unwrap_or_else(|| format!("{name}.{extension}"))
        }
        Files::Whole | Files::Derived => format!("{name}.tar.gz"),
    }
}

/// The published name of a part.
pub(crate) fn part_name(part: u32, parts: u32) -> String {
    format!("part-{part:05}-of-{parts:05}.csv.gz")
}

/// Writes a small file atomically.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<String> {
    let mut temporary = Temporary::create(path.to_path_buf())?;
    temporary
        .write_all(bytes)
        .map_err(|error| Error::io("write", path, error))?;
    Ok(temporary.rename()?.1)
}

/// A file of rows in its container.
enum Container {
    Gzip(GzEncoder<Temporary>),
    Plain(Temporary),
    /// Its pages are compressed, and not the file, whatever its name says.
    Parquet(Box<ParquetFile<Temporary>>),
    /// The header of an archive contains the size of the member, so the rows go to a separate file
    /// until they are complete.
    Archive {
        rows: Temporary,
        member: String,
        path: PathBuf,
    },
}

impl Container {
    fn create(out: &Path, trace: &Trace, table: &Table, path: &str) -> Result<Self> {
        let whole = out.join(path);
        if let Some(directory) = whole.parent() {
            fs::create_dir_all(directory).map_err(|error| Error::io("create", directory, error))?;
        }
        let member = format!("{}.{}", table.name, table.syntax.extension());
        Ok(match table.files {
            Files::Named if !path.ends_with(".gz") => Self::Plain(Temporary::create(whole)?),
            Files::Parts | Files::Shards | Files::Named => {
                Self::Gzip(gzip(Temporary::create(whole)?))
            }
            _ if trace.archives.is_empty() => Self::Plain(Temporary::create(whole)?),
            Files::Whole | Files::Derived => Self::Archive {
                rows: Temporary::create(out.join(&member))?,
                member,
                path: whole,
            },
        })
    }

    fn parquet(out: &Path, table: &Table, path: &str) -> Result<Self> {
        let file = Temporary::create(out.join(path))?;
        let path = file.path.clone();
        let created = ParquetFile::create(file, table);
        let created = created.map_err(|error| Error::io("write", &path, error))?;
        Ok(Self::Parquet(Box::new(created)))
    }

    fn write(&mut self, lines: &[u8]) -> Result<()> {
        let (written, path) = match self {
            Self::Parquet(file) => (file.write_lines(lines), &file.file().path),
            Self::Gzip(encoder) => (encoder.write_all(lines), &encoder.get_ref().path),
            Self::Plain(file) | Self::Archive { rows: file, .. } => {
                (file.write_all(lines), &file.path)
            }
        };
        written.map_err(|error| Error::io("write", path, error))
    }

    fn finish(self) -> Result<(u64, String)> {
        match self {
            Self::Gzip(encoder) => {
                let path = encoder.get_ref().path.clone();
                let file = encoder.finish();
                file.map_err(|error| Error::io("write", &path, error))?
                    .rename()
            }
            Self::Plain(mut file) => file.rename(),
            Self::Parquet(mut file) => {
                let path = file.file().path.clone();
                let file = file.finish();
                file.map_err(|error| Error::io("write", &path, error))?
                    .rename()
            }
            Self::Archive { rows, member, path } => {
                let file = archive(rows, &member, gzip(Temporary::create(path.clone())?));
                file.map_err(|error| Error::io("write", &path, error))?
                    .rename()
            }
        }
    }
}

/// No name and no time in the header: the bytes depend on the rows alone.
fn gzip(file: Temporary) -> GzEncoder<Temporary> {
    GzBuilder::new().mtime(0).write(file, Compression::new(6))
}

/// Writes an archive with one member, which has no owner and no time.
fn archive(
    mut rows: Temporary,
    member: &str,
    archive: GzEncoder<Temporary>,
) -> io::Result<Temporary> {
    rows.flush()?;
    let mut header = tar::Header::new_gnu();
    header.set_size(rows.bytes);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    let mut archive = tar::Builder::new(archive);
    archive.append_data(&mut header, member, File::open(&rows.temporary)?)?;
    archive.into_inner()?.finish()
}

/// A file under a temporary name that counts and digests its bytes; removed unless renamed.
struct Temporary {
    file: BufWriter<File>,
    path: PathBuf,
    temporary: PathBuf,
    digest: Sha256,
    bytes: u64,
}

impl Write for Temporary {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.digest.update(&bytes[..count]);
        self.bytes += u64::try_from(count).unwrap_or(0);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Temporary {
    fn create(path: PathBuf) -> Result<Self> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".tmp");
        let temporary = path.with_file_name(name);
        let file =
            File::create(&temporary).map_err(|error| Error::io("create", &temporary, error))?;
        let file = BufWriter::with_capacity(1 << 16, file);
        Ok(Self {
            file,
            path,
            temporary,
            digest: Sha256::new(),
            bytes: 0,
        })
    }

    /// Gives the file its name and returns its bytes and its SHA-256.
    fn rename(&mut self) -> Result<(u64, String)> {
        self.file
            .flush()
            .map_err(|error| Error::io("write", &self.path, error))?;
        fs::rename(&self.temporary, &self.path)
            .map_err(|error| Error::io("rename", &self.path, error))?;
        let digest = std::mem::take(&mut self.digest).finalize();
        Ok((self.bytes, tracelake_schema::digest::hex(&digest)))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After a rename there is nothing left under this name, and nothing to be done about an error.
        let _ = fs::remove_file(&self.temporary);
    }
}
