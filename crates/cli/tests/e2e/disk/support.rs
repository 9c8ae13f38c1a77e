//! Suites, directories and checks of the disk tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::common::{Ran, Scratch, assay, check, codes, is_verified, number, printed, rows, skip, suite, text};

/// All kinds of rows, each measured in a moment.
pub(crate) const BRIEF: &str = r#"
name = "brief"
sampling.disk = { samples = 6, per_launch = 3, sample = "150ms", warm_up = ["20ms", "40ms"], target = 0.05 }
disk = [
    { pattern = "sequential", op = ["read", "write"], block = ["1MiB"], depth = [1, 8], size = "64MiB", threads = ["1"] },
    { pattern = "random", op = ["read", "write"], block = ["4KiB"], depth = [1, 8], size = "64MiB", threads = ["1"] },
]
"#;

pub(crate) fn writes(row: &Value) -> bool {
    ["write", "mixed", "rewrite"].contains(&text(&row["params"], "op"))
}

pub(crate) fn brief(scratch: &Scratch, directory: &Path) -> String {
    format!("{} --dir {}", suite(scratch, BRIEF), directory.display())
}

/// An empty directory on a disk; `None` where temporary files are in memory.
pub(crate) fn directory(scratch: &Scratch, what: &str) -> Option<PathBuf> {
    let directory = scratch.join("disk");
    std::fs::create_dir_all(&directory).unwrap();
    if is_memory(&directory) {
        skip(what, "temporary files are in memory here: set TMPDIR to a directory on a disk");
        return None;
    }
    Some(directory)
}

pub(crate) fn is_memory(path: &Path) -> bool {
    let output = Command::new("stat").args(["-f", "-c", "%T"]).arg(path).output().unwrap();
    ["tmpfs", "ramfs"].contains(&String::from_utf8_lossy(&output.stdout).trim())
}

pub(crate) fn seen(row: &Value) -> &Value {
    &row["conditions"]["disk"]
}

/// The rows of a run with `--verify`, all measured.
pub(crate) fn checked(scratch: &Scratch, arguments: &str) -> Vec<Value> {
    all_measured(&assay(scratch, &format!("{arguments} --verify --json -")))
}

pub(crate) fn all_measured(ran: &Ran) -> Vec<Value> {
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let document = printed(ran);
    check(&document);
    assert!(rows(&document).iter().all(is_verified), "{document:#}");
    rows(&document).to_vec()
}

/// Asserts that a row bypassed the page cache or has a warning.
#[track_caller]
pub(crate) fn assert_direct_or_said(row: &Value) {
    let disk = seen(row);
    let direct = number(disk, "cached_share") < 0.01
        && disk["storage_share"].as_f64().is_none_or(|share| share >= 0.95)
        && (!writes(row) || disk["in_place"] != false);
    assert_eq!(!direct, codes(row).contains(&"not_direct"), "{disk:#}: {:?}", codes(row));
}
