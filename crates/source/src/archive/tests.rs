//! Tar archives of each kind of member, made header by header.

use std::path::PathBuf;

use tracelake_core::Context;
use tracelake_core::error::{ErrorKind, Result};

use crate::{Chunk, Source};

/// A header with its data.
struct Piece {
    kind: u8,
    name: &'static str,
    data: String,
}

impl Piece {
    fn new(kind: u8, name: &'static str, data: impl Into<String>) -> Self {
        let data = data.into();
        Self { kind, name, data }
    }

    /// An extension header with one pax record.
    fn pax(kind: u8, key: &str, value: &str) -> Self {
        let rest = key.len() + value.len() + 3;
        let mut lengths = rest..;
        let length = lengths.find(|length| length.to_string().len() + rest == *length);
        let record = format!("{} {key}={value}\n", length.unwrap());
        Self::new(kind, "pax", record)
    }

    fn header(&self, size: usize) -> tar::Header {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..self.name.len()].copy_from_slice(self.name.as_bytes());
        header.as_old_mut().linkflag = [self.kind];
        header.set_size(size as u64);
        header.set_cksum();
        header
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.header(self.data.len()).as_bytes().to_vec();
        bytes.extend(self.data.as_bytes());
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes
    }
}

/// A plain file with one line.
fn file() -> Piece {
    Piece::new(b'0', "a.csv", "1\n")
}

fn archive(pieces: &[Piece]) -> Vec<u8> {
    let mut bytes: Vec<u8> = pieces.iter().flat_map(Piece::bytes).collect();
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

/// The members of an archive: path, whether it is a file, and the text of files.
fn members(bytes: &[u8]) -> Result<Vec<(String, bool, String)>> {
    let directory = tempfile::tempdir().unwrap();
    let path: PathBuf = directory.path().join("a.tar");
    std::fs::write(&path, bytes).unwrap();
    let mut source = Source::open(&Context::new(), path.as_path())?;
    let mut members = Vec::new();
    while let Some(member) = source.next_member()? {
        let (mut text, mut chunk) = (String::new(), Chunk::default());
        while member.is_file && source.next_chunk(&mut chunk)? {
            text += str::from_utf8(chunk.lines()).unwrap();
        }
        members.push((member.path, member.is_file, text));
    }
    assert_eq!(source.fingerprint().bytes, bytes.len() as u64);
    Ok(members)
}

/// The path and the text of the only member.
fn only(pieces: &[Piece]) -> (String, String) {
    let [(path, true, text)] = &members(&archive(pieces)).unwrap()[..] else {
        panic!("not one file");
    };
    (path.clone(), text.clone())
}

fn fault(bytes: &[u8]) -> String {
    let error = members(bytes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    error.to_string()
}

#[test]
fn each_type_of_member_is_known() {
    let kinds: [(u8, &'static str, &str, bool); 9] = [
        (b'0', "a.csv", "1\n", true),
        (0, "old.csv", "2\n", true),
        (b'7', "continuous.csv", "3\n", true),
        (0, "old/", "", false),
        (b'0', "slash/", "4\n", false),
        (b'5', "directory/", "", false),
        (b'2', "link", "", false),
        (b'V', "label", "5\n", false),
        (b'0', "last.csv", "6\n", true),
    ];
    let pieces = kinds.map(|(kind, name, data, _)| Piece::new(kind, name, data));
    let expected = kinds.map(|(_, name, data, is_file)| {
        let text = if is_file { data } else { "" };
        (name.to_owned(), is_file, text.to_owned())
    });
    assert_eq!(members(&archive(&pieces)).unwrap(), expected);
}

/// Old directories and links may have a size, but never data.
#[test]
fn what_has_no_data_has_none_whatever_its_size_says() {
    for (kind, name) in [(0, "old/"), (b'5', "directory/"), (b'1', "link")] {
        let piece = Piece::new(kind, name, "");
        let bytes = [piece.header(4096).as_bytes().to_vec(), archive(&[file()])];
        let found = members(&bytes.concat()).unwrap();
        let names: Vec<&str> = found.iter().map(|(name, ..)| &name[..]).collect();
        assert_eq!(names, [name, "a.csv"]);
    }
}

#[test]
fn long_names_stand_before_their_members() {
    let path = "directory/".repeat(30) + "b.csv";
    let text = "1\n".to_owned();
    let expected = (path.clone(), text);
    let gnu = || Piece::new(b'L', "././@LongLink", path.clone() + "\0");
    let pax = |kind| Piece::pax(kind, "path", &path);
    assert_eq!(only(&[gnu(), file()]), expected);
    assert_eq!(only(&[pax(b'x'), file()]), expected);
    assert_eq!(only(&[pax(b'X'), file()]), expected);
    // Both are fine if they agree.
    assert_eq!(only(&[gnu(), pax(b'x'), file()]), expected);
    assert_eq!(only(&[pax(b'x'), gnu(), file()]), expected);
    // The target of a link names nothing.
    let target = Piece::new(b'K', "././@LongLink", "target\0");
    assert_eq!(only(&[target, file()]).0, "a.csv");
}

#[test]
fn what_other_readers_disagree_about_is_refused() {
    let pax = || Piece::pax(b'x', "path", "b.csv");
    let gnu = |name: &str| Piece::new(b'L', "././@LongLink", format!("{name}\0"));
    let refused = [
        (vec![pax(), pax(), file()], "two pax headers for one member"),
        (
            vec![gnu("b"), gnu("b"), file()],
            "two long names for one member",
        ),
        (
            vec![gnu("c.csv"), pax(), file()],
            "two names for one member",
        ),
        (
            vec![pax(), gnu("c.csv"), file()],
            "two names for one member",
        ),
        (
            vec![Piece::pax(b'g', "path", "b.csv"), file()],
            "all members one name or size",
        ),
        (
            vec![Piece::pax(b'g', "size", "2"), file()],
            "all members one name or size",
        ),
        (
            vec![Piece::pax(b'g', "GNU.sparse.major", "1"), file()],
            "all members one name or size",
        ),
        (vec![file(), pax()], "an extension header without a member"),
        (
            vec![file(), gnu("b")],
            "an extension header without a member",
        ),
        (
            vec![Piece::new(b'x', "pax", "8 path=b\n"), file()],
            "a broken pax header",
        ),
        (
            vec![Piece::new(b'x', "pax", "99 path=b\n"), file()],
            "a broken pax header",
        ),
        (
            vec![Piece::new(b'x', "pax", "8 pathb\n"), file()],
            "a broken pax header",
        ),
        (
            vec![Piece::pax(b'x', "size", "two"), file()],
            "a broken pax header",
        ),
    ];
    for (pieces, reason) in refused {
        let found = fault(&archive(&pieces));
        assert!(found.contains(reason), "{found}");
    }
    let harmless = Piece::pax(b'g', "comment", "a commit");
    assert_eq!(only(&[harmless, file()]).0, "a.csv");
}

/// A size of pax is that of the member. That of its header is ignored, and the length of extension headers stays.
#[test]
fn the_size_of_pax_counts() {
    let size = Piece::pax(b'x', "size", "2");
    let name = Piece::new(b'L', "././@LongLink", "b.csv\0");
    let extensions = [size.bytes(), name.bytes()].concat();
    let mut bytes = [extensions, file().header(0).as_bytes().to_vec()].concat();
    bytes.extend(b"1\n");
    bytes.resize(bytes.len().next_multiple_of(512) + 1024, 0);
    let expected = ("b.csv".to_owned(), true, "1\n".to_owned());
    assert_eq!(members(&bytes).unwrap(), [expected]);
}

/// Sparse files have holes, which no file of a trace has.
#[test]
fn sparse_files_are_no_files() {
    let map = |is_extended: u8| {
        let mut block = [1; 512];
        block[504] = is_extended;
        block
    };
    // Old GNU tar says in the header whether a block of the map follows, and in each block whether another one does.
    for maps in [vec![], vec![map(0)], vec![map(1), map(0)]] {
        let mut header = Piece::new(b'S', "sparse.csv", "").header(0);
        header.as_gnu_mut().unwrap().isextended = [u8::from(!maps.is_empty())];
        header.set_cksum();
        let whole = [
            header.as_bytes().to_vec(),
            maps.concat(),
            archive(&[file()]),
        ]
        .concat();
        let found = members(&whole).unwrap();
        assert_eq!(found[0], ("sparse.csv".to_owned(), false, String::new()));
        assert_eq!(found[1].0, "a.csv");
        if !maps.is_empty() {
            let cut = &whole[..512 * maps.len()];
            assert!(fault(cut).contains("the archive is cut short"));
        }
    }
    let pax = Piece::pax(b'x', "GNU.sparse.major", "1");
    let found = members(&archive(&[pax, file()])).unwrap();
    assert_eq!(found, [("a.csv".to_owned(), false, String::new())]);
}

#[test]
fn an_archive_is_whole_or_refused() {
    let whole = archive(&[file(), file()]);
    // Without the blocks of zeros at the end, it's whole too.
    for length in [1024, 2048, 2100, whole.len()] {
        let found = members(&whole[..length]);
        assert_eq!(found.is_ok(), length != 2100, "{length}");
    }
    for length in [513, 700, 1023, 1025, 1536, 2047] {
        let found = fault(&whole[..length]);
        assert!(
            found.contains("the archive is cut short"),
            "{length}: {found}"
        );
    }
    let more = [&whole[..], b"more"].concat();
    assert!(fault(&more).contains("bytes after the end of the archive"));
    let mut changed = whole.clone();
    changed[1024] ^= 1;
    let found = fault(&changed);
    assert!(
        found.contains("not the header of a member, 1024 bytes into"),
        "{found}"
    );
    let long = Piece::new(b'L', "././@LongLink", "a".repeat(1 << 20));
    assert_eq!(only(&[long, file()]).0.len(), 1 << 20);
    let longer = Piece::new(b'L', "././@LongLink", "a".repeat((1 << 20) + 1));
    assert!(fault(&archive(&[longer, file()])).contains("longer than 1 MiB"));
}

/// Some old programs added the bytes of a header as signed numbers.
#[test]
fn a_checksum_may_be_signed() {
    let mut bytes = archive(&[file()]);
    // A byte of the name that isn't ASCII counts 256 less.
    bytes[4] = 0xe9;
    let sum = |bytes: &[u8]| -> i64 {
        let counted = bytes[..148].iter().chain(&bytes[156..512]);
        256 + counted
            .map(|&byte| i64::from(byte.cast_signed()))
            .sum::<i64>()
    };
    for (off, is_accepted) in [(0, true), (1, false)] {
        let checksum = format!("{:06o}\0 ", sum(&bytes) + off);
        bytes[148..156].copy_from_slice(checksum.as_bytes());
        assert_eq!(members(&bytes).is_ok(), is_accepted);
    }
}
