//! How a thread waits for a socket: asleep, to the microsecond, or with the kernel polling the device.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::calls::{set_socket_option, socket_option};

/// Sleeps until this socket is readable, failed or closed, or the time has passed; a signal ends it early. A receive
/// timeout is precise to a tick of the kernel (1 to 10 ms), this to the timer slack, 50 us (`prctl(2)`).
pub fn wait_readable(socket: &impl AsFd, at_most: Duration) -> io::Result<bool> {
    let limit = Timespec::try_from(at_most).ok();
    match poll(&mut [PollFd::new(socket, PollFlags::IN)], limit.as_ref()) {
        Err(Errno::INTR) => Ok(false),
        other => Ok(other? > 0),
    }
}

/// Requests that receives on this socket poll the device's queue for this time (`SO_BUSY_POLL`), and returns the time
/// in force: 0 if the kernel refuses, as it does without `CAP_NET_ADMIN`; `None` if it lacks the option.
pub fn busy_poll(socket: &impl AsFd, microseconds: u32) -> Option<u32> {
    let wanted = libc::c_int::try_from(microseconds).unwrap_or(libc::c_int::MAX);
    // A refusal leaves the option as it is.
    let _ = set_socket_option(socket.as_fd().as_raw_fd(), libc::SOL_SOCKET, libc::SO_BUSY_POLL, wanted);
    u32::try_from(socket_option(socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;
    use crate::clock::monotonic_raw_seconds;

    #[test]
    fn data_wake_and_timeouts_are_kept() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let began = monotonic_raw_seconds();
        assert!(!wait_readable(&socket, Duration::from_micros(2500)).unwrap());
        assert!(monotonic_raw_seconds() - began >= 0.002, "not before its time");
        assert!(!wait_readable(&socket, Duration::ZERO).unwrap());
        socket.send_to(b"x", socket.local_addr().unwrap()).unwrap();
        assert!(wait_readable(&socket, Duration::from_secs(60)).unwrap());
    }

    #[test]
    fn the_poll_time_in_force_is_returned() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        // 50 with permission, else the administrator's setting for all sockets; a kernel without it reports none.
        let common = std::fs::read_to_string("/proc/sys/net/core/busy_read").ok();
        let common = common.and_then(|text| text.trim().parse::<u32>().ok());
        let found = busy_poll(&socket, 50);
        assert!(found.is_none() || found == Some(50) || found == common, "{found:?} {common:?}");
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(busy_poll(&file, 50), None, "not a socket");
    }
}
