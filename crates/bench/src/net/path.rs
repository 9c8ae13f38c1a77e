//! This host's end of a network path.

use std::net::{IpAddr, SocketAddr, TcpStream};

use machine::Sysroot;
use socket2::SockRef;

use super::handshake::PathEnd;

/// The interface to an address, and its settings.
pub(crate) fn end_towards(address: IpAddr) -> PathEnd {
    let host = Sysroot::host();
    let Some(interface) = machine::interface_to(&host, address.to_canonical()) else { return PathEnd::default() };
    let mtu = host.text(&format!("sys/class/net/{interface}/mtu"));
    let offloads = sys::net::offloads(&interface).unwrap_or_default();
    PathEnd {
        // In a network namespace sysfs may show other interfaces.
        mtu: sys::net::mtu(&interface).ok().or_else(|| mtu.and_then(|text| text.trim().parse().ok())),
        offloads: offloads.into_iter().map(str::to_owned).collect(),
        interface: Some(interface),
        congestion_control: None,
    }
}

pub(crate) fn congestion_control(connection: &TcpStream) -> Option<String> {
    let name = SockRef::from(connection).tcp_congestion().ok()?;
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8(name.to_vec()).ok().filter(|name| !name.is_empty())
}

pub(crate) fn family(address: SocketAddr) -> &'static str {
    if address.ip().to_canonical().is_ipv4() { "IPv4" } else { "IPv6" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_ourselves_is_the_loopback_interface() {
        for address in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            let end = end_towards(address.parse().unwrap());
            assert_eq!(end.interface.as_deref(), Some("lo"), "{address}");
            assert!(end.mtu.is_some_and(|mtu| mtu >= 1280), "{end:?}");
        }
        assert_eq!(family("[::ffff:127.0.0.1]:1".parse().unwrap()), "IPv4");
        assert_eq!(family("[::1]:1".parse().unwrap()), "IPv6");
    }
}
