//! What the kernel says of a TCP connection (`struct tcp_info`).

use std::os::fd::{AsFd, AsRawFd};

/// What a TCP connection has carried since it began, as one end of it counts: both ways, what was sent again included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpCarried {
    /// Bytes of data sent.
    pub sent_bytes: u64,
    /// Bytes of data received in order, read or not.
    pub received_bytes: u64,
    /// Of the bytes sent, those that the other end has acknowledged; the end of the connection counts as one.
    pub acknowledged_bytes: u64,
    /// Segments sent, those without data included.
    pub segments_sent: u32,
    /// Segments received.
    pub segments_received: u32,
    /// Whether each segment carries time stamps, which make its header longer.
    pub time_stamps: bool,
}

/// What a TCP connection is like, as the end that sends sees it; `None` each where the kernel is too old to say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TcpState {
    /// Segments sent again since it began.
    pub retransmits: Option<u64>,
    /// Bytes sent again since it began.
    pub retransmitted_bytes: Option<u64>,
    /// Smoothed round trip in seconds; `None` before the first.
    pub round_trip_seconds: Option<f64>,
    /// How much the round trip varies, in seconds.
    pub round_trip_variation_seconds: Option<f64>,
    /// The least round trip lately (`net.ipv4.tcp_min_rtt_wlen`), in seconds; `None` before the first.
    pub least_round_trip_seconds: Option<f64>,
    /// Bytes in flight that the congestion control allows.
    pub congestion_window_bytes: Option<u64>,
    /// Bytes of data in a segment that is sent.
    pub segment_bytes: Option<u32>,
    /// Bytes per second that the other end acknowledged lately.
    pub delivery_bytes_per_second: Option<u64>,
    /// Segments by which the network is seen to change their order.
    pub reordering_segments: Option<u32>,
    /// Seconds with data in flight, since it began.
    pub busy_seconds: Option<f64>,
    /// Of these, seconds in which the receiver's window was full.
    pub receiver_limited_seconds: Option<f64>,
    /// Of these, seconds in which the send buffer was full.
    pub buffer_limited_seconds: Option<f64>,
}

/// Where the fields stand in `struct tcp_info` (`linux/tcp.h`). Fields are only ever added at its end, and the kernel
/// writes as many as it knows: of an older one the last are missing.
mod at {
    pub(super) const OPTIONS: usize = 5;
    pub(super) const SEGMENT_BYTES: usize = 16;
    pub(super) const ROUND_TRIP: usize = 68;
    pub(super) const ROUND_TRIP_VARIATION: usize = 72;
    pub(super) const CONGESTION_WINDOW: usize = 80;
    pub(super) const REORDERING: usize = 88;
    pub(super) const RETRANSMITS: usize = 100;
    pub(super) const BYTES_ACKNOWLEDGED: usize = 120;
    pub(super) const BYTES_RECEIVED: usize = 128;
    pub(super) const SEGMENTS_OUT: usize = 136;
    pub(super) const SEGMENTS_IN: usize = 140;
    pub(super) const LEAST_ROUND_TRIP: usize = 148;
    pub(super) const DELIVERY_RATE: usize = 160;
    pub(super) const BUSY: usize = 168;
    pub(super) const RECEIVER_LIMITED: usize = 176;
    pub(super) const BUFFER_LIMITED: usize = 184;
    pub(super) const BYTES_SENT: usize = 200;
    pub(super) const BYTES_RETRANSMITTED: usize = 208;
    /// As far as any of these goes.
    pub(super) const END: usize = 216;
}

/// `TCPI_OPT_TIMESTAMPS` (`linux/tcp.h`).
const TIME_STAMPS: u8 = 1;

/// `struct tcp_info` as far as the kernel has written it.
struct Info {
    bytes: [u8; at::END],
    written: usize,
}

impl Info {
    /// Of a socket; `None` if it is no TCP connection.
    fn of(socket: &impl AsFd) -> Option<Self> {
        let mut bytes = [0_u8; at::END];
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

    /// Microseconds in four bytes, as seconds; 0 and all ones are the kernel's words for none yet.
    fn round_trip(&self, at: usize) -> Option<f64> {
        self.short(at).filter(|time| !matches!(*time, 0 | u32::MAX)).map(|time| f64::from(time) * 1e-6)
    }

    /// Microseconds in eight bytes, as seconds.
    fn duration(&self, at: usize) -> Option<f64> {
        self.long(at).map(|time| time as f64 * 1e-6)
    }

    fn carried(&self) -> Option<TcpCarried> {
        Some(TcpCarried {
            sent_bytes: self.long(at::BYTES_SENT)?,
            received_bytes: self.long(at::BYTES_RECEIVED)?,
            acknowledged_bytes: self.long(at::BYTES_ACKNOWLEDGED)?,
            segments_sent: self.short(at::SEGMENTS_OUT)?,
            segments_received: self.short(at::SEGMENTS_IN)?,
            time_stamps: self.field::<1>(at::OPTIONS)?[0] & TIME_STAMPS != 0,
        })
    }

    fn state(&self) -> TcpState {
        let segment_bytes = self.short(at::SEGMENT_BYTES);
        let window = self.short(at::CONGESTION_WINDOW).zip(segment_bytes);
        TcpState {
            retransmits: self.short(at::RETRANSMITS).map(u64::from),
            retransmitted_bytes: self.long(at::BYTES_RETRANSMITTED),
            round_trip_seconds: self.round_trip(at::ROUND_TRIP),
            round_trip_variation_seconds: self.round_trip(at::ROUND_TRIP_VARIATION),
            least_round_trip_seconds: self.round_trip(at::LEAST_ROUND_TRIP),
            congestion_window_bytes: window.map(|(segments, bytes)| u64::from(segments) * u64::from(bytes)),
            segment_bytes,
            delivery_bytes_per_second: self.long(at::DELIVERY_RATE),
            reordering_segments: self.short(at::REORDERING),
            busy_seconds: self.duration(at::BUSY),
            receiver_limited_seconds: self.duration(at::RECEIVER_LIMITED),
            buffer_limited_seconds: self.duration(at::BUFFER_LIMITED),
        }
    }
}

/// What a TCP connection has carried; `None` where the kernel does not say (before 4.19), or this is none.
pub fn tcp_carried(socket: &impl AsFd) -> Option<TcpCarried> {
    Info::of(socket)?.carried()
}

/// What a TCP connection is like; `None` if it is none.
pub fn tcp_state(socket: &impl AsFd) -> Option<TcpState> {
    Some(Info::of(socket)?.state())
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
    fn a_connection_says_what_it_has_carried() {
        let (mut near, mut far) = connection();
        near.write_all(&[1; 5000]).unwrap();
        far.read_exact(&mut [0; 5000]).unwrap();
        far.write_all(&[2; 300]).unwrap();
        near.read_exact(&mut [0; 300]).unwrap();
        // Kernels from 4.19 on say so; older ones say nothing, which is an answer too.
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
    fn a_connection_says_what_it_is_like() {
        let (near, mut far) = connection();
        near.set_nonblocking(true).unwrap();
        // Nobody reads until the receiver's window and the send buffer are full: then the sender is limited.
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
    fn what_an_older_kernel_does_not_know_is_absent() {
        let mut bytes = [0; at::END];
        bytes[at::RETRANSMITS..][..4].copy_from_slice(&7_u32.to_ne_bytes());
        bytes[at::ROUND_TRIP..][..4].copy_from_slice(&250_u32.to_ne_bytes());
        bytes[at::LEAST_ROUND_TRIP..][..4].copy_from_slice(&u32::MAX.to_ne_bytes());
        bytes[at::SEGMENT_BYTES..][..4].copy_from_slice(&1448_u32.to_ne_bytes());
        bytes[at::CONGESTION_WINDOW..][..4].copy_from_slice(&10_u32.to_ne_bytes());
        bytes[at::BUSY..][..8].copy_from_slice(&2_500_000_u64.to_ne_bytes());
        let whole = Info { bytes, written: at::END };
        let state = whole.state();
        assert_eq!((state.retransmits, state.congestion_window_bytes), (Some(7), Some(14_480)));
        assert_eq!((state.round_trip_seconds, state.least_round_trip_seconds), (Some(250.0 * 1e-6), None));
        assert_eq!((state.busy_seconds, state.round_trip_variation_seconds), (Some(2.5), None));
        assert!(whole.carried().is_some());
        // `struct tcp_info` of 2.6 ended with the retransmits.
        let old = Info { bytes, written: at::RETRANSMITS + 4 };
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
