//! What the kernel says of a network interface that sysfs does not, which offloads are on; and of a connection, what it
//! has carried.
//!
//! Sockets themselves are safe through the standard library; nothing here touches the data path.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
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

/// One question to the driver.
fn ask(socket: &UnixDatagram, interface: &str, command: u32) -> io::Result<u32> {
    let mut value = EthtoolValue { command, data: 0 };
    // SAFETY: all-zero bytes are a valid `ifreq`: an array of characters and a union of plain data.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The name ends with a NUL, so one that fills the field is none.
    if interface.is_empty() || interface.len() >= request.ifr_name.len() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("'{interface}' is no name of an interface")));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the request and the value that it points to are live and writable for the call, and of the form that
    // these commands take: the kernel writes no more than the value's second word.
    let status = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
    if status == 0 { Ok(value.data) } else { Err(io::Error::last_os_error()) }
}

/// What a TCP connection has carried since it began, as one end of it counts: both ways, what was sent again included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpCarried {
    /// Bytes of data sent.
    pub sent_bytes: u64,
    /// Bytes of data received in order, read or not.
    pub received_bytes: u64,
    /// Segments sent, those without data included.
    pub segments_sent: u32,
    /// Segments received.
    pub segments_received: u32,
    /// Whether each segment carries time stamps, which make its header longer.
    pub time_stamps: bool,
}

/// What a TCP connection has carried; `None` where the kernel does not say (before 4.19), or this is none.
pub fn tcp_carried(socket: &impl AsFd) -> Option<TcpCarried> {
    // Where the fields stand in `struct tcp_info` (`linux/tcp.h`). Fields are only ever added at its end, and the kernel
    // writes as many as it knows.
    const OPTIONS: usize = 5;
    const BYTES_RECEIVED: usize = 128;
    const SEGMENTS_OUT: usize = 136;
    const SEGMENTS_IN: usize = 140;
    const BYTES_SENT: usize = 200;
    const NEEDED: usize = BYTES_SENT + size_of::<u64>();
    /// `TCPI_OPT_TIMESTAMPS`.
    const TIME_STAMPS: u8 = 1;
    let mut info = [0_u8; NEEDED];
    let mut length = libc::socklen_t::try_from(info.len()).ok()?;
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the buffer is live and writable, and its length is passed with it; the descriptor is borrowed.
    let status = unsafe {
        libc::getsockopt(socket, libc::IPPROTO_TCP, libc::TCP_INFO, info.as_mut_ptr().cast(), &raw mut length)
    };
    if status != 0 || (length as usize) < NEEDED {
        return None;
    }
    let long = |at: usize| Some(u64::from_ne_bytes(info.get(at..at + 8)?.try_into().ok()?));
    let short = |at: usize| Some(u32::from_ne_bytes(info.get(at..at + 4)?.try_into().ok()?));
    Some(TcpCarried {
        sent_bytes: long(BYTES_SENT)?,
        received_bytes: long(BYTES_RECEIVED)?,
        segments_sent: short(SEGMENTS_OUT)?,
        segments_received: short(SEGMENTS_IN)?,
        time_stamps: info[OPTIONS] & TIME_STAMPS != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_says_what_it_has_carried() {
        use std::io::{Read, Write};
        use std::net::{TcpListener, TcpStream, UdpSocket};
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut far = listener.accept().unwrap().0;
        near.write_all(&[1; 5000]).unwrap();
        far.read_exact(&mut [0; 5000]).unwrap();
        far.write_all(&[2; 300]).unwrap();
        near.read_exact(&mut [0; 300]).unwrap();
        // Kernels from 4.19 on say so; older ones say nothing, which is an answer too.
        if let (Some(near), Some(far)) = (tcp_carried(&near), tcp_carried(&far)) {
            assert_eq!((near.sent_bytes, near.received_bytes), (5000, 300));
            assert_eq!((far.sent_bytes, far.received_bytes), (300, 5000));
            assert!(near.segments_sent >= 2 && near.segments_received >= 2, "{near:?}");
            assert_eq!(near.time_stamps, far.time_stamps);
        }
        assert_eq!(tcp_carried(&UdpSocket::bind("127.0.0.1:0").unwrap()), None);
    }

    #[test]
    fn loopback_cuts_and_checks_nothing_itself() {
        // Loopback hands over whole buffers: these are fixed on in the kernel's driver (drivers/net/loopback.c).
        let on = offloads("lo").unwrap();
        assert!(on.contains(&"tx_checksum") && on.contains(&"scatter_gather"), "{on:?}");
        assert!(on.iter().all(|name| *name == "lro" || QUESTIONS.iter().any(|(known, _)| known == name)));
    }

    #[test]
    fn an_interface_that_is_not_there_is_an_error() {
        assert!(offloads("none-such").is_err());
        assert!(offloads("").is_err());
        assert!(offloads("a-name-that-is-too-long-for-the-kernel").is_err());
    }
}
