//! Split-block bloom filters, as the format's document `BloomFilter.md` describes them.

use twox_hash::XxHash64;

use super::Result;

/// Eight words of 32 bits.
const BLOCK_BYTES: usize = 32;

/// The factors that choose the bit in each word of a block.
const SALT: [u32; 8] = [
    0x47b6_137b,
    0x4497_4d91,
    0x8824_ad5b,
    0xa2b7_289d,
    0x7054_95c7,
    0x2df1_424b,
    0x9efc_4947,
    0x5c6b_fb31,
];

/// Checks that a filter has the bits of these values and no others.
pub(super) fn check<'v>(said: &[u8], values: impl Iterator<Item = &'v [u8]>) -> Result<()> {
    if said.len() < BLOCK_BYTES || !said.len().is_power_of_two() {
        return Err(format!("{} bytes of a filter", said.len()));
    }
    let mut real = vec![0; said.len()];
    for value in values {
        insert(&mut real, XxHash64::oneshot(0, value));
    }
    match said.iter().zip(&real).find(|(said, real)| said != real) {
        None => Ok(()),
        Some((said, real)) if !said & real != 0 => Err("a value is not in the filter".to_owned()),
        Some(_) => Err("the filter has a bit of no value".to_owned()),
    }
}

fn insert(filter: &mut [u8], hash: u64) {
    let blocks = (filter.len() / BLOCK_BYTES) as u64;
    let block = ((hash >> 32) * blocks) >> 32;
    let start = usize::try_from(block).expect("it is in memory") * BLOCK_BYTES;
    let [a, b, c, d, ..] = hash.to_le_bytes();
    let low = u32::from_le_bytes([a, b, c, d]);
    for (word, salt) in SALT.iter().enumerate() {
        let bit = low.wrapping_mul(*salt) >> 27;
        let byte = word * 4 + bit as usize / 8;
        filter[start + byte] |= 1 << (bit % 8);
    }
}
