//! The addresses of this machine (`/proc/net/fib_trie`, `if_inet6`) with their interfaces.

use std::cmp::Reverse;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::net::routes::{on_link, own_version_4};
use crate::net::{interfaces, namespace};
use crate::sysroot::Sysroot;

/// One of this machine's addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnAddress {
    /// The address.
    pub address: IpAddr,
    /// Its interface, if the routing table shows it.
    pub interface: Option<String>,
}

/// The machine's addresses without link-local ones: fastest link first, IPv4 before IPv6, loopback last.
#[must_use]
pub fn own_addresses(root: &Sysroot) -> Vec<OwnAddress> {
    let mut found: Vec<OwnAddress> = version_4(root).into_iter().chain(version_6(root)).collect();
    let in_sysfs = namespace::read(root).in_sysfs;
    let speed = |own: &OwnAddress| {
        // Whole numbers have an order.
        interfaces::speed(root, own.interface.as_deref()?).filter(|_| in_sysfs).map(f64::to_bits)
    };
    found.sort_by_cached_key(|own| (own.address.is_loopback(), Reverse(speed(own)), own.address));
    found
}

fn version_4(root: &Sysroot) -> Vec<OwnAddress> {
    let own = |address: Ipv4Addr| {
        let interface = if address.is_loopback() { Some("lo".to_owned()) } else { on_link(root, address) };
        OwnAddress { address: address.into(), interface }
    };
    own_version_4(root).into_iter().filter(|address| !address.is_link_local()).map(own).collect()
}

/// `fd00…01 02 40 00 80 eth0`. Tentative (flag 0x40) and duplicate addresses (0x08) are left out.
fn version_6(root: &Sysroot) -> Vec<OwnAddress> {
    let text = root.text("proc/net/if_inet6").unwrap_or_default();
    let own = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let [address, _, _, _, flags, interface] = fields.as_slice() else { return None };
        let address = Ipv6Addr::from(u128::from_str_radix(address, 16).ok()?);
        let unusable = u32::from_str_radix(flags, 16).ok()? & 0x48 != 0;
        let one_link = address.is_unicast_link_local();
        (!unusable && !one_link)
            .then(|| OwnAddress { address: address.into(), interface: Some((*interface).to_owned()) })
    };
    text.lines().filter_map(own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    #[cfg(target_endian = "little")]
    fn a_machine_has_the_addresses_that_peers_can_reach() {
        let fixture = Fixture::new("addresses")
            .file(
                "proc/net/fib_trie",
                "Main:\n  +-- 0.0.0.0/0 3 0 5\n     +-- 127.0.0.0/8 2 0 2\n        |-- 127.0.0.0\n           /8 host LOCAL\n\
                 \x20       |-- 127.0.0.1\n           /32 host LOCAL\n        |-- 169.254.3.4\n           /32 host LOCAL\n\
                 \x20       |-- 192.0.2.2\n           /32 host LOCAL\n        |-- 192.0.2.255\n           /32 link BROADCAST\n\
                 \x20       |-- 198.51.100.7\n           /32 host LOCAL\n\
                 Local:\n        |-- 192.0.2.2\n           /32 host LOCAL\n        |-- nonsense\n           /32 host LOCAL\n",
            )
            .file(
                "proc/net/route",
                "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n\
                 eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
                 eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n\
                 ib0\t006433C6\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n",
            )
            .file(
                "proc/net/if_inet6",
                "fd000000000000000000000000000002 04 40 00 82     eth0\n\
                 fd000000000000000000000000000003 04 40 00 c0     eth0\n\
                 fe8000000000000000fc00fffe000001 04 40 20 80     eth0\n\
                 00000000000000000000000000000001 01 80 10 80       lo\nshort line\n",
            )
            .file("sys/class/net/eth0/speed", "1000\n")
            .file("sys/class/net/ib0/speed", "200000\n")
            .file("sys/class/net/lo/speed", "4294967295\n");
        let found: Vec<(String, Option<String>)> =
            own_addresses(&fixture.root()).into_iter().map(|own| (own.address.to_string(), own.interface)).collect();
        let expected =
            [("198.51.100.7", "ib0"), ("192.0.2.2", "eth0"), ("fd00::2", "eth0"), ("127.0.0.1", "lo"), ("::1", "lo")];
        assert_eq!(found, expected.map(|(address, interface)| (address.to_owned(), Some(interface.to_owned()))));
        assert_eq!(own_addresses(&Fixture::new("no-addresses").root()), []);
    }
}
