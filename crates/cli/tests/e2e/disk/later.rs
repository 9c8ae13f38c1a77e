//! A disk that is measured after a row of the cpu area, and checks of runs that did not measure all rows.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Scratch, check, is_verified, rows, text};
use crate::system::process::{Running, samples_in_journal};

/// Longer than any of these runs takes, and shorter than a hang.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// How long the kernel may take to give back what an ended process held: rings of `io_uring` are taken down later.
pub(crate) const GIVEN_BACK: Duration = Duration::from_secs(2);

pub(crate) const MIB: u64 = 1 << 20;

/// Space that moves for other reasons than the test file: a directory, an inode table.
pub(crate) const SLACK_BYTES: u64 = MIB;

/// A row of the cpu area before two of the disk area: the plan is made long before the test file.
pub(crate) const AFTER_CPU: &str = r#"
name = "later"
[sampling.cpu]
samples = 3
per_launch = 3
sample = "400ms"
warm_up = ["20ms", "40ms"]
target = 0.05
[sampling.disk]
samples = 2
per_launch = 2
sample = "150ms"
warm_up = ["20ms", "40ms"]
target = 0.05
[[cpu]]
op = "fma"
type = ["fp64"]
isa = ["scalar"]
threads = ["1"]
[[disk]]
pattern = "random"
op = ["read", "write"]
block = ["4KiB"]
depth = [8]
size = "64MiB"
threads = ["1"]
"#;

/// Starts a run whose disk rows come later, and waits until it has begun.
pub(crate) fn begun_with_cpu(scratch: &Scratch, directory: &Path) -> Running {
    let suite = scratch.join("later.toml");
    std::fs::write(&suite, AFTER_CPU).unwrap();
    let run = Running::assay(scratch, &format!("run {} --repeat 3 --dir {}", suite.display(), directory.display()));
    samples_in_journal(scratch, 1);
    run
}

/// The disk rows of a document.
pub(crate) fn disk_rows(document: &Value) -> Vec<&Value> {
    rows(document).iter().filter(|row| row["area"] == "disk").collect()
}

/// Asserts that a document keeps the contract and that every row that was not measured says why.
#[track_caller]
pub(crate) fn assert_explained(document: &Value) {
    check(document);
    for row in rows(document) {
        assert!(is_verified(row) || !text(row, "reason").is_empty(), "{row:#}");
    }
}
