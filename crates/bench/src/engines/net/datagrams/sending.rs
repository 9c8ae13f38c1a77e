//! The sending side of a flow of datagrams, the same at both ends.

use std::io;
use std::net::UdpSocket;
use std::time::Duration;

use sys::clock::Timer;
use sys::net::datagrams::Sender;

use super::super::flows::is_late;
use super::header::{Form, Header};
use super::pace::{Due, Pace};

/// The end of a longer wait is spun, because the kernel's timers come some 50 us late (`timer_slack_ns`, `prctl(2)`).
const AWAKE_SECONDS: f64 = 100e-6;
/// Longest sleep, so that no thread misses the end of a window.
const LONGEST_SLEEP_SECONDS: f64 = 1e-3;
/// `ENOBUFS`: the queue of a device is full.
const NO_BUFFERS: i32 = 105;
pub(super) const SENDING: [&str; 2] = ["gso", "sendmmsg"];

pub(super) struct Sending {
    pub(super) form: Form,
    pub(super) sender: Sender,
    pub(super) sequence: u64,
    /// When the time of datagrams begins, in ticks.
    origin: u64,
}

impl Sending {
    pub(super) fn new(socket: &UdpSocket, form: Form, offload: bool, timer: &Timer) -> Self {
        let mut sender = Sender::new(socket, form.bytes(), offload);
        sender.datagrams().for_each(|datagram| datagram.copy_from_slice(&form.template));
        Self { form, sender, sequence: 0, origin: timer.now() }
    }

    pub(super) fn pace(&self, bytes_per_second: f64) -> Pace {
        Pace::new(bytes_per_second, self.form.bytes(), self.sender.capacity())
    }

    /// Sends datagrams at this time, or the first of them where there is no room for more, marked with this window (0:
    /// outside of any); how many. A datagram that a local filter drops was sent and is lost.
    pub(super) fn send(
        &mut self,
        socket: &UdpSocket,
        (timer, now): (&Timer, u64),
        window: u32,
        count: usize,
    ) -> io::Result<usize> {
        let count = count.min(self.sender.capacity());
        let nanoseconds = nanoseconds(timer, self.origin, now);
        for (sequence, datagram) in (self.sequence..).zip(self.sender.datagrams().take(count)) {
            self.form.write(datagram, Header { sequence, window, nanoseconds });
        }
        let mut sent = 0;
        while sent < count {
            match self.sender.send(socket, sent..count) {
                Ok(left) => sent += left,
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    sent += self.sender.segments().min(count - sent);
                }
                Err(error) if is_late(&error) || error.raw_os_error() == Some(NO_BUFFERS) => {
                    std::thread::yield_now();
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        self.sequence += sent as u64;
        Ok(sent)
    }
}

#[inline]
pub(super) fn nanoseconds(timer: &Timer, from: u64, to: u64) -> u64 {
    model::unit::whole_part(timer.seconds(from.min(to), to) * 1e9)
}

pub(super) fn wait(due: Due) {
    let Due::In(seconds) = due else { return };
    if seconds > 2.0 * AWAKE_SECONDS {
        std::thread::sleep(Duration::from_secs_f64((seconds - AWAKE_SECONDS).min(LONGEST_SLEEP_SECONDS)));
    } else {
        // Another thread may need this CPU: the receiver, where there are fewer CPUs than threads.
        std::thread::yield_now();
    }
}
