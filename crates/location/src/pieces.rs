//! A file on disk that was published in pieces, `X.partaa`, `X.partab`, …, as `split` names them: their bytes in a row.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The most pieces: `split` has as many names with two letters.
const MOST: u32 = 26 * 26;

/// The end of the name of a piece, from 0: `.partaa`, `.partab`.
fn ending(piece: u32) -> Option<String> {
    let letter = |number: u32| char::from_u32(u32::from('a') + number);
    let (first, second) = (letter(piece / 26)?, letter(piece % 26)?);
    (piece < MOST).then(|| format!(".part{first}{second}"))
}

/// The name of the whole file and the number of the piece, if a name is that of a piece.
///
/// ```
/// use tracelake_location::pieces::piece_of;
///
/// assert_eq!(piece_of("jobs.tar.gz.partab"), Some(("jobs.tar.gz", 1)));
/// assert_eq!(piece_of("jobs.tar.gz.part"), None);
/// ```
#[must_use]
pub fn piece_of(name: &str) -> Option<(&str, u32)> {
    let (whole, letters) = name.rsplit_once(".part")?;
    let [first @ b'a'..=b'z', second @ b'a'..=b'z'] = *letters.as_bytes() else {
        return None;
    };
    let number = u32::from(first - b'a') * 26 + u32::from(second - b'a');
    (!whole.is_empty()).then_some((whole, number))
}

/// The pieces of a file that isn't there as a whole, in order, up to the first one that is missing.
#[must_use]
pub fn pieces(whole: &Path) -> Vec<PathBuf> {
    let paths = (0..MOST).map_while(|piece| {
        let mut path = whole.as_os_str().to_owned();
        path.push(ending(piece)?);
        let path = PathBuf::from(path);
        path.is_file().then_some(path)
    });
    paths.collect()
}

/// Reads the pieces of a file one after the other; a file that is there as a whole is one.
#[derive(Debug)]
pub(crate) struct Pieces {
    current: File,
    rest: std::vec::IntoIter<PathBuf>,
}

impl Pieces {
    /// Opens the first piece; `None` if there are no pieces.
    pub(crate) fn open(whole: &Path) -> io::Result<Option<Self>> {
        let mut rest = pieces(whole).into_iter();
        let Some(first) = rest.next() else {
            return Ok(None);
        };
        let current = File::open(first)?;
        Ok(Some(Self { current, rest }))
    }
}

impl From<File> for Pieces {
    fn from(current: File) -> Self {
        let rest = Vec::new().into_iter();
        Self { current, rest }
    }
}

impl Read for Pieces {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.current.read(into)?;
            if read > 0 || into.is_empty() {
                return Ok(read);
            }
            match self.rest.next() {
                Some(next) => self.current = File::open(next)?,
                None => return Ok(0),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_read_in_order_up_to_a_gap() {
        let directory = tempfile::tempdir().unwrap();
        let whole = directory.path().join("jobs.csv");
        for (ending, text) in [("aa", "one"), ("ab", ""), ("ac", "two"), ("ae", "four")] {
            let path = directory.path().join(format!("jobs.csv.part{ending}"));
            std::fs::write(path, text).unwrap();
        }
        let mut text = String::new();
        let mut read = Pieces::open(&whole).unwrap().unwrap();
        read.read_to_string(&mut text).unwrap();
        assert_eq!(text, "onetwo");
        let other = Pieces::open(&directory.path().join("other"));
        assert!(other.unwrap().is_none());
    }

    #[test]
    fn names_of_pieces_are_numbered() {
        assert_eq!(ending(0).as_deref(), Some(".partaa"));
        assert_eq!(ending(27).as_deref(), Some(".partbb"));
        assert_eq!(ending(MOST), None);
        for number in 0..MOST {
            let name = format!("x{}", ending(number).unwrap());
            assert_eq!(piece_of(&name), Some(("x", number)));
        }
        for other in ["x.partAA", "x.parta", "x.partaaa", ".partaa", "x.part01"] {
            assert_eq!(piece_of(other), None, "{other}");
        }
    }
}
