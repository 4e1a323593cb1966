//! The hash of a sample key, by which rows are sampled and clustered. A key is hashed once while it is remembered.

use tracelake_core::selection::Sample;

/// Integer keys whose hash is remembered, as a power of two. Traces have up to 100,000 machines, and a part has about
/// as many jobs; 1 MiB stays in the second-level cache.
const REMEMBERED_BITS: u32 = 16;

/// Hashes keys as [`Sample::hash`] does.
#[derive(Debug)]
pub(crate) struct KeyHasher {
    /// By the upper bits of a product of the key.
    integers: Vec<Remembered>,
    /// The last text and its hash.
    text: Vec<u8>,
    text_hash: u32,
    null: u32,
}

/// An integer key and its hash.
#[derive(Debug, Clone, Copy)]
struct Remembered {
    key: i64,
    hash: u32,
}

impl KeyHasher {
    pub(crate) fn new() -> Self {
        // Every slot has the hash of zero, the key that it is filled with.
        let zero = Remembered {
            key: 0,
            hash: hash_integer(0),
        };
        Self {
            integers: vec![zero; 1 << REMEMBERED_BITS],
            text: Vec::new(),
            text_hash: Sample::hash(b""),
            null: Sample::hash(b""),
        }
    }

    /// The hash of NULL.
    pub(crate) fn null(&self) -> u32 {
        self.null
    }

    /// The hash of an integer.
    #[inline]
    pub(crate) fn integer(&mut self, key: i64) -> u32 {
        let product = key.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let slot = usize::try_from(product >> (u64::BITS - REMEMBERED_BITS)).unwrap_or_default();
        let slot = &mut self.integers[slot];
        if slot.key != key {
            *slot = Remembered {
                key,
                hash: hash_integer(key),
            };
        }
        slot.hash
    }

    /// The hash of a text that was hashed last; `None` for any other.
    pub(crate) fn known_text(&self, key: &[u8]) -> Option<u32> {
        (key == self.text).then_some(self.text_hash)
    }

    /// The hash of a text.
    #[inline]
    pub(crate) fn text(&mut self, key: &[u8]) -> u32 {
        if key != self.text {
            self.text_hash = Sample::hash(key);
            self.text.clear();
            self.text.extend_from_slice(key);
        }
        self.text_hash
    }
}

/// The hash of an integer: of its canonical text.
pub(crate) fn hash_integer(key: i64) -> u32 {
    Sample::hash(key.to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_the_hash() {
        let mut hasher = KeyHasher::new();
        for key in [0, 1, -1, i64::MAX, i64::MIN, 6_253_771_429, 1, 0] {
            assert_eq!(
                hasher.integer(key),
                Sample::hash(key.to_string().as_bytes())
            );
        }
        for key in ["", "a", "a", "b", ""] {
            assert_eq!(hasher.text(key.as_bytes()), Sample::hash(key.as_bytes()));
        }
        assert_eq!(hasher.null(), Sample::hash(b""));
    }
}
