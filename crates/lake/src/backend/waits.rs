//! Waits before something is tried again that other processes were in the way of.

use std::hash::{BuildHasher, RandomState};
use std::thread;
use std::time::{Duration, Instant};

/// How often in a row something may be refused although nothing is in its way.
pub(crate) const TRIALS: usize = 10;

/// The longest wait.
const LONGEST: Duration = Duration::from_secs(10);

/// How long something is tried.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Waits that double, each of a random length below its limit: processes that came at the same time don't come back at the
/// same time.
#[derive(Debug)]
pub(crate) struct Waits {
    begun: Instant,
    limit: Duration,
}

impl Waits {
    pub(crate) fn new() -> Self {
        Self {
            begun: Instant::now(),
            limit: Duration::from_millis(10),
        }
    }

    /// Waits; `None` if that was tried for an hour.
    pub(crate) fn wait(&mut self) -> Option<()> {
        if self.begun.elapsed() > PATIENCE {
            return None;
        }
        // The keys of a new hasher are random.
        let random = RandomState::new().hash_one(self.limit) % 1024;
        let share = u32::try_from(random).unwrap_or_default();
        if cfg!(not(test)) {
            thread::sleep(self.limit * share / 1024);
        }
        self.limit = (2 * self.limit).min(LONGEST);
        Some(())
    }
}
