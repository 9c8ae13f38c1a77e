//! What came of a step: how many checks passed and failed, and what could not be done and why.
//!
//! Nothing that was left out is passed over in silence: it is a line at the end of the run.

use std::fmt;

/// The outcome of one step, or of several added up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: u64,
    pub failed: u64,
    /// The names of the tests among them that failed; a step that is one check has its own line.
    pub failures: Vec<String>,
    pub ignored: u64,
    /// Tests that failed among others and passed when they were run once more, alone: named, and counted as passed.
    pub unsteady: Vec<String>,
    pub skipped: Vec<String>,
}

impl Tally {
    /// One check that passed or failed.
    pub fn check(holds: bool) -> Self {
        Self { passed: u64::from(holds), failed: u64::from(!holds), ..Self::default() }
    }

    /// Something that failed, and is named since nothing else names it.
    pub fn failure(what_and_why: impl Into<String>) -> Self {
        Self { failed: 1, failures: vec![what_and_why.into()], ..Self::default() }
    }

    pub fn skip(what_and_why: impl Into<String>) -> Self {
        Self { skipped: vec![what_and_why.into()], ..Self::default() }
    }

    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.failures.extend(other.failures);
        self.unsteady.extend(other.unsteady);
        self.skipped.extend(other.skipped);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ignored > 0 {
            writeln!(f, "SKIPPED: {} tests that write documents or only run on request", self.ignored)?;
        }
        for skipped in &self.skipped {
            writeln!(f, "SKIPPED: {skipped}")?;
        }
        for unsteady in &self.unsteady {
            writeln!(f, "UNSTEADY: {unsteady}: failed, and passed when it was run once more, alone")?;
        }
        for failure in &self.failures {
            writeln!(f, "FAILED: {failure}")?;
        }
        writeln!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_has_the_form_that_ci_reads() {
        let mut tally = Tally::check(true);
        tally.add(Tally::skip("qemu: not installed"));
        tally.add(Tally::check(false));
        tally.failures.push("steady (sys)".into());
        assert_eq!(tally.to_string(), "SKIPPED: qemu: not installed\nFAILED: steady (sys)\n1 passed, 1 failed\n");
    }
}
