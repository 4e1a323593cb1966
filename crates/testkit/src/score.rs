//! Counts of the cases of a test.

use std::io::Write;

/// Counts the cases of a test, so that one failure doesn't hide the others.
pub struct Score {
    name: &'static str,
    tried: u64,
    wrong: Vec<String>,
}

impl Score {
    /// Begins to count the cases of `name`.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        let (tried, wrong) = (0, Vec::new());
        Self { name, tried, wrong }
    }

    /// Counts one case.
    pub fn count(&mut self, what: &str, outcome: Result<(), String>) {
        self.tried += 1;
        if let Err(error) = outcome {
            self.wrong.push(format!("{what}: {error}"));
        }
    }

    /// Prints the counts, past the test harness's capture, and fails if any case was wrong.
    #[track_caller]
    pub fn close(self) {
        let (tried, wrong) = (self.tried, self.wrong.len() as u64);
        let right = tried - wrong;
        let line = format!(
            "{}: tried {tried}, right {right}, wrong = {wrong}\n",
            self.name
        );
        std::io::stderr().write_all(line.as_bytes()).unwrap();
        assert!(self.wrong.is_empty(), "{line}{}", self.wrong.join("\n"));
        assert!(tried > 0, "{}: nothing was tried", self.name);
    }
}

/// The outcome of a case: right if it `holds`, else what `says` returns.
pub fn ensure(holds: bool, says: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(says()) }
}
