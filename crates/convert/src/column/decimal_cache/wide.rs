//! Eight decimals at once, on processors with AVX-512.
//!
//! The measurements of task_usage are 13 of its 20 columns, and looking them up is a fifth of a
//! conversion; this takes 0.6 of the time that one field after the other takes. What makes it faster
//! is reading from eight places at once, which is unsafe: [`eight`] checks each place first.

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{self as x86, __m512i};

use super::{DIGITS, DecimalCache, NUMBERS, SLOTS, known};
use crate::column::cache::{Found, Span};
use crate::split::ColumnFields;

impl DecimalCache {
    /// Looks up the first fields, as [`DecimalCache::find_all`] does; returns how many.
    pub(super) fn find_eights(
        &self,
        text: &[u8],
        fields: ColumnFields<'_>,
        found: &mut [Found],
        others: &mut Vec<(usize, Span)>,
    ) -> usize {
        let is_able = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        if !is_able {
            return 0;
        }
        // SAFETY: the processor has what the function is compiled for.
        #[expect(unsafe_code, reason = "measured above")]
        unsafe {
            self.find_wide(text, fields, found, others)
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn find_wide(
        &self,
        text: &[u8],
        fields: ColumnFields<'_>,
        found: &mut [Found],
        others: &mut Vec<(usize, Span)>,
    ) -> usize {
        let mut done = 0;
        for found in found.as_chunks_mut::<8>().0 {
            let fields = fields.after(done);
            let Some((indices, mut unknown)) = eight(&self.indices, text, fields) else {
                break;
            };
            for (found, index) in found.iter_mut().zip(indices) {
                *found = known(index);
            }
            while unknown != 0 {
                let place = unknown.trailing_zeros() as usize;
                others.push((done + place, fields.get(place)));
                unknown &= unknown - 1;
            }
            done += 8;
        }
        done
    }
}

/// What `indices` has in the slots of the first eight fields, and a bit for each that has nothing
/// there; `None` where there are fewer fields, or one is near the end of `text`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn eight(indices: &[u16], text: &[u8], fields: ColumnFields<'_>) -> Option<([u32; 8], u8)> {
    let places = fields.places.get(fields.field..)?;
    let step = i32::try_from(fields.step).ok()?;
    let last = step.checked_mul(7)?;
    let last_start = i64::try_from(text.len().checked_sub(2 + DIGITS)?).ok()?;
    assert!(
        usize::try_from(last).ok()? + 2 <= places.len() && indices.len() > SLOTS,
        "a record has an end after each field, and a slot one after it"
    );
    let all = |number: i64| x86::_mm512_set1_epi64(number);
    let eights = x86::_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    let records = x86::_mm256_mullo_epi32(eights, x86::_mm256_set1_epi32(step));
    // SAFETY: the last of the eight pairs of places ends within `places`, see above.
    #[expect(unsafe_code, reason = "measured above")]
    let pairs: __m512i =
        unsafe { x86::_mm512_i32gather_epi64::<4>(records, places.as_ptr().cast()) };
    let start = x86::_mm512_and_si512(x86::_mm512_add_epi64(pairs, all(1)), all(0xffff_ffff));
    let end = x86::_mm512_srli_epi64::<32>(pairs);
    if x86::_mm512_cmpgt_epu64_mask(start, all(last_start)) != 0 {
        return None;
    }
    // SAFETY: `2 + DIGITS` bytes are in `text` from each start on.
    #[expect(unsafe_code, reason = "measured above")]
    let (head, word) = unsafe {
        let text = text.as_ptr();
        (
            x86::_mm512_i64gather_epi64::<1>(start, text.cast()),
            x86::_mm512_i64gather_epi64::<1>(start, text.add(2).cast()),
        )
    };
    let slots = slots(head, word, x86::_mm512_sub_epi64(end, start));
    // SAFETY: `slots` are at most `SLOTS - 1`, and there is one more index after that one.
    #[expect(unsafe_code, reason = "measured above")]
    let found = unsafe { x86::_mm512_i64gather_epi32::<2>(slots, indices.as_ptr().cast()) };
    let found = x86::_mm256_and_si256(found, x86::_mm256_set1_epi32(0xffff));
    let unknown = x86::_mm256_cmpeq_epi32_mask(found, x86::_mm256_setzero_si256());
    let mut eight = [0_u32; 8];
    // SAFETY: eight numbers of 32 bits are what is written.
    #[expect(unsafe_code, reason = "measured above")]
    unsafe {
        x86::_mm256_storeu_si256(eight.as_mut_ptr().cast(), found);
    }
    Some((eight, unknown))
}

/// The slots of eight fields by their first eight bytes, the eight bytes from the third on, and their
/// lengths, as [`super::slot`] computes one.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn slots(head: __m512i, word: __m512i, length: __m512i) -> __m512i {
    let all = |number: i64| x86::_mm512_set1_epi64(number);
    let zeros = x86::_mm512_set1_epi8(0x30);
    let digits = x86::_mm512_sub_epi64(length, all(2));
    // Eight digits, filled up with leading zeros; the first one is the lowest byte.
    let shift = x86::_mm512_sub_epi64(all(64), x86::_mm512_slli_epi64::<3>(digits));
    let shift = x86::_mm512_and_si512(shift, all(63));
    let word = x86::_mm512_sllv_epi64(x86::_mm512_xor_si512(word, zeros), shift);
    let no_digit = x86::_mm512_cmpgt_epu8_mask(word, x86::_mm512_set1_epi8(9));
    let no_digit = x86::_mm512_movm_epi8(no_digit);
    // Pairs, then fours, then all.
    let pairs = x86::_mm512_maddubs_epi16(word, x86::_mm512_set1_epi16(0x010a));
    let fours = x86::_mm512_madd_epi16(pairs, x86::_mm512_set1_epi32(0x0001_0064));
    let after = x86::_mm512_add_epi64(
        x86::_mm512_mul_epu32(fours, all(10_000)),
        x86::_mm512_srli_epi64::<32>(fours),
    );
    let lead = x86::_mm512_and_si512(x86::_mm512_xor_si512(head, zeros), all(0xff));
    let point = x86::_mm512_and_si512(head, all(0xff00));
    let more = x86::_mm512_sub_epi64(digits, all(1));
    let most = 10_000;
    let powers = x86::_mm512_setr_epi64(10, 100, 1000, most, most, most, most, most);
    let power = x86::_mm512_permutexvar_epi64(more, powers);
    let number = x86::_mm512_add_epi64(after, x86::_mm512_mul_epu32(lead, power));
    let numbers = i64::try_from(NUMBERS).expect("ten thousand");
    let is_decimal = x86::_mm512_cmplt_epu64_mask(more, all(8))
        & x86::_mm512_cmpeq_epi64_mask(point, all(0x2e00))
        & !x86::_mm512_test_epi64_mask(no_digit, no_digit)
        & x86::_mm512_cmple_epu64_mask(lead, all(9))
        & x86::_mm512_cmplt_epu64_mask(number, all(numbers));
    let slot = x86::_mm512_add_epi64(x86::_mm512_mul_epu32(more, all(numbers)), number);
    x86::_mm512_maskz_mov_epi64(is_decimal, x86::_mm512_add_epi64(slot, all(1)))
}
