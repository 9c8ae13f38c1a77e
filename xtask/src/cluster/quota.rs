//! A control group that bounds the CPU time of a node: of its `slurmd` and everything that it starts.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Its name among the groups of this machine.
const NAME: &str = "assay-cluster";

/// Period of the quota in microseconds: the kernel's default (`cpu.cfs_period_us`).
const PERIOD: u64 = 100_000;

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

/// Makes the group: what is in it gets this share of one CPU, in percent.
pub(super) fn make(percent: u64) -> Result<PathBuf, String> {
    let (parent, second) = parent().ok_or("no control group for CPU time can be made here")?;
    let group = parent.join(NAME);
    let text = |error: std::io::Error| format!("cannot make the control group {}: {error}", group.display());
    if !group.is_dir() {
        fs::create_dir(&group).map_err(text)?;
    }
    let quota = PERIOD * percent / 100;
    let (file, value) =
        if second { ("cpu.max", format!("{quota} {PERIOD}")) } else { ("cpu.cfs_quota_us", quota.to_string()) };
    fs::write(group.join(file), value).map_err(text)?;
    Ok(group)
}

/// Removes the group where there is one: once nobody is in it any more.
pub(super) fn remove() {
    let Some((parent, _)) = parent() else { return };
    let group = parent.join(NAME);
    let gone = || !group.is_dir() || fs::remove_dir(&group).is_ok();
    if let Err(why) = super::daemons::until("the end of the control group", Duration::from_secs(10), gone) {
        println!("left behind: {}: {why}", group.display());
    }
}
