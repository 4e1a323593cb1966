//! Counts of the cases of a test.

/// The variable of the environment that asks for every case of long tests, if it is `all`.
const ALL: &str = "TRACELAKE_TESTS";

/// Whether long tests try every case, as in CI.
#[must_use]
pub fn tries_all() -> bool {
    std::env::var(ALL).is_ok_and(|share| share == "all")
}

/// Counts the cases of a test, so that one failure doesn't hide the others.
pub struct Score {
    name: &'static str,
    /// One case in this many is due.
    one_in: u64,
    seen: u64,
    left_out: u64,
    tried: u64,
    wrong: Vec<String>,
}

impl Score {
    /// Begins to count the cases of `name`.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            one_in: 1,
            seen: 0,
            left_out: 0,
            tried: 0,
            wrong: Vec::new(),
        }
    }

    /// Begins to count the cases of a long test, of which one in `cases` is tried unless `TRACELAKE_TESTS=all`, as in
    /// CI. Choose a prime: kinds of cases that take turns are all tried then.
    #[must_use]
    pub fn one_in(cases: u64, name: &'static str) -> Self {
        Self {
            one_in: if tries_all() { 1 } else { cases },
            ..Self::new(name)
        }
    }

    /// Whether the next case is to be tried; if it isn't, it is counted as left out.
    pub fn is_due(&mut self) -> bool {
        let is_due = self.seen.is_multiple_of(self.one_in);
        self.seen += 1;
        self.left_out += u64::from(!is_due);
        is_due
    }

    /// Counts one case.
    pub fn count(&mut self, what: &str, outcome: Result<(), String>) {
        self.tried += 1;
        if let Err(error) = outcome {
            self.wrong.push(format!("{what}: {error}"));
        }
    }

    /// Fails if any case was wrong, or none was tried.
    #[track_caller]
    pub fn close(self) {
        let (name, tried, wrong) = (self.name, self.tried, self.wrong.len());
        let left_out = self.left_out;
        assert!(
            wrong == 0,
            "{name}: {wrong} of {tried} are wrong, {left_out} left out:\n{}",
            self.wrong.join("\n")
        );
        assert!(tried > 0, "{name}: nothing was tried");
    }
}

/// The outcome of a case: right if it `holds`, else what `says` returns.
pub fn ensure(holds: bool, says: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(says()) }
}
