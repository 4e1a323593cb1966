//! Eight numbers at once, on processors with AVX-512; see [`crate::wide`].

use std::arch::x86_64::{self as x86, __m512i};

use tracelake_core::instructions::has_avx512;

use super::{DigitCache, Form, INTEGER_DIGITS, NUMBERS, PLACES, known};
use crate::column::found::{Found, Span};
use crate::split::FieldOffsets;
use crate::wide::{EightFields, look_up};

impl DigitCache {
    /// Looks up the first fields, as [`DigitCache::find_all`] does; returns how many.
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
            let block = fields.after(done);
            let Some(eight) = EightFields::new(text, block) else {
                break;
            };
            let slots = match self.form {
                Form::Decimal => decimal_slots(eight),
                Form::Integer => integer_slots(eight),
            };
            let (indices, unknown) = look_up(&self.indices, slots);
            let mut unknown = unknown & !eight.are_empty();
            for (found, index) in found.iter_mut().zip(indices) {
                *found = known(index);
            }
            while unknown != 0 {
                let row = unknown.trailing_zeros() as usize;
                others.push((done + row, block.get(row)));
                unknown &= unknown - 1;
            }
            done += 8;
        }
        done
    }
}

/// The slots of eight decimals, as [`Form::slot`] computes one.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn decimal_slots(fields: EightFields<'_>) -> __m512i {
    let all = |number: i64| x86::_mm512_set1_epi64(number);
    let (decimals, places) = fields.decimals();
    let [numbers, most_places] =
        [NUMBERS, PLACES].map(|number| i64::try_from(number).expect("at most ten thousand"));
    let before_last = x86::_mm512_sub_epi64(places, all(1));
    let has_slot = decimals.are_numbers
        & x86::_mm512_cmplt_epu64_mask(decimals.number, all(numbers))
        & x86::_mm512_cmplt_epu64_mask(before_last, all(most_places));
    let slot = x86::_mm512_mul_epu32(before_last, all(numbers));
    let slot = x86::_mm512_add_epi64(slot, decimals.number);
    x86::_mm512_maskz_mov_epi64(has_slot, x86::_mm512_add_epi64(slot, all(1)))
}

/// The slots of eight integers, as [`Form::slot`] computes one.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn integer_slots(fields: EightFields<'_>) -> __m512i {
    let integers = fields.short_integers();
    let digits = i64::try_from(INTEGER_DIGITS).expect("4");
    let are_few = x86::_mm512_cmple_epu64_mask(fields.length, x86::_mm512_set1_epi64(digits));
    let slot = x86::_mm512_add_epi64(integers.number, x86::_mm512_set1_epi64(1));
    x86::_mm512_maskz_mov_epi64(integers.are_numbers & are_few, slot)
}
