//! State of a TCP connection (`tcp_info` of `linux/tcp.h`), which only grows; the kernel writes the fields it knows.

use std::mem::offset_of;
use std::os::fd::{AsFd, AsRawFd};

use libc::tcp_info;

/// What a TCP connection has carried since it began, as counted by one end: retransmissions included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpCarried {
    pub sent_bytes: u64,
    /// Bytes of data received in order, read or not.
    pub received_bytes: u64,
    /// Bytes sent that the peer has acknowledged; the end of the connection counts as one.
    pub acknowledged_bytes: u64,
    /// Segments sent, with and without data.
    pub segments_sent: u32,
    pub segments_received: u32,
    /// Whether each segment carries time stamps, which make its header longer.
    pub time_stamps: bool,
}

/// The state of a TCP connection at the sending end; `None` if the kernel is too old to report it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TcpState {
    pub retransmits: Option<u64>,
    pub retransmitted_bytes: Option<u64>,
    /// Smoothed round trip in seconds; `None` before the first.
    pub round_trip_seconds: Option<f64>,
    /// Mean deviation of the round trip in seconds; `None` before the first.
    pub round_trip_variation_seconds: Option<f64>,
    /// The least recent round trip (`net.ipv4.tcp_min_rtt_wlen`), in seconds; `None` before the first.
    pub least_round_trip_seconds: Option<f64>,
    /// Bytes in flight that the congestion control allows.
    pub congestion_window_bytes: Option<u64>,
    /// Bytes of data per sent segment.
    pub segment_bytes: Option<u32>,
    /// Bytes per second that the peer acknowledged recently.
    pub delivery_bytes_per_second: Option<u64>,
    /// Segments by which the network is seen to reorder.
    pub reordering_segments: Option<u32>,
    /// Seconds with data in flight, since it began.
    pub busy_seconds: Option<f64>,
    /// Of these, seconds in which the receiver's window was full.
    pub receiver_limited_seconds: Option<f64>,
    /// Of these, seconds in which the send buffer was full.
    pub buffer_limited_seconds: Option<f64>,
}

/// The bytes that are read: up to the last field used.
const USED_BYTES: usize = offset_of!(tcp_info, tcpi_bytes_retrans) + 8;

/// `TCPI_OPT_TIMESTAMPS` (`linux/tcp.h`).
const TIME_STAMPS: u8 = 1;

/// `struct tcp_info` as far as the kernel has written it.
struct Info {
    bytes: [u8; USED_BYTES],
    written: usize,
}

impl Info {
    /// `None` for a socket that is not a TCP connection.
    fn read(socket: &impl AsFd) -> Option<Self> {
        let mut bytes = [0_u8; USED_BYTES];
        let mut length = libc::socklen_t::try_from(bytes.len()).ok()?;
        let socket = socket.as_fd().as_raw_fd();
        // SAFETY: the buffer is live and writable, and its length is passed with it; the descriptor is borrowed.
        let status = unsafe {
            libc::getsockopt(socket, libc::IPPROTO_TCP, libc::TCP_INFO, bytes.as_mut_ptr().cast(), &raw mut length)
        };
        (status == 0).then_some(Self { bytes, written: length as usize })
    }

    fn field<const BYTES: usize>(&self, at: usize) -> Option<[u8; BYTES]> {
        self.bytes.get(..self.written)?.get(at..at + BYTES)?.try_into().ok()
    }

    fn long(&self, at: usize) -> Option<u64> {
        self.field(at).map(u64::from_ne_bytes)
    }

    fn short(&self, at: usize) -> Option<u32> {
        self.field(at).map(u32::from_ne_bytes)
    }

    /// Microseconds in four bytes, as seconds; 0 and all ones mean none yet.
    fn round_trip(&self, at: usize) -> Option<f64> {
        self.short(at).filter(|time| !matches!(*time, 0 | u32::MAX)).map(|time| f64::from(time) * 1e-6)
    }

    /// Microseconds in eight bytes, as seconds.
    fn duration(&self, at: usize) -> Option<f64> {
        self.long(at).map(|time| time as f64 * 1e-6)
    }

    fn carried(&self) -> Option<TcpCarried> {
        Some(TcpCarried {
            sent_bytes: self.long(offset_of!(tcp_info, tcpi_bytes_sent))?,
            received_bytes: self.long(offset_of!(tcp_info, tcpi_bytes_received))?,
            acknowledged_bytes: self.long(offset_of!(tcp_info, tcpi_bytes_acked))?,
            segments_sent: self.short(offset_of!(tcp_info, tcpi_segs_out))?,
            segments_received: self.short(offset_of!(tcp_info, tcpi_segs_in))?,
            time_stamps: self.field::<1>(offset_of!(tcp_info, tcpi_options))?[0] & TIME_STAMPS != 0,
        })
    }

    fn state(&self) -> TcpState {
        let segment_bytes = self.short(offset_of!(tcp_info, tcpi_snd_mss));
        let window = self.short(offset_of!(tcp_info, tcpi_snd_cwnd)).zip(segment_bytes);
        TcpState {
            retransmits: self.short(offset_of!(tcp_info, tcpi_total_retrans)).map(u64::from),
            retransmitted_bytes: self.long(offset_of!(tcp_info, tcpi_bytes_retrans)),
            round_trip_seconds: self.round_trip(offset_of!(tcp_info, tcpi_rtt)),
            round_trip_variation_seconds: self.round_trip(offset_of!(tcp_info, tcpi_rttvar)),
            least_round_trip_seconds: self.round_trip(offset_of!(tcp_info, tcpi_min_rtt)),
            congestion_window_bytes: window.map(|(segments, bytes)| u64::from(segments) * u64::from(bytes)),
            segment_bytes,
            delivery_bytes_per_second: self.long(offset_of!(tcp_info, tcpi_delivery_rate)),
            reordering_segments: self.short(offset_of!(tcp_info, tcpi_reordering)),
            busy_seconds: self.duration(offset_of!(tcp_info, tcpi_busy_time)),
            receiver_limited_seconds: self.duration(offset_of!(tcp_info, tcpi_rwnd_limited)),
            buffer_limited_seconds: self.duration(offset_of!(tcp_info, tcpi_sndbuf_limited)),
        }
    }
}

/// What a TCP connection has carried; `None` without one, or if the kernel does not report it (before 4.19).
pub fn tcp_carried(socket: &impl AsFd) -> Option<TcpCarried> {
    Info::read(socket)?.carried()
}

/// The state of a TCP connection; `None` for another socket.
pub fn tcp_state(socket: &impl AsFd) -> Option<TcpState> {
    Some(Info::read(socket)?.state())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};

    use super::*;

    fn connection() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (near, listener.accept().unwrap().0)
    }

    #[test]
    fn a_connection_reports_what_it_has_carried() {
        let (mut near, mut far) = connection();
        near.write_all(&[1; 5000]).unwrap();
        far.read_exact(&mut [0; 5000]).unwrap();
        far.write_all(&[2; 300]).unwrap();
        near.read_exact(&mut [0; 300]).unwrap();
        // Kernels before 4.19 do not report it.
        if let (Some(near), Some(far)) = (tcp_carried(&near), tcp_carried(&far)) {
            assert_eq!((near.sent_bytes, near.received_bytes), (5000, 300));
            assert_eq!((far.sent_bytes, far.received_bytes), (300, 5000));
            // The opening of the connection counts as one too.
            assert!((5000..=5001).contains(&near.acknowledged_bytes), "{near:?}");
            assert!(near.segments_sent >= 2 && near.segments_received >= 2, "{near:?}");
            assert_eq!(near.time_stamps, far.time_stamps);
        }
        assert_eq!(tcp_carried(&UdpSocket::bind("127.0.0.1:0").unwrap()), None);
    }

    #[test]
    fn a_connection_reports_its_state() {
        let (near, mut far) = connection();
        near.set_nonblocking(true).unwrap();
        // Nobody reads: once the receiver's window and the send buffer are full, the sender is limited.
        while (&near).write(&[1; 10_000]).is_ok() {}
        std::thread::sleep(std::time::Duration::from_millis(20));
        let state = tcp_state(&near).unwrap();
        let segment_bytes = state.segment_bytes.unwrap();
        assert!((500..=65_536).contains(&segment_bytes), "{state:?}");
        assert!(state.congestion_window_bytes.unwrap() >= u64::from(segment_bytes), "{state:?}");
        for seconds in [state.round_trip_seconds, state.round_trip_variation_seconds, state.least_round_trip_seconds] {
            assert!(seconds.is_none_or(|seconds| seconds > 0.0 && seconds < 10.0), "{state:?}");
        }
        assert!(state.retransmits.is_some());
        if let (Some(busy), Some(full), Some(buffer)) =
            (state.busy_seconds, state.receiver_limited_seconds, state.buffer_limited_seconds)
        {
            assert!((0.015..100.0).contains(&busy), "{state:?}");
            assert!(full + buffer <= busy + 1e-3, "{state:?}");
            assert!(full > 0.0, "the receiver's window is full: {state:?}");
        }
        far.set_nonblocking(true).unwrap();
        while far.read(&mut [0; 10_000]).is_ok_and(|count| count > 0) {}
        assert_eq!(tcp_state(&UdpSocket::bind("127.0.0.1:0").unwrap()), None);
    }

    #[test]
    fn fields_that_an_older_kernel_lacks_are_absent() {
        let mut bytes = [0; USED_BYTES];
        bytes[offset_of!(tcp_info, tcpi_total_retrans)..][..4].copy_from_slice(&7_u32.to_ne_bytes());
        bytes[offset_of!(tcp_info, tcpi_rtt)..][..4].copy_from_slice(&250_u32.to_ne_bytes());
        bytes[offset_of!(tcp_info, tcpi_min_rtt)..][..4].copy_from_slice(&u32::MAX.to_ne_bytes());
        bytes[offset_of!(tcp_info, tcpi_snd_mss)..][..4].copy_from_slice(&1448_u32.to_ne_bytes());
        bytes[offset_of!(tcp_info, tcpi_snd_cwnd)..][..4].copy_from_slice(&10_u32.to_ne_bytes());
        bytes[offset_of!(tcp_info, tcpi_busy_time)..][..8].copy_from_slice(&2_500_000_u64.to_ne_bytes());
        let whole = Info { bytes, written: USED_BYTES };
        let state = whole.state();
        assert_eq!((state.retransmits, state.congestion_window_bytes), (Some(7), Some(14_480)));
        assert_eq!((state.round_trip_seconds, state.least_round_trip_seconds), (Some(250.0 * 1e-6), None));
        assert_eq!((state.busy_seconds, state.round_trip_variation_seconds), (Some(2.5), None));
        assert!(whole.carried().is_some());
        // `struct tcp_info` of 2.6 ended with the retransmits.
        let old = Info { bytes, written: offset_of!(tcp_info, tcpi_total_retrans) + 4 };
        assert!(old.carried().is_none());
        let state = old.state();
        assert_eq!((state.retransmits, state.segment_bytes), (Some(7), Some(1448)));
        assert_eq!(
            (state.busy_seconds, state.retransmitted_bytes, state.delivery_bytes_per_second),
            (None, None, None)
        );
        assert_eq!(Info { bytes, written: 3 }.state(), TcpState::default());
    }
}
