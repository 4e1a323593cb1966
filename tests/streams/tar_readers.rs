//! Crafted archives, member by member, against other readers of tar: Python's tarfile and GNU tar where
//! they are installed, and the tar crate, whose headers we use but not its iterator.

use std::io::Read;
use std::path::Path;
use std::process::Command;

use tracelake_core::Context;
use tracelake_core::error::{ErrorKind, Result};
use tracelake_source::{Chunk, Source};

use tracelake_testkit::{Score, Scratch, ensure};

/// The plain files of an archive: path and text.
type Files = Vec<(String, Vec<u8>)>;

/// One header, its data and their padding.
struct Piece {
    kind: u8,
    name: &'static str,
    /// The size field as it is in the header; that of the data if there is none.
    size: Option<&'static [u8]>,
    data: Vec<u8>,
}

impl Piece {
    fn new(kind: u8, name: &'static str, data: impl Into<Vec<u8>>) -> Self {
        let (size, data) = (None, data.into());
        Self {
            kind,
            name,
            size,
            data,
        }
    }

    fn file(name: &'static str, data: &str) -> Self {
        Self::new(b'0', name, data)
    }

    /// A pax header with these records.
    fn pax(kind: u8, records: &[(&str, &str)]) -> Self {
        let record = |(key, value): &(&str, &str)| {
            let rest = key.len() + value.len() + 3;
            let length = (rest..).find(|length| length.to_string().len() + rest == *length);
            format!("{} {key}={value}\n", length.unwrap())
        };
        Self::new(kind, "pax", records.iter().map(record).collect::<String>())
    }

    /// Replaces the size in the header by a wrong one.
    fn sized(mut self, size: &'static [u8]) -> Self {
        self.size = Some(size);
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let mut header = tar::Header::new_gnu();
        let old = header.as_old_mut();
        old.name[..self.name.len()].copy_from_slice(self.name.as_bytes());
        old.linkflag = [self.kind];
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_size(self.data.len() as u64);
        if let Some(size) = self.size {
            header.as_old_mut().size = [0; 12];
            header.as_old_mut().size[..size.len()].copy_from_slice(size);
        }
        header.set_cksum();
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend(&self.data);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes
    }
}

fn archive(pieces: &[Piece]) -> Vec<u8> {
    let mut bytes: Vec<u8> = pieces.iter().flat_map(Piece::bytes).collect();
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

/// The files our reader finds.
fn ours(path: &Path) -> Result<Files> {
    let mut source = Source::open(&Context::new(), path)?;
    let (mut files, mut chunk) = (Files::new(), Chunk::default());
    while let Some(member) = source.next_member()? {
        if !member.is_file {
            continue;
        }
        let mut text = Vec::new();
        while source.next_chunk(&mut chunk)? {
            text.extend_from_slice(chunk.lines());
        }
        files.push((member.path, text));
    }
    Ok(files)
}

/// The files the tar crate finds.
fn the_crate(path: &Path) -> Files {
    let mut archive = tar::Archive::new(std::fs::File::open(path).unwrap());
    let mut files = Files::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let (path, mut text) = (entry.path_bytes().into_owned(), Vec::new());
        entry.read_to_end(&mut text).unwrap();
        files.push((String::from_utf8(path).unwrap(), text));
    }
    files
}

const TARFILE: &str = "
import sys, tarfile
with tarfile.open(sys.argv[1]) as archive:
    for member in archive:
        if member.isreg() and not member.issparse():
            data = archive.extractfile(member).read()
            sys.stdout.buffer.write(member.name.encode() + b'\\0' + data + b'\\1')
";

/// The files Python's tarfile finds; `None` without Python.
fn tarfile(path: &Path) -> Option<Files> {
    let mut python = Command::new("python3");
    let said = python.args(["-c", TARFILE]).arg(path).output().ok()?;
    assert!(
        said.status.success(),
        "{}",
        String::from_utf8_lossy(&said.stderr)
    );
    let members = said.stdout.split(|&byte| byte == 1);
    let members = members.filter(|member| !member.is_empty()).map(|member| {
        let end = member.iter().position(|&byte| byte == 0).unwrap();
        let name = String::from_utf8(member[..end].to_vec()).unwrap();
        (name, member[end + 1..].to_vec())
    });
    Some(members.collect())
}

/// The texts of all plain files, one after the other, as GNU tar extracts them; `None` without it.
fn gnu_tar(path: &Path) -> Option<Vec<u8>> {
    let version = Command::new("tar").arg("--version").output().ok()?;
    if !version.stdout.starts_with(b"tar (GNU tar)") {
        return None;
    }
    let said = Command::new("tar").arg("-xOf").arg(path).output().unwrap();
    Some(said.stdout)
}

/// The tar crate skips data after a link, reads no blank sizes, and splits pax headers at each line end.
const CRATE: &str = "the tar crate";

/// GNU tar skips data after some members that POSIX says have none.
const GNU: &str = "GNU tar";

/// Archives that no reader may misread: a description, the archive, and which of the other readers
/// get it wrong.
fn archives() -> Vec<(&'static str, Vec<Piece>, &'static [&'static str])> {
    let good = || Piece::file("good.csv", "1,2\n3,4\n");
    // Shorter and longer than the truth: the rest would be read as headers, or headers as data.
    let hidden = String::from_utf8(archive(&[Piece::file("hidden.csv", "5,6\n")])).unwrap();
    let hiding = || Piece::file("hiding.csv", &format!("{hidden}end\n"));
    let long = || Piece::new(b'L', "././@LongLink", "long.csv\0");
    let block = b"00000001000";
    let mut all: Vec<(_, _, &[_])> = vec![
        (
            "a pax size before a long name",
            vec![Piece::pax(b'x', &[("size", "8")]), long(), good(), hiding()],
            &[],
        ),
        (
            "a pax size before a global header",
            vec![
                Piece::pax(b'x', &[("size", "8")]),
                Piece::pax(b'g', &[("comment", "x")]),
                good(),
                hiding(),
            ],
            &[CRATE],
        ),
        (
            "a pax size that differs from the header's",
            vec![
                Piece::pax(b'x', &[("size", "8")]),
                good().sized(b"00000000000"),
                hiding(),
            ],
            &[],
        ),
        (
            "a pax size of Solaris",
            vec![
                Piece::pax(b'X', &[("size", "8")]),
                good().sized(b"00000000000"),
                hiding(),
            ],
            &[CRATE],
        ),
        (
            "a pax value that holds a record",
            vec![
                Piece::pax(b'x', &[("comment", "x\n13 size=512\n")]),
                good(),
                hiding(),
            ],
            &[CRATE],
        ),
        (
            "a volume label with a blank size",
            vec![Piece::new(b'V', "label", "").sized(b""), good(), hiding()],
            &[CRATE],
        ),
        (
            "an empty file with a size of spaces",
            vec![Piece::file("empty.csv", "").sized(b"           "), good()],
            &[CRATE],
        ),
        (
            "a plain file with the mark of a sparse one",
            vec![good(), hiding()],
            &[],
        ),
    ];
    let others: [(_, _, &[&str]); 4] = [
        ("a hard link with a size", b'1', &[CRATE]),
        ("a symbolic link with a size", b'2', &[CRATE, GNU]),
        ("a directory with a size", b'5', &[CRATE]),
        ("a pipe with a size", b'6', &[CRATE, GNU]),
    ];
    for (what, kind, except) in others {
        all.push((
            what,
            vec![
                Piece::new(kind, "good.csv", "").sized(block),
                good(),
                hiding(),
            ],
            except,
        ));
    }
    all
}

#[test]
fn other_readers_find_the_same_members() {
    let mut score = Score::new("crafted archives read by others");
    let scratch = Scratch::new();
    let path = scratch.path().join("archive.tar");
    for (what, pieces, except) in archives() {
        let mut bytes = archive(&pieces);
        if what.contains("mark of a sparse") {
            // The byte that says of a sparse file that its map has more blocks, and the checksum.
            bytes[482] = 1;
            let mut header = tar::Header::from_byte_slice(&bytes[..512]).clone();
            header.set_cksum();
            bytes[..512].copy_from_slice(header.as_bytes());
        }
        std::fs::write(&path, bytes).unwrap();
        let found = match ours(&path) {
            Ok(found) => found,
            Err(error) => {
                score.count(what, Err(error.to_string()));
                continue;
            }
        };
        let texts: Vec<u8> = found.iter().flat_map(|(_, text)| text.clone()).collect();
        let names = |files: &Files| {
            files
                .iter()
                .map(|(name, _)| name.clone())
                .collect::<Vec<_>>()
        };
        let same = |reader: &str, theirs: &Files| {
            ensure(*theirs == found, || {
                format!("we read {:?}, {reader} {:?}", names(&found), names(theirs))
            })
        };
        let hidden = names(&found).contains(&"hidden.csv".to_owned());
        score.count(
            what,
            ensure(!hidden && !found.is_empty(), || {
                format!("{:?}", names(&found))
            }),
        );
        if !except.contains(&CRATE) {
            score.count(what, same(CRATE, &the_crate(&path)));
        }
        if let Some(theirs) = tarfile(&path) {
            score.count(what, same("tarfile", &theirs));
        }
        if let Some(theirs) = gnu_tar(&path).filter(|_| !except.contains(&GNU)) {
            let outcome = ensure(theirs == texts, || {
                "GNU tar extracts other texts".to_owned()
            });
            score.count(what, outcome);
        }
    }
    score.close();
}

/// Where other readers disagree with each other, there is no right answer.
#[test]
fn an_ambiguous_archive_is_refused() {
    let mut score = Score::new("ambiguous archives");
    let scratch = Scratch::new();
    let path = scratch.path().join("archive.tar");
    let good = || Piece::file("good.csv", "1,2\n");
    let long = || Piece::new(b'L', "././@LongLink", "long.csv\0");
    let size = |kind| Piece::pax(kind, &[("size", "4")]);
    let cases = [
        (
            "two pax headers",
            vec![size(b'x'), size(b'x'), good()],
            "two pax headers",
        ),
        (
            "two long names",
            vec![long(), long(), good()],
            "two long names",
        ),
        (
            "two names",
            vec![Piece::pax(b'x', &[("path", "other.csv")]), long(), good()],
            "two names",
        ),
        ("a size for all", vec![size(b'g'), good()], "all members"),
        (
            "a pax size that is no number",
            vec![Piece::pax(b'x', &[("size", "+4")]), good()],
            "a broken pax header",
        ),
        (
            "a pax record longer than its header",
            vec![Piece::new(b'x', "pax", "99 size=4\n"), good()],
            "a broken pax header",
        ),
        (
            "nothing after a long name",
            vec![good(), long()],
            "without a member",
        ),
    ];
    for (what, pieces, says) in cases {
        std::fs::write(&path, archive(&pieces)).unwrap();
        let outcome = match ours(&path) {
            Ok(files) => Err(format!("read {files:?}")),
            Err(error) => {
                let right = error.kind() == ErrorKind::Corrupt && error.to_string().contains(says);
                ensure(right, || error.to_string())
            }
        };
        score.count(what, outcome);
    }
    score.close();
}
