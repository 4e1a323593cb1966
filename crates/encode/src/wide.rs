//! Eight fields of a column at once, on processors with AVX-512.
//!
//! Looking up fields is most of what a conversion to Parquet does, and most of that is fetching and comparing a
//! few bytes of each. On a part of task_usage, eight at a time take 0.6 of the time for measurements
//! and for ids. What makes it faster is reading from eight addresses at once, which is unsafe: each
//! function here checks all offsets first.

use std::arch::x86_64::{self as x86, __m512i};

use crate::split::FieldOffsets;
use crate::value::{EXPONENT, EXPONENT_BYTES};

/// Bytes of the text that can be read from the start of each field on.
const READABLE: usize = 16;

/// The first eight fields of a column.
#[derive(Clone, Copy)]
pub(crate) struct EightFields<'a> {
    text: &'a [u8],
    /// Offsets of at most `text.len() - READABLE`.
    start: __m512i,
    /// How many bytes each field has.
    pub(crate) length: __m512i,
}

/// The most digits after the point of a decimal.
const DIGITS: i64 = 8;

/// Eight numbers that were read.
#[derive(Clone, Copy)]
pub(crate) struct EightNumbers {
    /// The digits without the point, as one number; anything where a field isn't a number.
    pub(crate) number: __m512i,
    /// A bit for each field that is a number.
    pub(crate) are_numbers: u8,
}

/// The digits of eight words, the first one the lowest byte, as numbers; those of words with other bytes are no
/// numbers.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn eight_digits(words: __m512i) -> EightNumbers {
    let no_digit = x86::_mm512_cmpgt_epu8_mask(words, x86::_mm512_set1_epi8(9));
    let no_digit = x86::_mm512_movm_epi8(no_digit);
    // Pairs, then fours, then all.
    let pairs = x86::_mm512_maddubs_epi16(words, x86::_mm512_set1_epi16(0x010a));
    let fours = x86::_mm512_madd_epi16(pairs, x86::_mm512_set1_epi32(0x0001_0064));
    let number = x86::_mm512_add_epi64(
        x86::_mm512_mul_epu32(fours, x86::_mm512_set1_epi64(10_000)),
        x86::_mm512_srli_epi64::<32>(fours),
    );
    EightNumbers {
        number,
        are_numbers: !x86::_mm512_test_epi64_mask(no_digit, no_digit),
    }
}

impl<'a> EightFields<'a> {
    /// `None` where there are fewer fields, or one is near the end of the text.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(crate) fn new(text: &'a [u8], fields: FieldOffsets<'_>) -> Option<Self> {
        let offsets = fields.offsets.get(fields.field..)?;
        let step = i32::try_from(fields.step).ok()?;
        let last = usize::try_from(step.checked_mul(7)?).ok()?;
        if offsets.len() < last + 2 {
            return None;
        }
        let last_start = i64::try_from(text.len().checked_sub(READABLE)?).ok()?;
        let all = |number: i64| x86::_mm512_set1_epi64(number);
        let eights = x86::_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        let records = x86::_mm256_mullo_epi32(eights, x86::_mm256_set1_epi32(step));
        // SAFETY: the last pair is `offsets[last..last + 2]`, which is there, see above.
        #[expect(unsafe_code, reason = "measured above")]
        let pairs = unsafe { x86::_mm512_i32gather_epi64::<4>(records, offsets.as_ptr().cast()) };
        // An offset is that of the byte before a field or after it; the one before the text wraps around.
        let start = x86::_mm512_and_si512(x86::_mm512_add_epi64(pairs, all(1)), all(0xffff_ffff));
        let length = x86::_mm512_sub_epi64(x86::_mm512_srli_epi64::<32>(pairs), start);
        let is_far = x86::_mm512_cmpgt_epu64_mask(start, all(last_start)) != 0;
        (!is_far).then_some(Self {
            text,
            start,
            length,
        })
    }

    /// Eight bytes of each field, or of what follows it, from an offset of at most 8 on.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(crate) fn bytes<const OFFSET: usize>(self) -> __m512i {
        const { assert!(OFFSET + 8 <= READABLE) };
        let text = &self.text[OFFSET..];
        // SAFETY: from each start on, `READABLE` bytes are in the text.
        #[expect(unsafe_code, reason = "measured above")]
        unsafe {
            x86::_mm512_i64gather_epi64::<1>(self.start, text.as_ptr().cast())
        }
    }

    /// A bit for each field that is empty.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(crate) fn are_empty(self) -> u8 {
        !x86::_mm512_test_epi64_mask(self.length, self.length)
    }

    /// Reads integers of one to eight digits.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(crate) fn short_integers(self) -> EightNumbers {
        let all = |number: i64| x86::_mm512_set1_epi64(number);
        let word = x86::_mm512_xor_si512(self.bytes::<0>(), x86::_mm512_set1_epi8(0x30));
        let shift = x86::_mm512_sub_epi64(all(64), x86::_mm512_slli_epi64::<3>(self.length));
        let digits = eight_digits(x86::_mm512_sllv_epi64(word, shift));
        let is_short =
            x86::_mm512_cmplt_epu64_mask(x86::_mm512_sub_epi64(self.length, all(1)), all(8));
        EightNumbers {
            number: digits.number,
            are_numbers: digits.are_numbers & is_short,
        }
    }

    /// Reads integers of one to sixteen digits.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(crate) fn integers(self) -> EightNumbers {
        let all = |number: i64| x86::_mm512_set1_epi64(number);
        let zeros = x86::_mm512_set1_epi8(0x30);
        let low = x86::_mm512_xor_si512(self.bytes::<0>(), zeros);
        let high = x86::_mm512_xor_si512(self.bytes::<8>(), zeros);
        // Sixteen digits, filled up with leading zeros. A shift by 64 or more, or by less than none, leaves nothing.
        let shift = x86::_mm512_sub_epi64(all(128), x86::_mm512_slli_epi64::<3>(self.length));
        let upper = eight_digits(x86::_mm512_sllv_epi64(low, shift));
        let lower = x86::_mm512_or_si512(
            x86::_mm512_or_si512(
                x86::_mm512_sllv_epi64(high, shift),
                x86::_mm512_srlv_epi64(low, x86::_mm512_sub_epi64(all(64), shift)),
            ),
            x86::_mm512_sllv_epi64(low, x86::_mm512_sub_epi64(shift, all(64))),
        );
        let lower = eight_digits(lower);
        let is_short =
            x86::_mm512_cmplt_epu64_mask(x86::_mm512_sub_epi64(self.length, all(1)), all(16));
        let upper_number = x86::_mm512_mul_epu32(upper.number, all(100_000_000));
        EightNumbers {
            number: x86::_mm512_add_epi64(upper_number, lower.number),
            are_numbers: upper.are_numbers & lower.are_numbers & is_short,
        }
    }

    /// Reads decimals of few digits: see [`Self::long_decimals`] and [`Self::short_decimals`]. Also returns how many
    /// places after the point each number has, at least one.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(crate) fn decimals(self) -> (EightNumbers, __m512i) {
        let (long, places) = self.long_decimals();
        if long.are_numbers == u8::MAX {
            return (long, places);
        }
        let (short, short_places) = self.short_decimals();
        let numbers = EightNumbers {
            number: x86::_mm512_mask_mov_epi64(short.number, long.are_numbers, long.number),
            are_numbers: long.are_numbers | short.are_numbers,
        };
        let places = x86::_mm512_mask_mov_epi64(short_places, long.are_numbers, places);
        (numbers, places)
    }

    /// Reads decimals of one digit, a point and up to eight digits, or up to four and an exponent down to `e-09`; or of
    /// one digit alone.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn long_decimals(self) -> (EightNumbers, __m512i) {
        let all = |number: i64| x86::_mm512_set1_epi64(number);
        let zeros = x86::_mm512_set1_epi8(0x30);
        let (head, word) = (self.bytes::<0>(), self.bytes::<2>());
        let after = x86::_mm512_sub_epi64(self.length, all(2));
        // Eight digits, filled up with leading zeros; the first one is the lowest byte.
        let shift = x86::_mm512_sub_epi64(all(64), x86::_mm512_slli_epi64::<3>(after));
        let shift = x86::_mm512_and_si512(shift, all(63));
        let word = x86::_mm512_sllv_epi64(x86::_mm512_xor_si512(word, zeros), shift);
        let [exponent_bytes, exponent] =
            [EXPONENT_BYTES, EXPONENT].map(|word| all(word.cast_signed()));
        let has_exponent =
            x86::_mm512_cmpeq_epi64_mask(x86::_mm512_and_si512(word, exponent_bytes), exponent);
        let exponent = x86::_mm512_maskz_srli_epi64::<56>(has_exponent, word);
        let word = x86::_mm512_mask_slli_epi64::<32>(word, has_exponent, word);
        let digits = x86::_mm512_mask_sub_epi64(after, has_exponent, after, all(4));
        // One digit alone is as with `.0`.
        let is_alone = x86::_mm512_cmpeq_epi64_mask(self.length, all(1));
        let word = x86::_mm512_mask_mov_epi64(word, is_alone, all(0));
        let digits = x86::_mm512_mask_mov_epi64(digits, is_alone, all(1));
        let exponent = x86::_mm512_mask_mov_epi64(exponent, is_alone, all(0));
        let after_point = eight_digits(word);
        let lead = x86::_mm512_and_si512(x86::_mm512_xor_si512(head, zeros), all(0xff));
        let point = x86::_mm512_and_si512(head, all(0xff00));
        let more = x86::_mm512_sub_epi64(digits, all(1));
        let powers = x86::_mm512_setr_epi64(
            10,
            100,
            1000,
            10_000,
            100_000,
            1_000_000,
            10_000_000,
            100_000_000,
        );
        let power = x86::_mm512_permutexvar_epi64(more, powers);
        let has_point = x86::_mm512_cmpeq_epi64_mask(point, all(0x2e00))
            & x86::_mm512_cmplt_epu64_mask(x86::_mm512_sub_epi64(after, all(1)), all(DIGITS));
        let are_numbers = (has_point | is_alone)
            & x86::_mm512_cmplt_epu64_mask(more, all(DIGITS))
            & after_point.are_numbers
            & x86::_mm512_cmple_epu64_mask(lead, all(9))
            & x86::_mm512_cmple_epu64_mask(exponent, all(9));
        let lead = x86::_mm512_mul_epu32(lead, power);
        let number = x86::_mm512_add_epi64(after_point.number, lead);
        let places = x86::_mm512_add_epi64(digits, exponent);
        let numbers = EightNumbers {
            number,
            are_numbers,
        };
        (numbers, places)
    }

    /// Reads decimals of at most seven digits and a point anywhere, or of at most eight digits, as if `.0` followed.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn short_decimals(self) -> (EightNumbers, __m512i) {
        let all = |number: i64| x86::_mm512_set1_epi64(number);
        let shift = x86::_mm512_sub_epi64(all(64), x86::_mm512_slli_epi64::<3>(self.length));
        let word = x86::_mm512_xor_si512(self.bytes::<0>(), x86::_mm512_set1_epi8(0x30));
        let word = x86::_mm512_sllv_epi64(word, shift);
        let points = x86::_mm512_cmpeq_epi8_mask(word, x86::_mm512_set1_epi8(0x2e ^ 0x30));
        let points = x86::_mm512_movm_epi8(points);
        let has_point = x86::_mm512_test_epi64_mask(points, points);
        // The lowest bit of the byte that is the first point.
        let point = x86::_mm512_and_si512(points, x86::_mm512_sub_epi64(all(0), points));
        let before = x86::_mm512_sub_epi64(point, all(1));
        let up_to = x86::_mm512_sub_epi64(x86::_mm512_slli_epi64::<8>(point), all(1));
        // The digits before the point take its place.
        let digits = x86::_mm512_or_si512(
            x86::_mm512_slli_epi64::<8>(x86::_mm512_and_si512(word, before)),
            x86::_mm512_andnot_si512(up_to, word),
        );
        let digits = eight_digits(x86::_mm512_mask_mov_epi64(word, has_point, digits));
        // As a float, the bit has an exponent of 1023 + 8 * byte: shifted by 55, that is 127 + byte.
        let byte = x86::_mm512_castpd_si512(x86::_mm512_cvtepu64_pd(point));
        let byte = x86::_mm512_srli_epi64::<55>(byte);
        let places = x86::_mm512_sub_epi64(all(127 + 7), byte);
        // Without digits after the point, as if a zero followed.
        let is_whole = !has_point | x86::_mm512_cmpeq_epi64_mask(places, all(0));
        let places = x86::_mm512_mask_mov_epi64(places, is_whole, all(1));
        let tenfold = x86::_mm512_mul_epu32(digits.number, all(10));
        let number = x86::_mm512_mask_mov_epi64(digits.number, is_whole, tenfold);
        let is_short =
            x86::_mm512_cmplt_epu64_mask(x86::_mm512_sub_epi64(self.length, all(1)), all(8));
        let is_alone = x86::_mm512_cmpeq_epi64_mask(self.length, all(1));
        let numbers = EightNumbers {
            number,
            are_numbers: digits.are_numbers & is_short & !(has_point & is_alone),
        };
        (numbers, places)
    }

    /// Reads floats that are decimals of few digits; returns the bits of each, and a bit for each that was read.
    ///
    /// Their digits make an exact float, and so does the power of ten by which it is divided; so the quotient is rounded
    /// correctly (Clinger, 1990).
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(crate) fn floats(self) -> (__m512i, u8) {
        let (decimals, places) = self.decimals();
        let are_few = x86::_mm512_cmplt_epu64_mask(places, x86::_mm512_set1_epi64(16));
        let powers = x86::_mm512_setr_pd(1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7);
        let more_powers = x86::_mm512_setr_pd(1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15);
        let power = x86::_mm512_permutex2var_pd(powers, places, more_powers);
        let floats = x86::_mm512_div_pd(x86::_mm512_cvtepu64_pd(decimals.number), power);
        (
            x86::_mm512_castpd_si512(floats),
            decimals.are_numbers & are_few,
        )
    }
}

/// The numbers of 16 bits in eight slots of `table`, which has one more after each of them; and a bit for
/// each that is 0.
///
/// # Panics
/// When a slot isn't below the last one of the table.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) fn look_up(table: &[u16], slots: __m512i) -> ([u32; 8], u8) {
    let last = table
        .len()
        .checked_sub(1)
        .and_then(|last| i64::try_from(last).ok())
        .expect("a table has at least one number");
    let is_far = x86::_mm512_cmpge_epu64_mask(slots, x86::_mm512_set1_epi64(last)) != 0;
    assert!(!is_far, "each slot is followed by another one");
    // SAFETY: two numbers are in the table from each slot on, see above.
    #[expect(unsafe_code, reason = "measured above")]
    let pairs = unsafe { x86::_mm512_i64gather_epi32::<2>(slots, table.as_ptr().cast()) };
    let firsts = x86::_mm256_and_si256(pairs, x86::_mm256_set1_epi32(0xffff));
    let mut numbers = [0; 8];
    // SAFETY: eight numbers of 32 bits are written.
    #[expect(unsafe_code, reason = "measured above")]
    unsafe {
        x86::_mm256_storeu_si256(numbers.as_mut_ptr().cast(), firsts);
    }
    let zeros = x86::_mm256_cmpeq_epi32_mask(firsts, x86::_mm256_setzero_si256());
    (numbers, zeros)
}

/// Stores eight words.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(crate) fn store(words: __m512i, into: &mut [u64; 8]) {
    // SAFETY: eight words are written.
    #[expect(unsafe_code, reason = "measured above")]
    unsafe {
        x86::_mm512_storeu_si512(into.as_mut_ptr().cast(), words);
    }
}
