//! The CPUs that are online.

use crate::list::parse_list;
use crate::sysroot::Sysroot;
use crate::system::affinity;

pub(crate) const CPUS: &str = "sys/devices/system/cpu";

pub(crate) fn topology_file(cpu: u32, name: &str) -> String {
    format!("{CPUS}/cpu{cpu}/topology/{name}")
}

/// The CPUs that are online. A container may have a list that a file system in user space made up (lxcfs); the affinity mask
/// is the kernel's.
pub(crate) fn online_cpus(root: &Sysroot) -> Vec<u32> {
    // An offline CPU has no package.
    let is_online = |cpu: &u32| root.text(&topology_file(*cpu, "physical_package_id")).is_some();
    let Some(list) = root.text(&format!("{CPUS}/online")).map(|list| parse_list(&list)) else {
        let numbers = root.names(CPUS).into_iter().filter_map(|name| name.strip_prefix("cpu")?.parse().ok());
        return numbers.filter(is_online).collect();
    };
    let allowed = affinity(root);
    let is_made_up = allowed.iter().filter(|cpu| !list.contains(cpu)).any(is_online);
    if is_made_up { allowed.into_iter().filter(is_online).collect() } else { list }
}
