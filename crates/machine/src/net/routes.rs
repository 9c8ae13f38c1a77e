//! The interface that leads to an address, by the kernel's main routing tables; policy rules are ignored.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::sysroot::Sysroot;

struct Route {
    interface: String,
    length: u32,
    metric: u32,
}

/// The interface for packets to this address, if a route is known; `lo` for the machine's own addresses.
pub fn interface_to(root: &Sysroot, address: IpAddr) -> Option<String> {
    if address.is_loopback() || is_own(root, address) {
        return Some("lo".to_owned());
    }
    let text = root.text(match address {
        IpAddr::V4(_) => "proc/net/route",
        IpAddr::V6(_) => "proc/net/ipv6_route",
    })?;
    best(text.lines().filter_map(|line| match address {
        IpAddr::V4(address) => version_4(line, address),
        IpAddr::V6(address) => version_6(line, address),
    }))
}

/// The longest prefix wins, then the smallest metric.
fn best(routes: impl Iterator<Item = Route>) -> Option<String> {
    routes.min_by_key(|route| (u32::MAX - route.length, route.metric)).map(|route| route.interface)
}

fn is_own(root: &Sysroot, address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => own_version_4(root).contains(&address),
        // `fd00…01 02 40 00 80 eth0`
        IpAddr::V6(address) => {
            let written = format!("{:032x}", u128::from(address));
            let text = root.text("proc/net/if_inet6").unwrap_or_default();
            text.lines().any(|line| line.split_ascii_whitespace().next() == Some(written.as_str()))
        }
    }
}

/// `|-- 192.0.2.2` with `/32 host LOCAL` in the next line. A subnet (`/8 host LOCAL` of 127.0.0.0) is not an address.
pub(crate) fn own_version_4(root: &Sysroot) -> BTreeSet<Ipv4Addr> {
    let text = root.text("proc/net/fib_trie").unwrap_or_default();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let local = lines.windows(2).filter(|pair| pair[1] == "/32 host LOCAL");
    local.filter_map(|pair| pair[0].strip_prefix("|-- ")?.parse().ok()).collect()
}

/// The interface whose subnet contains an address of this machine.
pub(crate) fn on_link(root: &Sysroot, address: Ipv4Addr) -> Option<String> {
    let text = root.text("proc/net/route")?;
    best(text.lines().filter_map(|line| version_4(line, address)).filter(|route| route.length > 0))
}

/// `eth0 000200C0 00000000 0001 0 0 0 00FFFFFF 0 0 0`: addresses are native integers of the bytes on the wire.
fn version_4(line: &str, address: Ipv4Addr) -> Option<Route> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let [interface, destination, _, flags, _, _, metric, mask, ..] = fields.as_slice() else { return None };
    let number = |text: &str| u32::from_str_radix(text, 16).ok();
    let bits = |text: &str| Some(u32::from_be_bytes(number(text)?.to_ne_bytes()));
    let (destination, mask) = (bits(destination)?, bits(mask)?);
    let fits = u32::from(address) & mask == destination && is_usable(number(flags)?);
    fits.then_some(Route {
        interface: (*interface).to_owned(),
        length: mask.count_ones(),
        metric: metric.parse().ok()?,
    })
}

/// `fe80… 40 000… 00 000… 00000100 00000001 00000000 00000001 eth0`, as in `proc/net/ipv6_route`.
fn version_6(line: &str, address: Ipv6Addr) -> Option<Route> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let [destination, length, _, _, _, metric, _, _, flags, interface] = fields.as_slice() else { return None };
    let number = |text: &str| u32::from_str_radix(text, 16).ok();
    let destination = u128::from_str_radix(destination, 16).ok()?;
    let length = number(length).filter(|length| *length <= 128)?;
    let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
    let fits = u128::from(address) & mask == destination & mask && is_usable(number(flags)?);
    fits.then_some(Route { interface: (*interface).to_owned(), length, metric: number(metric)? })
}

/// Up and not a reject route (`RTF_UP`, `RTF_REJECT` of `include/uapi/linux/route.h`).
fn is_usable(flags: u32) -> bool {
    flags & 0x1 != 0 && flags & 0x200 == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    #[cfg(target_endian = "little")]
    fn the_most_particular_route_leads() {
        let fixture = Fixture::new("routes")
            .file(
                "proc/net/route",
                "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n\
                 eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
                 eth1\t000200C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n\
                 eth2\t000200C0\t00000000\t0001\t0\t0\t50\t00FFFFFF\t0\t0\t0\n\
                 eth3\t00020AC0\t00000000\t0000\t0\t0\t0\t00FFFFFF\t0\t0\t0\n",
            )
            .file(
                "proc/net/fib_trie",
                "Main:\n  +-- 0.0.0.0/0 3 0 5\n        |-- 192.0.2.0\n           /24 link UNICAST\n\
                 \x20       |-- 192.0.2.2\n           /32 host LOCAL\n",
            )
            .file("proc/net/if_inet6", "fd000000000000000000000000000002 02 40 00 80     eth5\n")
            .file(
                "proc/net/ipv6_route",
                "fd000000000000000000000000000000 40 00000000000000000000000000000000 00 \
                 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth5\n\
                 00000000000000000000000000000000 00 00000000000000000000000000000000 00 \
                 fd000000000000000000000000000001 00000400 00000003 00000000 00000003     eth6\n\
                 garbage\n",
            );
        let root = fixture.root();
        let leads = |address: &str| interface_to(&root, address.parse().unwrap());
        assert_eq!(leads("192.0.2.9").as_deref(), Some("eth2"), "the smaller metric");
        assert_eq!(leads("198.51.100.1").as_deref(), Some("eth0"), "the default route");
        assert_eq!(leads("fd00::7").as_deref(), Some("eth5"));
        assert_eq!(leads("2001:db8::1").as_deref(), Some("eth6"));
        assert_eq!(leads("192.0.2.2").as_deref(), Some("lo"), "its own address");
        assert_eq!(leads("fd00::2").as_deref(), Some("lo"), "its own address");
        assert_eq!(leads("127.0.0.1").as_deref(), Some("lo"));
        assert_eq!(interface_to(&Fixture::new("no-routes").root(), "192.0.2.9".parse().unwrap()), None);
    }
}
