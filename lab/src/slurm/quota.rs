//! Control groups for the CPU time of nodes, of their `slurmd` and everything that it starts: all nodes go before
//! whatever else runs on this machine, as if each were a machine of its own, and one gets only a share of a CPU.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Their names among the groups of this machine: of nodes with all their time, and of the one that is bounded.
const NAMES: [&str; 2] = ["assay-cluster", "assay-cluster-slowed"];

/// Period of the quota in microseconds: the kernel's default (`cpu.cfs_period_us`).
const PERIOD: u64 = 100_000;

/// What a node weighs against a program of normal priority beside it: the most that the kernel takes. Beside others that
/// take what they can get, a node would have less than its quota with it and without, and none would be the slower.
/// Version 1 counts such a program as 1024, version 2 as 100.
const WEIGHTS: [(&str, &str); 2] = [("cpu.shares", "262144"), ("cpu.weight", "10000")];

/// The groups.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    /// Of nodes with all the time that they want.
    pub(super) free: PathBuf,
    /// Of the node whose time is bounded.
    pub(super) slowed: PathBuf,
}

/// The folder in which groups that bound CPU time are made, and whether it is of version 2.
fn parent() -> Option<(PathBuf, bool)> {
    let first = Path::new("/sys/fs/cgroup/cpu");
    if first.join("cpu.cfs_quota_us").is_file() {
        return Some((first.to_owned(), false));
    }
    let second = Path::new("/sys/fs/cgroup");
    let controllers = fs::read_to_string(second.join("cgroup.subtree_control")).ok()?;
    controllers.split_whitespace().any(|name| name == "cpu").then(|| (second.to_owned(), true))
}

/// Makes the groups: what is in `slowed` gets this share of one CPU, in percent.
pub(super) fn make(percent: u64) -> Result<Groups, String> {
    let (parent, second) = parent().ok_or("no control group for CPU time can be made here")?;
    let [free, slowed] = NAMES.map(|name| parent.join(name));
    let quota = PERIOD * percent / 100;
    let quota = if second { ("cpu.max", format!("{quota} {PERIOD}")) } else { ("cpu.cfs_quota_us", quota.to_string()) };
    for group in [&free, &slowed] {
        let text = |error: std::io::Error| format!("cannot make the control group {}: {error}", group.display());
        if !group.is_dir() {
            fs::create_dir(group).map_err(text)?;
        }
        let (file, weight) = WEIGHTS[usize::from(second)];
        fs::write(group.join(file), weight).map_err(text)?;
        if *group == slowed {
            fs::write(group.join(quota.0), &quota.1).map_err(text)?;
        }
    }
    Ok(Groups { free, slowed })
}

/// Removes the groups where there are any: once nobody is in them any more.
pub(super) fn remove() {
    let Some((parent, _)) = parent() else { return };
    for group in NAMES.map(|name| parent.join(name)) {
        let gone = || !group.is_dir() || fs::remove_dir(&group).is_ok();
        if let Err(why) = super::daemons::until("the end of the control group", Duration::from_secs(10), gone) {
            println!("left behind: {}: {why}", group.display());
        }
    }
}
