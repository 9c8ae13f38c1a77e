use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const NAMES: [&str; 2] = ["assay-cluster", "assay-cluster-slowed"];

const PERIOD: u64 = 100_000;

const WEIGHTS: [(&str, &str); 2] = [("cpu.shares", "262144"), ("cpu.weight", "10000")];

#[derive(Clone, Debug)]
pub(super) struct Groups {
    pub(super) free: PathBuf,
    pub(super) slowed: PathBuf,
}

fn parent() -> Option<(PathBuf, bool)> {
    let first = Path::new("/sys/fs/cgroup/cpu");
    if first.join("cpu.cfs_quota_us").is_file() {
        return Some((first.to_owned(), false));
    }
    let second = Path::new("/sys/fs/cgroup");
    let controllers = fs::read_to_string(second.join("cgroup.subtree_control")).ok()?;
    controllers.split_whitespace().any(|name| name == "cpu").then(|| (second.to_owned(), true))
}

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

pub(super) fn remove() {
    let Some((parent, _)) = parent() else { return };
    for group in NAMES.map(|name| parent.join(name)) {
        let gone = || !group.is_dir() || fs::remove_dir(&group).is_ok();
        if let Err(why) = super::daemons::until("the end of the control group", Duration::from_secs(10), gone) {
            println!("left behind: {}: {why}", group.display());
        }
    }
}
