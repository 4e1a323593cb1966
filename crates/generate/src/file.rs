//! Files: gzip on a thread for each table, a temporary name until a file is whole, and its digest.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;

use flate2::{Compression, GzBuilder, write::GzEncoder};
use sha2::{Digest, Sha256};
use tracelake_schema::Table;

use crate::Error;

/// What a table's thread is told.
pub(crate) enum Message {
    /// Lines that belong to the current part.
    Lines(Vec<u8>),
    /// The current part is whole; the next lines belong to the next one.
    EndOfPart {
        /// Its rows.
        rows: u64,
    },
}

/// A file that was written.
#[derive(Debug)]
pub(crate) struct FileFact {
    /// Relative to the output directory, with `/`.
    pub(crate) path: String,
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
}

/// Writes the parts of a table from what arrives, until the sender is gone.
pub(crate) fn write_table(
    out: &Path,
    table: &Table,
    parts: u32,
    inbox: &Receiver<Message>,
) -> Result<Vec<FileFact>, Error> {
    let directory = out.join(table.name);
    fs::create_dir_all(&directory).map_err(Error::io(&directory, "cannot create"))?;
    let mut facts = Vec::new();
    for part in 0..parts {
        let path = format!("{}/{}", table.name, part_name(part, parts));
        let mut file = GzipFile::create(out.join(&path))?;
        loop {
            match inbox.recv() {
                Ok(Message::Lines(lines)) => file.write(&lines)?,
                Ok(Message::EndOfPart { rows }) => {
                    let (bytes, sha256) = file.finish()?;
                    facts.push(FileFact {
                        path,
                        rows,
                        bytes,
                        sha256,
                    });
                    break;
                }
                // Another table failed: this part stays without a name.
                Err(_) => return Ok(facts),
            }
        }
    }
    Ok(facts)
}

/// The published name of a part.
pub(crate) fn part_name(part: u32, parts: u32) -> String {
    format!("part-{part:05}-of-{parts:05}.csv.gz")
}

/// Writes a small file whole or not at all.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<String, Error> {
    let mut temporary = Temporary::create(path.to_path_buf())?;
    temporary
        .write_all(bytes)
        .map_err(Error::io(path, "cannot write"))?;
    Ok(temporary.rename()?.1)
}

struct GzipFile {
    encoder: Option<GzEncoder<Temporary>>,
    path: PathBuf,
}

impl GzipFile {
    fn create(path: PathBuf) -> Result<Self, Error> {
        let temporary = Temporary::create(path.clone())?;
        // No name and no time in the header: the bytes depend on the rows alone.
        let encoder = GzBuilder::new()
            .mtime(0)
            .write(temporary, Compression::new(6));
        Ok(Self {
            encoder: Some(encoder),
            path,
        })
    }

    fn write(&mut self, lines: &[u8]) -> Result<(), Error> {
        let Some(encoder) = &mut self.encoder else {
            return Ok(());
        };
        encoder
            .write_all(lines)
            .map_err(Error::io(&self.path, "cannot write"))
    }

    fn finish(mut self) -> Result<(u64, String), Error> {
        let encoder = self.encoder.take().map(GzEncoder::finish).transpose();
        let temporary = encoder.map_err(Error::io(&self.path, "cannot write"))?;
        temporary.map_or(Ok((0, String::new())), Temporary::rename)
    }
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
    fn create(path: PathBuf) -> Result<Self, Error> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".tmp");
        let temporary = path.with_file_name(name);
        let file = File::create(&temporary).map_err(Error::io(&temporary, "cannot create"))?;
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
    fn rename(mut self) -> Result<(u64, String), Error> {
        self.file
            .flush()
            .map_err(Error::io(&self.path, "cannot write"))?;
        fs::rename(&self.temporary, &self.path).map_err(Error::io(&self.path, "cannot rename"))?;
        let digest = std::mem::take(&mut self.digest).finalize();
        let hex = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok((self.bytes, hex))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After a rename there is nothing left under this name, and nothing to be done about an error.
        let _ = fs::remove_file(&self.temporary);
    }
}
