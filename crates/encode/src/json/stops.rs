//! Where strings and numbers of JSON end.

use std::ops::Range;

use crate::split::masks::{self, masks};

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

/// The positions of the commas in a range of a text, found a block at a time.
pub(super) struct Commas<'a> {
    text: &'a [u8],
    end: usize,
    /// Where the current block starts.
    at: usize,
    /// Its commas that weren't given yet, the first byte lowest.
    mask: u32,
}

impl<'a> Commas<'a> {
    /// Finds the commas of a range.
    #[inline]
    pub(super) fn new(text: &'a [u8], range: Range<usize>) -> Self {
        let mut commas = Self {
            text,
            end: range.end,
            at: range.start,
            mask: 0,
        };
        commas.look();
        commas
    }

    /// Finds the commas of the current block.
    #[inline]
    fn look(&mut self) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let (commas, _) = match rest.first_chunk() {
            Some(block) => masks(block, b','),
            None => {
                let mut block = [0; masks::BLOCK];
                block[..rest.len()].copy_from_slice(rest);
                masks(&block, b',')
            }
        };
        self.mask = commas;
    }
}

impl Iterator for Commas<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.mask == 0 {
            self.at += masks::BLOCK;
            if self.at >= self.end {
                return None;
            }
            self.look();
        }
        let comma = self.at + self.mask.trailing_zeros() as usize;
        self.mask &= self.mask - 1;
        (comma < self.end).then_some(comma)
    }
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

        #[test]
        fn commas_are_those_of_the_range(
            text in prop::collection::vec(prop_oneof![3 => b'0'..=b'9', 1 => Just(b',')], 0..100),
            [from, to] in prop::array::uniform2(0..100_usize),
        ) {
            let range = from.min(text.len())..to.min(text.len());
            let plain = range.clone().filter(|&at| text[at] == b',').collect::<Vec<_>>();
            prop_assert_eq!(Commas::new(&text, range).collect::<Vec<_>>(), plain);
        }
    }
}
