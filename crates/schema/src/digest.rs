//! How digests are written.

/// Bytes in lower-case hexadecimal.
///
/// ```
/// assert_eq!(tracelake_schema::digest::hex(&[0, 171]), "00ab");
/// ```
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
