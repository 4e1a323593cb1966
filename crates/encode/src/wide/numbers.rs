//! Eight fields to numbers.

use std::arch::x86_64::{self as x86, __m512i};

use super::EightFields;
use crate::value::{EXPONENT, EXPONENT_BYTES};

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

impl EightFields<'_> {
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

    /// The bytes of each field of at most sixteen, XORed with `0` and filled up with zeros before the first one: the
    /// upper eight and the lower eight.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn sixteen_bytes(self) -> (__m512i, __m512i) {
        let all = |number: i64| x86::_mm512_set1_epi64(number);
        let zeros = x86::_mm512_set1_epi8(0x30);
        let low = x86::_mm512_xor_si512(self.bytes::<0>(), zeros);
        let high = x86::_mm512_xor_si512(self.bytes::<8>(), zeros);
        // A shift by 64 or more, or by less than none, leaves nothing.
        let shift = x86::_mm512_sub_epi64(all(128), x86::_mm512_slli_epi64::<3>(self.length));
        let upper = x86::_mm512_sllv_epi64(low, shift);
        let lower = x86::_mm512_or_si512(
            x86::_mm512_or_si512(
                x86::_mm512_sllv_epi64(high, shift),
                x86::_mm512_srlv_epi64(low, x86::_mm512_sub_epi64(all(64), shift)),
            ),
            x86::_mm512_sllv_epi64(low, x86::_mm512_sub_epi64(shift, all(64))),
        );
        (upper, lower)
    }

    /// The number that sixteen digits make, as [`Self::sixteen_bytes`] returns them.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn sixteen_digits(self, upper: __m512i, lower: __m512i) -> EightNumbers {
        let all = |number: i64| x86::_mm512_set1_epi64(number);
        let (upper, lower) = (eight_digits(upper), eight_digits(lower));
        let is_short =
            x86::_mm512_cmplt_epu64_mask(x86::_mm512_sub_epi64(self.length, all(1)), all(16));
        let upper_number = x86::_mm512_mul_epu32(upper.number, all(100_000_000));
        EightNumbers {
            number: x86::_mm512_add_epi64(upper_number, lower.number),
            are_numbers: upper.are_numbers & lower.are_numbers & is_short,
        }
    }

    /// Reads integers of one to sixteen digits.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(crate) fn integers(self) -> EightNumbers {
        let (upper, lower) = self.sixteen_bytes();
        self.sixteen_digits(upper, lower)
    }

    /// Reads decimals of at most fifteen digits and a point anywhere, or of at most sixteen digits alone. Also returns
    /// how many places after the point each number has.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    fn plain_decimals(self) -> (EightNumbers, __m512i) {
        let all = |number: i64| x86::_mm512_set1_epi64(number);
        let (upper, lower) = self.sixteen_bytes();
        let (upper_point, lower_point) = (first_point(upper), first_point(lower));
        let in_upper = x86::_mm512_test_epi64_mask(upper_point, upper_point);
        let in_lower = !in_upper & x86::_mm512_test_epi64_mask(lower_point, lower_point);
        let has_point = in_upper | in_lower;
        let last_of_upper = x86::_mm512_srli_epi64::<56>(upper);
        let closed = x86::_mm512_or_si512(without_point(lower, lower_point), last_of_upper);
        let lower = x86::_mm512_mask_mov_epi64(lower, in_lower, closed);
        let closed = without_point(upper, upper_point);
        let upper = x86::_mm512_mask_mov_epi64(upper, has_point, closed);
        let digits = self.sixteen_digits(upper, lower);
        let point = x86::_mm512_mask_mov_epi64(lower_point, in_upper, upper_point);
        let last = x86::_mm512_mask_mov_epi64(all(7), in_upper, all(15));
        let places = x86::_mm512_maskz_sub_epi64(has_point, last, byte_of(point));
        let is_alone = x86::_mm512_cmpeq_epi64_mask(self.length, all(1));
        let numbers = EightNumbers {
            number: digits.number,
            are_numbers: digits.are_numbers & !(has_point & is_alone),
        };
        (numbers, places)
    }

    /// Reads decimals of few digits: see [`Self::long_decimals`] and [`Self::short_decimals`]. Also returns how many
    /// places after the point each number has, at least one.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(crate) fn decimals(self) -> (EightNumbers, __m512i) {
        let long = self.long_decimals();
        match long.0.are_numbers {
            u8::MAX => long,
            _ => either(long, self.short_decimals()),
        }
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
        let point = first_point(word);
        let has_point = x86::_mm512_test_epi64_mask(point, point);
        let closed = without_point(word, point);
        let digits = eight_digits(x86::_mm512_mask_mov_epi64(word, has_point, closed));
        let places = x86::_mm512_sub_epi64(all(7), byte_of(point));
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

    /// Reads floats that are decimals: see [`Self::long_decimals`] and [`Self::plain_decimals`]. Returns the bits of
    /// each, and a bit for each that was read.
    ///
    /// Their digits make an exact float, and so does the power of ten by which it is divided; so the quotient is rounded
    /// correctly (Clinger, 1990). Sixteen digits may not be exact, but have no point, and are rounded once, too.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(crate) fn floats(self) -> (__m512i, u8) {
        let long = self.long_decimals();
        let (decimals, places) = match long.0.are_numbers {
            u8::MAX => long,
            _ => either(long, self.plain_decimals()),
        };
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

/// The lowest bit of the byte that is the first point of each word, XORed with `0`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn first_point(words: __m512i) -> __m512i {
    let points = x86::_mm512_cmpeq_epi8_mask(words, x86::_mm512_set1_epi8(0x2e ^ 0x30));
    let points = x86::_mm512_movm_epi8(points);
    x86::_mm512_and_si512(
        points,
        x86::_mm512_sub_epi64(x86::_mm512_setzero_si512(), points),
    )
}

/// Words in which the bytes before a point take its place; where there is none, all bytes of the word move.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn without_point(words: __m512i, point: __m512i) -> __m512i {
    let one = x86::_mm512_set1_epi64(1);
    let before = x86::_mm512_sub_epi64(point, one);
    let up_to = x86::_mm512_sub_epi64(x86::_mm512_slli_epi64::<8>(point), one);
    x86::_mm512_or_si512(
        x86::_mm512_slli_epi64::<8>(x86::_mm512_and_si512(words, before)),
        x86::_mm512_andnot_si512(up_to, words),
    )
}

/// The byte in which a word has its only bit.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn byte_of(bit: __m512i) -> __m512i {
    // As a float, the bit has an exponent of 1023 + 8 * byte: shifted by 55, that is 127 + byte.
    let float = x86::_mm512_castpd_si512(x86::_mm512_cvtepu64_pd(bit));
    x86::_mm512_sub_epi64(
        x86::_mm512_srli_epi64::<55>(float),
        x86::_mm512_set1_epi64(127),
    )
}

/// Decimals that were read in one way, and where that failed, in another one.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn either(
    (one, places): (EightNumbers, __m512i),
    (other, other_places): (EightNumbers, __m512i),
) -> (EightNumbers, __m512i) {
    let numbers = EightNumbers {
        number: x86::_mm512_mask_mov_epi64(other.number, one.are_numbers, one.number),
        are_numbers: one.are_numbers | other.are_numbers,
    };
    let places = x86::_mm512_mask_mov_epi64(other_places, one.are_numbers, places);
    (numbers, places)
}
