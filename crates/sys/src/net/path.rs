//! What the kernel knows of the path of a connected socket: the longest packet that it takes, and how that was found out.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// The longest packet, in bytes, that the path of a connected socket takes as far as this host knows (`IP_MTU`,
/// `IPV6_MTU`): what the interface takes, or less where a router has said so. `None` where the kernel does not say.
///
/// A router whose word does not get through makes it too large, and what is longer than the path takes vanishes.
pub fn path_mtu(socket: &impl AsFd) -> Option<u32> {
    let six = option(socket, libc::IPPROTO_IPV6, libc::IPV6_MTU);
    // A connection of version 4 through a socket of version 6 has an MTU of version 4.
    let found = six.or_else(|_| option(socket, libc::IPPROTO_IP, libc::IP_MTU)).ok()?;
    u32::try_from(found).ok().filter(|bytes| *bytes > 0)
}

/// How a socket finds out what its path takes (`IP_MTU_DISCOVER`, `ip(7)`): `off` lets routers cut packets, `want` lets
/// them say that one is too long and cuts what is longer here, `do` refuses what is longer, `probe` sends it all the same,
/// `interface` and `omit` believe no router. `None` where the kernel does not say.
pub fn mtu_discovery(socket: &impl AsFd) -> Option<&'static str> {
    /// By their numbers (`linux/in.h`).
    const WAYS: [&str; 6] = ["off", "want", "do", "probe", "interface", "omit"];
    let six = option(socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER);
    let found = six.or_else(|_| option(socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER)).ok()?;
    WAYS.get(usize::try_from(found).ok()?).copied()
}

/// A number that is set on a socket.
fn option(socket: &impl AsFd, level: libc::c_int, name: libc::c_int) -> io::Result<libc::c_int> {
    let mut found: libc::c_int = 0;
    let mut length = libc::socklen_t::try_from(size_of_val(&found)).unwrap_or(0);
    let descriptor = socket.as_fd().as_raw_fd();
    // SAFETY: the value is live and writable for the call, and its length is passed with it.
    let status = unsafe { libc::getsockopt(descriptor, level, name, (&raw mut found).cast(), &raw mut length) };
    if status == 0 { Ok(found) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};

    use super::*;

    #[test]
    fn a_connection_to_ourselves_takes_what_loopback_does() {
        for home in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(home) else { continue };
            let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            assert!(path_mtu(&stream).is_some_and(|bytes| bytes >= 1280), "{home}");
            let ways = ["off", "want", "do", "probe", "interface", "omit"];
            assert!(mtu_discovery(&stream).is_some_and(|way| ways.contains(&way)), "{home}");
            let datagrams = UdpSocket::bind(home).unwrap();
            assert_eq!(path_mtu(&datagrams), None, "one that is not connected has no path");
            datagrams.connect(listener.local_addr().unwrap()).unwrap();
            assert_eq!(path_mtu(&datagrams), path_mtu(&stream), "{home}");
        }
    }

    #[test]
    fn version_4_through_a_socket_of_version_6_has_its_own() {
        let Ok(listener) = TcpListener::bind("[::]:0") else { return };
        let port = listener.local_addr().unwrap().port();
        let Ok(stream) = TcpStream::connect(("::ffff:127.0.0.1", port)) else { return };
        assert!(path_mtu(&stream).is_some_and(|bytes| bytes >= 576));
    }

    #[test]
    fn what_is_no_socket_has_no_path() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!((path_mtu(&file), mtu_discovery(&file)), (None, None));
    }
}
