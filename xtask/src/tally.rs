//! What came of a step: how many checks passed and failed, and what could not be done and why.
//!
//! Nothing that was left out is passed over in silence: it is a line at the end of the run.

use std::fmt;

/// The outcome of one step, or of several added up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    /// What was skipped, each with its reason.
    pub(crate) skipped: Vec<String>,
}

impl Tally {
    /// One check that passed or failed.
    pub(crate) fn check(holds: bool) -> Self {
        Self { passed: u64::from(holds), failed: u64::from(!holds), skipped: Vec::new() }
    }

    /// Something that could not be done here.
    pub(crate) fn skip(what_and_why: impl Into<String>) -> Self {
        Self { skipped: vec![what_and_why.into()], ..Self::default() }
    }

    /// Adds what came of something else.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped.extend(other.skipped);
    }

    /// Adds the figures of one `test result:` line of the Rust test harness; ignored tests count as skipped. Other lines
    /// say nothing.
    pub(crate) fn read_test_result(&mut self, line: &str, of: &str) {
        let Some((_, figures)) = line.trim().strip_prefix("test result: ").and_then(|rest| rest.split_once(". "))
        else {
            return;
        };
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
        writeln!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_harness_is_read() {
        let mut tally = Tally::default();
        tally.read_test_result("test result: ok. 56 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out", "stats");
        tally.read_test_result(
            "test result: FAILED. 3 passed; 2 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.1s",
            "sys",
        );
        tally.read_test_result("test interval::tests::ranks ... ok", "sys");
        assert_eq!(tally, Tally { passed: 59, failed: 2, skipped: vec!["1 ignored in sys".into()] });
    }

    #[test]
    fn the_last_line_has_the_form_that_ci_reads() {
        let mut tally = Tally::check(true);
        tally.add(Tally::skip("qemu: not installed"));
        tally.add(Tally::check(false));
        assert_eq!(tally.to_string(), "SKIPPED: qemu: not installed\n1 passed, 1 failed\n");
    }
}
