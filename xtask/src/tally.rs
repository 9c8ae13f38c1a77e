//! What came of a step: how many checks passed and failed, and what could not be done and why.
//!
//! Nothing that was left out is passed over in silence: it is a line at the end of the run.

use std::fmt;

/// The outcome of one step, or of several added up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    /// The names of the tests among them that failed; a step that is one check has its own line.
    pub(crate) failures: Vec<String>,
    /// Tests that failed among others and passed when they were run once more, alone: named, and counted as passed.
    pub(crate) unsteady: Vec<String>,
    /// What was skipped, each with its reason.
    pub(crate) skipped: Vec<String>,
}

impl Tally {
    /// One check that passed or failed.
    pub(crate) fn check(holds: bool) -> Self {
        Self { passed: u64::from(holds), failed: u64::from(!holds), ..Self::default() }
    }

    /// Something that failed, and is named since nothing else names it.
    pub(crate) fn failure(what_and_why: impl Into<String>) -> Self {
        Self { failed: 1, failures: vec![what_and_why.into()], ..Self::default() }
    }

    /// Something that could not be done here.
    pub(crate) fn skip(what_and_why: impl Into<String>) -> Self {
        Self { skipped: vec![what_and_why.into()], ..Self::default() }
    }

    /// Adds what came of something else.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.failures.extend(other.failures);
        self.unsteady.extend(other.unsteady);
        self.skipped.extend(other.skipped);
    }

    /// Adds what one line of the Rust test harness says: a failed test's name, or the figures of a whole program of
    /// tests; ignored tests count as skipped. Other lines say nothing.
    pub(crate) fn read_harness(&mut self, line: &str, of: &str) {
        let Some(said) = line.trim().strip_prefix("test ") else { return };
        if let Some(name) = said.strip_suffix(" ... FAILED") {
            self.failures.push(format!("{name} ({of})"));
        } else if let Some((_, figures)) = said.strip_prefix("result: ").and_then(|rest| rest.split_once(". ")) {
            self.add_figures(figures, of);
        }
    }

    /// Adds figures of the form `3 passed; 2 failed; 1 ignored; …`.
    fn add_figures(&mut self, figures: &str, of: &str) {
        for figure in figures.split(';') {
            let Some((count, what)) = figure.trim().split_once(' ') else { continue };
            let Ok(count) = count.parse::<u64>() else { continue };
            match what {
                "passed" => self.passed += count,
                "failed" => self.failed += count,
                "ignored" if count > 0 => self.skipped.push(format!("{count} ignored in {of}")),
                _ => {}
            }
        }
    }
}

impl fmt::Display for Tally {
    /// Ends with the line that says it all.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
    fn the_harness_is_read() {
        let mut tally = Tally::default();
        tally.read_harness("test result: ok. 56 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out", "stats");
        tally.read_harness(
            "test result: FAILED. 3 passed; 2 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.1s",
            "sys",
        );
        tally.read_harness("test interval::tests::ranks ... ok", "sys");
        tally.read_harness("test clock::tests::steady ... FAILED", "sys");
        assert_eq!((tally.passed, tally.failed), (59, 2));
        assert_eq!(tally.failures, ["clock::tests::steady (sys)"]);
        assert_eq!(tally.skipped, ["1 ignored in sys"]);
    }

    #[test]
    fn the_last_line_has_the_form_that_ci_reads() {
        let mut tally = Tally::check(true);
        tally.add(Tally::skip("qemu: not installed"));
        tally.add(Tally::check(false));
        tally.failures.push("steady (sys)".into());
        assert_eq!(tally.to_string(), "SKIPPED: qemu: not installed\nFAILED: steady (sys)\n1 passed, 1 failed\n");
    }
}
