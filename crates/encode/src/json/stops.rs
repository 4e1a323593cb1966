//! Where strings and numbers of JSON end.

/// Bytes that are looked at at once: most strings and numbers of a trace are shorter.
const BLOCK: usize = 16;

/// The first byte from `from` on that a string without escapes can't have: its quote, unless it has others.
#[inline(always)]
pub(super) fn string_end(text: &[u8], from: usize) -> Option<usize> {
    first(text, from, |byte| {
        (byte == b'"') | (byte == b'\\') | (byte < b' ')
    })
}

/// The first byte from `from` on that may follow a number, or else the end.
#[inline(always)]
pub(super) fn number_end(text: &[u8], from: usize) -> usize {
    let end = first(text, from, |byte| {
        (byte == b',') | (byte == b']') | (byte == b'}') | (byte <= b' ')
    });
    end.unwrap_or(text.len())
}

/// The first byte from `from` on that `is_stop` is true for. Without a branch for each byte, so that the compiler
/// compares all bytes of a block at once.
#[inline(always)]
fn first(text: &[u8], mut from: usize, is_stop: impl Fn(u8) -> bool) -> Option<usize> {
    while let Some(block) = text.get(from..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        // A loop, since `map` on an array may become a call.
        let mut stops = [0; BLOCK];
        for (stop, byte) in stops.iter_mut().zip(block) {
            *stop = u8::from(is_stop(*byte));
        }
        let stops = u128::from_le_bytes(stops);
        if stops != 0 {
            return Some(from + stops.trailing_zeros() as usize / 8);
        }
        from += BLOCK;
    }
    let rest = text.get(from..)?.iter().position(|&byte| is_stop(byte));
    rest.map(|rest| from + rest)
}

/// The length of the number of JSON that a text starts with.
pub(super) fn number_length(text: &[u8]) -> Option<usize> {
    let digits = |from: usize| {
        let rest = text.get(from..).unwrap_or_default();
        let end = rest.iter().position(|byte| !byte.is_ascii_digit());
        from + end.unwrap_or(rest.len())
    };
    let start = usize::from(text.first() == Some(&b'-'));
    let mut end = digits(start);
    // No digits, or more than one after a zero.
    if end == start || (text[start] == b'0' && end > start + 1) {
        return None;
    }
    if text.get(end) == Some(&b'.') {
        let start = end + 1;
        end = digits(start);
        if end == start {
            return None;
        }
    }
    if let Some(b'e' | b'E') = text.get(end) {
        let start = end + 1 + usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
        end = digits(start);
        if end == start {
            return None;
        }
    }
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// As byte by byte.
        #[test]
        fn ends_are_those_of_the_plain_search(
            text in prop::collection::vec(prop_oneof![9 => b'a'..=b'z', 1 => any::<u8>()], 0..80),
            from in 0..90_usize,
        ) {
            let plain = |stops: &[u8], most: u8| {
                let rest = text.get(from..)?;
                let end = rest.iter().position(|byte| stops.contains(byte) || *byte <= most);
                end.map(|end| from + end)
            };
            prop_assert_eq!(string_end(&text, from), plain(b"\"\\", 0x1f));
            prop_assert_eq!(number_end(&text, from), plain(b",]}", b' ').unwrap_or(text.len()));
        }
    }
}
