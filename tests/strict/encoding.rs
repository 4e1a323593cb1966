//! Values and levels as the format's document `Encodings.md` describes them. Every byte is used, and
//! padding is zero.

use parquet::basic::Type as Physical;

use super::Result;
use super::schema::value_bytes;

/// Levels or indices, and how they were written.
#[derive(Debug)]
pub(super) struct Hybrid {
    pub(super) values: Vec<u32>,
    /// The most values in a bit-packed run.
    pub(super) longest_packed: usize,
}

/// Reads `count` values of `width` bits in the hybrid of runs and bit-packing.
pub(super) fn hybrid(mut bytes: &[u8], width: u8, count: usize) -> Result<Hybrid> {
    if width > 32 {
        return Err(format!("{width} bits wide"));
    }
    let bits = usize::from(width);
    let mut values = Vec::new();
    let mut longest_packed = 0;
    while !bytes.is_empty() {
        let left = count - values.len();
        let head = varint(&mut bytes)?;
        let groups = usize::try_from(head >> 1).map_err(|_| "a run is too long")?;
        if groups == 0 {
            return Err("a run of no values".to_owned());
        }
        if head & 1 == 0 {
            let mut value = [0; 4];
            let stored = take(&mut bytes, bits.div_ceil(8))?;
            value[..stored.len()].copy_from_slice(stored);
            let value = u32::from_le_bytes(value);
            if groups > left || u64::from(value) >> width != 0 {
                return Err(format!("a run of {groups} values {value}, {left} left"));
            }
            values.resize(values.len() + groups, value);
            continue;
        }
        if groups > left.div_ceil(8) {
            return Err(format!("{groups} packed groups, {left} values left"));
        }
        let packed = take(&mut bytes, groups * bits)?;
        for at in 0..groups * 8 {
            let bit = |bit: usize| {
                let place = at * bits + bit;
                u32::from(packed[place / 8] >> (place % 8) & 1) << bit
            };
            let value = (0..bits).map(bit).sum();
            if at < left {
                values.push(value);
            } else if value != 0 {
                return Err("padding is not zero".to_owned());
            }
        }
        longest_packed = longest_packed.max(left.min(groups * 8));
    }
    if values.len() != count {
        return Err(format!("{} values instead of {count}", values.len()));
    }
    Ok(Hybrid {
        values,
        longest_packed,
    })
}

/// Reads a hybrid that has its length before it, and moves `bytes` past it.
pub(super) fn hybrid_with_length(bytes: &mut &[u8], width: u8, count: usize) -> Result<Vec<u32>> {
    let length = length(bytes)?;
    Ok(hybrid(take(bytes, length)?, width, count)?.values)
}

/// Reads `count` values in PLAIN encoding: each as the bytes that statistics have, a boolean as one
/// byte.
pub(super) fn plain(mut bytes: &[u8], physical: Physical, count: usize) -> Result<Vec<&[u8]>> {
    if physical == Physical::BOOLEAN {
        return booleans(bytes, count);
    }
    let mut values = Vec::new();
    for _ in 0..count {
        let size = match value_bytes(physical) {
            Some(size) => size,
            None => length(&mut bytes)?,
        };
        values.push(take(&mut bytes, size)?);
    }
    match bytes.len() {
        0 => Ok(values),
        left => Err(format!("{left} bytes after the last value")),
    }
}

/// The bytes of a boolean.
pub(super) fn boolean(value: bool) -> &'static [u8] {
    if value { &[1] } else { &[0] }
}

fn booleans(bytes: &[u8], count: usize) -> Result<Vec<&'static [u8]>> {
    if bytes.len() != count.div_ceil(8) {
        return Err(format!("{} bytes of {count} booleans", bytes.len()));
    }
    let bit = |at: usize| bytes[at / 8] >> (at % 8) & 1 != 0;
    if (count..bytes.len() * 8).any(bit) {
        return Err("padding is not zero".to_owned());
    }
    Ok((0..count).map(|at| boolean(bit(at))).collect())
}

/// Bits of the largest of `count` numbers from 0.
pub(super) fn width(count: usize) -> u8 {
    let largest = count.saturating_sub(1);
    (0..).find(|&bits| largest >> bits == 0).unwrap_or(64)
}

fn length(bytes: &mut &[u8]) -> Result<usize> {
    let length = take(bytes, 4)?.try_into().map_err(|_| "no length")?;
    Ok(u32::from_le_bytes(length) as usize)
}

/// Reads a number of any length, and moves `bytes` past it.
pub(super) fn varint(bytes: &mut &[u8]) -> Result<u64> {
    let mut value = 0;
    for shift in (0..63).step_by(7) {
        let byte = take(bytes, 1)?[0];
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err("a number is too long".to_owned())
}

/// Takes bytes from the start of `bytes`.
pub(super) fn take<'b>(bytes: &mut &'b [u8], length: usize) -> Result<&'b [u8]> {
    let (taken, rest) = bytes
        .split_at_checked(length)
        .ok_or("the page ends early")?;
    *bytes = rest;
    Ok(taken)
}

#[test]
fn wrong_bytes_of_values_are_refused() {
    // Eight ones in a run, then eight packed values, of which the last two are padding.
    let good = [16, 1, 3, 0b0010_0101];
    let found = hybrid(&good, 1, 14).unwrap();
    let packed = [1, 0, 1, 0, 0, 1];
    assert_eq!(found.values, [&[1; 8][..], &packed].concat());
    assert_eq!(found.longest_packed, 6);
    for (bytes, count, expected) in [
        (&good[..], 13, "padding"),
        (&good, 7, "a run of 8 values"),
        (&good, 8, "packed groups"),
        (&good, 17, "values instead of"),
        (&good[..3], 14, "ends early"),
        (&[0, 1], 0, "no values"),
        (&[16, 2], 8, "values 2"),
        (&[0x90], 8, "ends early"),
    ] {
        let error = hybrid(bytes, 1, count).unwrap_err();
        assert!(error.contains(expected), "{bytes:?} of {count}: {error}");
    }
    let text = [1, 0, 0, 0, b'a'];
    assert_eq!(plain(&text, Physical::BYTE_ARRAY, 1).unwrap(), [b"a"]);
    for (bytes, physical, count) in [
        (&text[..], Physical::BYTE_ARRAY, 0),
        (&text, Physical::BYTE_ARRAY, 2),
        (&text[..4], Physical::BYTE_ARRAY, 1),
        (&text, Physical::INT32, 1),
        (&[0b1001], Physical::BOOLEAN, 3),
        (&[1, 0], Physical::BOOLEAN, 8),
    ] {
        assert!(plain(bytes, physical, count).is_err(), "{bytes:?}");
    }
}
