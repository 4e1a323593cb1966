//! How slow a server may be before a warning, and before the reading ends.

use std::time::Duration;

/// Limits for slow transfers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Bytes per second, below which a time is slow.
    rate: u64,
    /// The shortest time that is judged, and that causes a warning if it is slow.
    warn: Duration,
    /// The slow time after which the reading ends.
    fail: Duration,
}

/// The limits of every transfer.
pub(super) const LIMITS: Limits = Limits {
    rate: 1 << 10,
    warn: Duration::from_secs(60),
    fail: Duration::from_secs(5 * 60),
};

/// The judgement on a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judgement {
    Fine,
    /// Slow for the first time.
    Slow,
    TooSlow,
}

/// The pace of one transfer, as pure data: it has no clock.
#[derive(Debug)]
pub(super) struct Pace {
    limits: Limits,
    /// When the time began that is judged next, and the bytes until then.
    since: Duration,
    bytes: u64,
    /// How long it has been slow without a break.
    slow: Duration,
    is_warned: bool,
}

impl Pace {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            since: Duration::ZERO,
            bytes: 0,
            slow: Duration::ZERO,
            is_warned: false,
        }
    }

    /// Judges a transfer by the bytes that arrived in all, and the time that they took.
    pub(super) fn judge(&mut self, bytes: u64, elapsed: Duration) -> Judgement {
        let time = elapsed.saturating_sub(self.since);
        if time < self.limits.warn {
            return Judgement::Fine;
        }
        let arrived = bytes.saturating_sub(self.bytes);
        let least = time.as_nanos().saturating_mul(u128::from(self.limits.rate)) / 1_000_000_000;
        (self.since, self.bytes) = (elapsed, bytes);
        if u128::from(arrived) >= least {
            self.slow = Duration::ZERO;
            return Judgement::Fine;
        }
        self.slow += time;
        if self.slow >= self.limits.fail {
            return Judgement::TooSlow;
        }
        match std::mem::replace(&mut self.is_warned, true) {
            true => Judgement::Fine,
            false => Judgement::Slow,
        }
    }
}

#[cfg(test)]
impl Limits {
    /// Limits by which whatever takes any time is slow, and too slow after `fail`.
    pub(super) const fn at_once(fail: Duration) -> Self {
        Self {
            rate: u64::MAX,
            warn: Duration::ZERO,
            fail,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The judgements every ten seconds, when this number of bytes arrive in each second.
    fn judged(rates: impl IntoIterator<Item = u64>) -> Vec<(usize, Judgement)> {
        let mut pace = Pace::new(LIMITS);
        let mut bytes = 0;
        let mut judged = Vec::new();
        for (number, rate) in rates.into_iter().enumerate() {
            bytes += rate * 10;
            let seconds = (number + 1) * 10;
            match pace.judge(bytes, Duration::from_secs(seconds as u64)) {
                Judgement::Fine => {}
                other => judged.push((seconds, other)),
            }
        }
        judged
    }

    #[test]
    fn a_slow_minute_warns_once_and_five_of_them_are_too_slow() {
        use Judgement::{Slow, TooSlow};
        let (rate, slow) = (LIMITS.rate, LIMITS.rate - 1);
        assert_eq!(judged([rate; 60]), []);
        assert_eq!(judged([slow; 5]), []);
        assert_eq!(judged([slow; 29]), [(60, Slow)]);
        assert_eq!(judged([slow; 30]), [(60, Slow), (300, TooSlow)]);
        assert_eq!(judged([0; 30]), [(60, Slow), (300, TooSlow)]);
        // A good minute between them begins the count again.
        let rates = [slow; 24].into_iter().chain([rate; 6]).chain([slow; 29]);
        assert_eq!(judged(rates), [(60, Slow)]);
    }

    #[test]
    fn a_long_silence_counts_as_a_whole() {
        let mut pace = Pace::new(LIMITS);
        assert_eq!(pace.judge(1, Duration::from_secs(59)), Judgement::Fine);
        assert_eq!(pace.judge(2, LIMITS.fail), Judgement::TooSlow);
        let mut pace = Pace::new(LIMITS);
        let enough = LIMITS.rate * LIMITS.fail.as_secs();
        assert_eq!(pace.judge(enough, LIMITS.fail), Judgement::Fine);
        assert_eq!(pace.judge(0, Duration::MAX), Judgement::TooSlow);
    }
}
