//! What the kernel says of a network interface that sysfs does not, which offloads are on; and what it says of TCP
//! connections ([`tcp`]) and of paths ([`path`]). Many datagrams a system call ([`datagrams`]), sends that spare their copy ([`zero_copy`]), and
//! how a thread waits for a socket ([`wait`]).
//!
//! Sockets otherwise are safe through the standard library.

pub mod datagrams;
pub mod path;
pub mod tcp;
pub mod wait;
pub mod zero_copy;

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;

/// `SIOCETHTOOL` (`linux/sockios.h`).
const SIOCETHTOOL: libc::c_ulong = 0x8946;

/// `ETHTOOL_GFLAGS` (`linux/ethtool.h`): several features as bits.
const GET_FLAGS: u32 = 0x25;

/// `ETH_FLAG_LRO` (`linux/ethtool.h`).
const FLAG_LRO: u32 = 1 << 15;

/// Features with a question of their own (`linux/ethtool.h`): `ETHTOOL_GRXCSUM`, `GTXCSUM`, `GSG`, `GTSO`, `GGSO`,
/// `GGRO`.
const QUESTIONS: &[(&str, u32)] = &[
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

/// The offloads of an interface that are on: `rx_checksum`, `tx_checksum`, `scatter_gather`, `tso`, `gso`, `gro`,
/// `lro`. One that the kernel does not know is not on.
///
/// # Errors
/// There is no such interface, or it answers none of the questions.
pub fn offloads(interface: &str) -> io::Result<Vec<&'static str>> {
    let socket = UnixDatagram::unbound()?;
    let mut on = Vec::new();
    let mut refused = None;
    let mut answered = false;
    for &(name, command) in QUESTIONS {
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

/// The longest packet of an interface, in bytes: of one in this process's network, which is not always what sysfs shows.
///
/// # Errors
/// There is no such interface.
pub fn mtu(interface: &str) -> io::Result<u32> {
    let socket = UnixDatagram::unbound()?;
    let mut request = request_about(interface)?;
    // SAFETY: the request is live and writable for the call, which fills in its number.
    let status = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFMTU as _, &raw mut request) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has filled in this member, and any bits are a number.
    let bytes = unsafe { request.ifr_ifru.ifru_mtu };
    u32::try_from(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// A question about an interface of this name.
fn request_about(interface: &str) -> io::Result<libc::ifreq> {
    // SAFETY: all-zero bytes are a valid `ifreq`: an array of characters and a union of plain data.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The name ends with a NUL, so one that fills the field is none.
    if interface.is_empty() || interface.len() >= request.ifr_name.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("'{interface}' is no name of an interface")));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from.cast_signed();
    }
    Ok(request)
}

/// One question to the driver.
fn ask(socket: &UnixDatagram, interface: &str, command: u32) -> io::Result<u32> {
    let mut value = EthtoolValue { command, data: 0 };
    let mut request = request_about(interface)?;
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the request and the value that it points to are live and writable for the call, and of the form that
    // these commands take: the kernel writes no more than the value's second word.
    let status = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
    if status == 0 { Ok(value.data) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_cuts_and_checks_nothing_itself() {
        // Loopback hands over whole buffers: these are fixed on in the kernel's driver (drivers/net/loopback.c).
        let on = offloads("lo").unwrap();
        assert!(on.contains(&"tx_checksum") && on.contains(&"scatter_gather"), "{on:?}");
        assert!(on.iter().all(|name| *name == "lro" || QUESTIONS.iter().any(|(known, _)| known == name)));
    }

    #[test]
    fn the_longest_packet_is_what_sysfs_says() {
        let found = mtu("lo").unwrap();
        assert!(found >= 1280, "{found}");
        let shown = std::fs::read_to_string("/sys/class/net/lo/mtu").ok().and_then(|text| text.trim().parse().ok());
        assert!(shown.is_none_or(|shown: u32| shown == found), "{shown:?} {found}");
    }

    #[test]
    fn an_interface_that_is_not_there_is_an_error() {
        assert!(mtu("none-such").is_err());
        assert!(offloads("none-such").is_err());
        assert!(offloads("").is_err());
        assert!(offloads("a-name-that-is-too-long-for-the-kernel").is_err());
    }
}
