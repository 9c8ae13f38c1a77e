//! Network interfaces and sockets, as far as sysfs and the standard library do not cover them.

pub mod datagrams;
pub mod path;
pub mod tcp;
pub mod wait;
pub mod zero_copy;

use std::ffi::c_char;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;

use crate::calls::outcome;

/// `SIOCETHTOOL` (`linux/sockios.h`).
const SIOCETHTOOL: libc::c_ulong = 0x8946;

/// `ETHTOOL_GFLAGS` (`linux/ethtool.h`): several features as bits.
const GET_FLAGS: u32 = 0x25;

/// `ETH_FLAG_LRO` (`linux/ethtool.h`).
const FLAG_LRO: u32 = 1 << 15;

/// Features with a request of their own (`linux/ethtool.h`): `ETHTOOL_GRXCSUM`, `GTXCSUM`, `GSG`, `GTSO`, `GGSO`, `GGRO`.
const FEATURES: &[(&str, u32)] = &[
    ("rx_checksum", 0x14),
    ("tx_checksum", 0x16),
    ("scatter_gather", 0x18),
    ("tso", 0x1e),
    ("gso", 0x23),
    ("gro", 0x2b),
];

/// `struct ethtool_value` (`linux/ethtool.h`).
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// The active offloads of an interface: `rx_checksum`, `tx_checksum`, `scatter_gather`, `tso`, `gso`, `gro`, `lro`.
/// Fails if the interface does not exist or reports none of them.
pub fn offloads(interface: &str) -> io::Result<Vec<&'static str>> {
    let socket = UnixDatagram::unbound()?;
    let mut on = Vec::new();
    let mut refused = None;
    let mut answered = false;
    for &(name, command) in FEATURES {
        match ask(&socket, interface, command) {
            Ok(value) => {
                answered = true;
                on.extend((value != 0).then_some(name));
            }
            Err(error) => refused = Some(error),
        }
    }
    if let Ok(flags) = ask(&socket, interface, GET_FLAGS) {
        answered = true;
        on.extend((flags & FLAG_LRO != 0).then_some("lro"));
    }
    match refused {
        Some(error) if !answered => Err(error),
        _ => Ok(on),
    }
}

/// The MTU of an interface in this process's network namespace, in bytes; sysfs may show another namespace.
pub fn mtu(interface: &str) -> io::Result<u32> {
    let socket = UnixDatagram::unbound()?;
    let mut request = request_about(interface)?;
    // SAFETY: the request is live and writable for the call, which fills in its number.
    outcome(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFMTU as _, &raw mut request) })?;
    // SAFETY: the kernel has filled in this member, and any bits are a number.
    let bytes = unsafe { request.ifr_ifru.ifru_mtu };
    u32::try_from(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Whether an interface in this process's network namespace is up.
pub fn is_up(interface: &str) -> io::Result<bool> {
    let socket = UnixDatagram::unbound()?;
    let mut request = request_about(interface)?;
    // SAFETY: the request is live and writable for the call, which fills in its flags.
    outcome(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS as _, &raw mut request) })?;
    // SAFETY: the kernel has filled in this member, and any bits are flags.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    Ok(i32::from(flags) & libc::IFF_UP != 0)
}

fn request_about(interface: &str) -> io::Result<libc::ifreq> {
    // SAFETY: all-zero bytes are a valid `ifreq`: an array of characters and a union of plain data.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The name ends with a NUL, so one that fills the field is invalid.
    if interface.is_empty() || interface.len() >= request.ifr_name.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("'{interface}' is no name of an interface")));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = c_char::from_ne_bytes([from]);
    }
    Ok(request)
}

fn ask(socket: &UnixDatagram, interface: &str, command: u32) -> io::Result<u32> {
    let mut value = EthtoolValue { command, data: 0 };
    let mut request = request_about(interface)?;
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the request and the value that it points to are live and writable for the call, and of the type that
    // these commands take: the kernel writes at most the value's second word.
    outcome(unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) }).map(|_| value.data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_fixed_offloads() {
        // These are fixed in the kernel's driver (drivers/net/loopback.c).
        let on = offloads("lo").unwrap();
        assert!(on.contains(&"tx_checksum") && on.contains(&"scatter_gather"), "{on:?}");
        assert!(on.iter().all(|name| *name == "lro" || FEATURES.iter().any(|(known, _)| known == name)));
    }

    #[test]
    fn the_mtu_is_that_of_sysfs() {
        let found = mtu("lo").unwrap();
        assert!(found >= 1280, "{found}");
        let shown = std::fs::read_to_string("/sys/class/net/lo/mtu").ok().and_then(|text| text.trim().parse().ok());
        assert!(shown.is_none_or(|shown: u32| shown == found), "{shown:?} {found}");
    }

    #[test]
    fn an_interface_is_up_or_down() {
        let listed = std::fs::read_to_string("/proc/self/net/route").unwrap_or_default();
        let routed = listed.lines().skip(1).filter_map(|line| line.split_whitespace().next());
        for interface in routed {
            assert!(is_up(interface).unwrap(), "{interface} has a route");
        }
        assert!(is_up("lo").is_ok() && is_up("none-such").is_err());
    }

    #[test]
    fn a_missing_interface_is_an_error() {
        assert!(mtu("none-such").is_err());
        assert!(offloads("none-such").is_err());
        assert!(offloads("").is_err());
        assert!(offloads("a-name-that-is-too-long-for-the-kernel").is_err());
    }
}
