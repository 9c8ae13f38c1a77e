//! Running the tests of the workspace: those that may share the machine first, those that measure it one at a time.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shell::{Shell, watch};
use crate::tally::Tally;

/// Names the file to which a test appends a line when it cannot run here: `what: why`. The harness has no word for
/// that.
const SKIPS: &str = "ASSAY_TEST_SKIPS";

/// The tests of every crate but the program.
pub(crate) fn crates(shell: &Shell) -> Tally {
    let mut command = shell.cargo(&["test", "--workspace", "--exclude", "assay", "--no-fail-fast"]);
    count(shell, &mut command, &shell.target(), "crate-tests")
}

/// The tests of the program, which measure and so must be alone.
pub(crate) fn program(shell: &Shell) -> Tally {
    let mut command = shell.cargo(&["test", "--package", "assay", "--no-fail-fast", "--", "--test-threads=1"]);
    count(shell, &mut command, &shell.target(), "program-tests")
}

/// Runs a test command and counts what its harnesses report. A command that fails without a failed test (it did not
/// compile, or a test killed its process) is one failure. Tests that skip themselves say so to a file in `scratch`.
pub(crate) fn count(shell: &Shell, command: &mut Command, scratch: &Path, name: &str) -> Tally {
    let skips = Skips::new(scratch, name);
    // Snapshots are compared, never rewritten.
    command.env(SKIPS, &skips.file).env("INSTA_UPDATE", "no").env("INSTA_WORKSPACE_ROOT", shell.root());
    let mut tally = Tally::default();
    let succeeded = watch(command, |line| tally.read_harness(line, name));
    if !succeeded && tally.failed == 0 {
        tally.failed = 1;
    }
    tally.skipped.extend(skips.read());
    tally
}

/// The file that tests report to when they cannot run.
struct Skips {
    file: PathBuf,
}

impl Skips {
    /// An empty file that every user may append to, since the tests also run as one without rights.
    fn new(scratch: &Path, name: &str) -> Self {
        use std::os::unix::fs::PermissionsExt;
        let file = scratch.join(format!("{name}.skips"));
        let created = std::fs::write(&file, "")
            .and_then(|()| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)));
        if let Err(error) = created {
            println!("tests that skip themselves will go unnamed: {}: {error}", file.display());
        }
        Self { file }
    }

    /// What was reported, each line once.
    fn read(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.file).unwrap_or_default();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines.dedup();
        lines
    }
}
