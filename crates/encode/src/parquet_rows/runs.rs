//! Levels and indices of dictionaries as pages have them: runs of one value, and bit-packed ones (RLE).

use bytes::Bytes;

/// The rest of some runs.
pub(super) struct Runs {
    bytes: Bytes,
    at: usize,
    width: usize,
    run: Run,
}

enum Run {
    /// So many times one value.
    Repeated { left: u64, value: u32 },
    /// So many values from this bit on.
    Packed { left: u64, bit: usize },
}

impl Runs {
    /// Reads values of `width` bits, at most 32.
    pub(super) fn new(bytes: Bytes, width: usize) -> Self {
        Self {
            bytes,
            at: 0,
            width,
            run: Run::Repeated { left: 0, value: 0 },
        }
    }

    /// Reads some values; `None` if there aren't as many.
    pub(super) fn read(&mut self, count: usize, mut each: impl FnMut(u32)) -> Option<()> {
        let mut wanted = count as u64;
        let mask = (1_u128 << self.width) - 1;
        while wanted > 0 {
            match &mut self.run {
                Run::Repeated { left: 0, .. } | Run::Packed { left: 0, .. } => self.next_run()?,
                Run::Repeated { left, value } => {
                    let taken = wanted.min(*left);
                    (0..taken).for_each(|_| each(*value));
                    (*left, wanted) = (*left - taken, wanted - taken);
                }
                Run::Packed { left, bit } => {
                    let taken = wanted.min(*left);
                    let end = *bit + usize::try_from(taken).ok()? * self.width;
                    if end > 8 * self.bytes.len() {
                        return None;
                    }
                    for _ in 0..taken {
                        let word = word_at(&self.bytes, *bit / 8) >> (*bit % 8);
                        #[expect(clippy::cast_possible_truncation, reason = "at most 32 bits")]
                        each((word & mask) as u32);
                        *bit += self.width;
                    }
                    (*left, wanted) = (*left - taken, wanted - taken);
                }
            }
        }
        Some(())
    }

    fn next_run(&mut self) -> Option<()> {
        let head = varint(&self.bytes, &mut self.at)?;
        if head & 1 == 0 {
            let length = self.width.div_ceil(8);
            let bytes = self.bytes.get(self.at..self.at + length)?;
            let value = bytes
                .iter()
                .rev()
                .fold(0, |value, &byte| value << 8 | u32::from(byte));
            self.at += length;
            self.run = Run::Repeated {
                left: head >> 1,
                value,
            };
        } else {
            let groups = head >> 1;
            let length = usize::try_from(groups).ok()?.checked_mul(self.width)?;
            self.run = Run::Packed {
                left: groups.checked_mul(8)?,
                bit: self.at.checked_mul(8)?,
            };
            // Some writers cut the last group after its last value.
            self.at = self.at.checked_add(length)?.min(self.bytes.len());
        }
        Some(())
    }
}

/// A number of seven bits a byte.
pub(super) fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        number |= u64::from(byte & 127) << shift;
        if byte < 128 {
            return Some(number);
        }
    }
    None
}

/// Sixteen bytes from `at` on, or zeros after the last one.
#[inline]
pub(super) fn word_at(bytes: &[u8], at: usize) -> u128 {
    match bytes.get(at..).and_then(<[u8]>::first_chunk) {
        Some(word) => u128::from_le_bytes(*word),
        None => {
            let rest = bytes.get(at..).unwrap_or_default();
            let mut word = [0; 16];
            word[..rest.len()].copy_from_slice(rest);
            u128::from_le_bytes(word)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &'static [u8], width: usize, count: usize) -> Option<Vec<u32>> {
        let mut found = Vec::new();
        let read =
            Runs::new(Bytes::from_static(bytes), width).read(count, |value| found.push(value));
        read.map(|()| found)
    }

    #[test]
    fn runs_are_of_both_kinds() {
        // The example of the format: 0 to 7 in three bits each, after four times 5.
        let bytes = &[4 << 1, 5, 1 << 1 | 1, 0b1000_1000, 0b1100_0110, 0b1111_1010];
        assert_eq!(
            all(bytes, 3, 12),
            Some(vec![5, 5, 5, 5, 0, 1, 2, 3, 4, 5, 6, 7])
        );
        assert_eq!(all(bytes, 3, 13), None);
        // Cut after the fifth of eight values.
        assert_eq!(
            all(&[1 << 1 | 1, 0b1000_1000, 0b1100_0110], 3, 5),
            Some(vec![0, 1, 2, 3, 4])
        );
        assert_eq!(all(&[1 << 1 | 1, 0b1000_1000, 0b1100_0110], 3, 6), None);
        assert_eq!(all(&[9 << 1], 0, 9), Some(vec![0; 9]));
        assert_eq!(
            all(&[2 << 1, 1, 2, 3, 4], 32, 2),
            Some(vec![0x0403_0201; 2])
        );
        assert_eq!(all(&[0xff; 12], 1, 1 << 20), None);
        assert_eq!(all(&[], 1, 1), None);
    }
}
