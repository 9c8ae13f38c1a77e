//! How a thread waits for a socket: asleep, to the microsecond, or with the kernel polling the device for it.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// Sleeps until there is something to read from this socket, or it has failed or ended, or so much time has passed. A
/// receive time limit is right to a tick of the kernel's (1 to 10 ms); this is to the timer slack, 50 us
/// (`prctl(2)`).
///
/// # Errors
/// What the kernel said; a signal is no error, only an early end.
pub fn wait_readable(socket: &impl AsFd, at_most: Duration) -> io::Result<bool> {
    let mut one = libc::pollfd { fd: socket.as_fd().as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let limit = libc::timespec {
        tv_sec: libc::time_t::try_from(at_most.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(at_most.subsec_nanos().cast_signed()),
    };
    // SAFETY: one entry, live and writable for the call, and a time limit that is live; no mask of signals is passed.
    let ready = unsafe { libc::ppoll(&raw mut one, 1, &raw const limit, std::ptr::null()) };
    match ready {
        0 => Ok(false),
        1.. => Ok(true),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(false),
            error => Err(error),
        },
    }
}

/// Asks that receives on this socket poll the device's queue for so many microseconds (`SO_BUSY_POLL`), and says for how
/// many they do now: 0 where the kernel refuses, as it does without `CAP_NET_ADMIN`; `None` where it has no such option.
pub fn busy_poll(socket: &impl AsFd, microseconds: u32) -> Option<u32> {
    let socket = socket.as_fd().as_raw_fd();
    let wanted = libc::c_int::try_from(microseconds).unwrap_or(libc::c_int::MAX);
    let mut length = libc::socklen_t::try_from(size_of::<libc::c_int>()).ok()?;
    // SAFETY: the value is live, and its length is passed with it. A refusal leaves the option as it is, which is read
    // below.
    unsafe {
        libc::setsockopt(socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL, (&raw const wanted).cast(), length);
    }
    let mut found: libc::c_int = 0;
    // SAFETY: the value is live and writable, and its length is passed with it.
    let status = unsafe {
        libc::getsockopt(socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL, (&raw mut found).cast(), &raw mut length)
    };
    u32::try_from(found).ok().filter(|_| status == 0)
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;
    use crate::clock::monotonic_raw_seconds;

    #[test]
    fn what_comes_wakes_and_nothing_takes_its_time() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let began = monotonic_raw_seconds();
        assert!(!wait_readable(&socket, Duration::from_micros(2500)).unwrap());
        assert!(monotonic_raw_seconds() - began >= 0.002, "not before its time");
        assert!(!wait_readable(&socket, Duration::ZERO).unwrap());
        socket.send_to(b"x", socket.local_addr().unwrap()).unwrap();
        assert!(wait_readable(&socket, Duration::from_mins(1)).unwrap());
    }

    #[test]
    fn the_kernel_says_for_how_long_it_polls_or_that_it_does_not() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        // 50 where we may, else what the administrator has set for all; a kernel without it says nothing.
        let common = std::fs::read_to_string("/proc/sys/net/core/busy_read").ok();
        let common = common.and_then(|text| text.trim().parse::<u32>().ok());
        let found = busy_poll(&socket, 50);
        assert!(found.is_none() || found == Some(50) || found == common, "{found:?} {common:?}");
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(busy_poll(&file, 50), None, "no socket");
    }
}
