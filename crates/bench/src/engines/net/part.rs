//! What a client's thread does in one process run. Each mode is a type of its own: a file, and a line in `part_of`
//! (`flow.rs`) and in the server's table of work (`server.rs`).

use model::document::NetConditions;
use sys::clock::Timer;

use super::session::Session;
use crate::engines::{FlowMetric, Tally, Window};
use crate::net::messages::Counted;

pub(super) struct Moment<'a> {
    pub(super) session: &'a Session,
    /// The thread, which is also the number of its data connection.
    pub(super) thread: usize,
    pub(super) number: u32,
    pub(super) timer: &'a Timer,
    pub(super) window: Window,
    /// This thread's work in a window without an end: bytes, or round trips.
    pub(super) work: Option<u64>,
}

impl Moment<'_> {
    /// This thread's work, where the window has no end.
    pub(super) fn in_full(&self) -> Option<u64> {
        (self.window.end == Window::NO_END).then(|| self.work.unwrap_or(0))
    }

    /// Announces the window to the server, unless another thread has done so.
    pub(super) fn announce(&self) -> Result<(), String> {
        self.session.announce(self.number, self.window, None, self.timer)
    }

    /// What the server counted for this thread; see [`Session::counted`].
    pub(super) fn counted(&self, sent_bytes: u64) -> Result<Counted, String> {
        self.session.counted(self.number, self.thread, sent_bytes)
    }
}

/// One thread's part of a process run. An error says what went wrong: a wrong result, or a server that is gone.
pub(super) trait Part {
    fn metrics(&self) -> &'static [FlowMetric];

    /// How long before a window it starts: full buffers drain, and sender and receiver find their pace.
    fn lead_microseconds(&self) -> u32 {
        20_000
    }

    /// The windows from now on are samples.
    fn warmed_up(&mut self) {}

    /// Works until the window has passed. Allocates nothing inside it.
    fn run(&mut self, moment: &Moment<'_>, tally: &mut Tally) -> Result<(), String>;

    /// Checks what was done since the last check, as far as `run` has not.
    fn verify(&mut self, _moment: &Moment<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Adds its conditions at the end. Bytes on the link and CPU seconds are added up over threads, the rest is the first's.
    fn describe(&self, seen: &mut NetConditions);
}
