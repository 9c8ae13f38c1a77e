//! The sending side of a flow of datagrams, the same at either end of a launch.

use std::io;
use std::net::UdpSocket;
use std::time::Duration;

use sys::clock::Timer;
use sys::net::datagrams::Sender;

use super::header::{Form, Header};
use super::pace::{Due, Pace};

/// A wait that is longer is slept through but for this end of it, which the kernel may make longer: its timers come some
/// 50 us late (`timer_slack_ns`, `prctl(2)`).
const AWAKE_SECONDS: f64 = 100e-6;

/// Sleeps are no longer, so that nobody misses the end of a window for them.
const LONGEST_SLEEP_SECONDS: f64 = 1e-3;

/// What the kernel says of a device whose queue is full (`ENOBUFS`), beside that the socket's own is.
const NO_BUFFERS: i32 = 105;

/// A flow as it is sent.
pub(super) struct Sending {
    form: Form,
    sender: Sender,
    /// Number of the next datagram.
    sequence: u64,
    /// When its time begins, in ticks.
    origin: u64,
}

impl Sending {
    /// Nothing has been sent yet; `offload` asks for segmentation offload.
    pub(super) fn new(socket: &UdpSocket, form: Form, offload: bool, timer: &Timer) -> Self {
        let mut sender = Sender::new(socket, form.bytes(), offload);
        sender.datagrams().for_each(|datagram| datagram.copy_from_slice(form.template()));
        Self { form, sender, sequence: 0, origin: timer.now() }
    }

    /// Bytes of a datagram.
    pub(super) fn datagram_bytes(&self) -> usize {
        self.form.bytes()
    }

    /// A pace of so many bytes a second for it.
    pub(super) fn pace(&self, bytes_per_second: f64) -> Pace {
        Pace::new(bytes_per_second, self.form.bytes(), self.sender.capacity())
    }

    /// What carries the datagrams.
    pub(super) fn sender(&self) -> &Sender {
        &self.sender
    }

    /// Datagrams sent since the launch began.
    pub(super) fn sent(&self) -> u64 {
        self.sequence
    }

    /// Sends so many datagrams at this time, or the first of them where there is no room for more, marked with this window
    /// (0: outside of any); how many. One that a filter of this machine took away was sent and is lost.
    ///
    /// # Errors
    /// What the kernel said, other than that there is no room now.
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
                Err(error) if is_no_room(&error) => {
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

/// Whether there will be room for another datagram in a moment.
fn is_no_room(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
        || error.raw_os_error() == Some(NO_BUFFERS)
}

/// Nanoseconds from one time stamp to a later one.
#[inline]
pub(super) fn nanoseconds(timer: &Timer, from: u64, to: u64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative, and below some days")]
    let nanoseconds = (timer.seconds(from.min(to), to) * 1e9) as u64;
    nanoseconds
}

/// Waits for what is due, or for a part of that time where it is long.
pub(super) fn wait(due: Due) {
    let Due::In(seconds) = due else { return };
    if seconds > 2.0 * AWAKE_SECONDS {
        std::thread::sleep(Duration::from_secs_f64((seconds - AWAKE_SECONDS).min(LONGEST_SLEEP_SECONDS)));
    } else {
        // Another thread may wait for this very CPU: the receiver, where there are fewer of them than threads.
        std::thread::yield_now();
    }
}
