//! Control group limits of this process, version 1 and 2: the tightest of its own group and all above binds.

use std::path::{Component, Path, PathBuf};

use crate::ledger::Found;
use crate::list::parse_list;
use crate::sysroot::{Sysroot, label};
use crate::system::mounts::{self, Mount};

#[derive(Debug, Default)]
pub(crate) struct Limits {
    pub(crate) quota_cpus: Found<f64>,
    pub(crate) cpus: Found<Vec<u32>>,
    pub(crate) memory_bytes: Found<u64>,
    pub(crate) memory_used_bytes: Found<u64>,
    /// The facts that a limit would state, and why it may exist unseen.
    pub(crate) hidden: Vec<(&'static str, String)>,
}

struct Hierarchy {
    version: u8,
    top: PathBuf,
    /// `top` or below it.
    group: PathBuf,
}

impl Limits {
    pub(crate) fn discover(root: &Sysroot) -> Self {
        let mut limits = Self { hidden: hidden(root), ..Self::default() };
        for (hierarchy, controllers) in hierarchies(root) {
            limits.add(root, &hierarchy, &controllers);
        }
        limits
    }

    fn add(&mut self, root: &Sysroot, hierarchy: &Hierarchy, controllers: &str) {
        let covers = |controller: &str| hierarchy.covers(controllers, controller);
        for folder in hierarchy.folders() {
            if covers("cpu") {
                tighten(&mut self.quota_cpus, quota(root, &folder, hierarchy.version));
            }
            if covers("memory") {
                self.add_memory(root, &folder, hierarchy.version);
            }
            if covers("cpuset") && self.cpus.is_none() {
                self.cpus = cpu_set(root, &folder, hierarchy.version);
            }
        }
    }

    fn add_memory(&mut self, root: &Sysroot, folder: &str, version: u8) {
        let (limit, used) = if version == 2 { ("max", "current") } else { ("limit_in_bytes", "usage_in_bytes") };
        let file = |name: &str| format!("{folder}/memory.{name}");
        let found =
            root.number(&file(limit)).filter(|bytes| *bytes < UNLIMITED).map(|bytes| (bytes, label(&file(limit))));
        if tighten(&mut self.memory_bytes, found) {
            self.memory_used_bytes = root.number(&file(used)).map(|bytes| (bytes, label(&file(used))));
        }
    }
}

/// Seconds that CPU quotas have stopped this process's control groups, summed over CPUs; `None` without a quota.
pub fn throttled_seconds(root: &Sysroot) -> Option<f64> {
    let of_folder = |(folder, version): (String, u8)| {
        quota(root, &folder, version)?;
        let stat = root.text(&format!("{folder}/cpu.stat"))?;
        // Version 1: nanoseconds, version 2: microseconds.
        let (name, unit) = if version == 2 { ("throttled_usec", 1e-6) } else { ("throttled_time", 1e-9) };
        let count = stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok())?;
        Some(count * unit)
    };
    folders(root, "cpu").into_iter().filter_map(of_folder).reduce(f64::max)
}

/// The folders of this process's groups for a controller, with the version; its own group first.
pub(crate) fn folders(root: &Sysroot, controller: &str) -> Vec<(String, u8)> {
    let covering = hierarchies(root).into_iter().filter(|(one, controllers)| one.covers(controllers, controller));
    let folders = covering.flat_map(|(hierarchy, _)| {
        let version = hierarchy.version;
        hierarchy.folders().map(move |folder| (folder, version)).collect::<Vec<_>>()
    });
    folders.collect()
}

/// Each with the controllers of its line in `/proc/self/cgroup`.
fn hierarchies(root: &Sysroot) -> Vec<(Hierarchy, String)> {
    let mounts = mounts::read(root);
    let of = |(controllers, path): (String, String)| Some((hierarchy(&mounts, &controllers, &path)?, controllers));
    memberships(root).into_iter().filter_map(of).collect()
}

/// The controllers and the path of each line in `/proc/self/cgroup`.
fn memberships(root: &Sysroot) -> Vec<(String, String)> {
    let text = root.text("proc/self/cgroup").unwrap_or_default();
    let of_line = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        Some((fields.next()?.to_owned(), fields.next()?.to_owned()))
    };
    text.lines().filter_map(of_line).collect()
}

/// Groups for CPU time or memory whose hierarchy is mounted nowhere.
fn hidden(root: &Sysroot) -> Vec<(&'static str, String)> {
    let mounts = mounts::read(root);
    let why = |controller: &str| {
        let is_hidden = |(controllers, path): &(String, String)| {
            let covers = controllers.is_empty() || controllers.split(',').any(|name| name == controller);
            covers && path != std::path::MAIN_SEPARATOR_STR && hierarchy(&mounts, controllers, path).is_none()
        };
        let (_, path) = memberships(root).into_iter().find(is_hidden)?;
        let reason = "ip netns exec hides /sys/fs/cgroup, nsenter --net does not";
        Some(format!("no mount shows the control group {path} ({reason})"))
    };
    let facts = [("cpu.quota_cpus", "cpu"), ("memory.limit_bytes", "memory")];
    facts.into_iter().filter_map(|(fact, controller)| Some((fact, why(controller)?))).collect()
}

/// Version 1 writes "no limit" as the largest number of pages, just below 2^63 B.
const UNLIMITED: u64 = 1 << 62;

/// Keeps the smaller limit; returns whether it is the new one.
fn tighten<T: PartialOrd>(kept: &mut Found<T>, found: Found<T>) -> bool {
    let tighter = match (&kept, &found) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some((kept, _)), Some((found, _))) => found < kept,
    };
    if tighter {
        *kept = found;
    }
    tighter
}

fn quota(root: &Sysroot, folder: &str, version: u8) -> Found<f64> {
    let (file, quota, period) = if version == 2 {
        let file = format!("{folder}/cpu.max");
        let text = root.text(&file)?;
        let (quota, period) = text.split_once(' ')?;
        (file, quota.parse::<f64>().ok()?, period.trim().parse::<f64>().ok()?)
    } else {
        let file = format!("{folder}/cpu.cfs_quota_us");
        let quota = root.number(&file)?;
        (file, quota, root.number(&format!("{folder}/cpu.cfs_period_us"))?)
    };
    let cpus = quota / period;
    (quota > 0.0 && period > 0.0 && cpus.is_finite()).then(|| (cpus, label(&file)))
}

fn cpu_set(root: &Sysroot, folder: &str, version: u8) -> Found<Vec<u32>> {
    let names: &[&str] =
        if version == 2 { &["cpuset.cpus.effective"] } else { &["cpuset.effective_cpus", "cpuset.cpus"] };
    names.iter().find_map(|name| {
        let file = format!("{folder}/{name}");
        let cpus = parse_list(&root.text(&file)?);
        (!cpus.is_empty()).then(|| (cpus, label(&file)))
    })
}

fn hierarchy(mounts: &[Mount], controllers: &str, path: &str) -> Option<Hierarchy> {
    let version = if controllers.is_empty() { 2 } else { 1 };
    let holds = |mount: &&Mount| match version {
        2 => mount.filesystem == "cgroup2",
        _ => {
            mount.filesystem == "cgroup"
                && controllers.split(',').all(|name| mount.super_options.iter().any(|o| o == name))
        }
    };
    let mount = mounts.iter().find(holds)?;
    let top = below_root(&mount.point)?;
    // In a container the mount may show only a part of the hierarchy.
    let inner = Path::new(path).strip_prefix(&mount.root).unwrap_or(Path::new(""));
    let inner = below_root(inner).filter(|inner| !inner.as_os_str().is_empty());
    let group = inner.map_or_else(|| top.clone(), |inner| top.join(inner));
    Some(Hierarchy { version, top, group })
}

/// A path without its leading slash, if it has no special parts.
fn below_root(path: &Path) -> Option<PathBuf> {
    let relative = path.strip_prefix(std::path::MAIN_SEPARATOR_STR).unwrap_or(path);
    relative.components().all(|part| matches!(part, Component::Normal(_))).then(|| relative.to_owned())
}

impl Hierarchy {
    fn covers(&self, controllers: &str, controller: &str) -> bool {
        self.version == 2 || controllers.split(',').any(|name| name == controller)
    }

    /// The group's folder and those above, up to the mount point.
    fn folders(&self) -> impl Iterator<Item = String> {
        let inside = self.group.ancestors().take_while(|folder| folder.starts_with(&self.top));
        inside.filter_map(|folder| folder.to_str().map(str::to_owned))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_followed_to_the_top_of_its_mount() {
        let mount = Mount {
            device: "0:29".into(),
            root: "/docker/abc".into(),
            point: "/sys/fs/cgroup/cpu".into(),
            options: Vec::new(),
            filesystem: "cgroup".into(),
            source: "cgroup".into(),
            super_options: vec!["rw".into(), "cpu".into(), "cpuacct".into()],
        };
        let folders = |path: &str| {
            let found = hierarchy(std::slice::from_ref(&mount), "cpu,cpuacct", path).unwrap();
            found.folders().collect::<Vec<_>>()
        };
        assert_eq!(folders("/docker/abc/x/y")[..2], ["sys/fs/cgroup/cpu/x/y", "sys/fs/cgroup/cpu/x"]);
        assert_eq!(folders("/docker/abc/x/y").len(), 3);
        assert_eq!(folders("/elsewhere"), ["sys/fs/cgroup/cpu"]);
        assert_eq!(folders("/docker/abc/../.."), ["sys/fs/cgroup/cpu"]);
    }
}
