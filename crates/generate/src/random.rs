//! Random numbers without floating-point functions: the same seed gives the same numbers everywhere.
//!
//! `ln` and `exp` come from the platform's mathematical library and may differ in the last bit, so
//! nothing here uses them. Log-normal-like values are made from measured quantiles, joined by
//! straight lines, and from powers of two that are looked up in a table; the table is filled by
//! square roots and products, which IEEE 754 defines to the bit.

use std::sync::LazyLock;

/// The fractional bits of a logarithm to base two: 4096 steps to an octave, finer than the ten
/// significant bits that published values keep.
const OCTAVE_BITS: u32 = 12;
const OCTAVE: i32 = 1 << OCTAVE_BITS;

/// The standard deviation of the sum of four uniform 16-bit numbers: `65536 * sqrt(4 / 12)`.
const DEVIATION: i64 = 37_837;

/// `2^(i / 4096)` in units of 2^-31.
static POWERS: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let mut step = 2.0_f64;
    for _ in 0..OCTAVE_BITS {
        step = step.sqrt();
    }
    let mut power = f64::from(1_u32 << 31);
    let mut powers = Vec::with_capacity(1 << OCTAVE_BITS);
    for _ in 0..OCTAVE {
        powers.push(whole(power));
        power *= step;
    }
    powers
});

/// The whole part of a number that is known to be positive and below 2^63.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "callers pass positive numbers below 2^63; the fraction is meant to go"
)]
pub(crate) const fn whole(value: f64) -> u64 {
    value as u64
}

/// A share from 0 to 1 in units of 2^-32.
pub(crate) fn share(value: f64) -> u64 {
    whole(value.clamp(0.0, 1.0) * 4_294_967_296.0)
}

/// Mixes two words into one that looks random; the finaliser of SplitMix64.
pub(crate) const fn mix(left: u64, right: u64) -> u64 {
    let mut word = left ^ right.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
    word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// A sequence of random words: SplitMix64, which has one word of state and a period of 2^64.
#[derive(Debug, Clone)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            state: mix(seed, 0x7261_6365_6c61_6b65),
        }
    }

    /// The next 64 random bits.
    pub(crate) fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state, 0)
    }

    /// A number below `bound`, which is at least 1.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        scale(self.word(), bound)
    }

    /// A number from `low` up to and without `high`.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low).max(1))
    }

    /// Whether something happens that happens `times` in a million.
    pub(crate) fn happens(&mut self, times: u64) -> bool {
        self.below(1_000_000) < times
    }

    /// A place in a distribution, from 0 to 65535.
    pub(crate) fn quantile(&mut self) -> u64 {
        self.word() >> 48
    }

    /// The index of one of several weights, in proportion to them.
    pub(crate) fn weighted(&mut self, weights: &[u32]) -> usize {
        let total = weights.iter().map(|&weight| u64::from(weight)).sum();
        let mut left = self.below(total);
        for (index, &weight) in weights.iter().enumerate() {
            if left < u64::from(weight) {
                return index;
            }
            left -= u64::from(weight);
        }
        0
    }
}

/// The high word of `word * bound`: a number below `bound` without the bias of a remainder.
pub(crate) fn scale(word: u64, bound: u64) -> u64 {
    let product = u128::from(word) * u128::from(bound);
    u64::try_from(product >> 64).unwrap_or(0)
}

/// A bell-shaped logarithm made of 64 random bits, in 1/4096 octaves, `spread` being one standard
/// deviation.
///
/// The sum of four uniform numbers has the shape of a normal one without its far tails.
pub(crate) fn bell(bits: u64, spread: i64) -> i64 {
    let sum: u64 = (0..4)
        .map(|quarter| (bits >> (16 * quarter)) & 0xffff)
        .sum();
    (sum.cast_signed() - 2 * 65_535) * spread / DEVIATION
}

/// `value * 2^(exponent / 4096)`.
pub(crate) fn raise(value: u64, exponent: i64) -> u64 {
    let octaves = exponent >> OCTAVE_BITS;
    let step = usize::try_from(exponent & i64::from(OCTAVE - 1)).unwrap_or(0);
    let product = u128::from(value) * u128::from(POWERS[step]);
    let shift = u32::try_from(31 - octaves).unwrap_or(0).min(127);
    u64::try_from(product >> shift).unwrap_or(u64::MAX)
}

/// The value at a place (0 to 65535) of a distribution given by its quantiles, which are pairs of a
/// place and a value in rising order, joined by straight lines.
pub(crate) fn quantile(knots: &[(u64, u64)], place: u64) -> u64 {
    let after = knots
        .iter()
        .position(|&(at, _)| at > place)
        .unwrap_or(knots.len() - 1)
        .max(1);
    let ((low_at, low), (high_at, high)) = (knots[after - 1], knots[after]);
    let share = place.clamp(low_at, high_at) - low_at;
    let product = u128::from(high - low) * u128::from(share) / u128::from(high_at - low_at);
    low + u64::try_from(product).unwrap_or(0)
}

/// Draws places so that their weights spread evenly over a distribution.
///
/// A few jobs hold most of the tasks. Drawn independently, one of them would move the median of a
/// whole table; here every job goes where the fewest tasks are so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Balance {
    weights: [u64; 16],
}

impl Balance {
    /// A place from 0 to 65535 for something of this weight.
    pub(crate) fn place(&mut self, random: &mut Random, weight: u64) -> u64 {
        // Starting anywhere keeps equal weights from filling the distribution from below.
        let start = random.below(16);
        let bin = (0..16)
            .map(|step| usize::try_from((start + step) % 16).unwrap_or(0))
            .min_by_key(|&bin| self.weights[bin])
            .unwrap_or(0);
        self.weights[bin] += weight;
        u64::try_from(bin).unwrap_or(0) * 4096 + random.below(4096)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_double_over_an_octave() {
        assert_eq!(raise(1 << 20, 0), 1 << 20);
        assert_eq!(raise(1 << 20, 4096), 1 << 21);
        assert_eq!(raise(1 << 20, -4096), 1 << 19);
        assert_eq!(raise(1 << 20, 2048), 1_482_910, "2^20.5 rounded down");
        assert_eq!(raise(1, -4096 * 200), 0);
    }

    #[test]
    fn quantiles_are_joined_by_lines() {
        let knots = [(0, 10), (32768, 20), (65535, 1000)];
        assert_eq!(quantile(&knots, 0), 10);
        assert_eq!(quantile(&knots, 16384), 15);
        assert_eq!(quantile(&knots, 65535), 1000);
    }

    #[test]
    fn bells_have_the_spread_they_are_given() {
        let mut random = Random::new(7);
        let count = 20_000;
        let squares: i64 = (0..count).map(|_| bell(random.word(), 1000).pow(2)).sum();
        let variance = squares / count;
        assert!((950_000..1_050_000).contains(&variance), "{variance}");
    }

    #[test]
    fn balance_spreads_weight() {
        let (mut random, mut balance) = (Random::new(1), Balance::default());
        let places: Vec<u64> = (0..16)
            .map(|_| balance.place(&mut random, 5) / 4096)
            .collect();
        let mut sorted = places.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..16).collect::<Vec<u64>>());
    }

    #[test]
    fn a_seed_is_a_sequence() {
        let words = |seed| {
            let mut random = Random::new(seed);
            [random.word(), random.word()]
        };
        assert_eq!(words(1), words(1));
        assert_ne!(words(1), words(2));
    }
}
