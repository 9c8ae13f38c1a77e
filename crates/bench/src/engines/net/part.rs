//! What a client's thread does in one process run. Each mode is a type with a file and a line in `flow.rs` and `server.rs`.

use model::document::NetConditions;
use sys::clock::Timer;

use super::session::{Failure, Session};
use crate::engines::{Tally, Window};
use crate::net::messages::Counted;

#[derive(Clone, Copy)]
pub(super) struct Moment<'a> {
    pub(super) session: &'a Session,
    /// The thread, which is also the number of its data connection.
    pub(super) thread: usize,
    pub(super) number: u32,
    pub(super) timer: &'a Timer,
    pub(super) window: Window,
    /// This thread's work in a window without an end: bytes, round trips, or datagrams.
    pub(super) work: Option<u64>,
}

impl Moment<'_> {
    /// This thread's work, where the window has no end.
    pub(super) fn in_full(&self) -> Option<u64> {
        (self.window.end == Window::NO_END).then(|| self.work.unwrap_or(0))
    }

    /// Announces the window and the bytes that the server is to send in it; see [`Session::announce`].
    pub(super) fn announce(&self, bytes: Option<f64>) -> Result<(), String> {
        self.session.announce(self.number, self.window, bytes, self.timer)
    }

    /// What the server counted for this thread; see [`Session::counted`].
    pub(super) fn counted(&self, sent_bytes: u64) -> Result<Counted, String> {
        self.session.counted(self.number, self.thread, sent_bytes)
    }
}

/// One thread's part of a process run.
pub(super) trait Part {
    /// The windows from now on are samples.
    fn warmed_up(&mut self) {}

    /// Works until the window has passed. Allocates nothing inside it.
    fn run(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), Failure>;

    /// Checks what was done since the last check, as far as `run` has not.
    fn verify(&mut self, _moment: &Moment<'_>) -> Result<(), Failure> {
        Ok(())
    }

    /// Adds its conditions at the end. Bytes on the link and CPU seconds are added up over threads, the rest is the first's.
    fn describe(&self, _session: &Session, _seen: &mut NetConditions) {}
}
