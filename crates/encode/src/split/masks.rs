//! The positions of separators in 32 bytes, found with wide compares.
//!
//! With a search that stops at each separator, such as memchr's, splitting took 12 % of a conversion; with
//! compares of SSE2 it took 6 %, and where AVX-512 also turns bits into positions, it takes 3 % (profiles of
//! one part of 2.4 million rows of task_usage, one thread). Blocks of 64 bytes are no faster: after
//! instructions that are that wide, the processor inflates the next chunk 8 % slower. The plain twins serve
//! all other processors; tests compare them.

/// Bytes that are compared at once.
pub(crate) const BLOCK: usize = 32;

/// The positions of separators and newlines in a block, and those of newlines alone: one bit for each byte, that
/// of the first byte lowest.
#[cfg(target_arch = "x86_64")]
pub(crate) fn masks(block: &[u8; BLOCK], separator: u8) -> (u32, u32) {
    // SAFETY: SSE2 is part of the architecture, so every processor that runs this has it.
    #[expect(unsafe_code, reason = "measured above")]
    unsafe {
        sse2(block, separator)
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
fn sse2(block: &[u8; BLOCK], separator: u8) -> (u32, u32) {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8,
    };
    let half = |at: usize| {
        let bytes = block[at..].first_chunk().copied().unwrap_or_default();
        i64::from_le_bytes(bytes)
    };
    let (comma, newline) = (_mm_set1_epi8(separator.cast_signed()), _mm_set1_epi8(0x0a));
    let (mut separators, mut newlines) = (0, 0);
    for at in [0, 16] {
        let bytes = _mm_set_epi64x(half(at + 8), half(at));
        let newline = _mm_cmpeq_epi8(bytes, newline);
        let either = _mm_or_si128(newline, _mm_cmpeq_epi8(bytes, comma));
        separators |= _mm_movemask_epi8(either).cast_unsigned() << at;
        newlines |= _mm_movemask_epi8(newline).cast_unsigned() << at;
    }
    (separators, newlines)
}

/// The plain twin.
#[cfg(any(test, not(target_arch = "x86_64")))]
pub(crate) fn plain(block: &[u8; BLOCK], separator: u8) -> (u32, u32) {
    let of = |wanted: u8| {
        let bits = block.iter().enumerate();
        bits.fold(0, |bits, (at, &byte)| {
            bits | u32::from(byte == wanted) << at
        })
    };
    let newlines = of(b'\n');
    (newlines | of(separator), newlines)
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use plain as masks;

/// Writes the positions of the bits of a mask, of which the lowest one is at `at`; what follows them may be
/// overwritten.
#[inline(always)]
pub(super) fn positions(mut mask: u32, at: u32, into: &mut [u32; BLOCK]) {
    for position in into {
        if mask == 0 {
            break;
        }
        *position = at + mask.trailing_zeros();
        mask &= mask - 1;
    }
}

/// The functions above with AVX-512, in words of 32 bytes.
#[cfg(target_arch = "x86_64")]
pub(super) mod wide {
    use std::arch::x86_64 as x86;

    use super::{BLOCK, positions};

    /// Positions that are written at once; few blocks have more.
    const WRITTEN: u32 = 8;

    #[inline]
    #[target_feature(enable = "avx512bw,avx512vl")]
    pub(in crate::split) fn masks_wide(block: &[u8; BLOCK], separator: u8) -> (u32, u32) {
        // SAFETY: 32 bytes are read.
        #[expect(unsafe_code, reason = "measured above")]
        let bytes = unsafe { x86::_mm256_loadu_si256(block.as_ptr().cast()) };
        let commas =
            x86::_mm256_cmpeq_epi8_mask(bytes, x86::_mm256_set1_epi8(separator.cast_signed()));
        let newlines = x86::_mm256_cmpeq_epi8_mask(bytes, x86::_mm256_set1_epi8(0x0a));
        (commas | newlines, newlines)
    }

    #[inline]
    #[target_feature(enable = "avx512vl,avx512vbmi2,popcnt")]
    pub(in crate::split) fn positions_wide(mask: u32, at: u32, into: &mut [u32; BLOCK]) {
        if mask.count_ones() > WRITTEN {
            return positions(mask, at, into);
        }
        let numbers = x86::_mm256_set_epi64x(
            0x1f1e_1d1c_1b1a_1918,
            0x1716_1514_1312_1110,
            0x0f0e_0d0c_0b0a_0908,
            0x0706_0504_0302_0100,
        );
        let numbers = x86::_mm256_maskz_compress_epi8(mask, numbers);
        let numbers = x86::_mm256_cvtepu8_epi32(x86::_mm256_castsi256_si128(numbers));
        let numbers = x86::_mm256_add_epi32(numbers, x86::_mm256_set1_epi32(at.cast_signed()));
        // SAFETY: 8 numbers of 32 bits are written.
        #[expect(unsafe_code, reason = "measured above")]
        unsafe {
            x86::_mm256_storeu_si256(into.as_mut_ptr().cast(), numbers);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn blocks() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![Just(b','), Just(b'\n'), any::<u8>()];
        let rarely = prop_oneof![1 => Just(b','), 9 => any::<u8>()];
        prop_oneof![
            prop::collection::vec(byte, BLOCK),
            prop::collection::vec(rarely, BLOCK),
        ]
    }

    /// The build script decides which tests of fast functions are ignored. If it found instructions that this
    /// machine lacks, they would compare plain functions with themselves.
    #[test]
    fn the_tests_were_built_for_this_processor() {
        use tracelake_core::instructions::{has_avx512, has_avx512_vbmi2};
        assert_eq!(
            (cfg!(avx512), cfg!(avx512_vbmi2)),
            (has_avx512(), has_avx512_vbmi2()),
            "run `touch crates/encode/build.rs` and test again"
        );
    }

    proptest! {
        #[test]
        #[cfg_attr(not(target_arch = "x86_64"), ignore = "needs SSE2; this would be the plain twin twice")]
        fn sse2_equals_the_plain_twin(bytes in blocks(), at in 0..1_u32 << 30) {
            let block = bytes.first_chunk().unwrap();
            let (separators, newlines) = masks(block, b',');
            prop_assert_eq!((separators, newlines), plain(block, b','));
            prop_assert_eq!(masks(block, b';'), plain(block, b';'));
            let mut found = [0; BLOCK];
            positions(separators, at, &mut found);
            let found = &found[..separators.count_ones() as usize];
            let numbered = block.iter().zip(at..);
            let expected = numbered.filter(|(byte, _)| b",\n".contains(byte)).map(|(_, at)| at);
            prop_assert!(expected.eq(found.iter().copied()));
        }
    }
}
