//! Recognises files that can't be read by their first bytes.

/// A kind of file, recognised by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Magic {
    start: &'static [u8],
    /// The kind of file.
    pub is: &'static str,
    /// The advice for the user.
    pub remedy: &'static str,
}

const UNPACK: &str = "unpack it first";
const AGAIN: &str = "download it again";
const POINTER: &str = "a Git LFS pointer in place of the file";
const PAGE: &str = "a web page; a server's error message may have been saved";

/// Kinds of files that are mistaken for a trace. Case is ignored.
const MAGIC: &[Magic] = &[
    magic(b"PK\x03", "a zip archive", UNPACK),
    magic(b"PK\x05", "a zip archive", UNPACK),
    magic(b"7z\xbc\xaf\x27\x1c", "a 7z archive", UNPACK),
    magic(b"Rar!\x1a", "a RAR archive", UNPACK),
    magic(
        b"PAR1",
        "Parquet",
        "tracelake schema --new drafts a description of such a file",
    ),
    magic(
        b"version https://git-lfs",
        POINTER,
        "fetch the file with: git lfs pull",
    ),
    magic(b"<!doc", PAGE, AGAIN),
    magic(b"<html", PAGE, AGAIN),
    magic(b"<?xml", PAGE, AGAIN),
];

const fn magic(start: &'static [u8], is: &'static str, remedy: &'static str) -> Magic {
    Magic { start, is, remedy }
}

impl Magic {
    /// The kind of a file that starts with `bytes`; `None` for text, compressed files and unknown kinds.
    ///
    /// ```
    /// use tracelake_source::Magic;
    /// assert_eq!(Magic::of(b"PK\x03\x04...").unwrap().is, "a zip archive");
    /// assert_eq!(Magic::of(b"0,1,2"), None);
    /// ```
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<&'static Self> {
        MAGIC.iter().find(|magic| magic.begins(bytes))
    }

    /// The kind of file, and what to do about it.
    #[must_use]
    pub fn advice(&self) -> String {
        format!("it looks like {}; {}", self.is, self.remedy)
    }

    /// Whether a server or Git LFS puts it in the place of a published file.
    #[must_use]
    pub fn is_in_place_of_a_file(&self) -> bool {
        self.is == PAGE || self.is == POINTER
    }

    fn begins(&self, bytes: &[u8]) -> bool {
        let start = bytes.get(..self.start.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(self.start))
    }
}
