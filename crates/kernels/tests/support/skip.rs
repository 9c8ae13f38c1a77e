//! Tests that cannot run on a machine.

extern crate std;

/// Says, loudly and in the file that the harness names, that a test could not run here.
#[expect(clippy::disallowed_methods, reason = "how the harness is told of skips")]
pub(crate) fn skip(test: &str, reason: &str) {
    use std::io::Write;
    writeln!(std::io::stderr(), "SKIPPED: {test}: {reason}").ok();
    if let Some(path) = std::env::var_os("ASSAY_TEST_SKIPS") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        assert!(file.is_ok_and(|mut file| writeln!(file, "{test}: {reason}").is_ok()), "cannot note a skip");
    }
}
