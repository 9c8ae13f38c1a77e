//! The path of a connected socket: its MTU, and how that is discovered.

use std::io;
use std::os::fd::AsFd;

use crate::calls::socket_option;

/// The path MTU of a connected socket, in bytes, as far as this host knows (`IP_MTU`, `IPV6_MTU`): the interface's, or
/// less if a router reports so; too large if that is filtered. `None` if the kernel does not report it.
pub fn path_mtu(socket: &impl AsFd) -> Option<u32> {
    u32::try_from(option(socket, libc::IPV6_MTU, libc::IP_MTU).ok()?).ok().filter(|bytes| *bytes > 0)
}

/// How a socket discovers its path MTU (`IP_MTU_DISCOVER`, `ip(7)`): `off` lets routers fragment packets, `want` obeys
/// their reports and fragments here, `do` refuses longer packets, `probe` sends them, `interface` and `omit` ignore
/// reports. `None` if the kernel does not report it.
pub fn mtu_discovery(socket: &impl AsFd) -> Option<&'static str> {
    /// By their numbers (`linux/in.h`).
    const WAYS: [&str; 6] = ["off", "want", "do", "probe", "interface", "omit"];
    let found = option(socket, libc::IPV6_MTU_DISCOVER, libc::IP_MTU_DISCOVER).ok()?;
    WAYS.get(usize::try_from(found).ok()?).copied()
}

/// The number for a socket of version 6, else 4, also where it carries a connection of version 4.
fn option(socket: &impl AsFd, six: libc::c_int, four: libc::c_int) -> io::Result<libc::c_int> {
    socket_option(socket, libc::IPPROTO_IPV6, six).or_else(|_| socket_option(socket, libc::IPPROTO_IP, four))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};

    use super::*;

    #[test]
    fn a_connection_over_loopback_has_its_mtu() {
        for (home, to) in [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("::", "::ffff:127.0.0.1")] {
            let Ok(listener) = TcpListener::bind((home, 0)) else { continue };
            let Ok(stream) = TcpStream::connect((to, listener.local_addr().unwrap().port())) else { continue };
            assert!(path_mtu(&stream).is_some_and(|bytes| bytes >= 576), "{home}");
            assert!(mtu_discovery(&stream).is_some(), "{home}");
            let datagrams = UdpSocket::bind((home, 0)).unwrap();
            assert_eq!(path_mtu(&datagrams), None, "an unconnected socket has no path");
            datagrams.connect(stream.peer_addr().unwrap()).unwrap();
            assert_eq!(path_mtu(&datagrams), path_mtu(&stream), "{home}");
        }
    }

    #[test]
    fn a_file_has_no_path() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!((path_mtu(&file), mtu_discovery(&file)), (None, None));
    }
}
