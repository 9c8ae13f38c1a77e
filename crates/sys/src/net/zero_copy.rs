//! Sends without a copy into the kernel (`MSG_ZEROCOPY`): the kernel reads our pages until the peer has
//! acknowledged them, and reports on the socket's error queue which sends are done and which it copied after all. Until
//! then the bytes must not change, so they are sent from a ring of buffers.

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::datagrams::{control_messages, halves};
use crate::calls::{outcome, set_socket_option};
use crate::memory::pages::Pages;

/// `SO_EE_ORIGIN_ZEROCOPY` (`linux/errqueue.h`).
const ORIGIN_ZEROCOPY: u8 = 5;

/// `SO_EE_CODE_ZEROCOPY_COPIED` (`linux/errqueue.h`).
const COPIED: u8 = 1;

/// Words of a buffer for control messages: one with `sock_extended_err` and an address takes at most 80 bytes.
const CONTROL_WORDS: usize = 32;

/// A buffer that the kernel still holds after this time is leaked instead of freed.
const FAREWELL: Duration = Duration::from_millis(500);

/// Why not even one send is accepted.
const WANT: &str = "the kernel has no room for a send that spares its copy; raise net.core.optmem_max or the limit of \
                    locked memory (ulimit -l)";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reported {
    pub done: u64,
    /// Of these, sends that were copied after all.
    pub copied: u64,
}

#[derive(Clone, Copy, Debug)]
struct AcceptedSend {
    done: bool,
    /// Whether it was the last of its buffer.
    ends_buffer: bool,
}

/// Accepted sends that are not all reported: ranges of their numbers, mostly in order (kernel, `msg_zerocopy.rst`).
#[derive(Debug, Default)]
struct InFlight {
    /// From the first that is not done.
    sends: VecDeque<AcceptedSend>,
    first: u32,
    /// Buffers that the kernel still holds.
    buffers: usize,
}

impl InFlight {
    fn take(&mut self, ends_buffer: bool) {
        self.sends.push_back(AcceptedSend { done: false, ends_buffer });
        self.buffers += usize::from(ends_buffer);
    }

    /// Notes that the kernel has reported the sends with these numbers, both included; how many of them are new.
    fn report(&mut self, from: u32, to: u32) -> u64 {
        let mut news = 0;
        let count = u64::from(to.wrapping_sub(from)) + 1;
        for more in 0..count.min(self.sends.len() as u64) {
            let place = from.wrapping_sub(self.first).wrapping_add(u32::try_from(more).unwrap_or(u32::MAX));
            if let Some(send) = self.sends.get_mut(place as usize) {
                news += u64::from(!mem::replace(&mut send.done, true));
            }
        }
        while let Some(send) = self.sends.front().filter(|send| send.done) {
            self.buffers -= usize::from(send.ends_buffer);
            self.sends.pop_front();
            self.first = self.first.wrapping_add(1);
        }
        news
    }
}

/// The sending side of a connection, from a ring of equal buffers.
#[derive(Debug)]
pub struct ZeroCopySender {
    stream: TcpStream,
    ring: Vec<Pages>,
    next: usize,
    in_flight: InFlight,
    reported: Reported,
    timeout: Duration,
}

impl ZeroCopySender {
    /// A sender with this number of buffers, initially copies of `buffer`; `timeout` is how long the kernel may hold
    /// all of them. Fails if the kernel does not support the option on this socket (before 4.14).
    pub fn new(stream: &TcpStream, buffer: &[u8], buffers: usize, timeout: Duration) -> io::Result<Self> {
        let stream = stream.try_clone()?;
        set_socket_option(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ZEROCOPY, 1).map_err(|error| {
            let text = format!("the kernel spares no copies of sends (SO_ZEROCOPY, from Linux 4.14 on): {error}");
            io::Error::new(io::ErrorKind::Unsupported, text)
        })?;
        let ring = (0..buffers.max(1)).map(|_| Pages::of(buffer)).collect();
        Ok(Self { stream, ring, next: 0, in_flight: InFlight::default(), reported: Reported::default(), timeout })
    }

    pub fn reported(&self) -> Reported {
        self.reported
    }

    /// Writes into the next buffer once the kernel is done with it, and sends all of it. Fails if the kernel holds all
    /// buffers, or has no memory for another send, for longer than the timeout.
    pub fn send(&mut self, write: impl FnOnce(&mut [u8])) -> io::Result<()> {
        let place = self.next;
        // Reports are read twice a round, so that at most half a round of them waits.
        if place.is_multiple_of(self.ring.len().div_ceil(2)) {
            self.drain()?;
        }
        while self.in_flight.buffers >= self.ring.len() {
            self.await_report()?;
        }
        write(&mut self.ring[place]);
        let mut sent = 0;
        while sent < self.ring[place].len() {
            match send_sparing(self.stream.as_raw_fd(), &self.ring[place][sent..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    sent += count;
                    self.in_flight.take(sent == self.ring[place].len());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.raw_os_error() != Some(libc::ENOBUFS) => return Err(error),
                // No memory for more reports, or of pages that may be locked, until some sends are done.
                Err(_) if !self.in_flight.sends.is_empty() => self.await_report()?,
                Err(_) => return Err(io::Error::new(io::ErrorKind::OutOfMemory, WANT)),
            }
        }
        self.next = (place + 1) % self.ring.len();
        Ok(())
    }

    /// Waits for a report of the kernel, and reads all reports.
    fn await_report(&mut self) -> io::Result<()> {
        if self.drain()? > 0 {
            return Ok(());
        }
        let events = wait_for_notice(&self.stream, self.timeout)?;
        if self.drain()? > 0 {
            return Ok(());
        }
        // An error of the connection, or its end, wakes too.
        Err(match self.stream.take_error()? {
            Some(error) => error,
            None if events.contains(PollFlags::HUP) => io::ErrorKind::BrokenPipe.into(),
            None if events.is_empty() => io::ErrorKind::TimedOut.into(),
            None => return Ok(()),
        })
    }

    /// Reads all reports without waiting; the number of sends that are newly done.
    fn drain(&mut self) -> io::Result<u64> {
        let mut news = 0;
        loop {
            match next_notice(self.stream.as_raw_fd()) {
                Ok(Some(notice)) => {
                    let done = self.in_flight.report(notice.from, notice.to);
                    self.reported.done += done;
                    self.reported.copied += if notice.copied { done } else { 0 };
                    news += done;
                }
                // Another message of the queue.
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(news),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for ZeroCopySender {
    /// Frees the buffers once the kernel no longer reads them, and leaks them if that takes long.
    fn drop(&mut self) {
        self.timeout = FAREWELL;
        while !self.in_flight.sends.is_empty() {
            if self.await_report().is_err() {
                mem::forget(mem::take(&mut self.ring));
                return;
            }
        }
    }
}

/// Sends these bytes without a copy if possible; how many of them.
fn send_sparing(socket: RawFd, bytes: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_ZEROCOPY | libc::MSG_NOSIGNAL;
    // SAFETY: the bytes are live for the call. The kernel may read them after it: they belong to a ring that changes
    // and frees no buffer before the kernel has reported that it is done with it.
    outcome(unsafe { libc::send(socket, bytes.as_ptr().cast(), bytes.len(), flags) })
}

/// Waits for an entry in the error queue; the events, none on a timeout.
fn wait_for_notice(stream: &TcpStream, timeout: Duration) -> io::Result<PollFlags> {
    let mut entry = [PollFd::new(stream, PollFlags::empty())];
    match poll(&mut entry, Timespec::try_from(timeout).ok().as_ref()) {
        // As if there were an entry.
        Err(Errno::INTR) => return Ok(PollFlags::ERR),
        other => other?,
    };
    Ok(entry[0].revents())
}

/// The kernel's report of a range of sends, both numbers included.
struct Notice {
    from: u32,
    to: u32,
    copied: bool,
}

/// The next message of the error queue; `Ok(None)` if it is about something else, and `WouldBlock` without one.
fn next_notice(socket: RawFd) -> io::Result<Option<Notice>> {
    let mut control = [0_u64; CONTROL_WORDS];
    // SAFETY: all-zero bytes are a valid `msghdr`: null pointers and lengths of nothing.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: the message and the control buffer that it points to are live and writable, and its length is right.
    outcome(unsafe { libc::recvmsg(socket, &raw mut message, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT) })?;
    let written = (message.msg_controllen as usize / size_of::<u64>()).min(CONTROL_WORDS);
    Ok(control_messages(&control[..written]).find_map(|(kind, data)| match kind {
        [libc::SOL_IP, libc::IP_RECVERR] | [libc::SOL_IPV6, libc::IPV6_RECVERR] => notice_of(data),
        _ => None,
    }))
}

/// The report in a `sock_extended_err` (`linux/errqueue.h`), if it is one: a number, then origin, type and code in a byte
/// each, then two numbers.
fn notice_of(data: &[u64]) -> Option<Notice> {
    let [first, range, ..] = data else { return None };
    let [errno @ .., origin, _, code, _] = first.to_ne_bytes();
    let [from, to] = halves(*range).map(i32::cast_unsigned);
    (errno == [0; 4] && origin == ORIGIN_ZEROCOPY).then_some(Notice { from, to, copied: code & COPIED != 0 })
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{SocketAddr, TcpListener};
    use std::thread;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(10);

    fn connection(at: &str) -> io::Result<(TcpStream, TcpStream)> {
        let listener = TcpListener::bind(at)?;
        let address: SocketAddr = listener.local_addr()?;
        let near = TcpStream::connect(address)?;
        Ok((near, listener.accept()?.0))
    }

    #[test]
    fn all_data_arrive_and_loopback_copies_them() {
        for at in ["127.0.0.1:0", "[::1]:0"] {
            // A host may lack IPv6.
            let Ok((near, mut far)) = connection(at) else { continue };
            let buffer = vec![7; 30_000];
            let mut sender = ZeroCopySender::new(&near, &buffer, 4, TIMEOUT).unwrap();
            let reader = thread::spawn(move || {
                let mut all = Vec::new();
                far.read_to_end(&mut all).unwrap();
                all
            });
            for number in 0..100_u8 {
                sender.send(|buffer| buffer[0] = number).unwrap();
            }
            while !sender.in_flight.sends.is_empty() {
                sender.await_report().unwrap();
            }
            let reported = sender.reported();
            // A send may be accepted in parts, each with its own report.
            assert!(reported.done >= 100 && reported.copied == reported.done, "{reported:?}");
            drop(sender);
            near.shutdown(std::net::Shutdown::Both).unwrap();
            let all = reader.join().unwrap();
            assert_eq!(all.len(), 100 * 30_000);
            for (number, block) in all.chunks(30_000).enumerate() {
                assert_eq!(usize::from(block[0]), number);
                assert!(block[1..].iter().all(|byte| *byte == 7));
            }
        }
    }

    #[test]
    fn the_sender_gives_up_if_nobody_reads() {
        let (near, far) = connection("127.0.0.1:0").unwrap();
        near.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
        let mut sender = ZeroCopySender::new(&near, &[1; 10_000], 2, Duration::from_millis(50)).unwrap();
        let error = (0..1000).find_map(|_| sender.send(|_| {}).err()).unwrap();
        assert!(matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut), "{error}");
        drop(far);
        let error = (0..1000).find_map(|_| sender.send(|_| {}).err()).unwrap();
        assert!(!matches!(error.kind(), io::ErrorKind::Interrupted), "{error}");
    }

    #[test]
    fn a_buffer_is_free_once_all_its_sends_are_reported_in_any_order() {
        let mut in_flight = InFlight { first: u32::MAX, ..InFlight::default() };
        // Two buffers, the first in two parts; the numbers wrap around.
        for ends_buffer in [false, true, true] {
            in_flight.take(ends_buffer);
        }
        assert_eq!(in_flight.buffers, 2);
        assert_eq!(in_flight.report(1, 1), 1);
        assert_eq!(in_flight.buffers, 2, "the first ones are not done");
        assert_eq!(in_flight.report(u32::MAX, u32::MAX), 1);
        assert_eq!(in_flight.buffers, 2);
        assert_eq!(in_flight.report(0, 1), 1, "one of the two is not new");
        assert_eq!((in_flight.buffers, in_flight.sends.len(), in_flight.first), (0, 0, 2));
        assert_eq!(in_flight.report(0, u32::MAX), 0, "nothing is in flight");
    }

    #[test]
    fn a_socket_without_zero_copy_is_an_error() {
        let (near, _far) = std::os::unix::net::UnixStream::pair().unwrap();
        let near = TcpStream::from(std::os::fd::OwnedFd::from(near));
        let error = ZeroCopySender::new(&near, &[1; 10], 2, TIMEOUT).unwrap_err();
        assert!(error.to_string().contains("spares no copies"), "{error}");
    }
}
