//! What the kernel says of a TCP connection.

use std::os::fd::{AsFd, AsRawFd};

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
}
