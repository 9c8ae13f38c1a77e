//! A suite with disk rows after a cpu row, and checks of runs that did not measure all rows.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Scratch, check, is_verified, rows, suite, text};
use crate::system::process::{Running, samples_in_journal};

/// Longer than any of these runs, shorter than a hang.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The kernel may take this long to free what an ended process held: `io_uring` is torn down later.
pub(crate) const GIVEN_BACK: Duration = Duration::from_secs(2);

pub(crate) const MIB: u64 = 1 << 20;

/// Space that changes for other reasons than the test file.
pub(crate) const SLACK_BYTES: u64 = MIB;

/// A cpu row before two disk rows: the plan is made long before the test file.
pub(crate) const AFTER_CPU: &str = r#"
name = "later"
sampling.cpu = { samples = 3, per_launch = 3, sample = "400ms", warm_up = ["20ms", "40ms"], target = 0.05 }
sampling.disk = { samples = 2, per_launch = 2, sample = "150ms", warm_up = ["20ms", "40ms"], target = 0.05 }
cpu = [{ op = "fma", type = ["fp64"], isa = ["scalar"], threads = ["1"] }]
disk = [{ pattern = "random", op = ["read", "write"], block = ["4KiB"], depth = [8], size = "64MiB", threads = ["1"] }]
"#;

/// Starts a run whose disk rows come later; returns when it has begun.
pub(crate) fn begun_with_cpu(scratch: &Scratch, directory: &Path) -> Running {
    let arguments = format!("{} --repeat 3 --dir {}", suite(scratch, AFTER_CPU), directory.display());
    let run = Running::assay(scratch, &arguments);
    samples_in_journal(scratch, 1);
    run
}

pub(crate) fn disk_rows(document: &Value) -> Vec<&Value> {
    rows(document).iter().filter(|row| row["area"] == "disk").collect()
}

/// Asserts that a document keeps the contract and that every row without a result has a reason.
#[track_caller]
pub(crate) fn assert_explained(document: &Value) {
    check(document);
    for row in rows(document) {
        assert!(is_verified(row) || !text(row, "reason").is_empty(), "{row:#}");
    }
}
