//! Digests that small files carry of themselves, so that a flipped bit is found before it is believed.
//!
//! A document (manifest, identity) ends in a line with the digest of every byte before that line, and a closing
//! brace: `head -n -2 manifest.json | sha256sum` checks it by hand. Facts are one line, which ends in the digest
//! of what is before it.

use std::io::{self, BufWriter, Write};

use serde::Serialize;
use sha2::{Digest, Sha256};
pub use tracelake_schema::digest::hex;

/// The length in bytes of the two lines that end a document.
pub const END_BYTES: u64 = "  \"sha256\": \"\"\n}\n".len() as u64 + HEX_BYTES as u64;

/// The length of a SHA-256 in hexadecimal.
const HEX_BYTES: usize = 64;

/// Ends a document with the digest of `body`: a JSON object up to the comma and the newline after its last
/// field.
///
/// ```
/// use tracelake_core::seal;
/// let document = seal::document(b"{\n  \"rows\": 1,\n".to_vec());
/// assert!(seal::is_whole(&document));
/// assert!(!seal::is_whole(&document.to_ascii_uppercase()));
/// ```
#[must_use]
pub fn document(mut body: Vec<u8>) -> Vec<u8> {
    let end = end(&Sha256::digest(&body));
    body.extend(end.into_bytes());
    body
}

/// Turns a JSON object as serde_json prints it, over several lines, into a document while it is written.
struct DocumentWriter<W> {
    out: W,
    digest: Sha256,
    /// The last bytes, which may be the end of the object.
    held: Vec<u8>,
    bytes: u64,
}

/// The end of a JSON object over several lines.
const OBJECT_END: &[u8] = b"\n}";

impl<W: Write> DocumentWriter<W> {
    fn new(out: W) -> Self {
        Self {
            out,
            digest: Sha256::new(),
            held: Vec::new(),
            bytes: 0,
        }
    }

    fn pass_on(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.digest.update(bytes);
        self.bytes += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// Ends the document with its digest; returns its length in bytes. An error if it isn't an object over several lines.
    fn finish(mut self) -> io::Result<u64> {
        if self.held != OBJECT_END {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.pass_on(b",\n")?;
        let end = end(&self.digest.finalize());
        self.out.write_all(end.as_bytes())?;
        self.out.flush()?;
        Ok(self.bytes + end.len() as u64)
    }
}

impl<W: Write> Write for DocumentWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut held = std::mem::take(&mut self.held);
        held.extend_from_slice(bytes);
        let passed = held.len().saturating_sub(OBJECT_END.len());
        self.held = held.split_off(passed);
        self.pass_on(&held)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes an object as a document; returns its length in bytes.
///
/// # Errors
/// If it can't be written, or isn't an object.
///
/// # Memory
/// A buffer, whatever the length.
pub fn write_document(out: impl Write, object: &impl Serialize) -> io::Result<u64> {
    let mut document = BufWriter::new(DocumentWriter::new(out));
    serde_json::to_writer_pretty(&mut document, object)?;
    let sealed = document.into_inner();
    sealed.map_err(io::IntoInnerError::into_error)?.finish()
}

/// Whether a document has the digest of its content.
#[must_use]
pub fn is_whole(document: &[u8]) -> bool {
    let end_bytes = usize::try_from(END_BYTES).expect("a few dozen");
    let Some((body, found)) = document
        .len()
        .checked_sub(end_bytes)
        .map(|at| document.split_at(at))
    else {
        return false;
    };
    found == end(&Sha256::digest(body)).as_bytes()
}

/// The end of a document: the digest of everything before it.
pub fn end(digest: &[u8]) -> String {
    format!("  \"sha256\": \"{}\"\n}}\n", hex(digest))
}

/// The SHA-256 of these bytes, in lower-case hexadecimal.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Between the content of a line and its digest.
const BEFORE_DIGEST: &[u8] = b",\"sha256\":\"";
const AFTER_DIGEST: &[u8] = b"\"}\n";

/// Facts: a JSON object in one line, with the digest of what is before it as the last field.
///
/// # Panics
/// If `json` is not an object.
#[must_use]
pub fn line(mut json: Vec<u8>) -> Vec<u8> {
    assert_eq!(json.pop(), Some(b'}'), "a JSON object");
    let digest = sha256(&json);
    json.extend(BEFORE_DIGEST);
    json.extend(digest.into_bytes());
    json.extend(AFTER_DIGEST);
    json
}

/// The JSON object in a line; `None` if the line doesn't have the digest of its content.
#[must_use]
pub fn content(line: &[u8]) -> Option<Vec<u8>> {
    let rest = line.strip_suffix(AFTER_DIGEST)?;
    let (rest, digest) = rest.split_at_checked(rest.len().checked_sub(HEX_BYTES)?)?;
    let content = rest.strip_suffix(BEFORE_DIGEST)?;
    let is_right = digest == sha256(content).as_bytes();
    is_right.then(|| [content, b"}"].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flip_of_a_line_is_found() {
        let json = br#"{"part":{"rows":17}}"#;
        let sealed = line(json.to_vec());
        assert_eq!(content(&sealed).as_deref(), Some(&json[..]));
        for at in 0..sealed.len() {
            for bit in 0..8 {
                let mut flipped = sealed.clone();
                flipped[at] ^= 1 << bit;
                assert_eq!(content(&flipped), None, "bit {bit} of byte {at}");
            }
        }
        assert_eq!(content(json), None);
        assert_eq!(content(b""), None);
    }

    #[test]
    fn every_flip_of_a_document_is_found() {
        let mut sealed = Vec::new();
        write_document(&mut sealed, &serde_json::json!({"rows": 17})).unwrap();
        assert_eq!(sealed, document(b"{\n  \"rows\": 17,\n".to_vec()));
        assert!(is_whole(&sealed));
        for at in 0..sealed.len() {
            let mut flipped = sealed.clone();
            flipped[at] ^= 1;
            assert!(!is_whole(&flipped), "byte {at}");
        }
        assert!(!is_whole(b""));
    }
}
