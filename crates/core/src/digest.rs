//! The SHA-256 of a file.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use crate::seal::hex;

/// A SHA-256. It is written in lower-case hexadecimal.
///
/// ```
/// use tracelake_core::digest::Digest;
///
/// let digest = Digest::of(b"a file");
/// assert_eq!(digest.to_string().parse(), Ok(digest));
/// assert!(digest.to_string().starts_with("7365d029"));
/// assert!("7365d029".parse::<Digest>().is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

/// A text that isn't a SHA-256 in lower-case hexadecimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoDigest;

impl Digest {
    /// The digest of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self::from(Sha256::new_with_prefix(bytes))
    }
}

impl From<Sha256> for Digest {
    /// Ends the digest.
    fn from(sha256: Sha256) -> Self {
        Self(sha256.finalize().into())
    }
}

impl FromStr for Digest {
    type Err = NoDigest;

    fn from_str(text: &str) -> Result<Self, NoDigest> {
        let (pairs, []) = text.as_bytes().as_chunks::<2>() else {
            return Err(NoDigest);
        };
        let pairs: &[[u8; 2]; 32] = pairs.try_into().map_err(|_| NoDigest)?;
        let mut digest = [0; 32];
        for (byte, [high, low]) in digest.iter_mut().zip(pairs) {
            *byte = nibble(*high)? << 4 | nibble(*low)?;
        }
        Ok(Self(digest))
    }
}

/// The value of a hexadecimal digit.
fn nibble(digit: u8) -> Result<u8, NoDigest> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(NoDigest),
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&hex(&self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for NoDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a SHA-256 in lower-case hexadecimal")
    }
}

impl std::error::Error for NoDigest {}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_has_one_spelling() {
        let text = "0123456789abcdef".repeat(4);
        let digest: Digest = text.parse().unwrap();
        assert_eq!(digest.to_string(), text);
        let json = serde_json::to_string(&digest).unwrap();
        assert_eq!(json, format!("\"{text}\""));
        assert_eq!(serde_json::from_str::<Digest>(&json).unwrap(), digest);
        for wrong in [
            &text[1..],
            &text[2..],
            &format!("{text}00"),
            &text.to_uppercase(),
            &text.replace('a', "g"),
            &text.replace("ab", "é"),
            "",
        ] {
            assert_eq!(wrong.parse::<Digest>(), Err(NoDigest), "{wrong}");
        }
    }
}
