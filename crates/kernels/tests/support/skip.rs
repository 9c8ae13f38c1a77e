//! Marks tests that a machine cannot run.

extern crate std;

/// Reports a skipped test on standard error and in the file that the harness names.
#[expect(clippy::disallowed_methods, reason = "how the harness learns of skips")]
pub(crate) fn skip(test: &str, reason: &str) {
    use std::io::Write;
    writeln!(std::io::stderr(), "SKIPPED: {test}: {reason}").ok();
    if let Some(path) = std::env::var_os("ASSAY_TEST_SKIPS") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        assert!(file.is_ok_and(|mut file| writeln!(file, "{test}: {reason}").is_ok()), "cannot note a skip");
    }
}
