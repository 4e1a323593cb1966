//! Indices, definition levels and booleans to the bytes of a page, as the format's document
//! `Encodings.md` has them. Pure.

/// The groups of eight in a bit-packed run. Its header then takes one byte, and readers that decode a run at once are
/// faster than with runs as long as a page: see `docs/internals/benchmarks.md`. Files are 0.6 % larger.
pub(super) const MOST_GROUPS: usize = 63;

/// Bits of the largest index into `values` values.
pub(super) fn width(values: usize) -> u8 {
    let bits = usize::BITS - values.saturating_sub(1).leading_zeros();
    u8::try_from(bits).expect("a number has at most 64 bits")
}

/// Appends the RLE and bit-packing hybrid of values below `1 << width`; `width` is at most 32.
///
/// Eight or more equal values that begin a group of eight become a run. Everything else is packed, in runs of at most
/// 504 values.
pub(super) fn hybrid<T: Copy + Eq + Into<u32>>(values: &[T], width: u8, out: &mut Vec<u8>) {
    let mut packed = 0;
    let mut at = 0;
    while at < values.len() {
        let run = run(&values[at..]);
        if run < 8 {
            at += 8.min(values.len() - at);
            continue;
        }
        pack(&values[packed..at], width, out);
        varint(run << 1, out);
        let value: u32 = values[at].into();
        out.extend_from_slice(&value.to_le_bytes()[..usize::from(width).div_ceil(8)]);
        at += run;
        packed = at;
    }
    pack(&values[packed..], width, out);
}

/// How many values are equal at the beginning; 1 where the first eight are not.
fn run<T: Copy + Eq>(values: &[T]) -> usize {
    let Some((first, eight)) = values.first().zip(values.first_chunk::<8>()) else {
        return 1;
    };
    if eight.iter().any(|value| value != first) {
        return 1;
    }
    let rest = values[8..].iter().position(|value| value != first);
    rest.map_or(values.len(), |rest| 8 + rest)
}

/// Appends bit-packed runs of all values; the last group of eight is padded with zeros.
fn pack<T: Copy + Into<u32>>(values: &[T], width: u8, out: &mut Vec<u8>) {
    let groups = values.len().div_ceil(8);
    let step = usize::from(width);
    let mut at = out.len();
    // Each group is written as two whole words; what comes next overwrites the excess.
    out.resize(at + groups.div_ceil(MOST_GROUPS) + groups * step + 32, 0);
    for run in values.chunks(8 * MOST_GROUPS) {
        let header = run.len().div_ceil(8) << 1 | 1;
        out[at] = u8::try_from(header).expect("a run has at most 63 groups");
        at += 1;
        let (eights, rest) = run.as_chunks::<8>();
        for eight in eights {
            pack_eight(&eight.map(Into::into), width, &mut out[at..]);
            at += step;
        }
        if !rest.is_empty() {
            let mut eight = [0; 8];
            for (into, &value) in eight.iter_mut().zip(rest) {
                *into = value.into();
            }
            pack_eight(&eight, width, &mut out[at..]);
            at += step;
        }
    }
    out.truncate(at);
}

/// Writes eight values, the first one lowest, and overwrites 32 bytes.
#[inline(always)]
fn pack_eight(eight: &[u32; 8], width: u8, out: &mut [u8]) {
    let bits = u32::from(width);
    if width <= 16 {
        // Four of them fit in a word.
        let four = |at: usize| {
            u64::from(eight[at])
                | u64::from(eight[at + 1]) << bits
                | u64::from(eight[at + 2]) << (2 * bits)
                | u64::from(eight[at + 3]) << (3 * bits)
        };
        let all = u128::from(four(0)) | u128::from(four(4)) << (4 * bits);
        out[..16].copy_from_slice(&all.to_le_bytes());
    } else {
        let four = |at: usize| {
            let four = eight[at..at + 4].iter().rev();
            four.fold(0, |four, &value| four << bits | u128::from(value))
        };
        let (low, high) = (four(0), four(4));
        let first = low | high.checked_shl(4 * bits).unwrap_or(0);
        out[..16].copy_from_slice(&first.to_le_bytes());
        let second = high >> (128 - 4 * bits);
        out[16..32].copy_from_slice(&second.to_le_bytes());
    }
}

/// Appends a number, seven bits a byte, the lowest first.
pub(super) fn varint(mut value: usize, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

/// Appends definition or repetition levels of at most `most`, preceded by their length.
pub(super) fn levels(levels: &[u8], most: u8, out: &mut Vec<u8>) {
    let width = width(usize::from(most) + 1);
    with_length(out, |out| hybrid(levels, width, out));
}

/// Appends the definition levels of a column without NULLs, which are all `most`, as [`levels`] does.
pub(super) fn no_nulls(count: usize, most: u8, out: &mut Vec<u8>) {
    if let Some(few) = [most; 7].get(..count) {
        return levels(few, most, out);
    }
    with_length(out, |out| {
        varint(count << 1, out);
        out.push(most);
    });
}

/// Appends something with its length in bytes before it.
fn with_length(out: &mut Vec<u8>, append: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    append(out);
    let length = u32::try_from(out.len() - start - 4).expect("levels of a row group are small");
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

/// Appends booleans, a byte each, as bits; the lowest comes first.
pub(super) fn bits(booleans: &[u8], out: &mut Vec<u8>) {
    for eight in booleans.chunks(8) {
        let byte = eight.iter().enumerate();
        out.push(byte.fold(0, |byte, (at, &bit)| byte | bit << at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The plain twin: reads the hybrid back as the document describes it, bit by bit.
    fn read(mut bytes: &[u8], width: u8, count: usize) -> Vec<u32> {
        let mut values = Vec::new();
        while values.len() < count {
            let mut header = 0;
            for at in 0.. {
                let byte = bytes[0];
                bytes = &bytes[1..];
                header |= usize::from(byte & 0x7f) << (7 * at);
                if byte < 0x80 {
                    break;
                }
            }
            if header & 1 == 0 {
                let size = usize::from(width).div_ceil(8);
                let mut value = [0; 4];
                value[..size].copy_from_slice(&bytes[..size]);
                bytes = &bytes[size..];
                assert!(header >> 1 >= 8, "a run shorter than what packing takes");
                values.extend(vec![u32::from_le_bytes(value); header >> 1]);
            } else {
                assert!((1..=MOST_GROUPS).contains(&(header >> 1)));
                let size = (header >> 1) * usize::from(width);
                for value in 0..(header >> 1) * 8 {
                    let bit = |bit: usize| {
                        let at = value * usize::from(width) + bit;
                        u32::from(bytes[at / 8] >> (at % 8) & 1) << bit
                    };
                    values.push((0..usize::from(width)).map(bit).sum());
                }
                bytes = &bytes[size..];
            }
        }
        assert!(bytes.is_empty());
        assert!(values[count..].iter().all(|&value| value == 0));
        values.truncate(count);
        values
    }

    #[test]
    fn widths_are_those_of_the_largest_index() {
        let widths = [0, 1, 2, 3, 4, 5, 256, 257, 1 << 20].map(width);
        assert_eq!(widths, [0, 0, 1, 2, 2, 3, 8, 9, 20]);
    }

    #[test]
    fn a_page_without_nulls_has_the_levels_of_as_many_ones() {
        for rows in (0..20).chain([1000, 65_536]) {
            let (mut plain, mut out) = (Vec::new(), Vec::new());
            for most in [1, 2, 5] {
                plain.clear();
                out.clear();
                levels(&vec![most; rows], most, &mut plain);
                no_nulls(rows, most, &mut out);
                assert_eq!(out, plain, "{rows}");
            }
        }
    }

    #[test]
    fn booleans_are_bits() {
        let mut out = Vec::new();
        bits(&[1, 0, 1, 1, 0, 0, 0, 0, 1], &mut out);
        assert_eq!(out, [0b1101, 1]);
    }

    proptest! {
        #[test]
        fn the_hybrid_reads_back(
            width in 0_u8..=32,
            runs in prop::collection::vec((any::<u32>(), 1_u32..600, any::<bool>()), 0..20),
        ) {
            let limit = (1_u64 << width) - 1;
            let mut values = Vec::new();
            for (seed, length, equal) in runs {
                let value = |at: u32| {
                    let step = if equal { 0 } else { at.wrapping_mul(0x9e37_79b9) };
                    u32::try_from(u64::from(seed.wrapping_add(step)) & limit).unwrap()
                };
                values.extend((0..length).map(value));
            }
            let mut out = Vec::new();
            hybrid(&values, width, &mut out);
            prop_assert_eq!(read(&out, width, values.len()), values);
        }
    }
}
