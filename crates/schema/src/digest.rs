//! How digests are written.

/// Bytes in lower-case hexadecimal.
///
/// ```
/// assert_eq!(tracelake_schema::digest::hex(&[0, 171]), "00ab");
/// ```
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let digits = digits.map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)]));
    digits.collect()
}
