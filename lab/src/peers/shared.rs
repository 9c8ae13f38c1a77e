//! What the parts share: paths, and how a value is written in tables.

use std::path::{Path, PathBuf};

/// The suite that is run.
pub(super) const SUITE: &str = "suites/peers.toml";
/// Every attempt, one a line.
pub(super) const ATTEMPTS: &str = "lab/data/peers.jsonl";
/// The area whose rows can be on a loop device.
pub(super) const DISK: &str = "disk";
/// The path in the lines of `lab/data/peers.jsonl`.
pub(super) const VETH_PATH: &str = "veth";

/// A folder that is not there yet.
pub(super) fn fresh_folder(beside: &Path) -> PathBuf {
    (1..=u32::MAX)
        .map(|number| beside.join(number.to_string()))
        .find(|path| !path.exists())
        .unwrap_or_else(|| beside.to_owned())
}

/// A figure with four digits and a prefix, for tables alone.
pub(super) fn quantity(value: f64, unit: &str) -> String {
    let steps = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")];
    let (factor, prefix) = steps.into_iter().find(|(factor, _)| value >= *factor).unwrap_or((1.0, ""));
    let scaled = value / factor;
    let decimals = if scaled < 10.0 {
        3
    } else if scaled < 100.0 {
        2
    } else {
        1
    };
    // A rate of events has no unit that takes a prefix.
    let unit = if unit == "1/s" { "/s" } else { unit };
    format!("{scaled:.decimals$} {prefix}{unit}")
}
