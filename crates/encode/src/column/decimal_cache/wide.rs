//! Eight decimals at once, on processors with AVX-512; see [`crate::column::wide`].

use std::arch::x86_64::{self as x86, __m512i};

use tracelake_core::instructions::has_avx512;

use super::{DIGITS, DecimalCache, EXPONENT, EXPONENT_BYTES, NUMBERS, PLACES, known};
use crate::column::found::{Found, Span};
use crate::column::wide::{EightFields, look_up};
use crate::split::FieldOffsets;

impl DecimalCache {
    /// Looks up the first fields, as [`DecimalCache::find_all`] does; returns how many.
    pub(super) fn find_eights(
        &self,
        text: &[u8],
        fields: FieldOffsets<'_>,
        found: &mut [Found],
        others: &mut Vec<(usize, Span)>,
    ) -> usize {
        if !has_avx512() || !self.has_begun() {
            return 0;
        }
        // SAFETY: the processor has what the function is compiled for.
        #[expect(unsafe_code, reason = "measured in `wide`")]
        unsafe {
            self.find_wide(text, fields, found, others)
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn find_wide(
        &self,
        text: &[u8],
        fields: FieldOffsets<'_>,
        found: &mut [Found],
        others: &mut Vec<(usize, Span)>,
    ) -> usize {
        let mut done = 0;
        for found in found.as_chunks_mut::<8>().0 {
            let fields = fields.after(done);
            let Some(eight) = EightFields::new(text, fields) else {
                break;
            };
            let (indices, mut unknown) = look_up(&self.indices, slots(eight));
            for (found, index) in found.iter_mut().zip(indices) {
                *found = known(index);
            }
            while unknown != 0 {
                let row = unknown.trailing_zeros() as usize;
                others.push((done + row, fields.get(row)));
                unknown &= unknown - 1;
            }
            done += 8;
        }
        done
    }
}

/// The slots of eight fields, as [`super::slot`] computes one.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn slots(fields: EightFields<'_>) -> __m512i {
    let all = |number: i64| x86::_mm512_set1_epi64(number);
    let zeros = x86::_mm512_set1_epi8(0x30);
    let (head, word) = (fields.bytes::<0>(), fields.bytes::<2>());
    let after = x86::_mm512_sub_epi64(fields.length, all(2));
    // Eight digits, filled up with leading zeros; the first one is the lowest byte.
    let shift = x86::_mm512_sub_epi64(all(64), x86::_mm512_slli_epi64::<3>(after));
    let shift = x86::_mm512_and_si512(shift, all(63));
    let word = x86::_mm512_sllv_epi64(x86::_mm512_xor_si512(word, zeros), shift);
    let [exponent_bytes, exponent] = [EXPONENT_BYTES, EXPONENT].map(|word| all(word.cast_signed()));
    let has_exponent =
        x86::_mm512_cmpeq_epi64_mask(x86::_mm512_and_si512(word, exponent_bytes), exponent);
    let exponent = x86::_mm512_maskz_srli_epi64::<56>(has_exponent, word);
    let word = x86::_mm512_mask_slli_epi64::<32>(word, has_exponent, word);
    let digits = x86::_mm512_mask_sub_epi64(after, has_exponent, after, all(4));
    // One digit alone is as with `.0`.
    let is_alone = x86::_mm512_cmpeq_epi64_mask(fields.length, all(1));
    let word = x86::_mm512_mask_mov_epi64(word, is_alone, all(0));
    let digits = x86::_mm512_mask_mov_epi64(digits, is_alone, all(1));
    let exponent = x86::_mm512_mask_mov_epi64(exponent, is_alone, all(0));
    let no_digit = x86::_mm512_cmpgt_epu8_mask(word, x86::_mm512_set1_epi8(9));
    let no_digit = x86::_mm512_movm_epi8(no_digit);
    // Pairs, then fours, then all.
    let pairs = x86::_mm512_maddubs_epi16(word, x86::_mm512_set1_epi16(0x010a));
    let fours = x86::_mm512_madd_epi16(pairs, x86::_mm512_set1_epi32(0x0001_0064));
    let after_point = x86::_mm512_add_epi64(
        x86::_mm512_mul_epu32(fours, all(10_000)),
        x86::_mm512_srli_epi64::<32>(fours),
    );
    let lead = x86::_mm512_and_si512(x86::_mm512_xor_si512(head, zeros), all(0xff));
    let point = x86::_mm512_and_si512(head, all(0xff00));
    let more = x86::_mm512_sub_epi64(digits, all(1));
    let places = x86::_mm512_add_epi64(digits, exponent);
    let before_last = x86::_mm512_sub_epi64(places, all(1));
    let [most_digits, numbers, most_places] = [DIGITS, NUMBERS, PLACES]
        .map(|number| i64::try_from(number).expect("at most ten thousand"));
    // With more than three digits after the point, there is none before it.
    let powers = x86::_mm512_setr_epi64(10, 100, 1000, numbers, numbers, numbers, numbers, numbers);
    let power = x86::_mm512_permutexvar_epi64(more, powers);
    let number = x86::_mm512_add_epi64(after_point, x86::_mm512_mul_epu32(lead, power));
    let has_point = x86::_mm512_cmpeq_epi64_mask(point, all(0x2e00))
        & x86::_mm512_cmplt_epu64_mask(x86::_mm512_sub_epi64(after, all(1)), all(most_digits));
    let is_decimal = (has_point | is_alone)
        & x86::_mm512_cmplt_epu64_mask(more, all(most_digits))
        & !x86::_mm512_test_epi64_mask(no_digit, no_digit)
        & x86::_mm512_cmple_epu64_mask(lead, all(9))
        & x86::_mm512_cmple_epu64_mask(exponent, all(9))
        & x86::_mm512_cmplt_epu64_mask(number, all(numbers))
        & x86::_mm512_cmplt_epu64_mask(before_last, all(most_places));
    let slot = x86::_mm512_add_epi64(x86::_mm512_mul_epu32(before_last, all(numbers)), number);
    x86::_mm512_maskz_mov_epi64(is_decimal, x86::_mm512_add_epi64(slot, all(1)))
}
