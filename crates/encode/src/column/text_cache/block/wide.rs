//! Eight fields at a time, on processors with AVX-512.

use std::arch::x86_64 as x86;

use tracelake_core::instructions::has_avx512;

use super::{BLOCK, FieldBlock};
use crate::column::key::{FACTORS, LENGTH_SHIFT, LONGEST};
use crate::split::FieldOffsets;
use crate::wide::{EightFields, store};

impl FieldBlock {
    /// Reads the first fields, as [`FieldBlock::read`] does; returns how many.
    pub(super) fn read_eights(
        &mut self,
        text: &[u8],
        fields: FieldOffsets<'_>,
        count: usize,
    ) -> usize {
        if !has_avx512() {
            return 0;
        }
        // SAFETY: the processor has what the function is compiled for.
        #[expect(unsafe_code, reason = "measured in `wide`")]
        unsafe {
            self.read_wide(text, fields, count)
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn read_wide(&mut self, text: &[u8], fields: FieldOffsets<'_>, count: usize) -> usize {
        let all = |number: i64| x86::_mm512_set1_epi64(number);
        let ones = all(-1);
        let longest = i64::try_from(LONGEST).expect("13");
        let [first, second] = FACTORS.map(|factor| all(factor.cast_signed()));
        // The keys of the eight fields before: no field has these.
        let (mut mixed_before, mut rest_before) = (ones, ones);
        let mut done = 0;
        while done + 8 <= count.min(BLOCK) {
            let Some(eight) = EightFields::new(text, fields.after(done)) else {
                break;
            };
            let bits = x86::_mm512_slli_epi64::<3>(eight.length);
            let high_bits = x86::_mm512_max_epi64(x86::_mm512_sub_epi64(bits, all(64)), all(0));
            // Shifting by 64 or more leaves nothing: then all bytes of a word belong to the field.
            let after = x86::_mm512_sllv_epi64(ones, bits);
            let low = x86::_mm512_andnot_si512(after, eight.bytes::<0>());
            let after = x86::_mm512_sllv_epi64(ones, high_bits);
            let high = x86::_mm512_andnot_si512(after, eight.bytes::<8>());
            let length = x86::_mm512_slli_epi64::<LENGTH_SHIFT>(eight.length);
            let rest = x86::_mm512_or_si512(high, length);
            let mixed = x86::_mm512_xor_si512(
                x86::_mm512_mullo_epi64(low, first),
                x86::_mm512_mullo_epi64(rest, second),
            );
            let is_long = x86::_mm512_cmpgt_epu64_mask(eight.length, all(longest));
            let mixed = x86::_mm512_mask_mov_epi64(mixed, is_long, all(0));
            let rest = x86::_mm512_mask_mov_epi64(rest, is_long, ones);
            let mixed_above = x86::_mm512_alignr_epi64::<7>(mixed, mixed_before);
            let rest_above = x86::_mm512_alignr_epi64::<7>(rest, rest_before);
            let is_same = x86::_mm512_cmpeq_epi64_mask(mixed, mixed_above)
                & x86::_mm512_cmpeq_epi64_mask(rest, rest_above)
                & !is_long;
            for (words, keys) in [(mixed, &mut self.mixed), (rest, &mut self.rest)] {
                let eight = keys[done..].first_chunk_mut();
                store(words, eight.expect("a block has eight more"));
            }
            self.distinct |= u64::from(!is_same) << done;
            (mixed_before, rest_before) = (mixed, rest);
            done += 8;
        }
        done
    }
}
