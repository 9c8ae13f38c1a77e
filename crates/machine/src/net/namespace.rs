//! The interfaces of this process's network namespace (`/proc/self/net/dev`). The folder `/sys/class/net` belongs to the
//! namespace of the process that mounted it, so its interfaces, links and counters may be another namespace's.

use std::collections::BTreeSet;

use crate::sysroot::Sysroot;

pub(crate) const INTERFACES: &str = "sys/class/net";
/// Counters of the interfaces that this process can use.
pub(crate) const COUNTERS: &str = "proc/self/net/dev";
const LOOPBACK: &str = "lo";
/// Fields of a line before those of the other direction.
const FIELDS_RECEIVED: usize = 8;

/// The interfaces that a process of this machine can use.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Namespace {
    /// Their names, in the order of sysfs or of the kernel's list.
    pub(crate) names: Vec<String>,
    /// Whether sysfs describes them.
    pub(crate) in_sysfs: bool,
}

/// Reads both lists. Sysfs is another namespace's if they differ; a capture without the kernel's list has sysfs alone.
pub(crate) fn read(root: &Sysroot) -> Namespace {
    // Entries such as `bonding_masters` are files.
    let is_interface = |name: &String| root.text(&format!("{INTERFACES}/{name}/mtu")).is_some();
    let shown: Vec<String> = root.names(INTERFACES).into_iter().filter(is_interface).collect();
    let Some(text) = root.text(COUNTERS) else { return Namespace { names: shown, in_sysfs: true } };
    let listed: Vec<String> = lines(&text).map(|(name, _)| name.to_owned()).collect();
    let in_sysfs = listed.iter().collect::<BTreeSet<_>>() == shown.iter().collect();
    Namespace { names: if in_sysfs { shown } else { listed }, in_sysfs }
}

/// Bytes of an interface in both directions; on loopback, where each byte sent is received, in one.
pub(crate) fn bytes(root: &Sysroot, interface: &str) -> Option<u64> {
    let text = root.text(COUNTERS)?;
    let (_, counts) = lines(&text).find(|(name, _)| *name == interface)?;
    let counts: Vec<u64> = counts.split_ascii_whitespace().map_while(|count| count.parse().ok()).collect();
    let received = *counts.first()?;
    if interface == LOOPBACK { Some(received) } else { received.checked_add(*counts.get(FIELDS_RECEIVED)?) }
}

/// Name and counts of each interface: `  eth0: 500 4 0 0 0 0 0 0 70 3 …`.
fn lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| line.split_once(':')).map(|(name, counts)| (name.trim(), counts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    const HEADING: &str = "Inter-|   Receive                            |  Transmit\n \
                           face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n";

    fn host(case: &str) -> Fixture {
        let mut fixture = Fixture::new(case).file("sys/class/net/bonding_masters", "\n");
        for name in ["lo", "eth0"] {
            fixture = fixture
                .file(&format!("sys/class/net/{name}/mtu"), "1500\n")
                .file(&format!("sys/class/net/{name}/statistics/rx_bytes"), "999999\n")
                .file(&format!("sys/class/net/{name}/statistics/tx_bytes"), "999999\n");
        }
        fixture
    }

    #[test]
    fn in_an_unshared_network_namespace_sysfs_shows_the_interfaces_of_the_host() {
        let own = format!("{HEADING}    lo: 500 4 0 0 0 0 0 0 500 4 0 0 0 0 0 0\n");
        let fixture = host("unshared").file(COUNTERS, &own);
        let root = fixture.root();
        assert_eq!(read(&root), Namespace { names: vec!["lo".to_owned()], in_sysfs: false });
        assert_eq!((bytes(&root, "lo"), bytes(&root, "eth0")), (Some(500), None));
    }

    #[test]
    fn in_a_container_with_another_interface_of_its_own_sysfs_is_not_believed() {
        let own = format!("{HEADING}    lo: 1 1 0 0 0 0 0 0 1 1\n veth7:100 4 0 0 0 0 0 0 20 4 0 0 0 0 0 0\n");
        let fixture = host("own-pair").file(COUNTERS, &own);
        let root = fixture.root();
        assert_eq!(read(&root), Namespace { names: vec!["lo".to_owned(), "veth7".to_owned()], in_sysfs: false });
        assert_eq!((bytes(&root, "veth7"), bytes(&root, "eth0")), (Some(120), None));
    }

    #[test]
    fn in_the_namespace_of_the_host_both_lists_agree() {
        let own = format!("{HEADING}  eth0: 500 4 0 0 0 0 0 0 70 3 0 0 0 0 0 0\n    lo: 9 1 0 0 0 0 0 0 9 1\n");
        let both = Namespace { names: vec!["eth0".to_owned(), "lo".to_owned()], in_sysfs: true };
        let fixture = host("shared").file(COUNTERS, &own);
        let root = fixture.root();
        assert_eq!((read(&root), bytes(&root, "eth0")), (both, Some(570)));
        let fixture = host("captured");
        let captured = fixture.root();
        assert!(read(&captured).in_sysfs && read(&captured).names.len() == 2 && bytes(&captured, "lo").is_none());
    }
}
